"""“Replace invalid values”: one act that makes every row releasable, kept by the project and undone by a key."""

import csv
import json
import tomllib

import pytest
from hands import go_to
from mishaps import Heard, retype
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QCheckBox, QComboBox, QFileDialog, QLabel, QPlainTextEdit, QPushButton, QWidget

from workbench.data.csv.options import ReadOptions
from workbench.gui.project.open_table import open_table

CTRL = Qt.KeyboardModifier.ControlModifier
# A missing number, a name that will not be listed, a blank line, a value beyond the bounds.
ROWS = "age,town\n" + "\n".join(f"{20 + i % 40},{'AB'[i % 2]}" for i in range(60)) + "\n,A\n30,C\n\n400,B\n"


@pytest.fixture
def gaps(window, tmp_path, idle):
    """A window with that file, whose bounds and list of values are declared."""
    path = tmp_path / "gaps.csv"
    path.write_text(ROWS, "utf-8")
    open_table(window.session, window.jobs, str(path), ReadOptions(delimiter=",", encoding="utf-8", header="yes"))
    idle(window)
    go_to(window, "data")
    window.session.edit_column("age", "bounds", lower=0.0, upper=120.0)
    window.session.edit_column("town", "values", domain=("A", "B"))
    window.session.edit("confirm what was guessed", window.session.plan.confirmed())
    return window


def told(window) -> str:
    return window.findChild(QLabel, "whole_told").accessibleName()


def tick(window, qtbot) -> QCheckBox:
    box = window.findChild(QCheckBox, "replace_invalid")
    assert box.isVisible()
    assert not box.isChecked()
    qtbot.mouseClick(box, Qt.MouseButton.LeftButton, pos=QPoint(10, box.height() // 2))
    return box


def test_where_a_release_would_stop_the_offer_is_told(gaps, qtbot):
    assert told(gaps) == "⚠ Missing or invalid values in age and town: a release stops there, unless replaced."
    gaps.session.edit_column("age", "own", missing="own-value")
    assert "in town" in told(gaps)
    gaps.session.edit_column("town", "other", other="B")
    assert told(gaps) == ""
    gaps.session.edit_column("age", "an error", missing="refuse")
    tick(gaps, qtbot)
    assert told(gaps) == "1 blank line counts as a row."


def test_a_table_without_invalid_values_offers_nothing(people):
    assert told(people) == ""
    assert not people.findChild(QCheckBox, "replace_invalid").isChecked()


def test_one_click_replaces_and_one_key_takes_it_back(gaps, qtbot):
    before = gaps.session.plan
    assert before.problems()
    box = tick(gaps, qtbot)
    plan = gaps.session.plan
    assert plan.replaces_invalid
    assert [c.missing for c in plan.columns] == ["own-value"] * 2
    assert not plan.problems()
    assert plan.plan().replaces_invalid
    qtbot.keyClick(gaps, Qt.Key.Key_Z, CTRL)
    assert gaps.session.plan == before
    assert not box.isChecked()


def test_what_a_missing_and_an_unlisted_value_become_is_settled_then(gaps, qtbot):
    gaps.page.table.selectRow(1)
    missing, other = gaps.findChild(QComboBox, "fact_missing"), gaps.findChild(QComboBox, "fact_other")
    assert missing.isEnabled()
    assert other.currentText() == "stop the release"
    tick(gaps, qtbot)
    assert not missing.isEnabled()
    assert missing.currentText() == "keep as ‘missing’"
    assert other.currentText() == "count as ‘missing’"
    other.setFocus()
    qtbot.keyClick(other, Qt.Key.Key_Down)
    assert gaps.session.plan.column("town").other == "A"
    qtbot.keyClick(other, Qt.Key.Key_Up)
    assert gaps.session.plan.column("town").other is None


def test_a_release_that_stopped_at_a_value_goes_through_then(gaps, press, finish, qtbot, answer, tmp_path):
    gaps.session.edit_column("age", "an error", missing="refuse")
    finish(gaps, "tab_rows")
    target = tmp_path / "out.csv"
    retype(gaps, qtbot, "release_target", target)
    heard = Heard(gaps)
    finish(gaps, "release_now")
    assert "tick “replace invalid values” in Data, Columns" in heard.one()
    press(gaps, "tab_data")
    tick(gaps, qtbot)
    finish(gaps, "tab_preview")
    assert "%" in gaps.findChild(QWidget, "preview_facts").accessibleName()
    finish(gaps, "tab_rows")
    assert any(w.text().startswith("64 rows × 2 columns") for w in gaps.findChildren(QLabel) if w.isVisible())
    answer("yes")
    press(gaps, "release_now")
    qtbot.waitUntil(lambda: bool(gaps.session.released))
    certificate = json.loads(target.with_name("out.csv.certificate.json").read_text("utf-8"))
    assert certificate["rows"] == 64  # the blank line is a row
    assert tomllib.loads(certificate["plan"])["invalid"] == "replace"
    assert len(list(csv.reader(target.read_text("utf-8").splitlines()))) == 65
    (step,) = gaps.session.released
    assert step.plan.replaces_invalid


def test_the_project_keeps_it(gaps, idle, qtbot, tmp_path, monkeypatch):
    path = tmp_path / "gaps.workbench.toml"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))
    tick(gaps, qtbot)
    qtbot.keyClick(gaps, Qt.Key.Key_S, CTRL)
    idle(gaps)
    assert tomllib.loads(path.read_text("utf-8"))["invalid"] == "replace"
    before = gaps.session.plan
    gaps.open(str(path))
    idle(gaps)
    assert gaps.session.plan == before
    assert gaps.findChild(QCheckBox, "replace_invalid").isChecked()


def test_a_file_with_uneven_rows_opens_with_them_as_empty_ones(window, load, finish, tmp_path):
    path = tmp_path / "uneven.csv"
    path.write_text("age,town\n" + "30,A\n40,B\n" * 6 + "31,A,too much\n32\n", "utf-8")
    load(window, path)
    assert "press “Replace invalid values” below" in window.findChild(QWidget, "banner").toolTip()
    finish(window, "bad_lines_replace")
    assert window.session.plan.replaces_invalid
    assert window.session.opened.table.rows == 14
    assert window.session.opened.table.frame.rows()[-2:] == [(None, None)] * 2
    assert window.findChild(QCheckBox, "replace_invalid").isChecked()


def test_a_file_that_cannot_be_cut_into_rows_offers_no_such_way(window, load, tmp_path):
    path = tmp_path / "open.csv"
    path.write_text('age,town\n30,A\n31,"A\n', "utf-8")
    load(window, path)
    assert window.findChild(QWidget, "bad_lines").isVisible()
    assert not window.findChild(QWidget, "bad_lines_replace").isVisible()


def test_what_would_stop_a_release_keeps_data_from_being_ready_and_is_led_to(gaps, press, idle):
    dot, onward = gaps.rail.buttons["data"], gaps.findChild(QPushButton, "data_onward")
    gaps.session.edit_column("age", "an error", missing="refuse")
    gaps.session.edit_column("town", "an error", missing="refuse")
    idle(gaps)
    assert dot.state == "needs"
    assert onward.text() == "Correct it →"
    note = gaps.page.findChild(QLabel, "note_data").accessibleName()
    assert "age: 1 row has no value" in note
    assert "1 other column also" in note
    gaps.session.edit_column("age", "own", missing="own-value")
    gaps.session.edit_column("town", "own", missing="own-value")
    idle(gaps)
    assert (
        "town: “C” is in the rows and not in the list of values"
        in gaps.page.findChild(QLabel, "note_data").accessibleName()
    )
    press(gaps, "data_onward")
    assert gaps.findChild(QPlainTextEdit, "domain_text").isVisible()
    gaps.page.escape()
    gaps.session.edit_column("town", "list C", domain=("A", "B", "C"))
    idle(gaps)
    assert dot.state == "ready"
    assert onward.text() == "Decide →"
