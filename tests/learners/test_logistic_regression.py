"""Logistic regression: the ordinary one without noise, useful with it, and nothing published but what is paid for."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from classification_tables import Table, breast_cancer, deviation_of_mean, diabetes, iris, table
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression as Reference
from sklearn.metrics import roc_auc_score

from workbench.data.schema import Attribute
from workbench.deep.networks import NETWORKS
from workbench.learners import LEARNERS
from workbench.learners.logistic_regression import estimator as settings
from workbench.learners.logistic_regression.descent import MEANS, Axes, Descent
from workbench.learners.logistic_regression.estimator import (
    SEARCH,
    SUMS,
    LogisticRegression,
    LogisticRegressionModel,
    LogisticRegressionParameters,
)
from workbench.learners.logistic_regression.search import (
    UNIT,
    Pattern,
    best_pieces,
    candidate,
    first_directions,
    next_directions,
    wrong_rows,
)
from workbench.learners.logistic_regression.sums import (
    class_sums,
    gradient_sum,
    gradients,
    heights,
    norms,
    probabilities,
    weighted,
)
from workbench.params import ParameterError
from workbench.work.noise import Exact, Study


@pytest.fixture(scope="module")
def tables(shared_data: Path) -> Callable[[str], Table]:
    made = {"diabetes": diabetes(shared_data), "iris": iris(), "breast cancer": breast_cancer()}
    return made.__getitem__


def fitted(
    data: Table, epsilon: float | None, repeat: int = 0, version: int | None = None, **more: object
) -> LogisticRegression:
    noise = Exact() if epsilon is None else Study(np.random.default_rng([20240601, repeat]))
    parameters = LogisticRegressionParameters.from_plain({"epsilon": epsilon, **more})
    train, _ = data.split(repeat)
    made = LogisticRegression(data.attributes, data.target, parameters, noise)
    made.version = version
    return made.fit(data.X[train], data.y[train])


def accuracy(data: Table, epsilon: float | None, repeat: int, **more: object) -> float:
    _, test = data.split(repeat)
    return fitted(data, epsilon, repeat, **more).score(data.X[test], data.y[test])


def accuracies(data: Table, epsilon: float | None, repeats: int = 20, **more: object) -> np.ndarray:
    return np.array([accuracy(data, epsilon, repeat, **more) for repeat in range(repeats)])


def made(rows: int, columns: int, classes: int, seed: int) -> Table:
    """Return rows whose classes follow a logistic regression on columns that are far from normal."""
    generator = np.random.default_rng(seed)
    X = np.clip(generator.normal(0, 0.6, (rows, columns)) ** 3, -1, 1)
    heights = X @ generator.normal(0, 6, (columns, classes))
    y = (heights + generator.gumbel(size=heights.shape)).argmax(axis=1)
    return table(X, y, {f"x{j}": (-1, 1) for j in range(columns)})


@pytest.mark.parametrize("name", ["diabetes", "iris", "breast cancer"])
@pytest.mark.parametrize("ridge", [1.0, 0.1])
def test_without_noise_it_is_the_ordinary_one(tables: Callable[[str], Table], name: str, ridge: float) -> None:
    data = tables(name)
    ours = LogisticRegression(data.attributes, data.target, LogisticRegressionParameters(ridge=ridge), Exact())
    ours.fit(data.X, data.y)
    lower, upper = (np.array(side) for side in data.bounds())
    scaled = np.clip((data.X - lower) / (upper - lower) * 2 - 1, -1, 1)
    # With two classes scikit-learn has one vector of weights, the difference of ours, and half of their squares.
    strength = 1 / ridge if len(ours.classes_) > 2 else 2 / ridge
    reference = Reference(C=strength, tol=1e-10, max_iter=10_000).fit(scaled, data.y)
    np.testing.assert_allclose(ours.predict_proba(data.X), reference.predict_proba(scaled), atol=2e-3)
    assert ours.model_.columns_used == tuple(a.name for a in data.attributes)


# diffprivlib 0.6.6 on the same splits, columns scaled to [−1, 1]: .53, .59, .67, .74, .76 on diabetes; .37, .39, .48,
# .36, .85 on iris; .59, .64, .73, .82, .93 on breast cancer. The standard error of each mean is below .05 (iris at .1).
@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("diabetes", {0.1: 0.70, 0.3: 0.74, 1.0: 0.735, 3.0: 0.74, 10.0: 0.75}),
        ("iris", {0.1: 0.65, 0.3: 0.90, 1.0: 0.93, 3.0: 0.93, 10.0: 0.955}),
        pytest.param(
            "breast cancer", {0.1: 0.88, 0.3: 0.90, 1.0: 0.915, 3.0: 0.94, 10.0: 0.955}, marks=pytest.mark.slow
        ),
    ],
)
def test_accuracy(tables: Callable[[str], Table], name: str, least: dict[float, float]) -> None:
    for epsilon, floor in least.items():
        assert accuracies(tables(name), epsilon).mean() > floor, epsilon


def test_with_a_delta_and_many_rows_it_descends(tables: Callable[[str], Table]) -> None:
    assert accuracies(tables("breast cancer"), 1.0, 10, delta=1e-6).mean() > 0.955
    assert accuracies(tables("diabetes"), 1.0, 10, delta=1e-6).mean() > 0.73
    data = made(4_000, 5, 3, 4)
    assert accuracy(data, None, 0) - accuracy(data, 1.0, 0, delta=1e-6) < 0.02
    assert not fitted(iris(), 1.0, delta=1e-6).model_.setting.gaussian
    assert fitted(iris(), 10.0, delta=1e-6).model_.setting.gaussian
    for asked in ({"weights_from": SEARCH}, {"columns": 2}, {"ridge": 0.5}):  # which a descent does not have
        assert not fitted(iris(), 10.0, delta=1e-6, **asked).model_.setting.gaussian


def test_with_a_delta_and_many_more_rows_it_sees_what_two_columns_say_together(tables: Callable[[str], Table]) -> None:
    X = np.random.default_rng(1).uniform(-1, 1, (3_000, 3))
    data = table(X, (X[:, 0] * X[:, 1] > 0).astype(int), {f"x{j}": (-1, 1) for j in range(3)})
    assert accuracy(data, 1.0, 0, delta=1e-6) > 0.9 > 0.7 > accuracy(data, None, 0)
    kept = fitted(data, 1.0, delta=1e-6).model_.to_plain()
    # A file of a former format holds no products, and is not read as if it did.
    with pytest.raises(ParameterError, match="whole numbers"):
        LogisticRegressionModel.from_plain({**kept, "format": 2})
    few = tables("breast cancer")
    assert not fitted(few, 3.0, delta=1e-6).model_.setting.descent.bends
    assert Descent(50_000, 40, 2, 1e9, 40).bends
    for rows, columns, classes in ((60_000, 62, 100), (600_000, 54, 7)):  # hours, and a file that nobody could open
        assert not Descent(rows, columns, classes, 1e9, columns).bends


def test_files_of_formats_3_and_4_mean_what_they_meant() -> None:
    generator = np.random.default_rng(1)
    X = generator.uniform(-1, 1, (2_000, 3)) @ [[1, 0.4, 0], [0, 0.5, 0.3], [0, 0, 0.5]] / 2
    data = table(X, (X[:, 0] * X[:, 2] > 0).astype(int), {f"x{j}": (-1, 1) for j in range(3)})
    wide = table(np.repeat(X, 20, axis=1), data.y, {f"x{j}": (-1, 1) for j in range(60)})
    for version, limit, means in ((5, 0.08, 3), (4, 0.2, 2), (3, 0.3, 2)):
        turned, scaled = (fitted(of, 1.0, delta=1e-6, version=version).model_ for of in (data, wide))
        # No axis hangs on the sign that a library gives to an eigenvector.
        assert np.allclose(turned.axes_.turn, turned.axes_.turn.T) == (version > 3)
        assert scaled.setting.limit("round 1") == pytest.approx(limit * math.sqrt(61))
        assert [len(scaled.answers[label]) for label in MEANS if label in scaled.answers] == [60] * means
        for model, rows in ((turned, X), (scaled, wide.X)):
            plain = model.to_plain()
            assert plain["format"] == version
            read = LogisticRegressionModel.from_plain(plain)
            np.testing.assert_array_equal(read.predict_proba(rows), model.predict_proba(rows))


def test_without_products_scores_are_those_of_one_weight_for_each_column_to_the_last_bit() -> None:
    generator = np.random.default_rng(4)
    turn, centre = generator.normal(0, 2, (5, 5)), generator.uniform(-1, 1, 5)
    places = generator.uniform(-1, 1, (200, 5))
    weights = generator.normal(0, 2, (6, 3))
    for axes, slopes in ((Axes(centre, turn), turn @ weights[1:]), (Axes(centre, None), weights[1:] / 0.2)):
        found = axes.heights(places, weights)
        np.testing.assert_array_equal(found, heights(places, np.vstack([weights[0] - centre @ slopes, slopes])))
        np.testing.assert_allclose(found, heights(axes.seen(axes.rows(places)), weights), atol=1e-9)


def test_a_descent_on_very_many_columns_takes_no_square_of_their_number() -> None:
    values, rows = 1_500, np.arange(100) % 2
    colour = Attribute(name="colour", kind="category", domain=tuple(map(str, range(values))))
    target = Attribute(name="y", kind="category", domain=("no", "yes"))
    parameters = LogisticRegressionParameters(epsilon=5.0, delta=1e-6)
    tracemalloc.start()
    try:
        model = LogisticRegression((colour,), target, parameters, Study(np.random.default_rng(1)))
        LogisticRegressionModel.from_plain(model.fit(rows[:, None].astype(float), rows).to_plain())
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert model.gaussian(len(rows))
    assert most < 8 * values**2


@pytest.mark.parametrize("way", ["by-size", SEARCH, SUMS])
@pytest.mark.parametrize(("shares", "epsilon"), [((0.7, 0.3), 0.3), ((0.7, 0.3), 3.0), ((0.6, 0.2, 0.2), 1.0)])
def test_where_nothing_can_be_told_it_is_as_good_as_the_largest_class(
    shares: tuple[float, ...], epsilon: float, way: str
) -> None:
    generator = np.random.default_rng(9)
    X, y = generator.uniform(-1, 1, (1000, 6)), generator.choice(len(shares), 1000, p=shares)
    data = table(X, y, {f"x{j}": (-1, 1) for j in range(6)})
    found = accuracies(data, epsilon, 10, weights_from=way)
    largest = np.bincount(y).max() / len(y)
    assert found.mean() > largest - 0.03 - 2 * deviation_of_mean(found)


@pytest.mark.parametrize("classes", [2, 3])
def test_it_tends_to_the_ordinary_one_as_epsilon_grows(classes: int) -> None:
    data = made(4000, 5, classes, 3)
    plain = fitted(data, None).predict_proba(data.X)
    gaps = [np.abs(fitted(data, e).predict_proba(data.X) - plain).mean() for e in (1.0, 100.0, 1e5)]
    assert gaps[2] < gaps[1] < gaps[0]
    assert gaps[2] < 0.002


def test_rounds_are_worth_their_share_where_columns_are_far_from_normal() -> None:
    data = made(20_000, 5, 2, 4)
    learner = fitted(data, 3.0)
    assert [event.label for event in learner.events()][-1].startswith("round")
    plain = accuracy(data, None, 0)
    assert plain - accuracies(data, 3.0, 3).mean() < 0.02


def test_more_classes_than_one_direction_tells_apart() -> None:
    generator = np.random.default_rng(6)
    y = generator.integers(0, 5, 3000)
    angles = 2 * np.pi * y / 5
    X = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(3000)]) * 0.6 + generator.normal(0, 0.15, (3000, 3))
    data = table(X, y, dict.fromkeys("abc", (-1, 1)))
    assert accuracies(data, 1.0, 5).mean() > 0.85


def test_names_are_columns_too_and_values_may_be_missing() -> None:
    generator = np.random.default_rng(3)
    group = generator.integers(0, 3, 2000)
    size = np.where(generator.random(2000) < 0.3, np.nan, generator.uniform(0, 1, 2000))
    y = (group == 1).astype(np.int64)
    attributes = [
        Attribute(name="group", kind="category", domain=("a", "b", "c")),
        Attribute(name="size", kind="real", lower=0, upper=1, missing="own-value"),
    ]
    target = Attribute(name="y", kind="boolean", domain=("no", "yes"))
    X = np.column_stack([group, size])
    for epsilon in (0.1, 10.0):
        noise = Study(np.random.default_rng(1))
        learner = LogisticRegression(attributes, target, LogisticRegressionParameters(epsilon=epsilon), noise)
        assert learner.fit(X, y).score(X, y) > 0.95
        assert "group = b" in learner.model_.columns_used


@pytest.mark.parametrize("epsilon", [0.3, 3.0])
def test_probabilities_order_the_rows(tables: Callable[[str], Table], epsilon: float) -> None:
    data = tables("breast cancer")
    learner = fitted(data, epsilon)
    _, test = data.split(0)
    told = learner.predict_proba(data.X[test])
    np.testing.assert_allclose(told.sum(axis=1), 1)
    assert list(learner.classes_) == [0, 1]
    np.testing.assert_array_equal(told.argmax(axis=1), learner.predict(data.X[test]))
    assert roc_auc_score(data.y[test], told[:, 1]) > 0.93


def test_the_order_of_the_columns_does_not_matter(tables: Callable[[str], Table]) -> None:
    data = tables("iris")
    turned = Table(data.X[:, ::-1], data.y, data.attributes[::-1], data.target)
    for epsilon in (0.3, 10.0):
        one, other = accuracies(data, epsilon), accuracies(turned, epsilon)
        assert abs(one.mean() - other.mean()) < 5 * np.hypot(deviation_of_mean(one), deviation_of_mean(other))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"answers": {"choice of weights 1": [10**6]}}, "not one of the candidates"),
        ({"answers": {"choice of weights 1": [-1]}}, "not one of the candidates"),
        ({"columns": ["sepal length"]}, "'columns'"),
        ({"target": {"name": "y", "kind": "real", "lower": 0, "upper": 1}}, "not category"),
    ],
)
def test_a_damaged_model_is_refused_in_words(change: dict[str, object], said: str) -> None:
    plain = {**fitted(iris(), 0.5).to_plain(), **change}
    with pytest.raises(ParameterError, match=said):
        LogisticRegressionModel.from_plain(plain)


@pytest.mark.parametrize("columns", [(1, 1), (0, 99), (-1, 2)])
def test_columns_that_a_model_cannot_have_are_refused(columns: tuple[int, int]) -> None:
    plain = fitted(iris(), 5.0, weights_from=SUMS, columns=2).to_plain()
    for i, column in enumerate(columns, start=1):
        plain["answers"][f"choice of column {i}"] = [column]
    with pytest.raises(ParameterError, match="not one of the remaining columns"):
        LogisticRegressionModel.from_plain(plain)


def test_its_title_is_not_the_networks() -> None:
    titles = [entry.title for entry in (*LEARNERS, *NETWORKS)] + [entry.short for entry in (*LEARNERS, *NETWORKS)]
    told = [title for title in titles if title]
    assert len(set(told)) == len(told)


# -- Neighbours of logistic regression in whole numbers: nothing that is asked moves further than it is declared to


@given(
    st.lists(st.tuples(st.integers(-8, 8), st.integers(-8, 8), st.integers(0, 2)), min_size=1, max_size=6),
    st.integers(0, 5),
    st.lists(st.integers(-300, 300), min_size=2, max_size=2).filter(any),
)
def test_a_row_adds_one_wrong_row_at_most_and_never_takes_one_away(
    rows: list[tuple[int, int, int]], removed: int, direction: list[int]
) -> None:
    table = np.array(rows)
    rest = np.delete(table, removed % len(rows), axis=0)
    pattern = Pattern(3, 3, 8)
    directions = next_directions(np.array(direction))
    one = wrong_rows(table[:, :2], table[:, 2], 8, directions, pattern)
    other = wrong_rows(rest[:, :2], rest[:, 2], 8, directions, pattern)
    assert len(one) == 3 + len(directions) * pattern.size
    assert {a - b for a, b in zip(one, other, strict=True)} <= {0, 1}
    best, without = (best_pieces(t[:, :2], t[:, 2], 8, pattern) for t in (table, rest))
    assert {a - b for a, b in zip(best, without, strict=True)} <= {0, UNIT}


@pytest.mark.parametrize("classes", [2, 3, 4])
def test_a_score_is_the_number_of_rows_that_the_candidate_gets_wrong(classes: int) -> None:
    """The model made from an index predicts what its score counted, away from the cuts."""
    generator = np.random.default_rng(classes)
    size, pattern = 1000, Pattern(classes, min(classes, 3), 6)
    rows, labels = generator.integers(-size, size + 1, (40, 3)), generator.integers(0, classes, 40)
    directions = first_directions(3, pairs=True)
    assert len(directions) == 9
    scores = wrong_rows(rows, labels, size, directions, pattern)
    for index in generator.integers(0, len(scores), 60):
        found = candidate(int(index), directions, directions[0], pattern)
        weights, offsets = found.weights(pattern)
        told = probabilities(heights(rows / size, np.vstack([offsets, weights]))).argmax(axis=1)
        assert abs(int((told != labels).sum()) - scores[index]) <= 1  # a row on a cut may fall to either side


def test_changed_directions_are_whole_and_small() -> None:
    direction = np.array([1, 0, -1])
    for _ in range(5):
        tried = next_directions(direction)
        assert all(np.gcd.reduce(row) == 1 for row in tried)
        direction = tried[-1]
        assert np.abs(direction).max() <= 8**5


@given(st.lists(st.lists(st.integers(-64, 64), min_size=3, max_size=3), min_size=1, max_size=6), st.floats(0.05, 1.0))
def test_a_row_is_weighted_as_a_whole_and_never_beyond_the_limit(rows: list[list[int]], share: float) -> None:
    scaled = np.array([[64, *row] for row in rows]) * 512
    limit = int((1 + 6 * share) * (64 * 512) ** 2)
    out = weighted(scaled, limit)
    assert (norms(out) <= limit).all()
    kept = norms(scaled) <= limit
    np.testing.assert_array_equal(out[kept], scaled[kept])
    np.testing.assert_allclose(out / out[:, :1], scaled / scaled[:, :1], atol=1e-3)
    for row in out:
        sums = class_sums(row[None, :], np.array([1]), 3)
        assert sum(map(abs, sums)) == norms(row[None, :])[0]
        assert sums[:4] == sums[8:12] == [0] * 4


@pytest.mark.parametrize("seed", range(5))
def test_what_is_counted_of_a_row_does_not_hang_on_its_neighbours(seed: int) -> None:
    generator = np.random.default_rng(seed)
    places, weights = generator.uniform(-1, 1, (257, 13)), generator.normal(0, 3, (14, 3))
    classes = generator.integers(0, 3, 257)
    size, limit = 1 << 15, 9 << 15
    together = gradients(places, classes, weights, size, limit)
    for i in range(len(places)):
        alone = gradients(places[i : i + 1], classes[i : i + 1], weights, size, limit)
        np.testing.assert_array_equal(alone[0], together[i])
    norm = np.abs(together).sum(axis=1)
    assert norm.max() <= limit
    assert norm.max() > 0.99 * limit  # the limit is met by some row, not only kept
    assert gradient_sum(places, classes, weights, size, limit) == list(together.sum(axis=0))
    exact = np.exp(weights[0] + places @ weights[1:])
    np.testing.assert_allclose(
        probabilities(heights(places, weights)), exact / exact.sum(axis=1, keepdims=True), atol=1e-4
    )


def test_the_sum_over_many_rows_is_made_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(2)
    places, classes = generator.uniform(-1, 1, (100, 2)), generator.integers(0, 2, 100)
    weights = generator.normal(0, 1, (3, 2))
    at_once = gradient_sum(places, classes, weights, 1024, 6 * 1024)
    monkeypatch.setattr("workbench.learners.logistic_regression.sums._BLOCK", 42)
    assert gradient_sum(places, classes, weights, 1024, 6 * 1024) == at_once


def test_too_many_candidates_lead_to_sums() -> None:
    def setting(columns: int, classes: int, epsilon: float) -> settings.Setting:
        attributes = tuple(Attribute(name=f"x{j}", kind="real", lower=0, upper=1) for j in range(columns))
        target = Attribute(name="y", kind="category", domain=tuple(f"c{c}" for c in range(classes)))
        parameters = LogisticRegressionParameters(epsilon=epsilon)
        return settings.Setting(attributes, target, parameters, 100, True)

    assert setting(30, 2, 1.0).searches
    assert setting(30, 2, 1.0).pairs
    assert not setting(300, 2, 1.0).pairs
    assert setting(4, 10, 0.1).searches
    assert not setting(4, 100, 0.1).searches
    assert not setting(4, 2, 1000.0).searches
