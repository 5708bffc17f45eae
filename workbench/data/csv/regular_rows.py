"""The rows of a text that is provably regular (:mod:`workbench.data.csv.precheck`), whole or in parts, by polars."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl

from workbench.data.csv.encoding import AnyBytes, FileBytes
from workbench.data.csv.precheck import Shape
from workbench.data.rows_in_parts import Index, Part, Piece, Rows, require_memory
from workbench.params import InputError

PIECE = 1 << 23  # bytes of text in a part, at most, unless a single record is longer


@dataclass(frozen=True)
class Reading:
    """How the records of a regular text are read, here or in another process."""

    columns: tuple[str, ...]  # the names of the columns
    delimiter: str  # between cells
    quote: str | None  # around cells; `None` where none is quoted
    source: str  # the name a person uses for the file
    in_parts: bool  # whether it is read in parts

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

    def rows(self, how: Cut, texts: Sequence[bytes]) -> pl.DataFrame:
        """Return the rows of a cut."""
        return self.frame(texts[0], how.records).slice(how.header)


@dataclass(frozen=True)
class Cut:
    """Where some records are."""

    start: int  # their first byte
    stop: int  # the byte behind their last
    records: int  # how many they are, a header among them
    header: int  # whether the first is no row, as a number
    rows_before: int  # how many rows come before them


class RegularRows(Rows):
    """The rows of a regular text."""

    reading: Reading
    seeks = True

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
        self.columns = tuple(columns)
        mark = quote if shape.quoted else None
        self.reading = Reading(self.columns, delimiter or "\x1f", mark, source, isinstance(body, FileBytes))
        self.height = shape.records - self._header
        self.files = ((body, source),) if isinstance(body, FileBytes) else ()

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
            parts = [self._read(cut) for cut in self.cuts(PIECE)]
            return pl.concat(parts, rechunk=True) if parts else self._parsed(b"", 0)
        return self._parsed(self._body.tobytes(), self._shape.records).slice(self._header)

    def parts(self, at_once: int) -> Iterator[Part | pl.DataFrame]:
        """Yield the rows; a part ends where its text is long."""
        for cut in self.cuts(PIECE, at_once):
            part = Part(cut.records - cut.header, self.columns, partial(self._read, cut))
            if part.height > at_once:  # so few rows that they are not where the check noted its places
                yield from part.parts(at_once)
            elif part.height:
                yield part

    def _read(self, cut: Cut) -> pl.DataFrame:
        text = self._text(cut.start, cut.stop)
        if isinstance(self._body, FileBytes):
            self._body.require_unchanged()
        return self.reading.rows(cut, (text,))

    def _text(self, start: int, stop: int) -> bytes:
        body = self._body
        return body.read(start, stop) if isinstance(body, FileBytes) else body[start:stop].tobytes()

    def pieces(self, size: int) -> Iterator[Piece]:
        """Yield the cuts of about that size as other processes read them."""
        for cut in self.cuts(size):
            yield Piece(0, ((cut.start, cut.stop),), cut.rows_before, cut)

    def at(self, index: Index) -> pl.DataFrame:
        """Return some rows, of which only the surroundings are read."""
        stride, starts = self._shape.stride, np.append(self._shape.starts, len(self._body))
        numbers = index + self._header
        blocks = np.unique(numbers // stride)
        found = [self._parsed(b"", 0)]
        for k in range(0, len(blocks), 1 << 12):
            some = blocks[k : k + (1 << 12)]
            texts = map(self._text, starts[some].tolist(), starts[some + 1].tolist())
            counts = np.minimum(stride, self._shape.records - some * stride)
            frame = self._parsed(b"".join(texts), int(counts.sum()))
            before = np.append(0, np.cumsum(counts))
            mine = numbers[(numbers // stride >= some[0]) & (numbers // stride <= some[-1])]
            found.append(frame[before[np.searchsorted(some, mine // stride)] + mine % stride])
        return pl.concat(found, rechunk=True)

    def cuts(self, size: int, records: int | None = None) -> Iterator[Cut]:
        """Yield cuts of about ``size`` bytes, and at most ``records``, in which all records are once.

        They are where the check noted places: one is longer by such a step at most, and of a step's records at least.
        """
        starts, stride, end = self._shape.starts, self._shape.stride, len(self._body)
        starts = np.append(starts[starts < end], end)
        blocks, first = len(starts) - 1, 0
        step = blocks if records is None else max(1, records // stride)
        while first < blocks:
            last = int(np.searchsorted(starts, (starts[first] // size + 1) * size))
            last = min(last, first + step, blocks)
            before, header = first * stride, self._header if first == 0 else 0
            count = min(last * stride, self._shape.records) - before
            yield Cut(int(starts[first]), int(starts[last]), count, header, max(before - self._header, 0))
            first = last

    @property
    def _parsed(self) -> Callable[[bytes, int], pl.DataFrame]:
        return self.reading.frame
