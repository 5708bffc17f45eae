"""The columns of the table: a tick for what an outsider knows, one for what is sensitive, and each one's part."""

from __future__ import annotations

from functools import partial
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent

from workbench.data.schema import QUASI, SENSITIVE
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_sentence
from workbench.gui.style.stylesheet import ROW
from workbench.gui.widgets.cell_delegates import tick
from workbench.gui.widgets.formatting import count, percent
from workbench.gui.widgets.settings_table import SettingsTable
from workbench.gui.widgets.table_model import Cell, Column, PlanModel

KNOWN_AT, FIGURE = 1, 72
LONGEST, PAD = "99.9 %", 24
"""The longest figure, and the points around it."""

Part = dict[str, Any]


class RiskColumns(PlanModel):
    """The columns. A tick is the column's role in the plan, one step that can be undone.

    A target or an identifier keeps its role: that it is known or sensitive is kept here, until another table is opened.

    Signals:
        ticked: something else is asked.
    """

    ticked = Signal()

    def __init__(self, session: Session) -> None:
        needed = tr("Part of the unique rows that are not unique without it")
        special = tr("Part of the score of special uniques (SUDA): how often few columns suffice, with this one")
        separated = tr("Part of the pairs of rows in which it differs")
        columns = (
            Column(tr("Column"), self._name, tr("The column of the table"), width=120, grows=0.3),
            Column(
                tr("Known"),
                self._known,
                tr("Whether an outsider may know it of a person (a quasi-identifier): Space ticks what is selected"),
                width=68,
                tick=lambda at, ticked: self._take(at, QUASI, ticked=ticked),
            ),
            Column(
                tr("Sensitive"),
                self._sensitive,
                tr("Whether nobody must learn it of a person"),
                width=84,
                tick=lambda at, ticked: self._take(at, SENSITIVE, ticked=ticked),
            ),
            Column(tr("Adds"), partial(self._share, "needed"), needed, width=FIGURE, right=True),
            Column(tr("Special"), partial(self._share, "special"), special, width=FIGURE, right=True),
            Column(
                tr("Distinct"),
                partial(self._share, "distinct"),
                tr("Different values, of all rows"),
                width=FIGURE,
                right=True,
            ),
            Column(tr("Separated"), partial(self._share, "separated"), separated, width=FIGURE, right=True),
            Column(
                tr("HIPAA"),
                self._hipaa,
                tr("Which of HIPAA's eighteen identifiers its name or values suggest: look yourself as well"),
                width=150,
                grows=0.7,
            ),
        )
        super().__init__(session, columns)
        self._own: dict[str, str] = {}
        self._parts: dict[str, Part] = {}
        session.table_changed.connect(self._reset)
        session.plan_changed.connect(self.refresh)

    def height(self) -> int:
        """Return the number of columns."""
        return len(self.session.plan.columns) if self.session.opened is not None else 0

    def names(self, role: str) -> tuple[str, ...]:
        """Return the columns that are ticked for ``role``."""
        return tuple(c.name for at, c in enumerate(self.session.plan.columns) if self._role(at) == role)

    def show_parts(self, figures: dict[str, Any]) -> None:
        """Show each column's part in what was measured."""
        parts: dict[str, Part] = {c.name: {} for c in self.session.plan.columns}
        for hint in figures.get("hipaa", ()):
            parts[hint["column"]]["hipaa"] = hint
        for one in figures.get("minimal_sets", {}).get("attributes", ()):
            parts[one["name"]]["needed"] = one["contribution"]
        for one in figures.get("special", {}).get("attributes", ()):
            parts[one["name"]]["special"] = one["contribution"]
        for one in figures.get("identifiers", ()):
            if len(one["columns"]) == 1:
                parts[one["columns"][0]] |= {"distinct": one["distinction"], "separated": one["separation"]}
        self._parts = parts
        self.refresh()

    def _role(self, at: int) -> str | None:
        column = self.column_at(at)
        return self._own.get(column.name) or column.role

    def _take(self, at: int, role: str, *, ticked: bool) -> None:
        edited = self.edited_with(at)
        with self.session.one_step(self._words([c.name for c in edited], role, ticked=ticked)):
            for column in edited:
                if column.role in ("target", "identifier"):
                    self._own.pop(column.name, None)
                    if ticked:
                        self._own[column.name] = role
                elif ticked or column.role == role:
                    name = column.name
                    self.session.edit_column(
                        name, tr("change the role of {name}", name=name), role=role if ticked else None
                    )
        self.refresh()
        self.ticked.emit()

    def _words(self, names: list[str], role: str, *, ticked: bool) -> str:
        one = names[0] if len(names) == 1 else count(len(names), "column")
        if not ticked:
            return tr("free {one}", one=one)
        return tr("call {one} known", one=one) if role == QUASI else tr("call {one} sensitive", one=one)

    def _reset(self) -> None:
        self.beginResetModel()
        self._own, self._parts = {}, {}
        self.endResetModel()

    # -- cells --------------------------------------------------------------------------------------------------------

    def _name(self, at: int) -> Cell:
        name = self.column_at(at).name
        return Cell(name, "" if self._role(at) in (QUASI, SENSITIVE) else "muted", name, key=name.casefold())

    def _box(self, at: int, role: str, yes: str, no: str) -> Cell:
        on, name = self._role(at) == role, self.column_at(at).name
        return Cell(ticked=on, key=not on, spoken=f"{name}: {yes if on else no}")

    def _known(self, at: int) -> Cell:
        return self._box(at, QUASI, tr("known"), tr("not known"))

    def _sensitive(self, at: int) -> Cell:
        return self._box(at, SENSITIVE, tr("sensitive"), tr("not sensitive"))

    def _share(self, key: str, at: int) -> Cell:
        part = self._parts.get(self.column_at(at).name, {}).get(key)
        if part is None or self._role(at) != QUASI:
            return Cell("")
        return Cell(percent(round(part, 3)), key=part, exact=repr(part))

    def _hipaa(self, at: int) -> Cell:
        hint = self._parts.get(self.column_at(at).name, {}).get("hipaa")
        if hint is None:
            return Cell("")
        words = f"({hint['letter']}) {tr_sentence(hint['identifier'])}"
        return Cell(words, "warn", words, key=hint["letter"])


class RiskColumnsTable(SettingsTable):
    """The list; Space ticks a column as known."""

    def __init__(self, session: Session) -> None:
        self.listed = RiskColumns(session)
        super().__init__(
            session, self.listed, "risk_columns", tr("Columns: ticked if an outsider knows them"), private=True
        )
        self.verticalHeader().setDefaultSectionSize(ROW - 4)

    def _widest_choice(self, column: int) -> int:
        figure = self.fontMetrics().horizontalAdvance(LONGEST) + PAD if self.listed.columns[column].right else 0
        return max(super()._widest_choice(column), figure)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Let Space tick from any cell of a row but another box."""
        index = self.currentIndex()
        if event.key() == Qt.Key.Key_Space and not event.modifiers() and index.isValid():
            boxed = self.listed.cell(index.row(), index.column()).ticked is not None
            tick(index if boxed else self.listed.index(index.row(), KNOWN_AT))
            return
        super().keyPressEvent(event)
