"""The button that makes a bundle of the release that is selected in the ledger."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QWidget

from workbench.gui.pages.ledger.tasks import LedgerLine
from workbench.gui.session.document_tasks import save_bundle
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.widgets.basic import button, row
from workbench.gui.widgets.dialogs import ask_where_to_save

TIP = "A folder with data, certificate, plan, the ledger's entry, and a script that checks them"
NONE_SELECTED = "Select a release first"
NO_FILE = "Nothing was released by this entry, so that there is nothing to bundle"


class BundleButton(QWidget):
    """Enabled while a charged release with an output is selected; the bundle is verified before it is written."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__()
        self._session, self._jobs = session, jobs
        self._output: Path | None = None
        self._button = button("Make a bundle…", "ledger_bundle", tip=NONE_SELECTED)
        self._button.clicked.connect(self._ask)
        self.setLayout(row(self._button))
        self.select(None)

    def select(self, line: LedgerLine | None) -> None:
        """Make bundles of ``line`` from now on, or of nothing."""
        kept = line is not None and line.status in ("charged", "settled") and line.released and bool(line.output)
        self._output = Path(line.output) if line is not None and kept else None
        self._button.setEnabled(kept)
        self._button.setToolTip(TIP if kept else NONE_SELECTED if line is None else NO_FILE)

    def _ask(self) -> None:
        output = self._output
        if output is None:
            return
        path = ask_where_to_save(self, "Make a bundle: name a new folder", f"{output}.bundle", "Folder (*)")
        if path:
            stated = f"Bundled {output.name} in {path}."
            save_bundle(
                self._jobs, output, Path(path), lambda: self._session.notify("info", stated), self._session.report
            )
