"""Guess how a text table is written: delimiter, quote mark, decimal mark, and whether the first row is a header.

Each candidate dialect reads a sample. It is scored by how many records have the same number of cells (their share,
squared) and by how few cells still contain another candidate's delimiter; a candidate that cannot read the sample to
its end loses half of its score. The idea is van den Burg, Nazábal & Sutton, "Wrangling messy CSV files by detecting
row and type patterns", 2019, without its table of types. If a guess is wrong, the strict reader refuses the file later.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from workbench.data.csv.inference import SHOWS
from workbench.data.csv.options import BARE, Dialect
from workbench.data.csv.strict_reader import MalformedError, Record, escapes, records

DELIMITERS = (",", ";", "\t", "|")
QUOTES = ('"', "'")
_MOST_RECORDS = 500
_EQUAL = 1e-9  # scores that differ by less are the same
_SURE = 10.0
"""Score of a candidate under which the first record holds every expected name: no other one would cut them out."""

# In running text a delimiter is followed by a space; between cells it hardly ever is.
_PROSE = re.compile(r"[,;|](?=\s|\Z)")
_SHOWS = {mark: re.compile(pattern) for mark, pattern in SHOWS.items()}


@dataclass(frozen=True)
class _Reading:
    """The first records of a sample, read under one dialect."""

    dialect: Dialect  # the candidate
    found: list[Record]  # the records, up to the first fault if there is one
    whole: bool  # whether there was no fault


def sniff(
    sample: str, given: Dialect, fixed: Sequence[str], names: Sequence[str] | None, complete: bool
) -> tuple[Dialect, list[Record]]:
    """Return the dialect of ``sample`` and its records.

    Args:
        sample: the first part of the text.
        given: values that a person stated, for the attributes in ``fixed``.
        fixed: which attributes of ``given`` are not to be guessed.
        names: column names that a plan expects, which settle the header and often the delimiter.
        complete: whether the sample is the whole text; otherwise its last record may be incomplete and is left out.
    """
    best: _Reading | None = None
    best_score = 0.0
    for candidate in _candidates(sample, given, fixed):
        reading = _read(sample, candidate, complete, ways(candidate, "escape" in fixed))
        apostrophe = reading.dialect.quote == "'"
        if apostrophe and "quote" not in fixed and not _wraps_cells(sample, reading.dialect):
            continue
        score = _score(reading, names)
        # At the same score the first candidate wins, unless an apostrophe turns out to wrap whole cells.
        if best is None or score > best_score + _EQUAL or (apostrophe and score >= best_score):
            best, best_score = reading, score
    assert best is not None  # the double quote and the empty delimiter are always tried
    dialect, found = best.dialect, best.found
    if "decimal" not in fixed:
        dialect = dataclasses.replace(dialect, decimal=_decimal(cell for record in found for cell in record.cells))
    if "header" not in fixed:
        dialect = dataclasses.replace(dialect, header=has_header(found, names))
    return dialect, found


def ways(dialect: Dialect, fixed: bool) -> tuple[str, ...]:
    """Return the ways of escaping to try: that of ``dialect`` first, and no other if a person stated it."""
    if fixed:
        return (dialect.escape,)
    return (dialect.escape, *(way for way in escapes(dialect.quote) if way != dialect.escape))


# -- candidates ------------------------------------------------------------------------------------------------------


def _candidates(sample: str, given: Dialect, fixed: Sequence[str]) -> Iterator[Dialect]:
    """Yield the dialects to try: each quote mark with each delimiter that occurs in the sample, or with none."""
    quotes = [given.quote] if "quote" in fixed else [q for q in QUOTES if q == '"' or q in sample]
    delimiters = [given.delimiter] if "delimiter" in fixed else [d for d in (*DELIMITERS, "") if d in sample]
    for quote, delimiter in itertools.product(quotes, delimiters):
        yield dataclasses.replace(given, delimiter=delimiter, quote=quote)


def _read(sample: str, dialect: Dialect, complete: bool, to_try: Sequence[str]) -> _Reading:
    """Read the start of ``sample`` with the first way of escaping that fits; else with the first, up to its fault."""
    first: list[Record] = []
    for escape in to_try:
        candidate = dataclasses.replace(dialect, escape=escape)
        found: list[Record] = []
        try:
            for record in itertools.islice(records(sample, candidate), 4 * _MOST_RECORDS):
                if record.cells:
                    found.append(record)
                if len(found) > _MOST_RECORDS:
                    break
        except MalformedError as error:
            # A cell that is cut by the end of the sample looks unterminated.
            if error.what == "unterminated" and not complete and found:
                return _Reading(candidate, found, whole=True)
            first = first or found
            continue
        return _Reading(candidate, found[:-1] if len(found) > 1 and not complete else found, whole=True)
    return _Reading(dialect, first, whole=False)


def _wraps_cells(sample: str, dialect: Dialect) -> bool:
    """Return whether some cell is wrapped in apostrophes, and none in double quotes."""
    d = re.escape(dialect.delimiter) or r"\n"
    d += re.escape(dialect.blanks)
    before, end = rf"(?:\A|(?<=[{d}\r\n]))", rf"[{d}\r\n]|\Z"
    single, double = (
        re.search(rf"{before}{q}(?:[^{q}]|{q}(?!{end})){{0,2000}}{q}(?={end})", sample) for q in ("'", '"')
    )
    return single is not None and (double is None or dialect.escape == BARE)


# -- scores ----------------------------------------------------------------------------------------------------------


def _score(reading: _Reading, names: Sequence[str] | None) -> float:
    """Return how plausible a reading is; halved if it did not reach the end of the sample."""
    if not reading.found:
        return 0.0
    score = _SURE + _consistency(reading.found) if _holds_names(reading, names) else _plausibility(reading)
    return score if reading.whole else score / 2


def _holds_names(reading: _Reading, names: Sequence[str] | None) -> bool:
    """Return whether the first record holds every expected name, each in a cell of its own."""
    if not names:
        return False
    first = reading.found[0].cells
    return set(names) <= set(different_names(first)) and (bool(reading.dialect.delimiter) or len(first) == len(names))


def _plausibility(reading: _Reading) -> float:
    """Return a score in [0, 1] from the widths of the records and the cells that look whole."""
    found, delimiter = reading.found, reading.dialect.delimiter
    clean = _clean_share(found, delimiter)
    several = len(found[0].cells) > 1
    if delimiter == "":
        # A first line with a delimiter suggests several columns: a row that is too short is then an error.
        one = all(other not in _PROSE.sub("", found[0].cells[0]) for other in DELIMITERS)
        return 0.5 if one and clean >= 0.9 else 0.0
    if _usual_width(found) < 2:
        return 0.25 * clean if several else 0.0
    return _consistency(found) * (0.5 + 0.5 * clean) * (1.0 if several else 0.6)


def _usual_width(found: list[Record]) -> int:
    """Return the commonest number of cells, the largest of several."""
    widths = Counter(len(record.cells) for record in found)
    return max(widths, key=lambda width: (widths[width], width))


def _consistency(found: list[Record]) -> float:
    """Return the square of the share of records that have the commonest number of cells."""
    widths = Counter(len(record.cells) for record in found)
    share: float = max(widths.values()) / len(found)
    return share * share


def _clean_share(found: list[Record], delimiter: str) -> float:
    cells = [cell for record in found for cell in record.cells]
    return sum(is_clean(cell, delimiter) for cell in cells) / len(cells)


def is_clean(cell: str, delimiter: str) -> bool:
    """Return whether a cell looks whole: a number, a date, or text without another candidate's delimiter."""
    if NUMBER.match(cell) or DATE.match(cell):
        return True
    rest = _PROSE.sub("", cell)
    return not any(other in rest for other in DELIMITERS if other != delimiter)


def _decimal(cells: Iterable[str]) -> str:
    """Return the decimal mark that more cells show; a point if there are as many."""
    votes = Counter(mark for cell in cells for mark, shows in _SHOWS.items() if shows.match(cell))
    return "," if votes[","] > votes["."] else "."


NUMBER = re.compile(r"\s*[+-]?(\d+([.,]\d+)*|[.,]\d+)([eE][+-]?\d+)?\s*%?\s*\Z")
DATE = re.compile(
    r"\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})([T ]\d{1,2}:\d\d(:\d\d)?.*)?\s*\Z"
)
_TIME = re.compile(r"\d{1,2}:\d\d(:\d\d)?\Z")
_YEAR = re.compile(r"(19|20)\d\d\Z")


def has_header(found: Sequence[Record], names: Sequence[str] | None) -> bool:
    """Return whether the first record names the columns.

    In this order: it does if it holds one of the expected ``names``; if it holds numbers, only if they are years above
    other figures, or if more columns of numbers begin with a word than with a number; without numbers, if a column of
    numbers begins with a word, or if its cells are different and mostly do not occur again below.
    """
    if not found:
        return False
    first, rest = found[0].cells, [record.cells for record in found[1:]]
    if names and set(names) & set(different_names(first)):
        return True
    columns = [[row[k] for row in rest if k < len(row) and row[k]] for k in range(len(first))]
    over_numbers = [is_typed(cell) for cell, below in zip(first, columns, strict=True) if cell and mostly_typed(below)]
    if any(is_typed(cell) for cell in first):
        return _are_years(first, columns) or over_numbers.count(False) > over_numbers.count(True)
    return bool(over_numbers) or _are_unlike_values(first, columns)


def different_names(cells: Sequence[str]) -> list[str]:
    """Return the names of a header with those that occur again numbered, as pandas does: ``a``, ``a.1``, ``a.2``.

    A number that would make a name of the header itself is passed over. Blank cells stay as they are.
    """
    taken, used, out = set(cells), dict.fromkeys(cells, 0), []
    for cell in cells:
        name = cell
        if cell.strip() and used[cell]:
            while name in taken:
                name = f"{cell}.{used[cell]}"
                used[cell] += 1
            taken.add(name)
        else:
            used[cell] += 1
        out.append(name)
    return out


def names_of(header: Sequence[str]) -> tuple[list[str], tuple[str, ...], list[str]]:
    """Return the names of columns, those of them whose name the header had used before, and what is said of the others.

    A nameless column is called by its position, counted from 1, and that is said; of repeated names
    :attr:`workbench.data.table.Table.repeated` is the notice.
    """
    taken, out, said = set(header), list[str](), list[str]()
    for position, cell in enumerate(header, start=1):
        name = cell
        if not cell.strip():
            name = f"column{position}"
            while name in taken:
                name += "_"
            taken.add(name)
            said.append(f"the header names no column {position}; it is called {name}")
        out.append(name)
    named = different_names(out)
    renamed = tuple(new for new, old in zip(named, out, strict=True) if new != old)
    return named, renamed, said


def titles_above(rows: Sequence[Sequence[str | None]]) -> int:
    """Return how many of the first rows seem to be titles above the header.

    That is the first one with a word of its own for each column, where the top row has cells for half of them at most.
    """
    width = max(map(len, rows), default=0)
    used = [k for k in range(width) if any(k < len(row) and row[k] for row in rows)]
    filled = [[cell for k in used if k < len(row) and (cell := row[k])] for row in rows]
    if not used or 2 * len(filled[0]) > len(used):
        return 0
    words = (len({cell for cell in cells if not is_typed(cell)}) for cells in filled)
    return next((at for at, own in enumerate(words) if own == len(used)), 0)


def titles_notice(named: int, columns: int, lines: int, above: int = 0) -> str:
    """Return the notice that the header seems to be below titles, which take ``lines`` lines.

    ``above`` are the rows of a sheet before the range that is read: rows are counted from the sheet's first.
    """
    row = above + lines + 1
    return (
        f"the first row names {named} of {columns} columns, and row {row} names all; use --skip-lines {lines} if that "
        "is the header"
    )


def is_typed(cell: str) -> bool:
    """Return whether a cell is written like a number, a date or a time."""
    return bool(NUMBER.match(cell) or DATE.match(cell) or _TIME.match(cell))


def mostly_typed(cells: Sequence[str]) -> bool:
    """Return whether nine of ten cells are written like a number, a date or a time."""
    return bool(cells) and sum(map(is_typed, cells)) >= 0.9 * len(cells)


def _are_years(first: Sequence[str], columns: Sequence[Sequence[str]]) -> bool:
    """Return whether the numbers of the first record are years above columns of other figures, beside words."""
    typed = [(cell, below) for cell, below in zip(first, columns, strict=True) if is_typed(cell)]
    return any(cell and not is_typed(cell) for cell in first) and all(
        _YEAR.match(cell) and below and not all(_YEAR.match(value) for value in below) for cell, below in typed
    )


def _are_unlike_values(first: Sequence[str], columns: Sequence[Sequence[str]]) -> bool:
    """Return whether the cells of the first record are all different, and at most half of them occur again below."""
    named = [cell for cell in first if cell]
    repeated = sum(cell in below for cell, below in zip(first, columns, strict=True) if cell)
    return len(set(named)) == len(named) > 0 and 2 * repeated <= len(named)
