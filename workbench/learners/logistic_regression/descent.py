"""Logistic regression with a δ: means and second moments, then noisy gradient descent.

1. The *means* of the columns, two or three times: of rows less the centre found so far, at first the middle of bounds.
2. The *moments* about them, the sums of products of the centred columns, where noise is small beside them: columns are
   turned to their axes, scaled by their spread there (:mod:`workbench.learners.linear_regression.solve`), and turned
   back. Elsewhere all columns are scaled by one public number.
3. *Rounds*: each asks for the sum of the gradients of the logistic loss. The weights are the mean of the later rounds'
   (after Bassily, Smith & Thakurta 2014, "Private empirical risk minimization", with full batches). Where rows are
   many beside the products of two columns, rounds see these, too: what two columns say only together. They are products
   of columns that do not hang together, so that they hardly do either.

Sensitivities are L2, in whole numbers: what a row adds is brought down to a public limit. The limit of a gradient is
low, so that rows that are far off, and those with a wrong class, move the weights no more than others.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from workbench.learners.linear_regression.solve import axes_of, column_products, directions, product_count
from workbench.privacy.central.sums import heights, symmetric

Doubles = NDArray[np.float64]

MEANS, MOMENTS = ("first means", "second means", "third means"), "moments"

# All of these were chosen on generated tables and on scikit-learn's wine, iris and titanic, at ε = 1 and 3; those of
# few rows on tables of KEEL, generated ones and scikit-learn's digits and breast cancer.
_MEANS, _MEANS_OF_FEW = ((0.75, 0.06), (0.3, 0.06)), ((0.75, 0.03), (0.3, 0.03), (0.15, 0.06))
"""The limit of a row about the centre found so far, of the norm of one with every column at a bound; and the share."""
_MOMENTS_SHARE = 0.15  # half of this and of those of means where rows are so many that rounds see products
_MOMENTS_LIMIT = 0.06  # of the columns, for the norm of the products of a row
_FEW_UNTIL, _MOMENTS_FROM, _MANY_FROM = 1.0, 4.0, 10.0
"""n·√(2ρ) over the columns to the power of 1.5: up to which rows are few; from which moments are asked; more rounds."""
_USUAL_SPREAD = 0.2  # half-ranges
_PRIOR_MEAN = 0.1  # variance of a column's mean about the middle of its bounds, in half-ranges²
_FEW, _MANY, _STEP, _RIDGE = 12, 24, 4.0, 1.0
_MOST_CAUTIOUS, _CAUTIOUS, _BOLD, _FORMER_CAUTIOUS = (0.08, 0.0), (0.2, 0.0), (0.5, 0.5), (0.3, 0.0)
"""Of few rows, without and with moments: the limit of a gradient, in norms of (1, x) where every column is one spread
away; and the part of a step that is made once more in the next. The last is that of files before format 4."""
_AT_A_TIME = 1 << 20  # numbers
_PRODUCTS_FROM, _ROWS_EACH, _MOST_NUMBERS = 10.0, 30, 200_000_000
"""n·√(2ρ) and n for each product of two free columns from which they are used; and how many numbers a round then makes
of all rows and classes at most: 24 rounds of that many take a minute or two."""
_REACH, _PRODUCTS_LIMIT = 2.0, 0.08
"""Spreads at which columns are cut off before they are multiplied; and the limit of a gradient with products."""


@dataclass(frozen=True, eq=False)
class Axes:
    """What rounds see of the columns, from what was released before."""

    centre: Doubles  # means of the columns (m,)
    # The weights of the columns along each axis (m, m); `None` where they are only scaled, so that a table of very many
    # columns needs no square of their number.
    turn: Doubles | None
    bends: bool = False  # whether rounds see products of two turned columns, too

    def rows(self, places: Doubles) -> Doubles:
        """Return rows (n, m) along the axes; each row by itself."""
        if self.turn is None:
            return (places - self.centre) / _USUAL_SPREAD
        return heights(places, np.vstack([-self.centre @ self.turn, self.turn]))

    def seen(self, along: Doubles) -> Doubles:
        """Return what a round sees of rows along the axes (n, m); each row by itself."""
        if not self.bends:
            return along
        near = np.clip(along, -_REACH, _REACH)
        return np.hstack([along, column_products(near, range(product_count(near.shape[1])), 1.0)])

    def heights(self, places: Doubles, weights: Doubles) -> Doubles:
        """Return the scores of rows (n, m) by weights (s, k), a block of rows at a time; each row by itself."""
        if not self.bends:  # the scores are linear in the columns: none of these need be turned
            slopes = weights[1:] / _USUAL_SPREAD if self.turn is None else self.turn @ weights[1:]
            return heights(places, np.vstack([weights[0] - self.centre @ slopes, slopes]))
        block = max(1, _AT_A_TIME // len(weights))
        parts = (places[first : first + block] for first in range(0, max(len(places), 1), block))
        return np.concatenate([heights(self.seen(self.rows(part)), weights) for part in parts])


@dataclass(frozen=True)
class Descent:
    """What is asked, from public facts."""

    rows: int  # public n
    width: int  # m, the number of encoded columns
    classes: int  # k
    known: float  # n·√(2ρ) of the whole
    # How many of the columns may vary freely: those of a name's values add up to 1. 0 where there are to be no
    # products, as in files of former formats.
    free: int = 0
    version: int = 5  # of the file's format, by whose rules it is

    @property
    def _former(self) -> bool:
        return self.version < 4

    @property
    def _clear(self) -> float:
        return self.known / (self.width * math.sqrt(self.width))

    @property
    def few(self) -> bool:
        """Whether rows are few for their columns: more and shorter steps are then better."""
        return self.version > 4 and self._clear < _FEW_UNTIL

    @cached_property
    def means(self) -> dict[str, tuple[float, float]]:
        """The limit of a row and the share of each query of means."""
        return dict(zip(MEANS, _MEANS_OF_FEW if self.few else _MEANS, strict=False))

    @property
    def turns(self) -> bool:
        """Whether the moments are asked for."""
        return self._clear >= _MOMENTS_FROM

    @property
    def bends(self) -> bool:
        """Whether rounds see products of two columns."""
        count = product_count(self.free)
        enough = self.known >= _PRODUCTS_FROM * count > 0 and self.rows >= _ROWS_EACH * count
        few = self.rows * self.classes * product_count(self.width) <= _MOST_NUMBERS
        return self.turns and enough and few

    @property
    def seen(self) -> int:
        """How many parts of a row a round sees, the 1 included."""
        return 1 + self.width + self.bends * product_count(self.width)

    @property
    def rounds(self) -> int:
        """How many rounds there are."""
        return _MANY if self.few or self._clear >= _MANY_FROM else _FEW

    @cached_property
    def weights(self) -> dict[str, float]:
        """Each query with its weight in the split of ρ."""
        before = {label: share for label, (_, share) in self.means.items()}
        if self.turns:
            before[MOMENTS] = _MOMENTS_SHARE
        if self.bends:
            before = {label: weight / 2 for label, weight in before.items()}
        each = (1 - sum(before.values())) / self.rounds
        return {**before, **{f"round {i + 1}": each for i in range(self.rounds)}}

    @property
    def _pace(self) -> tuple[float, float]:
        """The limit of a gradient without products, and what is made once more of a step."""
        if self.few:
            return _MOST_CAUTIOUS
        return _BOLD if self.turns else _FORMER_CAUTIOUS if self._former else _CAUTIOUS

    def limit(self, label: str) -> float:
        """Return the L2 norm that a row adds at most: of means in K, of moments in K², of a round in K."""
        limits = {of: limit * math.sqrt(self.width) for of, (limit, _) in self.means.items()}
        limits[MOMENTS] = _MOMENTS_LIMIT * self.width
        each = _PRODUCTS_LIMIT if self.bends else self._pace[0]
        return limits.get(label, each * math.sqrt(self.seen))

    def lengths(self) -> dict[str, int]:
        """Return how many whole numbers each query releases."""
        m = self.width
        of = {**dict.fromkeys(self.means, m), MOMENTS: m * (m + 1) // 2}
        return {label: of.get(label, self.classes * self.seen) for label in self.weights}

    def found(self, ask: Callable[[str, object], Doubles], deviation: Callable[[str], float]) -> tuple[Axes, Doubles]:
        """Return the axes, and the weights (s, k) of what rounds see along them, offsets first.

        Args:
            ask: gives the released sums of a query in units of one row, which is given what it depends on: the centre
                of means and moments; axes, the same in all rounds, and weights of a round.
            deviation: of the noise of each sum of a query.
        """
        n, centre = self.rows, np.zeros(self.width)
        for label in self.means:
            noise = deviation(label) / n
            centre = centre + ask(label, centre) / n * (_PRIOR_MEAN / (_PRIOR_MEAN + noise * noise))
        axes = Axes(centre, None)
        if self.turns:
            covariance = symmetric(ask(MOMENTS, centre) / n, self.width)
            values, vectors = directions(covariance, deviation(MOMENTS) / n)
            turn = axes_of(values, vectors)
            # Turned back, each axis is near one column, and a product of two says what these columns say together.
            axes = Axes(centre, turn if self._former else turn @ vectors.T, self.bends)
        at, total, moved = np.zeros((3, self.seen, self.classes))
        late, pace = self.rounds // 2, self._pace[1]
        for number in range(self.rounds):
            gradient = ask(f"round {number + 1}", (axes, at)).reshape(self.classes, -1).T
            moved = pace * moved - _STEP / (n + _STEP * _RIDGE) * (gradient + _RIDGE * at)
            at = at + moved
            if number >= late:
                total += at / (self.rounds - late)
        return axes, total
