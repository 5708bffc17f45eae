"""One figure of a release, and what makes it of an estimate and the width of its noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from workbench.statistics.queries import Query


@dataclass(frozen=True)
class Figure:
    """One figure.

    Attributes:
        statistic: ``count``, ``histogram``, ``share of all rows``, ``cumulative share of all rows``, ``mean``, ``sum``,
            ``quantile``, ``mode``, ``variance``, ``std``, ``covariance``, ``correlation``, ``rows up to`` (of ranges),
            ``top``, ``table``, ``margin`` (of a table) or ``missing`` (rows that have no value, or are in no group).
        column: of which column, or of which two; empty of a count of groups.
        group: of which rows; empty for all.
        value: the bin, which quantile, or the most frequent value; else empty.
        estimate: the figure; text of a date. Of a mode 0, with how many rows it may be behind as its interval.
        low: lower end of its interval.
        high: upper end.
        sparse: whether there are too few rows to say: the number of rows behind it cannot be distinguished from none.
        source: the query it was read from.
    """

    statistic: str
    column: str
    group: str
    value: str
    estimate: float | str
    low: float | str
    high: float | str
    sparse: bool
    source: str


def within(
    query: Query,
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
