"""DP-SGD audited through its released file: many worst-case rows, each present or empty, and what the weights tell.

A row is the worst there can be: no other row shares its inputs, so that nothing hides it, and its gradient is as long
as the clipping norm allows. Its columns are names that only this row has, so the weights of these names are a sample of
the mechanism with this row present or with it empty, independent of all others: a file of weights gives thousands. The
bias is shared by all rows; of a row's gradient √(k/(k+1)) lies in its own k names, and the audit sees that much of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

pytest.importorskip("torch")

from workbench.data.schema import Attribute
from workbench.data.table import Table
from workbench.deep.features import Features, TableData
from workbench.deep.model import WEIGHTS, TrainedModel, facts, weights_bytes
from workbench.deep.plan import DpSgdPlan, Schedule
from workbench.deep.trainer import train
from workbench.privacy.audit import LowerBound, epsilon_lower
from workbench.release.ledger.ledger import Ledger
from workbench.release.model import release_network as release
from workbench.release.model.release_network import release_training

ROWS, OWN = 2_000, 3
NAMES = tuple(str(i) for i in range(ROWS))
FEATURES = Features(
    tuple(Attribute(name=f"c{k}", kind="category", domain=NAMES) for k in range(OWN)),
    Attribute(name="y", kind="category", domain=("0", "1")),
)
TABLE = Table(
    pl.DataFrame({**{f"c{k}": list(NAMES) for k in range(OWN)}, "y": [str(i % 2) for i in range(ROWS)]}), "worst"
)


ReleaseOf = Callable[[int], tuple[Path, NDArray[np.bool_]]]
"""Makes a release whose empty rows follow from a public seed: where it is, and which rows were empty."""


@dataclass(frozen=True, eq=False)
class HalfEmpty(TableData):
    """The table with half of its rows empty; which, is drawn publicly."""

    seed: int = 0

    @property
    def empty(self) -> NDArray[np.bool_]:
        drawn: NDArray[np.bool_] = np.random.default_rng(self.seed).permutation(ROWS) < ROWS // 2
        return drawn

    def load(self) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        inputs, classes = super().load()
        return inputs, np.where(self.empty, -1, classes)


def plan(noise: float, delta: float) -> DpSgdPlan:
    """One step over all rows: what the Gaussian mechanism costs, without amplification by sampling."""
    return DpSgdPlan(
        network="logistic",
        noise=noise,
        delta=delta,
        batch=ROWS,
        epochs=1,
        lr=1.0,
        clip=0.5,
        accountant="pld",
        device="cpu",
    )


def told_by(weights: NDArray[np.float32]) -> NDArray[np.float64]:
    """What the weights say of each row: they lean towards its own class where it was there."""
    towards = (weights[1] - weights[0]).reshape(OWN, ROWS).sum(axis=0).astype(np.float64)
    return np.where(np.arange(ROWS) % 2 == 1, towards, -towards)


def audited(release_of: ReleaseOf, releases: int, delta: float) -> LowerBound:
    """Audit ``releases`` files of weights, given by a function of a public seed."""
    from safetensors.numpy import load_file

    present, absent = [], []
    for seed in range(releases):
        folder, empty = release_of(seed)
        (weights,) = (w for name, w in load_file(folder / WEIGHTS).items() if name.endswith("weight"))
        told = told_by(weights)
        present.append(told[~empty])
        absent.append(told[empty])
    return epsilon_lower(np.concatenate(present), np.concatenate(absent), delta=delta)


def trained(folder: Path, asked: DpSgdPlan) -> ReleaseOf:
    """Return a function that trains, writes the weights that a release writes, and reads them back as anybody does."""

    def once(seed: int) -> tuple[Path, NDArray[np.bool_]]:
        data = HalfEmpty(FEATURES, TABLE, seed)
        run = train(asked, data, lambda cost: None)
        (folder / WEIGHTS).write_bytes(weights_bytes(run))
        loaded = TrainedModel.load(folder, facts(run), [a.to_plain() for a in FEATURES.attributes])
        assert loaded.predict(np.zeros((1, OWN))).shape == (1,)
        return folder, data.empty

    return once


def too_little_noise(monkeypatch: pytest.MonkeyPatch, factor: float) -> None:
    """Plant the fault: the noise is smaller than the schedule says, and the account does not know."""
    right = Schedule.noise_scale.fget
    assert right is not None
    monkeypatch.setattr(Schedule, "noise_scale", property(lambda schedule: right(schedule) / factor))


NOISE, DELTA, FILES = 0.7, 0.1, 8
"""ε is 2.16 at this δ. Half the noise is then seen in 8,000 rows a side: it is missed with odds far below 1e-6."""


def claim(asked: DpSgdPlan) -> float:
    return float(asked.schedule(ROWS).cost().epsilon)


def test_a_released_file_never_shows_more_than_its_epsilon(tmp_path: Path) -> None:
    asked = plan(NOISE, DELTA)
    found = audited(trained(tmp_path, asked), FILES, DELTA)
    assert 2.1 < claim(asked) < 2.3
    assert not found.refutes(claim(asked))
    assert found.epsilon > 0.5  # the audit is not blind: see also the next test


def test_half_the_noise_is_seen_in_the_released_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = plan(NOISE, DELTA)
    claimed = claim(asked)
    too_little_noise(monkeypatch, 2.0)
    assert claim(asked) == claimed  # the account does not notice
    assert audited(trained(tmp_path, asked), FILES, DELTA).refutes(claimed)


def released(folder: Path, asked: DpSgdPlan, monkeypatch: pytest.MonkeyPatch) -> ReleaseOf:
    """Return a function that releases a network, with ledger, card and all."""

    def once(seed: int) -> tuple[Path, NDArray[np.bool_]]:
        data = HalfEmpty(FEATURES, TABLE, seed)
        monkeypatch.setattr(release, "TableData", lambda features, table: data)
        target = folder / f"net-{seed}"
        with Ledger.open(folder / f"{seed}.sqlite") as ledger:
            release_training(asked, FEATURES, TABLE, target, ledger)
        return target, data.empty

    return once


SMALL_DELTA = 0.4 / ROWS


def test_a_whole_release_never_shows_more_than_its_epsilon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = plan(2.0, SMALL_DELTA)
    found = audited(released(tmp_path, asked, monkeypatch), 6, SMALL_DELTA)
    assert not found.refutes(claim(asked))


@pytest.mark.slow
def test_a_quarter_of_the_noise_is_seen_in_a_whole_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = plan(2.0, SMALL_DELTA)
    claimed = claim(asked)
    too_little_noise(monkeypatch, 4.0)
    assert audited(released(tmp_path, asked, monkeypatch), 6, SMALL_DELTA).refutes(claimed)
