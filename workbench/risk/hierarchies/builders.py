"""Builders of generalisation hierarchies, which of them fits a column, and folders of hierarchy files.

A way is a :class:`Builder` with its parameters, and a line in :data:`BUILDERS`.
"""

from __future__ import annotations

import contextlib
import datetime
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import polars as pl

from workbench.data.columns.grid import LONG_RANGE_CELLS
from workbench.data.columns.missing import uncoded
from workbench.data.schema import Declaration
from workbench.data.table import Table
from workbench.params import InputError, ParameterError, Parameters, choice, declared_by, integer, real, texts
from workbench.params.field import named
from workbench.params.lists import LevelsField
from workbench.risk.hierarchies.hierarchy import ANY, Hierarchy, file_name, read_hierarchy

Labels = list[Sequence[str]]  # of each level the labels of values


@dataclass(frozen=True, kw_only=True)
class Builder(Parameters):
    """A hierarchy builder of the values of a column."""

    name: ClassVar[str]
    title: ClassVar[str]
    help: ClassVar[str]

    def levels(self, values: Sequence[str]) -> Labels:
        """Return the labels of level 1 and above, without the last ``*``.

        Raises:
            ParameterError: a value is not such as this way takes.
        """
        raise NotImplementedError

    def build(self, values: Sequence[str]) -> Hierarchy:
        """Return the hierarchy of ``values``; levels that change nothing are left out, and the last is ``*``.

        Raises:
            ParameterError: a value is not such as this way takes.
            InputError: there is no value.
        """
        made = [tuple(values)]
        for level in (*map(tuple, self.levels(values)), tuple(ANY for _ in values)):
            if level != made[-1]:
                made.append(level)
        return Hierarchy(tuple(made))


def as_number(value: str) -> float:
    """Return a value as a number.

    Raises:
        ParameterError: it is none.
    """
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ParameterError(f"the value {value!r} is not a number", hint="choose another hierarchy builder")
    return number


def digits(number: float) -> str:
    """Return a number as a label: 20 for 20.0."""
    return f"{number:.12g}"


def in_order(values: Sequence[str]) -> list[str]:
    """Return values in the order of a hierarchy's file: numeric or alphabetical order."""
    try:
        return sorted(values, key=lambda value: (as_number(value), value))
    except ParameterError:
        return sorted(values)


_STEPS = (1.0, 2.0, 5.0, 10.0)


@dataclass(frozen=True, kw_only=True)
class Intervals(Builder):
    """Widths, and where the first interval begins."""

    name = "intervals"
    title = "intervals"
    help = "groups numbers into intervals, wider at each level"

    widths: tuple[float, ...] | None = declared_by(
        LevelsField(
            most=20, help="interval width of each level, each a multiple of the one before", empty="from range"
        ),
        default=None,
    )
    start: float = real(default=0, at_least=-1e12, upto=1e12, help="a number where an interval starts")
    lowest: float | None = real(
        default=None, at_least=-1e12, upto=1e12, help="all numbers below this form one group", empty="none"
    )
    highest: float | None = real(
        default=None, at_least=-1e12, upto=1e12, help="this and all numbers above form one group", empty="none"
    )

    def __post_init__(self) -> None:
        """Check that each interval is part of one interval of the next level."""
        super().__post_init__()
        for narrow, wide in itertools.pairwise(self.widths or ()):
            if not math.isclose(wide / narrow, round(wide / narrow), rel_tol=1e-9):
                what = f"widths: {digits(wide)} is not a multiple of {digits(narrow)}"
                raise ParameterError(what, hint="the next level would split an interval; use multiples")
        if self.lowest is not None and self.highest is not None and not self.lowest < self.highest:
            raise ParameterError("lowest is not below highest", hint="swap or correct them", field="lowest")

    def levels(self, values: Sequence[str]) -> Labels:
        """Return the interval of each number at each width."""
        numbers = [as_number(value) for value in values]
        widths = self.widths or _by_range(numbers)
        whole = all(n.is_integer() for n in (*numbers, *widths, self.start)) and min(numbers) >= 0 and self.start >= 0
        return [[self._label(number, width, whole=whole) for number in numbers] for width in widths]

    def _label(self, number: float, width: float, *, whole: bool) -> str:
        if self.lowest is not None and number < self.lowest:
            return f"<{digits(self.lowest)}"
        if self.highest is not None and number >= self.highest:
            return f">={digits(self.highest)}"
        # Half a billionth of a width: 0.3 / 0.1 is 2.9999999999999996.
        low = self.start + width * math.floor((number - self.start) / width + 5e-10)
        low, high = round(low, 9), round(low + width, 9)
        if not whole:
            return f"[{digits(low)}, {digits(high)})"
        return digits(low) if width == 1 else f"{digits(low)}-{digits(high - 1)}"


def _by_range(numbers: Sequence[float]) -> tuple[float, ...]:
    """Return four widths, each twice the one before; the narrowest is some twentieth of the range."""
    span = max(numbers) - min(numbers) or 1.0
    power = 10.0 ** math.floor(math.log10(span / 20))
    narrow = next(power * step for step in _STEPS if power * step >= span / 20 * (1 - 1e-9))
    if all(number.is_integer() for number in numbers):
        narrow = max(narrow, 2.0 if span < 20 else 1.0)
    widths = (narrow * 2**i for i in range(4) if i == 0 or narrow * 2**i < span)
    return tuple(float(f"{width:.12g}") for width in widths)


UNITS: Mapping[str, Callable[[datetime.date], str]] = {
    "month": lambda d: f"{d.year:04d}-{d.month:02d}",
    "quarter": lambda d: f"{d.year:04d}-Q{(d.month + 2) // 3}",
    "year": lambda d: f"{d.year:04d}",
    "decade": lambda d: f"{d.year // 10 * 10}s",
    "century": lambda d: f"{d.year // 100 * 100}s century",
}
"""What a level keeps, the finest first."""


@dataclass(frozen=True, kw_only=True)
class Dates(Builder):
    """What each level keeps of a date."""

    name = "dates"
    title = "dates"
    help = "reduces dates to coarser units at each level"

    steps: tuple[str, ...] = texts(
        default=("month", "year", "decade"), shortest=1, help=f"what each level keeps, from {', '.join(UNITS)}"
    )

    def __post_init__(self) -> None:
        """Check that they are known, and put them in order."""
        super().__post_init__()
        unknown = [step for step in self.steps if step not in UNITS]
        if unknown:
            raise ParameterError(f"{unknown[0]!r} is not a part of a date", "steps", f"choose from {', '.join(UNITS)}")
        object.__setattr__(self, "steps", tuple(sorted(self.steps, key=list(UNITS).index)))

    def levels(self, values: Sequence[str]) -> Labels:
        dates = [_date(value) for value in values]
        return [[UNITS[step](date) for date in dates] for step in self.steps]


def _date(value: str) -> datetime.date:
    try:
        return datetime.datetime.fromisoformat(value.strip()).date()
    except ValueError:
        what = f"the value {value!r} is not a date such as 2024-01-31"
        raise ParameterError(what, hint="choose another hierarchy builder") from None


@dataclass(frozen=True, kw_only=True)
class Masking(Builder):
    """Which end is masked, and how many characters at each level."""

    name = "masking"
    title = "masking"
    help = "masks characters from the end or the start"

    end: str = choice(
        choices=("suffix", "prefix"), default="suffix", help="whether to mask the last or the first characters"
    )
    step: int = integer(default=1, at_least=1, upto=100, help="number of characters masked by each further level")
    keep: int = integer(default=1, at_least=0, upto=100, help="number of characters kept at the last level before *")

    def levels(self, values: Sequence[str]) -> Labels:
        """Return the values with ever more characters masked."""
        longest = max(map(len, values), default=0)
        counts = range(self.step, max(longest - self.keep, 0) + 1, self.step)
        return [[self._masked(value, min(count, len(value))) for value in values] for count in counts]

    def _masked(self, value: str, count: int) -> str:
        return value[: len(value) - count] + "*" * count if self.end == "suffix" else "*" * count + value[count:]


@dataclass(frozen=True, kw_only=True)
class Rounding(Builder):
    """To what each level rounds."""

    name = "rounding"
    title = "rounding"
    help = "rounds numbers more coarsely at each level"

    steps: tuple[float, ...] = declared_by(
        LevelsField(most=20, help="rounding unit of each level; each level rounds the numbers of the previous level"),
        default=(5.0, 10.0, 100.0),
    )

    def levels(self, values: Sequence[str]) -> Labels:
        numbers, out = [as_number(value) for value in values], Labels()
        for step in self.steps:
            # Of the rounded number, not of the original: otherwise a level would separate what the one below it joins.
            numbers = [round(step * math.floor(number / step + 0.5 + 1e-12), 9) for number in numbers]
            out.append([digits(number + 0.0) for number in numbers])
        return out


@dataclass(frozen=True, kw_only=True)
class Order(Builder):
    """How many neighbours a group has, and the order."""

    name = "order"
    title = "groups in order"
    help = "merges neighbouring values into groups, and groups into larger ones"

    size: int = integer(default=2, at_least=2, upto=10_000, help="number of groups that the next level merges")
    order: tuple[str, ...] | None = texts(
        default=None, help="the values in order", empty="numeric or alphabetical order"
    )

    def levels(self, values: Sequence[str]) -> Labels:
        """Return the first and the last value of each group."""
        order = list(self.order) if self.order is not None else in_order(values)
        place = {value: rank for rank, value in enumerate(order)}
        unknown = [value for value in values if value not in place]
        if unknown:
            raise ParameterError(f"the value {unknown[0]!r} is not in the order", "order", "list every value once")
        out, size = Labels(), self.size
        while size < len(order):
            groups = [order[first : first + size] for first in range(0, len(order), size)]
            labels = [group[0] if len(group) == 1 else f"{group[0]} - {group[-1]}" for group in groups]
            out.append([labels[place[value] // size] for value in values])
            size *= self.size
        return out


@dataclass(frozen=True, kw_only=True)
class Tree(Builder):
    """The groups."""

    name = "tree"
    title = "category tree"
    help = "groups categories, and merges groups into larger ones"

    groups: tuple[str, ...] = texts(
        default=(),
        repeated=True,
        help="a group and its members, NAME = member | member; a member is a value or another listed group",
        empty="NAME = member | member, NAME = member | member",
    )

    def levels(self, values: Sequence[str]) -> Labels:
        """Return the groups of each value, the smallest first."""
        parent: dict[str, str] = {}
        for group in self.groups:
            name, equals, members = (part.strip() for part in group.partition("="))
            if not name or not equals:
                raise ParameterError(f"the group {group!r} has no name or no members", "groups", "write NAME = a | b")
            for member in (part.strip() for part in members.split("|")):
                if parent.setdefault(member, name) != name:
                    raise ParameterError(f"{member!r} is in two groups: {parent[member]!r} and {name!r}", "groups")
        paths = {value: _path(value, parent) for value in values}
        depth = max((len(path) for path in paths.values()), default=1)
        # A value with fewer groups above it keeps its highest one until the others have reached theirs.
        return [[paths[value][min(level, len(paths[value]) - 1)] for value in values] for level in range(1, depth)]


def _path(value: str, parent: dict[str, str]) -> list[str]:
    path = [value]
    while path[-1] in parent:
        path.append(parent[path[-1]])
        if path[-1] in path[:-1]:
            raise ParameterError(f"the group {path[-1]!r} contains itself", "groups", "take it out of its members")
    return path


_FEWEST_CODES, _SHORTEST_CODE = 5, 3


def suggested(values: Sequence[str]) -> Builder:
    """Return a hierarchy builder of values, by what they look like."""
    lengths = {len(value) for value in values}
    padded = any(value.startswith("0") and value.isdigit() and len(value) > 1 for value in values)
    coded = len(lengths) == 1 and min(lengths) >= _SHORTEST_CODE and all(any(map(str.isdigit, v)) for v in values)
    ways: tuple[Builder, ...] = (Dates(),) if padded else (Dates(), Intervals())
    for way in ways:
        with contextlib.suppress(ParameterError):
            way.build(values)
            return way
    return Masking() if padded or (coded and len(values) >= _FEWEST_CODES) else Tree()


def public_values(column: Declaration) -> list[str]:
    """Return the values that a column is declared to have; empty where nobody declared them, or they are too many."""
    if column.domain is not None:
        return list(column.domain)
    if column.kind == "integer" and column.lower is not None and column.upper is not None:
        low, high = math.ceil(column.lower), math.floor(column.upper)
        return [str(n) for n in range(low, high + 1)] if high - low < LONG_RANGE_CELLS else []
    return []


BUILDERS: tuple[type[Builder], ...] = (Intervals, Dates, Masking, Rounding, Order, Tree)


def builder(name: str) -> type[Builder]:
    """Return the way called ``name``.

    Raises:
        ParameterError: there is none; the message suggests a similar name.
    """
    return named(BUILDERS, name, "hierarchy builder")


def read_hierarchies(folder: Path, quasi: Iterable[str], sensitive: Iterable[str] = ()) -> dict[str, Hierarchy]:
    """Return the hierarchies of columns; a sensitive one need not have any.

    Raises:
        InputError: a quasi-identifier has no file, or a file is no hierarchy.
    """
    found = {}
    for name in quasi:
        path = folder / file_name(name)
        if not path.is_file():
            hint = f"add {path.name}, or write one with --make"
            raise InputError(f"the column {name} has no hierarchy", str(path), hint, code="no-hierarchy", field=name)
        found[name] = read_hierarchy(path)
    for name in sensitive:
        path = folder / file_name(name)
        if path.is_file():
            found[name] = read_hierarchy(path)
    return found


def values_of(table: Table, name: str, attribute: Declaration | None = None) -> list[str]:
    """Return the values of a column in order: those that are declared and those that occur."""
    own = uncoded(table, name).cast(pl.String).drop_nulls().unique().to_list()
    return in_order(list({*own, *([] if attribute is None else public_values(attribute))}))


def made(table: Table, name: str, way: Builder | None = None, attribute: Declaration | None = None) -> Hierarchy:
    """Return a hierarchy of the values of a column, made in one way, or as its values suggest.

    Raises:
        InputError: the column is empty.
        ParameterError: its values cannot be made into one in this way.
    """
    values = values_of(table, name, attribute)
    if not values:
        raise InputError(f"the column {name} has no value", table.source, "leave it out of the quasi-identifiers")
    try:
        return (way or suggested(values)).build(values)
    except ParameterError as error:
        raise error.at(f"column {name}") from None


def way_of(words: str) -> tuple[str, Builder]:
    """Return a column and the way to make its hierarchy, written ``COLUMN=BUILDER`` or ``COLUMN=BUILDER:key=value;…``.

    Raises:
        ParameterError: it is not written so, or the builder or one of its parameters is not known.
    """
    column, equals, rest = words.partition("=")
    if not equals:
        raise ParameterError(f"{words!r} is not a hierarchy builder", "--build", "write COLUMN=BUILDER:key=value;…")
    name, _, stated = rest.partition(":")
    chosen = builder(name.strip())
    declared = chosen.declared()
    given: dict[str, object] = {}
    for pair in filter(None, (part.strip() for part in stated.split(";"))):
        key, _, value = (part.strip() for part in pair.partition("="))
        if key not in declared:
            known = ", ".join(declared)
            raise ParameterError(f"{key!r} is not a parameter of {chosen.name}", "--build", f"choose from {known}")
        given[key] = declared[key].parse(value, f"{chosen.name} {key}")
    return column.strip(), chosen(**given)


def absent(folder: Path, names: Iterable[str]) -> Mapping[str, Path]:
    """Return the file of each column that has none in the folder yet."""
    return {name: folder / file_name(name) for name in names if not (folder / file_name(name)).exists()}
