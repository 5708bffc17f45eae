"""Sums of costs are exact, and every rounding is upwards."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, chisquare

from workbench.params import ParameterError
from workbench.privacy.accounting.compose import advanced_epsilon, for_person, round_up, total
from workbench.privacy.accounting.concentrated import zcdp_epsilon
from workbench.privacy.accounting.event import Cost, PureDp, ZeroConcentrated, exact, group
from workbench.privacy.accounting.zcdp import delta_of, rho_of
from workbench.privacy.central.central_noise import NoNoise
from workbench.privacy.central.laplace import ReleasedNoise, StudyNoise
from workbench.privacy.central.share import Budget, Share, gaussian_variance
from workbench.statistics.interval_widths import Widths, gaussian_count_width


def cost(epsilon: str, delta: str = "0") -> Cost:
    return Cost(Decimal(epsilon), Decimal(delta), PureDp(Decimal(epsilon)))


def test_advanced_composition_is_the_golden_one(golden):
    entries = golden["advanced_composition_eps"]
    assert entries
    for entry in entries:
        given_ = entry["inputs"]
        value = advanced_epsilon(given_["eps"], given_["k"], given_["delta_prime"])
        assert value == pytest.approx(entry["value"], abs=entry["tolerance"])


def test_a_person_with_several_rows_costs_the_golden_multiple(golden):
    (entry,) = golden["group_privacy_eps"]
    given_ = entry["inputs"]
    person = for_person(cost(str(given_["eps"])), given_["m"])
    assert float(person.epsilon) == entry["value"]
    assert person.delta == 0


def test_ten_tenths_are_one():
    assert total([exact(0.1)] * 10) == 1
    assert total([exact(0.1)] * 3) == exact(0.3)


@given(st.lists(st.floats(1e-12, 1e6), max_size=30))
def test_sums_are_exact(values):
    shares = [exact(v) for v in values]
    assert Fraction(total(shares)) == sum((Fraction(s) for s in shares), Fraction(0))


@given(value=st.floats(0, 1e9), places=st.integers(0, 12))
def test_rounding_never_flatters_and_stays_within_one_unit(value, places):
    rounded = Fraction(round_up(value, places))
    assert 0 <= rounded - Fraction(value) < Fraction(1, 10**places)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1.0])
def test_a_loss_that_is_no_number_is_not_rounded(bad):
    with pytest.raises(ParameterError):
        round_up(bad)


@given(epsilon=st.floats(0.01, 5), delta=st.floats(1e-12, 1e-3), rows=st.integers(2, 20))
def test_a_group_is_never_charged_less_than_its_formula(epsilon, delta, rows):
    person = for_person(Cost(exact(epsilon), exact(delta), PureDp(exact(epsilon))), rows)
    assert person.epsilon == exact(epsilon) * rows
    assert float(person.delta) >= group(epsilon, delta, rows)[1]
    assert person.delta <= 1


def test_one_row_per_person_changes_nothing_and_none_is_refused():
    assert for_person(cost("1", "1e-5"), 1) == cost("1", "1e-5")
    for rows in (0, -1, True):
        with pytest.raises(ParameterError):
            for_person(cost("1"), rows)


@pytest.mark.parametrize(
    ("epsilon", "count", "slack"), [(0, 1, 0.1), (math.nan, 1, 0.1), (1, 0, 0.1), (1, 1, 0), (1, 1, 1)]
)
def test_impossible_compositions_are_refused(epsilon, count, slack):
    with pytest.raises(ParameterError):
        advanced_epsilon(epsilon, count, slack)


# -- zCDP: the conversion of ρ, discrete Gaussian noise, and shares of a budget that sum exactly ----------------------


DRAWS = 20_000
FALSE_ALARM = 1e-7


def gaussian_delta(rho: float, epsilon: float) -> float:
    """The exact δ of the continuous Gaussian mechanism with that ρ (Balle & Wang 2018): no conversion may be below."""
    from scipy.stats import norm

    shift = math.sqrt(2 * rho)
    return float(norm.cdf(shift / 2 - epsilon / shift) - math.exp(epsilon) * norm.cdf(-shift / 2 - epsilon / shift))


@pytest.mark.parametrize("epsilon", ["0.01", "0.1", "1", "3", "10", "100"])
@pytest.mark.parametrize("delta", ["1e-3", "1e-6", "1e-12"])
def test_rho_is_the_largest_that_implies_epsilon_and_delta(epsilon, delta):
    rho = rho_of(Decimal(epsilon), Decimal(delta))
    assert delta_of(rho, Decimal(epsilon)) <= float(delta) < delta_of(float(rho) * (1 + 1e-7), Decimal(epsilon))
    assert gaussian_delta(float(rho), float(epsilon)) <= float(delta)
    # The account of many releases converts over a grid of orders: never below, and next to nothing above.
    assert 1 - 1e-9 <= zcdp_epsilon(float(rho), float(delta))[0] / float(epsilon) <= 1 + 2e-5
    # The first conversion (Bun & Steinke 2016): ε = ρ + 2√(ρ·ln(1/δ)); the tight one is never above it.
    assert float(epsilon) <= float(rho) + 2 * math.sqrt(float(rho) * math.log(1 / float(delta)))


def test_the_conversion_is_the_published_one_at_its_own_least_order():
    rho, epsilon = 0.5, 4.0
    orders = np.linspace(1.0001, 60, 400_000)
    logs = (orders - 1) * (orders * rho - epsilon) + orders * np.log1p(-1 / orders) - np.log(orders - 1)
    assert delta_of(rho, epsilon) == pytest.approx(math.exp(logs.min()), rel=1e-6)
    assert delta_of(0, 1.0) == 0


def test_the_accountant_of_another_library_agrees():
    import dp_accounting
    from dp_accounting import rdp

    for epsilon in (0.5, 1.0, 3.0):
        rho = float(rho_of(Decimal(repr(epsilon)), Decimal("1e-6")))
        theirs = rdp.RdpAccountant(orders=np.linspace(1.01, 120, 20_000))
        theirs.compose(dp_accounting.ZCDpEvent(rho))
        assert theirs.get_epsilon(1e-6) == pytest.approx(epsilon, rel=1e-5)


@pytest.mark.parametrize(("epsilon", "delta"), [("0", "1e-6"), ("1", "0"), ("1", "1"), ("-1", "1e-6")])
def test_what_is_no_epsilon_or_delta_is_refused(epsilon, delta):
    with pytest.raises(ParameterError):
        rho_of(Decimal(epsilon), Decimal(delta))


@pytest.mark.parametrize("weights", [[1.0], [0.35, 0.1, 0.55], [1 / 3] * 7, [1.0] * 199])
@pytest.mark.parametrize("delta", ["0", "1e-6"])
def test_shares_sum_to_the_budget_exactly(weights, delta):
    budget = Budget(Decimal("0.7"), Decimal(delta))
    shares = budget.divided(weights)
    assert sum(s.amount for s in shares) == budget.amount
    assert all(s.amount > 0 and Decimal(s.loss) <= s.amount for s in shares)
    kind = ZeroConcentrated if delta != "0" else PureDp
    assert all(isinstance(s.event("q"), kind) for s in shares)


def test_a_choice_costs_an_eighth_of_its_squared_epsilon():
    share = Share(Decimal("0.02"), gaussian=True)
    assert share.choice_epsilon <= 0.4
    assert share.choice_epsilon**2 / 8 == pytest.approx(0.02, rel=1e-12)
    assert Share(Decimal("0.3")).choice_epsilon == 0.3


@pytest.mark.parametrize("noise", [ReleasedNoise(), StudyNoise(np.random.default_rng(4))], ids=["released", "study"])
@pytest.mark.parametrize(("sensitivity", "rho"), [(1, 0.5), (1, 0.02), (3, 2.0), (1, 8.0)])
def test_noise_is_discrete_gaussian(noise, sensitivity, rho):
    count = DRAWS if not noise.releasable else 4_000
    drawn = np.array(noise.gaussian([7] * count, sensitivity, rho)) - 7
    sigma = sensitivity / math.sqrt(2 * rho)
    support = np.arange(-math.ceil(12 * sigma), math.ceil(12 * sigma) + 1)
    weights = np.exp(-(support**2) / (2 * sigma**2))
    chances = weights / weights.sum()
    # Cells with fewer than 25 expected draws are counted together, by their exact distribution: of few, the chi-square
    # limit was wrong in 1 of 30,000 runs.
    likely = chances * count >= 25
    seen = np.array([(drawn == k).sum() for k in support[likely]])
    assert binomtest(count - int(seen.sum()), count, chances[~likely].sum()).pvalue > FALSE_ALARM
    expected = chances[likely] * (seen.sum() / chances[likely].sum())
    assert likely.sum() == 1 or chisquare(seen, expected).pvalue > FALSE_ALARM
    assert Share(Decimal(repr(rho)), gaussian=True).variance() == pytest.approx(
        gaussian_variance(1 / math.sqrt(2 * rho))
    )
    assert gaussian_variance(sigma) == pytest.approx(float((support**2 * chances).sum()), rel=1e-9)


@pytest.mark.parametrize("noise", [ReleasedNoise(), StudyNoise(np.random.default_rng(4))], ids=["released", "study"])
def test_noise_refuses_what_is_no_share(noise):
    for sensitivity, rho in ((0, 1.0), (1, 0.0), (1, math.inf), (1, math.nan)):
        with pytest.raises(ParameterError):
            noise.gaussian([1], sensitivity, rho)
    assert noise.gaussian([], 1, 1.0) == []
    assert NoNoise().gaussian([3, 4], 1, 1.0) == [3, 4]


@pytest.mark.parametrize("sigma", [0.2, 0.45, 0.7, 1.3, 4.0, 40.0])
def test_widths_cover_sums_of_discrete_gaussian_noise(sigma):
    rho = Decimal(repr(1 / (2 * sigma**2)))
    widths = Widths(Share(rho, gaussian=True))
    support = np.arange(-math.ceil(10 * sigma) - 1, math.ceil(10 * sigma) + 2)
    weights = np.exp(-(support**2) / (2 * sigma**2))
    chances = weights / weights.sum()
    width = gaussian_count_width(widths.share.scale)
    assert chances[np.abs(support) <= width].sum() >= 0.95 > chances[np.abs(support) <= width - 1].sum()
    for terms in (2, 3, 9):  # the exact distribution of a sum, by convolution
        whole = chances
        for _ in range(terms - 1):
            whole = np.convolve(whole, chances)
        places = np.arange(len(whole)) - len(whole) // 2
        assert whole[np.abs(places) <= widths.sum(((1.0, terms),))].sum() >= 0.95
