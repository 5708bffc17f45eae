"""A page that starts one long job at a time: its primary button gives way to Cancel while the job runs.

Once what the page says has been run, the highlighted button leads on, and running it again is a plain one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QStandardItemModel
from PySide6.QtWidgets import QPushButton

from workbench.gui.pages.base import Page, PageFrame
from workbench.gui.session.draft_edits import GUESSED_FACTS
from workbench.gui.session.error_text import sentence
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import FOR_TABLES, Session
from workbench.gui.style.language import again, capital, tr, tr_later, tr_sentence
from workbench.gui.widgets.basic import button, reword
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.params import ParameterError, WorkbenchError

if TYPE_CHECKING:
    from workbench.sanitize.learner_advice import SuitableLearners


def draft_refusal(session: Session) -> WorkbenchError | None:
    """Return what keeps the draft from any release; ``None`` where nothing does, or no table is open."""
    opened = session.opened
    if opened is None:
        return None
    first = next(iter(session.plan.problems()), None)
    if first is not None:
        return first.error()
    doubt = opened.table.ambiguity_refusal()
    return doubt if doubt is not None else unconfirmed_refusal(session)


def table_refusal(session: Session) -> WorkbenchError | None:
    """Return what keeps the table from being released."""
    refused = draft_refusal(session)
    if refused is not None or session.opened is None or session.plan.protected:
        return refused
    from workbench.sanitize.calibrated_columns import nothing_protected

    return nothing_protected()


def unconfirmed_refusal(session: Session) -> WorkbenchError | None:
    """Return the refusal of guesses that nobody has confirmed."""
    found = session.plan.guesses()
    if not found:
        return None
    from workbench.sanitize.plan_guesses import refusal

    return refusal(found, words={fact: tr(words) for fact, words in GUESSED_FACTS.items()})


# -- the page ---------------------------------------------------------------------------------------------------------


TO_DATA, TO_TRAIN = tr_later("Data →"), tr_later("Train →")
NO_TARGET = tr_later("Choose the column to predict in Models, Train first.")
GUESSED = tr_later("⚠ How the file is written was guessed: confirm it in Data, Columns.")
"""Of a table that only a release must not be made of: one row could turn a guess, and with it all other rows."""

IN_DOUBT = tr_later("⚠ It is not certain which account pays: decide it in Release, Settings.")


class RunPage(PageFrame):
    """The frame of a page that runs something on the table that is open.

    A subclass calls :meth:`set_run` and :meth:`set_onward` once, :meth:`follow` with each job it starts, and
    :meth:`show_buttons` whenever it shows itself anew; it overrides :meth:`start` and, where it has more to do,
    :meth:`missing`.
    """

    def __init__(self, session: Session, jobs: JobCenter, page: Page) -> None:
        super().__init__(session, jobs, page)
        self._verb = ""
        self._run_button, self._onward = QPushButton(), QPushButton()
        self._ways: list[QPushButton] = []

    def set_run(self, verb: str, name: str, tip: str, cancel: QPushButton) -> None:
        self._verb = verb
        self.add_cancel(cancel)
        self._run_button = self.set_primary(verb, name, self._press, tip)

    def set_onward(self, text: str, name: str, page: str, tip: str) -> None:
        """Make the button that leads to ``page`` once the job is done: the highlighted one, in place of Run."""
        self._onward = self.leading_to(page, text, name, tip, "")
        self._onward.hide()
        self.foot.addWidget(self._onward)

    def add_way(self, text: str, name: str, page: str, tip: str) -> None:
        """Add a plain button that leads to another ``page`` once the job is done, before the highlighted one."""
        way = self.leading_to(page, text, name, tip, "")
        way.hide()
        self.foot.insertWidget(self.foot.indexOf(self._onward), way)
        self._ways.append(way)

    def leading_to(self, page: str, text: str, name: str, tip: str, kind: str = "link") -> QPushButton:
        return button(text, name, kind, tip=tip, press=lambda: self.session.go(page))

    def start(self) -> None:
        """Start the job; called when the button is pressed and nothing prevents it."""
        raise NotImplementedError

    def missing(self) -> str:
        """Return what prevents a run and is corrected elsewhere; empty where nothing does."""
        return what_is_missing(self.session)

    def follow(self, handle: JobHandle) -> JobHandle:
        """Take ``handle`` as the job of this page until it ends, or another table is opened."""
        handle.of_table = True
        return super().follow(handle)

    def show_buttons(self, missing: str, *, ready: bool, done: bool, way: bool | None = False) -> None:
        """Show the button to run, to stop, or to go where something is missing; where all is done, those that lead on.

        Args:
            missing: what prevents it; empty where nothing does.
            ready: whether it can be run.
            done: whether just this has been run.
            way: whether the first other way leads on better than the usual one, and is highlighted in its place;
                ``None`` where neither is.
        """
        done = done and not missing and not self.running
        best = None if way is None or not done else self._ways[0] if way else self._onward
        if not self.running:
            self._cancel.hide()  # first: beside all others it would widen a small window
        for leading in (*self._ways, self._onward):
            leading.setVisible(done)
        self.highlight(self._run_button if best is None else best)
        self._run_button.setVisible(not self.running)
        verb = again(self._verb)
        run = tr("{verb} again", verb=verb) if done else verb
        reword(self._run_button, self.way_out(missing)[1] if missing else run)
        self._run_button.setEnabled(bool(missing) or ready)
        self.show_cancel()

    def way_out(self, missing: str) -> tuple[str, str]:
        """Return the page where what is missing is put right, and the words of the button that leads there."""
        return ("train", tr(TO_TRAIN)) if missing == tr(NO_TARGET) else ("data", tr(TO_DATA))

    def _press(self) -> None:
        if missing := self.missing():
            self.session.go(self.way_out(missing)[0])
        elif self._handle is None:
            self.start()


def what_is_missing(session: Session, *, target: bool = True) -> str:
    """Return what prevents the training of a model, released or only studied; empty where nothing does.

    ``target`` says whether a column to predict is needed.
    """
    if session.images is not None:
        return tr(FOR_TABLES)
    if session.opened is None:
        return tr("Open a table in Data first.")
    if target and session.target is None:
        return tr(NO_TARGET)
    return first_problem(session)


def first_problem(session: Session) -> str:
    """Return the first problem of the plan, as a sentence; empty where it has none."""
    first = next(iter(session.plan.problems()), None)
    return "" if first is None else f"{first.column or tr('The plan')}: {tr_sentence(first.text)}."


def what_keeps_from_release(session: Session) -> str:
    """Return what prevents the release of a model that fits; empty where nothing does."""
    if session.opened is not None and session.opened.table.ambiguities:
        return tr(GUESSED)
    return what_is_missing(session, target=False) or unconfirmed(session)


def unconfirmed(session: Session) -> str:
    """Return the sentence with which a release by guesses is refused; empty where all of them are confirmed."""
    refused = unconfirmed_refusal(session)
    return "" if refused is None else sentence(refused)


def fitting(session: Session) -> SuitableLearners:
    """Return the learners that fit the table that is open and its target, if it has one; none where there is no table.

    Every list of models of the window follows from this.
    """
    from workbench.learners.tasks import CLASSIFICATION, REGRESSION
    from workbench.sanitize.learner_advice import SuitableLearners, can_learn, suitable_learners

    draft, target = session.plan, session.target
    if session.opened is None:
        return SuitableLearners()
    if draft.problems():  # some facts are still open: what the target is like is known
        if target is None:
            return suitable_learners(float(draft.epsilon), lambda entry: not entry.predicts)
        unlike = CLASSIFICATION if draft.column(target).numeric else REGRESSION
        return suitable_learners(float(draft.epsilon), lambda entry: entry.task != unlike)
    return suitable_learners(float(draft.epsilon), can_learn(draft.plan(), target))


def why_advised(found: SuitableLearners) -> str:
    """Return why a learner is advised, in the language of the person; empty where none is."""
    title = next((entry.title for entry in found.fit if entry.name == found.advised), "")
    stated = tr_sentence(found.why)
    return stated.replace(title, tr_sentence(title)) if title else stated


def offer_models(box: ChoiceBox, found: SuitableLearners, chosen: str) -> None:
    """List the models that fit, a star on the advised one, and greyed below them those that do not, each with why.

    Where no table is open, all are listed.
    """
    from workbench.learners import LEARNERS, learner

    titles = {e.name: capital(tr_sentence(e.title)) for e in (*found.fit, *found.unfit) or LEARNERS}
    if found.advised:
        titles[found.advised] = tr("{title}   ★", title=titles[found.advised])
    box.offer([(title, name) for name, title in titles.items()], chosen)
    unfit = [entry.name for entry in found.unfit]
    model = box.model()
    assert isinstance(model, QStandardItemModel)
    for at, name in enumerate(titles):
        entry = learner(name)
        needs = tr_sentence(entry.needs)
        about = why_advised(found) if name == found.advised and found.why else f"{tr_sentence(entry.about)} {needs}"
        box.setItemData(at, needs if name in unfit else about, Qt.ItemDataRole.ToolTipRole)
        model.item(at).setEnabled(name not in unfit)


def misfit(session: Session, model: str) -> str:
    """Return why a model cannot learn the target from the columns of the plan; empty where it can, or none is known."""
    from workbench.learners import learner
    from workbench.sanitize.learner_advice import require_learnable

    if session.target is None or what_is_missing(session):
        return ""
    try:
        require_learnable(learner(model), session.plan.plan(), session.target)
    except ParameterError as error:
        return sentence(error)
    return ""


def who_pays(session: Session) -> str:
    """Return that it is not certain which account pays for a release; empty where it is."""
    return tr(IN_DOUBT) if session.account.in_doubt else ""


def has_run(session: Session, *kinds: str) -> bool:
    """Return whether the session holds a run of one of ``kinds``."""
    return any(run.kind in kinds for run in session.runs)
