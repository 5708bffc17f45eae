"""The newest synthetic table of the open one: its files, Verify, its rows, and how it compares with the original."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QVBoxLayout, QWidget

from workbench.gui.pages.synthetic.comparison_card import ROWS, ComparisonCard
from workbench.gui.pages.synthetic.tasks import look_at_released
from workbench.gui.session.draft import DraftPlan
from workbench.gui.session.error_text import sentence
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.newest_release import newest_release
from workbench.gui.session.session import ReleasedStep, Session
from workbench.gui.widgets.basic import button, label, look, row
from workbench.gui.widgets.release_card import ReleasedCard
from workbench.params import WorkbenchError

if TYPE_CHECKING:
    from workbench.gui.pages.synthetic.tasks import ReleasedRows

KIND = "synthetic"


class ReleasedPart(QWidget):
    """Hidden until synthetic rows of the open table were released."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__()
        look(self, "clear")
        self._session, self._jobs = session, jobs
        self._step: ReleasedStep | None = None
        self._card: ReleasedCard | None = None
        self._look = button(
            "Look at the rows, and compare them with the original",
            "synthetic_look",
            tip="Reads the released file; what is compared with the original is private and costs nothing",
        )
        self._look.clicked.connect(self._compare)
        self._problem = label("", "problem", wrap=True, name="synthetic_look_problem")
        self._problem.hide()
        self.comparison = ComparisonCard(session, "synthetic_released", "RELEASED, BESIDE THE ORIGINAL", rows=True)
        self._whole = QVBoxLayout(self)
        self._whole.setContentsMargins(0, 0, 0, 0)
        self._whole.setSpacing(12)
        self._line = QWidget()
        self._line.setLayout(row(self._look, None))
        for part in (self._line, self._problem, self.comparison):
            self._whole.addWidget(part)
        self.hide()

    def show_newest(self) -> None:
        """Show the newest synthetic table, of this session or of an earlier one."""
        step = newest_release(self._session, KIND)
        if step == self._step:
            return
        self._step = step
        if self._card is not None:
            self._card.hide()
            self._card.deleteLater()
            self._card = None
        self.comparison.show_compared(None)
        self.comparison.show_rows(None)
        self.comparison.hide()
        self._problem.hide()
        self.setVisible(step is not None)
        self._line.setVisible(step is not None and bool(step.files))
        if step is not None:
            self._card = ReleasedCard(step, 1, self._jobs, name="synthetic_release")
            self._whole.insertWidget(0, self._card)
            if step.result is not None:  # just made
                self._compare()

    def _compare(self) -> None:
        opened, step = self._session.opened, self._step
        if opened is None or step is None or not step.files:
            return
        plan = step.plan.plan() if step.plan != DraftPlan() else None

        def show(found: ReleasedRows) -> None:
            if step is self._step and opened is self._session.opened:
                self._line.hide()
                self.comparison.show_rows(found.frame, found.rows)
                self.comparison.show_compared(found.compared, found.path.name)
                self.comparison.show_view(ROWS)
                self.comparison.show()

        def failed(error: BaseException) -> None:
            stated = sentence(error) if isinstance(error, WorkbenchError) else "A bug in the program; see the log."
            self._problem.setText(f"It cannot be compared with the original. {stated}")
            self._problem.show()

        look_at_released(opened, step.files[0][1], plan, self._jobs, show, failed)
