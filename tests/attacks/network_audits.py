"""Audits of DP-SGD by its released file: many worst-case rows, each present or empty, and what the weights tell.

A row is the worst there can be: no other row shares its inputs, so that nothing hides it, and its gradient is as long
as the clipping norm allows. Its columns are names that only this row has, so the weights of these names are a sample of
the mechanism with this row present or with it empty, independent of all others: a file of weights gives hundreds. The
bias is shared by all rows; of a row's gradient √(k/(k+1)) lies in its own k names, and the audit sees that much of it.
"""

import math
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
from audits import Audit, Fault
from numpy.typing import NDArray
from torch import nn

from workbench.data.schema import Attribute
from workbench.data.table import Table
from workbench.deep import correlated_noise
from workbench.deep.adaptive_clipping import AdaptiveNorm
from workbench.deep.correlated_noise import column, power_for
from workbench.deep.features import Features, TableData
from workbench.deep.model import WEIGHTS, TrainedModel, facts, weights_bytes
from workbench.deep.noise import GaussianNoise, Ziggurat
from workbench.deep.plan import DpSgdPlan, NormRule
from workbench.deep.poisson import InTurn
from workbench.deep.preparation import engine_for
from workbench.deep.private_step import PrivateStep
from workbench.deep.trainer import train
from workbench.privacy.accounting.event import Cost, PoissonGaussian, exact
from workbench.privacy.audit import LowerBound, epsilon_lower
from workbench.work.ask import Steps
from workbench.work.noise import Charged


@dataclass(frozen=True, eq=False)
class Worst:
    """A table of worst-case rows: each has names of its own in every column.

    Attributes:
        rows: how many.
        own: columns of names.
    """

    rows: int = 2_000
    own: int = 3

    @property
    def features(self) -> Features:
        names = tuple(str(i) for i in range(self.rows))
        return Features(
            tuple(Attribute(name=f"c{k}", kind="category", domain=names) for k in range(self.own)),
            Attribute(name="y", kind="category", domain=("0", "1")),
        )

    @property
    def table(self) -> Table:
        names = [str(i) for i in range(self.rows)]
        labels = [str(i % 2) for i in range(self.rows)]
        return Table(pl.DataFrame({**{f"c{k}": names for k in range(self.own)}, "y": labels}), "worst")

    def plan(self, noise: float, delta: float, clip: float = 0.5) -> DpSgdPlan:
        """One step over all rows: what the Gaussian mechanism costs, without amplification by sampling."""
        return DpSgdPlan(
            network="logistic",
            noise=noise,
            delta=delta,
            batch=self.rows,
            epochs=1,
            lr=1.0,
            clip=clip,
            accountant="pld",
            device="cpu",
        )

    def claim(self, asked: DpSgdPlan) -> float:
        """The ε of a plan on these rows."""
        return float(asked.schedule(self.rows).cost().epsilon)

    def from_entries(self, folder: Path) -> NDArray[np.float64]:
        """What a released file says of each row: its weights lean towards the row's own class where it was there."""
        from safetensors.numpy import load_file

        (weights,) = (w for name, w in load_file(folder / WEIGHTS).items() if name.endswith("weight"))
        towards = (weights[1] - weights[0]).reshape(self.own, self.rows).sum(axis=0).astype(np.float64)
        return np.where(np.arange(self.rows) % 2 == 1, towards, -towards)


@dataclass(frozen=True, eq=False)
class HalfEmpty(TableData):
    """The table with half of its rows empty; which, is drawn publicly."""

    seed: int = 0

    @property
    def empty(self) -> NDArray[np.bool_]:
        drawn: NDArray[np.bool_] = np.random.default_rng(self.seed).permutation(self.table.rows) < self.table.rows // 2
        return drawn

    def load(self) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        inputs, classes = super().load()
        return inputs, np.where(self.empty, -1, classes)


ReleaseOf = Callable[[int], tuple[Path, NDArray[np.bool_]]]
"""Makes a release whose empty rows follow from a public seed: where it is, and which rows were empty."""


def sides_of(worst: Worst, release_of: ReleaseOf, releases: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what files of weights say of present rows and of empty ones."""
    present, absent = [], []
    for seed in range(releases):
        folder, empty = release_of(seed)
        told = worst.from_entries(folder)
        present.append(told[~empty])
        absent.append(told[empty])
    return np.concatenate(present), np.concatenate(absent)


def audited(worst: Worst, release_of: ReleaseOf, releases: int, delta: float) -> LowerBound:
    """Audit so many files of weights."""
    return epsilon_lower(*sides_of(worst, release_of, releases), delta=delta)


def trained(worst: Worst, folder: Path, asked: DpSgdPlan) -> ReleaseOf:
    """Return a function that trains, writes the weights that a release writes, and reads them back as anybody does."""
    features, table = worst.features, worst.table

    def once(seed: int) -> tuple[Path, NDArray[np.bool_]]:
        data = HalfEmpty(features, table, seed)
        run = train(asked, data, Charged(lambda cost: None))
        (folder / WEIGHTS).write_bytes(weights_bytes(run))
        loaded = TrainedModel.load(folder, facts(run), [a.to_plain() for a in features.attributes])
        assert loaded.predict(np.zeros((1, worst.own))).shape == (1,)
        return folder, data.empty

    return once


def noise_scale(patch: pytest.MonkeyPatch, wrong: Callable[[float, float], float]) -> None:
    """Plant the fault: the noise of a step has another scale than its event says; ``wrong`` gets σC and C."""
    right = GaussianNoise.__init__

    def init(noise: GaussianNoise, steps: Steps, clip: float) -> None:
        right(noise, steps, clip)
        noise.scale = wrong(noise.scale, clip)
        noise._source = Ziggurat(noise.scale, steps.noise)

    patch.setattr(GaussianNoise, "__init__", init)


def too_little_noise(patch: pytest.MonkeyPatch, factor: float) -> None:
    """Plant the fault: the noise is smaller than the event says."""
    noise_scale(patch, lambda scale, clip: scale / factor)


HALF = Fault("half the scale of the noise", plant=lambda patch: too_little_noise(patch, 2.0))
VARIANCE = Fault(
    "variance σ²C in place of (σC)²",
    plant=lambda patch: noise_scale(patch, lambda scale, clip: scale / math.sqrt(clip)),
)
NOT_CLIPPED = Fault("rows are not clipped", times=8.0, plant=lambda patch: too_little_noise(patch, 8.0))
"""Gradients are clipped at ``times`` the norm, which none reaches, and the noise is that of the norm itself."""


def network(name: str, worst: Worst, clip: float, *faults: Fault, noise: float = 0.7, least: float = 0.5) -> Audit:
    """An audit of files of weights; ``samples`` are rows of each side."""
    delta = 0.1

    def outputs(gone: bool, samples: int, fault: Fault) -> NDArray[np.float64]:
        asked = worst.plan(noise, delta, clip * fault.times)
        with tempfile.TemporaryDirectory() as folder:
            # Both sides are in the same files; each call makes files of its own.
            release = trained(worst, Path(folder), asked)
            found = sides_of(worst, lambda seed: release(seed + 1_000 * gone), max(1, 2 * samples // worst.rows))
        return found[gone]

    return Audit(
        f"dpsgd: {name}",
        "rows of their own names, at the clipping norm",
        worst.claim(worst.plan(noise, delta)),
        8_000,
        outputs,
        faults,
        delta,
        least,
    )


_BESIDE = 0.52
"""Noise of the audited count, in noise multipliers: so little that the sum must have 3.6 times its noise."""


def _mechanism(noise: float, steps: int) -> tuple[PrivateStep, AdaptiveNorm]:
    """One row in every step, and a norm that hardly moves: each step is a sample of sum and count together."""
    norm = AdaptiveNorm(NormRule(0.5, 1e-9, _BESIDE * noise), 0.5, 1.0)
    linear = nn.Linear(3, 2)
    nn.init.zeros_(linear.weight)
    event = PoissonGaussian(1.0, noise, steps, "audit")
    asked = Charged(lambda cost: None).ask(Cost(exact(1), exact(0), event))
    made = PrivateStep.of(
        asked.steps("audit", count_noise=norm.rule.noise), rows=1, batch=1.0, clip=norm.clip, norm=norm,
        clipped_sum=lambda clip: engine_for(nn.Sequential(linear), clip, 1),
    )  # fmt: skip
    return made, norm


def adaptive(noise: float = 0.7, delta: float = 0.1) -> Audit:
    """An audit of steps whose norm moves: their sum, and the count that the next norm tells."""
    rows = torch.full((1, 3), 100.0)

    def outputs(gone: bool, samples: int, fault: Fault) -> NDArray[np.float64]:
        made, norm = _mechanism(noise, samples)
        along = replace(made, noise=None, norm=None).clipped_sum(rows, torch.tensor([1])).total.double().numpy()
        row = torch.tensor([-1 if gone else 1])
        told = np.empty((samples, 2))
        for i in range(samples):
            clip = norm.clip
            gradient, _ = made.step(rows, row, measure=False)
            share = math.log(norm.clip / clip) / norm.rule.rate  # −noise, or 1/2 more where the row is clipped
            told[i] = float(along @ gradient.double().numpy()), share
        return told

    claim = float(DpSgdPlan.schedule(Worst().plan(noise, delta), Worst().rows).cost().epsilon)
    faults = (
        Fault("the count has no noise", plant=lambda patch: patch.setattr(GaussianNoise, "on_count", lambda _, v: v)),
        Fault(
            "the sum has the noise of a step without a count",
            plant=lambda patch: patch.setattr(PoissonGaussian, "beside_count", lambda event, _: event.noise_multiplier),
        ),
        Fault("rows count twice", plant=_twice),
    )
    return Audit("dpsgd: adaptive clipping", "one row that is clipped", claim, 20_000, outputs, faults, delta, 1.0)


def _twice(patch: pytest.MonkeyPatch) -> None:
    right = AdaptiveNorm.counted
    patch.setattr(AdaptiveNorm, "counted", lambda norm, present: 4 * right(norm, present))


def banded(noise: float = 0.7, delta: float = 0.1, bands: int = 3) -> Audit:
    """An audit of steps that share noise: of one row, each of whose turns is a sample of the mechanism."""
    rows = torch.full((bands, 3), 100.0)

    def outputs(gone: bool, samples: int, fault: Fault) -> NDArray[np.float64]:
        steps = bands * samples
        linear = nn.Linear(3, 2)
        nn.init.zeros_(linear.weight)
        event = PoissonGaussian(1.0, noise, steps, "audit", bands)
        asked = Charged(lambda cost: None).ask(Cost(exact(1), exact(0), event))
        made = PrivateStep.of(
            asked.steps("audit"), rows=bands, batch=1.0, clip=0.5,
            clipped_sum=lambda clip: engine_for(nn.Sequential(linear), clip, 1),
        )  # fmt: skip
        along = replace(made, noise=None).clipped_sum(rows[:1], torch.tensor([1])).total.double().numpy()
        there = torch.tensor([-1 if gone else 1] + [-1] * (bands - 1))
        sums = [float(along @ made.step(rows, there, measure=False)[0].double().numpy()) for _ in range(steps)]
        used = column(power_for(steps, bands), bands)
        # The noise is independent again, and the row is along the column of its turn.
        told: NDArray[np.float64] = np.convolve(sums, used)[:steps].reshape(samples, bands) @ used
        return told

    claim = float(DpSgdPlan.schedule(Worst().plan(noise, delta), Worst().rows).cost().epsilon)
    faults = (
        Fault("columns are not divided by their norm", plant=_first_is_one),
        Fault(
            "each step samples all rows",
            plant=lambda patch: patch.setattr(InTurn, "draw", lambda sampler: np.arange(sampler.rows)),
        ),
    )
    return Audit("dpsgd: shared noise", "one row, clipped", claim, 8_000, outputs, faults, delta, 0.8)


def _first_is_one(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(correlated_noise, "column", lambda power, bands: column(power, bands) / column(power, bands)[0])


def networks() -> tuple[Audit, ...]:
    """Return the audits of networks; what each claims takes a tenth of a second or more."""
    return (
        adaptive(),
        banded(),
        network("one step over all rows", Worst(), 0.5, HALF, NOT_CLIPPED),
        network("long gradients", Worst(400, 31), 4.0, HALF, VARIANCE),
    )
