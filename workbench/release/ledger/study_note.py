"""Note in the ledger that private figures of a table will be shown; window, command line and Python all use this."""

from __future__ import annotations

from pathlib import Path

from workbench.data.table import Table
from workbench.release.ledger.identity import Identity
from workbench.release.ledger.ledger import Ledger
from workbench.signals import Emit, Notice, ignore

BEFORE = (
    "This shows private figures of these rows. It costs no ε, but the ledger notes it, and the certificate or card of "
    "every later release of these rows says that its settings may have been chosen by private figures."
)
"""The message before the first ones of a table are shown."""

NOTED = "the ledger notes, at no cost, that private figures are shown: later certificates and cards will say so"
"""The message after it was noted."""


def note_study(
    table: Table, study: str, ledger: Path | None = None, emit: Emit = ignore, *, account: str | None = None
) -> None:
    """Note in the ledger that figures of ``table`` are going to be shown; call it before they are.

    A notice says so where they are the first of their kind (:data:`workbench.release.ledger.shown_figures.STUDIES`).
    The account of that public name is made where there is none.

    Raises:
        InputError: the ledger cannot be written, or was moved, or the table belongs to another account; then no figure
            may be shown.
    """
    with Ledger.open(ledger) as opened:
        first = opened.note_figures(known_by(table, opened, account), study)
        if table.joined is not None:
            first |= opened.note_figures(opened.identify(table.joined.second), study)
    if first:
        emit(Notice("info", NOTED))


def known_by(table: Table, ledger: Ledger, account: str | None = None) -> Identity | str:
    """Return by what a table is known in a ledger: its marks, or the account that it is said to belong to.

    Raises:
        InputError: the table belongs to another account.
    """
    # A part of a table has no mark that leads to the whole: the name does.
    known = "" if account is None else ledger.accounts().named(account)
    identity = known or ledger.identify(table)
    return identity if known or account is None else ledger.enter(identity, account)
