"""Trees: marginals beside brute force, and the fit beside the exact solution."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from synth_cases import dependent_rows, rows_of

from workbench.params import CancelledError
from workbench.signals.cancel import CancelToken
from workbench.synth import tree_fit
from workbench.synth.base import joined_counts
from workbench.synth.tree import Tree
from workbench.synth.tree_fit import ROUNDS, Measured, Term, fitted

SIZES = (3, 2, 4, 2)
SHAPES = {
    "star": [(0, 1), (0, 2), (0, 3)],
    "chain": [(0, 1), (1, 2), (2, 3)],
    "fork": [(1, 0), (1, 2), (3, 1)],
}


def joint(tree: Tree, nodes: list[np.ndarray], edges: list[np.ndarray]) -> np.ndarray:
    """The distribution written out in full."""
    out = np.zeros(tree.sizes)
    for x in itertools.product(*map(range, tree.sizes)):
        theta = sum(nodes[i][x[i]] for i in range(len(x)))
        out[x] = theta + sum(t[x[a], x[b]] for (a, b), t in zip(tree.edges, edges, strict=True))
    out = np.exp(out)
    return np.asarray(out / out.sum())


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("root", [0, 2])
def test_marginals_are_those_of_the_joint_distribution(shape: str, root: int) -> None:
    generator = np.random.default_rng(8)
    tree = Tree.of(SIZES, SHAPES[shape], root)
    nodes = [generator.normal(0, 2, s) for s in SIZES]
    edges = [generator.normal(0, 2, (SIZES[a], SIZES[b])) for a, b in tree.edges]
    whole, found = joint(tree, nodes, edges), tree.marginals(nodes, edges)
    for i in range(4):
        assert found.nodes[i] == pytest.approx(whole.sum(axis=tuple(j for j in range(4) if j != i)))
    for (a, b), table in zip(tree.edges, found.tables, strict=True):
        wanted = whole.sum(axis=tuple(j for j in range(4) if j not in (a, b)))
        assert table == pytest.approx(wanted if a < b else wanted.T)


def exact(codes: np.ndarray, pairs: list[tuple[int, int]], variance: float) -> list[Measured]:
    rows = rows_of(codes)
    return [
        Measured(p, (None, None), joined_counts(rows, p, (None, None), SIZES).astype(float), variance, (0, 0))
        for p in pairs
    ]


@pytest.mark.parametrize("shape", SHAPES)
def test_exact_tables_are_fitted_exactly(shape: str) -> None:
    codes = dependent_rows(500, SIZES)
    tree = Tree.of(SIZES, SHAPES[shape], 0)
    model = fitted(tree, exact(codes, SHAPES[shape], 1.0), 500, CancelToken(), rounds=2000)
    for edge, (a, b) in enumerate(tree.edges):
        wanted = rows_of(codes).counts((a, b), (SIZES[a], SIZES[b])) / 500
        assert model.tables[edge] == pytest.approx(wanted, abs=2e-3)


def test_the_fit_is_the_least_squares_solution_on_the_polytope() -> None:
    """Two columns, one noisy table: the solution is the projection onto the simplex, known in closed form."""
    generator = np.random.default_rng(3)
    for _ in range(5):
        noisy = generator.normal(8, 15, (3, 4))
        measured = [Measured((0, 1), (None, None), noisy, 2.0, (0, 0))]
        model = fitted(Tree.of((3, 4), [(0, 1)], 0), measured, 100, CancelToken(), rounds=5000)
        low, high = noisy.min() - 100, noisy.max()
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (middle, high) if np.maximum(noisy - middle, 0).sum() > 100 else (low, middle)
        assert 100 * model.tables[0] == pytest.approx(np.maximum(noisy - low, 0), abs=0.5)


@pytest.mark.parametrize("alone", [True, False])
def test_the_fit_of_a_release_is_near_that_of_thousands_of_rounds(alone: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sparse tables of three skewed columns in a chain: the rest of the loss is below a hundredth of it."""
    draw = np.random.default_rng(6)
    codes = np.minimum(draw.exponential(1.2, (20_000, 3)).cumsum(axis=1), 15).astype(np.int32)
    places = [*(((i,) for i in range(3)) if alone else ()), (0, 1), (1, 2)]
    measured = []
    for columns in places:
        exact = rows_of(codes).counts(columns, (16,) * len(columns))
        noisy = exact + draw.laplace(0, 2, exact.shape)
        measured.append(Measured(columns, (None,) * len(columns), noisy, 8.0, (16,) * len(columns)))
    tree = Tree.of((16, 16, 16), [(0, 1), (1, 2)], 0)

    def loss(rounds: int) -> float:
        found = fitted(tree, measured, len(codes), CancelToken(), rounds)
        parts = [found.nodes[c[0]] if len(c) == 1 else found.tables[tree.edges.index(c)] for c in places]
        terms = [Term(table, 0, (16,) * len(table.columns), len(codes)) for table in measured]
        return sum(term.loss(part)[0] for term, part in zip(terms, parts, strict=True))

    usual = loss(ROUNDS)
    monkeypatch.setattr(tree_fit, "_ENOUGH", 0.0)
    assert usual < 1.01 * loss(3000)


def test_joined_cells_leave_the_rest_to_the_columns_alone() -> None:
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
    model = fitted(Tree.of((4, 2), [(0, 1)], 0), measured, 4000, CancelToken(), rounds=2000)
    assert 4000 * model.nodes[0] == pytest.approx(alone, abs=4)
    both = joined_counts(rows, (0, 1), (groups, None), (4, 2))
    assert 4000 * np.add.reduceat(model.tables[0], [0, 2], axis=0) == pytest.approx(both, abs=4)


def test_the_fit_stops_when_asked() -> None:
    token = CancelToken()
    token.cancel()
    with pytest.raises(CancelledError):
        fitted(Tree.of(SIZES, SHAPES["star"], 0), exact(dependent_rows(50, SIZES), SHAPES["star"], 1.0), 50, token)


def test_pairs_that_form_no_tree_are_a_bug() -> None:
    with pytest.raises(AssertionError):
        Tree.of((2, 2, 2), [(0, 1), (1, 0)], 0)
