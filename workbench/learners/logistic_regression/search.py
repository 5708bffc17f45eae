"""The best of many public weight vectors by report-noisy-max, for small tables or a small ε.

A candidate is a direction (whole weights of the encoded columns), places at which it is cut, and the class on each side
of a cut: the predictions of a logistic regression along one direction. Its score is the number of rows that it gets
wrong. One more row makes no score smaller and none larger by more than 1, so that all scores move in one direction and
noise of scale 1/ε on each is enough for ε (Dwork & Roth 2014, claim 3.9), however many candidates there are: the best
of a thousand is visible above noise that would hide a thousand sums. "Always this class" is a candidate, too.

The first round tries single columns and, where ε and rows allow, sums and differences of two. Each later round tries
the direction found so far with the weight of one column changed. All that is counted of a row is whole-number
arithmetic: it does not depend on other rows.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]

UNIT = 1 << 10  # whole numbers of one wrong row: fine enough that ties, which the first candidate wins, are rare

MOST_CANDIDATES = 50_000  # beyond this many, drawing the noise would take seconds a round

_STEPS = (1, 2, 4)  # quarters of the largest weight
_STEEPNESS = 12.0  # of the probabilities, for heights in [−1, 1]: public, as nothing asks how far off the rows lie
_NEVER = -4.0


@dataclass(frozen=True)
class Pattern:
    """How a direction is cut into pieces of one class each."""

    classes: int  # k
    pieces: int  # the most pieces
    bins: int  # into how many equal parts the public range is divided; cuts lie between them

    @cached_property
    def forms(self) -> tuple[tuple[Whole, Whole], ...]:
        """For each number of pieces: cuts (c, pieces − 1) and classes of the pieces (o, pieces)."""
        return tuple(
            (
                np.array(list(itertools.combinations(range(1, self.bins), pieces - 1)), dtype=np.int64),
                np.array(list(itertools.permutations(range(self.classes), pieces)), dtype=np.int64),
            )
            for pieces in range(2, self.pieces + 1)
        )

    @property
    def size(self) -> int:
        """How many candidates one direction has; found without listing them."""
        return sum(
            math.comb(self.bins - 1, pieces - 1) * math.perm(self.classes, pieces)
            for pieces in range(2, self.pieces + 1)
        )

    def wrong(self, table: Whole) -> list[Whole]:
        """Return how many rows each candidate gets wrong, from the rows of each bin and class (bins, k)."""
        below = np.vstack([np.zeros((1, self.classes), dtype=np.int64), table.cumsum(axis=0)])
        rows = int(table.sum())
        found = []
        for cuts, orders in self.forms:
            edges = np.column_stack([np.zeros(len(cuts), int), cuts, np.full(len(cuts), self.bins)])
            inside = below[edges[:, 1:]] - below[edges[:, :-1]]
            right = sum(inside[:, piece][:, orders[:, piece]] for piece in range(orders.shape[1]))
            found.append((rows - np.asarray(right)).ravel())
        return found

    def split(self, index: int) -> tuple[list[int], list[int]]:
        """Return cuts and classes of the candidate ``index`` of a direction."""
        for cuts, orders in self.forms:
            if index < len(cuts) * len(orders):
                cut, order = divmod(index, len(orders))
                return [int(v) for v in cuts[cut]], [int(v) for v in orders[order]]
            index -= len(cuts) * len(orders)
        raise IndexError(index)


def first_directions(width: int, *, pairs: bool) -> Whole:
    """Return single columns and, if asked for, sums and differences of two, (V, D)."""
    single = np.eye(width, dtype=np.int64)
    if not pairs or width < 2:
        return single
    first, second = np.triu_indices(width, 1)
    return np.vstack([single, single[first] + single[second], single[first] - single[second]])


def next_directions(found: Whole) -> Whole:
    """Return a direction (D,) and those with one weight changed by a part of the largest, (1 + 6·D, D)."""
    width, largest = len(found), int(np.abs(found).max())
    changes = [
        sign * step * largest * column
        for column in np.eye(width, dtype=np.int64)
        for step in _STEPS
        for sign in (1, -1)
    ]
    tried = np.vstack([4 * found[None, :], 4 * found + np.array(changes)])
    return np.array([row // max(1, int(np.gcd.reduce(row))) for row in tried if row.any()])


def wrong_rows(rows: Whole, classes: Whole, size: int, directions: Whole, pattern: Pattern) -> list[int]:
    """Return how many rows each candidate gets wrong: first "always this class", then those of each direction.

    Args:
        rows: encoded rows (n, D), each whole number in [−K, K].
        classes: class codes (n,).
        size: K.
        directions: whole weights (V, D).
        pattern: how they are cut.
    """
    k, bins = pattern.classes, pattern.bins
    found = [len(classes) - np.bincount(classes, minlength=k)]
    for weights in directions:
        used = np.flatnonzero(weights)
        reach = int(np.abs(weights).sum()) * size
        height = np.zeros(len(rows), dtype=np.int64)
        for j in used:
            height += rows[:, j] * weights[j]
        bin_of = np.minimum((height + reach) * bins // (2 * reach), bins - 1)
        table = np.bincount(bin_of * k + classes, minlength=bins * k).reshape(bins, k)
        found += pattern.wrong(table)
    scores: list[int] = np.concatenate(found).tolist()
    return scores


@dataclass(frozen=True)
class Found:
    """A candidate: direction (D,), cuts as bins, and the classes of the pieces; without cuts always one class."""

    direction: Whole
    cuts: list[int]
    order: list[int]

    def weights(self, pattern: Pattern) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return weights (D, k) and offsets (k,) of a logistic regression with these predictions."""
        k, direction = pattern.classes, self.direction / max(1, int(np.abs(self.direction).sum()))
        weights, offsets = np.zeros((len(direction), k)), np.full(k, _NEVER)
        offset = 0.0
        for piece, label in enumerate(self.order):
            if piece:
                offset -= 2 * self.cuts[piece - 1] / pattern.bins - 1
            weights[:, label] = piece * _STEEPNESS * direction
            offsets[label] = offset * _STEEPNESS
        return weights, offsets


def candidate(index: int, directions: Whole, before: Whole, pattern: Pattern) -> Found:
    """Return the candidate with an index of :func:`wrong_rows`; "always this class" keeps the direction ``before``."""
    if index < pattern.classes:
        return Found(before, [], [index])
    which, inside = divmod(index - pattern.classes, pattern.size)
    cuts, order = pattern.split(inside)
    return Found(directions[which], cuts, order)


def best_pieces(rows: Whole, classes: Whole, size: int, pattern: Pattern) -> list[int]:
    """Return for each column the rows that its best pieces get wrong, in parts of :data:`UNIT`, (D,).

    It is the least of scores that one more row moves by 0 or by one unit: so does the least.
    """
    single = first_directions(rows.shape[1], pairs=False)
    found = []
    for weights in single:
        scores = wrong_rows(rows, classes, size, weights[None, :], pattern)
        found.append(min(scores) * UNIT)
    return found
