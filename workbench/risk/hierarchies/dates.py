"""Dates that lose the day, the month, the year: 1984-03-07 → 1984-03 → 1984 → 1980s → *."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from workbench.params import ParameterError, Parameters, texts
from workbench.risk.hierarchies.builder import Builder

UNITS: Mapping[str, Callable[[datetime.date], str]] = {
    "month": lambda d: f"{d.year:04d}-{d.month:02d}",
    "quarter": lambda d: f"{d.year:04d}-Q{(d.month + 2) // 3}",
    "year": lambda d: f"{d.year:04d}",
    "decade": lambda d: f"{d.year // 10 * 10}s",
    "century": lambda d: f"{d.year // 100 * 100}s century",
}
"""What a level keeps, the finest first."""


@dataclass(frozen=True, kw_only=True)
class Dates(Parameters):
    """What each level keeps of a date."""

    steps: tuple[str, ...] = texts(
        default=("month", "year", "decade"), shortest=1, help=f"what each level keeps: of {', '.join(UNITS)}"
    )

    def __post_init__(self) -> None:
        """Check that they are known, and put them in order."""
        super().__post_init__()
        unknown = [step for step in self.steps if step not in UNITS]
        if unknown:
            raise ParameterError(f"{unknown[0]!r} is no part of a date", "steps", f"choose of {', '.join(UNITS)}")
        object.__setattr__(self, "steps", tuple(sorted(self.steps, key=list(UNITS).index)))


def _levels(given: Dates, values: Sequence[str]) -> list[Sequence[str]]:
    dates = [_date(value) for value in values]
    return [[UNITS[step](date) for date in dates] for step in given.steps]


def _date(value: str) -> datetime.date:
    try:
        return datetime.datetime.fromisoformat(value.strip()).date()
    except ValueError:
        what = f"the value {value!r} is not a date such as 2024-01-31"
        raise ParameterError(what, hint="choose another way to make the hierarchy") from None


DATES = Builder(
    name="dates",
    title="dates",
    help="dates lose the day, then the month, then the year",
    parameters=Dates,
    levels=_levels,
)
