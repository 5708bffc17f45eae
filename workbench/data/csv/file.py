"""Read delimited text with a fast parser if a check proves the file regular, otherwise with the exact reader."""

from __future__ import annotations

import codecs
import dataclasses
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.data.csv.ambiguities import Sample, ambiguities_of
from workbench.data.csv.dialect_guess import (
    DELIMITERS,
    is_typed,
    mostly_typed,
    names_of,
    sniff,
    titles_above,
    titles_notice,
    ways,
)
from workbench.data.csv.encoding import (
    AnyBytes,
    EncodingGuess,
    FileBytes,
    between,
    chunks,
    decode,
    guess_encoding,
    is_utf8,
)
from workbench.data.csv.normal_form import NormalForm, is_plain, normal_form
from workbench.data.csv.options import BARE, DOUBLED, NO_DELIMITER, NO_QUOTE, Dialect, ReadOptions
from workbench.data.csv.precheck import regular_shape
from workbench.data.csv.regular_rows import RegularRows
from workbench.data.csv.strict_reader import MalformedError, Record, line_of, records
from workbench.data.rows_in_parts import require_memory
from workbench.data.table import Table
from workbench.params import InputError
from workbench.params.amounts import counted
from workbench.params.remedies import REPLACE_ROWS, STATE_OPTION, Remedy, state_option
from workbench.signals.cancel import CancelToken

_SAMPLE_BYTES = 1 << 17
_LARGEST_SAMPLE = 1 << 26
_SAMPLE_LINES = 20
_BATCH = 20_000
_LF = 10
_LINE_END = re.compile(rb"\r\n|\r|\n")

RIGHT_DELIMITER = state_option("delimiter", doing="name the right delimiter")
NO_QUOTES = state_option("quote", "none", condition="quote marks are plain text")


class DelimitedFile:
    """One reading of one file of delimited text.

    Args:
        file: where it is; ``None`` where its bytes are in no file of their own.
        source: the name a person uses for it.
        view: its bytes.
        options: what a person stated; it overrides the guess.
        cancel: checked several times per second.
        replace_invalid: whether the plan replaces invalid values: a line with another number of cells than there are
            columns is then an empty row, instead of being refused.

    Raises:
        InputError: the bytes are not text in the stated or guessed encoding.
    """

    def __init__(
        self,
        file: Path | None,
        source: str,
        view: AnyBytes,
        options: ReadOptions,
        cancel: CancelToken,
        *,
        replace_invalid: bool = False,
    ) -> None:
        self._file, self._source, self._options, self._cancel = file, source, options, cancel
        self._replace_invalid = replace_invalid
        self._notices: list[str] = []
        self._found: list[Record] = []
        self._renamed: tuple[str, ...] = ()
        self._titles = 0
        stated = options.encoding
        self._guess = EncodingGuess(stated) if stated is not None else guess_encoding(view, source, cancel)
        encoding = self._guess.name
        if not self._guess.certain:
            self._notices.append(
                f"the file is not UTF-8; its encoding was guessed as {encoding}; if letters look wrong, use --encoding"
            )
        # UTF-8 of a large file is read in parts; everything else is in UTF-8 in memory first.
        if encoding == "utf-8" and (options.encoding is None or is_utf8(chunks(view, cancel))):
            self._body = between(view, 3) if view[:3].tobytes() == codecs.BOM_UTF8 else view
        else:
            require_memory(0, 0, 3 * len(view), source)
            self._body = np.frombuffer(
                decode(view, encoding, source, replace=replace_invalid).encode("utf-8"), np.uint8
            )
        if options.skip_lines:
            self._skip(options.skip_lines)

    def _skip(self, lines: int) -> None:
        """Leave out the first ``lines`` of the body."""
        at, head = 0, self._body if isinstance(self._body, np.ndarray) else self._body[:_LARGEST_SAMPLE]
        for line in range(lines):
            end = _LINE_END.search(head, at)  # type: ignore[call-overload]  # any buffer can be searched
            if end is None:
                there = line + (at < len(self._body))
                stated = f"the file has {there} lines, and {lines} are to be skipped"
                raise InputError(
                    stated,
                    self._source,
                    Remedy(STATE_OPTION, "use --skip-lines with a smaller number", {"option": "skip-lines"}),
                )
            at = end.end()
        self._body = between(self._body, at)

    def read(self, names: Sequence[str] | None) -> Table:
        """Return the table.

        Args:
            names: column names that a plan expects: a first row that holds them is the header.

        Raises:
            InputError: the file cannot be read without doubt; the message gives row, line and a hint.
        """
        dialect, self._found = self._sniff(names)
        first = self._found[0]
        self._notices += notices_about(self._found, dialect, self._options)
        columns = self._names_of(first, dialect, names)
        table = self._read_fast(dialect, columns) or self._read_exactly(dialect, columns)
        assert table.dialect is not None
        certain = [*self._fixed(), "encoding"] if self._guess.certain else self._fixed()
        doubts = ambiguities_of(table.dialect, certain, first.cells, names, self._sample)
        facts = dataclasses.replace(table.facts, titles=self._titles)
        return table.replaced(ambiguities=tuple(doubts), renamed=self._renamed, facts=facts)

    def _names_of(self, first: Record, dialect: Dialect, planned: Sequence[str] | None) -> list[str]:
        """Return the names of the columns: the stated ones, those of the header, or ``column1`` and so on."""
        stated, width = self._options.names, len(first.cells)
        if planned and self._replace_invalid and not dialect.header:
            width = len(planned)  # the plan says how many columns there are: the first row may be the uneven one
        if stated is None:
            return self._header(first) if dialect.header else [f"column{k}" for k in range(1, width + 1)]
        if len(stated) != width:
            row = "the header" if dialect.header else "row 1"
            cells = counted(width, "cell")
            one, more = (
                f"{row} has {cells}, and 1 name was stated",
                f"{row} has {cells}, and {len(stated)} names were stated",
            )
            raise InputError(
                one if len(stated) == 1 else more,
                self._source,
                (Remedy(STATE_OPTION, "use --names with one name for each", {"option": "names"}), RIGHT_DELIMITER),
            ).on_line(first.line)
        return list(stated)

    def _stated(self) -> Dialect:
        """Return the dialect as far as a person stated it, and a usual one where not."""
        options = self._options
        quote = '"' if options.quote is None else options.quote
        delimiter = "," if options.delimiter is None else options.delimiter
        return Dialect(
            encoding=self._guess.name,
            delimiter="" if delimiter == NO_DELIMITER else delimiter,
            quote="" if quote == NO_QUOTE else quote,
            decimal=options.decimal or ".",
            header=options.header == "yes",
            decimal_given=options.decimal is not None,
            escape=options.escape or DOUBLED,
            trim=options.trim,
            comment=options.comment or "",
        )

    def _sniff(self, names: Sequence[str] | None) -> tuple[Dialect, list[Record]]:
        """Return the dialect of a sample and its records; the sample grows until there is a record."""
        stated, size = self._stated(), _SAMPLE_BYTES
        while True:
            complete = size >= len(self._body)
            # A sample may end inside a character; what is left of that character is dropped.
            sample = self._body[:size].tobytes().decode("utf-8", "strict" if complete else "ignore")
            # A sample of few lines may end within the first one, however long that is.
            if complete or sample.count("\n") + sample.count("\r") >= _SAMPLE_LINES or size > _LARGEST_SAMPLE:
                self._sample = Sample(sample, complete, self._guess)
                dialect, found = sniff(sample, stated, self._fixed(), names, complete)
                if found:
                    before = self._options.skip_lines
                    return dialect, [Record(record.line + before, record.cells) for record in found]
            if complete:
                break
            size *= 8
        if sample.strip("\r\n"):
            self._read_exactly(dialect, [""])  # raises: not even the first record can be read
        elif names and self._replace_invalid and not dialect.header:
            return dialect, [Record(1, [])]  # every row is empty
        comments = " and comments" if self._options.comment else ""
        raise InputError(f"the file holds only blank lines{comments}", self._source, "give a file with rows")

    def _fixed(self) -> list[str]:
        """Return which attributes of the dialect a person stated."""
        names = ("encoding", "delimiter", "quote", "escape", "decimal", "header")
        return [name for name in names if getattr(self._options, name) is not None]

    def _header(self, first: Record) -> list[str]:
        """Return the names of the columns."""
        named, self._renamed, said = names_of(first.cells)
        if titles := titles_above([record.cells for record in self._found]):
            self._titles = self._found[titles].line - 1
            said = [titles_notice(sum(map(bool, first.cells)), len(named), self._titles)]
        self._notices += said
        return named

    def _read_fast(self, dialect: Dialect, columns: list[str]) -> Table | None:
        """Read a file that is provably regular with polars; ``None`` where it is not."""
        if not (dialect.delimiter + dialect.quote).isascii() or dialect.escape != DOUBLED:
            return None
        plain = self._normal_form(dialect)
        # Blank lines before the first record are left to the exact reader.
        if plain is None or not len(plain.body) or plain.body[:1].tobytes() in b"\r\n":
            return None
        delimiter = ord(plain.delimiter) if plain.delimiter else None
        quote = ord(dialect.quote) if dialect.quote else None
        blank = _blank_lines_at_end(plain.body) if len(columns) > 1 else b""
        records = between(plain.body, 0, len(plain.body) - len(blank))
        shape = regular_shape(records, delimiter, quote, len(columns), self._cancel)
        if shape is None:
            return None
        rows = RegularRows(records, shape, plain.delimiter, dialect.quote, columns, dialect.header, self._source)
        frame: Any = rows
        if not isinstance(records, FileBytes):
            try:
                frame = rows.load()
            except pl.exceptions.PolarsError:
                return None  # the exact reader understands the file or names its fault
        elif len(columns) == 1 and not rows.one_column:
            return None
        first_line = self._first_line(dialect, records, plain.removed) if shape.one_line_each else None
        blank_lines = (frame.height,) * blank.count(b"\n")
        return Table(frame, self._source, dialect, first_line, tuple(self._notices), blank_lines=blank_lines)

    def _normal_form(self, dialect: Dialect) -> NormalForm | None:
        """Return the body as plain CSV; one that has to be rewritten for that is in memory then."""
        body = self._body
        if isinstance(body, FileBytes) and not is_plain(dialect):
            require_memory(0, 0, 3 * len(body), self._source)
            body = body[:]
        return normal_form(body, dialect, self._cancel)

    def _first_line(self, dialect: Dialect, records: AnyBytes, removed: NDArray[np.int64]) -> int | None:
        """Return the line of the first row; ``None`` where rows and lines do not keep step.

        Args:
            dialect: whether there is a header.
            records: the text without its comment lines, each record on one line.
            removed: where in it comment lines were: before the first row they move it, later they end the step.
        """
        start = 0
        if dialect.header and len(removed):
            assert isinstance(records, np.ndarray)  # lines were removed from it
            start = int(np.argmax(records == _LF)) + 1
        if ((removed > start) & (removed < len(records))).any():
            return None
        return (2 if dialect.header else 1) + self._options.skip_lines + int((removed <= start).sum())

    def _read_exactly(self, dialect: Dialect, columns: list[str]) -> Table:
        """Read with the exact reader, in each way of escaping quote marks until one fits."""
        if isinstance(self._body, FileBytes):
            require_memory(0, 0, 8 * len(self._body), self._source)
        body = self._body.tobytes().decode("utf-8")
        fault: MalformedError | None = None
        for way in ways(dialect, self._options.escape is not None):
            attempt = dataclasses.replace(dialect, escape=way)
            try:
                return self._collect(body, attempt, columns)
            except MalformedError as error:
                fault = fault or error
                if error.what == "ragged" and error is fault:
                    break  # no other way of escaping repairs a row that was understood
        assert fault is not None
        raise self._explain(fault, dialect, len(columns), body)

    def _collect(self, body: str, dialect: Dialect, columns: list[str]) -> Table:
        """Return the table of the records; one of another width is an empty row and is reported."""
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
            frame, stated = _undouble(frame)
            notices += stated
        frame = frame.select(pl.all().replace("", None))
        if uneven:
            many = "1 row has" if uneven == 1 else f"{uneven:,} rows have"
            notices.append(f"{many} another number of cells than {len(columns)}: read as empty (all values missing)")
        if not in_step:
            first_line = None
        return Table(frame, self._source, dialect, first_line, tuple(notices), blank_lines=blank_lines)

    def _rows(self, body: str, dialect: Dialect, width: int) -> Iterator[Record]:
        """Yield the data rows, and the blank lines from the first place where a row can be, without cells.

        Where there is one column, a blank line after the first record is a missing value.
        """
        started = False
        seen = 0
        for record in records(body, dialect, self._options.skip_lines + 1):
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

    def _explain(self, fault: MalformedError, dialect: Dialect, width: int, body: str) -> InputError:
        number = fault.record + (0 if dialect.header else 1)
        row = f"row {number}" if number else "the header"
        quote = dialect.quote
        line = line_of(body, fault.line - self._options.skip_lines)
        hints: list[str | Remedy] = [*options_that_fix(fault, line, self._found, dialect, self._options)]
        if fault.what == "ragged":
            other = "the header" if dialect.header else "row 1"
            what = f"{row} has {counted(fault.cells, 'cell')}, {other} has {width}"
            hints = ["correct that row", *(hints or [RIGHT_DELIMITER])]
            hints.append(REPLACE_ROWS)
        elif fault.what == "unterminated":
            what = f"a quoted cell of {row} is never closed"
            hints = [*hints, f"close it with {quote}", NO_QUOTES]
        else:
            what = f"there is a stray quote mark {quote} in {row}"
            around = f"wrap its cell in {quote} and double the mark in it"
            hints = [*hints, around, NO_QUOTES]
        return InputError(what, self._source, hints, code=fault.what).on_line(fault.line)


def _blank_lines_at_end(body: AnyBytes) -> bytes:
    """Return the blank lines that end ``body``, if there are few of them."""
    tail = body[-256:].tobytes()
    ends = tail[len(tail.rstrip(b"\r\n")) :]
    return ends[2 if ends.startswith(b"\r\n") else 1 :] if len(ends) < len(tail) else b""


def _frame(batch: list[list[str]], columns: list[str]) -> pl.DataFrame:
    cells = zip(*batch, strict=True) if batch else ([] for _ in columns)
    return pl.DataFrame([pl.Series(name, list(c), pl.String) for name, c in zip(columns, cells, strict=True)])


def _undouble(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Halve double quotes that occur only in pairs: the file was written with them and only its marks changed."""
    pair, single = '""', r'(^|[^"])"("")*([^"]|$)'
    doubled = any(series.str.contains(pair, literal=True).any() for series in frame)
    if not doubled or any(series.str.contains(single).any() for series in frame):
        return frame, []
    stated = "double quotes occur only in pairs inside cells that are wrapped in apostrophes; each pair is read as one"
    return frame.select(pl.all().str.replace_all(pair, '"', literal=True)), [stated]


_COMMENT_MARKS = "#%;!*"
_TWO_CHARACTERS = ("||", "::", "~~", ";;")


def options_that_fix(
    fault: MalformedError, line: str, found: Sequence[Record], dialect: Dialect, options: ReadOptions
) -> list[Remedy]:
    """Return the options that would avoid a refusal."""
    out = []
    mark = line[:1]
    if options.comment is None and mark and mark in _COMMENT_MARKS and mark not in dialect.delimiter + dialect.quote:
        condition = f"lines that begin with {mark} are not part of the table"
        out.append(state_option("comment", f'"{mark}"', condition=condition))
    if fault.what != "ragged":
        d, q = f"[{re.escape(''.join(DELIMITERS) + dialect.delimiter)}]", re.escape(dialect.quote)
        if not options.trim and re.search(rf"(?:\A|{d})[ \t]+{q}|{q}[ \t]+(?:{d}|\Z)", line):
            out.append(state_option("trim", condition="blanks around cells mean nothing"))
        return out
    before = _lines_before(found)
    if before:
        stated = "the first line is" if before == 1 else f"the first {before} lines are"
        out.append(state_option("skip-lines", str(before), condition=f"{stated} not part of the table"))
    return out


def _lines_before(found: Sequence[Record]) -> int:
    """Return how many lines precede records that all have the same width, where the first record has another."""
    widths = [len(record.cells) for record in found]
    usual, times = Counter(widths).most_common(1)[0] if widths else (0, 0)
    if usual < 2 or times < 2 or usual == widths[0]:
        return 0
    start = widths.index(usual)
    return found[start].line - 1 if set(widths[start:]) == {usual} else 0


def notices_about(found: Sequence[Record], dialect: Dialect, options: ReadOptions) -> Iterator[str]:
    """Yield a sentence for each option that a person may have wanted to state about the first records of a file."""
    first = found[0].cells
    if options.header is None and not dialect.header:
        yield (
            "the first row was read as values, so the columns are called column1 and so on; use --header yes if it "
            "names them, or give names with --names a,b,c"
        )
    if options.names is not None and not dialect.header and list(options.names) == first:
        yield "the first row repeats the names that were stated; use --header yes if it is the header"
    if dialect.header and second_header(found):
        lines = found[0].line
        yield (
            f"row 1 is text over columns of numbers; if it is a second header, use --skip-lines {lines} to take the "
            f"names from it, or --skip-lines {lines + 1} and --names a,b,c"
        )
    trims = not options.trim and " " not in dialect.delimiter
    if trims and any(cell != cell.strip(" \t") != "" for record in found for cell in record.cells):
        yield "some cells begin or end with blanks, which are part of their values; use --trim to strip them"
    if options.delimiter is None:
        for mark in _TWO_CHARACTERS:
            odd = len(first) > 2 and not any(first[1::2]) and not titles_above([record.cells for record in found])
            doubled = dialect.delimiter and mark == 2 * dialect.delimiter and odd
            if doubled or (first and not dialect.delimiter and mark in first[0]):
                yield f'cells seem to be separated by {mark}; if they are, use --delimiter "{mark}"'


def second_header(found: Sequence[Record]) -> bool:
    """Whether the first row below the header is text, over at least two columns of numbers."""
    if len(found) < 4:
        return False
    row, rest = found[1].cells, [record.cells for record in found[2:]]
    if any(is_typed(cell) for cell in row) or len(row) != len(found[0].cells):
        return False
    columns = ([cells[k] for cells in rest if k < len(cells) and cells[k]] for k in range(len(row)))
    return sum(mostly_typed(below) for below, cell in zip(columns, row, strict=True) if cell.strip()) >= 2
