"""The Ledger page: every release, the caps and the remaining budget."""

from __future__ import annotations

from workbench.gui.pages.base import Page

PAGE = Page(
    name="ledger",
    title="Ledger",
    room="released",
    help="Every release of every table, the caps and the remaining budget",
    make="workbench.gui.pages.ledger.page:LedgerPage",
    topic="ledger",
    known_as="budget history",
    about=(
        "Every charge for every table on this computer. A table is recognised by its content, so a copy or a renamed "
        "file is the same table. Verify shows whether any entry was altered or removed."
    ),
    keys="Ctrl+C copies the selected rows.",
)
