"""DP-SGD from the charge to the last step (Abadi et al. 2016, Algorithm 1, with Poisson sampling)."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from workbench.deep.adaptive_clipping import norm_of
from workbench.deep.checkpoint import Checkpoints, Keeper, RunState, restore
from workbench.deep.clipping import ClippedSum
from workbench.deep.clipping_factors import NORMS
from workbench.deep.devices import computing_on, device_of, finish_on
from workbench.deep.features import Features, TrainingData
from workbench.deep.frozen_weights import frozen
from workbench.deep.memory import MemoryWatch, out_of_memory, predict
from workbench.deep.networks import Network
from workbench.deep.noise import GAUSSIAN_SENTENCE, ON_GPU
from workbench.deep.optimizers import UPDATES
from workbench.deep.plan import CPU, JUDGED, DpSgdPlan, Schedule
from workbench.deep.preparation import engine_for, prepared_rows
from workbench.deep.private_step import PrivateStep, flattened
from workbench.deep.probe_step import HalvingClippedSum, example_of, probed, too_large, warm_up
from workbench.deep.ranks import EndedError, OtherProcesses, other_processes
from workbench.deep.run_report import MEASURED, Record, RunReport
from workbench.params import CancelledError
from workbench.privacy.accounting.epsilon_curve import BackgroundCurve
from workbench.privacy.accounting.event import Charge, Cost
from workbench.signals.cancel import NEVER, CancelToken
from workbench.signals.events import Emit, Notice, ignore
from workbench.work.ask import Steps
from workbench.work.noise import Noise


@dataclass(frozen=True, kw_only=True, eq=False)
class Training:
    """The result of a run."""

    network: Network  # the architecture
    features: Features  # the public map from rows to its inputs
    # Its parameters by name, and its frozen weights as they were before a row was read.
    weights: dict[str, NDArray[np.float32]]
    plan: DpSgdPlan
    schedule: Schedule  # the schedule for this table
    steps: int  # steps run
    stopped: str  # why it ended: `epochs` (all run), `cap` or `clock`
    cost: Cost  # what the steps run cost
    records: tuple[Record, ...]  # the private metrics
    peak_memory_bytes: int  # measured, above the start
    predicted_peak_bytes: int
    corrected_peak_bytes: int  # the same, corrected by what a step on made-up rows and the first step of the run took
    seconds: float  # of the steps, without reading and accounting
    device: str  # where it ran
    releasable: bool  # whether all its randomness was cryptographic
    clip: float  # the clipping norm after the last step
    # Where the noise came from, and what of it is not known to be tested, for the card.
    randomness: str = GAUSSIAN_SENTENCE


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How a run is kept, ended and watched; nothing of it changes what a step does or costs."""

    # Called with the cost of the steps begun if the run ends early by its clock or for want of memory, and for no other
    # fault: that may depend on the rows, or be made by who follows the run or owns its folder.
    settle: Charge | None = None
    # Counts the steps and keeps the run's state; a run that is cancelled can then go on from there.
    keep: Keeper | None = None
    clock: Callable[[], float] = time.monotonic  # seconds, for the plan's `seconds`
    quiet: bool = False  # whether no private figure is computed
    # Called with step and weights `workbench.deep.plan.JUDGED` times, evenly: for figures of public rows, which depend
    # on the weights all the same.
    judge: Callable[[int, Mapping[str, NDArray[np.float32]]], None] | None = None


def train(
    plan: DpSgdPlan,
    data: TrainingData,
    noise: Noise,
    *,
    rows_per_person: int = 1,
    emit: Emit = ignore,
    cancel: CancelToken = NEVER,
    options: RunOptions | None = None,
) -> Training:
    """Train ``plan`` on ``data``.

    The number of steps depends on nothing but the plan, the public number of rows and the clock. A run that a person
    cancels stays charged in full if she watched figures of it: stopping on what one saw is selection.

    Args:
        plan: what to do.
        data: read once, after the charge.
        noise: asked for the steps of the whole run before a row is read; a study's cannot be released.
        rows_per_person: maximum rows per person.
        emit: receives Progress, Budget, Memory, and the private Metrics ``loss`` and ``accuracy``.
        cancel: looked at before each step.
        options: how the run is kept, ended and watched.

    Raises:
        BudgetRefusedError: the cap does not allow the run, or not its first step.
        InputError: a value does not fit its column, or the device is not there.
        WorkbenchError: there is not enough memory, for a step on made-up rows before the charge or for one of the run;
            the sentence names what to change.
    """
    schedule = plan.schedule(data.rows, rows_per_person)
    device = device_of(plan.device, emit)
    options = options or RunOptions()
    # A study's coins are of one seeded stream: it takes its steps in one process.
    started = other_processes(plan, data.features, schedule, device) if noise.releasable else nullcontext()
    with computing_on(device), started as others:
        run = _Run(plan, data, schedule, device, emit, options)
        if others is not None:
            others.join(cancel)
        run.others = others
        ask = noise.ask(run.whole)
        taken = 0 if options.keep is None else options.keep.counted
        steps = ask.steps(schedule.event.label, taken, schedule.count_noise)
        ask.finish()
        run.take(steps, cancel)
    return run.result(steps)


class _Run:
    """A run of DP-SGD: what is made before the charge, its steps, and its result."""

    def __init__(
        self, plan: DpSgdPlan, data: TrainingData, schedule: Schedule, device: str, emit: Emit, options: RunOptions
    ) -> None:
        """Make the network, try one step on made-up rows, and begin the report; nothing private is read or drawn."""
        self.plan, self.data, self.schedule, self.device, self.emit = plan, data, schedule, device, emit
        self.options = options
        self.network, features = plan.architecture, data.features
        self.forecast = predict(plan, features, data.rows, device)
        warm_up(plan, self.network, features, device)
        self.whole = schedule.cost()
        self.watch = MemoryWatch(device)
        self.module = self.network.build(features.width, len(features.classes)).to(device)
        self.parameters = flattened(self.module)
        self.frozen = {name: t.cpu().numpy().copy() for name, t in frozen(self.module).items()}
        self.update = UPDATES[plan.optimizer](plan.lr, plan.momentum)
        self.former = None if options.keep is None else options.keep.state
        self.norm = norm_of(schedule, None if self.former is None else self.former.clip)
        example = example_of(self.network, features, device)
        if device != CPU:
            emit(Notice("info", ON_GPU))
        self.sums = HalvingClippedSum(
            lambda rows: engine_for(self.module, plan.clip, rows, self.watch.look_sometimes, plan.clipping, example),
            plan.physical_batch if self.former is None else self.former.physical_batch,
            emit,
        )
        try:
            corrected = probed(schedule, self.network, features, self.sums, self.watch, self.forecast)
        except (MemoryError, RuntimeError) as error:
            if not out_of_memory(error):
                raise
            raise too_large(self.sums.physical_batch, data.rows, 1) from None  # nothing was charged
        self.report = RunReport(schedule, self.whole, emit, self.watch, self.forecast, corrected)
        self.report.enter("model")
        self.stopped = "epochs" if schedule.steps == schedule.steps_asked else "cap"
        self.others: OtherProcesses | None = None
        """The processes that take the steps with this one."""

    def take(self, steps: Steps, cancel: CancelToken) -> None:
        """Take the steps; where they end early, settle for those that count."""
        settle = self.options.settle
        if self.former is not None:
            restore(self.former, self.parameters, self.update)
        try:
            self._descend(steps, cancel)
        except (CancelledError, KeyboardInterrupt, BrokenPipeError):  # the last: whoever followed the run has gone
            raise
        except BaseException as error:
            short = out_of_memory(error)
            if short:
                traceback.clear_frames(error.__traceback__)  # they hold the batch; what follows needs the room
            counted = self._counted(steps)
            # Of the faults of a step this one alone says nothing of the rows; the step that failed counts as run.
            if settle is not None and (short or counted == 0):
                settle(self.schedule.cost(counted))
            if short:
                raise too_large(self.sums.physical_batch, self.data.rows, steps.taken) from None
            raise
        finally:
            NORMS.on_norms = None
        if steps.left and settle is not None:
            settle(self.schedule.cost(self._counted(steps)))

    def _descend(self, steps: Steps, cancel: CancelToken) -> None:
        """Read the rows and follow noisy gradients, until all steps are taken or the clock ends them."""
        schedule, report = self.schedule, self.report
        inputs, targets = self._rows(cancel)
        engine: ClippedSum = self.sums
        if self.others is not None:
            inputs, targets = self.others.begin(inputs, targets, self.sums, (self.parameters, self.frozen), steps)
            engine = cast("ClippedSum", self.others)
        mechanism = PrivateStep.of(
            steps,
            rows=len(targets),
            batch=schedule.batch,
            clip=schedule.clip,
            clipped_sum=lambda clip: engine,
            enter=report.enter,
            norm=self.norm,
        )
        past = 0.0
        if self.former is not None:
            report.resume(self.former.records)
            past = self.former.seconds
        self.started = self.options.clock() - past
        checkpoints = Checkpoints(self.options.keep, schedule.steps, self._state, past)
        whole, people = float(self.whole.epsilon), schedule.rows_per_person
        with BackgroundCurve(schedule.event, schedule.delta, whole, schedule.accountant, people) as curve:
            while steps.left:
                if self._ends(steps, cancel, checkpoints):
                    break
                step = steps.taken + 1
                checkpoints.before(step)
                measure = self._measures(step)
                try:
                    gradient, sums = mechanism.step(inputs, targets, measure=measure)  # sample, clip, add noise
                except EndedError:  # the run can go on as after a pause
                    checkpoints.pause(steps.taken)
                    raise
                self.update(self.parameters, gradient)
                report.after(step, sums, curve.at(step))
                self._judge(step)
            finish_on(self.device)
            self.seconds = self.options.clock() - self.started
            self.records = report.finish(steps.taken, curve.wait().at)
            self.watch.read_peak()

    def _rows(self, cancel: CancelToken) -> tuple[Tensor, Tensor]:
        """Return what the trained layers read (n, …) and the classes (n,), on the device."""
        rows, classes = self.data.load()
        inputs = prepared_rows(self.network, rows, self.device, emit=self.emit, cancel=cancel)
        del rows
        self.watch.read_peak()
        return inputs, torch.from_numpy(classes).to(self.device)

    def _ends(self, steps: Steps, cancel: CancelToken, checkpoints: Checkpoints) -> bool:
        """Return whether the plan's clock ends the run; raise where a person cancelled it."""
        if cancel.cancelled:
            checkpoints.pause(steps.taken)
            cancel.check()
        seconds = self.plan.seconds
        if seconds is None or self.options.clock() - self.started < seconds:
            return False
        self.stopped = "clock"
        checkpoints.pause(steps.taken)
        return True

    def _measures(self, step: int) -> bool:
        """Return whether loss, accuracy and norms of a step are computed, and let the report receive the norms."""
        measure = not self.options.quiet and step % max(1, self.schedule.steps // MEASURED) == 0
        self.report.clip = self._clip()
        NORMS.on_norms = self.report.on_norms if measure else None
        return measure

    def _judge(self, step: int) -> None:
        judge, steps = self.options.judge, self.schedule.steps
        if judge is not None and step * JUDGED // steps > (step - 1) * JUDGED // steps:
            judge(step, self._weights())

    def _state(self, step: int) -> RunState:
        return RunState(
            step=step,
            parameters=self.parameters,
            update=self.update.state(),
            seconds=self.options.clock() - self.started,
            physical_batch=self.sums.physical_batch,
            records=self.report.records,
            clip=self._clip(),
        )

    def _clip(self) -> float:
        return self.schedule.clip if self.norm is None else self.norm.clip

    def _counted(self, steps: Steps) -> int:
        """Return how many steps count as taken: where they are counted, never fewer than were claimed."""
        keep = self.options.keep
        return steps.taken if keep is None else max(steps.taken, keep.counted)

    def _weights(self) -> dict[str, NDArray[np.float32]]:
        return {name: p.detach().cpu().numpy().copy() for name, p in self.module.named_parameters()}

    def result(self, steps: Steps) -> Training:
        return Training(
            network=self.network,
            features=self.data.features,
            weights={**self._weights(), **self.frozen},
            plan=self.plan,
            schedule=self.schedule,
            steps=steps.taken,
            stopped=self.stopped,
            cost=self.schedule.cost(steps.taken),
            records=self.records,
            peak_memory_bytes=self.watch.peak,
            predicted_peak_bytes=self.forecast.peak,
            corrected_peak_bytes=self.report.predicted,
            seconds=self.seconds,
            device=self.device,
            releasable=steps.releasable,
            clip=self._clip(),
            randomness=GAUSSIAN_SENTENCE if self.device == CPU else f"{GAUSSIAN_SENTENCE} {ON_GPU}",
        )
