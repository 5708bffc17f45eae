"""DBSCAN on a public grid, private or not, in one code path.

What is asked (pure ε, zero-out neighbours, discrete Laplace noise on whole numbers): how many rows lie in each cell of
a public grid over the declared bounds, *all* cells, the empty ones too. A row lies in one cell: L1 sensitivity 1. A
cell is dense if its noisy count reaches a public limit, which noise alone hardly ever does; dense cells that share a
side are one group.

Released are the counts. Groups are of cells, never of rows: which group a training row is in, or that it is noise,
would show where it is. Noise on the distances between rows, as it is sometimes taught, protects nobody: a row far
from all others stays far from them (``tests/learners/test_kmeans.py`` shows it). Grid-based density clustering: Wang
et al., STING (1997); with differential privacy: Wu et al., DP-DBSCAN (2015).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.learners.base import Answers, Model, PrivateEstimator, blocks_of
from workbench.learners.encoding import grid_of
from workbench.learners.setting import FitSetting, privacy_budget
from workbench.learners.tasks import CLUSTERING
from workbench.params import ParameterError, Parameters, choice, integer
from workbench.privacy.accounting.event import exact
from workbench.work.ask import Ask

NEAREST, APART = "nearest", "apart"


@dataclass(frozen=True, kw_only=True)
class DbscanParameters(Parameters):
    """Budget, cells and density. The defaults were chosen on generated tables and scikit-learn's."""

    epsilon: float | None = privacy_budget("the groups")
    parts: int | None = integer(
        default=None,
        at_least=2,
        upto=64,
        title="bins per column",
        help="number of grid cells along each column (default: from ε and the number of rows)",
    )
    min_rows: int | None = integer(
        default=None,
        at_least=1,
        upto=1_000_000_000,
        title="rows of a dense cell",
        help="minimum rows of a cell in a cluster; raised if noise alone could reach it",
    )
    outliers: str = choice(
        choices=(NEAREST, APART),
        titles={NEAREST: "nearest group", APART: "group -1"},
        default=NEAREST,
        title="rows outside dense cells",
        help="assigned to the nearest cluster, or to cluster -1 (noise)",
        advanced=True,
    )


COUNTS = "cells"
Cells = NDArray[np.int64]

_MOST_CELLS = 20_000
_MOST_PARTS = 16
_ROWS_A_CELL = 0.5  # n·ε of noise's own unit for each cell: with less, dense cells cannot be distinguished from noise
_FALSE_CELLS = 0.1  # expected number of empty cells that noise makes dense
_DENSE_SHARE = 0.01
_PARTS_WITHOUT_NOISE = 8


class Setting(FitSetting[DbscanParameters]):
    """The public facts of a fit, and what follows from them."""

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of parts of each encoded column, (D,).

        Raises:
            ParameterError: the grid has more cells than can be counted.
        """
        if self.parameters.parts is not None:
            sizes = self.encoding.cells(self.parameters.parts)
        else:
            known = self.rows * self.epsilon / _ROWS_A_CELL if self.private else math.inf
            most = _MOST_PARTS if self.private else _PARTS_WITHOUT_NOISE
            tried = map(self.encoding.cells, range(most, 2, -1))
            sizes = next((s for s in tried if math.prod(s) <= min(known, _MOST_CELLS)), self.encoding.cells(2))
        if math.prod(sizes) > _MOST_CELLS:
            raise ParameterError(
                f"the grid of {len(sizes)} columns has {math.prod(sizes):,} cells, too many to count",
                "DBSCAN",
                ("use fewer columns", "use fewer bins per column"),
            )
        return sizes

    @cached_property
    def cells(self) -> int:
        """How many cells there are."""
        return math.prod(self.sizes)

    @cached_property
    def shares(self) -> dict[str, Decimal]:
        return {COUNTS: exact(self.epsilon)} if self.private else {}

    def check(self) -> None:
        """Raise :class:`ParameterError` where the grid has more cells than can be counted."""
        _ = self.sizes

    def lengths(self) -> dict[str, int]:
        return {COUNTS: self.cells}

    @cached_property
    def least(self) -> int:
        """The least noisy count of a dense cell.

        Noise alone reaches t with probability e^(−εt)/(1 + e^(−ε)); of all cells this makes few dense.
        """
        asked = self.parameters.min_rows or max(2, round(_DENSE_SHARE * self.rows))
        if not self.private:
            return asked
        odds = _FALSE_CELLS / self.cells * (1 + math.exp(-self.budget(COUNTS)))
        return max(asked, math.ceil(-math.log(min(odds, 1.0)) / self.budget(COUNTS)), 1)

    def cell(self, X: ArrayLike) -> Cells:
        """Return the parts of each row (n, D), each computed from its own row in whole numbers.

        Raises:
            InputError: a value that the column's declaration does not allow, naming row and column.
        """
        size = grid_of(1)
        encoded = self.encoding.encode(X, size)
        return np.asarray((encoded + size) * np.array(self.sizes) // (2 * size + 1))

    def number(self, cells: Cells) -> Cells:
        """Return the number of each cell (n,) of parts (n, D)."""
        return np.asarray(np.ravel_multi_index(tuple(cells.T), self.sizes), dtype=np.int64)

    def groups(self, counts: NDArray[np.int64]) -> tuple[Cells, NDArray[np.int64]]:
        """Return the dense cells (m, D) and the group of each (m,), the largest group first.

        Dense cells that share a side are of one group.
        """
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        dense = np.flatnonzero(counts >= self.least)
        if not len(dense):
            return np.zeros((0, self.width), dtype=np.int64), np.zeros(0, dtype=np.int64)
        number = np.full(self.cells, -1)
        number[dense] = np.arange(len(dense))
        grid, beside = number.reshape(self.sizes), list[Cells]()
        for axis in range(self.width):
            along = np.moveaxis(grid, axis, 0)
            pairs = np.stack([along[:-1].ravel(), along[1:].ravel()])
            beside.append(pairs[:, (pairs >= 0).all(axis=0)])
        touching = np.concatenate(beside, axis=1)
        _, group = connected_components(coo_array((np.ones(touching.shape[1]), tuple(touching)), (len(dense),) * 2))
        weights = np.bincount(group, weights=counts[dense])
        rank = np.argsort(np.argsort(-weights, kind="stable"), kind="stable")
        return np.column_stack(np.unravel_index(dense, self.sizes)).astype(np.int64), rank[group].astype(np.int64)


_ROWS_AT_ONCE = 4_096


class DbscanModel(Model[Setting]):
    """The released counts, and the groups of cells made from them.

    Attributes:
        dense_: the dense cells as parts (m, D).
        groups_: the group of each dense cell (m,), the largest group first.
    """

    name, task = "dbscan", CLUSTERING
    parameters_type, setting_type = DbscanParameters, Setting

    def __init__(self, setting: Setting, noise: str, answers: Answers) -> None:
        super().__init__(setting, noise, answers)
        self.dense_, self.groups_ = setting.groups(np.array(answers[COUNTS], dtype=np.int64))

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Return the group of each row (n,): that of its cell, else that of the nearest dense cell, or −1."""
        cells = self.setting.cell(X)
        out = np.zeros(len(cells), dtype=np.int64)
        if not len(self.dense_):
            return out - 1 if self.setting.parameters.outliers == APART else out
        scale = 1 / np.array(self.setting.sizes)
        for begin in range(0, len(cells), _ROWS_AT_ONCE):
            part = slice(begin, begin + _ROWS_AT_ONCE)
            distance = np.abs((cells[part, None, :] - self.dense_[None]) * scale).sum(axis=2)
            nearest = distance.argmin(axis=1)
            found = self.groups_[nearest]
            if self.setting.parameters.outliers == APART:
                found = np.where(distance[np.arange(len(found)), nearest] > 0, -1, found)
            out[part] = found
        return out


class Dbscan(PrivateEstimator[DbscanModel]):
    """DBSCAN on a grid; the target's classes say only which rows are empty, and no group is made from them."""

    model_type = DbscanModel

    def _answers(self, ask: Ask, setting: Setting, X: NDArray[np.float64], y: NDArray[Any]) -> Answers:
        counts = np.zeros(setting.cells, dtype=np.int64)
        for here in blocks_of(len(X)):
            counts += np.bincount(setting.number(setting.cell(X[here])), minlength=setting.cells)
        return {COUNTS: ask(COUNTS, counts.tolist(), 1)}


DBSCAN = Dbscan.described(
    "DBSCAN on a grid",
    "Counts the rows in each cell of a public grid with noise, and joins neighbouring dense cells into clusters.",
    short="DBSCAN",
)
