"""Rows that are read in parts: of a table that may be larger than memory, as often as they are needed.

A part is read when its ``frame`` is first used, so that threads read the parts they work on. What is made of a table
part by part (:func:`each_part`) needs memory for a few parts, however many rows there are.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.params import InputError
from workbench.signals.cancel import NEVER, CancelToken

if TYPE_CHECKING:
    from workbench.data.csv.encoding import FileBytes

Index = NDArray[np.int64]
S = TypeVar("S")
T = TypeVar("T")
P_co = TypeVar("P_co", covariant=True)

_THREADS = 2
_BYTES_OF_A_CELL = 16
_SHARE_OF_FREE = 0.6  # share of the free memory that a table which is read whole may take


@dataclass(frozen=True)
class Piece:
    """Some rows of a file, and the bytes from which another process makes them."""

    file: int  # which of the files they are in
    ranges: tuple[tuple[int, int], ...]  # of its bytes: the first one, and the one behind the last
    rows_before: int  # how many rows of the table come before them
    how: Any  # what a `PieceReader` needs to know beside the bytes
    # Where others get the bytes from a database: the keys of the first row and of the last.
    keys: tuple[tuple[int, int], ...] = ()


class PieceReader(Protocol):
    """Makes rows of the bytes of pieces; it can be sent to another process."""

    def rows(self, how: Any, texts: Sequence[bytes]) -> pl.DataFrame:
        """Return the rows of a piece, of whose ranges ``texts`` are the bytes."""


class Rows(ABC):
    """Rows of text cells that are read from disk when they are needed."""

    height: int
    columns: tuple[str, ...]  # the names of their columns
    # What another process reads the rows from, and how a person names each; none where it cannot.
    files: tuple[tuple[FileBytes, str], ...] = ()
    reading: PieceReader  # how it reads them
    seeks: bool = False  # whether `at` reads little beside the rows that it returns

    def pieces(self, size: int) -> Iterator[Piece]:
        """Yield pieces of about ``size`` bytes of text, in order, for rows that are read from files."""
        raise NotImplementedError(size)

    @abstractmethod
    def load(self) -> pl.DataFrame:
        """Return all of them."""

    @abstractmethod
    def parts(self, at_once: int) -> Iterator[Rows | pl.DataFrame]:
        """Yield them in order, at most ``at_once`` at a time, and fewer where their text is long."""

    def at(self, index: Index) -> pl.DataFrame:
        """Return some rows.

        Args:
            index: which, in rising order.
        """
        found, before = [], 0
        for part in self.parts(1 << 18):
            first, last = np.searchsorted(index, (before, before + part.height))
            if last > first:
                frame = part if isinstance(part, pl.DataFrame) else part.load()
                found.append(frame[index[first:last] - before])
            before += part.height
        return pl.concat(found) if found else pl.DataFrame(schema=dict.fromkeys(self.columns, pl.String))


@dataclass(frozen=True, eq=False)
class Part(Rows):
    """Some rows, which are read when they are used."""

    height: int
    columns: tuple[str, ...]  # their columns
    read: Callable[[], pl.DataFrame]  # reads them

    def load(self) -> pl.DataFrame:
        return self.read()

    def parts(self, at_once: int) -> Iterator[pl.DataFrame]:
        frame = self.load()
        return (frame.slice(start, at_once) for start in range(0, self.height, at_once))


class Rewritten(Rows):
    """Rows whose cells are made of others, part by part."""

    def __init__(self, rows: Rows, work: Callable[[pl.DataFrame], pl.DataFrame], columns: tuple[str, ...]) -> None:
        self._rows, self._work = rows, work
        self.height, self.columns = rows.height, columns

    def load(self) -> pl.DataFrame:
        return self._work(self._rows.load())

    def parts(self, at_once: int) -> Iterator[Part]:
        """Yield the rows; they are made when they are used."""
        for part in self._rows.parts(at_once):
            yield Part(part.height, self.columns, partial(self._made, part))

    def _made(self, part: Rows | pl.DataFrame) -> pl.DataFrame:
        return self._work(part if isinstance(part, pl.DataFrame) else part.load())


class WithEmptyRows(Rows):
    """Rows with empty ones among them."""

    def __init__(self, rows: Rows, before: Index) -> None:
        """Take them.

        Args:
            rows: the rows.
            before: for each empty one the index of the row that follows it, ascending.
        """
        self._rows, self._before = rows, before
        self.height, self.columns = rows.height + len(self._before), rows.columns

    def load(self) -> pl.DataFrame:
        return with_empty_rows(self._rows.load(), self._before)

    def parts(self, at_once: int) -> Iterator[pl.DataFrame]:
        done = 0
        for part in self._rows.parts(at_once):
            first, last = np.searchsorted(self._before, (done, done + part.height))
            frame = part if isinstance(part, pl.DataFrame) else part.load()
            frame = with_empty_rows(frame, self._before[first:last] - done)
            yield from (frame.slice(start, at_once) for start in range(0, frame.height, at_once))
            done += part.height
        left = len(self._before) - int(np.searchsorted(self._before, done))
        while left:
            some = min(left, at_once)
            yield pl.DataFrame({name: [None] * some for name in self.columns}, dict.fromkeys(self.columns, pl.String))
            left -= some


def cells_of(frame: pl.DataFrame, name: str) -> pl.Series:
    """Return a column without its name: polars takes a name such as ``*`` or ``^a$`` for a pattern.

    Many methods of a Series look it up by its name once more, so that one of such a name would be empty.
    """
    return frame.get_column(name).alias("")


def each_column(frame: pl.DataFrame) -> Iterator[pl.Series]:
    """Yield the columns of a frame in order, each without its name (:func:`cells_of`)."""
    return (cells.alias("") for cells in frame.iter_columns())


def with_empty_rows(frame: pl.DataFrame, before: Index) -> pl.DataFrame:
    """Return rows with an empty one before each of some of them; one beyond the last marks the end."""
    if not len(before):
        return frame
    rows = np.insert(np.arange(frame.height), before, -1)
    return frame.select(pl.all().gather(pl.Series(rows).set(pl.Series(rows < 0), None)))


def require_memory(rows: int, columns: int, text: int, source: str) -> None:
    """Refuse a table that does not fit into the free memory, before it is read whole.

    Raises:
        InputError: it does not.
    """
    import psutil

    needed, free = rows * columns * _BYTES_OF_A_CELL + text, int(psutil.virtual_memory().available * _SHARE_OF_FREE)
    if needed > free:
        what = f"this needs the whole table in memory: {needed / 1e9:,.1f} GB, and {free / 1e9:,.1f} GB are free"
        raise InputError(what, source, "use a table of fewer rows", code="table-too-large")


class _HasParts(Protocol[P_co]):
    def parts(self) -> Iterator[P_co]: ...


def each_part(table: _HasParts[S], work: Callable[[S], T], cancel: CancelToken = NEVER) -> Iterator[T]:
    """Yield what ``work`` makes of each part of a table, in order; two parts are worked on at a time.

    Args:
        table: the rows.
        work: called in threads; a part's cells are read when it first uses them.
        cancel: checked between parts.
    """
    return in_order(table.parts(), work, cancel)


def in_order(items: Iterable[S], work: Callable[[S], T], cancel: CancelToken = NEVER) -> Iterator[T]:
    """Yield what ``work`` makes of each item, in order; it is called in two threads where there are two items."""
    items = iter(items)
    first = list(itertools.islice(items, 2))
    if len(first) < 2:
        yield from map(work, first)
        return
    with ThreadPoolExecutor(_THREADS, "parts") as pool:
        going: deque[Future[T]] = deque()
        try:
            for item in itertools.chain(first, items):
                cancel.check()
                going.append(pool.submit(work, item))
                if len(going) > _THREADS:
                    yield going.popleft().result()
            while going:
                cancel.check()
                yield going.popleft().result()
        finally:
            for future in going:
                future.cancel()
