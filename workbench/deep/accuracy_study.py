"""Where the accuracy of a private run goes: the same training without privacy, with clipping alone, and with noise.

A private study: seeded, on four fifths of the rows and measured on the others. Nothing of it is released. A released
network is trained again in the same way, as its card says, on other rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from workbench.deep.adaptive_clipping import AdaptiveNorm
from workbench.deep.devices import one_thread
from workbench.deep.features import TrainingData
from workbench.deep.model import TrainedModel
from workbench.deep.networks import Network
from workbench.deep.optimizers import UPDATES
from workbench.deep.plan import CPU, FLAT, MOST_SINGLE, DpSgdPlan, NormRule
from workbench.deep.preparation import engine_for, prepared_rows
from workbench.deep.private_step import PrivateStep, flattened, study_steps
from workbench.deep.probe_step import HalvingClippedSum
from workbench.learners.tasks import EMPTY
from workbench.params import InputError
from workbench.params.amounts import counted
from workbench.privacy.accounting.event import PoissonGaussian
from workbench.signals.cancel import NEVER, CancelToken
from workbench.signals.events import Emit, Progress, ignore

PLAIN, CLIPPED, NOISY = "no privacy", "clipped", "clipped and noisy"
STAGES = (PLAIN, CLIPPED, NOISY)


@dataclass(frozen=True)
class SeededTraining:
    """What is trained, and how."""

    plan: DpSgdPlan  # optimiser, clipping, rows in memory
    network: Network  # the architecture that the plan names
    width: int  # inputs of a row
    classes: int  # how many there are
    event: PoissonGaussian  # sample rate, noise where there is any, and how many steps are taken
    norm: NormRule | None = None  # how the clipping norm moves, at this event's noise

    def run(
        self, stage: str, inputs: Tensor, targets: Tensor, *, seed: int, before_step: Callable[[int], None]
    ) -> nn.Module:
        """Return the trained module."""
        module = self.network.build(self.width, self.classes)
        parameters, update = flattened(module), UPDATES[self.plan.optimizer](self.plan.lr, self.plan.momentum)
        # Without privacy: a norm that no gradient reaches, which leaves the plain sum.
        clip, rule = (MOST_SINGLE, FLAT) if stage == PLAIN else (self.plan.clip, self.plan.clipping)
        example = self.network.example(self.width)
        sums = HalvingClippedSum(
            lambda rows: engine_for(module, clip, rows, rule=rule, example=example),
            self.plan.physical_batch,
            lambda event: None,
        )
        batch = self.event.sample_rate * len(targets) / self.event.bands
        norm = None if self.norm is None or stage == PLAIN else AdaptiveNorm(self.norm, clip, batch)
        mechanism = PrivateStep.of(
            study_steps(self.event, seed, None if norm is None else norm.rule.noise),
            rows=len(targets),
            batch=batch,
            clip=self.plan.clip,
            clipped_sum=lambda _: sums,
            norm=norm,
        )
        if stage != NOISY:
            mechanism = replace(mechanism, noise=None)
        while mechanism.steps.left:
            before_step(mechanism.steps.taken + 1)
            gradient, _ = mechanism.step(inputs, targets, measure=False)
            update(parameters, gradient)
        return module


def accuracy_of(module: nn.Module, inputs: Tensor, targets: Tensor) -> float:
    """Return the share of rows that ``module`` classifies right."""
    with torch.inference_mode():
        return float((module(inputs).argmax(1) == targets).double().mean())


HELD_OUT = 5  # one row in so many is measured on

LEAST_ROWS = 20


@dataclass(frozen=True)
class Stage:
    """One training of the study."""

    name: str
    accuracy: float
    measured: int


def accuracy_losses(
    plan: DpSgdPlan,
    data: TrainingData,
    *,
    rows_per_person: int = 1,
    seed: int = 0,
    emit: Emit = ignore,
    cancel: CancelToken = NEVER,
) -> tuple[Stage, ...]:
    """Train ``plan`` three times on the same batches, and measure each network on the rows that were held out.

    Raises:
        InputError: there are too few rows to hold some out.
    """
    schedule = plan.schedule(data.rows, rows_per_person)
    X, y = data.load()
    here = np.flatnonzero(y != EMPTY)
    if len(here) < LEAST_ROWS:
        raise InputError(f"{counted(len(here), 'row')}: too few to hold some out", hint="give a larger table")
    order = np.random.default_rng(seed).permutation(here)
    held, kept = order[: len(order) // HELD_OUT], order[len(order) // HELD_OUT :]
    architecture = plan.architecture
    targets = torch.from_numpy(y)
    width, classes = data.features.width, len(data.features.classes)
    training = SeededTraining(plan, architecture, width, classes, schedule.event, schedule.norm)
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


def trained_again(
    model: TrainedModel,
    card: Mapping[str, Any],
    X: ArrayLike,
    y: NDArray[np.int64],
    seed: int,
    cancel: CancelToken = NEVER,
    *,
    private: bool = True,
) -> TrainedModel:
    """Return a network of the same kind: the same steps, batches and noise, on the rows X (n, d) and y (n,).

    X is what ``model.inputs_of`` returns; ``card`` has its ``parameters`` and ``training`` facts. What is not
    ``private`` has neither clipping nor noise, and remembers what it can.
    """
    stated = card["training"]
    values = {**card["parameters"], "noise": stated["noise_multiplier"], "epsilon": None, "device": CPU}
    plan = DpSgdPlan.from_plain({key: value for key, value in values.items() if value is not None})
    features, network = model.features, model.network
    schedule = plan.schedule(len(y))
    event = replace(schedule.event, steps=stated["steps"])
    training = SeededTraining(plan, network, features.width, len(features.classes), event, schedule.norm)

    def step(taken: int) -> None:
        cancel.check()

    with one_thread():  # as the run itself
        inputs = prepared_rows(network, features.encode(X), cancel=cancel, keep=False)
        stage = NOISY if private else PLAIN
        module = training.run(stage, inputs, torch.from_numpy(y), seed=seed, before_step=step)
    weights = {name: p.detach().numpy() for name, p in module.named_parameters()}
    return TrainedModel(network, features, weights)
