"""What scores of members and of others prove: how well they are separated, and a lower bound on ε.

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
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from workbench.params import InputError
from workbench.privacy.accounting.event import replace_one
from workbench.privacy.audit import epsilon_of_guesses
from workbench.risk.attacks.bound import Guarantee, most, most_of_coin
from workbench.risk.attacks.outcome import LEVEL, Rate
from workbench.risk.roc import Scores, area, area_interval, best_threshold, caught_at

FALSE_SHARES = (0.001, 0.01)
"""The shares of false alarms at which the share of true ones is stated."""

LEAST = 20
"""Members and others without which nothing is said."""


@dataclass(frozen=True)
class Separation:
    """How well one way to guess separates members from others.

    Attributes:
        guess: its name.
        auc: probability that a member has the higher score of two.
        tpr: by share of false alarms, the share of the members that is caught.
        true: the share of the members above a threshold that was chosen on other rows.
        false: the share of the others above it.
        epsilon_lower: with ``confidence``, ε is not below it: zero-out, as cards state it.
        epsilon_lower_replaced: the same of replaced rows, which is what is measured.
        confidence: of each interval, and of the two bounds.
    """

    guess: str
    auc: Rate
    tpr: Mapping[float, Rate]
    true: Rate
    false: Rate
    epsilon_lower: float
    epsilon_lower_replaced: float
    confidence: float

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
        guess: the name of the way to guess.
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
            raise InputError(f"there are {len(rows)} {what}, and at least {LEAST} are needed", hint="give more rows")
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
    # A tie is guessed by a coin, so that it does not matter that the member stands first.
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
