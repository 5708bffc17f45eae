"""Requests for statistics of columns, over all rows or by declared groups, from options or a file."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from workbench.params import ParameterError, Parameters, choice, integer, real, text, texts
from workbench.params.codec import read_toml
from workbench.params.lists import levels, records
from workbench.sanitize.plan import Column, Plan

COUNT, HISTOGRAM, MEAN, SUM, QUANTILES, MODE = ("count", "histogram", "mean", "sum", "quantiles", "mode")
VARIANCE, STD, COVARIANCE, CORRELATION = "variance", "std", "covariance", "correlation"
RANGES, TOP, TABLE, REGRESSION = "ranges", "top", "table", "regression"
_OF_ONE = (COUNT, HISTOGRAM, MEAN, SUM, QUANTILES, MODE, VARIANCE, STD)
STATISTICS = (*_OF_ONE, COVARIANCE, CORRELATION, REGRESSION, RANGES, TOP, TABLE)
OF_PAIRS = (COVARIANCE, CORRELATION)  # statistics of two columns
OF_AMOUNTS = (MEAN, SUM, VARIANCE, STD, *OF_PAIRS, REGRESSION)  # statistics of integers and reals only
QUARTERS = (0.25, 0.5, 0.75)
PERIODS = ("day", "week", "month", "quarter", "year")  # what a column of dates can be grouped by, behind a colon
PLACES = 3  # how many of the most frequent values are shown where nobody said


_ONLY = {
    "bins": ("takes no bins", (HISTOGRAM, RANGES)),
    "places": ("takes no places", (TOP,)),
    "at": ("takes no quantile levels", (QUANTILES,)),
    "ways": ("takes no ways", (TABLE,)),
}
"""What is said of a key of other statistics, and which have it."""


@dataclass(frozen=True, kw_only=True)
class Statistic(Parameters):
    """One statistic of a column, of all rows or by groups."""

    statistic: str = choice(choices=STATISTICS, help="the statistic")
    column: str | None = text(default=None, help="the column (not needed for a count or table by groups)")
    other: str | None = text(default=None, help="the second column of a covariance or correlation")
    on: tuple[str, ...] | None = texts(default=None, shortest=1, help="the predictors of a regression")
    by: tuple[str, ...] | None = texts(
        default=None, shortest=1, help="columns to group by; born:month groups dates by month"
    )
    bins: int | None = integer(
        default=None, at_least=2, upto=4096, help="number of bins (histograms and ranges of numeric columns)"
    )
    places: int | None = integer(default=None, at_least=2, upto=1000, help="number of most frequent values")
    ways: int | None = integer(
        default=None, at_least=1, upto=15, help="release only margins of up to this many columns (default: all)"
    )
    at: tuple[float, ...] | None = levels(
        default=None, at_least=0.0001, upto=0.9999, most=99, help="quantile levels (0.5 is the median)"
    )
    weight: float = real(default=1.0, above=0, upto=1e6, help="weight of this statistic when epsilon is divided")

    def __post_init__(self) -> None:
        super().__post_init__()
        counts = self.statistic == COUNT and self.by
        if self.statistic == TABLE and (self.column is not None or len(self.by or ()) < 2):
            raise ParameterError("a table needs two or more columns", hint='name them as by = ["city", "sex"]')
        if self.column is None and not counts and self.statistic != TABLE:
            raise ParameterError(f"the {self.statistic} has no column", hint="name one; a count may use groups")
        if self.statistic in OF_PAIRS and self.other in (None, self.column):
            raise ParameterError(f"a {self.statistic} needs two columns", self.called, "name the second one as other")
        if self.statistic not in OF_PAIRS and self.other is not None:
            raise ParameterError(f"a {self.statistic} takes one column", self.called, "leave other out")
        if (self.statistic == REGRESSION) != (self.on is not None):
            said = "has no predictors" if self.on is None else "takes no predictors"
            raise ParameterError(f"a {self.statistic} {said}", self.called, 'a regression has on = ["age", "height"]')
        if self.ways is not None and self.ways > len(self.by or ()):
            raise ParameterError(f"the table has fewer than {self.ways} columns", self.called, "leave it out")
        for key, (what, of) in _ONLY.items():
            if getattr(self, key) is not None and self.statistic not in of:
                raise ParameterError(f"a {self.statistic} {what}", self.called, f"leave {key} out")
        if self.by is not None and set(self.columns) & set(self.by):
            raise ParameterError("a column cannot be grouped by itself", self.called, "name others")

    @property
    def called(self) -> str:
        """Its name in messages: ``mean of Pay by City``."""
        of = f" of {self.subject}" if self.column is not None else ""
        return f"{self.statistic}{of}" + (f" by {' and '.join(self.by)}" if self.by else "")

    @property
    def subject(self) -> str:
        """Its columns in words: ``Pay``, ``Pay and Age`` or ``Pay on Age and Sex``; empty where it has none."""
        if self.on is not None:
            return f"{self.column} on {' and '.join(self.on)}"
        return " and ".join(self.columns)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it is of, without those that make groups."""
        return tuple(name for name in (self.column, self.other, *(self.on or ())) if name is not None)

    @property
    def quantiles(self) -> tuple[float, ...]:
        """The quantiles, where it asks for some."""
        return self.at or QUARTERS


@dataclass(frozen=True, kw_only=True)
class Request(Parameters):
    """Everything that is asked for at once."""

    figures: tuple[Statistic, ...] = records(Statistic, help="the statistics")

    @classmethod
    def key_of(cls, name: str) -> str:
        """Return the TOML key: the list is written ``[[figure]]``."""
        return "figure" if name == "figures" else name

    def checked(self, plan: Plan) -> Self:
        """Return the request, after checking it against the columns of ``plan``.

        Raises:
            ParameterError: nothing is asked, something twice, or a column cannot have the statistic.
        """
        if not self.figures:
            raise ParameterError("no statistic is requested", hint="name at least one")
        names = [column.name for column in plan.columns]
        seen: set[tuple[str, str | None, frozenset[str], frozenset[str]]] = set()
        for ask in self.figures:
            explained = ask.column if ask.statistic == REGRESSION else None
            key = (ask.statistic, explained, frozenset(ask.columns), frozenset(ask.by or ()))
            if key in seen:
                raise ParameterError(f"the {ask.called} is requested twice", hint="leave one out")
            seen.add(key)
            named = [*(split_period(name, names)[0] for name in ask.by or ()), *ask.columns]
            for at, name in enumerate(named):
                protected(plan, name)
                if name in named[:at]:
                    raise ParameterError(f"the column {name!r} is named twice", ask.called, "name others")
            for name in ask.columns:
                _check_kind(ask, plan.column(name))
        return self


def split_period(named: str, names: Collection[str]) -> tuple[str, str | None]:
    """Return the column that makes groups, and the period behind its colon; the whole name of a column goes first."""
    name, _, period = named.rpartition(":")
    return (name, period) if period in PERIODS and name and named not in names else (named, None)


def protected(plan: Plan, name: str) -> Column:
    """Return a column that statistics may read.

    Raises:
        ParameterError: the plan does not have it, does not protect it, or took its values from the rows.
    """
    column = plan.column(name)
    if column.action != "protect":
        raise ParameterError(f"the plan does not protect the column {name!r}", hint='write action = "protect" for it')
    if read_off(column):
        raise ParameterError(
            f"the values of the column {name!r} were taken from the data, and statistics would publish each of them",
            hint="declare its domain, or leave the column out",
        )
    return column


def read_off(column: Column) -> bool:
    """Return whether the values that make a column's bins are those that somebody's rows have."""
    return column.bounds_origin == "data" and not column.numeric


def _check_kind(ask: Statistic, column: Column) -> None:
    if ask.statistic in OF_AMOUNTS and column.kind not in ("integer", "real"):
        hint = "request its quantiles or its histogram" if column.kind == "date" else "request its histogram"
        raise ParameterError(f"a {column.kind} has no {ask.statistic}", f"column {column.name}", hint)
    if ask.statistic in (QUANTILES, RANGES) and not column.numeric:
        raise ParameterError(
            f"a {column.kind} has no {ask.statistic}", f"column {column.name}", "request its histogram"
        )
    if ask.statistic in (MODE, TOP) and column.numeric:
        hint = "request its histogram and read off the largest bins"
        raise ParameterError("most frequent values need a categorical column", f"column {column.name}", hint)
    if ask.bins is not None and not column.numeric:
        raise ParameterError(f"a {column.kind} has a bin for each value", f"column {column.name}", "leave bins out")
    if ask.statistic == COUNT and column.missing != "own-value" and not ask.by:
        raise ParameterError(
            "every row has a value, so this count is the public number of rows", ask.called, "leave it out"
        )


def usual_request(plan: Plan) -> Request:
    """Return what is asked for where nobody chose: a histogram of each protected column, the mean of each number.

    Columns whose values were read off the data are left out: each of their bins would be published.
    """
    histograms = [Statistic(statistic=HISTOGRAM, column=c.name) for c in plan.protected if not read_off(c)]
    means = [Statistic(statistic=MEAN, column=c.name) for c in plan.protected if c.kind in ("integer", "real")]
    return Request(figures=(*histograms, *means))


_BEHIND_COLON = {HISTOGRAM: "bins", RANGES: "bins", QUANTILES: "at", TOP: "places", TABLE: "ways"}


def _typed(statistic: str, word: str, by: tuple[str, ...] | None) -> Statistic:
    keys: dict[str, Any] = {"statistic": statistic, "column": word, "by": by}
    name, colon, rest = word.rpartition(":")
    if colon and statistic in _BEHIND_COLON and rest.replace(",", "").replace(".", "").isdigit():
        field = _BEHIND_COLON[statistic]
        keys |= {"column": name, field: Statistic.declared()[field].parse(rest, f"--{statistic} {word}")}
    first, *others = (part.strip() for part in keys["column"].split(","))
    if statistic == TABLE:
        keys |= {"column": None, "by": (first, *others)}
    elif statistic in OF_PAIRS:
        keys |= {"column": first, "other": ",".join(others) or None}
    elif statistic == REGRESSION:
        keys |= {"column": first, "on": tuple(others) or None}
    return Statistic(**keys)


def _columns(symbol: str, help_text: str) -> Any:
    return texts(default=None, repeated=True, symbol=symbol, help=f"{help_text}; may be repeated")


@dataclass(frozen=True, kw_only=True)
class StatisticsOptions(Parameters):
    """What a person chooses: columns by statistic (``Age:20``: bins, ``Age:0.1,0.5``: quantiles), or a request."""

    count: tuple[str, ...] | None = _columns("COL", "number of rows with a value in COL (with --by: in each group)")
    histogram: tuple[str, ...] | None = _columns("COL[:BINS]", "number of rows in each bin of COL")
    mean: tuple[str, ...] | None = _columns("COL", "mean of COL")
    sum: tuple[str, ...] | None = _columns("COL", "sum of COL")
    quantiles: tuple[str, ...] | None = _columns("COL[:0.1,0.5]", "quantiles of COL (default 0.25, 0.5 and 0.75)")
    variance: tuple[str, ...] | None = _columns("COL", "variance of COL: mean squared distance from the mean")
    std: tuple[str, ...] | None = _columns("COL", "standard deviation of COL: the square root of its variance")
    mode: tuple[str, ...] | None = _columns("COL", "the most frequent value of COL, a categorical column")
    covariance: tuple[str, ...] | None = _columns("COL,COL", "covariance of two columns")
    correlation: tuple[str, ...] | None = _columns("COL,COL", "correlation of two columns")
    regression: tuple[str, ...] | None = _columns("Y,COL,…", "coefficients of a linear regression of Y on the others")
    ranges: tuple[str, ...] | None = _columns(
        "COL[:BINS]", "cumulative counts of COL: the difference of two is the count of a range"
    )
    top: tuple[str, ...] | None = _columns("COL[:3]", "the most frequent values of COL, with their counts")
    table: tuple[str, ...] | None = _columns(
        "COL,COL,…[:2]", "contingency table and its margins; :2 releases only margins of up to two columns"
    )
    by: tuple[str, ...] | None = texts(
        default=None,
        repeated=True,
        symbol="COL[:PERIOD]",
        help="group by COL, or by day, week, month, quarter or year of a date (born:month)",
    )
    request: str | None = text(
        default=None, file="request", symbol="FILE", help="statistics as [[figure]] tables (TOML)"
    )
    figure: tuple[Statistic, ...] | None = records(Statistic, default=None, help="the same as a Python list")

    def checked(self, plan: Plan) -> Request:
        """Return the request, the usual one where nothing is chosen, after checking it against the columns of ``plan``.

        Raises:
            InputError: its file cannot be read.
            ParameterError: a key or a value is refused, or as :meth:`Request.checked`.
        """
        figures = [_typed(name, word, self.by) for name in STATISTICS for word in getattr(self, name) or ()]
        if self.by and all(one.statistic == TABLE for one in figures):
            figures.append(Statistic(statistic=COUNT, by=self.by))
        if sum((bool(figures), self.request is not None, self.figure is not None)) > 1:
            raise ParameterError("--request excludes other statistics", hint="leave the other options out")
        if self.request is not None:
            return Request.from_plain(read_toml(Path(self.request), "request"), self.request).checked(plan)
        chosen = self.figure if self.figure is not None else tuple(figures) or usual_request(plan).figures
        return Request(figures=chosen).checked(plan)
