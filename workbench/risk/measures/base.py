"""The base of risk measures: input and result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import polars as pl

from workbench.data.columns.missing import uncoded
from workbench.data.table import Table
from workbench.params import InputError, ParameterError, Parameters, choice, integer, real, texts
from workbench.risk.distances import AUTO, DISTANCE_CHOICES, DISTANCE_HELP, Classes, Codes, classes, coded
from workbench.risk.hierarchies.hierarchy import Hierarchy
from workbench.risk.measures.unique_sets import UniqueSets, unique_sets
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit, Progress, ignore

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class RiskOptions(Parameters):
    """What is measured, and of which columns."""

    quasi: tuple[str, ...] = texts(
        shortest=1, symbol="A,B", help="quasi-identifiers: the columns that an outsider may know about a person"
    )
    sensitive: tuple[str, ...] = texts(
        default=(), symbol="C", help="sensitive columns: what an outsider must not learn about a person"
    )
    sample_fraction: float | None = real(
        default=None,
        at_least=1e-12,
        upto=1.0,
        symbol="F",
        help="share of the population in the table; without it the table is the whole population",
    )
    threshold: float = real(
        default=0.2, above=0.0, upto=1.0, symbol="R", help="count the rows whose risk is above this value"
    )
    recursive: float = real(default=3.0, above=0.0, upto=1e6, symbol="c", help="c of recursive (c, ℓ)-diversity")
    distance: str = choice(choices=DISTANCE_CHOICES, default=AUTO, help=DISTANCE_HELP)
    largest: int | None = integer(
        default=None,
        at_least=1,
        upto=64,
        symbol="M",
        help="maximum size of attribute sets searched for special uniques (default: all but one, or as many as the "
        "work limit allows)",
    )

    def __post_init__(self) -> None:
        """Check that no column is both."""
        super().__post_init__()
        for name in self.quasi:
            if name in self.sensitive:
                raise ParameterError(f"{name!r} is both quasi and sensitive", hint="remove it from one of them")


@dataclass(frozen=True, eq=False)
class Subject:
    """A table with what is asked of it; what several measures need is computed once."""

    table: Table
    options: RiskOptions
    population: Table | None = None  # the rows of the whole population, `None` where nobody has them
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)  # of the sensitive columns that have one
    cancel: CancelToken = field(default_factory=CancelToken)
    emit: Emit = ignore

    def __post_init__(self) -> None:
        """Check that the columns are there.

        Raises:
            InputError: a column is not, or there are no rows.
            ParameterError: both the population and a sample fraction are given.
        """
        self.table.require([*self.options.quasi, *self.options.sensitive])
        if not self.table.rows:
            raise InputError("the table has no rows", self.table.source, "give a table with at least one row")
        if self.population is not None:
            self.population.require(self.options.quasi)
            if self.options.sample_fraction is not None:
                hint = "leave --sample-fraction out"
                raise ParameterError(
                    "the population is given both as a table and as a sample fraction", "--population", hint
                )

    @property
    def rows(self) -> int:
        """The number of rows, n."""
        return self.table.rows

    @property
    def fraction(self) -> float:
        """The share π of the population that the table has; 1 where it is the whole population."""
        people = self.population.rows if self.population is not None else 0
        return self.rows / people if people else self.options.sample_fraction or 1.0

    @cached_property
    def columns(self) -> list[Codes]:
        """The quasi-identifiers as codes."""
        return [coded(self.table, name)[0] for name in self._each(self.options.quasi)]

    @cached_property
    def classes(self) -> Classes:
        """The equivalence classes over the quasi-identifiers."""
        return classes(self._each(self.columns), self.rows)

    def _each(self, columns: Sequence[T]) -> Iterator[T]:
        for done, column in enumerate(columns):
            self.cancel.check()
            self.emit(Progress(done, len(columns), "columns"))
            yield column

    @cached_property
    def sizes(self) -> tuple[np.ndarray, np.ndarray]:
        """The sizes of classes that occur, ascending, and how many classes have each."""
        found = np.unique(self.classes.sizes, return_counts=True)
        return found[0], found[1]

    @property
    def uniques(self) -> int:
        """The number of rows that are alone in their class."""
        return int((self.classes.sizes == 1).sum())

    @cached_property
    def unique_sets(self) -> UniqueSets:
        """Which rows are unique on which sets of quasi-identifiers."""
        return unique_sets(self.columns, self.rows, self.options.largest, cancel=self.cancel, emit=self.emit)

    @cached_property
    def in_population(self) -> np.ndarray | None:
        """The number of people of the population in each class; ``None`` where its table is not known.

        Raises:
            InputError: a class of the table has fewer people in the population than rows here.
        """
        if self.population is None:
            return None
        both = pl.concat(
            [
                pl.DataFrame({name: uncoded(t, name).cast(pl.String) for name in self.options.quasi})
                for t in (self.table, self.population)
            ]
        )
        joint = Table(both, self.population.source)
        found = classes([coded(joint, name)[0] for name in self.options.quasi], both.height)
        people = np.bincount(found.of[self.rows :], minlength=found.sizes.size)
        here = np.zeros(self.classes.sizes.size, dtype=np.int64)
        here[self.classes.of] = people[found.of[: self.rows]]
        if (here < self.classes.sizes).any():
            raise InputError(
                "the population does not contain every row of the table",
                self.population.source,
                "use the table that these rows were sampled from, with the same values",
            )
        return here


@dataclass(frozen=True)
class Line:
    """One figure in words."""

    title: str
    value: str
    help: str = ""
    detail: bool = False  # whether it is one of a list, which a window shows as a table of its own


@dataclass(frozen=True)
class Measure:
    """One measure of what an outsider could learn."""

    name: str
    title: str
    shows: str  # the key of its figures that says they are there
    of: Callable[[Subject], dict[str, Any]]  # the figures of a table, ready for JSON; no two measures share a key
    lines: Callable[[Mapping[str, Any]], list[Line]]  # the same figures in words
    anonymity: bool = False
    sensitive: bool = False
    slow: bool = False  # whether it may take seconds, so that a window shows the others first


def percent(share: float) -> str:
    """Return a share in percent with at most four digits."""
    return f"{100 * share:.4g} %"
