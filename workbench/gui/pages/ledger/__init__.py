"""The Ledger page: every release, the caps and the remaining budget."""

from __future__ import annotations

from workbench.gui.pages.base import Page

PAGE = Page(
    name="ledger",
    title="Ledger",
    help="Every release of every table, the caps and the remaining budget",
    make="workbench.gui.pages.ledger.page:LedgerPage",
    icon="M3.5 2.5h9v11h-9z M6 5.5h4 M6 8h4 M6 10.5h2.5",
    step=False,
    about=(
        "Every charge for every table on this computer. A table is recognised by its content, so a copy or a renamed "
        "file is the same table. Verify shows whether any entry was altered or removed."
    ),
    keys="Ctrl+C copies the selected rows.",
)
