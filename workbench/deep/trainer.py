"""DP-SGD from the charge to the last step (Abadi et al. 2016, Algorithm 1, with Poisson sampling)."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from workbench.deep.clipping import ClippedSum, StepSums
from workbench.deep.engines import engine_for
from workbench.deep.features import Features, TrainingData
from workbench.deep.flat_parameters import flattened
from workbench.deep.memory import MemoryWatch, out_of_memory, predict
from workbench.deep.networks import Network
from workbench.deep.noise import ChaCha20Entropy, GaussianNoise
from workbench.deep.plan import DpSgdPlan, Schedule
from workbench.deep.poisson import PoissonSampler
from workbench.deep.preparation import prepared_rows
from workbench.deep.shortage import HalvingClippedSum
from workbench.deep.updates import UPDATES, Update
from workbench.params import CancelledError, InputError, WorkbenchError
from workbench.privacy.accounting.epsilon_curve import BackgroundCurve
from workbench.privacy.accounting.event import Charge, Cost
from workbench.privacy.entropy import Entropy, OsEntropy
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Budget, Emit, Memory, Metric, Notice, Progress, ignore

REPORTS = 200
"""Most rows of the metrics table, evenly over the run."""

MEASURED = 10 * REPORTS
"""Steps whose loss and accuracy are computed, about: more would only cost time."""

_ALWAYS, _BETWEEN = 200, 0.05
"""The first steps are all told of; later ones at this distance in seconds, which an eye cannot tell from always."""


@dataclass(frozen=True, slots=True)
class Record:
    """One row of the metrics table; loss and accuracy are means over the rows drawn since the last, and private.

    ``None`` where every batch since the last record was empty.
    """

    step: int
    epoch: float
    loss: float | None
    accuracy: float | None
    epsilon: float
    memory_bytes: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Training:
    """The result of a run.

    Attributes:
        network: the architecture.
        features: the public map from rows to its inputs.
        weights: its parameters by name.
        plan: the plan.
        schedule: the schedule for this table.
        steps: steps run.
        stopped: why it ended: ``epochs`` (all run), ``cap`` or ``clock``.
        cost: what the steps run cost.
        records: the private metrics.
        peak_memory_bytes: measured, above the start.
        predicted_peak_bytes: predicted.
        seconds: of the steps, without reading and accounting.
        device: where it ran.
        releasable: whether all its randomness was cryptographic.
    """

    network: Network
    features: Features
    weights: dict[str, NDArray[np.float32]]
    plan: DpSgdPlan
    schedule: Schedule
    steps: int
    stopped: str
    cost: Cost
    records: tuple[Record, ...]
    peak_memory_bytes: int
    predicted_peak_bytes: int
    seconds: float
    device: str
    releasable: bool


@dataclass(frozen=True, eq=False)
class PrivateStep:
    """The private step, made from one schedule, so that sampling, clipping, noise and event cannot disagree."""

    sampler: PoissonSampler
    clipped_sum: ClippedSum
    noise: GaussianNoise
    batch: int

    @classmethod
    def of(
        cls, schedule: Schedule, clipped_sum: Callable[[float], ClippedSum], coins: Entropy, noise: Entropy
    ) -> PrivateStep:
        """Make the parts of ``schedule``; ``clipped_sum`` makes the engine for a clipping norm."""
        return cls(
            sampler=PoissonSampler(schedule.rows, schedule.event.sample_rate, coins),
            clipped_sum=clipped_sum(schedule.clip),
            noise=GaussianNoise(schedule.noise_scale, noise),
            batch=schedule.batch,
        )

    def step(self, inputs: Tensor, targets: Tensor, *, measure: bool = True) -> tuple[Tensor, StepSums]:
        """Return (Σ clipped + N(0, σ²C²))/batch, shape (P,), and the private sums; an empty batch is noise only."""
        drawn = torch.from_numpy(self.sampler.draw()).to(inputs.device)
        sums = self.clipped_sum(inputs.index_select(0, drawn), targets.index_select(0, drawn), measure=measure)
        # The numbers are used once, so the sum may be added to them in place.
        noise = torch.from_numpy(self.noise.draw(len(sums.total))).to(inputs.device)
        return noise.add_(sums.total).div_(self.batch), sums


def train(
    plan: DpSgdPlan,
    data: TrainingData,
    charge: Charge,
    *,
    settle: Charge | None = None,
    rows_per_person: int = 1,
    emit: Emit = ignore,
    cancel: CancelToken | None = None,
    coins: Entropy | None = None,
    noise: Entropy | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Training:
    """Train ``plan`` on ``data``.

    The number of steps depends on nothing but the plan, the public number of rows and the clock. A run that a person
    cancels stays charged in full: she watched private numbers, and stopping on what one saw is selection.

    Args:
        plan: what to do.
        data: read once, after the charge.
        charge: called with the cost of the whole run before a row is read.
        settle: called with the cost of the steps begun if the run ends early for a reason decided without data.
        rows_per_person: maximum rows per person.
        emit: hears Progress, Budget, Memory, and the private Metrics ``loss`` and ``accuracy``.
        cancel: looked at before each step.
        coins: entropy of the sampler, the operating system's by default.
        noise: entropy of the noise, a ChaCha20 stream by default. A seeded one makes a run that cannot be released.
        clock: seconds, for ``plan.seconds``.

    Raises:
        BudgetRefusedError: the cap does not allow the run, or not its first step.
        InputError: a value does not fit its column, or the device is not there.
        CancelledError: ``cancel`` was set.
        WorkbenchError: there is not enough memory; the sentence names what to change.
    """
    cancel = cancel or CancelToken()
    schedule = plan.schedule(data.rows, rows_per_person)
    device = _device(plan.device, emit)
    features = data.features
    architecture = plan.architecture
    predicted = predict(plan, features, data.rows).peak
    with _one_thread():
        _warm_up(architecture, features, plan, device)
        coins, noise = coins or OsEntropy(), noise or ChaCha20Entropy()
        whole = schedule.cost()
        watch = MemoryWatch(device)
        module = architecture.build(features.width, len(features.classes)).to(device)
        parameters, update = flattened(module), _update(plan)
        example = architecture.example(features.width)
        mechanism = PrivateStep.of(
            schedule,
            lambda clip: HalvingClippedSum(
                lambda rows: engine_for(module, clip, rows, watch.look, plan.clipping, example),
                plan.physical_batch,
                emit,
            ),
            coins,
            noise,
        )
        begun, stopped = 0, "epochs" if schedule.steps == schedule.steps_asked else "cap"
        charge(whole)
        try:
            rows, classes = data.load()
            inputs = prepared_rows(architecture, rows, device, emit=emit, cancel=cancel)
            targets = torch.from_numpy(classes).to(device)
            del rows
            watch.look()
            report = _Report(schedule, whole, emit, watch, predicted)
            every = max(1, schedule.steps // MEASURED)
            started = clock()
            with BackgroundCurve(
                schedule.event, schedule.delta, float(whole.epsilon), schedule.accountant, rows_per_person
            ) as curve:
                for step in range(1, schedule.steps + 1):
                    cancel.check()
                    if plan.seconds is not None and clock() - started >= plan.seconds:
                        stopped = "clock"
                        break
                    begun = step
                    gradient, sums = mechanism.step(inputs, targets, measure=step % every == 0)
                    update(parameters, gradient.to(parameters.dtype))
                    report.after(step, sums, curve.at(step))
                seconds = clock() - started
                records = report.finish(begun, curve.wait().at)
        except (CancelledError, KeyboardInterrupt):
            raise
        except BaseException as error:
            short = out_of_memory(error)
            if short:
                traceback.clear_frames(error.__traceback__)  # they hold the batch; what follows needs the room
            # A fault is not decided by what someone saw; the step that failed counts as run.
            if settle is not None:
                settle(schedule.cost(begun))
            if short:
                raise _too_large(plan, data.rows, begun) from None
            raise
        if begun < schedule.steps and settle is not None:
            settle(schedule.cost(begun))
    return Training(
        network=architecture,
        features=features,
        weights={name: p.detach().cpu().numpy().copy() for name, p in module.named_parameters()},
        plan=plan,
        schedule=schedule,
        steps=begun,
        stopped=stopped,
        cost=schedule.cost(begun),
        records=records,
        peak_memory_bytes=watch.peak,
        predicted_peak_bytes=predicted,
        seconds=seconds,
        device=device,
        releasable=mechanism.sampler.releasable and mechanism.noise.releasable,
    )


@dataclass(eq=False)
class _Report:
    """Says how a run goes, and keeps its metrics."""

    schedule: Schedule
    whole: Cost
    emit: Emit
    watch: MemoryWatch
    predicted: int
    _records: list[Record] = field(default_factory=list)
    _rows: int = 0
    _loss: float = 0.0
    _correct: int = 0
    _told: float = 0.0

    def after(self, step: int, sums: StepSums, epsilon: float) -> None:
        """Take note of a step."""
        self._rows, self._loss, self._correct = (
            self._rows + sums.rows,
            self._loss + sums.loss,
            self._correct + sums.correct,
        )
        steps = self.schedule.steps
        # Evenly spaced: step t is reported when t·REPORTS/steps passes a whole number, and so is the last.
        due = step * REPORTS // steps > (step - 1) * REPORTS // steps or step == steps
        now = time.monotonic()
        if due or step <= _ALWAYS or now - self._told >= _BETWEEN:
            self._told = now
            self._tell(step, epsilon)
        if due:
            self._record(step, epsilon)

    def _tell(self, step: int, epsilon: float) -> None:
        steps = self.schedule.steps
        self.watch.look()
        self.emit(Progress(step, steps, "training steps"))
        cap = self.schedule.cap or self.whole.epsilon
        self.emit(Budget(epsilon, float(self.whole.delta), float(cap), step, steps))
        before = self.watch.before
        now, peak, predicted = (before + size for size in (self.watch.now, self.watch.peak, self.predicted))
        self.emit(Memory(now, peak, predicted, device=self.watch.device, before=before))

    def _record(self, step: int, epsilon: float) -> None:
        loss = accuracy = None
        if self._rows:
            loss, accuracy = self._loss / self._rows, self._correct / self._rows
            self.emit(Metric("loss", step, loss))
            self.emit(Metric("accuracy", step, accuracy))
        self._records.append(Record(step, self.schedule.epoch(step), loss, accuracy, epsilon, self.watch.now))
        self._rows, self._loss, self._correct = 0, 0.0, 0

    def finish(self, step: int, epsilon_at: Callable[[int], float]) -> tuple[Record, ...]:
        """Return the records up to ``step``, the last one, with ε from the finished curve."""
        if step and (not self._records or self._records[-1].step < step):
            self._record(step, 0.0)
        whole = float(self.whole.epsilon)
        return tuple(
            Record(r.step, r.epoch, r.loss, r.accuracy, min(whole, epsilon_at(r.step)), r.memory_bytes)
            for r in self._records
        )


def _too_large(plan: DpSgdPlan, rows: int, step: int) -> WorkbenchError:
    """Return what to say where the memory did not suffice."""
    if step == 0:
        return WorkbenchError(
            f"there is not enough memory for {rows:,} rows as numbers",
            mend="close other programs, or use fewer columns",
        )
    chunk = min(plan.physical_batch, rows)
    return WorkbenchError(
        f"there is not enough memory for the gradients of {chunk:,} rows at once",
        f"step {step:,}",
        f"set the rows in memory (physical batch) below {chunk:,}: that changes neither the network nor its cost",
    )


def _device(wanted: str, emit: Emit) -> str:
    """Return where to compute; say so where ``auto`` finds no GPU."""
    there = torch.cuda.is_available()
    if wanted == "cuda" and not there:
        raise InputError("there is no CUDA device", "--device cuda", "use --device cpu or auto")
    if wanted == "auto" and not there:
        emit(Notice("info", "no GPU was found; training runs on the processor"))
    return "cuda" if there and wanted != "cpu" else "cpu"


@contextmanager
def _one_thread() -> Iterator[None]:
    """Compute in one thread: on networks this small a second one only waits, and beside a busy core it is slower."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _warm_up(architecture: Network, features: Features, plan: DpSgdPlan, device: str) -> None:
    """Take one step on zeros, so that libraries loaded at first use do not count as memory of the run."""
    module = architecture.build(features.width, len(features.classes)).to(device)
    parameters = flattened(module)
    example = architecture.example(features.width)
    engine = engine_for(module, plan.clip, plan.physical_batch, rule=plan.clipping, example=example)
    rows = architecture.prepared(torch.from_numpy(features.blank(2)).to(device))
    sums = engine(rows, torch.zeros(2, dtype=torch.int64, device=device))
    _update(plan)(parameters, sums.total.to(parameters.dtype))


def _update(plan: DpSgdPlan) -> Update:
    """Return what turns noisy gradients into steps: post-processing, whatever it does."""
    return UPDATES[plan.optimizer](plan.lr, plan.momentum)
