"""Expected error of every figure before release, from the request and the number of rows alone. No row is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

from workbench.statistics.contingency import Workload
from workbench.statistics.queries import CENTRED, MOMENTS, PAIR, SPREAD, Query
from workbench.statistics.request import (
    COUNT,
    MEAN,
    MODE,
    OF_PAIRS,
    PLACES,
    QUANTILES,
    REGRESSION,
    STD,
    SUM,
    TABLE,
    TOP,
    VARIANCE,
    Statistic,
)

GROUP_PARTS = (0.01, 0.1)
"""Parts of the rows that a group may have, for which half-widths are stated besides that for groups of equal size."""

_EVEN = "values spread evenly between the bounds"


@dataclass(frozen=True)
class GroupSize:
    """What to expect of a figure of a group of a stated size."""

    part: float  # of all rows
    rows: float  # how many these are
    half_width: float  # as of `FigureForecast`
    equal: bool  # whether it is the size that groups have if they are of equal size


@dataclass(frozen=True)
class FigureForecast:
    """What to expect of one statistic."""

    statistic: str
    column: str  # of which column; empty of a count of groups
    by: tuple[str, ...]
    figures: int  # how many figures it gives
    # Expected half of the 95 % interval, in `unit`; of a mode the lead of the most frequent value over all others with
    # which 95 % of draws are right.
    half_width: float
    unit: str  # what it is in
    assumes: str  # what it rests on besides the number of rows; empty if on nothing
    source: str  # the query that it is read from
    epsilon: Decimal  # the query's share of ε, or of ρ where there is a δ
    # The same for groups of stated sizes, smallest first, the equal one among them; empty where there are no groups or
    # their size does not matter.
    by_group_size: tuple[GroupSize, ...] = ()

    def to_plain(self) -> dict[str, Any]:
        """Return it as JSON holds it."""
        sizes = [asdict(size) for size in self.by_group_size]
        return asdict(self) | {"by": list(self.by), "epsilon": float(self.epsilon), "by_group_size": sizes}


def forecast(queries: Sequence[Query]) -> list[FigureForecast]:
    """Return what to expect of every statistic that is read from ``queries``."""
    return [stated for query in queries for stated in _of(query)]


def _of(query: Query) -> Iterator[FigureForecast]:
    for ask in query.asks:
        equal = 1 / query.groups.count
        width, unit, assumes = _width(query, ask, equal)
        sizes: tuple[GroupSize, ...] = ()
        if query.groups.by and ask.statistic in (MEAN, QUANTILES, VARIANCE, STD, *OF_PAIRS, REGRESSION):
            parts = sorted({*GROUP_PARTS, equal})
            sizes = tuple(GroupSize(p, p * query.rows, _width(query, ask, p)[0], p == equal) for p in parts)
        many = query.length if query.form not in MOMENTS else query.groups.count
        if query.own is not None and query.form not in MOMENTS:
            many = query.counted
        if ask.statistic == TABLE:
            most = ask.ways or len(query.groups.by)
            many = Workload(tuple(b.count for b in query.groups.by), tuple(range(1, most + 1)), known=False).figures
        if ask.statistic == REGRESSION:
            many *= len(ask.columns)
        if ask.statistic in (MEAN, QUANTILES, TOP):
            each = {QUANTILES: len(ask.quantiles), TOP: _shown(query, ask)}.get(ask.statistic, 1)
            many = query.groups.count * each
        yield FigureForecast(
            ask.statistic, ask.subject, ask.by or (), many, width, unit, assumes, query.label, query.share, sizes
        )


def _width(query: Query, ask: Statistic, part: float) -> tuple[float, str, str]:
    """Return (half-width, its unit, what it assumes) of a group with ``part`` of all rows."""
    if ask.statistic == MODE:
        return float(query.lead), "rows", ""
    rows = max(query.rows * part, 1.0)
    if query.own is not None:
        return *query.own.expected(query, ask, rows), _even(query) if query.form in MOMENTS else ""
    if ask.statistic == TOP:
        assert query.bins is not None
        return float(query.widths.count(together=query.bins.count)), "rows", ""
    equal = "" if query.complete and not query.groups.by else "every row has a value"
    if query.groups.by:
        equal = "groups of equal size"
    if ask.statistic == COUNT and query.form == PAIR:
        return query.widths.smooth(((1.0, 2),)), "rows", ""
    if query.form not in MOMENTS and ask.statistic not in (MEAN, QUANTILES):
        return float(query.widths.count()), "rows", ""
    assert query.bins is not None
    lower, upper = query.bins.column.bounds()
    unit = f"units of {query.bins.column.name}" if query.bins.column.kind != "date" else "days"
    if ask.statistic == QUANTILES:
        if query.drawn is not None:
            return query.drawn.expected(rows), unit, _even(query)
        k = query.bins.count
        width = query.widths.sum(((0.5, k),)) / rows + (0.0 if query.bins.exact else 0.5) / k
        return min(width, 0.5) * (upper - lower), unit, _even(query)  # an interval is no longer than the bounds are
    half = upper / 2 - lower / 2
    if query.form == SPREAD:
        # Of values spread evenly: m = 1/2, variance 1/12, so that the weights of the noise are 1/6, -1/3 and 1/6.
        width = min(query.widths.joint(6**-0.5) / rows, 0.25)
        if ask.statistic == VARIANCE:
            return width * 4 * half * half, f"squared {unit}", _even(query)
        return min(width * 3**0.5, 0.5) * 2 * half, unit, _even(query)
    if query.form == CENTRED:
        width = half * query.widths.smooth(((1.0, 1),))
        return (width if ask.statistic == SUM else min(width / max(query.rows, 1), half)), unit, ""
    if ask.statistic == SUM:
        return query.widths.smooth(((abs(upper), 1), (abs(lower), 1))), unit, ""
    if query.form == PAIR:
        width = 2 * half * query.widths.smooth(((0.5, 2),)) / rows
    else:
        centre = (lower + upper) / 2
        values = tuple((abs(float(v) - centre), 1) for v in query.bins.numbers)
        width = query.widths.sum(values) / rows
    return min(width, half), unit, equal or ""


def _shown(query: Query, ask: Statistic) -> int:
    return min(ask.places or PLACES, query.bins.count if query.bins is not None else 0)


def _even(query: Query) -> str:
    return f"groups of equal size, {_EVEN}" if query.groups.by else _EVEN
