"""A distribution over d columns whose dependences form a tree, and its exact marginals.

p(x) ∝ Π over columns e^(θᵢ(xᵢ)) · Π over edges e^(θᵢⱼ(xᵢ, xⱼ)). On a tree one pass of messages from the leaves to the
root and one back give every marginal exactly (Pearl 1988), in time linear in the cells of the edges.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class Tree:
    """Columns and the edges between them, from the root outwards.

    Attributes:
        sizes: number of cells of each column.
        root: the first column.
        edges: (parent, child), each parent before its children; d − 1 of them.
    """

    sizes: tuple[int, ...]
    root: int
    edges: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, sizes: Sequence[int], pairs: Sequence[tuple[int, int]], root: int) -> Self:
        """Return the tree of unordered ``pairs``, directed away from ``root``."""
        neighbours: dict[int, list[int]] = {i: [] for i in range(len(sizes))}
        for a, b in pairs:
            neighbours[a].append(b)
            neighbours[b].append(a)
        edges, reached, waiting = [], {root}, [root]
        for parent in waiting:
            for child in neighbours[parent]:
                if child not in reached:
                    reached.add(child)
                    waiting.append(child)
                    edges.append((parent, child))
        if len(edges) != len(sizes) - 1 or len(pairs) != len(edges):
            raise AssertionError("the pairs do not form a tree")
        return cls(tuple(sizes), root, tuple(edges))

    def marginals(self, nodes: Sequence[Doubles], edges: Sequence[Doubles]) -> Marginals:
        """Return the marginals of the potentials.

        Args:
            nodes: θ of each column, (k,).
            edges: θ of each edge, (cells of the parent, cells of the child).
        """
        up, below = [theta.copy() for theta in nodes], list[Doubles]()
        for (parent, child), theta in zip(reversed(self.edges), reversed(edges), strict=True):
            given, sums = _normal(theta + up[child])
            up[parent] += sums
            below.append(given)
        found: dict[int, Doubles] = {self.root: _normal(up[self.root])[0]}
        tables = []
        for (parent, child), given in zip(self.edges, reversed(below), strict=True):
            table = given * found[parent][:, None]
            tables.append(table)
            found[child] = np.add.reduce(table, 0)
        return Marginals(self, tuple(found[i] for i in range(len(self.sizes))), tuple(tables))


@dataclass(frozen=True, eq=False)
class Marginals:
    """The marginals of a tree: one for each column and edge, each summing to 1, consistent with one another.

    Attributes:
        tree: the tree.
        nodes: (k,) by column.
        tables: (cells of the parent, cells of the child) by edge.
    """

    tree: Tree
    nodes: tuple[Doubles, ...]
    tables: tuple[Doubles, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of cells of each column."""
        return self.tree.sizes

    def steps(self) -> Iterator[tuple[tuple[int, ...], int, Doubles]]:
        """Yield (columns before, column, chances of its cells for each combination of theirs), until all are drawn."""
        yield (), self.tree.root, self.nodes[self.tree.root][None]
        for edge, (parent, child) in enumerate(self.tree.edges):
            yield (parent,), child, self.conditionals(edge)

    def conditionals(self, edge: int) -> Doubles:
        """Return p(child | parent) of an edge; where the parent's cell is impossible, the child's own marginal."""
        table = self.tables[edge]
        sums = table.sum(axis=1, keepdims=True)
        alone = np.broadcast_to(self.nodes[self.tree.edges[edge][1]], table.shape)
        return np.where(sums > 0, table / np.where(sums > 0, sums, 1.0), alone)


def _normal(table: Doubles) -> tuple[Doubles, Doubles]:
    """Return e^table, divided by its sums along the last axis, and the logarithms of these."""
    most = np.maximum.reduce(table, -1)
    out = np.exp(table - most[..., None])
    sums = np.add.reduce(out, -1)
    out /= sums[..., None]
    return out, most + np.log(sums)
