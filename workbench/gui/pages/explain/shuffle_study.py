"""Central, shuffled and local reports at the page's ε, simulated on made-up people: errors, and what leaks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QLineEdit, QWidget

from workbench.gui.session.error_text import sentence
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later, tr_number, tr_sentence, typed
from workbench.gui.widgets.bar_lines import BarLines
from workbench.gui.widgets.basic import button, hold, label, mark_wrong, named, row, stack
from workbench.jobs import Job
from workbench.params import ParameterError, WorkbenchError
from workbench.params.field import IntegerField
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit

if TYPE_CHECKING:
    from workbench.studies.shuffled import TrustStudy

_PEOPLE = IntegerField(help=tr_later("how many people report"), at_least=2, upto=10**9)
MODELS = {"central": tr_later("Central"), "shuffled": tr_later("Shuffled"), "local": tr_later("Local")}
USUAL_DELTA = 1e-6


class ShuffleStudy(QWidget):
    """The number of people, a button, and what came of it."""

    def __init__(self, session: Session, jobs: JobCenter, epsilon: Callable[[], float]) -> None:
        """Make it; ``epsilon`` returns that of the page."""
        super().__init__()
        self._session, self._jobs, self._epsilon = session, jobs, epsilon
        self.people = named(QLineEdit("10000"), "shuffle_people", tr("People"), tr("How many people report"))
        hold(self.people, 96)
        self._run = button(
            tr("Simulate at this ε"), "shuffle_run", tip=tr("Made-up people, eight values each; no table is read")
        )
        self._run.clicked.connect(self.start)
        self.errors = BarLines(session, "shuffle_error", tr("of a mean (0 to 1)"), tr("error of a share"))
        self.errors.hide()
        self._words = label("", wrap=True, name="shuffle_words")
        self._words.hide()
        fields = QWidget()
        fields.setLayout(row(label(tr("people"), "muted"), self.people, 8, self._run, None))
        self.setLayout(stack(fields, self.errors, self._words, spacing=8))

    def start(self) -> None:
        """Simulate it at the ε of the page."""
        try:
            rows = _PEOPLE.parse(typed(self.people.text()), tr("the people"))
        except ParameterError as error:
            self._say(sentence(error))
            mark_wrong(self.people, True)
            return
        mark_wrong(self.people, False)
        epsilon = self._epsilon()

        def work(emit: Emit, cancel: CancelToken) -> TrustStudy:
            from workbench.studies.shuffled import compare_trust, local_epsilon

            local = local_epsilon(epsilon, rows, USUAL_DELTA)
            return compare_trust(local, rows, USUAL_DELTA, emit=emit, cancel=cancel)

        self._run.setEnabled(False)
        job = Job(tr("Simulating shuffled reports"), work)
        handle = self._jobs.start(job, key="shuffle", on_result=self._show, on_failure=self._failed)
        handle.ended.connect(lambda: self._run.setEnabled(True))

    def _show(self, found: TrustStudy) -> None:
        most = max(error for error, _ in found.shares.values())
        figures = [(model, found.shares[model][0], found.mean[model][0]) for model in found.shares]
        lines = [
            (model, tr(MODELS[model]), share / most, -1.0, tr_number(share, ".2g"), tr_number(mean, ".2g"))
            for model, share, mean in figures
        ]
        self.errors.show_lines(lines, "accent")
        self.errors.show()
        self._say(" ".join(tr_sentence(said) for said in found.sentences))

    def _say(self, text: str) -> None:
        self._words.setText(text)
        self._words.show()

    def _failed(self, error: BaseException) -> None:
        if isinstance(error, WorkbenchError):
            self._say(sentence(error))
        else:
            self._session.report(error)
