"""Linear regression: exact without noise, useful with it, and the slides' example of the functional mechanism."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from regression_tables import Table, boston, diabetes_progression, table
from scipy.optimize import minimize
from sklearn.linear_model import LinearRegression as Reference

from workbench.data.schema import Attribute
from workbench.learners.encoding import Encoding, blocks, grid_of, numbers_on_grid
from workbench.learners.linear_regression.estimator import (
    FUNCTIONAL,
    LinearRegression,
    LinearRegressionModel,
    LinearRegressionParameters,
    coefficients,
    euclidean_norms,
    functional_sensitivity,
    functional_squares,
    gram,
    largest_norm,
    norms,
    products,
    weighted,
)
from workbench.learners.linear_regression.solve import functional_line
from workbench.learners.selection import SENSITIVITY, UNIT, line_sums, losses_of
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


def test_without_noise_it_is_least_squares():
    data = diabetes_progression()
    train, test = data.split(0)
    ours = fitted(data, None)
    reference = Reference().fit(data.X[train], data.y[train])
    expected = np.clip(reference.predict(data.X[test]), *data.target.bounds())
    np.testing.assert_allclose(ours.predict(data.X[test]), expected, rtol=2e-3)
    assert ours.model_.columns_used == tuple(a.name for a in data.attributes)


# 20 splits; the standard error of each mean is below .04.
@pytest.mark.parametrize(("epsilon", "least"), [(1.0, 0.05), (3.0, 0.3), (10.0, 0.5)])
def test_boston(shared_data, epsilon, least):
    data = boston(shared_data)
    assert np.mean([r2(data, epsilon, repeat) for repeat in range(20)]) > least


@pytest.mark.parametrize(("epsilon", "least"), [(0.1, -0.1), (1.0, 0.03), (10.0, 0.4)])
def test_diabetes_progression(epsilon, least):
    data = diabetes_progression()
    assert np.mean([r2(data, epsilon, repeat) for repeat in range(20)]) > least


def test_the_default_method_is_the_better_one():
    data = diabetes_progression()
    for epsilon in (1.0, 10.0):
        ours = np.mean([r2(data, epsilon, repeat) for repeat in range(10)])
        assert ours > np.mean([r2(data, epsilon, repeat, method=FUNCTIONAL) for repeat in range(10)])


def test_with_little_epsilon_few_columns_are_used_and_at_last_none():
    data = diabetes_progression()
    used = [len(fitted(data, epsilon).model_.columns_used) for epsilon in (0.1, 0.5, 3.0, 30.0, 1000.0)]
    assert used[0] == 0
    assert used == sorted(used)
    assert used[-1] == len(data.attributes)
    assert len(fitted(data, 0.1, columns=4).model_.columns_used) == 4


def test_the_order_of_the_columns_does_not_matter():
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
def test_collinear_columns_predict_better_with_more_epsilon(delta):
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


def test_with_a_delta_products_of_columns_are_found():
    generator = np.random.default_rng(4)
    X = generator.uniform(-1, 1, (4_000, 5))
    y = np.clip(4 * X[:, 0] * X[:, 3] + X[:, 1] + generator.normal(0, 0.5, 4_000), -5, 5)
    data = table(X, y, {f"x{i}": (-1, 1) for i in range(5)}, (-5, 5))
    assert r2(data, None, 0) < 0.25 < 0.75 < r2(data, 1.0, 0, delta=1e-6)
    plain = fitted(data, 1.0, delta=1e-6).to_plain()
    former = LinearRegressionModel.setting_from_plain({**plain, "format": 3})
    assert (former.bends, fitted(data, 1.0, delta=1e-6).model_.setting.bends) == (0, 6)
    for version in (4, 5):  # the axes of a file of format 4 hang on the signs of eigenvectors
        model = LinearRegressionModel.from_plain({**plain, "format": version})
        turned = model.line_.turn.axes
        assert np.allclose(turned, turned.T) == (version == 5)


def test_without_noise_a_collinear_table_has_a_line():
    x = np.linspace(0, 1, 50)
    data = table(np.column_stack([x, x, 1 - x]), 10 * x, dict.fromkeys("abc", (0.0, 1.0)), (0, 10))
    error = fitted(data, None).predict(data.X) - data.y
    assert abs(error).max() < 0.01


def test_the_slides_example(golden):
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


def test_a_noisy_loss_without_a_minimum_is_trimmed():
    indefinite = np.array([[1.0, 2.0, 0.5], [2.0, 1.0, 0.25], [0.5, 0.25, 0.0]])
    line = functional_line(indefinite, 0.0, 1.0)
    assert np.isfinite([line.height, *line.slopes]).all()
    assert line.height == pytest.approx(line.slopes[0])  # only the direction (1, 1) is left


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"columns": ["bmi", "bmi"]}, "'columns'"),
        ({"columns": ["nothing"]}, "'columns'"),
        ({"target": {"name": "y", "kind": "category", "domain": ["a", "b"]}}, "not as numeric"),
    ],
)
def test_a_damaged_model_is_refused_in_words(change, said):
    plain = fitted(diabetes_progression(), 4.0).to_plain()
    assert set(plain["answers"]) == {
        "sums",
        *(f"range of {a.name}" for a in (*diabetes_progression().attributes,)),
        "range of y",
    }
    with pytest.raises(ParameterError, match=said):
        LinearRegressionModel.from_plain({**plain, **change})


def test_names_are_columns_too():
    generator = np.random.default_rng(3)
    group = generator.integers(0, 3, 4000)
    y = np.array([2.0, 5.0, 8.0])[group] + generator.normal(0, 0.5, 4000)
    attributes = [Attribute(name="group", kind="category", domain=("a", "b", "c"))]
    target = Attribute(name="y", kind="real", lower=0, upper=10)
    noise = Study(np.random.default_rng(1))
    learner = LinearRegression(attributes, target, LinearRegressionParameters(epsilon=10.0), noise)
    learner.fit(group[:, None], y)
    assert learner.predict([[0], [1], [2]]) == pytest.approx([2, 5, 8], abs=0.5)


# -- Neighbours of linear regression in whole numbers: nothing that is asked moves further than it is declared to


ATTRIBUTES = (
    Attribute(name="x", kind="real", lower=-3, upper=5),
    Attribute(name="gap", kind="real", lower=0, upper=1, missing="own-value"),
    Attribute(name="colour", kind="category", domain=("red", "green", "blue")),
)


@given(
    st.lists(st.lists(st.integers(-64, 64), min_size=3, max_size=3), min_size=1, max_size=6),
    st.floats(0.05, 1.0),
    st.booleans(),
)
def test_a_row_is_weighted_as_a_whole_and_never_beyond_the_limit(rows, share, euclidean):
    scaled = np.array([[64, *row] for row in rows]) * 512
    limit = int((largest_norm(3) ** (0.5 if euclidean else 1)) * share * (64 * 512) ** 2)
    norm = euclidean_norms if euclidean else norms
    out = weighted(scaled, limit, euclidean=euclidean)
    assert (norm(out) <= limit).all()
    kept = norm(scaled) <= limit
    np.testing.assert_array_equal(out[kept], scaled[kept])
    # The parts keep their proportions: the row stays where it was on the regression line.
    np.testing.assert_allclose(out / out[:, :1], scaled / scaled[:, :1], atol=1e-3)
    exact = products(out[:1])
    assert sum(map(abs, exact)) == norms(out[:1])[0]
    assert sum(v * v for v in exact) <= int(euclidean_norms(out[:1])[0]) ** 2


@given(
    st.lists(st.tuples(st.integers(-8, 8), st.integers(-8, 8), st.integers(-8, 8)), min_size=1, max_size=6),
    st.integers(0, 5),
)
def test_a_row_moves_every_loss_in_one_direction_and_by_one_unit_at_most(rows, removed):
    table = np.array(rows)
    rest = np.delete(table, removed % len(rows), axis=0)
    with_row = losses_of(line_sums(table[:, :2], table[:, 2]), 8)
    without = losses_of(line_sums(rest[:, :2], rest[:, 2]), 8)
    for one, other in zip(with_row, without, strict=True):
        assert -1 <= one - other <= UNIT + 1 <= SENSITIVITY


@pytest.mark.parametrize("seed", range(30))
def test_the_loss_is_the_least_of_all_lines_within_the_square(seed):
    generator = np.random.default_rng(seed)
    size, rows = 16, int(generator.integers(1, 7))
    x, y = generator.integers(-size, size + 1, (2, rows))
    if seed % 3 == 0:
        x[:] = size * int(generator.choice((-1, 1)))  # the line is not determined
    a, b = np.meshgrid(np.linspace(-1, 1, 201), np.linspace(-1, 1, 201))
    place = x / size
    height = a[..., None] * (1 - place) / 2 + b[..., None] * (1 + place) / 2
    losses = ((height - y / size) ** 2).sum(axis=-1)
    best = np.unravel_index(losses.argmin(), losses.shape)
    polished = minimize(
        lambda w: ((w[0] * (1 - place) / 2 + w[1] * (1 + place) / 2 - y / size) ** 2).sum(),
        (a[best], b[best]),
        bounds=[(-1, 1)] * 2,
    )
    (found,) = losses_of(line_sums(x[:, None], y), size)
    assert found == pytest.approx(min(polished.fun, losses.min()) / 4 * UNIT, abs=1.001)


def test_the_functional_mechanism_has_the_sensitivity_of_the_slides_with_an_intercept(golden):
    assert functional_sensitivity(2) == golden("functional_mech_L1_sensitivity_with_intercept", "add/remove")
    corners = np.array([*itertools.product((1,), (-1, 1), (-1, 1))]) * 4
    for row in corners:
        assert sum(abs(v) for v in coefficients(row[None, :])) == functional_sensitivity(2) * 16
        assert sum(v * v for v in coefficients(row[None, :])) == functional_squares(2) * 16**2


@given(st.integers(1, 2**40), st.floats(1e-9, 1e6), st.integers(1, 1000))
def test_sums_and_their_noise_fit_doubles_and_64_bits(rows, epsilon, parts):
    sensitivity = largest_norm(parts)
    size = grid_of(rows, sensitivity, epsilon)
    assert rows * size**2 <= 2**53
    assert size == 2 or sensitivity * size**2 / epsilon <= 2**54


def test_an_encoded_row_depends_on_nothing_but_itself():
    encoding = Encoding(ATTRIBUTES)
    assert encoding.labels == ("x", "gap", "gap is missing", "colour = red", "colour = green", "colour = blue")
    assert encoding.sources == (0, 1, 1, 2, 2, 2)
    rows = [(-9.0, np.nan, 0), (5.0, 1.0, 2), (1.0, 0.25, 1)]
    together = encoding.encode(rows, 100)
    np.testing.assert_array_equal(
        together, [[-100, 0, 100, 100, 0, 0], [100, 100, 0, 0, 0, 100], [0, -50, 0, 0, 100, 0]]
    )
    for row, alone in zip(rows, together, strict=True):
        np.testing.assert_array_equal(encoding.encode([row], 100)[0], alone)
    pair = Encoding((Attribute(name="b", kind="boolean", domain=("no", "yes")),))
    np.testing.assert_array_equal(pair.encode([[0], [1]], 7), [[-7], [7]])
    assert pair.labels == ("b = yes",)


def test_a_missing_number_is_found_in_every_block_of_rows():
    facts = [Attribute(name=name, kind="real", lower=0, upper=8) for name in "ab"]
    first, second = next(blocks(1 << 20)).stop, 5
    X = np.full((first + second, 2), 8.0)
    X[[3, first + 1, first + 4], [0, 1, 0]] = np.nan
    assert (numbers_on_grid(facts, X, 16) == np.where(np.isnan(X), 0, 16)).all()
