"""What the commands share that show private figures of a table and release nothing."""

from __future__ import annotations

import argparse

from workbench.cli.command import Context
from workbench.data.table import Table
from workbench.release.ledger.study_note import NOTED
from workbench.release.ledger.study_note import note_study as note
from workbench.signals import Notice


def note_study(options: argparse.Namespace, context: Context, table: Table, study: str) -> None:
    """Note in the ledger that figures of ``table`` are going to be shown, and say so; call it before they are made.

    Raises:
        InputError: the ledger cannot be written, or was moved.
    """
    note(table, study, options.ledger)
    context.emit(Notice("info", NOTED))
