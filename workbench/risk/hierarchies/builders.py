"""Ways to make a generalisation hierarchy, and which of them fits a column; folders with a file for each column.

A way is a :class:`Builder` and a line in :data:`BUILDERS`.
"""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from workbench.data.columns.grid import LONG_RANGE_CELLS
from workbench.data.table import Table
from workbench.params import InputError, ParameterError, Parameters, choice, declared_by, integer, real, texts
from workbench.params.field import named
from workbench.params.lists import LevelsField
from workbench.risk.hierarchies.hierarchy import ANY, Hierarchy, file_name, read_hierarchy

Levels = Callable[[Any, Sequence[str]], list[Sequence[str]]]


@dataclass(frozen=True, kw_only=True)
class Builder:
    """One way to make a hierarchy of the values of a column; a file of this folder declares one.

    Attributes:
        levels: returns the labels of level 1 and above, without the last ``*``, of values.
    """

    name: str
    title: str
    help: str
    parameters: type[Parameters]
    levels: Levels

    def build(self, values: Sequence[str], parameters: Parameters | None = None) -> Hierarchy:
        """Return the hierarchy of ``values``; levels that change nothing are left out, and the last is ``*``.

        Raises:
            ParameterError: the parameters do not fit, or a value is not such as this builder takes.
            InputError: there is no value.
        """
        given = self.parameters() if parameters is None else parameters
        made = [tuple(values)]
        for level in (*map(tuple, self.levels(given, values)), tuple(ANY for _ in values)):
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
        raise ParameterError(f"the value {value!r} is not a number", hint="choose another way to make the hierarchy")
    return number


def digits(number: float) -> str:
    """Return a number as a label: 20 for 20.0."""
    return f"{number:.12g}"


def in_order(values: Sequence[str]) -> list[str]:
    """Return values in the order of a hierarchy's file: numbers by size, other values by the alphabet."""
    try:
        return sorted(values, key=lambda value: (as_number(value), value))
    except ParameterError:
        return sorted(values)


_STEPS = (1.0, 2.0, 5.0, 10.0)


@dataclass(frozen=True, kw_only=True)
class Intervals(Parameters):
    """Widths, and where the first interval begins."""

    widths: tuple[float, ...] | None = declared_by(
        LevelsField(
            most=20,
            help="the width of the intervals of each level, each a multiple of the one before",
            empty="by range",
        ),
        default=None,
    )
    start: float = real(default=0, at_least=-1e12, upto=1e12, help="a number at which an interval begins")
    lowest: float | None = real(
        default=None, at_least=-1e12, upto=1e12, help="all numbers below it are one group", empty="none"
    )
    highest: float | None = real(
        default=None, at_least=-1e12, upto=1e12, help="it and all above are one group", empty="none"
    )

    def __post_init__(self) -> None:
        """Check that each interval is part of one interval of the next level."""
        super().__post_init__()
        for narrow, wide in itertools.pairwise(self.widths or ()):
            if not math.isclose(wide / narrow, round(wide / narrow), rel_tol=1e-9):
                what = f"widths: {digits(wide)} is not a multiple of {digits(narrow)}"
                raise ParameterError(what, hint="an interval would be cut by the next level; give multiples")
        if self.lowest is not None and self.highest is not None and not self.lowest < self.highest:
            raise ParameterError("lowest is not below highest", hint="swap or correct them", field="lowest")


def _intervals_levels(given: Intervals, values: Sequence[str]) -> list[Sequence[str]]:
    numbers = [as_number(value) for value in values]
    widths = given.widths or _by_range(numbers)
    whole = all(n.is_integer() for n in (*numbers, *widths, given.start)) and min(numbers) >= 0 and given.start >= 0
    return [[_intervals_label(number, width, given, whole=whole) for number in numbers] for width in widths]


def _by_range(numbers: Sequence[float]) -> tuple[float, ...]:
    """Return four widths, each twice the one before; the narrowest is some twentieth of the range."""
    span = max(numbers) - min(numbers) or 1.0
    power = 10.0 ** math.floor(math.log10(span / 20))
    narrow = next(power * step for step in _STEPS if power * step >= span / 20 * (1 - 1e-9))
    if all(number.is_integer() for number in numbers):
        narrow = max(narrow, 2.0 if span < 20 else 1.0)
    widths = (narrow * 2**i for i in range(4) if i == 0 or narrow * 2**i < span)
    return tuple(float(f"{width:.12g}") for width in widths)


def _intervals_label(number: float, width: float, given: Intervals, *, whole: bool) -> str:
    if given.lowest is not None and number < given.lowest:
        return f"<{digits(given.lowest)}"
    if given.highest is not None and number >= given.highest:
        return f">={digits(given.highest)}"
    # Half a billionth of a width: 0.3 / 0.1 is 2.9999999999999996.
    low = given.start + width * math.floor((number - given.start) / width + 5e-10)
    low, high = round(low, 9), round(low + width, 9)
    if not whole:
        return f"[{digits(low)}, {digits(high)})"
    return digits(low) if width == 1 else f"{digits(low)}-{digits(high - 1)}"


INTERVALS = Builder(
    name="intervals",
    title="intervals",
    help="numbers become intervals that are wider at each level",
    parameters=Intervals,
    levels=_intervals_levels,
)


UNITS: Mapping[str, Callable[[datetime.date], str]] = {
    "month": lambda d: f"{d.year:04d}-{d.month:02d}",
    "quarter": lambda d: f"{d.year:04d}-Q{(d.month + 2) // 3}",
    "year": lambda d: f"{d.year:04d}",
    "decade": lambda d: f"{d.year // 10 * 10}s",
    "century": lambda d: f"{d.year // 100 * 100}s century",
}
"""What a level keeps, the finest first."""


@dataclass(frozen=True, kw_only=True)
class Dates(Parameters):
    """What each level keeps of a date."""

    steps: tuple[str, ...] = texts(
        default=("month", "year", "decade"), shortest=1, help=f"what each level keeps: of {', '.join(UNITS)}"
    )

    def __post_init__(self) -> None:
        """Check that they are known, and put them in order."""
        super().__post_init__()
        unknown = [step for step in self.steps if step not in UNITS]
        if unknown:
            raise ParameterError(f"{unknown[0]!r} is no part of a date", "steps", f"choose of {', '.join(UNITS)}")
        object.__setattr__(self, "steps", tuple(sorted(self.steps, key=list(UNITS).index)))


def _dates_levels(given: Dates, values: Sequence[str]) -> list[Sequence[str]]:
    dates = [_date(value) for value in values]
    return [[UNITS[step](date) for date in dates] for step in given.steps]


def _date(value: str) -> datetime.date:
    try:
        return datetime.datetime.fromisoformat(value.strip()).date()
    except ValueError:
        what = f"the value {value!r} is not a date such as 2024-01-31"
        raise ParameterError(what, hint="choose another way to make the hierarchy") from None


DATES = Builder(
    name="dates",
    title="dates",
    help="dates lose the day, then the month, then the year",
    parameters=Dates,
    levels=_dates_levels,
)


MASK = "*"


@dataclass(frozen=True, kw_only=True)
class Masking(Parameters):
    """Which end is masked, and how many characters at each level."""

    end: str = choice(choices=("suffix", "prefix"), default="suffix", help="whether the last or the first are masked")
    step: int = integer(default=1, at_least=1, upto=100, help="how many more characters each level masks")
    keep: int = integer(default=1, at_least=0, upto=100, help="how many characters the last level before * keeps")


def _masking_levels(given: Masking, values: Sequence[str]) -> list[Sequence[str]]:
    longest = max(map(len, values), default=0)
    counts = range(given.step, max(longest - given.keep, 0) + 1, given.step)
    return [[_masked(value, count, given.end) for value in values] for count in counts]


def _masked(value: str, count: int, end: str) -> str:
    count = min(count, len(value))
    return value[: len(value) - count] + MASK * count if end == "suffix" else MASK * count + value[count:]


MASKING = Builder(
    name="masking",
    title="masking",
    help="characters are masked one after another, from the end or the beginning",
    parameters=Masking,
    levels=_masking_levels,
)


@dataclass(frozen=True, kw_only=True)
class Rounding(Parameters):
    """To what each level rounds."""

    steps: tuple[float, ...] = declared_by(
        LevelsField(most=20, help="each level rounds what the level before it rounded to a multiple of this number"),
        default=(5.0, 10.0, 100.0),
    )


def _rounding_levels(given: Rounding, values: Sequence[str]) -> list[Sequence[str]]:
    numbers, out = [as_number(value) for value in values], []
    for step in given.steps:
        # Of the rounded number, not of the original: otherwise a level would separate what the one below it joins.
        numbers = [round(step * math.floor(number / step + 0.5 + 1e-12), 9) for number in numbers]
        out.append([digits(number + 0.0) for number in numbers])
    return list(out)


ROUNDING = Builder(
    name="rounding",
    title="rounding",
    help="numbers are rounded more coarsely at each level",
    parameters=Rounding,
    levels=_rounding_levels,
)


@dataclass(frozen=True, kw_only=True)
class Order(Parameters):
    """How many neighbours a group has, and the order."""

    size: int = integer(default=2, at_least=2, upto=10_000, help="how many groups of a level the next one joins")
    order: tuple[str, ...] | None = texts(
        default=None, help="the values in their order", empty="numbers by size, other values by the alphabet"
    )


def _order_levels(given: Order, values: Sequence[str]) -> list[Sequence[str]]:
    order = list(given.order) if given.order is not None else in_order(values)
    place = {value: rank for rank, value in enumerate(order)}
    unknown = [value for value in values if value not in place]
    if unknown:
        raise ParameterError(f"the value {unknown[0]!r} is not in the order", "order", "name every value once")
    out, size = [], given.size
    while size < len(order):
        out.append([_order_label(order, place[value] // size * size, size) for value in values])
        size *= given.size
    return list(out)


def _order_label(order: Sequence[str], first: int, size: int) -> str:
    last = min(first + size, len(order)) - 1
    return order[first] if first == last else f"{order[first]} - {order[last]}"


ORDER = Builder(
    name="order",
    title="groups in order",
    help="neighbours in an order are joined into groups, and groups into larger ones",
    parameters=Order,
    levels=_order_levels,
)


@dataclass(frozen=True, kw_only=True)
class Tree(Parameters):
    """The groups."""

    groups: tuple[str, ...] = texts(
        default=(),
        repeated=True,
        help="a group with its members, NAME = member | member; a member is a value or a group that is listed too",
        empty="NAME = member | member, NAME = member | member",
    )


def _tree_levels(given: Tree, values: Sequence[str]) -> list[Sequence[str]]:
    parent: dict[str, str] = {}
    for group in given.groups:
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


TREE = Builder(
    name="tree",
    title="category tree",
    help="categories are joined into groups, and groups into larger ones",
    parameters=Tree,
    levels=_tree_levels,
)


_FEWEST_CODES, _SHORTEST_CODE = 5, 3


def suggested(values: Sequence[str]) -> tuple[Builder, Parameters]:
    """Return a way to make a hierarchy of values, by what they look like."""
    lengths = {len(value) for value in values}
    padded = any(value.startswith("0") and value.isdigit() and len(value) > 1 for value in values)
    coded = len(lengths) == 1 and min(lengths) >= _SHORTEST_CODE and all(any(map(str.isdigit, v)) for v in values)
    for builder in (DATES, INTERVALS):
        if builder is INTERVALS and padded:
            continue
        try:
            builder.build(values)
        except ParameterError:
            continue
        return builder, builder.parameters()
    if padded or (coded and len(values) >= _FEWEST_CODES):
        return MASKING, MASKING.parameters()
    return TREE, TREE.parameters()


class Declared(Protocol):
    """What is declared of a column, in a plan or in the draft of one."""

    @property
    def kind(self) -> str | None:
        """What its values are."""

    @property
    def lower(self) -> float | None:
        """Its lower bound."""

    @property
    def upper(self) -> float | None:
        """Its upper bound."""

    @property
    def domain(self) -> tuple[str, ...] | None:
        """Its values."""


def public_values(column: Declared) -> list[str]:
    """Return the values that a column is declared to have; empty where nobody declared them, or they are too many."""
    if column.domain is not None:
        return list(column.domain)
    if column.kind == "integer" and column.lower is not None and column.upper is not None:
        low, high = math.ceil(column.lower), math.floor(column.upper)
        return [str(n) for n in range(low, high + 1)] if high - low < LONG_RANGE_CELLS else []
    return []


BUILDERS: tuple[Builder, ...] = (INTERVALS, DATES, MASKING, ROUNDING, ORDER, TREE)


def builder(name: str) -> Builder:
    """Return the builder called ``name``.

    Raises:
        ParameterError: there is none; the message suggests a similar name.
    """
    return named(BUILDERS, name, "way to make a hierarchy")


Way = tuple[Builder, Parameters]


def read_hierarchies(folder: Path, quasi: Iterable[str], sensitive: Iterable[str] = ()) -> dict[str, Hierarchy]:
    """Return the hierarchies of columns; a sensitive one need not have any.

    Raises:
        InputError: a quasi-identifier has no file, or a file is no hierarchy.
    """
    found = {}
    for name in quasi:
        path = folder / file_name(name)
        if not path.is_file():
            hint = f"put {path.name} there, or let --make write one"
            raise InputError(f"the column {name} has no hierarchy", str(path), hint, code="no-hierarchy", field=name)
        found[name] = read_hierarchy(path)
    for name in sensitive:
        path = folder / file_name(name)
        if path.is_file():
            found[name] = read_hierarchy(path)
    return found


def values_of(table: Table, name: str, attribute: Declared | None = None) -> list[str]:
    """Return the values of a column in order: those that are declared and those that occur."""
    own = table.column(name).cast(pl.String).drop_nulls().unique().to_list()
    return in_order(list({*own, *([] if attribute is None else public_values(attribute))}))


def made(table: Table, name: str, way: Way | None = None, attribute: Declared | None = None) -> Hierarchy:
    """Return a hierarchy of the values of a column, made in one way, or as its values suggest.

    Raises:
        InputError: the column is empty.
        ParameterError: its values cannot be made into one in this way.
    """
    values = values_of(table, name, attribute)
    if not values:
        raise InputError(f"the column {name} has no value", table.source, "leave it out of the quasi-identifiers")
    chosen, parameters = suggested(values) if way is None else way
    try:
        return chosen.build(values, parameters)
    except ParameterError as error:
        raise error.at(f"column {name}") from None


def way_of(words: str) -> tuple[str, Way]:
    """Return a column and the way to make its hierarchy, written ``COLUMN=BUILDER`` or ``COLUMN=BUILDER:key=value;…``.

    Raises:
        ParameterError: it is not written so, or the builder or one of its parameters is not known.
    """
    column, equals, rest = words.partition("=")
    if not equals:
        raise ParameterError(f"{words!r} is no way to make a hierarchy", "--build", "write COLUMN=BUILDER:key=value;…")
    name, _, stated = rest.partition(":")
    chosen = builder(name.strip())
    declared = chosen.parameters.declared()
    given: dict[str, object] = {}
    for pair in filter(None, (part.strip() for part in stated.split(";"))):
        key, _, value = (part.strip() for part in pair.partition("="))
        if key not in declared:
            known = ", ".join(declared)
            raise ParameterError(f"{key!r} is no parameter of {chosen.name}", "--build", f"choose of {known}")
        given[key] = declared[key].parse(value, f"{chosen.name} {key}")
    return column.strip(), (chosen, chosen.parameters(**given))


def absent(folder: Path, names: Iterable[str]) -> Mapping[str, Path]:
    """Return the file of each column that has none in the folder yet."""
    return {name: folder / file_name(name) for name in names if not (folder / file_name(name)).exists()}
