"""Equivalence classes: rows that have the same value of every chosen attribute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from workbench.data.columns.numerals import doubles
from workbench.data.table import Table

Codes = np.ndarray
"""One column as whole numbers from 0, equal where the values are equal; shape (rows,), int64."""


def coded(table: Table, name: str) -> tuple[Codes, list[str | None]]:
    """Return a column's values as codes, in the order of the text, and the value of each code (``None``: missing).

    Raises:
        InputError: the table has no such column.
    """
    text = table.column(name).cast(pl.String)
    values = text.unique().sort(nulls_last=True)
    places = pl.DataFrame({"value": values, "code": np.arange(values.len())})
    found = pl.DataFrame({"value": text}).join(places, on="value", how="left", nulls_equal=True, maintain_order="left")
    return found["code"].to_numpy(), values.to_list()


def coded_by_size(table: Table, name: str) -> tuple[Codes, list[str | None], bool]:
    """Return what :func:`coded` does, and whether all values are numbers: those are in the order of their size."""
    codes, values = coded(table, name)
    said = pl.Series([v for v in values if v is not None], dtype=pl.String)
    numbers = doubles(said, table.decimal)
    if not said.len() or not (numbers.is_not_null() & numbers.is_finite()).all():
        return codes, values, False
    order = np.argsort(numbers.to_numpy(), kind="stable")
    order = np.concatenate([order, np.arange(order.size, len(values))])
    place = np.empty(len(values), dtype=np.int64)
    place[order] = np.arange(len(values))
    return place[codes], [values[i] for i in order], True


_SPREAD = 16
"""Codes are counted in place up to so many times the rows; above, they are sorted."""


@dataclass(frozen=True)
class Classes:
    """Which rows are alike: the class of each row, from 0, and the rows of each class."""

    of: np.ndarray
    sizes: np.ndarray

    @property
    def of_rows(self) -> np.ndarray:
        """How many rows are like each row, itself among them; shape (rows,)."""
        alike: np.ndarray = self.sizes[self.of]
        return alike


def classes(columns: Sequence[Codes], rows: int) -> Classes:
    """Return the equivalence classes of ``rows`` rows over columns of codes; one class where there is no column."""
    of = np.zeros(rows, dtype=np.int64)
    for column in columns:
        # Counted again after each column, so that the product never leaves 64 bits.
        joint = of * (int(column.max(initial=0)) + 1) + column
        of, _ = dense(joint)
    return Classes(of, np.bincount(of) if rows else np.zeros(0, dtype=np.int64))


def dense(joint: Codes) -> tuple[Codes, np.ndarray]:
    """Return codes from 0 without gaps, in the same order, and how often each occurs."""
    most = int(joint.max(initial=-1)) + 1
    if most > _SPREAD * joint.size + 1024:
        _, of, sizes = np.unique(joint, return_inverse=True, return_counts=True)
        return of, sizes
    counts = np.bincount(joint, minlength=most)
    place = np.cumsum(counts > 0) - 1
    return place[joint], counts[counts > 0]
