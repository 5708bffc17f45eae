"""The best of a secret random number of tries costs twice one of them: by enumeration, and seen from outside."""

import itertools
import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

from workbench.privacy.accounting.event import Composed, Cost, PureDp
from workbench.privacy.accounting.private_selection import epsilon_of_try
from workbench.privacy.audit import epsilon_lower
from workbench.privacy.central.number_of_tries import gamma, number_of_tries
from workbench.work import ask as asks
from workbench.work.ask import TRY, Ask, UndeclaredError
from workbench.work.noise import Study

ALPHA = 1e-6
EACH = 0.7


def best_of(chances: np.ndarray, tries: float) -> np.ndarray:
    """The distribution of the largest of K outcomes, smallest first: P(best ≤ y) = ln(1 − (1 − γ)·F(y)) / ln γ."""
    stop = gamma(tries) / 2**32
    below = np.log1p(-(1 - stop) * np.concatenate([[0.0], np.cumsum(chances)])) / math.log(stop)
    return np.diff(below)


def neighbours() -> list[tuple[np.ndarray, np.ndarray]]:
    """Pairs of distributions over four outcomes, none of whose chances differ by more than e^EACH."""
    # Worst is an outcome below rare ones that are rarer still, while it is more frequent itself.
    one, other = np.array([0.0, 0.001, 0.05]), np.array([0.0, 0.001 * math.exp(EACH), 0.05 * math.exp(-EACH)])
    one[0], other[0] = 1 - one.sum(), 1 - other.sum()
    found = [(one, other)]
    steps = [math.exp(-EACH), 1.0, math.exp(EACH)]
    for base in ([0.25] * 4, [0.9, 0.05, 0.03, 0.02], [0.001, 0.001, 0.001, 0.997]):
        for factors in itertools.product(steps, repeat=4):
            one, other = np.array(base), np.array(base) * factors
            other /= other.sum()
            if np.abs(np.log(other / one)).max() <= EACH:
                found.append((one, other))
    return found


@pytest.mark.parametrize("tries", [1.5, 20.0, 1000.0])
def test_the_choice_costs_at_most_twice_a_try_and_with_many_tries_nearly_so(tries):
    pairs = neighbours()
    spent = max(np.abs(np.log(best_of(a, tries) / best_of(b, tries))).max() for a, b in pairs)
    assert len(pairs) > 20
    assert 0.9 * EACH < spent <= 2 * EACH
    if tries > 100:
        assert spent > 1.6 * EACH  # a choice that is not paid for, each try with all of ε, is caught


def test_a_try_has_half_and_never_more():
    for epsilon in (Decimal("0.1"), Decimal("1.000000000000000000000001"), Decimal(3)):
        assert epsilon - Decimal("1e-45") <= 2 * epsilon_of_try(epsilon) <= epsilon


def test_the_number_of_tries_is_logarithmic():
    generator, draws, tries = np.random.default_rng(3), 4_000, 3.0
    words = iter(generator.integers(0, 1 << 62, 400_000).tolist())

    def drawn(below: int) -> int:
        return int(next(words)) % below

    seen = Counter(number_of_tries(tries, drawn) for _ in range(draws))
    stop = gamma(tries) / 2**32
    known = {k: (1 - stop) ** k / k / -math.log(stop) for k in range(1, 12)}
    cells = [(seen[k], draws * p) for k, p in known.items()]
    cells.append((draws - sum(n for n, _ in cells), draws - sum(n for _, n in cells)))
    distance = sum((n - expected) ** 2 / expected for n, expected in cells)
    assert distance < chi2.isf(ALPHA, len(cells) - 1)
    assert sum(k * n for k, n in seen.items()) / draws == pytest.approx(tries, rel=0.2)
    assert Fraction(gamma(1.0), 2**32) == 1


# -- the Ask ---------------------------------------------------------------------------------------------------------

COST = Cost(Decimal(2), Decimal(0), Composed((PureDp(Decimal(2), "best"),)))


def seen(rows: int, draws: int) -> np.ndarray:
    """The best of noisy counts of so many rows, with two ways that count alike."""
    study = Study(np.random.default_rng(rows))

    def once() -> float:
        def attempt(of_try: Ask, way: int) -> tuple[int, tuple[int, int]]:
            (noisy,) = of_try(TRY, [rows], 1)
            return -noisy, (noisy, way)

        return study.ask(COST).best_of("best", 30.0, 2, attempt)[0]

    return np.array([[once()] for _ in range(draws)], dtype=np.float64)


def bound(draws: int = 6_000) -> float:
    return epsilon_lower(seen(0, draws), seen(1, draws), alpha=ALPHA).epsilon


@pytest.mark.slow
def test_it_is_not_seen_above_its_epsilon():
    assert bound() <= 2


@pytest.mark.slow
def test_a_choice_that_nobody_pays_for_is_seen(monkeypatch):
    monkeypatch.setattr(asks, "epsilon_of_try", lambda epsilon: 2 * epsilon)
    assert bound() > 2


def test_every_attempt_asks_for_its_share_once_and_the_event_is_served_once():
    ask = Study(np.random.default_rng(1)).ask(COST)
    with pytest.raises(UndeclaredError, match="never asked"):
        ask.best_of("best", 3.0, 1, lambda of_try, way: (0, way))
    with pytest.raises(UndeclaredError, match="asked before"):
        ask.best_of("best", 3.0, 1, lambda of_try, way: (of_try(TRY, [0], 1)[0], way))
