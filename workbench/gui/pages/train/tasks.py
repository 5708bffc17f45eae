"""Train a private model: what it will cost, and the release of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt

from workbench.gui.pages.release_tasks import asked_plan
from workbench.gui.project.open_table import changed_since
from workbench.gui.session.account_task import find_paused, read_account
from workbench.gui.session.account_view import ReleasedStep
from workbench.gui.session.draft import DraftPlan
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import OpenImages, OpenTable, RunRecord, Session
from workbench.gui.style.language import tr, tr_later, tr_number, tr_sentence
from workbench.gui.widgets.formatting import at_most, exactly
from workbench.jobs import CancelToken, Emit, Job
from workbench.jobs.loading import load
from workbench.params import CancelledError, Parameters
from workbench.signals.events import AtStake, Progress

if TYPE_CHECKING:
    from workbench.data.images.image_set import ImageSet
    from workbench.deep.networks import Network
    from workbench.deep.plan import DpSgdPlan
    from workbench.jobs.network import ExpectationTask
    from workbench.learners import Learner
    from workbench.release.ledger.records import Cap
    from workbench.release.model.network_task import NetworkTask
    from workbench.release.model.paused_training import PausedTraining, StoppedCharge
    from workbench.release.model.preflight import Preflight
    from workbench.release.release_path import Released
    from workbench.sanitize.plan import Plan


ACCOUNTING = "workbench.privacy.accounting.dp_library"


@dataclass(frozen=True, eq=False)
class TableRows:
    """The rows of the table that is open, and the column to predict or to leave out, if there is one."""

    opened: OpenTable
    plan: Plan
    target: str | None
    rows: int

    @property
    def account(self) -> str | None:
        return self.plan.account

    def preflight(self, model: str, parameters: Parameters) -> Preflight:
        from workbench.deep.plan import DpSgdPlan
        from workbench.learners import learner
        from workbench.release.model.preflight import preflight

        network = isinstance(parameters, DpSgdPlan)
        if network:
            load(ACCOUNTING)
        return preflight(None if network else learner(model), parameters, self.plan, self.target, self.rows)

    def task(self, plan: DpSgdPlan, run: TrainingRun) -> NetworkTask:
        from workbench.release.model.network_task import Checkpoints
        from workbench.release.model.training_work import table_work
        from workbench.sanitize.plan_guesses import require_confirmed

        require_confirmed(self.plan)
        assert self.target is not None
        work = table_work(plan, self.plan, self.target, self.opened.table)
        return work.into(run.folder, Checkpoints(), quiet=run.quiet, replace=False)

    def expectation(self, plan: DpSgdPlan, public: ImageSet | None) -> ExpectationTask:
        """Return the simulation of a training on made-up rows: of the table their number alone is in it."""
        from workbench.jobs.network import ExpectationTask
        from workbench.release.model.preflight import network_features
        from workbench.release.model.release_learner import columns_of, outside
        from workbench.sanitize.plan_guesses import require_confirmed

        require_confirmed(self.plan)
        features, people = network_features(self.plan, self.target), self.plan.rows_per_person
        from_rows = bool(outside(*columns_of(self.plan, self.target)))
        return ExpectationTask(plan, features, self.rows, people, from_rows=from_rows)


@dataclass(frozen=True, eq=False)
class ImageRows:
    """The images that are open; networks alone learn from them."""

    opened: OpenImages
    account: str | None

    def preflight(self, model: str, parameters: Parameters) -> Preflight:
        from workbench.deep.features import ImageFeatures
        from workbench.release.model.preflight import network_preflight

        load(ACCOUNTING)
        opened = self.opened
        features, people = ImageFeatures.of(opened.table), opened.options.rows_per_person
        return network_preflight(parameters, features, opened.table.rows, people, opened.outside)

    def task(self, plan: DpSgdPlan, run: TrainingRun) -> NetworkTask:
        from workbench.deep.features import ImageFeatures
        from workbench.release.model.network_task import Checkpoints, NetworkTask, TestSet

        opened = self.opened
        return NetworkTask(
            plan,
            ImageFeatures.of(opened.table),
            opened.table,
            run.folder,
            opened.options.rows_per_person,
            outside=opened.outside,
            account=self.account,
            quiet=run.quiet,
            test=None if run.test is None else TestSet(run.test, public=True),
            checkpoints=Checkpoints(),
        )

    def expectation(self, plan: DpSgdPlan, public: ImageSet | None) -> ExpectationTask:
        """Return the simulation of a training: of these images their number, shape and classes alone are in it."""
        from workbench.deep.features import ImageFeatures
        from workbench.jobs.network import ExpectationTask

        opened = self.opened
        features, people = ImageFeatures.of(opened.table), opened.options.rows_per_person
        return ExpectationTask(plan, features, opened.table.rows, people, public, bool(opened.outside))


TrainingRows = TableRows | ImageRows  # what something can be trained on; its functions run in workers


def training_rows(session: Session) -> Callable[[], TrainingRows]:
    """Return what makes, in a worker, that which is trained on."""
    images, opened, draft = session.images, session.opened, session.plan
    if images is not None:
        return lambda: ImageRows(images, draft.account or None)
    assert opened is not None
    return lambda: TableRows(opened, draft.plan(), draft.target, opened.rows_under(draft))


# -- the jobs ---------------------------------------------------------------------------------------------------------


PREFLIGHT = "preflight"
AT_ONCE_S = 0.04  # what a press may wait for: a folder that does not answer at once is waited for by the job
BEGINNING = tr_later("Getting ready (about 15 s): libraries are loaded, and a step is tried on made-up rows")
TORCH = "torch"


def first_plan(network: Network, rows: int, epsilon: Decimal, *, images: bool = False) -> DpSgdPlan:
    """Return a plan to begin with for ``rows`` rows of a table or images: all of it follows from public figures."""
    from workbench.deep.plan import DpSgdPlan
    from workbench.release.delta_limit import safe_delta

    usual = {"batch": 256, "epochs": 20, "lr": 0.5, "clip": 1.0}
    if images:
        usual |= dict(network.on_images)
    usual["batch"] = max(1, min(int(usual["batch"]), rows // 8))
    stated = {"network": network.name, "epsilon": float(epsilon), "delta": safe_delta(rows), "device": "auto"}
    return DpSgdPlan.from_plain({**stated, **usual})


def first_parameters(chosen: Learner, rows: int, epsilon: Decimal, left: Decimal | None) -> Parameters:
    """Return parameters to begin with for ``rows`` rows, all from public figures; no δ where less of it is ``left``."""
    from workbench.release.delta_limit import safe_delta

    given: dict[str, float] = {"epsilon": float(epsilon)}
    if "delta" in chosen.parameters.declared() and (left is None or left >= Decimal(str(safe_delta(rows)))):
        given["delta"] = safe_delta(rows)
    return chosen.parameters.from_plain(given)


@dataclass(frozen=True, kw_only=True)
class TrainingRun:
    """A training as the window follows it."""

    title: str = ""  # what a person calls the model
    folder: Path = Path()  # where it goes
    epsilon: Decimal = Decimal(0)  # what it costs
    pausable: bool = False  # whether it can go on after a pause
    quiet: bool = False  # whether no private figure is shown
    test: ImageSet | None = None  # images that were declared public, to measure the accuracy on
    resumed: Path | None = None  # the folder of the checkpoint that it goes on from


def look_at_source(session: Session, jobs: JobCenter, ask: Callable[[str, tuple[str, ...]], None]) -> None:
    """Find out what is to be known before a charge; ``ask`` takes it.

    That is what became of the files that were opened, and what of the questions no model of the table answers.
    """
    opened, draft = session.open_data, session.plan
    assert opened is not None
    table = session.opened

    def work(emit: Emit, cancel: CancelToken) -> tuple[str, tuple[str, ...]]:
        from workbench.studies.kind_comparison import shortfalls_of_model

        changed = changed_since(opened)
        if table is None:
            return changed, ()
        return changed, shortfalls_of_model(asked_plan(draft, draft.plan()), table.rows_under(draft))

    job = Job(tr("Checking the release"), work)
    jobs.finish(jobs.start(job, key="train-look", on_result=lambda found: ask(*found)), AT_ONCE_S)


def train_model(
    session: Session,
    jobs: JobCenter,
    chosen: Learner | Network,
    parameters: Parameters,
    run: TrainingRun,
    cap: Cap | None = None,
) -> JobHandle:
    """Charge, train and write the model into the folder of ``run``; a network in a process of its own."""
    from workbench.deep.plan import DpSgdPlan

    make, pausing = training_rows(session), threading.Event()

    def work(emit: Emit, cancel: CancelToken) -> Any:
        rows = make()
        if cap is not None:
            from workbench.release.ledger.ledger import Ledger

            with Ledger.open() as book:
                book.set_first_cap(book.enter_for_release(rows.opened.table, rows.account), cap)
        if isinstance(parameters, DpSgdPlan):
            from workbench.jobs.network import train_network

            # A pause waits for the first step, also one that is asked for while the rows are read.
            return train_network(rows.task(parameters, run), emit, cancel, pausing.is_set)
        cancel.check()
        assert isinstance(rows, TableRows)
        return fit_released(chosen.name, rows, parameters, run)

    return _start(session, jobs, run, work, pausing)


def resume_training(session: Session, jobs: JobCenter, paused: PausedTraining, test: ImageSet | None) -> JobHandle:
    """Go on with an interrupted run; it charges nothing more. ``test``: public images, where it began with some."""
    from workbench.deep.networks import network

    opened = session.open_data
    assert opened is not None

    def work(emit: Emit, cancel: CancelToken) -> Any:
        from workbench.jobs.network import train_network
        from workbench.release.model.network_task import Checkpoints, NetworkTask, TestSet

        task = NetworkTask(
            paused.plan,
            paused.features,
            opened.table,
            paused.output,
            paused.rows_per_person,
            outside=paused.outside,
            replace_invalid=paused.replace_invalid,
            account=paused.account,
            quiet=paused.quiet,
            test=None if test is None else TestSet(test, public=True),
            checkpoints=Checkpoints(resume=paused.folder),
            unit=paused.unit,
        )
        emit(AtStake(paused.lost))
        return train_network(task, emit, cancel)

    title = network(paused.plan.network).title
    run = TrainingRun(title=title, folder=paused.output, epsilon=paused.epsilon, pausable=True, resumed=paused.folder)
    return _start(session, jobs, run, work, threading.Event())


def studied(
    make: Callable[[], TrainingRows], parameters: DpSgdPlan, emit: Emit, cancel: CancelToken
) -> tuple[tuple[str, float, int], ...]:
    """Train a network without privacy, with clipping alone, and with noise; nothing is released."""
    from workbench.jobs.network import study_network

    return study_network(make().task(parameters, TrainingRun()), emit, cancel)


def give_up_training(
    session: Session, jobs: JobCenter, paused: PausedTraining, on_end: Callable[[str], object]
) -> JobHandle:
    """End an interrupted run for good, report what that costs, and pass it to ``on_end``."""

    def work(emit: Emit, cancel: CancelToken) -> Decimal:
        from workbench.release.ledger.ledger import Ledger
        from workbench.release.model.paused_training import give_up

        with Ledger.open() as book:
            return give_up(book, paused.folder)

    def apply(cost: Decimal) -> None:
        said = tr("The run is given up: it costs ε = {cost}, and nothing was released.", cost=at_most(cost))
        session.notify("info", said)
        on_end(said)

    handle = jobs.start(Job(tr("Giving up a training"), work), key="give-up", on_result=apply)
    handle.ended.connect(lambda: read_account(session, jobs))
    handle.ended.connect(lambda: find_paused(session, jobs))
    return handle


def _start(
    session: Session,
    jobs: JobCenter,
    run: TrainingRun,
    work: Callable[[Emit, CancelToken], Any],
    pausing: threading.Event,
) -> JobHandle:
    """Start ``work``; say what it costs however it ends, and end it for good where it is cancelled and not paused."""
    opened, draft = session.open_data, session.plan

    def stated(emit: Emit, cancel: CancelToken) -> Any:
        from workbench.release.checkpoint_folder import release_of
        from workbench.release.model.paused_training import charge_text, give_up_into

        resumed = "" if run.resumed is None else release_of(run.resumed)
        if run.pausable:  # a network: what it does before its first step has no measure
            emit(Progress(0, 0, tr(BEGINNING)))
        with charge_text(run.folder, None, emit, stopped_words, resumed):
            try:
                return work(emit, cancel)
            except CancelledError:
                if run.pausable and not pausing.is_set():
                    give_up_into(run.folder, None)
                raise

    def apply(result: Any) -> None:
        if session.open_data is opened:
            kind = "dpsgd" if hasattr(result, "steps") else "fit"
            session.add_run(RunRecord(kind, run.title, run.epsilon, result))
            session.add_release(_step(run.title, result, draft))
        if handle.too_late:
            session.notify(
                "warning",
                tr("It was too late to pause: the model is in {folder}, and is charged.", folder=run.folder)
                if handle.paused
                else tr("It was too late to cancel: the model is in {folder}, and is charged.", folder=run.folder),
            )
        else:
            session.notify("info", tr("Released {title} to {folder}.", title=tr_sentence(run.title), folder=run.folder))

    # Without a key: one that is being stopped may stay charged, and says so even where another begins meanwhile.
    handle = jobs.start(Job(tr("Training: {title}", title=tr_sentence(run.title)), stated), on_result=apply)
    handle.on_pause = pausing.set if run.pausable else None
    # The charge is recorded before the first step is reported: the gauge shows it as reserved while the run goes on.
    handle.budget.connect(lambda budget: read_account(session, jobs), Qt.ConnectionType.SingleShotConnection)
    # Also a run that was stopped may stay charged.
    handle.ended.connect(lambda: read_account(session, jobs))
    handle.ended.connect(lambda: find_paused(session, jobs))
    return handle


def _step(title: str, result: Any, draft: DraftPlan) -> ReleasedStep:
    """Return what the Release page shows of a model that was published."""
    from workbench.release.certificate import CARD

    done = getattr(result, "model", result)
    return ReleasedStep(
        done.release_id,
        done.output,
        draft,
        done.epsilon_charged,
        delta=done.delta_charged,
        title=title,
        files=(("model", done.output), ("card", done.output / CARD)),
        model=True,
        result=result,
    )


def fit_released(model: str, rows: TableRows, parameters: Parameters, run: TrainingRun) -> Released:
    """Fit and release a learner for the ε that was shown; runs in a worker."""
    from workbench.learners import learner
    from workbench.release.ledger.ledger import Ledger
    from workbench.release.model.release_learner import FitTask, release_fit
    from workbench.sanitize.plan_guesses import require_confirmed

    require_confirmed(rows.plan)
    task = FitTask(
        learner(model), parameters, rows.plan, rows.target, rows.opened.table, run.folder, agreed=run.epsilon
    )
    with Ledger.open() as ledger:
        return release_fit(task, ledger)


def stopped_words(stopped: StoppedCharge) -> str:
    """Return a sentence on what a training costs that ended without a model."""
    from workbench.release.model.paused_training import NOTHING, PAUSED, RESERVED, STEPS, UNKNOWN, WATCHED

    if stopped.why == PAUSED:
        return tr(
            "It can go on from step {step}; ε = {cost} stays reserved for it.",
            step=tr_number(stopped.taken, ","),
            cost=f"{at_most(stopped.epsilon)}{exactly(stopped.epsilon)}",
        )
    if stopped.why == UNKNOWN:
        return tr(
            "Nothing was released; what is charged is not known: {problem}", problem=tr_sentence(str(stopped.problem))
        )
    if stopped.why == NOTHING:
        return tr("Nothing was released, and nothing is charged.")
    stated = {
        RESERVED: tr_later("Nothing was released; ε = {cost} stays reserved."),
        WATCHED: tr_later("Nothing was released; ε = {cost} stays charged, as private figures were shown."),
        STEPS: tr_later("Nothing was released; ε = {cost} stays charged, as so many steps were taken."),
    }
    written = tr_later("Nothing was released; ε = {cost} stays charged, as the model was being written.")
    return tr(stated.get(stopped.why, written), cost=f"{at_most(stopped.epsilon)}{exactly(stopped.epsilon)}")
