"""Every table has a filter: a field of its page, or one that Ctrl+F lays on the table."""

import polars as pl
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QLabel, QLineEdit

from workbench.gui.session.draft import DraftColumn, DraftPlan
from workbench.gui.widgets.fast_table import RowsTable
from workbench.gui.widgets.fast_table_model import RowsModel
from workbench.gui.widgets.table_model import Cell, Column
from workbench.gui.widgets.table_view import LinesTable, TableFilter

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


def test_the_key_lays_a_field_on_the_table_and_other_lines_are_filtered_and_sorted_as_the_former_ones_were(
    colours, qtbot
):
    # The key lays a field on the table and escape takes it away.
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

    # Other lines are filtered and sorted as the former ones were.
    colours.horizontalHeader().setSortIndicator(0, Qt.SortOrder.DescendingOrder)
    colours.show_only("blue")
    colours.lines.show_lines([(Cell(words), Cell("other")) for words in ("blue 7", "white 8", "blue 9")])
    assert shown(colours) == ["blue 9", "blue 7"]
    colours.show_only("other")
    assert shown(colours) == ["white 8", "blue 9", "blue 7"], "a line is found by any of its words"


# -- rows of a table, which a worker sorts and filters ---------------------------------------------------------------

ROWS = 5000


@pytest.fixture
def table(window, qtbot):
    window.session.edit("describe", DraftPlan(columns=(DraftColumn(name="city"), DraftColumn(name="age"))))
    model = RowsModel(window.session)
    view = RowsTable(window.session, window.jobs, model, "rows", "Rows", row_height=28)
    cities = ["Antananarivo by the river" if i == 2 else "Oslo" for i in range(ROWS)]
    ages = [None if i == 3 else str(i % 100) for i in range(ROWS)]
    model.show_frame(pl.DataFrame({"city": cities, "age": ages}))
    qtbot.addWidget(view)
    view.resize(500, 300)
    view.show()
    return view


def numbers_of(view):
    return [view.model().headerData(row, Qt.Orientation.Vertical) for row in view.in_sight()]


def press_heading(view, qtbot, column):
    heads = view.horizontalHeader()
    place = QPoint(heads.sectionViewportPosition(column) + 12, heads.height() // 2)
    qtbot.mouseClick(heads.viewport(), Qt.MouseButton.LeftButton, pos=place)


def calm(view, qtbot):
    qtbot.waitUntil(lambda: not view._jobs.running)


def test_rows_are_filtered_sorted_as_what_they_are_and_fetched_only_where_they_are_seen(table, qtbot, window):
    # The key filters rows and what has the keyboard stays the same row.
    table.setCurrentIndex(table.model().index(2, 0))
    widths = [table.columnWidth(column) for column in range(2)]
    qtbot.keyClick(table, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    field = table.findChild(QLineEdit, "rows_filter")
    qtbot.keyClicks(field, "RIVER")
    calm(table, qtbot)
    assert numbers_of(table) == ["3"]
    assert table.currentIndex().row() == 0
    assert table.findChild(QLabel, "rows_count").text() == "1 of 5,000"
    qtbot.keyClick(field, Qt.Key.Key_Escape)
    qtbot.keyClicks(field, "missing")
    calm(table, qtbot)
    assert numbers_of(table) == ["4"], "a missing cell is found by the word that it shows"
    qtbot.keyClick(field, Qt.Key.Key_Escape)
    calm(table, qtbot)
    assert len(table.in_sight()) == ROWS
    assert [table.columnWidth(column) for column in range(2)] == widths

    # Only cells in sight are fetched of sorted rows.
    press_heading(table, qtbot, 1)
    calm(table, qtbot)
    table.viewport().repaint()
    assert 0 < sum(map(len, table.model()._blocks.values())) < ROWS

    # More rows of the same columns are sorted as the former ones were.
    table.model().show_frame(pl.DataFrame({"city": ["x", "y", "z"], "age": ["3", "1", "2"]}))
    calm(table, qtbot)
    assert numbers_of(table) == ["2", "3", "1"]

    # Other columns are in their own order.
    table.show_only("oslo")
    calm(table, qtbot)
    table.model().show_frame(pl.DataFrame({"name": ["b", "a"]}))
    calm(table, qtbot)
    assert numbers_of(table) == ["1", "2"]
    assert not table.filtered
    assert not table.horizontalHeader().isSortIndicatorShown()

    # A click on a heading sorts numbers as numbers and the third click undoes it.
    texts = ["10", "9", None, "n/a", "-3", "9"]
    table.model().show_frame(pl.DataFrame({"city": list("bacdef"), "age": texts}))
    orders = []
    for _ in range(3):
        press_heading(table, qtbot, 1)
        calm(table, qtbot)
        orders.append([table.model().value_at(row, 1) for row in table.in_sight()])
    assert orders == [["-3", "9", "9", "10", "n/a", None], ["n/a", "10", "9", "9", "-3", None], texts]
    press_heading(table, qtbot, 0)
    calm(table, qtbot)
    assert numbers_of(table) == ["2", "1", "3", "4", "5", "6"], "a row keeps the number that it has in the table"

    # Dates are sorted as the plan says that they are written.
    columns = DraftColumn(name="city"), DraftColumn(name="age", kind="date", date_order="day-first")
    window.session.edit("describe", DraftPlan(columns=columns))
    dates = ["03/12/2020", "01.02.2021", "2019-05-01", "tomorrow"]
    table.model().show_frame(pl.DataFrame({"city": list("abcd"), "age": dates}))
    press_heading(table, qtbot, 1)
    calm(table, qtbot)
    assert numbers_of(table) == ["3", "1", "2", "4"]


def test_both_sides_of_a_preview_show_the_same_rows(people, finish, idle, qtbot):
    """Either side sorts by its own cells, a word is looked for on both, and no figure of private rows is told."""
    finish(people, "tab_preview")
    sides = people.page.sides
    qtbot.waitUntil(lambda: sides.right.model().columnCount() > 0)
    column = next(c for c in range(sides.right.model().columnCount()) if sides.right.model().is_number(c))
    for view in (sides.left, sides.right):
        press_heading(view, qtbot, column)
        idle(people)
        values = [float(view.model().value_at(row, column)) for row in view.in_sight()]
        assert values == sorted(values)
        assert numbers_of(sides.left) == numbers_of(sides.right)
    assert not sides.left.horizontalHeader().isSortIndicatorShown()
    sides.right.setFocus()
    qtbot.keyClick(sides.right, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    field = people.findChild(QLineEdit, "preview_original_filter")
    qtbot.keyClicks(field, "zzz nobody")
    idle(people)
    assert len(sides.left.in_sight()) == len(sides.right.in_sight()) == 0
    assert people.findChild(QLabel, "preview_original_count").text() == ""
    finish(people, "another_draw")
    assert len(sides.right.in_sight()) == 0, "another draw is filtered, too"


def test_the_rows_of_the_table_are_filtered_on_the_data_page(people, press, idle, qtbot):
    press(people, "view_rows")
    field = people.findChild(QLineEdit, "rows_table_filter")
    view = people.findChild(RowsTable, "rows_table")
    whole = len(view.in_sight())
    qtbot.keyClicks(field, view.model().value_at(7, 0))
    idle(people)
    assert 0 < len(view.in_sight()) < whole
    assert people.findChild(QLabel, "rows_table_count").text() == ""
