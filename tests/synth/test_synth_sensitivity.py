"""Sensitivity of every query and score, by trying every tiny table and every neighbour of it."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from synth_cases import names_of, questions_of, rows_of, setting_of

from workbench.privacy.central.laplace import StudyNoise
from workbench.privacy.entropy import SeededEntropy
from workbench.synth import MARGINALS, TAN, tan
from workbench.synth.base import Coarser, Setting, groups_of, joined_counts
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
def test_a_table_moves_by_one_and_by_two(count, columns, joins):
    groups = [np.array([0, 1, 0][: SIZES[c]]) if joins else None for c in columns]
    moved = {"zero-out": 0, "replace-one": 0}
    for relation, one, other in neighbours(count):
        a, b = (joined_counts(rows, columns, groups, SIZES) for rows in (one, other))
        moved[relation] = max(moved[relation], int(np.abs(a - b).sum()))
    assert moved["zero-out"] == 1
    assert moved["replace-one"] == 2 or (joins and columns == (1,)) or len(columns) == 1
    assert moved["replace-one"] <= 2


class Asked(StudyNoise):
    """Notes what the noise is to cover; all answers are noughts, so that the next question is the same."""

    def __init__(self) -> None:
        super().__init__(np.random.default_rng(0))
        self.asked: list[tuple[Any, int]] = []

    def integers(self, values: Sequence[int], sensitivity: int, epsilon: float) -> list[int]:
        self.asked.append((np.array(values), sensitivity))
        return [0] * len(values)


@pytest.mark.parametrize("method", [MARGINALS, TAN])
def test_what_is_asked_moves_by_no_more_than_is_said(method):
    for relation, *sides in neighbours(2):
        noises = Asked(), Asked()
        for rows, noise in zip(sides, noises, strict=True):
            method.ask(questions_of(method, setting_of(names_of(*SIZES), 2, "1"), rows, noise))
        for (a, said), (b, again) in zip(*(noise.asked for noise in noises), strict=True):
            assert said == again
            assert np.abs(a - b).sum() <= said * (1 if relation == "zero-out" else 2)


def settings() -> Iterator[tuple[Setting, list[list[float]], float]]:
    columns = names_of(*SIZES)
    for alone in ([[0.5, 0.5], [0.2, 0.3, 0.5]], [[1.0, 0.0], [0.0, 0.0, 1.0]], [[0.9, 0.1], [0.34, 0.33, 0.33]]):
        for share in (0.01, 0.7, 50.0):
            yield setting_of(columns, 3), alone, share


def test_a_score_is_a_whole_number_that_moves_by_exactly_one():
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


def test_what_a_score_is_compared_with_follows_from_released_shares_and_public_facts():
    """The function that makes it is not given the rows: equal arguments, equal tables."""
    for setting, alone, share in settings():
        one, other = (expected_tables(setting, [np.array(a) for a in alone], share) for _ in range(2))
        assert one.keys() == other.keys()
        assert all((one[k][1] == other[k][1]).all() and one[k][2] == other[k][2] for k in one)


@pytest.mark.parametrize("ordered", [0, 5, 6])
@pytest.mark.parametrize("most", [1, 2, 3, 4, 5, 6, 9])
def test_joined_cells_are_a_partition(ordered, most):
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


THREE = (2, 3, 2)
CELLS_OF_THREE = list(itertools.product(*map(range, THREE)))


@pytest.mark.parametrize("shares", [[0.5, 0.5], [1.0, 0.0], [0.9, 0.1]])
@pytest.mark.parametrize("joined", [False, True])
def test_the_score_with_a_target_moves_by_one_whatever_is_joined(shares, joined):
    """Every table of two rows of three columns, each row of it emptied and replaced."""
    setting = setting_of(names_of(*THREE), 2)
    alone = [np.array(shares), np.array([0.2, 0.3, 0.5]), np.array(shares[::-1])]
    groups = [None, np.array([0, 1, 1]) if joined else None, None]
    coarser = Coarser.of(setting, alone, groups)
    for one, other in itertools.combinations_with_replacement(CELLS_OF_THREE, 2):
        whole = tan.score(rows_of([one, other]), (0, 1, 2), coarser, setting)
        assert isinstance(whole, int)
        for present in ([True, False], [False, True]):
            assert abs(whole - tan.score(rows_of([one, other], present), (0, 1, 2), coarser, setting)) == 1
        for instead in CELLS_OF_THREE:
            assert abs(whole - tan.score(rows_of([one, instead]), (0, 1, 2), coarser, setting)) <= 2


def test_cells_of_a_model_part_what_cannot_occur_and_rows_lie_in_them_as_released():
    """Cells 2 and 3 of the first column are one group; cell 3 cannot occur beside the second column's first cell."""
    mask = np.zeros((6, 2), dtype=bool)
    mask[3:, 0] = True
    setting = replace(setting_of(names_of(6, 2, ordered=True), 100), impossible=(((0, 1), mask),))
    alone = [np.array([0.1, 0.3, 0.3, 0.3, 0.0, 0.0]), np.array([0.5, 0.5])]
    coarser = Coarser.of(setting, alone, [np.array([0, 0, 1, 1, 2, 2]), None])
    assert coarser.groups[0].tolist() == [0, 0, 1, 2, 3, 3]
    assert (coarser.sizes, coarser.ordered) == ((4, 2), (4, 2))
    assert coarser.impossible[0][1].tolist() == [[False, False], [False, False], [True, False], [True, False]]
    assert coarser.shares[0] == pytest.approx([0.4, 0.3, 0.3, 0.0])
    codes = np.repeat(np.array([[0, 1], [2, 1], [3, 0]]), 4000, axis=0)
    drawn = coarser.drawn(codes, SeededEntropy(1), {})
    assert (coarser.groups[0][drawn[:, 0]] == codes[:, 0]).all()
    assert (drawn[:, 1] == codes[:, 1]).all()
    assert (drawn[:4000, 0] == 1).mean() == pytest.approx(0.75, abs=0.03)
    assert (drawn[8000:, 0] == 5).mean() == pytest.approx(0.5, abs=0.04)  # where nothing is known, evenly
