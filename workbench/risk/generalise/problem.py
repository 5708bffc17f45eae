"""The rows as the search reads them: coded once, then only grouped.

Rows with one combination of quasi-identifiers are one *entry*. A node of the lattice is a level for each
quasi-identifier. Its classes are made from the classes of a finer node that was grouped before, so that no row is read
again.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.data.table import Table
from workbench.params import InputError
from workbench.risk.distances import classes, coded, coded_by_size, dense, fitting
from workbench.risk.hierarchies.builders import as_number
from workbench.risk.hierarchies.hierarchy import Hierarchy

Whole = NDArray[np.int64]
Truths = NDArray[np.bool_]
Reals = NDArray[np.float64]
Node = tuple[int, ...]

_MOST_KEY = 2**62
_CELLS_AT_ONCE = 1 << 22
_SNAPSHOTS = 64


@dataclass(frozen=True, eq=False)
class Sensitive:
    """A sensitive attribute."""

    name: str
    share: Reals  # the share of each value among all rows; shape (values,). The values are in order: numbers by size.
    hierarchy: Hierarchy | None  # of its values, in the same order; `None` where none was given
    distance: str  # the ground distance that fits its values
    entry: Whole  # of each pair of an entry and a value that occurs, the entry
    value: Whole  # the value of each pair
    count: Whole  # the rows of each pair


@dataclass(frozen=True, eq=False)
class Groups:
    """The classes of a node."""

    of: Whole  # the class of each entry; shape (entries,)
    first: Whole  # an entry of each class; shape (classes,)
    sizes: Whole  # the rows of each class
    population: Whole  # the people of a population in each class; all 0 where there is none

    @property
    def occupied(self) -> Truths:
        """Which classes have rows; others have people of the population alone."""
        return self.sizes > 0


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows, hierarchies and sensitive attributes."""

    names: tuple[str, ...]  # the quasi-identifiers
    hierarchies: tuple[Hierarchy, ...]  # of each the hierarchy of the values that occur, in the order of their codes
    columns: tuple[Whole, ...]  # the code of each entry, by quasi-identifier
    count: Whole  # the rows of each entry; shape (entries,)
    population: Whole  # the people of the population of each entry; all 0 where there is none
    entry_of: Whole  # the entry of each row; shape (rows,)
    sensitive: tuple[Sensitive, ...] = ()  # the sensitive attributes
    # The classes that a classifier is to predict, as a sensitive attribute; `None` where there are none.
    target: Sensitive | None = None
    # The share of all other values of its hierarchy, also of those that do not occur, that the label of a value may be
    # as well; by quasi-identifier, by level, each of shape (values,).
    spread: tuple[tuple[Reals, ...], ...] = ()
    memo: dict[str, Any] = field(default_factory=dict, repr=False)  # what is computed once for all nodes
    _kept: list[tuple[Node, Groups]] = field(default_factory=list, repr=False)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.entry_of)

    @property
    def top(self) -> Node:
        """The node at which everything is generalised to one label."""
        return tuple(h.height for h in self.hierarchies)

    @property
    def bottom(self) -> Node:
        """The node at which nothing is generalised."""
        return (0,) * len(self.names)

    @property
    def nodes(self) -> int:
        """The number of nodes of the lattice."""
        return math.prod(height + 1 for height in self.top)

    @cached_property
    def everything(self) -> Groups:
        """Each entry as a class of its own."""
        all_ = np.arange(len(self.count))
        return Groups(all_, all_, self.count, self.population)

    def grouped(self, node: Node) -> Groups:
        """Return the classes of a node, from those of the coarsest node below it that was grouped lately."""
        start, place = self.everything, np.asarray(node)
        for other, groups in self._kept:
            if len(groups.first) < len(start.first) and (np.asarray(other) <= place).all():
                start = groups
        made = self.joined(start, node)
        self._kept.append((node, made))
        if len(self._kept) > _SNAPSHOTS:
            # Fine nodes serve nearly everything, coarse ones cost next to nothing: the oldest goes.
            del self._kept[0]
        return made

    def joined(self, start: Groups, node: Node) -> Groups:
        """Return the classes of a node, made of the finer classes ``start``."""
        key, cells = np.zeros(len(start.first), dtype=np.int64), 1
        for hierarchy, column, level in zip(self.hierarchies, self.columns, node, strict=True):
            labels = len(hierarchy.labels[level])
            if labels == 1:
                continue
            if cells * labels > _MOST_KEY:
                key, _ = dense(key)
                cells = int(key.max(initial=0)) + 1
            key = key * labels + hierarchy.codes[level][column[start.first]]
            cells *= labels
        of, joined = dense(key)
        count = len(joined)
        first = np.empty(count, dtype=np.int64)
        first[of] = start.first
        sizes = np.bincount(of, weights=start.sizes, minlength=count).astype(np.int64)
        population = start.population
        if population.any():
            population = np.bincount(of, weights=population, minlength=count).astype(np.int64)
        else:
            population = np.zeros(count, dtype=np.int64)
        return Groups(of[start.of], first, sizes, population)

    def part(self, entries: Whole) -> Problem:
        """Return the problem of some entries alone, numbered anew; its number of rows is still that of all."""
        number = np.full(len(self.count), -1)
        number[entries] = np.arange(len(entries))
        return dataclasses.replace(
            self,
            columns=tuple(column[entries] for column in self.columns),
            count=self.count[entries],
            population=self.population[entries],
            sensitive=tuple(_part(of, number) for of in self.sensitive),
            target=None if self.target is None else _part(self.target, number),
            memo={},
            _kept=[],
        )

    def published(self, levels: Whole) -> Groups:
        """Return the classes of a table whose entries have levels of their own, shape (entries, quasi-identifiers).

        Two entries are in one class where what is published of them is the same text.
        """
        codes = []
        for place, hierarchy in enumerate(self.hierarchies):
            text: dict[str, int] = {}
            table = [[text.setdefault(label, len(text)) for label in level] for level in hierarchy.levels]
            codes.append(np.array(table, dtype=np.int64)[levels[:, place], self.columns[place]])
        of, first = _entries(codes)
        sizes, people = (np.bincount(of, weights=w, minlength=len(first)) for w in (self.count, self.population))
        return Groups(of, first, sizes.astype(np.int64), people.astype(np.int64))

    def histograms(self, groups: Groups, of: Sensitive, judged: Truths, judge: Callable[[Reals], Whole]) -> Whole:
        """Return what ``judge`` says of the histograms (classes, values) of the ``judged`` classes, and 0 elsewhere."""
        places = np.flatnonzero(judged)
        number = np.full(len(judged), -1)
        number[places] = np.arange(len(places))
        cls, values = number[groups.of[of.entry]], len(of.share)
        out = np.zeros(len(judged), dtype=np.int64)
        at_once = max(1, _CELLS_AT_ONCE // values)
        order = np.argsort(cls, kind="stable") if len(places) > at_once else None
        for begin in range(0, len(places), at_once):
            end = min(begin + at_once, len(places))
            if order is None:
                chosen = np.flatnonzero(cls >= 0)
            else:
                ordered = cls[order]
                chosen = order[np.searchsorted(ordered, begin) : np.searchsorted(ordered, end)]
            key = (cls[chosen] - begin) * values + of.value[chosen]
            weights = of.count[chosen].astype(np.float64)
            counts = np.bincount(key, weights=weights, minlength=(end - begin) * values).astype(np.float64)
            out[places[begin:end]] = judge(counts.reshape(end - begin, values))
        return out


def _part(of: Sensitive, number: Whole) -> Sensitive:
    entry = number[of.entry]
    kept = entry >= 0
    return dataclasses.replace(of, entry=entry[kept], value=of.value[kept], count=of.count[kept])


@dataclass(frozen=True)
class Asked:
    """Which columns a problem is made of: ``target`` is the one that a classifier is to predict."""

    quasi: tuple[str, ...]
    sensitive: tuple[str, ...] = ()
    target: str | None = None


def problem(
    table: Table, asked: Asked, hierarchies: Mapping[str, Hierarchy], population: Table | None = None
) -> Problem:
    """Return the rows of a table as the search sees them.

    Raises:
        InputError: the table has no row or lacks a column, or a value has no line in its hierarchy.
    """
    if not asked.quasi:
        raise InputError("no quasi-identifiers are given", table.source, "list the columns that an outsider may know")
    if not table.rows:
        raise InputError("the table has no rows", table.source, "give at least one row")
    for name in asked.sensitive:
        if name in asked.quasi:
            what = f"the column {name} is both a quasi-identifier and sensitive"
            raise InputError(what, table.source, "list it only once")
    both = [table] if population is None else [table, population]
    codes, occurring = [], []
    for name in asked.quasi:
        column, hierarchy = _together(both, name, hierarchies)
        codes.append(column)
        occurring.append(hierarchy)
    entry_of, first = _entries(codes)
    rows = np.bincount(entry_of[: table.rows], minlength=len(first))
    people = np.bincount(entry_of[table.rows :], minlength=len(first))
    entry_of = entry_of[: table.rows]
    made = [_sensitive(table, name, hierarchies.get(name), entry_of) for name in asked.sensitive]
    target = None if asked.target is None else _sensitive(table, asked.target, None, entry_of)
    columns = tuple(column[first] for column in codes)
    spread = tuple(_spread(hierarchies[name], own) for name, own in zip(asked.quasi, occurring, strict=True))
    return Problem(asked.quasi, tuple(occurring), columns, rows, people, entry_of, tuple(made), target, spread)


def _spread(whole: Hierarchy, occurring: Hierarchy) -> tuple[Reals, ...]:
    place = {value: number for number, value in enumerate(whole.values)}
    places = np.array([place.get(value, -1) for value in occurring.values])
    out, others = [], max(len(whole.values) - 1, 1)
    for level in range(whole.height + 1):
        leaves = whole.leaves(level)[places]
        # A missing value, which has no line, is like no other one below the top.
        alone = len(whole.values) if level == whole.height else 1
        out.append((np.where(places >= 0, leaves, alone) - 1) / others)
    return tuple(out)


def _together(tables: Sequence[Table], name: str, known: Mapping[str, Hierarchy]) -> tuple[Whole, Hierarchy]:
    """Return the codes of a column of all tables, one below the other, and the hierarchy of the values that occur."""
    values: dict[str | None, int] = {}
    codes = []
    for table in tables:
        found, own = coded(table, name)
        places = np.array([values.setdefault(value, len(values)) for value in own], dtype=np.int64)
        codes.append(places[found])
    return np.concatenate(codes), known[name].of(list(values), name)


def _entries(codes: Sequence[Whole]) -> tuple[Whole, Whole]:
    """Return the number of each row's combination of codes, and one row with each combination."""
    of = classes(codes, len(codes[0])).of
    first = np.empty(int(of.max(initial=-1)) + 1, dtype=np.int64)
    first[of] = np.arange(len(of))
    return of, first


def _sensitive(table: Table, name: str, hierarchy: Hierarchy | None, entry_of: Whole) -> Sensitive:
    codes, values, numbers = coded_by_size(table, name)
    if not numbers:
        order = sorted(range(len(values)), key=lambda place: _rank(values, place))
        rank = np.empty(len(values), dtype=np.int64)
        rank[order] = np.arange(len(values))
        codes, values = rank[codes], [values[place] for place in order]
    key, count = np.unique(entry_of * len(values) + codes, return_counts=True)
    share = np.bincount(codes, minlength=len(values)) / len(codes)
    own = None if hierarchy is None else hierarchy.of(values, name)
    fits = fitting(grouped=own is not None, numbers=numbers)
    return Sensitive(name, share, own, fits, key // len(values), key % len(values), count)


def _rank(values: Sequence[str | None], place: int) -> tuple[int, float, str]:
    """Return where a value is in order: numbers by size, then texts, then what is missing."""
    value = values[place]
    if value is None:
        return 2, 0.0, ""
    try:
        return 0, as_number(value), value
    except ValueError:
        return 1, 0.0, value
