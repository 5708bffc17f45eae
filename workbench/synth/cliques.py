"""A distribution over d columns that depend on each other in cliques, and its exact marginals.

p(x) ∝ Π over cliques e^(θ_C(x_C)). The cliques form a junction tree: those that share a column are connected through
cliques that hold it, too. One pass of messages to the root and one back give every clique's marginal exactly
(Lauritzen & Spiegelhalter 1988), in time linear in the cells of the cliques.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from workbench.synth.tree import Doubles

Columns = tuple[int, ...]


@dataclass(frozen=True)
class CliqueTree:
    """Cliques of columns, each behind the one that it hangs on.

    Attributes:
        sizes: number of cells of each column.
        cliques: the columns of each clique, in the order of the table; every column is in one.
        parents: for each clique the one before it that it hangs on; −1 for the first.
    """

    sizes: Columns
    cliques: tuple[Columns, ...]
    parents: tuple[int, ...]

    @classmethod
    def of(cls, sizes: Sequence[int], groups: Sequence[Columns]) -> Self:
        """Return the tree of cliques of which one holds each of ``groups``.

        Columns are eliminated in an order that keeps the cliques small: always the one whose clique has the fewest
        cells (a greedy choice; the best order is hard to find).
        """
        cliques = _cliques(sizes, groups)
        # A spanning tree of the largest intersections is a junction tree (Jensen & Jensen 1994); Prim's algorithm.
        order, parents, left = [0], [-1], set(range(1, len(cliques)))
        near = {i: (len(cliques[i] & cliques[0]), 0) for i in left}
        while left:
            found = max(left, key=lambda i: (near[i][0], -i))
            left.remove(found)
            parents.append(order.index(near[found][1]))
            order.append(found)
            for i in left:
                near[i] = max(near[i], (len(cliques[i] & cliques[found]), found), key=lambda n: n[0])
        return cls(tuple(sizes), tuple(tuple(sorted(cliques[i])) for i in order), tuple(parents))

    @property
    def cells(self) -> int:
        """Cells of all cliques together."""
        return sum(math.prod(self.sizes[i] for i in clique) for clique in self.cliques)

    def home(self, columns: Sequence[int]) -> int:
        """Return the first clique that holds ``columns``."""
        wanted = set(columns)
        return next(i for i, clique in enumerate(self.cliques) if wanted <= set(clique))

    def grown(self, column: int) -> dict[int, int]:
        """Return for each column how many more cells are enough for a clique that holds it and ``column``.

        It is bounded by carrying ``column`` along from clique to clique until one holds the other: 0 where a clique
        holds both, and one new clique of two where nothing connects them.
        """
        near: dict[int, list[int]] = {i: [] for i in range(len(self.cliques))}
        for i in range(1, len(self.cliques)):
            if self.separator(i):
                near[i].append(self.parents[i])
                near[self.parents[i]].append(i)
        start = self.home((column,))
        waiting, seen = [(start, 0)], {start}
        out: dict[int, int] = {}
        for i, cost in waiting:
            for other in self.cliques[i]:
                out[other] = min(out.get(other, cost), cost)
            for j in near[i]:
                if j in seen:
                    continue
                seen.add(j)
                own = math.prod(self.sizes[c] for c in self.cliques[j])
                more = 0 if column in self.cliques[j] else own * (self.sizes[column] - 1)
                waiting.append((j, cost + more))
        return {b: out.get(b, self.sizes[column] * size) for b, size in enumerate(self.sizes)}

    def separator(self, clique: int) -> Columns:
        """Return the columns that a clique shares with the one it hangs on."""
        parent = self.parents[clique]
        return () if parent < 0 else tuple(i for i in self.cliques[clique] if i in self.cliques[parent])

    def flat(self) -> list[Doubles]:
        """Return potentials of 0."""
        return [np.zeros(tuple(self.sizes[i] for i in clique)) for clique in self.cliques]

    def marginals(self, potentials: Sequence[Doubles]) -> CliqueMarginals:
        """Return the marginals of the potentials, one array for each clique."""
        full = list(potentials)
        sent: dict[int, Doubles] = {}
        for i in range(len(self.cliques) - 1, 0, -1):
            shared, parent = self.separator(i), self.parents[i]
            sent[i] = _log_sum(full[i], _others(self.cliques[i], shared))
            full[parent] = full[parent] + spread(sent[i], shared, self.cliques[parent])
        for i in range(1, len(self.cliques)):
            shared, parent = self.separator(i), self.parents[i]
            back = _log_sum(full[parent], _others(self.cliques[parent], shared)) - sent[i]
            full[i] = full[i] + spread(back, shared, self.cliques[i])
        return CliqueMarginals(self, tuple(_normal(table) for table in full))


@dataclass(frozen=True, eq=False)
class CliqueMarginals:
    """The marginals of a tree of cliques: each sums to 1, and they are consistent with one another.

    Attributes:
        tree: the tree.
        tables: one array for each clique, one axis for each of its columns.
    """

    tree: CliqueTree
    tables: tuple[Doubles, ...]

    @property
    def sizes(self) -> Columns:
        """Number of cells of each column."""
        return self.tree.sizes

    def of(self, columns: Sequence[int], clique: int | None = None) -> Doubles:
        """Return the marginal of columns that a clique holds, axes in the order of ``columns``."""
        home = self.tree.home(columns) if clique is None else clique
        return summed(self.tables[home], self.tree.cliques[home], columns)

    def steps(self) -> Iterator[tuple[Columns, int, Doubles]]:
        """Yield (columns before, column, chances of its cells for each combination of theirs), until all are drawn."""
        placed: set[int] = set()
        for i, clique in enumerate(self.tree.cliques):
            before = list(self.tree.separator(i))
            for column in clique:
                if column in placed:
                    continue
                table = self.of((*before, column), i).reshape(-1, self.sizes[column])
                sums = table.sum(axis=1, keepdims=True)
                alone = np.broadcast_to(table.sum(axis=0), table.shape)
                yield tuple(before), column, np.where(sums > 0, table / np.where(sums > 0, sums, 1.0), alone)
                before.append(column)
                placed.add(column)

    def pairs(self, column: int) -> Iterator[tuple[int, Doubles]]:
        """Yield (other column, marginal of both) for every later column, whether a clique holds both or not."""
        tree = self.tree
        near: dict[int, list[int]] = {i: [] for i in range(len(tree.cliques))}
        for i, parent in enumerate(tree.parents):
            if parent >= 0:
                near[i].append(parent)
                near[parent].append(i)
        start = tree.home((column,))
        stated: set[int] = {column}
        waiting: list[tuple[int, int, Doubles | None]] = [(start, -1, None)]
        for i, came, joint in waiting:
            clique = tree.cliques[i]
            # ``joint`` has one axis for ``column`` and one for each column of the clique; not where it holds both.
            whole = self.tables[i] if joint is None else joint
            axes = clique if joint is None else (-1, *clique)
            source = column if joint is None else -1
            for other in clique:
                if other not in stated:
                    stated.add(other)
                    if other > column:
                        yield other, summed(whole, axes, (source, other))
            for j in near[i]:
                if j == came:
                    continue
                shared = tuple(c for c in tree.cliques[j] if c in clique)
                if column in tree.cliques[j]:
                    waiting.append((j, i, None))
                    continue
                with_source = summed(whole, axes, (source, *shared))
                own = self.of(shared, j)
                chance = np.divide(with_source, own[None], out=np.zeros_like(with_source), where=own[None] > 0)
                there = np.stack([spread(part, shared, tree.cliques[j]) for part in chance])
                waiting.append((j, i, there * self.tables[j][None]))


def summed(table: Doubles, axes: Sequence[int], kept: Sequence[int]) -> Doubles:
    """Return ``table``, whose axes are ``axes``, summed over all but ``kept``, in their order."""
    out = table.sum(axis=tuple(i for i, c in enumerate(axes) if c not in kept))
    left = [c for c in axes if c in kept]
    return np.transpose(out, [left.index(c) for c in kept])


def spread(table: Doubles, axes: Sequence[int], over: Sequence[int]) -> Doubles:
    """Return ``table`` with an axis of length 1 for each column of ``over`` that is not among its ``axes``.

    Args:
        table: its axes are ``axes``, in the order of the table's columns.
        axes: columns, all in ``over``.
        over: columns in the order of the table's columns.
    """
    return table.reshape([table.shape[axes.index(c)] if c in axes else 1 for c in over])


def _cliques(sizes: Sequence[int], groups: Sequence[Columns]) -> list[frozenset[int]]:
    """Return the maximal cliques of the groups' graph after its columns were eliminated one by one."""
    near: dict[int, set[int]] = {i: set() for i in range(len(sizes))}
    for group in groups:
        for a, b in itertools.permutations(group, 2):
            near[a].add(b)
    logs = [math.log(size) for size in sizes]
    found: list[frozenset[int]] = []
    while near:
        column = min(near, key=lambda i: (logs[i] + sum(logs[j] for j in near[i]), i))
        beside = near.pop(column)
        clique = frozenset({column, *beside})
        if not any(clique <= other for other in found):
            found.append(clique)
        for a in beside:
            near[a].discard(column)
            near[a] |= beside - {a}
    return found


def _others(clique: Columns, kept: Sequence[int]) -> Columns:
    return tuple(axis for axis, column in enumerate(clique) if column not in kept)


def _log_sum(table: Doubles, axes: Columns) -> Doubles:
    if not axes:
        return table
    most = table.max(axis=axes, keepdims=True)
    return np.asarray(np.log(np.exp(table - most).sum(axis=axes)) + most.squeeze(axis=axes))


def _normal(table: Doubles) -> Doubles:
    out = np.exp(table - table.max())
    return np.asarray(out / out.sum())
