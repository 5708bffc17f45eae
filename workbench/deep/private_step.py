"""The step of DP-SGD: sample, clip, add noise (Abadi et al. 2016, Algorithm 1, with Poisson sampling)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from workbench.deep.adaptive_clipping import AdaptiveNorm
from workbench.deep.clipping import ClippedSum, StepSums, ignore_phase, sums_of
from workbench.deep.noise import GaussianNoise
from workbench.deep.poisson import InTurn, PoissonSampler
from workbench.privacy.accounting.event import Cost, PoissonGaussian, exact
from workbench.privacy.entropy import SeededEntropy
from workbench.work.ask import RemoteCoins, Steps
from workbench.work.noise import Study


class Places:
    """Where each parameter lies in a flat vector, in the module's order."""

    def __init__(self, network: nn.Module) -> None:
        parameters = list(network.parameters())
        # A vector (P,) in single precision, to be written into.
        self.total = torch.zeros(sum(p.numel() for p in parameters))
        parts = torch.split(self.total, [p.numel() for p in parameters])
        self._views = {id(p): part.view(p.shape) for p, part in zip(parameters, parts, strict=True)}

    def of(self, parameter: Tensor) -> Tensor:
        """Return the part of the vector that belongs to ``parameter``, in its shape."""
        return self._views[id(parameter)]


def flattened(network: nn.Module) -> Tensor:
    """Make the parameters of ``network`` views of one vector (P,), which is returned."""
    parameters = list(network.parameters())
    flat = torch.cat([p.detach().flatten() for p in parameters])
    nn.utils.vector_to_parameters(flat, parameters)
    return flat


def study_steps(event: PoissonGaussian, seed: int = 0, count_noise: float | None = None) -> Steps:
    """Return the steps of ``event`` with seeded batches and noise, of which nothing can be released."""
    study = Study(np.random.default_rng(seed + 1), SeededEntropy(seed))
    return study.ask(Cost(exact(0), exact(0), event)).steps(event.label, count_noise=count_noise)


def sampler_of(rows: int, steps: Steps | RemoteCoins) -> PoissonSampler | InTurn:
    """Return what draws the batches of a table of ``rows`` rows, or of so many of its rows in another process."""
    if isinstance(steps, Steps) and steps.bands > 1:
        return InTurn(rows, steps, PoissonSampler(-(-rows // steps.bands), steps.sample_rate, steps.coins))
    return PoissonSampler(rows, steps.sample_rate, steps.coins)


@dataclass(eq=False)
class PrivateStep:
    """The parts of a step, made from one source of steps: sampling, clipping, noise and cost cannot disagree."""

    steps: Steps  # counts each step before anything of it is drawn
    sampler: PoissonSampler | InTurn  # draws the batches
    clipped_sum: ClippedSum  # sums clipped gradients
    noise: GaussianNoise | None  # is added to a sum; `None` in studies of what clipping alone does
    batch: float  # expected rows of a batch, by which a sum is divided
    enter: Callable[[str], None] = ignore_phase  # receives the name of each phase of a step as it begins
    norm: AdaptiveNorm | None = None  # moves the clipping norm after each step; `None` where it stays
    _kept: tuple[Tensor, Any, Tensor, Any] | None = field(default=None, init=False, repr=False)
    """A total, its gradient, and both as arrays: an engine has one total, or a new one for each step."""

    @classmethod
    def of(
        cls,
        steps: Steps,
        *,
        rows: int,
        batch: float,
        clip: float,
        clipped_sum: Callable[[float], ClippedSum],
        enter: Callable[[str], None] = ignore_phase,
        norm: AdaptiveNorm | None = None,
    ) -> PrivateStep:
        """Make the parts.

        Args:
            steps: that may be taken.
            rows: of the table.
            batch: expected rows of a batch.
            clip: the clipping norm C.
            clipped_sum: makes the engine for a clipping norm.
            enter: receives the name of each phase of a step as it begins.
            norm: moves the clipping norm, from the one that it has; the steps then declare a count.
        """
        made = cls(steps, sampler_of(rows, steps), clipped_sum(clip), GaussianNoise(steps, clip), batch, enter, norm)
        if norm is not None:
            made._clip_at(norm.clip)
        return made

    def step(self, inputs: Tensor, targets: Tensor, *, measure: bool = True) -> tuple[Tensor, StepSums]:
        """Return (Σ clipped + N(0, σ²C²))/batch, shape (P,), and the private sums; an empty batch is noise only.

        Both are overwritten by the next step.

        Raises:
            UndeclaredError: all steps are taken.
        """
        self.steps.take()
        self.enter("batch")
        rows = self.sampler.draw()
        with nullcontext() if self.norm is None else self.norm.listening():
            sums = sums_of(self.clipped_sum, inputs, targets, rows, measure=measure, enter=self.enter)
        self.enter("step")
        gradient = self.noisy(sums.total)
        if self.norm is not None:
            present = targets[torch.from_numpy(rows).to(targets.device)] >= 0
            self._follow(self.norm, self.norm.counted(present))
        return gradient, sums

    def _follow(self, norm: AdaptiveNorm, count: float) -> None:
        """Move the clipping norm by a count, with noise where there is any."""
        self._clip_at(norm.follow(count if self.noise is None else self.noise.on_count(count)))

    def _clip_at(self, clip: float) -> None:
        self.clipped_sum.clip_at(clip)
        if self.noise is not None:
            self.noise.clip_at(clip)

    def noisy(self, total: Tensor) -> Tensor:
        """Return (total + noise)/batch, in single precision, where ``total`` is; the noise is the processor's."""
        if self.noise is None:
            return (total.double() / self.batch).float()
        kept = self._kept
        if kept is None or kept[0] is not total:
            here, gradient = total.cpu(), torch.empty(len(total))  # on the processor a total is copied nowhere
            kept = self._kept = (here, here.numpy(), gradient, gradient.numpy())
        _, values, gradient, written = kept
        self.noise.add_to(values, written, self.batch)
        return gradient.to(total.device)
