"""Where the accuracy of a private run goes: the same training without privacy, with clipping alone, and with noise.

A private study: seeded, on four fifths of the rows and measured on the others. Nothing of it is released.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from workbench.deep.devices import one_thread
from workbench.deep.features import TrainingData
from workbench.deep.plan import DpSgdPlan
from workbench.deep.preparation import prepared_rows
from workbench.deep.seeded_training import STAGES, SeededTraining, accuracy_of
from workbench.learners.tasks import EMPTY
from workbench.params import InputError
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit, Progress, ignore

HELD_OUT = 5
"""One row in so many is measured on."""

LEAST_ROWS = 20


@dataclass(frozen=True)
class Stage:
    """One training of the study.

    Attributes:
        name: one of :data:`~workbench.deep.seeded_training.STAGES`.
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
        raise InputError(f"{len(here)} rows are too few to hold some out", hint="give a larger table")
    order = np.random.default_rng(seed).permutation(here)
    held, kept = order[: len(order) // HELD_OUT], order[len(order) // HELD_OUT :]
    architecture = plan.architecture
    targets = torch.from_numpy(y)
    training = SeededTraining(plan, architecture, data.features.width, len(data.features.classes), schedule.event)
    stages = []
    with one_thread():  # as the run itself
        inputs = prepared_rows(architecture, X, "cpu", emit=emit, cancel=cancel)
        for at, name in enumerate(STAGES):

            def step(done: int, at: int = at) -> None:
                cancel.check()
                emit(Progress(at * schedule.steps + done, len(STAGES) * schedule.steps, "three trainings"))

            module = training.run(name, inputs[kept], targets[kept], seed=seed, before_step=step)
            stages.append(Stage(name, accuracy_of(module, inputs[held], targets[held]), len(held)))
    return tuple(stages)
