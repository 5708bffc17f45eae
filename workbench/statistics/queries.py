"""Integer-valued queries of a request, their shares of ε, and which figure comes from which query.

Every query is a vector of whole numbers to which an empty row, all its values missing, adds nothing, so that its
sensitivity under zero-out neighbours is the norm of what one row adds: L1, and never more in L2. A row is in one
bin of one group:

* ``histogram``: rows of each group and bin; one row adds 1.
* ``count``: rows of each group that have a value; one row adds 1.
* ``centred``: Σi with i = round(K·(x−c)/h) about the public centre c, h half of the range; at most K. It is asked where
  every row has a value: their number is public, and the mean is c + h·Σi/(n·K).
* ``choice``: of each group the place of the value that most rows have, or nearly so, by report-noisy-max over the
  counts; no count is released. One row is in one group, so that all groups together cost what one does.
* ``quantiles``: of each group a drawn cell of a lattice for each quantile, and rows in bins around them
  (:mod:`workbench.statistics.drawn_quantiles`).
* ``pair``: (Σa, Σb) of each group with a + b = K, a = K/2 + round(K/2·(x−c)/h): one row adds K. Two numbers for the
  price of one: (Σa + Σb)/K is how many rows there are, and Σa/(Σa + Σb) where their mean lies between the bounds.
* ``spread``: (Σa, Σb, Σc) of each group with a + b + c = K: K times (1−t)², 2t(1−t) and t², rounded, where t is 0 at
  the lower bound and 1 at the upper one. One row adds K, and the three say how many rows there are, Σt and Σt².
* ``products``: the same of several columns together (:mod:`workbench.statistics.products`); one row adds K, or more.
* ``ranges``: counts of a tree of ranges (:mod:`workbench.statistics.ranges`); one row adds 1 to each level, and each
  of h levels is paid with 1/h of the share.
* ``table``: counts of a table and its margins as they serve best (:mod:`workbench.statistics.contingency`).
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.data.columns.grid import Grid
from workbench.data.table import Table
from workbench.params import ParameterError
from workbench.privacy.accounting.event import exact
from workbench.privacy.central.exponential import clear_lead
from workbench.privacy.central.quantile_choice import Held
from workbench.privacy.central.share import Budget, Share
from workbench.privacy.central.sums import grid_size, on_grid
from workbench.sanitize.budget_split import shares
from workbench.sanitize.plan import Column, Plan
from workbench.signals.cancel import NEVER, CancelToken
from workbench.statistics.bins import FINE, GROUPING, NOBODY, Bins, Groups, Periods, ReadRows, require_countable
from workbench.statistics.contingency import MOST_COLUMNS, Margins, Workload
from workbench.statistics.drawn_quantiles import DrawnQuantiles, GroupValues, drawn_error
from workbench.statistics.figure import Source
from workbench.statistics.interval_widths import laplace_width
from workbench.statistics.products import Products, bernstein, whole_parts
from workbench.statistics.ranges import MOST_LEAVES, Ranges
from workbench.statistics.request import (
    COUNT,
    COVARIANCE,
    HISTOGRAM,
    MEAN,
    MODE,
    QUANTILES,
    RANGES,
    REGRESSION,
    STD,
    SUM,
    TABLE,
    TOP,
    VARIANCE,
    Request,
    Statistic,
    protected,
    split_period,
)
from workbench.work.ask import Ask
from workbench.work.work import ColumnReader

CENTRED, PAIR, SPREAD, CHOICE, DRAWN = "centred", "pair", "spread", "choice", "quantiles"
PRODUCTS = "products"
_BLOCK = 1 << 16
MOMENTS = (CENTRED, PAIR, SPREAD, PRODUCTS)  # forms whose answers are sums of numbers, on a grid of K steps
_NO_DELTA = Decimal(0)

RULES, PLAIN_TABLES, FORMER_RULES = 3, 2, 1
"""How releases are made, and how earlier versions made them: with plain counts for tables; before, with quantiles of
rounded values from histograms and other names of shares, in certificates that state no rules."""

_TOGETHER = "together"
_CROWDED = 4  # values are taken to fill one part in so many of their bounds, where the rounding of bins is weighed

_CLEARLY = 0.75
"""Part of the forecast error of a histogram below which quantiles are drawn: where values are tied, draws lose more."""

_MOST_DRAWN = 1000  # cells that are drawn by one query at most; more quantiles of groups are read from histograms

Own = Products | Ranges | Margins  # a form that has a file of its own

Exact = list[int] | list[Held]
"""What is exact in an answer: whole numbers, of a ``choice`` the counts, (groups, values); of quantiles the values."""

MOST_FIGURES = 50_000  # numbers of all queries together


@dataclass(frozen=True, eq=False)
class Query(Source):
    """One query."""

    drawn: DrawnQuantiles | None = None  # how quantiles are drawn, of a `quantiles` query
    rules: int = RULES  # by which its figures are made
    # What a `products`, `ranges` or `table` query is beyond that; such a form has a file of its own.
    own: Own | None = None

    @property
    def former(self) -> bool:
        """Whether its figures are made by :data:`FORMER_RULES`."""
        return self.rules == FORMER_RULES

    @property
    def length(self) -> int:
        """How many whole numbers it releases."""
        each = {CHOICE: 1, DRAWN: 0 if self.drawn is None else self.drawn.length}.get(self.form)
        return _length(self.form, self.bins, self.groups, self.own) if each is None else each * self.groups.count

    @property
    def extent(self) -> int:
        """How many whole numbers it releases, or how many counts of a table follow from them."""
        return max(self.length, _figures(self.own))

    @property
    def counted(self) -> int:
        """How many whole numbers are exact in its answer; of quantiles none."""
        return _length(self.form, self.bins, self.groups, self.own if isinstance(self.own, Products) else None)

    @property
    def lead(self) -> int:
        """Rows by which a value of a ``choice`` has to lead so that 95 % of draws are right."""
        assert self.bins is not None
        return clear_lead(self.bins.count, self.paid.pure_epsilon)

    def answer(self, rows: Table) -> Exact:
        """Return what is exact in the answer, as :class:`Counted` does of several queries.

        Raises:
            InputError: a value does not fit what is declared; its row is named.
        """
        return counted((self,), rows)[self.label]

    def of_part(self, rows: ReadRows, held: GroupValues | None) -> NDArray[Any]:
        """Return what some rows add to the exact answer; of quantiles the cells of their values."""
        groups = self.groups.codes(rows) if self.groups.by else None
        if self.form in (COUNT, TABLE, HISTOGRAM, CHOICE, RANGES):
            return self._counted(groups, rows)
        assert self.bins is not None
        x = [rows.numbers(bins.grid) for bins in (self.bins, *self.others)]
        here = ~np.isnan(x).any(axis=0) if groups is None else (groups != NOBODY) & ~np.isnan(x).any(axis=0)
        if not here.all():
            x, groups = [one[here] for one in x], None if groups is None else groups[here]
        if held is not None:
            return held.of(x[0], groups)
        lower, upper = self.bins.column.bounds()
        if self.form == CENTRED:
            return np.array([on_grid(x[0], lower, upper, self.size).sum()])
        sums = np.zeros((self.counted // self.groups.count, self.groups.count), dtype=np.int64)
        for at in range(0, len(x[0]), _BLOCK):
            block = [one[at : at + _BLOCK] for one in x]
            if isinstance(self.own, Products):
                parts = self.own.added(block, self.own.unit(self))
            elif self.form == PAIR:
                parts = _halves(block[0], lower, upper, self.size)
            else:
                parts = whole_parts(bernstein(block[0], self.bins, 2), self.size)
            if groups is None:
                sums[:, 0] += parts.sum(axis=1)
                continue
            for total, part in zip(sums, parts, strict=True):
                np.add.at(total, groups[at : at + _BLOCK], part)
        return sums.ravel()

    def _counted(self, groups: NDArray[np.int64] | None, rows: ReadRows) -> NDArray[np.int64]:
        if groups is None:
            if self.bins is None:
                return np.array([rows.rows])
            counts = self.bins.counts(rows)
            return np.array([counts.sum()]) if self.form == COUNT else counts
        if self.bins is None:
            cells, here = groups, groups != NOBODY
        else:
            own = self.bins.codes(rows)
            here = (groups != NOBODY) & (own != NOBODY)
            cells = groups if self.form == COUNT else groups * self.bins.count + own
        return np.bincount(cells[here], minlength=self.counted)

    def noisy(self, ask: Ask, exact: Exact) -> list[int]:
        """Return what may be released of what is exact: with noise, or what is drawn."""
        if self.drawn is not None:
            return self.drawn.noisy(ask, self.label, exact)  # type: ignore[arg-type]  # of quantiles
        numbers: list[int] = exact  # type: ignore[assignment]  # of all others
        if isinstance(self.own, Ranges):
            return self.own.noisy(self, ask, numbers)
        if isinstance(self.own, Margins):
            numbers = self.own.numbers(numbers)
        if self.form != CHOICE:
            return ask(self.label, numbers, self.size)
        assert self.bins is not None
        k = self.bins.count
        return ask.largest(self.label, [numbers[g * k : (g + 1) * k] for g in range(self.groups.count)], 1)


class Counted(ColumnReader):
    """Reads what is exact in the answers of queries from rows, part by part: a few numbers, however many rows."""

    def __init__(self, queries: Sequence[Query], columns: Sequence[str] = ()) -> None:
        """Begin with no row; values are refused in the order of ``columns``, those of others after these."""
        grids = {b.column.name: b.grid for q in queries for b in q.columns}
        order = dict.fromkeys([*columns, *grids])
        super().__init__([partial(_cells, grids[name]) for name in order])
        self._queries = tuple(queries)
        self._held = {q.label: GroupValues(q.drawn, q.groups.count) for q in queries if q.drawn is not None}
        self._sums: dict[str, NDArray[np.int64]] = {}

    def opened(self, part: Table) -> ReadRows:
        """Return the part's columns, each of which is read once."""
        return ReadRows(part)

    def made(self, part: ReadRows, columns: list[Any]) -> list[NDArray[Any]]:
        """Return what the part adds to each answer."""
        return [query.of_part(part, self._held.get(query.label)) for query in self._queries]

    def keep(self, made: list[NDArray[Any]]) -> None:
        for query, found in zip(self._queries, made, strict=True):
            if query.label in self._held:
                self._held[query.label].add(found)
            else:
                self._sums[query.label] = self._sums.get(query.label, np.int64(0)) + found

    def exact(self) -> dict[str, Exact]:
        """Return by label the exact whole numbers; of quantiles the values of each group."""
        found: dict[str, Exact] = {}
        for query in self._queries:
            if query.label in self._held:
                found[query.label] = self._held[query.label].held()
            else:
                found[query.label] = self._sums.get(query.label, np.zeros(query.counted, np.int64)).tolist()
        return found


def counted(queries: Sequence[Query], rows: Table, cancel: CancelToken = NEVER) -> dict[str, Exact]:
    """Return by label what is exact in the answers of ``queries``.

    Raises:
        InputError: a value does not fit what is declared; its row is named.
    """
    reader = Counted(queries)
    reader.read(rows, cancel)
    return reader.exact()


def _cells(grid: Grid, rows: ReadRows) -> Any:
    return rows.cells(grid)


def _halves(x: NDArray[np.float64], lower: float, upper: float, size: int) -> NDArray[np.int64]:
    """Return (2, rows): what each row adds to a pair, which sums to ``size``."""
    cells = on_grid(x, lower, upper, size // 2)
    return np.stack([size // 2 + cells, size // 2 - cells])


def _length(form: str, bins: Bins | None, groups: Groups, own: Own | None = None) -> int:
    if own is not None:
        return own.length * (1 if isinstance(own, Margins) else groups.count)
    each = {COUNT: 1, TABLE: 1, CENTRED: 1, PAIR: 2, SPREAD: 3}.get(form)
    if each is None:
        assert bins is not None
        each = bins.count
    return each * groups.count


def _figures(own: Own | None) -> int:
    return own.workload.figures if isinstance(own, Margins) else 0


@dataclass(frozen=True)
class _Open:
    """A query before ε is split, and the weight it has in the split; a claim of :mod:`budget_split`."""

    name: str
    form: str
    bins: Bins | None
    groups: Groups
    asks: tuple[Statistic, ...]
    epsilon: Decimal | None = None
    own: Own | None = None

    @property
    def length(self) -> int:
        """Of a choice one draw for each."""
        return _length(self.form, self.bins, self.groups, self.own)

    @property
    def extent(self) -> int:
        return max(self.length, _figures(self.own))

    @property
    def weight(self) -> float:
        return math.fsum(a.weight for a in self.asks)


def queries_of(
    request: Request,
    plan: Plan,
    epsilon: float | Decimal,
    rows: int,
    delta: Decimal = _NO_DELTA,
    *,
    rules: int = RULES,
) -> tuple[Query, ...]:
    """Return the queries of a checked request at (ε, δ) of one row, for all of them together; reads no row.

    Where δ is above 0, noise is discrete Gaussian. ``rules`` are those of the version that made a release which is
    verified.

    Raises:
        ParameterError: there are too many figures, or ε is too small for so many queries.
    """
    return queries_paid(request, plan, Budget(exact(epsilon), delta), rows, rules=rules)


def queries_paid(request: Request, plan: Plan, budget: Budget, rows: int, *, rules: int = RULES) -> tuple[Query, ...]:
    """Return what :func:`queries_of` does, for a budget of one row."""
    found: list[_Open] = []
    unit = budget.share(1 / math.fsum(a.weight for a in request.figures))
    for by in dict.fromkeys(a.by for a in request.figures):
        groups = Groups(tuple(_group_bins(plan, name) for name in by or ()))
        for columns in dict.fromkeys(frozenset(a.columns) for a in request.figures if a.by == by):
            asks = [a for a in request.figures if (a.by, frozenset(a.columns)) == (by, columns)]
            named = [plan.column(name) for name in asks[0].columns]
            if len(named) > 1:
                _require_rows(asks, rows)
                found.append(_of_products(asks, named, groups, unit))
                continue
            if not named:
                table = rules == RULES and any(a.statistic == TABLE for a in asks)
                plain = _Open(f"rows{_by(groups)}", COUNT, None, groups, tuple(asks))
                found.append(_of_table(asks, groups, unit) if table else plain)
                continue
            source = _former_source if rules == FORMER_RULES else _source_of_quantiles
            found += _of_column(asks, named[0], groups, rows, unit, source)
    cells = 0
    for query in found:
        cells += query.extent
        require_countable(cells, MOST_FIGURES, query.name)
    found = _distinct(found)
    split = _split(budget, found)
    queries = (_query(q, split[q.name], rows) for q in found)
    return tuple(dataclasses.replace(q, rules=rules) for q in queries)


def _split(budget: Budget, found: Sequence[_Open]) -> dict[str, Share]:
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
    size = max(2, grid_size(rows, share.strength)) if query.form in MOMENTS else 1
    if isinstance(query.own, Products):
        size = query.own.sensitivity(rows, share.strength)
    elif isinstance(query.own, Margins):
        size = query.own.sensitivity
    drawn = None
    if query.form == DRAWN:
        assert query.bins is not None
        drawn = DrawnQuantiles.of(query.bins.column, query.asks[0].quantiles, share, rows / query.groups.count)
    others = query.own.columns[1:] if isinstance(query.own, Products) else ()
    facts = Query(query.name, query.form, query.bins, query.groups, query.asks, share, size, rows, others)
    return dataclasses.replace(facts, drawn=drawn, own=query.own)


def _group_bins(plan: Plan, named: str) -> Bins:
    name, period = split_period(named, [column.name for column in plan.columns])
    column = protected(plan, name)
    return Bins.of(column, None, GROUPING) if period is None else Periods.between(column, period)


def _by(groups: Groups) -> str:
    return f" by {' and '.join(b.called for b in groups.by)}" if groups.by else ""


def _require_rows(asks: Sequence[Statistic], rows: int) -> None:
    """Refuse a regression that so few rows cannot determine, whatever they hold."""
    for ask in asks:
        if ask.statistic == REGRESSION and rows <= len(ask.columns):
            what = f"a regression with {len(ask.columns)} coefficients needs more than {rows:,} rows"
            raise ParameterError(what, ask.called, "use fewer columns, or a table with more rows")


def _of_products(asks: Sequence[Statistic], columns: Sequence[Column], groups: Groups, unit: Share) -> _Open:
    """Return the query for all that is asked of two columns or more by the same groups."""
    bins = tuple(Bins.of(column, None) for column in columns)
    squares, known = any(a.statistic != COVARIANCE for a in asks), not (groups.by or any(b.optional for b in bins))
    own = Products.of(bins, squares=squares, known=known, gaussian=unit.gaussian)
    name = f"products of {' and '.join(b.column.name for b in bins)}{_by(groups)}"
    return _Open(name, PRODUCTS, bins[0], groups, tuple(asks), own=own)


def _of_table(asks: Sequence[Statistic], groups: Groups, unit: Share) -> _Open:
    """Return the query for a table, with the count of its groups where that is asked for, too."""
    sizes, name = tuple(b.count for b in groups.by), f"rows{_by(groups)}"
    most = next(a.ways for a in asks if a.statistic == TABLE) or len(sizes)
    ways = {*range(1, most + 1), *(len(sizes) for a in asks if a.statistic == COUNT)}
    if len(sizes) > MOST_COLUMNS:
        raise ParameterError(f"a table has at most {MOST_COLUMNS} columns", name, "use fewer columns")
    require_countable(groups.count, MOST_FIGURES, name)
    load = Workload(sizes, tuple(sorted(ways)), known=not groups.optional)
    require_countable(load.figures, MOST_FIGURES, name)
    return _Open(name, TABLE, None, groups, tuple(asks), own=Margins.of(load, MOST_FIGURES, gaussian=unit.gaussian))


def _of_ranges(ask: Statistic, column: Column, groups: Groups, unit: Share) -> _Open:
    bins = Bins.of(column, ask.bins, FINE)
    require_countable(bins.count, MOST_LEAVES, f"{ask.called}: bins")
    own = Ranges.of(bins.count, gaussian=unit.gaussian, known=not (groups.by or bins.optional))
    return _Open(f"ranges of {column.name}{_by(groups)}", RANGES, bins, groups, (ask,), own=own)


def _of_column(
    asks: Sequence[Statistic],
    column: Column,
    groups: Groups,
    rows: int,
    unit: Share,
    source_of: Callable[..., str],
) -> list[_Open]:
    """Return the queries for all that is asked of one column by the same groups."""
    by = _by(groups)
    named = {a.statistic: a for a in asks}
    usual = Bins.of(column, None)
    out: list[_Open] = []
    pair = bool(groups.by) or usual.optional
    moments = [named[s] for s in (MEAN, SUM) if s in named]
    if MODE in named:
        out.append(_Open(f"most frequent {column.name}{by}", CHOICE, usual, groups, (named[MODE],)))
    if squares := tuple(named[s] for s in (VARIANCE, STD) if s in named):
        out.append(_Open(f"spread of {column.name}{by}", SPREAD, usual, groups, squares))
    if COUNT in named and pair and moments:
        # A pair says how many rows it is of: 4/(its share)² is the variance, where a count of its own has 2/share².
        moments.append(named[COUNT])
    elif COUNT in named:
        out.append(_Open(f"count of {column.name}{by}", COUNT, usual, groups, (named[COUNT],)))
    if RANGES in named:
        out.append(_of_ranges(named[RANGES], column, groups, unit))
    # The most frequent values are those of the histogram: all counts cost what one does.
    counted = [named[s] for s in (HISTOGRAM, TOP) if s in named]
    bins = Bins.of(column, counted[0].bins) if counted else usual
    if QUANTILES in named:
        fine = Bins.of(column, FINE)
        source = source_of(bins if counted else None, fine, named, rows, groups.count, unit)
        if source == _TOGETHER:
            counted.append(named[QUANTILES])
        elif source == HISTOGRAM and not counted:
            counted, bins = [named[QUANTILES]], fine
        else:
            out.append(_Open(f"quantiles of {column.name}{by}", source, fine, groups, (named[QUANTILES],)))
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


def _source_of_quantiles(
    bins: Bins | None, fine: Bins, named: Mapping[str, Statistic], rows: int, groups: int, unit: Share
) -> str:
    """Return where quantiles come from: a histogram asked for anyway, fine bins of their own, or draws. No row is read.

    Compared is the forecast error of the share of rows below the figure: the noise at the middle and half of a bin,
    and the error of a draw. Values are taken to be spread evenly over one part in :data:`_CROWDED` of the bounds, and
    groups to be of equal size. A histogram that is asked for anyway, with these ``bins``, has both weights.
    """
    wanted = named[QUANTILES]

    def paid(weight: float) -> Share:
        return Share(unit.amount * Decimal(weight), unit.gaussian)

    def error(source: Bins, weight: float) -> float:
        noise = laplace_width(((0.5, source.count),)) / max(paid(weight).strength * rows / groups, 1e-300)
        return noise + (0.0 if source.exact else _CROWDED * 0.5 / source.count)

    found = {HISTOGRAM: error(fine, wanted.weight)}
    if len(wanted.quantiles) * groups <= _MOST_DRAWN:
        found[DRAWN] = drawn_error(paid(wanted.weight), len(wanted.quantiles), max(rows, 1) / groups) / _CLEARLY
    if bins is not None:
        found[_TOGETHER] = error(bins, named[HISTOGRAM].weight + wanted.weight)
    return min(found, key=lambda source: (found[source], source != _TOGETHER))


def _former_source(
    bins: Bins | None, fine: Bins, named: Mapping[str, Statistic], rows: int, groups: int, unit: Share
) -> str:
    """Return where quantiles came from by :data:`FORMER_RULES`: always from a histogram, whatever its groups."""

    def error(source: Bins, weight: float) -> float:
        return laplace_width(((0.5, source.count),)) / max(weight * rows * unit.strength, 1e-300) + 0.5 / source.count

    wanted = named[QUANTILES].weight
    return (
        _TOGETHER
        if bins is not None and error(bins, named[HISTOGRAM].weight + wanted) <= error(fine, wanted)
        else HISTOGRAM
    )


def _serves_mean(bins: Bins, counted: Sequence[Statistic], mean: Statistic, pair: bool) -> bool:
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
