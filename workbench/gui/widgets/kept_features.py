"""The features that networks with a frozen part keep of private rows: how much there is, and a way to remove it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QWidget

from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later
from workbench.gui.widgets.basic import button, label, row
from workbench.gui.widgets.dialogs import confirm
from workbench.gui.widgets.formatting import count, memory
from workbench.jobs import Job
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit

if TYPE_CHECKING:
    from workbench.deep.feature_cache import CacheState

ABOUT = tr_later(
    "A network with a frozen part keeps what that part makes of the images, so that the next "
    "training begins at once. These files are as private as the images; they are yours alone, "
    "and are never released"
)
QUESTION = tr_later(
    "The next training of such a network computes its features again. Models and releases stay as they are."
)


class KeptFeatures(QWidget):
    """One line: how many bytes are kept, and a button that removes them."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__()
        self._session, self._jobs = session, jobs
        self._stated = label("", "muted", wrap=True, name="kept_features")
        self._stated.setToolTip(tr(ABOUT))
        self._clear = button(
            tr("Remove…"), "kept_features_clear", tip=tr("Remove the kept features of all sets of rows")
        )
        self._clear.clicked.connect(self._ask)
        self.setLayout(row((self._stated, 1), self._clear))
        self._clear.setEnabled(False)

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        """Look how much there is by now: trainings of other windows keep features, too."""
        super().showEvent(event)
        self.refresh()

    def refresh(self) -> None:
        job = Job(tr("Looking at kept features"), lambda emit, cancel: _state())
        self._jobs.start(job, key="kept features", shown=False, on_result=self._show)

    def _show(self, found: CacheState) -> None:
        from workbench.deep.feature_cache import LIMIT

        self._clear.setEnabled(found.sets > 0)
        if not found.sets:
            self._stated.setText(tr("None are kept."))
            return
        sets = count(found.sets, "set of images", "sets of images")
        self._stated.setText(
            tr(
                "{size} of at most {limit}, of {sets}; private, in {folder}",
                size=memory(found.size),
                limit=memory(LIMIT),
                sets=sets,
                folder=found.folder,
            )
        )

    def _ask(self) -> None:
        if not confirm(self, tr("Remove the kept features?"), tr(QUESTION), tr("Remove them")):
            return

        def work(emit: Emit, cancel: CancelToken) -> CacheState:
            from workbench.deep.feature_cache import clear

            return clear()

        def apply(found: CacheState) -> None:
            self._session.notify("info", tr("Removed {size} of kept features.", size=memory(found.size)))
            self.refresh()

        self._jobs.start(Job(tr("Removing kept features"), work), on_result=apply)


def _state() -> CacheState:
    from workbench.deep.feature_cache import cache_state

    return cache_state()
