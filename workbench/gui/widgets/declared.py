"""What is declared of a column, as a person reads it."""

from __future__ import annotations

import datetime

from workbench.gui.session.draft import DraftColumn
from workbench.gui.style.language import tr, tr_number
from workbench.gui.widgets.formatting import count

SHOWN = 24
"""Values of a list that are shown where it is not edited."""


def written(column: DraftColumn, fact: str) -> str:
    """Return a declared fact as text, empty where it is open."""
    value = getattr(column, fact)
    if value is None:
        return tr("false, true") if fact == "domain" and column.kind == "boolean" else ""
    if fact == "domain":
        return ", ".join(map(_quoted, value))
    if column.kind == "date":
        return datetime.date.fromordinal(int(value)).isoformat()
    return tr_number(value, ".15g")


def in_short(column: DraftColumn, fact: str) -> str:
    """Return a declared fact as a cell or a tooltip shows it: to lay out thousands of values takes half a second."""
    values = column.domain or ()
    if fact != "domain" or len(values) <= SHOWN:
        return written(column, fact)
    return f"{count(len(values), 'value')}: {', '.join(map(_quoted, values[:SHOWN]))}, …"


def _quoted(value: str) -> str:
    """Return a value as it is in a list parted by commas, in quotes where it could be taken for something else."""
    if not (value != value.strip() or any(mark in value for mark in ',"\n')):
        return value
    return '"' + value.replace('"', '""') + '"'
