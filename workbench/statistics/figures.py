"""Figures computed from noisy answers, each with a 95 % interval. No row is read.

An interval covers the statistic of these very rows: the noise is all that it has to allow for. Each holds by itself in
95 % of releases, not all of them at once.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from workbench.params import ParameterError
from workbench.privacy.central.quantile_choice import simple
from workbench.signals.cancel import NEVER, CancelToken
from workbench.statistics.contingency import plain_table
from workbench.statistics.figure import MISSING, Figure, clipped_figure
from workbench.statistics.interval_widths import Widths, ratio_interval
from workbench.statistics.products import summed
from workbench.statistics.queries import CENTRED, CHOICE, DRAWN, PAIR, SPREAD, Query
from workbench.statistics.request import COUNT, HISTOGRAM, MEAN, MODE, PLACES, QUANTILES, SUM, TABLE, TOP, VARIANCE

SHARE, CUMULATIVE = "share of all rows", "cumulative share of all rows"
"""A share within a group is still a share of all rows."""

_OF_ALL = " of all rows"
_POINTS = 33
_FINE = 401
_RISK = 0.025


def figures(
    queries: Sequence[Query], answers: Mapping[str, Sequence[int]], cancel: CancelToken = NEVER
) -> list[Figure]:
    """Return every figure of a request, from the noisy whole numbers of each query, by label."""
    return [figure for query in queries for figure in figures_of(query, answers[query.label], cancel)]


def figures_of(query: Query, answer: Sequence[int], cancel: CancelToken = NEVER) -> list[Figure]:
    """Return the figures that are read from the noisy whole numbers of one query.

    ``cancel`` is looked at after each figure, as a mean of each of many groups takes a while.
    """
    found = []
    for figure in _read(query, np.array(answer, dtype=np.float64)):
        cancel.check()
        found.append(figure)
    return found


def _read(query: Query, answer: NDArray[np.float64]) -> Iterator[Figure]:
    if query.own is not None:
        yield from query.own.figures(query, answer)
    elif query.form == COUNT:
        yield from _counts(query, answer)
    elif query.form == CENTRED:
        yield from _centred(query, float(answer[0]))
    elif query.form == PAIR:
        yield from _pairs(query, answer.reshape(2, -1))
    elif query.form == SPREAD:
        yield from _spreads(query, answer.reshape(3, -1))
    elif query.form == CHOICE:
        yield from _modes(query, answer)
    elif query.form == DRAWN:
        yield from _drawn(query, answer.reshape(query.groups.count, -1))
    else:
        yield from _histograms(query, answer.reshape(query.groups.count, -1))


def _remainder(query: Query, answer: NDArray[np.float64], noises: Sequence[tuple[float, int]]) -> Iterator[Figure]:
    """Yield how many rows count nowhere: n is public, so that they cost nothing more."""
    if not query.complete:
        left, width = query.rows - float(answer.sum()), query.widths.sum(tuple(noises))
        where = "in no group, or without a value" if query.groups.by else ""
        yield clipped_figure(query, MISSING, "", where, left, width, (0, query.rows), sparse=left <= width)


def _counts(query: Query, answer: NDArray[np.float64]) -> Iterator[Figure]:
    width, wanted = query.widths.count(), [ask.statistic for ask in query.asks]
    for group, value in zip(query.groups.labels(), answer, strict=True) if COUNT in wanted else ():
        yield clipped_figure(query, COUNT, group, "", float(value), width, (0, query.rows), sparse=value <= width)
    if TABLE in wanted:
        yield from plain_table(query, answer)
    yield from _remainder(query, answer, ((1.0, len(answer)),))


def _modes(query: Query, answer: NDArray[np.float64]) -> Iterator[Figure]:
    """Yield the value that was drawn for each group, and by how many rows another one may be more frequent."""
    assert query.bins is not None
    labels = query.bins.labels()
    behind = min(max(query.lead - 1, 0), query.rows)
    for group, place in zip(query.groups.labels(), answer, strict=True):
        if not 0 <= place < len(labels):
            raise ParameterError(f"the choice {place:g} is none of {len(labels)} values", query.label)
        sparse = query.lead > query.rows
        yield Figure(
            MODE, query.bins.column.name, group, labels[int(place)], 0.0, 0.0, float(behind), sparse, query.label
        )


def _centred(query: Query, total: float) -> Iterator[Figure]:
    assert query.bins is not None
    lower, upper = query.bins.column.bounds()
    centre, half, n = lower / 2 + upper / 2, upper / 2 - lower / 2, query.rows
    # One row adds up to K = size: noise of scale K/ε, in units of the grid.
    off, width = half * total / query.size, half * query.widths.smooth(((1.0, 1),))
    for ask in query.asks:
        if ask.statistic == SUM:
            yield clipped_figure(query, SUM, "", "", n * centre + off, width, (n * lower, n * upper), sparse=n == 0)
        else:
            rows = max(n, 1)
            yield clipped_figure(query, MEAN, "", "", centre + off / rows, width / rows, (lower, upper), sparse=n == 0)


def _pairs(query: Query, answer: NDArray[np.float64]) -> Iterator[Figure]:
    assert query.bins is not None
    lower, upper = query.bins.column.bounds()
    n, span = query.rows, upper - lower
    counted = query.widths.smooth(((1.0, 2),))
    widths = query.widths.shares_of_pair()
    for group, (above, below) in zip(query.groups.labels(), (answer / query.size).T, strict=True):
        count = float(above + below)
        sparse = count <= counted
        for ask in query.asks:
            if ask.statistic == COUNT:
                yield clipped_figure(query, COUNT, group, "", count, counted, (0, n), sparse=sparse)
            elif ask.statistic == SUM:
                width = query.widths.smooth(((abs(upper), 1), (abs(lower), 1)))
                limits = (min(0.0, n * lower), max(0.0, n * upper))
                yield clipped_figure(query, SUM, group, "", upper * above + lower * below, width, limits, sparse=sparse)
            else:
                low, high = ratio_interval(float(above), count, 0.0, 1.0, widths)
                part = float(np.clip(above / count, low, high)) if count > 0 else (low + high) / 2
                mid, least, most = (lower + span * p for p in (part, low, high))
                yield Figure(MEAN, query.bins.column.name, group, "", mid, least, most, sparse, query.label)


def _spreads(query: Query, answer: NDArray[np.float64]) -> Iterator[Figure]:
    assert query.bins is not None
    lower, upper = query.bins.column.bounds()
    counted = query.widths.smooth(((1.0, 3),))
    for group, parts in zip(query.groups.labels(), (answer / query.size).T, strict=True):
        rows = float(query.rows) if query.known_total else float(parts.sum())
        sparse = query.rows == 0 if query.known_total else rows <= counted
        found = _variance(query, parts, rows)
        for ask in query.asks:
            mid, low, high = (v if ask.statistic == VARIANCE else math.sqrt(v) for v in found)
            unit = (upper - lower) ** 2 if ask.statistic == VARIANCE else upper - lower
            ends = mid * unit, low * unit, high * unit
            yield Figure(ask.statistic, query.bins.column.name, group, "", *ends, sparse, query.label)


def _variance(query: Query, parts: NDArray[np.float64], rows: float) -> tuple[float, float, float]:
    """Return the variance of t ∈ [0, 1] with its interval; ``parts`` are the noisy Σ(1−t)², Σ2t(1−t) and Σt².

    The variance is the mean of (t−m)² at the true mean m, a weighted sum of the three. Both m's interval (by Fieller)
    and that of the sum at every m of it hold together in 95 % of releases. Where the number of rows is public, what the
    three noises have in common is taken off (:func:`summed`).
    """
    shares, spreads = np.linspace(0, 1, _FINE), np.linspace(0, 0.25, _FINE)
    total, reach = summed(query, parts, rows, np.array([0.0, 0.5, 1.0]), shares, _RISK)
    least, most = ratio_interval(total, rows, 0.0, 1.0, reach)
    mean = float(np.clip(total / rows, least, most)) if rows > 0 else (least + most) / 2
    ends, middle = [], 0.125
    for m in sorted({mean, *np.linspace(least, most, _POINTS).tolist()}):
        total, reach = summed(query, parts, rows, np.array([m * m, m * m - m, (1 - m) ** 2]), spreads, _RISK)
        ends.append(ratio_interval(total, rows, 0.0, 0.25, reach))
        if m == mean and rows > 0:
            middle = total / rows
    low, high = min(e[0] for e in ends), max(e[1] for e in ends)
    return float(np.clip(middle, low, high)), low, high


def _histograms(query: Query, answer: NDArray[np.float64]) -> Iterator[Figure]:
    assert query.bins is not None
    wanted = {ask.statistic: ask for ask in query.asks}
    labels, n = query.bins.labels(), query.rows
    width = query.widths.count()
    for group, counts in zip(query.groups.labels(), answer, strict=True):
        few = float(counts.sum()) <= query.widths.sum(((1.0, len(counts)),))
        if HISTOGRAM in wanted:
            for label, value in zip(labels, counts, strict=True):
                sparse = value <= width
                yield clipped_figure(query, HISTOGRAM, group, label, float(value), width, (0, n), sparse=sparse)
            for label, value in zip(labels, counts, strict=True):
                at = float(value) / max(n, 1), width / max(n, 1)
                yield clipped_figure(query, _share(query, SHARE), group, label, *at, (0, 1), sparse=value <= width)
            if query.bins.column.numeric:
                yield from _cumulative(query, group, counts)
        if TOP in wanted:
            yield from _top(query, group, counts, wanted[TOP].places or PLACES)
        if QUANTILES in wanted:
            yield from _quantiles(query, group, counts, wanted[QUANTILES].quantiles, sparse=few)
        if MEAN in wanted:
            yield _mean(query, group, counts, sparse=few)
    if HISTOGRAM in wanted:
        yield from _remainder(query, answer, ((1.0, answer.size),))


def _top(query: Query, group: str, counts: NDArray[np.float64], places: int) -> Iterator[Figure]:
    """Yield the ``places`` values with the largest noisy counts of one group, the largest first.

    All counts together cost what one does: a row has one value. So the k largest of noisy counts cost the same for
    every k, with noise of scale 1/ε, while drawing them one after the other (k rounds of report-noisy-max with ε/k
    each, or noise of scale k/ε at once; Durfee & Rogers 2019) has noise of scale k/ε and publishes no count. For k ≥ 2
    the counts are the better way, with δ as well: at ε = 0.2 the first two of ten values are found in 95 % of releases
    with a lead of 30 rows instead of 49. For k = 1 report-noisy-max is, which is the statistic ``mode``. Which values
    are shown is chosen by the noise, so that the intervals are those that all counts of the column keep together.
    """
    assert query.bins is not None
    labels, width = query.bins.labels(), query.widths.count(together=len(counts))
    for place in np.argsort(-counts, kind="stable")[:places].tolist():
        value, limits = float(counts[place]), (0, query.rows)
        yield clipped_figure(query, TOP, group, labels[place], value, width, limits, sparse=value <= width)


def _cumulative(query: Query, group: str, counts: NDArray[np.float64]) -> Iterator[Figure]:
    assert query.bins is not None
    n, k, labels = max(query.rows, 1), len(counts), query.bins.labels()
    below = np.cumsum(counts)
    for j in range(k - 1):  # the last one is of all rows
        value, weights = float(below[j]), ((1.0, j + 1),)
        if query.known_total:
            part = (j + 1) / k
            value, weights = value + part * (n - float(below[-1])), ((1 - part, j + 1), (part, k - j - 1))  # type: ignore[assignment]
        width = query.widths.sum(weights)
        yield clipped_figure(
            query, _share(query, CUMULATIVE), group, labels[j], value / n, width / n, (0, 1), sparse=value <= width
        )


def _quantiles(
    query: Query, group: str, counts: NDArray[np.float64], at: Sequence[float], *, sparse: bool
) -> Iterator[Figure]:
    assert query.bins is not None
    bins = query.bins
    for q in at:
        low, middle, high = _plausible(query, query.widths, counts, q)
        cell = (bins.first(middle) + bins.last(middle)) // 2
        ends = bins.least(bins.first(low)), bins.most(bins.last(high))
        if query.former:
            ends = float(bins.numbers[bins.first(low)]), float(bins.numbers[bins.last(high)])
        yield _quantile(query, group, q, float(bins.numbers[cell]), ends, sparse=sparse)


def _drawn(query: Query, answer: NDArray[np.float64]) -> Iterator[Figure]:
    """Yield drawn quantiles, each moved into its interval where it is outside."""
    assert query.drawn is not None
    lattice = query.drawn.lattice
    for group, numbers in zip(query.groups.labels(), answer, strict=True):
        drawn, borders, counts = query.drawn.read(numbers.tolist())
        few = float(counts.sum()) <= query.drawn.widths.sum(((1.0, len(counts)),))
        cell_of = dict(zip(query.drawn.shares, drawn, strict=True))
        for q in query.asks[0].quantiles:
            low, middle, high = _plausible(query, query.drawn.widths, counts, q)
            first, last = borders[low], [*borders[1:], lattice.cells][high] - 1
            # Where a single cell seems to hold the quantile, many rows have its value.
            cell = borders[middle] if borders[middle] in drawn else min(max(cell_of[simple(q)], first), last)
            value = lattice.value(cell)
            yield _quantile(query, group, q, value, lattice.ends(first, last), sparse=few)


def _share(query: Query, name: str) -> str:
    return name.removesuffix(_OF_ALL) if query.former else name


def _quantile(query: Query, group: str, q: float, value: float, ends: tuple[float, float], *, sparse: bool) -> Figure:
    assert query.bins is not None
    column = query.bins.column
    stated: tuple[float | str, ...] = (value, *ends)
    if column.kind == "date":
        stated = tuple(datetime.date.fromordinal(int(day)).isoformat() for day in (value, *ends))
    estimate, low, high = stated
    return Figure("quantile", column.name, group, f"{q:g}", estimate, low, high, sparse, query.label)


def _plausible(query: Query, widths: Widths, counts: NDArray[np.float64], q: float) -> tuple[int, int, int]:
    """Return the first bin that may hold a quantile, one in the middle of where it seems to be, and the last.

    The q-quantile is the least value that at least the part q of the rows does not pass. For each bin j let G(j) =
    (1−q)·(rows up to j) − q·(rows above). The quantile lies in the first bin with G ≥ 0. A bin is kept unless noise as
    large as that of one G, which stays within its width in 95 %, cannot explain its place: the true bin J has
    G(J) ≥ 0 > G(J−1), so that it is missed above or below with 2.5 % each.
    """
    k = len(counts)
    below, total = np.cumsum(counts), float(counts.sum())
    up = range(1, k + 1)
    if query.known_total:
        gain = below + np.array(up) / k * (query.rows - total) - q * query.rows
        reach = np.array([widths.sum(((1 - j / k, j), (j / k, k - j))) for j in up])
    else:
        gain = below - q * total
        reach = np.array([widths.sum(((1 - q, j), (q, k - j))) for j in up])
    gain += 1e-9 * max(query.rows, 1)  # a product such as 0.7·10 is not to miss a whole number by its last bit
    # In the last bin G cannot be below 0, whatever the noise.
    gain[-1], reach[-1] = max(float(gain[-1]), 0.0), 0.0
    low = int(np.argmax(gain + reach >= 0))
    high = _after_last(gain - reach < 0)
    middle = (int(np.argmax(gain >= 0)) + _after_last(gain < 0)) // 2
    return low, min(max(middle, low), high), high


def _after_last(negative: NDArray[np.bool_]) -> int:
    """Return the index after the last true one, at most the last index."""
    found = np.flatnonzero(negative)
    return min(int(found[-1]) + 1, len(negative) - 1) if len(found) else 0


def _mean(query: Query, group: str, counts: NDArray[np.float64], *, sparse: bool) -> Figure:
    assert query.bins is not None
    values = query.bins.numbers
    lower, upper = float(values[0]), float(values[-1])
    if query.known_total:
        centre, n = (lower + upper) / 2, max(query.rows, 1)
        weights = tuple((abs(float(v) - centre), 1) for v in values)
        off, width = float(((values - centre) * counts).sum()), query.widths.sum(weights)
        return clipped_figure(
            query, MEAN, group, "", centre + off / n, width / n, (lower, upper), sparse=query.rows == 0
        )
    total, summed = float(counts.sum()), float((values * counts).sum())
    widths = np.array(
        [query.widths.sum(tuple((abs(float(v) - m), 1) for v in values)) for m in np.linspace(lower, upper, _POINTS)]
    )
    # From the lower bound, so that sums and counts have one sign.
    fine = np.interp(np.linspace(lower, upper, 401), np.linspace(lower, upper, _POINTS), widths)
    low, high = ratio_interval(summed, total, lower, upper, fine)
    middle = float(np.clip(summed / total, low, high)) if total > 0 else (low + high) / 2
    return Figure(MEAN, query.bins.column.name, group, "", middle, low, high, sparse, query.label)
