"""Guess from the first records of a text table whether the first one names the columns."""

from __future__ import annotations

import re
from collections.abc import Sequence

from workbench.data.csv.strict_reader import Record

NUMBER = re.compile(r"\s*[+-]?(\d+([.,]\d+)*|[.,]\d+)([eE][+-]?\d+)?\s*%?\s*\Z")
DATE = re.compile(
    r"\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})([T ]\d{1,2}:\d\d(:\d\d)?.*)?\s*\Z"
)
_TIME = re.compile(r"\d{1,2}:\d\d(:\d\d)?\Z")
_YEAR = re.compile(r"(19|20)\d\d\Z")


def has_header(found: Sequence[Record], names: Sequence[str] | None) -> bool:
    """Return whether the first record names the columns.

    In this order: it does if it holds one of the expected ``names``; if it holds numbers, only if they are years above
    other figures, or if more columns of numbers begin with a word than with a number; without numbers, if a column of
    numbers begins with a word, or if its cells are different and mostly do not occur again below.
    """
    if not found:
        return False
    first, rest = found[0].cells, [record.cells for record in found[1:]]
    if names and set(names) & set(different_names(first)):
        return True
    columns = [[row[k] for row in rest if k < len(row) and row[k]] for k in range(len(first))]
    over_numbers = [is_typed(cell) for cell, below in zip(first, columns, strict=True) if cell and mostly_typed(below)]
    if any(is_typed(cell) for cell in first):
        return _are_years(first, columns) or over_numbers.count(False) > over_numbers.count(True)
    return bool(over_numbers) or _are_unlike_values(first, columns)


def different_names(cells: Sequence[str]) -> list[str]:
    """Return the names of a header with those that occur again numbered, as pandas does: ``a``, ``a.1``, ``a.2``.

    A number that would make a name of the header itself is passed over. Blank cells stay as they are.
    """
    taken, used, out = set(cells), dict.fromkeys(cells, 0), []
    for cell in cells:
        name = cell
        if cell.strip() and used[cell]:
            while name in taken:
                name = f"{cell}.{used[cell]}"
                used[cell] += 1
            taken.add(name)
        else:
            used[cell] += 1
        out.append(name)
    return out


def is_typed(cell: str) -> bool:
    """Return whether a cell is written like a number, a date or a time."""
    return bool(NUMBER.match(cell) or DATE.match(cell) or _TIME.match(cell))


def mostly_typed(cells: Sequence[str]) -> bool:
    """Return whether nine of ten cells are written like a number, a date or a time."""
    return bool(cells) and sum(map(is_typed, cells)) >= 0.9 * len(cells)


def _are_years(first: Sequence[str], columns: Sequence[Sequence[str]]) -> bool:
    """Return whether the numbers of the first record are years above columns of other figures, beside words."""
    typed = [(cell, below) for cell, below in zip(first, columns, strict=True) if is_typed(cell)]
    return any(cell and not is_typed(cell) for cell in first) and all(
        _YEAR.match(cell) and below and not all(_YEAR.match(value) for value in below) for cell, below in typed
    )


def _are_unlike_values(first: Sequence[str], columns: Sequence[Sequence[str]]) -> bool:
    """Return whether the cells of the first record are all different, and at most half of them occur again below."""
    named = [cell for cell in first if cell]
    repeated = sum(cell in below for cell, below in zip(first, columns, strict=True) if cell)
    return len(set(named)) == len(named) > 0 and 2 * repeated <= len(named)
