"""Expected errors of figures from synthetic rows, estimated by trials of the method on simulated values.

No row is read: a trial takes values of a public shape (even, a bell, skewed), measures the one table that a figure is
read from with the noise that it will have, fits it as the method does, and compares the figure with that of the made-up
values. Such a trial knows what formulas leave out: noise that a fit takes back where counts would be negative, and the
coarse cells in which values are not spread evenly. The columns are made up independently of each other.

Of ``tan`` (:class:`Threes`) there is a formula instead: its cells have about equal shares, so that noise moves every
figure alike. On six public tables at ε from .3 to 10, 4 % of means and shares and 6 % of correlations were farther off.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from workbench.privacy.local.error_profile import usual_shapes
from workbench.sanitize.utility_summary import NORMAL_95
from workbench.signals.cancel import CancelToken
from workbench.synth import MARGINALS, MST, TAN
from workbench.synth.base import COUNTS, Questions, Setting, Synthesiser
from workbench.synth.columns import CoarseColumn, CodedRows
from workbench.synth.synthesis import cost_of_synthesis, fitted_model
from workbench.synth.tan import largest_parts
from workbench.work.noise import Study

Doubles = NDArray[np.float64]

MOST_ROWS = 4000  # rows of a trial: of more rows with as much more ε the error is the same

TRIES = 4  # trials of each shape

ROUNDS_OF_A_TRIAL = 30

_IN_A_CELL = 0.07
"""How far a mean is off because values lie unevenly in coarse cells, in parts of a cell: of the trials' shapes."""

_RANGE, _INSIDE, _APART = 5.0, 0.06, 0.25
"""Standard deviations in a usual range; how many of them a mean, and by how much a correlation is off in one part."""

_SHAPES = (0, 1, 5)  # of `usual_shapes`: even, a bell in the middle, and skewed with a mean of a tenth of the range


@dataclass(frozen=True, eq=False)
class Trial:
    """What the trials measure: one column, or a column beside the target.

    Trials are made at strengths that are powers of two; between two of them the error is interpolated. So trials of
    columns that are alike serve all of them, and those that were made serve another ε.
    """

    columns: tuple[CoarseColumn, ...]  # the column, or the target and the column
    share: float  # ε of the measured table
    rows: int  # of the table, public

    def half_length(self, asked: str, cancel: CancelToken) -> float:
        """Return half of the 95 % interval of a figure of the last column, as far as the trials show.

        Args:
            asked: ``mean``, ``share`` (of its last value) or ``correlation`` (with the first column).
            cancel: checked before each trial.
        """
        below, part = divmod(self._strength, 1.0)
        found = [self._tried(asked, power, cancel) for power in (int(below), int(below) + 1)]
        return (1 - part) * found[0] + part * found[1]

    def coarse(self, asked: str, cancel: CancelToken) -> float:
        """Return the same at once, off by half or so: by formula, and of a correlation by one trial, of skewed values.

        Where all trials were made before, it is what they show.
        """
        below = int(self._strength // 1)
        if all(run.key in _KEPT for power in (below, below + 1) for run in self._runs(power)):
            return self.half_length(asked, cancel)
        cell = math.sqrt(2) / (self.share * max(self.rows, 1))
        if asked == "correlation":
            *others, skewed = range(len(_SHAPES))
            run = self._run(round(self._strength), skewed, 0)
            errors = [min(cell * math.prod(_spread(c, shape) for c in self.columns), 0.3) for shape in others]
            return NORMAL_95 * math.sqrt(float(np.mean(np.square([*errors, run.errors(cancel)[asked]]))))
        noise = cell * math.sqrt(math.prod(column.size for column in self.columns[:-1]))
        if asked == "share":
            return NORMAL_95 * min(noise, 0.3)
        middles = _middles(self.columns[-1])
        reach = float(middles[-1] - middles[0])
        moved = noise * math.sqrt(float(np.sum((middles - middles.mean()) ** 2)))
        inside = _IN_A_CELL * reach / max(len(middles) - 1, 1)
        return NORMAL_95 * math.hypot(min(moved, reach / 3), inside)

    @property
    def _strength(self) -> float:
        """The ε of the table of a trial that has as much noise, beside its rows: the power of two."""
        rows = max(self.rows, 1)
        return math.log2(self.share * rows / min(rows, MOST_ROWS))

    def _runs(self, power: int) -> list[_Run]:
        return [self._run(power, shape, k) for shape in range(len(_SHAPES)) for k in range(TRIES)]

    def _run(self, power: int, shape: int, number: int) -> _Run:
        rows = min(max(self.rows, 1), MOST_ROWS)
        return _Run(self._alike, (rows, power, shape, number))

    @cached_property
    def _alike(self) -> tuple[_Alike, ...]:
        return tuple(_Alike.of(column) for column in self.columns)

    def _tried(self, asked: str, power: int, cancel: CancelToken) -> float:
        errors = [run.errors(cancel)[asked] for run in self._runs(power)]
        unit = self._alike[-1].unit if asked == "mean" else 1.0
        return unit * NORMAL_95 * math.sqrt(float(np.mean(np.square(errors))))


@dataclass(frozen=True)
class Threes:
    """How ``tan`` measures one column: alone, and in tables with the target and a third column."""

    column: CoarseColumn
    cell: float  # standard deviation of the noise of a cell of a table, in parts of the rows
    alone: float  # the same of a cell of the column's own counts
    # Most cells of the model of the column, and of the target (of another column, where it is the target).
    parts: tuple[int, int]
    third: float  # over how many cells of a third column a table is summed; as many times less as there are more tables

    @classmethod
    def of(cls, setting: Setting, place: int, method: Synthesiser = TAN) -> Threes:
        """Return it for the column at ``place``; ``method`` measures tables as ``tan`` does."""
        inner = method.inner(setting)
        target, sides, queries = setting.target, largest_parts(inner), TAN.queries(inner)
        noise = {q.label: math.sqrt(q.paid.variance()) / max(setting.rows, 1) for q in queries if q.form == COUNTS}
        column, cell = setting.columns[place], noise[queries[-1].label]
        others = [side for j, side in enumerate(sides) if j not in (target, place)]
        # Small tables are chosen first: columns of few cells are in many of them, and beside every other column.
        third = len(others) / sum(1 / side for side in others)
        beside = sides[target] if target is not None and place != target else round(third)
        tables = len(others) - 1 if place == target else min(max(third / sides[place], 1.0), float(len(others)))
        return cls(column, cell, noise[f"counts of {column.name}"], (sides[place], beside), third / tables)

    def half_length(self, asked: str) -> float:
        """Return half of the 95 % interval of a figure, about, as :meth:`Trial.half_length`; without a trial."""
        own, beside = self.parts
        if asked == "correlation":
            moved = self.cell * math.sqrt(self.third * own * beside)
            return NORMAL_95 * min(math.hypot(moved, _APART / max(self.parts)), 0.3)
        # A cell of the model is known from the tables, and from the column alone, of which it may join several cells.
        joined = math.sqrt(max(self.column.size / own, 1.0))
        share = 1 / math.hypot(1 / (self.cell * math.sqrt(self.third * beside)), 1 / (self.alone * joined))
        if asked == "share":  # all cells together are the public number of rows
            return NORMAL_95 * min(share * math.sqrt(1 - 1 / max(own, 2)), 0.3)
        moved = math.hypot(share * math.sqrt(own), _INSIDE / own)
        return NORMAL_95 * min(moved, 1.0) * float(np.ptp(_numbers(self.column))) / _RANGE


@dataclass(frozen=True, eq=False)
class _Alike:
    """A column as a trial sees it."""

    key: bytes  # the same for columns of which trials have the same errors
    column: CoarseColumn  # it, or one like it, with the numbers 0, 1, 2, … where they are evenly spaced
    unit: float  # the distance of two of its numbers, in that of those

    @classmethod
    def of(cls, column: CoarseColumn) -> _Alike:
        own = column.grid.cells
        cells, unit = own.counted(), 1.0
        if own.values is not None and cells is not own:
            unit = float(own.values[-1] - own.values[0]) / (cells.size - 1)
        numbers = b"" if cells.values is None else np.asarray(cells.values, dtype=np.float64).tobytes()
        stated = f"{cells.size} {column.cuts} {cells.missing} ".encode() + column.firsts().tobytes() + numbers
        return cls(sha256(stated).digest(), replace(column, grid=replace(column.grid, cells=cells)), unit)


@dataclass(frozen=True, eq=False)
class _Run:
    """One trial of one or two columns."""

    alike: tuple[_Alike, ...]  # the columns
    # Rows of the made-up table; the power of two that is the ε of the measured one; which of `_SHAPES` the values have;
    # the number of the trial.
    what: tuple[int, int, int, int]

    @property
    def key(self) -> _Key:
        return tuple(each.key for each in self.alike), self.what

    def errors(self, cancel: CancelToken) -> Mapping[str, float]:
        """Return how far each figure of the last column is off, made or kept."""
        found = _KEPT.get(self.key)
        if found is None:
            found = self._made(cancel)
            while len(_KEPT) >= _MOST_KEPT:
                _KEPT.pop(next(iter(_KEPT)), None)
            _KEPT[self.key] = found
        return found

    def _made(self, cancel: CancelToken) -> Mapping[str, float]:
        cancel.check()
        rows, power, shape, number = self.what
        columns = tuple(each.column for each in self.alike)
        draw = np.random.default_rng([shape, number])
        fine = [draw.choice(c.grid.cells.size, rows, p=_shape(c, shape)) for c in columns]
        codes = np.column_stack([c.coarse(f.astype(np.uint32)) for c, f in zip(columns, fine, strict=True)])
        method = MARGINALS if len(columns) == 2 else MST
        setting = _setting(method, columns, rows, 2.0**power)
        ask = Study(draw).ask(cost_of_synthesis(method, setting))
        questions = Questions(setting, method.queries(setting), CodedRows(codes, np.ones(rows, dtype=bool)), ask)
        model = fitted_model(setting, method.ask(questions), cancel, rounds=ROUNDS_OF_A_TRIAL)
        joint = model.of(range(len(columns)))
        last, exact = columns[-1], fine[-1]
        share = joint.sum(axis=tuple(range(joint.ndim - 1)))[last.cuts - 1]
        found = {
            "share": float(share - np.mean(exact == last.grid.cells.size - 1)),
            "mean": _mean(joint, last) - float(_numbers(last)[exact].mean()),
        }
        if len(columns) == 2:
            true = _correlation(_numbers(columns[0])[fine[0]], _numbers(last)[exact])
            found["correlation"] = _correlated(joint, columns) - true
        return found


_Key = tuple[tuple[bytes, ...], tuple[int, int, int, int]]
_KEPT: dict[_Key, Mapping[str, float]] = {}
_MOST_KEPT = 16_384


def _setting(method: Synthesiser, columns: tuple[CoarseColumn, ...], rows: int, share: float) -> Setting:
    """Return the setting in which the last table has the noise of an ε of ``share``."""
    target = 0 if len(columns) == 2 else None
    one = Setting(columns, target, rows, Decimal(1))
    part = [query for query in method.queries(one) if query.form == COUNTS][-1].paid.strength
    return Setting(columns, target, rows, Decimal(repr(share / part)))


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


def _spread(column: CoarseColumn, shape: int) -> float:
    """Return the root of how much noise of every coarse cell alike moves a covariance, in parts of the variance."""
    shares = np.add.reduceat(_shape(column, shape), column.firsts()[:-1])
    away = _middles(column) - shares @ _middles(column)
    return math.sqrt(float(away @ away) / max(float(shares @ away**2), 1e-300))


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
