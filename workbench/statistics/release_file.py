"""The released file of statistics, CSV or JSON: one record per figure."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import re
from collections.abc import Sequence
from typing import Any

from workbench.params import InputError
from workbench.params.codec import csv_bytes, parse_json
from workbench.sanitize.writing import headers
from workbench.statistics.figure import UNKNOWN, Figure

FIELDS = ("statistic", "column", "group", "value", "estimate", "low", "high", "sparse", "source")
FORMATS = {".csv": "csv", ".json": "json"}
TEXTS = ("column", "group", "value", "source")
_NUMBERS = ("estimate", "low", "high")
_SPARSE = {"yes": True, "no": False}
_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,18})")
_REAL = re.compile(r"-?(0|[1-9][0-9]{0,18})(\.[0-9]{1,25})?(e[+-][0-9]{2,3})?")
_TEXT = re.compile(rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}|{UNKNOWN}")


def records(figures: Sequence[Figure]) -> list[dict[str, Any]]:
    """Return the figures as JSON holds them; numbers have all their digits, as the noise is in them already."""
    found = []
    for figure in figures:
        plain = {name: getattr(figure, name) for name in FIELDS}
        found.append(plain | {k: _short(plain[k]) for k in _NUMBERS} | {"sparse": bool(figure.sparse)})
    return found


def _short(value: float | str) -> float | int | str:
    if isinstance(value, str):
        return value
    number = float(value) + 0.0
    return int(number) if number.is_integer() and abs(number) < 1e15 else number


def encode(figures: Sequence[Figure], kind: str, *, defuse: bool = False) -> bytes:
    """Return the bytes of a released file of format ``kind``; ``defuse`` is what a plan's ``defuse_formulas`` says."""
    found = records(figures)
    return written(defused_records(found) if defuse and kind == "csv" else found, kind)


def defused_records(found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return records whose names and values have an apostrophe before what a spreadsheet would run."""
    texts = {name: headers([r[name] for r in found]) for name in TEXTS}
    return [{**r, **{name: cells[k] for name, cells in texts.items()}} for k, r in enumerate(found)]


def written(found: Sequence[dict[str, Any]], kind: str) -> bytes:
    """Return the bytes of a released file of format ``kind`` that holds these records."""
    if kind == "json":
        return (json.dumps({"figures": found}, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()
    # A carriage return inside a name is quoted only where every text is.
    bare = not any("\r" in r[name] for r in found for name in TEXTS)
    lines = ({**r, "sparse": "yes" if r["sparse"] else "no"} for r in found)
    rows = [FIELDS, *([line[name] for name in FIELDS] for line in lines)]
    return csv_bytes(rows, quoting=csv.QUOTE_MINIMAL if bare else csv.QUOTE_NONNUMERIC)


def decode(data: bytes, kind: str, where: str, most: int | None = None) -> list[dict[str, Any]]:
    """Return the records of a released file, at most so many, as :func:`records` gives them.

    Raises:
        InputError: it is no such file.
    """
    broken = InputError("the file has no statistics", where, "ask for the file as it was released")
    try:
        text = data.decode()
        if kind == "json":
            document = parse_json(text, "file of statistics", where)
            found = document["figures"] if isinstance(document, dict) and set(document) == {"figures"} else None
            if not isinstance(found, list) or not all(_is_record(r) for r in found):
                raise broken
        else:
            # A file of line ends only must not become a list of them.
            rows = list(itertools.islice(csv.reader(io.StringIO(text, newline="")), None if most is None else most + 2))
            if not rows or tuple(rows[0]) != FIELDS or any(len(r) != len(FIELDS) for r in rows):
                raise broken
            found = [_typed(dict(zip(FIELDS, row, strict=True))) for row in rows[1:]]
    except (ValueError, KeyError, csv.Error):
        raise broken from None
    if most is not None and len(found) > most:
        raise InputError(f"the file has more than {most} figures", where, "ask for the file as it was released")
    return found


def _is_record(record: Any) -> bool:
    if not isinstance(record, dict) or tuple(record) != FIELDS or not isinstance(record["sparse"], bool):
        return False
    if not all(isinstance(record[name], str) for name in FIELDS if name not in (*_NUMBERS, "sparse")):
        return False
    return all(_is_number(record[name]) for name in _NUMBERS)


def _is_number(value: Any) -> bool:
    if isinstance(value, str):
        return _TEXT.fullmatch(value) is not None
    whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**19
    return whole or (isinstance(value, float) and math.isfinite(value))


def _typed(row: dict[str, str]) -> dict[str, Any]:
    """Return a row of a CSV file as a record; :class:`KeyError` or :class:`ValueError` where it is none."""
    return {**row, "sparse": _SPARSE[row["sparse"]], **{name: _number(row[name]) for name in _NUMBERS}}


def _number(text: str) -> float | int | str:
    if _WHOLE.fullmatch(text):
        return int(text)
    if _TEXT.fullmatch(text):
        return text
    number = float(text) if _REAL.fullmatch(text) else math.nan
    if not math.isfinite(number):
        raise ValueError("this is not the number of a figure")
    return number
