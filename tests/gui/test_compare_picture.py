"""What is done with the lines and the picture of the Compare page: points taken, copies, files, room for all of it."""

import csv
import stat
from decimal import Decimal

import pytest
from comparisons import (
    LEFT,
    REGIMES,
    TABLE,
    add,
    card,
    charged,
    click_cell,
    column,
    point_at,
    study,
    with_one_study,
)
from fits import misfits
from hands import Hands
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication
from PySide6.QtWidgets import QApplication, QComboBox, QLabel, QMenu, QTableView, QWidget

from workbench.gui.pages.compare.compare_table import LESS_NEEDED
from workbench.gui.widgets.basic import PRIVATE

CTRL = Qt.KeyboardModifier.ControlModifier
BESIDE = 11
"""Pixels on either side of the words of a heading."""


@pytest.fixture
def compare(window, press, idle):
    """A window with the iris sample and one study, on the Compare page."""
    return with_one_study(window, press, idle)


def test_hover_says_the_nearest_point_and_a_click_asks_what_to_do_with_it(compare, press, qtbot):
    page = compare.page
    qtbot.mouseMove(page.plot.view, QPoint(1, 1))
    qtbot.mouseMove(page.plot.view, point_at(page, 1, 2))
    callout = compare.findChild(QLabel, "compare_callout")
    qtbot.waitUntil(callout.isVisible)
    assert callout.text() == "● sanitised: staircase\nε = 10:  0.615 ± 0.006"
    qtbot.mouseClick(page.plot.view, LEFT, pos=point_at(page, 1, 2))
    assert compare.session.plan.epsilon == 1, "nothing is set by a click"
    press(compare, "compare_point_take")
    assert compare.session.plan.epsilon == 10
    qtbot.keyClick(compare, Qt.Key.Key_Z, CTRL)
    assert compare.session.plan.epsilon == 1
    qtbot.mouseClick(page.plot.view, LEFT, pos=point_at(page, 2, 0))
    press(compare, "compare_point_train")
    assert compare.page.objectName() == "page_train"
    assert compare.session.to_train.value == ("naive-bayes", Decimal("0.1")), (
        "a private model's ε is for Train, as on Utility"
    )
    assert compare.session.plan.epsilon == 1


def test_a_line_without_privacy_has_no_epsilon_to_take(compare, qtbot):
    page = compare.page
    qtbot.mouseClick(page.plot.view, LEFT, pos=point_at(page, 0, 2))
    assert compare.session.plan.epsilon == 1
    assert not compare.findChild(QWidget, "compare_point_take").isVisible()
    assert "at every ε" in compare.findChild(QLabel, "compare_point_figure").text()


def test_a_point_leads_to_its_run_in_the_table(compare, press, qtbot):
    page = compare.page
    qtbot.mouseClick(page.plot.view, LEFT, pos=point_at(page, 2, 2))
    press(compare, "compare_point_run")
    assert page.runs.lines[page.table.currentIndex().row()].kind == "private"
    assert compare.findChild(QComboBox, "compare_epsilon").currentText() == "10"
    assert page.table.hasFocus()


def test_every_part_is_reached_by_tab(compare, qtbot):
    hands = Hands(compare, qtbot)
    compare.activateWindow()
    hands.click("compare_table_filter")
    names = ("compare_copy", "compare_save", "compare_metric", "compare_epsilon", TABLE, "compare_plot")
    for name in (*names, "compare_onward"):
        hands.tab_to(name, most=3)
        assert hands.focus.accessibleName(), name


def test_keys_go_from_point_to_point_and_take_one(compare, qtbot, window):
    page = compare.page
    page.plot.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.keyClick(page.plot, Qt.Key.Key_Down)
    qtbot.keyClick(page.plot, Qt.Key.Key_Return)
    assert compare.focusWidget().objectName() == "compare_point_take"
    qtbot.keyClick(compare.focusWidget(), Qt.Key.Key_Space)
    assert compare.session.plan.epsilon == Decimal("0.1")


def test_selected_lines_are_copied_as_text_with_the_badge_and_all_digits(compare, qtbot, finish, press, tmp_path):
    table = compare.findChild(QTableView, TABLE)
    compare.resize(2560, 1440)  # a narrow table leaves columns out, and so does what is copied of it
    qtbot.waitUntil(lambda: not table.isColumnHidden(column(compare, "Repeats")))
    click_cell(compare, qtbot, 1, at=1)
    qtbot.keyClick(table, Qt.Key.Key_C, CTRL)
    badge, heads, line = QGuiApplication.clipboard().text().splitlines()
    assert badge == PRIVATE
    assert heads.split("\t")[1:6] == ["Model", "Way of training", "ε", "Accuracy", "Repeats"]
    assert line.split("\t")[1:4] == ["Naive Bayes", "sanitised: staircase", "0.1–10"]
    assert float(line.split("\t")[4].split(" ± ")[0]) == pytest.approx(0.565, abs=1e-12)
    assert len(line.split("\t")[4]) > 20
    charged(tmp_path / "plain", card())
    press(compare, "tab_data")
    finish(compare, "tab_compare")
    click_cell(compare, qtbot, 3, at=1)
    qtbot.keyClick(table, Qt.Key.Key_C, CTRL)
    assert PRIVATE not in QGuiApplication.clipboard().text(), "what the ledger charged is no private figure"


def test_the_picture_is_copied_where_it_has_the_keys(compare, qtbot, press):
    QGuiApplication.clipboard().clear()
    compare.activateWindow()
    compare.page.plot.setFocus()
    qtbot.waitUntil(compare.page.plot.hasFocus)
    qtbot.keyClick(compare.page.plot, Qt.Key.Key_C, CTRL)
    assert not QGuiApplication.clipboard().image().isNull()
    assert "private, not for release" in compare.statusBar().currentMessage()


@pytest.mark.parametrize("suffix", ["png", "svg", "csv"])
def test_what_is_drawn_is_saved_for_its_owner_alone_with_the_badge(compare, window, qtbot, idle, tmp_path, suffix):
    path = tmp_path / f"comparison.{suffix}"
    hands = Hands(window, qtbot)
    hands.name_file(path)
    hands.finish("compare_save")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    if suffix != "png":
        text = path.read_text("utf-8")
        assert "private – not for release" in text.lower()
    if suffix == "csv":
        rows = list(csv.DictReader(text.splitlines()[1:]))
        assert len(rows) == 3 * 3 * 4 * 2
        assert rows[0] == {
            "dataset": "iris",
            "model": "naive-bayes",
            "regime": "none",
            "epsilon": "0.1",
            "repeat": "0",
            "metric": "accuracy",
            "value": "0.4",
        }


def test_there_is_one_badge_and_no_line_of_a_table_that_has_gone(compare, finish, press, qtbot):
    badges = [w for w in compare.page.findChildren(QLabel) if w.property("look") == "badge"]
    assert not any(w.isVisible() for w in badges), "the picture has it"
    for row in (0, 1, 2):
        click_cell(compare, qtbot, row)
    assert compare.page.figure is None
    assert any(w.isVisible() for w in badges)
    assert "Tick lines" in compare.findChild(QLabel, "compare_hint").text()
    press(compare, "tab_data")
    compare.session.open(compare.session.opened, compare.session.plan)
    finish(compare, "tab_compare")
    assert compare.findChild(QWidget, "compare_nothing").isVisible()


@pytest.mark.parametrize("size", [(1280, 800), (2560, 1440)])
@pytest.mark.parametrize("mode", ["light", "dark"])
def test_nothing_is_cut_and_the_picture_can_be_read(compare, qtbot, idle, size, mode, tmp_path):
    charged(tmp_path / "plain", card())
    compare.theme.set_mode(mode)
    compare.resize(*size)
    compare.page._read()
    idle(compare)
    assert misfits(compare) == []
    picture = compare.findChild(QWidget, "compare_plot")
    assert picture.width() >= 640
    assert picture.height() >= 280
    table, model = compare.page.table, compare.page.runs
    box = compare.findChild(QComboBox, "compare_metric")
    box.setFocus()
    qtbot.keyClick(box, Qt.Key.Key_Down)
    for heading in ("ε", "Balanced accuracy", "Repeats", "Time (UTC)", "δ"):
        at = column(compare, heading)
        if table.isColumnHidden(at):  # the line below the table says what it has
            assert size[0] < 2000, heading
            assert at in LESS_NEEDED, heading
            continue
        words = table.horizontalHeader().fontMetrics().horizontalAdvance(heading)
        assert table.columnWidth(at) >= words + 2 * BESIDE, heading
        for row in range(model.rowCount()):
            assert table.sizeHintForIndex(model.index(row, at)).width() <= table.columnWidth(at), heading
    if size[0] > 2000:
        assert table.horizontalScrollBar().maximum() == 0
        assert picture.mapTo(compare, QPoint()).x() > table.mapTo(compare, QPoint()).x() + table.width()


def test_what_an_epsilon_means_is_asked_of_a_line(compare, qtbot):
    click_cell(compare, qtbot, 2, at=1)
    qtbot.keyClick(compare.findChild(QTableView, TABLE), Qt.Key.Key_E, CTRL)
    assert compare.explain_panel.isVisible()
    assert compare.explain_panel._title.accessibleName().startswith("ε = 1")
    table = compare.page.table
    at = table.visualRect(compare.page.runs.index(1, 1)).center()
    asked = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, table.viewport().mapToGlobal(at))
    QApplication.sendEvent(table.viewport(), asked)
    menu = compare.findChild(QMenu, "explain_menu")
    words = [action.text() for action in menu.actions()]
    assert words[:3] == ["What Does ε = 1 Mean?", "Filter…", "Sort by This Column"]
    assert words[-2:] == ["Copy", "Copy All Rows"]
    menu.close()


def test_the_way_leads_on_from_the_best_line(compare, qtbot):
    add(compare, study("logistic-regression", regimes=REGIMES[:2], better=0.2))
    assert compare.page.primary.text() == "Release →", "the best line is of a sanitised table"
    add(compare, study("random-forest", better=0.2))
    assert compare.page.primary.text() == "Train →"
    qtbot.keyClick(compare, Qt.Key.Key_Return, CTRL)
    assert compare.page.objectName() == "page_train"
    assert compare.page.forms.chosen_model.name == "random-forest"
