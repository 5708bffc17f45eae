"""Every page of the window, in the order of the rail; a new one is its folder and a line in this list.

A folder declares one page: its descriptor in ``__init__``, and a subclass of
:class:`workbench.gui.pages.base.PageFrame`, which the descriptor names and which is imported when the page is first
shown::

    # ledger/__init__.py
    PAGE = Page(name="ledger", title="Ledger", help="…", about="…", keys="…",
                make="workbench.gui.pages.ledger.page:LedgerPage", step=False)

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

A descriptor is imported before the window's first paint, so its ``__init__`` imports neither polars, numpy, pyqtgraph
nor any engine. A page is a thin view over the session: it edits through ``session.edit…``, starts work through its
``tasks``, and follows signals; it does no arithmetic on data, opens no file and starts no thread. No page imports
another: what two of them need is a widget, a part of the session, or in the engine.
"""

from __future__ import annotations

from workbench.gui.pages import (
    calculator,
    compare,
    data,
    estimate,
    explain,
    ledger,
    memory,
    predict,
    preview,
    protect,
    rappor,
    release,
    statistics,
    synthetic,
    train,
    utility,
    ways,
    why,
)
from workbench.gui.pages.base import Page

PAGES: tuple[Page, ...] = (
    data.PAGE,
    ways.PAGE,
    protect.PAGE,
    preview.PAGE,
    utility.PAGE,
    train.PAGE,
    compare.PAGE,
    release.PAGE,
    synthetic.PAGE,
    statistics.PAGE,
    predict.PAGE,
    estimate.PAGE,
    why.PAGE,
    calculator.PAGE,
    memory.PAGE,
    rappor.PAGE,
    explain.PAGE,
    ledger.PAGE,
)
