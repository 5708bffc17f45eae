"""The sampler is exactly Poisson: coins of one rate, independent between rows and steps."""

import copy
import itertools
import math
import multiprocessing
import os
import pickle
from fractions import Fraction
from typing import Any

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


@given(rate=st.floats(2**-60, 1, exclude_max=True))
def test_no_coin_is_above_the_rate_accounted_and_none_far_below(rate):
    """The chance of each coin, given that it is reached, in exact arithmetic."""
    sampler = PoissonSampler(10, rate, OsEntropy())
    survival = [2**64, *(int(s) for s in sampler.survival)]
    asked = Fraction(sampler.threshold, 2**64)
    assert 0 <= Fraction(rate) - asked < Fraction(1, 2**64)
    assert len(survival) <= 2**16 + 1
    steps = list(itertools.pairwise(survival))
    for before, after in steps[:200] + steps[-200:]:
        assert 0 <= asked - Fraction(before - after, before) <= Fraction(1, 2**32)


class Scripted:
    """Entropy that gives prepared words, to see what the sampler makes of them."""

    releasable = False

    def __init__(self, word: int) -> None:
        self._word = word

    def words(self, count: int) -> NDArray[np.uint64]:
        return np.full(count, self._word, dtype=np.uint64)


@pytest.mark.parametrize("rate", [1 - 2**-53, 0.999, 0.3, 256 / 60_000, 64 / 100_000, 1e-5, 1e-10, 2**-60, 5e-324])
def test_gaps_that_are_worked_out_are_those_of_the_table(rate):
    """At every border of the table, and everywhere else."""
    sampler = PoissonSampler(10, rate, OsEntropy())
    borders, one = sampler.survival, np.uint64(1)
    random = SeededEntropy(4).words(50_000)
    edges = np.array([0, 1, 2**64 - 1], dtype=np.uint64)
    words = np.concatenate([borders, borders - one, borders + one, random, random >> np.uint64(24), edges])
    expected = len(borders) - np.searchsorted(borders[::-1], words, side="right")
    assert np.array_equal(sampler._failures(words), expected)


def test_at_usual_rates_few_gaps_are_looked_up():
    assert all(PoissonSampler(10, rate, OsEntropy()).margin < 1e-3 for rate in (0.5, 0.01, 64 / 60_000, 64 / 100_000))


def test_steps_that_are_prepared_together_are_dealt_out_once_each():
    """However many gaps are drawn at once, the coins are the same: one long row of them."""
    rows, rate = 50, 0.1
    together, alone = (PoissonSampler(rows, rate, SeededEntropy(3)) for _ in range(2))
    alone._gaps = 1
    batches = [together.draw() for _ in range(500)]
    for batch in batches:
        assert np.array_equal(batch, alone.draw())
        assert (np.diff(batch) > 0).all()
    assert not any(np.shares_memory(a, b) for a, b in itertools.pairwise(batches) if len(a) and len(b))


@pytest.mark.parametrize("failures", [0, 1, 5, 9, 10, 23])
def test_as_many_coins_fail_as_the_bits_are_below_survivals(failures):
    survival = [2**64, *(int(s) for s in PoissonSampler(10, 0.25, OsEntropy()).survival)]
    highest = survival[failures] - 1  # below S₁ … of as many failures, and of no more
    sampler = PoissonSampler(10, 0.25, Scripted(highest))
    places = [place for _ in range(7) for place in [sampler.draw()]]
    seen = np.concatenate([rows + 10 * step for step, rows in enumerate(places)])
    assert seen.tolist() == list(range(failures, 70, failures + 1))


def test_where_the_table_of_gaps_ends_the_coins_go_on():
    """At 1e-5 no word reaches beyond 65,536 coins: rows behind them must be as likely as those before."""
    rows, rate, draws = 300_000, 1e-5, 3000
    sampler = PoissonSampler(rows, rate, SeededEntropy(11))
    drawn = np.concatenate([sampler.draw() for _ in range(draws)])
    for low in range(0, rows, 50_000):
        part = int(((drawn >= low) & (drawn < low + 50_000)).sum())
        assert stats.binomtest(part, draws * 50_000, rate).pvalue > FALSE_ALARM / 6


@pytest.mark.parametrize(("rows", "rate"), [(997, 0.3), (5000, 64 / 60_000), (64, 0.999)])
def test_inclusions_of_the_released_sampler_follow_the_exact_rate(rows, rate):
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


def test_batch_sizes_are_binomial_and_not_fixed():
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


def test_rows_and_steps_are_drawn_independently():
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


def test_rate_one_draws_every_row_and_small_tables_can_give_empty_batches():
    assert PoissonSampler(7, 1.0, OsEntropy()).draw().tolist() == list(range(7))
    sampler = PoissonSampler(3, 0.01, SeededEntropy(1))
    sizes = [len(sampler.draw()) for _ in range(50)]
    assert 0 in sizes


def _child(sampler: PoissonSampler, pipe: Any) -> None:
    pipe.send([sampler.draw().tolist() for _ in range(5)])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked on this system")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_process_does_not_repeat_its_parents_batches():
    sampler = PoissonSampler(1000, 0.05, OsEntropy())
    sampler.draw()
    assert len(sampler._edges) > 5, "steps are prepared"
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(target=_child, args=(sampler, theirs))
    process.start()
    drawn = ours.recv()
    process.join()
    assert all(drawn), "batches of 50 rows"
    assert not any(sampler.draw().tolist() in drawn for _ in range(5))


def test_a_sampler_is_not_copied():
    for way in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot be copied"):
            way(PoissonSampler(3, 0.5, OsEntropy()))


def test_only_operating_system_coins_are_releasable():
    assert PoissonSampler(3, 0.5, OsEntropy()).releasable
    assert not PoissonSampler(3, 0.5, SeededEntropy(1)).releasable


@pytest.mark.parametrize(("rows", "rate"), [(0, 0.5), (3, 0.0), (3, 1.5), (3, math.nan), (3, -0.1)])
def test_impossible_samplers_are_refused(rows, rate):
    with pytest.raises(ParameterError):
        PoissonSampler(rows, rate, OsEntropy())
