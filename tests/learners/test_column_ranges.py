"""The range of each column: what it asks moves by one at most, and bounds that are far too wide cost little."""

import dataclasses

import numpy as np
import pytest
from classification_tables import Table, deviation_of_mean, diabetes
from numpy.typing import NDArray

from workbench.data.schema import Attribute
from workbench.learners import LEARNERS, learner
from workbench.learners.naive_bayes.estimator import NaiveBayes
from workbench.learners.naive_bayes.parameters import NaiveBayesParameters
from workbench.learners.ranges import (
    RANGES,
    cell_count,
    range_counts,
    range_scores,
    windows,
    within_window,
)
from workbench.work.noise import Exact, Study

WIDE = Attribute(name="x", kind="real", lower=-100, upper=900)


@pytest.mark.parametrize("depth", [1, 3, 8])
def test_emptying_a_row_moves_each_score_by_one_at_most_and_none_up(depth):
    values = np.array([-1e9, -100, -99.9, 0, 150, 399.99, 400, 899, 900, 1e9, np.nan])

    def scores(column: NDArray[np.float64]) -> NDArray[np.int64]:
        (found,) = range_scores(range_counts([WIDE], column[:, None], depth), depth, len(values), RANGES.worth(20.0))
        return found

    moved = [scores(values) - scores(np.delete(values, i)) for i in range(len(values))]
    assert all(((m == 0) | (m == 1)).all() for m in moved)
    assert all(m.any() for m in moved[:-1])
    assert not moved[-1].any()  # a missing value lies in no window


@pytest.mark.parametrize("depth", [1, 3, 8])
def test_windows_lie_within_the_bounds_and_every_place_is_in_one_of_each_width(depth):
    found = windows(depth)
    assert len({tuple(window) for window in found}) == len(found)
    assert found[:, 1].min() == 0
    assert found[:, 2].max() == cell_count(depth)
    for k in range(depth + 1):
        own = found[found[:, 0] == k]
        assert {*(own[:, 2] - own[:, 1])} == {cell_count(depth) >> k}
        covered = {cell for _, first, end in own for cell in range(first, end)}
        assert len(covered) == cell_count(depth)


def test_whole_numbers_keep_whole_bounds_and_bounds_never_widen():
    for kind in ("real", "integer", "date"):
        attribute = Attribute(name="x", kind=kind, lower=3, upper=13)
        for window in range(len(windows(4))):
            lower, upper = within_window(attribute, 4, window).bounds()
            assert 3 <= lower < upper <= 13
            assert kind == "real" or (lower, upper) == (round(lower), round(upper))


def test_with_little_known_nothing_is_asked_and_the_more_is_known_the_less_is_paid():
    assert RANGES.depth(RANGES.share(30.0) * 30.0) == 0
    shares = [RANGES.share(known) for known in (50.0, 1e3, 1e5, 1e9)]
    assert shares == sorted(shares, reverse=True)
    assert shares[-1] < 1e-3
    assert [RANGES.depth(known) for known in (7, 10, 15, 30, 60, 1e9)] == [1, 2, 4, 6, 8, 8]


@pytest.mark.parametrize("known", [15.0, 30.0, 60.0, 300.0])
def test_a_window_that_holds_no_row_wins_once_in_e_cubed_at_most(known):
    """More than 45 of 400 have a chance below 1e-6 where each has one of e^−3."""
    rows, depth = 1_000, RANGES.depth(known)
    values = np.linspace(-100, 900, rows)  # wide: nothing is won by a narrow window
    (scores,) = range_scores(range_counts([WIDE], values[:, None], depth), depth, rows, RANGES.worth(known))
    generator = np.random.default_rng(3)
    held = [
        within_window(WIDE, depth, int(np.argmax(scores + generator.exponential(rows / known, len(scores))))).bounds()
        for _ in range(400)
    ]
    assert sum(high - low < 250 for low, high in held) <= 45


def test_the_range_of_each_column_is_found_and_is_in_the_file():
    generator = np.random.default_rng(1)
    y = generator.integers(0, 2, 2_000)
    X = np.column_stack([generator.normal(30 + 5 * y, 5), generator.integers(0, 3, 2_000)])
    attributes = (WIDE, Attribute(name="c", kind="category", domain=("p", "q", "r")))
    target = Attribute(name="y", kind="category", domain=("a", "b"))
    fitted = NaiveBayes(attributes, target, NaiveBayesParameters(epsilon=1.0), Study(generator)).fit(X, y)
    lower, upper = fitted.setting.attributes[0].bounds()
    assert upper - lower < 130
    inside = (X[:, 0] > lower) & (X[:, 0] < upper)
    assert inside.mean() > 0.8
    plain = fitted.to_plain()
    assert plain["attributes"][0]["upper"] == 900
    assert next(e.label for e in fitted.events()) == "range of x"
    assert sum(e.epsilon for e in fitted.events()) == 1
    again = NaiveBayes.from_plain(plain)
    assert again.setting.attributes == fitted.setting.attributes
    former = {**plain, "format": 2, "answers": {k: v for k, v in plain["answers"].items() if k != "range of x"}}
    assert NaiveBayes.from_plain(former).setting.attributes[0] == WIDE


def test_models_that_take_no_ranges_ask_for_none():
    for chosen in LEARNERS:
        since = chosen.estimator.model_type.setting_type.ranges_since
        assert ("ranges" in chosen.parameters.declared()) == (since > 0)
        assert since <= chosen.estimator.model_type.version


def widened(data: Table, times: float) -> Table:
    wide = (dataclasses.replace(a, lower=0.0, upper=times * a.bounds()[1]) for a in data.attributes)
    return dataclasses.replace(data, attributes=tuple(wide))


@pytest.mark.parametrize(("epsilon", "least"), [(1.0, 0.70), (3.0, 0.73), (10.0, 0.735)])
def test_bounds_ten_times_too_wide_cost_naive_bayes_little(shared_data, epsilon, least):
    """Without ranges it is .64 at all of these ε: one class for all."""
    found = widened(diabetes(shared_data), 10).accuracies(epsilon, 20)
    assert found.mean() > least
    assert found.mean() < 0.77 + 3 * deviation_of_mean(found)


def test_logistic_regression_does_not_fall_where_it_turns_to_sums(shared_data):
    data, chosen = widened(diabetes(shared_data), 10), learner("logistic-regression")

    def mean(epsilon: float) -> float:
        found = []
        for repeat in range(8):
            train, test = data.split(repeat)
            parameters = chosen.parameters.from_plain({"epsilon": epsilon})
            noise = Study(np.random.default_rng([1, repeat]))
            model = chosen.private(data.attributes, data.target, parameters, noise).fit(data.X[train], data.y[train])
            found.append((model.predict(data.X[test]) == data.y[test]).mean())
        return float(np.mean(found))

    assert mean(10.0) > mean(3.0) - 0.02
    assert chosen.ordinary is not None
    assert isinstance(chosen.ordinary(data.attributes, data.target).noise, Exact)
