"""The rows of a table of a database: kept in a private file as they arrived, in one state, and read there in parts.

Where a whole number is the table's key, other processes read the same rows from the database itself, between keys.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import IO

import polars as pl

from workbench.data.csv.encoding import FileBytes
from workbench.data.private_file import write_private
from workbench.data.rows_in_parts import Part, Piece, Rows, require_memory

IN_MEMORY = 1 << 26  # bytes of a table that is read into memory

CELLS = 1 << 20  # cells of a part


@dataclass(frozen=True)
class Kept:
    """Where some rows are."""

    rows: int  # how many
    place: tuple[int, int]  # of their bytes in the file: the first, and the one behind the last
    keys: tuple[int, int] | None  # the key of the first row, and that of the last; `None` of a table without


class _Reader:
    """Reads rows from the bytes that the process which asked the database has sent."""

    def rows(self, how: None, texts: Sequence[bytes]) -> pl.DataFrame:
        """Return the rows, missing cells as such."""
        (content,) = texts
        return pl.read_ipc_stream(io.BytesIO(content)).select(pl.all().replace("", None))


class DatabaseRows(Rows):
    """Rows of a database, in a file without a name."""

    reading = _Reader()

    def __init__(self, file: IO[bytes], source: str, place: str) -> None:
        """Begin with no rows.

        Args:
            file: an empty one, where they are kept.
            source: what a person calls the table.
            place: its address, for other processes; empty if they are not to read it.
        """
        self.height, self._file, self._source, self._place = 0, file, source, place
        self._kept: list[Kept] = []

    def keep(self, content: bytes, names: Sequence[str], keys: tuple[int, int] | None) -> None:
        """Keep more rows, of these columns.

        Raises:
            InputError: the disk refuses.
            ValueError: they are no such rows, or no text.
        """
        frame = self.reading.rows(None, [content])
        if frame.columns != list(names) or any(kind != pl.String for kind in frame.dtypes):
            raise ValueError("not the rows that were promised")
        start = self._file.tell()
        write_private(self._file, content, self._source)
        self._kept.append(Kept(frame.height, (start, start + len(content)), keys))
        self.height, self.columns = self.height + frame.height, tuple(names)

    def finished(self) -> Rows | pl.DataFrame:
        """Return all rows once they are kept: in memory, unless they are many."""
        self._file.flush()
        remote = bool(self._place) and all(kept.keys for kept in self._kept)
        self._bytes = FileBytes(os.dup(self._file.fileno()), self._source, remote=remote)
        self.files = ((self._bytes, self._place),) if remote else ()
        return self if len(self._bytes) > IN_MEMORY else self._all()

    def pieces(self, size: int) -> Iterator[Piece]:
        before = 0
        for kept in self._kept:
            assert kept.keys is not None
            yield Piece(0, (kept.place,), before, None, (kept.keys,))
            before += kept.rows

    def load(self) -> pl.DataFrame:
        """Return all rows.

        Raises:
            InputError: they do not fit into memory.
        """
        require_memory(self.height, len(self.columns), len(self._bytes), self._source)
        return self._all()

    def _all(self) -> pl.DataFrame:
        return pl.concat([self._read(kept, 0, kept.rows) for kept in self._kept], rechunk=False)

    def parts(self, at_once: int) -> Iterator[Part]:
        """Yield the rows; they are read from the file when they are used."""
        for kept in self._kept:
            for start in range(0, kept.rows, at_once):
                rows = min(at_once, kept.rows - start)
                yield Part(rows, self.columns, partial(self._read, kept, start, rows))

    def _read(self, kept: Kept, start: int, rows: int) -> pl.DataFrame:
        first, last = kept.place
        return self.reading.rows(None, [self._bytes[first:last].tobytes()])[start : start + rows]
