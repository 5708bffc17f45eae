"""What accuracy to expect of a network before it starts: asked for by a button, answered in a sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from workbench.gui.pages.train.training_rows import TrainingRows, training_rows
from workbench.gui.session.error_text import sentence
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later, tr_sentence
from workbench.gui.widgets.basic import Elided, button, label, panel, row, stack
from workbench.jobs import Job
from workbench.params import Parameters, WorkbenchError
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit

if TYPE_CHECKING:
    from workbench.data.images.image_set import ImageSet
    from workbench.deep.plan import DpSgdPlan

WORKING = tr_later("training on made-up rows…")
ON_PUBLIC = tr_later("training on the public test images…")
TIP = tr_later(
    "Train with these settings on made-up rows (or on the public test images). It takes about 20 "
    "seconds, reads no private row and costs nothing"
)


class ExpectedLine(QWidget):
    """A button and its answer; what it says is for the values of the form, and goes when that changes.

    Signals:
        changed: a simulation has begun or ended.
    """

    changed = Signal()

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__()
        self._session, self._jobs = session, jobs
        self._stated = Elided("", name="train_expected_told")
        self._stated.hide()
        self._ask = button(
            tr("Simulate"), "train_expect", "link", tip=tr(TIP), accessible=tr("Simulate the expected accuracy")
        )
        self._ask.clicked.connect(self._pressed)
        self._text, self._working = "", False
        self._of: object = None
        self._asked: Callable[[], tuple[object, Parameters | None, ImageSet | None]] | None = None
        self._handle: JobHandle | None = None
        head = panel(row(label(tr("expected accuracy"), "muted"), None, self._ask))
        self.setLayout(stack(head, self._stated))

    def follow(self, asked: Callable[[], tuple[object, Parameters | None, ImageSet | None]]) -> None:
        """Ask ``asked`` what would be trained: something that can be compared, its parameters, public images."""
        self._asked = asked

    def show_state(self, *, network: bool, ready: bool, running: bool) -> None:
        """Show the line for a network, let it be asked where the run is ``ready``, and forget what is out of date.

        While a run goes on, only what was shown stays.
        """
        self.setVisible(network and (not running or bool(self._text)))
        assert self._asked is not None
        working = self._handle is not None
        if self._of is not None and self._of != self._asked()[0]:
            self._of = None
            if self._handle is not None:
                self._handle.cancel()
            else:
                self._say("")
        self._ask.setText(tr("Stop") if working else tr("Simulate"))
        self._ask.setEnabled(ready or working)

    def _say(self, text: str, in_full: str = "", *, working: bool = False) -> None:
        self._text, self._working = text, working
        self._stated.set_whole(text, in_full, wrapped=True)
        self._stated.setVisible(bool(text))

    def simulate(self) -> None:
        """Begin a simulation, as the button does, unless one goes on."""
        if self._handle is None and self._ask.isEnabled():
            self._pressed()

    def _pressed(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            return
        assert self._asked is not None
        what, parameters, public = self._asked()
        if parameters is None:
            return
        rows = training_rows(self._session)

        def show(found: tuple[str, ...]) -> None:
            if self._of == what:
                self._say(tr_sentence(found[0]), " ".join(map(tr_sentence, found[1:])))

        def refuse(error: BaseException) -> None:
            if not isinstance(error, WorkbenchError):
                self._session.report(error)
            elif self._of == what:
                self._say(sentence(error), sentence(error))

        def ended() -> None:
            self._handle = None
            if self._working:
                self._say("")
            self.changed.emit()

        self._of = what
        self._say(tr(WORKING) if public is None else tr(ON_PUBLIC), working=True)
        job = Job(tr("Expected accuracy"), lambda emit, cancel: expect(rows, parameters, public, emit, cancel))
        self._handle = self._jobs.start(job, key="expected accuracy", on_result=show, on_failure=refuse)
        self._handle.ended.connect(ended)
        self.changed.emit()


def expect(
    rows: TrainingRows, plan: DpSgdPlan | Parameters, public: ImageSet | None, emit: Emit, cancel: CancelToken
) -> Any:
    """Do the simulation; runs in a worker."""
    from workbench.deep.plan import DpSgdPlan
    from workbench.jobs.network import expect_accuracy

    assert isinstance(plan, DpSgdPlan)
    return expect_accuracy(rows.expectation(plan, public), emit, cancel)
