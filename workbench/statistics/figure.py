"""A released figure: its query, and how it is computed from a noisy answer."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from workbench.privacy.central.share import QueryEvent, Share
from workbench.statistics.bins import Bins, Groups
from workbench.statistics.interval_widths import Widths
from workbench.statistics.request import Statistic

MISSING = "missing"
UNKNOWN = "not determined"  # written in place of a figure that the noise hides altogether


@dataclass(frozen=True, eq=False)
class Source:
    """What figures need to know of the query that they are read from."""

    label: str  # its name in events and certificates
    # `histogram`, `count`, `centred`, `pair`, `spread`, `products`, `choice`, `quantiles`, `ranges` or `table`.
    form: str
    bins: Bins | None  # of its column; `None` of a count of groups alone
    groups: Groups
    asks: tuple[Statistic, ...]  # the statistics that are read from it
    paid: Share  # its share of the budget
    size: int  # its sensitivity, L1 and L2: 1 of counts, K of most moments; of ranges that of each level
    rows: int  # n, which is public
    others: tuple[Bins, ...] = ()  # bins of further columns of products

    @property
    def event(self) -> QueryEvent:
        """Its cost."""
        return self.paid.event(self.label)

    @property
    def share(self) -> Decimal:
        """Its share of ε, or of ρ where there is a δ."""
        return self.paid.amount

    @property
    def widths(self) -> Widths:
        """How wide the intervals of its figures are."""
        return Widths(self.paid)

    @property
    def columns(self) -> tuple[Bins, ...]:
        """The bins of the columns that it is of, and of those that make its groups."""
        return (*(() if self.bins is None else (self.bins,)), *self.others, *self.groups.by)

    @property
    def complete(self) -> bool:
        """Whether every row counts somewhere, so that all numbers sum to n."""
        return not any(bins.optional for bins in self.columns)

    @property
    def known_total(self) -> bool:
        """Whether the numbers of a group sum to n times what a row adds, and n is public."""
        return self.complete and not self.groups.by


@dataclass(frozen=True)
class Figure:
    """One figure."""

    # `count`, `histogram`, `share of all rows`, `cumulative share of all rows`, `mean`, `sum`, `quantile`, `mode`,
    # `variance`, `std`, `covariance`, `correlation`, `regression` (a coefficient), `rows up to` (of ranges), `top`,
    # `table`, `margin` (of a table) or `missing` (rows that have no value, or are in no group).
    statistic: str
    column: str  # of which column, or of which two; empty of a count of groups
    group: str  # of which rows; empty for all
    value: str  # the bin, which quantile, whose coefficient, or the most frequent value; else empty
    # The figure; text of a date, or `UNKNOWN`. Of a mode 0, with how many rows it may be behind as its interval.
    estimate: float | str
    low: float | str  # lower end of its interval
    high: float | str  # upper end
    # Whether there are too few rows to say: the number of rows behind it cannot be distinguished from none.
    sparse: bool
    source: str  # the query it was read from


def clipped_figure(
    query: Source,
    statistic: str,
    group: str,
    value: str,
    estimate: float,
    width: float,
    limits: tuple[float, float],
    *,
    sparse: bool,
) -> Figure:
    """Return the figure ``estimate`` ± ``width``, within what it can be."""
    column = "" if query.bins is None else query.bins.column.name
    low, mid, high = (float(np.clip(v, *limits)) for v in (estimate - width, estimate, estimate + width))
    return Figure(statistic, column, group, value, mid, low, high, sparse, query.label)
