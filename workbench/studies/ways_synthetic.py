"""How far figures of synthetic rows will be off, foreseen by trials of the method on made-up values.

No row is read: a trial takes values of a public shape (even, a bell, skewed), measures the one table that a figure is
read from with the noise that it will have, fits it as the method does, and compares the figure with that of the made-up
values. Such a trial knows what formulas leave out: noise that a fit takes back where counts would be negative, and the
coarse cells in which values are not spread evenly. The columns are made up independently of each other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from workbench.privacy.local.error_profile import usual_shapes
from workbench.sanitize.usefulness import NORMAL_95
from workbench.signals.cancel import CancelToken
from workbench.synth import MARGINALS, MST
from workbench.synth.base import COUNTS, Questions, Setting, Synthesiser
from workbench.synth.columns import CoarseColumn, CodedRows
from workbench.synth.synthesis import cost_of_synthesis, fitted_model
from workbench.synth.tree import Marginals
from workbench.work.noise import Study

Doubles = NDArray[np.float64]

MOST_ROWS = 4000
"""Rows of a trial: of more rows with as much more ε the error is the same."""

TRIES = 4
"""Trials of each shape."""

ROUNDS_OF_A_TRIAL = 60

_IN_A_CELL = 0.07
"""How far a mean is off because values lie unevenly in coarse cells, in parts of a cell: of the trials' shapes."""

_SHAPES = (0, 1, 5)
"""Of :func:`usual_shapes`: even, a bell in the middle, and skewed with a mean of a tenth of the range."""


@dataclass(frozen=True, eq=False)
class Trial:
    """What the trials measure: one column, or a column beside the target.

    Attributes:
        columns: the column, or the target and the column.
        share: ε of the measured table.
        rows: of the table, public.
    """

    columns: tuple[CoarseColumn, ...]
    share: float
    rows: int

    def half_length(self, asked: str, cancel: CancelToken) -> float:
        """Return half of the 95 % interval of a figure of the last column, as far as the trials tell.

        Args:
            asked: ``mean``, ``share`` (of its last value) or ``correlation`` (with the first column).
            cancel: checked before each trial.

        Raises:
            CancelledError: ``cancel`` was set.
        """
        return self._tried(asked, TRIES, cancel)

    def coarse(self, asked: str, cancel: CancelToken) -> float:
        """Return the same at once, off by half or so: by formula, and of a correlation by one trial of each shape."""
        if asked == "correlation":
            return self._tried(asked, 1, cancel)
        beside = math.prod(column.size for column in self.columns[:-1])
        noise = math.sqrt(2 * beside) / (self.share * max(self.rows, 1))
        if asked == "share":
            return NORMAL_95 * min(noise, 0.3)
        middles = _middles(self.columns[-1])
        reach = float(middles[-1] - middles[0])
        moved = noise * math.sqrt(float(np.sum((middles - middles.mean()) ** 2)))
        inside = _IN_A_CELL * reach / max(len(middles) - 1, 1)
        return NORMAL_95 * math.hypot(min(moved, reach / 3), inside)

    def _tried(self, asked: str, tries: int, cancel: CancelToken) -> float:
        errors = [self._error(asked, shape, k, cancel) for shape in range(len(_SHAPES)) for k in range(tries)]
        return NORMAL_95 * math.sqrt(float(np.mean(np.square(errors))))

    def _error(self, asked: str, shape: int, k: int, cancel: CancelToken) -> float:
        cancel.check()
        draw = np.random.default_rng([shape, k])
        rows = min(max(self.rows, 1), MOST_ROWS)
        fine = [draw.choice(c.grid.cells.size, rows, p=_shape(c, shape)) for c in self.columns]
        codes = np.column_stack([c.coarse(f.astype(np.uint32)) for c, f in zip(self.columns, fine, strict=True)])
        method = MARGINALS if len(self.columns) == 2 else MST
        setting = self._setting(method, rows)
        ask = Study(draw).ask(cost_of_synthesis(method, setting))
        questions = Questions(setting, method.queries(setting), CodedRows(codes, np.ones(rows, dtype=bool)), ask)
        model = fitted_model(setting, method.ask(questions), cancel, rounds=ROUNDS_OF_A_TRIAL)
        joint = _joint(model, len(self.columns))
        last, exact = self.columns[-1], fine[-1]
        if asked == "share":
            found = joint.sum(axis=tuple(range(joint.ndim - 1)))[last.cuts - 1]
            return float(found - np.mean(exact == last.grid.cells.size - 1))
        if asked == "mean":
            return _mean(joint, last) - float(_numbers(last)[exact].mean())
        return _correlated(joint, self.columns) - _correlation(
            _numbers(self.columns[0])[fine[0]], _numbers(last)[exact]
        )

    def _setting(self, method: Synthesiser, rows: int) -> Setting:
        """Return the setting in which the last table has as much noise, beside the rows, as it will have."""
        target = 0 if len(self.columns) == 2 else None
        one = Setting(self.columns, target, rows, Decimal(1))
        part = [query for query in method.queries(one) if query.form == COUNTS][-1].paid.strength
        epsilon = self.share * max(self.rows, 1) / rows / part
        return Setting(self.columns, target, rows, Decimal(repr(epsilon)))


def _shape(column: CoarseColumn, shape: int) -> Doubles:
    """Return how often each public value is made up: of names, alike or each half as often as the former."""
    if column.grid.cells.values is not None:
        shares: Doubles = usual_shapes(np.asarray(column.grid.cells.values))[_SHAPES[shape]]
        return shares
    raw = np.full(column.grid.cells.size, (1.0, 0.8, 0.5)[shape]) ** np.minimum(np.arange(column.grid.cells.size), 60)
    out: Doubles = raw / raw.sum()
    return out


def _numbers(column: CoarseColumn) -> Doubles:
    values = column.grid.cells.values
    return np.arange(column.grid.cells.size, dtype=np.float64) if values is None else np.asarray(values)


def _middles(column: CoarseColumn) -> Doubles:
    """Return the mean value of each coarse cell, as values are drawn in it, (cuts,)."""
    firsts, numbers = column.firsts(), _numbers(column)
    return np.add.reduceat(numbers, firsts[:-1]) / np.diff(firsts)


def _joint(model: object, columns: int) -> Doubles:
    """Return the model's shares of the cells of its columns, the last column's on the last axis."""
    assert isinstance(model, Marginals)
    return model.nodes[0] if columns == 1 else model.tables[0]


def _mean(joint: Doubles, column: CoarseColumn) -> float:
    shares = joint.sum(axis=tuple(range(joint.ndim - 1)))[: column.cuts]
    return float(shares @ _middles(column) / max(float(shares.sum()), 1e-300))


def _correlated(joint: Doubles, columns: tuple[CoarseColumn, ...]) -> float:
    inner = joint[: columns[0].cuts, : columns[1].cuts]
    inner = inner / max(float(inner.sum()), 1e-300)
    a, b = (_middles(column) for column in columns)
    pa, pb = inner.sum(axis=1), inner.sum(axis=0)
    a, b = a - pa @ a, b - pb @ b
    spread = math.sqrt(float(pa @ a**2) * float(pb @ b**2))
    return float(a @ inner @ b) / spread if spread > 0 else 0.0


def _correlation(a: Doubles, b: Doubles) -> float:
    return float(np.corrcoef(a, b)[0, 1]) if a.std() > 0 and b.std() > 0 else 0.0
