"""Multinomial logistic regression on a mixed table, private or not.

Where n·ε is small for the number of weights, *search*: report-noisy-max among public weights
(:mod:`workbench.learners.logistic_regression.search`), in one round or in steps. Where it is large, *sums*: a choice of
columns, then the noisy sums of the classes and of products, which give the linear discriminant
(:mod:`workbench.learners.logistic_regression.statistics`), and with still more, rounds along the noisy gradient towards
the logistic regression (:mod:`workbench.learners.logistic_regression.rounds`). Without noise it is this last path with
all columns and many rounds: the ordinary model.

Pure ε, zero-out neighbours, discrete Laplace noise on whole numbers. Released are the indices found and the noisy
sums; the weights follow from them and from public facts, and so does the question of each round.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.data.schema import Attribute
from workbench.learners.base import (
    Learner,
    PrivateEstimator,
    checked_classes,
    checked_schema,
    noise_kind,
    plain_part,
    table_shape,
)
from workbench.learners.encoding import grid_of
from workbench.learners.logistic_regression.parameters import LogisticRegressionParameters
from workbench.learners.logistic_regression.rounds import gradient_sum, heights, improved, probabilities
from workbench.learners.logistic_regression.search import (
    UNIT,
    Whole,
    best_pieces,
    candidate,
    first_directions,
    next_directions,
    wrong_rows,
)
from workbench.learners.logistic_regression.setting import SUMS_LABEL, Setting
from workbench.learners.logistic_regression.statistics import class_sums, discriminant, read_sums, weighted
from workbench.learners.plain import Facts, facts_from_plain, facts_to_plain
from workbench.learners.queries import checked_whole_numbers
from workbench.learners.selection import choose
from workbench.learners.tasks import CLASSIFICATION, EMPTY
from workbench.params import ParameterError
from workbench.privacy.accounting.event import Charge, Cost, PureDp
from workbench.privacy.central import CentralNoise, NoNoise

Doubles = NDArray[np.float64]
Answers = dict[str, list[int]]
Ask = Callable[[str, Any], list[int]]

_FORMAT = 1
_TOLERANCE = 3e-5


def _weights(setting: Setting, ask: Ask) -> tuple[Doubles, list[int]]:
    """Return the weights (D + 1, k) on the encoded scale, offsets first, and the encoded columns that are used.

    Args:
        setting: the public facts.
        ask: gives the released numbers of a query, which is told what it depends on: the directions of a choice, the
            columns of the sums, columns and weights of a round.
    """
    return _searched(setting, ask) if setting.searches else _from_sums(setting, ask)


def _searched(setting: Setting, ask: Ask) -> tuple[Doubles, list[int]]:
    before = np.zeros(setting.width, dtype=np.int64)
    found = candidate(0, before[None, :], before, setting.pattern)
    for label in setting.choices:
        directions = (
            next_directions(before)
            if before.any()
            else first_directions(setting.width, pairs=setting.pairs and label == setting.choices[0])
        )
        (index,) = ask(label, directions)
        if not 0 <= index < setting.classes + len(directions) * setting.pattern.size:
            raise ParameterError(f"the answer {index} is none of the candidates", label)
        found = candidate(index, directions, before, setting.pattern)
        before = found.direction
    weights, offsets = found.weights(setting.pattern)
    used = [int(j) for j in np.flatnonzero(found.direction)] if found.cuts else []
    return np.vstack([offsets, weights]), used


def _from_sums(setting: Setting, ask: Ask) -> tuple[Doubles, list[int]]:
    k, ridge = setting.classes, setting.parameters.ridge
    chosen = list(range(setting.used))
    if setting.selects:
        chosen = []
        for label in setting.choices:
            (column,) = ask(label, chosen)
            if column in chosen or not 0 <= column < setting.width:
                raise ParameterError(f"the answer {column} is none of the columns that are left", label)
            chosen.append(column)
    answer = ask(SUMS_LABEL, chosen)
    deviation = setting.deviation(SUMS_LABEL)
    sums = read_sums(answer, (k, len(chosen)), setting.size(SUMS_LABEL), setting.rows, deviation)
    weights, offsets = discriminant(sums)

    def gradient(number: int, at: Doubles) -> Doubles:
        label = f"round {number + 1}"
        return np.array(ask(label, (chosen, at)), dtype=np.float64).reshape(k, -1).T / setting.size(label)

    curvature = sums.positive_moments() * setting.rows
    # With noise every round is paid for and used; without, nothing more is to be found at some point.
    tolerance = 0.0 if setting.private else _TOLERANCE
    start = np.vstack([offsets, weights])
    found = improved(start, curvature, ridge, setting.rounds, gradient, tolerance=tolerance)
    whole = np.zeros((setting.width + 1, k))
    whole[[0, *(j + 1 for j in chosen)]] = found
    return whole, chosen


class _Rows:
    """Encoded rows, which answer the queries exactly; the noise is added where they are asked."""

    def __init__(self, setting: Setting, X: ArrayLike, classes: Whole) -> None:
        self._setting = setting
        self._classes = classes[classes != EMPTY]
        self._size = grid_of(setting.rows) if setting.searches else setting.size(SUMS_LABEL)
        self._encoded = setting.encoding.encode(X, self._size)[classes != EMPTY]

    def losses(self, label: str, asked: Any) -> list[int]:
        """Return the scores of a choice, in parts of :data:`UNIT`, each moved by one row by 0 or by a unit."""
        pattern = self._setting.pattern
        if self._setting.searches:
            return [v * UNIT for v in wrong_rows(self._encoded, self._classes, self._size, asked, pattern)]
        return best_pieces(self._encoded, self._classes, self._size, pattern)

    def sums(self, label: str, asked: Any) -> list[int]:
        """Return the sums of the classes and of products, or of a round's gradient."""
        setting, limit = self._setting, self._setting.sensitivity(label)
        if label == SUMS_LABEL:
            ones = np.full((len(self._classes), 1), self._size, dtype=np.int64)
            rows = np.hstack([ones, self._encoded[:, asked]])
            return class_sums(weighted(rows, limit), self._classes, setting.classes)
        chosen, weights = asked
        places = self._encoded[:, chosen] / self._size
        return gradient_sum(places, self._classes, weights, setting.size(label), limit)


class LogisticRegressionModel:
    """The released numbers, and the classifier made from them.

    Attributes:
        answers: released whole numbers by query.
        noise: one of ``released``, ``study`` and ``none``.
        classes_: class codes (k,).
        class_names: the declared classes.
        weights_: of the encoded columns (D + 1, k), offsets first.
    """

    def __init__(self, setting: Setting, noise: str, answers: Answers) -> None:
        self.setting = setting
        self.noise = noise
        self.answers = answers
        self.class_names = setting.facts.target.values()
        self.classes_ = np.arange(setting.classes)
        self.weights_, self._used = _weights(setting, self._read)

    def _read(self, label: str, asked: Any) -> list[int]:
        if label not in self.answers:
            raise ParameterError("the answer is missing", label, "give a model that this program wrote")
        return self.answers[label]

    @property
    def columns_used(self) -> tuple[str, ...]:
        """Names of the encoded columns that are used; none where one class is always predicted."""
        labels = self.setting.encoding.labels
        return tuple(labels[j] for j in self._used)

    def predict_proba(self, X: ArrayLike) -> Doubles:
        """Return P(class | row) (n, k)."""
        size = grid_of(1)
        return probabilities(heights(self.setting.encoding.encode(X, size) / size, self.weights_))

    @property
    def attributes_used(self) -> tuple[str, ...]:
        """Names of the columns that are used, those found first at the front."""
        return self.setting.encoding.names_of(self._used)

    def predict(self, X: ArrayLike) -> Whole:
        """Return the most probable class code of each row (n,)."""
        return np.asarray(self.predict_proba(X).argmax(axis=1), dtype=np.int64)

    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        """Return the accuracy on the rows that have a class; it is computed exactly, so it is private itself."""
        classes = checked_classes(y, self.setting.facts.target)
        here = classes != EMPTY
        if not here.any():
            raise ParameterError("no row has a class to be compared with")
        return float((self.predict(X)[here] == classes[here]).mean())

    def to_plain(self) -> dict[str, Any]:
        """Return public facts and released whole numbers as JSON holds them; the weights follow from these."""
        return {
            **facts_to_plain(LOGISTIC_REGRESSION.name, _FORMAT, self.noise, self.setting.facts),
            "columns": list(self.columns_used),
            "answers": self.answers,
        }

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> LogisticRegressionModel:
        """Return the model that :meth:`to_plain` wrote.

        Raises:
            ParameterError: a key is missing, or a value is not what such a model can hold; the message names it.
        """
        facts = facts_from_plain(
            values, LOGISTIC_REGRESSION.name, _FORMAT, LogisticRegressionParameters, CLASSIFICATION
        )
        setting = Setting(facts)
        answers = plain_part(values, "answers", dict)
        # Without noise the rounds end where nothing more is to be found.
        asked = setting.labels if setting.private else [label for label in setting.labels if label in answers]
        answers = checked_whole_numbers(answers, {label: setting.length(label) for label in asked})
        model = cls(setting, values["noise"], answers)
        if plain_part(values, "columns", list) != list(model.columns_used):
            raise ParameterError("the key 'columns' does not name the columns of this model", "the model")
        return model


class LogisticRegression(PrivateEstimator):
    """Logistic regression with the scikit-learn API; it is private if its noise is.

    X (n, d): numbers (NaN: missing, where the column may be), categories as codes 0 … v−1 (v: missing). y (n,): codes
    of the target's declared classes; −1 marks an empty row, which contributes nothing.

    Attributes:
        model_: what :meth:`fit` released.
    """

    model_: LogisticRegressionModel

    def __init__(
        self,
        attributes: Sequence[Attribute],
        target: Attribute,
        parameters: LogisticRegressionParameters,
        noise: CentralNoise,
        charge: Charge | None = None,
    ) -> None:
        super().__init__(attributes, target, parameters, noise, charge)
        self.parameters: LogisticRegressionParameters = parameters

    def _setting(self, rows: int) -> Setting:
        checked_schema(self.attributes, self.target)
        private = noise_kind(self.noise) != "none"
        return Setting(Facts(tuple(self.attributes), self.target, self.parameters, rows, private))

    def events(self, rows: int | None = None) -> tuple[PureDp, ...]:
        """Return what a fit on ``rows`` rows costs, one event a query (of the last fit where none is given)."""
        setting = self.model_.setting if rows is None else self._setting(rows)
        return tuple(PureDp(share, label) for label, share in setting.shares())

    def cost(self, rows: int) -> Cost | None:
        """Return what a fit on ``rows`` rows is charged; ``None`` without noise."""
        return self._composed(LOGISTIC_REGRESSION.name, rows)

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Charge, then read the rows, then release what the weights are made of.

        Raises:
            BudgetRefusedError: from the charge; nothing was read.
            InputError: a value that the column's declaration does not allow, naming row and column.
        """
        setting = self._setting(table_shape(X, y, self.attributes))
        self._pay(self.cost(setting.rows))
        rows = _Rows(setting, X, checked_classes(y, setting.facts.target))
        answers: Answers = {}

        def ask(label: str, asked: Any) -> list[int]:
            budget = setting.budget(label)
            if label not in setting.choices:
                answers[label] = self.noise.integers(rows.sums(label, asked), setting.sensitivity(label), budget)
            elif setting.searches:  # the noisy scores are thrown away: report-noisy-max releases the index
                noisy = self.noise.integers(rows.losses(label, asked), UNIT, budget)
                k, handicap = setting.classes, int(setting.handicap(label) * UNIT)
                answers[label] = [int(np.argmin([*noisy[:k], *(v + handicap for v in noisy[k:])]))]
            else:
                losses = rows.losses(label, asked)
                left = [j for j in range(setting.width) if j not in asked]
                answers[label] = [left[choose([losses[j] for j in left], [budget], self.noise)[0]]]
            return answers[label]

        _weights(setting, ask)
        self.model_ = LogisticRegressionModel(setting, noise_kind(self.noise), answers)
        return self

    @property
    def classes_(self) -> NDArray[np.int64]:
        """Class codes (k,)."""
        return self.model_.classes_

    @property
    def attributes_used(self) -> tuple[str, ...]:
        """Names of the columns that the fitted model looks at, those found first at the front."""
        return self.model_.attributes_used

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Return the most probable class code of each row (n,)."""
        return self.model_.predict(X)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return P(class | row) (n, k)."""
        return self.model_.predict_proba(X)

    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        """Return the accuracy (private itself: it is computed exactly)."""
        return self.model_.score(X, y)

    def to_plain(self) -> dict[str, Any]:
        """Return the fitted model as JSON holds it."""
        return self.model_.to_plain()

    @staticmethod
    def from_plain(values: Mapping[str, Any]) -> LogisticRegressionModel:
        """Return the model that :meth:`to_plain` wrote; it predicts, and cannot be fitted again."""
        return LogisticRegressionModel.from_plain(values)


def _ordinary(attributes: Sequence[Attribute], target: Attribute) -> LogisticRegression:
    """Return the same model without noise: private and ordinary are one code path."""
    return LogisticRegression(attributes, target, LogisticRegressionParameters(), NoNoise())


LOGISTIC_REGRESSION = Learner(
    name="logistic-regression",
    title="Logistic regression, pure ε",
    about="It finds the best of many public weights by noisy scores, or computes weights from noisy sums.",
    task=CLASSIFICATION,
    parameters=LogisticRegressionParameters,
    estimator=LogisticRegression,
    ordinary=_ordinary,
    short="Logistic, pure ε",
)
