"""Files of SPSS, Stata and SAS, with what they say of their variables and values."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from workbench.data.isolated_reader import read_isolated
from workbench.data.opened_file import Opened, RefusedError
from workbench.data.sources.source import HEAD, Source, SourceFile
from workbench.data.table import Ambiguity, Candidate, Table
from workbench.params.errors import require

_WHOLE = 1 << 53
_SHOWN = 6
_READERS = {"SPSS": "sav", "SPSS portable": "por", "Stata": "dta", "SAS": "sas7bdat", "SAS transport": "xport"}
_MARKS = {
    "SPSS": rb"\$FL[23]@\(#\)",
    "SPSS portable": rb"(?s:.{0,220})SPSS PORT FILE",
    "Stata": rb"<stata_dta>|[\x69-\x73][\x01\x02]\x01\x00",
    "SAS": rb"\x00{12}\xc2\xea\x81\x60",
    "SAS transport": rb"HEADER RECORD\*{7}LIB(?:RARY|V8)",
}
_ENDINGS = {".sav": "SPSS", ".zsav": "SPSS", ".por": "SPSS portable", ".dta": "Stata", ".sas7bdat": "SAS"}
_ENDINGS |= {".xpt": "SAS transport", ".xport": "SAS transport"}


def _kind(path: Path, head: bytes) -> str:
    """Return which of them a file is, by what it begins with, else by its name."""
    marked = next((kind for kind, mark in _MARKS.items() if re.match(mark, head)), "")
    return marked or _ENDINGS.get(path.suffix.lower(), "SAS")


def opened(path: Path, options: dict[str, Any]) -> Opened:
    """Return what a file holds.

    Numbers are in their shortest exact form (``1``, ``0.1``), days ``2024-01-31``; codes stay codes unless labels are
    asked for; what the file declares missing is missing unless its values are asked for.
    """
    import pyreadstat

    with path.open("rb") as file:
        kind = _kind(path, file.read(HEAD))
    reader = getattr(pyreadstat, f"read_{_READERS[kind]}")
    if kind == "SAS transport" and path.stat().st_size % 80:
        raise ValueError("cut short")  # it consists of records of 80 bytes, and does not state how many
    values = options.get("missing_codes") == "values"
    known = {"encoding": options["encoding"]} if options.get("encoding") and kind != "SPSS portable" else {}
    coded = kind in ("SPSS", "Stata", "SAS")
    try:
        _, meta = reader(str(path), metadataonly=True, **known, **({"user_missing": True} if coded else {}))
        cells, _ = reader(str(path), output_format="dict", **known, **({"user_missing": values} if coded else {}))
    except (pyreadstat.ReadstatError, UnicodeError) as error:
        if "invalid byte sequence" in str(error) or isinstance(error, UnicodeError):
            raise RefusedError("the text in the file does not match its encoding", "", "state it", "encoding") from None
        raise
    columns = list(meta.column_names)
    missing = _missing(meta)
    facts: dict[str, Any] = {
        "labels": {name: label for name, label in (meta.column_names_to_labels or {}).items() if label},
        "values": {},
        "missing": {name: [_range(one) for one in stated] for name, stated in missing.items()},
        "notices": [],
    }
    letters = {name for name, kind in meta.readstat_variable_types.items() if kind != "string"}
    texts = {name: [_text(value, letters=name in letters) for value in cells[name]] for name in columns}
    for name, labels in (meta.variable_value_labels or {}).items():
        named = {_text(code, letters=name in letters) or "": str(label) for code, label in labels.items()}
        if not values:
            named = {code: label for code, label in named.items() if not _is_missing(code, missing.get(name, ()))}
        if name in texts and named:
            if options.get("labels"):
                texts[name] = [named.get(text, text) if text is not None else None for text in texts[name]]
                named = {label: label for label in named.values()}
            facts["values"][name] = named
    rows = len(texts[columns[0]]) if columns else 0
    series = [pl.Series(name, found, pl.String) for name, found in texts.items()]
    return Opened(rows, columns, lambda: pl.DataFrame(series), facts, typed=False)


def _text(value: Any, *, letters: bool = False) -> str | None:
    """Return a value as a cell.

    Args:
        value: what the library returns.
        letters: whether the column is one of numbers, in which a letter is a kind of missing value, written ``.a``.
    """
    if value is None or value == "":
        return None
    if isinstance(value, datetime.datetime):
        return value.isoformat(" ")
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, str):
        return f".{value}" if letters else value
    number = float(value)
    if math.isnan(number):
        return None
    return str(int(number)) if number.is_integer() and abs(number) < _WHOLE else repr(number)


def _missing(meta: Any) -> dict[str, list[tuple[Any, Any]]]:
    """Return the ranges of values of each column that are declared missing; a letter for them is written ``.a``."""
    found: dict[str, list[tuple[Any, Any]]] = {}
    for name, ranges in (meta.missing_ranges or {}).items():
        found[name] = [(one["lo"], one["hi"]) for one in ranges]
    numbers = {name for name, kind in meta.readstat_variable_types.items() if kind != "string"}
    for name in numbers:
        stated = (meta.missing_user_values or {}).get(name, ())
        labelled = [code for code in (meta.variable_value_labels or {}).get(name, ()) if isinstance(code, str)]
        letters = sorted({*stated, *labelled})
        found.setdefault(name, []).extend((f".{letter}", f".{letter}") for letter in letters)
    return {name: ranges for name, ranges in found.items() if ranges}


def _range(one: tuple[Any, Any]) -> str:
    low, high = (_text(value) or "" for value in one)
    return low if low == high else f"{low} to {high}"


def _is_missing(code: str, ranges: Sequence[tuple[Any, Any]]) -> bool:
    """Whether a code is in one of the ranges: of numbers, or of one text."""
    try:
        number = float(code)
    except ValueError:
        return any(code in one for one in ranges)
    return any(low <= number <= high for low, high in ranges if not isinstance(low, str) and not isinstance(high, str))


def _listed(codes: Sequence[str]) -> str:
    return ", ".join(codes[:_SHOWN]) + (f" and {len(codes) - _SHOWN} more" if len(codes) > _SHOWN else "")


def read(file: SourceFile) -> Table:
    """Return the table of a file."""
    require("pyreadstat", "a file of SPSS, Stata or SAS", file.source)
    assert file.path is not None
    table = read_isolated(file, _kind(file.path, file.view[:HEAD].tobytes()), __name__)
    if not table.facts.missing or file.options.missing_codes is not None:
        return table
    codes = tuple(f"{name} {code}" for name, stated in table.facts.missing.items() for code in stated)
    ways = (("missing", ("missing",)), ("values", codes[:_SHOWN]))
    candidates = tuple(Candidate(way, f"--missing-codes {way}", cells) for way, cells in ways)
    guess = f"the codes that the file declares missing ({_listed(codes)}) are read as missing values"
    doubt = Ambiguity("missing_codes", guess, candidates[0].option, candidates, by_a_row=False)
    return table.replaced(ambiguities=(doubt,))


STATISTICS_PACKAGE = Source(
    name="SPSS, Stata or SAS",
    endings=tuple(_ENDINGS),
    read=read,
    mark=re.compile(b"|".join(_MARKS.values())),
    options=("encoding", "missing", "labels", "missing_codes"),
)
