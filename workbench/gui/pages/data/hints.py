"""Suspicions as lines: the reason, and where something can be done about it, one button that does it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLabel, QPushButton, QWidget

from workbench.gui.pages.data.facts import kind_changes
from workbench.gui.session.draft import OPEN, DraftColumn
from workbench.gui.session.error_text import suspicion_text
from workbench.gui.style.language import tr, tr_later
from workbench.gui.widgets.basic import button, label, once, panel, row, stack

if TYPE_CHECKING:
    from workbench.data.columns.profile import ColumnProfile, Suspicion

DATE_ORDERS = {
    "day-first": (tr_later("Declare day first"), tr_later("declare day first for {name}")),
    "month-first": (tr_later("Declare month first"), tr_later("declare month first for {name}")),
}
"""What the button and the Edit menu say where the rows show the order of dates."""

MOST = 2
"""Lines that have room."""


@dataclass(frozen=True)
class Remedy:
    """What accepting a suspicion does.

    Attributes:
        verb: the text of the button.
        words: the step for the Edit menu.
        changes: what differs of the column; empty where the person is led to where it is said.
        leads: where to: ``dialect``, the form of how the file is read, or ``rows``, the maximum rows per person.
    """

    verb: str
    words: str = ""
    changes: dict[str, Any] = field(default_factory=dict)
    leads: str = ""


def remedy(column: DraftColumn, profile: ColumnProfile, suspicion: Suspicion) -> Remedy | None:
    """Return what can be done about a suspicion; ``None`` where it is done already, or only a person can judge."""
    name, what = column.name, suspicion.what
    if what == "decimal":
        return Remedy(tr("State the decimal mark…"), leads="dialect")
    if what == "household":
        return Remedy(tr("Maximum rows per person…"), leads="rows")
    if not column.protected:
        return None
    if what in ("identifier", "person", "name", "e-mail", "phone") and column.role != "target":
        return Remedy(
            tr("Drop it"), tr("drop {name}, an identifier", name=name), {"role": "identifier", "action": "drop"}
        )
    if what in ("constant", "empty"):
        return Remedy(tr("Drop it"), tr("drop {columns}", columns=name), {"action": "drop"})
    if what == "date" and column.kind == "integer":
        return Remedy(tr("Call it a date"), tr("call {name} date", name=name), kind_changes(column, "date"))
    if what == "date-order" and profile.date_order and column.date_order != profile.date_order:
        verb, words = DATE_ORDERS[profile.date_order]
        return Remedy(tr(verb), tr(words, name=name), {"date_order": profile.date_order})
    if what == "code" and column.kind != "category":
        return Remedy(tr("Call it a category"), tr("call {name} category", name=name), kind_changes(column, "category"))
    if what == "code" and column.role is None:
        return Remedy(
            tr("Call it a quasi-identifier"),
            tr("call {name} quasi-identifier", name=name),
            {"role": "quasi-identifier"},
        )
    return None


def unsettled(column: DraftColumn, profile: ColumnProfile | None) -> tuple[Suspicion, ...]:
    """Return what is still to be judged: of a date whose order is stated, of a column that a person dropped, less."""
    found = _suspicions(column, profile)
    dropped = not column.protected and "action" not in column.unconfirmed
    return tuple(s for s in found if s.what in ("decimal", "household")) if dropped else found


def _suspicions(column: DraftColumn, profile: ColumnProfile | None) -> tuple[Suspicion, ...]:
    if profile is None:
        return ()
    dated = column.date_order not in (None, OPEN) or not column.protected
    listed = {word for word, _rows in profile.words} <= set(column.domain or ())
    settled = {"date-order": dated, "missing": listed}
    return tuple(s for s in profile.suspicions if not settled.get(s.what, False))


class SuspicionLines(QWidget):
    """At most two suspicions, those with a remedy first.

    Signals:
        accepted: (Remedy) the person takes the suggestion.
    """

    accepted = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self._lines: list[tuple[QWidget, QLabel, QPushButton]] = []
        for at in range(MOST):
            text = label("", wrap=True, name=f"suspicion_{at}")
            press = once(button("", f"suspicion_accept_{at}", "link"))
            press.clicked.connect(lambda _checked, at=at: self.accepted.emit(self._remedies[at]))
            self._lines.append((panel(row((text, 1), press)), text, press))
        self.setLayout(stack(*(holder for holder, _, _ in self._lines), spacing=2))
        self._remedies: list[Remedy | None] = []

    def show_suspicions(self, column: DraftColumn, profile: ColumnProfile | None) -> int:
        """Show what is suspected of one attribute; return how many lines that takes."""
        found = [(s, remedy(column, profile, s)) for s in _suspicions(column, profile)] if profile else []
        found.sort(key=lambda pair: pair[1] is None)
        self._remedies = [hint for _, hint in found[:MOST]]
        for at, (holder, text, press) in enumerate(self._lines):
            holder.setVisible(at < len(found))
            if at >= len(found):
                continue
            suspicion, hint = found[at]
            reason = suspicion_text(suspicion)
            text.setText(f"⚠ {reason[:1].upper()}{reason[1:]}.")
            text.setAccessibleName(text.text())
            press.setVisible(hint is not None)
            if hint is not None:
                press.setText(hint.verb)
                press.setAccessibleName(f"{hint.verb}: {reason}")
        self.setVisible(bool(found))
        return min(len(found), MOST)
