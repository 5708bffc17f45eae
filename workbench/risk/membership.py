"""Membership inference: who was in the training data of a model, or in the data of a release.

A membership attack is a :class:`Guess` and a line in :data:`GUESSES`.

**The bound from one release.** Members and others are put into pairs at random, one of each. If both were drawn alike,
a fair coin says for each pair which of the two was used, and using the other one instead replaces one row. So each of
the guesses that scores make of r pairs is right with probability e^ε₁/(1 + e^ε₁) at most, given the output and all
other coins, where (ε₁, δ₁) is the guarantee for replaced rows: (2ε, (1+e^ε)δ) by that for an emptied one (Steinke, Nasr
& Jagielski 2023, and :mod:`workbench.privacy.audit`). With δ₁ = 0 the bound is that of Clopper & Pearson (1934) for the
share of right guesses; it needs no second model, and no independence of the rows within the one there is.

Which r pairs are guessed is decided by scores alone: those with the highest score of all, or with the lowest. Several r
are tried, each at its part of α.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from workbench.params import InputError
from workbench.params.field import named
from workbench.privacy.accounting.event import replace_one
from workbench.privacy.audit import epsilon_of_guesses
from workbench.risk.attacks.bound import Guarantee, most, most_of_coin
from workbench.risk.attacks.outcome import LEVEL, Rate
from workbench.signals.cancel import NEVER, CancelToken
from workbench.signals.events import Emit, Progress, ignore

Scores = NDArray[np.float64]  # a number for each row, shape (n,): the higher, the surer that it is of the first group

_ROUNDS = 60


def area(wanted: NDArray[np.bool_], score: Scores) -> float | None:
    """Return the probability that a wanted row has the higher score of two, ties counting one half.

    That is the area under the ROC curve (Mann & Whitney 1947). ``None`` where all rows are of one group.
    """
    of_class = int(wanted.sum())
    others = len(wanted) - of_class
    if not of_class or not others:
        return None
    _, place, ties = np.unique(score, return_inverse=True, return_counts=True)
    middle_ranks = np.cumsum(ties) - (ties - 1) / 2  # rows with one score share the mean of their ranks
    above = float(middle_ranks[place][wanted].sum()) - of_class * (of_class + 1) / 2
    return above / (of_class * others)


def area_interval(found: float, wanted: int, others: int, alpha: float) -> tuple[float, float]:
    """Return the confidence interval of an area from the sizes of both groups (Newcombe 2006, method 5).

    It holds each area θ whose standard error, by Hanley & McNeil's formula at θ, does not rule ``found`` out: so it
    has a width where ``found`` is 0 or 1, too.
    """
    z = NormalDist().inv_cdf(1 - alpha / 2)
    more = (wanted + others) / 2 - 1

    def rules_out(theta: float) -> bool:
        spread = 1 + more * ((1 - theta) / (2 - theta) + theta / (1 + theta))
        return abs(theta - found) > z * math.sqrt(theta * (1 - theta) * spread / (wanted * others))

    ends = []
    for end in (0.0, 1.0):
        outside, inside = end, found
        for _ in range(_ROUNDS):
            middle = (outside + inside) / 2
            outside, inside = (middle, inside) if rules_out(middle) else (outside, middle)
        ends.append(outside)
    return ends[0], ends[1]


def caught_at(members: Scores, others: Scores, false_share: float) -> tuple[int, int]:
    """Return the members and the others above the lowest threshold that at most this share of the others is above."""
    most = math.floor(false_share * len(others) + 1e-9)
    threshold = np.sort(others)[::-1][most] if most < len(others) else -np.inf
    return int(np.sum(members > threshold)), int(np.sum(others > threshold))


def best_threshold(members: Scores, others: Scores) -> float:
    """Return the threshold above which the share of members exceeds that of the others the most: between two scores."""
    values = np.unique(np.concatenate([members, others]))
    above = [1 - np.searchsorted(np.sort(side), values) / len(side) for side in (members, others)]
    best = int(np.argmax(above[0] - above[1]))
    return float(values[best] if best == 0 else (values[best - 1] + values[best]) / 2)


Likelihood = NDArray[np.float64]
"""How well something fits each row, (n,): ln of the chance that a model gives to the row's class, or minus a distance.

The better it fits, the likelier it is that the row was used."""

Retrain = Callable[[NDArray[np.int64], np.random.Generator], Likelihood]
"""Makes it again of some of the rows, with noise of a study, and says how well it then fits all of them."""


ENOUGH = 32
"""Shadows with a row, and without it, from which a spread of its own is better than one for all (Carlini et al.)."""


@dataclass(frozen=True, eq=False)
class Shadows:
    """The same made again of known halves of the rows."""

    used: NDArray[np.bool_]  # which rows each of them was made of; shape (k, n)
    likelihood: NDArray[np.float64]  # how well it fits every row; shape (k, n)

    def mean(self, values: NDArray[np.float64], used: bool) -> Likelihood:
        """Return the mean of ``values`` (k, n) of each row over the shadows that were made with it, or without."""
        here = self.used == used
        found: Likelihood = np.where(here, values, 0.0).sum(axis=0) / here.sum(axis=0)
        return found

    def spread(self, values: NDArray[np.float64], used: bool) -> NDArray[np.float64]:
        """Return the standard deviation of ``values`` about those means: of each row, or of all where they are few."""
        here = self.used == used
        squares = np.where(here, (values - self.mean(values, used)) ** 2, 0.0).sum(axis=0)
        left = here.sum(axis=0) - 1
        if left.min() + 1 < ENOUGH:
            return np.full(len(left), np.sqrt(squares.sum() / max(1, int(left.sum()))))
        found: NDArray[np.float64] = np.sqrt(squares / left)
        return found


@dataclass(frozen=True, eq=False)
class Seen:
    """What an attacker sees of the rows, of whom she does not know which were used."""

    likelihood: Likelihood  # how well the released thing fits each row
    chances: bool = False  # whether that is the logarithm of a probability
    shadows: Shadows | None = None  # the same of others of its kind; `None` where none were made
    # How well the nearest of all other rows, used or not, fits each row; `None` where it is not known.
    others: Likelihood | None = None


@dataclass(frozen=True)
class Guess:
    """A membership attack."""

    name: str
    title: str
    about: str
    # Returns a score of each row, higher where membership is likelier; it does not know who is a member.
    score: Callable[[Seen], Scores]
    # Which attribute of what is `Seen` it needs beside the likelihood; empty for none.
    needs: Literal["", "shadows", "others"] = ""

    def can(self, seen: Seen) -> bool:
        """Return whether all that it needs is seen."""
        return not self.needs or getattr(seen, self.needs) is not None


def cast_shadows(
    retrain: Retrain,
    rows: int,
    size: int,
    count: int,
    generator: np.random.Generator,
    emit: Emit = ignore,
    cancel: CancelToken = NEVER,
) -> Shadows:
    """Make ``count`` shadows of ``size`` of the rows each; every row is left out about equally often."""
    left = rows - size
    turns = -(-count * left // rows)
    order = np.concatenate([generator.permutation(rows) for _ in range(turns)])[: count * left].reshape(count, left)
    used = np.ones((count, rows), dtype=bool)
    used[np.arange(count)[:, None], order] = False
    if used.all(axis=0).any() or not used.any(axis=0).all():
        raise ValueError(f"{count} shadows of {size} among {rows:,} rows are too few")
    found = np.empty((count, rows))
    for shadow in range(count):
        cancel.check()
        emit(Progress(shadow, count, "Shadow models"))
        found[shadow] = retrain(np.flatnonzero(used[shadow]), generator)
    emit(Progress(count, count, "Shadow models"))
    return Shadows(used, found)


def log_odds(likelihood: NDArray[np.float64], chances: bool) -> NDArray[np.float64]:
    """Return ln(p/(1 − p)) of probabilities, which is spread about like a normal; anything else as it is."""
    if not chances:
        return likelihood
    capped = np.clip(likelihood, -_SURE, -np.exp(-_SURE))
    odds: NDArray[np.float64] = capped - np.log(-np.expm1(capped))
    return odds


_SURE = 30.0
"""ln of the odds beyond which one probability is as good as certain: what double precision distinguishes from 1."""


LOSS = Guess("loss", "Best fit", "A row that fits well, or is close, counts as used.", lambda seen: seen.likelihood)


_LEAST = 1e-9  # a spread below it is rounding

_NARROW, _TAIL = 0.5, 4
"""Width of a kernel in n^(−1/5) spreads: half of what is usual, for fits with two humps; and its degrees of freedom."""


def _offline(seen: Seen) -> Scores:
    """Return how far the fit is above what it is without the row, in standard deviations."""
    assert seen.shadows is not None
    odds = log_odds(seen.shadows.likelihood, seen.chances)
    spread = np.maximum(seen.shadows.spread(odds, used=False), _LEAST)
    above: Scores = (log_odds(seen.likelihood, seen.chances) - seen.shadows.mean(odds, used=False)) / spread
    return above


def _log_density(seen: Seen, used: bool) -> Scores:
    """Return ln of the density of each row's fit among the shadows, but for a constant.

    Of few shadows it is that of a normal with a spread for all rows, as in the paper. Of many it is each row's own: a
    network remembers a row or does not, with little in between, so that no normal describes its fit; Student's kernel
    about that of each shadow does.
    """
    assert seen.shadows is not None
    found, odds = log_odds(seen.likelihood, seen.chances), log_odds(seen.shadows.likelihood, seen.chances)
    spread = np.maximum(seen.shadows.spread(odds, used), _LEAST)
    here = seen.shadows.used == used
    number = here.sum(axis=0)
    if number.min() < ENOUGH:
        squares = ((found - seen.shadows.mean(odds, used)) / spread) ** 2
        normal: Scores = -0.5 * squares - np.log(spread)
        return normal
    width = _NARROW * number**-0.2 * spread
    heights = (1 + ((found - odds) / width) ** 2 / _TAIL) ** (-(_TAIL + 1) / 2)
    density = np.where(here, heights, 0.0).sum(axis=0) / number
    kernel: Scores = np.log(np.maximum(density, np.finfo(float).tiny)) - np.log(width)
    return kernel


LIRA = Guess(
    "lira",
    "Likelihood ratio (LiRA)",
    "Compares the fit of a row with its fit in models trained with it and without it.",
    # ln of the ratio of two densities of the fit: with the row, and without it
    lambda seen: _log_density(seen, used=True) - _log_density(seen, used=False),
    needs="shadows",
)
LIRA_OFFLINE = Guess(
    "lira-offline",
    "Likelihood ratio without the row (LiRA offline)",
    "Compares the fit of a row with its fit in models trained without it.",
    _offline,
    needs="shadows",
)


GAMMA = 2.0  # by how much the ratio of a row must be above that of another one (their γ)


def _rmia_score(seen: Seen) -> Scores:
    """Return the share of the rows z with (p(x|θ)/p(x)) / (p(z|θ)/p(z)) ≥ γ; p(x) is the mean over the shadows.

    Rows with the same share are ordered by their own ratio, as with more rows z they would be.
    """
    assert seen.shadows is not None
    likelihood = seen.shadows.likelihood
    top = np.maximum(likelihood.max(axis=0), seen.likelihood)
    raised = np.exp(likelihood - top)
    usual = (seen.shadows.mean(raised, used=True) + seen.shadows.mean(raised, used=False)) / 2
    ratio = seen.likelihood - top - np.log(np.maximum(usual, np.finfo(float).tiny))
    below = np.searchsorted(np.sort(ratio), ratio - np.log(GAMMA), side="right")
    rank = np.unique(ratio, return_inverse=True)[1]
    share: Scores = (below + rank / (rank.max() + 1)) / len(ratio)
    return share


RMIA = Guess(
    "rmia",
    "Robust attack (RMIA)",
    "Compares how much better than usual the model fits a row with the same for other rows.",
    _rmia_score,
    needs="shadows",
)


_SAME = 1e-6  # a distance below it is none


def _density_ratio_score(seen: Seen) -> Scores:
    """Return ln of the ratio of two densities, but for factors that are the same for all rows.

    Where rows are scarce everybody is far from the release, and where they are dense everybody is near: the distance
    alone says little of who was used. The attacker has rows of the same population to compare with.

    That of the release and that of the population are estimated by the nearest neighbour: with n rows in d dimensions
    by 1/(n·rᵈ), r being the distance to it.
    """
    assert seen.others is not None
    near, usual = (np.maximum(-likelihood, _SAME) for likelihood in (seen.likelihood, seen.others))
    ratio: Scores = np.log(usual) - np.log(near)
    return ratio


DENSITY_RATIO = Guess(
    "density-ratio",
    "Density ratio (DOMIAS)",
    "Compares the distance of a row to the release with its distance to the population.",
    _density_ratio_score,
    needs="others",
)


GUESSES: tuple[Guess, ...] = (LOSS, LIRA, LIRA_OFFLINE, RMIA, DENSITY_RATIO)  # the ways to guess, by name


def guess(name: str) -> Guess:
    """Return the membership attack called ``name``.

    Raises:
        ParameterError: there is none.
    """
    return named(GUESSES, name, "membership attack")


FALSE_SHARES = (0.001, 0.01)  # the shares of false alarms at which the share of true ones is stated

LEAST = 20  # members and others without which nothing is said


@dataclass(frozen=True)
class Separation:
    """How well one membership attack separates members from others."""

    guess: str  # its name
    auc: Rate  # probability that a member has the higher score of two
    tpr: Mapping[float, Rate]  # by share of false alarms, the share of the members that is caught
    true: Rate  # the share of the members above a threshold that was chosen on other rows
    false: Rate  # the share of the others above it
    epsilon_lower: float  # with `confidence`, ε is not below it: zero-out, as cards state it
    epsilon_lower_replaced: float  # the same of replaced rows, which is what is measured
    confidence: float  # of each interval, and of the two bounds

    @property
    def advantage(self) -> Rate:
        """The share of true alarms less that of false ones (Yeom et al. 2018); Newcombe's interval of a difference."""
        true, false = self.true, self.false
        value = true.value - false.value
        down = math.hypot(true.value - true.low, false.high - false.value)
        up = math.hypot(true.high - true.value, false.value - false.low)
        return Rate(value, max(value - down, -1.0), min(value + up, 1.0))

    @property
    def right(self) -> Rate:
        """How often it is right about a row that was used or not by a fair coin."""
        ahead = self.advantage
        return Rate((1 + ahead.value) / 2, (1 + ahead.low) / 2, (1 + ahead.high) / 2)

    def plain(self) -> dict[str, Any]:
        """Return it as ``--json`` prints it."""
        return {
            "guess": self.guess,
            "auc": self.auc.value,
            "auc_low": self.auc.low,
            "auc_high": self.auc.high,
            "tpr_at_fpr": {f"{share:g}": rate.value for share, rate in self.tpr.items()},
            "tpr_rates": {f"{share:g}": rate.plain() for share, rate in self.tpr.items()},
            "epsilon_lower": self.epsilon_lower,
            "epsilon_lower_replaced": self.epsilon_lower_replaced,
            "confidence": self.confidence,
            "advantage": max(self.advantage.value, 0.0),
            "advantage_low": self.advantage.low,
            "advantage_high": self.advantage.high,
        }


def separated(
    guess: str, members: Scores, others: Scores, guarantee: Guarantee, *, seed: int = 0, alpha: float = 1 - LEVEL
) -> Separation:
    """Return how well scores separate members from others.

    Args:
        guess: the name of the membership attack.
        members: their scores; they may not depend on who is a member but through what was released.
        others: the scores of rows that were drawn like the members, and not used.
        guarantee: what is promised, for its δ and for its relation of ε to that of replaced rows.
        seed: of the halves and pairs.
        alpha: the probability, at most, with which an interval misses, and a lower bound is above the truth.

    Raises:
        InputError: there are fewer than :data:`LEAST` of either.
    """
    for rows, what in ((members, "members"), (others, "non-members")):
        if len(rows) < LEAST:
            raise InputError(f"there are {len(rows)} {what}, and at least {LEAST} are needed", hint="use more rows")
    generator, level = np.random.default_rng([seed, 26]), 1 - alpha
    wanted = np.concatenate([np.ones(len(members), bool), np.zeros(len(others), bool)])
    auc = area(wanted, np.concatenate([members, others]))
    assert auc is not None
    tpr = {share: Rate.counted(caught_at(members, others, share)[0], len(members), level) for share in FALSE_SHARES}
    true, false = _at_foreign_thresholds(members, others, generator)
    lower, replaced = _lower_bounds(members, others, guarantee, alpha, generator)
    return Separation(
        guess,
        Rate(auc, *area_interval(auc, len(members), len(others), alpha)),
        tpr,
        Rate.counted(true, len(members), level),
        Rate.counted(false, len(others), level),
        lower,
        replaced,
        level,
    )


def _at_foreign_thresholds(members: Scores, others: Scores, generator: np.random.Generator) -> tuple[int, int]:
    """Return how many are at or above the best threshold of the half of the rows that they are not in."""
    sides = [np.array_split(generator.permutation(side), 2) for side in (members, others)]
    counts = np.zeros(2, dtype=int)
    for chosen, judged in ((0, 1), (1, 0)):
        threshold = best_threshold(sides[0][chosen], sides[1][chosen])
        counts += [int(np.sum(side[judged] >= threshold)) for side in sides]
    return int(counts[0]), int(counts[1])


def _lower_bounds(
    members: Scores, others: Scores, guarantee: Guarantee, alpha: float, generator: np.random.Generator
) -> tuple[float, float]:
    """Return the lower bounds on ε, and on that of replaced rows."""
    count = min(len(members), len(others))
    pairs = np.stack([generator.permutation(side)[:count] for side in (members, others)], axis=1)
    # A tie is guessed by a coin, so that it does not matter that the member comes first.
    right = np.where(pairs[:, 0] == pairs[:, 1], generator.random(count) < 0.5, pairs[:, 0] > pairs[:, 1])
    # Of equal scores the pairs go first that are separated best, then in random order.
    highest, lowest, by_chance = pairs.max(axis=1), pairs.min(axis=1), generator.random(count)
    orders = [np.lexsort((by_chance, lowest - highest, key)) for key in (-highest, lowest)]
    sizes = [1 << power for power in range(3, count.bit_length()) if 1 << power < count] + [count]
    tries = [(size, int(right[order[:size]].sum())) for order in orders for size in sizes]
    known = guarantee.epsilon is not None and guarantee.replaced[1] < 1
    delta, delta_replaced = (guarantee.delta, guarantee.replaced[1]) if known else (0.0, 0.0)
    # Where each row is randomised by itself, both relations have one ε.
    implied = None if known and guarantee.replaced[0] == guarantee.epsilon else replace_one
    bound = partial(epsilon_of_guesses, count, alpha=alpha / len(tries))
    return (
        max(bound(size, hits, delta=delta, implied=implied) for size, hits in tries),
        max(bound(size, hits, delta=delta_replaced) for size, hits in tries),
    )


@dataclass(frozen=True)
class Allowed:
    """What a guarantee allows on average, whoever attacks: for replaced rows, and for a row that was there or empty.

    ``right`` is how often a guess can be right, ``tpr`` the share of members caught by share of false alarms.
    """

    tpr: Mapping[float, float]
    advantage: float
    auc: float
    right: float

    @classmethod
    def by(cls, epsilon: float, delta: float) -> Allowed:
        """Return what (ε, δ) allows.

        The largest ROC curve goes from (0, δ) straight to (f, 1 − f), f = (1 − δ)/(1 + e^ε), to (1 − δ, 1) and (1, 1).
        """
        right = most_of_coin(epsilon, delta)
        corner = 1 - right
        auc = (delta + right) / 2 * corner + (right + 1) / 2 * (1 - delta - corner) + delta
        return cls({share: most(share, epsilon, delta) for share in FALSE_SHARES}, 2 * right - 1, auc, right)

    def plain(self) -> dict[str, Any]:
        """Return it as ``--json`` prints it."""
        return {
            "tpr_at_fpr": {f"{share:g}": value for share, value in self.tpr.items()},
            "advantage": self.advantage,
            "auc": self.auc,
            "right": self.right,
        }


def allowed_by(guarantee: Guarantee) -> dict[str, Any] | None:
    """Return what a guarantee allows where a row is replaced, as members by others are, and where it is emptied."""
    if not guarantee.holds or guarantee.epsilon is None:
        return None
    emptied = Allowed.by(guarantee.epsilon, guarantee.delta).plain()
    return {**Allowed.by(*guarantee.replaced).plain(), "emptied": emptied}
