"""Naive Bayes for numeric and categorical attributes, private or not, in one code path.

The queries (pure ε, zero-out neighbours, discrete Laplace noise on integers):

* the size of each class, L1 sensitivity 1;
* for each numeric attribute the sum of the values of each class and the sum of squares (of each class where the noise
  allows it, else of all rows) about a public centre, as one vector with the L1 sensitivity of the values alone
  (:mod:`workbench.learners.sums`);
* for each categorical attribute its histogram in each class, sensitivity 1; a missing value is one more cell. If a
  numeric attribute may be missing, also a histogram of present and missing.

A row belongs to one class, so that classes compose in parallel, and n is public. The model is these integers and
public facts, nothing else; everything else is post-processing (:mod:`workbench.learners.denoise`).

Against Vaidya et al. (2013), who query n, mean and variance of each class and attribute: no sensitivity here depends
on a private n, the sum of squares is free, and estimates are shrunk to public priors according to their noise.
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
    checked_classes,
    checked_columns,
    checked_schema,
    noise_kind,
    plain_part,
    split_epsilon,
    table_shape,
)
from workbench.learners.denoise import class_sizes
from workbench.learners.naive_bayes.corrected import CorrectedNaiveBayes
from workbench.learners.naive_bayes.likelihood import (
    CellDensity,
    ClassSizes,
    Density,
    GaussianDensity,
    class_chances,
    gaussian_moments,
    histogram_cells,
    joint_log_likelihood,
    present_sizes,
    smoothed,
)
from workbench.learners.naive_bayes.parameters import NaiveBayesParameters
from workbench.learners.queries import Query, checked_answers, events
from workbench.learners.sums import grid_size
from workbench.learners.tasks import CLASSIFICATION, EMPTY
from workbench.params import ParameterError
from workbench.privacy.accounting.event import Charge, Cost, PureDp, exact, floor_double
from workbench.privacy.central import CentralNoise, NoNoise

_FORMAT = 1
_PRESENCE_PART = 0.25  # of the share of a numeric attribute that may be missing: two cells need less than its sums
_SQRT2 = math.sqrt(2)


@dataclass(frozen=True)
class _Schema:
    """The public facts that queries and model follow from."""

    attributes: tuple[Attribute, ...]
    target: Attribute
    parameters: NaiveBayesParameters
    rows: int
    private: bool

    @property
    def classes(self) -> int:
        """Number of declared classes."""
        return len(self.target.values())

    def queries(self) -> tuple[Query, ...]:
        """Return the queries in order, with shares that sum to ε exactly."""
        k, p = self.classes, self.parameters
        if self.private and p.epsilon is None:
            raise ParameterError("epsilon is not given", mend="give epsilon = NUMBER above 0")
        epsilon = p.epsilon if self.private and p.epsilon is not None else math.inf
        used = self._used(epsilon)
        each = (1 - p.count_share) / used
        # √8·k/(n·ε_j) is the deviation of the noise of one class's variance when classes are equally large.
        per_class = 2 * _SQRT2 * k / (self.rows * each * epsilon) < p.separate_below

        asked: list[tuple[float, str, str, int, int]] = [(p.count_share, "class sizes", "sizes", -1, k)]
        for j, attribute in enumerate(self.attributes[:used]):
            may_miss = attribute.missing == "own-value"
            if attribute.numeric:
                sums = each * (1 - _PRESENCE_PART) if may_miss else each
                if may_miss:
                    asked.append((each * _PRESENCE_PART, f"{attribute.name}: presence", "histogram", j, 2 * k))
                asked.append((sums, f"{attribute.name}: sums", "moments", j, 2 * k if per_class else k + 1))
            else:
                cells = len(attribute.values()) + may_miss
                asked.append((each, f"{attribute.name}: histogram", "histogram", j, cells * k))
        shares: tuple[Decimal | None, ...] = (None,) * len(asked)
        if self.private:
            shares = split_epsilon(exact(epsilon), [weight for weight, *_ in asked])
        return tuple(
            Query(
                label,
                form,
                column,
                length,
                grid_size(self.rows, math.inf if share is None else floor_double(share)) if form == "moments" else 1,
                share,
                per_class and form == "moments",
            )
            for share, (_, label, form, column, length) in zip(shares, asked, strict=True)
        )

    def _used(self, epsilon: float) -> int:
        """Return how many attributes are used: the most whose class means keep noise below the limit."""
        p, all_of_them = self.parameters, len(self.attributes)
        # √2·k·used/(n·(1−share)·ε) is the deviation of a class mean's noise when classes are equally large.
        most = p.noise_limit * (1 - p.count_share) * epsilon * self.rows / (_SQRT2 * self.classes)
        return all_of_them if most >= all_of_them else max(1, int(most))


class NaiveBayesModel:
    """The released numbers, and the classifier made from them.

    Attributes:
        queries: the queries.
        answers: the noisy integers, one list a query.
        noise: one of ``released``, ``study`` and ``none``.
        classes_: class codes (k,).
        class_names: the declared classes.
        class_sizes_: estimated rows of each class (k,).
        densities_: the class-conditional density of each used attribute, by column index.
    """

    def __init__(self, schema: _Schema, noise: str, answers: Sequence[Sequence[int]]) -> None:
        self._schema = schema
        self.noise = noise
        self.queries = schema.queries()
        self.answers = tuple(tuple(int(v) for v in vector) for vector in answers)
        self.class_names = schema.target.values()
        self.classes_ = np.arange(len(self.class_names))
        sizes = self.queries[0]
        self._classes = ClassSizes(*class_sizes(np.array(self.answers[0], float), schema.rows, sizes.variance))
        self.class_sizes_ = self._classes.sizes
        self.densities_ = self._densities()

    @property
    def releasable(self) -> bool:
        """Whether the noise was the cryptographic one."""
        return self.noise == "released"

    @property
    def attributes_used(self) -> tuple[str, ...]:
        """Names of the attributes that are used; the others would have been too noisy at this ε."""
        return tuple(self._schema.attributes[j].name for j in self.densities_)

    def _densities(self) -> dict[int, Density]:
        p, found = self._schema.parameters, dict[int, Density]()
        presence: NDArray[np.float64] | None = None
        presence_variance = 0.0
        for query, noisy in zip(self.queries[1:], self.answers[1:], strict=True):
            attribute = self._schema.attributes[query.column]
            if query.form == "histogram":
                cells = histogram_cells(noisy, self._classes, query.variance)
                if attribute.numeric:
                    presence, presence_variance = cells, query.variance
                else:
                    found[query.column] = CellDensity(attribute, smoothed(cells, self.class_sizes_, p.smoothing))
                continue
            means, variances = gaussian_moments(
                noisy,
                query.sensitivity,
                present_sizes(self._classes, presence, presence_variance),
                query.variance,
                p.mean_spread,
                p.typical_variance,
            )
            known = None if presence is None else smoothed(presence, self.class_sizes_, p.smoothing)
            found[query.column] = GaussianDensity(attribute, means, variances, known)
            presence, presence_variance = None, 0.0
        return found

    def joint_log_likelihood(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return log P(class) + Σ log p(x_j | class) of each row (n, k)."""
        columns = checked_columns(X, self._schema.attributes)
        return joint_log_likelihood(self.class_sizes_, self.densities_, columns)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return P(class | row) (n, k); a row that is impossible in every class gets the class sizes."""
        columns = checked_columns(X, self._schema.attributes)
        return class_chances(self.class_sizes_, self.densities_, columns)

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Return the most probable class code of each row (n,)."""
        return np.asarray(self.predict_proba(X).argmax(axis=1), dtype=np.int64)

    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        """Return the accuracy on the rows that have a class; it is computed exactly, so it is private itself."""
        classes = checked_classes(y, self._schema.target)
        here = classes != EMPTY
        if not here.any():
            raise ParameterError("no row has a class to be compared with")
        return float((self.predict(X)[here] == classes[here]).mean())

    def events(self) -> tuple[PureDp, ...]:
        """Return one event a query, with shares that sum to ε exactly; none without noise."""
        return events(self.queries)

    def to_plain(self) -> dict[str, Any]:
        """Return public facts and noisy integers as JSON holds them; the rest follows from these."""
        schema = self._schema
        return {
            "learner": NAIVE_BAYES.name,
            "format": _FORMAT,
            "noise": self.noise,
            "rows": schema.rows,
            "parameters": schema.parameters.to_plain(),
            "attributes": [a.to_plain() for a in schema.attributes],
            "target": schema.target.to_plain(),
            "answers": {q.label: list(v) for q, v in zip(self.queries, self.answers, strict=True)},
        }

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> NaiveBayesModel:
        """Return the model that :meth:`to_plain` wrote.

        Raises:
            ParameterError: a key is missing, or a value is not what such a model can hold; the message names it.
        """
        for key, only in (("learner", (NAIVE_BAYES.name,)), ("format", (_FORMAT,)), ("noise", NOISES)):
            if plain_part(values, key, type(only[0])) not in only:
                raise ParameterError(f"{key} = {values[key]!r} is not {' or '.join(map(str, only))}", "the model")
        rows = plain_part(values, "rows", int)
        if not 1 <= rows < 2**59:
            raise ParameterError(f"rows = {rows} is no number of rows", "the model")
        attributes = plain_part(values, "attributes", list)
        if not all(isinstance(a, dict) for a in attributes):
            raise ParameterError("the key 'attributes' is not a list of tables", "the model")
        schema = _Schema(
            tuple(Attribute.from_plain(a, f"attribute {i}") for i, a in enumerate(attributes, start=1)),
            Attribute.from_plain(plain_part(values, "target", dict), "the target"),
            NaiveBayesParameters.from_plain(plain_part(values, "parameters", dict), "the model's parameters"),
            rows,
            values["noise"] != "none",
        )
        checked_schema(schema.attributes, schema.target)
        answers = checked_answers(plain_part(values, "answers", dict), schema.queries())
        return cls(schema, values["noise"], answers)


class NaiveBayes(PrivateEstimator):
    """Naive Bayes with the scikit-learn API; it is private if its noise is.

    X (n, d): numeric columns as numbers (NaN: missing, contributes to nothing but the histogram of presence),
    categorical columns as codes 0 … k−1 (k: missing, where ``missing = "own-value"``). y (n,): codes of the target's
    declared classes; −1 marks an empty row, which contributes nothing.

    Attributes:
        model_: what :meth:`fit` released.
    """

    model_: NaiveBayesModel

    def __init__(
        self,
        attributes: Sequence[Attribute],
        target: Attribute,
        parameters: NaiveBayesParameters,
        noise: CentralNoise,
        charge: Charge | None = None,
    ) -> None:
        super().__init__(attributes, target, parameters, noise, charge)
        self.parameters: NaiveBayesParameters = parameters

    def _schema(self, rows: int) -> _Schema:
        checked_schema(self.attributes, self.target)
        return _Schema(tuple(self.attributes), self.target, self.parameters, rows, noise_kind(self.noise) != "none")

    def events(self, rows: int | None = None) -> tuple[PureDp, ...]:
        """Return what a fit on ``rows`` rows costs, one event a query (of the last fit where none is given)."""
        return events(self.model_.queries if rows is None else self._schema(rows).queries())

    def cost(self, rows: int) -> Cost | None:
        """Return what a fit on ``rows`` rows is charged; ``None`` without noise."""
        return self._composed(NAIVE_BAYES.name, rows)

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Charge, then read the rows, then release the noisy integers that the model is made of.

        Raises:
            BudgetRefusedError: from the charge; nothing was read.
            InputError: a value that the column's declaration does not allow, naming row and column.
        """
        rows = table_shape(X, y, self.attributes)
        schema = self._schema(rows)
        self._pay(self.cost(rows))
        columns, classes = checked_columns(X, schema.attributes), checked_classes(y, schema.target)
        answers = [
            self.noise.integers(q.answer(columns, classes, schema.attributes, schema.classes), q.sensitivity, q.epsilon)
            for q in schema.queries()
        ]
        self.model_ = NaiveBayesModel(schema, noise_kind(self.noise), answers)
        return self

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

    def to_plain(self) -> dict[str, Any]:
        """Return the fitted model as JSON holds it."""
        return self.model_.to_plain()

    @staticmethod
    def from_plain(values: Mapping[str, Any]) -> NaiveBayesModel:
        """Return the model that :meth:`to_plain` wrote; it predicts, and cannot be fitted again."""
        return NaiveBayesModel.from_plain(values)


def _ordinary(attributes: Sequence[Attribute], target: Attribute) -> NaiveBayes:
    """Return the same model without noise: private and ordinary are one code path."""
    return NaiveBayes(attributes, target, NaiveBayesParameters(), NoNoise())


NAIVE_BAYES = Learner(
    name="naive-bayes",
    title="Naive Bayes",
    about="It counts the rows once and adds noise to the counts.",
    task=CLASSIFICATION,
    parameters=NaiveBayesParameters,
    estimator=NaiveBayes,
    ordinary=_ordinary,
    corrected=CorrectedNaiveBayes,
)
