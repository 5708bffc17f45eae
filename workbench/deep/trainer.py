"""DP-SGD from the charge to the last step (Abadi et al. 2016, Algorithm 1, with Poisson sampling)."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from workbench.deep.checkpoint import Checkpoints, Keeper, RunState, restore
from workbench.deep.clipping import ClippedSum, StepSums, ignore_phase, sums_of
from workbench.deep.device.device_forecast import device_forecast
from workbench.deep.device.device_step import DevicePrivateStep, Way, serves
from workbench.deep.device.placing import computing_on, device_of, finish_on, placed
from workbench.deep.device.precision import full_precision
from workbench.deep.device_names import CPU
from workbench.deep.engines import engine_for
from workbench.deep.factors import NORMS
from workbench.deep.features import Features, TrainingData
from workbench.deep.flat_parameters import flattened
from workbench.deep.memory import MemoryWatch, out_of_memory, predict
from workbench.deep.networks import Network
from workbench.deep.noise import ADDED_ON_GPU, GAUSSIAN_SENTENCE, MADE_ON_GPU, ChaCha20Entropy, GaussianNoise
from workbench.deep.plan import JUDGED, REPLAYED_STEPS, DpSgdPlan, Schedule
from workbench.deep.poisson import PoissonSampler
from workbench.deep.probe_step import probed
from workbench.deep.run_report import MEASURED, Record, RunReport
from workbench.deep.shortage import HalvingClippedSum, too_large
from workbench.deep.threads import one_thread
from workbench.deep.updates import UPDATES, Update
from workbench.params import CancelledError
from workbench.privacy.accounting.epsilon_curve import BackgroundCurve
from workbench.privacy.accounting.event import Charge, Cost
from workbench.privacy.entropy import Entropy, SeededEntropy
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit, Notice, ignore


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
        corrected_peak_bytes: the same, corrected by what a step on made-up rows and the first step of the run took.
        seconds: of the steps, without reading and accounting.
        device: where it ran.
        releasable: whether all its randomness was cryptographic.
        randomness: where the noise came from, and what of it is not known to be tested, for the card.
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
    corrected_peak_bytes: int
    seconds: float
    device: str
    releasable: bool
    randomness: str = GAUSSIAN_SENTENCE


@dataclass(frozen=True, eq=False)
class PrivateStep:
    """The private step, made from one schedule, so that sampling, clipping, noise and event cannot disagree."""

    sampler: PoissonSampler
    clipped_sum: ClippedSum
    noise: GaussianNoise
    batch: int
    enter: Callable[[str], None] = ignore_phase
    _kept: dict[int, tuple[Tensor, Any, Tensor, Any]] = field(default_factory=dict, init=False, repr=False)
    """A total, its gradient, and both as arrays."""

    @classmethod
    def of(
        cls,
        schedule: Schedule,
        clipped_sum: Callable[[float], ClippedSum],
        coins: Entropy,
        noise: Entropy,
        enter: Callable[[str], None] = ignore_phase,
    ) -> PrivateStep:
        """Make the parts of ``schedule``.

        Args:
            schedule: of the run.
            clipped_sum: makes the engine for a clipping norm.
            coins: entropy of the sampler.
            noise: entropy of the noise.
            enter: hears the name of each phase of a step as it begins.
        """
        return cls(
            sampler=PoissonSampler(schedule.rows, schedule.event.sample_rate, coins),
            clipped_sum=clipped_sum(schedule.clip),
            noise=GaussianNoise(schedule.noise_scale, noise),
            batch=schedule.batch,
            enter=enter,
        )

    def step(self, inputs: Tensor, targets: Tensor, *, measure: bool = True) -> tuple[Tensor, StepSums]:
        """Return (Σ clipped + N(0, σ²C²))/batch, shape (P,), and the private sums; an empty batch is noise only.

        Both are overwritten by the next step.
        """
        self.enter("batch")
        drawn = self.sampler.draw()
        sums = sums_of(self.clipped_sum, inputs, targets, drawn, measure=measure, enter=self.enter)
        self.enter("step")
        total = sums.total
        if total.device.type != "cpu":
            noise = torch.from_numpy(self.noise.draw(len(total))).to(total.device)
            return noise.add_(total).div_(self.batch), sums
        kept = self._kept.get(id(total))
        if kept is None or kept[0] is not total:
            self._kept.clear()  # an engine has one total, or a new one for each step
            noisy = torch.empty_like(total)
            kept = self._kept[id(total)] = (total, total.numpy(), noisy, noisy.numpy())
        _, values, noisy, written = kept
        self.noise.add_to(values, written, self.batch)
        return noisy, sums


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
    keep: Keeper | None = None,
    quiet: bool = False,
    judge: Callable[[int, Mapping[str, NDArray[np.float32]]], None] | None = None,
) -> Training:
    """Train ``plan`` on ``data``.

    The number of steps depends on nothing but the plan, the public number of rows and the clock. A run that a person
    cancels stays charged in full if she watched figures of it: stopping on what one saw is selection.

    Args:
        plan: what to do.
        data: read once, after the charge.
        charge: called with the cost of the whole run before a row is read.
        settle: called with the cost of the steps begun if the run ends early by its clock or for want of memory, and
            for no other fault: that may depend on the rows, or be made by who hears the run or owns its folder.
        rows_per_person: maximum rows per person.
        emit: hears Progress, Budget, Memory, and the private Metrics ``loss`` and ``accuracy``.
        cancel: looked at before each step.
        coins: entropy of the sampler, a ChaCha20 stream by default.
        noise: entropy of the noise, another ChaCha20 stream by default. With a seeded one nothing can be released.
        clock: seconds, for ``plan.seconds``.
        keep: counts the steps and keeps the run's state; a run that is cancelled can then go on from there.
        quiet: whether no private figure is computed.
        judge: called with step and weights :data:`~workbench.deep.plan.JUDGED` times, evenly: for figures of public
            rows, which tell of the weights all the same.

    Raises:
        BudgetRefusedError: the cap does not allow the run, or not its first step.
        InputError: a value does not fit its column, or the device is not there.
        CancelledError: ``cancel`` was set.
        WorkbenchError: there is not enough memory, for a step on made-up rows before the charge or for one of the run;
            the sentence names what to change.
    """
    cancel = cancel or CancelToken()
    schedule = plan.schedule(data.rows, rows_per_person)
    device = device_of(plan, emit)
    features = data.features
    architecture = plan.architecture
    forecast = predict(plan, features, data.rows, device)
    with one_thread(), computing_on(device), full_precision():
        engine = _warm_up(architecture, features, plan, device)
        coins = coins or ChaCha20Entropy()
        whole = schedule.cost()
        watch = MemoryWatch(device)
        module = architecture.build(features.width, len(features.classes)).to(device)
        parameters, update = flattened(module), _update(plan)
        former = None if keep is None else keep.state
        at_once = plan.physical_batch if former is None else former.physical_batch
        example = _example(architecture, features, device)
        on_device = serves(plan, device, engine)
        randomness = _randomness(device, on_device=on_device, asked=plan.gpu_steps, emit=emit)
        mechanism: PrivateStep | DevicePrivateStep
        chunked: HalvingClippedSum | DevicePrivateStep
        confirm: Callable[[], None] = _nothing_to_confirm  # before anything that noise went into is kept or shown
        if on_device:
            forecast = corrected = device_forecast(plan, features, data.rows)
            report = RunReport(schedule, whole, emit, watch, forecast, corrected)
            way = Way(at_once, plan.clipping, plan.precision, measure=not quiet)
            mechanism = chunked = DevicePrivateStep(module, schedule, way, coins, noise, emit, report.enter)
            confirm = mechanism.noise.require_made
        else:
            halving = HalvingClippedSum(
                lambda rows: engine_for(module, schedule.clip, rows, watch.glance, plan.clipping, example),
                at_once,
                emit,
            )
            try:
                corrected = probed(schedule, architecture, features, halving, watch, forecast)
            except (MemoryError, RuntimeError) as error:
                if not out_of_memory(error):
                    raise
                raise too_large(halving.physical_batch, data.rows, 1) from None  # nothing was charged
            report = RunReport(schedule, whole, emit, watch, forecast, corrected)
            mechanism = PrivateStep.of(schedule, lambda clip: halving, coins, noise or ChaCha20Entropy(), report.enter)
            chunked = halving
        report.enter("model")
        stopped = "epochs" if schedule.steps == schedule.steps_asked else "cap"
        charge(whole)
        begun = 0 if keep is None else keep.counted
        if former is not None:
            restore(former, parameters, update)
        elif on_device:
            update.prepare(parameters)  # so that the first step takes what every later one does
        try:
            rows, classes = data.load()
            inputs, targets = placed(
                architecture, features.width, rows, classes, device, resident=not on_device, emit=emit, cancel=cancel
            )
            del rows
            watch.look_back()
            every = max(1, schedule.steps // MEASURED)
            started = clock()
            if former is not None:
                started -= former.seconds
                report.go_on(former.records)

            def state(step: int) -> RunState:
                confirm()
                return RunState(
                    step=step,
                    parameters=parameters,
                    update=update.state(),
                    seconds=clock() - started,
                    physical_batch=chunked.physical_batch,
                    records=report.records,
                )

            checkpoints = Checkpoints(keep, schedule.steps, state, 0.0 if former is None else former.seconds)
            with BackgroundCurve(
                schedule.event, schedule.delta, float(whole.epsilon), schedule.accountant, rows_per_person
            ) as curve:
                for step in range(begun + 1, schedule.steps + 1):
                    if cancel.cancelled:
                        checkpoints.pause(begun)
                        cancel.check()
                    if plan.seconds is not None and clock() - started >= plan.seconds:
                        stopped = "clock"
                        checkpoints.pause(begun)
                        break
                    checkpoints.before(step)
                    begun = step
                    measure = not quiet and step % every == 0
                    NORMS.on_norms = report.on_norms if measure else None
                    gradient, sums = mechanism.step(inputs, targets, measure=measure)
                    if gradient.dtype != parameters.dtype:
                        gradient = gradient.to(parameters.dtype)
                    update(parameters, gradient)
                    report.after(step, sums, curve.at(step))
                    if judge is not None and step * JUDGED // schedule.steps > (step - 1) * JUDGED // schedule.steps:
                        confirm()
                        judge(step, _weights(module))
                finish_on(device)
                confirm()
                seconds = clock() - started
                records = report.finish(begun, curve.wait().at)
                watch.look_back()
        except (CancelledError, KeyboardInterrupt, BrokenPipeError):  # the last: whoever heard the run has gone
            raise
        except BaseException as error:
            short = out_of_memory(error)
            if short:
                traceback.clear_frames(error.__traceback__)  # they hold the batch; what follows needs the room
            counted = _counted(keep, begun)
            # Of the faults of a step this one alone says nothing of the rows; the step that failed counts as run.
            if settle is not None and (short or counted == 0):
                settle(schedule.cost(counted))
            if short:
                raise too_large(chunked.physical_batch, data.rows, begun) from None
            raise
        finally:
            NORMS.on_norms = None
        if begun < schedule.steps and settle is not None:
            settle(schedule.cost(_counted(keep, begun)))
    return Training(
        network=architecture,
        features=features,
        weights=_weights(module),
        plan=plan,
        schedule=schedule,
        steps=begun,
        stopped=stopped,
        cost=schedule.cost(begun),
        records=records,
        peak_memory_bytes=watch.peak,
        predicted_peak_bytes=forecast.peak,
        corrected_peak_bytes=report.predicted,
        seconds=seconds,
        device=device,
        releasable=mechanism.sampler.releasable and mechanism.noise.releasable,
        randomness=randomness,
    )


def _nothing_to_confirm() -> None:
    """Noise of the processor is made by operations that the tests have seen."""


def _randomness(device: str, *, on_device: bool, asked: str, emit: Emit) -> str:
    """Return where the noise comes from, for the card; say beforehand what was never tested."""
    if device == CPU and not on_device:
        return GAUSSIAN_SENTENCE
    if asked == REPLAYED_STEPS and not on_device:
        emit(Notice("warning", "the layers of this network cannot be replayed: its steps are plain, in float32"))
    untested = MADE_ON_GPU if on_device else ADDED_ON_GPU
    emit(Notice("info", untested))
    return f"{GAUSSIAN_SENTENCE} {untested}"


def _weights(module: torch.nn.Module) -> dict[str, NDArray[np.float32]]:
    return {name: p.detach().cpu().numpy().copy() for name, p in module.named_parameters()}


def _counted(keep: Keeper | None, begun: int) -> int:
    """Return how many steps count as taken: where they are counted, never fewer than stand there."""
    return begun if keep is None else max(begun, keep.counted)


def _example(architecture: Network, features: Features, device: str) -> Tensor | None:
    """Return generated rows on ``device``, if the network is to be tried on some."""
    example = architecture.example(features.width)
    return None if example is None else example.to(device)


def _warm_up(architecture: Network, features: Features, plan: DpSgdPlan, device: str) -> ClippedSum:
    """Take one step on zeros, so that libraries loaded, and loops compiled, at first use are not part of the run.

    Returns:
        The engine that took it.
    """
    module = architecture.build(features.width, len(features.classes)).to(device)
    parameters = flattened(module)
    example = _example(architecture, features, device)
    engine = engine_for(module, plan.clip, plan.physical_batch, rule=plan.clipping, example=example)
    rows = architecture.prepared(torch.from_numpy(features.blank(2)).to(device))
    sums = engine(rows, torch.zeros(2, dtype=torch.int64, device=device))
    _update(plan)(parameters, sums.total.to(parameters.dtype))
    PoissonSampler(2, 0.5, SeededEntropy(0)).draw()
    noise = GaussianNoise(1.0, SeededEntropy(0))
    for kind in (np.float32, np.float64):  # the sum of one chunk, and of several
        noise.add_to(np.zeros(1, kind), np.zeros(1, kind))
    return engine


def _update(plan: DpSgdPlan) -> Update:
    """Return what turns noisy gradients into steps: post-processing, whatever it does."""
    return UPDATES[plan.optimizer](plan.lr, plan.momentum)
