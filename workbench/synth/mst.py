"""``mst``: a tree of the most strongly related pairs of columns.

After McKenna, Miklau & Sheldon 2021, "Winning the NIST contest", J. Privacy and Confidentiality 11(3), at pure ε:

1. Every column is measured alone.
2. d − 1 times, one pair that still joins two parts of the tree is chosen by the exponential mechanism.
3. The tables of the chosen pairs are measured.

Where a table would be mostly noise, cells are joined as the released counts of step 1 suggest; within a joined cell the
distribution is that of step 1.

*Score of a pair.* Σ over cells |N − E|, N the exact table (cells joined as it would be measured) and E = the table of
independent columns by step 1, rounded to whole numbers; less a public number, what so many cells of so much noise are
expected to add. E and the public number are fixed before the rows are looked at again. One row, emptied, makes one N
smaller by 1, so |N − E| of one cell and with it the score, a whole number, moves by exactly 1: Δ = 1 (2 under
replace-one: two cells move by 1 each, and ε counts double).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from workbench.privacy.central.share import Budget
from workbench.signals import Progress
from workbench.signals.cancel import NEVER, CancelToken
from workbench.synth.base import (
    CHOICE,
    COUNTS,
    Query,
    Questions,
    Setting,
    Synthesiser,
    Tables,
    groups_of,
    joined_counts,
    pair_numbers,
    room,
    split,
)
from workbench.synth.cliques import CliqueTree, Doubles
from workbench.synth.columns import CountsTables
from workbench.synth.fit import Measured, fitted

ALONE, CHOSEN, PAIRED = 0.35, 0.1, 0.55  # parts of ε for the columns alone, the choices and the tables of pairs

SENSITIVITY = 1  # of a score, under zero-out neighbours

_FILLING = 3.0

Pair = tuple[int, int]
Groups = tuple[NDArray[np.int64] | None, NDArray[np.int64] | None]


def _queries(setting: Setting) -> tuple[Query, ...]:
    columns = setting.columns
    if len(columns) == 1:
        return split(setting.budget, [(f"counts of {columns[0].name}", COUNTS, 1.0)])
    return tree_queries(setting, setting.budget, range(len(columns)))


def tree_queries(setting: Setting, budget: Budget, places: Sequence[int]) -> tuple[Query, ...]:
    """Return what :func:`tree_asked` asks: each column alone, and a tree of pairs of those at ``places``.

    A column that is in no pair is known by its own counts only, so that these have a larger part.
    """
    columns, edges = setting.columns, len(places) - 1
    numbers = pair_numbers([column.name for column in columns], edges)
    return split(
        budget,
        [
            *(
                (f"counts of {column.name}", COUNTS, ALONE / len(columns) if place in places else ALONE)
                for place, column in enumerate(columns)
            ),
            *((f"choice of pair {k}", CHOICE, CHOSEN / edges) for k in numbers),
            *((f"counts of pair {k}", COUNTS, PAIRED / edges) for k in numbers),
        ],
    )


def expected_tables(
    setting: Setting, alone: list[Doubles], share: float, cancel: CancelToken = NEVER
) -> dict[tuple[int, int], tuple[Groups, NDArray[np.int64], int]]:
    """Return for each pair how its cells are joined, the whole-number table of independent columns, and the penalty.

    ``alone`` is the estimated share of each cell of each column; ``share`` is what each table of a pair is paid with,
    as the ε of Laplace noise of the same size.
    """
    out = {}
    for a, b in itertools.combinations(range(len(alone)), 2):
        cancel.check()
        sizes = setting.sizes[a], setting.sizes[b]
        wide = room(setting.rows * share / _FILLING, sizes)
        groups = tuple(groups_of(alone[i], setting.ordered(i), most) for i, most in zip((a, b), wide, strict=True))
        sides = [
            alone[i] if g is None else np.bincount(g, weights=alone[i]) for i, g in zip((a, b), groups, strict=True)
        ]
        table = np.rint(setting.rows * np.outer(*sides)).astype(np.int64)
        out[a, b] = (groups[0], groups[1]), table, math.floor(table.size / share)
    return out


def score(
    rows: CountsTables, pair: tuple[int, int], groups: Groups, expected: NDArray[np.int64], setting: Setting
) -> int:
    """Return Σ |N − E| of one pair: moved by one emptied row by exactly 1."""
    exact = joined_counts(rows, pair, groups, setting.sizes)
    return int(np.abs(exact - expected).sum())


def _ask(questions: Questions) -> Tables:
    setting = questions.setting
    count = len(setting.columns)
    if count == 1:
        return Tables((), (questions.counts((0,), (None,)),))
    return tree_asked(questions, range(count), _queries(setting)[-1].paid.strength)


def tree_asked(questions: Questions, places: Sequence[int], share: float) -> Tables:
    """Ask for every column alone, and for the tables of a tree of pairs of those at ``places``, at ``share`` each."""
    setting = questions.setting
    measured = [questions.counts((place,), (None,)) for place in range(len(setting.columns))]
    alone = shares_alone(measured, setting.rows, questions.cancel)
    tables = expected_tables(setting, alone, share, questions.cancel)

    def scored(rows: CountsTables, pair: Pair) -> int:
        groups, expected, penalty = tables[pair]
        return score(rows, pair, groups, expected, setting) - penalty

    pairs = chosen_tree(questions, places, scored)
    measured += [questions.counts(pair, tables[pair][0]) for pair in pairs]
    return Tables(tuple(pairs), tuple(measured))


def chosen_tree(questions: Questions, places: Sequence[int], scored: Callable[[CountsTables, Pair], int]) -> list[Pair]:
    """Return the pairs of a tree of columns, each the answer of a choice by the scores, which are computed once."""
    every = list(itertools.combinations(places, 2))
    known: dict[Pair, int] = {}

    def kept(rows: CountsTables, pair: Pair) -> int:
        if pair not in known:
            questions.cancel.check()
            known[pair] = scored(rows, pair)
            questions.emit(Progress(len(known), len(every), "pairs of columns"))
        return known[pair]

    part = {place: place for place in places}
    pairs: list[Pair] = []
    while len(pairs) < len(places) - 1:
        a, b = questions.choice([pair for pair in every if part[pair[0]] != part[pair[1]]], kept, SENSITIVITY)
        pairs.append((a, b))
        part = {place: part[a] if p == part[b] else p for place, p in part.items()}
    return pairs


def shares_alone(measured: Sequence[Measured], rows: int, cancel: CancelToken) -> list[Doubles]:
    """Return the estimated share of each cell of columns that were measured alone."""
    singles = (Measured((0,), m.groups, m.counts, m.variance, m.ordered) for m in measured)
    return [fitted(CliqueTree.of(m.counts.shape, []), [m], rows, cancel).marginals.tables[0] for m in singles]


MST = Synthesiser(
    name="mst",
    title="The strongest pairs",
    help="measures every column and the two-way tables of a tree of strongly related pairs, chosen privately",
    needs_target=False,
    queries=_queries,
    ask=_ask,
)
