"""Trees of cliques: marginals and rows beside brute force, and the fit beside the exact solution."""

import itertools
import math

import numpy as np
import pytest
from synth_cases import dependent_rows, rows_of

from workbench.params import CancelledError
from workbench.privacy.entropy import SeededEntropy
from workbench.signals.cancel import CancelToken
from workbench.synth import fit
from workbench.synth.base import BARRIER, joined_counts
from workbench.synth.cliques import CliqueTree, spread, summed
from workbench.synth.fit import ROUNDS, Measured, Term, fitted, in_order
from workbench.synth.row_sampler import sampled_rows

SIZES = (3, 2, 4, 2)
SHAPES = {
    "star": [(0, 1), (0, 2), (0, 3)],
    "chain": [(0, 1), (1, 2), (2, 3)],
    "fork": [(1, 0), (1, 2), (3, 1)],
}


def exact(codes: np.ndarray, pairs: list[tuple[int, int]], variance: float) -> list[Measured]:
    rows = rows_of(codes)
    return [
        Measured(p, (None, None), joined_counts(rows, p, (None, None), SIZES).astype(float), variance, (0, 0))
        for p in pairs
    ]


@pytest.mark.parametrize("shape", SHAPES)
def test_exact_tables_are_fitted_exactly(shape):
    codes = dependent_rows(500, SIZES)
    tree = CliqueTree.of(SIZES, SHAPES[shape])
    model = fitted(tree, exact(codes, SHAPES[shape], 1.0), 500, CancelToken(), rounds=2000).marginals
    for a, b in SHAPES[shape]:
        wanted = rows_of(codes).counts((a, b), (SIZES[a], SIZES[b])) / 500
        assert model.of((a, b)) == pytest.approx(wanted, abs=2e-3)


def test_the_fit_is_the_least_squares_solution_on_the_polytope():
    """Two columns, one noisy table: the solution is the projection onto the simplex, known in closed form."""
    generator = np.random.default_rng(3)
    for _ in range(5):
        noisy = generator.normal(8, 15, (3, 4))
        measured = [Measured((0, 1), (None, None), noisy, 2.0, (0, 0))]
        found = fitted(CliqueTree.of((3, 4), [(0, 1)]), measured, 100, CancelToken(), rounds=5000).marginals
        low, high = noisy.min() - 100, noisy.max()
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (middle, high) if np.maximum(noisy - middle, 0).sum() > 100 else (low, middle)
        assert 100 * found.tables[0] == pytest.approx(np.maximum(noisy - low, 0), abs=0.5)


@pytest.mark.parametrize("alone", [True, False])
def test_the_fit_of_a_release_is_near_that_of_thousands_of_rounds(alone, monkeypatch):
    """Sparse tables of three skewed columns in a chain: the rest of the loss is below a hundredth of it."""
    draw = np.random.default_rng(6)
    codes = np.minimum(draw.exponential(1.2, (20_000, 3)).cumsum(axis=1), 15).astype(np.int32)
    places = [*(((i,) for i in range(3)) if alone else ()), (0, 1), (1, 2)]
    measured = []
    for columns in places:
        exact = rows_of(codes).counts(columns, (16,) * len(columns))
        noisy = exact + draw.laplace(0, 2, exact.shape)
        measured.append(Measured(columns, (None,) * len(columns), noisy, 8.0, (16,) * len(columns)))
    tree = CliqueTree.of((16, 16, 16), [(0, 1), (1, 2)])

    def loss(rounds: int) -> float:
        found = fitted(tree, measured, len(codes), CancelToken(), rounds).marginals
        terms = [Term(table, tree, len(codes)) for table in measured]
        return sum(term.loss(found.of(term.columns))[0] for term in terms)

    usual = loss(ROUNDS)
    monkeypatch.setattr(fit, "_ENOUGH", 0.0)
    assert usual < 1.01 * loss(3000)


def test_joined_cells_leave_the_rest_to_the_columns_alone():
    codes = dependent_rows(4000, (4, 2))
    rows = rows_of(codes)
    alone = rows.counts((0,), (4,)).astype(float)
    groups = np.array([0, 0, 1, 1])
    measured = [
        Measured((0,), (None,), alone, 1.0, (0,)),
        Measured(
            (1, 0), (None, groups), joined_counts(rows, (1, 0), (None, groups), (4, 2)).astype(float), 1.0, (0, 0)
        ),
    ]
    model = fitted(CliqueTree.of((4, 2), [(0, 1)]), measured, 4000, CancelToken(), rounds=2000).marginals
    assert 4000 * model.of((0,)) == pytest.approx(alone, abs=4)
    both = joined_counts(rows, (0, 1), (groups, None), (4, 2))
    assert 4000 * np.add.reduceat(model.tables[0], [0, 2], axis=0) == pytest.approx(both, abs=4)


def test_the_fit_stops_when_asked():
    token = CancelToken()
    token.cancel()
    with pytest.raises(CancelledError):
        fitted(CliqueTree.of(SIZES, SHAPES["star"]), exact(dependent_rows(50, SIZES), SHAPES["star"], 1.0), 50, token)


CLIQUE_SIZES = (2, 3, 4, 2, 3)
CLIQUE_SHAPES = {
    "tree": [(0, 1), (1, 2), (2, 3), (3, 4)],
    "star": [(0, 2), (1, 2), (2, 3), (2, 4)],
    "circle": [(0, 1), (1, 2), (2, 3), (0, 3)],
    "two circles": [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (2, 4)],
    "apart": [(0, 1), (3, 4)],
    "none": [],
    "whole": [(0, 1, 2, 3, 4)],
}


def joint_of_cliques(tree: CliqueTree, potentials: list[np.ndarray]) -> np.ndarray:
    whole = sum(spread(p, c, range(len(tree.sizes))) for p, c in zip(potentials, tree.cliques, strict=True))
    out = np.exp(np.broadcast_to(whole, tree.sizes))
    return out / out.sum()


def drawn_potentials(tree: CliqueTree, seed: int) -> list[np.ndarray]:
    generator = np.random.default_rng(seed)
    return [generator.normal(0, 1.5, theta.shape) for theta in tree.flat()]


@pytest.mark.parametrize("shape", CLIQUE_SHAPES)
@pytest.mark.parametrize("root", [0, 3])
def test_marginals_are_those_of_the_whole_table(shape, root):
    tree = CliqueTree.of(CLIQUE_SIZES, CLIQUE_SHAPES[shape], root)
    assert set(itertools.chain(*tree.cliques)) == set(range(5))
    assert all(any(set(g) <= set(c) for c in tree.cliques) for g in CLIQUE_SHAPES[shape])
    potentials = drawn_potentials(tree, 5)
    whole, found = joint_of_cliques(tree, potentials), tree.marginals(potentials)
    every = tuple(range(5))
    for clique, table in zip(tree.cliques, found.tables, strict=True):
        assert np.allclose(table, summed(whole, every, clique), atol=1e-12)
    # The marginal of every pair, whether a clique holds it or not.
    pairs = {(a, b): table for a in every for b, table in found.pairs(a)}
    assert set(pairs) == set(itertools.combinations(every, 2))
    for pair, table in pairs.items():
        assert np.allclose(table, summed(whole, every, pair), atol=1e-12)
    # The steps that rows are drawn by multiply to the whole table.
    assert next(found.steps())[:2] == ((), root)
    product = np.ones(CLIQUE_SIZES)
    for before, column, chances in found.steps():
        axes = (*before, column)
        cells = chances.reshape([CLIQUE_SIZES[i] for i in axes])
        order = sorted(range(len(axes)), key=lambda k: axes[k])
        product = product * spread(np.transpose(cells, order), sorted(axes), every)
    assert np.allclose(product, whole, atol=1e-12)


@pytest.mark.parametrize("shape", CLIQUE_SHAPES)
def test_what_a_pair_may_add_is_not_under_estimated(shape):
    tree = CliqueTree.of(CLIQUE_SIZES, CLIQUE_SHAPES[shape])
    for a, b in itertools.combinations(range(5), 2):
        most = tree.cells + min(tree.grown(a)[b], tree.grown(b)[a])
        assert CliqueTree.of(CLIQUE_SIZES, [*CLIQUE_SHAPES[shape], (a, b)]).cells <= most


def exact_tables(codes: np.ndarray, groups: list[tuple[int, ...]]) -> list[Measured]:
    out = []
    for group in groups:
        code = np.ravel_multi_index(tuple(codes[:, i] for i in group), [CLIQUE_SIZES[i] for i in group])
        shape = tuple(CLIQUE_SIZES[i] for i in group)
        counts = np.bincount(code, minlength=math.prod(shape)).reshape(shape).astype(float)
        out.append(Measured(group, (None,) * len(group), counts, 1e-6, (0,) * len(group)))
    return out


def test_a_fit_of_exact_tables_that_close_a_circle_returns_them():
    codes = dependent_rows(4000, CLIQUE_SIZES)
    groups = [(0, 1), (1, 2), (0, 2), (3, 4)]
    measured = exact_tables(codes, [*((i,) for i in range(5)), *groups])
    tree = CliqueTree.of(CLIQUE_SIZES, groups)
    made = fitted(tree, measured, 4000, CancelToken(), rounds=400)
    for table in measured[5:]:
        assert np.abs(made.marginals.of(table.columns) * 4000 - table.counts).max() < 4000 * 2e-3
    # The same potentials in a tree of larger cliques are the same distribution.
    larger = CliqueTree.of(CLIQUE_SIZES, [*groups, (2, 3)])
    again = fitted(larger, measured, 4000, CancelToken(), rounds=0, begin=made.potentials)
    assert np.allclose(again.marginals.of((0, 2)), made.marginals.of((0, 2)), atol=1e-12)


def test_a_table_is_read_in_the_order_of_its_columns():
    table = Measured((3, 1), (None, None), np.arange(6.0).reshape(2, 3), 1.0, (0, 3))
    turned = in_order(table)
    assert (turned.columns, turned.ordered) == ((1, 3), (3, 0))
    assert (turned.counts == table.counts.T).all()


def test_rows_follow_the_cliques_and_never_what_cannot_occur():
    tree = CliqueTree.of(CLIQUE_SIZES, [(0, 1, 2), (2, 3), (3, 4)])
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
        code = np.ravel_multi_index(tuple(codes[:, i] for i in clique), [CLIQUE_SIZES[i] for i in clique])
        counts = np.bincount(code, minlength=math.prod(CLIQUE_SIZES[i] for i in clique))
        expected = model.of(clique).ravel() * rows
        # Rounded so that each is near its expectation; the rest is drawn: far within five deviations of free draws.
        assert (np.abs(counts - expected) <= 5 * np.sqrt(expected) + 2).all()
