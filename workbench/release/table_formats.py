"""The formats in which rows are released: each is one function and one line in :data:`TABLE_FORMATS`.

What is written follows from the released text, the columns' types and the plan alone, so that ``verify`` can make it
again. Text that a format could change (a number of more digits than Excel holds) is written as text.
"""

from __future__ import annotations

import codecs
import dataclasses
import datetime
import io
import math
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl
import polars.selectors as cs

from workbench.data.columns.source_types import cast_text, type_name
from workbench.data.rows_in_parts import cells_of, each_column
from workbench.data.table import Table
from workbench.data.table_reader import ReadOptions, read_table
from workbench.params import InputError
from workbench.params.errors import how_to_install, is_missing
from workbench.privacy.local.cells import CellArray
from workbench.sanitize.plan import Plan
from workbench.sanitize.writing import DELIMITERS, PLAIN, Writing, defused, headers, shielded
from workbench.signals.cancel import NEVER, CancelToken

_T = TypeVar("_T")

ROWS_AT_ONCE = 200_000

_EXCEL_ROWS, _EXCEL_COLUMNS, _EXCEL_CELL = 2**20 - 1, 2**14, 2**15 - 1
"""Most rows under a header, columns, and letters of a cell of a sheet."""
_EXCEL_EXACT, _EXCEL_FIRST = 2**53, datetime.date(1900, 3, 1)
"""Above the one, Excel rounds whole numbers; before the other it counts days otherwise than the calendar."""
_JOINED_LABELS = 4096
"""Most texts in which neighbouring cells are looked up together: all of them stay in the processor's cache."""
_OTHER_ENCODING = 'write encoding = "utf-8" under [writing] in the plan'


@dataclass(frozen=True, eq=False)
class CodedRows:
    """Rows whose every cell is the number of a public label; one beyond the last is a missing value."""

    labels: Mapping[str, Sequence[str]]  # of each column by name, in order
    # Yields what is made of each piece of the rows, the cells of each column; it is called in threads.
    each: Callable[[Callable[[Sequence[CellArray]], bytes]], Iterator[bytes]]


@dataclass(frozen=True)
class ReleasedText:
    """Rows to be written, as text, with the types that their columns have where a format has types."""

    # Returns the rows from one number to another; `None` of more rows than fit into memory.
    frame: Callable[[int, int], pl.DataFrame] | None
    rows: int
    types: Mapping[str, pl.DataType]  # by column; a column that is not named stays text
    parts: Callable[[], Iterator[pl.DataFrame]] | None = None  # yields the rows, where there is no `frame`
    coded: CodedRows | None = None  # the same rows as cells, where they have no other text than that of labels

    def pieces(self) -> Iterator[pl.DataFrame]:
        """Yield the rows in order, a piece of none where there are none."""
        if self.frame is None:
            assert self.parts is not None
            yield from self.parts()
            return
        for start in range(0, self.rows or 1, ROWS_AT_ONCE):
            yield self.frame(start, min(start + ROWS_AT_ONCE, self.rows))

    def typed(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return text with the columns' types: no cell can fail, as labels are made to parse, and others were tried."""
        return frame.with_columns(
            [cast_text(cells_of(frame, name), kind).alias(name) for name, kind in self.types.items()]
        )

    def defused(self) -> ReleasedText:
        """Return the rows with an apostrophe before text that a spreadsheet would run as a formula."""
        frame, parts, coded = self.frame, self.parts, self.coded
        return dataclasses.replace(
            self,
            frame=frame and (lambda start, stop: self._defused(frame(start, stop))),
            parts=parts and (lambda: map(self._defused, parts())),
            coded=coded
            and dataclasses.replace(
                coded,
                labels={name: texts if name in self.types else shielded(texts) for name, texts in coded.labels.items()},
            ),
        )

    def _defused(self, frame: pl.DataFrame) -> pl.DataFrame:
        texts = [name for name in frame.columns if self.types.get(name, pl.String()) == pl.String()]
        return frame.with_columns([defused(cells_of(frame, name)).alias(name) for name in texts])

    def headed(self) -> ReleasedText:
        """Return the rows with an apostrophe before names of columns that a spreadsheet would run as a formula."""
        frame, parts, coded = self.frame, self.parts, self.coded
        return dataclasses.replace(
            self,
            frame=frame and (lambda start, stop: _headed(frame(start, stop))),
            types=_under_headers(self.types),
            parts=parts and (lambda: map(_headed, parts())),
            coded=coded and dataclasses.replace(coded, labels=_under_headers(coded.labels)),
        )


def _headed(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.rename(dict(zip(frame.columns, headers(frame.columns), strict=True)))


def _under_headers(columns: Mapping[str, _T]) -> dict[str, _T]:
    return dict(zip(headers(list(columns)), columns.values(), strict=True))


def types_of(kinds: Mapping[str, str | None]) -> dict[str, pl.DataType]:
    """Return the types of columns of these kinds: whole numbers, reals and dates; the others are text."""
    known = {"integer": pl.Int64(), "real": pl.Float64(), "date": pl.Date()}
    return {name: known[kind] for name, kind in kinds.items() if kind in known}


@dataclass(frozen=True)
class TableFormat:
    """A format."""

    name: str  # in certificates, and the suffix of its files without the point
    title: str  # in file dialogs
    write: Callable[[ReleasedText, Writing], Iterator[bytes]]  # yields the bytes of a file
    read: Callable[[bytes, Writing], pl.DataFrame]  # returns the text of a file that `write` made, by column
    needs: str = ""  # the module of an extra that writes it; empty where it needs none

    def written(self, text: ReleasedText, plan: Plan) -> Iterator[bytes]:
        """Yield the bytes of a release by ``plan``, which says how text is written.

        The columns of a table of a database keep their names, by which queries call them.
        """
        if plan.defuses_formulas:
            text = text.defused() if self.name == DATABASE else text.defused().headed()
        return self.write(text, plan.writing or PLAIN)

    def columns(self, text: ReleasedText) -> dict[str, str]:
        """Return the columns that a table of a database gets, with their types; none of a file, which holds its own."""
        return {name: type_name(kind) for name, kind in stored_types(text).items()} if self.name == DATABASE else {}

    def require(self, plan: Plan, rows: int) -> None:
        """Raise :class:`InputError` where the format cannot hold a release of so many rows; before it is charged."""
        if self.needs and is_missing(self.needs):
            what = f"the library that writes a .{self.name} file is not installed"
            raise InputError(what, "", how_to_install(self.needs), code="extra-missing")
        published = [c for c in plan.columns if c.action != "drop"]
        encoding = self._encoding(plan)
        for column in published:
            labels = column.grid().labels if column.action == "protect" else ()
            if not _fits("".join([column.name, *labels]), encoding):
                what = f"a name or a value of the column cannot be written in {encoding}"
                raise InputError(what, f"column {column.name}", _OTHER_ENCODING, code="output-format")
        if self.name != "xlsx":
            return
        hint = "write .csv or .parquet"
        if rows > _EXCEL_ROWS or len(published) > _EXCEL_COLUMNS:
            what = f"an Excel sheet has at most {_EXCEL_ROWS:,} rows and {_EXCEL_COLUMNS:,} columns"
            raise InputError(what, f"{rows:,} rows, {len(published):,} columns", hint, code="output-format")
        if all(c.action == "keep" or c.missing == "own-value" for c in published):
            what = "every released column can be missing, and an Excel sheet cannot contain a row without a value"
            raise InputError(what, "", hint, code="output-format")

    def _encoding(self, plan: Plan) -> str:
        return (plan.writing or PLAIN).encoding if self.name in ("csv", "csv.gz", "tsv") else PLAIN.encoding

    def require_kept(self, plan: Plan, rows: Table, name: str, cells: pl.Series) -> None:
        """Raise :class:`InputError` where the format cannot hold the text of a kept column; before it is charged."""
        encoding = self._encoding(plan)
        if self.name == "xlsx":
            most = _EXCEL_CELL - plan.defuses_formulas  # for its apostrophe
            long = (cells.str.len_chars() > most).arg_true()
            if len(long):
                what, hint = f"an Excel cell has at most {_EXCEL_CELL:,} characters", "write .csv or .parquet"
                raise InputError(what, rows.place(name, int(long[0])), hint, code="output-format")
        elif encoding != PLAIN.encoding and not _fits("".join(cells.drop_nulls()), encoding):
            wrong = next(k for k, text in enumerate(cells) if text is not None and not _fits(text, encoding))
            what = f"a kept text cannot be written in {encoding}"
            raise InputError(what, rows.place(name, wrong), _OTHER_ENCODING, code="output-format")


def _fits(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


# -- text --------------------------------------------------------------------------------------------------------------


def csv_text(frame: pl.DataFrame, delimiter: str = PLAIN.delimiter, *, header: bool = True) -> str:
    """Return ``frame`` as delimited text; a missing value is an empty cell.

    In a table of one column an empty cell would be a blank line, which readers skip: it is written as ``""``.
    """
    alone = frame.width == 1 and frame.to_series().null_count() > 0
    if alone:
        frame = frame.fill_null("")
    text: str = frame.write_csv(
        include_header=header, separator=delimiter, quote_style="always" if alone else "necessary"
    )
    return text


def _csv(text: ReleasedText, writing: Writing) -> Iterator[bytes]:
    comma = [name for name, kind in text.types.items() if writing.decimal == "," and kind == pl.Float64()]
    # UTF-16 and UTF-32 begin with a byte order mark, which only the beginning of the file has.
    encode = partial(codecs.getincrementalencoder(writing.encoding)().encode, final=True)
    if text.coded is not None and len(text.coded.labels) > 1:  # in a table of one column a missing value is an odd cell
        yield encode(csv_text(pl.DataFrame(schema=dict.fromkeys(text.coded.labels, pl.String)), writing.delimiter))
        yield from text.coded.each(_Lines(text.coded.labels, comma, writing.delimiter, encode).of)
        return
    for number, piece in enumerate(text.pieces()):
        frame = piece.with_columns(cs.by_name(comma).str.replace(".", ",", literal=True))
        yield encode(csv_text(frame, writing.delimiter, header=number == 0))


class _Lines:
    """The lines of rows of labels: a cell, or several neighbours at once, is found in a table with what follows it.

    Then the bytes of all these texts, one behind the other, are the file: nothing is quoted or joined for each row.
    """

    def __init__(
        self, labels: Mapping[str, Sequence[str]], comma: Sequence[str], delimiter: str, encode: Callable[[str], bytes]
    ) -> None:
        """Make the tables of the labels of each column; the numbers of ``comma`` columns get a decimal comma.

        ``encode`` makes bytes of what is not at the beginning of the file.
        """
        import pyarrow as pa  # 30 MB and .15 s, which only a table in parts needs

        texts: list[bytes] = []
        self._places: list[tuple[int, list[int]]] = []
        """Of each group of columns where its texts begin, and how many each of its columns has."""
        last = list(labels)[-1]
        joined: list[bytes] = []
        for name, values in labels.items():
            decimals = [value.replace(".", ",") for value in values] if name in comma else values
            ends = "\n" if name == last else delimiter
            own = [encode(text + ends) for text in (*_cells_of_csv(decimals, delimiter), "")]
            if not joined or len(joined) * len(own) > _JOINED_LABELS:
                texts += joined
                self._places.append((len(texts), []))
                joined = [b""]
            joined = [text + more for text in joined for more in own]
            self._places[-1][1].append(len(own))
        texts += joined
        # Not by pa.array, which loads pandas: a fifth of a second.
        ends_of = np.cumsum([0, *map(len, texts)], dtype=np.int64)
        pieces = [None, pa.py_buffer(ends_of), pa.py_buffer(b"".join(texts))]
        self._texts = pa.Array.from_buffers(pa.large_binary(), len(texts), pieces)
        self._numbers, self._buffer = partial(pa.Array.from_buffers, pa.int32()), pa.py_buffer

    def of(self, cells: Sequence[CellArray]) -> bytes:
        wanted = np.empty((len(cells[0]), len(self._places)), np.int32)
        columns = iter(cells)
        for group, (start, sizes) in enumerate(self._places):
            number = np.zeros(len(cells[0]), np.int32)
            for size in sizes:
                number *= np.int32(size)
                number += next(columns).astype(np.int32)
            np.add(number, np.int32(start), out=wanted[:, group])
        _, offsets, data = self._texts.take(self._numbers(wanted.size, [None, self._buffer(wanted)])).buffers()
        lines: bytes = data.slice(0, int(np.frombuffer(offsets, np.int64)[wanted.size]))  # to be written without a copy
        return lines


def _cells_of_csv(labels: Sequence[str], delimiter: str) -> list[str]:
    lines = csv_text(pl.DataFrame({"": labels}, {"": pl.String}), delimiter, header=False).split("\n")[:-1]
    if len(lines) != len(labels):  # a label has a line end
        lines = [csv_text(pl.DataFrame({"": [label]}), delimiter, header=False)[:-1] for label in labels]
    return lines


def _read_csv(data: bytes, writing: Writing) -> pl.DataFrame:
    text = data if writing.encoding == "utf-8" else data.decode(writing.encoding).encode()
    read = pl.read_csv(io.BytesIO(text), separator=writing.delimiter, infer_schema=False)
    # A missing value alone in its row is written "", as an empty line would be no row; no released value is empty.
    return read.with_columns(pl.all().replace("", None))


def _tabs(writing: Writing) -> Writing:
    return dataclasses.replace(writing, delimiter="\t")


def _csv_gz(text: ReleasedText, writing: Writing) -> Iterator[bytes]:
    packed = zlib.compressobj(wbits=31)  # with the header of gzip, which then says neither name nor time
    for piece in _csv(text, writing):
        yield packed.compress(piece)
    yield packed.flush()


def _jsonl(text: ReleasedText, _writing: Writing) -> Iterator[bytes]:
    for piece in text.pieces():
        typed = text.typed(piece)
        # JSON has no number for infinity or what is none: the column of a piece that holds one is text.
        odd = [
            name
            for name, cells in zip(typed.columns, each_column(typed), strict=True)
            if cells.dtype.is_float() and not cells.is_finite().all()
        ]
        yield typed.with_columns(piece[name] for name in odd).write_ndjson().encode()


def _sorted(text: ReleasedText, _writing: Writing) -> Iterator[bytes]:
    assert text.frame is not None  # its rows are sorted, so they are in memory
    yield sorted_rows(text.frame(0, text.rows), stored_types(text))


def sorted_rows(frame: pl.DataFrame, types: Mapping[str, pl.DataType]) -> bytes:
    """Return rows as delimited text that neither their order nor how a database writes a number changes.

    The columns come in the order of ``types``; a cell that is no value of its type stays as it is.
    """
    columns = []
    for name, kind in types.items():
        cells = cells_of(frame, name)
        values = cast_text(cells, kind, strict=False)
        fits = values.null_count() == cells.null_count()
        columns.append((values.cast(pl.String) if fits else cells).alias(name))
    return csv_text(pl.DataFrame(columns).sort(cs.by_name(list(types)))).encode()


def stored_types(text: ReleasedText) -> dict[str, pl.DataType]:
    """Return the types of all columns in a table of a database; numbers are of the widest type, other types text."""
    wide = {pl.Boolean(): pl.Boolean(), pl.Date(): pl.Date(), pl.Float32(): pl.Float64(), pl.Float64(): pl.Float64()}
    wide |= dict.fromkeys(
        (pl.Int8(), pl.Int16(), pl.Int32(), pl.Int64(), pl.UInt8(), pl.UInt16(), pl.UInt32()), pl.Int64()
    )
    assert text.frame is not None
    return {name: wide.get(text.types.get(name, pl.String()), pl.String()) for name in text.frame(0, 0).columns}


# -- with types --------------------------------------------------------------------------------------------------------


def _parquet(text: ReleasedText, _writing: Writing) -> Iterator[bytes]:
    if text.frame is None:
        return _by_arrow(text, parquet=True)
    buffer = io.BytesIO()
    text.typed(text.frame(0, text.rows)).write_parquet(buffer)
    return iter([buffer.getvalue()])


def _feather(text: ReleasedText, _writing: Writing) -> Iterator[bytes]:
    if text.frame is None:
        return _by_arrow(text, parquet=False)
    buffer = io.BytesIO()
    text.typed(text.frame(0, text.rows)).write_ipc(buffer)
    return iter([buffer.getvalue()])


def _by_arrow(text: ReleasedText, *, parquet: bool) -> Iterator[bytes]:
    """Yield a file of one row group or record batch for each piece, as soon as it is made."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    written = _Written()
    writer: Any = None
    for piece in text.pieces():
        rows = text.typed(piece).to_arrow(compat_level=pl.CompatLevel.oldest())
        if writer is None:
            sink = pa.PythonFile(written, mode="w")
            writer = pq.ParquetWriter(sink, rows.schema) if parquet else pa.ipc.new_file(sink, rows.schema)
        writer.write_table(rows)
        yield written.taken()
    writer.close()
    yield written.taken()


class _Written(io.RawIOBase):
    """A file that is handed on piece by piece."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._pieces.append(bytes(data))
        self._size += len(self._pieces[-1])
        return len(self._pieces[-1])

    def tell(self) -> int:
        return self._size

    def taken(self) -> bytes:
        out, self._pieces = b"".join(self._pieces), []
        return out


def _xlsx(text: ReleasedText, _writing: Writing) -> Iterator[bytes]:
    """Yield a workbook of one sheet; text is written as text, so that no cell is a formula."""
    import xlsxwriter

    buffer = io.BytesIO()
    stated = {"constant_memory": True, "strings_to_numbers": False, "strings_to_formulas": False}
    with xlsxwriter.Workbook(buffer, {**stated, "strings_to_urls": False}) as book:
        book.set_properties({"created": datetime.datetime(2000, 1, 1)})  # noqa: DTZ001 - the same file whenever it is made
        sheet, day, heading = book.add_worksheet(), book.add_format({"num_format": "yyyy-mm-dd"}), book.add_format()
        heading.set_bold()
        done = 0
        for piece in text.pieces():
            for column, name in enumerate(piece.columns if not done else ()):
                sheet.write_string(0, column, name, heading)
            texts = piece.iter_rows()
            for row, cells in enumerate(text.typed(piece).iter_rows(), start=done + 1):
                for column, (value, shown) in enumerate(zip(cells, next(texts), strict=True)):
                    if isinstance(value, bool):
                        sheet.write_boolean(row, column, value)
                    elif isinstance(value, float | int) and _excel_number(value):
                        sheet.write_number(row, column, value)
                    elif type(value) is datetime.date and value >= _EXCEL_FIRST:
                        sheet.write_datetime(row, column, value, day)
                    elif value is not None:
                        sheet.write_string(row, column, shown)
            done += piece.height
    yield buffer.getvalue()


def _excel_number(value: float) -> bool:
    """Return whether a number is the same in a sheet; reals are written there with sixteen digits."""
    if isinstance(value, int):
        return abs(value) <= _EXCEL_EXACT
    return math.isfinite(value) and float(f"{value:.16G}") == value and not (value == 0 and math.copysign(1, value) < 0)


def _read_xlsx(data: bytes, _writing: Writing) -> pl.DataFrame:
    import fastexcel

    sheet = fastexcel.read_excel(data).load_sheet(0, dtypes="string")
    frame = pl.DataFrame(sheet.to_polars())
    return frame.with_columns(pl.all().str.strip_suffix(" 00:00:00"))


TABLE_FORMATS: tuple[TableFormat, ...] = (
    TableFormat("csv", "CSV", _csv, _read_csv),
    TableFormat(
        "csv.gz", "CSV, compressed", _csv_gz, lambda data, how: _read_csv(zlib.decompress(data, wbits=31), how)
    ),
    TableFormat(
        "tsv",
        "Tab-separated",
        lambda text, how: _csv(text, _tabs(how)),
        lambda data, how: _read_csv(data, _tabs(how)),
    ),
    TableFormat("parquet", "Parquet", _parquet, lambda data, _: pl.read_parquet(io.BytesIO(data)).cast(pl.String)),
    TableFormat("feather", "Feather", _feather, lambda data, _: pl.read_ipc(io.BytesIO(data)).cast(pl.String)),
    TableFormat("xlsx", "Excel", _xlsx, _read_xlsx, needs="xlsxwriter"),
    TableFormat(
        "jsonl",
        "JSON Lines",
        _jsonl,
        lambda data, _: pl.read_ndjson(io.BytesIO(data), infer_schema_length=None).cast(pl.String),
    ),
)

DATABASE = "table"
"""The format of a release into a table of a database: text whose rows are sorted, as a table has no order."""

_IN_A_TABLE = TableFormat(DATABASE, "Table of a database", _sorted, lambda data, _: _read_csv(data, PLAIN))

FORMATS = {f".{form.name}": form.name for form in TABLE_FORMATS}  # the format of each suffix


SUFFIXES = f"{', '.join(list(FORMATS)[:-1])} or {list(FORMATS)[-1]}"


def table_format(name: str) -> TableFormat:
    """Return the format that a certificate names."""
    return next(form for form in (*TABLE_FORMATS, _IN_A_TABLE) if form.name == name)


def suffix_of(path: Path, formats: Mapping[str, str] = FORMATS) -> str | None:
    """Return the longest of the known suffixes that ``path`` ends with, whatever the case of its letters."""
    return max((s for s in formats if path.name.lower().endswith(s)), key=len, default=None)


# -- how a release is written and read ---------------------------------------------------------------------------------


def written_like(plan: Plan, table: Table, form: str) -> Plan:
    """Return ``plan`` with the separator, decimal mark and encoding of the table's own file, where it states none.

    Only what the rows cannot have changed is taken: a separator and an encoding that no row makes doubtful
    (a release refuses the others), and a stated decimal mark. Formats other than CSV have their own.
    """
    if not form.startswith("csv") or table.dialect is None:
        return plan
    read, given = table.dialect, plan.writing or PLAIN
    delimiter = read.delimiter if read.delimiter in DELIMITERS else ","
    like = {"delimiter": delimiter, "decimal": table.decimal or ".", "encoding": _encoding(plan, read.encoding)}
    open_facts = {name: value for name, value in like.items() if getattr(given, name) == getattr(PLAIN, name)}
    stated = Writing.from_plain({**given.to_plain(), **open_facts})
    return plan if stated == given else dataclasses.replace(plan, writing=stated)


def _encoding(plan: Plan, encoding: str) -> str:
    """Return the encoding, or UTF-8 where nothing published needs another, or that one cannot hold it."""
    names = [c.name for c in plan.columns]
    values = [label for column in plan.protected for label in column.grid().labels]
    public = "".join([*names, *values])
    if public.isascii() and not any(c.action == "keep" for c in plan.columns):
        return PLAIN.encoding
    try:
        public.encode(encoding)
    except UnicodeEncodeError:
        return PLAIN.encoding
    return PLAIN.encoding if "".encode(encoding) else encoding


def released_table(
    path: Path, kind: str, names: Sequence[str], cancel: CancelToken = NEVER, writing: Writing = PLAIN
) -> Table:
    """Return the rows of a file as it was written: nothing of its format is guessed."""
    options, writing = ReadOptions(), PLAIN if kind == DATABASE else writing
    if kind in (DATABASE, "csv", "csv.gz", "tsv"):
        options = ReadOptions(
            encoding=writing.encoding,
            delimiter="\t" if kind == "tsv" else writing.delimiter,
            quote='"',
            decimal=writing.decimal,
            header="yes",
        )
    return read_table(path, options, list(names), cancel=cancel)
