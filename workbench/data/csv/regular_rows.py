"""The rows of a text that is provably regular (:mod:`workbench.data.csv.precheck`), whole or in parts, by polars."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl

from workbench.data.csv.encoding import AnyBytes, Bytes, FileBytes
from workbench.data.csv.precheck import Shape
from workbench.data.rows_in_parts import Index, Part, Rows, require_memory
from workbench.params import InputError

PIECE = 1 << 23
"""Bytes of text in a part, at most, unless a single record is longer."""

_LF = 10


@dataclass(frozen=True)
class Reading:
    """How the records of a regular text are read, here or in another process.

    Attributes:
        columns: the names of the columns.
        delimiter: between cells.
        quote: around cells; ``None`` where none is quoted.
        source: the name a person uses for the file.
        in_parts: whether it is read in parts.
    """

    columns: tuple[str, ...]
    delimiter: str
    quote: str | None
    source: str
    in_parts: bool

    def frame(self, text: bytes, records: int) -> pl.DataFrame:
        """Return the cells of so many records.

        Raises:
            InputError: of a text that is read in parts, there are more or fewer.
        """
        schema = dict.fromkeys(self.columns, pl.String)
        if not records:
            return pl.DataFrame(schema=schema)
        if len(self.columns) == 1 and self.in_parts:
            lines = text.decode().removesuffix("\n").split("\n")
            frame = pl.DataFrame({self.columns[0]: [line.removesuffix("\r") or None for line in lines]}, schema)
        else:
            frame = pl.read_csv(
                text,
                has_header=False,
                schema=schema,
                separator=self.delimiter,
                quote_char=self.quote,
                glob=False,
            )
        if frame.height != records:
            if self.in_parts:
                raise InputError("the file changed while it was read", self.source, "run it again")
            raise pl.exceptions.ComputeError("another number of records")
        return frame.select(pl.all().replace("", None)) if self.quote is not None else frame


@dataclass(frozen=True)
class Cut:
    """Where some records are.

    Attributes:
        start: their first byte.
        stop: the byte behind their last.
        records: how many they are, a header among them.
        header: whether the first is no row, as a number.
        rows_before: how many rows come before them.
    """

    start: int
    stop: int
    records: int
    header: int
    rows_before: int


class RegularRows(Rows):
    """The rows of a regular text."""

    def __init__(
        self,
        body: AnyBytes,
        shape: Shape,
        delimiter: str,
        quote: str,
        columns: Sequence[str],
        header: bool,
        source: str,
    ) -> None:
        """Take the text."""
        self._body, self._shape, self._source, self._header = body, shape, source, int(header)
        self._quote = quote if shape.quoted else None
        self.columns = tuple(columns)
        self.reading = Reading(self.columns, delimiter or "\x1f", self._quote, source, isinstance(body, FileBytes))
        self.height = shape.records - self._header

    @property
    def one_column(self) -> bool:
        """Whether a text of one column can be read in parts: each of its lines is a cell."""
        return not self._shape.quoted and self._shape.records <= len(self._body)

    def load(self) -> pl.DataFrame:
        """Return all rows.

        Raises:
            InputError: they do not fit into memory.
        """
        if isinstance(self._body, FileBytes):
            require_memory(self.height, len(self.columns), len(self._body), self._source)
            parts = [part.load() for part in self.parts(self.height)]
            return pl.concat(parts, rechunk=True) if parts else self._parsed(b"", 0)
        return self._parsed(self._body.tobytes(), self._shape.records).slice(self._header)

    def parts(self, at_once: int) -> Iterator[Part]:
        """Yield the rows; a part ends where its text is long."""
        at, left = 0, self._header
        while at < len(self._body):
            size = PIECE
            while not len(ends := self._ends(piece := self._body[at : at + size])) and at + size < len(self._body):
                size *= 2  # a record that is longer than a piece
            if at + len(piece) == len(self._body) and (not len(ends) or ends[-1] != len(piece)):
                ends = np.append(ends, len(piece))
            first = ends[left - 1] if left else 0
            ends = ends[left : left + at_once]
            if len(ends):
                text = piece[first : ends[-1]]
                yield Part(len(ends), self.columns, partial(self._parsed, text.tobytes(), len(ends)))
                at += int(ends[-1])
            else:
                at += int(first)
            left = 0
        if isinstance(self._body, FileBytes):
            self._body.require_unchanged()

    def at(self, index: Index) -> pl.DataFrame:
        """Return some rows, of which only the surroundings are read."""
        stride, starts = self._shape.stride, self._shape.starts
        numbers = index + self._header
        blocks = np.unique(numbers // stride)
        found = [self._parsed(b"", 0)]
        for k in range(0, len(blocks), 1 << 12):
            some = blocks[k : k + (1 << 12)]
            texts, counts = [], []
            for block in some.tolist():
                stop = int(starts[block + 1]) if block + 1 < len(starts) else len(self._body)
                text = self._body[int(starts[block]) : stop].tobytes()
                texts.append(text if text.endswith(b"\n") else text + b"\n")
                counts.append(min(stride, self._shape.records - block * stride))
            frame = self._parsed(b"".join(texts), sum(counts))
            before = np.append(0, np.cumsum(counts))
            mine = numbers[(numbers // stride >= some[0]) & (numbers // stride <= some[-1])]
            found.append(frame[before[np.searchsorted(some, mine // stride)] + mine % stride])
        return pl.concat(found, rechunk=True)

    def _ends(self, piece: Bytes) -> Index:
        """Return where records end in a piece that begins with a record: behind their last bytes."""
        ends = np.flatnonzero(piece == _LF)
        if self._quote is not None:
            marks = np.flatnonzero(piece == ord(self._quote))
            ends = ends[np.searchsorted(marks, ends) % 2 == 0]  # an odd number of marks before it: inside a cell
        return ends + 1

    def cuts(self, size: int) -> list[Cut]:
        """Return cuts of about ``size`` bytes, in which all records are once."""
        starts, stride, end = self._shape.starts, self._shape.stride, len(self._body)
        edges = np.unique(np.searchsorted(starts, np.arange(0, max(end, 1), size)))
        cuts = []
        for first, last in itertools.pairwise([*edges[edges < len(starts)].tolist(), len(starts)]):
            stop = int(starts[last]) if last < len(starts) else end
            before, header = first * stride, self._header if first == 0 else 0
            records = min(last * stride, self._shape.records) - before
            cuts.append(Cut(int(starts[first]), stop, records, header, max(before - self._header, 0)))
        return cuts

    @property
    def body(self) -> AnyBytes:
        """The text."""
        return self._body

    @property
    def _parsed(self) -> Callable[[bytes, int], pl.DataFrame]:
        return self.reading.frame
