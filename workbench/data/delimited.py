"""Read delimited text: fast where a check proves the file regular, exactly and with the fault named elsewhere."""

from __future__ import annotations

import codecs
import dataclasses
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from workbench.data.dialect import BARE, DOUBLED, Dialect
from workbench.data.doubts import doubts_about
from workbench.data.encoding import Bytes, decode, guess_encoding, is_utf8, refuse_other_formats
from workbench.data.options import NO_QUOTE, ReadOptions
from workbench.data.records import MalformedError, Record, records
from workbench.data.scan import regular_shape
from workbench.data.sniff import sniff, ways
from workbench.data.table import Table
from workbench.params import InputError
from workbench.signals.cancel import CancelToken

_SAMPLE_BYTES = 1 << 17
_BATCH = 20_000


class DelimitedFile:
    """One reading of one file of delimited text.

    Args:
        file: where it is.
        source: what a person calls it.
        view: its bytes.
        options: what a person states over the guess.
        cancel: looked at several times per second.
        replace_invalid: whether the plan replaces invalid values: a line with another number of cells than there are
            columns is then an empty row, instead of being refused.

    Raises:
        InputError: the bytes are not text in the stated or guessed encoding.
    """

    def __init__(
        self,
        file: Path,
        source: str,
        view: Bytes,
        options: ReadOptions,
        cancel: CancelToken,
        *,
        replace_invalid: bool = False,
    ) -> None:
        self._file, self._source, self._options, self._cancel = file, source, options, cancel
        self._replace_invalid = replace_invalid
        self._notices: list[str] = []
        refuse_other_formats(view, source)
        encoding, self._encoding_certain = options.encoding, True
        if encoding is None:
            encoding, self._encoding_certain = guess_encoding(view, source, cancel)
        if not self._encoding_certain:
            self._notices.append(
                f"the file is not UTF-8; its encoding was guessed as {encoding}; if letters look wrong, say --encoding"
            )
        self._encoding = encoding
        # polars reads UTF-8 from a mapped file itself; everything else is in UTF-8 in memory first.
        in_place = encoding == "utf-8" and (options.encoding is None or is_utf8(view, cancel))
        self._mapped = in_place and isinstance(view, np.memmap)
        if in_place:
            self._body = view[3:] if view[:3].tobytes() == codecs.BOM_UTF8 else view
        else:
            self._body = np.frombuffer(decode(view, encoding, source).encode("utf-8"), np.uint8)

    def read(self, names: Sequence[str] | None) -> Table:
        """Return the table.

        Args:
            names: column names that a plan expects: a first row that holds them is the header.

        Raises:
            InputError: the file cannot be read without doubt; the message names row, line and mend.
        """
        dialect, first = self._sniff(names)
        table = self._read(dialect, first, names)
        assert table.dialect is not None
        certain = [*self._fixed(), "encoding"] if self._encoding_certain else self._fixed()
        return dataclasses.replace(table, doubts=tuple(doubts_about(table.dialect, certain, first.cells, names)))

    def _read(self, dialect: Dialect, first: Record, names: Sequence[str] | None) -> Table:
        # Without a header the plan says how many columns there are: the first row may be the uneven one.
        width = len(names) if names and self._replace_invalid else len(first.cells)
        columns = self._header(first) if dialect.header else [f"column{k}" for k in range(1, width + 1)]
        # Blank lines before the first record are left to the exact reader.
        table = self._read_fast(dialect, columns) if first.line == 1 else None
        return table or self._read_exactly(dialect, columns)

    def _sniff(self, names: Sequence[str] | None) -> tuple[Dialect, Record]:
        options = self._options
        given = Dialect(
            encoding=self._encoding,
            delimiter="," if options.delimiter is None else options.delimiter,
            quote='"' if options.quote is None else "" if options.quote == NO_QUOTE else options.quote,
            decimal=options.decimal or ".",
            header=options.header == "yes",
            decimal_given=options.decimal is not None,
            escape=options.escape or DOUBLED,
        )
        size = _SAMPLE_BYTES
        while True:
            complete = size >= len(self._body)
            # A sample may end inside a character; what is left of that character is dropped.
            sample = self._body[:size].tobytes().decode("utf-8", "strict" if complete else "ignore")
            dialect, found = sniff(sample, given, self._fixed(), names, complete)
            if found:
                return dialect, found[0]
            if complete:
                break
            size *= 8
        if sample.strip("\r\n"):
            self._read_exactly(dialect, [""])  # raises: not even the first record can be read
        elif names and self._replace_invalid and not dialect.header:
            return dialect, Record(1, [])  # every row is empty
        raise InputError("the file holds only blank lines", self._source, "give a file with rows")

    def _fixed(self) -> list[str]:
        """Return which attributes of the dialect a person stated."""
        names = ("encoding", "delimiter", "quote", "escape", "decimal", "header")
        return [name for name in names if getattr(self._options, name) is not None]

    def _header(self, first: Record) -> list[str]:
        """Return the names of the columns; a nameless one is called by its position, counted from 1."""
        place = f"{self._source}, line {first.line}"
        taken = set(first.cells)
        out: list[str] = []
        for position, cell in enumerate(first.cells, start=1):
            name = cell
            if not cell.strip():
                name = f"column{position}"
                while name in taken:
                    name += "_"
                taken.add(name)
                self._notices.append(f"the header names no column {position}; it is called {name}")
            if name in out:
                raise InputError(
                    f"the header names the column {name!r} twice",
                    place,
                    "rename one of them, or say --header no if the first row is data",
                )
            out.append(name)
        return out

    def _read_fast(self, dialect: Dialect, columns: list[str]) -> Table | None:
        """Read a file that is provably regular with polars; ``None`` where it is not."""
        if not (dialect.delimiter + dialect.quote).isascii() or dialect.escape != DOUBLED:
            return None
        delimiter = ord(dialect.delimiter) if dialect.delimiter else None
        quote = ord(dialect.quote) if dialect.quote else None
        blank = _blank_lines_at_end(self._body) if len(columns) > 1 else b""
        shape = regular_shape(self._body[: -len(blank) or None], delimiter, quote, len(columns), self._cancel)
        if shape is None:
            return None
        try:
            frame = pl.read_csv(
                self._file.resolve() if self._mapped else io.BytesIO(self._body.tobytes()),
                has_header=False,
                schema=dict.fromkeys(columns, pl.String),
                separator=dialect.delimiter or "\x1f",
                quote_char=dialect.quote if shape.quoted else None,
                glob=False,
            )
        except pl.exceptions.PolarsError:
            return None  # the exact reader understands the file or names its fault
        if frame.height != shape.records + blank.count(b"\n"):
            return None
        frame = frame.head(shape.records)
        if shape.quoted:
            frame = frame.select(pl.all().replace("", None))
        first_line = (2 if dialect.header else 1) if shape.one_line_each else None
        frame = frame.slice(1) if dialect.header else frame
        blank_lines = (frame.height,) * blank.count(b"\n")
        return Table(frame, self._source, dialect, first_line, tuple(self._notices), blank_lines=blank_lines)

    def _read_exactly(self, dialect: Dialect, columns: list[str]) -> Table:
        """Read with the exact reader, in each way of escaping quote marks until one fits."""
        body = self._body.tobytes().decode("utf-8")
        fault: MalformedError | None = None
        for way in ways(dialect, self._options.escape is not None):
            attempt = dataclasses.replace(dialect, escape=way)
            try:
                return self._collect(body, attempt, columns)
            except MalformedError as error:
                fault = fault or error
                if error.what == "ragged" and error is fault:
                    break  # no other way of escaping mends a row that was understood
        assert fault is not None
        raise self._explain(fault, dialect, len(columns))

    def _collect(self, body: str, dialect: Dialect, columns: list[str]) -> Table:
        parts: list[pl.DataFrame] = []
        batch: list[list[str]] = []
        first_line: int | None = None
        in_step = True
        blank_lines: list[int] = []
        rows = uneven = 0
        for start, cells in self._rows(body, dialect, len(columns)):
            if not cells:
                blank_lines.append(rows)
                continue
            if len(cells) != len(columns):
                uneven += 1
                cells = [""] * len(columns)
            if first_line is None:
                first_line = start
            in_step &= start == first_line + rows
            rows += 1
            batch.append(cells)
            if len(batch) == _BATCH:
                self._cancel.check()
                parts.append(_frame(batch, columns))
                batch = []
        parts.append(_frame(batch, columns))
        frame = pl.concat(parts)
        notices = list(self._notices)
        if dialect.escape == BARE and self._options.escape is None:
            frame, told = _undouble(frame)
            notices += told
        frame = frame.select(pl.all().replace("", None))
        if uneven:
            counted = "1 row has" if uneven == 1 else f"{uneven} rows have"
            notices.append(f"{counted} another number of cells than {len(columns)}: read as empty (all values missing)")
        if not in_step:
            first_line = None
        return Table(frame, self._source, dialect, first_line, tuple(notices), blank_lines=blank_lines)

    def _rows(self, body: str, dialect: Dialect, width: int) -> Iterator[Record]:
        """Yield the data rows, and the blank lines from the first place where a row can stand, without cells.

        Where there is one column, a blank line after the first record is a missing value.
        """
        started = False
        seen = 0
        for record in records(body, dialect):
            cells = record.cells
            if not cells:
                if width > 1 or not started:
                    if started or not dialect.header:
                        yield record
                    continue
                cells = [""]
            if len(cells) != width and not self._replace_invalid:
                raise MalformedError("ragged", record.line, seen, len(cells))
            seen += 1
            if started or not dialect.header:
                yield Record(record.line, cells)
            started = True

    def _explain(self, fault: MalformedError, dialect: Dialect, width: int) -> InputError:
        number = fault.record + (0 if dialect.header else 1)
        row = f"row {number}" if number else "the header"
        place = f"{self._source}, line {fault.line}"
        quote = dialect.quote
        if fault.what == "ragged":
            other = "the header" if dialect.header else "row 1"
            cells = f"{fault.cells} cell" + ("s" if fault.cells != 1 else "")
            return InputError(
                f"{row} has {cells}, {other} has {width}",
                place,
                "mend that row, name the right delimiter with --delimiter, "
                'or count such rows as empty: invalid = "replace" in the plan',
            )
        if fault.what == "unterminated":
            return InputError(
                f"a quoted cell of {row} is never closed",
                place,
                f"close it with {quote}, or say --quote none if quote marks are plain text",
            )
        return InputError(
            f"a stray quote mark {quote} stands in {row}",
            place,
            f"wrap its cell in {quote} and double the mark in it, or say --quote none if quote marks are plain text",
        )


def _blank_lines_at_end(body: Bytes) -> bytes:
    """Return the blank lines that end ``body``, if there are few of them."""
    tail = body[-256:].tobytes()
    ends = tail[len(tail.rstrip(b"\r\n")) :]
    return ends[2 if ends.startswith(b"\r\n") else 1 :] if len(ends) < len(tail) else b""


def _frame(batch: list[list[str]], columns: list[str]) -> pl.DataFrame:
    cells = zip(*batch, strict=True) if batch else ([] for _ in columns)
    return pl.DataFrame([pl.Series(name, list(c), pl.String) for name, c in zip(columns, cells, strict=True)])


def _undouble(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Halve double quotes that stand only in pairs: the file was written with them and only its marks changed."""
    pair, single = '""', r'(^|[^"])"("")*([^"]|$)'
    doubled = any(series.str.contains(pair, literal=True).any() for series in frame)
    if not doubled or any(series.str.contains(single).any() for series in frame):
        return frame, []
    told = "double quotes stand only in pairs inside cells that are wrapped in apostrophes; each pair is read as one"
    return frame.select(pl.all().str.replace_all(pair, '"', literal=True)), [told]
