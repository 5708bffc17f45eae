"""The error of every figure before it is released: from the request and the number of rows alone, no row is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

from workbench.statistics.asked import COUNT, MEAN, MODE, QUANTILES, SUM, Ask
from workbench.statistics.queries import CENTRED, PAIR, Query


@dataclass(frozen=True)
class FigureForecast:
    """What to expect of one statistic.

    Attributes:
        statistic: what was asked for.
        column: of which column; empty of a count of groups.
        by: by which columns.
        figures: how many figures it gives.
        half_width: expected half of the 95 % interval, in ``unit``; of a mode the lead of the most frequent value over
            all others with which 95 % of draws are right.
        unit: what it is in.
        assumes: what it rests on besides the number of rows; empty if on nothing.
        source: the query that it is read from.
        epsilon: the query's share of ε, or of ρ where there is a δ.
    """

    statistic: str
    column: str
    by: tuple[str, ...]
    figures: int
    half_width: float
    unit: str
    assumes: str
    source: str
    epsilon: Decimal

    def to_plain(self) -> dict[str, Any]:
        """Return it as JSON holds it."""
        return asdict(self) | {"by": list(self.by), "epsilon": float(self.epsilon)}


def forecast(queries: Sequence[Query]) -> list[FigureForecast]:
    """Return what to expect of every statistic that is read from ``queries``."""
    return [told for query in queries for told in _of(query)]


def _of(query: Query) -> Iterator[FigureForecast]:
    for ask in query.asks:
        width, unit, assumes = _width(query, ask)
        many = query.length if query.form not in (CENTRED, PAIR) else query.groups.count
        if ask.statistic in (MEAN, QUANTILES):
            many = query.groups.count * (len(ask.quantiles) if ask.statistic == QUANTILES else 1)
        column = ask.column or ""
        yield FigureForecast(ask.statistic, column, ask.by or (), many, width, unit, assumes, query.label, query.share)


def _width(query: Query, ask: Ask) -> tuple[float, str, str]:
    """Return (half-width, its unit, what it assumes)."""
    if ask.statistic == MODE:
        return float(query.lead), "rows", ""
    rows = max(query.rows / query.groups.count, 1.0)
    equal = "" if query.complete and not query.groups.by else "every row has a value"
    if query.groups.by:
        equal = "groups of equal size"
    if ask.statistic == COUNT and query.form == PAIR:
        return query.widths.smooth(((1.0, 2),)), "rows", ""
    if query.form not in (CENTRED, PAIR) and ask.statistic not in (MEAN, QUANTILES):
        return float(query.widths.count()), "rows", ""
    assert query.bins is not None
    lower, upper = query.bins.column.bounds()
    unit = f"units of {query.bins.column.name}" if query.bins.column.kind != "date" else "days"
    if ask.statistic == QUANTILES:
        k = query.bins.count
        width = query.widths.sum(((0.5, k),)) / rows + 0.5 / k
        return min(width, 1.0) * (upper - lower), unit, "values spread evenly between the bounds"
    half = upper / 2 - lower / 2
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
