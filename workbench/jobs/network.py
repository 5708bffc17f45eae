"""Train and release a network in a process of its own; the result can be read without PyTorch."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.processes.isolated_process import run_in_process
from workbench.signals.cancel import CancelToken, PutOffCancel
from workbench.signals.events import Budget, Emit, Event

if TYPE_CHECKING:  # a job's thread imports this; the libraries are the new process's to load
    from workbench.data.table import Table
    from workbench.deep.features import Features
    from workbench.deep.plan import DpSgdPlan
    from workbench.release.model.network_task import NetworkTask
    from workbench.release.release_path import Released


@dataclass(frozen=True, eq=False)
class ExpectationTask:
    """What accuracy is expected of; no private row is in it."""

    plan: DpSgdPlan  # what is to be done
    features: Features  # the public map from rows to inputs
    rows: int  # the public number of rows
    rows_per_person: int = 1  # maximum rows per person
    public: Table | None = None  # public rows to train on; `None` for rows that are made up from `features`
    from_rows: bool = False  # whether public facts in `features` were taken from the private rows and not declared


@dataclass(frozen=True)
class NetworkOutcome:
    """The result of a training run, without the weights, which are in the folder."""

    model: Released  # what was released
    steps: int  # steps run
    stopped: str  # why it ended: `epochs`, `cap` or `clock`
    epsilons: tuple[tuple[int, float], ...]  # (step, ε so far), evenly over the run
    # Mean over the batches of the last epoch, private; `None` if all were empty, or if an earlier run trained the
    # network and only its publication was missing. With test rows: on these.
    accuracy: float | None
    accuracy_public: bool = False  # whether it was measured on rows that were declared public


def train_network(
    task: NetworkTask, emit: Emit, cancel: CancelToken, pausing: Callable[[], bool] | None = None
) -> NetworkOutcome:
    """Charge, train and release ``task`` in a process of its own.

    Args:
        task: what is trained.
        emit: receives the run's events.
        cancel: asks it to stop.
        pausing: whether the stop is a pause: before the first step there is nothing to go on from, so that a pause
            that is asked for earlier waits for it.

    Raises:
        WorkbenchError: as :func:`workbench.release.model.release_network.release_training`, or its process died.
        MemoryError: there was not enough memory.
    """
    return run_in_process(release_here, task, *pausable(task, emit, cancel, pausing))


def pausable(
    task: NetworkTask, emit: Emit, cancel: CancelToken, pausing: Callable[[], bool] | None
) -> tuple[Emit, CancelToken]:
    """Return what to give to a training of ``task`` so that a pause waits for its first step."""
    if pausing is None or (task.checkpoints is not None and task.checkpoints.resume is not None):
        return emit, cancel
    taken = threading.Event()

    def listener(event: Event) -> None:
        if isinstance(event, Budget) and event.step:
            taken.set()
        emit(event)

    return listener, PutOffCancel(cancel, lambda: taken.is_set() or not pausing())


def study_network(task: NetworkTask, emit: Emit, cancel: CancelToken) -> tuple[tuple[str, float, int], ...]:
    """Train ``task`` three times in a process of its own, to see where its accuracy goes; nothing is released.

    The ledger notes it first.

    Returns:
        (name, accuracy on rows that were held out, how many they were) of each training; private.

    Raises:
        WorkbenchError: as :func:`workbench.deep.accuracy_study.accuracy_losses`, or its process died.
        MemoryError: there was not enough memory.
    """
    from workbench.release.ledger.study_note import note_study

    note_study(task.table, "accuracy", emit=emit)
    return run_in_process(study_here, task, emit, cancel)


def study_here(task: NetworkTask, emit: Emit, cancel: CancelToken) -> tuple[tuple[str, float, int], ...]:
    """Do the study of ``task`` in this process."""
    from workbench.deep.accuracy_study import accuracy_losses
    from workbench.deep.features import TableData

    data = TableData(task.features, task.rows())
    stages = accuracy_losses(task.plan, data, rows_per_person=task.rows_per_person, emit=emit, cancel=cancel)
    return tuple((stage.name, stage.accuracy, stage.measured) for stage in stages)


def expect_accuracy(task: ExpectationTask, emit: Emit, cancel: CancelToken) -> tuple[str, ...]:
    """Train ``task`` on made-up or public rows in a process of its own; nothing is read, charged or released.

    Returns:
        what was found in a few words, and then in sentences.

    Raises:
        WorkbenchError: as :func:`workbench.deep.expected_accuracy.expected_accuracy`, or its process died.
        MemoryError: there was not enough memory.
    """
    return run_in_process(expect_here, task, emit, cancel)


def expect_here(task: ExpectationTask, emit: Emit, cancel: CancelToken) -> tuple[str, ...]:
    """Do the simulation of ``task`` in this process."""
    from workbench.deep.expected_accuracy import expected_accuracy
    from workbench.studies.expected_accuracy import in_brief, in_sentences, made_up_rows, public_rows

    public = made_up_rows(task.features) if task.public is None else public_rows(task.features, task.public)
    schedule = task.plan.schedule(task.rows, task.rows_per_person)
    found = expected_accuracy(task.plan, task.features, public, schedule, emit=emit, cancel=cancel)
    return in_brief(found, from_rows=task.from_rows), *in_sentences(found, from_rows=task.from_rows)


def release_here(task: NetworkTask, emit: Emit, cancel: CancelToken) -> NetworkOutcome:
    """Do ``task`` in this process."""
    from workbench.release.ledger.ledger import Ledger
    from workbench.release.model.release_network import release_training

    cancel.check()
    with Ledger.open() as ledger:
        done = release_training(task, ledger, emit, cancel)
    training = done.training
    if training is None:
        facts = done.model.document["training"]
        return NetworkOutcome(done.model, facts["steps"], facts["stopped"], (), done.accuracy, done.accuracy_public)
    epsilons = tuple((record.step, record.epsilon) for record in training.records)
    return NetworkOutcome(done.model, training.steps, training.stopped, epsilons, done.accuracy, done.accuracy_public)
