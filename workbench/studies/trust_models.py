"""Shuffled and local reports against noise on central sums: the error of each at one ε, and what shuffling leaks.

Made-up people with one of k values each; no rows are read. At the central ε that shuffled reports of ε₀ have (the
bound of :func:`workbench.privacy.accounting.closed_form_costs.shuffled`, replace-one neighbours):

* central: a trusted steward adds discrete Laplace noise to the counts, of which one person changes two, or to the sum;
* shuffled: each person sends a report of ε₀, a mixer removes names and order;
* local: each person sends a report of the central ε.

A report for the shares is k-ary randomised response or optimised unary encoding, whichever has the smaller variance at
its ε; one for the mean is Duchi's (Duchi, Jordan & Wainwright 2018), plus or minus one number.

Two lower bounds on what shuffled k-ary responses leak, for two groups that differ in one person (value 0 or 1) while
all others have a third value. The attacker sees how many reports say 0 and how many say 1. With M(m) the chance that m
of the others' reports say either, one more report of weights p, q and r = 1 − p − q gives the chance of a zeros among m

    C(m, a)/2^m · [ 2·M(m − 1)·(p·a + q·(m − a))/m + r·M(m) ]

whose divergence from the same with p and q swapped is summed exactly: ``attack``. The other is measured: collections
are drawn for both groups, and ε is bounded from below by the event that separates them best
(:mod:`workbench.privacy.audit`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.params import ParameterError, Parameters, integer
from workbench.privacy.accounting.closed_form_costs import randomised_response, shuffled
from workbench.privacy.accounting.event import PureDp
from workbench.privacy.audit import LowerBound, epsilon_lower
from workbench.signals import NEVER, CancelToken, Emit, Progress, ignore
from workbench.work.noise import Study
from workbench.work.work import cost_of

_TAIL = 1e-4  # part of δ that is left out of the exact sum, which makes it smaller

COLLECTIONS = 1_000_000  # shuffled collections of each group that the lower bound rests on

Counts = NDArray[np.int64]
Doubles = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Simulation(Parameters):
    """What is simulated."""

    values: int = integer(at_least=3, upto=1000, default=8, help="number of possible values")
    repeats: int = integer(at_least=2, upto=10_000, default=200, help="number of collections to average errors over")
    seed: int = integer(default=0, at_least=0, upto=2**63 - 1, help="seed of the simulated people and the noise")


@dataclass(frozen=True)
class TrustStudy:
    """The three models at one central ε."""

    epsilon: float  # of the shuffled reports together, and of the central and the local way
    epsilon_local: float  # ε₀ of one report before it is shuffled
    rows: int  # people
    delta: float  # δ of the shuffled reports; the other two have none
    shares: dict[str, tuple[float, float]]  # by model, mean and standard error of the mean absolute error of a share
    mean: dict[str, tuple[float, float]]  # the same of the mean of a number between 0 and 1
    attack: float  # the ε that an attacker who knows all others gets from shuffled k-ary responses
    measured: LowerBound  # the same from drawn collections, with its confidence

    def to_plain(self) -> dict[str, Any]:
        """Return it as plain values."""
        errors = {
            name: {model: {"mean": m, "standard_error": s} for model, (m, s) in found.items()}
            for name, found in (("shares", self.shares), ("mean", self.mean))
        }
        measured = {"epsilon_lower": self.measured.epsilon, "confidence": self.measured.confidence}
        return {
            "errors": errors,
            "epsilon_attack": self.attack,
            **measured,
            "collections": self.measured.tested,
            "sentences": list(self.sentences),
        }

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was found, in words."""
        error = {model: found for model, (found, _) in self.shares.items()}
        near, far = error["local"] / error["shuffled"], error["shuffled"] / error["central"]
        return (
            f"At the same ε of {self.epsilon:.3g}, the mean error of a share is {near:.3g} times smaller with shuffled "
            f"reports than with local ones, and {far:.3g} times larger than with central noise.",
            f"Shuffled reports of ε₀ = {self.epsilon_local:.3g} have ε of at most {self.epsilon:.3g} (the "
            f"bound); an attacker who knows all other reports achieves {self.attack:.3g} (computed), and "
            f"{self.measured.tested:,} simulated collections prove at least {self.measured.epsilon:.3g}.",
        )


def local_epsilon(epsilon: float, rows: int, delta: float) -> float:
    """Return the largest ε₀ of a report with which ``rows`` shuffled ones have at most ``epsilon`` at ``delta``."""
    low, high = epsilon, 20.0
    if shuffled(high, rows, delta).epsilon <= epsilon:
        return high
    while high - low > 1e-4 * low:
        middle = (low + high) / 2
        low, high = (middle, high) if shuffled(middle, rows, delta).epsilon <= epsilon else (low, middle)
    return low


def compare_trust(
    epsilon_local: float,
    rows: int,
    delta: float,
    simulation: Simulation | None = None,
    emit: Emit = ignore,
    cancel: CancelToken = NEVER,
) -> TrustStudy:
    """Simulate the three models.

    ``epsilon_local`` is ε₀ of a report that is shuffled, ``delta`` that of the shuffled reports.

    Raises:
        ParameterError: an argument is out of range.
    """
    asked = simulation or Simulation()
    if rows < 2:
        raise ParameterError("shuffling needs at least two reports", "--rows", "use more rows")
    epsilon = shuffled(epsilon_local, rows, delta).epsilon
    drawn = np.random.default_rng(asked.seed)
    popularity = 1 / np.arange(1, asked.values + 1)
    people = drawn.multinomial(rows, popularity / popularity.sum())
    central, reported = (_central_shares, _central_mean), (_reported_shares, _reported_mean)
    ways = {
        "central": ("central noise", epsilon, central),
        "shuffled": ("shuffled reports", epsilon_local, reported),
        "local": ("local reports", epsilon, reported),
    }
    shares, mean = {}, {}
    for done, (model, (words, spent, made)) in enumerate(ways.items()):
        cancel.check()
        emit(Progress(done, len(ways) + 1, words))
        shares[model], mean[model] = (_summary(errors(people, spent, asked.repeats, drawn)) for errors in made)
    cancel.check()
    emit(Progress(len(ways), len(ways) + 1, "measuring what shuffled reports leak"))
    leaks = (
        attack(epsilon_local, rows, delta, asked.values),
        measure(epsilon_local, rows, delta, asked.values, asked.seed),
    )
    return TrustStudy(epsilon, epsilon_local, rows, delta, shares, mean, *leaks)


def attack(epsilon_local: float, rows: int, delta: float, values: int) -> float:
    """Return the ε at ``delta`` of the two groups for an attacker who counts both values: no bound can be below it."""
    from scipy.stats import binom

    p, q, r = _weights(epsilon_local, values)
    either = binom(rows - 1, 2 * q)
    m = np.arange(max(int(either.ppf(_TAIL * delta)) - 1, 0), min(int(either.isf(_TAIL * delta)) + 2, rows) + 1)
    alone, beside = either.pmf(m), 2 * either.pmf(m - 1) / np.maximum(m, 1)

    def divergence(epsilon: float) -> float:
        edge = math.exp(epsilon)
        rise = beside * ((p - edge * q) - (q - edge * p))  # how the bracket grows with each zero
        floor = beside * m * (q - edge * p) + r * alone * (1 - edge)
        least = np.where(rise > 0, np.ceil(-floor / np.maximum(rise, 1e-300)), m + 1)
        least = np.clip(least, 0, m + 1)
        zeros, tail = m / 2 * binom.sf(least - 2, np.maximum(m - 1, 0), 0.5), binom.sf(least - 1, m, 0.5)
        return float(np.maximum(rise * zeros + floor * tail, 0.0).sum())

    low, high = 0.0, epsilon_local
    if divergence(low) <= delta:
        return 0.0
    while high - low > 1e-6 * epsilon_local:
        middle = (low + high) / 2
        low, high = (middle, high) if divergence(middle) > delta else (low, middle)
    return low


def measure(epsilon_local: float, rows: int, delta: float, values: int, seed: int) -> LowerBound:
    """Return a lower bound on the same ε from drawn collections."""
    p, q, r = _weights(epsilon_local, values)
    drawn = np.random.default_rng([seed, 1])
    ratios = []
    for own in ((p, q), (q, p)):
        both = drawn.binomial(rows - 1, 2 * q, COLLECTIONS)
        zeros = drawn.binomial(both, 0.5)
        report = drawn.choice(3, COLLECTIONS, p=[*own, r])
        zeros, both = zeros + (report == 0), both + (report < 2)
        # The bracket of either group over M(m): 2·M(m − 1)/m is M(m)·(1 − 2q)/(q·(n − m)).
        more = np.divide(1 - 2 * q, q * (rows - both), out=np.full(COLLECTIONS, 1e12), where=both < rows)
        first, second = (more * (x * zeros + y * (both - zeros)) + r for x, y in ((p, q), (q, p)))
        ratios.append(np.log(first / second))
    return epsilon_lower(ratios[0], ratios[1], delta=delta)


def _weights(epsilon_local: float, values: int) -> tuple[float, float, float]:
    p, q, _ = randomised_response(epsilon_local, values)
    return p, q, max(1 - p - q, 0.0)


def _summary(errors: Doubles) -> tuple[float, float]:
    return float(errors.mean()), float(errors.std(ddof=1) / math.sqrt(len(errors)))


def _central(exact: Counts, sensitivity: int, epsilon: float, drawn: np.random.Generator) -> Counts:
    cost = cost_of((PureDp(Decimal(repr(epsilon)), "counts"),), 1)
    noisy = Study(drawn).ask(cost)("counts", exact.ravel().tolist(), sensitivity)
    return np.array(noisy, dtype=np.int64).reshape(exact.shape)


def _central_shares(people: Counts, epsilon: float, repeats: int, drawn: np.random.Generator) -> Doubles:
    noisy = _central(np.tile(people, (repeats, 1)), 2, epsilon, drawn)
    return _share_errors(noisy / people.sum(), people)


def _central_mean(people: Counts, epsilon: float, repeats: int, drawn: np.random.Generator) -> Doubles:
    most = len(people) - 1
    total = int(people @ np.arange(len(people)))
    noisy = _central(np.full(repeats, total), most, epsilon, drawn)
    errors: Doubles = np.abs(noisy - total) / (most * people.sum())
    return errors


def _reported_shares(people: Counts, epsilon: float, repeats: int, drawn: np.random.Generator) -> Doubles:
    n, k = int(people.sum()), len(people)
    p, q, variance = randomised_response(epsilon, k)
    unary = 4 * math.exp(epsilon) / math.expm1(epsilon) ** 2
    if variance <= unary:
        table = np.full((k, k), q) + np.eye(k) * (p - q)
        table /= table.sum(axis=1, keepdims=True)
        reports = np.sum([drawn.multinomial(people[v], table[v], repeats) for v in range(k)], axis=0)
    else:
        p, q = 0.5, 1 / (math.exp(epsilon) + 1)
        reports = drawn.binomial(people, p, (repeats, k)) + drawn.binomial(n - people, q, (repeats, k))
    return _share_errors((reports / n - q) / (p - q), people)


def _share_errors(found: Doubles, people: Counts) -> Doubles:
    errors: Doubles = np.abs(found - people / people.sum()).mean(axis=1)
    return errors


def _reported_mean(people: Counts, epsilon: float, repeats: int, drawn: np.random.Generator) -> Doubles:
    n, x = int(people.sum()), np.linspace(-1, 1, len(people))
    size = 1 / math.tanh(epsilon / 2)
    above = drawn.binomial(people, np.clip((1 + x / size) / 2, 0, 1), (repeats, len(people))).sum(axis=1)
    truth = float(people @ x) / n
    errors: Doubles = np.abs(size * (2 * above / n - 1) - truth) / 2
    return errors
