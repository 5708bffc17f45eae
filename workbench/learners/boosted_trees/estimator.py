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

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.data.schema import Attribute
from workbench.learners.base import Learner, checked_numbers, noise_kind, table_shape
from workbench.learners.boosted_trees.model import BoostedModel
from workbench.learners.boosted_trees.parameters import BoostedParameters
from workbench.learners.boosted_trees.setting import BoostedSetting
from workbench.learners.forest.estimator import Forest
from workbench.learners.forest.trees import choose_splits, leaf_sums, split_losses
from workbench.learners.sums import scaled
from workbench.learners.tasks import REGRESSION
from workbench.privacy.central import NoNoise


class BoostedTrees(Forest[BoostedModel]):
    """Boosted trees with the scikit-learn API; they are private if their noise is.

    X (n, d): numbers (NaN: missing, where the column may be), categories as codes 0 … k−1 (k: missing). y (n,):
    numbers, clamped to the target's bounds; NaN marks an empty row, which contributes nothing.
    """

    model_type = BoostedModel

    def _setting(self, rows: int) -> BoostedSetting:
        return BoostedSetting(super()._setting(rows).facts)

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Charge, then read the rows, then release splits and noisy leaves of one tree after the other.

        Raises:
            BudgetRefusedError: from the charge; nothing was read.
            InputError: a value that the column's declaration does not allow, naming row and column.
        """
        setting = self._setting(table_shape(X, y, self.attributes))
        self._pay(self.cost(setting.rows))
        goal, budgets, splits = setting.goal, setting.budgets(), setting.splits()
        numbers = checked_numbers(y, self.target)
        here = ~np.isnan(numbers)
        cells = setting.columns.cells(X)[here]
        heights = scaled(numbers[here], *self.target.bounds())
        said = np.zeros(len(heights))
        answers: dict[str, list[int]] = {}
        for tree, looked_at in enumerate(setting.looked_at()):
            *labels, last = setting.labels(tree)
            _, kinds, weights = goal.read(np.clip((heights - said) / setting.reach(tree), -1.0, 1.0))
            nodes = np.zeros(len(cells), dtype=np.int64)
            for level, (label, split, columns) in enumerate(zip(labels, splits, looked_at, strict=True)):
                count = setting.nodes(level)
                losses = [split_losses(cells, kinds, nodes, count, split, column, goal) for column in columns]
                chosen = choose_splits(losses, columns, split, self.noise, setting.choice_sensitivity, budgets[label])
                nodes = nodes * split.parts + split.child(cells, np.array(chosen)[nodes])
                answers[label] = chosen
            sums = leaf_sums(nodes, weights, setting.nodes(len(splits)))
            answers[last] = self.noise.integers(sums, goal.weight, budgets[last])
            said = said + setting.steps(tree, answers[last])[nodes]
        self.model_ = BoostedModel(setting, noise_kind(self.noise), answers)
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the predicted number of each row (n,)."""
        return self.model_.predict(X)

    @staticmethod
    def from_plain(values: Mapping[str, Any]) -> BoostedModel:
        """Return the model that :meth:`to_plain` wrote; it predicts, and cannot be fitted again."""
        return BoostedModel.from_plain(values)


def _ordinary(attributes: Sequence[Attribute], target: Attribute) -> BoostedTrees:
    """Return the same model without noise: private and ordinary are one code path."""
    return BoostedTrees(attributes, target, BoostedParameters(), NoNoise())


BOOSTED_TREES = Learner(
    name=BoostedModel.learner,
    title="Boosted trees",
    about="Each tree chooses a split by noisy losses and adds noisy steps that correct the trees before it.",
    task=REGRESSION,
    parameters=BoostedParameters,
    estimator=BoostedTrees,
    ordinary=_ordinary,
)
