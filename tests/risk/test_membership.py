"""Membership inference: figures against their definitions, ways to guess on models whose answer is known."""

import math

import numpy as np
import pytest
from scipy.stats import beta, norm, t

from workbench.params import InputError
from workbench.risk.attacks.bound import NOTHING, Guarantee, most
from workbench.risk.membership import (
    GUESSES,
    Allowed,
    Seen,
    Shadows,
    allowed_by,
    area,
    area_interval,
    best_threshold,
    cast_shadows,
    caught_at,
    guess,
    log_odds,
    separated,
)

LOCAL = Guarantee(epsilon=1.0, replaced=(1.0, 0.0))
CENTRAL = Guarantee(epsilon=1.0, replaced=(2.0, 0.0))


def test_rates_and_areas_are_those_of_their_definition():
    rng = np.random.default_rng(1)
    members, others = rng.integers(0, 6, 40).astype(float), rng.integers(0, 5, 30).astype(float)
    wanted = np.arange(70) < 40
    pairs = np.sign(members[:, None] - others[None, :]).mean() / 2 + 0.5
    assert area(wanted, np.concatenate([members, others])) == pytest.approx(pairs)
    for share in (0.0, 0.01, 0.1, 0.5, 1.0):
        options = [(np.sum(others > t), np.sum(members > t)) for t in np.r_[-1.0, np.arange(7)]]
        best = max(caught for false, caught in options if false <= share * 30)
        assert caught_at(members, others, share)[0] == best
    threshold = best_threshold(members, others)
    gains = [np.mean(members >= t) - np.mean(others >= t) for t in range(7)]
    assert np.mean(members > threshold) - np.mean(others > threshold) == pytest.approx(max(gains))


def test_the_interval_of_an_area_contains_it_and_has_a_width_at_the_end():
    rng = np.random.default_rng(2)
    truth = norm.cdf(1 / math.sqrt(2))
    wanted, inside = np.arange(120) < 50, 0
    for _ in range(400):
        found = area(wanted, rng.normal(size=120) + wanted)
        assert found is not None
        low, high = area_interval(found, 50, 70, 0.05)
        inside += low <= truth <= high
    assert inside >= 350  # 380 expected; so few have a chance below 1e-7 if 95 % are right
    low, high = area_interval(1.0, 50, 70, 0.05)
    assert 0.9 < low < 1
    assert high == 1.0


def test_a_lower_bound_without_delta_is_that_of_clopper_and_pearson():
    """All pairs are right: e^ε/(1 + e^ε) is at least the lower limit of a share of 64 in 64, at its part of α."""
    told = separated("loss", np.arange(1000.0, 1064), np.arange(64.0), CENTRAL, alpha=0.05)
    tests = 2 * 4  # highest and lowest, of 8, 16, 32 and 64 pairs
    share = beta.ppf(0.05 / tests, 64, 1)
    assert told.epsilon_lower_replaced == pytest.approx(math.log(share / (1 - share)), rel=1e-6)
    assert told.epsilon_lower == pytest.approx(told.epsilon_lower_replaced / 2)
    assert separated("loss", np.arange(1000.0, 1064), np.arange(64.0), LOCAL).epsilon_lower == pytest.approx(
        told.epsilon_lower_replaced
    )
    assert told.auc.value == told.right.value == 1.0


def test_nothing_is_told_of_rows_that_are_alike_and_ties_do_not_help():
    rng = np.random.default_rng(3)
    told = separated("loss", rng.normal(size=2_000), rng.normal(size=2_000), NOTHING, alpha=1e-6)
    assert told.auc.low < 0.5 < told.auc.high
    assert told.epsilon_lower == 0.0
    same = separated("loss", np.ones(500), np.ones(500), NOTHING, alpha=1e-6)
    assert (same.auc.value, same.advantage.value, same.epsilon_lower) == (0.5, 0.0, 0.0)
    assert all(rate.value == 0 for rate in same.tpr.values())
    with pytest.raises(InputError, match="at least 20"):
        separated("loss", np.ones(19), np.ones(500), NOTHING)


def _said(rng: np.random.Generator, epsilon: float, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Two groups as far apart as (ε, 0) allows for replaced rows: a bit, turned over with probability 1/(1 + e^ε)."""
    kept = rng.random((2, rows)) < 1 / (1 + math.exp(-epsilon / 2))  # of two rows each half of ε
    return np.where(kept[0], 1.0, 0.0), np.where(kept[1], 0.0, 1.0)


def test_the_lower_bound_stays_below_what_is_true_and_refutes_what_is_false():
    """At α = 1e-6 a right claim is refuted in at most one of a million runs; a false one is in every run here."""
    rng = np.random.default_rng(4)
    for _ in range(20):
        members, others = _said(rng, 2.0, 4_000)
        told = separated("loss", members, others, CENTRAL, alpha=1e-6)
        assert 0.5 < told.epsilon_lower <= 1.0
    members, others = _said(rng, 3.0, 4_000)
    assert separated("loss", members, others, CENTRAL, alpha=1e-6).epsilon_lower > 1.0


def test_what_is_allowed_is_the_largest_curve():
    for epsilon, delta in ((0.0, 0.0), (1.0, 0.0), (3.0, 1e-2), (8.0, 1e-5)):
        allowed = Allowed.by(epsilon, delta)
        shares = np.linspace(0, 1, 100_001)
        curve = np.array([most(p, epsilon, delta) for p in shares])
        assert allowed.auc == pytest.approx(np.trapezoid(curve, shares), abs=1e-6)
        assert allowed.advantage == pytest.approx(np.max(curve - shares), abs=1e-4)
    assert Allowed.by(1.0, 0.0).right == pytest.approx(0.7311, abs=1e-4)
    assert Allowed.by(1.0, 0.0).advantage == pytest.approx((math.e - 1) / (math.e + 1))
    assert allowed_by(NOTHING) is None
    both = allowed_by(CENTRAL)
    assert both is not None
    assert both["advantage"] > both["emptied"]["advantage"]


def test_shadows_leave_every_row_out_equally_often():
    seen: list[int] = []

    def retrain(rows: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        seen.append(len(rows))
        return np.isin(np.arange(30), rows).astype(float)

    shadows = cast_shadows(retrain, 30, 20, 9, np.random.default_rng(0))
    assert set((~shadows.used).sum(axis=0).tolist()) == {3}
    assert (shadows.likelihood == shadows.used).all()
    assert seen == shadows.used.sum(axis=1).tolist()
    assert shadows.mean(shadows.likelihood, used=True).tolist() == [1.0] * 30
    assert (shadows.spread(shadows.likelihood, used=False) == 0.0).all()
    with pytest.raises(ValueError, match="too few"):
        cast_shadows(retrain, 30, 29, 5, np.random.default_rng(0))


def _means(rng: np.random.Generator, noise: float, rows: int = 400) -> tuple[Seen, np.ndarray]:
    """A model that remembers: each used row raises its own fit by 1, in noise, about a level of its own."""
    level = rng.normal(0, 3, rows)

    def fitted(used: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        there = np.isin(np.arange(rows), used)
        return level + there + generator.normal(0, noise, rows)

    used = rng.permutation(rows)[: rows // 2]
    shadows = cast_shadows(fitted, rows, rows // 2, 20, rng)
    return Seen(fitted(used, rng), shadows=shadows), np.isin(np.arange(rows), used)


def _places(rng: np.random.Generator, noise: float, rows: int = 400) -> tuple[Seen, np.ndarray]:
    """People of whom some are dense and some scarce; those who were used are nearer to a release by a factor."""
    gaps = np.exp(rng.normal(0, 3, rows))
    member = np.isin(np.arange(rows), rng.permutation(rows)[: rows // 2])
    released = gaps * rng.random(rows) * np.where(member, noise, 1.0)
    return Seen(-released, others=-gaps), member


@pytest.mark.parametrize("name", [g.name for g in GUESSES])
def test_a_guess_finds_what_was_remembered_and_nothing_where_nothing_was(name):
    """Levels of rows hide it from the loss alone; who has shadows sees Φ(1/(√2·σ)) of the pairs, at σ = 0.5 0.92."""
    rng = np.random.default_rng(5)
    chosen = guess(name)
    assert not GUESSES[0].needs, "the first one has the likelihood alone"
    made, quiet, loud = (_places, 0.1, 1.0) if chosen.needs == "others" else (_means, 0.5, 200.0)
    seen, member = made(rng, quiet)
    assert separated("loss", *(GUESSES[0].score(seen)[m] for m in (member, ~member)), NOTHING).auc.value < 0.85
    scores = chosen.score(seen)
    found = separated(name, scores[member], scores[~member], NOTHING)
    assert (found.auc.value > 0.85) == bool(chosen.needs)
    seen, member = made(rng, loud)
    scores = chosen.score(seen)
    found = separated(name, scores[member], scores[~member], NOTHING, alpha=1e-6)
    assert found.auc.low < 0.5 < found.auc.high + 0.02
    assert found.epsilon_lower == 0.0


def test_the_likelihood_ratio_is_that_of_two_normals():
    used = np.array([[True, False], [True, False], [False, True], [False, True]])
    fits = np.array([[2.0, 0.0], [4.0, 1.0], [0.0, 3.0], [1.0, 6.0]])
    seen = Seen(np.array([2.5, 1.5]), shadows=Shadows(used, fits))
    within = np.array([3.0, 4.5]), np.sqrt((1 + 1 + 2.25 + 2.25) / 2)
    without = np.array([0.5, 0.5]), np.sqrt((0.25 * 4) / 2)
    expected = norm.logpdf(seen.likelihood, *within) - norm.logpdf(seen.likelihood, *without)
    assert guess("lira").score(seen) == pytest.approx(expected)
    assert guess("lira-offline").score(seen) == pytest.approx((seen.likelihood - without[0]) / without[1])


def test_of_many_shadows_the_density_is_that_of_each_rows_own_fits():
    """What is remembered or not has two humps: a fit between them says that the row was used, and no normal sees it."""
    rng = np.random.default_rng(9)
    rows, count = 400, 64
    used = rng.permuted(np.arange(count)[:, None] % 2 * np.ones((1, rows)), axis=0) == 1

    def fits(there: np.ndarray) -> np.ndarray:
        sides = rng.choice([-3.0, 3.0], there.shape)
        return np.where(there, 0.0, sides) + rng.normal(0, 0.5, there.shape)

    member = rng.permutation(rows) < rows // 2
    seen = Seen(fits(member[None])[0], shadows=Shadows(used, fits(used)))
    assert area(member, guess("lira").score(seen)) > 0.99
    own, at = seen.shadows.likelihood[used[:, 0], 0], seen.likelihood[0]
    other = seen.shadows.likelihood[~used[:, 0], 0]
    widths = [0.5 * len(side) ** -0.2 * side.std(ddof=1) for side in (own, other)]
    logs = [math.log(np.mean(t.pdf((at - side) / w, 4) / w)) for side, w in zip((own, other), widths, strict=True)]
    assert guess("lira").score(seen)[0] == pytest.approx(logs[0] - logs[1])


def test_a_row_has_a_spread_of_its_own_where_shadows_are_many():
    rng = np.random.default_rng(8)
    used = np.arange(200)[:, None] % 2 == np.zeros((1, 3))
    fits = rng.normal(0, [0.1, 1.0, 10.0], (200, 3))
    own, common = Shadows(used, fits), Shadows(used[:40], fits[:40])
    assert own.spread(fits, used=True) == pytest.approx(fits[::2].std(axis=0, ddof=1))
    assert len(set(common.spread(fits[:40], used=True).tolist())) == 1


def test_the_robust_attack_counts_the_rows_that_rise_less():
    """p(x|θ)/p(x) of 1.6, 0.5 and 0.2: the first is above twice the two others, the second above twice the third."""
    used = np.array([[True, True, False], [False, False, True]])
    usual = np.log(np.full((2, 3), 0.5))
    seen = Seen(np.log(np.array([0.8, 0.25, 0.1])), chances=True, shadows=Shadows(used, usual))
    shares = guess("rmia").score(seen)
    assert np.floor(shares * 3).tolist() == [2.0, 1.0, 0.0]


def test_odds_are_finite():
    odds = log_odds(np.array([-np.inf, -1e-300, 0.0, math.log(0.5)]), chances=True)
    assert np.isfinite(odds).all()
    assert odds[3] == pytest.approx(0.0)
    assert odds[[0, 2]] == pytest.approx([-30, 30])
