"""Memory study: what training takes by phase for many settings at once, and the most rows that fit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QStackedWidget

from workbench.gui.pages.curve_actions import save_curve
from workbench.gui.pages.memory import PAGE
from workbench.gui.pages.memory.tasks import find_shape, run_study
from workbench.gui.pages.run_page import RunPage
from workbench.gui.session.error_text import sentence
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later, tr_number, tr_sentence
from workbench.gui.widgets.basic import Card, button, label, panel, row, stack
from workbench.gui.widgets.dialogs import ask_where_to_save
from workbench.gui.widgets.formatting import memory
from workbench.params import WorkbenchError

if TYPE_CHECKING:  # they load numpy and pyqtgraph
    from workbench.deep.memory_study import StudyResult

READS_NOTHING = tr_later("Worked out from shapes alone: no data is read and nothing is charged.")
EMPTY = tr_later(
    "Choose networks and how many rows they take at once, and press Compute. You will see what "
    "training needs in each phase, and the most rows that fit into memory."
)
NO_NETWORK = tr_later("Choose at least one network.")
NOTHING_OPEN = tr_later("Open a table or images in Data first")
GPU_UNKNOWN = tr_later("To see the most rows that fit, type the GPU's memory on the left.")
TAKE_TIP = tr_later("Offer the network and the rows of the selected line on Train; nothing is started")
FILES = tr_later("Figures (*.csv);;Picture (*.png);;Vector picture (*.svg)")


class MemoryPage(RunPage):
    """What is compared on the left; the chart, its reasons and the table on the right."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__(session, jobs, PAGE)
        from workbench.gui.pages.memory.choices import ChoicesCard
        from workbench.gui.pages.memory.study_card import StudyCard

        self._asked: object = None
        self._failure: WorkbenchError | None = None
        self.choices = ChoicesCard()
        self.found = StudyCard(session)
        self._problem = label("", "problem", wrap=True, name="memory_problem")
        self._copy = button(
            tr("Copy"), "memory_copy", tip=tr("Copy the picture (Ctrl+C in it); Ctrl+C in the table copies lines")
        )
        self._save = button(tr("Save…"), "memory_save", tip=tr("Save the figures as CSV, or the picture as PNG or SVG"))
        self._arrange()
        cancel = button(tr("Cancel"), "memory_cancel", "danger", tip=tr("Stop (Esc)"))
        self.set_run(tr("Compute"), "memory_run", tr("Work out every setting (Ctrl+Return)"), cancel)
        self.set_onward(tr("Take this batch to Train →"), "memory_to_train", "train", tr(TAKE_TIP))
        assert self._onward is not None
        self._onward.clicked.connect(self._take)
        self.choices.changed.connect(self._edited)
        self.found.chosen.connect(self.refresh)
        self._copy.clicked.connect(self.found.copy)
        self._save.clicked.connect(self._ask_and_save)
        for changed in (session.table_changed, session.plan_changed):
            changed.connect(self.in_sight(self._find_shape))
        session.theme_changed.connect(self.in_sight(self.found.draw))
        self._find_shape()
        self.refresh()

    def _arrange(self) -> None:
        back = button(tr("← Train"), "memory_way_train", "link", tip=tr("Back to training"))
        back.clicked.connect(lambda: self.session.go("train"))
        for part in (back, self._copy, self._save):
            self.header.addWidget(part)
        empty, hint = Card(), label(tr(EMPTY), "muted", wrap=True, name="memory_empty")
        hint.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        inviting = stack(None, hint, None, margins=(48, 0, 48, 0))
        empty.body.addLayout(inviting)
        self._views = QStackedWidget()
        for view in (empty, self.found):
            self._views.addWidget(view)
        right = panel(stack(self._problem, self._views))
        whole = row(self.choices, (right, 1), spacing=12)
        self.body.addLayout(whole, 1)

    # -- what is asked ----------------------------------------------------------------------------------------------

    def missing(self) -> str:
        """Return nothing: no table is needed."""
        return ""

    def _find_shape(self) -> None:
        find_shape(self.session, self.jobs, self.choices.show_shape)

    def _what(self) -> object:
        return self.choices.networks(), self.choices.study()

    def _edited(self) -> None:
        self._failure = None
        self.refresh()

    def start(self) -> None:
        study, networks = self.choices.study(), self.choices.networks()
        if study is None or not networks:
            return
        self._failure, what = None, self._what()
        self.follow(run_study(self.jobs, study, networks, lambda found: self._show(what, found), self._refuse))

    def _refuse(self, error: BaseException) -> None:
        if isinstance(error, WorkbenchError):
            self._failure = error
        else:
            self.session.report(error)
        self.refresh()

    # -- what was found ---------------------------------------------------------------------------------------------

    def _show(self, what: object, found: StudyResult) -> None:
        self._asked = what
        self.found.show_result(found)
        self._views.setCurrentIndex(1)
        self.refresh()

    def refresh(self) -> None:
        study, networks, chosen = self.choices.study(), self.choices.networks(), self.found.selected
        self._problem.setText("" if self._failure is None else sentence(self._failure))
        self._problem.setVisible(self._failure is not None)
        self.choices.lock(locked=self.running)
        for part in (self._copy, self._save):
            part.setEnabled(self.found.result is not None)
        done = self._asked is not None and self._asked == self._what()
        self.show_buttons("", ready=study is not None and bool(networks), done=done)
        assert self._onward is not None
        opened = self.session.open_data is not None
        self._onward.setEnabled(opened and chosen is not None)
        self._onward.setToolTip(tr(TAKE_TIP) if opened else tr(NOTHING_OPEN))
        self.set_note(tr(NO_NETWORK) if not networks else _note(self.found.result))

    @property
    def refused(self) -> WorkbenchError | None:
        """Why the study was not made when it was last asked for."""
        return self._failure

    # -- where it goes ----------------------------------------------------------------------------------------------

    def _take(self) -> None:
        chosen = self.found.selected
        if chosen is None:
            return
        network, batch = chosen.line.network, chosen.batch
        self.session.to_run.make({"network": network.name, "batch": batch, "physical_batch": batch})
        self.session.notify(
            "info",
            tr(
                "Train offers {title} with {batch} rows in a step; nothing was started.",
                title=tr_sentence(network.title),
                batch=tr_number(batch, ","),
            ),
        )

    def _ask_and_save(self) -> None:
        path = ask_where_to_save(self, tr("Save the figures or the chart"), "memory-study.csv", tr(FILES))
        result, figure = self.found.result, self.found.figure
        if path and result is not None and figure is not None:
            from workbench.deep.memory_study import csv_bytes

            save_curve(self.session, self.jobs, figure, lambda: csv_bytes(result.rows).decode(), Path(path))


def _note(result: StudyResult | None) -> str:
    """Return the line at the foot: what the rows were to fit in, or that nothing is read."""
    if result is None:
        return tr(READS_NOTHING)
    if result.fit is None:
        return tr(GPU_UNKNOWN)
    return tr("Most rows: what fits in {fit}, beside the data.", fit=memory(result.fit))
