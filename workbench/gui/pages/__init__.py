"""Every page of the window, in the order of the rail; a new one is its file and a line in this list.

A file of this folder declares one page: a subclass of :class:`workbench.gui.pages.base.PageFrame` and its descriptor::

    class LedgerPage(PageFrame):
        \"\"\"…\"\"\"

        def __init__(self, session: Session, jobs: JobCenter) -> None:
            super().__init__(session, jobs, PAGE)
            self.body.addWidget(Card(label("…")))
            self.set_primary("Verify", "ledger_verify", self._verify)
            session.account_changed.connect(self.refresh)

        def _verify(self) -> None:
            verify_ledger(self.session, self.jobs)  # an action of workbench/gui/actions

    PAGE = Page(name="ledger", title="Ledger", help="…", make=LedgerPage, step=False)

The module is imported before the window's first paint, so it imports neither polars, numpy, pyqtgraph nor any engine
at its top: those are imported in functions, or in a module that ``make`` imports (a larger page keeps its parts in a
folder of its own beside this one, as ``workbench/gui/datapage``). The widget itself is made when it is first shown. A
page is a thin view over the session: it edits through ``session.edit…``, starts work through an action, and follows
signals; it does no arithmetic on data, opens no file and starts no thread.
"""

from __future__ import annotations

from workbench.gui.pages.base import Page
from workbench.gui.pages.data import page as data
from workbench.gui.pages.ledger import page as ledger
from workbench.gui.pages.preview import page as preview
from workbench.gui.pages.protect import page as protect
from workbench.gui.pages.release import page as release
from workbench.gui.pages.train import page as train
from workbench.gui.pages.utility import page as utility

PAGES: tuple[Page, ...] = (data.PAGE, protect.PAGE, preview.PAGE, utility.PAGE, train.PAGE, release.PAGE, ledger.PAGE)
