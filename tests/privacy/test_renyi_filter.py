"""The count of an account whose releases are chosen one after another."""

import itertools
from decimal import Decimal

import pytest

from workbench.params import ParameterError
from workbench.privacy.accounting.event import (
    ApproximateDp,
    GaussianNoise,
    Parallel,
    PoissonGaussian,
    PureDp,
    RowsPerPerson,
    ZeroConcentrated,
    exact,
)
from workbench.privacy.accounting.renyi_filter import Filter
from workbench.privacy.accounting.totals import compose_totals

SMALL = PureDp(Decimal("0.05"))


def test_the_order_and_the_slack_are_fixed_by_the_cap():
    made = Filter.for_cap(Decimal(5), Decimal("1e-5"))
    assert made.slack == Decimal("5e-6")
    assert made.order >= 2
    assert 0 < made.conversion < 5


def test_many_small_releases_count_for_less_than_their_sum():
    made = Filter.for_cap(Decimal(5), Decimal("1e-5"))
    counted = made.epsilon([SMALL] * 400)
    assert counted is not None
    assert counted < 5 < 400 * Decimal("0.05")


@pytest.mark.parametrize(
    "events",
    [
        [SMALL] * 200,
        [GaussianNoise(20.0)] * 50,
        [ZeroConcentrated(exact(0.002))] * 40,
        [PoissonGaussian(0.002, 1.0, 5000), SMALL],
        [ApproximateDp(Decimal("0.1"), Decimal("1e-8"))] * 5,
        [Parallel((SMALL, GaussianNoise(5.0)))],
    ],
)
def test_the_count_is_never_below_the_total_of_releases_fixed_beforehand(events):
    made = Filter.for_cap(Decimal(5), Decimal("1e-5"))
    counted = made.epsilon(events)
    own = sum((e.delta for e in events if isinstance(e, ApproximateDp)), Decimal(0))
    from workbench.privacy.accounting.event import Composed

    total = compose_totals(Composed(tuple(events)), made.slack + own).best.epsilon
    assert counted is not None
    assert total is not None
    assert float(counted) >= total


def test_the_count_grows_with_every_release():
    made = Filter.for_cap(Decimal(2), Decimal("1e-6"))
    counts = [made.epsilon([SMALL] * n) for n in range(1, 30)]
    assert all(a < b for a, b in itertools.pairwise(counts))


def test_what_has_no_divergence_is_not_counted():
    made = Filter.for_cap(Decimal(5), Decimal("1e-5"))
    assert made.epsilon([RowsPerPerson(PoissonGaussian(0.01, 1.0, 10), 2)]) is None


def test_a_cap_without_delta_or_too_small_is_refused():
    with pytest.raises(ParameterError, match="cap of delta"):
        Filter.for_cap(Decimal(5), Decimal(0))
    with pytest.raises(ParameterError, match="too small"):
        Filter.for_cap(Decimal("0.001"), Decimal("1e-9"))
