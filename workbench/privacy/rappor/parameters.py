"""The parameters of a RAPPOR collection, and the integers that its bits are drawn with."""

from __future__ import annotations

import math
from dataclasses import dataclass

from workbench.params import ParameterError, Parameters, integer, real

ONE = 1 << 64
"""Probability 1 in the integers that bits are drawn with."""

MOST_BITS = 4096
HASHED_BITS = 256
"""Most bits of a Bloom filter: its hash functions are single bytes of an MD5 digest."""


@dataclass(frozen=True, kw_only=True)
class RapporParameters(Parameters):
    """The parameters of all clients of a collection (Erlingsson, Pihur & Korolova 2014). All of it is public."""

    k: int = integer(default=128, at_least=1, upto=MOST_BITS, symbol="k", help="bits of a report")
    h: int = integer(default=2, at_least=1, upto=16, symbol="h", help="hash functions of the Bloom filter")
    m: int = integer(default=16, at_least=1, upto=4096, symbol="m", help="cohorts; each has hash functions of its own")
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
                f"p = q = {self.p:g}: a report would say nothing", hint="give another p or q", field="q"
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
