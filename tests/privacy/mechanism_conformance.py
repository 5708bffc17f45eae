"""What every local mechanism must satisfy: inherit :class:`MechanismConformance` and name the mechanism."""

import math
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pytest
from scipy import stats

from workbench.params import ParameterError
from workbench.privacy.entropy import OsEntropy, SeededEntropy
from workbench.privacy.local.cells import Cells
from workbench.privacy.local.error_profile import error_profile
from workbench.privacy.local.mechanism_table import MechanismTable
from workbench.privacy.local.mechanisms import MECHANISMS, Mechanism
from workbench.privacy.local.sampler import TOTAL, TOTAL_BITS, AliasSampler

EPSILONS = (1e-6, 0.01, 0.1, 0.5, 1.0, math.log(3), 2.0, 4.0, 10.0, 30.0)
FALSE_ALARM = 1e-6


def buckets_of(sampler: AliasSampler) -> tuple[np.ndarray, np.ndarray]:
    """Return threshold and alias of each bucket, (m·K,)."""
    low = sampler.word.type(sampler.bits)
    thresholds = (sampler.first >> low).astype(np.uint64) << sampler.later | sampler.rest
    return thresholds, sampler.first & sampler.word.type((1 << sampler.bits) - 1)


def decoded(sampler: AliasSampler, columns: int) -> np.ndarray:
    """Return the weights that ``sampler`` really samples, uint64 (m, columns): the check that it is exact."""
    buckets = 1 << sampler.bits
    thresholds, alias = (found.reshape(sampler.rows, buckets) for found in buckets_of(sampler))
    capacity = np.uint64(1 << (TOTAL_BITS - sampler.bits))
    weights = thresholds.copy()
    row = np.broadcast_to(np.arange(sampler.rows)[:, None], alias.shape)
    np.add.at(weights, (row, alias), capacity - thresholds)
    return weights[:, :columns]


def brute_force_ratio(weights: np.ndarray) -> Fraction:
    """The largest ratio of two entries of a column, by looking at every pair of Python integers."""
    worst = Fraction(1)
    for column in weights.T:
        integers = column.tolist()
        if max(integers) > 0:
            worst = max(worst, Fraction(max(integers), min(integers)))
    return worst


class MechanismConformance:
    """Inherited by the test of each mechanism.

    Attributes:
        mechanism: the descriptor under test.
        spaces: cells it must work on.
        exactly: whether ε must be met to rounding rather than to 2 %.
        every_answer: whether every cell can be answered; if not, an answer that some value gives is one of all.
        own_is_likeliest: whether no answer is likelier than the value itself.
    """

    mechanism: ClassVar[Mechanism]
    spaces: ClassVar[tuple[Cells, ...]] = (
        Cells.line(0, 1, 2),
        Cells.line(-1, 1, 3),
        Cells.line(0, 120, 121),
        Cells.line(0, 120, 120, missing=True),
        Cells.line(1e-3, 1e6, 33),
    )
    exactly: ClassVar[bool] = False
    every_answer: ClassVar[bool] = True
    own_is_likeliest: ClassVar[bool] = True

    def table(self, cells: Cells, epsilon: float) -> MechanismTable:
        made = self.mechanism.build(cells, epsilon)
        assert isinstance(made, MechanismTable)
        return made

    def test_is_in_the_list(self):
        assert self.mechanism in MECHANISMS

    @pytest.mark.parametrize("epsilon", EPSILONS)
    def test_exact_epsilon_is_that_of_the_integers_sampled(self, epsilon):
        for cells in self.spaces:
            table = self.table(cells, epsilon)
            sampled = decoded(AliasSampler(table.weights), table.outputs)
            assert np.array_equal(sampled, table.weights)
            assert table.exact_ratio == brute_force_ratio(sampled)
            assert table.exact_epsilon <= epsilon
            least = epsilon * (1 - 1e-9) - 1e-15 if self.exactly and epsilon < 29 else 0.98 * epsilon
            assert table.exact_epsilon >= least

    @pytest.mark.parametrize("epsilon", EPSILONS)
    def test_every_row_is_a_distribution_over_every_output(self, epsilon):
        for cells in self.spaces:
            weights = self.table(cells, epsilon).weights
            assert weights.shape == (cells.total, cells.total)
            assert all(sum(row) == TOTAL for row in weights.tolist())
            used = weights[:, weights.max(axis=0) > 0]
            assert used.min() >= 1
            assert used.shape == weights.shape or not self.every_answer

    def test_shares_above_thirty_are_served_by_the_table_for_thirty(self):
        cells = self.spaces[0]
        assert self.table(cells, 1000.0).digest() == self.table(cells, 30.0).digest()

    @pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf, 1e-7, 1e7, True])
    def test_impossible_epsilon_is_refused(self, epsilon):
        with pytest.raises(ParameterError):
            self.mechanism.build(self.spaces[0], epsilon)

    def test_more_epsilon_never_means_more_error(self):
        for cells in self.spaces[:3]:
            errors = [error_profile(self.table(cells, e), cells).expected_absolute_error for e in EPSILONS[2:]]
            assert errors == sorted(errors, reverse=True)

    def test_the_own_value_is_the_likeliest_answer_of_every_value(self):
        for cells in self.spaces if self.own_is_likeliest else ():
            chances = self.table(cells, 2.0).probabilities()[: cells.size, : cells.size]
            assert np.all(np.diag(chances) >= chances.max(axis=1) * (1 - 1e-12))

    def test_rebuilding_gives_the_same_table(self):
        for cells in self.spaces:
            assert self.mechanism.build(cells, 1.5).digest() == self.mechanism.build(cells, 1.5).digest()

    def test_draws_follow_the_table(self):
        """Chi-square of 200,000 draws from operating-system entropy, per input, false alarm at most 1e-6 in all."""
        cells = self.spaces[1]
        table = self.table(cells, 1.0)
        draws = 200_000
        for given in range(table.inputs):
            seen = np.bincount(
                table.sample(np.full(draws, given, dtype=np.uint16), OsEntropy()), minlength=table.outputs
            )
            expected = table.probabilities()[given] * draws
            assert not seen[expected == 0].any()
            seen, expected = seen[expected > 0], expected[expected > 0]
            assert stats.chisquare(seen, expected * seen.sum() / expected.sum()).pvalue > FALSE_ALARM / table.inputs

    def test_a_cell_outside_the_table_is_refused(self):
        cells = self.spaces[1]
        with pytest.raises(IndexError):
            self.table(cells, 1.0).sample(np.array([cells.total], dtype=np.uint16), OsEntropy())

    def test_seeded_draws_repeat_and_are_marked(self):
        cells = self.spaces[2]
        table = self.table(cells, 1.0)
        values = np.arange(cells.total, dtype=np.uint16)
        assert np.array_equal(table.sample(values, SeededEntropy(7)), table.sample(values, SeededEntropy(7)))
        assert not SeededEntropy(7).releasable
        assert OsEntropy().releasable
