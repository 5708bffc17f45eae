"""The parameters of a RAPPOR collection, and the integers that its bits are drawn with."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from workbench.params import ParameterError, Parameters, integer, real
from workbench.privacy.accounting.compose import round_up
from workbench.privacy.local.mechanism_table import log_up

ONE = 1 << 64  # probability 1 in the integers that bits are drawn with

MOST_BITS = 4096
HASHED_BITS = 256  # most bits of a Bloom filter: its hash functions are single bytes of an MD5 digest


@dataclass(frozen=True, kw_only=True)
class RapporParameters(Parameters):
    """The parameters of all clients of a collection (Erlingsson, Pihur & Korolova 2014). All of it is public."""

    k: int = integer(default=128, at_least=1, upto=MOST_BITS, symbol="k", help="bits of a report")
    h: int = integer(default=2, at_least=1, upto=16, symbol="h", help="hash functions of the Bloom filter")
    m: int = integer(default=16, at_least=1, upto=4096, symbol="m", help="cohorts; each has its own hash functions")
    p: float = real(
        default=0.5, at_least=0, upto=1, symbol="p", help="chance that a 0 of the permanent answer is reported as 1"
    )
    q: float = real(
        default=0.75, at_least=0, upto=1, symbol="q", help="chance that a 1 of the permanent answer is reported as 1"
    )
    f: float = real(
        default=0.5, at_least=0, upto=1, symbol="f", help="chance that a bit of the permanent answer is a coin toss"
    )

    def __post_init__(self) -> None:
        """Check the values, then against each other.

        Raises:
            ParameterError: a value is out of range, there are more hash functions than bits, or reports would say
                nothing at all (p = q, or f = 1).
        """
        super().__post_init__()
        if self.h > self.k:
            raise ParameterError(f"h = {self.h} hash functions need at least as many bits, and k = {self.k}", field="h")
        if self.p == self.q:
            raise ParameterError(
                f"p = q = {self.p:g}: a report would contain no information", hint="give another p or q", field="q"
            )
        if self.f == 1:
            raise ParameterError("f = 1: every answer would be a coin toss", hint="give f below 1", field="f")

    @property
    def row_bytes(self) -> int:
        """Bytes of one report."""
        return -(-self.k // 8)

    def permanent_integers(self) -> tuple[int, int]:
        """Return the chances of a permanent 1 where the Bloom filter has a 1 and where it has a 0, of 2⁶⁴.

        The second, f/2, is rounded towards one half, and the first is its complement: no pair of values is
        distinguished better than f says.
        """
        zero = min(math.ceil(_whole(self.f) / 2), ONE // 2)
        return ONE - zero, zero

    def instant_integers(self) -> tuple[int, int]:
        """Return q and p of 2⁶⁴: each is the chance of a reported 1, where the permanent bit is 1 and where it is 0.

        Both are rounded towards each other.
        """
        q, p = _whole(self.q), _whole(self.p)
        return (math.floor(q), math.ceil(p)) if q > p else (math.ceil(q), math.floor(p))

    @property
    def q_star(self) -> float:
        """Chance that a bit is reported as 1 where the Bloom filter has a 1."""
        return self.f * (self.p + self.q) / 2 + (1 - self.f) * self.q

    @property
    def p_star(self) -> float:
        """Chance that a bit is reported as 1 where the Bloom filter has a 0."""
        return self.f * (self.p + self.q) / 2 + (1 - self.f) * self.p


def _whole(probability: float) -> float:
    """Return ``probability``·2⁶⁴, exact: a double times a power of two."""
    return math.ldexp(probability, 64)


MOST_REPORTS = 1_000_000
_SLACK = 1e-12  # relative room for the rounding of the few operations on doubles below


@dataclass(frozen=True)
class RapporCost:
    """What a client's reports cost, in replace-one neighbours of its one value."""

    one: float  # ε₁ of one report; infinite where a report can prove its bit
    permanent: float  # ε∞ of any number of reports; infinite where f = 0
    exact: float  # ε of exactly `reports` reports
    charged: float  # min(ε∞, reports·ε₁): what is charged, never below `exact`
    reports: int  # number of reports

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
    """Return both ε of a client's reports; ``None`` is an infinite one, which JSON cannot hold."""
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
