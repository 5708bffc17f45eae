"""``aim``: an adaptive choice of pairs of columns, each where the current model fits worst.

After McKenna, Mullins, Sheldon & Miklau 2022, "AIM: an adaptive and iterative mechanism for differentially private
synthetic data", PVLDB 15(11), with a fixed number of rounds, so that every query is declared and paid for beforehand:

1. Every column is measured alone.
2. In each round the pair of columns that the model fits worst is chosen by the exponential mechanism, among those with
   which the model stays below :data:`MOST_CELLS` cells; its table is measured and the model fitted anew.

Unlike a tree, the chosen pairs may form cycles: the model is one of cliques (:mod:`workbench.synth.cliques`). Cells
that would be mostly noise are joined as in ``mst``.

*Score of a pair.* Σ over cells |N − E|, N the exact table and E the model's, rounded to whole numbers; less a public
number, what the noise of so many cells is expected to add. E follows from earlier answers alone. One row, emptied,
makes one N smaller by 1, so that the score, a whole number, moves by exactly 1: Δ = 1 (2 under replace-one).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from workbench.signals import Progress
from workbench.synth.base import (
    CHOICE,
    COUNTS,
    Query,
    Questions,
    Setting,
    Synthesiser,
    Tables,
    joined,
    joined_counts,
    pair_numbers,
    split,
)
from workbench.synth.cliques import CliqueMarginals, CliqueTree, Doubles
from workbench.synth.columns import CountsTables
from workbench.synth.fit import Measured, fitted
from workbench.synth.mst import SENSITIVITY, expected_tables, shares_alone

ALONE, CHOSEN, PAIRED = 0.6, 0.1, 0.3  # parts of the budget for the columns alone, the choices and the tables of pairs

MOST_CELLS = 1 << 16  # most cells of the model's cliques together: a fit then takes seconds, whatever is chosen

ROUNDS = 12
_TURNS = 3  # where a target is named, one of so many choices is among all pairs, the others among those with the target

_MOST_ROUNDS = 64
_STRENGTH = 400.0
"""Rows in units of the noise of d − 1 equal tables at which d − 1 pairs are chosen; measured on diabetes."""


def rounds_of(setting: Setting) -> int:
    """Return how many pairs are chosen: few where noise is large, up to two for each column, at most 64; public."""
    d = len(setting.columns)
    strength = setting.rows * setting.budget.share(1 / max(d - 1, 1)).strength
    wanted = round((d - 1) * math.sqrt(strength / _STRENGTH))
    return min(max(wanted, 1), 2 * (d - 1), d * (d - 1) // 2, _MOST_ROUNDS)


def _queries(setting: Setting) -> tuple[Query, ...]:
    columns, rounds = setting.columns, rounds_of(setting)
    if not rounds:
        return split(setting.budget, [(f"counts of {columns[0].name}", COUNTS, 1.0)])
    alone = [(f"counts of {column.name}", COUNTS, ALONE / len(columns)) for column in columns]
    rest = [
        part
        for k in pair_numbers([column.name for column in columns], rounds)
        for part in ((f"choice of pair {k}", CHOICE, CHOSEN / rounds), (f"counts of pair {k}", COUNTS, PAIRED / rounds))
    ]
    return split(setting.budget, [*alone, *rest])


def _ask(questions: Questions) -> Tables:
    setting, cancel = questions.setting, questions.cancel
    d, rounds = len(setting.columns), rounds_of(setting)
    measured: list[Measured] = [questions.counts((place,), (None,)) for place in range(d)]
    if not rounds:
        return Tables((), tuple(measured))
    alone = shares_alone(measured, setting.rows, cancel)
    shapes = expected_tables(setting, alone, _queries(setting)[-1].paid.strength, cancel)
    exact: dict[tuple[int, int], NDArray[np.int64]] = {}
    pairs: list[tuple[int, int]] = []
    groups = [columns for columns, _ in setting.impossible]
    tree = CliqueTree.of(setting.sizes, groups)
    fit = fitted(tree, measured, setting.rows, cancel, rounds=ROUNDS, barriers=setting.barriers)
    for done in range(rounds):
        cancel.check()
        questions.emit(Progress(done, rounds, "choosing pairs of columns"))
        model = _expected(fit.marginals, setting, questions)
        open_pairs = _small_enough(tree, [*shapes])
        if setting.target is not None and done % _TURNS:
            # Pairs with the column that others are to predict have most of the turns: who may be chosen is public.
            about = [pair for pair in open_pairs if setting.target in pair]
            open_pairs = about or open_pairs

        def scored(rows: CountsTables, pair: tuple[int, int], model: dict[tuple[int, int], Doubles] = model) -> int:
            joins, _, penalty = shapes[pair]
            if pair not in exact:
                cancel.check()
                exact[pair] = joined_counts(rows, pair, joins, setting.sizes)
            expected = np.rint(model[pair]).astype(np.int64)
            for axis, join in enumerate(joins):
                expected = expected if join is None else joined(expected, join, axis)
            return int(np.abs(exact[pair] - expected).sum()) - penalty

        pair = questions.choice(open_pairs, scored, SENSITIVITY)
        measured.append(questions.counts(pair, shapes[pair][0]))
        pairs.append(pair)
        tree = CliqueTree.of(setting.sizes, [*groups, *pairs])
        begin, barriers = fit.potentials, setting.barriers
        fit = fitted(tree, measured, setting.rows, cancel, rounds=ROUNDS, begin=begin, barriers=barriers)
    return Tables(tuple(pairs), tuple(measured), fit)


def _expected(marginals: CliqueMarginals, setting: Setting, questions: Questions) -> dict[tuple[int, int], Doubles]:
    out = {}
    for a in range(len(setting.columns)):
        questions.cancel.check()
        for b, table in marginals.pairs(a):
            out[a, b] = setting.rows * table
    return out


def _small_enough(tree: CliqueTree, pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the pairs with which the model stays small; those that a clique holds already always do."""
    grown = [tree.grown(column) for column in range(len(tree.sizes))]
    left = MOST_CELLS - tree.cells
    return [(a, b) for a, b in pairs if min(grown[a][b], grown[b][a]) <= max(left, 0)]


AIM = Synthesiser(
    name="aim",
    title="Adaptive choice of pairs",
    help="measures every column, then repeatedly the pair of columns that the model fits worst",
    needs_target=False,
    queries=_queries,
    ask=_ask,
    closes_circles=True,
)
