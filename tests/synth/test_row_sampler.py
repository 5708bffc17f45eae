"""Rows drawn from a tree: how many, which, and that nothing but the tree makes columns dependent."""

from __future__ import annotations

import numpy as np
import pytest
from synth_cases import dependent_rows, rows_of

from workbench.params import CancelledError
from workbench.privacy.entropy import SeededEntropy
from workbench.signals.cancel import CancelToken
from workbench.synth import row_sampler
from workbench.synth.row_sampler import rounded, sampled_rows
from workbench.synth.tree import Marginals, Tree

SIZES = (2, 5, 5, 6)


def star(codes: np.ndarray, sizes: tuple[int, ...] = SIZES) -> Marginals:
    """The star about the first column that has the tables of ``codes``."""
    tree = Tree.of(sizes, [(0, j) for j in range(1, len(sizes))], 0)
    rows = rows_of(codes)
    nodes = tuple(rows.counts((j,), (s,)) / len(codes) for j, s in enumerate(sizes))
    return Marginals(tree, nodes, tuple(rows.counts(e, (sizes[0], sizes[e[1]])) / len(codes) for e in tree.edges))


def test_rounded_numbers_sum_and_are_the_nearest() -> None:
    generator = np.random.default_rng(6)
    for seed in range(200):
        chances = generator.dirichlet(np.full(7, 0.4)) * (generator.random(7) < 0.8)
        if not chances.any():
            continue
        total = int(generator.integers(0, 50))
        parts = rounded(chances, total, SeededEntropy(seed))
        assert parts.sum() == total
        assert (parts[chances == 0] == 0).all()
        assert (np.abs(parts - total * chances / chances.sum()) < 1 + 1e-9).all()


def test_rounded_numbers_are_unbiased() -> None:
    chances = np.array([0.05, 0.15, 0.3, 0.5])
    mean = np.mean([rounded(chances, 3, SeededEntropy(seed)) for seed in range(4000)], axis=0)
    assert mean == pytest.approx(3 * chances, abs=0.04)  # five standard deviations of a half are 0.04


@pytest.mark.parametrize("evenly", [True, False])
@pytest.mark.parametrize("rows", [1, 7, 400, 1000])
def test_the_tables_of_the_tree_come_back_and_there_are_always_n_rows(
    evenly: bool, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_sampler, "MOST_DEALT", 10**6 if evenly else 0)
    model = star(dependent_rows(400, SIZES))
    drawn = sampled_rows(model, rows, SeededEntropy(5), CancelToken())
    assert drawn.shape == (rows, 4)
    assert (drawn >= 0).all()
    assert (drawn < np.array(SIZES)).all()
    for (a, b), table in zip(model.tree.edges, model.tables, strict=True):
        found = rows_of(drawn).counts((a, b), (SIZES[a], SIZES[b]))
        assert np.abs(found - rows * table).max() < 2.01


@pytest.mark.parametrize("evenly", [True, False])
def test_rounding_does_not_make_siblings_dependent(evenly: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows a cell, so that rounding decides much: given the root, two children stay independent."""
    monkeypatch.setattr(row_sampler, "MOST_DEALT", 10**6 if evenly else 0)
    generator = np.random.default_rng(2)
    codes = np.column_stack([np.zeros(300, int), *(generator.integers(0, 40, 300) for _ in range(3))])
    model = star(codes, (1, 40, 40, 40))
    found = [np.corrcoef(sampled_rows(model, 300, SeededEntropy(s), CancelToken())[:, 1:].T) for s in range(20)]
    beside = np.array(found)[:, [0, 0, 1], [1, 2, 2]]
    assert np.abs(beside.mean()) < 0.04  # sixty correlations of 300 rows have a mean within 0.0075 · 5
    assert np.abs(beside).max() < 0.3


def test_dealing_evenly_leaves_less_chance_association(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = dependent_rows(600, SIZES)
    model = star(codes)
    wanted = (model.conditionals(0).T * model.nodes[0]) @ model.conditionals(1)

    def apart(most: int) -> float:
        monkeypatch.setattr(row_sampler, "MOST_DEALT", most)
        drawn = [sampled_rows(model, 600, SeededEntropy(s), CancelToken()) for s in range(5)]
        return float(np.mean([np.abs(rows_of(d).counts((1, 2), (5, 5)) / 600 - wanted).sum() for d in drawn]))

    assert apart(10**6) < apart(0) / 2


def test_rows_come_in_random_order_and_the_sampler_stops_when_asked() -> None:
    model = star(dependent_rows(400, SIZES))
    drawn = sampled_rows(model, 400, SeededEntropy(5), CancelToken())
    assert (np.diff(drawn[:, 0]) != 0).sum() > 100
    token = CancelToken()
    token.cancel()
    with pytest.raises(CancelledError):
        sampled_rows(model, 400, SeededEntropy(5), token)
