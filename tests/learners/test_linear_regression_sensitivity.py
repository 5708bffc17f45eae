"""Neighbours of linear regression in whole numbers: nothing that is asked moves further than it is declared to."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from workbench.data.schema import Attribute
from workbench.learners.encoding import Encoding, grid_of
from workbench.learners.linear_regression.estimator import (
    LinearRegression,
    LinearRegressionParameters,
    coefficients,
    euclidean_norms,
    functional_sensitivity,
    functional_squares,
    largest_norm,
    norms,
    products,
    weighted,
)
from workbench.learners.selection import SENSITIVITY, UNIT, line_losses
from workbench.work.noise import Exact

ATTRIBUTES = (
    Attribute(name="x", kind="real", lower=-3, upper=5),
    Attribute(name="gap", kind="real", lower=0, upper=1, missing="own-value"),
    Attribute(name="colour", kind="category", domain=("red", "green", "blue")),
)
TARGET = Attribute(name="y", kind="real", lower=0, upper=10)
Record = tuple[float, float, float, float]
EMPTY_ROW: Record = (0.0, 0.0, 0.0, np.nan)


EDGES: list[Record] = [
    *itertools.product((-9.0, -3.0, 0.7, 5.0), (np.nan, 0.0, 1.0), (0.0, 2.0), (-4.0, 0.0, 4.9, 10.0))
]
FEW: list[Record] = [(5.0, 1.0, 0.0, 10.0), (-3.0, np.nan, 2.0, 0.0), (1.0, 0.5, 1.0, 5.0)]


@given(
    st.lists(st.lists(st.integers(-64, 64), min_size=3, max_size=3), min_size=1, max_size=6),
    st.floats(0.05, 1.0),
    st.booleans(),
)
def test_a_row_is_weighted_as_a_whole_and_never_beyond_the_limit(
    rows: list[list[int]], share: float, euclidean: bool
) -> None:
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
def test_a_row_moves_every_loss_in_one_direction_and_by_one_unit_at_most(
    rows: list[tuple[int, int, int]], removed: int
) -> None:
    table = np.array(rows)
    rest = np.delete(table, removed % len(rows), axis=0)
    with_row = line_losses(table[:, :2], table[:, 2], 8)
    without = line_losses(rest[:, :2], rest[:, 2], 8)
    for one, other in zip(with_row, without, strict=True):
        assert -1 <= one - other <= UNIT + 1 <= SENSITIVITY


@pytest.mark.parametrize("seed", range(30))
def test_the_loss_is_the_least_of_all_lines_within_the_square(seed: int) -> None:
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
    (found,) = line_losses(x[:, None], y, size)
    assert found == pytest.approx(min(polished.fun, losses.min()) / 4 * UNIT, abs=1.001)


def test_the_functional_mechanism_has_the_sensitivity_of_the_slides_with_an_intercept(golden) -> None:
    assert functional_sensitivity(2) == golden("functional_mech_L1_sensitivity_with_intercept", "add/remove")
    corners = np.array([*itertools.product((1,), (-1, 1), (-1, 1))]) * 4
    for row in corners:
        assert sum(abs(v) for v in coefficients(row[None, :])) == functional_sensitivity(2) * 16
        assert sum(v * v for v in coefficients(row[None, :])) == functional_squares(2) * 16**2


@given(st.integers(1, 2**40), st.floats(1e-9, 1e6), st.integers(1, 1000))
def test_sums_and_their_noise_fit_doubles_and_64_bits(rows: int, epsilon: float, parts: int) -> None:
    sensitivity = largest_norm(parts)
    size = grid_of(rows, sensitivity, epsilon)
    assert rows * size**2 <= 2**53
    assert size == 2 or sensitivity * size**2 / epsilon <= 2**54


def test_an_encoded_row_depends_on_nothing_but_itself() -> None:
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


def test_without_noise_nothing_is_chosen() -> None:
    learner = LinearRegression(ATTRIBUTES, TARGET, LinearRegressionParameters(), Exact())
    learner.fit([r[:3] for r in FEW], [r[3] for r in FEW])
    assert len(learner.model_.columns_used) == 6
    assert learner.events() == ()
