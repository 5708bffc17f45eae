"""Columns of several tables on one scale: numbers where every table holds numbers, else codes of their words.

The first table is the release: values of the others are written as it writes them, where it is generalised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.data.columns.missing import missing_cells
from workbench.data.columns.numerals import doubles
from workbench.data.table import Table
from workbench.params import InputError
from workbench.risk.attacks.generalised import written_as

_EXACT = 2**53
"""The largest double up to which every whole number is one."""

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CommonColumns:
    """Some columns of some tables.

    Attributes:
        names: the columns.
        numeric: whether each holds numbers; the others hold codes of words, which only equality compares.
        tables: the values of each table, shape (rows, columns); NaN where a value is missing.
        words: of a column of words, the word of each code; empty of numbers.
    """

    names: tuple[str, ...]
    numeric: NDArray[np.bool_]
    tables: tuple[Matrix, ...]
    words: tuple[tuple[str, ...], ...]

    def place(self, name: str) -> int:
        """Return where a column is."""
        return self.names.index(name)

    def places(self, names: Sequence[str]) -> list[int]:
        """Return where some columns are."""
        return [self.place(name) for name in names]


def require(tables: Sequence[Table], *chosen: Sequence[str] | str | None) -> None:
    """Raise :class:`InputError` for a chosen column, or one of several, that a table lacks."""
    for table in tables:
        for names in chosen:
            table.require([names] if isinstance(names, str) else names or ())


def common_columns(tables: Sequence[Table], names: Sequence[str] = (), *, without: str | None = None) -> CommonColumns:
    """Return the columns ``names`` of all tables; without any, those that all of them have, in the order of the first.

    Args:
        tables: the tables.
        names: columns that all of them have.
        without: a column that is left out.

    Raises:
        InputError: a table lacks one of them, or they share none.
    """
    require(tables, names)
    shared = tuple(names) or tuple(n for n in tables[0].names if all(n in table.names for table in tables))
    shared = tuple(name for name in shared if name != without)
    if not shared:
        raise InputError("the tables share no column", tables[0].source, "give tables with the same column names")
    columns = [_column(tables, name) for name in shared]
    matrices = tuple(
        np.column_stack([values[i] for values, _ in columns]).reshape(tables[i].rows, len(shared))
        for i in range(len(tables))
    )
    return CommonColumns(
        shared, np.array([words is None for _, words in columns]), matrices, tuple(words or () for _, words in columns)
    )


def _column(tables: Sequence[Table], name: str) -> tuple[list[Matrix], tuple[str, ...] | None]:
    """Return the values of a column in each table, and its words where it is not one of numbers."""
    cells = [t.column(name).cast(pl.String) for t in tables]
    cells = [c.set(missing_cells(t, c), None) for t, c in zip(tables, cells, strict=True)]
    read = [doubles(c, t.decimal) for t, c in zip(tables, cells, strict=True)]
    numbers = all((r.is_finite().fill_null(value=False) | c.is_null()).all() for r, c in zip(read, cells, strict=True))
    if numbers and not _merged(pl.concat(cells), pl.concat(read)):
        return [r.fill_null(np.nan).to_numpy() for r in read], None
    cells = [cells[0], *(written_as(cells[0].str.strip_chars(), c.str.strip_chars()) for c in cells[1:])]
    words = pl.concat([c.str.strip_chars() for c in cells]).drop_nulls().unique().sort()
    codes = pl.DataFrame({"word": words, "code": np.arange(words.len(), dtype=np.float64)})
    out = []
    for c in cells:
        found = pl.DataFrame({"word": c.str.strip_chars()}).join(codes, on="word", how="left", maintain_order="left")
        out.append(found["code"].fill_null(np.nan).to_numpy())
    return out, tuple(words.to_list())


def _merged(words: pl.Series, numbers: pl.Series) -> bool:
    """Return whether different long numbers, such as those of accounts, are one as a double."""
    long = (numbers.abs() > _EXACT).fill_null(value=False)
    return bool(words.filter(long).str.strip_chars().n_unique() > numbers.filter(long).n_unique())
