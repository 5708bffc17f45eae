"""The private median: exact ratios of its whole-number weights on neighbours, and the smooth sensitivity behind one."""

import itertools
import math
from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.params import ParameterError
from workbench.privacy.central.central_noise import NoNoise
from workbench.privacy.central.laplace import ReleasedNoise, StudyNoise
from workbench.privacy.central.private_median import (
    AGGREGATES,
    EPSILON_CAP,
    EXPONENTIAL,
    SMOOTH,
    median,
    median_place,
    median_sensitivity,
    median_weights,
    private_median,
)
from workbench.privacy.entropy import OsEntropy, SeededEntropy, uniform_below

EPSILONS = (0.01, 0.1, 0.7, 1.0, 3.0, 10.0)


# -- smooth sensitivity ------------------------------------------------------------------------------------------


def naive(x: Sequence[float], beta: float, lower: float, upper: float) -> float:
    """The definition in O(n²): max over k of e^(−βk) · max over t of x_{m+t} − x_{m+t−k−1}."""
    count, m = len(x), median_place(len(x))

    def at(i: int) -> float:
        return lower if i < 1 else upper if i > count else x[i - 1]

    found = 0.0
    for k in range(count + 1):
        widest = max(at(m + t) - at(m + t - k - 1) for t in range(k + 2))
        found = max(found, math.exp(-beta * k) * widest)
    return found


def test_golden_values(golden):
    entries = golden["smooth_sensitivity_median"]
    assert len(entries) == 6
    for entry in entries:
        given_ = entry["inputs"]
        found = median_sensitivity(given_["x"], given_["beta"], given_["lower"], given_["upper"])
        assert found == pytest.approx(entry["value"], abs=entry["tolerance"])


def test_the_fast_one_is_the_naive_one_on_thousands_of_arrays():
    generator = np.random.default_rng(5)
    for trial in range(3000):
        count = int(generator.integers(1, 26))
        upper = float(generator.choice([1.0, 7.0, 1000.0]))
        x = generator.uniform(0, upper, count)
        if trial % 3:  # ties, and values at the bounds
            x = np.clip(np.round(x / upper * 4) / 4 * upper, 0, upper)
        x, beta = sorted(x), float(10 ** generator.uniform(-3, 0.7))
        assert median_sensitivity(x, beta, 0, upper) == pytest.approx(naive(x, beta, 0, upper), rel=1e-12), (x, beta)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_it_is_the_least_smooth_bound_of_the_local_sensitivity(count):
    """Against the definition by brute force on a grid: max over all tables of their local sensitivity · e^(−βd)."""
    grid, beta = range(4), 0.4
    tables = list(itertools.product(grid, repeat=count))

    def local(table: tuple[int, ...]) -> int:
        here = median(sorted(table))
        others = (median(sorted((*table[:i], v, *table[i + 1 :]))) for i in range(count) for v in grid)
        return max(abs(here - other) for other in others)

    moves = {table: local(table) for table in tables}
    for table in tables:
        brute = max(
            moves[other] * math.exp(-beta * sum(a != b for a, b in zip(table, other, strict=True))) for other in tables
        )
        assert median_sensitivity(sorted(table), beta, 0, 3) == pytest.approx(brute, rel=1e-12)


def test_the_exponent_as_it_is_sometimes_printed_falls_below_the_local_sensitivity():
    x, beta = [0.0, 0.0, 0.0, 10.0, 10.0], 1.0  # one change makes 10 the median
    printed = max(
        (b - a) * math.exp(-beta * (j - i))
        for i, a in enumerate([0.0, *x, 10.0])
        for j, b in enumerate([0.0, *x, 10.0])
        if i <= 3 <= j
    )
    assert printed < 10 == median_sensitivity(x, beta, 0, 10)


# -- exact ratios ------------------------------------------------------------------------------------------------


def least_exponential(epsilon: float) -> Fraction:
    """e^ε from below, in 60 digits."""
    with localcontext() as context:
        context.prec = 60
        return Fraction(Decimal(epsilon).exp().next_minus())


def largest_ratio(one: Sequence[int], other: Sequence[int]) -> Fraction:
    """The largest ratio of the exact probabilities of a cell."""
    assert min(*one, *other) > 0
    return max(Fraction(a, b) for a, b in zip(one, other, strict=True)) * Fraction(sum(other), sum(one))


@pytest.mark.parametrize("aggregate", AGGREGATES)
@pytest.mark.parametrize(("count", "size"), [(1, 6), (2, 5), (3, 4), (4, 4), (5, 2), (6, 3)])
def test_every_pair_of_tiny_neighbours_stays_within_epsilon(aggregate, count, size):
    tables = list(itertools.combinations_with_replacement(range(size), count))
    for epsilon in EPSILONS:
        bound, seen = least_exponential(epsilon), Fraction(1)
        weights = {table: median_weights(aggregate, table, size, epsilon) for table in tables}
        for table in tables:
            for place, value in itertools.product(range(count), range(size)):
                other = tuple(sorted((*table[:place], value, *table[place + 1 :])))
                if other != table:
                    seen = max(seen, largest_ratio(weights[table], weights[other]))
        assert seen <= bound, (aggregate, epsilon, float(seen))
        # Noise for four times this ε would be seen.
        assert math.log(seen) > epsilon / 4


@given(st.data())
def test_any_neighbours_stay_within_epsilon(data):
    size = data.draw(st.integers(2, 120))
    cells = data.draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=25))
    epsilon = data.draw(st.floats(0.01, 10))
    place, value = data.draw(st.integers(0, len(cells) - 1)), data.draw(st.integers(0, size - 1))
    other = [*cells[:place], value, *cells[place + 1 :]]
    for aggregate in AGGREGATES:
        one, two = (median_weights(aggregate, sorted(c), size, epsilon) for c in (cells, other))
        assert largest_ratio(one, two) <= least_exponential(epsilon)
        assert largest_ratio(two, one) <= least_exponential(epsilon)


@pytest.mark.parametrize("aggregate", AGGREGATES)
@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 30.0, 50.0, 1000.0, 1e6])
def test_hostile_neighbours_at_the_ends_of_epsilon(aggregate, epsilon):
    size = 512
    pairs = [
        ([0] * 40, [*[0] * 39, size - 1]),
        ([*[0] * 20, *[size - 1] * 20], [*[0] * 19, *[size - 1] * 21]),
        ([*[0] * 20, size // 2, *[size - 1] * 20], [*[0] * 20, *[size - 1] * 21]),
        ([size - 1] * 301, [*[size - 2], *[size - 1] * 300]),
        ([3], [size - 1]),
    ]
    for one, other in pairs:
        found = [median_weights(aggregate, cells, size, epsilon) for cells in (one, other)]
        assert min(map(min, found)) >= 2**50
        bound = least_exponential(min(epsilon, EPSILON_CAP[aggregate]))
        assert largest_ratio(*found) <= bound
        assert largest_ratio(*found[::-1]) <= bound


def test_weights_are_those_of_the_formulas():
    cells, size, epsilon = [2, 5, 5, 6, 11], 16, 0.8
    by_rank = np.array(median_weights(EXPONENTIAL, cells, size, epsilon), dtype=np.float64)
    losses = [max(0, max(sum(v < c for v in cells), sum(v > c for v in cells)) - 2) for c in range(size)]
    wanted = np.exp(-epsilon * np.array(losses) / 2)
    np.testing.assert_allclose(by_rank / by_rank.sum(), wanted / wanted.sum(), rtol=1e-9)
    by_noise = np.array(median_weights(SMOOTH, cells, size, epsilon), dtype=np.float64)
    scale = median_sensitivity(cells, epsilon / 2, 0, size - 1) / (epsilon / 2)
    borders = np.array([-np.inf, *(np.arange(1, size) - 0.5 - 5), np.inf]) / scale
    np.testing.assert_allclose(by_noise / by_noise.sum(), np.diff(np.arctan(borders)) / np.pi, rtol=1e-9)


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_with_much_epsilon_the_median_is_all_but_certain(aggregate):
    weights = median_weights(aggregate, [1, 7, 9], 16, 1e6)
    assert weights[7] > 0.97 * sum(weights)


# -- drawing -----------------------------------------------------------------------------------------------------


class Scripted:
    """Draws the number that it is told to."""

    releasable = False

    def __init__(self, number: int = 0) -> None:
        self.number, self.total = number, 0

    def below(self, total: int) -> int:
        self.total = total
        return self.number

    def integers(self, values: Sequence[int], sensitivity: int, epsilon: float) -> list[int]:
        raise AssertionError("a median asks for no noise")


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_a_cell_is_drawn_by_exactly_its_weight(aggregate):
    cells, size = [1, 1, 4], 6
    weights = median_weights(aggregate, cells, size, 1.0)
    noise, before = Scripted(), 0
    for cell, weight in enumerate(weights):
        for noise.number in (before, before + weight - 1):
            assert private_median(aggregate, cells, size, 1.0, noise) == cell
            assert noise.total == sum(weights)
        before += weight


@pytest.mark.parametrize("total", [1, 2, 3, 2**63, 2**64 + 1, 3**200])
def test_a_uniform_number_is_below_its_total_whatever_its_size(total):
    for entropy in (OsEntropy(), SeededEntropy(3)):
        drawn = [uniform_below(total, entropy) for _ in range(40)]
        assert all(0 <= number < total for number in drawn)
        assert total < 2**60 or max(drawn) > total // 4  # missed by chance once in 10^24
    counts = np.bincount([uniform_below(3, SeededEntropy(9)) for _ in range(9)], minlength=3)
    assert counts.sum() == 9


def test_numbers_below_five_are_equally_frequent():
    entropy = SeededEntropy(11)
    counts = np.bincount([uniform_below(5, entropy) for _ in range(20_000)], minlength=5)
    assert abs(counts - 4000).max() < 6 * math.sqrt(4000)


def test_released_and_study_noise_draw_and_no_noise_does_not():
    for noise in (ReleasedNoise(), StudyNoise(np.random.default_rng(1))):
        assert {private_median(EXPONENTIAL, [3], 8, 1e6, noise) for _ in range(20)} == {3}
    with pytest.raises(AssertionError):
        private_median(EXPONENTIAL, [3], 8, 1.0, NoNoise())


@pytest.mark.parametrize("aggregate", AGGREGATES)
@pytest.mark.parametrize(
    ("cells", "size", "epsilon"),
    [([], 4, 1.0), ([4], 4, 1.0), ([-1], 4, 1.0), ([2, 1], 4, 1.0), ([0], 1, 1.0), ([0], 5000, 1.0)]
    + [([1], 4, bad) for bad in (0.0, -1.0, 1e-7, math.nan, math.inf)],
)
def test_what_is_no_median_is_refused(aggregate, cells, size, epsilon):
    with pytest.raises(ParameterError):
        median_weights(aggregate, cells, size, epsilon)
