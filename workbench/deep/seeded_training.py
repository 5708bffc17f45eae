"""A training of a study: with, without or with half of its privacy, seeded throughout. Nothing of it is released."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from workbench.deep.engines import engine_for
from workbench.deep.factors import FLAT, MOST_SINGLE
from workbench.deep.flat_parameters import flattened
from workbench.deep.networks import Network
from workbench.deep.noise import GaussianNoise
from workbench.deep.plan import DpSgdPlan
from workbench.deep.poisson import PoissonSampler
from workbench.deep.shortage import HalvingClippedSum
from workbench.deep.updates import UPDATES
from workbench.privacy.entropy import SeededEntropy

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
        sample_rate: the chance of each row to be in a batch.
        steps: how many are taken.
        noise_scale: standard deviation of the noise on the sum of a batch, where there is any.
    """

    plan: DpSgdPlan
    network: Network
    width: int
    classes: int
    sample_rate: float
    steps: int
    noise_scale: float

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
        sampler = PoissonSampler(len(targets), self.sample_rate, SeededEntropy(seed))
        noise = GaussianNoise(self.noise_scale, SeededEntropy(seed + 1)) if stage == NOISY else None
        for done in range(1, self.steps + 1):
            before_step(done)
            drawn = torch.from_numpy(sampler.draw())
            total = sums(inputs[drawn], targets[drawn], measure=False).total.double()
            whole = total if noise is None else total + torch.from_numpy(noise.draw(len(total)))
            update(parameters, (whole / (self.sample_rate * len(targets))).to(parameters.dtype))
        return module


def accuracy_of(module: nn.Module, inputs: Tensor, targets: Tensor) -> float:
    """Return the share of rows that ``module`` classifies right."""
    with torch.inference_mode():
        return float((module(inputs).argmax(1) == targets).double().mean())
