"""Neighbours of a forest in whole numbers: nothing that is asked moves further than it is declared to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from fake_noise import Scripted
from hypothesis import given
from hypothesis import strategies as st

from workbench.data.schema import Attribute
from workbench.learners.forest.estimator import ForestParameters, ForestRegression, RandomForest
from workbench.learners.forest.trees import UNIT, Columns, Goal, Split, split_losses
from workbench.privacy.accounting.event import floor_double

ATTRIBUTES = (
    Attribute(name="x", kind="real", lower=-3, upper=5),
    Attribute(name="gap", kind="integer", lower=0, upper=3, missing="own-value"),
    Attribute(name="colour", kind="category", domain=("red", "green", "blue")),
)
CLASSES = Attribute(name="group", kind="category", domain=("a", "b", "c"))
NUMBERS = Attribute(name="y", kind="real", lower=0, upper=10)
Record = tuple[float, float, float, float]
Asked = list[tuple[tuple[int, ...], int, float]]


def forest(target: Attribute, noise: Any, epsilon: float, **more: float) -> RandomForest | ForestRegression:
    parameters = ForestParameters.from_plain({"epsilon": epsilon, "ranges": "declared", **more})
    return (ForestRegression if target.numeric else RandomForest)(ATTRIBUTES, target, parameters, noise)


def asked(rows: Sequence[Record], target: Attribute, epsilon: float, seed: int) -> Asked:
    noise = Scripted(seed)
    y = np.array([r[3] for r in rows])
    forest(target, noise, epsilon).fit([r[:3] for r in rows], y)
    return noise.asked


@pytest.mark.parametrize("target", [CLASSES, NUMBERS])
@pytest.mark.parametrize("epsilon", [0.3, 700.0, 20_000.0])
def test_the_shares_sum_to_epsilon_and_are_those_of_the_noise(target: Attribute, epsilon: float) -> None:
    noise = Scripted(1)
    learner = forest(target, noise, epsilon).fit([(1.0, 2.0, 0.0)] * 3, np.array([1, 0, 2]))
    events = learner.events()
    assert float(sum(e.epsilon for e in events)) == epsilon
    assert [floor_double(e.epsilon) for e in events] == [share for *_, share in noise.asked]
    assert [e.label for e in events] == list(learner.model_.setting.lengths())


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=8),
    st.integers(0, 7),
    st.sampled_from([2, 4]),
    st.booleans(),
)
def test_a_row_moves_the_losses_of_its_node_upwards_and_by_one_unit_at_most(
    rows: list[tuple[int, int, int]], removed: int, parts: int, numeric: bool
) -> None:
    goal = Goal(NUMBERS if numeric else CLASSES)
    split = Split((5,), parts)
    cells, nodes, kinds = (np.array(column) for column in zip(*rows, strict=True))
    kinds = kinds * 9 if numeric else kinds
    keep = np.arange(len(rows)) != removed % len(rows)
    whole = split_losses(cells[:, None], kinds, nodes, 4, split, 0, goal)
    part = split_losses(cells[keep][:, None], kinds[keep], nodes[keep], 4, split, 0, goal)
    moved = whole - part
    assert whole.shape == (4, 4 if parts == 2 else 1)
    assert ((moved >= 0) & (moved <= UNIT)).all()
    assert not moved[np.arange(4) != nodes[removed % len(rows)]].any()
    np.testing.assert_array_equal(whole, np.rint(whole))


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2)), min_size=1, max_size=12))
def test_the_loss_of_classes_is_the_number_of_rows_of_other_classes(rows: list[tuple[int, int]]) -> None:
    cells, kinds = (np.array(column) for column in zip(*rows, strict=True))
    found = split_losses(cells[:, None], kinds, np.zeros_like(cells), 1, Split((5,), 2), 0, Goal(CLASSES))[0]
    for border, loss in enumerate(found):
        sides = (kinds[cells <= border], kinds[cells > border])
        assert loss == UNIT * sum(len(side) - np.bincount(side, minlength=3).max() for side in sides)


def test_the_loss_of_numbers_is_their_distance_and_limited() -> None:
    goal = Goal(NUMBERS)
    assert goal.losses.min() == 0
    assert goal.losses.max() == UNIT
    assert (goal.losses[0, 10:] == UNIT).all()
    kinds, weights = goal.read(np.array([-3.0, 0.0, 5.0, 10.0, 99.0]))
    assert kinds.tolist() == [0, 0, 15, 31, 31]
    assert (weights.sum(axis=1) == goal.weight).all()
    assert weights[:, 1].tolist() == [0, 0, goal.weight // 2, goal.weight, goal.weight]


def test_the_cells_of_a_row_depend_on_nothing_but_itself() -> None:
    columns = Columns(ATTRIBUTES)
    # x, gap, gap is missing, three colours, and the mean of x and gap.
    assert columns.sizes == (16, 4, 2, 2, 2, 2, 64)
    rows = [(-9.0, 0.0, 0.0), (5.0, 3.0, 2.0), (1.0, np.nan, 1.0), (-1.0, 1.0, 2.0)]
    together = columns.cells(rows)
    assert together[:3].tolist() == [[0, 0, 0, 1, 0, 0, 0], [15, 3, 0, 0, 0, 1, 63], [7, 1, 1, 0, 1, 0, 31]]
    for row, alone in zip(rows, together, strict=True):
        np.testing.assert_array_equal(columns.cells([row])[0], alone)
    assert Columns(ATTRIBUTES[:1]).sizes == (16,)  # the mean of one column would be that column
    pair = Columns((Attribute(name="b", kind="boolean"), Attribute(name="n", kind="integer", lower=1, upper=7)))
    assert pair.sizes == (2, 7, 64)
    values = pair.cells([(0, n) for n in range(1, 8)])
    assert values[:, 1].tolist() == list(range(7))
    assert pair.cells([(1, 1)])[0, 0] == 1


@pytest.mark.parametrize("parts", [2, 4, 8])
def test_rows_are_sent_where_the_losses_said(parts: int) -> None:
    split = Split((16, 2, 5), parts)
    generator = np.random.default_rng(parts)
    cells = np.column_stack([generator.integers(0, size, 40) for size in split.sizes])
    kinds = generator.integers(0, 3, 40)
    way = 0
    for column, size in enumerate(split.sizes):
        histogram = np.zeros((1, size, 3))
        np.add.at(histogram, (0, cells[:, column], kinds), 1)
        for sent in split.children(histogram, column)[0]:
            children = split.child(cells, np.full(40, way))
            counted = np.zeros((parts, 3))
            np.add.at(counted, (children, kinds), 1)
            np.testing.assert_array_equal(counted, sent)
            way += 1
    assert way == split.starts[-1] == (20 if parts == 2 else 3)


def test_one_tree_looks_at_every_column_and_several_differ() -> None:
    (alone,) = forest(CLASSES, Scripted(0), 5.0)._setting(3).looked_at()
    assert all(sorted(level) == list(range(7)) for level in alone)
    several = list(forest(CLASSES, Scripted(0), 3000.0)._setting(3).looked_at())
    assert len({tuple(tree) for tree in several}) == len(several) == 3
    assert all(len(set(level)) == 4 for tree in several for level in tree)
    # From a fixed seed: what is looked at depends on no row and on no other fit.
    assert several == list(forest(CLASSES, Scripted(0), 3000.0)._setting(3).looked_at())
