"""A table as it is in its file: every cell is text, so nothing is rounded, padded or reformatted on the way in."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.data.csv.options import Dialect
from workbench.data.last_rows import LOOKED_AT, last_row_notices
from workbench.data.rows_in_parts import Rewritten, Rows, WithEmptyRows, cells_of, with_empty_rows
from workbench.params import InputError
from workbench.params.field import did_you_mean
from workbench.params.remedies import remedies_of

_LONGEST_SHOWN = 60

ROWS_AT_ONCE = 1 << 18  # rows that are read, counted or drawn at a time where a table is larger than memory


@dataclass(frozen=True)
class Candidate:
    """One possible reading of a doubtful part of a file."""

    value: str  # the value of the option, in words if it is a blank
    option: str  # the option that states it, as typed in a shell
    # Some of the affected cells in this reading, the same ones for every candidate. Private: for the screen, never for
    # a log.
    cells: tuple[str, ...] = field(default=(), repr=False)
    fits: bool = True  # whether the file can be read this way at all


@dataclass(frozen=True)
class Ambiguity:
    """A guess about a file that one row could change, or that is only what the file says of itself."""

    name: str  # the attribute of `workbench.data.csv.options.ReadOptions` that it is about
    guess: str  # what was guessed, as a clause
    option: str  # the option that states the guess
    # How the affected cells read under the guess, which comes first, and under the alternatives.
    candidates: tuple[Candidate, ...] = ()
    by_a_row: bool = True  # whether one row could change it

    def readings(self) -> str:
        """Return how a doubtful cell reads under each candidate."""
        return ", ".join(f"{c.option} {self._reading(c)}" for c in self.candidates)

    def _reading(self, candidate: Candidate) -> str:
        if not candidate.fits:
            return "cannot read the file"
        if not candidate.cells:
            return "gives the same result"
        shown = candidate.cells[0]
        shown = shown if len(shown) <= _LONGEST_SHOWN else shown[: _LONGEST_SHOWN - 1] + "…"
        return f"reads {shown}" if self.name in ("decimal", "header") else f'reads "{shown}"'


class _Frame:
    """The cells of a table; those that are not in memory are read whole where somebody uses them, and then kept."""

    def __get__(self, table: Any, owner: type) -> pl.DataFrame:
        stored = table.__dict__["stored"]
        if not isinstance(stored, pl.DataFrame):
            table.__dict__["stored"] = stored = stored.load()
        return stored  # type: ignore[no-any-return]

    def __set__(self, table: Any, value: pl.DataFrame | Rows) -> None:
        table.__dict__["stored"] = value


@dataclass(frozen=True)
class FileFacts:
    """What a file says of itself and of its columns, beside the cells. Nobody has confirmed that it is right."""

    labels: Mapping[str, str] = field(default_factory=dict)  # what a column is, in words, by its name
    # What the values of a column mean: value → label, by the name of the column.
    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    # The values of a column that the file declares missing, in words, by its name.
    missing: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    part: str = ""  # the sheet of a workbook, or the member of an archive, that was read
    parts: tuple[str, ...] = ()  # all of them that could have been read
    option: str = ""  # the option that chooses among them: `sheet` or `member`; empty where there is nothing to choose
    options: tuple[str, ...] = ()  # the reading options that mean something for a file of its format
    titles: int = 0  # rows above the one that seems to be the header, where that is not the first of a sheet

    @classmethod
    def from_plain(cls, said: Mapping[str, Any]) -> FileFacts:
        """Return what was written as JSON.

        Raises:
            ValueError: it is not that.
        """
        known = {f.name for f in dataclasses.fields(cls)}
        if not set(said) <= known:
            raise ValueError("unknown facts")
        return cls(
            labels={str(name): str(label) for name, label in dict(said.get("labels", {})).items()},
            values={
                str(name): {str(value): str(label) for value, label in dict(labels).items()}
                for name, labels in dict(said.get("values", {})).items()
            },
            missing={str(n): tuple(str(v) for v in found) for n, found in dict(said.get("missing", {})).items()},
            part=str(said.get("part", "")),
            parts=tuple(str(part) for part in said.get("parts", ())),
            option=str(said.get("option", "")),
            titles=int(said.get("titles", 0)),
        )


@dataclass(frozen=True, eq=False)
class Joined:
    """What a table was joined of."""

    first: Table  # the table whose rows it has. second: the one that says more of their persons.
    second: Table
    person: str  # the column of `first` that identifies a person. on: that of `second`.
    on: str
    names: tuple[str, ...]  # the columns of `second` but that one, in order, as they are called here


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of text cells. Everything in it is private."""

    # The cells as polars `String` columns, shape (rows, columns); null is a missing cell (an empty one). Of a table
    # that is read in parts (`in_parts`) it is read when it is first used, if memory allows.
    frame: pl.DataFrame
    source: str  # the table's path or `sample:NAME`
    dialect: Dialect | None = None  # how the text file was written, or `None` for other formats
    # The line of the file of the first row, or `None` if lines and rows do not correspond (a cell that spans lines, a
    # blank line, or no text file).
    first_line: int | None = None
    notices: tuple[str, ...] = ()  # sentences about choices that the reader made for the person
    ambiguities: tuple[
        Ambiguity, ...
    ] = ()  # guesses about the file that nobody has confirmed and that decide how rows are read
    renamed: tuple[str, ...] = ()  # columns whose name the header had used before: `a.1` is its second `a`
    digest: bytes = b""  # SHA-256 of the bytes of the file; empty of a table that was not read from one
    # For each blank line among the rows the index of the row that follows it, ascending. They are not rows of `frame`
    # (in a file of one column a blank line is an empty cell, and not listed here).
    blank_lines: Sequence[int] = ()
    replaces_invalid: bool = False  # whether a cell that cannot be used counts as missing, instead of being refused
    # The types that the columns have in the file; empty of a file of text.
    types: Mapping[str, pl.DataType] = field(default_factory=dict)
    # The stated marks of a missing value, which are still in `frame`; `None` where nobody stated them
    # (`workbench.data.columns.missing` says what is missing then).
    missing_marks: tuple[str, ...] | None = None
    # By column the cells that are declared to mean a missing value, which are still in `frame`, too.
    missing_codes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    rows_before: int = 0  # how many rows of the whole table come before a part of it
    # Of rows that were picked from a table the number of each in it, counted from 0.
    row_numbers: Sequence[int] | NDArray[np.integer[Any]] | None = None
    facts: FileFacts = field(default_factory=FileFacts)  # what its file says beside the cells
    # Columns of the file or DataFrame that are not in `frame`, as their values are no cells, and what they hold.
    left_out: Mapping[str, str] = field(default_factory=dict)
    joined: Joined | None = None  # the two tables that it was made of, where it was

    def parts(self, at_once: int = ROWS_AT_ONCE) -> Iterator[Table]:
        """Yield the rows in order, at most ``at_once`` at a time; an error about a part names the row of the whole."""
        before, stored = self.rows_before, self.stored
        parts: Iterator[Rows | pl.DataFrame]
        if isinstance(stored, pl.DataFrame):
            parts = (stored.slice(start, at_once) for start in range(0, stored.height, at_once))
        else:
            parts = stored.parts(at_once)
        for part in parts:
            changes: dict[str, Any] = {"frame": part, "rows_before": before}
            if self.row_numbers is not None:
                start = before - self.rows_before
                changes["row_numbers"] = self.row_numbers[start : start + part.height]
            yield self.replaced(**changes)
            before += part.height

    @property
    def stored(self) -> pl.DataFrame | Rows:
        """The cells, or what reads them."""
        found: pl.DataFrame | Rows = self.__dict__["stored"]
        return found

    @property
    def in_parts(self) -> bool:
        """Whether the cells are not in memory: then :meth:`parts` reads them, each time anew."""
        return not isinstance(self.stored, pl.DataFrame)

    def replaced(self, **changes: Any) -> Table:
        """Return the table with other attributes; cells that are not in memory are not read for that."""
        return dataclasses.replace(self, **{"frame": self.stored, **changes})

    def rewritten(self, work: Callable[[pl.DataFrame], pl.DataFrame], names: tuple[str, ...] | None = None) -> Table:
        """Return the table with what ``work`` makes of each part of its rows: as many, in the columns ``names``."""
        stored = self.stored
        frame = work(stored) if isinstance(stored, pl.DataFrame) else Rewritten(stored, work, names or self.names)
        return self.replaced(frame=frame)

    def at(self, index: Sequence[int] | NDArray[np.int64]) -> pl.DataFrame:
        """Return the cells of some rows, named by their indices in rising order."""
        index = np.asarray(index, dtype=np.int64)
        return self.stored[index] if isinstance(self.stored, pl.DataFrame) else self.stored.at(index)

    def with_invalid_replaced(self) -> Table:
        """Return the table in the reading that refuses no cell: blank lines become empty rows, for example.

        A cell's value still depends only on that cell and on declared facts; where
        :mod:`workbench.data.columns.values` would refuse a cell, it is missing.
        """
        stored, first_line, blank = self.stored, self.first_line, np.asarray(self.blank_lines, dtype=np.int64)
        if len(blank) and isinstance(stored, pl.DataFrame):
            stored, first_line = with_empty_rows(stored, blank), None
        elif len(blank) and isinstance(stored, Rows):
            stored, first_line = WithEmptyRows(stored, blank), None
        return self.replaced(frame=stored, first_line=first_line, blank_lines=(), replaces_invalid=True)

    def labelled_domains(self) -> dict[str, tuple[str, ...]]:
        """Return the columns whose values all have a label in the file, with these values in the file's order.

        They are a proposal: who uses them as a domain declares that they are public.
        """
        found: dict[str, tuple[str, ...]] = {}
        for name, labels in self.facts.values.items():
            if name in self.names and len(labels) > 1:
                cells = self.column(name)
                if cells.is_in(list(labels)).fill_null(value=True).all():
                    found[name] = tuple(labels)
        return found

    @property
    def rows(self) -> int:
        """The number of rows, n."""
        return self.stored.height

    @property
    def lines(self) -> int:
        """The number of rows where blank lines count as empty ones."""
        return self.rows + len(self.blank_lines)

    @property
    def names(self) -> tuple[str, ...]:
        """The column names in the file's order."""
        return tuple(self.stored.columns)

    @property
    def repeated(self) -> str:
        """The notice about names that the header has twice, for where a table is described or planned; else empty."""
        if not self.renamed:
            return ""
        return (
            f"the header has the same name more than once; the repeated columns are called "
            f"{', '.join(self.renamed)}; use --header no if the first row is data"
        )

    @cached_property
    def last_rows(self) -> tuple[str, ...]:
        """What a person should look at in the last rows, a sentence each; nothing where all are read to see them."""
        if isinstance(self.stored, pl.DataFrame):
            return last_row_notices(self.stored)
        return last_row_notices(self.at(range(max(self.rows - LOOKED_AT, 0), self.rows))) if self.stored.seeks else ()

    @property
    def to_check(self) -> tuple[str, ...]:
        """The notices about the header and the last rows, for where a table is described or planned."""
        return (*filter(None, [self.repeated]), *self.last_rows)

    @property
    def decimal(self) -> str | None:
        """The decimal mark that a person stated, or ``None``: a guessed one is never used for a release."""
        return self.dialect.decimal if self.dialect is not None and self.dialect.decimal_given else None

    def require_certain(self) -> None:
        """Raise :class:`InputError` where one row could change how the others were read; every release calls this."""
        doubtful = self.ambiguity_refusal()
        if doubtful is not None:
            raise doubtful

    def ambiguity_refusal(self) -> InputError | None:
        """Return the refusal of a file whose other rows one row could change; ``None`` where it is read without doubt.

        A guess from all rows has no bounded privacy loss. The message shows for each doubt how a cell reads under
        each candidate, and recommends none: only a person knows which is right.
        """
        if not self.ambiguities:
            second = None if self.joined is None else self.joined.second.ambiguity_refusal()
            if second is not None:
                second.remedies = remedies_of("state in [join.reading] of the plan which reading is right")
            return second
        guesses = " and ".join(doubt.guess for doubt in self.ambiguities)
        readings = ", ".join(doubt.readings() for doubt in self.ambiguities)
        each = "the option that is right" if len(self.ambiguities) == 1 else "the options that are right"
        why = "which one row can change" if any(d.by_a_row for d in self.ambiguities) else "which only the file says"
        what = f"{guesses}, {why}: {readings}"
        return InputError(what, self.source, f"state {each}", code="doubtful-file")

    def column(self, name: str) -> pl.Series:
        """Return the cells of one column, shape (n,), as a Series without a name (:func:`cells_of`).

        Raises:
            InputError: there is no such column; the message names the nearest one.
        """
        self.require([name])
        return cells_of(self.frame, name)

    @cached_property
    def placed(self) -> dict[str, tuple[tuple[str, ...], pl.Series]]:
        """By column what :meth:`places` was asked for, and what it returned."""
        return {}

    def places(self, name: str, values: tuple[str, ...]) -> pl.Series:
        """Return the place of each cell of a column among ``values``, shape (n,); null where it is none of them.

        To match text takes long, so it is kept for whoever asks for the same, and for whoever counts cells by value.
        """
        if name not in self.placed or self.placed[name][0] != values:
            self.placed[name] = values, self.column(name).cast(pl.Enum(values), strict=False).to_physical()
        return self.placed[name][1]

    def require(self, names: Sequence[str]) -> None:
        """Raise :class:`InputError` for the first of ``names`` that is not a column."""
        known = set(self.stored.columns)
        for name in names:
            if name in self.left_out and name not in known:
                raise self.not_cells(name)
            if name not in known:
                near = did_you_mean(name, self.names)
                listed = ", ".join(self.names[:12]) + (", …" if len(self.names) > 12 else "")
                raise InputError(
                    f"there is no column {name!r}{near}",
                    self.source,
                    f"the columns are {listed}",
                    code="unknown-column",
                )

    def not_cells(self, name: str, *ways: str) -> InputError:
        """Return the refusal of a column that was left out; ``ways`` are those beside another form of the file."""
        what, hint = self.left_out[name], ("write it as text or numbers", *ways)
        return InputError(f"the column contains {what}", f"{self.source}, column {name}", hint)

    def row_name(self, index: int) -> str:
        """Return how a person finds the row ``index`` (counted from 0): ``row 17``, with its line if that differs."""
        index = index + self.rows_before if self.row_numbers is None else int(self.row_numbers[index])
        if self.first_line is None or self.first_line == 1:
            return f"row {index + 1}"
        return f"row {index + 1}, line {index + self.first_line}"

    def place(self, name: str, index: int) -> str:
        """Return how a person finds one cell, for the ``where`` of an error."""
        return f"column {name}, {self.row_name(index)}"


Table.frame = _Frame()  # type: ignore[assignment]  # after the class is made: the field has no default
