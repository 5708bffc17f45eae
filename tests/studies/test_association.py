"""Measures of association against closed forms and against scipy, and where they cannot be said."""

from __future__ import annotations

import math

import numpy as np
import pytest

from workbench.params import WorkbenchError
from workbench.signals.cancel import CancelToken
from workbench.studies.association import Variable, association, associations, measure

RNG = np.random.default_rng(7)


def numbers(x) -> Variable:
    return Variable("x", np.asarray(x, dtype=np.float64), numeric=True)


def names(x) -> Variable:
    return Variable("c", np.asarray(x, dtype=np.int64), numeric=False)


def test_pearson_is_numpys():
    x, y = RNG.normal(size=400), RNG.normal(size=400)
    y += 0.6 * x
    assert association(numbers(x), numbers(y)) == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-12)
    assert association(numbers(x), numbers(-x)) == pytest.approx(-1)


def test_numbers_near_the_largest_bounds_do_not_overflow():
    x = np.linspace(-1e150, 1e150, 50)
    assert association(numbers(x), numbers(2 * x)) == pytest.approx(1)


def test_the_correlation_ratio_of_two_groups_is_the_corrected_pearson():
    groups = RNG.integers(0, 2, 500)
    x = RNG.normal(size=500) + groups
    r = np.corrcoef(x, groups)[0, 1]
    expected = math.sqrt(1 - 499 / 498 * (1 - r * r))
    assert association(numbers(x), names(groups)) == pytest.approx(expected, abs=1e-12)
    assert association(names(groups), numbers(x)) == pytest.approx(expected, abs=1e-12)


def test_cramers_v_is_bergsmas():
    stats = pytest.importorskip("scipy.stats.contingency")
    x = RNG.integers(0, 4, 900)
    y = np.where(RNG.random(900) < 0.5, x, RNG.integers(0, 5, 900))
    table = np.zeros((4, 5), dtype=int)
    np.add.at(table, (x, y), 1)
    v = stats.association(table, method="cramer")
    phi2 = max(0.0, v * v * 3 - 3 * 4 / 899)
    expected = math.sqrt(phi2 / (min(4 - 9 / 899, 5 - 16 / 899) - 1))
    assert association(names(x), names(y)) == pytest.approx(expected, abs=1e-9)


def test_a_domain_too_large_to_be_counted_in_full_gives_the_same():
    x = RNG.integers(0, 30, 2000)
    y = np.where(RNG.random(2000) < 0.4, x, RNG.integers(0, 30, 2000))
    assert association(names(x), names(y)) == pytest.approx(association(names(x * 100), names(y * 100)), abs=1e-12)


def test_independent_columns_with_many_names_are_near_nought():
    x, y, z = RNG.integers(0, 60, 3000), RNG.integers(0, 60, 3000), RNG.normal(size=3000)
    assert association(names(x), names(y)) < 0.08
    assert association(names(x), numbers(z)) < 0.12


def test_equal_names_go_together_fully():
    x = RNG.integers(0, 7, 300)
    assert association(names(x), names(6 - x)) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (numbers([1, 1, 1, 1]), numbers([1, 2, 3, 4])),
        (numbers([1, 2, 3, 4]), names([5, 5, 5, 5])),
        (names([1, 1, 1, 1]), names([0, 1, 0, 1])),
        (numbers([1, 2, math.nan, math.nan]), numbers([1, 2, 3, 4])),
        (names([-1, -1, -1, 1]), names([0, 1, 0, 1])),
        (numbers([1, 2, 3, 4]), names([0, 1, 2, 3])),
    ],
)
def test_where_nothing_can_be_said_it_is_nan(one, other):
    assert math.isnan(association(one, other))


def test_rows_with_a_missing_value_are_left_out_of_their_pair_alone():
    x, y = RNG.normal(size=50), RNG.normal(size=50)
    with_gap = np.append(x, math.nan)
    assert association(numbers(with_gap), numbers(np.append(y, 9.0))) == pytest.approx(np.corrcoef(x, y)[0, 1])


def test_the_matrix_is_symmetric_and_stops_when_cancelled():
    columns = [numbers(RNG.normal(size=40)), names(RNG.integers(0, 3, 40)), names(RNG.integers(0, 2, 40))]
    made = associations(columns)
    assert np.array_equal(made, made.T, equal_nan=True)
    assert np.all(np.diag(made) == 1)
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(WorkbenchError):
        associations(columns, cancel)


def test_each_pair_of_kinds_has_its_name():
    assert {measure(a, b) for a in (True, False) for b in (True, False)} == {
        "Pearson's r",
        "correlation ratio η",
        "Cramér's V",
    }
