"""The list of columns: a tick for each that is needed, and the reason beside each that is not suggested."""

from __future__ import annotations

from collections.abc import Collection

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent

from workbench.data.schema import KINDS
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later, tr_sentence
from workbench.gui.style.stylesheet import ROW
from workbench.gui.widgets.cell_delegates import CHEVRON, PADDING, tick
from workbench.gui.widgets.formatting import count
from workbench.gui.widgets.settings_table import SettingsTable
from workbench.gui.widgets.table_model import Cell, Column, PlanModel
from workbench.sanitize.questions import FURTHER

NAME, TICK, KIND, WHY = range(4)
NEVER_MIND = tr_later("not suggested: {why}")


class ColumnModel(PlanModel):
    """The columns of the table; ticking some is one step that can be undone."""

    def __init__(self, session: Session) -> None:
        columns = (
            Column(tr("Column"), self._name, tr("The column of the table"), width=200, grows=0.4),
            Column(
                tr("Needed"),
                self._needed,
                tr("Whether the column is released: Space ticks what is selected, Shift+click a range"),
                width=96,
                tick=self._take,
            ),
            Column(tr("Kind"), self._kind, tr("What kind of values the column seems to have"), width=96),
            Column("", self._why, tr("Why a column is not suggested"), width=240, grows=0.6),
        )
        super().__init__(session, columns)
        session.table_changed.connect(self._reset)
        session.plan_changed.connect(self.refresh)

    def height(self) -> int:
        """Return the number of columns."""
        return len(self.session.plan.columns) if self.session.opened is not None else 0

    def needs_at(self, at: int) -> bool:
        """Return whether a column is ticked: the box beside the filter shows these alone."""
        return self.column_at(at).action != "drop"

    def take(self, names: Collection[str], *, ticked: bool) -> None:
        """Tick columns, or free them."""
        before = self.session.questions
        wanted = {*before.needed, *names} if ticked else {*before.needed}.difference(names)
        needed = tuple(c.name for c in self.session.plan.columns if c.name in wanted)
        one = next(iter(names)) if len(names) == 1 else count(len(names), "column")
        words = tr("release {one}", one=one) if ticked else tr("leave out {one}", one=one)
        self.session.answer(words, needed=needed, target=before.target if before.target in needed else None)

    def _take(self, at: int, ticked: bool) -> None:
        self.take([c.name for c in self.edited_with(at)], ticked=ticked)

    def _reset(self) -> None:
        self.beginResetModel()
        self.endResetModel()

    # -- cells --------------------------------------------------------------------------------------------------------

    def _name(self, at: int) -> Cell:
        column = self.column_at(at)
        return Cell(column.name, "" if self.needs_at(at) else "muted", column.name, key=column.name.casefold())

    def _needed(self, at: int) -> Cell:
        needed, name = self.needs_at(at), self.column_at(at).name
        return Cell(ticked=needed, key=not needed, spoken=f"{name}: {tr('released') if needed else tr('not released')}")

    def _kind(self, at: int) -> Cell:
        column = self.column_at(at)
        opened = self.session.opened
        profile = opened.profiles.get(column.name) if opened else None
        kind = column.kind or (profile.kind if profile else "")
        return Cell(tr_sentence(kind), "" if self.needs_at(at) else "muted", key=kind)

    def _why(self, at: int) -> Cell:
        opened, column = self.session.opened, self.column_at(at)
        why = opened.suggested.why_not.get(column.name, "") if opened else ""
        if column.role == "target":
            return Cell(tr("the target"), key="the target")
        stated = tr_sentence(why)
        if self.needs_at(at) and why and not why.startswith(FURTHER):
            return Cell(f"⚠ {tr(NEVER_MIND, why=stated)}", "warn", key=why)
        return Cell("" if self.needs_at(at) else stated, "muted", key=why or None)


class ColumnList(SettingsTable):
    """A list that is ticked by the mouse or by Space; a box that is clicked with Shift ticks the range."""

    def __init__(self, session: Session) -> None:
        self.listed = ColumnModel(session)
        accessible = tr("Columns: ticked if they are needed")
        super().__init__(session, self.listed, "question_columns", accessible, private=True)
        self.verticalHeader().setDefaultSectionSize(ROW - 4)
        heads = self.horizontalHeader()
        heads.moveSection(heads.visualIndex(TICK), 0)

    def take_in_sight(self, *, ticked: bool) -> None:
        """Tick or free every row that is not filtered out."""
        self.listed.take([self.listed.name_at(row) for row in self.in_sight()], ticked=ticked)

    def _widest_choice(self, column: int) -> int:
        """Return the width in which every kind is read whole, however large its letters are."""
        advance, words = self.fontMetrics().horizontalAdvance, KINDS if column == KIND else ()
        return max((advance(tr_sentence(kind)) + PADDING + CHEVRON for kind in words), default=0)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Let Space and Return tick from any cell of a row."""
        index = self.currentIndex()
        keys = (Qt.Key.Key_Space, Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if event.key() in keys and not event.modifiers() and index.isValid():
            tick(self.listed.index(index.row(), TICK))
            return
        super().keyPressEvent(event)
