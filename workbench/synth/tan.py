"""``tan``: tree-augmented naive Bayes: every column with the target and one related column, in adaptive bins.

After Friedman, Geiger & Goldszmidt 1997, "Bayesian network classifiers" (tree-augmented naive Bayes):

1. Every column is measured alone, in fine public cells; for numeric columns a smooth density is fitted to them
   (:mod:`workbench.synth.density`). Neighbouring cells are merged into bins of about equal share (rare categories into
   one), as many as the noise in the tables of step 3 allows: the cells of the model. So bounds that are far too wide
   cost little; within a bin values follow the density and the bins of the other columns
   (:mod:`workbench.synth.positions`).
2. d − 2 times, the exponential mechanism chooses a pair of columns (without the target) that joins two parts of the
   tree.
3. The tables of the chosen pairs *with the target* are measured: d − 2 tables of three columns. They keep the joint
   effect of two columns on the target, which ``marginals`` assumes independent.

*Score of a pair.* Σ over cells |N − E|, N the exact table of the pair with the target and E = the table of three
independent columns by step 1, rounded to whole numbers; less a public number, what so many cells of so much noise are
expected to add. As in ``mst``, one emptied row moves it by exactly 1: Δ = 1 (2 under replace-one).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from workbench.privacy.central.share import Budget
from workbench.signals.cancel import CancelToken
from workbench.synth.base import (
    CHOICE,
    COUNTS,
    Coarser,
    Query,
    Questions,
    Setting,
    Synthesiser,
    Tables,
    groups_of,
    joined_counts,
    pair_numbers,
    split,
)
from workbench.synth.cliques import Doubles
from workbench.synth.columns import CountsTables
from workbench.synth.density import density
from workbench.synth.fit import Measured
from workbench.synth.mst import Pair, chosen_tree, shares_alone

ALONE, CHOSEN, PAIRED = 0.25, 0.08, 1.0
"""Weights of one column alone, one choice and one table; the same for any number of columns."""

AIMED = 0.75
"""Weight of the target alone, of few cells too: how rows divide among its values matters to every other column."""

_MANY = 16  # cells of a column from which it has its whole weight

MOST_SIDE = 16  # most parts of a column but of a target of names

_FILLING = 2.0
_MOST_FINE, _LEAST_FINE, _FINE_BY_ROOM = 64, 16, 5.0
ENOUGH = 3.0  # parts of a column from which this way is ahead of `marginals`; measured on six tables (`ten_tables.md`)


def _alone(size: int) -> float:
    """Return the weight of a column alone: one of few cells is also known from the tables of pairs."""
    return ALONE * min(1.0, size / _MANY)


def _weights(others: Sequence[int]) -> tuple[float, float]:
    """Return the parts of the budget of a column of many cells alone and of one table, beside columns of such sizes."""
    links = max(len(others) - 1, 1)
    whole = AIMED + sum(map(_alone, others)) + CHOSEN * max(len(others) - 1, 0) + PAIRED * links
    return ALONE / whole, PAIRED / whole


def fine_cuts(rows: int, budget: Budget, columns: int) -> int:
    """Return into how many public cells a column of numbers is cut before it is measured alone; from public numbers."""
    room = rows * budget.share(_weights([_MANY] * (columns - 1))[0]).strength
    return int(min(max(_LEAST_FINE, _FINE_BY_ROOM * math.sqrt(room)), _MOST_FINE))


def _room(setting: Setting) -> float:
    others = [size for j, size in enumerate(setting.sizes) if j != setting.target]
    return setting.rows * setting.budget.share(_weights(others)[1]).strength / _FILLING


def parts_of(setting: Setting) -> float:
    """Return how many parts noise lets a column have, where every table is of columns with many cells."""
    target = setting.target
    assert target is not None
    most = _room(setting)
    return most ** (1 / 3) if setting.ordered(target) else math.sqrt(most / setting.sizes[target])


def largest_parts(setting: Setting) -> tuple[int, ...]:
    """Return the most parts of each column: as many as the mean table of a pair with the target has room for.

    No two names of a target are joined.
    """
    target, sizes = setting.target, setting.sizes
    assert target is not None
    most, whole = _room(setting), -1 if setting.ordered(target) else target

    def sides(side: int) -> tuple[int, ...]:
        return tuple(size if j == whole else min(size, side) for j, size in enumerate(sizes))

    def mean(side: int) -> float:
        found = sides(side)
        others = [size for j, size in enumerate(found) if j != target]
        pairs = [a * b for a, b in itertools.combinations(others, 2)] or others or [1]
        return found[target] * sum(pairs) / len(pairs)

    return sides(max((k for k in range(2, MOST_SIDE + 1) if mean(k) <= most), default=2))


def _queries(setting: Setting) -> tuple[Query, ...]:
    target = setting.target
    assert target is not None
    names = [column.name for column in setting.columns]
    d = len(names)
    weights = [AIMED if j == target else _alone(size) for j, size in enumerate(setting.sizes)]
    parts = [(f"counts of {name}", COUNTS, weight) for name, weight in zip(names, weights, strict=True)]
    if d == 2:
        parts.append((f"counts of {names[target]} by {names[1 - target]}", COUNTS, PAIRED))
    parts += [(f"choice of pair {k}", CHOICE, CHOSEN) for k in pair_numbers(names, d - 2)]
    parts += [(f"counts of pair {k}", COUNTS, PAIRED) for k in pair_numbers(names, d - 2)]
    return split(setting.budget, parts)


def _ask(questions: Questions) -> Tables:
    setting = questions.setting
    target, d = setting.target, len(setting.columns)
    assert target is not None
    alone = [questions.counts((place,), (None,)) for place in range(d)]
    shares = [
        _smooth(own, m, setting.rows, questions.cancel)
        for own, m in zip(shares_alone(alone, setting.rows, questions.cancel), alone, strict=True)
    ]
    most = largest_parts(setting)
    groups = [groups_of(own, setting.ordered(j), most[j]) for j, own in enumerate(shares)]
    coarser = Coarser.of(setting, shares, groups)
    measured = [coarser.alone(j, setting.rows, m.variance) for j, m in enumerate(alone)]
    pairs = _chosen(questions, coarser) if d > 2 else []
    for columns in [tuple(sorted((*pair, target))) for pair in pairs] or [(target, 1 - target)][: d - 1]:
        measured.append(coarser.table(questions.counts(columns, [coarser.groups[j] for j in columns])))
    return Tables(tuple(pairs), tuple(measured), coarser=coarser)


def _smooth(own: Doubles, measured: Measured, rows: int, cancel: CancelToken) -> Doubles:
    """Return the shares of a column's cells, those of ordered ones by a smooth density."""
    ordered = measured.ordered[0]
    held = float(own[:ordered].sum())
    found = density(measured.counts[:ordered], measured.variance, rows * held, cancel)
    return own if found is None else np.concatenate([held * found, own[ordered:]])


def _chosen(questions: Questions, coarser: Coarser) -> list[Pair]:
    """Return a tree of pairs of the columns beside the target."""
    setting = questions.setting
    target = setting.target
    assert target is not None
    noise = _queries(setting)[-1].paid.strength

    def scored(rows: CountsTables, pair: Pair) -> int:
        columns = tuple(sorted((*pair, target)))
        penalty = math.floor(math.prod(coarser.sizes[j] for j in columns) / noise)
        return score(rows, columns, coarser, setting) - penalty

    return chosen_tree(questions, [j for j in range(len(setting.columns)) if j != target], scored)


def score(rows: CountsTables, columns: tuple[int, ...], coarser: Coarser, setting: Setting) -> int:
    """Return Σ |N − E| of the table of three columns: moved by one emptied row by exactly 1."""
    exact = joined_counts(rows, columns, [coarser.groups[j] for j in columns], setting.sizes)
    expected: Doubles = np.array(float(setting.rows))
    for j in columns:
        expected = np.multiply.outer(expected, coarser.shares[j])
    whole: NDArray[np.int64] = np.rint(expected).astype(np.int64)
    return int(np.abs(exact - whole).sum())


TAN = Synthesiser(
    name="tan",
    title="Every column with the target and a related column",
    help="measures every column in fine bins, merges them into bins of similar counts, and measures the tables of "
    "related pairs with the target",
    needs_target=True,
    queries=_queries,
    ask=_ask,
    with_target=True,
    cuts=fine_cuts,
)
