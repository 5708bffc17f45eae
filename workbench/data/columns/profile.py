"""Profiles of the columns of a table, for the steward who owns it. Everything in a profile is private.

A profile is computed from the rows without noise: counts, extremes and domains in it are not for release, and an
attribute made from it is marked ``bounds_origin = "data"``: ε does not cover it.
"""

from __future__ import annotations

import dataclasses
import datetime
import itertools
import math
import re
import unicodedata
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.data.columns.missing import MISSING_WORDS, marked, missing_cells
from workbench.data.columns.values import doubles, numbers, short_years, year_last
from workbench.data.csv.inference import guessed_date_order, with_guessed_decimal
from workbench.data.rows_in_parts import each_part
from workbench.data.schema import Attribute
from workbench.data.table import Table
from workbench.params import InputError
from workbench.params.remedies import DECLARE, Remedy, declare, list_values
from workbench.privacy.local.limits import MOST_CELLS
from workbench.signals.cancel import NEVER, CancelToken
from workbench.signals.events import Emit, Progress, ignore

Numbers = NDArray[np.float64]

BINS = 20
_MOST_NAMED = 12

_WHOLE = r"^\s*[+-]?[0-9]+(\.0*)?\s*$"
_PADDED = r"^\s*0[0-9]+\s*$"
_GROUPED = r"^\s*[+-]?[0-9]{1,3}(([.][0-9]{3})*|(,[0-9]{3})*)\s*$"
_LIKE_NUMBER = r"^\s*[+-]?[.,]?[0-9][0-9.,]*([eE][+-]?[0-9]+)?\s*$"
_LIKE_DATE = (
    r"^\s*([0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}|[0-9]{1,2}[-/.][0-9]{1,2}([-/.][0-9]{4}|[/.][0-9]{2}))([T ].*)?$"
)
_COMPACT_DATE = r"^\s*(19|20)[0-9]{2}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])\s*$"
_LOOKS = (
    ("e-mail", r"^\s*[^@\s]+@[^@\s]+\.[^@\s]+\s*$", "the values look like e-mail addresses"),
    ("phone", r"^\s*(\+|00|\()[0-9][0-9 ()/.-]{6,}\s*$", "the values look like telephone numbers"),
    (
        "date",
        r"^\s*[0-9]{1,2}[-/. ]([0-9]{1,2}|[A-Za-z]{3,9})[-/. ][0-9]{2,4}\s*$",
        "the values look like dates in an unknown format: write them as 2024-01-31",
    ),
    (
        "percent",
        r"^\s*[+-]?[0-9][0-9.,]*\s*%\s*$",
        "the values are percentages: with the % sign they are read as names, without it as numbers",
    ),
    ("code", r"^[A-Za-z]{0,6}[-_ ]?[0-9]{2,}[A-Za-z0-9_-]*$", "the values look like codes"),
)
_IDENTIFIER_NAME = re.compile(r"(^|[_\W])(id|uuid|guid|key|ssn|iban|passport|name|nr|no)$|Id$|ID$", re.ASCII)
_PERSON_NAME = re.compile(
    r"^((first|last|fore|sur|given|family|middle|maiden|full|user|nick|pet|patient|client|customer|person|employee"
    r"|student|contact|owner)[ _-]?names?|vorname|nachname|familienname|prenom|prénom|apellidos?"
    r"|фамилия|отчество|фио|họ|họ[ _-]?(và[ _-]?)?tên)$",
    re.IGNORECASE,
)
_ANY_NAME = re.compile(r"^(names?|nom|nombre|имя|tên)$", re.IGNORECASE)
_GROUP_NAME = re.compile(
    r"^(household|family|person|people|patient|respondent|participant|customer|client|subject|member|user|pid|uid|haushalt"
    r"|foyer|ménage|домохозяйство|hộ)[ _-]?(id|ids|no|nr|num|number|key|code)?\.?$",
    re.IGNORECASE,
)
_FULL_NAME = r"^\s*\p{Lu}[\p{L}'’.-]*(\s+(\p{Lu}[\p{L}'’.-]*|van|von|de|der|den|di|da|la|le|del)){1,4}\s*$"
_MISSING_CODE = r"^\s*(-[1789]|-?(77+|88+|99+))([.,]0+)?\s*$"
_FEW_NUMBERS = 2
_FEW_NAMES = 10
MOSTLY_THERE = 0.05  # the part of the rows that may be without a value in a column that is called constant
_TRUTH = {"true", "false"}
_TWO_CODES = ({"0", "1"}, {"1", "2"}, {"-1", "1"})


@dataclass(frozen=True, slots=True)
class Suspicion:
    """Something in a column that a person should check."""

    what: str  # a word for it
    why: str  # what was seen
    hint: Remedy | None = None  # what to declare; `None` if there is more than one thing to do
    cells: tuple[str, ...] = ()  # the cells it is about, where they are few

    @property
    def reason(self) -> str:
        """What was seen and what to declare, as files and commands say it."""
        return f"{self.why}; {self.hint}" if self.hint is not None else self.why


DATE_ORDER = Remedy(DECLARE, "declare date_order", {"key": "date_order"})
CENTURY = (
    "years of two digits are read as 1969 to 1999 and 2000 to 2068, or in another century where only that is within "
    "the bounds you declare"
)
MISSING_CODES = Remedy(DECLARE, "declare missing_codes", {"key": "missing_codes"})


@dataclass(frozen=True, slots=True)
class Bin:
    """One bar of a histogram: what it counts and how many rows fall into it."""

    label: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnProfile:
    """What one column looks like. Private: computed from the rows, without noise."""

    name: str
    kind: str  # the likeliest of integer, real, category, boolean and date
    missing: int  # rows without a value
    distinct: int  # different values
    lower: float | None = None  # least number (dates: day number) that occurs; `None` for names
    upper: float | None = None  # greatest number that occurs; `None` for names
    values: tuple[str, ...] = ()  # the different values of a category in order, if there are at most 4,096; else empty
    suspicions: tuple[Suspicion, ...] = ()  # what a person should check
    histogram: tuple[Bin, ...] = ()  # at most 20 bars: ranges of numbers, or the commonest names
    year_last: bool = False  # whether dates have the year last, so that a plan must declare `date_order`
    # A guess at that order from the rows, or `None` if they leave it open; `lower`, `upper` and the histogram are then
    # read with the day first.
    date_order: str | None = None
    # How many of them say so by which word; where a list of values holds the word, it is a value.
    words: tuple[tuple[str, int], ...] = ()

    def missing_beside(self, listed: Collection[str]) -> int:
        """Return how many rows have no value where ``listed`` are values, whatever they say."""
        return self.missing - sum(rows for word, rows in self.words if word in listed)


def profile(table: Table, *, cancel: CancelToken = NEVER, emit: Emit = ignore) -> tuple[ColumnProfile, ...]:
    """Return the profile of each column. Private: it is computed from the rows, without noise.

    Of a table that is read in parts a column with very many different values is seen in a sample of these.
    """
    if not table.in_parts:
        out = []
        for position, name in enumerate(table.names):
            cancel.check()
            emit(Progress(position, len(table.names), "columns"))
            # Of a table of one column each step takes as long as that column, however many others there are.
            out.append(profile_column(table.replaced(frame=table.frame[[name]]), name))
        emit(Progress(len(out), len(out), "columns"))
        return tuple(out)
    found = [_Values(name, max(MOST_CELLS + 1, _TOGETHER // len(table.names))) for name in table.names]
    done = 0
    for rows, counted in each_part(table, lambda part: (part.rows, [each.of_part(part) for each in found]), cancel):
        for values, one in zip(found, counted, strict=True):
            values.take(one, table)
        done += rows
        emit(Progress(done, table.rows, "rows read"))
    return tuple(_profiled(table, values) for values in found)


def profile_column(table: Table, name: str) -> ColumnProfile:
    """Return the profile of one column. Private: it is computed from the rows, without noise."""
    found = _Values(name, table.rows)
    found.take(found.of_part(table), table)
    return _profiled(table, found)


_TOGETHER = 1 << 21  # different values that are kept of all columns of a table that is read in parts
_VALUE, _TIMES, _FIRST = "value", "times", "first"
_ALL_HASHES = 1 << 64


class _Values:
    """The different values of a column: how often each one occurs, and where first.

    If there are too many, those with a low hash are kept: a random sample of the different values.

    Attributes:
        missing: cells that are empty or have a stated mark.
        below: the values with a hash below this are here; and all that may mean a missing value.
        lowest: the least number among the values that are not here, as far as they are numbers.
        highest: the largest one.
    """

    def __init__(self, name: str, most: int) -> None:
        self.name, self._most = name, most
        self.missing, self.below = 0, _ALL_HASHES
        self.lowest, self.highest = math.inf, -math.inf
        self._found = pl.DataFrame(schema={_FIRST: pl.UInt64, _VALUE: pl.String, _TIMES: pl.UInt64})

    @property
    def whole(self) -> bool:
        """Whether all of them are here."""
        return self.below == _ALL_HASHES

    def of_part(self, part: Table) -> tuple[int, pl.DataFrame, tuple[float, float]]:
        """Return the empty cells of a part, its values, and extremes of those; can be called in threads."""
        cells = marked(part, self.name)
        rows = pl.DataFrame({_VALUE: cells}).with_row_index(_FIRST, part.rows_before).drop_nulls(_VALUE)
        extremes = math.inf, -math.inf
        if not self.whole:
            extremes = _extremes(rows[_VALUE], part)
            rows = self._sampled(rows)
        counted = rows.group_by(_VALUE).agg(pl.len().alias(_TIMES), pl.col(_FIRST).min())
        return cells.null_count(), counted.select(self._found.columns).cast(self._found.schema), extremes

    def take(self, counted: tuple[int, pl.DataFrame, tuple[float, float]], part: Table) -> None:
        """Take what :meth:`of_part` returned."""
        self.missing += counted[0]
        self._widened(counted[2])
        both = counted[1]
        if self._found.height:
            both = pl.concat([self._found, both]).group_by(_VALUE).agg(pl.col(_TIMES).sum(), pl.col(_FIRST).min())
        while both.height > self._most and self.below > 1:
            if self.whole:
                self._widened(_extremes(both[_VALUE], part))
            self.below //= 2
            both = self._sampled(both)
        self._found = both.select(self._found.columns)

    def _widened(self, extremes: tuple[float, float]) -> None:
        self.lowest, self.highest = min(self.lowest, extremes[0]), max(self.highest, extremes[1])

    def _sampled(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return the rows whose value is in the sample."""
        word = rows[_VALUE].str.strip_chars().str.to_lowercase().is_in(["", *MISSING_WORDS])
        return rows.filter((rows[_VALUE].hash(7) < self.below) | word)

    def in_order(self) -> tuple[pl.Series, pl.Series, pl.Series]:
        """Return the values in the order in which they occur first, how often each one does, and in which row first."""
        found = self._found.sort(_FIRST)
        return found[_VALUE], found[_TIMES], found[_FIRST]


def _extremes(values: pl.Series, table: Table) -> tuple[float, float]:
    """Return the least and the largest number among some values, in the reading of the file."""
    mark = table.decimal or (table.dialect.decimal if table.dialect is not None else ".")
    x = doubles(values, mark).drop_nulls()
    x = x.filter(x.is_finite())
    return (float(str(x.min())), float(str(x.max()))) if x.len() else (math.inf, -math.inf)


def _profiled(table: Table, found: _Values) -> ColumnProfile:
    """Return the profile of a column, made of its different values."""
    name, total = found.name, table.rows
    every, times, first = found.in_order()
    table = table.replaced(frame=every.to_frame(name), row_numbers=first.to_numpy())
    empty = missing_cells(table, every)
    words, said = int(times.filter(empty).sum()), every.filter(empty)
    missing = found.missing + words
    values, rows = every.filter(~empty), times.filter(~empty)
    distinct = len(values)
    if not found.whole:
        distinct = min(distinct * _ALL_HASHES // found.below, total - missing)
    kind, reading, trouble = _kind(table, name, values)
    if words:
        listed = ", ".join(map(repr, sorted(said)[:4]))
        stated = f"1 cell contains {listed} and counts" if words == 1 else f"{words} cells contain {listed} and count"
        value = "" if reading is not None else "; if that is a value, list it with the others"
        trouble.append(Suspicion("missing", f"{stated} as missing{value}"))
    if not found.whole:
        seen = f"the number of different values is an estimate from {len(values):,} of them"
        trouble.append(Suspicion("estimate", seen))
    if reading is not None and kind != "date" and (codes := _codes(every, reading.x, times.to_numpy())):
        several, alone = (
            f"{', '.join(codes)} may be codes for missing values",
            f"{codes[0]} may be a code for a missing value",
        )
        trouble.append(Suspicion("missing-code", several if codes[1:] else alone, MISSING_CODES, codes))
    made = ColumnProfile(
        name=name,
        kind=kind,
        missing=missing,
        distinct=distinct,
        words=tuple(zip(said, times.filter(empty), strict=True)),
        values=tuple(sorted(values)) if reading is None and distinct <= MOST_CELLS else (),
        suspicions=_once([*trouble, *_suspicions(name, kind, values, distinct, missing, total)]),
    )
    if reading is None:
        return dataclasses.replace(made, histogram=_commonest(values, rows, total - missing))
    x, weights = reading.x[~np.isnan(reading.x)], times.to_numpy()[~np.isnan(reading.x)].astype(np.float64)
    lower, upper = float(x.min()), float(x.max())
    if kind != "date":
        lower, upper = min(lower, found.lowest), max(upper, found.highest)
    weights *= (total - missing) / weights.sum()
    return dataclasses.replace(
        made,
        lower=lower,
        upper=upper,
        histogram=_ranges(x, weights, lower, upper, kind),
        year_last=reading.year_last,
        date_order=reading.date_order,
    )


def attribute_from_data(column: ColumnProfile) -> Attribute:
    """Return an attribute whose bounds or domain are taken from the rows, marked ``bounds_origin = "data"``.

    Bounds are rounded outward to steps of 1, 2 or 5 times a power of ten, of which the range has at least five: the
    smallest and the largest value belong to single persons, and bounds are part of every certificate.

    Raises:
        InputError: the column has one value only, dates whose day and month are not clear, or more different names than
            a public grid can hold.
    """
    missing = "own-value" if column.missing else "refuse"
    if column.lower is not None and column.upper is not None:
        if column.lower == column.upper:
            raise InputError("every row has the same value", f"column {column.name}", "drop the column")
        if column.year_last and column.date_order is None:
            raise InputError(
                "it is not clear which part of its dates is the day and which the month",
                f"column {column.name}",
                declare("date_order", "day-first", "month-first"),
            )
        lower, upper = _rounded_outward(column.lower, column.upper, column.kind)
        return Attribute(
            name=column.name,
            kind=column.kind,
            lower=lower,
            upper=upper,
            missing=missing,
            bounds_origin="data",
            date_order=column.date_order,
        )
    if column.distinct < 2:
        raise InputError("the column has fewer than two values", f"column {column.name}", "drop the column")
    if not column.values:
        raise InputError(
            f"the column has {column.distinct} different values, more than {MOST_CELLS}",
            f"column {column.name}",
            ("drop the column", list_values(other=True)),
        )
    domain = None if column.kind == "boolean" else column.values
    return Attribute(name=column.name, kind=column.kind, domain=domain, missing=missing, bounds_origin="data")


@dataclass(frozen=True, slots=True)
class _Reading:
    """Different values as numbers, NaN for missing ones, read by guesses from the rows; see :class:`ColumnProfile`."""

    x: Numbers
    year_last: bool = False
    date_order: str | None = None


def _kind(table: Table, name: str, values: pl.Series) -> tuple[str, _Reading | None, list[Suspicion]]:
    """Return the likeliest kind of a column, its numbers if it has some, and what speaks against a likelier kind."""
    if values.is_empty():
        return "category", None, [Suspicion("empty", "no row has a value")]
    if set(values.head(9).str.to_lowercase()) <= _TRUTH and set(values.str.to_lowercase()) <= _TRUTH:
        return "boolean", None, []
    if values.str.contains(_PADDED).any():
        return "category", None, [Suspicion("code", "some values begin with 0, which numbers do not keep")]
    if set(values.head(3)) in _TWO_CODES:
        return "category", None, []
    for kind, noun, pattern, read in (
        ("date", "dates", _LIKE_DATE, _dates),
        ("real", "numbers", _LIKE_NUMBER, _figures),
    ):
        if _share(values, pattern) > 0.5:
            try:
                return read(table, name, values)
            except InputError as error:
                return "category", None, [Suspicion(kind, f"most values look like {noun}, but {error.what}")]
    return "category", None, []


def _dates(table: Table, name: str, values: pl.Series) -> tuple[str, _Reading, list[Suspicion]]:
    """Read a column of dates in the order of day and month that its rows suggest."""
    last = bool(year_last(values).any())
    order = guessed_date_order(table, name) if last else None
    x = numbers(table, Attribute(name=name, kind="date", missing="own-value", date_order=order or "day-first"))
    stated = []
    if last and order is None:
        stated.append(Suspicion("date-order", "it is not clear which part is the day and which the month", DATE_ORDER))
    elif last:
        stated.append(Suspicion("date-order", f"the year is last, and the order appears to be {order}", DATE_ORDER))
    if short_years(values).any():
        stated.append(Suspicion("century", CENTURY))
    if values.str.contains(":", literal=True).any():
        stated.append(Suspicion("time", "the time of day is ignored"))
    return "date", _Reading(x, last, order), stated


def _figures(table: Table, name: str, values: pl.Series) -> tuple[str, _Reading, list[Suspicion]]:
    """Read a column of numbers with the decimal mark that its rows suggest."""
    guessed = with_guessed_decimal(table, name)
    x = numbers(guessed, Attribute(name=name, kind="real", missing="own-value"))
    stated = []
    if not doubles(values, table.decimal).equals(doubles(values, guessed.decimal)):
        stated.append(Suspicion("decimal", f"read with {guessed.decimal} as the decimal mark, which was guessed"))
    whole = values.str.contains(_WHOLE).all() or values.str.contains(_GROUPED).all()
    return "integer" if whole and ((x == np.floor(x)) | np.isnan(x)).all() else "real", _Reading(x), stated


def _suspicions(name: str, kind: str, values: pl.Series, distinct: int, missing: int, rows: int) -> Iterator[Suspicion]:
    """Yield what a person should check in the different values of a column."""
    if values.is_empty():
        return
    if len(values) == 1 and rows > 1 and missing <= MOSTLY_THERE * rows:  # of more, a value may be a tick
        same = "every row with a value has the same value" if missing else "every row has the same value"
        yield Suspicion("constant", same)
    if kind == "category":
        for what, pattern, reason in _LOOKS:
            if _share(values, pattern) >= 0.9 and len(values) > 2:
                yield Suspicion(what, reason)
    if kind == "integer" and values.str.contains(_COMPACT_DATE).all():
        yield Suspicion("date", "the numbers look like dates written as 20240131")
    whole = distinct == len(values)
    # An estimate is of so many values that it is right to a percent.
    every = (distinct == rows - missing if whole else distinct > 0.97 * (rows - missing)) and rows >= 10
    if every and kind == "category":
        yield Suspicion("identifier", "every row has a different value")
    elif every and kind == "integer" and (_IDENTIFIER_NAME.search(name) or (whole and _runs(values))):
        yield Suspicion("identifier", "every row has a different whole number")
    elif kind in ("category", "integer") and 2 * distinct > rows >= 10 and _IDENTIFIER_NAME.search(name):
        yield Suspicion("identifier", "its name says so, and most rows have a different value")
    elif kind == "category" and len(values) > _FEW_NAMES:
        # That rows share a name makes it no less a name: only most of the table would have one of its own.
        # Neither a column's name nor capitals distinguish a person from a place or an illness: the steward is to say.
        title = unicodedata.normalize("NFC", name).strip()
        if _PERSON_NAME.search(title):
            yield Suspicion("person", "the column name suggests names of people, some of them in several rows")
        elif _share(values, _FULL_NAME) >= 0.9:
            yield Suspicion(
                "name", "may contain names of people, places or illnesses: its values are capitalised words"
            )
        elif _ANY_NAME.search(title):
            yield Suspicion("name", "may contain names of people or of things: the column name fits both")
    if kind == "category" and not every and distinct <= MOST_CELLS and (alike := _spellings(values)):
        first, cells = ", ".join(map(repr, alike[0])), tuple(itertools.chain(*alike))
        one, several = (
            f"{first} may be spellings of one value",
            f"{first} may be spellings of one value, and others too",
        )
        yield Suspicion("spelling", several if alike[1:] else one, cells=cells)
    if kind in ("category", "integer") and distinct > 1 and not every and _GROUP_NAME.search(_spaced(name)):
        yield Suspicion("household", "rows with the same value may belong to one person or one household")
    if kind == "category" and len(values) > MOST_CELLS:
        yield Suspicion("domain", f"{distinct} different values are too many for a public domain")


def _codes(cells: pl.Series, x: Numbers, rows: NDArray[np.unsignedinteger]) -> tuple[str, ...]:
    """Return the cells that look like codes for missing values, in order: -9, 99, 888 and their like beside none such.

    Several rows have one, with whatever blanks around it, and it is further from all other numbers than these are from
    one another, or alone below 0.
    """
    like = cells.str.contains(_MISSING_CODE).to_numpy(writable=True)
    _, number = np.unique(x[like], return_inverse=True)
    like[like] = np.bincount(number, rows[like])[number] > 1
    others = x[~like & ~np.isnan(x)]
    if not like.any() or len(others) < _FEW_NUMBERS:
        return ()
    low, high = others.min(), others.max()
    # Halves: the distance of two doubles can be too large for one.
    apart = like & ((np.maximum(low / 2 - x / 2, x / 2 - high / 2) > high / 2 - low / 2) | ((x < 0) & (low >= 0)))
    found = sorted(zip(x[apart], cells.filter(apart), strict=True))
    return tuple(dict.fromkeys(cell.strip() for _, cell in found))


def _spellings(values: pl.Series) -> list[list[str]]:
    """Return the values that differ by capitals or blanks around them alone, those of one spelling together."""
    plain = values.str.strip_chars().str.to_lowercase()
    alike = pl.DataFrame({"plain": plain, "value": values}).filter(plain.is_duplicated()).sort("plain", "value")
    found: list[list[str]] = alike.group_by("plain", maintain_order=True).agg("value")["value"].to_list()
    return found


def _spaced(name: str) -> str:
    """Return a name with its words separated: ``HouseholdNo`` is ``Household No``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", unicodedata.normalize("NFC", name).strip())


def _once(suspicions: list[Suspicion]) -> tuple[Suspicion, ...]:
    """Return the first suspicion of each word."""
    return tuple({s.what: s for s in reversed(suspicions)}.values())[::-1]


def _runs(values: pl.Series) -> bool:
    """Whether whole numbers are consecutive, as row numbers are."""
    x = values.str.strip_chars().cast(pl.Int64, strict=False)
    return bool(x.null_count() == 0 and x.max() - x.min() == len(x) - 1)  # type: ignore[operator]


def _share(values: pl.Series, pattern: str) -> float:
    """Return the share of ``values`` that match ``pattern``."""
    return int(values.str.contains(pattern).sum()) / len(values)


def _ranges(x: Numbers, weights: Numbers, lower: float, upper: float, kind: str) -> tuple[Bin, ...]:
    """Count numbers in at most 20 ranges of equal width; whole numbers and days are never split."""
    if lower == upper:
        return (Bin(_written(lower, kind), round(weights.sum())),)
    if kind == "real" or not math.isfinite(upper - lower):
        unit = 1.0 if math.isfinite(upper - lower) else 4.0  # so that the distance is a double
        # Between two numbers that are almost equal there are fewer borders.
        borders = np.unique(np.linspace(lower / unit, upper / unit, BINS + 1))
        counts, edges = np.histogram(x / unit, bins=borders, weights=weights)
        ranges = [(float(a), float(b)) for a, b in itertools.pairwise(edges * unit)]
    else:
        width = math.ceil((upper - lower + 1) / BINS)
        bars = math.ceil((upper - lower + 1) / width)
        counts = np.bincount(((x - lower) // width).astype(np.int64), weights, minlength=bars)
        ranges = [(lower + width * k, min(lower + width * (k + 1) - 1, upper)) for k in range(bars)]
    return tuple(
        Bin(_written(a, kind) + (f" – {_written(b, kind)}" if a != b else ""), round(count))
        for (a, b), count in zip(ranges, counts, strict=True)
    )


def _written(value: float, kind: str) -> str:
    if kind == "date":
        return datetime.date.fromordinal(int(value)).isoformat()
    return f"{value:.0f}" if kind == "integer" else f"{value:.6g}"


def _commonest(values: pl.Series, rows: pl.Series, total: int) -> tuple[Bin, ...]:
    """Count the commonest names, and all others of ``total`` cells in one bar."""
    order = pl.DataFrame({"value": values, "rows": rows}).sort(["rows", "value"], descending=[True, False])
    named = [Bin(value, count) for value, count in order.head(_MOST_NAMED).iter_rows()]
    rest = total - sum(one.count for one in named)
    return tuple([*named, Bin("other values", rest)] if rest else named)


def _rounded_outward(lower: float, upper: float, kind: str) -> tuple[float, float]:
    """Return round bounds that hold [lower, upper]; those of dates are whole years."""
    if kind == "date":
        first, last = (datetime.date.fromordinal(int(bound)).year for bound in (lower, upper))
        return float(datetime.date(first, 1, 1).toordinal()), float(datetime.date(last, 12, 31).toordinal())
    least = (Decimal(repr(upper)) - Decimal(repr(lower))) / 5
    power = Decimal(10) ** least.adjusted()
    step = next(m * power for m in (5, 2, 1) if m * power <= least)
    step = max(step, Decimal(1)) if kind == "integer" else step
    low = (Decimal(repr(lower)) / step).to_integral_value(ROUND_FLOOR) * step
    high = (Decimal(repr(upper)) / step).to_integral_value(ROUND_CEILING) * step
    return float(low), float(high)
