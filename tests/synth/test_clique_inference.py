"""Cliques of columns: exact marginals beside brute force, fits, sizes, and rows drawn from them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from synth_cases import dependent_rows

from workbench.privacy.entropy import SeededEntropy
from workbench.signals.cancel import CancelToken
from workbench.synth.base import BARRIER
from workbench.synth.clique_fit import fitted_cliques, in_order
from workbench.synth.cliques import CliqueTree, spread, summed
from workbench.synth.row_sampler import sampled_rows
from workbench.synth.tree_fit import Measured

SIZES = (2, 3, 4, 2, 3)
SHAPES = {
    "tree": [(0, 1), (1, 2), (2, 3), (3, 4)],
    "circle": [(0, 1), (1, 2), (2, 3), (0, 3)],
    "two circles": [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (2, 4)],
    "apart": [(0, 1), (3, 4)],
    "none": [],
    "whole": [(0, 1, 2, 3, 4)],
}


def joint(tree: CliqueTree, potentials: list[np.ndarray]) -> np.ndarray:
    whole = sum(spread(p, c, range(len(tree.sizes))) for p, c in zip(potentials, tree.cliques, strict=True))
    out = np.exp(np.broadcast_to(whole, tree.sizes))
    return out / out.sum()


def drawn_potentials(tree: CliqueTree, seed: int) -> list[np.ndarray]:
    generator = np.random.default_rng(seed)
    return [generator.normal(0, 1.5, theta.shape) for theta in tree.flat()]


@pytest.mark.parametrize("shape", SHAPES)
def test_marginals_are_those_of_the_whole_table(shape: str) -> None:
    tree = CliqueTree.of(SIZES, SHAPES[shape])
    assert set(itertools.chain(*tree.cliques)) == set(range(5))
    assert all(any(set(g) <= set(c) for c in tree.cliques) for g in SHAPES[shape])
    potentials = drawn_potentials(tree, 5)
    whole, found = joint(tree, potentials), tree.marginals(potentials)
    every = tuple(range(5))
    for clique, table in zip(tree.cliques, found.tables, strict=True):
        assert np.allclose(table, summed(whole, every, clique), atol=1e-12)
    # The marginal of every pair, whether a clique holds it or not.
    pairs = {(a, b): table for a in every for b, table in found.pairs(a)}
    assert set(pairs) == set(itertools.combinations(every, 2))
    for pair, table in pairs.items():
        assert np.allclose(table, summed(whole, every, pair), atol=1e-12)
    # The steps that rows are drawn by multiply to the whole table.
    product = np.ones(SIZES)
    for before, column, chances in found.steps():
        axes = (*before, column)
        cells = chances.reshape([SIZES[i] for i in axes])
        order = sorted(range(len(axes)), key=lambda k: axes[k])
        product = product * spread(np.transpose(cells, order), sorted(axes), every)
    assert np.allclose(product, whole, atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_what_a_pair_may_add_is_not_under_estimated(shape: str) -> None:
    tree = CliqueTree.of(SIZES, SHAPES[shape])
    for a, b in itertools.combinations(range(5), 2):
        most = tree.cells + min(tree.grown(a)[b], tree.grown(b)[a])
        assert CliqueTree.of(SIZES, [*SHAPES[shape], (a, b)]).cells <= most


def exact_tables(codes: np.ndarray, groups: list[tuple[int, ...]]) -> list[Measured]:
    out = []
    for group in groups:
        code = np.ravel_multi_index(tuple(codes[:, i] for i in group), [SIZES[i] for i in group])
        shape = tuple(SIZES[i] for i in group)
        counts = np.bincount(code, minlength=math.prod(shape)).reshape(shape).astype(float)
        out.append(Measured(group, (None,) * len(group), counts, 1e-6, (0,) * len(group)))
    return out


def test_a_fit_of_exact_tables_that_close_a_circle_returns_them() -> None:
    codes = dependent_rows(4000, SIZES)
    groups = [(0, 1), (1, 2), (0, 2), (3, 4)]
    measured = exact_tables(codes, [*((i,) for i in range(5)), *groups])
    tree = CliqueTree.of(SIZES, groups)
    fit = fitted_cliques(tree, measured, 4000, [], [], CancelToken(), rounds=400)
    for table in measured[5:]:
        assert np.abs(fit.marginals.of(table.columns) * 4000 - table.counts).max() < 4000 * 2e-3
    # The same potentials in a tree of larger cliques are the same distribution.
    larger = CliqueTree.of(SIZES, [*groups, (2, 3)])
    again = fitted_cliques(larger, measured, 4000, fit.potentials, [], CancelToken(), rounds=0)
    assert np.allclose(again.marginals.of((0, 2)), fit.marginals.of((0, 2)), atol=1e-12)


def test_a_table_is_read_in_the_order_of_its_columns() -> None:
    table = Measured((3, 1), (None, None), np.arange(6.0).reshape(2, 3), 1.0, (0, 3))
    turned = in_order(table)
    assert (turned.columns, turned.ordered) == ((1, 3), (3, 0))
    assert (turned.counts == table.counts.T).all()


def test_rows_follow_the_cliques_and_never_what_cannot_occur() -> None:
    tree = CliqueTree.of(SIZES, [(0, 1, 2), (2, 3), (3, 4)])
    potentials = drawn_potentials(tree, 8)
    barrier = np.zeros((2, 3, 4))
    barrier[1, 2, 1:] = BARRIER
    home = tree.home((0, 1, 2))
    potentials[home] = potentials[home] + spread(barrier, (0, 1, 2), tree.cliques[home])
    model = tree.marginals(potentials)
    assert (model.of((0, 1, 2))[1, 2, 1:] == 0).all()
    rows = 30_000
    codes = sampled_rows(model, rows, SeededEntropy(3), CancelToken())
    assert not ((codes[:, 0] == 1) & (codes[:, 1] == 2) & (codes[:, 2] >= 1)).any()
    for clique in tree.cliques:
        code = np.ravel_multi_index(tuple(codes[:, i] for i in clique), [SIZES[i] for i in clique])
        counts = np.bincount(code, minlength=math.prod(SIZES[i] for i in clique))
        expected = model.of(clique).ravel() * rows
        # Rounded so that each is near its expectation; the rest is drawn: far within five deviations of free draws.
        assert (np.abs(counts - expected) <= 5 * np.sqrt(expected) + 2).all()
