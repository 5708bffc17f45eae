"""JSON Lines: an object on each line, whose names are the columns."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import polars as pl

from workbench.data.isolated_reader import read_isolated
from workbench.data.opened_file import Opened, RefusedError
from workbench.data.sources.source import Source, SourceFile
from workbench.data.table import Table

_LOOK = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{[^\r\n]*\}[ \t]*\r?\n\s*\{")
_AT_ONCE = 50_000
_PIECE = 1 << 20
_TRUTH = {True: "true", False: "false"}


class _RepeatedError(ValueError):
    """A name occurs twice in an object."""


def is_json_lines(head: bytes) -> bool:
    """Return whether a text begins as JSON Lines do."""
    return _LOOK.match(head) is not None


def opened(path: Path, options: dict[str, Any]) -> Opened:
    """Return the rows of a file; their number is known once they are read."""

    def pieces() -> Iterator[bytes]:
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                yield piece

    return rows_of(pieces(), options, {})


def rows_of(pieces: Iterable[bytes], options: dict[str, Any], facts: dict[str, Any]) -> Opened:
    """Return the rows of a text that comes in pieces.

    Numbers stay as they are written there (``1.0``, ``1e-3``), truth values are ``true`` and ``false``; null and a name
    that a line lacks are missing.

    Raises:
        RefusedError: a line is no object, or every column has a list or an object; where some have, they are left out.
            If the plan replaces invalid values, such a line is an empty row and such a value missing.
    """
    lines = _Lines(options)
    parts: list[pl.DataFrame] = []
    for number, line in enumerate(_lines(pieces), start=1):
        if line.strip():
            lines.add(number, line)
            if len(lines.rows) == _AT_ONCE:
                parts.append(lines.taken())
    parts.append(lines.taken())
    notices = [f"the column {name} is left out: it contains {what}" for name, what in lines.left_out.items()]
    if lines.uneven:
        notices.append(f"{lines.uneven} lines cannot be used and are read as empty (all values missing)")
    columns = [name for name in lines.columns if name not in lines.left_out]
    if lines.left_out and not columns:
        name, what = next(iter(lines.left_out.items()))
        raise RefusedError(
            f"the column contains {what}",
            f"column {name}",
            "write them as text or numbers, or write the file without the column",
        )
    facts |= {"notices": notices, "left_out": lines.left_out}
    return Opened(
        rows=sum(part.height for part in parts),
        columns=columns,
        read=lambda: pl.concat(parts, how="diagonal")[columns],
        facts=facts,
        typed=False,
    )


def _lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    rest: list[bytes] = []
    first = True
    for piece in pieces:
        begun, *others = (piece.removeprefix(codecs.BOM_UTF8) if first else piece).split(b"\n")
        first = False
        rest.append(begun)  # joined at its end alone, as a line may have many pieces
        if others:
            yield b"".join(rest)
            yield from others[:-1]
            rest = [others[-1]]
    yield b"".join(rest)


class _Lines:
    """The rows so far."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.replaces = bool(options.get("replace_invalid"))
        self.planned = dict.fromkeys(options.get("planned") or ())
        # If invalid values are replaced, no row decides which columns there are.
        self.columns = dict(self.planned) if self.replaces else {}
        self.rows: list[dict[str, str | None]] = []
        self.left_out: dict[str, str] = {}  # columns with a value that is no cell, and what that is
        self.uneven = 0
        self._decoder = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str, object_pairs_hook=_once)

    def add(self, number: int, line: bytes) -> None:
        try:
            found = self._decoder.decode(line.decode("utf-8").strip())
            what = "" if isinstance(found, dict) else "contains no object"
        except UnicodeDecodeError:
            what = "is not UTF-8"
        except _RepeatedError:
            what = "has the same name twice"
        except (ValueError, RecursionError):
            what = "is not JSON"
        if what and not self.replaces:
            raise RefusedError(f"line {number} {what}", f"line {number}", "correct that line", "json-line")
        if what:
            self.uneven += 1
            found = {}
        self.rows.append({name: self._cell(number, name, value) for name, value in found.items() if self._wanted(name)})
        self.columns.update(dict.fromkeys(self.rows[-1]))

    def _wanted(self, name: str) -> bool:
        return not (self.replaces and self.planned) or name in self.planned

    def _cell(self, number: int, name: str, value: Any) -> str | None:
        if value is None or isinstance(value, str):
            return value
        if isinstance(value, bool):
            return _TRUTH[value]
        if not self.replaces:
            self.left_out.setdefault(name, f"{'a list' if isinstance(value, list) else 'an object'} (line {number})")
        return None

    def taken(self) -> pl.DataFrame:
        """Return the rows that were not taken yet."""
        rows, self.rows = self.rows, []
        return pl.DataFrame({name: pl.Series([r.get(name) for r in rows], dtype=pl.String) for name in self.columns})


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _RepeatedError
    return found


def read(file: SourceFile) -> Table:
    """Return the table of JSON Lines."""
    return read_isolated(file, JSON_LINES.name, __name__)


JSON_LINES = Source(
    name="JSON Lines", endings=(".jsonl", ".ndjson"), read=read, mark=_LOOK, is_text=True, options=("missing",)
)
