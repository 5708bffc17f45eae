"""Principal components of a mixed table, private or not, in one code path.

What is asked (pure ε, zero-out neighbours, discrete Laplace noise on whole numbers; a row is encoded within [−K, K]^D):

* the sum of the rows, of which one with a large L1 norm is scaled to a public limit;
* how far the rows scatter about the noisy mean, one number in which a row counts by its mean distance;
* the sums of products Σ z_i·z_j, i ≤ j, of the rows less the noisy mean. The limit to which a row's part is scaled
  follows from the noisy scatter; it is the L1 sensitivity.

The components follow from these numbers: the covariance is drawn by the size of its noise to one whose columns are all
alike, and its eigenvectors are taken. Noise on the matrix, after Blum, Dwork, McSherry & Nissim (2005), is exact on
whole numbers; the exponential mechanism over directions (Chaudhuri, Sarwate & Sinha 2013) is not, as its density can
only be sampled approximately.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.data.schema import Attribute
from workbench.learners.base import Answers, Model, SummingEstimator, Total
from workbench.learners.checks import plain_part
from workbench.learners.encoding import Encoding, grid_of, widened
from workbench.learners.setting import FitSetting, privacy_budget
from workbench.learners.tasks import REDUCTION
from workbench.params import ParameterError, Parameters, integer, real
from workbench.privacy.central.sums import l1_norms, product_norms, product_sums, symmetric, within_limit
from workbench.work.ask import Ask


@dataclass(frozen=True, kw_only=True)
class PcaParameters(Parameters):
    """Budget and components. The defaults were chosen on generated tables and scikit-learn's."""

    epsilon: float | None = privacy_budget("the components")
    components: int = integer(
        default=2,
        at_least=1,
        upto=1000,
        symbol="k",
        title="components",
        help="number of components; at most the number of columns, where a category counts as one column per value",
    )
    reach: float = real(
        default=1.0,
        above=0,
        upto=10,
        title="clipping limit",
        unit="of the mean distance",
        help="rows further from the mean than this multiple of the average distance are scaled down",
        advanced=True,
    )


UNIT = 1 << 15  # whole numbers of one row in the scatter

MEAN, SCATTER, PRODUCTS = "mean", "scatter", "products"
_WEIGHTS = {MEAN: 0.15, SCATTER: 0.05, PRODUCTS: 0.8}
_MEAN_SHARE = 0.5
"""A row whose values add up to more than this part of the largest possible counts for less in the mean."""

LEAST_SCATTER, MOST_SCATTER = 0.03, 0.6
_MOST_COLUMNS = 1000
_PEAK = 1.5  # root mean square of a row's distances from the mean, as a multiple of their mean


class Setting(FitSetting[PcaParameters]):
    """The public facts of a fit, and what follows from them: queries, shares of ε, sensitivities."""

    @cached_property
    def components(self) -> int:
        """k, how many components are made."""
        return min(self.parameters.components, self.width)

    @staticmethod
    def require_columns(attributes: Sequence[Attribute]) -> None:
        """Raise :class:`ParameterError` where there are more columns than a matrix of their products can have."""
        width = len(Encoding(tuple(attributes)).labels)
        if width > _MOST_COLUMNS:
            raise ParameterError(
                f"PCA works on {_MOST_COLUMNS} columns at most, and these attributes give {width}: a category "
                "gives one for each of its values",
                hint=("drop the attributes with many values", "drop columns"),
            )

    @property
    def weights(self) -> dict[str, float]:
        return _WEIGHTS

    def limit(self, scatter: float) -> float:
        """Return the largest L1 norm of a row's products, in half-ranges².

        Args:
            scatter: the rows' mean distance from the mean in one column.
        """
        if not self.private:
            return ((2 * self.width) ** 2 + 4 * self.width) / 2
        reach = self.parameters.reach * scatter
        return ((reach * self.width) ** 2 + (_PEAK * reach) ** 2 * self.width) / 2

    @cached_property
    def size(self) -> int:
        """K of the grid; a row less the mean lies within [−2K, 2K], hence four times the rows."""
        least = min(self.budget(label) for label in _WEIGHTS)
        return grid_of(4 * self.rows, max(self.limit(MOST_SCATTER), self.width), least)

    @cached_property
    def mean_limit(self) -> int:
        """L1 sensitivity of the sum of the rows in whole numbers: the largest L1 norm of one."""
        share = max(1.0, self.width * _MEAN_SHARE) if self.private else self.width
        return math.floor(share * self.size)

    def product_limit(self, scatter: float) -> int:
        """Return the L1 sensitivity of the sums of products in whole numbers."""
        return max(1, math.floor(self.limit(scatter) * self.size**2))

    def lengths(self) -> dict[str, int]:
        return {MEAN: self.width, SCATTER: 1, PRODUCTS: self.width * (self.width + 1) // 2}


Doubles = NDArray[np.float64]
Whole = NDArray[np.int64]

Answer = Callable[[str, Whole, int], list[int]]
"""Gives the released numbers of a query: its name, the public centre on the grid, and its sensitivity."""

_USUAL_SCATTER = 0.3
# Prior variances, in half-ranges²: of a column's mean about the common one, of that, and of the scatter.
_MEANS, _COMMON, _SCATTERS = 0.1, 0.1, 0.05
# Prior variances as parts of (n·scatter²)²: of the sums of squares and of products about their common values.
_SQUARES, _CROSS = 0.2, 0.5


def moments(setting: Setting, answer: Answer) -> tuple[Doubles, Doubles]:
    """Return the mean (D,) and the covariance (D, D) in half-ranges, asking one query after the other.

    Each query depends on those before. The mean is a point of the grid; each entry of the covariance is shrunk by the
    size of its noise, so that the matrix is symmetric but not always positive.
    """
    n, width, size = setting.rows, setting.width, setting.size
    noise = setting.noise_deviation(MEAN, setting.mean_limit) / (n * size)
    seen = np.array(answer(MEAN, np.zeros(width, dtype=np.int64), setting.mean_limit), dtype=np.float64) / (n * size)
    centre = np.rint(_mean(np.clip(seen, -1, 1), noise) * size).astype(np.int64)
    noise = setting.noise_deviation(SCATTER, UNIT) / (n * UNIT)
    spread = float(np.clip(answer(SCATTER, centre, UNIT)[0] / (n * UNIT), LEAST_SCATTER, MOST_SCATTER))
    spread = _USUAL_SCATTER + (spread - _USUAL_SCATTER) * _SCATTERS / (_SCATTERS + noise**2)
    limit = setting.product_limit(spread)
    noise = setting.noise_deviation(PRODUCTS, limit) / size**2
    sums = symmetric(np.array(answer(PRODUCTS, centre, limit), dtype=np.float64) / size**2, width)
    return centre / size, shrunk(sums, noise, n * spread**2) / n


def _mean(seen: Doubles, deviation: float) -> Doubles:
    """Return the columns' means, drawn to their common mean and this to 0, by the size of the noise of each."""
    common = seen.mean() * _COMMON / (_COMMON + deviation**2 / len(seen))
    # Written from ``seen``: without noise the plain mean comes back untouched.
    return np.asarray(seen + (common - seen) * deviation**2 / (_MEANS + deviation**2))


def shrunk(sums: Doubles, deviation: float, scale: float) -> Doubles:
    """Return noisy sums of products drawn to a matrix with one value on the diagonal and one beside it.

    Each entry keeps the part v/(v + deviation²), v being its prior variance: posterior means under normal priors about
    a common value, as a covariance matrix is drawn to one with a constant correlation (Ledoit & Wolf 2004).

    Args:
        sums: noisy sums (D, D).
        deviation: standard deviation of the noise of each entry on and above the diagonal.
        scale: what a sum of squares usually is.
    """
    width, noise = len(sums), deviation**2
    if not noise or width == 1:
        return sums
    beside = ~np.eye(width, dtype=bool)
    squares, cross = _SQUARES * scale**2, _CROSS * scale**2
    mean = np.diag(sums).mean()
    common = sums[beside].mean() * cross / (cross + noise / (width * (width - 1) / 2))
    near = np.where(beside, common, mean)
    kept = np.where(beside, cross / (cross + noise), squares / (squares + noise))
    return np.asarray(near + (sums - near) * kept)


def directions(covariance: Doubles, count: int) -> Doubles:
    """Return the ``count`` unit vectors (count, D) along which the columns vary most, the strongest first.

    The part of a vector that is largest in absolute value is positive, the first of them where several are.
    """
    _, vectors = np.linalg.eigh(covariance)
    found = vectors[:, ::-1][:, :count].T
    largest = np.abs(found).round(9).argmax(axis=1)
    signs = np.where(found[np.arange(count), largest] < 0, -1.0, 1.0)
    return np.asarray(found * signs[:, None])


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


def _exact(setting: Setting, encoded: Whole, label: str, centre: Whole, limit: int) -> list[int]:
    return exact_answer(encoded, label, centre, limit, setting.size)


class PCAModel(Model[Setting]):
    """The released numbers, and the components made from them.

    Attributes:
        mean_: the mean of the encoded columns (D,), in half-ranges from the middle of the bounds.
        components_: unit vectors on the encoded scale (k, D), the strongest first.
        explained_variance_: variance along each (k,), in half-ranges², never below 0.
        explained_variance_ratio_: its share of that of all columns (k,).
    """

    name, task = "pca", REDUCTION
    parameters_type, setting_type = PcaParameters, Setting

    def __init__(self, setting: Setting, noise: str, answers: Answers, components: Doubles | None = None) -> None:
        super().__init__(setting, noise, answers)
        self.mean_, covariance = moments(setting, lambda label, centre, limit: answers[label])
        # A file keeps them: where two directions are as strong, another machine's eigenvectors may be others.
        self.components_ = directions(covariance, setting.components) if components is None else components
        self.explained_variance_: Doubles = np.maximum(
            np.einsum("kd,de,ke->k", self.components_, covariance, self.components_), 0.0
        )
        total = float(np.maximum(np.linalg.eigvalsh(covariance), 0.0).sum())
        self.explained_variance_ratio_: Doubles = self.explained_variance_ / (total or 1.0)

    @property
    def attributes_after(self) -> tuple[Attribute, ...]:
        """The public facts about the components: their bounds hold for any row within the declared ones."""
        lowest, highest = self.setting.encoding.span(self.components_.T)
        shift = (self.components_ * self.mean_).sum(axis=1)
        pairs = (widened(*pair) for pair in zip(lowest - shift, highest - shift, strict=True))
        return tuple(
            Attribute(name=f"component {i}", kind="real", lower=lower, upper=upper)
            for i, (lower, upper) in enumerate(pairs, start=1)
        )

    def transform(self, X: ArrayLike) -> Doubles:
        """Return the components of each row (n, k), in half-ranges from the mean."""
        place = self.setting.encoding.places(X)
        out = np.zeros((len(place), len(self.components_)))
        # Column by column: a product of matrices may round a row by what is beside it.
        for j, weights in enumerate(self.components_.T):
            out += (place[:, j, None] - self.mean_[j]) * weights
        lower, upper = zip(*(a.bounds() for a in self.attributes_after), strict=True)
        return np.clip(out, lower, upper)

    def predict(self, X: ArrayLike) -> Doubles:
        return self.transform(X)

    def rebuild(self, made: ArrayLike) -> Doubles:
        """Return the encoded rows (n, D), in half-ranges, that have these components (n, k) and no others."""
        return np.asarray(self.mean_ + np.asarray(made, dtype=np.float64) @ self.components_)

    def more(self) -> dict[str, Any]:
        """Return the encoded columns and the components."""
        return {"columns": list(self.setting.encoding.labels), "components": self.components_.tolist()}

    @classmethod
    def read(cls, values: Mapping[str, Any], setting: Setting) -> dict[str, Any]:
        return {"components": _components(values, setting)}


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


class PCA(SummingEstimator[PCAModel]):
    """Principal components; y says only which rows are empty."""

    model_type = PCAModel

    def numbers(self, rows: int) -> int:
        """Return how many numbers the file of a fit holds: the released ones, and the components."""
        setting = self._setting(rows)
        return super().numbers(rows) + int(setting.width * setting.components)

    @staticmethod
    def _coded(setting: Setting, X: Doubles, y: NDArray[Any]) -> Whole:
        return setting.encoding.encode(X, setting.size)

    def _asked(self, ask: Ask, setting: Setting, total: Total) -> Answers:
        answers: Answers = {}

        def answer(label: str, centre: Whole, limit: int) -> list[int]:
            answers[label] = ask(label, total(_exact, label, centre, limit).tolist(), limit)
            return answers[label]

        moments(setting, answer)
        return answers


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
        return self._encoding.places(X)

    def rebuild(self, made: ArrayLike) -> Doubles:
        """Return rows (n, D) at the expected distance."""
        return np.asarray(np.asarray(made, dtype=np.float64) * self._kept)


PRINCIPAL_COMPONENTS = PCA.described(
    "PCA",
    "Adds noise to the second-moment matrix of the columns and finds the directions of largest variance.",
    blind=RandomDirections,
)
