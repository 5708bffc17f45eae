"""What a fit of a forest asks: trees, splits, shares of ε and sensitivities, all of them from public facts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from workbench.learners.base import discrete_laplace_variance, split_epsilon
from workbench.learners.forest.columns import Columns, Split
from workbench.learners.forest.goals import UNIT, Goal
from workbench.learners.forest.parameters import ForestParameters
from workbench.learners.plain import FitSetting
from workbench.privacy.accounting.event import exact, floor_double


@dataclass(frozen=True)
class Shape:
    """A size of a forest.

    Attributes:
        until: up to which n·ε it is used.
        trees: how many.
        splits: into how many children each level of a tree splits its nodes; 2 is a cut at the best border.
        choice: the part of ε for choosing the splits.
    """

    until: float
    trees: int
    splits: tuple[int, ...]
    choice: float


_SHAPES = (
    # With few rows one column in eight equal parts: no borders are to be chosen, and only as many ways as columns.
    Shape(300.0, 1, (8,), 0.3),
    Shape(600.0, 1, (8, 2), 0.5),
    Shape(1_000.0, 1, (4, 4), 0.5),
    Shape(4_000.0, 1, (4, 2, 2), 0.7),
    Shape(10_000.0, 3, (2,) * 4, 0.7),
    Shape(50_000.0, 4, (2,) * 6, 0.7),
    Shape(500_000.0, 8, (2,) * 6, 0.6),
    Shape(math.inf, 16, (2,) * 7, 0.6),
)
_FEW_NUMBERS = Shape(25.0, 1, (4,), 0.3)  # of numbers only: eight leaves would be lost in noise
_WITHOUT_NOISE = Shape(math.inf, 20, (2,) * 8, 0.5)
_NUMBERS_NEED = 2.5  # how many times as much n·ε numbers need as classes: their splits are less clear
_COLUMNS_PART = {True: 2, False: 3}  # each level of several trees looks at one column in two (without noise in three)


class Setting(FitSetting[ForestParameters]):
    """The public facts of a fit, and what follows from them: queries, shares of ε, sensitivities."""

    @property
    def goal(self) -> Goal:
        """How the target is read."""
        return Goal(self.facts.target)

    @property
    def columns(self) -> Columns:
        """How the columns are read."""
        return Columns(self.facts.attributes)

    @property
    def shape(self) -> Shape:
        """The size of the forest: by n·ε, unless it is given."""
        chosen = _WITHOUT_NOISE
        if self.private:
            numeric, known = self.facts.target.numeric, self.rows * self.epsilon
            shapes = (_FEW_NUMBERS, *_SHAPES) if numeric else _SHAPES
            chosen = next(shape for shape in shapes if known / (_NUMBERS_NEED if numeric else 1.0) < shape.until)
        given = self.parameters
        return Shape(
            chosen.until,
            given.trees or chosen.trees,
            (2,) * given.depth if given.depth else chosen.splits,
            given.choice_share or chosen.choice,
        )

    def splits(self) -> tuple[Split, ...]:
        """Return how each level of a tree can be split."""
        sizes = self.columns.sizes
        return tuple(Split(sizes, parts) for parts in self.shape.splits)

    def nodes(self, level: int) -> int:
        """Return how many nodes a level has; after the last split, how many leaves."""
        return math.prod(self.shape.splits[:level])

    def labels(self, tree: int) -> tuple[str, ...]:
        """Return the queries of a tree in order: its splits from the top, then its leaves."""
        levels = range(1, len(self.shape.splits) + 1)
        return (*(f"tree {tree + 1}: split {level}" for level in levels), f"tree {tree + 1}: leaves")

    def lengths(self) -> dict[str, int]:
        """Return how many whole numbers each query releases."""
        found: dict[str, int] = {}
        levels = len(self.shape.splits)
        for tree in range(self.shape.trees):
            *splits, leaves = self.labels(tree)
            found |= {label: self.nodes(level) for level, label in enumerate(splits)}
            found[leaves] = self.nodes(levels) * self.goal.parts
        return found

    def shares(self) -> tuple[tuple[str, Decimal], ...]:
        """Return label and share of ε of each query; the shares sum to ε exactly."""
        if not self.private:
            return ()
        shape, weights = self.shape, []
        for tree in range(shape.trees):
            labels = self.labels(tree)
            each = shape.choice / len(shape.splits)
            weights += [(label, each) for label in labels[:-1]] + [(labels[-1], 1 - shape.choice)]
        parts = split_epsilon(exact(self.epsilon), [weight for _, weight in weights])
        return tuple((label, part) for (label, _), part in zip(weights, parts, strict=True))

    def budgets(self) -> dict[str, float]:
        """Return ε of each query; infinite without noise."""
        if not self.private:
            return dict.fromkeys(self.lengths(), math.inf)
        return {label: floor_double(share) for label, share in self.shares()}

    @property
    def choice_sensitivity(self) -> int:
        """How far one row moves the losses of its node, all in one direction; it moves no other node's."""
        return UNIT

    def leaf_variance(self, epsilon: float) -> float:
        """Return the variance of the noise of each whole number of a leaf, in rows."""
        if epsilon == math.inf:
            return 0.0
        weight = self.goal.weight
        return discrete_laplace_variance(weight, epsilon) / weight**2

    def looked_at(self) -> Iterator[list[tuple[int, ...]]]:
        """Yield for each tree the columns that each of its levels looks at: all of them where there is one tree.

        They are drawn from a fixed public seed, so that the trees differ. A model holds the chosen splits, so that
        reading one does not hang on the draw.
        """
        shape, width = self.shape, len(self.columns.sizes)
        for tree in range(shape.trees):
            generator = np.random.Generator(np.random.PCG64([tree, width]))
            some = width if shape.trees == 1 else -(-width // _COLUMNS_PART[self.private])
            yield [tuple(int(c) for c in generator.permutation(width)[:some]) for _ in shape.splits]
