"""What the commands share that show private figures of a table and release nothing."""

from __future__ import annotations

import argparse

from workbench.cli.command import Context
from workbench.data.table import Table
from workbench.release.ledger.ledger import Ledger
from workbench.signals import Notice

NOTED = (
    "the ledger notes, at no cost, that private figures of these rows are shown: the card of a model that is trained "
    "on them later will say so"
)


def note_study(options: argparse.Namespace, context: Context, table: Table, study: str) -> None:
    """Note in the ledger that figures of ``table`` are going to be shown, and say so; call it before they are made.

    Raises:
        InputError: the ledger cannot be written, or was moved.
    """
    with Ledger.open(options.ledger) as ledger:
        ledger.note_figures(ledger.identify(table), study)
    context.emit(Notice("info", NOTED))
