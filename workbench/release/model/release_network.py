"""The release of a network trained with DP-SGD: reserve, train, write weights, metrics and card, settle."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.data.table import Table
from workbench.deep.features import Features, TableData
from workbench.deep.model import METRICS, WEIGHTS, TrainedModel, facts, metrics_bytes, weights_bytes
from workbench.deep.plan import JUDGED, DpSgdPlan
from workbench.learners.tasks import EMPTY, classes_of
from workbench.params import InputError
from workbench.params.errors import require
from workbench.privacy.accounting.event import Cost, PoissonGaussian, RowsPerPerson, exact
from workbench.release.card import card_facts, file_form_facts, model_output
from workbench.release.checkpoint_folder import CheckpointFolder, was_shown
from workbench.release.delta_limit import require_small_cost, require_small_delta
from workbench.release.ledger.entry import EXACT
from workbench.release.ledger.ledger import Ledger
from workbench.release.model.network_task import Checkpoints, NetworkTask, TestSet
from workbench.release.recover import place_of, request_of
from workbench.release.release_path import Destination, Released, ReleaseRequest, release
from workbench.release.reservation import Reservation
from workbench.release.statements import Persons, model_statement
from workbench.sanitize.plan_guesses import require_confirmed_facts
from workbench.signals import NEVER, AtStake, Budget, CancelToken, Emit, Event, Metric, Spread, ignore
from workbench.work.noise import Charged
from workbench.work.work import WorkOutput

if TYPE_CHECKING:
    from workbench.deep.trainer import Training


_WORK = "dpsgd"

CLOCK_SENTENCE = (
    "The run was to stop after a time: the number of steps tells how fast this machine was, which depends on what else "
    "it did and on how many rows were drawn."
)


@dataclass(frozen=True)
class NetworkRelease:
    """The result of a training run."""

    model: Released  # what was released
    training: Training | None  # the run; `None` if an earlier run did it and only its publication was missing
    # On the test set; without one the mean over the batches of the last epoch (`None` if all were empty). Private
    # unless the test set is public.
    accuracy: float | None
    accuracy_public: bool  # whether it is


def release_training(
    task: NetworkTask, ledger: Ledger, emit: Emit = ignore, cancel: CancelToken = NEVER
) -> NetworkRelease:
    """Train a network and release it as a folder.

    The folder holds the weights, the card, and the private metrics in a sub-folder that is not for release. The ledger
    notes that private figures of the rows are shown, unless it is quiet, and of test rows that are not public. A run
    that is cancelled stays charged in full once a figure of it was shown: a private one, or its accuracy on public
    rows, which depends on the private weights. With checkpoints it is paused instead: its reservation stays until it
    goes on, or is given up (:mod:`workbench.release.model.paused_training`).

    Raises:
        InputError: a column was guessed and not confirmed, the folder exists, or a value does not fit its column.
        ParameterError: δ is not below 1/rows.
        BudgetRefusedError: the cap does not allow the run.
        CancelledError: ``cancel`` was set.
    """
    run = _prepared(task, ledger, emit, cancel)
    asked = _asked(task)
    run.kept = None if task.checkpoints is None else _kept(run, asked, task.checkpoints, ledger)
    wanted = ReleaseRequest(
        table=task.table,
        to=Destination.of_model(task.folder, replace=task.replace),
        work=_WORK,
        digest=request_of(_WORK, **asked),
        room=_room(task.plan, task.features),
        draw=lambda reservation, emit, cancel: run.train(reservation),
        facts=card_facts,
        account=task.account,
        watched=None if task.quiet and not task.public_test else lambda: run.seen,
        kept=run.kept,
        unit=task.rows_per_person if task.unit is not None else 0,
    )
    try:
        model = release(wanted, ledger, emit)
    finally:
        if run.kept is not None:
            run.kept.leave()
    if model.published_earlier:
        stated = model.document["training"].get("accuracy")
        return NetworkRelease(model, None, stated["value"] if stated else None, accuracy_public=stated is not None)
    assert run.training is not None
    accuracy = _of_last_epoch(run.training) if run.accuracy is None else run.accuracy
    return NetworkRelease(model, run.training, accuracy, accuracy_public=task.public_test)


def _prepared(task: NetworkTask, ledger: Ledger, emit: Emit, cancel: CancelToken) -> _Run:
    require("torch", "training a network")
    features = task.features
    require_confirmed_facts((*features.attributes, features.target))
    # A person's δ is at least k times that of one row: a hopeless request is refused before the noise is calibrated.
    least = EXACT.multiply(exact(task.plan.delta), Decimal(task.rows_per_person))
    rows = task.rows()
    require_small_delta(least, rows.rows, rows_per_person=task.rows_per_person)
    shown, test = [] if task.quiet else [(task.table, "training")], task.test
    if test is not None:
        if not test.public:
            shown.append((test.table, "test"))
        test = replace(test, table=features.with_codes(test.table))
        if task.replace_invalid:
            test = replace(test, table=test.table.with_invalid_replaced())
        _require_classes(features, test.table)
    return _Run(task, rows, test, emit, cancel, partial(_note, ledger, tuple(shown)))


def _asked(task: NetworkTask) -> dict[str, Any]:
    return {
        "plan": task.plan.to_plain(),
        "inputs": [a.facts().to_plain() for a in (*task.features.attributes, task.features.target)],
        **task.features.facts(),
        "replace_invalid": task.replace_invalid,
        "public_test": task.public_test,
        **Persons(task.rows_per_person, task.unit).facts(),
    }


def _kept(run: _Run, asked: dict[str, Any], checkpoints: Checkpoints, ledger: Ledger) -> CheckpointFolder:
    task = run.task
    stated = {**asked, "target": task.features.target.name, "outside": list(task.outside), "account": task.account}
    stated |= {"quiet": task.quiet, "output": place_of(task.folder), "rows": run.rows.rows}
    request, content = request_of(_WORK, **asked, quiet=task.quiet), ledger.identify(task.table).content
    if checkpoints.resume is None:
        kept = CheckpointFolder.begin(ledger, request, content, stated, checkpoints.folder)
    else:
        kept = CheckpointFolder.resume(ledger, checkpoints.resume, request, content)
        release = ledger.release(kept.facts.release_id)
        run.seen = release is None or was_shown(release, kept.counted)
        run.resumed = True
    kept.judged = JUDGED if task.quiet and task.public_test else None
    return kept


def _note(ledger: Ledger, shown: tuple[tuple[Table, str], ...]) -> None:
    """Note durably that private figures of tables are going to be shown, each with the kind of study."""
    for table, study in shown:
        ledger.note_figures(ledger.identify(table), study)


@dataclass(eq=False)
class _Run:
    """One training run of a release, and its result."""

    task: NetworkTask
    rows: Table  # the rows as its plan reads them
    test: TestSet | None  # the rows to measure it on, read alike
    emit: Emit
    cancel: CancelToken
    note: Callable[[], None]  # called once the run is charged, before a private figure is computed
    kept: CheckpointFolder | None = None  # its checkpoint, if it has one
    resumed: bool = False  # whether it goes on with an interrupted one
    seen: bool = False  # whether a figure that depends on the weights was shown to somebody
    training: Training | None = None
    accuracy: float | None = None  # on the test set, if there is one
    whole: Decimal = Decimal(0)  # ε of the whole run, once it is reserved
    taken: Decimal = Decimal(0)  # ε of the steps taken
    lost: Decimal = Decimal(0)  # ε that a stop would lose, as it was last reported

    def train(self, reservation: Reservation) -> WorkOutput:
        from workbench.deep.trainer import RunOptions, train  # torch takes a second to import: only a run pays for it

        task = self.task
        self.training = train(
            task.plan,
            TableData(task.features, self.rows),
            Charged(partial(self._charge, reservation)),
            rows_per_person=task.rows_per_person,
            emit=self._on_event,
            cancel=self.cancel,
            options=RunOptions(
                settle=reservation.settle,
                keep=self.kept,
                quiet=task.quiet,
                judge=self._judge if task.quiet and task.public_test else None,
            ),
        )
        if self.test is not None:
            self.accuracy = TrainedModel.of(self.training).accuracy(TableData(task.features, self.test.table))
        return self._made(self.training)

    def _charge(self, reservation: Reservation, cost: Cost) -> None:
        """Charge what the run costs, now that its δ is known and fits the number of rows."""
        require_small_cost(cost, self.rows.rows, rows_per_person=self.task.rows_per_person)
        reservation(cost)
        self.whole = cost.epsilon
        self._report_at_stake()
        if self.kept is not None:
            event = cost.event.event if isinstance(cost.event, RowsPerPerson) else cost.event
            assert isinstance(event, PoissonGaussian)
            self.kept.reserved(reservation.made()[1], event.steps)
        self.note()  # only now: of what is shown from here on, the run's own card has nothing to say

    def _judge(self, step: int, weights: Mapping[str, NDArray[np.float32]]) -> None:
        """Report the accuracy on a public test set: of rows that the guarantee is not about, but by the weights."""
        assert self.test is not None
        features = self.task.features
        model = TrainedModel(self.task.plan.architecture, features, weights)
        self.seen = True
        self._report_at_stake()
        self.emit(Metric("accuracy", step, model.accuracy(TableData(features, self.test.table)), public=True))

    def _on_event(self, event: Event) -> None:
        self.seen = self.seen or isinstance(event, Spread) or (isinstance(event, Metric) and not event.public)
        if isinstance(event, Budget):
            self.taken = min(Decimal(repr(event.epsilon)), self.whole)
        self._report_at_stake()
        self.emit(event)

    def _report_at_stake(self) -> None:
        """Say what a stop would lose, where that has changed."""
        lost = self.whole if self.seen else self.taken
        if lost != self.lost:
            self.lost = lost
            self.emit(AtStake(lost))

    def _made(self, training: Training) -> WorkOutput:
        persons = Persons(self.task.rows_per_person, self.task.unit)
        stated: dict[str, Any] = facts(training) | persons.facts()
        if self.test is not None and self.test.public:
            measured = int((classes_of(self.test.table, training.features.target) != EMPTY).sum())
            stated["accuracy"] = {"value": self.accuracy, "rows": measured, "on": "a test table declared public"}
        outside = self.task.outside
        if training.plan.seconds is not None:
            outside = (*outside, CLOCK_SENTENCE)
        if training.network.beyond:
            outside = (*outside, training.network.beyond)
        replaces, columns = self.rows.replaces_invalid, (*training.features.attributes, training.features.target)
        statement = model_statement(persons, replaces_invalid=replaces, delta=True)
        path = training.plan.weights  # of a file of weights its name, not its folder
        weights = {} if path is None else {"weights": Path(path).name}
        card = {
            **file_form_facts(self.task.reading),
            "rows": self.rows.rows,
            "model": training.network.name,
            "guarantee": {"statement": statement, "randomness": training.randomness},
            "parameters": training.plan.to_plain() | weights,
            "inputs": [a.facts().to_plain() for a in columns],
            "outside_guarantee": list(outside),
            "training": stated,
        }
        # The checkpoint says for how long the run had gone on, and whoever has seen figures can write into it.
        stopped_early = training.steps < training.schedule.steps and not (self.resumed and self.seen)
        return replace(
            model_output({WEIGHTS: weights_bytes(training)}, card, releasable=training.releasable),
            private={METRICS: metrics_bytes(training.records)},
            settled=(training.cost.epsilon, training.cost.delta) if stopped_early else None,
        )


def _room(plan: DpSgdPlan, features: Features) -> int:
    weights = plan.architecture.parameters(features.width, len(features.classes))
    names = sum(len(name.encode()) for a in (*features.attributes, features.target) for name in a.domain or ())
    return (1 << 20) + 4 * weights + 8 * names


def _require_classes(features: Features, table: Table) -> None:
    features.inputs(table)
    if (classes_of(table, features.target) == EMPTY).all():
        raise InputError("no row of the test table has a class", table.source, "give a test table with classes")


def _of_last_epoch(training: Training) -> float | None:
    begin = training.schedule.epoch(training.steps) - 1
    seen = [r.accuracy for r in training.records if r.epoch > begin and r.accuracy is not None]
    return sum(seen) / len(seen) if seen else None
