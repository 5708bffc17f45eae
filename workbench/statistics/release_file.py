"""The released file of statistics, CSV or JSON: one record a figure."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

from workbench.params import InputError
from workbench.params.codec import parse_json
from workbench.statistics.figures import Figure

FIELDS = ("statistic", "column", "group", "value", "estimate", "low", "high", "sparse", "source")
FORMATS = {".csv": "csv", ".json": "json"}
_NUMBERS = ("estimate", "low", "high")


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


def encode(figures: Sequence[Figure], kind: str) -> bytes:
    """Return the bytes of a released file of format ``kind``."""
    found = records(figures)
    if kind == "json":
        return (json.dumps({"figures": found}, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()
    text = io.StringIO()
    # A carriage return inside a name is quoted only where every text is.
    bare = not any("\r" in r[name] for r in found for name in ("column", "group", "value", "source"))
    writer = csv.DictWriter(
        text, FIELDS, lineterminator="\n", quoting=csv.QUOTE_MINIMAL if bare else csv.QUOTE_NONNUMERIC
    )
    writer.writeheader()
    writer.writerows({**r, "sparse": "yes" if r["sparse"] else "no"} for r in found)
    return text.getvalue().encode()


def decode(data: bytes, kind: str, where: str) -> list[dict[str, Any]]:
    """Return the records of a released file, as :func:`records` gives them.

    Raises:
        InputError: it is no such file.
    """
    broken = InputError("the file holds no statistics", where, "ask for the file as it was released")
    try:
        text = data.decode()
        if kind == "json":
            document = parse_json(text, "file of statistics", where)
            found = document["figures"] if isinstance(document, dict) else None
            if not isinstance(found, list) or not all(isinstance(r, dict) and set(r) == set(FIELDS) for r in found):
                raise broken
            return found
        rows = list(csv.reader(io.StringIO(text, newline="")))
        if not rows or tuple(rows[0]) != FIELDS or any(len(r) != len(FIELDS) for r in rows):
            raise broken
        return [_typed(dict(zip(FIELDS, row, strict=True))) for row in rows[1:]]
    except (UnicodeDecodeError, KeyError, csv.Error):
        raise broken from None


def _typed(row: dict[str, str]) -> dict[str, Any]:
    out: dict[str, Any] = {**row, "sparse": row["sparse"] == "yes"}
    for name in _NUMBERS:
        try:
            out[name] = _short(float(row[name]))
        except ValueError:
            out[name] = row[name]  # a date
    return out
