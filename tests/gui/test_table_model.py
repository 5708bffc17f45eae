"""One table model: what is declared of a column and a cell is what a view, a copy and a screen reader are given."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor, QHelpEvent
from PySide6.QtWidgets import QApplication, QToolTip

from workbench.gui.widgets.settings_table import SettingsTable
from workbench.gui.widgets.table_model import EDITABLE, EXACT, SHOWN, TICKABLE, Cell, Column, EditedModel, TableModel
from workbench.gui.widgets.table_view import LinesTable
from workbench.params import ParameterError

Roles = Qt.ItemDataRole


class Ages(EditedModel):
    """Three people, whose age is typed and who are ticked."""

    def __init__(self, session) -> None:
        columns = (
            Column("Name", self._name, "Who it is", width=80),
            Column("Age", self._age, width=60, right=True, field="age_editor", edit=self._take),
            Column("Seen", self._seen, width=60, sorts=False, tick=self._see),
        )
        super().__init__(session, columns)
        self.people = {"Bo": 41, "Al": 7, "Cy": None}
        self.seen: set[str] = set()
        self.made = 0

    def height(self) -> int:
        return 3

    def _of(self, at: int) -> str:
        return list(self.people)[at]

    def _name(self, at: int) -> Cell:
        self.made += 1
        return Cell(self._of(at), key=self._of(at))

    def _age(self, at: int) -> Cell:
        age = self.people[self._of(at)]
        shown = "–" if age is None else str(age)
        return Cell(shown, "muted", "In years", f"{shown}.000", age, value=shown if age else None)

    def _seen(self, at: int) -> Cell:
        return Cell(ticked=self._of(at) in self.seen, spoken="seen" if self._of(at) in self.seen else "not seen")

    def _take(self, at: int, text: str) -> None:
        if not text.isdigit():
            raise ParameterError(f"{text!r} is not an age", "the age", "write a whole number")
        self.people |= {self._of(row): int(text) for row in self.chosen(at)}
        self.refresh()

    def _see(self, at: int, ticked: bool) -> bool:
        if self._of(at) == "Cy":
            return False
        (self.seen.add if ticked else self.seen.discard)(self._of(at))
        self.refresh()
        return True


@pytest.fixture
def ages(window):
    return Ages(window.session)


def test_a_cell_answers_everything_that_is_asked_of_it(ages, window):
    name, age, seen = (ages.index(0, column) for column in range(3))
    assert [age.data(role) for role in (Roles.DisplayRole, Roles.EditRole, EXACT)] == ["41", "41", "41.000"]
    assert age.data(Roles.ForegroundRole) == QColor(window.session.theme.muted)
    assert name.data(Roles.ForegroundRole) is None
    assert (name.data(Roles.ToolTipRole), age.data(Roles.ToolTipRole)) == ("Who it is", "In years")
    assert seen.data(Roles.AccessibleTextRole) == "not seen"
    assert seen.data(Roles.CheckStateRole) == Qt.CheckState.Unchecked
    assert [ages.headerData(c, Qt.Orientation.Horizontal) for c in range(3)] == ["Name", "Age", "Seen"]
    for given in (age.data(Roles.TextAlignmentRole), ages.headerData(1, Qt.Orientation.Horizontal, 7)):
        assert given & Qt.AlignmentFlag.AlignRight
    assert [index.flags() for index in (name, age, seen)] == [SHOWN, EDITABLE, TICKABLE]
    assert ages.index(2, 1).flags() == SHOWN, "an unknown age cannot be edited"


def test_a_cell_is_made_once_until_something_changes(ages, window):
    for role in (Roles.DisplayRole, Roles.ToolTipRole, Roles.ForegroundRole):
        ages.index(0, 0).data(role)
    assert ages.made == 1
    window.theme.set_mode("dark")
    ages.index(0, 0).data()
    assert ages.made == 2


def test_what_is_refused_is_said_and_changes_nothing(ages):
    heard = []
    ages.refused.connect(heard.append)
    assert not ages.setData(ages.index(0, 1), "old")
    assert "is not an age" in heard.pop()
    assert ages.setData(ages.index(0, 1), "42")
    assert (heard.pop(), ages.index(0, 1).data()) == ("", "42")
    assert not ages.setData(ages.index(2, 1), "3"), "it cannot be edited"
    assert not ages.setData(ages.index(0, 0), "Di"), "names are not edited"
    assert not ages.setData(ages.index(2, 2), Qt.CheckState.Checked.value, Roles.CheckStateRole)
    assert ages.setData(ages.index(1, 2), Qt.CheckState.Checked.value, Roles.CheckStateRole)
    assert ages.seen == {"Al"}


def test_rows_are_sorted_by_their_keys_and_edited_together(ages, window, qtbot):
    table = SettingsTable(window.session, ages, "ages", "Ages")
    qtbot.addWidget(table)
    heads = table.horizontalHeader()
    heads.setSortIndicator(1, Qt.SortOrder.DescendingOrder)
    assert [ages.name_at(row) for row in table.in_sight()] == ["Bo", "Al", "Cy"], "what has no key goes last"
    heads.setSortIndicator(1, Qt.SortOrder.AscendingOrder)
    assert [ages.name_at(row) for row in table.in_sight()] == ["Al", "Bo", "Cy"]
    heads.setSortIndicator(2, Qt.SortOrder.AscendingOrder)
    assert heads.sortIndicatorSection() == 1, "a column that sorts nothing leaves the order"
    table.indicate_while_sorted()
    heads.setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
    heads.setSortIndicator(2, Qt.SortOrder.AscendingOrder)
    assert not heads.isSortIndicatorShown(), "nothing is sorted: the headings keep no room for the sign"
    heads.setSortIndicator(1, Qt.SortOrder.AscendingOrder)
    assert heads.isSortIndicatorShown()
    assert [ages.name_at(row) for row in table.in_sight()] == ["Al", "Bo", "Cy"]
    table.selectAll()
    assert ages.setData(ages.index(1, 1), "9")
    assert set(ages.people.values()) == {9}


def test_a_text_that_is_cut_is_whole_in_its_tip(window, qtbot):
    table = LinesTable(
        window.session,
        "notes",
        "Notes",
        (Column("Day", help="When it was written", width=60), Column("Note", width=60)),
    )
    qtbot.addWidget(table)
    table.resize(160, 120)
    table.show()
    note = "a note that is much longer than its column, as notes are"
    table.lines.show_lines([(Cell("1"), Cell(note)), (Cell("2"), Cell("short"))])
    table.setColumnWidth(0, 100)
    table.horizontalHeader().setStretchLastSection(False)
    table.setColumnWidth(1, 60)

    def tip_at(row: int, column: int = 1) -> str:
        place = table.visualRect(table.lines.index(row, column)).topLeft() + QPoint(5, 5)
        table.viewportEvent(QHelpEvent(QHelpEvent.Type.ToolTip, place, table.viewport().mapToGlobal(place)))
        return QToolTip.text()

    assert tip_at(0) == note
    long = "DiabetesPedigreeFunction, the column of a day with a name like that"
    table.lines.show_lines([(Cell(long), Cell(note))])
    assert tip_at(0, 0) == f"{long}\n\nWhen it was written", "whole, though the column has a tip of its own"
    QToolTip.hideText()
    QApplication.processEvents()


def test_what_short_words_need_comes_before_long_ones(window, qtbot):
    columns = Column("Dataset", width=40), Column("File", width=40), Column("What remains", right=True)
    table = LinesTable(window.session, "files", "Files", columns)
    qtbot.addWidget(table)
    table.resize(320, 120)
    table.show()
    table.lines.show_lines(
        [(Cell("people  2b1ac"), Cell("a name that has no end and no room, as files have"), Cell("3"))]
    )
    assert [table.sizeHintForColumn(at) <= table.columnWidth(at) for at in range(3)] == [True, False, True]
    assert table.horizontalScrollBar().maximum() == 0
    assert table.model().headerData(2, Qt.Orientation.Horizontal) == "What\nremains"


def test_lines_that_are_the_same_keep_their_selection(window, qtbot):
    model = TableModel(window.session, (Column("Note"),))
    resets = []
    model.modelReset.connect(lambda: resets.append(1))
    model.show_lines([(Cell("a"),)])
    model.show_lines([(Cell("b"),)], same=True)
    assert (len(resets), model.index(0, 0).data()) == (1, "b")
