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

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.data.schema import Attribute
from workbench.learners.base import (
    NOISES,
    Learner,
    PrivateEstimator,
    checked_numbers,
    checked_schema,
    discrete_laplace_variance,
    noise_kind,
    plain_part,
    split_epsilon,
    table_shape,
)
from workbench.learners.encoding import Encoding, grid_of
from workbench.learners.linear_regression.parameters import ADAPTIVE, FUNCTIONAL, LinearRegressionParameters
from workbench.learners.linear_regression.solve import Line, adaptive_line, functional_line
from workbench.learners.linear_regression.statistics import (
    coefficients,
    functional_sensitivity,
    gram,
    largest_norm,
    products,
    weighted,
)
from workbench.learners.queries import checked_whole_numbers
from workbench.learners.selection import choose, line_losses
from workbench.learners.sums import on_grid
from workbench.learners.tasks import REGRESSION
from workbench.params import ParameterError
from workbench.privacy.accounting.event import Charge, Composed, Cost, PureDp, exact, floor_double
from workbench.privacy.central import CentralNoise, NoNoise

_FORMAT = 1
_COLUMNS_RATE = 0.06
"""With n·ε = 1,100 two columns are used, with 10,000 six (chosen on generated tables)."""

_LEAST_KNOWN = 100
"""With less n·ε than this every column would be lost in noise, and none is used."""


@dataclass(frozen=True)
class _Setting:
    """The public facts that queries and model follow from."""

    attributes: tuple[Attribute, ...]
    target: Attribute
    parameters: LinearRegressionParameters
    rows: int
    private: bool

    @property
    def encoding(self) -> Encoding:
        return Encoding(self.attributes)

    @property
    def functional(self) -> bool:
        return self.parameters.method == FUNCTIONAL

    @property
    def epsilon(self) -> float:
        if not self.private:
            return math.inf
        if self.parameters.epsilon is None:
            raise ParameterError("epsilon is not given", mend="give epsilon = NUMBER above 0")
        return self.parameters.epsilon

    @property
    def used(self) -> int:
        """How many encoded columns are used; with none of them the prediction is the noisy mean."""
        every = len(self.encoding.labels)
        if self.functional or not self.private:
            return every
        asked, known = self.parameters.columns, min(self.rows * self.epsilon, 1e12)
        if asked is None:
            asked = max(1, math.floor(_COLUMNS_RATE * math.sqrt(known))) if known >= _LEAST_KNOWN else 0
        return min(asked, every)

    @property
    def selects(self) -> bool:
        """Whether columns are chosen from the rows."""
        return 0 < self.used < len(self.encoding.labels)

    def shares(self) -> tuple[tuple[str, Decimal], ...]:
        """Return label and share of ε of each query; the shares sum to ε exactly."""
        if not self.private:
            return ()
        rounds = self.used if self.selects else 0
        part = self.parameters.selection_share
        labels = [f"choice of column {i + 1}" for i in range(rounds)] + ["sums"]
        weights = [part / rounds] * rounds + [1 - part] if rounds else [1.0]
        return tuple(zip(labels, split_epsilon(exact(self.epsilon), weights), strict=True))

    def budgets(self) -> list[float]:
        """Return ε of each round of the choice, then of the sums; infinite without noise."""
        return [floor_double(share) for _, share in self.shares()] or [math.inf]

    @property
    def limit(self) -> float:
        """The largest L1 norm of one row's part in the sums, in units of K²."""
        if self.functional:
            return float(functional_sensitivity(self.used + 1))
        largest = largest_norm(self.used + 1)
        return 1 + (largest - 1) * self.parameters.norm_share if self.private else float(largest)

    @property
    def size(self) -> int:
        """K of the sums."""
        return grid_of(self.rows, self.limit, self.budgets()[-1])

    @property
    def sensitivity(self) -> int:
        """L1 sensitivity of the sums in whole numbers."""
        return math.floor(self.limit * self.size**2)

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise of each sum, in units of one."""
        epsilon = self.budgets()[-1]
        if epsilon == math.inf:
            return 0.0
        return math.sqrt(discrete_laplace_variance(self.sensitivity, epsilon)) / self.size**2


class LinearRegressionModel:
    """The released numbers, and the prediction made from them.

    Attributes:
        chosen: indices of the encoded columns that are used.
        answer: the noisy whole numbers.
        noise: one of ``released``, ``study`` and ``none``.
        line_: the prediction on the encoded scale.
    """

    def __init__(self, setting: _Setting, noise: str, chosen: Sequence[int], answer: Sequence[int]) -> None:
        self._setting = setting
        self.noise = noise
        self.chosen = tuple(chosen)
        self.answer = tuple(answer)
        self.line_ = self._line()

    def _line(self) -> Line:
        setting, strength = self._setting, self._setting.parameters.ridge
        parts = len(self.chosen) + 1
        found = gram(list(self.answer), parts, setting.size, functional=setting.functional)
        if setting.functional:
            return functional_line(found, setting.deviation, strength)
        return adaptive_line(found, setting.rows, setting.deviation, strength)

    @property
    def columns_used(self) -> tuple[str, ...]:
        """Names of the encoded columns that are used, those chosen first at the front."""
        labels = self._setting.encoding.labels
        return tuple(labels[j] for j in self.chosen)

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the predicted number of each row (n,), within the declared bounds."""
        size = grid_of(1)
        encoded = self._setting.encoding.encode(X, size)[:, list(self.chosen)] / size
        lower, upper = self._setting.target.bounds()
        height = (self.line_.at(encoded) + 1) / 2
        return np.asarray(np.clip(lower * (1 - height) + upper * height, lower, upper))

    def to_plain(self) -> dict[str, Any]:
        """Return public facts, columns and noisy whole numbers as JSON holds them; the rest follows from these."""
        setting = self._setting
        return {
            "learner": LINEAR_REGRESSION.name,
            "format": _FORMAT,
            "noise": self.noise,
            "rows": setting.rows,
            "parameters": setting.parameters.to_plain(),
            "attributes": [a.to_plain() for a in setting.attributes],
            "target": setting.target.to_plain(),
            "columns": list(self.columns_used),
            "answers": {"sums": list(self.answer)},
        }

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> LinearRegressionModel:
        """Return the model that :meth:`to_plain` wrote.

        Raises:
            ParameterError: a key is missing, or a value is not what such a model can hold; the message names it.
        """
        for key, only in (("learner", (LINEAR_REGRESSION.name,)), ("format", (_FORMAT,)), ("noise", NOISES)):
            if plain_part(values, key, type(only[0])) not in only:
                raise ParameterError(f"{key} = {values[key]!r} is not {' or '.join(map(str, only))}", "the model")
        rows = plain_part(values, "rows", int)
        if not 1 <= rows < 2**49:
            raise ParameterError(f"rows = {rows} is no number of rows", "the model")
        attributes = plain_part(values, "attributes", list)
        if not all(isinstance(a, dict) for a in attributes):
            raise ParameterError("the key 'attributes' is not a list of tables", "the model")
        setting = _Setting(
            tuple(Attribute.from_plain(a, f"attribute {i}") for i, a in enumerate(attributes, start=1)),
            Attribute.from_plain(plain_part(values, "target", dict), "the target"),
            LinearRegressionParameters.from_plain(plain_part(values, "parameters", dict), "the model's parameters"),
            rows,
            values["noise"] != "none",
        )
        checked_schema(setting.attributes, setting.target, REGRESSION)
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

    def _setting(self, rows: int) -> _Setting:
        checked_schema(self.attributes, self.target, REGRESSION)
        private = noise_kind(self.noise) != "none"
        return _Setting(tuple(self.attributes), self.target, self.parameters, rows, private)

    def events(self, rows: int | None = None) -> tuple[PureDp, ...]:
        """Return what a fit on ``rows`` rows costs, one event a query (of the last fit where none is given)."""
        setting = self.model_._setting if rows is None else self._setting(rows)
        return tuple(PureDp(share, label) for label, share in setting.shares())

    def cost(self, rows: int) -> Cost | None:
        """Return what a fit on ``rows`` rows is charged; ``None`` without noise."""
        parts = self.events(rows)
        if not parts:
            return None
        return Cost(sum((e.epsilon for e in parts), Decimal(0)), Decimal(0), Composed(parts, LINEAR_REGRESSION.name))

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Charge, then read the rows, then release the choice of columns and the noisy sums.

        Raises:
            BudgetRefusedError: from the charge; nothing was read.
            InputError: a value that the column's declaration does not allow, naming row and column.
        """
        setting = self._setting(table_shape(X, y, self.attributes))
        self._pay(self.cost(setting.rows))
        size, budgets = setting.size, setting.budgets()
        goal = checked_numbers(y, setting.target)
        known = ~np.isnan(goal)
        encoded = setting.encoding.encode(X, size)[known]
        heights = on_grid(goal[known], *setting.target.bounds(), size)
        chosen = list(range(setting.used))
        if setting.selects:
            chosen = choose(line_losses(encoded, heights, size), budgets[:-1], self.noise)
        ones = np.full((len(heights), 1), size, dtype=np.int64)
        rows = np.column_stack([ones, encoded[:, chosen], heights])
        exact_sums = coefficients(rows) if setting.functional else products(weighted(rows, setting.sensitivity))
        answer = self.noise.integers(exact_sums, setting.sensitivity, budgets[-1])
        self.model_ = LinearRegressionModel(setting, noise_kind(self.noise), chosen, answer)
        return self

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
)
