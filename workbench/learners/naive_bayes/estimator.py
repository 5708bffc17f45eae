"""Naive Bayes for numeric and categorical attributes, private or not, in one code path.

The queries (pure ε, zero-out neighbours, discrete Laplace noise on integers):

* where ε and the rows do not allow all attributes, which ones are used (:mod:`workbench.learners.naive_bayes.setting`);
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

from collections.abc import Mapping, Sequence
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
from workbench.learners.naive_bayes.setting import Setting
from workbench.learners.queries import checked_answers, events
from workbench.learners.selection import choose
from workbench.learners.tasks import CLASSIFICATION, EMPTY
from workbench.params import ParameterError
from workbench.privacy.accounting.event import Charge, Cost, PureDp, floor_double
from workbench.privacy.central import CentralNoise, NoNoise

_FORMAT = 2


class NaiveBayesModel:
    """The released numbers, and the classifier made from them.

    Attributes:
        setting: the public facts.
        chosen: indices of the attributes that are used, in the order in which they were found.
        queries: the queries.
        answers: the noisy integers, one list a query.
        noise: one of ``released``, ``study`` and ``none``.
        classes_: class codes (k,).
        class_names: the declared classes.
        class_sizes_: estimated rows of each class (k,).
        densities_: the class-conditional density of each used attribute, by column index.
    """

    def __init__(self, setting: Setting, noise: str, chosen: Sequence[int], answers: Sequence[Sequence[int]]) -> None:
        self.setting = setting
        self.noise = noise
        self.chosen = tuple(chosen)
        self.queries = setting.queries(self.chosen)
        self.answers = tuple(tuple(int(v) for v in vector) for vector in answers)
        self.class_names = setting.target.values()
        self.classes_ = np.arange(len(self.class_names))
        sizes = self.queries[0]
        self._classes = ClassSizes(*class_sizes(np.array(self.answers[0], float), setting.rows, sizes.variance))
        self.class_sizes_ = self._classes.sizes
        self.densities_ = self._densities()

    @property
    def releasable(self) -> bool:
        """Whether the noise was the cryptographic one."""
        return self.noise == "released"

    @property
    def attributes_used(self) -> tuple[str, ...]:
        """Names of the attributes that are used, those chosen first at the front; more would be too noisy at this ε."""
        return tuple(self.setting.attributes[j].name for j in self.densities_)

    def _densities(self) -> dict[int, Density]:
        p, found = self.setting.parameters, dict[int, Density]()
        presence: NDArray[np.float64] | None = None
        presence_variance = 0.0
        for query, noisy in zip(self.queries[1:], self.answers[1:], strict=True):
            attribute = self.setting.attributes[query.column]
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
        columns = checked_columns(X, self.setting.attributes)
        return joint_log_likelihood(self.class_sizes_, self.densities_, columns)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return P(class | row) (n, k); a row that is impossible in every class gets the class sizes."""
        columns = checked_columns(X, self.setting.attributes)
        return class_chances(self.class_sizes_, self.densities_, columns)

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Return the most probable class code of each row (n,)."""
        return np.asarray(self.predict_proba(X).argmax(axis=1), dtype=np.int64)

    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        """Return the accuracy on the rows that have a class; it is computed exactly, so it is private itself."""
        classes = checked_classes(y, self.setting.target)
        here = classes != EMPTY
        if not here.any():
            raise ParameterError("no row has a class to be compared with")
        return float((self.predict(X)[here] == classes[here]).mean())

    def events(self) -> tuple[PureDp, ...]:
        """Return one event a query, with shares that sum to ε exactly; none without noise."""
        return (*self.setting.choices(), *events(self.queries))

    def to_plain(self) -> dict[str, Any]:
        """Return public facts and noisy integers as JSON holds them; the rest follows from these."""
        setting = self.setting
        return {
            "learner": NAIVE_BAYES.name,
            "format": _FORMAT,
            "noise": self.noise,
            "rows": setting.rows,
            "parameters": setting.parameters.to_plain(),
            "attributes": [a.to_plain() for a in setting.attributes],
            "target": setting.target.to_plain(),
            "used": list(self.attributes_used),
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
        setting = Setting(
            tuple(Attribute.from_plain(a, f"attribute {i}") for i, a in enumerate(attributes, start=1)),
            Attribute.from_plain(plain_part(values, "target", dict), "the target"),
            NaiveBayesParameters.from_plain(plain_part(values, "parameters", dict), "the model's parameters"),
            rows,
            values["noise"] != "none",
        )
        checked_schema(setting.attributes, setting.target)
        chosen = _chosen(plain_part(values, "used", list), setting)
        answers = checked_answers(plain_part(values, "answers", dict), setting.queries(chosen))
        return cls(setting, values["noise"], chosen, answers)


def _chosen(used: list[Any], setting: Setting) -> list[int]:
    """Return the indices of the attributes that a file names, or raise :class:`ParameterError`."""
    names = [a.name for a in setting.attributes]
    if not all(isinstance(name, str) and name in names for name in used) or len(set(used)) != len(used):
        raise ParameterError("the key 'used' does not name attributes of this model", "the model")
    if len(used) != setting.used:
        raise ParameterError(f"the key 'used' names {len(used)} attributes, not {setting.used}", "the model")
    return [names.index(name) for name in used]


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

    def _setting(self, rows: int) -> Setting:
        checked_schema(self.attributes, self.target)
        return Setting(tuple(self.attributes), self.target, self.parameters, rows, noise_kind(self.noise) != "none")

    def events(self, rows: int | None = None) -> tuple[PureDp, ...]:
        """Return what a fit on ``rows`` rows costs, one event a query (of the last fit where none is given)."""
        return self.model_.events() if rows is None else self._setting(rows).planned()

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
        setting = self._setting(rows)
        self._pay(self.cost(rows))
        columns, classes = checked_columns(X, setting.attributes), checked_classes(y, setting.target)
        chosen = list(range(len(setting.attributes)))
        if setting.selects:
            budgets = [floor_double(event.epsilon) for event in setting.choices()]
            chosen = choose(setting.losses(columns, classes), budgets, self.noise)
        answers = [
            self.noise.integers(
                q.answer(columns, classes, setting.attributes, setting.classes), q.sensitivity, q.epsilon
            )
            for q in setting.queries(chosen)
        ]
        self.model_ = NaiveBayesModel(setting, noise_kind(self.noise), chosen, answers)
        return self

    @property
    def attributes_used(self) -> tuple[str, ...]:
        """Names of the columns that the fitted model looks at, those found first at the front."""
        return self.model_.attributes_used

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
