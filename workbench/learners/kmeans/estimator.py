"""k-means with public starting points and a fixed number of rounds, private or not, in one code path.

What is asked (pure ε, zero-out neighbours, discrete Laplace noise on whole numbers; a row is encoded within [−K, K]^D):

* where the centres start. With little n·ε they start on a line along the diagonal of the declared bounds: asked are the
  sum of the rows' mean heights and how far these scatter, two single numbers. With the least they stay there; then of
  two groups, which part at the middle of the line, the scatter is not asked. With more it is the sum of the rows, how
  far they scatter about the noisy mean, and which of the public figures of :mod:`workbench.learners.kmeans.places`,
  moved there, fits best, by report-noisy-max;
* each round, the number of rows next to each centre and the sum of these rows, as one vector. A row lies next to one
  centre, so that its part is 1 (as K) and itself: L1 norm K plus the public limit to which larger rows are scaled.

Released are these numbers. The centres follow from them: each moves towards its noisy mean, the less the noisier that
is. Labels and inertia are functions of the rows and are not released. Su et al. (2016) fix the rounds in the same way;
counts and sums share ε here by weight in one vector, which needs no split of its own.
"""

from __future__ import annotations

import math
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
from workbench.learners.kmeans.parameters import KMeansParameters
from workbench.learners.kmeans.places import FIGURES, diagonal, figures, mean_deviation, moved, squared_distances
from workbench.learners.kmeans.setting import CHOICE, MEAN, PLACE, SCATTER, UNIT, WIDTH, Setting
from workbench.learners.plain import Facts, facts_from_plain, facts_to_plain
from workbench.learners.queries import checked_whole_numbers
from workbench.learners.sums import l1_norms, within_limit
from workbench.learners.tasks import CLUSTERING, EMPTY
from workbench.params import ParameterError
from workbench.privacy.accounting.event import Charge, Cost, PureDp
from workbench.privacy.central import CentralNoise, NoNoise

Doubles = NDArray[np.float64]
Answers = dict[str, list[int]]

_FORMAT = 2
_HANDICAP = 1.5  # deviations by which another figure must be better than the diagonal
_USUAL_SCATTER, _USUAL_WIDTH = 0.4, 0.25
# Prior variances, in half-ranges²: of a mean or scatter, of a width on the diagonal, and of what a centre moves.
_SPREAD, _NARROW, _MOVE = 0.05, 0.02, 0.1


def _kept(spread: float, error: Any) -> Any:
    """Return the part of a noisy figure that is kept: its prior variance over that and the variance of its noise."""
    return spread / (spread + error**2)


def _centres(setting: Setting, answer: Callable[[str, list[Doubles]], list[int]]) -> Doubles:
    """Return the centres (k, D), asking one query after the other.

    Args:
        setting: the public facts.
        answer: gives the released numbers of a query that depends on earlier answers through places: the mean for a
            scatter, the figures for the choice, the centres for a round.
    """
    n, k, width, size = setting.rows, setting.groups, setting.width, setting.size
    if setting.chooses_figure:
        error = setting.deviation(MEAN) / n
        mean = np.clip(np.array(answer(MEAN, [])) / (n * size), -1, 1) * _kept(_SPREAD, error)
        error = setting.deviation(SCATTER) / n
        seen = float(np.clip(answer(SCATTER, [mean])[0] / (n * UNIT), 0.05, 0.5))
        scatter = _USUAL_SCATTER + (seen - _USUAL_SCATTER) * _kept(_SPREAD, error)
        starts = [moved(figure, mean, scatter) for figure in figures(k, width)]
        centres = starts[answer(CHOICE, starts)[0]]
    else:
        error, reach = setting.deviation(PLACE) / n, setting.reach(PLACE)
        place = np.clip(answer(PLACE, [])[0] / (n * UNIT), -1, 1) * reach * _kept(_SPREAD, error)
        wide = _USUAL_WIDTH
        if WIDTH in setting.labels:
            error, reach = setting.deviation(WIDTH) / n, setting.reach(WIDTH)
            seen = float(np.clip(answer(WIDTH, [np.array([place])])[0] / (n * UNIT), 0.05, 1)) * reach
            wide += (seen - _USUAL_WIDTH) * _kept(_NARROW, error)
        centres = np.clip(place + diagonal(k, width) * (2 * wide), -1, 1)
    for label in setting.labels[len(setting.labels) - setting.rounds :]:
        released = np.array(answer(label, [centres]), dtype=np.float64) / size
        counts, sums = released[:k], released[k:].reshape(k, width)
        # A group smaller than a quarter of an equal share is taken for noise, and no group is larger than n.
        least = n / (4 * k) if setting.private else 1e-9
        sizes = np.clip(counts, least, n)[:, None]
        errors = setting.deviation(label) / sizes
        found = np.where(counts[:, None] > 0, np.clip(sums / sizes, -1, 1), centres)
        centres = centres + (found - centres) * _kept(_MOVE, errors)
    return centres


class _Rows:
    """Encoded rows, which answer the queries exactly; the noise is added where they are asked."""

    def __init__(self, encoded: NDArray[np.int64], setting: Setting) -> None:
        self._setting = setting
        self._encoded = within_limit(encoded, l1_norms, math.floor(setting.limit * setting.size))
        self._place = encoded / setting.size
        self._height = encoded.sum(axis=1) / (setting.size * setting.width)  # of whole numbers: exact for each row

    def exact(self, label: str, places: list[Doubles]) -> list[int]:
        if label == MEAN:
            return [int(v) for v in self._encoded.sum(axis=0)]
        if label == PLACE:
            reach = self._setting.reach(PLACE)
            return [int(np.trunc(np.clip(self._height / reach, -1, 1) * UNIT).astype(np.int64).sum())]
        if label == WIDTH:
            far = np.minimum(np.abs(self._height - places[0]) / self._setting.reach(WIDTH), 1.0)
            return [int((far * UNIT).astype(np.int64).sum())]
        if label == SCATTER:
            far = np.minimum(mean_deviation(self._place, places[0]), 1.0)
            return [int((far * UNIT).astype(np.int64).sum())]
        if label == CHOICE:
            return [self._loss(start) for start in places]
        nearest = squared_distances(self._place, places[0]).argmin(axis=1)
        k, size = self._setting.groups, self._setting.size
        sums = np.zeros((k, self._setting.width), dtype=np.int64)
        np.add.at(sums, nearest, self._encoded)
        counts = np.bincount(nearest, minlength=k)
        return [int(v) * size for v in counts] + [int(v) for v in sums.ravel()]

    def _loss(self, centres: Doubles) -> int:
        """Return the sum of each row's least squared distance, a whole number in [0, UNIT] a row."""
        least = squared_distances(self._place, centres).min(axis=1) / self._setting.width
        return int((np.minimum(least, 1.0) * UNIT).astype(np.int64).sum())


class KMeansModel:
    """The released numbers, and the centres made from them.

    Attributes:
        answers: released whole numbers by query.
        noise: one of ``released``, ``study`` and ``none``.
        places_: the centres on the encoded scale (k, D).
    """

    def __init__(self, setting: Setting, noise: str, answers: Answers) -> None:
        self.setting = setting
        self.noise = noise
        self.answers = answers
        self.places_ = _centres(setting, lambda label, places: answers[label])

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Return the group of each row (n,), 0 … k−1."""
        size = grid_of(1)
        place = self.setting.encoding.encode(X, size) / size
        return np.asarray(squared_distances(place, self.places_).argmin(axis=1), dtype=np.int64)

    @property
    def cluster_centers_(self) -> Doubles:
        """The centres in the units of X (k, d); of a category, the code of the value that lies nearest."""
        return self.setting.encoding.decode(self.places_)

    def to_plain(self) -> dict[str, Any]:
        """Return public facts and noisy whole numbers as JSON holds them; the centres follow from these."""
        setting = self.setting
        return {
            **facts_to_plain(KMEANS.name, _FORMAT, self.noise, setting.facts),
            "answers": self.answers,
        }

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> KMeansModel:
        """Return the model that :meth:`to_plain` wrote.

        Raises:
            ParameterError: a key is missing, or a value is not what such a model can hold; the message names it.
        """
        facts = facts_from_plain(values, KMEANS.name, _FORMAT, KMeansParameters, CLUSTERING)
        setting = Setting(facts)
        lengths = {label: setting.length(label) for label in setting.labels}
        answers = checked_whole_numbers(plain_part(values, "answers", dict), lengths)
        if setting.chooses_figure and not 0 <= answers[CHOICE][0] < FIGURES:
            raise ParameterError(f"the answer is not one of the {FIGURES} figures", CHOICE)
        return cls(setting, values["noise"], answers)


class KMeans(PrivateEstimator):
    """k-means with the scikit-learn API; it is private if its noise is.

    X (n, d): numbers (NaN: missing, where the column may be), categories as codes. y (n,): codes of the target's
    classes, which say how many groups there are and which rows are empty (−1); no group is made from them.

    Attributes:
        model_: what :meth:`fit` released.
    """

    model_: KMeansModel

    def __init__(
        self,
        attributes: Sequence[Attribute],
        target: Attribute,
        parameters: KMeansParameters,
        noise: CentralNoise,
        charge: Charge | None = None,
    ) -> None:
        super().__init__(attributes, target, parameters, noise, charge)
        self.parameters: KMeansParameters = parameters

    def _setting(self, rows: int) -> Setting:
        checked_schema(self.attributes, self.target, CLUSTERING)
        private = noise_kind(self.noise) != "none"
        return Setting(Facts(tuple(self.attributes), self.target, self.parameters, rows, private))

    def events(self, rows: int | None = None) -> tuple[PureDp, ...]:
        """Return what a fit on ``rows`` rows costs, one event a query (of the last fit where none is given)."""
        setting = self.model_.setting if rows is None else self._setting(rows)
        return tuple(PureDp(share, label) for label, share in setting.shares)

    def cost(self, rows: int) -> Cost | None:
        """Return what a fit on ``rows`` rows is charged; ``None`` without noise."""
        return self._composed(KMEANS.name, rows)

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Charge, then read the rows, then release the noisy sums of each round.

        Raises:
            BudgetRefusedError: from the charge; nothing was read.
            InputError: a value that the column's declaration does not allow, naming row and column.
        """
        setting = self._setting(table_shape(X, y, self.attributes))
        self._pay(self.cost(setting.rows))
        here = checked_classes(y, setting.facts.target) != EMPTY
        rows = _Rows(setting.encoding.encode(X, setting.size)[here], setting)
        answers: Answers = {}

        def ask(label: str, places: list[Doubles]) -> list[int]:
            released = self.noise.integers(rows.exact(label, places), setting.sensitivity(label), setting.budget(label))
            if label == CHOICE:  # the noisy losses are thrown away: report-noisy-max releases the index
                handicap = int(_HANDICAP * setting.deviation(label) * UNIT)
                released = [int(np.argmin([released[0], *(loss + handicap for loss in released[1:])]))]
            answers[label] = released
            return released

        _centres(setting, ask)
        self.model_ = KMeansModel(setting, noise_kind(self.noise), answers)
        return self

    @property
    def cluster_centers_(self) -> Doubles:
        """The centres in the units of X (k, d)."""
        return self.model_.cluster_centers_

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Return the group of each row (n,)."""
        return self.model_.predict(X)

    def to_plain(self) -> dict[str, Any]:
        """Return the fitted model as JSON holds it."""
        return self.model_.to_plain()

    @staticmethod
    def from_plain(values: Mapping[str, Any]) -> KMeansModel:
        """Return the model that :meth:`to_plain` wrote; it predicts, and cannot be fitted again."""
        return KMeansModel.from_plain(values)


def _ordinary(attributes: Sequence[Attribute], target: Attribute) -> KMeans:
    """Return the same model without noise: private and ordinary are one code path."""
    return KMeans(attributes, target, KMeansParameters(), NoNoise())


KMEANS = Learner(
    name="kmeans",
    title="K-means",
    about="It moves public starting points to the noisy means of the rows around them, a fixed number of times.",
    task=CLUSTERING,
    parameters=KMeansParameters,
    estimator=KMeans,
    ordinary=_ordinary,
)
