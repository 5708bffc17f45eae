"""Everything that was released is listed, with its files, and what can be done with it is a click away."""

from __future__ import annotations

import threading
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import pytest
from PySide6.QtWidgets import QAbstractButton, QComboBox, QFileDialog, QLabel, QLineEdit, QWidget

from workbench.cli import main
from workbench.deep.networks import network


@pytest.fixture
def generalised(window, press, idle, tmp_path):
    """The page in a window that knows of a generalised table by the ledger alone, as after a restart."""
    words = ["generalize", "sample:clinic", "--quasi", "age,town", "--sensitive", "diagnosis"]
    levels = ["--hierarchies", str(tmp_path / "levels")]
    assert main([*words, *levels, "--make"]) == 0
    assert main([*words, *levels, "--k", "2", "-o", str(tmp_path / "general.csv")]) == 0
    press(window, "sample_clinic")
    idle(window)
    press(window, "tab_released")
    idle(window)
    return window


def test_before_the_first_release_the_page_leads_to_one(people, press, idle):
    press(people, "tab_released")
    idle(people)
    assert people.findChild(QWidget, "released_nothing").isVisible()
    assert not people.findChild(QWidget, "released_list").isVisible()


def test_a_release_is_listed_and_verified_where_it_is_selected(listed, press, idle):
    lines = listed.page.table.lines
    assert lines.height() == 1
    assert lines.cell(0, 2).text == "noisy rows"
    assert lines.cell(0, 5).text == "in place"
    press(listed, "shown_release_verify")
    idle(listed)
    assert listed.findChild(QLabel, "shown_release_result").text().startswith("✓ File, certificate and ledger agree")
    assert listed.focusWidget() is listed.findChild(QWidget, "shown_release_verify")


def test_a_verification_is_cancelled_and_can_be_asked_for_again(listed, press, idle, qtbot, monkeypatch):
    free = threading.Event()
    with monkeypatch.context() as slow:
        slow.setattr("workbench.gui.widgets.release_card.faults", lambda _r, cancel: (free.wait(60), cancel.check()))
        press(listed, "shown_release_verify")
        result, again = (listed.findChild(QWidget, f"shown_release_{name}") for name in ("result", "verify"))
        assert result.text() == "Verifying…"
        assert not again.isEnabled()
        qtbot.waitUntil(lambda: listed.findChild(QWidget, "job_cancel") is not None)
        press(listed, "job_cancel")
        assert result.text() == "Cancelling…"
        free.set()
        idle(listed)
    assert (result.text(), again.isEnabled()) == ("", True)
    assert listed.statusBar().currentMessage().startswith("Cancelled: Verifying")
    press(listed, "shown_release_verify")
    idle(listed)
    assert result.text().startswith("✓ File, certificate and ledger agree")


def test_a_file_that_was_moved_is_said_to_be(listed, idle, qtbot):
    path = listed.session.released[-1].files[0][1]
    path.rename(path.with_name("elsewhere.csv"))
    listed.session._released = ()  # as after a restart
    listed.page.refresh()
    idle(listed)
    assert listed.page.table.lines.cell(0, 5).text == "moved"
    qtbot.waitUntil(lambda: listed.findChild(QLabel, "shown_release_gone").isVisible())


def test_the_filter_and_the_open_table_narrow_the_list(listed, press, idle, qtbot):
    field = listed.findChild(QLineEdit, "released_list_filter")
    qtbot.keyClicks(field, "no such release")
    assert list(listed.page.table.in_sight()) == []
    qtbot.waitUntil(lambda: listed.findChild(QLabel, "shown_release_result") is None)
    field.clear()
    assert list(listed.page.table.in_sight()) == [0]
    assert listed.findChild(QLabel, "shown_release_result") is not None
    listed.session.may_leave = lambda then: True
    listed.open("sample:iris")
    idle(listed)
    press(listed, "tab_released")
    idle(listed)
    assert listed.page.table.lines.height() == 1, "releases of other tables are listed, too"
    press(listed, "released_own")
    assert listed.page.table.lines.height() == 0


def test_a_released_table_is_opened_and_estimated_from_here(listed, press, idle):
    press(listed, "shown_release_estimate")
    assert listed.page.objectName() == "page_estimate"
    press(listed, "tab_released")
    idle(listed)
    path = listed.session.released[-1].files[0][1]
    listed.session.may_leave = lambda then: True
    assert isinstance(listed.findChild(QAbstractButton, "shown_release_open"), QAbstractButton)
    press(listed, "shown_release_open")
    idle(listed)
    assert listed.session.opened.source == str(path)


def test_a_paused_training_is_named_by_its_model(people, press, idle):
    run = SimpleNamespace(
        plan=SimpleNamespace(network="cifar-cnn"),
        taken=12,
        steps=1800,
        spent=Decimal("0.5"),
        epsilon=Decimal(3),
    )
    press(people, "tab_released")
    idle(people)
    people.session.set_paused((run,))
    said = people.findChild(QLabel, "released_paused").text()
    assert said == f"{network('cifar-cnn').title} is paused after 12 of 1,800 steps (ε = 0.5 of 3)."
    press(people, "released_resume")
    assert people.findChild(QLabel, "train_paused").text() == said


def test_a_generalised_table_is_listed_as_what_it_is_not_and_leads_on(
    generalised, press, idle, tmp_path, monkeypatch, qtbot
):
    path = tmp_path / "general.csv"
    lines = generalised.page.table.lines
    assert lines.height() == 1
    shown = [lines.cell(0, at) for at in range(6)]
    assert [cell.text for cell in shown[1:]] == ["general.csv", "generalised rows", "no ε", "", "in place"]
    assert shown[3].tip == "no ε: not differential privacy"
    assert generalised.findChild(QLabel, "shown_release_no_epsilon").text() == "no ε: not differential privacy"
    press(generalised, "shown_release_verify")
    idle(generalised)
    result = generalised.findChild(QLabel, "shown_release_result")
    assert result.text().startswith("✓ File, certificate and ledger agree")
    paper = tmp_path / "paper.html"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *a, **k: (str(paper), ""))
    press(generalised, "shown_release_paper")
    idle(generalised)
    assert "Certificate of a generalised table" in paper.read_text("utf-8")
    bundle = tmp_path / "general.bundle"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *a, **k: (str(bundle), ""))
    press(generalised, "shown_release_bundle")
    idle(generalised)
    assert (bundle / "release" / "general.csv").read_bytes() == path.read_bytes()
    assert generalised.findChild(QWidget, "shown_release_estimate") is None
    assert generalised.findChild(QWidget, "shown_release_learn") is None
    press(generalised, "tab_attack")
    idle(generalised)
    assert str(path) in listed_targets(generalised)
    press(generalised, "tab_released")
    idle(generalised)
    press(generalised, "shown_release_attack")
    assert generalised.page.objectName() == "page_attack"
    assert generalised.page.form.given()["release"] == path
    press(generalised, "tab_released")
    idle(generalised)
    generalised.session.may_leave = lambda then: True
    press(generalised, "shown_release_open")
    idle(generalised)
    assert generalised.session.opened.source == str(path)


def listed_targets(window) -> list[str]:
    boxes = window.page.form.findChildren(QComboBox)
    return [str(box.itemData(at)) for box in boxes for at in range(box.count())]


def test_a_generalised_table_that_was_replaced_is_not_shown_as_the_file_that_has_its_name(generalised, idle, tmp_path):
    words = ["generalize", "sample:clinic", "--quasi", "age,town", "--hierarchies", str(tmp_path / "levels")]
    assert main([*words, "--k", "3", "-o", str(tmp_path / "general.csv"), "--replace"]) == 0
    generalised.page.refresh()
    idle(generalised)
    lines = generalised.page.table.lines
    assert [lines.cell(at, 5).text for at in range(lines.height())] == ["in place", "moved"]
    assert Path(generalised.page._lines[0].step.output) == tmp_path / "general.csv"
