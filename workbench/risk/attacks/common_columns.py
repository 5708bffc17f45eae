"""Columns of several tables on one scale: numeric if numeric in every table, else category codes.

The first table is the release: values of the others are written as it writes them, where it is generalised: 43 as
``40-44``, 01230 as ``012**``. The attacker knows how a release was generalised, as its labels show it: ranges, marks at
letters, the beginning of a date, ``*`` for anything. Names of groups (a category tree) show nothing and are compared as
they are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.data.columns.missing import missing_cells, uncoded
from workbench.data.columns.values import doubles
from workbench.data.table import Table
from workbench.params import InputError

_EXACT = 2**53  # the largest double up to which every whole number is one

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CommonColumns:
    """Some columns of some tables."""

    names: tuple[str, ...]
    # Whether each holds numbers; the others hold codes of words, which only equality compares.
    numeric: NDArray[np.bool_]
    tables: tuple[Matrix, ...]  # the values of each table, shape (rows, columns); NaN where a value is missing
    words: tuple[tuple[str, ...], ...]  # of a column of words, the word of each code; empty of numbers

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

    Raises:
        InputError: a table lacks one of them, or they share none.
    """
    require(tables, names)
    shared = tuple(names) or tuple(n for n in tables[0].names if all(n in table.names for table in tables))
    shared = tuple(name for name in shared if name != without)
    if not shared:
        raise InputError(
            "the tables have no column in common", tables[0].source, "use tables with the same column names"
        )
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
    cells = [uncoded(t, name).cast(pl.String) for t in tables]
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


_NUMBER = r"(-?\d+(?:\.\d+)?)"
_RANGE = re.compile(rf"{_NUMBER}\s*[-–]\s*{_NUMBER}")
_HALF_OPEN = re.compile(rf"\[{_NUMBER}, {_NUMBER}\)")
_BELOW, _FROM = re.compile(rf"<{_NUMBER}"), re.compile(rf">={_NUMBER}")
_DATE = re.compile(r"\d{4}-\d{2}")
_ANY = "*"
_MOST_PAIRS = 5_000_000


def ends_of(word: str) -> tuple[float, float, bool] | None:
    """Return the ends of the range that a label names, and whether the upper one is in it; ``None`` for no range."""
    if (found := _RANGE.fullmatch(word)) and float(found[1]) <= float(found[2]):
        return float(found[1]), float(found[2]), True
    if found := _HALF_OPEN.fullmatch(word):
        return float(found[1]), float(found[2]), False
    if found := _BELOW.fullmatch(word):
        return -np.inf, float(found[1]), False
    if found := _FROM.fullmatch(word):
        return float(found[1]), np.inf, True
    return None


def written_as(release: pl.Series, people: pl.Series) -> pl.Series:
    """Return values of people, each as the narrowest label of the release that covers it; others as they are."""
    words = release.drop_nulls().unique().sort().to_list()
    values = people.drop_nulls().unique().sort()
    if len(words) * len(values) > _MOST_PAIRS:
        return people
    numbers = values.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    covered = [(word, at) for word in words if (at := _covered(word, values, numbers)) is not None]
    label = np.array(values.to_list(), dtype=object)
    for word, at in sorted(covered, key=lambda pair: -int(pair[1].sum())):
        label[at] = word
    exact = values.is_in(words).to_numpy()
    label[exact] = values.filter(pl.Series(exact)).to_numpy()
    mapped = pl.DataFrame({"value": values, "label": pl.Series(label.tolist(), dtype=pl.String)})
    return pl.DataFrame({"value": people}).join(mapped, on="value", how="left", maintain_order="left")["label"]


def _covered(word: str, values: pl.Series, numbers: NDArray[np.float64]) -> NDArray[np.bool_] | None:
    """Return which values a label covers; ``None`` where it is no label of more than one."""
    if word == _ANY:
        return np.ones(len(values), dtype=bool)
    if (ends := ends_of(word)) is not None:
        low, high, closed = ends
        return (numbers >= low) & ((numbers <= high) if closed else (numbers < high))
    if _DATE.fullmatch(word):
        return values.str.starts_with(f"{word}-").to_numpy()
    if _ANY in word:
        pattern = "".join("." if letter == _ANY else re.escape(letter) for letter in word)
        return values.str.contains(f"^{pattern}$").to_numpy()
    return None


def _merged(words: pl.Series, numbers: pl.Series) -> bool:
    """Return whether different long numbers, such as those of accounts, are one as a double."""
    long = (numbers.abs() > _EXACT).fill_null(value=False)
    return bool(words.filter(long).str.strip_chars().n_unique() > numbers.filter(long).n_unique())
