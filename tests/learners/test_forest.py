"""Forests: accurate with noise, near scikit-learn's without, and nothing published but what is paid for."""

from collections.abc import Sequence
from typing import Any

import classification_tables as classes
import numpy as np
import pytest
import regression_tables as numbers
from fake_noise import Scripted
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor

from workbench.data.schema import Attribute
from workbench.learners.forest.estimator import (
    ClassModel,
    ForestParameters,
    ForestRegression,
    NumberModel,
    RandomForest,
)
from workbench.learners.forest.trees import UNIT, Columns, Goal, Split, leaf_shares, split_losses
from workbench.params import ParameterError
from workbench.work.noise import Exact, Study


def fitted(data: Any, epsilon: float | None, repeat: int = 0, **more: float) -> RandomForest | ForestRegression:
    noise = Exact() if epsilon is None else Study(np.random.default_rng([20240601, repeat]))
    parameters = ForestParameters.from_plain({"epsilon": epsilon, **more})
    train, _ = data.split(repeat)
    kind = ForestRegression if data.target.numeric else RandomForest
    return kind(data.attributes, data.target, parameters, noise).fit(data.X[train], data.y[train])


def figure(data: Any, said: Any, repeat: int) -> float:
    _, test = data.split(repeat)
    if data.target.numeric:
        return float(1 - ((data.y[test] - said) ** 2).mean() / data.y[test].var())
    return float((data.y[test] == said).mean())


def mean(data: Any, epsilon: float | None, repeats: int = 20) -> float:
    found = []
    for repeat in range(repeats):
        _, test = data.split(repeat)
        found.append(figure(data, fitted(data, epsilon, repeat).predict(data.X[test]), repeat))
    return float(np.mean(found))


# diffprivlib 0.6.6 on the same splits: .654, .660, .663, .661, .661; each floor is two deviations below what is found.
@pytest.mark.parametrize(("epsilon", "least"), [(0.1, 0.655), (0.3, 0.7), (1.0, 0.725), (3.0, 0.725), (10.0, 0.73)])
def test_diabetes(shared_data, epsilon, least):
    assert mean(classes.diabetes(shared_data), epsilon) > least


# diffprivlib 0.6.6: .488, .733, .797, .850, .850.
@pytest.mark.parametrize(("epsilon", "least"), [(0.1, 0.46), (0.3, 0.78), (1.0, 0.92), (3.0, 0.93), (10.0, 0.92)])
def test_iris(epsilon, least):
    assert mean(classes.iris(), epsilon) > least


# diffprivlib 0.6.6: .767, .815, .821, .835, .836.
@pytest.mark.parametrize(("epsilon", "least"), [(0.1, 0.77), (0.3, 0.885), (1.0, 0.915), (3.0, 0.935), (10.0, 0.93)])
def test_breast_cancer(epsilon, least):
    assert mean(classes.breast_cancer(), epsilon) > least


@pytest.mark.parametrize(("epsilon", "least"), [(0.1, -0.15), (0.3, 0.3), (1.0, 0.57), (3.0, 0.64), (10.0, 0.7)])
def test_boston(shared_data, epsilon, least):
    assert mean(numbers.boston(shared_data), epsilon) > least


@pytest.mark.parametrize(("epsilon", "least"), [(0.1, -0.1), (0.3, 0.09), (1.0, 0.22), (3.0, 0.23), (10.0, 0.25)])
def test_diabetes_progression(epsilon, least):
    assert mean(numbers.diabetes_progression(), epsilon) > least


@pytest.mark.parametrize("reference", [RandomForestClassifier, ExtraTreesClassifier])
@pytest.mark.parametrize("name", ["iris", "breast_cancer"])
def test_without_noise_classes_are_found_as_scikit_learn_finds_them(name, reference):
    data = getattr(classes, name)()
    theirs = []
    for repeat in range(3):
        train, test = data.split(repeat)
        model = reference(50, random_state=0).fit(data.X[train], data.y[train])
        theirs.append(figure(data, model.predict(data.X[test]), repeat))
    assert mean(data, None, 3) > np.mean(theirs) - 0.05


def test_without_noise_numbers_are_found_as_scikit_learn_finds_them(shared_data):
    data = numbers.boston(shared_data)
    theirs = []
    for repeat in range(3):
        train, test = data.split(repeat)
        model = RandomForestRegressor(50, random_state=0).fit(data.X[train], data.y[train])
        theirs.append(figure(data, model.predict(data.X[test]), repeat))
    assert mean(data, None, 3) > np.mean(theirs) - 0.05


def test_without_noise_a_tree_finds_the_border_and_counts_the_rows():
    generator = np.random.default_rng(3)
    X = np.column_stack([generator.uniform(0, 16, 400), generator.uniform(-1, 1, 400)])
    y = (X[:, 0] > 11).astype(np.int64)
    attributes = (
        Attribute(name="x", kind="real", lower=0, upper=16),
        Attribute(name="nothing", kind="real", lower=-1, upper=1),
    )
    target = Attribute(name="y", kind="boolean")
    parameters = ForestParameters(trees=1, depth=1)
    model = RandomForest(attributes, target, parameters, Exact()).fit(X, y).model_
    low, high = int((y == 0).sum()), int((y == 1).sum())
    # The eleventh border of the first column; every row of a class lies on one side of it.
    assert model.answers == {"tree 1: split 1": [10], "tree 1: leaves": [low, 0, 0, high]}
    np.testing.assert_allclose(model.predict_proba([[10.9, 0], [11.1, 0]]), [[1, 0], [0, 1]], atol=0.1)
    line = ForestRegression(
        attributes, Attribute(name="z", kind="real", lower=0, upper=100), ForestParameters(trees=1, depth=1), Exact()
    ).fit(X, 20.0 + 60.0 * y)
    np.testing.assert_allclose(line.predict([[10.9, 0], [11.1, 0]]), [20, 80], atol=3)


def test_what_one_column_says_in_some_rows_alone_is_seen_and_files_of_format_3_mean_what_they_meant():
    generator = np.random.default_rng(7)
    names = ("yes", "no")
    attributes = (
        Attribute(name="smokes", kind="category", domain=names),
        *(Attribute(name=f"x{j}", kind="real", lower=0, upper=1) for j in range(5)),
    )
    X = np.column_stack([generator.integers(0, 2, 1_000), generator.uniform(0, 1, (1_000, 5))])
    y = np.where(X[:, 0] == 0, 40 + 40 * (X[:, 1] > 0.5), 5 + 20 * X[:, 2])
    target = Attribute(name="y", kind="real", lower=0, upper=100)
    for version, splits, parts in ((4, (2, 8), 32), (3, (8, 2), 16)):
        made = ForestRegression(attributes, target, ForestParameters(epsilon=1.0), Study(np.random.default_rng(1)))
        made.version = version
        model = made.fit(X, y).model_
        read = NumberModel.from_plain(model.to_plain())
        np.testing.assert_array_equal(read.predict(X), model.predict(X))
        assert (model.setting.shape.splits, model.setting.columns.sizes[1]) == (splits, parts)
        assert np.square(y - model.predict(X)).mean() < 0.1 * y.var()


@given(
    st.lists(st.lists(st.integers(-(10**6), 10**6), min_size=3, max_size=3), min_size=4, max_size=4),
    st.integers(1, 10**6),
    st.floats(0, 1e12),
)
def test_whatever_the_noise_is_shares_are_shares(sums, rows, variance):
    found = leaf_shares(np.array(sums, dtype=np.float64), rows, variance, 0.05, 0.25)
    assert found.shape == (4, 3)
    assert (found > 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1)


def test_a_leaf_is_drawn_towards_its_parent_by_its_noise():
    sums = np.array([[300.0, 100.0], [10.0, 0.0], [0.0, 90.0], [30.0, 70.0]])
    exact, noisy, drowned = (leaf_shares(sums, 600, variance, 0.05, 0.25)[:, 0] for variance in (0.0, 400.0, 1e9))
    np.testing.assert_allclose(exact[[0, 2, 3]], [0.75, 0.03, 0.3], atol=0.03)
    # The leaf of ten rows says less against its parent than it would say alone.
    assert noisy[1] < exact[1] < 1
    np.testing.assert_allclose(drowned, 0.5, atol=0.01)


def test_with_more_epsilon_the_forest_grows(shared_data):
    data = classes.diabetes(shared_data)
    sizes = [len(fitted(data, epsilon).model_.setting.lengths()) for epsilon in (0.1, 0.7, 5.0, 10.0, 50.0)]
    assert sizes == sorted(sizes)
    assert sizes[0] == 2
    assert sizes[-1] == 4 * 7
    given_size = fitted(data, 1.0, trees=2, depth=3, choice_share=0.5, ranges="declared")
    assert len(given_size.events()) == 2 * 4
    assert [float(e.epsilon) for e in given_size.events()] == pytest.approx(([0.25 / 3] * 3 + [0.25]) * 2)


def test_the_order_of_the_columns_does_not_matter():
    data = numbers.diabetes_progression()
    turned = data.turned()

    def all_of(table: Any) -> list[float]:
        return [
            figure(table, fitted(table, 3.0, repeat).predict(table.X[table.split(repeat)[1]]), repeat)
            for repeat in range(20)
        ]

    ours, other = all_of(data), all_of(turned)
    error = np.hypot(np.std(ours), np.std(other)) / np.sqrt(20)
    assert abs(np.mean(ours) - np.mean(other)) < 5 * error


@pytest.mark.parametrize("numeric", [False, True])
def test_categories_and_missing_values_are_used(numeric):
    generator = np.random.default_rng(8)
    colour, gap = generator.integers(0, 3, 900), generator.uniform(0, 1, 900)
    gap[generator.uniform(size=900) < 0.4] = np.nan
    truth = (colour == 1) ^ np.isnan(gap)
    attributes = (
        Attribute(name="colour", kind="category", domain=("red", "green", "blue")),
        Attribute(name="gap", kind="real", lower=0, upper=1, missing="own-value"),
    )
    X, parameters = np.column_stack([colour, gap]), ForestParameters(epsilon=20.0, trees=1, depth=2)
    if numeric:
        target = Attribute(name="y", kind="integer", lower=0, upper=100)
        model = ForestRegression(attributes, target, parameters, Study(generator)).fit(X, truth * 80 + 10)
        assert np.abs(model.predict(X) - (truth * 80 + 10)).mean() < 12
    else:
        target = Attribute(name="y", kind="boolean")
        found = RandomForest(attributes, target, parameters, Study(generator)).fit(X, truth.astype(np.int64))
        assert found.score(X, truth.astype(np.int64)) > 0.97


@pytest.mark.parametrize("split", [[5], [-1]])
def test_a_damaged_model_is_refused_in_words(split):
    plain = fitted(classes.iris(), 1.0).to_plain()
    with pytest.raises(ParameterError, match="tree 1: split 1"):
        ClassModel.from_plain({**plain, "answers": {**plain["answers"], "tree 1: split 1": split}})


# -- Neighbours of a forest in whole numbers: nothing that is asked moves further than it is declared to --------------


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


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=8),
    st.integers(0, 7),
    st.sampled_from([2, 4]),
    st.booleans(),
)
def test_a_row_moves_the_losses_of_its_node_upwards_and_by_one_unit_at_most(rows, removed, parts, numeric):
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
def test_the_loss_of_classes_is_the_number_of_rows_of_other_classes(rows):
    cells, kinds = (np.array(column) for column in zip(*rows, strict=True))
    found = split_losses(cells[:, None], kinds, np.zeros_like(cells), 1, Split((5,), 2), 0, Goal(CLASSES))[0]
    for border, loss in enumerate(found):
        sides = (kinds[cells <= border], kinds[cells > border])
        assert loss == UNIT * sum(len(side) - np.bincount(side, minlength=3).max() for side in sides)


def test_the_loss_of_numbers_is_their_distance_and_limited():
    goal = Goal(NUMBERS)
    assert goal.losses.min() == 0
    assert goal.losses.max() == UNIT
    assert (goal.losses[0, 10:] == UNIT).all()
    kinds, weights = goal.read(np.array([-3.0, 0.0, 5.0, 10.0, 99.0]))
    assert kinds.tolist() == [0, 0, 15, 31, 31]
    assert (weights.sum(axis=1) == goal.weight).all()
    assert weights[:, 1].tolist() == [0, 0, goal.weight // 2, goal.weight, goal.weight]


def test_the_cells_of_a_row_depend_on_nothing_but_itself():
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
def test_rows_are_sent_where_the_losses_said(parts):
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


def test_one_tree_looks_at_every_column_and_several_differ():
    (alone,) = forest(CLASSES, Scripted(0), 5.0)._setting(3).looked_at()
    assert all(sorted(level) == list(range(7)) for level in alone)
    several = list(forest(CLASSES, Scripted(0), 3000.0)._setting(3).looked_at())
    assert len({tuple(tree) for tree in several}) == len(several) == 3
    assert all(len(set(level)) == 4 for tree in several for level in tree)
    # From a fixed seed: what is looked at depends on no row and on no other fit.
    assert several == list(forest(CLASSES, Scripted(0), 3000.0)._setting(3).looked_at())
