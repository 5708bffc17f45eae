"""Which guesses about a text file are uncertain: those that one row could change, and with them the other rows.

A guess that only decides between reading the file and refusing it is not among them. So the double quote mark, quote
marks that are doubled inside a cell, valid UTF-8, and a header that holds the names of the plan are certain: they are
used as long as they fit, and anything chosen instead is a doubt. Each doubt comes with some of the affected cells, as
they read under the guess and under the alternatives: only a person knows which reading is right.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence

import polars as pl

from workbench.data.columns.values import doubles
from workbench.data.csv.dialect_guess import DELIMITERS, different_names, is_clean
from workbench.data.csv.encoding import EncodingGuess
from workbench.data.csv.options import DOUBLED, NO_DELIMITER, NO_QUOTE, Dialect
from workbench.data.csv.strict_reader import MalformedError, escapes, records
from workbench.data.table import Ambiguity, Candidate

_MOST_CELLS = 3
_MOST_CANDIDATES = 4
_RECORDS = 400
_BEFORE, _AFTER = 12, 28  # bytes of a cell that are shown before and after the first one that is not ASCII

_WORDS = {"\t": "tab", " ": "space", "": NO_DELIMITER}


@dataclasses.dataclass(frozen=True)
class Sample:
    """The first part of a text file. Private."""

    text: str = dataclasses.field(repr=False)  # the text, without lines that are skipped
    complete: bool  # whether that is all of it
    guess: EncodingGuess  # the encoding according to its bytes


def ambiguities_of(
    dialect: Dialect, certain: Collection[str], first: Sequence[str], names: Sequence[str] | None, sample: Sample
) -> Iterator[Ambiguity]:
    """Yield the doubts about a file that was read as ``dialect``, each with the option that settles it.

    Args:
        dialect: how the file was read.
        certain: the attributes of it that a person stated or the bytes prove.
        first: the cells of the first record.
        names: column names that a plan expects. A first record that holds them all proves the delimiter: no other
            one would cut the same names out of it.
        sample: the source of the cells.
    """
    if "encoding" not in certain:
        yield _doubt("encoding", f"the encoding was guessed as {dialect.encoding}", _encodings(dialect, sample.guess))
    named = names is not None and len(names) > 0 and set(names) <= set(different_names(first))
    if "delimiter" not in certain and dialect.delimiter and not named:
        mark = _WORDS.get(dialect.delimiter, dialect.delimiter)
        if not all(is_clean(cell, dialect.delimiter) for cell in first):
            yield _doubt("delimiter", f"the delimiter was guessed as {mark}", _delimiters(dialect, sample))
    if "quote" not in certain and dialect.quote != '"':
        yield _doubt("quote", f"the quote mark was guessed as {dialect.quote}", _quotes(dialect, sample))
    if "escape" not in certain and dialect.escape != DOUBLED:
        stated = f"the way quote marks are escaped was guessed as {dialect.escape}"
        yield _doubt("escape", stated, _escapes(dialect, sample))
    if "decimal" not in certain and dialect.decimal != ".":
        yield _doubt("decimal", f"the decimal mark was guessed as {dialect.decimal}", _decimals(dialect, sample))
    if "header" not in certain and not dialect.header:
        row = " | ".join(first)
        stated = "the first row was taken for values, not for names"
        yield _doubt("header", stated, [("no", [f"{row} as values"]), ("yes", [f"{row} as names"])])


Readings = Iterable[tuple[str, Sequence[str] | None]]
"""Values of an option, each with the cells as they read under it; ``None`` if the file cannot be read that way."""


def _doubt(name: str, guess: str, readings: Readings) -> Ambiguity:
    """Return the doubt about ``name``, without candidates that read every cell like an earlier one."""
    candidates: list[Candidate] = []
    for value, cells in readings:
        option = f"--{name} {value if value.isalnum() else _quoted(value)}"
        one = Candidate(value, option, tuple(cells or ())[:_MOST_CELLS], fits=cells is not None)
        if all(one.cells != other.cells or not one.fits for other in candidates):
            candidates.append(one)
    return Ambiguity(name, guess, candidates[0].option, tuple(candidates[:_MOST_CANDIDATES]))


def _quoted(mark: str) -> str:
    """Return an option's value as typed in a shell."""
    if all(c.isalnum() or c in "_-." for c in mark):
        return mark
    return f"'{mark}'" if mark == '"' else f'"{mark}"'


# -- encodings ----------------------------------------------------------------------------------------------------


def _encodings(dialect: Dialect, guess: EncodingGuess) -> Readings:
    cells = list(dict.fromkeys(_cells_beyond_ascii(guess, dialect)))
    # The cells that most encodings read differently come first.
    cells.sort(key=lambda raw: -len({_read_as(raw, name) for name in guess.likely}))
    return [(name, [_read_as(raw, name) for raw in cells[:_MOST_CELLS]]) for name in guess.likely]


def _cells_beyond_ascii(guess: EncodingGuess, dialect: Dialect) -> Iterator[bytes]:
    """Yield the bytes around the first one above 127 of a cell of each line."""
    for line in guess.lines:
        text = line.decode(guess.name, "ignore")
        parts = text.split(dialect.delimiter) if dialect.delimiter else [text]
        cell = next((part for part in parts if not part.isascii()), "")
        raw = cell.strip(f"{dialect.quote} \t").encode(guess.name, "ignore")
        at = next((k for k, byte in enumerate(raw) if byte > 127), None)
        if at is not None:
            yield raw[max(at - _BEFORE, 0) : at + _AFTER]


def _read_as(raw: bytes, encoding: str) -> str:
    return raw.decode(encoding, "ignore" if len(raw) > _AFTER else "replace")


# -- marks --------------------------------------------------------------------------------------------------------


def _delimiters(dialect: Dialect, sample: Sample) -> Readings:
    others = [d for d in DELIMITERS if d != dialect.delimiter and d in sample.text]
    for delimiter in (dialect.delimiter, *others, ""):
        read = _cells(sample, dataclasses.replace(dialect, delimiter=delimiter))
        rows = None if read is None else [" | ".join(cells) for cells in read[:_MOST_CELLS]]
        yield _WORDS.get(delimiter, delimiter), rows


def _quotes(dialect: Dialect, sample: Sample) -> Readings:
    marks = {dialect.quote: dialect, NO_QUOTE: dataclasses.replace(dialect, quote="", escape=DOUBLED)}
    return _where_they_differ({mark: _cells(sample, one) for mark, one in marks.items()})


def _escapes(dialect: Dialect, sample: Sample) -> Readings:
    """Yield the guessed way, and those that were tried before it and could not read the file."""
    ways = escapes(dialect.quote)
    read = _cells(sample, dialect) or []
    shown = [cell for cells in read for cell in cells if dialect.quote in cell]
    return [(dialect.escape, shown), *((way, None) for way in ways[: ways.index(dialect.escape)])]


def _decimals(dialect: Dialect, sample: Sample) -> Readings:
    read = _cells(sample, dialect) or []
    cells = list(dict.fromkeys(cell for row in read for cell in row if "," in cell))
    numbers = {mark: doubles(pl.Series(cells, dtype=pl.String), mark).to_list() for mark in (",", ".")}
    at = [k for k in range(len(cells)) if numbers[","][k] != numbers["."][k]][:_MOST_CELLS]
    return [(mark, [f"{cells[k]} as {_number(numbers[mark][k])}" for k in at]) for mark in (",", ".")]


def _number(value: float | None) -> str:
    return "no number" if value is None else f"{value:.15g}"


def _cells(sample: Sample, dialect: Dialect) -> list[list[str]] | None:
    """Return the cells of the first records of ``sample``; ``None`` where they cannot be read so."""
    found: list[list[str]] = []
    try:
        for record in itertools.islice(records(sample.text, dialect), _RECORDS):
            if record.cells:
                found.append(record.cells)
    except MalformedError as error:
        if sample.complete or error.what != "unterminated" or not found:
            return None
    return found


def _where_they_differ(read: dict[str, list[list[str]] | None]) -> Readings:
    """Return some of the cells that differ between readings, the same ones for each reading."""
    flat = {value: [cell for row in rows for cell in row] for value, rows in read.items() if rows is not None}
    at = [k for k, cells in enumerate(zip(*flat.values(), strict=False)) if len(set(cells)) > 1][:_MOST_CELLS]
    return [(value, [flat[value][k] for k in at] if value in flat else None) for value in read]
