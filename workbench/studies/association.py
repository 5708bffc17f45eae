"""The association of two columns of any kinds: one number per pair.

Two columns of numbers: Pearson's correlation r in [−1, 1]. Numbers and names: the correlation ratio η in [0, 1]
(R. A. Fisher, *Statistical Methods for Research Workers*, 1925, §45), the share of the numbers' standard deviation
that the groups explain. Names and names: Cramér's V in [0, 1] (H. Cramér, *Mathematical Methods of Statistics*,
1946, §21.9). η and V of independent columns are above 0 by chance, the more so the more names there are, which would
suggest relationships in a sanitised table; so both are corrected: ε² in place of η² (T. L. Kelley, PNAS 21, 1935,
554–559), and Ṽ in place of V (W. Bergsma, J. Korean Stat. Soc. 42, 2013, 323–328), both cut at 0.

Everything here is computed from the rows as given: it is private if they are.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.data.columns.grid import Grid
from workbench.privacy.local.cells import CellArray
from workbench.signals.cancel import NEVER, CancelToken

_DENSE = 1 << 22
"""Most cells of a contingency table that is counted in full; of a larger one only non-empty cells are counted."""


@dataclass(frozen=True, eq=False)
class Variable:
    """One column, as numbers or as names."""

    name: str  # the column
    values: NDArray[Any]  # (n,) doubles with NaN for a missing value; or (n,) codes of names, −1 for a missing value
    numeric: bool  # which of the two

    @property
    def present(self) -> NDArray[np.bool_]:
        """Which rows have a value, shape (n,)."""
        present: NDArray[np.bool_] = ~np.isnan(self.values) if self.numeric else self.values >= 0
        return present


def variable(grid: Grid, cells: CellArray) -> Variable:
    """Return the cells of a grid, (n,), as numbers, or as codes with −1 for a missing value."""
    if grid.cells.values is not None:
        return Variable(grid.attribute.name, grid.numbers_of(cells), numeric=True)
    codes = cells.astype(np.int64)
    return Variable(grid.attribute.name, np.where(codes == grid.cells.size, -1, codes), numeric=False)


def measure(one_numeric: bool, other_numeric: bool) -> str:
    """Return the name of the measure for two kinds of columns."""
    if one_numeric and other_numeric:
        return "Pearson's r"
    return "correlation ratio η" if one_numeric or other_numeric else "Cramér's V"


def association(one: Variable, other: Variable) -> float:
    """Return the association of two columns over the rows in which neither is missing.

    It is NaN if one of the two does not vary, or if there are fewer than three such rows.
    """
    both = one.present & other.present
    x, y = (one.values, other.values) if both.all() else (one.values[both], other.values[both])
    if x.size < 3:
        return math.nan
    if one.numeric and other.numeric:
        return _pearson(x, y)
    if one.numeric or other.numeric:
        return _correlation_ratio(*((x, y) if one.numeric else (y, x)))
    return _cramer(x, y)


def associations(variables: Sequence[Variable], cancel: CancelToken = NEVER) -> NDArray[np.float64]:
    """Return the (k, k) symmetric matrix of :func:`association`, 1 on its diagonal."""
    out = np.eye(len(variables))
    for i, one in enumerate(variables):
        for j in range(i):
            cancel.check()
            out[i, j] = out[j, i] = association(one, variables[j])
    return out


def _pearson(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    a, b = _standardised(x), _standardised(y)
    if a is None or b is None:
        return math.nan
    return float(np.clip(a @ b, -1.0, 1.0))


def _standardised(x: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Return the deviations from the mean, scaled to length 1; ``None`` where there are none."""
    most = float(np.abs(x).max())
    if float(x.min()) == float(x.max()):
        return None
    scaled = x / most  # squares of what lies near 1e150 would overflow
    scaled = scaled - scaled.mean()
    length = float(np.sqrt(scaled @ scaled))
    return scaled / length if length > 0 else None


def _correlation_ratio(x: NDArray[np.float64], groups: NDArray[np.int64]) -> float:
    z = _standardised(x)
    sizes = np.bincount(groups)
    classes = int(np.count_nonzero(sizes))
    if z is None or classes < 2 or classes >= x.size:
        return math.nan
    sums = np.bincount(groups, weights=z)
    between = float((sums[sizes > 0] ** 2 / sizes[sizes > 0]).sum())  # of a total of 1
    squared = 1 - (x.size - 1) / (x.size - classes) * (1 - between)
    return math.sqrt(min(max(squared, 0.0), 1.0))


def _cramer(x: NDArray[np.int64], y: NDArray[np.int64]) -> float:
    n = x.size
    rows, columns = np.bincount(x), np.bincount(y)
    r, k = int(np.count_nonzero(rows)), int(np.count_nonzero(columns))
    if r < 2 or k < 2:
        return math.nan
    joint = x.astype(np.int64) * columns.size + y
    if rows.size * columns.size <= _DENSE:
        counted = np.bincount(joint, minlength=rows.size * columns.size)
        places = np.flatnonzero(counted)
        counts = counted[places]
    else:
        places, counts = np.unique(joint, return_counts=True)
    expected = rows[places // columns.size].astype(np.float64) * columns[places % columns.size]
    phi2 = float((counts.astype(np.float64) ** 2 / expected).sum()) - 1.0
    phi2 = max(0.0, phi2 - (r - 1) * (k - 1) / (n - 1))
    r_fit, k_fit = r - (r - 1) ** 2 / (n - 1), k - (k - 1) ** 2 / (n - 1)
    least = min(r_fit, k_fit) - 1
    return math.sqrt(min(phi2 / least, 1.0)) if least > 0 else math.nan


MOST_TABLES = 2000
MOST_CODES = 400_000_000  # most rows times tables that are counted: of more, evenly spaced tables are taken

LEAST_TABLES = 100

Codes = NDArray[np.integer]


def total_variation(p: NDArray[np.int64], q: NDArray[np.int64]) -> float:
    """Return ½ · Σ |p/Σp − q/Σq| of two tables of counts of the same shape, each with at least one row."""
    return float(np.abs(p / p.sum() - q / q.sum()).sum()) / 2


def distance(a: NDArray[np.int64], b: NDArray[np.int64], cells: int) -> float:
    """Return the distance of the counts of two arrays of codes from 0 and below ``cells``."""
    if cells > _DENSE:
        known, places = np.unique(np.concatenate([a, b]), return_inverse=True)
        a, b, cells = places[: len(a)], places[len(a) :], len(known)
    return total_variation(np.bincount(a, minlength=cells), np.bincount(b, minlength=cells))


def way_distances(
    one: Codes,
    other: Codes,
    sizes: Sequence[int],
    order: int,
    cancel: CancelToken,
    on_table: Callable[[int, int], None] = lambda done, of: None,
) -> list[tuple[tuple[int, ...], float]]:
    """Return the distance of each table of ``order`` columns, or of evenly spaced ones where there are too many.

    ``one`` (n, d) and ``other`` (m, d) are cells, of ``sizes`` in each column; ``on_table`` gets how many are done.
    """
    first, second = ([np.ascontiguousarray(s[:, j], dtype=np.int64) for j in range(len(sizes))] for s in (one, other))
    most = min(MOST_TABLES, max(LEAST_TABLES, MOST_CODES // (len(one) + len(other))))
    chosen = spaced(len(sizes), order, most)
    found = []
    for done, columns in enumerate(chosen, start=1):
        cancel.check()
        a, b = (_joined([side[j] for j in columns], [sizes[j] for j in columns]) for side in (first, second))
        found.append((columns, distance(a, b, math.prod(sizes[j] for j in columns))))
        on_table(done, len(chosen))
    return found


def spaced(columns: int, order: int, most: int) -> list[tuple[int, ...]]:
    """Return all choices of ``order`` of the columns, or ``most`` of them, evenly spaced."""
    every, count = itertools.combinations(range(columns), order), math.comb(columns, order)
    if count <= most:
        return list(every)
    wanted = {round(k) for k in np.linspace(0, count - 1, most)}
    return [chosen for place, chosen in enumerate(every) if place in wanted]


def _joined(codes: Sequence[NDArray[np.int64]], sizes: Sequence[int]) -> NDArray[np.int64]:
    joint = codes[0]
    for column, size in zip(codes[1:], sizes[1:], strict=True):
        joint = joint * size + column
    return joint
