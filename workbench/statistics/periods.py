"""Days, weeks, months, quarters or years of a column of dates as groups: ``born:month``. Every one is declared."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.params import ParameterError
from workbench.sanitize.plan import Column
from workbench.statistics.bins import NOBODY, Bins, ReadRows

_MOST = 50_000


@dataclass(frozen=True, eq=False)
class Periods(Bins):
    """The periods from a column's lower bound to its upper one. Of the first and the last a part may be outside.

    Attributes:
        period: one of ``PERIODS``.
        starts: the first day of each, as a day number; ``count`` of them.
        names: what each is called: 2026-03-14, 2026-W11, 2026-03, 2026-Q1, 2026.
    """

    period: str
    starts: NDArray[np.int64]
    names: tuple[str, ...]

    @classmethod
    def between(cls, column: Column, period: str) -> Periods:
        """Return the periods of a column of dates.

        Raises:
            ParameterError: it has no dates, or there are too many periods.
        """
        if column.kind != "date":
            what = f"only dates have a {period}"
            raise ParameterError(what, f"column {column.name}", "leave the period out, or declare dates")
        first, last = (int(bound) for bound in column.bounds())
        if last - first >= _MOST and period == "day":
            what = f"there are more than {_MOST:,} days between the bounds"
            raise ParameterError(what, f"column {column.name}", "group by week, month or year")
        starts: dict[str, int] = {}
        for day in range(first, last + 1):
            starts.setdefault(_name(datetime.date.fromordinal(day), period), day)
        return cls(column, column.grid(), 1, len(starts), period, np.array([*starts.values()]), tuple(starts))

    @property
    def called(self) -> str:
        """The column and the period."""
        return f"{self.column.name}:{self.period}"

    def labels(self) -> list[str]:
        """Return the name of each period."""
        return list(self.names)

    def codes(self, rows: ReadRows) -> NDArray[np.int64]:
        """Return the period of each row (n,); :data:`NOBODY` where the date is missing."""
        x = rows.numbers(self.grid)
        missing = np.isnan(x)
        days = np.clip(np.where(missing, self.starts[0], x), *self.column.bounds())
        return np.where(missing, NOBODY, np.searchsorted(self.starts, days, side="right") - 1)


def _name(day: datetime.date, period: str) -> str:
    if period == "week":
        year, week, _ = day.isocalendar()
        return f"{year:04d}-W{week:02d}"
    if period == "quarter":
        return f"{day.year:04d}-Q{(day.month + 2) // 3}"
    return day.isoformat()[: {"day": 10, "month": 7, "year": 4}[period]]
