"""Neighbours in integers: the L1 distance of what is asked never passes the declared sensitivity."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from fake_noise import Scripted
from hypothesis import given
from hypothesis import strategies as st

from workbench.data.schema import Attribute
from workbench.learners.naive_bayes.estimator import NaiveBayes
from workbench.learners.naive_bayes.parameters import NaiveBayesParameters
from workbench.learners.sums import grid_size, moment_sums, on_grid, square_complement
from workbench.learners.tasks import EMPTY

TARGET = Attribute(name="y", kind="category", domain=("n", "p"))
ATTRIBUTES = (
    Attribute(name="x", kind="real", lower=-3, upper=5),
    Attribute(name="gap", kind="real", lower=0, upper=1, missing="own-value"),
    Attribute(name="colour", kind="category", domain=("red", "blue"), missing="own-value"),
)
Record = tuple[float, float, float, int]
EMPTY_ROW: Record = (0.0, 0.0, 0.0, EMPTY)


def asked(rows: Sequence[Record], epsilon: float) -> list[tuple[tuple[int, ...], int, float]]:
    noise = Scripted()
    X, y = [row[:3] for row in rows], [row[3] for row in rows]
    # All attributes; which ones are used, where that is chosen, is another test's.
    NaiveBayes(ATTRIBUTES, TARGET, NaiveBayesParameters(epsilon=epsilon, noise_limit=1e6), noise).fit(X, y)
    return noise.asked


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 16, 255, 1024])
def test_every_cell_contributes_at_most_the_grid_size(size: int) -> None:
    cells = np.arange(-size, size + 1)
    norms = np.abs(cells) + np.abs(square_complement(cells, size))
    assert norms.max() == size
    assert square_complement(cells, size).min() == 0
    np.testing.assert_allclose(square_complement(cells, size), (size**2 - cells**2) / (2 * size), atol=0.5)


@given(st.integers(-(2**30), 2**30))
def test_the_finest_grid_contributes_at_most_its_size(cell: int) -> None:
    size = 2**30
    square = int(square_complement(np.array([cell]), size)[0])
    assert square == (size**2 - cell**2 + size) // (2 * size)
    assert abs(cell) + abs(square) <= size


@given(
    st.lists(st.tuples(st.floats(allow_nan=False), st.integers(0, 2)), min_size=1, max_size=6),
    st.integers(0, 5),
    st.booleans(),
    st.tuples(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300)),
)
def test_removing_a_row_moves_the_sums_by_at_most_the_grid_size(
    rows: list[tuple[float, int]], removed: int, per_class: bool, pair: tuple[float, float]
) -> None:
    lower, upper = min(pair), max(pair)
    if not upper / 2 - lower / 2 > 1e-300:
        lower, upper = 0.0, 1.0
    size = 2**20
    values, classes = np.array([r[0] for r in rows]), np.array([r[1] for r in rows])
    keep = np.arange(len(rows)) != removed % len(rows)
    cells = on_grid(values, lower, upper, size)
    whole = moment_sums(cells, classes, 3, size, per_class)
    part = moment_sums(cells[keep], classes[keep], 3, size, per_class)
    assert sum(abs(a - b) for a, b in zip(whole, part, strict=True)) <= size


@given(st.integers(1, 2**40), st.floats(1e-9, 1e6))
def test_sums_and_their_noise_fit_64_bits(rows: int, epsilon: float) -> None:
    size = grid_size(rows, epsilon)
    assert rows * size <= 2**60
    assert size == 2 or size / epsilon <= 2**55
