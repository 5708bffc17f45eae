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
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.data.columns.dates import year_last
from workbench.data.columns.missing import marked, missing_cells
from workbench.data.columns.numerals import doubles
from workbench.data.columns.values import numbers
from workbench.data.csv.inference import guessed_date_order, with_guessed_decimal
from workbench.data.schema import Attribute
from workbench.data.table import Table
from workbench.params import InputError
from workbench.params.remedies import DECLARE, Remedy, declare, list_values
from workbench.privacy.local.limits import MOST_CELLS
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit, Progress, ignore

Numbers = NDArray[np.float64]

BINS = 20
_MOST_NAMED = 12

_WHOLE = r"^\s*[+-]?[0-9]+(\.0*)?\s*$"
_PADDED = r"^\s*0[0-9]+\s*$"
_GROUPED = r"^\s*[+-]?[0-9]{1,3}(([.][0-9]{3})*|(,[0-9]{3})*)\s*$"
_LIKE_NUMBER = r"^\s*[+-]?[.,]?[0-9][0-9.,]*([eE][+-]?[0-9]+)?\s*$"
_LIKE_DATE = r"^\s*([0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}|[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{4})([T ].*)?$"
_COMPACT_DATE = r"^\s*(19|20)[0-9]{2}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])\s*$"
_LOOKS = (
    ("e-mail", r"^\s*[^@\s]+@[^@\s]+\.[^@\s]+\s*$", "the values look like e-mail addresses"),
    ("phone", r"^\s*(\+|00|\()[0-9][0-9 ()/.-]{6,}\s*$", "the values look like telephone numbers"),
    (
        "date",
        r"^\s*[0-9]{1,2}[-/. ]([0-9]{1,2}|[A-Za-z]{3,9})[-/. ][0-9]{2,4}\s*$",
        "the values look like dates in a form that is not understood",
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
    r"^(household|family|person|people|patient|respondent|participant|customer|client|subject|member|user|haushalt"
    r"|foyer|ménage|домохозяйство|hộ)[ _-]?(id|ids|no|nr|num|number|key|code)?\.?$",
    re.IGNORECASE,
)
_FULL_NAME = r"^\s*\p{Lu}[\p{L}'’.-]*(\s+(\p{Lu}[\p{L}'’.-]*|van|von|de|der|den|di|da|la|le|del)){1,4}\s*$"
_FEW_NAMES = 10
_TRUTH = {"true", "false"}
_TWO_CODES = ({"0", "1"}, {"1", "2"}, {"-1", "1"})


@dataclass(frozen=True, slots=True)
class Suspicion:
    """Something in a column that a person should check.

    Attributes:
        what: a word for it.
        why: what was seen.
        hint: what to declare; ``None`` if there is more than one thing to do.
    """

    what: str
    why: str
    hint: Remedy | None = None

    @property
    def reason(self) -> str:
        """What was seen and what to declare, as files and commands say it."""
        return f"{self.why}; {self.hint}" if self.hint is not None else self.why


DATE_ORDER = Remedy(DECLARE, "declare date_order", {"key": "date_order"})


@dataclass(frozen=True, slots=True)
class Bin:
    """One bar of a histogram: what it stands for and how many rows fall into it."""

    label: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnProfile:
    """What one column looks like. Private: computed from the rows, without noise.

    Attributes:
        name: the column.
        kind: the likeliest of integer, real, category, boolean and date.
        missing: rows without a value.
        distinct: different values.
        lower: least number (dates: day number) that occurs; ``None`` for names.
        upper: greatest number that occurs; ``None`` for names.
        values: the different values of a category in order, if there are at most 4,096; else empty.
        suspicions: what a person should check.
        histogram: at most 20 bars: ranges of numbers, or the commonest names.
        year_last: whether dates have the year last, so that a plan must declare ``date_order``.
        date_order: a guess at that order from the rows, or ``None`` if they leave it open; ``lower``, ``upper``
            and the histogram are then read with the day first.
    """

    name: str
    kind: str
    missing: int
    distinct: int
    lower: float | None = None
    upper: float | None = None
    values: tuple[str, ...] = ()
    suspicions: tuple[Suspicion, ...] = ()
    histogram: tuple[Bin, ...] = ()
    year_last: bool = False
    date_order: str | None = None


def profile(table: Table, *, cancel: CancelToken | None = None, emit: Emit = ignore) -> tuple[ColumnProfile, ...]:
    """Return the profile of each column. Private: it is computed from the rows, without noise."""
    cancel = cancel or CancelToken()
    out, columns = [], table.frame.get_columns()
    for position, cells in enumerate(columns):
        cancel.check()
        emit(Progress(position, len(columns), "columns"))
        # Of a table of one column each step takes as long as that column, however many others there are.
        out.append(profile_column(dataclasses.replace(table, frame=cells.to_frame()), cells.name))
    emit(Progress(len(columns), len(columns), "columns"))
    return tuple(out)


def profile_column(table: Table, name: str) -> ColumnProfile:
    """Return the profile of one column. Private: it is computed from the rows, without noise."""
    cells = marked(table, name)
    counts = cells.drop_nulls().value_counts(name="rows of a value")
    values, rows = counts.get_column(name), counts.get_column("rows of a value")
    empty = missing_cells(table, values)
    words, said = int(rows.filter(empty).sum()), values.filter(empty)
    missing = cells.null_count() + words
    values, rows = values.filter(~empty), rows.filter(~empty)
    kind, reading, trouble = _kind(table, name, values)
    if words:
        listed = ", ".join(map(repr, sorted(said)[:4]))
        stated = f"1 cell says {listed} and counts" if words == 1 else f"{words} cells say {listed} and count"
        value = "" if reading is not None else "; if that is a value, list it with the others"
        trouble.append(Suspicion("missing", f"{stated} as missing{value}"))
    if reading is None:
        return ColumnProfile(
            name=name,
            kind=kind,
            missing=missing,
            distinct=len(values),
            values=tuple(sorted(values)) if len(values) <= MOST_CELLS else (),
            suspicions=_once([*trouble, *_suspicions(name, kind, values, missing, table.rows)]),
            histogram=_commonest(values, rows),
        )
    return ColumnProfile(
        name=name,
        kind=kind,
        missing=missing,
        distinct=len(values),
        lower=float(reading.x.min()),
        upper=float(reading.x.max()),
        suspicions=_once([*trouble, *_suspicions(name, kind, values, missing, table.rows)]),
        histogram=_ranges(reading.x, kind),
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
    """The numbers of a column without missing ones, read by guesses from the rows; see :class:`ColumnProfile`."""

    x: Numbers
    year_last: bool = False
    date_order: str | None = None


def _kind(table: Table, name: str, values: pl.Series) -> tuple[str, _Reading | None, list[Suspicion]]:
    """Return the likeliest kind of a column, its numbers if it has some, and what speaks against a likelier kind.

    Args:
        table: where the column is.
        name: the column.
        values: its different values without missing ones.
    """
    if values.is_empty():
        return "category", None, [Suspicion("empty", "no row has a value")]
    if set(values.head(9).str.to_lowercase()) <= _TRUTH and set(values.str.to_lowercase()) <= _TRUTH:
        return "boolean", None, []
    if values.str.contains(_PADDED).any():
        return "category", None, [Suspicion("code", "some numbers begin with 0, which numbers would lose")]
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
        stated.append(Suspicion("date-order", f"the year is last, and the order looks {order}", DATE_ORDER))
    if values.str.contains(":", literal=True).any():
        stated.append(Suspicion("time", "the time of day is left out"))
    return "date", _Reading(x[~np.isnan(x)], last, order), stated


def _figures(table: Table, name: str, values: pl.Series) -> tuple[str, _Reading, list[Suspicion]]:
    """Read a column of numbers with the decimal mark that its rows suggest."""
    guessed = with_guessed_decimal(table, name)
    x = numbers(guessed, Attribute(name=name, kind="real", missing="own-value"))
    x = x[~np.isnan(x)]
    stated = []
    if not doubles(values, table.decimal).equals(doubles(values, guessed.decimal)):
        stated.append(Suspicion("decimal", f"read with {guessed.decimal} as decimal mark, which nobody has stated"))
    whole = values.str.contains(_WHOLE).all() or values.str.contains(_GROUPED).all()
    return "integer" if whole and (x == np.floor(x)).all() else "real", _Reading(x), stated


def _suspicions(name: str, kind: str, values: pl.Series, missing: int, rows: int) -> Iterator[Suspicion]:
    """Yield what a person should check in the different values of a column."""
    if values.is_empty():
        return
    if len(values) == 1 and rows > 1 and not missing:
        yield Suspicion("constant", "every row has the same value")
    if kind == "category":
        for what, pattern, reason in _LOOKS:
            if _share(values, pattern) >= 0.9 and len(values) > 2:
                yield Suspicion(what, reason)
    if kind == "integer" and values.str.contains(_COMPACT_DATE).all():
        yield Suspicion("date", "the numbers look like dates written as 20240131")
    every = len(values) == rows - missing and rows >= 10
    if every and kind == "category":
        yield Suspicion("identifier", "every row has a different value")
    elif every and kind == "integer" and (_IDENTIFIER_NAME.search(name) or _runs(values)):
        yield Suspicion("identifier", "every row has a different whole number")
    elif kind in ("category", "integer") and 2 * len(values) > rows >= 10 and _IDENTIFIER_NAME.search(name):
        yield Suspicion("identifier", "its name says so, and most rows have a different value")
    elif kind == "category" and len(values) > _FEW_NAMES:
        # That rows share a name makes it no less a name: only most of the table would have one of its own.
        # Neither a column's name nor capitals tell a person from a place or an illness: the steward is to say.
        title = unicodedata.normalize("NFC", name).strip()
        if _PERSON_NAME.search(title):
            yield Suspicion("person", "by its own name it may hold names of persons, some of them in several rows")
        elif _share(values, _FULL_NAME) >= 0.9:
            yield Suspicion(
                "name", "may be names of persons, places, illnesses and the like: its values are capitalised words"
            )
        elif _ANY_NAME.search(title):
            yield Suspicion("name", "may be names of persons or of things: its own name leaves it open")
    if kind in ("category", "integer") and 1 < len(values) < rows - missing and _GROUP_NAME.search(_apart(name)):
        yield Suspicion("household", "rows with the same value may belong to one person or one household")
    if kind == "category" and len(values) > MOST_CELLS:
        yield Suspicion("domain", f"{len(values)} different values are more than a public domain can hold")


def _apart(name: str) -> str:
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


def _ranges(x: Numbers, kind: str) -> tuple[Bin, ...]:
    """Count numbers in at most 20 ranges of equal width; whole numbers and days are never split."""
    lower, upper = float(x.min()), float(x.max())
    if lower == upper:
        return (Bin(_written(lower, kind), len(x)),)
    if kind == "real":
        counts, edges = np.histogram(x, bins=BINS, range=(lower, upper))
        ranges = [(float(a), float(b)) for a, b in itertools.pairwise(edges)]
    else:
        width = math.ceil((upper - lower + 1) / BINS)
        bars = math.ceil((upper - lower + 1) / width)
        counts = np.bincount(((x - lower) // width).astype(np.int64), minlength=bars)
        ranges = [(lower + width * k, min(lower + width * (k + 1) - 1, upper)) for k in range(bars)]
    return tuple(
        Bin(_written(a, kind) + (f" – {_written(b, kind)}" if a != b else ""), int(count))
        for (a, b), count in zip(ranges, counts, strict=True)
    )


def _written(value: float, kind: str) -> str:
    if kind == "date":
        return datetime.date.fromordinal(int(value)).isoformat()
    return f"{value:.0f}" if kind == "integer" else f"{value:.6g}"


def _commonest(values: pl.Series, rows: pl.Series) -> tuple[Bin, ...]:
    """Count the commonest names, and all others in one bar."""
    order = pl.DataFrame({"value": values, "rows": rows}).sort(["rows", "value"], descending=[True, False])
    named = [Bin(value, count) for value, count in order.head(_MOST_NAMED).iter_rows()]
    rest = int(order.get_column("rows").slice(_MOST_NAMED).sum())
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
