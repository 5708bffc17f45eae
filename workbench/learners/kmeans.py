"""k-means with public starting points and a fixed number of iterations, private or not, in one code path.

What is asked (zero-out neighbours, noise on whole numbers; a row is encoded within [−K, K]^D):

* where the centres start. With little n·ε they start on a line along the diagonal of the declared bounds: asked are the
  sum of the rows' mean heights and how far these scatter, two single numbers. With the least they stay there; then of
  two groups, which part at the middle of the line, the scatter is not asked. With more it is the sum of the rows, how
  far they scatter about the noisy mean, and which of the public figures of :func:`figures`, moved there, fits best, by
  report-noisy-max;
* each round, the number of rows next to each centre and the sum of these rows, as one vector. A row lies next to one
  centre, so that its part is 1 (as K) and itself: L1 norm K plus the public limit to which larger rows are scaled; with
  a δ noise is discrete Gaussian, and norms are L2.

Released are these numbers. The centres follow from them: each moves towards its noisy mean, the less the noisier that
is. Labels and inertia are functions of the rows and are not released. Su et al. (2016) fix the rounds in the same way;
counts and sums share ε here by weight in one vector, which needs no split of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.learners.base import Answers, Model, SummingEstimator, Total
from workbench.learners.encoding import grid_of
from workbench.learners.setting import FitSetting, chance_of_failure, how_many, privacy_budget, weight_limit
from workbench.learners.tasks import CLUSTERING, NO_TARGET
from workbench.params import ParameterError, Parameters, integer
from workbench.privacy.central.sums import l1_norms, l2_norms, within_limit
from workbench.work.ask import Ask


@dataclass(frozen=True, kw_only=True)
class KMeansParameters(Parameters):
    """Budget, groups and rounds. The defaults were chosen on generated tables and scikit-learn's."""

    epsilon: float | None = privacy_budget("the centres")
    delta: float | None = chance_of_failure()
    groups: int | None = integer(
        default=None,
        at_least=1,
        upto=1000,
        symbol="k",
        title="groups",
        help="number of clusters (default: as many as the target has classes, or 3 without a target)",
    )
    rounds: int | None = how_many("rounds", 100, "number of iterations (default: from ε and the number of rows)")
    norm_share: float = weight_limit(0.5, "values")


Doubles = NDArray[np.float64]

FIGURES = 8
"""How many figures there are: the diagonal, and random points at a distance from each other, of a fixed public seed."""

_TRIES = 400
_EDGE = 0.8


def diagonal(groups: int, width: int) -> Doubles:
    """Return points (k, D) at equal distances on the diagonal of [−1, 1]^D."""
    return np.outer(np.linspace(-1, 1, 2 * groups + 1)[1::2], np.ones(width))


@lru_cache(maxsize=8)
def figures(groups: int, width: int) -> tuple[Doubles, ...]:
    """Return :data:`FIGURES` sets of points (k, D) in [−1, 1]^D, the diagonal first; they depend on k and D alone."""
    return (diagonal(groups, width), *(_distance(groups, width, seed) for seed in range(FIGURES - 1)))


def _distance(groups: int, width: int, seed: int) -> Doubles:
    """Return random points (k, D) that keep as large a distance as is easily found (after Su et al. 2016)."""
    generator = np.random.Generator(np.random.PCG64([seed, groups, width]))
    for distance in np.linspace(1.2, 0.05, 40) * np.sqrt(width) / groups**0.25:
        found: list[Doubles] = []
        for point in generator.uniform(-_EDGE, _EDGE, (_TRIES, width)):
            if all(np.linalg.norm(point - other) > distance for other in found):
                found.append(point)
            if len(found) == groups:
                return np.array(found)
    return np.asarray(generator.uniform(-_EDGE, _EDGE, (groups, width)))


def moved(figure: Doubles, mean: Doubles, deviation: float) -> Doubles:
    """Return a figure about the mean of the rows, as wide as they scatter, within [−1, 1]."""
    return np.clip(mean + figure * (1.7 * deviation), -1.0, 1.0)


def squared_distances(rows: Doubles, centres: Doubles) -> Doubles:
    """Return the squared distance of each row to each centre (n, k).

    A row's figures are the same to the last bit whatever rows are beside it: the sensitivity of what is counted from
    them hangs on that. A product of matrices would not promise it; sums by column do.
    """
    out = np.zeros((len(rows), len(centres)))
    for j in range(rows.shape[1]):
        out += np.square(rows[:, j, None] - centres[:, j])
    return out


def mean_deviation(rows: Doubles, place: Doubles) -> Doubles:
    """Return the mean distance of each row's parts to those of ``place`` (n,), with the same promise."""
    out = np.zeros(len(rows))
    for j in range(rows.shape[1]):
        out += np.abs(rows[:, j] - place[j])
    return np.asarray(out / rows.shape[1])


UNIT = 1 << 15  # whole numbers of one row in the scatter and in the losses of the starts

_USUAL_GROUPS = 3
_ROUNDS_UNTIL = ((5.0, 0), (15.0, 1), (50.0, 2), (200.0, 3), (1000.0, 5), (math.inf, 8))
_FIGURE_FROM = 50.0  # n·ε for each coordinate of a centre from which the start is a figure and not a line
_ROUNDS_WITHOUT_NOISE = 50
PLACE, WIDTH, MEAN, SCATTER, CHOICE = "place on the diagonal", "width on the diagonal", "mean", "scatter", "choice"
_LINE = {PLACE: 0.2, WIDTH: 0.2}
_STILL = {PLACE: 0.75, WIDTH: 0.25}  # where the centres stay on the line; two groups part at its middle, however wide
_REACH = {PLACE: 0.6, WIDTH: 0.4}
"""What a row can add at most to these two, in half-ranges: means of several columns rarely lie further out."""
_SINGLE = (PLACE, WIDTH, SCATTER, CHOICE)  # one number, to which a row adds at most UNIT
_FIGURE = {MEAN: 0.24, SCATTER: 0.06, CHOICE: 0.1}


class Setting(FitSetting[KMeansParameters]):
    """The public facts of a fit, and what follows from them: queries, shares of ε, sensitivities."""

    @cached_property
    def groups(self) -> int:
        """k, the number of groups."""
        return self.parameters.groups or (_USUAL_GROUPS if self.target == NO_TARGET else len(self.target.values()))

    @cached_property
    def known(self) -> float:
        """n·ε for each coordinate of a centre: what decides how much can be asked."""
        return self.rows * self.epsilon / (self.groups * self.width)

    @cached_property
    def chooses_figure(self) -> bool:
        """Whether the centres start from a figure about the mean, and not from a line along the diagonal."""
        return self.known >= _FIGURE_FROM

    @cached_property
    def _start(self) -> dict[str, float]:
        """The shares of ε of the queries for the start; all of ε where the centres do not move."""
        if not self.rounds:
            return _STILL if self.groups > 2 else {PLACE: 1.0}
        return _FIGURE if self.chooses_figure else _LINE

    @cached_property
    def rounds(self) -> int:
        """How often the centres move."""
        if self.parameters.rounds is not None:
            return self.parameters.rounds
        if not self.private:
            return _ROUNDS_WITHOUT_NOISE
        return next(rounds for until, rounds in _ROUNDS_UNTIL if self.known < until)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The queries in order."""
        return (*self._start, *(f"round {i + 1}" for i in range(self.rounds)))

    @property
    def weights(self) -> dict[str, float]:
        """Each query with its weight in the split of ε: what the start leaves is split over the rounds."""
        rest = (1 - sum(self._start.values())) / max(self.rounds, 1)
        return {label: self._start.get(label, rest) for label in self.labels}

    @cached_property
    def limit(self) -> float:
        """The largest norm of a row in units of K: L1, or L2 where noise is Gaussian."""
        return self._limit(gaussian=self.gaussian) if self.private else float(self.width)

    def _limit(self, *, gaussian: bool) -> float:
        return math.sqrt(self.width) if gaussian else max(1.0, self.width * self.parameters.norm_share)

    @property
    def moved_less(self) -> float:
        """How far a row moves a round in L2, in parts of how far in L1."""
        return math.hypot(1, self._limit(gaussian=True)) / (1 + self._limit(gaussian=False))

    @cached_property
    def size(self) -> int:
        """K of the grid."""
        least = min((self.part(label).strength for label in self.shares), default=math.inf)
        return grid_of(self.rows, self.limit + 1, least)

    def sensitivity(self, label: str) -> int:
        """Return the sensitivity of a query in whole numbers: L1, or L2 where noise is Gaussian."""
        if label in _SINGLE:
            return UNIT
        whole = math.floor(self.limit * self.size)
        if label == MEAN:
            return whole
        return math.isqrt(whole**2 + self.size**2) + 1 if self.gaussian else whole + self.size

    @staticmethod
    def reach(label: str) -> float:
        """Return what a row adds at most to a query that releases one number, which is then ``UNIT`` of it."""
        return _REACH.get(label, 1.0)

    def lengths(self) -> dict[str, int]:
        other = {MEAN: self.width, **dict.fromkeys(_SINGLE, 1)}
        return {label: other.get(label, self.groups * (self.width + 1)) for label in self.labels}

    def deviation(self, label: str) -> float:
        """Return the standard deviation of the noise of each number of a query, in units of a row."""
        unit = UNIT / self.reach(label) if label in _SINGLE else self.size
        return self.noise_deviation(label, self.sensitivity(label)) / unit


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
        norms = l2_norms if setting.gaussian else l1_norms
        self._encoded = within_limit(encoded, norms, math.floor(setting.limit * setting.size))
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


def _exact(setting: Setting, rows: _Rows, label: str, places: list[Doubles]) -> list[int]:
    return rows.exact(label, places)


class KMeansModel(Model[Setting]):
    """The released numbers, and the centres made from them."""

    name, task, version = "kmeans", CLUSTERING, 2
    parameters_type, setting_type = KMeansParameters, Setting

    def __init__(self, setting: Setting, noise: str, answers: Answers) -> None:
        super().__init__(setting, noise, answers)
        if setting.chooses_figure and not 0 <= answers[CHOICE][0] < FIGURES:
            raise ParameterError(f"the answer is not one of the {FIGURES} figures", CHOICE)
        # The centres on the encoded scale (k, D).
        self.places_ = _centres(setting, lambda label, places: answers[label])

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Return the group of each row (n,), 0 … k−1."""
        place = self.setting.encoding.places(X)
        return np.asarray(squared_distances(place, self.places_).argmin(axis=1), dtype=np.int64)

    @property
    def cluster_centers_(self) -> Doubles:
        """The centres in the units of X (k, d); of a category, the code of the value that lies nearest."""
        return self.setting.encoding.decode(self.places_)


class KMeans(SummingEstimator[KMeansModel]):
    """k-means; the classes of a target say how many groups there are, and no group is made from them."""

    model_type = KMeansModel

    @staticmethod
    def _coded(setting: Setting, X: Doubles, y: NDArray[Any]) -> _Rows:
        return _Rows(setting.encoding.encode(X, setting.size), setting)

    def _asked(self, ask: Ask, setting: Setting, total: Total) -> Answers:
        answers: Answers = {}

        def answer(label: str, places: list[Doubles]) -> list[int]:
            exact = total(_exact, label, places).tolist()
            if label == CHOICE:
                handicap = int(_HANDICAP * setting.deviation(label) * UNIT)
                answers[label] = ask.least(label, [[exact[0], *(loss + handicap for loss in exact[1:])]], UNIT)
            else:
                answers[label] = ask(label, exact, setting.sensitivity(label))
            return answers[label]

        _centres(setting, answer)
        return answers


KMEANS = KMeans.described(
    "K-means", "Moves public starting points to the noisy means of the nearest rows, a fixed number of times."
)
