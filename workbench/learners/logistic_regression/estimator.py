"""Multinomial logistic regression on a mixed table, private or not.

Where n·ε is small for the number of weights, *search*: report-noisy-max among public weights
(:mod:`workbench.learners.logistic_regression.search`), in one round or in steps. Where it is large, *sums*: a choice of
columns, then the noisy sums of the classes and of products, which give the linear discriminant, and with still more,
rounds along the noisy gradient towards the logistic regression (:mod:`workbench.learners.logistic_regression.sums`).
Without noise it is this last path with all columns and many rounds: the ordinary model.

Zero-out neighbours, discrete Laplace noise on whole numbers. Released are the indices found and the noisy sums; the
weights follow from them and from public facts, and so does the question of each round.

With a δ, where rows are many enough, *descent* (:mod:`workbench.learners.logistic_regression.descent`): means, moments
and rounds along the gradient, all with discrete Gaussian noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.learners.base import Answers, Classifier, PrivateEstimator, blocks_of
from workbench.learners.encoding import grid_of
from workbench.learners.logistic_regression.descent import MEANS, MOMENTS, Axes, Descent
from workbench.learners.logistic_regression.search import (
    MOST_CANDIDATES,
    UNIT,
    Pattern,
    Whole,
    best_pieces,
    candidate,
    first_directions,
    next_directions,
    wrong_rows,
)
from workbench.learners.logistic_regression.sums import (
    class_sums,
    discriminant,
    gradient_sum,
    improved,
    probabilities,
    read_sums,
    weighted,
)
from workbench.learners.selection import choose
from workbench.learners.setting import (
    FitSetting,
    chance_of_failure,
    how_many,
    privacy_budget,
    ranges_of_columns,
    ridge_strength,
)
from workbench.learners.tasks import CLASSIFICATION
from workbench.params import ParameterError, Parameters, choice
from workbench.privacy.central.share import Budget
from workbench.privacy.central.sums import heights, l2_norms, product_l2_norms, product_sums, within_limit
from workbench.work.ask import Ask

BY_SIZE, SEARCH, SUMS = "by-size", "search", "sums"

Doubles = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class LogisticRegressionParameters(Parameters):
    """Budget and origin of the weights. The defaults were chosen on generated tables and scikit-learn's public ones."""

    epsilon: float | None = privacy_budget()
    delta: float | None = chance_of_failure()
    ranges: str = ranges_of_columns()
    weights_from: str = choice(
        choices=(BY_SIZE, SEARCH, SUMS),
        titles={BY_SIZE: "by ε and rows", SEARCH: "a search", SUMS: "noisy sums"},
        default=BY_SIZE,
        title="weights from",
        help="a search picks the best of many public weights; noisy sums compute them; the default depends on ε and "
        "the rows",
        advanced=True,
    )
    columns: int | None = how_many(
        "columns used", 1000, "number of columns in the noisy sums (default: as many as ε and the number of rows allow)"
    )
    ridge: float = ridge_strength(
        "strength of the L2 penalty: the factor of half the squared weights, added to the sum of losses"
    )


SUMS_LABEL = "sums"

# All of these were chosen on generated tables and on scikit-learn's diabetes, iris and breast cancer. n·ε decides.
_PAIRS_FROM = 30.0
_STEPS_FROM = ((1_000.0, 3), (250.0, 2))
_HANDICAP = 5.0  # what the best of many noises would be taken for, in 1/ε: where there is nothing else, one class wins
_FIRST_WEIGHT = 2.0  # of the first round of a search, to 1 of each later one
_SUMS_FROM = {2: 300.0, 3: 150.0}  # n·ε for each weight from which sums are better than the search
_SUMS_FROM_MORE = 8.0  # with more classes than one direction distinguishes
_COLUMNS_RATE = 0.08
_SELECTION_SHARE = 0.3
_ROUNDS_FROM = ((300_000.0, 40), (3_000.0, 10), (500.0, 4))  # n·ε for each weight
_ROUNDS_SHARE = 0.5
_ROUNDS_WITHOUT_NOISE = 300
_NORM_SHARE = 0.5
_DELTA_FROM = 400.0  # n·ε from which descent is better than a search


class Setting(FitSetting[LogisticRegressionParameters]):
    """The public facts of a fit, and what follows from them: queries, shares of ε, sensitivities."""

    ranges_since = 2
    bends_since = 3

    def delta_pays(self, given: Budget) -> bool:
        """Return whether a δ is used: descent asks for more than a search can, of rows that are many enough.

        It uses every column and no ridge, so whoever asks for a search, a number of columns or a ridge gets these.
        """
        asked, usual = self.parameters, LogisticRegressionParameters
        plain = (asked.weights_from, asked.columns, asked.ridge) == (BY_SIZE, usual.columns, usual.ridge)
        return plain and self.rows * float(given.epsilon) >= _DELTA_FROM

    @cached_property
    def _rangeable(self) -> tuple[int, ...]:
        return () if self.gaussian else super()._rangeable  # means and moments do better, on wide bounds too

    @cached_property
    def descent(self) -> Descent | None:
        """What is asked with a δ."""
        if not self.gaussian:
            return None
        known = self.rows * math.sqrt(2 * float(self.amount))
        bound = sum(not a.numeric and len(a.values()) > 2 for a in self.attributes)
        free = self.width - bound if self.version >= self.bends_since else 0
        return Descent(self.rows, self.width, self.classes, known, free, self.version)

    @cached_property
    def classes(self) -> int:
        """K, the number of declared classes."""
        return len(self.target.values())

    @property
    def known(self) -> float:
        """n·ε, which decides how much can be asked."""
        return min(self.rows * self.epsilon, 1e15)

    @property
    def _known_each(self) -> float:
        """n·ε for each weight."""
        return self.known / (self.classes * (self.width + 1))

    @cached_property
    def searches(self) -> bool:
        """Whether the model is found by search, and not from sums."""
        if not self.private or self.gaussian or self.parameters.weights_from == SUMS:
            return False
        if self.parameters.weights_from != BY_SIZE:
            return True
        enough = self._known_each >= _SUMS_FROM.get(self.classes, _SUMS_FROM_MORE)
        return not enough and self.pattern.size * self.width <= MOST_CANDIDATES

    @cached_property
    def steps(self) -> int:
        """How many rounds of the search follow the first."""
        return next((steps for least, steps in _STEPS_FROM if self.known >= least), 0)

    @cached_property
    def pattern(self) -> Pattern:
        """How the directions of a search are cut."""
        fine = self.steps > 0
        if self.classes == 2:
            return Pattern(2, 2, 32 if fine else 16)
        three = Pattern(self.classes, 3, 12 if fine else 8)
        return three if three.size * (6 * self.width + 1) <= MOST_CANDIDATES else Pattern(self.classes, 2, 16)

    @property
    def pairs(self) -> bool:
        """Whether the first round tries sums and differences of two columns, too."""
        share = _FIRST_WEIGHT / (_FIRST_WEIGHT + self.steps)
        return self.known * share >= _PAIRS_FROM and self.pattern.size * self.width**2 <= MOST_CANDIDATES

    @cached_property
    def used(self) -> int:
        """How many encoded columns the sums are asked for."""
        if not self.private:
            return self.width
        asked = self.parameters.columns or max(1, math.floor(_COLUMNS_RATE * math.sqrt(self.known)))
        return min(asked, self.width)

    @property
    def selects(self) -> bool:
        """Whether the columns of the sums are chosen from the rows."""
        return self.used < self.width

    @cached_property
    def rounds(self) -> int:
        """How often the weights move along the noisy gradient."""
        if not self.private:
            return _ROUNDS_WITHOUT_NOISE
        return next((rounds for least, rounds in _ROUNDS_FROM if self._known_each >= least), 0)

    @cached_property
    def choices(self) -> tuple[str, ...]:
        """The queries that release an index: rounds of the search, or the choice of columns."""
        if self.searches:
            return tuple(f"choice of weights {i + 1}" for i in range(1 + self.steps))
        return tuple(f"choice of column {i + 1}" for i in range(self.used if self.selects else 0))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The queries in order."""
        if self.searches:
            return self.choices
        return (*self.choices, SUMS_LABEL, *(f"round {i + 1}" for i in range(self.rounds)))

    @property
    def weights(self) -> dict[str, float]:
        if self.descent:
            return self.descent.weights
        if self.searches:
            weights = [_FIRST_WEIGHT, *[1.0] * self.steps]
        else:
            weights = [_SELECTION_SHARE / self.used] * len(self.choices)
            rest = 1 - sum(weights)
            moved = _ROUNDS_SHARE * rest if self.rounds else 0.0
            weights += [rest - moved, *[moved / max(self.rounds, 1)] * self.rounds]
        return dict(zip(self.labels, weights, strict=True))

    def handicap(self, label: str) -> float:
        """Return how many rows better than the best class a direction of a search has to be."""
        return _HANDICAP / self.budget(label)

    @property
    def largest_norm(self) -> int:
        """The largest L1 norm of a row's part in the sums, in units of K²."""
        return 1 + self.used + self.used * (self.used - 1) // 2

    def limit(self, label: str) -> float:
        """Return the public limit of the L1 norm of a row's part in the sums (in K²) or in a round (in K)."""
        if self.descent:
            return self.descent.limit(label)
        largest = float(self.largest_norm) if label == SUMS_LABEL else 2.0 * (1 + self.used)
        return 1 + (largest - 1) * _NORM_SHARE if self.private else largest

    def size(self, label: str) -> int:
        """Return K of the sums or of a round."""
        if self.descent:  # no product of centred columns is above the limit, so that sums of them are exact
            limit = self.limit(label)
            return grid_of(self.rows * math.ceil(limit), limit, self.part(label).strength)
        return grid_of(self.rows, self.limit(label), self.budget(label))

    def sensitivity(self, label: str) -> int:
        """Return the L1 sensitivity of a query in whole numbers, with a δ the L2 sensitivity."""
        return max(1, math.floor(self.limit(label) * self._unit(label)))

    def lengths(self) -> dict[str, int]:
        if self.descent:
            return self.descent.lengths()
        k, m = self.classes, self.used
        other = {**dict.fromkeys(self.choices, 1), SUMS_LABEL: k * (m + 1) + m * (m + 1) // 2}
        return {label: other.get(label, k * (m + 1)) for label in self.labels}

    def deviation(self, label: str) -> float:
        """Return the standard deviation of the noise of each sum, in units of a row."""
        return self.noise_deviation(label, self.sensitivity(label)) / self._unit(label)

    def in_rows(self, label: str, answer: Sequence[int]) -> Doubles:
        """Return released sums in units of a row."""
        return np.array(answer, dtype=np.float64) / self._unit(label)

    def _unit(self, label: str) -> int:
        return self.size(label) ** (2 if label in (SUMS_LABEL, MOMENTS) else 1)


Answer = Callable[[str, Any], list[int]]

_TOLERANCE = 3e-5


def _weights(setting: Setting, ask: Answer) -> tuple[Axes | None, Doubles, list[int]]:
    """Return weights (s, k), offsets first, of what is seen along axes; and the encoded columns that are used.

    Without axes these are the weights of the encoded columns.

    Args:
        setting: the public facts.
        ask: gives the released numbers of a query, which is given what it depends on: the directions of a choice, the
            columns of the sums, columns and weights of a round.
    """
    if setting.descent:
        found = setting.descent.found(lambda *asked: setting.in_rows(asked[0], ask(*asked)), setting.deviation)
        return *found, list(range(setting.width))
    return None, *(_searched(setting, ask) if setting.searches else _from_sums(setting, ask))


def _searched(setting: Setting, ask: Answer) -> tuple[Doubles, list[int]]:
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
            raise ParameterError(f"the answer {index} is not one of the candidates", label)
        found = candidate(index, directions, before, setting.pattern)
        before = found.direction
    weights, offsets = found.weights(setting.pattern)
    used = [int(j) for j in np.flatnonzero(found.direction)] if found.cuts else []
    return np.vstack([offsets, weights]), used


def _from_sums(setting: Setting, ask: Answer) -> tuple[Doubles, list[int]]:
    k, ridge = setting.classes, setting.parameters.ridge
    chosen = list(range(setting.used))
    if setting.selects:
        chosen = []
        for label in setting.choices:
            (column,) = ask(label, chosen)
            if column in chosen or not 0 <= column < setting.width:
                raise ParameterError(f"the answer {column} is not one of the remaining columns", label)
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
    """Encoded rows, which answer the queries exactly; ``ask`` adds the noise."""

    def __init__(self, setting: Setting, X: ArrayLike, classes: Whole) -> None:
        self._setting = setting
        self._classes = classes
        first = MEANS[0] if setting.descent else SUMS_LABEL
        self._size = grid_of(setting.rows) if setting.searches else setting.size(first)
        self._encoded = setting.encoding.encode(X, self._size)
        self._along: Doubles | None = None

    def answer(self, ask: Ask, label: str, asked: Any) -> list[int]:
        """Ask one query, whose scores or sums one row moves by what is given to ``ask`` at most."""
        setting = self._setting
        if label not in setting.choices:
            return ask(label, self.sums(label, asked), setting.sensitivity(label))
        if setting.searches:
            wrong = wrong_rows(self._encoded, self._classes, self._size, asked, setting.pattern)
            k, handicap = setting.classes, int(setting.handicap(label) * UNIT)
            return ask.least(label, [[v * UNIT for v in wrong[:k]] + [v * UNIT + handicap for v in wrong[k:]]], UNIT)
        losses = best_pieces(self._encoded, self._classes, self._size, setting.pattern)
        left = [j for j in range(setting.width) if j not in asked]
        return [left[choose([losses[j] for j in left], [label], ask)[0]]]

    def sums(self, label: str, asked: Any) -> list[int]:
        """Return the sums of the classes and of products, or of a round's gradient."""
        setting, limit = self._setting, self._setting.sensitivity(label)
        if setting.descent:
            return self._descending(label, asked, limit)
        if label == SUMS_LABEL:
            ones = np.full((len(self._classes), 1), self._size, dtype=np.int64)
            rows = np.hstack([ones, self._encoded[:, asked]])
            return class_sums(weighted(rows, limit), self._classes, setting.classes)
        chosen, weights = asked
        places = self._encoded[:, chosen] / self._size
        return gradient_sum(places, self._classes, weights, setting.size(label), limit)

    def _descending(self, label: str, asked: Any, limit: int) -> list[int]:
        """Return the sums of a query of a descent, what a row adds within the limit in L2."""
        size = self._setting.size(label)
        if label not in (*MEANS, MOMENTS):
            axes, weights = asked
            if self._along is None:  # the axes are those of all rounds
                self._along = axes.rows(self._encoded / self._size)
            return gradient_sum(self._along, self._classes, weights, size, limit, l2_norms, axes.seen)
        total = np.zeros(self._setting.lengths()[label], dtype=np.int64)
        for here in blocks_of(len(self._classes)):
            centred = np.rint((self._encoded[here] / self._size - asked) * size).astype(np.int64)
            if label == MOMENTS:
                total += product_sums(within_limit(centred, product_l2_norms, limit, squared=True))
            else:
                total += within_limit(centred, l2_norms, limit).sum(axis=0)
        return [int(v) for v in total]


class LogisticRegressionModel(Classifier[Setting]):
    """The released numbers, and the classifier made from them.

    Attributes:
        axes_: with a δ what the encoded columns become.
        weights_: of these, or of the encoded columns (s, k), offsets first.
    """

    name, task, version = "logistic-regression", CLASSIFICATION, 5
    parameters_type, setting_type = LogisticRegressionParameters, Setting

    def __init__(self, setting: Setting, noise: str, answers: Answers) -> None:
        super().__init__(setting, noise, answers)
        self.axes_, self.weights_, self._used = _weights(setting, self._read)

    def _read(self, label: str, asked: Any) -> list[int]:
        if label not in self.answers:
            raise ParameterError("the answer is missing", label, "use a model file written by this program")
        return self.answers[label]

    @property
    def columns_used(self) -> tuple[str, ...]:
        """Names of the encoded columns that are used; none where one class is always predicted."""
        labels = self.setting.encoding.labels
        return tuple(labels[j] for j in self._used)

    def predict_proba(self, X: ArrayLike) -> Doubles:
        places = self.setting.encoding.places(X)
        scores = self.axes_.heights(places, self.weights_) if self.axes_ else heights(places, self.weights_)
        return probabilities(scores)

    @property
    def attributes_used(self) -> tuple[str, ...]:
        """Names of the columns that are used, those found first at the front."""
        return self.setting.encoding.names_of(self._used)

    def more(self) -> dict[str, Any]:
        """Return the columns that are used, by name."""
        return {"columns": list(self.columns_used)}

    @classmethod
    def lengths(cls, setting: Setting, answered: Mapping[str, Any], **read: Any) -> Mapping[str, int]:
        """Return those of the queries that were asked: without noise rounds end where nothing more is to be found."""
        return {label: n for label, n in setting.lengths().items() if setting.private or label in answered}


class LogisticRegression(PrivateEstimator[LogisticRegressionModel]):
    """Logistic regression."""

    model_type = LogisticRegressionModel

    def descent(self, rows: int) -> Descent | None:
        """Return what a fit on so many rows asks with a δ, from public facts; ``None`` where it asks otherwise."""
        found: Descent | None = self._setting(rows).descent
        return found

    def _answers(self, ask: Ask, setting: Setting, X: Doubles, y: Whole) -> Answers:
        rows = _Rows(setting, X, y)
        answers: Answers = {}

        def answer(label: str, asked: Any) -> list[int]:
            answers[label] = rows.answer(ask, label, asked)
            return answers[label]

        _weights(setting, answer)
        return answers


LOGISTIC_REGRESSION = LogisticRegression.described(
    "Logistic regression, exact noise",
    "Picks the best of many public weight vectors by noisy scores, or computes the weights from noisy sums.",
    short="Logistic, exact noise",
)
