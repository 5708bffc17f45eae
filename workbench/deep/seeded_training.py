"""A training of a study: with, without or with half of its privacy, seeded throughout. Nothing of it is released."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from workbench.deep.engines import engine_for
from workbench.deep.factors import FLAT, MOST_SINGLE
from workbench.deep.flat_parameters import flattened
from workbench.deep.networks import Network
from workbench.deep.plan import DpSgdPlan
from workbench.deep.private_step import PrivateStep, study_steps
from workbench.deep.shortage import HalvingClippedSum
from workbench.deep.updates import UPDATES
from workbench.privacy.accounting.event import PoissonGaussian

PLAIN, CLIPPED, NOISY = "no privacy", "clipped", "clipped and noisy"
STAGES = (PLAIN, CLIPPED, NOISY)


@dataclass(frozen=True)
class SeededTraining:
    """What is trained, and how.

    Attributes:
        plan: optimiser, clipping, rows in memory.
        network: the architecture that the plan names.
        width: inputs of a row.
        classes: how many there are.
        event: sample rate, noise where there is any, and how many steps are taken.
    """

    plan: DpSgdPlan
    network: Network
    width: int
    classes: int
    event: PoissonGaussian

    def run(
        self, stage: str, inputs: Tensor, targets: Tensor, *, seed: int, before_step: Callable[[int], None]
    ) -> nn.Module:
        """Return the trained module.

        Args:
            stage: one of :data:`STAGES`.
            inputs: rows as the trained layers read them.
            targets: their classes.
            seed: of batches and noise.
            before_step: called with the number of each step; what it raises ends the training.
        """
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
        mechanism = PrivateStep.of(
            study_steps(self.event, seed),
            rows=len(targets),
            batch=self.event.sample_rate * len(targets),
            clip=self.plan.clip,
            clipped_sum=lambda _: sums,
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
