"""The table of rows: what its own painting must show of selection, keyboard, numbers and long texts."""

import numpy as np
import polars as pl
import pytest
from hands import go_to
from PySide6.QtCore import QEvent, QItemSelectionModel, QObject, QPoint, QRect, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QImage
from PySide6.QtWidgets import QWidget

from workbench.gui.pages.preview.page import DrawModel
from workbench.gui.session.draft import DraftColumn, DraftPlan
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.widgets.fast_table import PAD, RowsTable, as_in_the_file, tint
from workbench.gui.widgets.fast_table_model import BLOCK, RowsModel
from workbench.gui.widgets.table_view import heading_width
from workbench.render.fonts import font

ROWS = 5000


@pytest.fixture
def session():
    made = Session()
    columns = (
        DraftColumn(name="city", kind="category"),
        DraftColumn(name="age", kind="integer", lower=0.0, upper=99.0),
    )
    made.edit("describe", DraftPlan(columns=columns))
    return made


@pytest.fixture
def table(session, qtbot):
    """A shown view of 5,000 rows of a text and a number, one of them missing."""
    model = RowsModel(session)
    cities = ["Antananarivo by the river" if i == 2 else "Oslo" for i in range(ROWS)]
    ages: list[str | None] = [str(i % 100) for i in range(ROWS)]
    ages[3] = None
    model.show_frame(pl.DataFrame({"city": cities, "age": ages}))
    view = RowsTable(session, JobCenter(session), model, "rows", "Rows", row_height=28)
    qtbot.addWidget(view)
    view.resize(500, 300)
    view.show()
    qtbot.waitExposed(view)
    return view


def inked(view: RowsTable, row: int, column: int) -> list[int]:
    """Return the places across a cell where something other than its background is drawn."""
    box: QRect = view.visualRect(view.model().index(row, column))
    assert view.viewport().rect().contains(box)
    image = view.viewport().grab(box).toImage()
    plain = image.pixelColor(image.width() - 2, 2)
    return [x for x in range(image.width()) if any(image.pixelColor(x, y) != plain for y in range(4, box.height() - 4))]


def colour_at(view: RowsTable, row: int, column: int) -> QColor:
    corner = view.visualRect(view.model().index(row, column)).topRight() + QPoint(-3, 3)
    return view.viewport().grab().toImage().pixelColor(corner)


@pytest.mark.parametrize("text", ["2x4x6x8x10x2x4x6x", "->->->->->", "AVAVAVAVAV"])
def test_a_text_is_drawn_where_its_width_says(table, text):
    """A number's end is its right edge: it would stand beyond it, or short of it."""
    table.model().show_frame(pl.DataFrame({"city": ["Oslo"], "age": [text]}))
    table.setColumnWidth(1, 200)
    place = inked(table, 0, 1)
    width = QFontMetricsF(as_in_the_file(table.font())).horizontalAdvance(text)
    assert place[-1] == pytest.approx(table.columnWidth(1) - PAD, abs=3)
    assert place[-1] - place[0] == pytest.approx(width, abs=4)


def test_the_long_names_of_computed_columns_are_in_two_lines(table):
    """The predictions for a sample of seven columns were scrolled sideways at 150 %."""
    name = "chance of yes"
    table.model().figures = {name}
    table.model().show_frame(pl.DataFrame({name: ["0.25"]}))
    assert heading_width("chance\nof yes") <= table.columnWidth(0) < heading_width(name)


def test_signs_of_a_cell_stay_what_they_are(table):
    """Inter would draw ``->`` as one arrow and the x between figures as a cross: the file holds neither."""
    metrics = QFontMetricsF(as_in_the_file(table.font()))
    assert metrics.horizontalAdvance("->") == pytest.approx(sum(map(metrics.horizontalAdvance, "->")), abs=1.0)
    assert QFontMetricsF(table.font()).horizontalAdvance("->") != metrics.horizontalAdvance("->")


def test_text_begins_on_the_left_and_numbers_end_on_the_right(table):
    city, age = inked(table, 0, 0), inked(table, 1, 1)
    assert city[0] <= PAD + 6
    assert age[-1] >= table.columnWidth(1) - PAD - 6
    assert age[0] > table.columnWidth(1) / 2


def test_a_long_text_ends_inside_its_cell(table):
    table.setColumnWidth(0, 90)
    assert inked(table, 2, 0)[-1] <= 90 - PAD


def test_a_selected_cell_has_the_colour_of_the_selection(table, session, qtbot):
    place = table.visualRect(table.model().index(1, 0)).center()
    qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert colour_at(table, 1, 0) == QColor(session.theme.selection)
    assert colour_at(table, 2, 0) == QColor(session.theme.surface)


def test_a_selection_that_is_scrolled_away_is_still_drawn_where_it_reaches(table, session, qtbot):
    qtbot.keyClick(table, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    table.scrollToBottom()
    assert colour_at(table, ROWS - 3, 0) == QColor(session.theme.selection)


class Painted(QObject):
    """How many pixels from top to bottom were painted of what it listens to."""

    def __init__(self, area: QWidget) -> None:
        super().__init__(area)
        self.height = 0
        area.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        if event.type() == QEvent.Type.Paint:
            self.height += event.rect().height()
        return False


@pytest.mark.parametrize("line", [28, 5])
def test_rows_that_stay_in_sight_are_moved_and_not_painted_again(table, qtbot, line):
    """One row down, and, where the table scrolls by pixels, a part of one."""
    table.setVerticalScrollMode(
        RowsTable.ScrollMode.ScrollPerItem if line == 28 else RowsTable.ScrollMode.ScrollPerPixel
    )
    table.verticalScrollBar().setSingleStep(1 if line == 28 else line)
    table.setCurrentIndex(table.model().index(4, 0))
    table.repaint()
    areas = table.viewport(), table.verticalHeader().viewport()
    painted = [Painted(area) for area in areas]
    table.verticalScrollBar().triggerAction(table.verticalScrollBar().SliderAction.SliderSingleStepAdd)
    qtbot.waitUntil(lambda: all(p.height for p in painted))
    assert table.rowViewportPosition(0) == -line
    assert all(p.height <= line for p in painted)
    on_screen = table.screen().grabWindow(table.winId()).toImage().convertToFormat(QImage.Format.Format_RGB32)
    assert on_screen == table.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)


def test_changed_cells_are_tinted_and_a_selected_one_is_not(session, qtbot):
    model = DrawModel(session)
    view = RowsTable(session, JobCenter(session), model, "draw", "Draw", row_height=28)
    qtbot.addWidget(view)
    changed = np.array([True, True, False, True])
    model.show_draw(pl.DataFrame({"city": ["a", "b", "c", None], "age": ["1", "2", "3", "4"]}), {"city": changed})
    view.resize(500, 300)
    view.show()
    qtbot.waitExposed(view)
    view.selectionModel().select(model.index(1, 0), QItemSelectionModel.SelectionFlag.Select)
    tinted, surface, selection = tint(session.theme), session.theme.surface, session.theme.selection
    assert [colour_at(view, row, 0).name() for row in range(4)] == [
        QColor(c).name() for c in (tinted, selection, surface, tinted)
    ]
    assert {colour_at(view, row, 1).name() for row in range(4)} == {QColor(surface).name()}
    assert [model.is_changed(row, 0) for row in range(4)] == changed.tolist()


def test_every_row_in_sight_has_its_number(table, session):
    table.scrollToBottom()
    area = table.verticalHeader().viewport()
    image = area.grab().toImage()
    surface = QColor(session.theme.surface)
    for y in range(1, area.height() - 28, 28):
        across = [x for x in range(image.width()) if any(image.pixelColor(x, y + d) != surface for d in range(26))]
        assert PAD <= across[0] <= PAD + 3
        assert across[-1] < image.width() - 1


def test_the_last_and_the_longest_rows_are_as_wide_as_they_ask_for(table):
    ids = [str(10**8 + i) if i > 3000 else str(i) for i in range(4000)]
    table.model().show_frame(pl.DataFrame({"id": ids, "one": ["100003999" if i == 2000 else "1" for i in range(4000)]}))
    table.fit_columns()
    for column in (0, 1):
        assert table.columnWidth(column) >= table.fontMetrics().horizontalAdvance("100003999") + 2 * PAD


def test_the_columns_of_numbers_follow_the_plan(table, session):
    assert not table.model().is_number(0)
    session.edit_column("city", "call it a number", kind="integer")
    assert table.model().is_number(0)
    alignment = table.model().headerData(0, Qt.Orientation.Horizontal, Qt.ItemDataRole.TextAlignmentRole)
    assert alignment & Qt.AlignmentFlag.AlignRight


def test_only_cells_in_sight_are_fetched(table):
    table.scrollToBottom()
    table.viewport().repaint()
    held = table.model()._blocks
    assert (1, (ROWS - 1) // BLOCK) in held
    assert sum(map(len, held.values())) < ROWS


def test_columns_are_as_wide_as_their_first_rows_ask_for(people, press):
    press(people, "view_rows")
    view = people.findChild(RowsTable, "rows_table")
    names, ages = view.columnWidth(1), view.columnWidth(2)
    assert names > ages
    texts = [view.model().index(row, 1).data() for row in range(20)]
    longest = max(view.fontMetrics().horizontalAdvance(text) for text in texts)
    assert names >= longest


def test_each_column_is_measured_once(people, press, monkeypatch, qtbot):
    measured, fit = [], RowsTable.fitting
    monkeypatch.setattr(RowsTable, "fitting", lambda table, column: (measured.append(column), fit(table, column))[1])
    press(people, "view_rows")
    qtbot.wait(100)
    assert measured == list(range(people.page.rows_view.model().columnCount()))


def test_both_sides_of_a_preview_have_the_same_widths(people, finish, qtbot):
    finish(people, "tab_preview")
    left, right = (people.findChild(RowsTable, f"preview_{side}") for side in ("original", "sanitised"))
    qtbot.waitUntil(lambda: right.model().columnCount() > 0)
    assert [left.columnWidth(c) for c in range(5)] == [right.columnWidth(c) for c in range(5)]
    assert len({left.columnWidth(c) for c in range(5)}) > 1


def test_row_numbers_are_as_wide_as_the_last_one_and_are_not_measured_one_by_one(people, press, idle, monkeypatch):
    go_to(people, "preview")
    idle(people)
    view = people.page.sides.left
    head = view.verticalHeader()
    drawn = QFontMetricsF(font(12)).horizontalAdvance
    assert drawn("2,000") + 2 * PAD <= head.width() < drawn("20,000") + 2 * PAD, "nor wider: it is the table's room"
    asked = []
    former = RowsModel.headerData

    def counted(self, section, orientation, role=Qt.ItemDataRole.DisplayRole):
        asked.append(orientation)
        return former(self, section, orientation, role)

    monkeypatch.setattr(RowsModel, "headerData", counted)
    people.theme.set_mode("dark")
    assert asked.count(Qt.Orientation.Vertical) < 1000  # a change of colours waits for it


def test_a_figure_beside_the_table_has_four_digits_and_all_of_them_in_its_copy(table):
    table.model().figures = {"age"}
    assert table.model().shown("0.0779956", 1) == "0.078"
    assert table.model().shown("0.0779956", 0) == "0.0779956", "a column of the file is shown as it was written"
    assert table.model().index(4, 1).data() == "4"
