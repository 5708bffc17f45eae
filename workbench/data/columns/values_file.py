"""Values and bounds that a release has found: their file, the public grid of scales, and what a plan takes of them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.data.schema import DECLARED, GUESS, OWN_VALUE, RELEASED, Attribute
from workbench.params import InputError
from workbench.params.codec import csv_bytes

FIELDS = ("column", "value", "count", "lower", "upper")
OTHER = "other"
LONGEST = 200  # characters of a value that can be found: a longer cell counts for none

_FINEST, _COARSEST = -16, 64
SCALES = 2 * (_COARSEST - _FINEST + 1) + 1
"""Cells of the public grid: [−∞, −2^63), …, [−2^e, −2^(e−1)), …, [−2^−16, 0), 0, (0, 2^−16], …, (2^63, ∞]."""
_ZERO = SCALES // 2
_NEAR_ZERO = 16
"""An end nearer to 0 than the other by this factor becomes 0: many rows may be in cells of few, and the range hardly
grows."""


@dataclass(frozen=True)
class FoundValue:
    """A line of the file: a value of a column with its noisy count, the bounds of one, or how many rows a person has.

    The last is a count without a value, of the column that identifies a person.
    """

    column: str
    value: str = ""
    count: int | None = None
    lower: float | None = None
    upper: float | None = None


def scale_counts(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return how many of some finite numbers are in each cell of the grid, shape (SCALES,)."""
    mantissa, exponent = np.frexp(np.abs(values))
    size = np.clip(exponent - (mantissa == 0.5), _FINEST, _COARSEST) - _FINEST + 1
    cells = _ZERO + np.sign(values).astype(np.int64) * size.astype(np.int64)
    return np.bincount(cells, minlength=SCALES)


def noisy_bounds(noisy: Sequence[int], least: int) -> tuple[float, float] | None:
    """Return the smallest range of the grid with every cell whose noisy count is ``least`` or more, if there is one.

    It is widened to 0 where that is near.
    """
    held = [cell for cell, count in enumerate(noisy) if count >= least]
    if not held:
        return None
    lower, upper = _edges(held[0])[0], _edges(held[-1])[1]
    if 0 < lower < upper / _NEAR_ZERO:
        lower = 0.0
    if lower / _NEAR_ZERO < upper < 0:
        upper = 0.0
    return lower, upper if upper > lower else lower + 2.0**_FINEST


def _edges(cell: int) -> tuple[float, float]:
    size = abs(cell - _ZERO)
    if size == 0:
        return 0.0, 0.0
    inner, outer = (0.0 if size == 1 else 2.0 ** (size + _FINEST - 2)), 2.0 ** (size + _FINEST - 1)
    return (inner, outer) if cell > _ZERO else (-outer, -inner)


def encode(found: Iterable[FoundValue]) -> bytes:
    """Return the bytes of the file: every cell is quoted, as a value may hold any character."""
    lines = ([f.column, f.value, f.count, f.lower, f.upper] for f in found)
    return csv_bytes([FIELDS, *lines], quoting=csv.QUOTE_ALL)


def decode(data: bytes, where: str) -> list[FoundValue]:
    """Return what the file says.

    Raises:
        InputError: it is no such file.
    """
    try:
        rows = list(csv.reader(io.StringIO(data.decode(), newline=""), strict=True))
        if not rows or tuple(rows[0]) != FIELDS:
            raise ValueError
        return [_line(*row) for row in rows[1:]]
    except (UnicodeDecodeError, csv.Error, ValueError, TypeError):
        what = "this is not a file of released values and bounds"
        raise InputError(what, where, "give a file that `workbench values` released") from None


def _line(column: str, value: str, count: str, lower: str, upper: str) -> FoundValue:
    if value:
        if lower or upper:
            raise ValueError
        return FoundValue(column, value, int(count))
    if count and not (lower or upper) and int(count) > 0:
        return FoundValue(column, count=int(count))
    if count or not -np.inf < float(lower) < float(upper) < np.inf:
        raise ValueError
    return FoundValue(column, lower=float(lower), upper=float(upper))


def person_limit(found: Iterable[FoundValue]) -> tuple[str, int] | None:
    """Return the column that identifies a person, and how many rows of each to keep, where that was found."""
    return next(((line.column, line.count) for line in found if line.count is not None and not line.value), None)


def found_attributes(found: Iterable[FoundValue], kinds: Mapping[str, str | None]) -> tuple[Attribute, ...]:
    """Return what a plan takes of them: missing values, and values that were not found, have a cell each.

    Args:
        found: of any columns.
        kinds: of the columns of a table; whether numbers are whole was guessed from the rows, and the plan says so.
    """
    values: dict[str, list[str]] = {}
    made: dict[str, Attribute] = {}
    for line in found:
        if line.column not in kinds:
            continue
        if line.value:
            values.setdefault(line.column, []).append(line.value)
        elif line.count is None:
            made[line.column] = _number(line, whole=kinds[line.column] == "integer")
    for name, domain in values.items():
        listed = domain if OTHER in domain else [*domain, OTHER]
        if len(listed) < 2:
            continue
        made[name] = Attribute(
            name=name,
            kind="category",
            domain=tuple(listed),
            other=OTHER,
            bounds_origin=RELEASED,
            missing=OWN_VALUE,
        )
    return tuple(made.values())


def _number(line: FoundValue, *, whole: bool) -> Attribute:
    assert line.lower is not None
    assert line.upper is not None
    lower, upper = line.lower, line.upper
    if whole:
        lower, upper = float(np.ceil(lower)), float(np.floor(upper))
        upper = max(upper, lower + 1)
    return Attribute(
        name=line.column,
        kind="integer" if whole else "real",
        lower=lower,
        upper=upper,
        bounds_origin=RELEASED,
        missing=OWN_VALUE,
        origin=GUESS if whole else DECLARED,
    )
