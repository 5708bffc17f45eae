"""Every page of the window: rooms in the order of the rail, tabs in the order of this list.

A new page is its folder and a line in the list.

A folder declares one page: its descriptor in ``__init__``, and a subclass of
:class:`workbench.gui.pages.base.PageFrame`, which the descriptor names and which is imported once the window has
been painted::

    # ledger/__init__.py
    PAGE = Page(name="ledger", title="Ledger", room="released", help="…", about="…", keys="…",
                make="workbench.gui.pages.ledger.page:LedgerPage")

    # ledger/page.py
    class LedgerPage(PageFrame):
        \"\"\"…\"\"\"

        def __init__(self, session: Session, jobs: JobCenter) -> None:
            super().__init__(session, jobs, PAGE)
            self.body.addWidget(Card(label("…")))
            self.set_primary("Verify", "ledger_verify", self._verify)
            session.account_changed.connect(self.refresh)

        def _verify(self) -> None:
            verify_ledger(self.session, self.jobs)  # from ledger/tasks.py

A descriptor is imported before the window's first paint, so its ``__init__`` imports neither polars, numpy nor
any engine. A page is a thin view over the session: it edits through ``session.edit…``, starts work through its
``tasks``, and follows signals; it does no arithmetic on data, opens no file and starts no thread. No page imports
another: what two of them need is a widget, a part of the session, or in the engine.
"""

from __future__ import annotations

from workbench.gui.pages import (
    attack,
    calculator,
    compare,
    data,
    estimate,
    explain,
    generalise,
    help,
    ledger,
    memory,
    predict,
    preview,
    protect,
    questions,
    rappor,
    release,
    released,
    risk,
    train,
    utility,
    ways,
    why,
)
from workbench.gui.pages.base import ROOMS, Page
from workbench.gui.style.language import tr_later

PAGES: tuple[Page, ...] = (
    questions.PAGE,
    data.PAGE,
    risk.PAGE,
    ways.PAGE,
    protect.PAGE,
    preview.PAGE,
    release.PAGE,
    generalise.PAGE,
    train.PAGE,
    utility.PAGE,
    compare.PAGE,
    predict.PAGE,
    why.PAGE,
    memory.PAGE,
    released.PAGE,
    attack.PAGE,
    estimate.PAGE,
    ledger.PAGE,
    calculator.PAGE,
    rappor.PAGE,
    explain.PAGE,
    help.PAGE,
)

__all__ = ["PAGES", "ROOMS", tr_later("Page")]
