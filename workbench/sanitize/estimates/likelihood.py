"""Maximum-likelihood frequencies of the cells, with a certificate of how near they are to the maximum.

The log-likelihood Σ c_y·ln(f P)_y is concave in the frequencies f. At f the direction to all mass on cell x rises by
n·(D(x) − 1), D(x) = Σ_y P(y|x)·c_y/(n·(f P)_y); by concavity no frequencies at all have a log-likelihood more than
n·(max D − 1) above that of f. That gap is what ends the search, not a number of steps.

The search is the constrained Newton method (Wang 2007, JRSS B 69): the maximum has few cells with mass, so cells where
D has a peak join a small support, on which a quadratic model is maximised by non-negative least squares.

How a numeric column is likely spread: shares in a few groups of neighbouring cells, for a picture.

The frequencies of greatest likelihood are a few spikes, which is how little noisy cells show of the shape. For a
picture the search is stopped early (``learners.public_tables``), which keeps it smooth. It has no intervals: the
quantiles have.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.learners.public_tables import Lens, frequencies
from workbench.privacy.local.cells import Cells
from workbench.privacy.local.channel import Channel, TwoChances
from workbench.privacy.local.mechanisms.base import Randomiser
from workbench.signals.cancel import NEVER, CancelToken

Floats = NDArray[np.float64]

GAP = 1e-2
"""Nats: no statistic of the frequencies is then farther from its value at the maximum than 0.14 standard errors."""

_EM_STEPS = 10
_EM_ROUNDS = 40
_MOST_SUPPORT = 900  # cells: the square of it is what a Newton step costs
_LONGEST_JUMP = 1e6
_MOST_STEPS = 200
_PATIENCE = 12  # steps without progress after which what is left of the gap is rounding
_PATH_STEPS = 60
_MOST_JOINING = 150
_FIRST = 24  # cells of the first support, beside the peaks
_MANY = 120  # cells of a support from which exchanging one at a time is slow
_DUST = 1e-12
_LEAST = 1e-300


@dataclass(frozen=True, eq=False)
class Likelihood:
    """Frequencies on the simplex."""

    frequencies: Floats  # (m,) non-negative, with sum 1
    gap: float  # no frequencies have a log-likelihood more than this above theirs

    @property
    def converged(self) -> bool:
        """Whether the gap is too small to matter for any statistic."""
        return self.gap <= GAP


def maximum_likelihood(channel: Channel, counts: NDArray[np.int64], cancel: CancelToken = NEVER) -> Likelihood:
    """Return the frequencies of the greatest likelihood for (k,) counts of released cells, of at least one row.

    Where the likelihood is flat (a table without full rank) they are those of one of its maxima.
    """
    if isinstance(channel, TwoChances):
        return _randomised_response(channel, counts)
    return _Search(channel, counts, cancel).run()


def _randomised_response(channel: TwoChances, counts: NDArray[np.int64]) -> Likelihood:
    """Answer in closed form: the answers' distribution is max(q, c/λ), the λ that makes it sum to 1."""
    keep, other = channel.keep, channel.other
    if keep <= other:
        return Likelihood(np.full(counts.size, 1 / counts.size), 0.0)
    ordered = np.sort(counts)[::-1].astype(np.float64)
    size = np.arange(1, counts.size + 1)
    # With the s largest counts above the floor: Σ c/λ = 1 − (k − s)·q, and the last of them is still above it.
    level = np.cumsum(ordered) / (1 - (counts.size - size) * other)
    above = np.flatnonzero(ordered > other * level)
    answers = np.maximum(counts / level[above[-1] if above.size else 0], other)
    frequencies = np.maximum((answers - other) / (keep - other), 0.0)
    return Likelihood(frequencies / frequencies.sum(), 0.0)


def _accelerated_em(channel: Channel, seen: Floats, start: Floats, steps: int, cancel: CancelToken) -> Floats:
    """Return frequencies after some steps of expectation maximisation, accelerated (SQUAREM: Varadhan & Roland 2008).

    If the answers are almost the values, these are the maximum already; otherwise a starting point.
    """

    def step(frequencies: Floats) -> Floats:
        answers = np.maximum(channel.backward(frequencies), _LEAST)
        risen = np.maximum(frequencies * channel.forward(seen / answers), 0.0)
        out: Floats = risen / risen.sum()
        return out

    def value(frequencies: Floats) -> float:
        return float(seen @ np.log(np.maximum(channel.backward(frequencies), _LEAST)))

    frequencies = start
    for _ in range(steps):
        cancel.check()
        once = step(frequencies)
        twice = step(once)
        first = once - frequencies
        second = twice - once - first
        length = -float(np.linalg.norm(first)) / max(float(np.linalg.norm(second)), 1e-300)
        length = min(max(length, -_LONGEST_JUMP), -1.0)
        jumped = np.maximum(frequencies - 2 * length * first + length**2 * second, 0.0)
        jumped = step(jumped / jumped.sum())
        frequencies = jumped if value(jumped) >= value(twice) else twice
    return frequencies


class _Search:
    """The state of the search: a support, its mass, and the answers' distribution."""

    def __init__(self, channel: Channel, counts: NDArray[np.int64], cancel: CancelToken) -> None:
        self._channel, self._cancel = channel, cancel
        self._rows = int(counts.sum())
        self._seen = counts / self._rows
        self._used = np.flatnonzero(counts)  # unused answers enter only through the sum

    def run(self) -> Likelihood:
        """Search until the gap is closed, or until rounding keeps it from closing further."""
        even = np.full(self._channel.inputs, 1 / self._channel.inputs)
        start = _accelerated_em(self._channel, self._seen, even, _EM_STEPS, self._cancel)
        best = Likelihood(start, self._gap(self._slope(self._channel.backward(start)[self._used])))
        if best.converged:
            return best
        self._begin(start)
        last = 0
        for at in range(_MOST_STEPS):
            self._cancel.check()
            slope = self._slope(self._answers())
            gap = self._gap(slope)
            if gap < best.gap * 0.9:
                last = at
            if gap < best.gap:
                best = Likelihood(self._frequencies(), gap)
            if gap <= GAP or at - last > _PATIENCE:
                break
            self._join(_peaks(slope))
            if self._support.size > _MOST_SUPPORT:
                return self._risen(best)
            self._improve()
        return best

    def _risen(self, best: Likelihood) -> Likelihood:
        """Go on by expectation maximisation: with so many cells of positive mass, the noise is small."""
        frequencies = 0.9 * best.frequencies + 0.1 / best.frequencies.size  # none is 0, which would stay 0
        for _ in range(_EM_ROUNDS):
            frequencies = _accelerated_em(self._channel, self._seen, frequencies, _EM_STEPS, self._cancel)
            gap = self._gap(self._slope(self._channel.backward(frequencies)[self._used]))
            if gap < best.gap:
                best = Likelihood(frequencies, gap)
            if best.converged:
                break
        return best

    def _begin(self, start: Floats) -> None:
        heights = np.concatenate([[-1.0], start, [-1.0]])
        peaks = np.flatnonzero((start >= heights[:-2]) & (start >= heights[2:]) & (start > start.max() * 1e-3))
        spread = np.linspace(0, start.size - 1, min(start.size, _FIRST)).round().astype(np.int64)
        self._support: NDArray[np.int64] = np.union1d(peaks[np.argsort(-start[peaks])][:_MOST_JOINING], spread)
        self._chances = self._channel.rows(self._support)[:, self._used]
        self._mass = np.full(self._support.size, 1 / self._support.size)
        self._improve()

    def _gap(self, slope: Floats) -> float:
        return max(self._rows * float(slope.max()), 0.0)

    def _slope(self, answers: Floats) -> Floats:
        """Return D − 1, from Σ_y P(y|x)·(ratio − 1): small numbers, so that little is lost by rounding."""
        residual = np.full(self._channel.outputs, -1.0)
        residual[self._used] += self._seen[self._used] / np.maximum(answers, _LEAST)
        return self._channel.forward(residual)

    def _answers(self) -> Floats:
        return np.maximum(self._mass @ self._chances, _LEAST)

    def _frequencies(self) -> Floats:
        out = np.zeros(self._channel.inputs)
        out[self._support] = self._mass / self._mass.sum()
        return out

    def _join(self, cells: NDArray[np.int64]) -> None:
        new = np.setdiff1d(cells, self._support)
        if new.size:
            self._support = np.concatenate([self._support, new])
            self._chances = np.vstack([self._chances, self._channel.rows(new)[:, self._used]])
            self._mass = np.concatenate([self._mass, np.zeros(new.size)])

    def _improve(self) -> None:
        """Take a Newton step on the support, halved until it gains, and drop the cells that lose their mass."""
        before, wanted, step = self._value(self._mass), self._quadratic(), 1.0
        while step > 1e-9:
            tried = (1 - step) * self._mass + step * wanted
            if self._value(tried) > before:
                self._mass = tried
                break
            step /= 2
        kept = self._mass > _DUST
        self._support, self._chances = self._support[kept], self._chances[kept]
        self._mass = self._mass[kept] / self._mass[kept].sum()

    def _value(self, mass: Floats) -> float:
        """Return the log-likelihood per row, less the sum of the mass: its maximum has a sum of 1."""
        return float(self._seen[self._used] @ np.log(np.maximum(mass @ self._chances, _LEAST))) - float(mass.sum())

    def _quadratic(self) -> Floats:
        """Return the mass ≥ 0 that maximises the second-order model of :meth:`_value`: −½|Z·mass|² + linear·mass."""
        from scipy.linalg import solve_triangular
        from scipy.optimize import nnls

        root = np.sqrt(self._seen[self._used])
        scaled = self._chances * (root / self._answers())
        linear = 2 * (scaled @ root) - 1.0
        if linear.size > _MANY:
            return _interior_point(scaled @ scaled.T, linear, self._mass)
        # The triangle of Z rather than of Z'Z: twice the digits where columns are alike.
        ridge = np.sqrt((scaled**2).sum(axis=1).max() * 1e-15) * np.eye(linear.size)
        triangle = np.linalg.qr(np.vstack([scaled.T, ridge]), mode="r")
        right = solve_triangular(triangle, linear, trans="T")
        try:
            mass: Floats = nnls(triangle, right, maxiter=30 * linear.size)[0]
        except RuntimeError:  # too many exchanges
            return _interior_point(scaled @ scaled.T, linear, self._mass)
        return mass


def _interior_point(hessian: Floats, linear: Floats, start: Floats) -> Floats:
    """Return the minimum of ½ m'Hm − linear'm over m ≥ 0 by a primal-dual path (Mehrotra 1992)."""
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    mass = np.maximum(start, 1e-3 / start.size)
    dual = np.full_like(mass, 1e-1)
    ridge = 1e-14 * float(np.diagonal(hessian).max())  # for the factor only: what it leaves the next step takes
    for _ in range(_PATH_STEPS):
        residual = hessian @ mass - linear - dual
        average = float(mass @ dual) / mass.size
        if average < 1e-21 and float(np.abs(residual).max()) < 1e-12:
            break
        system = hessian.copy()
        np.fill_diagonal(system, np.diagonal(hessian) + dual / mass + ridge)
        try:
            factor = cho_factor(system, overwrite_a=True, check_finite=False)
        except LinAlgError:
            break
        move = cho_solve(factor, -residual - dual, check_finite=False)
        other = -dual - dual / mass * move
        reach = min(_reach(mass, move), _reach(dual, other))
        after = float((mass + reach * move) @ (dual + reach * other)) / mass.size
        centre = average * (after / average) ** 3
        correction = (centre - move * other) / mass
        move = cho_solve(factor, -residual - dual + correction, check_finite=False)
        other = correction - dual - dual / mass * move
        reach = 0.995 * min(_reach(mass, move), _reach(dual, other))
        mass, dual = mass + reach * move, dual + reach * other
    return np.where(mass > dual, mass, 0.0)


def _reach(value: Floats, move: Floats) -> float:
    """Return the part of ``move`` that keeps ``value`` non-negative, at most 1."""
    falling = move < 0
    return min(1.0, float(np.min(-value[falling] / move[falling]))) if falling.any() else 1.0


def _peaks(slope: Floats) -> NDArray[np.int64]:
    """Return the cells where the slope has a positive peak, the highest first."""
    padded = np.concatenate([[-np.inf], slope, [-np.inf]])
    peaks = np.flatnonzero((slope > 0) & (slope >= padded[:-2]) & (slope > padded[2:]))
    return peaks[np.argsort(-slope[peaks])][:_MOST_JOINING]


MOST_GROUPS = 16


@dataclass(frozen=True, eq=False)
class Shape:
    """Shares of the rows with a value."""

    edges: NDArray[np.int64]  # (g+1,) the first cell of each group, and the number of cells
    likely: NDArray[np.float64]  # (g,) the likely share of each group; the sum is 1
    released: NDArray[np.float64] | None  # (g,) its share in the released cells, `None` where answers are not cells


def likely_shape(cells: Cells, randomiser: Randomiser, counts: NDArray[np.int64]) -> Shape:
    """Return the likely shares of a column of numbers, for (k,) counts of its released cells, of at least one row."""
    lens = Lens.of(randomiser, cells, np.zeros(cells.size))
    fine = np.linspace(0, cells.size, len(lens.chances) - int(cells.missing) + 1).round().astype(np.int64)
    found = frequencies(lens, counts.astype(np.float64))[: len(fine) - 1]
    step = -(-len(found) // MOST_GROUPS)
    starts = np.arange(0, len(found), step)
    edges = np.append(fine[starts], cells.size)
    likely = np.add.reduceat(found, starts)
    released = None
    if randomiser.outputs == cells.total:
        released = np.add.reduceat(counts[: cells.size], edges[:-1]) / max(int(counts[: cells.size].sum()), 1)
    return Shape(edges, likely / max(float(likely.sum()), 1e-300), released)
