"""Every table has a filter: a field of its page, or one that Ctrl+F lays on the table."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit

from workbench.gui.widgets.lines_table import LinesTable
from workbench.gui.widgets.table_model import Cell, Column
from workbench.gui.widgets.table_view import TableFilter, TableView

CTRL = Qt.KeyboardModifier.ControlModifier
WORDS = ("red 1", "blue 2", "green 3", "blue 4")


@pytest.fixture
def colours(window, qtbot):
    table = LinesTable(window.session, "colours", "Colours", (Column("Colour", width=90), Column("Note", width=90)))
    table.lines.show_lines([(Cell(words), Cell("same")) for words in WORDS])
    qtbot.addWidget(table)
    table.resize(420, 260)
    table.show()
    table.selectRow(0)
    table.setFocus()
    return table


def shown(table):
    return [table.lines.cell(row, 0).text for row in table.in_sight()]


def test_the_key_lays_a_field_on_the_table_and_escape_takes_it_away(colours, qtbot):
    qtbot.keyClick(colours, Qt.Key.Key_F, CTRL)
    field = colours.findChild(QLineEdit, "colours_filter")
    lies = field.parentWidget()
    assert isinstance(lies, TableFilter)
    assert lies.isVisible()
    assert colours.rect().contains(lies.geometry())
    qtbot.keyClicks(field, "BLUE")
    assert shown(colours) == ["blue 2", "blue 4"]
    assert colours.currentIndex().row() == 1, "the keys go on from a row that is in sight"
    qtbot.keyClick(field, Qt.Key.Key_Escape)
    assert shown(colours) == list(WORDS)
    assert lies.isVisible()
    qtbot.keyClick(field, Qt.Key.Key_Escape)
    assert not lies.isVisible()


def test_other_lines_are_filtered_and_sorted_as_the_former_ones_were(colours, qtbot):
    colours.horizontalHeader().setSortIndicator(0, Qt.SortOrder.DescendingOrder)
    colours.show_only("blue")
    colours.lines.show_lines([(Cell(words), Cell("other")) for words in ("blue 7", "white 8", "blue 9")])
    assert shown(colours) == ["blue 9", "blue 7"]
    colours.show_only("other")
    assert shown(colours) == ["white 8", "blue 9", "blue 7"], "a line is found by any of its words"


def test_every_table_of_the_window_answers_to_the_key(people):
    names = [name for name in people.page_names() if people.show_page(name) or True]
    tables = [table for table in people.findChildren(TableView) if table.objectName()]
    assert len(names) > 15
    assert len(tables) > 12
    for table in tables:
        table.ask_filter()
        fields = people.findChildren(QLineEdit, f"{table.objectName()}_filter")
        assert len(fields) == 1, table.objectName()
