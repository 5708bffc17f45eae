"""The whole-number queries that a request becomes, with their shares of ε; which figure is read from which query.

Every query is a vector of whole numbers to which an empty row, all its values missing, adds nothing, so that its
sensitivity under zero-out neighbours is the norm of what one row adds: L1, and never more in L2. A row stands in one
bin of one group:

* ``histogram``: rows of each group and bin; one row adds 1.
* ``count``: rows of each group that have a value; one row adds 1.
* ``centred``: Σi with i = round(K·(x−c)/h) about the public centre c, h half of the range; at most K. It is asked where
  every row has a value: their number is public, and the mean is c + h·Σi/(n·K).
* ``choice``: of each group the place of the value that most rows have, or nearly so, by report-noisy-max over the
  counts; no count is released. One row is in one group, so that all groups together cost what one does.
* ``pair``: (Σa, Σb) of each group with a + b = K, a = K/2 + round(K/2·(x−c)/h): one row adds K. Two numbers for the
  price of one: (Σa + Σb)/K is how many rows there are, and Σa/(Σa + Σb) where their mean lies between the bounds.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from workbench.data.columns.values import numbers
from workbench.data.table import Table
from workbench.learners.sums import grid_size, on_grid
from workbench.privacy.accounting.event import exact
from workbench.privacy.central.laplace import CentralNoise
from workbench.privacy.central.noisy_max import clear_lead, noisy_max
from workbench.privacy.central.share import Budget, QueryEvent, Share
from workbench.sanitize.budget_split import shares
from workbench.sanitize.plan import Column, Plan
from workbench.statistics.asked import COUNT, HISTOGRAM, MEAN, MODE, QUANTILES, SUM, Ask, Request, protected
from workbench.statistics.bins import FINE, NOBODY, Bins, Groups, require_countable
from workbench.statistics.widths import Widths, laplace_width

CENTRED, PAIR, CHOICE = "centred", "pair", "choice"
_NO_DELTA = Decimal(0)

MOST_FIGURES = 50_000
"""Numbers of all queries together."""


@dataclass(frozen=True, eq=False)
class Query:
    """One query.

    Attributes:
        label: its name in events and certificates.
        form: ``histogram``, ``count``, ``centred``, ``pair`` or ``choice``.
        bins: of its column; ``None`` of a count of groups alone.
        groups: the groups.
        asks: the statistics that are read from it.
        paid: its share of the budget.
        size: K of a moment query, else 1: its sensitivity, L1 and L2.
        rows: n, which is public.
    """

    label: str
    form: str
    bins: Bins | None
    groups: Groups
    asks: tuple[Ask, ...]
    paid: Share
    size: int
    rows: int

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
    def length(self) -> int:
        """How many whole numbers it releases."""
        return self.groups.count if self.form == CHOICE else _length(self.form, self.bins, self.groups)

    @property
    def lead(self) -> int:
        """Rows by which a value of a ``choice`` has to lead so that 95 % of draws are right."""
        assert self.bins is not None
        return clear_lead(self.bins.count, self.paid.pure_epsilon)

    @property
    def complete(self) -> bool:
        """Whether every row counts somewhere, so that all numbers sum to n."""
        return not self.groups.optional and (self.bins is None or not self.bins.optional)

    def answer(self, rows: Table) -> list[int]:
        """Return the exact whole numbers; of a ``choice`` the counts, (groups, values).

        Raises:
            InputError: a value does not fit what is declared; its row is named.
        """
        groups = self.groups.codes(rows)
        if self.form in (COUNT, HISTOGRAM, CHOICE):
            return self._counted(groups, rows)
        assert self.bins is not None
        x = numbers(rows, self.bins.column)
        here = (groups != NOBODY) & ~np.isnan(x)
        lower, upper = self.bins.column.bounds()
        if self.form == CENTRED:
            return [int(on_grid(x[here], lower, upper, self.size).sum())]
        half = self.size // 2
        cells = on_grid(x[here], lower, upper, half)
        sums = np.zeros((2, self.groups.count), dtype=np.int64)
        np.add.at(sums[0], groups[here], half + cells)
        np.add.at(sums[1], groups[here], half - cells)
        return [int(v) for v in sums.ravel()]

    def _counted(self, groups: NDArray[np.int64], rows: Table) -> list[int]:
        if self.bins is None:
            cells, here = groups, groups != NOBODY
        else:
            own = self.bins.codes(rows)
            here = (groups != NOBODY) & (own != NOBODY)
            cells = groups if self.form == COUNT else groups * self.bins.count + own
        return [int(v) for v in np.bincount(cells[here], minlength=_length(self.form, self.bins, self.groups))]

    def noisy(self, noise: CentralNoise, exact: Sequence[int]) -> list[int]:
        """Return what may be released of the exact whole numbers: with noise, or the place that is chosen."""
        if self.form != CHOICE:
            return self.paid.noisy(noise, exact, self.size)
        assert self.bins is not None
        k, epsilon = self.bins.count, self.paid.pure_epsilon
        return [noisy_max(exact[g * k : (g + 1) * k], 1, epsilon, noise) for g in range(self.groups.count)]


def _length(form: str, bins: Bins | None, groups: Groups) -> int:
    """Return how many whole numbers are computed of the rows."""
    each = {COUNT: 1, CENTRED: 1, PAIR: 2}.get(form)
    if each is None:
        assert bins is not None
        each = bins.count
    return each * groups.count


@dataclass(frozen=True)
class _Open:
    """A query before ε is split, and the weight it has in the split; a claim of :mod:`budget_split`."""

    name: str
    form: str
    bins: Bins | None
    groups: Groups
    asks: tuple[Ask, ...]
    epsilon: Decimal | None = None

    @property
    def weight(self) -> float:
        return math.fsum(a.weight for a in self.asks)


def queries_of(
    request: Request, plan: Plan, epsilon: float | Decimal, rows: int, delta: Decimal = _NO_DELTA
) -> tuple[Query, ...]:
    """Return the queries of a checked request; reads no row.

    Args:
        request: what is asked for.
        plan: declares the columns.
        epsilon: of one row, for all queries together.
        rows: the public number of rows.
        delta: δ of one row; where it is above 0, noise is discrete Gaussian.

    Raises:
        ParameterError: there are too many figures, or ε is too small for so many queries.
    """
    found: list[_Open] = []
    # What a row says at a weight of 1: how many times the noise the rows are.
    budget = Budget(exact(epsilon), delta)
    strength = rows * budget.share(1 / math.fsum(a.weight for a in request.figures)).strength
    for by in dict.fromkeys(a.by for a in request.figures):
        groups = Groups.of([protected(plan, name) for name in by or ()])
        for column in dict.fromkeys(a.column for a in request.figures if a.by == by):
            asks = [a for a in request.figures if (a.by, a.column) == (by, column)]
            found += _of_column(asks, None if column is None else plan.column(column), groups, strength)
    cells = 0
    for query in found:
        cells += _length(query.form, query.bins, query.groups)  # of a choice one draw for each
        require_countable(cells, MOST_FIGURES, query.name)
    found = _distinct(found)
    split = _split(budget, found)
    return tuple(_query(q, split[q.name], rows) for q in found)


def _split(budget: Budget, found: Sequence[_Open]) -> dict[str, Share]:
    """Return each query's share of the budget, by weight."""
    if budget.gaussian:
        parts = budget.divided([q.weight for q in found])
        return dict(zip((q.name for q in found), parts, strict=True))
    return {name: Share(share) for name, share in shares(budget.epsilon, found).items()}


def _distinct(found: Sequence[_Open]) -> list[_Open]:
    """Return the queries with names that differ, whatever the columns are called."""
    taken: set[str] = set()
    out = []
    for query in found:
        names = itertools.chain((query.name,), (f"{query.name} ({i})" for i in itertools.count(2)))
        name = next(n for n in names if n not in taken)
        taken.add(name)
        out.append(dataclasses.replace(query, name=name))
    return out


def _query(query: _Open, share: Share, rows: int) -> Query:
    size = max(2, grid_size(rows, share.strength)) if query.form in (CENTRED, PAIR) else 1
    return Query(query.name, query.form, query.bins, query.groups, query.asks, share, size, rows)


def _of_column(asks: Sequence[Ask], column: Column | None, groups: Groups, strength: float) -> list[_Open]:
    """Return the queries for all that is asked of one column by the same groups."""
    by = f" by {' and '.join(b.column.name for b in groups.by)}" if groups.by else ""
    if column is None:
        return [_Open(f"rows{by}", COUNT, None, groups, tuple(asks))]
    named = {a.statistic: a for a in asks}
    usual = Bins.of(column, None)
    out: list[_Open] = []
    pair = bool(groups.by) or usual.optional
    moments = [named[s] for s in (MEAN, SUM) if s in named]
    if MODE in named:
        out.append(_Open(f"most frequent {column.name}{by}", CHOICE, usual, groups, (named[MODE],)))
    if COUNT in named and pair and moments:
        # A pair says how many rows it is of: 4/(its share)² is the variance, where a count of its own has 2/share².
        moments.append(named[COUNT])
    elif COUNT in named:
        out.append(_Open(f"count of {column.name}{by}", COUNT, usual, groups, (named[COUNT],)))
    counted = [named[HISTOGRAM]] if HISTOGRAM in named else []
    bins = Bins.of(column, counted[0].bins) if counted else usual
    fine = Bins.of(column, FINE) if QUANTILES in named else bins
    if QUANTILES in named and (not counted or _serves_quantiles(bins, fine, counted[0], named[QUANTILES], strength)):
        counted.append(named[QUANTILES])
        bins = bins if HISTOGRAM in named else fine
    elif QUANTILES in named:
        out.append(_Open(f"quantiles of {column.name}{by}", HISTOGRAM, fine, groups, (named[QUANTILES],)))
    if (
        counted
        and [a.statistic for a in moments] == [MEAN]
        and bins.exact
        and _serves_mean(bins, counted, moments[0], pair)
    ):
        counted, moments = [*counted, *moments], []
    if counted:
        out.insert(0, _Open(f"histogram of {column.name}{by}", HISTOGRAM, bins, groups, tuple(counted)))
    if moments:
        out.append(_Open(f"moments of {column.name}{by}", PAIR if pair else CENTRED, usual, groups, tuple(moments)))
    return out


def _serves_quantiles(bins: Bins, fine: Bins, histogram: Ask, quantiles: Ask, strength: float) -> bool:
    """Return whether the histogram that is asked for anyway is the better source of the quantiles.

    Compared is the forecast error of the share of rows below a value: the noise at the middle, and half of a bin. The
    histogram has both weights; bins of their own would have but one.
    """

    def error(source: Bins, weight: float) -> float:
        return laplace_width(((0.5, source.count),)) / max(weight * strength, 1e-300) + 0.5 / source.count

    return error(bins, histogram.weight + quantiles.weight) <= error(fine, quantiles.weight)


def _serves_mean(bins: Bins, counted: Sequence[Ask], mean: Ask, pair: bool) -> bool:
    """Return whether the mean is nearer when it is read from the histogram with the weights of both.

    Variances at equal ε, in units of the half-range and for the same number of rows: 2·Σ((v−c)/h)² of a histogram of
    the values v; 2 of the centred sum; 4 of a pair.
    """
    values = bins.numbers
    half = (values[-1] - values[0]) / 2
    lower, upper = bins.column.bounds()
    spread = float((((values - (lower + upper) / 2) / half) ** 2).sum())
    together = math.fsum(a.weight for a in counted) + mean.weight
    return 2 * spread / together**2 <= (4 if pair else 2) / mean.weight**2
