"""Guess how a text table is written: delimiter, quote mark, decimal mark, and whether the first row is a header.

A candidate dialect is scored on a sample by how many records have the same number of cells (their share,
squared) and by how few cells still hold another candidate's delimiter; a dialect that cannot read the sample
loses half of its score. The idea is van den Burg, Nazábal & Sutton, "Wrangling messy CSV files by detecting row
and type patterns", 2019, without its table of types. If a guess is wrong, the strict reader refuses the file later.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from workbench.data.csv.dialect import BARE, Dialect
from workbench.data.csv.inference import SHOWS
from workbench.data.csv.strict_reader import MalformedError, Record, escapes, records

DELIMITERS = (",", ";", "\t", "|")
QUOTES = ('"', "'")
_MOST_RECORDS = 500

_NUMBER = re.compile(r"\s*[+-]?(\d+([.,]\d+)*|[.,]\d+)([eE][+-]?\d+)?\s*%?\s*\Z")
_DATE = re.compile(
    r"\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})([T ]\d{1,2}:\d\d(:\d\d)?.*)?\s*\Z"
)
_YEAR = re.compile(r"(19|20)\d\d\Z")
_TIME = re.compile(r"\d{1,2}:\d\d(:\d\d)?\Z")
# In running text a delimiter is followed by a space; between cells it hardly ever is.
_PROSE = re.compile(r"[,;|](?=\s|\Z)")
_SHOWS = {mark: re.compile(pattern) for mark, pattern in SHOWS.items()}


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
    delimiters = [d for d in (*DELIMITERS, "") if d in sample]
    if "delimiter" in fixed:
        delimiters = [given.delimiter]
    quotes = [given.quote] if "quote" in fixed else [q for q in QUOTES if q == '"' or q in sample]
    best: tuple[float, Dialect, list[Record]] | None = None
    for quote, delimiter in itertools.product(quotes, delimiters):
        dialect = dataclasses.replace(given, delimiter=delimiter, quote=quote)
        dialect, found, whole = _read(sample, dialect, complete, ways(dialect, "escape" in fixed))
        if quote == "'" and "quote" not in fixed and not _is_quoting(sample, dialect):
            continue
        score = _score(found, dialect, names) * (1.0 if whole else 0.5)
        # An apostrophe that wraps whole cells is a quote mark, if that makes nothing worse.
        if best is None or score > best[0] + 1e-9 or (quote == "'" and score >= best[0]):
            best = score, dialect, found
    assert best is not None  # the double quote and the empty delimiter are always tried
    _, dialect, found = best
    if "decimal" not in fixed:
        dialect = dataclasses.replace(dialect, decimal=_decimal(cell for record in found for cell in record.cells))
    if "header" not in fixed:
        dialect = dataclasses.replace(dialect, header=_has_header(found, names))
    return dialect, found


def ways(dialect: Dialect, fixed: bool) -> tuple[str, ...]:
    """Return the ways of escaping to try: that of ``dialect`` first, and no other where a person stated it."""
    if fixed:
        return (dialect.escape,)
    return (dialect.escape, *(way for way in escapes(dialect.quote) if way != dialect.escape))


def _read(sample: str, dialect: Dialect, complete: bool, to_try: Sequence[str]) -> tuple[Dialect, list[Record], bool]:
    """Read the start of ``sample`` with the first way of escaping that fits; else the first one, up to its fault."""
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
            return candidate, found[:-1] if len(found) > 1 and not complete else found, True
        except MalformedError as error:
            # A cell that the end of the sample cuts looks unterminated.
            if error.what == "unterminated" and not complete and found:
                return candidate, found, True
            first = first or found
    return dialect, first, False


def _is_quoting(sample: str, dialect: Dialect) -> bool:
    """Whether some cell is wrapped in apostrophes, and none in double quotes."""
    d = re.escape(dialect.delimiter) or r"\n"
    d += re.escape(dialect.blanks)
    before, end = rf"(?:\A|(?<=[{d}\r\n]))", rf"[{d}\r\n]|\Z"
    single, double = (
        re.search(rf"{before}{q}(?:[^{q}]|{q}(?!{end})){{0,2000}}{q}(?={end})", sample) for q in ("'", '"')
    )
    return single is not None and (double is None or dialect.escape == BARE)


def _score(found: list[Record], dialect: Dialect, names: Sequence[str] | None) -> float:
    if not found:
        return 0.0
    if names:
        held = len(set(names) & set(found[0].cells)) / len(set(names))
        if held == 1 and (dialect.delimiter or len(found[0].cells) == len(names)):
            return 10.0 + _consistency(found)
    widths = Counter(len(record.cells) for record in found)
    width = max(widths, key=lambda w: (widths[w], w))
    clean = _clean_share(found, dialect.delimiter)
    if dialect.delimiter == "":
        # A first line with a delimiter suggests several columns: a row that is too short is then an error.
        one = all(other not in _PROSE.sub("", found[0].cells[0]) for other in DELIMITERS)
        return 0.5 if one and clean >= 0.9 else 0.0
    if width < 2:
        return 0.25 * clean if len(found[0].cells) > 1 else 0.0
    return _consistency(found) * (0.5 + 0.5 * clean) * (1.0 if len(found[0].cells) > 1 else 0.6)


def _consistency(found: list[Record]) -> float:
    """Return the square of the share of records that have the commonest number of cells."""
    widths = Counter(len(record.cells) for record in found)
    share: float = max(widths.values()) / len(found)
    return share * share


def _clean_share(found: list[Record], delimiter: str) -> float:
    cells = [cell for record in found for cell in record.cells]
    return sum(is_clean(cell, delimiter) for cell in cells) / len(cells)


def is_clean(cell: str, delimiter: str) -> bool:
    """Whether a cell looks whole: a number, a date, or text without another candidate's delimiter."""
    if _NUMBER.match(cell) or _DATE.match(cell):
        return True
    rest = _PROSE.sub("", cell)
    return not any(other in rest for other in DELIMITERS if other != delimiter)


def _decimal(cells: Iterable[str]) -> str:
    votes = Counter(mark for cell in cells for mark, shows in _SHOWS.items() if shows.match(cell))
    return "," if votes[","] > votes["."] else "."


def is_typed(cell: str) -> bool:
    """Whether a cell is written like a number, a date or a time."""
    return bool(_NUMBER.match(cell) or _DATE.match(cell) or _TIME.match(cell))


def _has_header(found: list[Record], names: Sequence[str] | None) -> bool:
    """Whether the first record names the columns: a word above numbers means yes, a number above numbers means no."""
    if not found:
        return False
    first, rest = found[0].cells, [record.cells for record in found[1:]]
    if names and set(names) & set(first):
        return True
    columns = [[row[k] for row in rest if k < len(row) and row[k]] for k in range(len(first))]
    over_numbers = [is_typed(cell) for cell, below in zip(first, columns, strict=True) if cell and mostly_typed(below)]
    if any(is_typed(cell) for cell in first):
        return _are_years(first, columns) or over_numbers.count(False) > over_numbers.count(True)
    if over_numbers:
        return True
    # A first cell that comes again further down in its column is a value, not a name; so is one that stands twice.
    named = [cell for cell in first if cell]
    repeated = sum(cell in below for cell, below in zip(first, columns, strict=True) if cell)
    return len(set(named)) == len(named) > 0 and 2 * repeated <= len(named)


def _are_years(first: list[str], columns: list[list[str]]) -> bool:
    """Whether the numbers of the first record are years over columns of other figures, beside words."""
    typed = [(cell, below) for cell, below in zip(first, columns, strict=True) if is_typed(cell)]
    return any(cell and not is_typed(cell) for cell in first) and all(
        _YEAR.match(cell) and below and not all(_YEAR.match(value) for value in below) for cell, below in typed
    )


def mostly_typed(cells: list[str]) -> bool:
    """Whether nine of ten cells are."""
    return bool(cells) and sum(map(is_typed, cells)) >= 0.9 * len(cells)
