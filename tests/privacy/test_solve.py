"""One figure of a training run from the others; and an ε for each of a million steps."""

from __future__ import annotations

import time

import pytest

from workbench.params import ParameterError
from workbench.privacy.accounting.accountant import event_of, loss
from workbench.privacy.accounting.epsilon_curve import EpsilonCurve
from workbench.privacy.accounting.event import PoissonGaussian
from workbench.privacy.accounting.questions import solve

GIVEN = {"rows": 60_000, "delta": 1e-5}


def test_epsilon_is_the_accountants() -> None:
    found = solve(**GIVEN, sigma=1.0, epochs=15, batch=64)
    assert found.epsilon == pytest.approx(0.6111, abs=2e-3)


@pytest.mark.parametrize("accountant", ["rdp", "rdp-classic"])
@pytest.mark.parametrize("missing", ["sigma", "epochs", "batch"])
def test_what_is_found_fits_epsilon_and_one_percent_more_does_not(missing: str, accountant: str) -> None:
    asked = {"epsilon": 1.5, "sigma": 1.0, "epochs": 15, "batch": 64}
    asked[missing] = None
    found = solve(**GIVEN, **asked, accountant=accountant)
    assert found.epsilon <= 1.5
    more = {
        "sigma": (found.batch, found.epochs, found.sigma / 1.01),
        "epochs": (found.batch, int(found.epochs * 1.01) + 1, found.sigma),
        "batch": (int(found.batch * 1.01) + 2, found.epochs, found.sigma),
    }[missing]
    batch, epochs, sigma = more
    assert loss(event_of(60_000, batch, epochs, sigma), 1e-5, accountant).epsilon > 1.5


def test_the_tightest_accountant_finds_at_least_as_many_epochs() -> None:
    by_pld = solve(rows=1000, delta=1e-4, epsilon=2.0, sigma=2.0, batch=100)
    by_rdp = solve(rows=1000, delta=1e-4, epsilon=2.0, sigma=2.0, batch=100, accountant="rdp")
    assert by_pld.epsilon <= 2.0
    assert by_pld.epochs > by_rdp.epochs


def test_exactly_one_figure_has_to_be_open() -> None:
    with pytest.raises(ParameterError, match="2 of epsilon"):
        solve(**GIVEN, sigma=1.0, epochs=15)
    with pytest.raises(ParameterError, match="0 of epsilon"):
        solve(**GIVEN, sigma=1.0, epochs=15, batch=64, epsilon=1.0)
    with pytest.raises(ParameterError, match="even one epoch"):
        solve(**GIVEN, epsilon=1e-5, sigma=0.5, batch=600)


@pytest.mark.slow
def test_a_million_steps_within_ten_seconds_and_ten_microseconds_a_lookup() -> None:
    run = PoissonGaussian(0.001, 1.2, 10**6)
    start = time.process_time()  # of this process alone: the machine may have other work
    curve = EpsilonCurve.build(run, 1e-6)
    assert time.process_time() - start < 10
    start = time.process_time()
    for step in range(1, 10**6, 10):
        curve.at(step)
    assert (time.process_time() - start) / 10**5 < 1e-5


@pytest.mark.slow
def test_a_lookup_never_reports_less_than_the_truth() -> None:
    run = PoissonGaussian(0.001, 1.2, 10**6)
    curve = EpsilonCurve.build(run, 1e-6)
    for step in (1, 2, 17, 999, 12_345, 250_000, 777_777, 999_999):
        truth = loss(PoissonGaussian(0.001, 1.2, step), 1e-6).epsilon
        # The truth is itself an upper bound, by a finer grid: the curve may be below it by the grids' difference alone.
        assert curve.at(step) >= truth * (1 - 1e-3), step
