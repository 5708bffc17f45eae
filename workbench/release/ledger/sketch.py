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

import hashlib
import itertools
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from workbench.data.content.cell_hash import CellHash
from workbench.data.content.cell_words import Words
from workbench.data.content.row_choice import Chosen, choose_rows, levels

SHARED = 0.5
"""Share of unique rows above which a table is taken for a version of another."""

_BY_CHANCE = 0.38
"""Most of them that unrelated tables of twenty rows or more are expected to share."""
_FALSE_ALARM = 1e-6
"""Probability that two unrelated tables of the worst kind are taken for versions because their sketches are small."""

_ROWS = 2048
"""Most rows of the sketch of whole rows; there are half as many or more, unless the table has fewer."""
_ROWS_WITHOUT, _FEWEST_WITHOUT, _TOGETHER = 512, 128, 1 << 14
"""Most and fewest rows of a sketch without a column, and of all those together."""
_WIDEST = _TOGETHER // _FEWEST_WITHOUT
"""Columns of the widest table that has sketches without single columns."""

_LOOK = 1024
_KEY_LIKE = 0.95
"""Share of different values from which on a column may be a key."""
_ALIKE = 0.2
"""Probability up to which two rows may agree in the columns beside a key."""
_RUNNING = 4
"""Numbers within a range of so many times the rows are running numbers."""


@dataclass(frozen=True, eq=False)
class Sketch:
    """A sample of the unique rows of a table, with all or some of its columns.

    Attributes:
        rank: rows whose rank begins with so many zero bits,
        level: and whose hash begins with so many, are here.
        rows: of each row the zero bits of its rank (8 bits), those of its hash (8 bits) and a keyed hash of that hash
            (48 bits), sorted, shape (m,).
    """

    rank: int
    level: int
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
    """Return the pairs of sketches that have any row in common."""
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


def sketches(frame: pl.DataFrame, key: bytes, listed: Collection[int] = ()) -> Sketches:
    """Return the sketches of a table's rows under ``key``; they depend on what the rows hold alone.

    Args:
        frame: cells of text.
        key: 32 bytes.
        listed: the positions of columns that are alike in many unrelated tables.
    """
    if frame.height == 0:  # blank lines alone
        return NO_SKETCHES
    hashing = CellHash(key)
    look = _Look(frame, hashing, listed)
    singles: list[tuple[int, ...]] = [(k,) for k in range(frame.width)] if 1 < frame.width <= _WIDEST else []
    without = [(), *singles, *([look.keys] if 1 < len(look.keys) < frame.width else [])]
    most = [_ROWS] + [max(_FEWEST_WITHOUT, min(_ROWS_WITHOUT, _TOGETHER // frame.width))] * (len(without) - 1)
    telling = [k for k, columns in enumerate(without) if look.telling(columns)]
    if not telling:
        return NO_SKETCHES
    wanted = [2 * most[k] for k in telling]
    choices = choose_rows(frame, key, [without[k] for k in telling], wanted)
    chosen = {}
    for k, choice, size in zip(telling, choices, wanted, strict=True):
        few = choice.index.size < min(size, frame.height)
        if k == 0 and few:
            # Most rows share a few ranks, and none of those is low: then all rows are looked at.
            chosen[k] = choose_rows(frame, key, [()], [frame.height])[0]
        elif k == 0 or not (few or choice.index.size > 16 * _ROWS):
            chosen[k] = choice
    return _made(frame, hashing, {k: (without[k], most[k], choice) for k, choice in chosen.items()}, key)


def _made(
    frame: pl.DataFrame, hashing: CellHash, wanted: dict[int, tuple[Sequence[int], int, Chosen]], key: bytes
) -> Sketches:
    """Return a sketch of each choice of rows: the columns that it leaves out, the most rows it has, the choice."""
    union = np.unique(np.concatenate([choice.index for _, _, choice in wanted.values()] or [np.empty(0, np.int64)]))
    whole = len(union) == frame.height
    rows = np.zeros(len(union), np.uint64)
    at = {k: np.searchsorted(union, choice.index) for k, (_, _, choice) in wanted.items()}
    less = {k: np.zeros(len(positions), np.uint64) for k, positions in at.items()}
    some = frame if whole else frame[union]
    for column, cells in enumerate(some.iter_columns()):
        hashes = hashing.hashes(cells)
        rows += hashes
        for k, (without, _, _) in wanted.items():
            if column in without:
                less[k] += hashes[at[k]]
    made = [_once(rows[at[k]] - less[k], choice, most, key) for k, (_, most, choice) in wanted.items()]
    return Sketches(tuple(s for s in made if len(s.rows)))


def _once(rows: Words, choice: Chosen, most: int, key: bytes) -> Sketch:
    """Return the sketch of those rows that occur once; equal rows have equal ranks, so all of them are here.

    Of a table in which every row occurs several times, as in a copy appended to itself, the rarest rows are taken. By
    chance that happens only where different rows are few.
    """
    rows, first, count = np.unique(rows, return_index=True, return_counts=True)
    rarest = count == 1
    if count.size and not rarest.any() and np.count_nonzero(count == count.min()) >= _FEWEST_REPEATED:
        rarest = count == count.min()
    once, of_rank = rows[rarest], choice.level[first[rarest]]
    of_hash = levels(once)
    rank, level = choice.least, 0
    while np.count_nonzero(of_rank > rank) >= most // 2:
        rank += 1
    while np.count_nonzero((of_rank >= rank) & (of_hash >= level)) > most:
        level += 1
    kept = (of_rank >= rank) & (of_hash >= level)
    marks = [
        r << 56 | h << 48 | int.from_bytes(hashlib.blake2b(row.tobytes(), key=key, digest_size=6).digest(), "little")
        for row, r, h in zip(once[kept], of_rank[kept].tolist(), of_hash[kept].tolist(), strict=True)
    ]
    return Sketch(rank, level, np.sort(np.array(marks, np.uint64)))


class _Look:
    """What a sample of rows shows: which columns are keys, and whether the others distinguish rows.

    Attributes:
        keys: the positions of columns whose cells nearly all differ.
    """

    def __init__(self, frame: pl.DataFrame, hashing: CellHash, listed: Collection[int]) -> None:
        some = np.unique(np.linspace(0, frame.height - 1, min(frame.height, _LOOK)).astype(np.int64))
        sample = frame[some]
        self._cells = [hashing.hashes(cells) for cells in sample.iter_columns()]
        different = [len(np.unique(hashes)) for hashes in self._cells]
        self.keys = tuple(k for k, count in enumerate(different) if count >= max(2, _KEY_LIKE * len(some)))
        self._running = {k for k in self.keys if different[k] == len(some) and _runs(sample.to_series(k), frame.height)}
        self._running |= set(listed)

    def telling(self, without: Sequence[int]) -> bool:
        """Return whether a sketch of some columns distinguishes unrelated tables.

        It does not where tables that have the same key in common, and nothing else, would agree by chance.
        """
        present = set(range(len(self._cells))) - set(without)
        free = (present & set(self.keys)) - self._running
        running = present & self._running
        if len(free) > 1 or (free and running):
            return True
        if free or running:
            return self._alike(present - free - running) <= _ALIKE
        return bool(present)

    def _alike(self, columns: set[int]) -> float:
        """Return how often two rows agree in ``columns``."""
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
