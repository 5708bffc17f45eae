"""Models for attacks, without a release: what a card would say of them, and learners that remember or forget."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.data.schema import Attribute
from workbench.data.table import Table
from workbench.learners import learner
from workbench.learners.tasks import CLASSIFICATION
from workbench.work.noise import Exact, Noise, Study

COLUMNS = tuple(Attribute(name=f"x{i}", kind="real", lower=-3.0, upper=3.0) for i in range(6))
CLASS = Attribute(name="y", kind="category", domain=("no", "yes"))


@dataclass(frozen=True, eq=False)
class Opened:
    """A model as the release path opens one."""

    card: dict[str, Any]
    model: Any
    attributes: tuple[Attribute, ...] = COLUMNS
    target: Attribute = CLASS
    task: str = CLASSIFICATION
    inputs: Any = field(default=None)


def rows(seed: int, count: int, noise: float = 1.0) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Rows of six numbers; the class follows the first two, with noise."""
    rng = np.random.default_rng(seed)
    X = np.clip(rng.normal(size=(count, 6)), -3, 3)
    return X, (X[:, 0] + X[:, 1] + noise * rng.normal(size=count) > 0).astype(np.int64)


def table(X: NDArray[np.float64], y: NDArray[np.int64]) -> Table:
    frame = {a.name: [f"{value:.6f}" for value in column] for a, column in zip(COLUMNS, X.T, strict=True)}
    return Table(pl.DataFrame({**frame, "y": [CLASS.values()[code] for code in y]}), "rows.csv")


def fitted(name: str, X: NDArray[np.float64], y: NDArray[np.int64], seed: int | None, **keys: Any) -> Opened:
    """A learner fitted with noise of a study; without any where there is no seed."""
    chosen = learner(name)
    parameters = chosen.parameters(**keys)
    noise: Noise = Exact() if seed is None else Study(np.random.default_rng(seed))
    made = chosen.private(COLUMNS, CLASS, parameters, noise).fit(X, y)
    return Opened({"model": name, "parameters": parameters.to_plain(), "training": {"queries": []}}, made)
