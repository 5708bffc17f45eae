"""What boosted trees release, and the predictions made from it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from workbench.learners.boosted_trees.parameters import BoostedParameters
from workbench.learners.boosted_trees.setting import BoostedSetting
from workbench.learners.forest.model import ForestModel
from workbench.learners.forest.trees import Doubles
from workbench.learners.tasks import REGRESSION


class BoostedModel(ForestModel):
    """The released numbers: the chosen splits, and noisy sums of errors in the leaves.

    Attributes:
        setting: the public facts.
        trees_: what each tree adds to the prediction in its leaves (leaves,), in half-ranges of the target.
    """

    learner, task = "boosted-trees", REGRESSION
    setting: BoostedSetting
    setting_type, parameters_type = BoostedSetting, BoostedParameters

    def _tree(self, tree: int) -> Doubles:
        return self.setting.steps(tree, self.answers[self.setting.labels(tree)[-1]])

    def predict(self, X: ArrayLike) -> Doubles:
        """Return the predicted number of each row (n,), within the declared bounds."""
        lower, upper = self.setting.facts.target.bounds()
        height = np.clip(sum(steps[leaves] for steps, leaves in zip(self.trees_, self.leaves(X), strict=True)), -1, 1)
        high = (height + 1) / 2
        return np.asarray(lower * (1 - high) + upper * high)
