"""Sheets of Excel and OpenDocument workbooks."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl

from workbench.data.csv.dialect_guess import names_of, titles_above, titles_notice
from workbench.data.isolated_reader import read_isolated
from workbench.data.opened_file import Opened, RefusedError
from workbench.data.sources.source import Source, SourceFile
from workbench.data.table import Table
from workbench.params.errors import require

_CELL = r"([A-Za-z]{0,3})([1-9]\d{0,6})?"
_RANGE = re.compile(rf"{_CELL}(?::{_CELL})?\Z")
_MOST_ROWS, _MOST_COLUMNS = 1 << 20, 1 << 14
_HEAD = 20
_DAY, _TIME = r"^(\d{4}-\d\d-\d\d) 00:00:00$", r"^1899-12-3[01] (\d\d:\d\d:\d\d.*)$"
_ERRORS = {
    "Div0": "#DIV/0!",
    "NA": "#N/A",
    "Name": "#NAME?",
    "Null": "#NULL!",
    "Num": "#NUM!",
    "Ref": "#REF!",
    "Value": "#VALUE!",
}


def opened(path: Path, options: dict[str, Any]) -> Opened:
    """Return the rows of one sheet.

    A cell is what is seen in it without its format: a number in its shortest exact form (``1``, ``0.1``), a day
    ``2024-01-31``, a moment ``2024-01-31 10:30:00``, a truth value ``true`` or ``false``; one with an error such as
    ``#N/A`` is missing. Blank rows are none of the table.
    """
    import fastexcel

    book = fastexcel.read_excel(path.read_bytes())
    name, cells = _sheet(book, options)
    frame = cells[0]
    first = cells[2]
    if first + frame.width > _MOST_COLUMNS:
        raise RefusedError(f"the sheet has more than {_MOST_COLUMNS:,} columns", "", "give a CSV file", "damaged-file")
    others = _with_rows(book, name)
    parts = [each for each in book.sheet_names if each == name or each in others]
    facts: dict[str, Any] = {"part": name, "parts": parts, "option": "sheet", "notices": []}
    if others and options.get("sheet") is None:
        facts["notices"].append(f"the sheet {name} is read; the workbook has others: {', '.join(others)}; use --sheet")
    if cells[1]:
        counted = Counter(_ERRORS.get(kind, kind) for kind in cells[1])
        which = ", ".join(f"{count} {kind}" for kind, count in sorted(counted.items()))
        facts["notices"].append(f"cells with an error are read as missing: {which}")
    frame = frame.select(pl.all().str.replace(_DAY, "$1").str.replace(_TIME, "$1").replace("", None))
    top, left, bottom, right = _corners(options.get("range"))
    kept = [k for k in range(frame.width) if left <= first + k <= right]
    frame = frame.select(frame.columns[k] for k in kept).slice(top, max(0, bottom - top + 1))
    columns, frame = _with_header(frame.slice(int(options.get("skip_lines") or 0)), options, facts)
    return Opened(frame.height, columns, lambda: frame, facts, typed=False)


def _sheet(book: Any, options: dict[str, Any]) -> tuple[str, tuple[pl.DataFrame, list[str], int]]:
    """Return the name and the cells of the sheet that was stated, or of the first with rows."""
    names, stated = book.sheet_names, options.get("sheet")
    if stated is not None and stated not in names:
        raise RefusedError(f"the workbook has no sheet {stated!r}", "", f"name one of {', '.join(names[:20])}", "sheet")
    for name in names if stated is None else [stated]:
        found = book.load_sheet(name, dtypes="string", header_row=None, skip_rows=0)
        least = 1 if stated is not None or name == names[-1] else 2  # a title alone is no table
        if found.width and found.height >= least:
            batch, errors = found.to_arrow_with_errors()
            numbers = book.load_sheet(name, dtypes="float", header_row=None, skip_rows=0).to_arrow_with_errors()[0]
            details = [each.detail for each in errors.errors] if errors is not None else []
            kinds = [detail.partition("Error(")[2].partition(")")[0] for detail in details]
            return name, (_exact(batch, numbers), kinds, found.selected_columns[0].absolute_index)
    what = "the workbook has no cells" if stated is None else f"the sheet {stated} has no cells"
    raise RefusedError(what, "", "give a workbook with a table in it")


def _exact(texts: Any, numbers: Any) -> pl.DataFrame:
    """Return the text of cells; of a number that the library rounded to nine decimals its shortest exact form."""
    frame, exact = pl.DataFrame(pl.from_arrow(texts)), pl.DataFrame(pl.from_arrow(numbers))
    columns = []
    for cells, values in zip(frame.iter_columns(), exact.iter_columns(), strict=True):
        shown, values = cells.alias("cells"), values.alias("values")
        rounded = (shown.cast(pl.Float64, strict=False) != values) & values.is_finite()
        columns.append(values.cast(pl.String).zip_with(rounded.fill_null(value=False), shown).alias(cells.name))
    return pl.DataFrame(columns)


def _with_rows(book: Any, name: str) -> list[str]:
    """Return the other sheets that have cells."""
    others = [other for other in book.sheet_names if other != name]
    return [other for other in others if book.load_sheet(other, dtypes="string", header_row=None).height]


def _corners(stated: str | None) -> tuple[int, int, int, int]:
    """Return top, left, bottom and right of a range such as ``B3:F200``, ``B:F`` or ``B3``, counted from 0."""
    found = _RANGE.match(stated or "")
    if stated is None or found is None:
        return 0, 0, _MOST_ROWS - 1, _MOST_COLUMNS - 1
    left, top, right, bottom = found.groups()
    return (
        int(top or 1) - 1,
        _column(left) if left else 0,
        int(bottom or _MOST_ROWS) - 1,
        _column(right) if right else _MOST_COLUMNS - 1,
    )


def _column(letters: str) -> int:
    number = 0
    for letter in letters.upper():
        number = 26 * number + ord(letter) - ord("A") + 1
    return number - 1


def _with_header(frame: pl.DataFrame, options: dict[str, Any], facts: dict[str, Any]) -> tuple[list[str], pl.DataFrame]:
    """Return the names of the columns and the rows below; a column without a name and a value is left out."""
    # A blank row above the table is none of it; one among the rows is a missing value if there is one column.
    frame.columns = [str(k) for k in range(frame.width)]
    used = frame.select(pl.any_horizontal(pl.all().is_not_null()) if frame.width else pl.lit(0)).to_series()
    start = int(used.arg_true()[0]) if used.any() else frame.height
    frame = frame.slice(start)
    names: list[str | None] = [None] * frame.width
    stated, header = options.get("names"), options.get("header") != "no"
    if header and not stated and (titles := titles_above(frame.head(_HEAD).rows())):
        facts["titles"] = titles + start + int(options.get("skip_lines") or 0)
    if header and frame.height:
        names, frame = list(frame.row(0)), frame.slice(1)
    kept = [k for k, name in enumerate(names) if (name or "").strip() or frame.to_series(k).null_count() < frame.height]
    frame, names = frame.select(frame.columns[k] for k in kept), [names[k] for k in kept]
    if stated:
        if len(stated) != len(names):
            raise RefusedError(
                f"the sheet has {len(names)} columns, and {len(stated)} names were given",
                "",
                "use --names with one name for each",
            )
        names, header = list(stated), False
    columns, renamed, said = names_of([(name or "").removeprefix("\ufeff") for name in names])
    facts["renamed"] = list(renamed)
    if "titles" in facts:
        above = _corners(options.get("range"))[0]
        facts["notices"].append(titles_notice(sum(map(bool, names)), len(names), facts["titles"], above))
    else:
        facts["notices"] += said if header else []
    frame.columns = columns
    if frame.width > 1:
        blank = frame.select(pl.all_horizontal(pl.all().is_null())).to_series()
        rows = (~blank).cum_sum()
        facts["blank_lines"] = rows.filter(blank).to_list()
        frame = frame.filter(~blank)
    return columns, frame


def read(file: SourceFile) -> Table:
    """Return the table of a sheet."""
    require("fastexcel", "a workbook", file.source)
    ods = b"opendocument" in file.view[:128].tobytes()
    return read_isolated(file, "ODS" if ods else "Excel", __name__)


SPREADSHEET = Source(
    name="Excel or ODS",
    endings=(".xlsx", ".ods", ".xls", ".xlsm", ".xlsb"),
    read=read,
    mark=re.compile(
        rb"PK\x03\x04(?s:.{26})mimetypeapplication/vnd\.oasis\.opendocument\.spreadsheet"
        rb"|PK\x03\x04(?=(?s:.{0,8000}?)(?:xl/|\[Content_Types\]\.xml))"
        rb"|\xd0\xcf\x11\xe0"
    ),
    options=("range", "skip_lines", "header", "names", "missing", "sheet"),
)
