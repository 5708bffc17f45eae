"""The sets of attributes that make each row unique: one search that several measures share.

A row that is unique on a set is unique on every larger one. So a row is left out of the sets below the first on which
it is unique, and a set is minimal for a row where it is unique on the set and on none that lacks one attribute of it:
what SUDA2 (Manning, Haglin and Keane 2008) finds row by row is found here set by set, for all rows at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from workbench.risk.distances import Codes, dense
from workbench.signals.cancel import NEVER, CancelToken
from workbench.signals.events import Emit, Progress, ignore

MOST_WORK = 500_000_000
"""The most rows that are looked at, each as often as there are sets; larger sets of attributes are left out before."""
MOST_SETS = 20_000


@dataclass(frozen=True)
class AttributeSet:
    """Which rows a set of attributes separates."""

    members: tuple[int, ...]  # their places in the list of attributes, ascending
    classes: int  # the number of classes over them
    alike: int  # the number of pairs of rows that they do not separate
    unique: int  # the number of rows that are unique on them
    minimal: np.ndarray  # the rows for which the set is a minimal one, ascending


@dataclass(frozen=True)
class UniqueSets:
    """Every set of up to ``largest`` of the attributes, smaller ones before those that contain them."""

    sets: tuple[AttributeSet, ...]
    attributes: int
    largest: int
    rows: int

    @property
    def complete(self) -> bool:
        """Whether every set of attributes was looked at."""
        return self.largest == self.attributes


def reachable(attributes: int, rows: int) -> int:
    """Return the most attributes of a set that :data:`MOST_WORK` allows; at least 1."""
    total, largest = 0, 0
    for size in range(1, attributes + 1):
        total += math.comb(attributes, size)
        if size > 1 and (total > MOST_SETS or total * rows > MOST_WORK):
            break
        largest = size
    return largest


def unique_sets(
    columns: Sequence[Codes],
    rows: int,
    largest: int | None = None,
    *,
    cancel: CancelToken = NEVER,
    emit: Emit = ignore,
) -> UniqueSets:
    """Return which rows every set of attributes separates.

    Args:
        columns: the attributes as codes.
        rows: the number of rows.
        largest: the most attributes of a set; all of them, or what :data:`MOST_WORK` allows, where it is ``None``.
        cancel: asked before each set.
        emit: receives the progress.
    """
    allowed = reachable(len(columns), rows)
    search = _Search(columns, rows, min(largest or allowed, allowed), cancel, emit)
    found = tuple(search.below((), np.arange(rows), np.zeros(rows, dtype=np.int64), 0))
    return UniqueSets(found, len(columns), search.largest, rows)


class _Search:
    def __init__(self, columns: Sequence[Codes], rows: int, largest: int, cancel: CancelToken, emit: Emit) -> None:
        self.columns, self.rows, self.largest = columns, rows, largest
        self._cancel, self._emit = cancel, emit
        self._unique: dict[tuple[int, ...], np.ndarray] = {}
        self._cards = [int(column.max(initial=0)) + 1 for column in columns]
        self._total = sum(math.comb(len(columns), size) for size in range(1, largest + 1))

    def below(
        self, members: tuple[int, ...], left: np.ndarray, codes: np.ndarray, dropped: int
    ) -> Iterator[AttributeSet]:
        """Yield the sets that add attributes before the first of ``members``: each comes after all of its parts."""
        for added in range(members[0] if members else len(self.columns)):
            self._cancel.check()
            chosen = (added, *members)
            joint = codes * self._cards[added] + self.columns[added][left]
            of, sizes = dense(joint)
            alone = sizes[of] == 1
            new = left[alone]
            self._unique[chosen] = np.packbits(self._marks(members, new))
            rest = sizes[sizes > 1]
            yield AttributeSet(
                chosen,
                dropped + sizes.size,
                int((rest * (rest - 1) // 2).sum()),
                dropped + new.size,
                self._minimal(chosen, new),
            )
            if len(self._unique) % 16 == 0:
                self._emit(Progress(len(self._unique), self._total, "sets of attributes"))
            if len(chosen) < self.largest:
                keep = ~alone
                place = np.cumsum(sizes > 1) - 1
                yield from self.below(chosen, left[keep], place[of[keep]], dropped + new.size)

    def _marks(self, members: tuple[int, ...], new: np.ndarray) -> np.ndarray:
        """Return which rows are unique on ``members`` or among ``new``."""
        before = self._unique.get(members)
        marks = np.zeros(self.rows, dtype=bool) if before is None else np.unpackbits(before, count=self.rows).view(bool)
        marks[new] = True
        return marks

    def _minimal(self, chosen: tuple[int, ...], new: np.ndarray) -> np.ndarray:
        """Return the rows of ``new`` that are unique on no part of ``chosen``."""
        for one in chosen:
            if not new.size:
                break
            part = self._unique.get(tuple(m for m in chosen if m != one))
            if part is not None:  # the empty set has no unique row
                new = new[(part[new >> 3] >> (7 - (new & 7)).astype(np.uint8)) & 1 == 0]
        return new
