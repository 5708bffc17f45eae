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
    # All rows together, the two halves of the table, and each place within a word of random bytes.
    groups = [slice(None), slice(rows // 2), slice(rows // 2, None), *(slice(k, None, 8) for k in range(8))]
    for group in groups:
        part = counts[group]
        assert stats.binomtest(int(part.sum()), draws * len(part), rate).pvalue > FALSE_ALARM / len(groups)


def test_batch_sizes_are_binomial_and_not_fixed() -> None:
    rows, rate, draws = 500, 0.004, 2000
    sampler = PoissonSampler(rows, rate, SeededEntropy(5))
    sizes = np.array([len(sampler.draw()) for _ in range(draws)])

    def alarms(sizes: NDArray[np.int64]) -> bool:
        events = [(sizes <= k, stats.binom.cdf(k, rows, rate)) for k in (0, 1, 2, 3, 5)]
        return any(
            stats.binomtest(int(seen.sum()), draws, chance).pvalue <= FALSE_ALARM / len(events)
            for seen, chance in events
        )

    assert not alarms(sizes)
    assert alarms(np.full(draws, 2)), "the test would see fixed batches"


def test_rows_and_steps_are_drawn_independently() -> None:
    rows, rate, draws = 6, 0.4, 6000
    sampler = PoissonSampler(rows, rate, SeededEntropy(6))
    drawn = np.zeros((draws, rows), dtype=bool)
    for batch in drawn:
        batch[sampler.draw()] = True
    for a, b in itertools.combinations(range(rows), 2):
        both = int((drawn[:, a] & drawn[:, b]).sum())
        assert stats.binomtest(both, draws, rate**2).pvalue > FALSE_ALARM / 16
    successive = int((drawn[0::2, 0] & drawn[1::2, 0]).sum())
    assert stats.binomtest(successive, draws // 2, rate**2).pvalue > FALSE_ALARM / 16


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
