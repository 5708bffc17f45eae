"""Intervals of numbers that become wider with each level: 23 → 20-24 → 20-29 → *."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from workbench.params import ParameterError, Parameters, declared_by, real
from workbench.params.lists import LevelsField
from workbench.risk.hierarchies.builder import Builder, as_number, digits

_STEPS = (1.0, 2.0, 5.0, 10.0)


@dataclass(frozen=True, kw_only=True)
class Intervals(Parameters):
    """Widths, and where the first interval begins."""

    widths: tuple[float, ...] | None = declared_by(
        LevelsField(
            most=20,
            help="the width of the intervals of each level, each a multiple of the one before",
            empty="by range",
        ),
        default=None,
    )
    start: float = real(default=0, at_least=-1e12, upto=1e12, help="a number at which an interval begins")
    lowest: float | None = real(
        default=None, at_least=-1e12, upto=1e12, help="all numbers below it are one group", empty="none"
    )
    highest: float | None = real(
        default=None, at_least=-1e12, upto=1e12, help="it and all above are one group", empty="none"
    )

    def __post_init__(self) -> None:
        """Check that each interval is part of one interval of the next level."""
        super().__post_init__()
        for narrow, wide in itertools.pairwise(self.widths or ()):
            if not math.isclose(wide / narrow, round(wide / narrow), rel_tol=1e-9):
                what = f"widths: {digits(wide)} is not a multiple of {digits(narrow)}"
                raise ParameterError(what, hint="an interval would be cut by the next level; give multiples")
        if self.lowest is not None and self.highest is not None and not self.lowest < self.highest:
            raise ParameterError("lowest is not below highest", hint="swap or correct them", field="lowest")


def _levels(given: Intervals, values: Sequence[str]) -> list[Sequence[str]]:
    numbers = [as_number(value) for value in values]
    widths = given.widths or _by_range(numbers)
    whole = all(n.is_integer() for n in (*numbers, *widths, given.start)) and min(numbers) >= 0 and given.start >= 0
    return [[_label(number, width, given, whole=whole) for number in numbers] for width in widths]


def _by_range(numbers: Sequence[float]) -> tuple[float, ...]:
    """Return four widths, each twice the one before; the narrowest is some twentieth of the range."""
    span = max(numbers) - min(numbers) or 1.0
    power = 10.0 ** math.floor(math.log10(span / 20))
    narrow = next(power * step for step in _STEPS if power * step >= span / 20 * (1 - 1e-9))
    if all(number.is_integer() for number in numbers):
        narrow = max(narrow, 2.0 if span < 20 else 1.0)
    widths = (narrow * 2**i for i in range(4) if i == 0 or narrow * 2**i < span)
    return tuple(float(f"{width:.12g}") for width in widths)


def _label(number: float, width: float, given: Intervals, *, whole: bool) -> str:
    if given.lowest is not None and number < given.lowest:
        return f"<{digits(given.lowest)}"
    if given.highest is not None and number >= given.highest:
        return f">={digits(given.highest)}"
    # Half a billionth of a width: 0.3 / 0.1 is 2.9999999999999996.
    low = given.start + width * math.floor((number - given.start) / width + 5e-10)
    low, high = round(low, 9), round(low + width, 9)
    if not whole:
        return f"[{digits(low)}, {digits(high)})"
    return digits(low) if width == 1 else f"{digits(low)}-{digits(high - 1)}"


INTERVALS = Builder(
    name="intervals",
    title="intervals",
    help="numbers become intervals that are wider at each level",
    parameters=Intervals,
    levels=_levels,
)
