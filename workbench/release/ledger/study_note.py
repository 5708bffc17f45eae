"""The one way to note that private figures of a table are going to be shown: of window, command line and Python."""

from __future__ import annotations

from pathlib import Path

from workbench.data.table import Table
from workbench.release.ledger.ledger import Ledger
from workbench.signals import Notice
from workbench.signals.events import Emit, ignore

NOTED = (
    "the ledger notes, at no cost, that private figures of these rows are shown: the card of a model that is trained "
    "on them later will say so"
)
"""What a person is told of it."""


def note_study(table: Table, study: str, ledger: Path | None = None, emit: Emit = ignore) -> None:
    """Note in the ledger that figures of ``table`` are going to be shown; call it before they are made.

    Args:
        table: the rows, as they were read.
        study: the kind of study (:data:`workbench.release.ledger.figures.STUDIES`).
        ledger: its file; ``None`` for the user's own.
        emit: receives a notice where they are the first of their kind.

    Raises:
        InputError: the ledger cannot be written, or was moved; then no figure may be shown.
    """
    with Ledger.open(ledger) as opened:
        first = opened.note_figures(opened.identify(table), study)
    if first:
        emit(Notice("info", NOTED))
