"""Encodes a mixed table as integer columns between −K and K, the input of learners of weighted sums.

Every rule here depends on the declared facts alone, so that one row is encoded without a look at the others:

* a number becomes its place within the declared bounds, −K at the lower one and K at the upper one;
* a category of two values becomes −K or K, one of more values a column for each of them, K where it occurs and else 0;
* where a value may be missing, there is one more column, K where it is missing; the number itself is then 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.data.schema import OWN_VALUE, Attribute
from workbench.learners.checks import checked_columns
from workbench.privacy.central.sums import on_grid

_MOST_BITS = 15
_EXACT_BITS = 52
_NOISE_BITS = 54
_STEPS = 1024


def grid_of(rows: int, sensitivity: float = 1.0, epsilon: float = math.inf) -> int:
    """Return K, a power of two for which sums of products are exact in doubles and their noise fits 64 bits.

    Args:
        rows: public number of rows; n·K² ≤ 2^52.
        sensitivity: L1 sensitivity of the sums in units of K².
        epsilon: share of the query; infinite where there is no noise.
    """
    bits = min(_MOST_BITS, (_EXACT_BITS - max(rows - 1, 1).bit_length()) // 2)
    if epsilon < math.inf:
        bits = min(bits, math.floor((_NOISE_BITS - math.log2(sensitivity / epsilon)) / 2))
    return 1 << max(1, bits)


_AT_ONCE = 1 << 13


def blocks(rows: int) -> Iterator[slice]:
    """Yield all rows in pieces so small that what is computed of one stays in the processor's cache."""
    for start in range(0, rows, _AT_ONCE):
        yield slice(start, start + _AT_ONCE)


def bounds_of(attributes: Iterable[Attribute]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the lower bounds (c,) and the upper bounds (c,) of columns of numbers."""
    lower, upper = np.array([attribute.bounds() for attribute in attributes], dtype=np.float64).reshape(-1, 2).T
    return lower, upper


def numbers_on_grid(
    attributes: Iterable[Attribute], X: NDArray[np.float64], size: int | NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return columns of numbers (n, c) as whole numbers in [−K, K]; a missing one is 0.

    Args:
        attributes: the public facts about these columns.
        X: the numbers, NaN where they are missing.
        size: K, or that of each column (c,).
    """
    lower, upper = bounds_of(attributes)
    found = np.empty(X.shape, dtype=np.int64)
    for block in blocks(len(X)):
        missing = np.isnan(X[block])
        values = np.where(missing, lower / 2 + upper / 2, X[block]) if missing.any() else X[block]
        found[block] = on_grid(values, lower, upper, size)
    return found


@dataclass(frozen=True)
class Encoding:
    """How the columns of a table are encoded."""

    attributes: tuple[Attribute, ...]  # the public facts about the columns of X, in order

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Return the name of each encoded column, (D,)."""
        found: list[str] = []
        for attribute in self.attributes:
            if attribute.numeric:
                found.append(attribute.name)
            elif _two_sided(attribute):
                found.append(f"{attribute.name} = {attribute.values()[1]}")
            else:
                found += [f"{attribute.name} = {value}" for value in attribute.values()]
            if attribute.missing == OWN_VALUE:
                found.append(f"{attribute.name} is missing")
        return tuple(found)

    @cached_property
    def sources(self) -> tuple[int, ...]:
        """Return for each encoded column the attribute that it comes from, (D,)."""
        widths = [self._width(attribute) for attribute in self.attributes]
        return tuple(j for j, width in enumerate(widths) for _ in range(width))

    def names_of(self, columns: Iterable[int]) -> tuple[str, ...]:
        """Return the names of the attributes that encoded columns come from, each once."""
        return tuple(dict.fromkeys(self.attributes[self.sources[j]].name for j in columns))

    def cells(self, parts: int) -> tuple[int, ...]:
        """Return how many cells each encoded column has (D,): those of a number's bounds, of any other column 2."""
        numbers = {self.sources.index(j): a for j, a in enumerate(self.attributes) if a.numeric}
        return tuple(cells_of(numbers[place], parts) if place in numbers else 2 for place in range(len(self.sources)))

    @staticmethod
    def _width(attribute: Attribute) -> int:
        own = 1 if attribute.numeric or _two_sided(attribute) else len(attribute.values())
        return own + (attribute.missing == OWN_VALUE)

    def encode(self, X: ArrayLike, size: int) -> NDArray[np.int64]:
        """Return the encoded rows (n, D), each whole number in [−K, K].

        Args:
            X: rows (n, d) as :func:`workbench.learners.checks.checked_columns` takes them.
            size: K.

        Raises:
            InputError: a value that the column's declaration does not allow, naming row and column.
        """
        columns = checked_columns(X, self.attributes)
        encoded = np.zeros((len(columns), len(self.labels)), dtype=np.int64)
        numeric, numbers = [j for j, a in enumerate(self.attributes) if a.numeric], list[int]()
        at = 0
        for attribute, column in zip(self.attributes, columns.T, strict=True):
            if attribute.numeric:
                numbers.append(at)
                at += 1
                if attribute.missing == OWN_VALUE:
                    missing = np.isnan(column)
            else:
                values = len(attribute.values())
                missing = column == values
                if _two_sided(attribute):
                    encoded[~missing, at] = np.where(column[~missing] == 1, size, -size)
                    at += 1
                else:
                    rows = np.flatnonzero(~missing)
                    encoded[rows, at + column[rows].astype(np.int64)] = size
                    at += values
            if attribute.missing == OWN_VALUE:
                encoded[missing, at] = size
                at += 1
        if numeric:
            encoded[:, numbers] = numbers_on_grid([self.attributes[j] for j in numeric], columns[:, numeric], size)
        return encoded

    def places(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return rows as places (n, D) on the finest grid, in half-ranges from the middle of the bounds."""
        size = grid_of(1)
        return self.encode(X, size) / size

    def span(self, weights: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the least and the largest Σ w_j·x_j of any row x in units of K (k,), (k,), for weights (D, k).

        An attribute has one value at a time, so that its columns are not at their ends together.
        """
        lowest, highest = np.zeros(weights.shape[1]), np.zeros(weights.shape[1])
        at = 0
        for attribute in self.attributes:
            width = self._width(attribute)
            own = weights[at : at + width]
            at += width
            ends = [own[:1], -own[:1], own[1:]] if attribute.numeric or _two_sided(attribute) else [own]
            reached = np.vstack(ends)
            lowest += reached.min(axis=0)
            highest += reached.max(axis=0)
        return lowest, highest

    def decode(self, places: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return places (k, D) in the units of X (k, d); a category gets the code of its nearest value."""
        out = np.empty((len(places), len(self.attributes)))
        at = 0
        for j, attribute in enumerate(self.attributes):
            if attribute.numeric:
                lower, upper = attribute.bounds()
                height = (np.clip(places[:, at], -1, 1) + 1) / 2
                out[:, j] = lower * (1 - height) + upper * height
            elif _two_sided(attribute):
                out[:, j] = places[:, at] > 0
            else:
                out[:, j] = places[:, at : at + len(attribute.values())].argmax(axis=1)
            at += self._width(attribute)
        return out


def cells_of(attribute: Attribute, parts: int) -> int:
    """Return into how many cells the bounds of a number are cut: ``parts``, but no more than it has whole numbers."""
    lower, upper = attribute.bounds()
    return int(min(max(upper - lower + 1, 2), parts)) if attribute.kind == "integer" else parts


def widened(lower: float, upper: float) -> tuple[float, float]:
    """Return bounds that hold ``lower`` and ``upper`` with room for the last bit of a sum, in steps of 1/1024."""
    return math.floor(lower * _STEPS - 0.5) / _STEPS, math.ceil(upper * _STEPS + 0.5) / _STEPS


def _two_sided(attribute: Attribute) -> bool:
    return len(attribute.values()) == 2
