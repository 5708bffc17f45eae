"""What is asked for: figures of columns, of all rows or of each declared group, read from options or a file."""

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
    "bins": ("has no bins", (HISTOGRAM, RANGES)),
    "places": ("has no places", (TOP,)),
    "at": ("is at no quantile", (QUANTILES,)),
    "ways": ("is of all its columns", (TABLE,)),
}
"""What is said of a key of other statistics, and which have it."""


@dataclass(frozen=True, kw_only=True)
class Statistic(Parameters):
    """One statistic of a column, of all rows or by groups."""

    statistic: str = choice(choices=STATISTICS, help="which figure")
    column: str | None = text(default=None, help="of which column; a count by groups, or a table, needs none")
    other: str | None = text(default=None, help="the second column of a covariance or correlation")
    on: tuple[str, ...] | None = texts(default=None, shortest=1, help="the columns that explain it, of a regression")
    by: tuple[str, ...] | None = texts(
        default=None, shortest=1, help="columns whose declared cells make the groups; born:month for months of dates"
    )
    bins: int | None = integer(
        default=None, at_least=2, upto=4096, help="bins of a histogram, or of ranges, of numbers"
    )
    places: int | None = integer(default=None, at_least=2, upto=1000, help="how many of the most frequent values")
    ways: int | None = integer(
        default=None, at_least=1, upto=15, help="counts of at most so many columns of a table; by default of all"
    )
    at: tuple[float, ...] | None = levels(
        default=None, at_least=0.0001, upto=0.9999, most=99, help="which quantiles, 0.5 being the median"
    )
    weight: float = real(default=1.0, above=0, upto=1e6, help="weight in the split of epsilon")

    def __post_init__(self) -> None:
        super().__post_init__()
        counts = self.statistic == COUNT and self.by
        if self.statistic == TABLE and (self.column is not None or len(self.by or ()) < 2):
            raise ParameterError("a table is of two or more columns", hint='name them as by = ["city", "sex"]')
        if self.column is None and not counts and self.statistic != TABLE:
            raise ParameterError(f"the {self.statistic} names no column", hint="name one; a count may name groups")
        if self.statistic in OF_PAIRS and self.other in (None, self.column):
            raise ParameterError(f"a {self.statistic} is of two columns", self.called, "name another one as other")
        if self.statistic not in OF_PAIRS and self.other is not None:
            raise ParameterError(f"a {self.statistic} is of one column", self.called, "leave the other one out")
        if (self.statistic == REGRESSION) != (self.on is not None):
            said = "names no columns that explain it" if self.on is None else "is explained by no columns"
            raise ParameterError(f"a {self.statistic} {said}", self.called, 'a regression has on = ["age", "height"]')
        if self.ways is not None and self.ways > len(self.by or ()):
            raise ParameterError(f"the table has fewer than {self.ways} columns", self.called, "leave it out")
        for key, (what, of) in _ONLY.items():
            if getattr(self, key) is not None and self.statistic not in of:
                raise ParameterError(f"a {self.statistic} {what}", self.called, f"leave {key} out")
        if self.by is not None and set(self.columns) & set(self.by):
            raise ParameterError("groups are made by other columns", self.called, "name others")

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
            raise ParameterError("no statistic was asked for", hint="ask for one")
        names = [column.name for column in plan.columns]
        seen: set[tuple[str, str | None, frozenset[str], frozenset[str]]] = set()
        for ask in self.figures:
            explained = ask.column if ask.statistic == REGRESSION else None
            key = (ask.statistic, explained, frozenset(ask.columns), frozenset(ask.by or ()))
            if key in seen:
                raise ParameterError(f"the {ask.called} is asked for twice", hint="ask once")
            seen.add(key)
            named = [*(without_period(name, names)[0] for name in ask.by or ()), *ask.columns]
            for at, name in enumerate(named):
                protected(plan, name)
                if name in named[:at]:
                    raise ParameterError(f"the column {name!r} is named twice", ask.called, "name others")
            for name in ask.columns:
                _check_kind(ask, plan.column(name))
        return self


def without_period(named: str, names: Collection[str]) -> tuple[str, str | None]:
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
            f"the values of the column {name!r} were read off the data, and statistics would publish each of them",
            hint="declare its domain, or leave the column out",
        )
    return column


def read_off(column: Column) -> bool:
    """Return whether the values that make a column's bins are those that somebody's rows have."""
    return column.bounds_origin == "data" and not column.numeric


def _check_kind(ask: Statistic, column: Column) -> None:
    if ask.statistic in OF_AMOUNTS and column.kind not in ("integer", "real"):
        hint = "ask for its quantiles or its histogram" if column.kind == "date" else "ask for its histogram"
        raise ParameterError(f"a {column.kind} has no {ask.statistic}", f"column {column.name}", hint)
    if ask.statistic in (QUANTILES, RANGES) and not column.numeric:
        raise ParameterError(
            f"a {column.kind} has no {ask.statistic}", f"column {column.name}", "ask for its histogram"
        )
    if ask.statistic in (MODE, TOP) and column.numeric:
        hint = "ask for its histogram, whose largest bins it shows"
        raise ParameterError("there are most frequent values only of columns of names", f"column {column.name}", hint)
    if ask.bins is not None and not column.numeric:
        raise ParameterError(f"a {column.kind} has a bin for each value", f"column {column.name}", "leave bins out")
    if ask.statistic == COUNT and column.missing != "own-value" and not ask.by:
        raise ParameterError(
            "every row has a value, and the number of rows is public: this count is known", ask.called, "leave it out"
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
class Asked(Parameters):
    """What a person chooses: columns by statistic (``Age:20``: bins, ``Age:0.1,0.5``: quantiles), or a request."""

    count: tuple[str, ...] | None = _columns("COL", "how many rows have a value in COL (with --by: of each group)")
    histogram: tuple[str, ...] | None = _columns("COL[:BINS]", "how many rows are in each bin of COL")
    mean: tuple[str, ...] | None = _columns("COL", "mean of COL")
    sum: tuple[str, ...] | None = _columns("COL", "sum of COL")
    quantiles: tuple[str, ...] | None = _columns("COL[:0.1,0.5]", "quantiles of COL (default 0.25, 0.5 and 0.75)")
    variance: tuple[str, ...] | None = _columns("COL", "variance of COL: mean squared distance from the mean")
    std: tuple[str, ...] | None = _columns("COL", "standard deviation of COL: the root of its variance")
    mode: tuple[str, ...] | None = _columns("COL", "the most frequent value of COL, a column of names")
    covariance: tuple[str, ...] | None = _columns("COL,COL", "covariance of two columns")
    correlation: tuple[str, ...] | None = _columns("COL,COL", "correlation of two columns")
    regression: tuple[str, ...] | None = _columns("Y,COL,…", "coefficients of a linear regression of Y on the others")
    ranges: tuple[str, ...] | None = _columns(
        "COL[:BINS]", "how many rows are up to each value of COL: of any range, the difference of two of them"
    )
    top: tuple[str, ...] | None = _columns("COL[:3]", "the most frequent values of COL, with their counts")
    table: tuple[str, ...] | None = _columns(
        "COL,COL,…[:2]", "counts of all combinations and the sums at its margins; :2 of at most two columns each"
    )
    by: tuple[str, ...] | None = texts(
        default=None,
        repeated=True,
        symbol="COL[:PERIOD]",
        help="of each group that COL makes, or each day, week, month, quarter or year of dates (born:month)",
    )
    request: str | None = text(
        default=None, file="request", symbol="FILE", help="what is asked for, as [[figure]] tables (TOML)"
    )
    figure: tuple[Statistic, ...] | None = records(Statistic, default=None, help="the same as a list, from Python")

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
            raise ParameterError("--request names everything that is asked for", hint="leave the other options out")
        if self.request is not None:
            return Request.from_plain(read_toml(Path(self.request), "request"), self.request).checked(plan)
        chosen = self.figure if self.figure is not None else tuple(figures) or usual_request(plan).figures
        return Request(figures=chosen).checked(plan)
