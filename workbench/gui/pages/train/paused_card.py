"""The offer to go on with a training that was interrupted, or to give it up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QPushButton

from workbench.gui.style.language import tr, tr_number
from workbench.gui.widgets.basic import Card, button, label, look, row
from workbench.gui.widgets.formatting import at_most, paused_words

if TYPE_CHECKING:
    from workbench.release.model.paused_training import PausedTraining


class PausedCard(Card):
    """One sentence, Resume and Give up; hidden where no run is paused.

    Attributes:
        run: the run that is offered.

    Signals:
        resume_asked, give_up_asked: the button was pressed.
    """

    resume_asked = Signal()
    give_up_asked = Signal()

    def __init__(self) -> None:
        super().__init__(pad=12)
        self.run: PausedTraining | None = None
        self._text = label("", wrap=True, name="train_paused")
        self._text.setToolTip(tr("Its ε stays reserved until it goes on or is given up"))
        tip = tr("Go on from the checkpoint; this charges nothing more")
        self._resume = resume = button(tr("Resume"), "train_resume", tip=tip, press=self.resume_asked)
        leave = button(
            tr("Give up…"), "train_give_up", "link", tip=tr("End this run for good and remove its checkpoint")
        )
        leave.clicked.connect(self.give_up_asked)
        line = row(label("↺", "accent"), (self._text, 1), resume, leave)
        self.body.addLayout(line)
        self.hide()

    def show_run(self, run: PausedTraining | None, *, running: bool) -> None:
        """Offer ``run``, unless another one is going on."""
        self.run = run
        self.setVisible(run is not None and not running)
        if run is not None:
            self._text.setText(paused_words(run))

    def lead(self, other: QPushButton | None, *, leads: bool) -> QPushButton | None:
        """Return the button to highlight: Resume where a run is offered and ``leads``, as nothing else can be done."""
        leads = leads and not self.isHidden()
        look(self._resume, "primary" if leads else "")
        return self._resume if leads else other


def give_up_question(run: PausedTraining) -> str:
    """Return what giving a run up costs."""
    if run.cost is None:
        if run.shown:
            return tr(
                "Nothing is released, and the whole ε = {epsilon} stays charged: figures of this run were shown. "
                "Going on with it costs no more than that.",
                epsilon=at_most(run.epsilon),
            )
        return tr(
            "Nothing is released, and the whole ε = {epsilon} stays charged: the ledger does not say what its steps "
            "cost. Going on with it costs no more than that.",
            epsilon=at_most(run.epsilon),
        )
    back = run.epsilon - run.spent
    return tr(
        "Nothing is released. Its {taken} steps cost ε = {spent}; you get back ε = {back}, because "
        "no private figure was shown.",
        taken=tr_number(run.taken, ","),
        spent=at_most(run.spent),
        back=at_most(back),
    )
