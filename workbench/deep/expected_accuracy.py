"""Expected accuracy of a plan, measured on made-up or public rows before a private row is read.

The plan is trained as it is (its noise, steps, batch, clipping and network) on made-up or public rows, once
without clipping, once without noise, and a few times with both. Where that would take too long, a share of rows and
batch is trained with the same share of the noise: the mean of a step then has the noise that it has in the run.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from workbench.deep.accuracy_study import CLIPPED, NOISY, PLAIN, SeededTraining, accuracy_of
from workbench.deep.devices import one_thread
from workbench.deep.features import Features
from workbench.deep.plan import DpSgdPlan, Schedule
from workbench.deep.preparation import prepared_rows
from workbench.params import InputError
from workbench.privacy.accounting.event import PoissonGaussian
from workbench.signals.cancel import NEVER, CancelToken
from workbench.signals.events import Emit, Progress, ignore

PATIENCE = 20.0  # seconds that a simulation may take, about; on a busy machine a smaller one is made

REPEATS = 3
LEAST_ROWS = 200  # so many rows are needed to learn from, unless the table itself has fewer

_HELD_OUT, _HELD_SHARE = 1000, 4  # so many rows are measured on, or one in so many where there are few

_PREPARING, _TRAINING = 0.35, 0.6
"""Shares of the time that go to a frozen part and to the trainings; the rest is for trying how fast they are."""

_MOST_NUMBERS = 1 << 24  # numbers that are trained on: 64 MiB

_FEW, _FEWEST = 64, 16  # a batch is not made smaller than that, at first and at last

_LONGER = 2.5  # the smallest simulation may take so many times as long

_TRIED_ROWS = 32
_LEAST_TRIED, _MOST_TRIED = 3, 30  # steps that are timed, the first one among them, which is not counted

_TRYING = 0.3  # seconds after which no more steps are timed


@dataclass(frozen=True, eq=False)
class PublicRows:
    """Rows that may be looked at freely."""

    # Returns the first n of them: inputs (n, …) as `Features.encode` gives them, and classes (n,).
    make: Callable[[int], tuple[NDArray[np.float32], NDArray[np.int64]]]
    available: int  # how many there are
    made_up: bool = True  # whether they are drawn from the public declarations alone


@dataclass(frozen=True, kw_only=True)
class ExpectedAccuracy:
    """What a simulation found; it shows nothing of a private row."""

    accuracy: float  # mean over the repeats, on rows that were held out
    lowest: float  # of the repeats
    highest: float  # of the repeats
    without_privacy: float  # the better of the same training without clipping and noise, and with clipping alone
    chance: float  # what always naming the commonest class gives
    rows: int  # rows of the table that the plan is for
    simulated_rows: int  # rows that were trained on
    batch: int  # expected rows of a step of the plan
    simulated_batch: float  # of a step here
    steps: int  # steps of each training
    held_out: int  # rows that it was measured on in each repeat
    repeats: int  # trainings with noise
    made_up: bool  # whether the rows were made up from the public declarations; else they are of a public file

    @property
    def whole(self) -> bool:
        """Whether as many rows were trained on as the table has, in the batches of the plan."""
        return self.simulated_rows == self.rows


@dataclass(frozen=True)
class _Size:
    """How large a simulation is: rows, expected rows of a batch, and trainings with noise."""

    rows: int
    batch: float
    repeats: int


def expected_accuracy(
    plan: DpSgdPlan,
    features: Features,
    public: PublicRows,
    schedule: Schedule,
    *,
    patience: float = PATIENCE,
    seed: int = 0,
    emit: Emit = ignore,
    cancel: CancelToken = NEVER,
) -> ExpectedAccuracy:
    """Train ``plan``, which has this schedule for the table that it is for, on public rows.

    Raises:
        InputError: there are too few public rows, or the smallest simulation would take too long.
    """
    with one_thread():  # as the run itself
        found = _affordable_rows(plan, features, public, schedule, patience, cancel)
        drawn, classes = public.make(found)
        inputs = prepared_rows(plan.architecture, drawn, "cpu", emit=emit, cancel=cancel, keep=False)
        simulation = _Simulation(plan, features, inputs, torch.from_numpy(classes), schedule, seed, emit, cancel)
        return simulation.run(patience, made_up=public.made_up)


def _affordable_rows(
    plan: DpSgdPlan,
    features: Features,
    public: PublicRows,
    schedule: Schedule,
    patience: float,
    cancel: CancelToken,
) -> int:
    """Return how many rows are worked with, those that are held out among them."""
    architecture, least = plan.architecture, min(schedule.rows, LEAST_ROWS) * _HELD_SHARE // (_HELD_SHARE - 1)
    if public.available < least:
        raise InputError(f"{public.available:,} public rows are too few to learn from", hint=f"give {least:,} or more")
    few, _ = public.make(_TRIED_ROWS)
    widest = max(few[0].size, architecture.prepared_width(features.width))
    allowed: int = min(schedule.rows + _HELD_OUT, public.available, _MOST_NUMBERS // widest)
    if architecture.frozen:
        seconds = math.inf
        for _ in range(2):  # the first time loads what the second uses
            cancel.check()
            begun = time.perf_counter()
            prepared_rows(architecture, few, "cpu", keep=False)
            seconds = min(seconds, time.perf_counter() - begun)
        allowed = min(allowed, int(_PREPARING * patience * len(few) / max(seconds, 1e-9)))
    if allowed < least:
        raise InputError(
            "the expected accuracy cannot be estimated: the fixed part of the network is too large or too slow",
            hint="choose a smaller network, or train",
        )
    return allowed


@dataclass(frozen=True, eq=False)
class _Simulation:
    plan: DpSgdPlan
    features: Features
    inputs: Tensor
    targets: Tensor
    schedule: Schedule
    seed: int
    emit: Emit
    cancel: CancelToken

    def run(self, patience: float, *, made_up: bool) -> ExpectedAccuracy:
        schedule, classes = self.schedule, len(self.features.classes)
        held = min(_HELD_OUT, max(len(self.inputs) // _HELD_SHARE, len(self.inputs) - schedule.rows))
        size = _size(self._seconds_of, schedule, len(self.inputs) - held, _TRAINING * patience)
        stages = (PLAIN, CLIPPED, *[NOISY] * size.repeats)
        found = []
        for at, stage in enumerate(stages):

            def before_step(done: int, at: int = at) -> None:
                self.cancel.check()
                self.emit(Progress(at * schedule.steps + done, len(stages) * schedule.steps, "simulated trainings"))

            repeat = max(0, at - stages.index(NOISY))
            order = torch.from_numpy(np.random.default_rng((self.seed, repeat)).permutation(len(self.inputs)))
            kept, tested = order[held : held + size.rows], order[:held]
            found.append(
                accuracy_of(
                    self._training(size, schedule.steps).run(
                        stage,
                        self.inputs[kept],
                        self.targets[kept],
                        seed=self.seed + 2 * repeat,
                        before_step=before_step,
                    ),
                    self.inputs[tested],
                    self.targets[tested],
                )
            )
        private = found[stages.index(NOISY) :]
        commonest = float(torch.bincount(self.targets).max()) / len(self.targets)
        return ExpectedAccuracy(
            accuracy=float(np.mean(private)),
            lowest=min(private),
            highest=max(private),
            without_privacy=max(found[: stages.index(NOISY)]),
            chance=1 / classes if made_up else commonest,
            rows=schedule.rows,
            simulated_rows=size.rows,
            batch=schedule.batch,
            simulated_batch=size.batch,
            steps=schedule.steps,
            held_out=held,
            repeats=size.repeats,
            made_up=made_up,
        )

    def _training(self, size: _Size, steps: int) -> SeededTraining:
        # σC on a sum of B rows: on a sum of b rows the mean has the same noise with σC·b/B.
        times = size.batch / self.schedule.batch
        bands = self.schedule.event.bands
        rate = min(1.0, bands * size.batch / size.rows)
        event = PoissonGaussian(rate, self.schedule.event.noise_multiplier * times, steps, bands=bands)
        width, classes, norm = self.features.width, len(self.features.classes), self.schedule.norm
        norm = None if norm is None else replace(norm, noise=norm.noise * times)
        return SeededTraining(self.plan, self.plan.architecture, width, classes, event, norm)

    def _seconds_of(self, size: _Size) -> float:
        """Return how long a step takes: a few are taken, until the time for that is over."""
        begun: list[float] = []

        def before_step(done: int) -> None:
            self.cancel.check()
            begun.append(time.perf_counter())
            if len(begun) > _LEAST_TRIED and begun[-1] - begun[0] > _TRYING:
                raise _TriedEnoughError

        rows = slice(0, size.rows)
        with contextlib.suppress(_TriedEnoughError):
            self._training(size, _MOST_TRIED).run(
                NOISY, self.inputs[rows], self.targets[rows], seed=self.seed, before_step=before_step
            )
        return (begun[-1] - begun[1]) / (len(begun) - 2)  # the first step loads what the others use


class _TriedEnoughError(Exception):
    """Ends a trial."""


def _size(seconds_of: Callable[[_Size], float], schedule: Schedule, most: int, patience: float) -> _Size:
    """Return the largest simulation that ``patience`` allows, with several trainings with noise where it can be."""
    found, few, first = None, min(schedule.batch, _FEW), math.inf
    for size in _sizes(schedule, most):
        seconds = seconds_of(size) * schedule.steps
        if first == math.inf and 3 * seconds <= _LONGER * patience:
            found = size  # rather somewhat late than nothing
        first = min(first, seconds)
        if size.batch >= few and (2 + REPEATS) * seconds <= patience:
            found = replace(size, repeats=REPEATS)
        elif 3 * seconds > patience:
            break
        elif found is None or found.repeats == 1:
            found = size
    if found is not None:
        return found
    stated = f"{3 * first / 60:.0f} minutes" if first >= 40 else f"{3 * first:.0f} seconds"
    raise InputError(
        f"the expected accuracy cannot be estimated: the smallest simulation of {schedule.steps:,} steps would take "
        f"{stated}",
        hint="take fewer epochs or larger batches, or train",
    )


def _sizes(schedule: Schedule, most: int) -> Iterator[_Size]:
    """Yield simulations from the smallest to that of all rows, each with about twice the batch of the former."""
    share, batch = min(1.0, most / schedule.rows), float(min(schedule.batch, _FEWEST))
    largest = max(share * schedule.batch, min(schedule.batch, _FEW))
    while batch < largest:
        yield _Size(min(most, max(LEAST_ROWS, math.ceil(schedule.rows * batch / schedule.batch))), batch, 1)
        batch *= 2
    yield _Size(most, largest, 1)
