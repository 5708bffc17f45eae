"""What is declared of a column, as a person reads it."""

from __future__ import annotations

import datetime

from workbench.gui.session.draft import DraftColumn
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later, tr_number
from workbench.gui.widgets.basic import Card, label
from workbench.gui.widgets.formatting import count
from workbench.gui.widgets.table_model import Cell, Column
from workbench.gui.widgets.table_view import LinesTable

SHOWN = 24  # values of a list that are shown where it is not edited


def fact_text(column: DraftColumn, fact: str, spec: str = ".15g") -> str:
    """Return a declared fact as text, empty where it is open; numbers as ``spec`` says."""
    value = getattr(column, fact)
    if value is None:
        return tr("false, true") if fact == "domain" and column.kind == "boolean" else ""
    if fact in ("domain", "missing_codes"):
        return ", ".join(map(_quoted, value))
    if column.kind == "date":
        return datetime.date.fromordinal(int(value)).isoformat()
    return tr_number(value, spec)


def short_fact_text(column: DraftColumn, fact: str) -> str:
    """Return a declared fact as a cell or a tooltip shows it: to lay out thousands of values takes half a second."""
    values = column.domain or ()
    if fact != "domain" or len(values) <= SHOWN:
        return fact_text(column, fact)
    return f"{count(len(values), 'value')}: {', '.join(map(_quoted, values[:SHOWN]))}, …"


def _quoted(value: str) -> str:
    """Return a value as it is in a list parted by commas, in quotes where it could be taken for something else."""
    if not (value != value.strip() or any(mark in value for mark in ',"\n')):
        return value
    return '"' + value.replace('"', '""') + '"'


class ColumnsCard(Card):
    """What is declared of each released column: what anybody may know of it, and what its values are clamped to."""

    def __init__(self, session: Session, name: str) -> None:
        super().__init__(pad=12)
        self.setObjectName(f"{name}_card")
        self._session = session
        columns = (
            Column(tr_later("Column"), width=140),
            Column(tr_later("Kind"), width=110),
            Column(tr_later("Declared: anybody may know it"), width=320),
        )
        accessible = tr("What is declared of each released column")
        self._table = LinesTable(session, name, accessible, columns)
        self.body.addWidget(label(tr("RELEASED COLUMNS"), "caption"))
        self.body.addWidget(self._table, 1)

    def follow(self) -> None:
        released = [column for column in self._session.plan.columns if column.action != "drop"]
        self._table.lines.show_lines([(Cell(c.name), Cell(tr(c.kind or "–")), _declared(c)) for c in released])


def _declared(column: DraftColumn) -> Cell:
    if column.action == "keep":
        return Cell(tr("published as it is"), "warn")
    if column.lower is not None and column.upper is not None:
        low, high = (fact_text(column, bound, ",.15g") for bound in ("lower", "upper"))
        stated = tr("{low} to {high}", low=low, high=high)
    else:
        stated = short_fact_text(column, "domain")
    return Cell(stated, tip=stated)
