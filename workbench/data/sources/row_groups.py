"""The rows of large Parquet files in parts, each of one or a few row groups, which a process of its own reads."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import polars as pl

from workbench.data.columns.source_types import type_named
from workbench.data.csv.encoding import FileBytes
from workbench.data.csv.options import ReadOptions
from workbench.data.isolated_reader import read_in_child
from workbench.data.opened_file import not_of_format
from workbench.data.private_file import private_file
from workbench.data.rows_in_parts import Index, Part, Piece, Rows, in_order, require_memory
from workbench.data.sources.source import SourceFile
from workbench.data.table import ROWS_AT_ONCE, Table
from workbench.params import InputError
from workbench.params.codec import parse_json
from workbench.signals.cancel import NEVER

_MODULE = "workbench.data.sources.parquet"
_NAME = "Parquet"
PIECE = 1 << 24  # bytes of the values in a part, before they are packed, at most, unless a row group has more


@dataclass(frozen=True)
class Groups:
    """Some rows of a Parquet file, all of them in the same row groups."""

    rows: tuple[int, int]  # the number of the first in its file, and how many they are
    # What of the file is read: its mark, the row groups, and what it says of all of them.
    ranges: tuple[tuple[int, int], ...]
    size: int  # bytes of the file
    keys: tuple[tuple[str, str | None], ...]  # the columns that the names of its folders state, with their values

    def read(self, path: Path, columns: Sequence[str], source: str) -> pl.DataFrame:
        """Return the cells, which a process of its own reads; ``columns`` are those of the file, in order."""
        size = sum(stop - start for start, stop in self.ranges)
        asked = {"rows": self.rows, "columns": list(columns), "keys": dict(self.keys)}
        return _cells(path, source, size, asked, self.rows[1])


def _cells(path: Path, source: str, size: int, asked: dict[str, Any], rows: int) -> pl.DataFrame:
    """Return the cells of so many rows of a file, of which a process of its own reads ``size`` bytes."""
    file = SourceFile(path, source, np.empty(0, np.uint8), (), size, ReadOptions(), None, False, NEVER)
    table = read_in_child(file, _NAME, _MODULE, asked=asked).table
    assert table is not None  # no bytes without a place for them
    if table.rows != rows:
        raise InputError("the file changed while it was read", source, "run it again when nobody is writing to it")
    return table.frame


@dataclass(frozen=True)
class GroupReader:
    """Reads row groups from their bytes, in another process than that which found them."""

    columns: tuple[str, ...]  # of the files, without those that the names of folders state
    source: str  # the name a person uses for the table

    def rows(self, how: Groups, texts: Sequence[bytes]) -> pl.DataFrame:
        """Return the rows; the bytes are at their former places, in a file that is otherwise empty."""
        with private_file() as (file, path):
            for (start, _), text in zip(how.ranges, texts, strict=True):
                file.seek(start)
                file.write(text)
            file.truncate(how.size)
            file.flush()
            return how.read(path, self.columns, self.source)


class RowsOfGroups(Rows):
    """The rows of a large Parquet file, or of a folder of them."""

    reading: GroupReader
    seeks = True

    def __init__(self, file: SourceFile, outline: dict[str, Any]) -> None:
        """Take the files and what they say of themselves; an error of Python where that makes no sense."""
        first = tuple(str(name) for name in outline["columns"])
        self._source, self.columns = file.source, (*first, *map(str, outline["keys"]))
        self.reading = GroupReader(first, file.source)
        self.files, self._groups = (), []
        for view, found in zip(file.views, outline["files"], strict=True):
            assert isinstance(view, FileBytes)
            self.files += ((view, file.source if view.remote else str(found["path"])),)
            stated = tuple((str(name), None if value is None else str(value)) for name, value in found["keys"].items())
            groups = [tuple(int(each) for each in group) for group in found["groups"]]
            if any(not 0 <= a <= b <= len(view) or min(more) < 0 for *more, a, b in groups):
                raise ValueError("row groups outside the file")
            self._groups.append((stated, groups))
        self.height = sum(rows for _, groups in self._groups for rows, *_ in groups)
        if not self.height or not first:
            raise ValueError("no rows")

    def load(self) -> pl.DataFrame:
        """Return all rows.

        Raises:
            InputError: they do not fit into memory.
        """
        text = sum(values for _, groups in self._groups for _, values, *_ in groups)
        require_memory(self.height, len(self.columns), text, self._source)
        return pl.concat(in_order(self.parts(ROWS_AT_ONCE), Part.load), rechunk=True)

    def parts(self, at_once: int) -> Iterator[Part]:
        """Yield the rows; a part is of whole row groups, or within one."""
        for piece in self._pieces(PIECE, at_once):
            yield Part(piece.how.rows[1], self.columns, partial(self._read, piece))

    def at(self, index: Index) -> pl.DataFrame:
        """Return some rows: one process a file unpacks its row groups one after another, and hands over these rows."""
        found, before = [pl.DataFrame(schema=dict.fromkeys(self.columns, pl.String))], 0
        for number, (keys, groups) in enumerate(self._groups):
            rows = sum(count for count, *_ in groups)
            first, last = np.searchsorted(index, (before, before + rows))
            if last > first:
                chosen = (index[first:last] - before).tolist()
                asked = {"chosen": chosen, "columns": list(self.reading.columns), "keys": dict(keys)}
                size = len(self.files[number][0])
                found.append(
                    self._unchanged(
                        number, partial(_cells, source=self._source, size=size, asked=asked, rows=len(chosen))
                    )
                )
            before += rows
        return pl.concat(found)

    def pieces(self, size: int) -> Iterator[Piece]:
        """Yield the rows as other processes read them."""
        return self._pieces(max(size, PIECE), ROWS_AT_ONCE)

    def _pieces(self, size: int, at_once: int) -> Iterator[Piece]:
        before = 0
        for number, (keys, groups) in enumerate(self._groups):
            length = len(self.files[number][0])
            tail = max((stop for *_, stop in groups), default=length)
            for first, rows, start, stop in _joined(groups, size, at_once):
                # Some writers left the head of a dictionary out of the size of a group.
                ranges = (0, 4), (start, min(stop + 100, length)), (tail, length)
                for at in range(0, rows, at_once):
                    some = min(at_once, rows - at)
                    yield Piece(number, ranges, before, Groups((first + at, some), ranges, length, keys))
                    before += some

    def _read(self, piece: Piece) -> pl.DataFrame:
        groups: Groups = piece.how
        return self._unchanged(piece.file, partial(groups.read, columns=self.reading.columns, source=self._source))

    def _unchanged(self, number: int, work: Callable[[Path], pl.DataFrame]) -> pl.DataFrame:
        view, named = self.files[number]
        try:
            return work(view.path or Path(named))
        finally:
            view.require_unchanged()
            if view.path is None and (view.remote or view.place_in(named) is None):
                raise InputError("the file changed while it was read", self._source, "run it again")


def _joined(groups: Sequence[Sequence[int]], size: int, at_once: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield neighbouring row groups that are one part: the first row, how many, and where their bytes are."""
    first = rows = values = start = stop = 0
    for count, value, a, b in groups:
        if rows and (rows + count > at_once or values + value > size):
            yield first, rows, start, stop
            first, rows, values = first + rows, 0, 0
        if count:
            start, stop = (min(start, a), max(stop, b)) if rows else (a, b)
            rows, values = rows + count, values + value
    if rows:
        yield first, rows, start, stop


def read_groups(file: SourceFile) -> Table:
    """Return the table of large Parquet files, whose rows are read where they are used.

    Raises:
        InputError: a file is damaged, or every column holds lists, records or bytes.
    """
    answer = io.BytesIO()
    more = read_in_child(file, _NAME, _MODULE, cast("IO[bytes]", answer), {"outline": True}).more
    try:
        outline = parse_json(answer.getvalue().decode(), "answer")
        rows = RowsOfGroups(file, outline)
        kinds = [type_named(word) for word in outline["types"]]
        types = pl.Schema(zip(rows.columns, kinds, strict=True))
    except (ValueError, TypeError, KeyError, AttributeError):  # the answer of a process that a file misled
        hint = "export it again, or give a CSV file"
        raise InputError(not_of_format(_NAME), file.source, hint, code="damaged-file") from None
    return Table(cast("pl.DataFrame", rows), file.source, types=types, **more)
