"""What a fit of boosted trees asks: trees, splits and shares of ε as for a forest, each tree of what is still wrong."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from workbench.data.schema import Attribute
from workbench.learners.forest.goals import Goal
from workbench.learners.forest.setting import Setting, Shape
from workbench.learners.forest.trees import leaf_shares

_SHAPES = (
    # Trees of one split: the model is a sum of steps in single columns, each step chosen to mend the sum so far.
    Shape(60.0, 1, (4,), 0.3),
    Shape(200.0, 1, (8,), 0.3),
    Shape(600.0, 2, (8,), 0.4),
    Shape(2_000.0, 6, (8,), 0.3),
    Shape(20_000.0, 10, (8,), 0.3),
    # Enough to look into the parts: what two columns do together, and where a long column is mostly one part.
    Shape(math.inf, 16, (8, 2, 2), 0.4),
)
_WITHOUT_NOISE = Shape(math.inf, 40, (8,), 0.3)
_SECOND, _SHRINKING, _LEAST = 0.5, 0.9, 0.2


class BoostedSetting(Setting):
    """The public facts of a fit, and what follows from them: queries, shares of ε, sensitivities."""

    @cached_property
    def goal(self) -> Goal:
        """How what is still wrong is read: numbers from −1 to 1, in units of the tree's reach."""
        return Goal(Attribute(name=self.facts.target.name, kind="real", lower=-1.0, upper=1.0))

    @property
    def shape(self) -> Shape:
        """How many trees and splits: by n·ε, unless it is given."""
        known, given = self.rows * self.epsilon, self.parameters
        chosen = next(shape for shape in _SHAPES if known < shape.until) if self.private else _WITHOUT_NOISE
        return dataclasses.replace(
            chosen,
            trees=given.trees or chosen.trees,
            splits=(2,) * given.depth if given.depth else chosen.splits,
            choice=given.choice_share or chosen.choice,
        )

    def reach(self, tree: int) -> float:
        """Return how far a tree can move a prediction, in half-ranges of the target.

        Errors beyond it count as errors of that size. The first tree can reach the bounds; errors after it are mostly
        smaller, and the same noise in units of a smaller reach is less noise.
        """
        return 1.0 if tree == 0 else max(_LEAST, _SECOND * _SHRINKING ** (tree - 1))

    def steps(self, tree: int, sums: list[int]) -> NDArray[np.float64]:
        """Return what a tree adds to the prediction in each of its leaves, in half-ranges.

        Args:
            tree: its number, from 0.
            sums: the noisy weights of its leaves.
        """
        goal, label = self.goal, self.labels(tree)[-1]
        weights = np.array(sums, dtype=np.float64).reshape(-1, goal.parts) / goal.weight
        variance = self.leaf_variance(self.budgets()[label])
        shares = leaf_shares(weights, self.rows, variance, goal.spread, goal.sampling)
        return np.asarray(self.reach(tree) * (shares[:, 1] - shares[:, 0]))

    def looked_at(self) -> Iterator[list[tuple[int, ...]]]:
        """Yield for each tree the columns that each of its levels looks at: all of them."""
        every = tuple(range(len(self.columns.sizes)))
        for _ in range(self.shape.trees):
            yield [every] * len(self.shape.splits)
