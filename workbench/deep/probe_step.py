"""Steps on made-up rows before the charge: libraries are loaded, and memory is measured by a step of the run's size.

No private row is read and nothing of the run is drawn: the rows are empty ones, the noise is a study's, and the model
is not moved. So ε, sampling and results are those of a run without it.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from workbench.deep.clipping import ClippedSum, StepSums
from workbench.deep.features import Features
from workbench.deep.memory import MemoryForecast, MemoryWatch, available, most_drawn, out_of_memory
from workbench.deep.networks import Network
from workbench.deep.noise import GaussianNoise
from workbench.deep.optimizers import UPDATES
from workbench.deep.plan import DpSgdPlan, Schedule
from workbench.deep.preparation import engine_for
from workbench.deep.private_step import PrivateStep, flattened, study_steps
from workbench.params import ParameterError, WorkbenchError
from workbench.params.amounts import counted
from workbench.privacy.accounting.event import PoissonGaussian
from workbench.privacy.entropy import load_cipher
from workbench.signals.events import Emit, Notice


class HalvingClippedSum:
    """An engine that is made anew for half the rows, and computes the same batch again, when memory runs out.

    Noise is added to a finished sum alone, so a sum that was not finished has shown nothing.
    """

    def __init__(self, make: Callable[[int], ClippedSum], physical_batch: int, emit: Emit) -> None:
        """Make the engine.

        Raises:
            ParameterError: the physical batch is not positive.
        """
        if not physical_batch >= 1:
            raise ParameterError(f"a physical batch of {physical_batch} rows is not possible", hint="give 1 or more")
        self.physical_batch = physical_batch  # rows that are now at most in memory at once
        self._make = make
        self._emit = emit
        self._clip: float | None = None
        self._engine = make(physical_batch)

    def __call__(self, inputs: Tensor, targets: Tensor, *, measure: bool = True) -> StepSums:
        """Return the sums of a batch.

        Raises:
            MemoryError, RuntimeError: memory did not suffice for one row.
        """
        return self._halving(lambda engine: engine(inputs, targets, measure=measure), len(targets))

    @property
    def drawn(self) -> Callable[..., StepSums] | None:
        """What returns the sums of the batch of some rows of a table, if the engine takes them out of it itself."""
        return self._drawn if hasattr(self._engine, "drawn") else None

    def _drawn(self, inputs: Tensor, targets: Tensor, rows: NDArray[np.int64], *, measure: bool = True) -> StepSums:
        def sums(engine: Any) -> StepSums:
            found: StepSums = engine.drawn(inputs, targets, rows, measure=measure)
            return found

        return self._halving(sums, len(rows))

    def _halving(self, sums: Callable[[ClippedSum], StepSums], rows: int) -> StepSums:
        while True:
            try:
                return sums(self._engine)
            except (MemoryError, RuntimeError) as error:
                # More rows than the batch has are no fewer when halved.
                fewer = min(self.physical_batch, rows) // 2
                if not out_of_memory(error) or fewer < 1:
                    raise
                traceback.clear_frames(error.__traceback__)  # they hold the batch; what follows needs the room
            self.lower(fewer, "memory was short")

    def renew(self) -> None:
        """Give back the memory that the engine keeps, by making it anew."""
        self._engine = self._make(self.physical_batch)
        if self._clip is not None:
            self._engine.clip_at(self._clip)

    def clip_at(self, clip: float) -> None:
        """Clip at another norm C from now on."""
        self._clip = clip
        self._engine.clip_at(clip)

    def lower(self, rows: int, why: str) -> None:
        """Hold at most ``rows`` rows at once from now on, and say ``why``."""
        self.physical_batch = rows
        self.renew()
        stated = f"{why}: {counted(rows, 'row')} at once from now on; the result and its cost are the same"
        self._emit(Notice("warning", stated))


def too_large(physical_batch: int, rows: int, step: int) -> WorkbenchError:
    """Return what to say where the memory did not suffice, with ``physical_batch`` as it was lowered until then."""
    if step == 0:
        return WorkbenchError(
            f"there is not enough memory for {counted(rows, 'row')} as numbers",
            hint="close other programs, or use fewer columns",
        )
    chunk = min(physical_batch, rows)
    if chunk == 1:
        return WorkbenchError(
            "there is not enough memory for the gradient of even one row",
            f"step {step:,}",
            "close other programs, or train a smaller network",
        )
    return WorkbenchError(
        f"there is not enough memory for the gradients of {chunk:,} rows at once",
        f"step {step:,}",
        f"set the rows in memory (physical batch) below {chunk:,}: that changes neither the network nor its cost",
    )


def example_of(architecture: Network, features: Features, device: str) -> Tensor | None:
    """Return generated rows on ``device``, if the network is to be tried on some."""
    example = architecture.example(features.width)
    return None if example is None else example.to(device)


def warm_up(plan: DpSgdPlan, architecture: Network, features: Features, device: str) -> None:
    """Take the parts of a step on zeros, so that what is loaded or compiled at first use is not part of the run."""
    load_cipher()  # the noise of these steps is a study's, which needs none
    module = architecture.build(features.width, len(features.classes)).to(device)
    parameters = flattened(module)
    example = example_of(architecture, features, device)
    engine = engine_for(module, plan.clip, plan.physical_batch, rule=plan.clipping, example=example)
    rows = architecture.prepared(torch.from_numpy(features.blank(2)).to(device))
    engine(rows, torch.zeros(2, dtype=torch.int64, device=device))
    steps = study_steps(PoissonGaussian(0.5, 1.0, 2))
    mechanism = PrivateStep.of(steps, rows=2, batch=1, clip=1.0, clipped_sum=lambda clip: engine)
    mechanism.sampler.draw()
    for kind in (torch.float32, torch.float64):  # the sum of one chunk, and of several
        steps.take()
        gradient = mechanism.noisy(torch.zeros(len(parameters), dtype=kind, device=device))
    UPDATES[plan.optimizer](plan.lr, plan.momentum)(parameters, gradient)


def probed(
    schedule: Schedule,
    architecture: Network,
    features: Features,
    halving: HalvingClippedSum,
    watch: MemoryWatch,
    forecast: MemoryForecast,
) -> MemoryForecast:
    """Take one step on made-up rows; return ``forecast`` with what it took, and lower the chunk where that is too much.

    Raises:
        MemoryError, RuntimeError: memory did not suffice for one row.
    """
    device = watch.device
    watch.enter("batch")
    held, rows = watch.now, most_drawn(schedule.rows, schedule.batch)
    gpus = [torch.cuda.current_device()] if device != "cpu" else []
    with torch.random.fork_rng(devices=gpus):  # a layer may draw, such as dropout
        made = architecture.prepared(torch.from_numpy(features.blank(2)).to(device))
        drawn = torch.zeros(rows, dtype=torch.int64, device=device)
        inputs, targets = made.index_select(0, drawn), torch.zeros(2, dtype=torch.int64, device=device)[drawn]
        watch.enter("backward")
        sums = halving(inputs, targets)
        watch.enter("step")
        steps, gradient = study_steps(schedule.event), torch.empty(len(sums.total))
        noise = GaussianNoise(steps, schedule.clip)
        steps.take()
        noise.add_to(sums.total.cpu().numpy(), gradient.numpy(), schedule.batch)
        gradient.to(device)
        watch.look()
    batch, backward, step = (max(0, watch.peaks[name] - held) for name in ("batch", "backward", "step"))
    del inputs, targets, sums, gradient, noise
    corrected = forecast.with_step(batch, backward, step)
    corrected = _with_room(corrected, halving, min(rows, halving.physical_batch, architecture.rows_at_once()), watch)
    halving.renew()  # the rows are read first, and may have the room until a step needs it
    watch.reset()
    return corrected


def _with_room(corrected: MemoryForecast, halving: HalvingClippedSum, chunk: int, watch: MemoryWatch) -> MemoryForecast:
    """Hold fewer rows at once where a step would need more than is free; what a chunk holds grows with its rows."""
    short = corrected.between_steps + corrected.in_a_step - watch.now - available(watch.device)
    if not 0 < short < corrected.backward:  # it fits, or would not even without a chunk
        return corrected
    fewer = int(chunk * (1 - short / corrected.backward))
    if not 1 <= fewer < chunk:
        return corrected
    halving.lower(fewer, "a step takes more memory than is free")
    return replace(corrected, backward=corrected.backward * fewer // chunk)
