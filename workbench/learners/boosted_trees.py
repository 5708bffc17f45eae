"""Boosted trees for numbers: each tree is fitted to the errors of those before it.

What is asked of each tree (pure ε, zero-out neighbours, discrete Laplace noise on whole numbers) is what a forest asks
(:mod:`workbench.learners.forest.estimator`): how it is split, by report-noisy-max over all columns, and the weights of
low and high errors in its leaves, with the L1 sensitivity of one row. The error of a row follows from that row and from
what the earlier trees released, so that an emptied row moves no other row's error; it is cut off at the tree's *reach*,
a public number that falls from tree to tree, and the noise falls with it. All trees look at all rows and share ε.

With the default size each tree splits one column into eight equal parts, so that the model is a sum of steps in single
columns, as in an explainable boosting machine (Nori, Caruana, Bu, Shen & Kulkarni 2021, "Accuracy, interpretability,
and differential privacy via explainable boosting", ICML); there each column has its turn, here the best one is chosen.

Classes are not predicted: with gradients of the logistic loss the same trees were behind logistic regression, naive
Bayes or the forest on every table that was tried (see ``tests/benchmarks/results/boosted_trees.md``).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.data.schema import Attribute
from workbench.learners.forest.estimator import Forest, ForestModel, Setting, Shape, TreesParameters
from workbench.learners.forest.trees import Doubles, Goal
from workbench.learners.setting import how_many
from workbench.learners.tasks import REGRESSION
from workbench.privacy.central.sums import scaled, unscaled


@dataclass(frozen=True, kw_only=True)
class BoostedParameters(TreesParameters):
    """Budget and size. The defaults were chosen on public tables and checked on generated ones."""

    trees: int | None = how_many(
        "trees",
        100,
        "how many trees share the budget, one after the other; by default more where ε and the rows allow it",
    )
    depth: int | None = how_many(
        "depth",
        10,
        "how often a tree splits its rows in two; by default it splits them once, into eight parts of a column",
    )


_SHAPES = (
    # Trees of one split: the model is a sum of steps in single columns, each step chosen to correct the sum so far.
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

    one_after_the_other = True

    @cached_property
    def goal(self) -> Goal:
        """How what is still wrong is read: numbers from −1 to 1, in units of the tree's reach."""
        return Goal(Attribute(name=self.target.name, kind="real", lower=-1.0, upper=1.0))

    @cached_property
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

    def targets(self, tree: int, y: NDArray[Any], said: Doubles) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the kinds and weights of what is still wrong, in units of the tree's reach."""
        heights = scaled(y, *self.target.bounds())
        return self.goal.read(np.clip((heights - said) / self.reach(tree), -1.0, 1.0))

    def leaf_values(self, tree: int, answers: Mapping[str, list[int]]) -> Doubles:
        """Return what a tree adds to the prediction in each of its leaves (leaves,), in half-ranges."""
        shares = super().leaf_values(tree, answers)
        return np.asarray(self.reach(tree) * (shares[:, 1] - shares[:, 0]))

    def looked_at(self) -> Iterator[list[tuple[int, ...]]]:
        """Yield for each tree the columns that each of its levels looks at: all of them."""
        every = tuple(range(len(self.columns.sizes)))
        for _ in range(self.shape.trees):
            yield [every] * len(self.shape.splits)


class BoostedModel(ForestModel):
    """The released numbers: the chosen splits, and noisy sums of errors in the leaves.

    Attributes:
        trees_: what each tree adds to the prediction in its leaves (leaves,), in half-ranges of the target.
    """

    name, task = "boosted-trees", REGRESSION
    parameters_type, setting_type = BoostedParameters, BoostedSetting

    def predict(self, X: ArrayLike) -> Doubles:
        """Return the predicted number of each row (n,), within the declared bounds."""
        height = np.clip(sum(steps[leaves] for steps, leaves in zip(self.trees_, self.leaves(X), strict=True)), -1, 1)
        return unscaled(height, *self.setting.target.bounds())


class BoostedTrees(Forest[BoostedModel]):
    """Boosted trees; numbers are clamped to the target's bounds."""

    model_type = BoostedModel


BOOSTED_TREES = BoostedTrees.described(
    "Boosted trees",
    "Each tree chooses a split by noisy losses and adds noisy steps that correct the errors of the trees before it.",
)
