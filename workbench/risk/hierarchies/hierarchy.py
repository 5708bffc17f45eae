"""A generalisation hierarchy: the label of each value of an attribute at each level, and its file.

The file has one line per value and one column per level, separated by semicolons, the value itself first: the format of
ARX. There is usually no header, and the last level has one label, ``*``.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from workbench.params import InputError

ANY = "*"  # the label of every value at the highest level

MOST_LEVELS, MOST_VALUES = 100, 1_000_000
_LARGEST_FILE = 1 << 28

Whole = NDArray[np.int64]


@dataclass(frozen=True)
class Hierarchy:
    """What each value becomes at each level. Level 0 is the values themselves.

    A level never separates what the level below it joins: two values with one label have one label above as well.
    """

    levels: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        """Check the levels.

        Raises:
            InputError: a value occurs twice, a level is of another length, or a level separates what was joined.
        """
        if not self.levels or not self.levels[0]:
            raise InputError("the hierarchy has no value", hint="write one line per value: value;level 1;…;*")
        if len(self.levels) > MOST_LEVELS or len(self.values) > MOST_VALUES:
            raise InputError(f"a hierarchy has at most {MOST_LEVELS} levels and {MOST_VALUES:,} values")
        if len(set(self.values)) < len(self.values):
            seen: set[str] = set()
            twice = next(v for v in self.values if v in seen or seen.add(v))  # type: ignore[func-returns-value]
            raise InputError(f"the value {twice!r} has two lines in the hierarchy", hint="keep one of them")
        for number in range(1, len(self.levels)):
            above: dict[str, str] = {}
            for lower, label in zip(self.levels[number - 1], self.levels[number], strict=True):
                if above.setdefault(lower, label) != label:
                    other = above[lower]
                    what = (
                        f"level {number} splits a group of the level below: {lower!r} becomes {label!r} and {other!r}"
                    )
                    raise InputError(what, hint="give values that share a label the same label one level up")

    @property
    def values(self) -> tuple[str, ...]:
        """The values: level 0."""
        return self.levels[0]

    @property
    def height(self) -> int:
        """The highest level; the number of levels is one more."""
        return len(self.levels) - 1

    @cached_property
    def labels(self) -> tuple[tuple[str, ...], ...]:
        """The different labels of each level, in the order of their first value."""
        return tuple(tuple(dict.fromkeys(level)) for level in self.levels)

    @cached_property
    def codes(self) -> tuple[Whole, ...]:
        """The code of each value's label at each level: its place in :attr:`labels`; each of shape (values,)."""
        out = []
        for level, labels in zip(self.levels, self.labels, strict=True):
            place = {label: code for code, label in enumerate(labels)}
            out.append(np.array([place[label] for label in level], dtype=np.int64))
        return tuple(out)

    def leaves(self, level: int) -> Whole:
        """Return how many values have the label of each value at ``level``; shape (values,)."""
        codes = self.codes[level]
        return np.bincount(codes)[codes]

    def of(self, values: Sequence[str | None], what: str) -> Hierarchy:
        """Return the hierarchy of different ``values`` of the column ``what``, in their order.

        A missing one stays missing below the top.

        Raises:
            InputError: a value has no line in the hierarchy.
        """
        places = {value: place for place, value in enumerate(self.values)}
        unknown = [v for v in values if v is not None and v not in places]
        if unknown:
            more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
            stated = f"the value {unknown[0]!r}{more} of the column {what} has no line in its hierarchy"
            raise InputError(stated, what, "add it, or make the hierarchy again", code="not-in-hierarchy", field=what)
        top = self.labels[-1][0] if len(self.labels[-1]) == 1 else ANY
        columns = []
        for level in range(len(self.levels)):
            missing = top if level == self.height and level else ""
            columns.append(tuple(self.levels[level][places[v]] if v in places else missing for v in values))
        return Hierarchy(tuple(columns))

    def without_header(self, column: str, values: Collection[str]) -> Hierarchy:
        """Return the hierarchy without a first line that names its columns: it would count as one more value.

        A header is no value of the column, and begins with the column's name or has a label at the top that no other
        line has, where these have one.
        """
        first, top = self.values[0], self.levels[-1]
        if first in values or len(self.values) == 1:
            return self
        odd = len(self.values) > 2 and len(set(top[1:])) == 1 and top[0] != top[1]
        if not odd and first.strip().casefold() != column.strip().casefold():
            return self
        return Hierarchy(tuple(level[1:] for level in self.levels))

    def mapping(self, level: int) -> Iterable[tuple[str, str]]:
        """Return what each value becomes at ``level``."""
        return zip(self.values, self.levels[level], strict=True)

    # -- file -----------------------------------------------------------------------------------------------------

    def to_text(self) -> str:
        """Return the hierarchy as the text of its file."""
        return semicolons(zip(*self.levels, strict=True))

    @classmethod
    def from_text(cls, text: str, where: str = "") -> Hierarchy:
        """Return the hierarchy of a file's text.

        Raises:
            InputError: it is not one; the message names the line.
        """
        try:
            rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=";", strict=True) if row]
        except csv.Error as error:
            raise InputError(f"the hierarchy is not a semicolon-separated file: {error}", where) from None
        for number, row in enumerate(rows, start=1):
            if len(row) != len(rows[0]):
                what = f"line {number} of the hierarchy has {len(row)} columns, line 1 has {len(rows[0])}"
                raise InputError(what, where, "give each value a label at each level, separated by semicolons")
        if rows and all(len(row) == 1 and set(row[0]) & set(",\t") for row in rows):
            raise InputError(
                "the hierarchy is not separated by semicolons", where, "write value;level 1;…;* on each line"
            )
        try:
            return cls(tuple(zip(*rows, strict=True)))
        except InputError as error:
            raise error.at(where) from None


def semicolons(rows: Iterable[Sequence[str]]) -> str:
    """Return rows of text, separated by semicolons."""
    return "".join(";".join(map(_quoted, row)) + "\n" for row in rows)


def _quoted(cell: str) -> str:
    # The writer of the csv module leaves a lone carriage return unquoted, which its reader takes for the end of a line.
    return '"' + cell.replace('"', '""') + '"' if set(cell) & set(';"\r\n') else cell


def file_name(column: str) -> str:
    """Return the name of a column's file in a folder of hierarchies: ``NAME.csv``."""
    allowed = column.isprintable() and not set(column) & set('/\\:*?"<>|%')
    return f"{column if allowed else quote(column, safe=' ')}.csv"


def read_hierarchy(path: Path) -> Hierarchy:
    """Return the hierarchy in a file.

    Raises:
        InputError: it cannot be read, or is not one.
    """
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise InputError("the file is too large for a hierarchy", str(path))
        return Hierarchy.from_text(path.read_bytes().decode("utf-8-sig"), str(path))
    except UnicodeDecodeError:
        raise InputError("the hierarchy is not in UTF-8", str(path), "save it as UTF-8") from None
    except OSError as error:
        raise InputError(f"the hierarchy cannot be read: {error.strerror}", str(path), "check the name") from None
