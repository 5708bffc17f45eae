"""An adversary who chooses each release by what the earlier ones showed, against the Rényi filter of an account.

Exactly: whatever is asked next, what was admitted is within the cap by an arithmetic of its own. And by simulation: on
worst-case releases (randomised response, Gaussian noise, an answer that is given away with the chance δ) the adversary
knows its privacy loss after each answer and plays for a loss above the cap. What it reaches, E[(1 − e^(ε−L))₊], is
at most δ; a filter that forgets its conversion is caught by the same adversaries.
"""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

from workbench.privacy.accounting.event import ApproximateDp, Cost, CostEvent, PoissonGaussian, PureDp
from workbench.privacy.accounting.renyi_filter import Filter
from workbench.release.ledger.composition import CountedRelease, FilterCount, event_of_cost
from workbench.release.ledger.records import Account

CAP, DELTA = Decimal(2), Decimal("0.01")
FILTER = Filter.for_cap(CAP, DELTA)
Floats = NDArray[np.float64]


def divergence(event: CostEvent, order: int) -> mpmath.mpf:
    """The Rényi divergence of the worst case of an event, by its definition, in 50 digits."""
    with mpmath.workdps(50):
        if isinstance(event, PoissonGaussian):
            assert event.sample_rate == 1
            return event.steps * mpmath.mpf(order) / (2 * mpmath.mpf(event.noise_multiplier) ** 2)
        assert isinstance(event, PureDp | ApproximateDp)
        likely = 1 / (1 + mpmath.exp(-mpmath.mpf(str(event.epsilon))))
        moments = likely**order * (1 - likely) ** (1 - order) + (1 - likely) ** order * likely ** (1 - order)
        return mpmath.log(moments) / (order - 1)


def conversion(order: int, delta: Decimal) -> mpmath.mpf:
    """What Canonne, Kamath and Steinke (2020, Proposition 12) add."""
    with mpmath.workdps(50):
        a = mpmath.mpf(order)
        return mpmath.log((a - 1) / a) - (mpmath.log(mpmath.mpf(str(delta))) + mpmath.log(a)) / (a - 1)


def admitted(seed: int) -> list[Cost]:
    """Play one account until ten requests in a row were refused; return what it has admitted."""
    dice, taken, refused = random.Random(seed), [], 0
    while refused < 10 and len(taken) < 60:
        count = FilterCount(
            FILTER, tuple(CountedRelease(str(i), (c.epsilon, c.delta), event_of_cost(c)) for i, c in enumerate(taken))
        )
        used = count.amount() if taken else (Decimal(0), Decimal(0))
        account = Account("a", (CAP, DELTA), used, (Decimal(0), Decimal(0)), ({"origin": "set"},), count)
        left = account.remaining
        assert left is not None
        # What remains exactly, a little more of it, large when much is left, tiny, or anything.
        choices = [
            left,
            left + Decimal("1e-6"),
            left / 2,
            Decimal(repr(round(dice.uniform(0.01, 1.5), 6))),
            Decimal("0.02"),
        ]
        epsilon = max(dice.choice(choices), Decimal("1e-6"))
        match dice.randrange(4):
            case 0 | 1:
                cost = Cost(epsilon, Decimal(0), PureDp(epsilon))
            case 2:
                delta = dice.choice([Decimal("0.001"), account.delta_remaining or Decimal(0), Decimal("0.01")])
                cost = Cost(epsilon, delta, ApproximateDp(epsilon, delta))
            case _:
                event = PoissonGaussian(1.0, dice.choice([1.0, 3.0, 8.0]), dice.choice([1, 4]))
                cost = Cost(Decimal(3), Decimal("0.0005"), event)
        if account.refusal(cost) is None:
            taken.append(cost)
            refused = 0
        else:
            refused += 1
    return taken


def check_arithmetic(seeds: range) -> None:
    filtered = 0
    for seed in seeds:
        taken = admitted(seed)
        assert taken
        whole = sum((c.epsilon for c in taken), Decimal(0))
        events = [event_of_cost(c) for c in taken]
        counted = sum(divergence(e, FILTER.order) for e in events) + conversion(FILTER.order, FILTER.slack)
        assert whole <= CAP or counted <= mpmath.mpf(str(CAP)), (seed, whole, counted)
        assert FILTER.slack + sum((c.delta for c in taken), Decimal(0)) <= DELTA, seed
        assert sum((e.delta for e in events if isinstance(e, ApproximateDp)), Decimal(0)) <= DELTA - FILTER.slack
        filtered += whole > CAP
    assert filtered > len(seeds) // 10  # the filter is at work, not the plain sum alone


def test_nothing_is_ever_admitted_beyond_the_cap():
    check_arithmetic(range(8))


@pytest.mark.slow
def test_nothing_is_ever_admitted_beyond_the_cap_in_thousands_of_sequences():
    check_arithmetic(range(8, 2_000))


@dataclass(frozen=True)
class Release:
    """A worst-case release that the adversary may ask for.

    Attributes:
        event: what the filter counts.
        epsilon: what the plain sum counts; infinite where it has none.
        delta: the chance that it gives the answer away.
        drawn: privacy losses of so many of them.
    """

    event: CostEvent
    epsilon: float
    delta: float
    drawn: Callable[[np.random.Generator, int], Floats]


def response(epsilon: str, delta: str = "0") -> Release:
    """Randomised response; with the chance δ it tells the truth."""
    worst, given = float(epsilon), float(delta)
    event: CostEvent = ApproximateDp(Decimal(epsilon), Decimal(delta)) if given else PureDp(Decimal(epsilon))

    def drawn(generator: np.random.Generator, size: int) -> Floats:
        losses = np.where(generator.random(size) < 1 / (1 + math.exp(-worst)), worst, -worst)
        losses[generator.random(size) < given] = math.inf
        return losses

    return Release(event, worst, given, drawn)


def gaussian(noise: float) -> Release:
    """Gaussian noise on a row of length 1."""
    mean = 1 / (2 * noise**2)
    return Release(PoissonGaussian(1.0, noise, 1), math.inf, 0.0, lambda g, size: g.normal(mean, 1 / noise, size))


MENU = (
    *(response(e) for e in ("0.05", "0.1", "0.2", "0.4", "0.8", "1.2", "2")),
    *(gaussian(noise) for noise in (8.0, 3.0, 1.5, 1.0)),
    response("0.1", "0.001"),
)
REACH = np.array([r.epsilon if math.isfinite(r.epsilon) else 2 / r.event.noise_multiplier for r in MENU])  # type: ignore[union-attr]
"""How far up each may carry the loss."""

Choose = Callable[[Floats, NDArray[np.bool_], np.random.Generator], NDArray[np.int64]]
"""(loss so far, which releases are admitted (n, menu), generator) → which one is asked for."""


def bold(loss: Floats, fits: NDArray[np.bool_], generator: np.random.Generator) -> NDArray[np.int64]:
    """The smallest that carries it over the cap at once; else the largest there is."""
    over = fits & (REACH[None, :] > (float(CAP) - loss)[:, None])
    return np.where(
        over.any(axis=1), np.where(over, REACH, np.inf).argmin(axis=1), np.where(fits, REACH, -1).argmax(axis=1)
    )


def patient(loss: Floats, fits: NDArray[np.bool_], generator: np.random.Generator) -> NDArray[np.int64]:
    """Always the smallest: the most releases that the filter admits."""
    return np.where(fits, REACH, np.inf).argmin(axis=1)


def chasing(loss: Floats, fits: NDArray[np.bool_], generator: np.random.Generator) -> NDArray[np.int64]:
    """Small while it is ahead, large while it is behind."""
    return np.where(loss > 0, patient(loss, fits, generator), bold(loss, fits, generator))


def pressing(loss: Floats, fits: NDArray[np.bool_], generator: np.random.Generator) -> NDArray[np.int64]:
    """Large while it is ahead, small while it is behind."""
    return np.where(loss > 0, bold(loss, fits, generator), patient(loss, fits, generator))


def wandering(loss: Floats, fits: NDArray[np.bool_], generator: np.random.Generator) -> NDArray[np.int64]:
    """Anything."""
    return np.where(fits, generator.random(fits.shape), -1.0).argmax(axis=1)


ADVERSARIES = (bold, patient, chasing, pressing, wandering)


def reached(choose: Choose, paths: int, conversion: float, factor: float = 1.0) -> tuple[float, float]:
    """Play so many accounts; return the δ that is reached beside ε, and a bound that it is above with 1 − 1e-6."""
    generator, cap = np.random.default_rng(17), float(CAP)
    # The filter's own figures: what one release adds, less what it was rounded up by.
    cost = np.array([float(FILTER.epsilon([r.event]) or math.inf) - FILTER.conversion - 2e-6 for r in MENU]) * factor
    plain, own = np.array([r.epsilon for r in MENU]), np.array([r.delta for r in MENU])
    loss, counted, summed, given = np.zeros((4, paths))
    counted += conversion
    left, active = float(DELTA - FILTER.slack), np.ones(paths, dtype=bool)
    for _ in range(5_000):
        fits = (counted[:, None] + cost <= cap) | (summed[:, None] + plain <= cap)
        fits &= given[:, None] + own <= left + 1e-12
        active = active & fits.any(axis=1) & (loss <= cap)  # above the cap it has won, and stops
        if not active.any():
            break
        at = np.flatnonzero(active)
        asked = choose(loss[at], fits[at], generator)
        for place in np.unique(asked):
            some = at[asked == place]
            loss[some] += MENU[place].drawn(generator, len(some))
        counted[at] += cost[asked]
        summed[at] += plain[asked]
        given[at] += own[asked]
    assert not active.any()
    excess = np.maximum(0.0, -np.expm1(cap - loss))
    # Maurer & Pontil 2009, Theorem 4: an empirical Bernstein bound of a mean in [0, 1].
    term = math.log(2 / 1e-6)
    low = excess.mean() - math.sqrt(2 * excess.var(ddof=1) * term / paths) - 7 * term / (3 * (paths - 1))
    return float(excess.mean()), low


@pytest.mark.parametrize("choose", [bold, chasing, wandering], ids=lambda choose: choose.__name__)
def test_an_adversary_reaches_no_more_than_delta(choose):
    _, low = reached(choose, 20_000, FILTER.conversion)
    assert low <= float(DELTA)


@pytest.mark.slow
@pytest.mark.parametrize("choose", ADVERSARIES, ids=lambda choose: choose.__name__)
def test_an_adversary_reaches_no_more_than_delta_in_a_hundred_thousand_accounts(choose):
    found, low = reached(choose, 100_000, FILTER.conversion)
    assert low <= float(DELTA)
    assert found > 0 or choose in (bold, chasing)  # the bold are stopped at once: what they need does not fit


def test_a_filter_that_forgets_its_conversion_is_caught():
    assert reached(bold, 20_000, 0.0)[1] > float(DELTA)
