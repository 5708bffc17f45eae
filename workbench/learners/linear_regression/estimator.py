"""Linear regression on the columns of a mixed table, private or not, in one code path.

*Adaptive*, the default, asks two things (zero-out neighbours, noise on whole numbers):

* which columns to use, one round of report-noisy-max each (:mod:`workbench.learners.selection`), unless all are used;
* the sums of products over these columns and the target;
* with a δ the same once more, with half of the rest, over the columns turned to the axes of the first sums, scaled by
  their spread there and turned back, and what the first line leaves of the target: columns that nearly hang together
  lie in the noise of the first sums, and exceed that of the second. Where rows are many, products of two such columns
  are among them: those whose noisy sum with what the first line leaves, asked for in between, is largest.

*Functional* asks for the coefficients of the loss over all columns (Zhang et al. 2012). The model is the columns and
the noisy whole numbers; its coefficients follow from them (:mod:`workbench.learners.linear_regression.solve`).

How many columns are used follows from ε and the public n alone: the noise of a sum grows with the square of their
number; with a δ noise is discrete Gaussian and grows with their number, so that more are used.

The sums have L1 sensitivities (with a δ L2) that hold in whole numbers. A row is z = (1, x₁ … x_m, y), each part a
whole number in [−K, K] with 1 as K. Two sets of sums can be asked for:

*Adaptive* (after Wang 2018, AdaSSP, with weights for rows): Σ z_i·z_j for i ≤ j, without Σ y². The L1 norm of a row's
part is (‖z‖₁² + ‖z‖₂²)/2 − y², and its L2 norm the root of (‖z‖₂⁴ + ‖z‖₄⁴)/2 − y⁴. A row whose norm is above a public
limit is multiplied by the number below 1 that brings it there: as a whole, the 1 included, so that it keeps its place
on the regression line and only counts for less. The limit is the sensitivity.

*Functional* (Zhang et al. 2012): the coefficients of the loss Σ(y − w·z)² as a polynomial in w, that is Σ z_i², 2·Σ
z_i·z_j for i < j and −2·Σ y·z_i. With p parts beside y, the sensitivity is p² + 2p in L1, and the root of 2p² + 3p in
L2: all parts at ±1. The paper's 2(1+d)² is for x within a ball and is too small with an intercept (d = 1 under
replace-one: 9, not 8).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.learners.base import Answers, Choosing, SummingEstimator, Total
from workbench.learners.encoding import grid_of
from workbench.learners.linear_regression.corrected import CorrectedLinearRegression
from workbench.learners.linear_regression.solve import (
    Curve,
    Line,
    Turn,
    former_line,
    functional_line,
    product_count,
    turn,
)
from workbench.learners.selection import choose, line_sums, losses_of
from workbench.learners.setting import (
    FitSetting,
    chance_of_failure,
    how_many,
    part_of_epsilon,
    privacy_budget,
    ranges_of_columns,
    ridge_strength,
)
from workbench.learners.tasks import REGRESSION
from workbench.params import Parameters, choice, real
from workbench.privacy.central.sums import (
    l2_norms,
    on_grid,
    product_l2_norms,
    product_norms,
    product_sums,
    symmetric,
    unscaled,
    within_limit,
)
from workbench.work.ask import Ask

ADAPTIVE, FUNCTIONAL = "adaptive", "functional"


@dataclass(frozen=True, kw_only=True)
class LinearRegressionParameters(Parameters):
    """Budget and method; the defaults were chosen on tables of ``tests/benchmarks/results/linear_regression.md``."""

    epsilon: float | None = privacy_budget()
    delta: float | None = chance_of_failure()
    ranges: str = ranges_of_columns()
    method: str = choice(
        choices=(ADAPTIVE, FUNCTIONAL),
        default=ADAPTIVE,
        title="method",
        help="adaptive: noisy sums of a few columns; functional: the noisy loss of all columns (Zhang et al. 2012)",
        advanced=True,
    )
    columns: int | None = how_many(
        "columns used", 1000, "number of columns to select (default: as many as ε and the number of rows allow)"
    )
    selection_share: float = part_of_epsilon(
        "share for selection", 0.3, "share of ε for selecting columns; the rest is for the sums over them"
    )
    norm_share: float | None = real(
        default=None,
        above=0,
        upto=1,
        title="clipping limit",
        unit="of the largest",
        help="rows whose products have a larger norm are scaled down to this share of the largest norm (default: a "
        "tenth)",
        advanced=True,
    )
    ridge: float = ridge_strength(
        "strength of the L2 penalty on coefficients, as a multiple of what the noise suggests"
    )


def pairs(parts: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the index pairs (i, j), i ≤ j, of z without (y, y), where z has ``parts`` parts beside y."""
    first, second = np.triu_indices(parts + 1)
    return first[:-1], second[:-1]


def largest_norm(parts: int) -> int:
    """Return the largest L1 norm of a row's products in units of K²: the number of pairs."""
    return (parts + 1) * (parts + 2) // 2 - 1


def functional_sensitivity(parts: int) -> int:
    """Return the L1 sensitivity of the coefficients of the loss, zero-out, in units of K²; Σ y² is not released."""
    return parts * parts + 2 * parts


def functional_squares(parts: int) -> int:
    """Return the square of their L2 sensitivity in units of K²."""
    return 2 * parts * parts + 3 * parts


def norms(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the L1 norm of each row's products (n,), for rows (n, p + 1) with y last; y² is not asked for."""
    return product_norms(rows) - rows[:, -1] ** 2


def euclidean_norms(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the L2 norm of the same products (n,), rounded up beyond any error of doubles."""
    return product_l2_norms(rows, rows[:, -1].astype(np.float64) ** 4)


def weighted(rows: NDArray[np.int64], limit: int, *, euclidean: bool = False) -> NDArray[np.int64]:
    """Return the rows with each one's norm brought down to ``limit`` by one factor for the whole row.

    Products are cut towards 0, so that rounding never adds to a norm.
    """
    return within_limit(rows, euclidean_norms if euclidean else norms, limit, squared=True)


def products(rows: NDArray[np.int64]) -> list[int]:
    """Return Σ z_i·z_j for the pairs of :func:`pairs`; exact, as n·K² ≤ 2^52."""
    return product_sums(rows)[:-1]


def coefficients(rows: NDArray[np.int64]) -> list[int]:
    """Return the coefficients of Σ(y − w·z)²: each w_i², then 2·w_i·w_j and −2·w_i in the order of :func:`pairs`."""
    first, second = pairs(rows.shape[1] - 1)
    last = rows.shape[1] - 1
    factor = np.where(second == last, -2, np.where(first == second, 1, 2))
    return [int(f) * v for f, v in zip(factor, products(rows), strict=True)]


def gram(answer: list[int], parts: int, size: int, *, functional: bool) -> NDArray[np.float64]:
    """Return the symmetric matrix of Σ z_i·z_j (p + 1, p + 1) in units of one, 0 for (y, y), from released numbers."""
    values = np.array(answer, dtype=np.float64) / float(size) ** 2
    if functional:
        first, second = pairs(parts)
        values = values / np.where(second == parts, -2.0, np.where(first == second, 1.0, 2.0))
    return symmetric([*values, 0.0], parts + 1)


_COLUMNS_RATE, _COLUMNS_WITH_DELTA = 0.1, 0.22
"""With n·ε = 1,100 three columns are used, with 10,000 ten; with a δ seven and twenty-two."""

_NEARLY_ALL = 0.6  # of the columns: then all are used, and no choice is paid for

_NORM_SHARE = 0.1
_FORMER_COLUMNS_RATE, _FORMER_NORM_SHARE = 0.06, 0.3  # of files of format 1

SUMS, REFINED = "sums", "sums of turned columns"
_REFINED_SHARE = 0.5
PRODUCTS = "products of turned columns"
_PRODUCTS_SHARE, _PRODUCTS_LIMIT = 0.15, 1 / 12  # of the norm of all of them at ±1
_PRODUCTS_FROM, _PRODUCTS_RATE = 30.0, 0.12
"""From this n·ε for each product there is they are asked for; with n·ε = 1,000 three are used, with 10,000 twelve."""

_LEAST_KNOWN = 100  # with less n·ε than this every column would be lost in noise, and none is used


class Setting(FitSetting[LinearRegressionParameters]):
    """The public facts of a fit, and what follows from them: queries, shares of ε, sensitivities."""

    ranges_since = 3
    bends_since = 4
    delta_weighed_since = 0  # L2 norms of products are far below L1: it pays wherever there are two columns

    @cached_property
    def functional(self) -> bool:
        """Whether the functional mechanism is asked for."""
        return self.parameters.method == FUNCTIONAL

    @property
    def choosable(self) -> tuple[str, ...]:
        return self.encoding.labels

    @cached_property
    def used(self) -> int:
        """How many encoded columns are used; with none of them the prediction is the noisy mean."""
        every = self.width
        if self.functional or not self.private:
            return every
        asked, known = self.parameters.columns, min(self.rows * self.epsilon, 1e12)
        if asked is None:
            former = self.version == 1
            rate = _FORMER_COLUMNS_RATE if former else _COLUMNS_WITH_DELTA if self.gaussian else _COLUMNS_RATE
            asked = max(1, math.floor(rate * math.sqrt(known))) if known >= _LEAST_KNOWN else 0
            asked = every if asked >= _NEARLY_ALL * every and not former else asked
        return min(asked, every)

    @cached_property
    def selects(self) -> bool:
        """Whether columns are chosen from the rows."""
        return 0 < self.used < self.width

    @property
    def choices(self) -> list[str]:
        """The queries that choose a column."""
        return [f"choice of column {i + 1}" for i in range(self.used if self.selects else 0)]

    @cached_property
    def refines(self) -> bool:
        """Whether the sums are asked for twice: with a δ, as in L1 rotated columns have larger norms."""
        return self.gaussian and self.used > 1 and self.version >= self.ranges_since and not self.functional

    @cached_property
    def bends(self) -> int:
        """How many products of rotated columns are used."""
        known, every = self.rows * self.epsilon, product_count(self.used)
        if not self.refines or self.version < self.bends_since or known < _PRODUCTS_FROM * every:
            return 0
        return min(math.floor(_PRODUCTS_RATE * math.sqrt(known)), every)

    @property
    def weights(self) -> dict[str, float]:
        part = self.parameters.selection_share if self.selects else 0.0
        again = {PRODUCTS: (1 - part) * _PRODUCTS_SHARE} if self.bends else {}
        if self.refines:
            again[REFINED] = (1 - part - sum(again.values())) * _REFINED_SHARE
        return {
            **dict.fromkeys(self.choices, part / max(self.used, 1)),
            SUMS: 1 - part - sum(again.values()),
            **again,
        }

    def parts(self, label: str) -> int:
        """Return how many parts a row of a query has beside the target, the 1 included."""
        return self.used + 1 + (self.bends if label == REFINED else 0)

    def limit(self, label: str) -> float:
        """Return the largest norm of one row's part in the sums of a query, in units of K²."""
        if label == PRODUCTS:
            return math.sqrt(product_count(self.used)) * _PRODUCTS_LIMIT
        parts = self.parts(label)
        if self.functional:
            return math.sqrt(functional_squares(parts)) if self.gaussian else float(functional_sensitivity(parts))
        largest = math.sqrt(largest_norm(parts)) if self.gaussian else float(largest_norm(parts))
        share = self.parameters.norm_share or (_NORM_SHARE if self.version > 1 else _FORMER_NORM_SHARE)
        return 1 + (largest - 1) * share if self.private else largest

    def lengths(self) -> dict[str, int]:
        """Return how many whole numbers the file holds: the choices are in the names of the columns."""
        asked = (SUMS, *((PRODUCTS,) if self.bends else ()), *((REFINED,) if self.refines else ()))
        return {q: product_count(self.used) if q == PRODUCTS else largest_norm(self.parts(q)) for q in asked}

    @cached_property
    def size(self) -> int:
        """K of the sums."""
        limit = max(map(self.limit, self.lengths()))
        if not self.private:
            return grid_of(self.rows, limit)
        return grid_of(self.rows, limit, min(self.part(label).strength for label in self.lengths()))

    def sensitivity(self, label: str) -> int:
        """Return that of a query's sums in whole numbers: what rows are brought down to, or what no row can exceed."""
        if self.functional and self.gaussian:
            return math.isqrt(functional_squares(self.used + 1) * self.size**4 - 1) + 1
        return math.floor(self.limit(label) * self.size**2)

    def deviation(self, label: str) -> float:
        """Return the standard deviation of the noise of each sum of a query, in units of one."""
        return self.noise_deviation(label, self.sensitivity(label)) / self.size**2

    def found(self, answers: Answers, label: str) -> Turn:
        """Return the line of the sums of a query, and what is asked of the rows after it."""
        sums = gram(answers[label], self.parts(label), self.size, functional=False)
        return turn(sums, self.rows, self.deviation(label), self.parameters.ridge, self.version)

    def picked(self, answers: Answers) -> list[int]:
        """Return which products are used: those with the largest sums."""
        heights = np.abs(np.array(answers.get(PRODUCTS, []), dtype=np.float64))
        return [int(k) for k in np.argsort(-heights, kind="stable")[: self.bends]]


class LinearRegressionModel(Choosing[Setting]):
    """The released numbers, and the prediction made from them."""

    name, task = "linear-regression", REGRESSION
    parameters_type, setting_type = LinearRegressionParameters, Setting
    version = 5
    line_: Line | Curve  # the prediction on the encoded scale

    def __init__(self, setting: Setting, noise: str, answers: Answers, chosen: Sequence[int]) -> None:
        super().__init__(setting, noise, answers, chosen)
        self.answer = tuple(answers[SUMS])  # the noisy whole numbers
        if setting.functional or setting.version == 1:
            found = gram(answers[SUMS], len(chosen) + 1, setting.size, functional=setting.functional)
            known = setting.deviation(SUMS), setting.parameters.ridge
            self.line_ = (
                functional_line(found, *known) if setting.functional else former_line(found, setting.rows, *known)
            )
            return
        first = setting.found(answers, SUMS)
        self.line_ = first.line
        if setting.refines:
            self.line_ = first.corrected(setting.found(answers, REFINED).line, setting.picked(answers))

    @property
    def attributes_used(self) -> tuple[str, ...]:
        """Names of the columns that are used, those found first at the front."""
        return self.setting.encoding.names_of(self.chosen)

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the predicted number of each row (n,), within the declared bounds."""
        heights = self.line_.at(self.setting.encoding.places(X)[:, list(self.chosen)])
        return unscaled(heights, *self.setting.target.bounds())


Rows = tuple[NDArray[np.int64], NDArray[np.int64]]  # encoded rows (n, D), and the heights of the target (n,)


def _line_sums(setting: Setting, rows: Rows) -> list[int]:
    """Return the sums that show which columns are worth most."""
    return line_sums(*rows)


def _sums(
    setting: Setting, rows: Rows, chosen: Sequence[int], first: Turn | None = None, picked: Sequence[int] = ()
) -> list[int]:
    """Return the sums that the line is computed from, or that it is corrected by."""
    encoded, goal = rows
    ones = np.full((len(goal), 1), setting.size, dtype=np.int64)
    used = np.column_stack([ones, encoded[:, list(chosen)], goal])
    if first is not None:
        turned = first.rows(used[:, 1:-1] / setting.size, goal / setting.size, picked)
        used = np.column_stack([ones, np.trunc(turned * setting.size).astype(np.int64)])
    if setting.functional:
        return coefficients(used)
    limit = setting.sensitivity(SUMS if first is None else REFINED)
    return products(weighted(used, limit, euclidean=setting.gaussian))


def _product_sums(setting: Setting, rows: Rows, chosen: Sequence[int], first: Turn) -> NDArray[np.int64]:
    """Return the sums of the products of rotated columns, times what the first line leaves of the target."""
    encoded, goal = rows
    turned = first.rows(
        encoded[:, list(chosen)] / setting.size, goal / setting.size, range(product_count(setting.used))
    )
    parts = np.trunc(turned[:, setting.used : -1] * turned[:, -1:] * setting.size**2).astype(np.int64)
    found: NDArray[np.int64] = within_limit(parts, l2_norms, setting.sensitivity(PRODUCTS)).sum(axis=0)
    return found


class LinearRegression(SummingEstimator[LinearRegressionModel]):
    """Linear regression; numbers are clamped to the target's bounds."""

    model_type = LinearRegressionModel

    @staticmethod
    def _coded(setting: Setting, X: NDArray[np.float64], y: NDArray[np.float64]) -> Rows:
        return setting.encoding.encode(X, setting.size), on_grid(y, *setting.target.bounds(), setting.size)

    def _of_sums(self, ask: Ask, setting: Setting, total: Total) -> LinearRegressionModel:
        chosen = list(range(setting.used))
        if setting.selects:
            chosen = choose(losses_of(total(_line_sums), setting.size), setting.choices, ask)
        answers: Answers = {}

        def answer(label: str, sums: NDArray[np.int64]) -> None:
            answers[label] = ask(label, sums.tolist(), setting.sensitivity(label))

        answer(SUMS, total(_sums, chosen))
        if setting.refines:
            first = setting.found(answers, SUMS)
            if setting.bends:
                answer(PRODUCTS, total(_product_sums, chosen, first))
            answer(REFINED, total(_sums, chosen, first, setting.picked(answers)))
        return LinearRegressionModel(setting, self.noise.name, answers, chosen)


LINEAR_REGRESSION = LinearRegression.described(
    "Linear regression",
    "Selects a few columns and computes the regression on them from noisy sums of squares and products.",
    corrected=CorrectedLinearRegression,
)
