"""What every accountant must satisfy: inherit one of these suites and name the accountant.

What is true of a run is known from outside in three ways: closed forms, all outcomes of a few coins in fractions, and
the library's distributions rounded down. No accountant may be below any of them.
"""

import dataclasses
import functools
import itertools
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar

import pytest
from dp_accounting.pld import privacy_loss_distribution as library

from workbench.params import BudgetRefusedError, ParameterError
from workbench.privacy.accounting import accountant, totals
from workbench.privacy.accounting.accountant import (
    COARSE,
    LEAST_NOISE,
    MOST_NOISE,
    MOST_STEPS,
    Accountant,
    Grid,
    loss,
    most_steps,
    noise_for,
    within,
)
from workbench.privacy.accounting.event import (
    ApproximateDp,
    Composed,
    CostEvent,
    GaussianNoise,
    Parallel,
    PoissonGaussian,
    PureDp,
    Repeated,
    RowsPerPerson,
)
from workbench.privacy.accounting.gaussian import gaussian_delta
from workbench.privacy.accounting.totals import MixedAccountant, compose_totals

DELTA = 1e-5
RUN = PoissonGaussian(0.2, 1.0, 40)
GRID = 1.001
"""What two bounds of privacy loss distributions may be apart where they should be ordered: each has its own grid."""

IMPOSSIBLE = [
    *((dataclasses.replace(RUN, sample_rate=rate), DELTA) for rate in (0.0, 1.1, -0.1, math.nan)),
    *((dataclasses.replace(RUN, noise_multiplier=s), DELTA) for s in (0.0, -1.0, math.nan, math.inf)),
    *((dataclasses.replace(RUN, noise_multiplier=s), DELTA) for s in (0.99 * LEAST_NOISE, 1.01 * MOST_NOISE)),
    *((dataclasses.replace(RUN, steps=steps), DELTA) for steps in (-1, True, MOST_STEPS + 1)),
    *((RUN, delta) for delta in (0.0, 1.0, -1e-5, math.nan)),
]


def below(x: float, sigma: float) -> float:
    """Return the chance that normal noise is at most x."""
    return 0.5 * math.erfc(-x / (sigma * math.sqrt(2)))


def exact_step(rate: float, sigma: float, epsilon: float) -> float:
    """Return δ of one sampled step at ε, exactly: the larger of both directions, noise alone against the mixture."""

    def above(x: float) -> tuple[float, float]:
        """Chances of the mixture and of noise alone to be above x."""
        return (1 - rate) * below(-x, sigma) + rate * below(1 - x, sigma), below(-x, sigma)

    def ratio_is(height: float) -> float:
        """Where the mixture is ``height`` times as likely as noise alone."""
        return sigma**2 * math.log((height - 1 + rate) / rate) + 0.5

    mixture, noise = above(ratio_is(math.exp(epsilon)))
    found = mixture - math.exp(epsilon) * noise
    if math.exp(-epsilon) > 1 - rate:  # else noise alone is nowhere so much likelier
        mixture, noise = above(ratio_is(math.exp(-epsilon)))
        found = max(found, (1 - noise) - math.exp(epsilon) * (1 - mixture))
    return found


@functools.cache
def rounded_down(event: PoissonGaussian, delta: float) -> float:
    """Return an ε that is surely not above the true one; the same for every accountant."""
    one = library.from_gaussian_mechanism(
        event.noise_multiplier,
        sampling_prob=event.sample_rate,
        value_discretization_interval=1e-4,
        pessimistic_estimate=False,
        use_connect_dots=False,
    )
    return float(one.self_compose(event.steps).get_epsilon_for_delta(delta))


@functools.cache
def epsilon_of(event: PoissonGaussian, delta: float, name: str, listed: tuple[Accountant, ...]) -> float:
    """Return what the accountant of that name of those ``listed`` finds: several tests look at one run."""
    assert listed == accountant.ACCOUNTANTS
    return loss(event, delta, name).epsilon


class AccountantConformance:
    """Inherited by the test of each accountant of training runs.

    Attributes:
        chosen: the accountant.
    """

    chosen: ClassVar[Accountant]

    @pytest.fixture(autouse=True)
    def listed(self, monkeypatch):
        """Put it on the list, where it is not: that is all that an accountant needs."""
        if self.chosen not in accountant.ACCOUNTANTS:
            monkeypatch.setattr(accountant, "ACCOUNTANTS", (*accountant.ACCOUNTANTS, self.chosen))
            accountant._noise_for.cache_clear()

    def epsilon(self, event: PoissonGaussian, delta: float = DELTA) -> float:
        return epsilon_of(event, delta, self.chosen.name, accountant.ACCOUNTANTS)

    def test_has_a_name_of_its_own_and_one_that_is_at_once(self):
        names = accountant.accountant_names()
        assert names.count(self.chosen.name) == 1
        assert self.chosen.title
        fast = accountant.accountant_named(self.chosen.at_once)
        assert fast.at_once == fast.name

    def test_no_steps_cost_nothing(self):
        assert self.epsilon(dataclasses.replace(RUN, steps=0)) == 0

    @pytest.mark.parametrize("sigma", [0.7, 2.0, 30.0])
    @pytest.mark.parametrize("steps", [1, 50])
    def test_without_sampling_it_is_above_the_closed_form(self, sigma, steps):
        # k Gaussian releases are one with σ/√k.
        assert gaussian_delta(self.epsilon(PoissonGaussian(1.0, sigma, steps)), sigma / math.sqrt(steps)) <= DELTA

    @pytest.mark.parametrize(("rate", "sigma"), [(0.1, 1.0), (0.5, 0.6), (0.05, 1.5)])
    @pytest.mark.parametrize("delta", [1e-5, 1e-2])
    def test_one_sampled_step_is_above_its_exact_cost(self, rate, sigma, delta):
        assert exact_step(rate, sigma, self.epsilon(PoissonGaussian(rate, sigma, 1), delta)) <= delta

    @pytest.mark.parametrize("event", [RUN, PoissonGaussian(0.02, 0.8, 300), PoissonGaussian(0.9, 4.0, 20)])
    def test_sampled_steps_are_above_distributions_that_are_rounded_down(self, event):
        truth = rounded_down(event, DELTA)
        assert truth > 0.1
        assert self.epsilon(event) >= truth
        assert self.chosen.quick(event, DELTA).epsilon >= truth
        assert self.chosen.bound(event, DELTA, Grid(COARSE)).epsilon >= truth
        assert epsilon_of(event, DELTA, self.chosen.at_once, accountant.ACCOUNTANTS) >= self.epsilon(event)

    def test_it_grows_with_what_is_shown_and_falls_with_noise_and_delta(self):
        once = self.epsilon(RUN)
        for more in ({"steps": 80}, {"sample_rate": 0.3}, {"noise_multiplier": 0.8}):
            assert self.epsilon(dataclasses.replace(RUN, **more)) * GRID > once
        assert self.epsilon(RUN, 1e-7) * GRID > once

    def test_the_label_costs_nothing(self):
        assert self.epsilon(dataclasses.replace(RUN, label="one")) == self.epsilon(RUN)

    def test_epsilon_at_its_orders_is_bounded_by_the_best(self):
        if self.chosen.at_orders is None:
            return
        orders, divergence = accountant.renyi(RUN)
        best = float(min(self.chosen.at_orders(orders, divergence, DELTA)))
        assert best == pytest.approx(self.epsilon(RUN), rel=1e-9)

    @pytest.mark.parametrize(("event", "delta"), IMPOSSIBLE)
    def test_impossible_runs_are_refused(self, event, delta):
        with pytest.raises(ParameterError):
            self.epsilon(event, delta)

    @pytest.mark.parametrize("target", [0.3, pytest.param(3.0, marks=pytest.mark.slow)])
    def test_calibrated_noise_meets_the_target_and_hardly_overshoots(self, target):
        sigma = noise_for(RUN, DELTA, target, self.chosen.name)
        assert self.epsilon(dataclasses.replace(RUN, noise_multiplier=sigma)) <= target
        assert self.epsilon(dataclasses.replace(RUN, noise_multiplier=0.999 * sigma)) > target

    def test_most_steps_is_the_last_step_under_the_cap(self):
        event, name = PoissonGaussian(0.1, 4.0, 200), self.chosen.name
        steps = most_steps(event, DELTA, 1.2, name)
        assert 0 < steps < 200
        assert self.epsilon(dataclasses.replace(event, steps=steps)) <= 1.2
        assert self.epsilon(dataclasses.replace(event, steps=steps + 1)) > 1.2
        assert within(event, DELTA, 1.2, name).steps == steps
        assert most_steps(event, DELTA, 100.0, name) == 200
        with pytest.raises(BudgetRefusedError, match=r"first step alone costs epsilon = \d.*above the cap of 0\.001"):
            within(event, DELTA, 1e-3, name)


def pure(epsilon: str) -> PureDp:
    return PureDp(Decimal(epsilon))


COINS = [["0.5"], ["1", "1", "1"], ["0.1"] * 8, ["0.3", "0.3", "1.1", "0.05"]]
WHOLE: list[CostEvent] = [
    Repeated(pure("0.05"), 60),
    Composed((pure("0.5"), ApproximateDp(Decimal("0.3"), Decimal("1e-7")))),
    Repeated(GaussianNoise(8.0), 12),
    PoissonGaussian(0.1, 3.0, 50),
    Composed((pure("0.4"), PoissonGaussian(0.1, 3.0, 50), GaussianNoise(20.0))),
]


def exact_delta(epsilons: list[float], epsilon: float) -> Fraction:
    """Return δ of so many coins at ε by looking at every outcome, in fractions."""
    factors = [Fraction(math.exp(e)) for e in epsilons]
    edge, delta = Fraction(math.exp(epsilon)), Fraction(0)
    for rights in itertools.product((True, False), repeat=len(epsilons)):
        one = other = Fraction(1)
        for right, factor in zip(rights, factors, strict=True):
            one *= (factor if right else 1) / (1 + factor)
            other *= (1 if right else factor) / (1 + factor)
        delta += max(one - edge * other, Fraction(0))
    return delta


@functools.cache
def totals_of(event: CostEvent, delta: Any, listed: tuple[MixedAccountant, ...]) -> tuple[totals.Total, ...]:
    """Return what all the accountants ``listed`` find of an event: each suite looks at its own."""
    assert listed == totals.MIXED_ACCOUNTANTS
    return compose_totals(event, delta).totals


class MixedAccountantConformance:
    """Inherited by the test of each accountant of mixed releases.

    Attributes:
        chosen: the accountant.
    """

    chosen: ClassVar[MixedAccountant]

    @pytest.fixture(autouse=True)
    def listed(self, monkeypatch):
        """Put it on the list, where it is not."""
        if self.chosen not in totals.MIXED_ACCOUNTANTS:
            monkeypatch.setattr(totals, "MIXED_ACCOUNTANTS", (*totals.MIXED_ACCOUNTANTS, self.chosen))

    def total(self, event: CostEvent, delta: Any = DELTA) -> totals.Total:
        (found,) = (t for t in totals_of(event, delta, totals.MIXED_ACCOUNTANTS) if t.method == self.chosen.name)
        assert (found.epsilon is None) == bool(found.why_not)
        return found

    def test_has_a_name_of_its_own_and_a_title(self):
        assert [a.name for a in totals.MIXED_ACCOUNTANTS].count(self.chosen.name) == 1
        assert self.chosen.title

    def test_nothing_costs_nothing(self):
        assert self.total(Composed(())).epsilon == 0

    @pytest.mark.parametrize("epsilons", COINS)
    @pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-10])
    def test_coins_are_above_what_every_outcome_shows(self, epsilons, delta):
        found = self.total(Composed(tuple(pure(e) for e in epsilons)), delta).epsilon
        assert found is None or exact_delta([float(e) for e in epsilons], found) <= Fraction(delta)

    @pytest.mark.parametrize("times", [1, 25])
    def test_gaussian_releases_are_above_the_closed_form(self, times):
        found = self.total(Repeated(GaussianNoise(5.0), times)).epsilon
        assert found is None or gaussian_delta(found, 5.0 / math.sqrt(times)) <= DELTA

    def test_a_training_is_above_its_distribution_rounded_down(self):
        found = self.total(RUN).epsilon
        assert found is None or found >= rounded_down(RUN, DELTA)

    @pytest.mark.parametrize("event", WHOLE)
    def test_it_grows_with_releases_and_rows_and_falls_with_delta(self, event):
        once = self.total(event).epsilon
        if once is None:
            return
        more = (self.total(Composed((event, pure("0.2")))), self.total(Repeated(event, 2)), self.total(event, 2e-7))
        person = self.total(RowsPerPerson(event, 2)) if not isinstance(event, ApproximateDp | Composed) else None
        for found in (*more, *((person,) if person is not None else ())):
            assert found.epsilon is None or found.epsilon * GRID >= once

    def test_the_order_and_the_nesting_of_releases_do_not_matter(self):
        parts = (pure("0.3"), GaussianNoise(9.0), pure("0.1"))
        one, other = Composed(parts), Composed((Composed(parts[:0:-1]), parts[0]))
        found, again = self.total(one).epsilon, self.total(other).epsilon
        assert (found is None) == (again is None)
        assert found is None or found == pytest.approx(again, rel=1e-12)

    def test_of_disjoint_parts_the_worst_counts(self):
        parts = Parallel((pure("0.1"), pure("0.7"), pure("0.3")))
        assert self.total(parts).epsilon == self.total(pure("0.7")).epsilon

    def test_a_delta_that_the_releases_exceed_is_refused(self):
        with pytest.raises(ParameterError, match="the releases alone have a delta"):
            self.total(Repeated(ApproximateDp(Decimal("0.5"), Decimal("1e-6")), 3), 1e-6)

    @pytest.mark.parametrize("delta", [-1e-6, 1.0, math.nan])
    def test_an_impossible_delta_is_refused(self, delta):
        with pytest.raises(ParameterError):
            self.total(pure("0.5"), delta)
