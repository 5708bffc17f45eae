"""Numbers that are rounded more coarsely at each level: 37 → 35 → 40 → 0 or 100 → *."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from workbench.params import Parameters, declared_by
from workbench.params.lists import LevelsField
from workbench.risk.hierarchies.builder import Builder, as_number, digits


@dataclass(frozen=True, kw_only=True)
class Rounding(Parameters):
    """To what each level rounds."""

    steps: tuple[float, ...] = declared_by(
        LevelsField(most=20, help="each level rounds what the level before it rounded to a multiple of this number"),
        default=(5.0, 10.0, 100.0),
    )


def _levels(given: Rounding, values: Sequence[str]) -> list[Sequence[str]]:
    numbers, out = [as_number(value) for value in values], []
    for step in given.steps:
        # Of the rounded number, not of the original: otherwise a level would separate what the one below it joins.
        numbers = [round(step * math.floor(number / step + 0.5 + 1e-12), 9) for number in numbers]
        out.append([digits(number + 0.0) for number in numbers])
    return list(out)


ROUNDING = Builder(
    name="rounding",
    title="rounding",
    help="numbers are rounded more coarsely at each level",
    parameters=Rounding,
    levels=_levels,
)
