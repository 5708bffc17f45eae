"""Accountants against published figures, and against each other."""

import math
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from accountant_conformance import AccountantConformance

from workbench.params import CancelledError, ParameterError, Parameters, choice
from workbench.privacy.accounting import accountant, run_curves
from workbench.privacy.accounting.accountant import (
    COARSE,
    INTEGER_ORDERS,
    MOST_STEPS,
    PLD,
    RDP,
    RDP_CLASSIC,
    Accountant,
    Grid,
    accountant_names,
    composed_with_itself,
    event_of,
    improved_at,
    loss,
    noise_for,
    quick_loss,
    renyi,
    renyi_of_integers,
    steps_of,
)
from workbench.privacy.accounting.epsilon_curve import KNOTS, BackgroundCurve, EpsilonCurve
from workbench.privacy.accounting.event import PoissonGaussian
from workbench.privacy.accounting.gaussian import gaussian_delta
from workbench.privacy.accounting.run_curves import TrainingRun, csv_lines, heat_map, values_of, with_value
from workbench.signals.cancel import CancelToken, interruptible
from workbench.signals.events import Event, Progress

TOY = replace(
    RDP,
    name="toy",
    title="Rényi, and a tenth more",
    bound=lambda event, delta, grid: replace(
        RDP.bound(event, delta, grid), epsilon=1.1 * RDP.bound(event, delta, grid).epsilon
    ),
    quick=lambda event, delta: replace(quick_loss(event, delta), epsilon=1.1 * quick_loss(event, delta).epsilon),
    at_once="toy",
    at_orders=lambda orders, divergence, delta: 1.1 * improved_at(orders, divergence, delta),
)


class TestPld(AccountantConformance):
    chosen = PLD


class TestRdp(AccountantConformance):
    chosen = RDP


class TestRdpClassic(AccountantConformance):
    chosen = RDP_CLASSIC


class TestToy(AccountantConformance):
    chosen = TOY


def too_low(part: float) -> Accountant:
    """An accountant that leaves out a part of what a run costs."""
    return replace(
        TOY,
        bound=lambda event, delta, grid: replace(
            PLD.bound(event, delta, grid), epsilon=part * PLD.bound(event, delta, grid).epsilon
        ),
    )


@pytest.mark.parametrize("part", [0.5, 0.97])
def test_an_accountant_that_is_too_low_is_seen(part, monkeypatch):
    wrong = too_low(part)
    suite = type("Wrong", (AccountantConformance,), {"chosen": wrong})()
    monkeypatch.setattr(accountant, "ACCOUNTANTS", (*accountant.ACCOUNTANTS, wrong))
    with pytest.raises(AssertionError):
        suite.test_without_sampling_it_is_above_the_closed_form(2.0, 50)
    with pytest.raises(AssertionError):
        suite.test_one_sampled_step_is_above_its_exact_cost(0.1, 1.0, 1e-5)
    with pytest.raises(AssertionError):
        suite.test_sampled_steps_are_above_distributions_that_are_rounded_down(PoissonGaussian(0.2, 1.0, 40))


def test_an_accountant_of_the_list_is_in_plans_and_curves(monkeypatch):
    with pytest.raises(ParameterError, match="'toy' is not known"):
        Asked(accountant="toy")
    monkeypatch.setattr(accountant, "ACCOUNTANTS", (RDP, TOY))
    assert Asked(accountant="toy").accountant == "toy"
    for points in ("POINTS", "HEAT_POINTS"):
        monkeypatch.setattr(run_curves, points, 2)
    run = TrainingRun(1000, 50, 1.5, 3, 1e-5)
    plots = {tuple(line.split(",")[:2]) for line in csv_lines(run)}
    assert {axis for axis, name in plots if name == "toy"} == {axis for axis, name in plots if name == "rdp"} - {
        "sigma_batch"
    }
    assert run.epsilon("toy", quick=True) == pytest.approx(1.1 * run.epsilon("rdp", quick=True))


MNIST = event_of(rows=60_000, batch=64, epochs=15, noise_multiplier=1.0)
SHORT = PoissonGaussian(0.1, 3.0, 200)


@dataclass(frozen=True, kw_only=True)
class Asked(Parameters):
    accountant: str = choice(choices=accountant_names, default="pld", help="accountant")


def run_of(inputs: dict[str, Any]) -> tuple[PoissonGaussian, float]:
    """Read the run that a golden entry describes."""
    delta = inputs["delta"]
    if "n" not in inputs:
        return PoissonGaussian(inputs["q"], inputs["sigma"], inputs["steps"]), delta
    rate = inputs["batch"] / inputs["n"]
    steps = inputs.get("steps") or event_of(inputs["n"], inputs["batch"], inputs["epochs"], 1.0).steps
    return PoissonGaussian(rate, inputs["sigma"], steps), delta


@pytest.mark.parametrize(
    ("name", "accountant"),
    [
        ("dpsgd_eps_pld", "pld"),
        ("poisson_eps_same", "pld"),
        ("dpsgd_eps_rdp_classic", "rdp-classic"),
        ("dpsgd_eps_classic_conversion", "rdp-classic"),
        ("flowers_table_eps", "rdp-classic"),
        ("dpsgd_eps_improved_conversion", "rdp"),
    ],
)
def test_epsilon_is_the_golden_one(golden, name, accountant):
    assert golden[name]
    for entry in golden[name]:
        event, delta = run_of(entry["inputs"])
        assert loss(event, delta, accountant).epsilon == pytest.approx(entry["value"], abs=entry["tolerance"]), entry


def test_steps_and_rate_are_those_of_the_published_run():
    assert MNIST.steps == 14_070
    assert MNIST.sample_rate == 64 / 60_000
    assert event_of(rows=100, batch=33, epochs=2, noise_multiplier=1.0).steps == 8


def test_the_classic_order_is_the_golden_one(golden):
    assert loss(MNIST, 1e-5, "rdp-classic").order == golden["dpsgd_best_alpha"][0]["value"]


def test_one_step_renyi_divergence_is_the_golden_one(golden):
    for entry in golden["sgm_rdp"]:
        given_ = entry["inputs"]
        orders, divergence = renyi(PoissonGaussian(given_["q"], given_["sigma"], 1))
        value = divergence[orders.tolist().index(given_["alpha"])]
        assert value == pytest.approx(entry["value"], abs=entry["tolerance"])
        assert value >= entry["value"], "the error may only be on the safe side"


@pytest.mark.parametrize(("rate", "sigma"), [(64 / 60_000, 1.0), (0.3, 0.5), (1.0, 2.0), (1e-9, 0.05), (0.99, 300.0)])
def test_the_closed_form_of_integer_orders_agrees_with_the_library(rate, sigma):
    orders, divergence = renyi(PoissonGaussian(rate, sigma, 1))
    whole = np.isin(orders, INTEGER_ORDERS)
    np.testing.assert_allclose(
        renyi_of_integers(rate, sigma)[np.isin(INTEGER_ORDERS, orders)], divergence[whole], rtol=1e-9, atol=1e-13
    )


def test_renyi_divergence_without_sampling_is_alpha_over_two_sigma_squared(golden):
    for entry in golden["gaussian_rdp"]:
        orders, divergence = renyi(PoissonGaussian(1.0, entry["inputs"]["sigma_multiplier"], 1))
        value = divergence[orders.tolist().index(entry["inputs"]["alpha"])]
        assert value == pytest.approx(entry["value"], abs=entry["tolerance"])


def test_the_thesis_formula_without_binomials_is_not_what_is_computed(golden):
    wrong = golden["sgm_rdp_thesis_without_binomial"][0]
    given_ = wrong["inputs"]
    orders, divergence = renyi(PoissonGaussian(given_["q"], given_["sigma"], 1))
    assert wrong["value"] < 0 < divergence[orders.tolist().index(given_["alpha"])]


def test_shuffled_batches_cost_more_than_the_poisson_bound(golden):
    for entry in golden["shuffled_batches_eps_lower_bound_one_epoch"]:
        given_ = entry["inputs"]
        poisson = PoissonGaussian(1 / given_["batches"], given_["sigma"], given_["batches"])
        assert loss(poisson, given_["delta"]).epsilon < 0.3 * entry["value"]


@pytest.mark.parametrize("sigma", [0.7, 2.0, 30.0])
@pytest.mark.parametrize("steps", [1, 50])
def test_without_sampling_pld_is_just_above_the_closed_form(sigma, steps):
    bound = loss(PoissonGaussian(1.0, sigma, steps), 1e-5)
    # k Gaussian releases are one with σ/√k: its exact δ at the bound must not exceed δ, and at 0.1 % less it must.
    assert gaussian_delta(bound.epsilon, sigma / math.sqrt(steps)) <= 1e-5
    assert gaussian_delta(0.999 * bound.epsilon, sigma / math.sqrt(steps)) > 1e-5


@pytest.mark.parametrize(
    "event",
    [
        PoissonGaussian(1e-5, 1.0, 10_000),
        PoissonGaussian(0.01, 1000.0, 100_000),
        PoissonGaussian(0.08, 0.05, 24),
        PoissonGaussian(1e-9, 0.01, 10**9),
        PoissonGaussian(1.0, 1e6, 1),
        PoissonGaussian(1e-6, 100.0, 1000),
        PoissonGaussian(0.5, 0.05, 10**6),
    ],
)
def test_extreme_runs_are_accounted_in_bounded_time(event):
    pld, rdp, classic = (loss(event, 1e-6, a, Grid(COARSE)).epsilon for a in accountant_names())
    assert 0 <= pld <= rdp <= classic < math.inf


def test_a_delta_near_rounding_falls_back_to_the_renyi_bound():
    bound = loss(SHORT, 1e-13)
    assert bound == loss(SHORT, 1e-13, "rdp")
    assert bound.order is not None


@pytest.mark.parametrize("event", [SHORT, PoissonGaussian(0.01, 1.0, 300), PoissonGaussian(0.5, 2.0, 20)])
def test_pld_is_below_renyi_on_a_coarse_grid_and_lower_on_a_fine_one(event):
    bound = loss(event, 1e-5, "pld", Grid(COARSE)).epsilon
    assert loss(event, 1e-5).epsilon <= bound < loss(event, 1e-5, "rdp").epsilon


def test_noise_for_an_impossible_target_is_one_sentence():
    with pytest.raises(ParameterError, match="no noise reaches epsilon = 1e-06"):
        noise_for(PoissonGaussian(1.0, 1.0, 10**9), 1e-9, 1e-6)


def test_a_batch_larger_than_the_table_is_refused():
    with pytest.raises(ParameterError, match="batch of 65 rows is larger than the table of 64"):
        event_of(rows=64, batch=65, epochs=1, noise_multiplier=1.0)


def test_the_curve_is_never_below_the_exact_epsilon():
    curve = EpsilonCurve.build(SHORT, 1e-5)
    assert curve.at(0) == 0
    shown = [curve.at(step) for step in range(1, SHORT.steps + 1)]
    assert shown == sorted(shown)
    for step in [1, 2, 7, 101, 199]:
        assert shown[step - 1] >= loss(PoissonGaussian(0.1, 3.0, step), 1e-5).epsilon
    assert shown[-1] == pytest.approx(loss(SHORT, 1e-5).epsilon, rel=1e-3)


def test_a_short_run_has_a_knot_at_every_late_step_and_ends_at_its_last():
    curve = EpsilonCurve.build(PoissonGaussian(0.05, 1.2, 5), 1e-5, "rdp")
    assert curve.knots == (1, 2, 3, 4, 5)
    assert EpsilonCurve.build(PoissonGaussian(0.05, 1.2, 10**6), 1e-5, "rdp").knots[-1] == 10**6


def test_building_a_curve_reports_and_can_be_cancelled():
    seen: list[Event] = []
    EpsilonCurve.build(SHORT, 1e-5, "rdp", emit=seen.append)
    assert len(seen) <= KNOTS
    assert all(isinstance(event, Progress) for event in seen)
    token = CancelToken()
    token.cancel()
    with pytest.raises(CancelledError):
        EpsilonCurve.build(SHORT, 1e-5, "rdp", cancel=token)


def test_a_background_curve_shows_an_upper_bound_from_the_first_step():
    whole = loss(SHORT, 1e-5).epsilon
    with BackgroundCurve(SHORT, 1e-5, whole) as curve:
        early = curve.at(1)
        assert early < whole, "not the whole run's"
        built = curve.wait()
        assert loss(replace(SHORT, steps=1), 1e-5).epsilon <= curve.at(1) <= early
        assert curve.at(SHORT.steps) <= whole
        assert built.at(SHORT.steps) == pytest.approx(whole, rel=1e-3)


def test_leaving_a_background_curve_ends_its_thread():
    with BackgroundCurve(MNIST, 1e-5, 1.0) as curve:
        assert 0 < curve.at(3) <= 1.0
    assert not curve._thread.is_alive()


def test_an_error_in_the_background_reaches_whoever_asks():
    broken = PoissonGaussian(2.0, 1.0, 10)
    with BackgroundCurve(broken, 1e-5, 1.0) as curve, pytest.raises(ParameterError):
        curve.wait()


def test_pld_of_random_runs_is_above_a_monte_carlo_lower_bound():
    """δ(ε) of two sampled steps, estimated from their likelihood ratios, is below δ at the bound's ε (5 s.d.)."""
    rate, sigma, steps, delta = 0.3, 1.0, 2, 1e-2
    epsilon = loss(PoissonGaussian(rate, sigma, steps), delta).epsilon
    generator = np.random.default_rng(1)
    n = 400_000
    noise = generator.normal(0, sigma, size=(n, steps)) + (generator.random((n, steps)) < rate)
    ratio = np.log1p(rate * np.expm1((noise - 0.5) / sigma**2)).sum(axis=1)
    gain = np.clip(-np.expm1(epsilon - ratio), 0, None)
    assert gain.mean() - 5 * gain.std() / math.sqrt(n) <= delta
    assert gain.mean() == pytest.approx(delta, rel=0.05)


def test_any_number_of_steps_is_composed_in_bounded_time():
    """10⁸ steps once took minutes: the library raised the size of a distribution to that power, to compare it."""
    for event in (event_of(10**9, 64, 15, 1.0), event_of(60_000, 64, 10_000, 1.0), event_of(10**8, 1, 10, 1.0)):
        began = time.perf_counter()
        found = loss(event, 1e-5, "pld", Grid(COARSE))
        assert time.perf_counter() - began < 30
        assert 0 < found.epsilon <= 1.001 * quick_loss(event, 1e-5).epsilon


@pytest.mark.parametrize("run", [(10**9, 64, 60), (60_000, 1, 15_000), (10**9, 1, 1)])
def test_curves_of_the_longest_runs_stay_within_what_is_accepted(run):
    rows, batch, epochs = run
    longest = TrainingRun(rows, batch, 1.0, epochs, 1e-5)
    for axis in ("rows", "batch", "epochs"):
        values = values_of(longest, axis)
        assert getattr(longest, axis) in values
        steps = [with_value(longest, axis, v) for v in values]
        assert max(steps_of(r.rows, r.batch, r.epochs) for r in steps) <= MOST_STEPS
    assert len(heat_map(longest).batches) > 1


@pytest.mark.parametrize(("rate", "steps"), [(0.01, 11), (0.3, 40), (1.0, 25)])
def test_composing_here_equals_the_librarys_own(rate, steps):
    import dp_accounting
    from dp_accounting.pld import privacy_loss_distribution as library

    one = library.from_gaussian_mechanism(
        2.0,
        sampling_prob=rate,
        value_discretization_interval=0.01,
        neighboring_relation=dp_accounting.NeighboringRelation.REPLACE_SPECIAL,
    )
    ours, theirs = composed_with_itself(one, steps), one.self_compose(steps)
    for delta in (1e-3, 1e-6, 1e-9):
        assert ours.get_epsilon_for_delta(delta) == pytest.approx(theirs.get_epsilon_for_delta(delta), rel=1e-9)
    assert composed_with_itself(one, steps, most=8) is None


def test_a_calculation_stops_where_it_is_interruptible_and_only_there():
    cancel = CancelToken()
    cancel.cancel()
    with interruptible(cancel), pytest.raises(CancelledError):
        loss(SHORT, 1e-5)
    assert loss(SHORT, 1e-5).epsilon > 0
