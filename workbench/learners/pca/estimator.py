"""Principal components of a mixed table, private or not, in one code path.

What is asked (pure ε, zero-out neighbours, discrete Laplace noise on whole numbers; a row is encoded within [−K, K]^D):

* the sum of the rows, of which one with a large L1 norm is scaled to a public limit;
* how far the rows scatter about the noisy mean, one number in which a row counts by its mean distance;
* the sums of products Σ z_i·z_j, i ≤ j, of the rows less the noisy mean. The limit to which a row's part is scaled
  follows from the noisy scatter; it is the L1 sensitivity.

The components follow from these numbers (:mod:`workbench.learners.pca.solve`): the covariance is drawn by the size of
its noise to one whose columns are all alike, and its eigenvectors are taken. Noise on the matrix, after Blum, Dwork,
McSherry & Nissim (2005), is exact on whole numbers; the exponential mechanism over directions (Chaudhuri, Sarwate &
Sinha 2013) is not, as its density can only be sampled approximately.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.data.schema import Attribute
from workbench.learners.base import Learner, checked_schema, noise_kind, plain_part, table_shape
from workbench.learners.encoding import Encoding, grid_of
from workbench.learners.pca.parameters import PcaParameters
from workbench.learners.pca.setting import MEAN, PRODUCTS, SCATTER, UNIT, Setting, require_width
from workbench.learners.pca.solve import Doubles, Moments, Whole, directions, moments
from workbench.learners.plain import Facts, facts_from_plain, facts_to_plain
from workbench.learners.queries import checked_whole_numbers
from workbench.learners.second_moments import product_norms, product_sums
from workbench.learners.sums import l1_norms, within_limit
from workbench.learners.tasks import REDUCTION
from workbench.learners.transforms import Transformer, filled_rows, outward
from workbench.params import ParameterError
from workbench.privacy.accounting.event import Charge, Cost, PureDp
from workbench.privacy.central import CentralNoise, NoNoise

Answers = dict[str, list[int]]

_FORMAT = 1
_PLACES = grid_of(1)
_NEARLY_UNIT = 1e-6


def exact_answer(encoded: Whole, label: str, centre: Whole, limit: int, size: int) -> list[int]:
    """Return what a query asks of encoded rows (n, D); removing a row changes it by ``limit`` at most, in L1."""
    if label == MEAN:
        return [int(v) for v in within_limit(encoded, l1_norms, limit).sum(axis=0)]
    away = encoded - centre
    if label == SCATTER:  # in whole numbers: each row's part is exact
        far = l1_norms(away) * UNIT // (size * encoded.shape[1])
        return [int(np.minimum(far, limit).sum())]
    return product_sums(within_limit(away, product_norms, limit, squared=True))


class PCAModel:
    """The released numbers, and the components made from them.

    Attributes:
        setting: the public facts.
        noise: one of ``released``, ``study`` and ``none``.
        answers: released whole numbers by query.
        mean_: the mean of the encoded columns (D,), in half-ranges from the middle of the bounds.
        components_: unit vectors on the encoded scale (k, D), the strongest first.
        explained_variance_: variance along each (k,), in half-ranges², never below 0.
        explained_variance_ratio_: its share of that of all columns (k,).
    """

    def __init__(self, setting: Setting, noise: str, answers: Answers, components: Doubles | None = None) -> None:
        self.setting = setting
        self.noise = noise
        self.answers = answers
        found: Moments = moments(setting, lambda label, centre, limit: answers[label])
        self.mean_ = found.middle
        # A file keeps them: where two directions are as strong, another machine's eigenvectors may be others.
        self.components_ = directions(found.covariance, setting.components) if components is None else components
        self.explained_variance_: Doubles = np.maximum(
            np.einsum("kd,de,ke->k", self.components_, found.covariance, self.components_), 0.0
        )
        total = float(np.maximum(np.linalg.eigvalsh(found.covariance), 0.0).sum())
        self.explained_variance_ratio_: Doubles = self.explained_variance_ / (total or 1.0)

    @property
    def attributes_after(self) -> tuple[Attribute, ...]:
        """The public facts about the components: their bounds hold for any row within the declared ones."""
        lowest, highest = self.setting.encoding.span(self.components_.T)
        shift = (self.components_ * self.mean_).sum(axis=1)
        pairs = (outward(*pair) for pair in zip(lowest - shift, highest - shift, strict=True))
        return tuple(
            Attribute(name=f"component {i}", kind="real", lower=lower, upper=upper)
            for i, (lower, upper) in enumerate(pairs, start=1)
        )

    def transform(self, X: ArrayLike) -> Doubles:
        """Return the components of each row (n, k), in half-ranges from the mean."""
        place = encoded_places(self.setting.encoding, X)
        out = np.zeros((len(place), len(self.components_)))
        # Column by column: a product of matrices may round a row by what stands beside it.
        for j, weights in enumerate(self.components_.T):
            out += (place[:, j, None] - self.mean_[j]) * weights
        lower, upper = zip(*(a.bounds() for a in self.attributes_after), strict=True)
        return np.clip(out, lower, upper)

    def predict(self, X: ArrayLike) -> Doubles:
        """Return the components of each row (n, k)."""
        return self.transform(X)

    def rebuild(self, made: ArrayLike) -> Doubles:
        """Return the encoded rows (n, D), in half-ranges, that have these components (n, k) and no others."""
        return np.asarray(self.mean_ + np.asarray(made, dtype=np.float64) @ self.components_)

    def to_plain(self) -> dict[str, Any]:
        """Return public facts, noisy whole numbers and the components as JSON holds them."""
        return {
            **facts_to_plain(PRINCIPAL_COMPONENTS.name, _FORMAT, self.noise, self.setting.facts),
            "answers": self.answers,
            "columns": list(self.setting.encoding.labels),
            "components": self.components_.tolist(),
        }

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> PCAModel:
        """Return the model that :meth:`to_plain` wrote.

        Raises:
            ParameterError: a key is missing, or a value is not what such a model can hold; the message names it.
        """
        facts = facts_from_plain(values, PRINCIPAL_COMPONENTS.name, _FORMAT, PcaParameters, REDUCTION)
        require_width(facts.attributes)
        setting = Setting(facts)
        lengths = {label: setting.length(label) for label in (MEAN, SCATTER, PRODUCTS)}
        answers = checked_whole_numbers(plain_part(values, "answers", dict), lengths)
        if plain_part(values, "columns", list) != list(setting.encoding.labels):
            raise ParameterError("the key 'columns' does not name the columns of this model", "the model")
        return cls(setting, values["noise"], answers, _components(values, setting))


def _components(values: Mapping[str, Any], setting: Setting) -> Doubles:
    """Return the components of a file, after checking that they are unit vectors at right angles."""
    given = plain_part(values, "components", list)
    shape = setting.components, setting.width
    whole = len(given) == shape[0] and all(isinstance(row, list) and len(row) == shape[1] for row in given)
    if whole and all(isinstance(v, float | int) and not isinstance(v, bool) and abs(v) <= 2 for r in given for v in r):
        found = np.array(given, dtype=np.float64)
        if np.abs(found @ found.T - np.eye(shape[0])).max() < _NEARLY_UNIT:
            return found
    raise ParameterError(f"the key 'components' is not {shape[0]} unit vectors of {shape[1]} numbers", "the model")


def encoded_places(encoding: Encoding, X: ArrayLike) -> Doubles:
    """Return rows as places (n, D) on the finest grid, in half-ranges from the middle of the bounds."""
    return encoding.encode(X, _PLACES) / _PLACES


class PCA(Transformer):
    """Principal components with the scikit-learn API; they are private if the noise is.

    X (n, d): numbers (NaN: missing, where the column may be), categories as codes. y (n,): the target's values, which
    say only which rows are empty (−1, NaN).

    Attributes:
        model_: what :meth:`fit` released.
    """

    model_: PCAModel

    def __init__(
        self,
        attributes: Sequence[Attribute],
        target: Attribute,
        parameters: PcaParameters,
        noise: CentralNoise,
        charge: Charge | None = None,
    ) -> None:
        super().__init__(attributes, target, parameters, noise, charge)
        self.parameters: PcaParameters = parameters

    def _setting(self, rows: int) -> Setting:
        checked_schema(self.attributes, self.target, REDUCTION)
        require_width(self.attributes)
        private = noise_kind(self.noise) != "none"
        return Setting(Facts(tuple(self.attributes), self.target, self.parameters, rows, private))

    def events(self, rows: int | None = None) -> tuple[PureDp, ...]:
        """Return what a fit on ``rows`` rows costs, one event a query (of the last fit where none is given)."""
        setting = self.model_.setting if rows is None else self._setting(rows)
        return tuple(PureDp(share, label) for label, share in setting.shares)

    def cost(self, rows: int) -> Cost | None:
        """Return what a fit on ``rows`` rows is charged; ``None`` without noise."""
        return self._composed(PRINCIPAL_COMPONENTS.name, rows)

    def numbers(self, rows: int) -> int:
        """Return how many whole numbers a fit releases, and as many again for the components."""
        setting = self._setting(rows)
        return setting.length(PRODUCTS) + setting.width * (setting.components + 1)

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Charge, then read the rows, then release the noisy sums.

        Raises:
            BudgetRefusedError: from the charge; nothing was read.
            InputError: a value that the column's declaration does not allow, naming row and column.
            ParameterError: the attributes make too many columns.
        """
        setting = self._setting(table_shape(X, y, self.attributes))
        self._pay(self.cost(setting.rows))
        here = filled_rows(y, setting.facts.target)
        encoded: NDArray[np.int64] = setting.encoding.encode(X, setting.size)[here]
        answers: Answers = {}

        def ask(label: str, centre: Whole, limit: int) -> list[int]:
            exact = exact_answer(encoded, label, centre, limit, setting.size)
            answers[label] = self.noise.integers(exact, limit, setting.budget(label))
            return answers[label]

        moments(setting, ask)
        self.model_ = PCAModel(setting, noise_kind(self.noise), answers)
        return self

    @property
    def components_(self) -> Doubles:
        """Unit vectors on the encoded scale (k, D), the strongest first."""
        return self.model_.components_

    @property
    def explained_variance_(self) -> Doubles:
        """Variance along each component (k,), in half-ranges², as the noisy sums have it."""
        return self.model_.explained_variance_

    @property
    def explained_variance_ratio_(self) -> Doubles:
        """Its share of that of all columns (k,)."""
        return self.model_.explained_variance_ratio_

    @property
    def mean_(self) -> Doubles:
        """The mean of the encoded columns (D,), in half-ranges from the middle of the bounds."""
        return self.model_.mean_

    def rebuild(self, made: ArrayLike) -> Doubles:
        """Return the encoded rows (n, D) that have these components (n, k) and no others."""
        return self.model_.rebuild(made)

    @staticmethod
    def from_plain(values: Mapping[str, Any]) -> PCAModel:
        """Return the model that :meth:`to_plain` wrote; it transforms, and cannot be fitted again."""
        return PCAModel.from_plain(values)


class RandomDirections:
    """As many directions as a PCA has by default, drawn at random, in expectation.

    Such directions leave the part 1 − k/D of every row's squared distance from the middle, whatever the rows are. The
    row that is rebuilt here is as far from the true one as that.
    """

    def __init__(self, attributes: Sequence[Attribute], target: Attribute) -> None:
        self._encoding = Encoding(tuple(attributes))
        width = len(self._encoding.labels)
        self._kept = 1 - np.sqrt(1 - min(PcaParameters().components, width) / width)

    def predict(self, X: ArrayLike) -> Doubles:
        """Return the encoded rows (n, D)."""
        return encoded_places(self._encoding, X)

    def rebuild(self, made: ArrayLike) -> Doubles:
        """Return rows (n, D) at the expected distance."""
        return np.asarray(np.asarray(made, dtype=np.float64) * self._kept)


def _ordinary(attributes: Sequence[Attribute], target: Attribute) -> PCA:
    """Return the same model without noise: private and ordinary are one code path."""
    return PCA(attributes, target, PcaParameters(), NoNoise())


PRINCIPAL_COMPONENTS = Learner(
    name="pca",
    title="PCA",
    about="It adds noise to the sums of products of the columns and finds the directions in which rows vary most.",
    task=REDUCTION,
    parameters=PcaParameters,
    estimator=PCA,
    ordinary=_ordinary,
    blind=RandomDirections,
    check=require_width,
)
