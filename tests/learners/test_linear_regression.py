"""Linear regression: exact without noise, useful with it, and the slides' example of the functional mechanism."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from regression_tables import Table, boston, diabetes_progression, table
from sklearn.linear_model import LinearRegression as Reference

from workbench.data.schema import Attribute
from workbench.learners.linear_regression.estimator import (
    FUNCTIONAL,
    LinearRegression,
    LinearRegressionModel,
    LinearRegressionParameters,
    coefficients,
    gram,
)
from workbench.learners.linear_regression.solve import functional_line
from workbench.params import ParameterError
from workbench.work.noise import Exact, Study


def fitted(data: Table, epsilon: float | None, repeat: int = 0, **more: object) -> LinearRegression:
    noise = Exact() if epsilon is None else Study(np.random.default_rng([20240601, repeat]))
    parameters = LinearRegressionParameters.from_plain({"epsilon": epsilon, **more})
    train, _ = data.split(repeat)
    return LinearRegression(data.attributes, data.target, parameters, noise).fit(data.X[train], data.y[train])


def r2(data: Table, epsilon: float | None, repeat: int, **more: object) -> float:
    _, test = data.split(repeat)
    error = data.y[test] - fitted(data, epsilon, repeat, **more).predict(data.X[test])
    return float(1 - (error**2).mean() / data.y[test].var())


def test_without_noise_it_is_least_squares() -> None:
    data = diabetes_progression()
    train, test = data.split(0)
    ours = fitted(data, None)
    reference = Reference().fit(data.X[train], data.y[train])
    expected = np.clip(reference.predict(data.X[test]), *data.target.bounds())
    np.testing.assert_allclose(ours.predict(data.X[test]), expected, rtol=2e-3)
    assert ours.model_.columns_used == tuple(a.name for a in data.attributes)


# 20 splits; the standard error of each mean is below .04.
@pytest.mark.parametrize(("epsilon", "least"), [(1.0, 0.05), (3.0, 0.3), (10.0, 0.5)])
def test_boston(shared_data: Path, epsilon: float, least: float) -> None:
    data = boston(shared_data)
    assert np.mean([r2(data, epsilon, repeat) for repeat in range(20)]) > least


@pytest.mark.parametrize(("epsilon", "least"), [(0.1, -0.1), (1.0, 0.03), (10.0, 0.4)])
def test_diabetes_progression(epsilon: float, least: float) -> None:
    data = diabetes_progression()
    assert np.mean([r2(data, epsilon, repeat) for repeat in range(20)]) > least


def test_the_default_method_is_the_better_one() -> None:
    data = diabetes_progression()
    for epsilon in (1.0, 10.0):
        ours = np.mean([r2(data, epsilon, repeat) for repeat in range(10)])
        assert ours > np.mean([r2(data, epsilon, repeat, method=FUNCTIONAL) for repeat in range(10)])


def test_with_little_epsilon_few_columns_are_used_and_at_last_none() -> None:
    data = diabetes_progression()
    used = [len(fitted(data, epsilon).model_.columns_used) for epsilon in (0.1, 0.5, 3.0, 30.0, 1000.0)]
    assert used[0] == 0
    assert used == sorted(used)
    assert used[-1] == len(data.attributes)
    assert len(fitted(data, 0.1, columns=4).model_.columns_used) == 4


def test_the_order_of_the_columns_does_not_matter() -> None:
    data = diabetes_progression()
    turned = data.turned()
    ours = [r2(data, 3.0, repeat) for repeat in range(20)]
    other = [r2(turned, 3.0, repeat) for repeat in range(20)]
    error = np.hypot(np.std(ours), np.std(other)) / np.sqrt(20)
    assert abs(np.mean(ours) - np.mean(other)) < 5 * error
    assert set(fitted(data, 1e6, columns=3).model_.columns_used) == set(
        fitted(turned, 1e6, columns=3).model_.columns_used
    )


@pytest.mark.parametrize("delta", [None, 1e-6])
def test_collinear_columns_predict_better_with_more_epsilon(delta: float | None) -> None:
    """Columns that say nearly the same: where noise has made one direction out of nothing, its slope stays small."""
    generator = np.random.default_rng(8)
    size = generator.beta(2, 4, (4_000, 1))
    X = np.clip(size + generator.normal(0, 0.02, (4_000, 6)), 0, 1)
    y = np.clip(10 * size[:, 0] + 4 * X[:, 0] - 4 * X[:, 1] + generator.normal(0, 1, 4_000), 0, 10)
    data = table(X, y, {f"x{i}": (0.0, 1.0) for i in range(6)}, (0, 10))
    found = np.array([[r2(data, epsilon, k, delta=delta) for k in range(8)] for epsilon in (0.3, 1.0, 3.0, 10.0)])
    rises = np.diff(found, axis=0)
    assert (rises.mean(axis=1) > -3 * rises.std(axis=1) / np.sqrt(8)).all()
    assert found.mean(axis=1)[1:].min() > 0.6


def test_without_noise_a_collinear_table_has_a_line() -> None:
    x = np.linspace(0, 1, 50)
    data = table(np.column_stack([x, x, 1 - x]), 10 * x, dict.fromkeys("abc", (0.0, 1.0)), (0, 10))
    error = fitted(data, None).predict(data.X) - data.y
    assert abs(error).max() < 0.01


def test_the_slides_example(golden) -> None:
    """Rows (1, .4), (.9, .3), (−.5, −1), on a grid of tenths."""
    size = 10
    rows = np.array([(size, 10, 4), (size, 9, 3), (size, -5, -10)])
    w0_squared, w0w1, w0, w1_squared, w1 = (v / size**2 for v in coefficients(rows))
    for name, value in {
        "w0^2": w0_squared,
        "w0w1": w0w1,
        "w0": w0,
        "w1^2": w1_squared,
        "w1": w1,
        "const": float(((rows[:, -1] / size) ** 2).sum()),
    }.items():
        assert value == pytest.approx(golden(f"functional_mech_example_{name}"), abs=1e-12)
    line = functional_line(gram(coefficients(rows), 2, size, functional=True), 0.0, 1.0)
    assert line.height == pytest.approx(golden("functional_mech_example_ols_w0"), rel=1e-9)
    assert line.slopes[0] == pytest.approx(golden("functional_mech_example_ols_w1"), rel=1e-9)
    told = line.height + line.slopes[0] * rows[:, 1] / size
    assert told == pytest.approx([golden(f"functional_mech_example_yhat{i}") for i in (1, 2, 3)], rel=1e-9)
    assert ((told - rows[:, 2] / size) ** 2).sum() == pytest.approx(golden("functional_mech_example_min_f"), rel=1e-6)


def test_a_noisy_loss_without_a_minimum_is_trimmed() -> None:
    indefinite = np.array([[1.0, 2.0, 0.5], [2.0, 1.0, 0.25], [0.5, 0.25, 0.0]])
    line = functional_line(indefinite, 0.0, 1.0)
    assert np.isfinite([line.height, *line.slopes]).all()
    assert line.height == pytest.approx(line.slopes[0])  # only the direction (1, 1) is left


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"learner": "naive-bayes"}, "learner = 'naive-bayes'"),
        ({"rows": 0}, "rows = 0"),
        ({"columns": ["bmi", "bmi"]}, "'columns'"),
        ({"columns": ["nothing"]}, "'columns'"),
        ({"answers": {"sums": [1, 2]}}, "whole numbers"),
        ({"answers": {}}, "answers"),
        ({"target": {"name": "y", "kind": "category", "domain": ["a", "b"]}}, "not as numbers"),
    ],
)
def test_a_damaged_model_is_refused_in_words(change: dict[str, object], said: str) -> None:
    whole = fitted(diabetes_progression(), 4.0).to_plain()
    ranges = {label: answer for label, answer in whole["answers"].items() if label != "sums"}
    assert len(ranges) == 11  # ten columns and the target
    if change.get("answers"):
        change = {"answers": {**ranges, **change["answers"]}}  # type: ignore[dict-item]
    plain = {**whole, **change}
    with pytest.raises(ParameterError, match=said):
        LinearRegressionModel.from_plain(plain)


def test_rows_without_a_number_contribute_nothing() -> None:
    data = diabetes_progression()
    holes = data.y.copy()
    holes[::2] = np.nan
    ours = LinearRegression(data.attributes, data.target, LinearRegressionParameters(), Exact()).fit(data.X, holes)
    half = LinearRegression(data.attributes, data.target, LinearRegressionParameters(), Exact()).fit(
        data.X[1::2], data.y[1::2]
    )
    np.testing.assert_allclose(ours.predict(data.X), half.predict(data.X), rtol=1e-6)
    nothing = LinearRegression(data.attributes, data.target, LinearRegressionParameters(), Exact())
    nothing.fit(data.X, np.full(len(holes), np.nan))
    assert np.isfinite(nothing.predict(data.X)).all()


def test_names_are_columns_too() -> None:
    generator = np.random.default_rng(3)
    group = generator.integers(0, 3, 4000)
    y = np.array([2.0, 5.0, 8.0])[group] + generator.normal(0, 0.5, 4000)
    attributes = [Attribute(name="group", kind="category", domain=("a", "b", "c"))]
    target = Attribute(name="y", kind="real", lower=0, upper=10)
    noise = Study(np.random.default_rng(1))
    learner = LinearRegression(attributes, target, LinearRegressionParameters(epsilon=10.0), noise)
    learner.fit(group[:, None], y)
    assert learner.predict([[0], [1], [2]]) == pytest.approx([2, 5, 8], abs=0.5)
