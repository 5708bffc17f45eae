"""What RAPPOR reports cost: of one report (ε₁), of n reports of one client, and of any number of them (ε∞).

Two values differ in at most 2h bits of their Bloom filters, h of them 1 under the first alone and h under the second
alone. Given the permanent answer, reports are independent, so the log-likelihood ratio of n reports of one bit is
g(x) = ln((a·eˣ + b)/(b·eˣ + a)) with a = 1 − f/2, b = f/2 and x the sum of the reports' own ratios, between
n·ln((1−q)/(1−p)) and n·ln(q/p). g is odd and increasing, so all-ones and all-zeros reports are the worst, and
ε_n = h·(g(n·ln(q/p)) + g(n·ln((1−p)/(1−q)))) exactly. It is ε₁ of the paper at n = 1 (Erlingsson, Pihur & Korolova
2014, sec. 3.2, where p* conditions on a 0 of the Bloom filter), and tends to ε∞ = 2h·ln((1−f/2)/(f/2)).
g(nx) ≤ n·g(x) for x ≥ 0, as g is concave there: n·ε₁ is a bound, too.

All figures are of the integers that are drawn, for two values of one client that gives the same value in all of its
reports (replace-one, hence also for emptying it: fewer bits differ then).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from workbench.params import ParameterError
from workbench.privacy.accounting.compose import round_up
from workbench.privacy.local.mechanism_table import log_up
from workbench.privacy.rappor.parameters import ONE, RapporParameters

MOST_REPORTS = 1_000_000
_SLACK = 1e-12
"""Relative room for the rounding of the few operations on doubles below."""


@dataclass(frozen=True)
class RapporCost:
    """What a client's reports cost, in replace-one neighbours of its one value.

    Attributes:
        one: ε₁ of one report; infinite where a report can prove its bit.
        permanent: ε∞ of any number of reports; infinite where f = 0.
        exact: ε of exactly ``reports`` reports.
        charged: min(ε∞, reports·ε₁): what is charged, never below ``exact``.
        reports: number of reports.
    """

    one: float
    permanent: float
    exact: float
    charged: float
    reports: int

    def decimal(self) -> Decimal:
        """Return what is charged, rounded up to six decimals.

        Raises:
            ParameterError: it is infinite, so that no budget covers it.
        """
        if math.isinf(self.charged):
            raise ParameterError(
                "these parameters have an infinite epsilon: a report can prove what its client's value is",
                hint="give f above 0, or p and q between 0 and 1",
            )
        return round_up(self.charged)


def epsilons(parameters: RapporParameters, reports: int = 1) -> dict[str, float | None]:
    """Return both ε of a client's reports; ``None`` stands for an infinite one, which JSON cannot hold."""
    bound = cost(parameters, reports)
    both = {"epsilon_one": bound.one, "epsilon_permanent": bound.permanent}
    return {name: None if math.isinf(value) else value for name, value in both.items()}


def cost(parameters: RapporParameters, reports: int = 1) -> RapporCost:
    """Return what ``reports`` reports of one client cost.

    Raises:
        ParameterError: fewer than one report, or more than a million.
    """
    if isinstance(reports, bool) or not 1 <= reports <= MOST_REPORTS:
        raise ParameterError(f"{reports} reports of a client are not between 1 and {MOST_REPORTS:,}")
    permanent, one = permanent_epsilon(parameters), single_epsilon(parameters)
    between = min(reported_epsilon(parameters, reports), permanent, _up(reports * one))
    return RapporCost(one, permanent, between, min(permanent, _up(reports * one)), reports)


def permanent_epsilon(parameters: RapporParameters) -> float:
    """Return ε∞ = 2h·ln((1−f/2)/(f/2)), rounded up; infinite for f = 0."""
    one, zero = parameters.permanent_integers()
    return math.inf if zero == 0 else _scaled(log_up(Fraction(one, zero)), 2 * parameters.h)


def single_epsilon(parameters: RapporParameters) -> float:
    """Return ε₁ = h·ln(q*(1−p*)/((1−q*)p*)) of one report, rounded up."""
    a, b = (Fraction(t, ONE) for t in parameters.permanent_integers())
    q, p = (Fraction(t, ONE) for t in parameters.instant_integers())
    high, low = a * q + b * p, b * q + a * p
    if low in (0, 1) or high in (0, 1):
        return math.inf
    ratio = high * (1 - low) / ((1 - high) * low)
    return _scaled(log_up(max(ratio, 1 / ratio)), parameters.h)


def reported_epsilon(parameters: RapporParameters, reports: int) -> float:
    """Return ε of ``reports`` reports of one client, rounded up."""
    one, zero = (t / ONE for t in parameters.permanent_integers())
    q, p = (t / ONE for t in parameters.instant_integers())
    if q < p:
        q, p = p, q  # the same by the names of the bits
    ends = (_log_ratio(q, p), _log_ratio(1 - p, 1 - q))
    return _up(parameters.h * sum(_turned(reports * x, one, zero) for x in ends))


def _log_ratio(high: float, low: float) -> float:
    return math.inf if low == 0 else math.log(high / low)


def _turned(x: float, a: float, b: float) -> float:
    """Return g(x) for x ≥ 0."""
    limit = math.inf if b == 0 else math.log(a / b)
    if math.isinf(x):
        return limit
    if b == 0:
        return x
    return math.log((a + b * math.exp(-x)) / (b + a * math.exp(-x)))


def _scaled(value: float, factor: int) -> float:
    return math.nextafter(value * factor, math.inf) if factor > 1 else value


def _up(value: float) -> float:
    return value if math.isinf(value) else value * (1 + _SLACK)
