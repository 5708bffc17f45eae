"""The public rows that a release is asked about, and their match with rows that are predicted later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.data.schema import Attribute
from workbench.learners.checks import checked_columns
from workbench.params import InputError, ParameterError

MOST_ASKED = 10_000


@dataclass(frozen=True, eq=False)
class AskedRows:
    """Different rows, in the order in which they were first asked.

    Attributes:
        X: (q, d), numbers (NaN: missing) and codes as every learner reads them.
        digest: SHA-256 of the file that they were read from; empty of rows that were not.
    """

    X: NDArray[np.float64]
    digest: bytes = b""

    def __len__(self) -> int:
        return len(self.X)

    @classmethod
    def read(cls, path: str, attributes: Sequence[Attribute]) -> AskedRows:
        """Return the rows of a file; further columns of it are not looked at.

        Raises:
            InputError: it cannot be read, lacks a column, has a value that does not fit, or too many rows.
        """
        from workbench.data.columns.matrix import matrix  # loads polars
        from workbench.data.read import read_table

        names = [attribute.name for attribute in attributes]
        table = read_table(path, names=names)
        table.require(names)
        if table.rows > MOST_ASKED:
            raise InputError(f"there are {table.rows} rows to predict", path, f"give at most {MOST_ASKED}")
        try:
            return cls.of(matrix(table, attributes), attributes, table.digest)
        except InputError as error:
            raise error.at(f"{path}, {error.where}") from None

    @classmethod
    def of(cls, X: ArrayLike, attributes: Sequence[Attribute], digest: bytes = b"") -> AskedRows:
        """Return the different ones of rows X (n, d); a row that is asked twice is answered and paid once."""
        rows = checked_columns(X, attributes)
        first = {key: place for place, key in reversed(list(enumerate(keys_of(rows))))}
        return cls(rows[sorted(first.values())], digest)

    def to_plain(self) -> list[list[float | None]]:
        """Return the rows as JSON holds them; ``null`` is a missing number."""
        return [[None if np.isnan(cell) else float(cell) for cell in row] for row in self.X]

    @classmethod
    def from_plain(cls, values: Any, attributes: Sequence[Attribute]) -> AskedRows:
        """Return the rows that :meth:`to_plain` wrote.

        Raises:
            ParameterError: they are no such rows.
        """
        wrong = ParameterError("the key 'asked' does not hold different rows of this model's columns", "the model")
        if not isinstance(values, list) or not 1 <= len(values) <= MOST_ASKED:
            raise wrong
        for row in values:
            if not isinstance(row, list) or len(row) != len(attributes):
                raise wrong
            if not all(cell is None or (isinstance(cell, int | float) and not isinstance(cell, bool)) for cell in row):
                raise wrong
        try:
            rows = np.array([[np.nan if cell is None else cell for cell in row] for row in values], dtype=np.float64)
            found = cls.of(rows, attributes)
        except (InputError, OverflowError):
            raise wrong from None
        if len(found) != len(rows):
            raise wrong
        return found

    def places(self, X: ArrayLike, attributes: Sequence[Attribute]) -> NDArray[np.int64]:
        """Return for each row of X (n, d) its place among these rows, −1 where it is none of them."""
        known = {key: place for place, key in enumerate(keys_of(self.X))}
        return np.array([known.get(key, -1) for key in keys_of(checked_columns(X, attributes))], dtype=np.int64)


def keys_of(rows: NDArray[np.float64]) -> list[bytes]:
    """Return the bytes of each row, the same for equal rows: one zero, one NaN."""
    plain = np.where(np.isnan(rows), np.nan, rows + 0.0)
    return [row.tobytes() for row in plain]
