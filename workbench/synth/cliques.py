"""A distribution over d columns with dependence in cliques (a junction tree), and its exact marginals.

p(x) ∝ Π over cliques e^(θ_C(x_C)). The cliques form a junction tree: those that share a column are connected through
cliques that hold it, too. One pass of messages to the root and one back give every clique's marginal exactly
(Lauritzen & Spiegelhalter 1988), in time linear in the cells of the cliques. Where pairs of columns form a tree, they
are the cliques.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

Columns = tuple[int, ...]
Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class CliqueTree:
    """Cliques of columns, each behind the one that it hangs on."""

    sizes: Columns  # number of cells of each column
    cliques: tuple[Columns, ...]  # the columns of each clique, in the order of the table; every column is in one
    parents: tuple[int, ...]  # for each clique the one before it that it hangs on; −1 for the first
    root: int = 0  # the column that is drawn first; the first clique holds it

    @classmethod
    def of(cls, sizes: Sequence[int], groups: Sequence[Columns], root: int = 0) -> Self:
        """Return the tree of cliques of which one holds each of ``groups``.

        Columns are eliminated in an order that keeps the cliques small: always the one whose clique has the fewest
        cells (a greedy choice; the best order is hard to find).
        """
        cliques = _cliques(sizes, groups)
        # A spanning tree of the largest intersections is a junction tree (Jensen & Jensen 1994); Prim's algorithm.
        first = next(i for i, clique in enumerate(cliques) if root in clique)
        order, parents, left = [first], [-1], set(range(len(cliques))) - {first}
        near = {i: (len(cliques[i] & cliques[first]), first) for i in left}
        while left:
            found = max(left, key=lambda i: (near[i][0], -i))
            left.remove(found)
            parents.append(order.index(near[found][1]))
            order.append(found)
            for i in left:
                near[i] = max(near[i], (len(cliques[i] & cliques[found]), found), key=lambda n: n[0])
        return cls(tuple(sizes), tuple(tuple(sorted(cliques[i])) for i in order), tuple(parents), root)

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
            if self.separators[i]:
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

    @cached_property
    def separators(self) -> tuple[Columns, ...]:
        """The columns that each clique shares with the one it hangs on."""
        pairs = zip(self.cliques, self.parents, strict=True)
        return tuple(() if p < 0 else tuple(i for i in own if i in self.cliques[p]) for own, p in pairs)

    def flat(self) -> list[Doubles]:
        """Return potentials of 0."""
        return [np.zeros(tuple(self.sizes[i] for i in clique)) for clique in self.cliques]

    def marginals(self, potentials: Sequence[Doubles]) -> CliqueMarginals:
        """Return the marginals of the potentials, one array for each clique."""
        full, given = list(potentials), list[Doubles]()
        for i in range(len(self.cliques) - 1, -1, -1):
            shared, parent = self.separators[i], self.parents[i]
            rest = tuple(axis for axis, column in enumerate(self.cliques[i]) if column not in shared)
            most = full[i].max(axis=rest, keepdims=True)
            table = np.exp(full[i] - most)
            sums = table.sum(axis=rest, keepdims=True)
            given.append(table / sums)
            if shared:
                sent = (most + np.log(sums)).squeeze(axis=rest)
                full[parent] = full[parent] + spread(sent, shared, self.cliques[parent])
        tables: list[Doubles] = []
        for own, shared, parent in zip(self.cliques, self.separators, self.parents, strict=True):
            table = given.pop()
            if shared:
                table = table * spread(summed(tables[parent], self.cliques[parent], shared), shared, own)
            tables.append(table)
        return CliqueMarginals(self, tuple(tables))


@dataclass(frozen=True, eq=False)
class CliqueMarginals:
    """The marginals of a tree of cliques: each sums to 1, and they are consistent with one another."""

    tree: CliqueTree
    tables: tuple[Doubles, ...]  # one array for each clique, one axis for each of its columns

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
            before = list(self.tree.separators[i])
            for column in sorted(clique, key=lambda column: column != self.tree.root):
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
    gone, left = tuple(i for i, c in enumerate(axes) if c not in kept), [c for c in axes if c in kept]
    out = table.sum(axis=gone) if gone else table
    return out if left == list(kept) else out.transpose([left.index(c) for c in kept])


def spread(table: Doubles, axes: Sequence[int], over: Sequence[int]) -> Doubles:
    """Return ``table`` with an axis of length 1 for each column of ``over`` that is not among its ``axes``.

    ``axes`` and ``over``, which holds all of them, are columns in their order.
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
