"""What a forest releases, and the predictions made from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.learners.base import checked_classes, plain_part
from workbench.learners.forest.parameters import ForestParameters
from workbench.learners.forest.setting import Setting
from workbench.learners.forest.trees import Doubles, leaf_shares
from workbench.learners.plain import facts_from_plain, facts_to_plain
from workbench.learners.queries import checked_whole_numbers
from workbench.learners.tasks import CLASSIFICATION, EMPTY, REGRESSION
from workbench.params import ParameterError

_FORMAT = 1


class ForestModel:
    """The released numbers of a forest: the chosen splits, and noisy sums in the leaves.

    Attributes:
        setting: the public facts.
        answers: for each split the number of the way that each node takes; for leaves their noisy whole numbers.
        noise: one of ``released``, ``study`` and ``none``.
        trees_: the estimated shares of each tree's leaves (leaves, parts).
    """

    learner: str
    task: str
    setting_type: type[Setting] = Setting
    parameters_type: type[ForestParameters] = ForestParameters

    def __init__(self, setting: Setting, noise: str, answers: Mapping[str, list[int]]) -> None:
        self.setting = setting
        self.noise = noise
        self.answers = dict(answers)
        self.trees_ = [self._tree(tree) for tree in range(setting.shape.trees)]

    @property
    def releasable(self) -> bool:
        """Whether the noise was the cryptographic one."""
        return self.noise == "released"

    def _tree(self, tree: int) -> Doubles:
        setting, goal = self.setting, self.setting.goal
        label = setting.labels(tree)[-1]
        sums = np.array(self.answers[label], dtype=np.float64).reshape(-1, goal.parts) / goal.weight
        variance = setting.leaf_variance(setting.budgets()[label])
        return leaf_shares(sums, setting.rows, variance, goal.spread, goal.sampling)

    def leaves(self, X: ArrayLike) -> Iterator[NDArray[np.int64]]:
        """Yield for each tree the leaf of each row (n,)."""
        setting = self.setting
        cells, splits = setting.columns.cells(X), setting.splits()
        for tree in range(setting.shape.trees):
            nodes = np.zeros(len(cells), dtype=np.int64)
            for split, label in zip(splits, setting.labels(tree), strict=False):  # the last label is of the leaves
                chosen = np.array(self.answers[label], dtype=np.int64)
                nodes = nodes * split.parts + split.child(cells, chosen[nodes])
            yield nodes

    def shares(self, X: ArrayLike) -> Doubles:
        """Return each row's share of each part, the mean of all trees (n, parts)."""
        total = sum(shares[leaves] for shares, leaves in zip(self.trees_, self.leaves(X), strict=True))
        return np.asarray(total / len(self.trees_))

    def to_plain(self) -> dict[str, Any]:
        """Return public facts, splits and noisy whole numbers as JSON holds them; the rest follows from these."""
        return {**facts_to_plain(self.learner, _FORMAT, self.noise, self.setting.facts), "answers": self.answers}

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> Self:
        """Return the model that :meth:`to_plain` wrote.

        Raises:
            ParameterError: a key is missing, or a value is not what such a model can hold; the message names it.
        """
        facts = facts_from_plain(values, cls.learner, _FORMAT, cls.parameters_type, cls.task)
        setting = cls.setting_type(facts)
        answers = checked_whole_numbers(plain_part(values, "answers", dict), setting.lengths())
        for tree in range(setting.shape.trees):
            for split, label in zip(setting.splits(), setting.labels(tree), strict=False):
                ways = int(split.starts[-1])
                if not all(0 <= way < ways for way in answers[label]):
                    raise ParameterError(f"the answer is not one of the {ways} ways of splitting", label)
        return cls(setting, values["noise"], answers)


class ClassModel(ForestModel):
    """A forest whose leaves hold counts of classes."""

    learner, task = "random-forest", CLASSIFICATION

    @property
    def classes_(self) -> NDArray[np.int64]:
        """Class codes (k,)."""
        return np.arange(self.setting.goal.parts)

    @property
    def class_names(self) -> tuple[str, ...]:
        """The declared classes."""
        return self.setting.facts.target.values()

    def predict_proba(self, X: ArrayLike) -> Doubles:
        """Return P(class | row) (n, k)."""
        return self.shares(X)

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Return the most probable class code of each row (n,)."""
        return np.asarray(self.shares(X).argmax(axis=1), dtype=np.int64)

    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        """Return the accuracy on the rows that have a class; it is computed exactly, so it is private itself."""
        classes = checked_classes(y, self.setting.facts.target)
        here = classes != EMPTY
        if not here.any():
            raise ParameterError("no row has a class to be compared with")
        return float((self.predict(X)[here] == classes[here]).mean())


class NumberModel(ForestModel):
    """A forest whose leaves hold the weights of low and high numbers."""

    learner, task = "forest-regression", REGRESSION

    def predict(self, X: ArrayLike) -> Doubles:
        """Return the predicted number of each row (n,), within the declared bounds."""
        lower, upper = self.setting.facts.target.bounds()
        high = self.shares(X)[:, 1]
        return np.asarray(lower * (1 - high) + upper * high)
