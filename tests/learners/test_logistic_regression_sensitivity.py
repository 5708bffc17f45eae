"""Neighbours of logistic regression in whole numbers: nothing that is asked moves further than it is declared to."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.data.schema import Attribute
from workbench.learners.logistic_regression import estimator as settings
from workbench.learners.logistic_regression.estimator import (
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
from workbench.learners.tasks import EMPTY

ATTRIBUTES = (
    Attribute(name="x", kind="real", lower=-3, upper=5),
    Attribute(name="gap", kind="real", lower=0, upper=1, missing="own-value"),
)
TWO = Attribute(name="y", kind="category", domain=("a", "b"))
THREE = Attribute(name="y", kind="category", domain=("a", "b", "c"))
Record = tuple[float, float, int]
EMPTY_ROW: Record = (0.0, 0.0, EMPTY)


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


@given(
    st.lists(st.lists(st.integers(-64, 64), min_size=3, max_size=3), min_size=1, max_size=6),
    st.floats(0.05, 1.0),
)
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
