"""Linear regression on the columns of a mixed table, private or not, in one code path.

*Adaptive*, the default, asks two things (pure ε, zero-out neighbours, discrete Laplace noise on whole numbers):

* which columns to use, one round of report-noisy-max each (:mod:`workbench.learners.selection`), unless all are used;
* the sums of products over these columns and the target (:mod:`workbench.learners.linear_regression.statistics`).

*Functional* asks for the coefficients of the loss over all columns (Zhang et al. 2012). The model is the columns and
the noisy whole numbers; its coefficients follow from them (:mod:`workbench.learners.linear_regression.solve`).

How many columns are used follows from ε and the public n alone: the noise of a sum grows with the square of their
number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.data.schema import Attribute
from workbench.learners.base import (
    Learner,
    PrivateEstimator,
    checked_numbers,
    checked_schema,
    noise_kind,
    plain_part,
    table_shape,
)
from workbench.learners.encoding import grid_of
from workbench.learners.linear_regression.corrected import CorrectedLinearRegression
from workbench.learners.linear_regression.parameters import ADAPTIVE, LinearRegressionParameters
from workbench.learners.linear_regression.setting import Setting
from workbench.learners.linear_regression.solve import Line, adaptive_line, functional_line
from workbench.learners.linear_regression.statistics import (
    coefficients,
    gram,
    largest_norm,
    products,
    weighted,
)
from workbench.learners.plain import Facts, facts_from_plain, facts_to_plain
from workbench.learners.queries import checked_whole_numbers
from workbench.learners.selection import choose, line_losses
from workbench.learners.sums import on_grid
from workbench.learners.tasks import REGRESSION
from workbench.params import ParameterError
from workbench.privacy.accounting.event import Charge, Cost, PureDp
from workbench.privacy.central import CentralNoise, NoNoise

_FORMAT = 1


class LinearRegressionModel:
    """The released numbers, and the prediction made from them.

    Attributes:
        chosen: indices of the encoded columns that are used.
        answer: the noisy whole numbers.
        noise: one of ``released``, ``study`` and ``none``.
        line_: the prediction on the encoded scale.
    """

    def __init__(self, setting: Setting, noise: str, chosen: Sequence[int], answer: Sequence[int]) -> None:
        self.setting = setting
        self.noise = noise
        self.chosen = tuple(chosen)
        self.answer = tuple(answer)
        self.line_ = self._line()

    def _line(self) -> Line:
        setting, strength = self.setting, self.setting.parameters.ridge
        parts = len(self.chosen) + 1
        found = gram(list(self.answer), parts, setting.size, functional=setting.functional)
        if setting.functional:
            return functional_line(found, setting.deviation, strength)
        return adaptive_line(found, setting.rows, setting.deviation, strength)

    @property
    def columns_used(self) -> tuple[str, ...]:
        """Names of the encoded columns that are used, those chosen first at the front."""
        labels = self.setting.encoding.labels
        return tuple(labels[j] for j in self.chosen)

    @property
    def attributes_used(self) -> tuple[str, ...]:
        """Names of the columns that are used, those found first at the front."""
        return self.setting.encoding.names_of(self.chosen)

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the predicted number of each row (n,), within the declared bounds."""
        size = grid_of(1)
        encoded = self.setting.encoding.encode(X, size)[:, list(self.chosen)] / size
        lower, upper = self.setting.facts.target.bounds()
        height = (self.line_.at(encoded) + 1) / 2
        return np.asarray(np.clip(lower * (1 - height) + upper * height, lower, upper))

    def to_plain(self) -> dict[str, Any]:
        """Return public facts, columns and noisy whole numbers as JSON holds them; the rest follows from these."""
        setting = self.setting
        return {
            **facts_to_plain(LINEAR_REGRESSION.name, _FORMAT, self.noise, setting.facts),
            "columns": list(self.columns_used),
            "answers": {"sums": list(self.answer)},
        }

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> LinearRegressionModel:
        """Return the model that :meth:`to_plain` wrote.

        Raises:
            ParameterError: a key is missing, or a value is not what such a model can hold; the message names it.
        """
        facts = facts_from_plain(values, LINEAR_REGRESSION.name, _FORMAT, LinearRegressionParameters, REGRESSION)
        setting = Setting(facts)
        labels, names = setting.encoding.labels, plain_part(values, "columns", list)
        known = all(isinstance(name, str) and name in labels for name in names)
        if not known or len(set(names)) != len(names) or len(names) != setting.used:
            raise ParameterError("the key 'columns' does not name the columns of this model", "the model")
        answer = checked_whole_numbers(plain_part(values, "answers", dict), {"sums": largest_norm(setting.used + 1)})[
            "sums"
        ]
        return cls(setting, values["noise"], [labels.index(name) for name in names], answer)


class LinearRegression(PrivateEstimator):
    """Linear regression with the scikit-learn API; it is private if its noise is.

    X (n, d): numbers (NaN: missing, where the column may be), categories as codes 0 … k−1 (k: missing). y (n,):
    numbers, clamped to the target's bounds; NaN marks an empty row, which contributes nothing.

    Attributes:
        model_: what :meth:`fit` released.
    """

    model_: LinearRegressionModel

    def __init__(
        self,
        attributes: Sequence[Attribute],
        target: Attribute,
        parameters: LinearRegressionParameters,
        noise: CentralNoise,
        charge: Charge | None = None,
    ) -> None:
        super().__init__(attributes, target, parameters, noise, charge)
        self.parameters: LinearRegressionParameters = parameters

    def _setting(self, rows: int) -> Setting:
        checked_schema(self.attributes, self.target, REGRESSION)
        private = noise_kind(self.noise) != "none"
        return Setting(Facts(tuple(self.attributes), self.target, self.parameters, rows, private))

    def events(self, rows: int | None = None) -> tuple[PureDp, ...]:
        """Return what a fit on ``rows`` rows costs, one event a query (of the last fit where none is given)."""
        setting = self.model_.setting if rows is None else self._setting(rows)
        return tuple(PureDp(share, label) for label, share in setting.shares)

    def cost(self, rows: int) -> Cost | None:
        """Return what a fit on ``rows`` rows is charged; ``None`` without noise."""
        return self._composed(LINEAR_REGRESSION.name, rows)

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Charge, then read the rows, then release the choice of columns and the noisy sums.

        Raises:
            BudgetRefusedError: from the charge; nothing was read.
            InputError: a value that the column's declaration does not allow, naming row and column.
        """
        setting = self._setting(table_shape(X, y, self.attributes))
        self._pay(self.cost(setting.rows))
        size, budgets = setting.size, setting.budgets
        goal = checked_numbers(y, setting.facts.target)
        known = ~np.isnan(goal)
        encoded = setting.encoding.encode(X, size)[known]
        heights = on_grid(goal[known], *setting.facts.target.bounds(), size)
        chosen = list(range(setting.used))
        if setting.selects:
            chosen = choose(line_losses(encoded, heights, size), budgets[:-1], self.noise)
        ones = np.full((len(heights), 1), size, dtype=np.int64)
        rows = np.column_stack([ones, encoded[:, chosen], heights])
        exact_sums = coefficients(rows) if setting.functional else products(weighted(rows, setting.sensitivity))
        answer = self.noise.integers(exact_sums, setting.sensitivity, budgets[-1])
        self.model_ = LinearRegressionModel(setting, noise_kind(self.noise), chosen, answer)
        return self

    @property
    def attributes_used(self) -> tuple[str, ...]:
        """Names of the columns that the fitted model looks at, those found first at the front."""
        return self.model_.attributes_used

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the predicted number of each row (n,)."""
        return self.model_.predict(X)

    def to_plain(self) -> dict[str, Any]:
        """Return the fitted model as JSON holds it."""
        return self.model_.to_plain()

    @staticmethod
    def from_plain(values: Mapping[str, Any]) -> LinearRegressionModel:
        """Return the model that :meth:`to_plain` wrote; it predicts, and cannot be fitted again."""
        return LinearRegressionModel.from_plain(values)


def _ordinary(attributes: Sequence[Attribute], target: Attribute) -> LinearRegression:
    """Return the same model without noise: private and ordinary are one code path."""
    return LinearRegression(attributes, target, LinearRegressionParameters(method=ADAPTIVE), NoNoise())


LINEAR_REGRESSION = Learner(
    name="linear-regression",
    title="Linear regression",
    about="It chooses a few columns and adds noise to the sums that a line through them is computed from.",
    task=REGRESSION,
    parameters=LinearRegressionParameters,
    estimator=LinearRegression,
    ordinary=_ordinary,
    corrected=CorrectedLinearRegression,
)
