r"""Evidence that the columns of one table come from another, from the marks of both, with a bound on chance.

Of a value that occurs :math:`c` times in the larger table and :math:`k` times in the smaller one, let
:math:`s = c + k`. For two tables that were drawn from the same people, as two years of a survey are, :math:`k` given
:math:`s` is binomial with probability :math:`n' / (n + n')`. For a table that was taken from the other one (all of
its rows, or some), :math:`k` given :math:`c` is binomial with probability :math:`r = n'/n`. The ratio of the two, with
a small part :data:`_OTHER` for values that were edited, has a mean of at most 1 over unrelated tables, and so have the
mean of such ratios over the columns that one may come from, the product over columns that are independent, and the
mixture over how many columns come from there. By Markov's inequality such a number exceeds :math:`1/\alpha` with
probability at most :math:`\alpha`.

So values of yes and no count for little, and many columns of them for more; and where tables have the same values
because these are public, how often each one occurs decides.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from workbench.data.content.cell_hash import Words
from workbench.release.ledger.column_marks import ColumnMark, ColumnMarks

FALSE_ALARM = 1e-6  # probability up to which columns of unrelated tables are taken for those of one table

_OTHER = 0.02  # share of values whose counts an edit may have changed
_RARE, _RARE_UPTO = 0.1, 32
"""How much rarer each count is than the one below it, where most values occur once; counts up to which that is said."""
_SHARES = (0.02, 0.5, 0.95)  # shares of a table's columns that may come from the other one
_PAIRS, _NEAREST = 256, 4
"""Pairs of columns that are all compared; of more, each column is compared with so many that look nearest."""
_DEPENDENT = 0.25  # Cramér's V² from which on two columns count as one

Reals = NDArray[np.float64]
_SMALL: Reals = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, 257)))])


def in_doubt(new: ColumnMarks, old: ColumnMarks) -> bool:
    """Return whether columns of ``new`` resemble those of ``old`` more than unrelated tables do by chance."""
    return log_evidence(new, old) > -math.log(FALSE_ALARM)


def log_evidence(new: ColumnMarks, old: ColumnMarks) -> float:
    """Return the logarithm of the evidence that columns of ``new`` come from ``old``, or the other way round."""
    if new.empty or old.empty:
        return -math.inf
    whole = -math.inf
    if len(np.intersect1d(new.whole.values, old.whole.values, assume_unique=True)):
        whole = _log_ratio(new.whole, new.rows, old.whole, old.rows)
    return float(np.logaddexp(whole, _of_columns(new, old)) - math.log(2))


def _of_columns(new: ColumnMarks, old: ColumnMarks) -> float:
    mine = [k for k, mark in enumerate(new.columns) if len(mark.values)]
    theirs = [mark for mark in old.columns if len(mark.values)]
    near = _likeness([new.columns[k] for k in mine], theirs)
    found: dict[int, float] = {}
    for position, column in enumerate(mine):
        touching = np.flatnonzero(near[position])
        few = (
            touching if len(mine) * len(theirs) <= _PAIRS else touching[near[position][touching].argsort()[-_NEAREST:]]
        )
        ratios = [_log_ratio(new.columns[column], new.rows, theirs[k], old.rows) for k in few]
        found[column] = float(np.logaddexp.reduce([-math.inf, *ratios])) - math.log(max(len(touching), 1))
    counted = _independent(new.some, found)
    return float(np.logaddexp.reduce([_mixed(counted, share) for share in _SHARES]) - math.log(len(_SHARES)))


def _mixed(ratios: Sequence[float], share: float) -> float:
    """Return the evidence of several columns of which about ``share`` come from the other table."""
    return float(np.logaddexp(math.log1p(-share), math.log(share) + np.array(ratios)).sum())


def _independent(some: Words, found: dict[int, float]) -> list[float]:
    """Return the evidence of each column, less those whose evidence follows from a better one's.

    Marks that were read back have no rows to compare: there only the best column counts.
    """
    best = sorted((k for k in found if found[k] > 0), key=lambda k: -found[k])
    kept: list[int] = []
    for k in best:
        if not kept or (some.size and not any(_depends(some[:, k], some[:, other]) for other in kept)):
            kept.append(k)
        if len(kept) > 64:  # far beyond any doubt
            break
    return [found[k] for k in kept] + [value for value in found.values() if value <= 0]


def _depends(one: Words, other: Words) -> bool:
    """Return whether two columns depend on each other so much that their counts agree together (Cramér's V²)."""
    m = len(one)
    if m < 2:
        return False
    first, second = (np.unique(cells, return_inverse=True)[1].astype(np.int64) for cells in (one, other))
    rows, columns = int(first.max()) + 1, int(second.max()) + 1
    if min(rows, columns) < 2:
        return False
    both, joint = np.unique(first * columns + second, return_counts=True)
    expected = np.bincount(first)[both // columns] * np.bincount(second)[both % columns]
    phi = float((joint.astype(np.float64) ** 2 / expected).sum()) - 1
    phi = max(0.0, phi - (rows - 1) * (columns - 1) / (m - 1))
    least = min(rows - (rows - 1) ** 2 / (m - 1), columns - (columns - 1) ** 2 / (m - 1)) - 1
    return least > 1e-9 and phi / least > _DEPENDENT


def _likeness(ones: Sequence[ColumnMark], others: Sequence[ColumnMark]) -> Reals:
    """Return how alike the counts of each pair of columns are, 0 where they have no value in common."""
    values = np.unique(np.concatenate([mark.values for mark in (*ones, *others)]))
    tables = []
    for marks in (ones, others):
        table = np.zeros((len(marks), len(values)), np.float32)
        for row, mark in zip(table, marks, strict=True):
            row[np.searchsorted(values, mark.values)] = np.sqrt(mark.counts / mark.counts.sum())
        tables.append(table)
    near: Reals = (tables[0] @ tables[1].T).astype(np.float64)
    return near


def _log_ratio(one: ColumnMark, rows: int, other: ColumnMark, others: int) -> float:
    if rows > others:
        one, rows, other, others = other, others, one, rows
    below = min(one.below or 1 << 64, other.below or 1 << 64)
    (values, small), (theirs, large) = ((m.values[_under(m, below)], m.counts[_under(m, below)]) for m in (one, other))
    union = np.union1d(values, theirs)
    k, c = np.zeros(len(union), np.int64), np.zeros(len(union), np.int64)
    k[np.searchsorted(union, values)], c[np.searchsorted(union, theirs)] = small, large
    if below == 1 << 64:  # the last count follows from the others
        rest = np.delete(np.arange(len(union)), np.argmax(k + c))
        k, c = k[rest], c[rest]
    share, chance = rows / others, rows / (rows + others)
    s = k + c
    drawn = _log_binomial(k, s, chance)
    taken = _log_binomial(k, c, share)
    # Divided by its sum over k. An odd s with a share of 1 can only be an edit.
    sums = (1 + np.where(s % 2 == 0, 1.0, -1.0) * share ** (s + 1.0)) / (1 + share)
    # The other way to be taken: the larger table has few values that occur more than once.
    rare = np.zeros(_RARE_UPTO)
    rare[:2] = 1.0, _RARE * (1 - share)
    for n in range(2, _RARE_UPTO):
        rare[n] = _RARE * ((1 - share) * rare[n - 1] + share * rare[n - 2])
    rares = np.where(s < _RARE_UPTO, rare[np.minimum(s, _RARE_UPTO - 1)], 0.0)
    ways = (sums, taken), (rares, taken + c * math.log(_RARE))
    found = []
    for total, way in ways:
        possible = total > 0
        log_ratio = np.where(possible, way - np.log(np.where(possible, total, 1.0)), -math.inf) - drawn
        ratio = (1 - _OTHER) * np.exp(np.minimum(log_ratio, 600)) + _OTHER
        ratio = np.where(k == 0, np.minimum(ratio, 1), ratio)  # what is missing in the smaller table is no evidence
        found.append(float(np.log(ratio).sum()))
    return float(np.logaddexp(found[0], found[1]) - math.log(2))


def _under(mark: ColumnMark, below: int) -> slice:
    return slice(None if below == 1 << 64 else int(np.searchsorted(mark.values, np.uint64(below))))


def _log_binomial(k: NDArray[np.int64], of: NDArray[np.int64], share: float) -> Reals:
    """Return the logarithm of a binomial probability; minus infinity where ``k`` exceeds ``of``."""
    possible = k <= of
    rest = np.where(possible, of - k, 0)
    chosen = _log_factorial(np.where(possible, of, k)) - _log_factorial(k) - _log_factorial(rest)
    other = math.log1p(-share) if share < 1 else -math.inf
    with np.errstate(invalid="ignore"):
        others = np.where(rest > 0, rest * other, 0.0)
    found: Reals = np.where(possible, chosen + k * math.log(share) + others, -math.inf)
    return found


def _log_factorial(n: NDArray[np.int64]) -> Reals:
    x = np.maximum(n, 1).astype(np.float64)
    series = x * np.log(x) - x + 0.5 * np.log(2 * math.pi * x) + 1 / (12 * x) - 1 / (360 * x**3)
    found: Reals = np.where(n <= 256, _SMALL[np.minimum(n, 256)], series)
    return found
