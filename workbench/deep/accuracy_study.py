"""Where the accuracy of a private run goes: the same training without privacy, with clipping alone, and with noise.

A private study: seeded, on four fifths of the rows and measured on the others. Nothing of it is released.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from workbench.deep.engines import engine_for
from workbench.deep.factors import FLAT, MOST_SINGLE
from workbench.deep.features import TrainingData
from workbench.deep.flat_parameters import flattened
from workbench.deep.networks import Network
from workbench.deep.noise import GaussianNoise
from workbench.deep.plan import DpSgdPlan, Schedule
from workbench.deep.poisson import PoissonSampler
from workbench.deep.preparation import prepared_rows
from workbench.deep.shortage import HalvingClippedSum
from workbench.deep.updates import UPDATES
from workbench.learners.tasks import EMPTY
from workbench.params import InputError
from workbench.privacy.entropy import SeededEntropy
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit, Progress, ignore

PLAIN, CLIPPED, NOISY = "no privacy", "clipped", "clipped and noisy"
STAGES = (PLAIN, CLIPPED, NOISY)
HELD_OUT = 5
"""One row in so many is measured on."""

LEAST_ROWS = 20


@dataclass(frozen=True)
class Stage:
    """One training of the study.

    Attributes:
        name: one of :data:`STAGES`.
        accuracy: on the rows that were held out; private.
        measured: how many they were.
    """

    name: str
    accuracy: float
    measured: int


def where_it_went(
    plan: DpSgdPlan,
    data: TrainingData,
    *,
    rows_per_person: int = 1,
    seed: int = 0,
    emit: Emit = ignore,
    cancel: CancelToken | None = None,
) -> tuple[Stage, ...]:
    """Train ``plan`` three times on the same batches, and measure each network on the rows that were held out.

    Args:
        plan: noise, steps and sample rate are those of its run on all rows.
        data: the rows; private, and so is all that is returned.
        rows_per_person: maximum rows per person.
        seed: of split, batches and noise.
        emit: hears Progress over all three.
        cancel: looked at before each step.

    Raises:
        InputError: there are too few rows to hold some out.
        CancelledError: ``cancel`` was set.
    """
    cancel = cancel or CancelToken()
    schedule = plan.schedule(data.rows, rows_per_person)
    X, y = data.load()
    here = np.flatnonzero(y != EMPTY)
    if len(here) < LEAST_ROWS:
        raise InputError(f"{len(here)} rows are too few to hold some out", mend="give a larger table")
    order = np.random.default_rng(seed).permutation(here)
    held, kept = order[: len(order) // HELD_OUT], order[len(order) // HELD_OUT :]
    architecture = plan.architecture
    inputs = prepared_rows(architecture, X, "cpu", emit=emit, cancel=cancel)
    targets = torch.from_numpy(y)
    stages = []
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # as the run itself
    try:
        for at, name in enumerate(STAGES):

            def step(done: int, at: int = at) -> None:
                cancel.check()
                emit(Progress(at * schedule.steps + done, len(STAGES) * schedule.steps, "three trainings"))

            module = _trained(
                name, plan, schedule, architecture, data.features.width, len(data.features.classes), seed, step
            )(inputs[kept], targets[kept])
            with torch.inference_mode():
                found = module(inputs[held]).argmax(1)
            stages.append(Stage(name, float((found == targets[held]).double().mean()), len(held)))
    finally:
        torch.set_num_threads(threads)
    return tuple(stages)


def _trained(
    name: str,
    plan: DpSgdPlan,
    schedule: Schedule,
    architecture: Network,
    width: int,
    classes: int,
    seed: int,
    step: Callable[[int], None],
) -> Callable[[Tensor, Tensor], nn.Module]:
    """Return the training of one stage, a function of inputs and classes."""

    def train(inputs: Tensor, targets: Tensor) -> nn.Module:
        module = architecture.build(width, classes)
        parameters, update = flattened(module), UPDATES[plan.optimizer](plan.lr, plan.momentum)
        rate = schedule.event.sample_rate
        # Without privacy: a norm that no gradient reaches, which leaves the plain sum.
        clip, rule = (MOST_SINGLE, FLAT) if name == PLAIN else (schedule.clip, plan.clipping)
        sums = HalvingClippedSum(
            lambda rows: engine_for(module, clip, rows, rule=rule), plan.physical_batch, lambda event: None
        )
        sampler = PoissonSampler(len(targets), rate, SeededEntropy(seed))
        noise = GaussianNoise(schedule.noise_scale, SeededEntropy(seed + 1)) if name == NOISY else None
        for done in range(1, schedule.steps + 1):
            step(done)
            drawn = torch.from_numpy(sampler.draw())
            total = sums(inputs[drawn], targets[drawn], measure=False).total.double()
            added: NDArray[np.float64] | None = None if noise is None else noise.draw(len(total))
            whole = total if added is None else total + torch.from_numpy(added)
            update(parameters, (whole / (rate * len(targets))).to(parameters.dtype))
        return module

    return train
