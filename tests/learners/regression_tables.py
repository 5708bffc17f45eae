"""Tables with public bounds for studies of regression; the bounds are round numbers that nobody read off the rows."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_diabetes

from workbench.data.schema import Attribute

PROGRESSION = {
    "age": (18, 80),
    "sex": (1, 2),
    "bmi": (15, 45),
    "bp": (60, 140),
    "s1": (90, 320),
    "s2": (40, 250),
    "s3": (20, 100),
    "s4": (1, 10),
    "s5": (3, 7),
    "s6": (50, 130),
}
BOSTON = {
    "crim": (0, 100),
    "zn": (0, 100),
    "indus": (0, 30),
    "chas": (0, 1),
    "nox": (0.3, 0.9),
    "rm": (3, 9),
    "age": (0, 100),
    "dis": (1, 13),
    "rad": (1, 24),
    "tax": (150, 750),
    "ptratio": (12, 23),
    "b": (0, 400),
    "lstat": (0, 40),
}


@dataclass(frozen=True)
class Table:
    """Rows X (n, d) and y (n,) with the public facts about their columns."""

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    attributes: tuple[Attribute, ...]
    target: Attribute

    def split(self, repeat: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Indices of training and held-out rows, 80 to 20."""
        order = np.random.default_rng([7, repeat]).permutation(len(self.y))
        cut = int(0.8 * len(order))
        return order[:cut], order[cut:]

    def turned(self) -> Table:
        """The same table with its columns from right to left."""
        return dataclasses.replace(self, X=self.X[:, ::-1], attributes=self.attributes[::-1])


def table(
    X: NDArray[np.float64], y: NDArray[np.float64], bounds: dict[str, tuple[float, float]], goal: tuple[float, float]
) -> Table:
    attributes = tuple(Attribute(name=n, kind="real", lower=lo, upper=hi) for n, (lo, hi) in bounds.items())
    return Table(X, y, attributes, Attribute(name="y", kind="real", lower=goal[0], upper=goal[1]))


def diabetes_progression() -> Table:
    X, y = load_diabetes(return_X_y=True, scaled=False)
    return table(X, y, PROGRESSION, (0, 350))


def boston(shared_data: Path) -> Table:
    with (shared_data / "BostonHousing.csv").open() as file:
        next(file)
        rows = np.array([[float(cell.strip('"')) for cell in line.split(",")] for line in file])
    return table(rows[:, :-1], rows[:, -1], BOSTON, (0, 50))
