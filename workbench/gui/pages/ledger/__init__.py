"""The Ledger page: every release, the caps and the remaining budget."""

from __future__ import annotations

from workbench.gui.pages.base import Page
from workbench.gui.style.language import tr_later

PAGE = Page(
    name="ledger",
    title=tr_later("Ledger"),
    room="released",
    help=tr_later("Every release of every table, the caps and the remaining budget"),
    make="workbench.gui.pages.ledger.page:LedgerPage",
    topic="ledger",
    known_as="budget history cap",
    about=tr_later(
        "Every charge for every table on this computer. A table is recognised by its content, so a copy or a renamed "
        "file is the same table. Verify shows whether any entry was altered or removed."
    ),
    keys=tr_later("Ctrl+C copies the selected rows."),
)
