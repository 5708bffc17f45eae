"""The Ledger page: every release, caps and what remains."""

from __future__ import annotations

from workbench.gui.pages.base import Page

PAGE = Page(
    name="ledger",
    title="Ledger",
    help="Every release of every dataset, caps and what remains, with a chain that shows any change",
    make="workbench.gui.pages.ledger.page:LedgerPage",
    step=False,
    about=(
        "Every charge of every table on this computer. A table is known by its content, so that a copy or another "
        "name is the same table. Each entry seals the one before it: what is changed afterwards is found."
    ),
    keys="Ctrl+C copies the selected rows.",
)
