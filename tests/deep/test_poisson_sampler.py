"""The sampler is exactly Poisson: coins of one rate, independent between rows and steps."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from workbench.deep.poisson import PoissonSampler
from workbench.params import ParameterError
from workbench.privacy.entropy import OsEntropy, SeededEntropy

FALSE_ALARM = 1e-6


class Scripted:
    """Entropy that gives prepared words, to see what the sampler makes of them."""

    releasable = False

    def __init__(self, *parts: NDArray[np.uint64]) -> None:
        self._parts = iter(parts)

    def words(self, count: int) -> NDArray[np.uint64]:
        part = next(self._parts)
        assert len(part) == count
        return part


@given(
    rate=st.floats(2**-60, 1, exclude_max=True),
    first=st.lists(st.integers(0, 255), min_size=1, max_size=40),
    rest=st.lists(st.integers(0, 2**56 - 1), min_size=40, max_size=40),
)
def test_a_row_is_drawn_when_its_64_bits_are_below_the_threshold(
    rate: float, first: list[int], rest: list[int]
) -> None:
    threshold = int(Fraction(rate) * 2**64)
    padded = np.zeros(-(-len(first) // 8) * 8, dtype=np.uint8)
    padded[: len(first)] = first
    tied = [i for i, byte in enumerate(first) if byte == threshold >> 56]
    # The 56 bits stand in the high end of the word: the low byte must not matter.
    words = np.array([(rest[i] << 8) | 0xA5 for i in tied], dtype=np.uint64)
    sampler = PoissonSampler(len(first), rate, Scripted(padded.view(np.uint64), words))
    expected = [i for i, byte in enumerate(first) if (byte << 56) + rest[i] < threshold]
    assert sampler.draw().tolist() == expected


@given(rate=st.floats(2**-60, 1))
def test_the_rate_sampled_is_never_above_the_rate_accounted(rate: float) -> None:
    sampled = Fraction(PoissonSampler(1, rate, OsEntropy()).threshold, 2**64)
    assert 0 <= Fraction(rate) - sampled < Fraction(1, 2**64)


@pytest.mark.parametrize(("rows", "rate"), [(997, 0.3), (5000, 64 / 60_000), (64, 0.999)])
def test_inclusions_of_the_released_sampler_follow_the_exact_rate(rows: int, rate: float) -> None:
    sampler = PoissonSampler(rows, rate, OsEntropy())
    draws = 400
    counts = np.zeros(rows, dtype=int)
    for _ in range(draws):
        counts[sampler.draw()] += 1
    total = int(counts.sum())
    assert stats.binomtest(total, rows * draws, rate).pvalue > FALSE_ALARM
    # Rows alike: their counts scatter as binomials do (chi-squared with rows degrees of freedom).
    statistic = float(((counts - draws * rate) ** 2).sum() / (draws * rate * (1 - rate)))
    spread = math.sqrt(2 * rows * (1 + 1 / (2 * draws * rate * (1 - rate))))
    assert abs(statistic - rows) < stats.norm.isf(FALSE_ALARM / 2) * spread * 1.3


def test_batch_sizes_scatter_as_a_binomial_and_not_as_fixed_batches() -> None:
    rows, rate, draws = 500, 0.02, 2000
    sampler = PoissonSampler(rows, rate, SeededEntropy(5))
    sizes = np.array([len(sampler.draw()) for _ in range(draws)])
    variance = rows * rate * (1 - rate)
    statistic = float(((sizes - rows * rate) ** 2).sum() / variance)
    low, high = stats.chi2.ppf([FALSE_ALARM, 1 - FALSE_ALARM], draws)
    assert 0.95 * low < statistic < 1.05 * high
    assert (sizes == 0).any() or stats.binom.pmf(0, rows, rate) * draws < 14
    fixed = np.full(draws, int(rows * rate))
    assert float(((fixed - rows * rate) ** 2).sum() / variance) < low, "the test would see fixed batches"


def test_rows_are_drawn_independently_of_each_other() -> None:
    rows, rate, draws = 6, 0.4, 6000
    sampler = PoissonSampler(rows, rate, SeededEntropy(6))
    drawn = np.zeros((draws, rows), dtype=bool)
    for batch in drawn:
        batch[sampler.draw()] = True
    for a, b in itertools.combinations(range(rows), 2):
        both = int((drawn[:, a] & drawn[:, b]).sum())
        assert stats.binomtest(both, draws, rate**2).pvalue > FALSE_ALARM / 15
    successive = int((drawn[1:, 0] & drawn[:-1, 0]).sum())
    assert abs(successive / (draws - 1) - rate**2) < 6 * math.sqrt(rate**2 / draws) * 1.5


def test_rate_one_draws_every_row_and_small_tables_can_give_empty_batches() -> None:
    assert PoissonSampler(7, 1.0, OsEntropy()).draw().tolist() == list(range(7))
    sampler = PoissonSampler(3, 0.01, SeededEntropy(1))
    sizes = [len(sampler.draw()) for _ in range(50)]
    assert 0 in sizes


def test_only_operating_system_coins_are_releasable() -> None:
    assert PoissonSampler(3, 0.5, OsEntropy()).releasable
    assert not PoissonSampler(3, 0.5, SeededEntropy(1)).releasable


@pytest.mark.parametrize(("rows", "rate"), [(0, 0.5), (3, 0.0), (3, 1.5), (3, math.nan), (3, -0.1)])
def test_impossible_samplers_are_refused(rows: int, rate: float) -> None:
    with pytest.raises(ParameterError):
        PoissonSampler(rows, rate, OsEntropy())
