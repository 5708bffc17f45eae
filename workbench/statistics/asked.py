"""What is asked for: figures of columns, of all rows or of each declared group, read from options or a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from workbench.params import ParameterError, Parameters, choice, integer, real, text, texts
from workbench.params.codec import read_toml
from workbench.params.lists import levels
from workbench.params.nested import records
from workbench.sanitize.plan import Column, Plan

COUNT, HISTOGRAM, MEAN, SUM, QUANTILES, MODE = ("count", "histogram", "mean", "sum", "quantiles", "mode")
VARIANCE, STD = "variance", "std"
STATISTICS = (COUNT, HISTOGRAM, MEAN, SUM, QUANTILES, MODE, VARIANCE, STD)
OF_AMOUNTS = (MEAN, SUM, VARIANCE, STD)
"""Statistics of integers and reals only."""
QUARTERS = (0.25, 0.5, 0.75)


@dataclass(frozen=True, kw_only=True)
class Statistic(Parameters):
    """One statistic of a column, of all rows or by groups."""

    statistic: str = choice(choices=STATISTICS, help="which figure")
    column: str | None = text(default=None, help="of which column; a count by groups needs none")
    by: tuple[str, ...] | None = texts(default=None, shortest=1, help="columns whose declared cells make the groups")
    bins: int | None = integer(default=None, at_least=2, upto=4096, help="bins of a histogram of numbers")
    at: tuple[float, ...] | None = levels(
        default=None, at_least=0.0001, upto=0.9999, most=99, help="which quantiles, 0.5 being the median"
    )
    weight: float = real(default=1.0, above=0, upto=1e6, help="weight in the split of epsilon")

    def __post_init__(self) -> None:
        """Check the values, then that they fit the statistic."""
        super().__post_init__()
        if self.column is None and (self.statistic != COUNT or not self.by):
            raise ParameterError(f"the {self.statistic} names no column", hint="name one; a count may name groups")
        if self.bins is not None and self.statistic != HISTOGRAM:
            raise ParameterError(f"a {self.statistic} has no bins", self.called, "leave them out")
        if self.at is not None and self.statistic != QUANTILES:
            raise ParameterError(f"a {self.statistic} is at no quantile", self.called, "leave it out")
        if self.by is not None and (len(self.by) > 2 or self.column in self.by):
            raise ParameterError("groups are made by one or two other columns", self.called, "name one or two")

    @property
    def called(self) -> str:
        """Its name in messages: ``mean of Pay by City``."""
        of = f" of {self.column}" if self.column is not None else ""
        return f"{self.statistic}{of}" + (f" by {' and '.join(self.by)}" if self.by else "")

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
        seen: set[tuple[str, str | None, tuple[str, ...] | None]] = set()
        for ask in self.figures:
            if (ask.statistic, ask.column, ask.by) in seen:
                raise ParameterError(f"the {ask.called} is asked for twice", hint="ask once")
            seen.add((ask.statistic, ask.column, ask.by))
            for name in (*(ask.by or ()), *((ask.column,) if ask.column is not None else ())):
                protected(plan, name)
            if ask.column is not None:
                _check_kind(ask, plan.column(ask.column))
        return self


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
    if ask.statistic == QUANTILES and not column.numeric:
        raise ParameterError(f"a {column.kind} has no quantiles", f"column {column.name}", "ask for its histogram")
    if ask.statistic == MODE and column.numeric:
        hint = "ask for its histogram, whose largest bins it shows"
        raise ParameterError("there is a most frequent value only of columns of names", f"column {column.name}", hint)
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


def _typed(statistic: str, word: str, by: tuple[str, ...] | None) -> Statistic:
    keys: dict[str, Any] = {"statistic": statistic, "column": word, "by": by}
    name, colon, rest = word.rpartition(":")
    if colon and statistic in (HISTOGRAM, QUANTILES) and rest.replace(",", "").replace(".", "").isdigit():
        field = "bins" if statistic == HISTOGRAM else "at"
        keys |= {"column": name, field: Statistic.declared()[field].parse(rest, f"--{statistic} {word}")}
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
    by: tuple[str, ...] | None = texts(
        default=None, repeated=True, symbol="COL", help="of each group that COL makes; twice at most"
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
        if not figures and self.by:
            figures = [Statistic(statistic=COUNT, by=self.by)]
        if sum((bool(figures), self.request is not None, self.figure is not None)) > 1:
            raise ParameterError("--request names everything that is asked for", hint="leave the other options out")
        if self.request is not None:
            return Request.from_plain(read_toml(Path(self.request), "request"), self.request).checked(plan)
        chosen = self.figure if self.figure is not None else tuple(figures) or usual_request(plan).figures
        return Request(figures=chosen).checked(plan)
