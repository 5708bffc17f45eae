"""Train: a private model or network, what it costs before it starts, and how it goes."""

from __future__ import annotations

from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEvent, QTimer

from workbench.gui.gauges.budget import first_words, second_words, warned_of
from workbench.gui.gauges.cap_entry import FirstCap, raise_cap
from workbench.gui.pages import page_called
from workbench.gui.pages.release_account import left_of
from workbench.gui.pages.release_tasks import lacking, warning
from workbench.gui.pages.run_page import RunPage, draft_refusal, what_keeps_from_release, who_pays
from workbench.gui.pages.train import messages as words
from workbench.gui.pages.train import tasks as actions
from workbench.gui.pages.train.forms import ModelForms
from workbench.gui.pages.train.preflight_card import (
    ExpectedLine,
    PausedCard,
    PreflightCard,
    TestImages,
    give_up_question,
)
from workbench.gui.pages.train.run_card import RunCard, StudyCard
from workbench.gui.session.error_text import sentence
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later, tr_sentence
from workbench.gui.widgets import private_figures
from workbench.gui.widgets.basic import button, into_sight, label, look, panel, row, scrolled, stack, views
from workbench.gui.widgets.dialogs import choose
from workbench.gui.widgets.empty_state import EmptyState
from workbench.gui.widgets.explain import Asked, Explainable, explain_button
from workbench.gui.widgets.output_name import beside, remember_folder, suggest
from workbench.gui.widgets.way_bar import MODEL, SYNTHETIC
from workbench.jobs import CancelToken, Emit, Job
from workbench.params import BudgetRefusedError, WorkbenchError
from workbench.params.errors import how_to_install, is_missing
from workbench.signals.cancel import interruptible
from workbench.signals.events import Failed, Finished

if TYPE_CHECKING:
    from workbench.release.model.preflight import Preflight

SIMULATED = tr_later(
    "Made-up rows show how accurate a network with these settings can be, and reveal nothing "
    "about yours. They do not show where the accuracy goes on your rows."
)

ROOMY = 1400  # pixels of the page from which the models have a wider card

WAIT_MS = 250  # how long a form must rest before its cost is worked out again


class TrainPage(RunPage):
    """A model and its form on the left; its cost, and the run as it goes, on the right."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__(session, jobs, page_called("train"))
        self.forms = ModelForms(session)
        self.test = TestImages(session, jobs)
        self.expected = ExpectedLine(session, jobs, lambda: (self._what(), self.forms.value(), self.test.images))
        self.before = PreflightCard(explain_button(session, "train_explain", self._asked), self.expected, self.test)
        self.paused = PausedCard(self._resume, self._give_up)
        self.going = RunCard(session)
        self.study = StudyCard(session)
        Explainable(self.going.epsilon, session, self._asked)
        self._preflight: Preflight | None = None
        self._failure: WorkbenchError | None = None
        self._rest = QTimer(self, singleShot=True, interval=WAIT_MS)
        self._rest.timeout.connect(self._forecast)
        self._images = label("", "muted", name="train_images")
        self.header.addWidget(self._images)
        tip = tr("Compare the memory of many batches and networks by phase; nothing is read or charged")
        self.header.addWidget(self.leading_to("memory", tr("Memory of networks →"), "train_way_memory", tip))
        column = stack(self.paused, self.before, (self.going, 1), (self.study, 1), spacing=12)
        column.addStretch(0)  # what no run and no curve takes, where a column to predict is still to be chosen
        self._column = column
        why = tr("Open a table or images first: then the models that fit are listed here.")
        self._nothing = EmptyState(session, "train_nothing", tr("Nothing to train on yet"), why)
        whole = panel(row((self.forms, 1), (scrolled(column, "train_area"), 3), spacing=12))
        self._views = views(self._nothing, whole)
        self.body.addWidget(self._views, 1)
        tip = tr("Stop after this step and keep a checkpoint to go on from")
        self._pause = button(tr("Pause"), "train_pause", tip=tip, press=self._pause_run)
        self.foot.addWidget(self._pause)
        tip = tr("Stop (Esc). Cancelling does not give ε back once figures are shown")
        cancel = button(tr("Cancel"), "train_cancel", "danger", tip=tip)
        self.set_run(tr("Start"), "train_start", tr("Charge, train and release (Ctrl+Return)"), cancel)
        tip = tr("The model's files, with Verify, documents and Bundle, are in Released")
        self.set_onward(tr("The model's files →"), "train_show_release", "released", tip)
        self._trained: object = None
        self._shown_model = self.forms.model
        self._begun: object = None
        self._study_handle: JobHandle | None = None
        self._cap: Decimal | None = None
        self._connect()
        self._show_table()

    def _connect(self) -> None:
        session = self.session
        self.forms.chosen.connect(self._choose)
        self.forms.changed.connect(self._form_edited)
        self.before.changed.connect(self.refresh)
        self.expected.changed.connect(self.refresh)
        self.test.changed.connect(self._edited)
        self.going.ask_where.clicked.connect(self._study)
        session.paused_changed.connect(self.in_sight(self.refresh))
        self.before.raise_cap.clicked.connect(self._raise_cap)
        session.table_changed.connect(self._forget_table)
        session.table_changed.connect(self.in_sight(self._show_table, whole=True))
        session.to_train.made.connect(self.in_sight(self._take_model))  # out of sight the form may be of another table
        session.to_run.made.connect(self.in_sight(self._take_values))
        session.plan_changed.connect(self.in_sight(self._plan_changed))
        session.account_changed.connect(self.in_sight(self._account_changed))

    def _asked(self) -> Asked | None:
        found = self._preflight
        return Asked(found.epsilon, found.delta) if found is not None else None

    def resized(self) -> None:
        self.forms.set_roomy(roomy=self.width() >= ROOMY)

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange and hasattr(self, "forms"):
            self.forms.set_roomy(roomy=self.width() >= ROOMY)

    # -- what is to be trained ------------------------------------------------------------------------------------

    def _forget_table(self) -> None:
        self.forget()
        self._rest.stop()
        self._trained = self._preflight = None

    def _show_table(self) -> None:
        opened, images = self.session.opened, self.session.images
        self._cap = self.session.account.cap
        self.test.forget()
        self.test.setVisible(images is not None)
        self._images.setText("" if images is None else images.stated)
        if images is not None:
            planned, self._begun = self.session.network.plan, None
            self.forms.begin(images.table.rows, images=True)
            self._begun = self.forms.value()
            with self.forms.steps.unasked():
                if planned is not None:
                    self.forms.show_plan(planned)
                self._take_values()
        elif opened is not None:
            self.forms.begin(opened.rows_under(self.session.plan))
            with self.forms.steps.unasked():
                self._take_model()
                self._take_values()
        else:
            self.forms.refresh()
        self.going.setEnabled(opened is not None or images is not None)
        self.going.clear()
        self.before.folder.ending = ""
        self.before.folder.setText("")
        self._suggest_folder()
        self._edited()

    def _take_model(self) -> None:
        """Choose the model that another page asked for on what is open, if one did."""
        if self.session.to_train.value is not None:
            self.forms.offer(*self.session.to_train.value)

    def _take_values(self) -> None:
        """Put the values into the form that another page asked for on what is open, if one did."""
        if self.session.to_run.value is not None:
            self.forms.offer_run(self.session.to_run.value)

    def _plan_changed(self) -> None:
        if not self.running:
            self.forms.refresh()
        self._edited()

    def _account_changed(self) -> None:
        before, self._cap = self._cap, self.session.account.cap
        if before is not None and self._cap is not None:
            self.going.epsilon.move_cap(float(self._cap - before))
        self.refresh()

    def _choose(self) -> None:
        """Show nothing of a run of another model."""
        if self.forms.model != self._shown_model:
            self._shown_model, self._trained = self.forms.model, None
            self.going.clear()
        self._suggest_folder()

    def _suggest_folder(self) -> None:
        """Put the name of the model there at once, unless another was typed; then one that nothing has yet."""
        opened, model, folder = self.session.open_data, self.forms.model, self.before.folder
        if opened is not None and not folder.isModified() and folder.ending != model:
            folder.setText(str(beside(opened, model)))
        suggest(self.session, self.jobs, folder, model)

    def _form_edited(self) -> None:
        """Keep what was changed of a network's plan for the project's file, which images have no other plan in."""
        value = self.forms.value()
        if self.session.images is not None and self._begun is not None and self.forms.is_network and value is not None:
            self.session.network.set(None if value == self._begun else value)  # type: ignore[arg-type]
        self._edited()

    def _edited(self) -> None:
        self._preflight = self._failure = None
        self.before.set_problem("")
        self._rest.start()
        self.refresh()

    def _forecast(self) -> None:
        parameters = self.forms.value()
        if parameters is not None and not self.missing():
            what, make, model = self._what(), actions.training_rows(self.session), self.forms.model

            def work(emit: Emit, cancel: CancelToken) -> Preflight:
                with interruptible(cancel):
                    return make().preflight(model, parameters)

            self.jobs.start(
                Job(tr("Working out the cost"), work),
                key=actions.PREFLIGHT,
                stoppable=False,
                on_result=lambda found: self._show_forecast(what, found),
                on_failure=lambda error: self._refuse(what, error),
            )

    def _what(self) -> object:
        """Return what would be trained, to be compared: a cost or a consent is for that and for nothing else."""
        rows = self.session.open_data
        return rows, self.session.plan, self.forms.model, self.forms.value(), self.test.images

    def _show_forecast(self, what: object, found: Preflight) -> None:
        if what == self._what():
            self._preflight = found
            self.refresh()

    def _refuse(self, what: object, error: BaseException) -> None:
        if what != self._what():
            return
        self._failure = error if isinstance(error, WorkbenchError) else None
        self.before.set_problem(self.session.worded(error))
        self.refresh()

    @property
    def refused(self) -> WorkbenchError | None:
        over = None if self._preflight is None else self._refused(self._preflight)
        refused = draft_refusal(self.session) if self.session.images is None else None
        return refused or over or self._failure

    def missing(self) -> str:
        return "" if self.session.images is not None else what_keeps_from_release(self.session)

    # -- the run --------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Look whether the source is as it was opened, and ask once more."""
        actions.look_at_source(self.session, self.jobs, partial(self._ask, self._what()))

    def _ask(self, what: object, changed: str, lacks: tuple[str, ...]) -> None:
        """Ask once more, then charge, train and release ``what``; ``changed`` is said of the source."""
        parameters, found, folder = self.forms.value(), self._preflight, self.before.place
        if parameters is None or found is None or folder is None or self.running or what != self._what():
            return
        chosen = self.forms.chosen_model
        quiet = self.before.quiet and self.forms.is_network
        test = self.test.images
        target = self.session.target if self.session.images is None else tr("the class")
        text = words.question(chosen, target, folder, found, quiet=quiet, tested=0 if test is None else test.rows)
        asked = self.session.questions
        second = "" if self.session.opened is None else second_words(asked, MODEL)
        text += first_words(self.session.account, found.epsilon, found.delta, second)
        text += f"{warning(warned_of(asked, found.epsilon, Asked(found.epsilon, found.delta)))}{lacking(lacks)}"
        noted = filter(None, (f"{changed}." if changed else "", tr_sentence(self.session.account.seen)))
        text += "".join(f"\n\n⚠ {note}" for note in noted)
        verbs = {"yes": tr("Train and release")}
        if self._watched_first():
            text += f"\n\n⚠ {tr(words.WATCHED)}"
            verbs = {"quiet": tr("Train quietly"), "yes": tr("Train and show its figures")}
        first = FirstCap(self.session.account, found.epsilon, found.delta)
        answer = choose(self, tr("Train and release?"), text, verbs, entry=first if first.asked else None)
        if not answer:
            return
        quiet = quiet or answer == "quiet"
        if self._watched_first() and not quiet:
            private_figures.agree(self.session)
        if what != self._what():  # other work has ended while the question was open
            said = tr("The table or its plan changed while the question was open: nothing was trained.")
            self.session.notify("warning", said)
            return
        remember_folder(folder.parent)
        set_first = first.cap()
        room = self.session.account.room(found.epsilon, None if set_first is None else set_first[0])
        run = actions.TrainingRun(
            title=chosen.title,
            folder=folder,
            epsilon=found.epsilon,
            pausable=self.forms.is_network,
            quiet=quiet,
            test=test,
        )
        handle = actions.train_model(self.session, self.jobs, chosen, parameters, run, set_first)
        self.going.begin(found.steps or 0, found.epsilon, handle, quiet=quiet, room=room)
        handle.finished.connect(lambda result: self._show_result(what, result))
        self.follow(handle)

    def _watched_first(self) -> bool:
        """Return whether the run would show the first private figures of these rows."""
        return self.forms.is_network and not self.before.quiet and private_figures.is_first(self.session)

    def _pause_run(self) -> None:
        if self.job is not None:
            self.job.pause()

    def _resume(self) -> None:
        """Go on with the run that is offered: nothing is charged, so nothing is asked."""
        run = self.paused.run
        if run is None or self.running or self.session.open_data is None:
            return
        if is_missing(actions.TORCH):
            how = tr_sentence(how_to_install(actions.TORCH))
            self.session.notify("error", tr(words.NEEDS_TORCH, how=how))
            return
        self.forms.choose(run.plan.network)
        if run.tested and self.test.images is None:
            said = tr("This run is measured on public test images: choose the same ones first.")
            self.session.notify("warning", said)
            return
        room = self.session.account.room(run.epsilon, reserved=True)
        handle = actions.resume_training(self.session, self.jobs, run, self.test.images if run.tested else None)
        taken, spent = run.taken, float(run.spent)
        self.going.begin(run.steps, run.epsilon, handle, quiet=run.quiet, room=room, taken=taken, spent=spent)
        what = self._what()
        handle.finished.connect(lambda result: self._show_result(what, result))
        self.follow(handle)

    def _study(self) -> None:
        """Find out where the accuracy goes; the answer is shown if it is still about the values of the form."""
        parameters, what = self.forms.value(), self._what()
        if parameters is None or self._study_handle is not None or self._preflight is None:
            return
        answer = private_figures.may_show(self, self.session, made_up=tr(SIMULATED))
        if answer == private_figures.MADE_UP:
            self.expected.simulate()
        if answer != private_figures.SHOWN:
            return

        def show(stages: Any) -> None:
            if what == self._what():
                self.going.show_stages(stages)

        def ended() -> None:
            self._study_handle = None
            self.refresh()

        rows = actions.training_rows(self.session)
        work = partial(actions.studied, rows, parameters)  # type: ignore[arg-type] # only a network offers it
        job = Job(tr("Where the accuracy goes"), work)
        self._study_handle = self.jobs.start(job, key="where", on_result=show)
        self._study_handle.ended.connect(ended)
        private_figures.follow_note(self.session, self.jobs, self._study_handle)
        self.refresh()

    def _give_up(self) -> None:
        run = self.paused.run
        if run is None:
            return
        if choose(self, tr("Give up this run?"), give_up_question(run), {"yes": tr("Give up")}) == "yes":
            actions.give_up_training(self.session, self.jobs, run, self.going.notify)

    def _show_result(self, what: object, result: Any) -> None:
        self._trained = what
        self.going.show_result(result)
        self.going.notify(words.finished(result))

    def job_ended(self, handle: JobHandle) -> None:
        """Say how it ended, where not by a release, and suggest a folder for the next model."""
        end = handle.end
        self._failure = end.error if isinstance(end, Failed) and isinstance(end.error, WorkbenchError) else None
        if isinstance(end, Finished):
            into_sight(self.going)  # not what was known before it
        else:
            self.going.report_end(handle.end, paused=handle.paused)
        self._suggest_folder()

    # -- what is shown --------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        missing, found, network = self.missing(), self._preflight, self.forms.is_network
        no_torch = network and is_missing(actions.TORCH)
        done = self._trained is not None and self._trained == self._what()
        offered = next(iter(self.session.paused), None)
        beyond = found is not None and not self.running and self._refused(found) is not None
        # What a finished or a paused run has taken is no obstacle to it, but to another one.
        beyond = beyond and not done and offered is None
        if found is not None:
            self.session.show_cost_of_model((found.epsilon, found.delta) if beyond else None)
        asked = not missing and self.forms.value() is not None
        self.before.show_figures(found, network=network, torch_missing=no_torch, asked=asked, beyond=beyond)
        self.expected.show_state(
            network=network, ready=found is not None and not no_torch and not self.running, running=self.running
        )
        self.going.show_kind("" if network else words.no_steps(self.forms.chosen_model))
        self.going.expect(quiet=self.before.quiet and network)
        self.going.setVisible(self.forms.fits)
        # Curves measure how well a target is predicted, or what of its classes the groups find again.
        self.study.setVisible(self.forms.fits and not network and self.session.target is not None)
        self._column.setStretchFactor(self.going, 1 if network else 0)
        value = self.forms.value()
        if not network and value is not None:
            epsilon = Decimal(repr(float(value.to_plain()["epsilon"])))
            self.study.show_model(self.forms.model, epsilon, self.forms.meanings())
        self.before.say_first(first=private_figures.is_first(self.session))
        self.forms.lock(locked=self.running)
        self.before.lock(locked=self.running, charts=network)
        self.test.lock(locked=self.running)
        self.paused.show_run(offered, running=self.running)
        if offered is not None and not self.running:
            self.going.settle(offered.taken, float(offered.spent))
        ready = found is not None and not no_torch and self.before.place is not None and self._refused(found) is None
        ready = ready and not self.session.account.in_doubt
        job = self.job
        asking = self._study_handle is not None
        self.going.ask_where.setVisible(not self.running)  # the speed of a run needs the line
        self.going.ask_where.setEnabled(found is not None and not no_torch and not self.running and not asking)
        pausable = job is not None and job.on_pause is not None
        self._pause.setVisible(pausable)
        self._pause.setEnabled(job is not None and not job.stopping)
        self._pause.setText(tr("Pausing…") if job is not None and job.paused else tr("Pause"))
        self.show_buttons(missing, ready=ready, done=done)
        nothing = self.session.open_data is None
        self._views.setCurrentIndex(int(not nothing))
        if nothing:
            self._run_button.hide()
            self.highlight(self._nothing.way)
        elif offered is not None and not (self.running or ready or done):  # nothing else can be done
            self.highlight(self.paused.resume)
        elif beyond:
            self.highlight(self.before.raise_cap)
        elif found is not None and not (self.running or done) and self._exceeds_offer(found.epsilon):
            look(self._run_button, "")  # a person may train so, but is not led to it
        if job is not None and job.paused:
            self._cancel.setText(tr("Cancel"))
        stated = "" if nothing else missing
        self.set_note(stated or who_pays(self.session) or self._note_text(found, done=done))

    def _exceeds_offer(self, epsilon: Decimal) -> bool:
        asked = self.session.questions
        return self.session.opened is not None and asked.offered(epsilon) != epsilon

    def _note_text(self, found: Preflight | None, *, done: bool) -> str:
        if self.running:
            if self.forms.is_network:
                return tr(words.QUIET_NOW) if self.going.quiet else tr(words.SHOWN_NOW)
            return tr("Training. What is shown is private; the model appears in its folder at the end.")
        refused = None if found is None else self._refused(found)
        if found is not None and done and refused is not None:
            return tr(words.DONE_AND_SPENT, left=left_of(self.session, found.delta, alone=True))
        if done or found is None:
            return tr(words.DONE) if done else ""
        if refused is not None and self.session.paused:
            return tr(words.PAUSED)
        if refused is not None:
            past = (*self.session.released, *self.session.account.past)
            free = tr(words.FREE) if any(step.central == SYNTHETIC for step in past) else ""
            return f"{sentence(refused)} {free}".rstrip()
        return " ".join(map(tr_sentence, found.warnings)) or tr("Start asks once more before it charges anything.")

    def _raise_cap(self) -> None:
        refused = None if self._preflight is None else self._refused(self._preflight)
        if refused is not None:
            raise_cap(self, self.session, self.jobs, refused)

    def _refused(self, found: Preflight) -> BudgetRefusedError | None:
        return self.session.account.refusal(found.epsilon, found.delta)
