"""The public grid of one attribute: how its values become cells and cells become released text; rows as a matrix."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.data.columns.values import codes, numbers
from workbench.data.schema import Attribute
from workbench.data.table import Table
from workbench.params import ParameterError
from workbench.params.remedies import DECLARE, Remedy, declare
from workbench.privacy.local.cells import CellArray, Cells
from workbench.privacy.local.limits import MOST_CELLS

REAL_CELLS = 501  # default number of cells of a real attribute: a fifth of a percent of its range

LONG_RANGE_CELLS = 1024
"""Most cells of an integer range too long for one cell a number; the step is then 1, 2 or 5 times a power of ten."""


def smallest_type(size: int) -> type[np.unsignedinteger[Any]]:
    """Return the type of so many codes in which they take the least room."""
    return np.uint8 if size <= 1 << 8 else np.uint16 if size <= 1 << 16 else np.uint32


@dataclass(frozen=True, eq=False)
class Grid:
    """The cells of one attribute and the text each is released as."""

    attribute: Attribute  # what was declared
    cells: Cells  # the cells as mechanisms see them
    labels: tuple[str, ...]  # the released text of each cell that holds a value
    step: float = 0.0  # distance between neighbouring numbers; 0 for names

    @property
    def dtype(self) -> type[np.uint16] | type[np.uint32]:
        """The type of an array of its cells."""
        return np.uint16 if self.cells.size <= MOST_CELLS else np.uint32

    def encode(self, table: Table) -> Any:
        """Return the (n,) cells of the attribute's column; numbers outside the bounds are clamped.

        Raises:
            InputError: a value is missing or outside the domain and the attribute does not allow it; the row is named.
        """
        if self.cells.values is None:
            return codes(table, self.attribute).astype(self.dtype)
        return self.cells_of(numbers(table, self.attribute))

    def cells_of(self, x: NDArray[np.float64]) -> Any:
        """Return the (n,) cells of the numbers of a column; NaN is a missing value."""
        lower, upper = self.attribute.bounds()
        nearest = np.clip(x, lower, upper)
        nearest -= lower
        nearest /= self.step
        nearest += 0.5
        np.floor(nearest, out=nearest)
        np.minimum(nearest, self.cells.size - 1, out=nearest)
        nearest[np.isnan(nearest)] = self.cells.size  # the last cell; only attributes that keep missing values have NaN
        return nearest.astype(self.dtype)

    def decode(self, cells: CellArray) -> pl.Series:
        """Return the released text of each cell; missing is null."""
        labels = pl.Series([*self.labels, None], dtype=pl.String)
        return labels.gather(pl.Series(cells.astype(np.uint32))).alias(self.attribute.name)

    def numbers_of(self, cells: CellArray) -> NDArray[np.float64]:
        """Return the number of each cell of a numeric attribute; missing is NaN."""
        if self.cells.values is None:
            raise ParameterError("the cells are names, not numbers", f"column {self.attribute.name}")
        out: NDArray[np.float64] = np.append(self.cells.values, np.nan)[cells]
        return out


def grid(attribute: Attribute) -> Grid:
    """Return the public grid of ``attribute``.

    Raises:
        ParameterError: a bound, a domain or the kind is not declared, or they do not fit each other.
    """
    own_missing = attribute.missing == "own-value"
    if attribute.kind is None:
        raise ParameterError(
            "the kind is not declared",
            f"column {attribute.name}",
            Remedy(DECLARE, 'write kind = "integer", "real", "category" …', {"key": "kind"}),
            code="facts-open",
            field="kind",
        )
    if not attribute.numeric:
        domain = attribute.values()
        if attribute.cells is not None and not attribute.counted:
            what = f"cells applies only to numbers, and this column is a {attribute.kind}"
            raise ParameterError(what, f"column {attribute.name}", field="cells")
        return Grid(attribute, Cells(size=len(domain), missing=own_missing), domain)
    lower, upper = attribute.bounds()
    try:
        if attribute.kind == "real":
            return Grid(attribute, *_real(attribute.cells or REAL_CELLS, lower, upper, own_missing))
        dates = attribute.kind == "date"
        return Grid(attribute, *_whole(attribute.cells, lower, upper, own_missing, dates=dates))
    except ParameterError as error:
        raise error.at(f"column {attribute.name}") from None


_Line = tuple[Cells, tuple[str, ...], float]  # cells, labels and step of numbers


@lru_cache(maxsize=128)  # every edit of a plan asks for the grids of all its columns
def _real(size: int, lower: float, upper: float, missing: bool) -> _Line:
    step = (upper - lower) / (size - 1)
    if not (math.isfinite(step) and lower + step > lower and upper - step < upper):
        raise ParameterError(f"{size} cells between {lower:g} and {upper:g} are too close for double precision")
    # Only as many decimals as distinguish the cells: a released decimal never says more than the grid.
    decimals = min(max(0, 2 - math.floor(math.log10(step))), 17)
    # The z turns a −0 that rounding left into 0.
    labels = tuple(f"{v:z.{decimals}f}" for v in np.linspace(lower, upper, size))
    if "." in labels[0]:
        common = min(len(t) - len(t.rstrip("0")) for t in labels)
        cut = min(common, decimals)
        labels = tuple(t[: len(t) - cut].rstrip(".") for t in labels) if cut else labels
    values = np.array([float(t) for t in labels])
    if not np.all(np.diff(values) > 0):
        raise ParameterError(
            f"{size} cells between {lower:g} and {upper:g} are too close together to be written as different numbers",
            hint="use fewer cells, or another unit",
        )
    return Cells(size=size, values=values, missing=missing), labels, step


@lru_cache(maxsize=128)
def _whole(wanted: int | None, lower: float, upper: float, missing: bool, *, dates: bool) -> _Line:
    for key, bound in (("lower", lower), ("upper", upper)):
        if bound != math.floor(bound):
            what = f"{key} = {bound} is not whole, and the column is declared as whole numbers"
            raise ParameterError(what, hint=("round it", declare("kind", "real")))
    low, high = int(lower), int(upper)
    length = high - low + 1
    most = wanted or (MOST_CELLS if length <= MOST_CELLS else LONG_RANGE_CELLS)
    step = 1 if length <= most else -(-length // most)
    if wanted is None and step > 1:
        step = _round_step(step)
    values = [low + step * i for i in range((high - low) // step + 1)]
    if len(values) < 2:
        raise ParameterError("the bounds contain fewer than 2 cells", hint="widen them")
    if max(abs(low), abs(high)) > 2**53:
        raise ParameterError("the bounds are beyond 2^53, where doubles skip whole numbers")
    if dates:
        if not 1 <= low <= high <= datetime.date.max.toordinal():
            raise ParameterError("the bounds are not valid dates")
        labels = tuple(datetime.date.fromordinal(v).isoformat() for v in values)
    else:
        labels = tuple(map(str, values))
    numbers = np.array(values, dtype=np.float64)
    return Cells(size=len(values), values=numbers, missing=missing), labels, float(step)


def _round_step(step: int) -> int:
    """Return the least 1, 2 or 5 times a power of ten that is at least ``step``: steps a person can read."""
    power: int = 10 ** (len(str(step)) - 1)
    return next(m * power for m in (1, 2, 5, 10) if m * power >= step)


def matrix(table: Table, attributes: Sequence[Attribute]) -> NDArray[np.float64]:
    """Return X (n, d): numbers of numeric attributes (NaN: missing), domain codes of the others (k: missing).

    Raises:
        InputError: a cell does not fit what is declared about its column; column and row are named.
    """
    out = np.empty((table.rows, len(attributes)))
    for position, attribute in enumerate(attributes):
        out[:, position] = column_of(table, attribute)
    return out


def column_of(table: Table, attribute: Attribute) -> NDArray[Any]:
    """Return one column of :func:`matrix` (n,)."""
    return numbers(table, attribute) if attribute.numeric else codes(table, attribute)
