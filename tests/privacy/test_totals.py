"""Totals of different releases: against closed forms, an independent composition by hand, and each other."""

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from accountant_conformance import MixedAccountantConformance, exact_delta
from dp_accounting.pld import privacy_loss_distribution as library

from workbench.params import ParameterError
from workbench.privacy.accounting.accountant import event_of, loss
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
    ZeroConcentrated,
    exact,
)
from workbench.privacy.accounting.gaussian import gaussian_delta
from workbench.privacy.accounting.totals import MIXED_ACCOUNTANTS, compose_totals, optimal

TOY = replace(
    MIXED_ACCOUNTANTS[0],
    name="toy",
    title="the sum, and a tenth more",
    bound=lambda mixture: (1.1 * mixture.basic[0], None) if mixture.basic else None,
)
for _accountant in (*MIXED_ACCOUNTANTS, TOY):
    _name = f"Test{_accountant.name.title().replace('-', '')}"
    globals()[_name] = type(_name, (MixedAccountantConformance,), {"chosen": _accountant})


def pure(epsilon: str) -> PureDp:
    return PureDp(Decimal(epsilon))


@pytest.mark.parametrize("epsilons", [[0.5], [1.0, 1.0, 1.0], [0.1] * 8, [0.3, 0.3, 1.1, 0.05]])
@pytest.mark.parametrize("slack", [1e-2, 1e-6, 1e-10])
def test_the_optimal_bound_is_the_least_epsilon_by_enumeration(epsilons, slack):
    counts: dict[Decimal, int] = {}
    for e in epsilons:
        counts[Decimal(str(e))] = counts.get(Decimal(str(e)), 0) + 1
    found = optimal(counts, slack)
    assert found is not None
    assert exact_delta(epsilons, found) <= Fraction(slack)
    assert exact_delta(epsilons, found * (1 - 1e-6)) > Fraction(slack) or found == 0


def test_pure_releases_without_delta_cost_their_exact_sum():
    totals = compose_totals(Repeated(pure("0.1"), 10), 0)
    assert totals.best.method == "basic"
    assert totals.best.epsilon == 1.0
    assert all(t.epsilon is None and t.why_not for t in totals.totals if t.method != "basic")


def test_many_small_releases_cost_less_than_their_sum_and_every_account_is_ordered():
    totals = compose_totals(Repeated(pure("0.01"), 1000), 1e-6)
    e = {m: totals.epsilon(m) for m in [a.name for a in MIXED_ACCOUNTANTS]}
    assert e["basic"] == 10
    assert e["advanced"] == pytest.approx(1.7627598071107895, abs=1e-9)  # a golden entry
    assert e["optimal"] <= e["pld"] * (1 + 1e-9)
    assert e["pld"] <= e["rdp"] <= e["rdp-classic"] < e["basic"]
    assert e["optimal"] < e["advanced"]
    assert totals.best.epsilon == pytest.approx(e["optimal"], rel=1e-3)


def test_gaussian_releases_compose_to_one_gaussian():
    totals = compose_totals(Repeated(GaussianNoise(10.0), 25), 1e-5)
    best = totals.best.epsilon
    assert best is not None
    assert 0.999e-5 <= gaussian_delta(best, 2.0) <= 1e-5
    assert totals.best.method in ("pld", "basic")


def test_a_training_run_alone_costs_what_its_accountant_says():
    run = event_of(rows=60_000, batch=64, epochs=15, noise_multiplier=1.0)
    totals = compose_totals(run, 1e-5)
    assert totals.epsilon("rdp-classic") == pytest.approx(1.1663, abs=1e-4)
    assert totals.epsilon("rdp") == pytest.approx(0.8725, abs=1e-3)
    assert totals.epsilon("pld") == pytest.approx(0.6111, abs=2e-3)
    assert totals.epsilon("rdp") == pytest.approx(loss(run, 1e-5, "rdp").epsilon, rel=1e-4)
    assert totals.epsilon("zcdp") is None
    assert totals.epsilon("optimal") is None


def test_of_disjoint_parts_the_worst_counts():
    event = Composed((Parallel((pure("0.1"), pure("0.7"), pure("0.3"))), pure("1")))
    assert compose_totals(event, 0).best.epsilon == pytest.approx(1.7)
    mixed = Parallel((pure("0.7"), GaussianNoise(2.0)))
    alone = compose_totals(GaussianNoise(2.0), 1e-5).best.epsilon
    assert compose_totals(mixed, 1e-5).best.epsilon == alone


def test_a_person_with_rows_in_all_parts_pays_for_all():
    event = RowsPerPerson(Parallel((pure("0.1"), pure("0.7"))), 2)
    assert compose_totals(event, 0).best.epsilon == pytest.approx(1.6)


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_several_rows_of_one_person(rows):
    assert compose_totals(RowsPerPerson(pure("0.3"), rows), 0).best.epsilon == pytest.approx(0.3 * rows)
    many = compose_totals(RowsPerPerson(GaussianNoise(4.0), rows), 1e-5)
    assert many.best.epsilon == compose_totals(GaussianNoise(4.0 / rows), 1e-5).best.epsilon
    both = compose_totals(RowsPerPerson(ZeroConcentrated(exact(0.01)), rows), 1e-5)
    assert both.best.epsilon == compose_totals(ZeroConcentrated(exact(0.01) * rows**2), 1e-5).best.epsilon


@pytest.mark.slow
def test_two_rows_of_a_sampled_step_cost_more_than_one_and_less_than_twice_the_rate():
    run = PoissonGaussian(0.05, 2.0, 40)
    one = compose_totals(run, 1e-5).epsilon("pld")
    two = compose_totals(RowsPerPerson(run, 2), 1e-5)
    worst = compose_totals(PoissonGaussian(0.0975, 1.0, 40), 1e-5).epsilon("pld")  # both whenever one is drawn
    assert one < two.epsilon("pld") <= worst
    assert two.epsilon("rdp") is None


def test_releases_with_more_delta_than_allowed_are_refused():
    event = Repeated(ApproximateDp(Decimal("0.5"), Decimal("1e-6")), 3)
    with pytest.raises(ParameterError, match="delta of 3e-06"):
        compose_totals(event, 1e-6)
    assert compose_totals(event, Decimal("3e-6")).best.epsilon == 1.5


def test_what_is_not_an_event_is_refused_and_not_guessed():
    with pytest.raises(ParameterError, match="can be composed"):
        compose_totals("pure", 1e-5)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="no method applies"):
        compose_totals(GaussianNoise(1.0), 0)
    with pytest.raises(ParameterError):
        compose_totals(pure("nan"), 0)
    parts = tuple(
        Parallel((pure(f"0.{n}1"), GaussianNoise(float(n)), ZeroConcentrated(exact(n / 7)))) for n in range(1, 9)
    )
    with pytest.raises(ParameterError, match="combinations"):
        compose_totals(Composed(parts), 1e-5)


def random_mixture(seed: int) -> tuple[list[tuple[str, float, float, int]], float]:
    """Return (kind, first, second, times) of some events, and δ."""
    generator = np.random.default_rng(seed)
    found: list[tuple[str, float, float, int]] = []
    for _ in range(generator.integers(1, 5)):
        kind = str(generator.choice(["pure", "approximate", "gaussian", "poisson"]))
        times = int(generator.integers(1, 30))
        match kind:
            case "pure":
                found.append((kind, round(float(10 ** generator.uniform(-2, 0)), 4), 0.0, times))
            case "approximate":
                found.append((kind, round(float(10 ** generator.uniform(-2, 0)), 4), 1e-8, times))
            case "gaussian":
                found.append((kind, float(10 ** generator.uniform(0.3, 1.5)), 0.0, times))
            case _:
                rate, sigma = float(10 ** generator.uniform(-3, -1)), float(10 ** generator.uniform(-0.1, 0.6))
                found.append((kind, sigma, rate, 20 * times))
    return found, float(10.0 ** -generator.integers(4, 7))


def event_for(parts: list[tuple[str, float, float, int]]) -> CostEvent:
    made: list[CostEvent] = []
    for kind, first, second, times in parts:
        match kind:
            case "pure":
                made.append(Repeated(pure(str(first)), times))
            case "approximate":
                made.append(Repeated(ApproximateDp(Decimal(str(first)), Decimal(str(second))), times))
            case "gaussian":
                made.append(Repeated(GaussianNoise(first), times))
            case _:
                made.append(PoissonGaussian(second, first, times))
    return Composed(tuple(made))


def by_hand(parts: list[tuple[str, float, float, int]], cell: float, *, above: bool) -> Any:
    """Compose with the library's own distributions, rounded up or down throughout."""
    whole = library.identity(cell, pessimistic_estimate=above)
    for kind, first, second, times in parts:
        told = {"value_discretization_interval": cell, "pessimistic_estimate": above, "use_connect_dots": above}
        if kind == "gaussian":
            one = library.from_gaussian_mechanism(first, **told)
        elif kind == "poisson":
            one = library.from_gaussian_mechanism(first, sampling_prob=second, **told)
        else:
            del told["use_connect_dots"]
            right, wrong = 1 / (1 + math.exp(-first)), 1 / (1 + math.exp(first))
            some, all_ = math.log1p(-second), math.log(second) if second else -math.inf
            upper = {"all": all_, "right": some + math.log(right), "wrong": some + math.log(wrong), "none": -math.inf}
            lower = {"all": -math.inf, "right": some + math.log(wrong), "wrong": some + math.log(right), "none": all_}
            one = library.from_two_probability_mass_functions(lower, upper, **told)
        whole = whole.compose(one.self_compose(times))
    return whole


def check_mixture(seed: int) -> None:
    parts, delta = random_mixture(seed)
    totals = compose_totals(event_for(parts), delta)
    best = totals.best.epsilon
    assert best is not None
    coarse = by_hand(parts, 5e-4, above=False).get_epsilon_for_delta(delta)
    truth = by_hand(parts, 1e-4, above=False).get_epsilon_for_delta(delta)
    truth = max(truth, coarse)
    for one in totals.totals:
        assert one.epsilon is None or one.epsilon >= truth, (seed, one)
    # Rounded down, each event loses up to a cell: what is left of 1 % is the account's own.
    lost = sum(times for *_, times in parts) * 1e-4
    tight = by_hand(parts, 1e-4, above=True).get_epsilon_for_delta(delta)
    assert best <= 1.01 * min(tight, truth + lost), (seed, best, tight, truth)


@pytest.mark.parametrize("seed", [2])
def test_a_random_mixture_is_never_below_the_truth_and_within_a_percent_of_the_tightest(seed):
    check_mixture(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [*range(2), *range(3, 51)])
def test_fifty_random_mixtures(seed):
    check_mixture(seed)


@pytest.mark.parametrize("sigma", [1.5, 6.0])
@pytest.mark.parametrize("times", [1, 20])
def test_discrete_gaussian_noise_costs_no_more_than_its_zcdp_total(sigma, times):
    told = compose_totals(Repeated(ZeroConcentrated(exact(0.5 / sigma**2)), times), 1e-5).best.epsilon
    one = library.from_discrete_gaussian_mechanism(sigma, 1, value_discretization_interval=1e-3)
    known = one.self_compose(times).get_epsilon_for_delta(1e-5)
    assert told is not None
    assert known - 1e-3 * times <= told <= 1.35 * known
