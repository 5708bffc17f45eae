"""A keyed sketch of the unique rows: estimates how many two tables share, from about a thousand of each.

**Why unique rows.** Let two unrelated tables be drawn row by row from whatever distributions. A row that occurs once in
the first occurs once in the second with probability n·p·(1 − p)^(n−1) ≤ (1 − 1/n)^(n−1), about 1/e: more often, and it
would occur twice. So unrelated tables share at most some 37 % of their unique rows, and nearly always far less; an edit
of one cell or of every tenth row leaves most of them shared. More than :data:`SHARED` is taken for a version.

**What the bound does not hold for** are columns that are not drawn: running numbers and dates are the same in every
table. A sketch is therefore kept only where the columns beside such a key distinguish rows (:func:`_telling`); a table
of running numbers and yes or no has none.

Besides the sketch of whole rows there is one without each column, and one without all its keys, so that a table whose
column was added, removed or rewritten is still known. Which rows are in a sketch follows from what they hold alone.
"""

from __future__ import annotations

import copy
import hashlib
import itertools
import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.data.content.cell_hash import ByValue, CellHash, Placed, Words
from workbench.data.content.row_choice import Codes, RowChoice, levels
from workbench.data.rows_in_parts import each_column
from workbench.data.table import Table

SHARED = 0.5  # share of unique rows above which a table is taken for a version of another

_BY_CHANCE = 0.38  # most of them that unrelated tables of twenty rows or more are expected to share
_FALSE_ALARM = 1e-6
"""Probability that two unrelated tables of the worst kind are taken for versions because their sketches are small."""

_ROWS = 2048  # most rows of the sketch of whole rows; there are half as many or more, unless the table has fewer
_ROWS_WITHOUT, _FEWEST_WITHOUT, _TOGETHER = 512, 128, 1 << 14
"""Most and fewest rows of a sketch without a column, and of all those together."""
_WIDEST = _TOGETHER // _FEWEST_WITHOUT  # columns of the widest table that has sketches without single columns

_MOST_WITHOUT = 16 * _ROWS  # rows beyond which nothing is chosen without a column: too many share one rank
_BITS_OF_ALL, _AT_ONCE = 23, 1 << 16
"""So many bits of the number of rows are looked at where all rows are; rows between two looks for equal ones."""

LOOK = 1024
_KEY_LIKE = 0.95  # share of different values from which on a column may be a key
_ALIKE = 0.2  # probability up to which two rows may agree in the columns beside a key
_RUNNING = 4  # numbers within a range of so many times the rows are running numbers


EachPart = Callable[[Callable[[Table], Any]], Iterable[Any]]
"""Yields in order what a function makes of each part of a table."""


@dataclass(frozen=True, eq=False)
class Sketch:
    """A sample of the unique rows of a table, with all or some of its columns."""

    rank: int  # rows whose rank begins with so many zero bits,
    level: int  # and whose hash begins with so many, are here
    # Of each row the zero bits of its rank (8 bits), those of its hash (8 bits) and a keyed hash of that hash (48
    # bits), sorted, shape (m,).
    rows: Words

    def among(self, other: Sketch) -> Words:
        """Return the rows that ``other`` would contain if they were in its table."""
        rank, level = max(self.rank, other.rank), max(self.level, other.level)
        return self.rows[
            (self.rows >> np.uint64(56) >= rank) & ((self.rows >> np.uint64(48)) & np.uint64(255) >= level)
        ]


@dataclass(frozen=True, eq=False)
class Sketches:
    """All sketches of one table; none where too few rows occur once."""

    parts: tuple[Sketch, ...] = ()

    def encode(self) -> bytes:
        """Return the sketch as the bytes stored in the ledger."""
        sizes = [(p.rank << 8 | p.level, len(p.rows)) for p in self.parts]
        head = np.array([len(self.parts), *(x for pair in sizes for x in pair)], "<u8")
        return b"".join([head.tobytes(), *(p.rows.astype("<u8").tobytes() for p in self.parts)])

    @classmethod
    def decode(cls, data: bytes) -> Sketches:
        """Return the sketch that :meth:`encode` wrote; raise :class:`ValueError` for any other bytes."""
        words = np.frombuffer(data, "<u8").astype(np.uint64)
        count = int(words[0]) if len(words) else 0
        if not 2 * count < len(words) + (not count):
            raise ValueError("the sketch is damaged")
        head = words[1 : 1 + 2 * count].tolist()
        ends = np.cumsum([1 + 2 * count, *(min(size, len(words)) for size in head[1::2])])
        if int(ends[-1]) != len(words) or any(bits >> 16 for bits in head[::2]):
            raise ValueError("the sketch is damaged")
        rows = [words[a:b] for a, b in itertools.pairwise(ends)]
        return cls(tuple(Sketch(bits >> 8, bits & 255, part) for bits, part in zip(head[::2], rows, strict=True)))

    def shared(self, other: Sketches) -> float:
        """Return the largest share of unique rows that the two have in common, 0 if it may be chance."""
        best = 0.0
        pairs = len(self.parts) * len(other.parts)
        for i, j in _touching(self.parts, other.parts):
            one, two = self.parts[i], other.parts[j]
            mine, theirs = one.among(two), two.among(one)
            common = len(np.intersect1d(mine, theirs, assume_unique=True))
            # The first of each is the sketch of whole rows; the others are compared for luck and must be surer.
            if common and not _by_chance(common, min(len(mine), len(theirs)), 1 if i == j == 0 else pairs):
                best = max(best, common / min(len(mine), len(theirs)))
        return best


NO_SKETCHES = Sketches()

_FEWEST_REPEATED = 32
"""Rows that all occur equally often, and none once: fewer may do so in any table of few different rows."""


def _touching(ones: Sequence[Sketch], others: Sequence[Sketch]) -> list[tuple[int, int]]:
    if not ones or not others:
        return []
    values = np.concatenate([p.rows for p in others])
    owners = np.repeat(np.arange(len(others)), [len(p.rows) for p in others])
    order = np.argsort(values, kind="stable")
    values, owners = values[order], owners[order]
    found: set[tuple[int, int]] = set()
    for i, part in enumerate(ones):
        first, last = (np.searchsorted(values, part.rows, side) for side in ("left", "right"))
        for a, b in zip(first[first < last].tolist(), last[first < last].tolist(), strict=True):
            found.update((i, int(j)) for j in owners[a:b])
    return sorted(found)


def _by_chance(common: int, of: int, tries: int) -> bool:
    """Return whether unrelated tables might share so many of so few rows (Chernoff's bound for the worst case)."""
    share = common / of
    if share <= _BY_CHANCE:
        return True
    rest = 0.0 if common == of else (1 - share) * math.log((1 - share) / (1 - _BY_CHANCE))
    divergence = share * math.log(share / _BY_CHANCE) + rest
    return -of * divergence > math.log(_FALSE_ALARM / tries)


class Sketcher:
    """Makes the sketches of a table of its parts; they depend on what the rows hold alone, and on no order.

    There may be any number of rows: what is kept of them is bounded.
    """

    def __init__(self, some: pl.DataFrame, rows: int, key: bytes, hashing: CellHash) -> None:
        """Prepare them, by :data:`LOOK` evenly spaced rows of the table, which has ``rows``."""
        self._some, self._rows, self._key, self._hashing = some, rows, key, hashing
        self._look = _Look(some, hashing, rows)
        width, keys = some.width, self._look.keys
        singles: list[tuple[int, ...]] = [(k,) for k in range(width)] if 1 < width <= _WIDEST else []
        without = [(), *singles, *([keys] if 1 < len(keys) < width else [])]
        most = [_ROWS] + [max(_FEWEST_WITHOUT, min(_ROWS_WITHOUT, _TOGETHER // width))] * (len(without) - 1)
        self._values = ByValue()  # their hashes
        self._choice = RowChoice(some, rows, key, without, [2 * size for size in most])
        self._kept = [
            _Kept(columns, size, 2 * size, least)
            for columns, size, least in zip(without, most, self._choice.least, strict=True)
        ]

    def of_part(self, frame: pl.DataFrame, placed: Sequence[Placed | None]) -> list[tuple[Words, NDArray[np.int64]]]:
        """Return the rows of a part that are chosen for each sketch: their hashes, and how low their ranks are.

        ``placed`` is what the cells of each column were matched with, where they were.
        """
        codes = [None if one is None or one[1].null_count() else (one[0], one[1].to_numpy()) for one in placed]
        return _chosen(frame, codes, self._choice, self._hashing, self._values)

    def sent(self) -> Sketcher:
        """Return what has the same :meth:`of_part` on a worker, without the key and what was looked at."""
        there = copy.copy(self)
        del there._some, there._key, there._look, there._kept
        return there

    def take(self, found: list[tuple[Words, NDArray[np.int64]]]) -> None:
        """Take the rows that :meth:`of_part` chose."""
        for kept, (rows, low) in zip(self._kept, found, strict=True):
            kept.take(rows, low)

    def made(self, listed: Collection[int], each: EachPart) -> Sketches:
        """Return the sketches; all rows are read again where the cells' lowest bits separate too few of them."""
        telling = [kept for kept in self._kept if self._look.telling(kept.without, listed)]
        made = []
        for kept in telling:
            if not kept.without and kept.few(self._rows):
                kept = self._of_all(each)
            elif kept.without and (kept.few(self._rows) or kept.lost or kept.size > _MOST_WITHOUT):
                continue
            made.append(kept.sketch(self._key))
        return Sketches(tuple(s for s in made if len(s.rows)))

    def _of_all(self, each: EachPart) -> _Kept:
        """Return what is kept of all rows; of very many rows, of those with the lowest hashes."""
        choice = RowChoice(self._some, self._rows, self._key, [()], [self._rows])
        kept = _Kept((), _ROWS, self._rows, choice.least[0], max(0, self._rows.bit_length() - _BITS_OF_ALL))
        for ((rows, low),) in each(partial(_chosen_of, choice, self._hashing)):
            kept.take(rows, low)
        return kept


def _chosen_of(choice: RowChoice, hashing: CellHash, part: Table) -> list[tuple[Words, NDArray[np.int64]]]:
    return _chosen(part.frame, [None] * part.frame.width, choice, hashing, ByValue())


def _chosen(
    frame: pl.DataFrame, codes: Sequence[Codes | None], choice: RowChoice, hashing: CellHash, values: ByValue
) -> list[tuple[Words, NDArray[np.int64]]]:
    """Return the rows of a part that each choice takes: their hashes without its columns, and how low the ranks are."""
    found = choice.of_part(frame, codes)
    union = np.unique(np.concatenate([index for index, _ in found]))
    at = [np.searchsorted(union, index) for index, _ in found]
    sums = np.zeros(len(union), np.uint64)
    less = [np.zeros(len(positions), np.uint64) for positions in at]
    text = frame.select(pl.nth([column for column, coded in enumerate(codes) if coded is None]))
    cells = each_column(text if len(union) == frame.height or not text.width else text[union])
    for column, coded in enumerate(codes):
        if coded is None:
            hashes = hashing.hashes(next(cells))
        else:
            hashes = values.of(column, coded[0], lambda some, _: hashing.hashes(some))[coded[1][union]]
        sums += hashes
        for k, without in enumerate(choice.without):
            if column in without:
                less[k] += hashes[at[k]]
    return [(sums[at[k]] - less[k], low) for k, (_, low) in enumerate(found)]


class _Kept:
    """The rows of one sketch that were chosen so far, each different one once.

    Attributes:
        without: the columns that the sketch leaves out.
        size: how many rows there are at the least level or above, equal ones counted.
        lost: whether rows at the least level were thrown away because there are too many.
    """

    def __init__(self, without: Sequence[int], most: int, wanted: int, least: int, level: int = 0) -> None:
        """Keep nothing yet.

        The least level of ranks, ``least`` zero bits at first, is raised as long as ``wanted`` rows are left; of
        hashes with fewer than ``level`` zero bits none are kept.
        """
        self.without, self._most, self._wanted, self._least, self._level = without, most, wanted, least, level
        self._rows, self._low = np.empty(0, np.uint64), np.empty(0, np.uint8)
        self._times = np.empty(0, np.uint32)
        self._sizes = np.zeros(65, np.int64)
        self._new: list[tuple[Words, NDArray[np.uint8]]] = []
        self._lost_at = -1

    @property
    def lost(self) -> bool:
        return self._lost_at >= self._least

    @property
    def size(self) -> int:
        return int(self._sizes[self._least :].sum())

    def few(self, rows: int) -> bool:
        return self.size < min(self._wanted, rows)

    def take(self, rows: Words, low: NDArray[np.int64]) -> None:
        self._sizes += np.bincount(low, minlength=65)
        while self._least < 64 and int(self._sizes[self._least + 1 :].sum()) >= self._wanted:
            self._least += 1
        kept = low >= max(self._least, self._lost_at + 1)
        if self._level:
            kept &= levels(rows) >= self._level
        self._new.append((rows[kept], low[kept].astype(np.uint8)))
        if sum(len(rows) for rows, _ in self._new) > max(_AT_ONCE, len(self._rows) // 8):
            self._merge()

    def _merge(self) -> None:
        """Join equal rows, and keep no more than a sketch without columns may have."""
        low = np.concatenate([self._low, *(low for _, low in self._new)])
        rows = np.concatenate([self._rows, *(rows for rows, _ in self._new)])
        times = np.concatenate([self._times, np.ones(len(low) - len(self._low), np.uint32)])
        self._new, self._rows, self._low, self._times = [], rows[:0], low[:0], times[:0]
        if self.without and len(rows) > 4 * _MOST_WITHOUT and self.size > _MOST_WITHOUT:
            self._lost_at = self._least
        kept = low >= max(self._least, self._lost_at + 1)
        if not kept.all():
            low, rows, times = low[kept], rows[kept], times[kept]
        # Those of before are in order already. There may be millions: no more copies than these.
        order = np.argsort(rows, kind="stable")
        rows = rows[order]
        low, times = low[order], times[order]
        del order
        first = np.flatnonzero(np.append(True, rows[1:] != rows[:-1])[: len(rows)])
        self._times = np.add.reduceat(times, first) if len(first) else times
        self._rows, self._low = rows[first], low[first]

    def sketch(self, key: bytes) -> Sketch:
        """Return the sketch of those rows that occur once; equal rows have equal ranks, so all of them are here.

        Of a table in which every row occurs several times, as in a copy appended to itself, the rarest rows are taken.
        By chance that happens only where different rows are few.
        """
        self._merge()
        count, most = self._times, self._most
        rarest = count == 1
        if count.size and not rarest.any() and np.count_nonzero(count == count.min()) >= _FEWEST_REPEATED:
            rarest = count == count.min()
        once, of_rank = self._rows[rarest], self._low[rarest]
        pieces = np.array_split(once, 1 + len(once) // _AT_ONCE)
        of_hash = np.concatenate([levels(piece).astype(np.uint8) for piece in pieces])
        rank, level = self._least, self._level
        while np.count_nonzero(of_rank > rank) >= most // 2:
            rank += 1
        while np.count_nonzero((of_rank >= rank) & (of_hash >= level)) > most:
            level += 1
        kept = (of_rank >= rank) & (of_hash >= level)
        marks = [
            r << 56
            | h << 48
            | int.from_bytes(hashlib.blake2b(row.tobytes(), key=key, digest_size=6).digest(), "little")
            for row, r, h in zip(once[kept], of_rank[kept].tolist(), of_hash[kept].tolist(), strict=True)
        ]
        return Sketch(rank, level, np.sort(np.array(marks, np.uint64)))


class _Look:
    """What a sample of rows shows: which columns are keys, and whether the others distinguish rows."""

    def __init__(self, some: pl.DataFrame, hashing: CellHash, rows: int) -> None:
        self._cells = [hashing.hashes(cells) for cells in each_column(some)]
        different = [len(np.unique(hashes)) for hashes in self._cells]
        # The positions of columns whose cells nearly all differ.
        self.keys = tuple(k for k, count in enumerate(different) if count >= max(2, _KEY_LIKE * some.height))
        self._running = {
            k for k in self.keys if different[k] == some.height and _runs(some.to_series(k).alias(""), rows)
        }

    def telling(self, without: Sequence[int], listed: Collection[int]) -> bool:
        """Return whether a sketch of some columns distinguishes unrelated tables.

        It does not where tables that have the same key in common, and nothing else, would agree by chance.
        """
        present = set(range(len(self._cells))) - set(without)
        listed = self._running | set(listed)
        free = (present & set(self.keys)) - listed
        running = present & listed
        if len(free) > 1 or (free and running):
            return True
        if free or running:
            return self._alike(present - free - running) <= _ALIKE
        return bool(present)

    def _alike(self, columns: set[int]) -> float:
        if not columns:
            return 1.0
        rows: Words = np.add.reduce([self._cells[k] for k in columns])
        counts = np.unique(rows, return_counts=True)[1]
        return float((counts * (counts - 1)).sum() / max(len(rows) * (len(rows) - 1), 1))


def _runs(cells: pl.Series, rows: int) -> bool:
    """Return whether the different cells are consecutive numbers or days, as in many unrelated tables."""
    texts = cells.str.strip_chars()
    numbers = texts.str.extract(r"^[^0-9.,]*([0-9]{1,18})$").cast(pl.Int64)
    for form in (None, "%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%Y/%m/%d"):
        if form is not None:
            numbers = texts.str.to_date(form, strict=False).to_physical().cast(pl.Int64)
        if not numbers.null_count():
            low, high = (int(str(edge)) for edge in (numbers.min(), numbers.max()))
            return high - low <= max(_RUNNING * rows, rows + 32)
    return False
