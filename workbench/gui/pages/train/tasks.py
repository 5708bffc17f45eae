"""Train a private model: what it will cost, and the release of it."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt

from workbench.gui.session.account_task import read_account
from workbench.gui.session.draft import DraftPlan
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import OpenTable, ReleasedStep, RunRecord, Session
from workbench.jobs import Job
from workbench.jobs.loading import load
from workbench.params import CancelledError, Parameters, WorkbenchError
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit, Notice

if TYPE_CHECKING:  # these load numpy and polars, which the first paint does not wait for
    from workbench.deep.features import Features
    from workbench.deep.networks import Network
    from workbench.deep.plan import DpSgdPlan
    from workbench.jobs.network import NetworkOutcome
    from workbench.learners import Learner
    from workbench.release.ledger.records import Release
    from workbench.release.model.model import ModelRelease
    from workbench.sanitize.plan import Plan

PREFLIGHT = "preflight"
TORCH = "torch"
ACCOUNTING = ("dp_accounting", "dp_accounting.rdp", "dp_accounting.pld.privacy_loss_distribution")
INSTALL = 'pip install "privacy-workbench[deep]"'


@dataclass(frozen=True)
class Preflight:
    """What is known of a training before a row is read; all of it is public.

    Attributes:
        epsilon: what a person with all her rows is charged.
        delta: the same.
        warnings: sentences on what is odd about it, or outside the guarantee.
        sigma: noise multiplier; ``None`` of a model that is no network.
        sample_rate: expected share of the rows in a batch.
        steps: steps that will be run.
        steps_asked: steps of all epochs; more than ``steps`` where the cap ends the run.
        memory: predicted peak in bytes of the run itself.
        libraries: bytes on top of the process that trains, before it begins: of Python and of PyTorch.
        free: bytes that the system can still give.
    """

    epsilon: Decimal
    delta: Decimal
    warnings: tuple[str, ...]
    sigma: float | None = None
    sample_rate: float | None = None
    steps: int | None = None
    steps_asked: int | None = None
    memory: int | None = None
    libraries: int = 0
    free: int | None = None

    @property
    def fits(self) -> bool:
        """Whether the predicted memory is there."""
        return self.memory is None or self.free is None or self.memory + self.libraries <= self.free


def torch_missing() -> bool:
    """Return whether the library that networks need is not installed; does not load it."""
    return importlib.util.find_spec(TORCH) is None


def first_plan(network: str, rows: int, epsilon: Decimal) -> DpSgdPlan:
    """Return a plan to begin with for a table of ``rows`` rows: all of it follows from public figures."""
    from workbench.deep.plan import DpSgdPlan
    from workbench.release.delta_limit import safe_delta

    batch = max(1, min(256, rows // 8))
    return DpSgdPlan(
        network=network,
        epsilon=float(epsilon),
        delta=safe_delta(rows),
        batch=batch,
        epochs=20,
        lr=0.5,
        clip=1.0,
        device="auto",
    )


def first_parameters(chosen: Learner, rows: int, epsilon: Decimal) -> Parameters:
    """Return parameters to begin with for a table of ``rows`` rows: all of it follows from public figures."""
    from workbench.release.delta_limit import safe_delta

    given: dict[str, float] = {"epsilon": float(epsilon)}
    if "delta" in chosen.parameters.declared():
        given["delta"] = safe_delta(rows)
    return chosen.parameters.from_plain(given)


def forecast_training(
    session: Session,
    jobs: JobCenter,
    model: str,
    parameters: Parameters,
    show: Callable[[Preflight], None],
    refuse: Callable[[BaseException], None],
) -> JobHandle:
    """Work out what a training will cost and need; reads no row."""
    opened, target = session.opened, session.target
    assert opened is not None
    assert target is not None
    rows = opened.rows_under(session.plan)
    draft = session.plan
    job = Job("Preflight", lambda emit, cancel: preflight(model, parameters, draft.plan(), target, rows))
    return jobs.start(job, key=PREFLIGHT, shown=False, on_result=show, on_failure=refuse)


def preflight(model: str, parameters: Parameters, plan: Plan, target: str, rows: int) -> Preflight:
    """Return the figures of the learner or network ``model``; runs in a worker."""
    import psutil

    from workbench.deep.memory import LIBRARIES, predict
    from workbench.deep.plan import DpSgdPlan
    from workbench.jobs.network import PROCESS
    from workbench.learners import learner
    from workbench.release.delta_limit import require_small_delta
    from workbench.release.model.release_learner import columns_of, fit_cost, outside

    inputs, goal = columns_of(plan, target)
    warnings = outside(inputs, goal)
    if not isinstance(parameters, DpSgdPlan):
        cost = fit_cost(learner(model), parameters, plan, target, rows)
        return Preflight(cost.epsilon, cost.delta, warnings)
    load(*ACCOUNTING)
    schedule = parameters.schedule(rows, plan.rows_per_person)
    cost = schedule.cost()
    require_small_delta(cost.delta, rows, rows_per_person=plan.rows_per_person)
    memory = predict(parameters, _features(plan, target), rows)
    return Preflight(
        cost.epsilon,
        cost.delta,
        warnings,
        sigma=schedule.event.noise_multiplier,
        sample_rate=schedule.event.sample_rate,
        steps=schedule.steps,
        steps_asked=schedule.steps_asked,
        memory=memory.peak,
        libraries=PROCESS + LIBRARIES,
        free=int(psutil.virtual_memory().available),
    )


def train_model(
    session: Session,
    jobs: JobCenter,
    chosen: Learner | Network,
    parameters: Parameters,
    folder: Path,
    epsilon: Decimal,
) -> JobHandle:
    """Charge, train and write the model into ``folder``."""
    title = chosen.title
    opened, target = session.opened, session.target
    assert opened is not None
    assert target is not None
    draft = session.plan
    plan = draft.plan()

    def work(emit: Emit, cancel: CancelToken) -> Any:
        former = releases_into(folder)
        try:
            return released(chosen.name, opened, plan, target, parameters, folder, emit, cancel)
        except CancelledError:
            raise CancelledError(charge_after_stop(folder, former)) from None
        except WorkbenchError:
            emit(Notice("info", charge_after_stop(folder, former)))
            raise

    def apply(result: Any) -> None:
        if session.opened is opened:
            kind = "dpsgd" if hasattr(result, "steps") else "fit"
            session.add_run(RunRecord(kind, title, epsilon, result))
            session.add_release(_step(title, result, draft))
        if handle.too_late:
            session.tell("warning", f"It was too late to cancel: the model stands in {folder}, and its charge with it.")
        else:
            session.tell("info", f"Released {title} to {folder}.")

    # Without a key: one that is being stopped may stay charged, and says so even where another begins meanwhile.
    handle = jobs.start(Job(f"Training: {title}", work), on_result=apply)
    # The charge stands before the first step is told of: the gauge shows it as reserved while the run goes on.
    handle.budget.connect(lambda budget: read_account(session, jobs), Qt.ConnectionType.SingleShotConnection)
    # Also a run that was stopped may stay charged.
    handle.ended.connect(lambda: read_account(session, jobs))
    return handle


def _step(title: str, result: Any, draft: DraftPlan) -> ReleasedStep:
    """Return what the Release page shows of a model that was published."""
    from workbench.release.model.card import CARD

    done = getattr(result, "model", result)
    return ReleasedStep(
        done.release_id,
        done.output,
        draft,
        done.epsilon,
        delta=done.delta,
        title=title,
        files=(("model", done.output), ("card", done.output / CARD)),
        model=True,
        result=result,
    )


def released(
    model: str,
    opened: OpenTable,
    plan: Plan,
    target: str,
    parameters: Parameters,
    folder: Path,
    emit: Emit,
    cancel: CancelToken,
) -> ModelRelease | NetworkOutcome:
    """Train and release; runs in a worker. A network is trained in a process of its own."""
    from workbench.deep.plan import DpSgdPlan
    from workbench.jobs.network import NetworkTask, train_network
    from workbench.learners import learner
    from workbench.release.ledger.ledger import Ledger
    from workbench.release.model.release_learner import columns_of, outside, release_fit
    from workbench.sanitize.origin import require_confirmed

    cancel.check()
    require_confirmed(plan)
    if isinstance(parameters, DpSgdPlan):
        beyond = outside(*columns_of(plan, target))
        task = NetworkTask(
            parameters,
            _features(plan, target),
            opened.table,
            folder,
            plan.rows_per_person,
            outside=beyond,
            replace_invalid=plan.replaces_invalid,
            account=plan.account,
        )
        return train_network(task, emit, cancel)
    with Ledger.open() as ledger:
        return release_fit(learner(model), parameters, plan, target, opened.table, folder, ledger)


def releases_into(folder: Path) -> tuple[Release, ...]:
    """Return what the ledger has of ``folder``, oldest first.

    Raises:
        WorkbenchError: the ledger cannot be read.
    """
    from workbench.release.ledger.ledger import Ledger

    output = str(folder.parent.resolve() / folder.name)
    with Ledger.open() as book:
        return tuple(r for r in book.releases() if r.body.get("output") == output)


def charge_after_stop(folder: Path, former: Sequence[Release]) -> str:
    """Return a sentence on what a training costs that ended without a model, as the ledger has it.

    Args:
        folder: where the model would have been.
        former: what the ledger had of that folder before.
    """
    from workbench.gui.widgets.formatting import at_most

    try:
        found = releases_into(folder)[len(former) :]
    except WorkbenchError as error:
        return f"Nothing was released; what is charged is not known: {error}"
    if not found or found[-1].status in ("void", "refused"):
        return "Nothing was released, and nothing is charged."
    watched = found[-1].body.get("watched")
    why = "private figures were shown" if watched else "the model was being written"
    stands = "stays reserved" if found[-1].status == "reserved" else f"stays charged, as {why}"
    return f"Nothing was released; ε = {at_most(found[-1].epsilon)} {stands}."


def _features(plan: Plan, target: str) -> Features:
    from workbench.deep.features import Features
    from workbench.release.model.release_learner import columns_of

    inputs, goal = columns_of(plan, target)
    return Features(tuple(c.facts() for c in inputs), goal.facts())
