"""Keyed marks of single columns: a sample of each column's values, with how often each one occurs.

The values with the lowest keyed hashes are in the sample, so the same values are in it whatever else is in the table:
without other columns, under another name, in another order, of some of the rows. A *listed* column has no sample,
because it is alike in many unrelated tables: running numbers, consecutive dates, equal blocks, a constant; in general
values that occur more evenly than drawn ones would.

The marks are stored encrypted under the ledger's key. The counts alone would show something of the rows.
"""

from __future__ import annotations

import copy
import hashlib
import math
import re
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.data.content.cell_hash import INLINE, ByValue, CellHash, Placed, Words
from workbench.data.rows_in_parts import each_column

Counts = NDArray[np.int64]

_MOST, _FEWEST, _TOGETHER = 1024, 16, 4096
"""Most and fewest values of a column's sample, and about as many of all columns together."""
_EVEN = -2.5  # standard deviations: counts that vary less than drawn ones by more than this are of a listed column
_REPEATED = 16  # with at most this many repeated values, a sample cannot distinguish drawn values from listed ones
_STEP = 1 << 14  # cells that are looked at first for the lowest hashes
_DENSE, _ALONG = 4, 1 / 3
"""Dates within a range of so many times the rows are consecutive; a column goes along with them where it changes from
one to the next at most so often as between any two rows."""
_BLOCK = 1024  # bytes: the size of what is stored is a multiple of this, so that it shows little of a column

_DAYS = ("%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%Y/%m/%d")
_TIMES = tuple(f"{day}{gap}{time}" for day in _DAYS for gap in (" ", "T") for time in ("%H:%M", "%H:%M:%S"))


@dataclass(frozen=True, eq=False)
class ColumnMark:
    """The sample of one column."""

    below: int  # every value with a hash below this is in the sample; 0 where all are
    values: Words  # their hashes, ascending, shape (k,); none of a listed column
    counts: Counts  # in how many rows each one occurs, shape (k,)


LISTED = ColumnMark(0, np.empty(0, np.uint64), np.empty(0, np.int64))


@dataclass(frozen=True, eq=False)
class ColumnMarks:
    """The marks of a table's columns."""

    rows: int = 0
    columns: tuple[ColumnMark, ...] = ()  # a mark of each column, in the order of the table
    # Of the rows without listed columns, as if they were one column; none where not every cell was hashed.
    whole: ColumnMark = LISTED
    # The hashes of some rows' cells, shape (m, columns); not stored, empty where the marks were read back.
    some: Words = field(default_factory=lambda: np.empty((0, 0), np.uint64), repr=False)

    @property
    def empty(self) -> bool:
        """Whether no column has a sample."""
        return not any(len(mark.values) for mark in self.columns)

    def encode(self, key: bytes) -> bytes:
        """Return the marks as stored in the ledger, encrypted under its key."""
        marks = [mark for mark in (self.whole, *self.columns) if mark is self.whole or len(mark.values)]
        head = [self.rows, len(marks), *(word for mark in marks for word in (mark.below, len(mark.values)))]
        parts = [np.array(head, "<u8").tobytes()]
        parts += [m.values.astype("<u8").tobytes() + m.counts.astype("<u8").tobytes() for m in marks]
        plain = b"".join(parts)
        plain += bytes(-len(plain) % _BLOCK)
        tag = _tag(plain, key)
        return tag + _masked(plain, key, tag)

    @classmethod
    def decode(cls, data: bytes, keys: tuple[bytes, ...]) -> ColumnMarks:
        """Return the marks that :meth:`encode` wrote under one of ``keys``.

        Raises:
            ValueError: they were written under another key, or altered.
        """
        tag, hidden = data[:_TAG], data[_TAG:]
        for key in keys:
            plain = _masked(hidden, key, tag)
            if len(tag) == _TAG and _tag(plain, key) == tag:
                return cls._read(np.frombuffer(plain, "<u8").astype(np.uint64))
        raise ValueError("the marks of columns are damaged, or of another key")

    @classmethod
    def _read(cls, words: Words) -> ColumnMarks:
        rows, count = (int(word) for word in words[:2])
        if not 0 < count < len(words):
            raise ValueError("the marks of columns are damaged")
        marks, at = [], 2 + 2 * count
        for below, size in words[2:at].reshape(-1, 2).tolist():
            values, counts = words[at : at + size], words[at + size : at + 2 * size]
            marks.append(ColumnMark(below, values, counts.astype(np.int64)))
            at += 2 * size
        return cls(rows, tuple(marks[1:]), marks[0])


NO_COLUMNS = ColumnMarks()
_TAG = 32


def _tag(plain: bytes, key: bytes) -> bytes:
    return hashlib.blake2b(plain, key=key, digest_size=_TAG, person=b"column tag").digest()


def _masked(data: bytes, key: bytes, tag: bytes) -> bytes:
    pad = hashlib.shake_256(b"column marks\0" + key + tag).digest(len(data))
    return (np.frombuffer(data, np.uint8) ^ np.frombuffer(pad, np.uint8)).tobytes()


class ColumnMarker:
    """Makes the marks of a table's columns, of the parts that it is given."""

    def __init__(self, some: pl.DataFrame, wide: pl.DataFrame | None, rows: int, hashing: CellHash) -> None:
        """Prepare them, by evenly spaced rows of the table, which has ``rows``.

        ``wide`` are more of those rows, where there are so many that not every cell is hashed exactly.
        """
        self._height, self._hashing, self._every = rows, hashing, wide is None
        most = max(_FEWEST, min(_MOST, _TOGETHER // max(some.width, 1)))
        self._possible: list[float] = []
        self._dates: list[Counts] = []
        for cells in each_column(some):
            numbers, unit = _numbers(cells)
            self._possible.append(math.inf if numbers is None else _steps(numbers))
            dense = self._possible[-1] <= _DENSE * rows
            if numbers is not None and unit and dense and len(numbers) == some.height:
                self._dates = [numbers, *_calendar(numbers.astype(f"M8[{unit}]"))]
        self._marks: list[ColumnMark] = []
        # The positions of the columns that are alike in many unrelated tables; known at the end.
        self.listed: set[int] = set()
        self._values = ByValue()  # their hashes
        self._some = [hashing.hashes(cells) for cells in each_column(some)]
        self._plain = [
            wide is not None and hashing.plain(cells) for cells in each_column(some if wide is None else wide)
        ]
        self._lowest = [_Lowest(most) for _ in self._some]
        # Of plain cells the lowest hashes are looked at first, where so many different ones are expected.
        few = [rows <= _STEP or len(np.unique(hashes)) < len(hashes) // 4 for hashes in self._some]
        self._limit = (_STEP << 64) // max(rows, 1)
        self._below = [
            _Lowest(most) if plain and not each else None for plain, each in zip(self._plain, few, strict=True)
        ]
        # Few values that take long to hash, as they are long or not in canonical form, are counted before.
        self._by_value = [
            wide is not None and cells.n_unique() < len(cells) // 4 and not (plain and _short(cells))
            for plain, cells in zip(self._plain, each_column(some if wide is None else wide), strict=True)
        ]

    def of_column(
        self, position: int, cells: pl.Series, hashes: Words | None, placed: Placed | None = None
    ) -> list[Counted]:
        """Return the lowest hashes of a part of a column, and how often each one occurs; can be called in threads.

        The hashes of the cells are given where they are known, and what values the cells were matched with.
        """
        by_value, below = self._by_value[position], self._below[position]
        if by_value or (placed is not None and hashes is None and below is None):
            return [self._lowest[position].of(*self._counted(position, cells, placed))]
        if not self._plain[position]:
            return [self._lowest[position].of(self._hashing.hashes(cells) if hashes is None else hashes)]
        quick, low = self._hashing.quick_hashes(cells, 0 if below is None else self._limit)
        if below is None:
            return [self._lowest[position].of(quick)]
        # Once enough of the lowest are known, they are the sample, whatever the others are.
        return [self._lowest[position].of(quick[:0] if below.full else quick), below.of(low)]

    def _counted(self, position: int, cells: pl.Series, placed: Placed | None) -> tuple[Words, Counts]:
        """Return the hashes of the values of cells, and how many cells have each; of a value there may be several."""
        if placed is None:
            counted = cells.value_counts(name="rows")
            return self._hashed(counted.to_series(0).alias(""), position), counted.to_series(1).to_numpy()
        values, places = placed
        hashes = self._values.of(position, values, self._hashed)
        rows = np.bincount(places.drop_nulls(), minlength=len(values))
        if places.null_count():
            others = self._hashed(cells.filter(places.is_null()), position)
            hashes, rows = np.append(hashes, others), np.append(rows, np.ones(len(others), np.int64))
        return hashes[rows > 0], rows[rows > 0]

    def _hashed(self, some: pl.Series, position: int) -> Words:
        exact = self._by_value[position] or not self._plain[position]
        return self._hashing.hashes(some) if exact else self._hashing.quick_hashes(some)[0]

    def sent(self) -> ColumnMarker:
        """Return what has the same :meth:`of_column` on a worker, without what was looked at."""
        there = copy.copy(self)
        del there._some, there._dates, there._possible
        return there

    def take(self, position: int, found: list[Counted]) -> None:
        """Take what :meth:`of_column` found."""
        for lowest, one in zip((self._lowest[position], self._below[position]), found, strict=False):
            assert lowest is not None
            lowest.take(one)

    def finish(self) -> None:
        """Make the marks of all columns, and find the listed ones."""
        for lowest, below, some in zip(self._lowest, self._below, self._some, strict=True):
            whole = below is not None and below.full
            self._taken((below if whole else lowest).mark(), some)  # type: ignore[union-attr]  # whole: it is there

    def _taken(self, mark: ColumnMark, some: Words) -> None:
        listed = _listed(mark, self._possible[len(self._marks)]) or self._dated(some)
        if listed:
            self.listed.add(len(self._marks))
        self._marks.append(LISTED if listed else mark)

    def _dated(self, some: Words) -> bool:
        """Return whether a column goes along with consecutive dates, as their month and their weekday do."""
        if not self._dates or len(some) < 2:
            return False
        counts = np.unique(some, return_counts=True)[1].astype(np.float64)
        differ = 1 - float((counts * (counts - 1)).sum()) / (len(some) * (len(some) - 1))
        cells = some[np.argsort(self._dates[0], kind="stable")]
        if float((cells[1:] != cells[:-1]).mean()) <= min(0.5, differ * _ALONG):
            return True
        codes = np.unique(some, return_inverse=True)[1].astype(np.int64)
        return any(len(np.unique(part * len(some) + codes)) == part.max() + 1 for part in self._dates[1:])

    @property
    def free(self) -> int:
        """The number of columns that have a sample."""
        return sum(len(mark.values) > 0 for mark in self._marks)

    def made(self, rows: Words) -> ColumnMarks:
        """Return the marks of all columns; ``rows`` are hashes without listed columns, where every cell was hashed."""
        if not self.free:
            return NO_COLUMNS
        whole = LISTED
        if self.free > 1 and self._every:
            lowest = _Lowest(_MOST)
            lowest.take(lowest.of(rows))
            whole = lowest.mark()
        return ColumnMarks(self._height, tuple(self._marks), whole, np.stack(self._some, axis=1))


Counted = tuple[Words, Counts]  # different hashes, ascending, and how often each one occurs


class _Lowest:
    """The lowest different hashes of those that were taken, one more than are wanted, and how often each occurs.

    A hash that is thrown away once is never among the lowest again: so the numbers are exact.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._found: Counted = np.empty(0, np.uint64), np.empty(0, np.int64)

    @property
    def full(self) -> bool:
        return len(self._found[0]) > self._most

    def of(self, hashes: Words, rows: Counts | None = None) -> Counted:
        """Return those of some hashes that may be among the lowest; of values ``rows`` says how often each occurs.

        It can be called in threads.
        """
        values = self._found[0]
        if rows is not None:
            found, place = np.unique(hashes, return_inverse=True)
            counts = np.bincount(place, rows, len(found))
        else:
            if len(values) > self._most:
                hashes = hashes[hashes <= values[-1]]
            found, counts = np.unique(hashes, return_counts=True)
        return found[: self._most + 1], counts[: self._most + 1].astype(np.int64)

    def take(self, found: Counted) -> None:
        values, place = np.unique(np.concatenate([self._found[0], found[0]]), return_inverse=True)
        counts = np.bincount(place, np.concatenate([self._found[1], found[1]]), len(values)).astype(np.int64)
        self._found = values[: self._most + 1], counts[: self._most + 1]

    def mark(self) -> ColumnMark:
        values, counts = self._found
        below = int(values[self._most]) if self.full else 0
        return ColumnMark(below, values[: self._most], counts[: self._most])


def _short(cells: pl.Series) -> bool:
    return not (cells.str.len_bytes() > INLINE).any()


def _listed(mark: ColumnMark, possible: float) -> bool:
    """Return whether the values occur so evenly that unrelated tables have the same ones equally often.

    ``possible`` is how many values the column can have; infinite where that is not known.
    """
    present = mark.values != 0
    counts, size = mark.counts[present].astype(np.float64), int(present.sum())
    if size + (len(present) > size) < 2:
        return True
    if size < 2:
        return False
    mean = float(counts.mean())
    if mean > 1 and counts.max() - counts.min() <= 1 and counts.min() > 1:
        return True
    if math.isfinite(possible):
        cells = max(possible * (mark.below / 2.0**64 if mark.below else 1.0), size)
        chi = float((counts**2).sum()) * cells / counts.sum() - counts.sum()
        if (chi - cells) / math.sqrt(2 * cells) < _EVEN - 1.5:
            return True
    if size * (mean - 1) < _REPEATED:
        return False  # names, or numbers of so many digits that hardly any would occur twice by chance
    # Of values that are drawn, those that were drawn at all occur as in a Poisson distribution without its zero.
    rate = min(mean, 2 * (mean - 1))
    for _ in range(20):  # Newton's method, from above
        rate -= (rate + mean * math.expm1(-rate)) / (1 - mean * math.exp(-rate))
    spread = float(((counts - mean) ** 2).sum()) / (mean * (1 + rate - mean))
    degrees = size - 1
    deviation = math.cbrt(spread / degrees) - 1 + 2 / (9 * degrees)  # Wilson and Hilferty
    return deviation / math.sqrt(2 / (9 * degrees)) < _EVEN


def _numbers(cells: pl.Series) -> tuple[Counts | None, str]:
    """Return a column of numbers, dates or times in whole units, and the unit of dates and times."""
    texts = cells.str.strip_chars()
    texts = texts.filter((texts != "").fill_null(value=False))
    if texts.len() < 2 or not re.search("[0-9]", texts[0]):  # most columns have names, and every form wants digits
        return None, ""
    numbers = texts.str.extract(r"^[^0-9.,]*([0-9]{1,18})$").cast(pl.Int64)
    if numbers.null_count():
        points = texts.str.replace(",", ".", literal=True)
        parts = points.str.extract_groups(r"^-?([0-9]{1,12})(?:\.([0-9]{1,6}))?$")
        if not parts.struct.field("1").null_count():
            digits = parts.struct.field("2").str.len_chars().max()
            unit = 10 ** int(str(digits or 0))
            numbers = (points.cast(pl.Float64, strict=False) * unit).round().cast(pl.Int64, strict=False)
    if not numbers.null_count():
        return numbers.to_numpy(), ""
    for form in (*_DAYS, *_TIMES):
        if form in _DAYS:
            numbers = texts.str.to_date(form, strict=False).to_physical().cast(pl.Int64)
        else:
            numbers = texts.str.to_datetime(form, strict=False, time_unit="ms").to_physical().cast(pl.Int64)
        if not numbers.null_count():
            return numbers.to_numpy(), "D" if form in _DAYS else "ms"
    return None, ""


def _steps(numbers: Counts) -> float:
    """Return how many values such a column can have: its steps within its range."""
    found = np.unique(numbers)
    return float((found[-1] - found[0]) / np.gcd.reduce(np.diff(found)) + 1) if len(found) > 1 else 1.0


def _calendar(times: NDArray[np.datetime64]) -> list[Counts]:
    days, months, minutes = (times.astype(f"M8[{unit}]") for unit in ("D", "M", "m"))
    passed = minutes.astype(np.int64)
    parts = (
        months.astype(np.int64) % 12,
        (days - months.astype("M8[D]")).astype(np.int64),
        days.astype(np.int64) % 7,
        passed // 60 % 24,
        passed % 60,
    )
    return [np.unique(part, return_inverse=True)[1].astype(np.int64) for part in parts]
