"""The list of values: pasted, mended, compared with the rows, and declared as one step."""

from __future__ import annotations

import pytest
from hands import go_to
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QPlainTextEdit

from workbench.gui.pages.data.domain_editor import listed
from workbench.gui.pages.data.facts import read
from workbench.gui.project.open_table import open_table
from workbench.gui.session.draft import DraftColumn
from workbench.gui.widgets.declared import written

CTRL = Qt.KeyboardModifier.ControlModifier
ROWS = 'who,town\n1,"Bath, Avon"\n2, Wells\n1,"St. ""Ives"""\n2,Bath\n'


@pytest.fixture
def editing(window, tmp_path, idle, press):
    """A window in which the list of a column with awkward values is edited."""
    path = tmp_path / "towns.csv"
    path.write_text(ROWS, "utf-8")
    open_table(window.session, window.jobs, str(path))
    idle(window)
    go_to(window, "data")
    window.page.table.selectRow(1)
    press(window, "fact_values")
    assert text(window).hasFocus()
    return window


def text(window) -> QPlainTextEdit:
    """Return the field of lines."""
    field = window.findChild(QPlainTextEdit, "domain_text")
    assert field.isVisible()
    return field


def paste(window, qtbot, what: str) -> None:
    """Replace the text by what is pasted, by keys."""
    QApplication.clipboard().setText(what)
    qtbot.keyClick(text(window), Qt.Key.Key_A, CTRL)
    qtbot.keyClick(text(window), Qt.Key.Key_V, CTRL)


def said(window, name: str) -> str:
    """Return a sentence that is in sight; empty where it is not."""
    shown = window.findChild(QLabel, name)
    return shown.text() if shown.isVisible() else ""


def test_values_with_commas_quotes_and_spaces_are_declared_as_they_are(editing, qtbot):
    paste(editing, qtbot, 'Bath, Avon\n Wells\nSt. "Ives"\nBath\n')
    assert said(editing, "domain_count") == "4 values"
    assert "“ Wells”" in said(editing, "domain_told")
    assert said(editing, "domain_outside") == ""
    qtbot.keyClick(text(editing), Qt.Key.Key_Return, CTRL)
    town = editing.session.plan.column("town")
    assert town.domain == ("Bath, Avon", " Wells", 'St. "Ives"', "Bath")
    assert town.bounds_origin == "declared"
    assert editing.page.table.isVisible()
    qtbot.keyClick(editing, Qt.Key.Key_Z, CTRL)
    assert editing.session.plan.column("town").domain is None


def test_what_the_rows_hold_and_the_list_does_not_is_named(editing, qtbot):
    paste(editing, qtbot, "Bath\nYork")
    assert "Bath, Avon" in said(editing, "domain_outside")
    assert "3 values" in said(editing, "domain_outside")


def test_a_line_from_a_spreadsheet_is_split_and_each_value_kept_once(editing, qtbot, press):
    paste(editing, qtbot, "Bath, York; Bath\tWells")
    assert "one value" in said(editing, "domain_problem").lower()
    assert not editing.findChild(QAbstractButton, "domain_take").isEnabled()
    press(editing, "domain_split")
    assert "more than once: Bath" in said(editing, "domain_told")
    press(editing, "domain_keep")
    press(editing, "domain_sort")
    assert text(editing).toPlainText() == "Bath\nWells\nYork"
    qtbot.keyClick(text(editing), Qt.Key.Key_Z, CTRL)
    assert text(editing).toPlainText() == "Bath\nYork\nWells"


def test_a_list_from_the_data_warns_at_once_until_it_is_called_public(editing, press):
    press(editing, "domain_from_data")
    assert "outside the guarantee" in said(editing, "domain_warning")
    press(editing, "domain_take")
    assert editing.session.plan.column("town").bounds_origin == "data"
    press(editing, "fact_values")
    assert "outside the guarantee" in said(editing, "domain_warning")
    press(editing, "domain_public")
    assert said(editing, "domain_warning") == ""
    press(editing, "domain_take")
    assert editing.session.plan.column("town").bounds_origin == "declared"


def test_escape_leaves_the_list_as_it_was(editing, qtbot):
    qtbot.keyClicks(text(editing), "Bath")
    qtbot.keyClick(text(editing), Qt.Key.Key_Escape)
    assert editing.page.table.isVisible()
    assert editing.session.plan.column("town").domain is None
    assert editing.findChild(QAbstractButton, "data_onward").isVisible()


def test_spaces_at_the_ends_are_trimmed_by_a_click(editing, qtbot, press):
    paste(editing, qtbot, " Bath \nYork\n\n")
    press(editing, "domain_trim")
    assert listed(text(editing).toPlainText()).values == ("Bath", "York")


def test_a_line_break_within_a_value_has_a_sign_of_its_own():
    assert listed("a↵b\nc").values == ("a\nb", "c")


@pytest.mark.parametrize(
    "values", [("a", "b"), ("Smith, John", "b"), (" lead", 'with "marks"'), ('"', "a\nb"), ("x", "''")]
)
def test_a_list_in_a_cell_is_read_as_it_was_written(values):
    column = DraftColumn(name="town", kind="category", domain=values)
    assert read(column, "domain", written(column, "domain")) == values


def test_a_list_from_the_data_that_was_cleared_and_brought_back_still_warns(editing, qtbot, press):
    press(editing, "domain_from_data")
    qtbot.keyClick(text(editing), Qt.Key.Key_A, CTRL)
    qtbot.keyClick(text(editing), Qt.Key.Key_Delete)
    assert said(editing, "domain_warning") == ""
    qtbot.keyClick(text(editing), Qt.Key.Key_Z, CTRL)
    assert "outside the guarantee" in said(editing, "domain_warning")
    press(editing, "domain_take")
    assert editing.session.plan.column("town").bounds_origin == "data"


def test_a_list_of_thousands_is_shown_in_short_and_edited_whole(editing):
    values = tuple(f"town {i}" for i in range(5000))
    editing.session.edit_column("town", "many towns", domain=values, bounds_origin="declared")
    index = editing.page.table.attributes.index(1, 3)
    assert index.data().startswith("5,000 values: town 0, town 1, ")
    for role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
        assert len(index.data(role)) < 500
    assert index.data(Qt.ItemDataRole.EditRole).count(",") == 4999
