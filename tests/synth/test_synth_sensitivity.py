"""Sensitivity of every query and score, by trying every tiny table and every neighbour of it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from synth_cases import names_of, rows_of, setting_of

from workbench.synth.base import Setting, groups_of, joined_counts
from workbench.synth.columns import CodedRows
from workbench.synth.mst import SENSITIVITY, expected_tables, score

SIZES = (2, 3)
CELLS = list(itertools.product(*map(range, SIZES)))


def neighbours(count: int) -> Iterator[tuple[str, CodedRows, CodedRows]]:
    """Every table of ``count`` rows beside it with its last row emptied, and with its last row replaced."""
    for rest in itertools.combinations_with_replacement(CELLS, count - 1):
        for last in CELLS:
            codes, whole = [*rest, last], [True] * count
            yield "zero-out", rows_of(codes), rows_of(codes, [*whole[:-1], False])
            for other in CELLS:
                if other != last:
                    yield "replace-one", rows_of(codes), rows_of([*rest, other])


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("columns", [(0,), (1,), (0, 1), (1, 0)])
@pytest.mark.parametrize("joins", [False, True])
def test_a_table_moves_by_one_and_by_two(count: int, columns: tuple[int, ...], joins: bool) -> None:
    groups = [np.array([0, 1, 0][: SIZES[c]]) if joins else None for c in columns]
    moved = {"zero-out": 0, "replace-one": 0}
    for relation, one, other in neighbours(count):
        a, b = (joined_counts(rows, columns, groups, SIZES) for rows in (one, other))
        moved[relation] = max(moved[relation], int(np.abs(a - b).sum()))
    assert moved["zero-out"] == 1
    assert moved["replace-one"] == 2 or (joins and columns == (1,)) or len(columns) == 1
    assert moved["replace-one"] <= 2


def settings() -> Iterator[tuple[Setting, list[list[float]], float]]:
    columns = names_of(*SIZES)
    for alone in ([[0.5, 0.5], [0.2, 0.3, 0.5]], [[1.0, 0.0], [0.0, 0.0, 1.0]], [[0.9, 0.1], [0.34, 0.33, 0.33]]):
        for share in (0.01, 0.7, 50.0):
            yield setting_of(columns, 3), alone, share


def test_a_score_is_a_whole_number_that_moves_by_exactly_one() -> None:
    assert SENSITIVITY == 1
    for setting, alone, share in settings():
        tables = expected_tables(setting, [np.array(a) for a in alone], share)
        groups, expected, penalty = tables[0, 1]
        assert expected.dtype == np.int64
        assert isinstance(penalty, int)
        for relation, one, other in neighbours(3):
            a, b = (score(rows, (0, 1), groups, expected, setting) for rows in (one, other))
            if relation == "zero-out":
                assert abs(a - b) == 1
            else:
                assert abs(a - b) <= 2


def test_what_a_score_is_compared_with_follows_from_released_shares_and_public_facts() -> None:
    """The function that makes it is not given the rows: equal arguments, equal tables."""
    for setting, alone, share in settings():
        one, other = (expected_tables(setting, [np.array(a) for a in alone], share) for _ in range(2))
        assert one.keys() == other.keys()
        assert all((one[k][1] == other[k][1]).all() and one[k][2] == other[k][2] for k in one)


@pytest.mark.parametrize("ordered", [0, 5, 6])
@pytest.mark.parametrize("most", [1, 2, 3, 4, 5, 6, 9])
def test_joined_cells_are_a_partition(ordered: int, most: int) -> None:
    for seed in range(20):
        shares = np.random.default_rng(seed).dirichlet(np.full(6, 0.3))
        groups = groups_of(shares, ordered, most)
        if most >= 6:
            assert groups is None
            continue
        assert groups is not None
        assert sorted(set(groups.tolist())) == list(range(groups.max() + 1))
        assert groups.max() < max(most, 2 if ordered == 5 else 1)
        if ordered:
            assert (np.diff(groups[:ordered]) >= 0).all()
