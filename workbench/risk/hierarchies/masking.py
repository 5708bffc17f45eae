"""Characters that are masked one after another from one end: 81667 → 8166* → 816** → … → *."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.params import Parameters, choice, integer
from workbench.risk.hierarchies.builder import Builder

MASK = "*"


@dataclass(frozen=True, kw_only=True)
class Masking(Parameters):
    """Which end is masked, and how many characters at each level."""

    end: str = choice(choices=("suffix", "prefix"), default="suffix", help="whether the last or the first are masked")
    step: int = integer(default=1, at_least=1, upto=100, help="how many more characters each level masks")
    keep: int = integer(default=1, at_least=0, upto=100, help="how many characters the last level before * keeps")


def _levels(given: Masking, values: Sequence[str]) -> list[Sequence[str]]:
    longest = max(map(len, values), default=0)
    counts = range(given.step, max(longest - given.keep, 0) + 1, given.step)
    return [[_masked(value, count, given.end) for value in values] for count in counts]


def _masked(value: str, count: int, end: str) -> str:
    count = min(count, len(value))
    return value[: len(value) - count] + MASK * count if end == "suffix" else MASK * count + value[count:]


MASKING = Builder(
    name="masking",
    title="masking",
    help="characters are masked one after another, from the end or the beginning",
    parameters=Masking,
    levels=_levels,
)
