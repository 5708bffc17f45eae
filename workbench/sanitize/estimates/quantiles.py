"""Quantiles of a numeric column from its released cells, with intervals from the likelihood of its public table.

The q-quantile is the least value that at least the part q of the rows with a value do not exceed. The point estimate is
that of the frequencies of greatest likelihood: they are always possible, but no quantile has an unbiased estimator.

The interval holds each value j for which neither "at least q of the rows are at most j" nor "fewer than q are at most
the value before" is refused. Each is refused by its likelihood ratio: with L the greatest log-likelihood of all and
L' that of the frequencies with exactly the part q at most j, where 2(L − L') is above the square of the normal quantile
of half the risk. Nothing is assumed of the table: a singular one only makes hypotheses harder to refuse, and the
interval longer, so no bias has to be allowed for. The sets of frequencies are nested in j, hence so are the refusals,
and bisection finds the ends. The approximation of the ratio by χ² is tested by simulation, not proved. It counts the
rows as drawn independently: the interval also holds for the population that they are a sample of, and is longer than
it must be for these rows alone where a table adds next to no noise.

χ² fails a table that blurs no direction more than others, such as randomised response over many cells: the mass of each
empty cell is at the edge of what is possible, and the ratio adds up what each gains there (coverage of .8 was seen).
With more than :data:`MOST_FLAT` such directions the share at most j less q is tested instead, by the interval of its
unbiased estimator (``interval``).

The constrained maximum is found by accelerated expectation maximisation: given how many rows are expected in each cell,
both sides of j are scaled to q and 1 − q. By concavity no such frequencies have a log-likelihood more than
n·(Σ share of a side·max D over it − 1) above those found, with D as in ``likelihood``. A hypothesis counts as refused
only if it still would be with that much more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from workbench.params import ParameterError
from workbench.privacy.local.cells import Cells
from workbench.privacy.local.channel import Channel, DistanceTable, TwoChances
from workbench.privacy.local.mechanisms.base import Randomiser
from workbench.sanitize.estimates.interval import Observed, half_length
from workbench.sanitize.estimates.likelihood import maximum_likelihood
from workbench.sanitize.estimates.numbers import Functionals
from workbench.signals.cancel import NEVER, CancelToken

Floats = NDArray[np.float64]

HIDDEN = 0.8  # part of the public range from which an interval is said to be hidden by the noise

MOST_FLAT = 8.0
"""Directions (by the participation ratio of the squared singular values) up to which the likelihood ratio is used."""

LEAST_STEPS, MOST_STEPS, PRODUCTS = 80, 500, 60_000
"""Steps of a search: as many as cells fit into the last number; what is not decided by then is not refused."""

MOST_TRIED = 256
"""Cells that are tested one by one where the likelihood ratio is not used; of more, as many at equal distances."""

_MOST_SQUARED = 1024  # cells up to which a table is multiplied by itself
_LOOK = 5  # steps between two looks at whether it is decided
_EVEN = 0.05  # part of an even distribution mixed into the start: no cell begins without mass
_LONGEST_JUMP = 1e6
_LEAST = 1e-300


@dataclass(frozen=True)
class Quantile:
    """One quantile with its interval."""

    share: float  # q
    estimate: float  # the quantile of the frequencies of greatest likelihood
    low: float
    high: float
    hidden: bool  # whether the interval spans most of the public range: the noise hides the quantile

    def to_plain(self) -> dict[str, Any]:
        """Return the figures as JSON holds them."""
        plain = {"quantile": self.share, "estimate": self.estimate, "low": self.low, "high": self.high}
        return {**plain, "hidden": self.hidden}


def checked_shares(shares: tuple[float, ...]) -> tuple[float, ...]:
    """Return the quantiles that were asked for, in order and once each.

    Raises:
        ParameterError: one is not between 0 and 1.
    """
    for share in shares:
        if not 0 < share < 1:
            raise ParameterError(f"the quantile {share:g} is not between 0 and 1", hint="0.5 is the median")
    return tuple(sorted(set(shares)))


def estimate_quantiles(
    name: str,
    cells: Cells,
    randomiser: Randomiser,
    counts: NDArray[np.int64],
    shares: tuple[float, ...],
    confidence: float,
    cancel: CancelToken = NEVER,
) -> tuple[Quantile, ...]:
    """Return the quantiles at ``shares`` of the rows with a value, from (k,) counts of the released cells.

    The table of the mechanism that ran may have any number of outputs.

    Raises:
        ParameterError: the cells are names, the table has no rows, or a share is not between 0 and 1.
    """
    if cells.values is None:
        raise ParameterError("the column contains names, which have no quantiles", f"column {name}")
    if int(counts.sum()) < 1:
        raise ParameterError("the table has no rows to estimate from", f"column {name}")
    tests = QuantileTests(randomiser, cells, counts, confidence, cancel)
    return tuple(_quantile(tests, cells.values, share) for share in checked_shares(shares))


def _quantile(tests: QuantileTests, values: Floats, share: float) -> Quantile:
    point = tests.likeliest(share)
    low, high = tests.ends(share)
    low, high = min(low, point), max(high, point)
    hidden = bool(values[high] - values[low] >= HIDDEN * (values[-1] - values[0]))
    return Quantile(share, float(values[point]), float(values[low]), float(values[high]), hidden)


class QuantileTests:
    """Which cells can hold a quantile of one column, as far as the released cells show."""

    def __init__(
        self,
        randomiser: Randomiser,
        cells: Cells,
        counts: NDArray[np.int64],
        confidence: float,
        cancel: CancelToken = NEVER,
    ) -> None:
        self._cancel = cancel
        channel = randomiser.channel()
        found = maximum_likelihood(channel, counts, self._cancel)
        self._observed = Observed(channel, counts, 1 - confidence, found.frequencies, found.gap)
        self._size, self._total = cells.size, cells.total
        self._seen = counts / counts.sum()
        self._limit = float(ndtri((1 - confidence) / 2)) ** 2 / 2
        self._most = self._value(found.frequencies)
        self._gap = found.gap
        self._functionals = Functionals(self._observed, self._cancel) if _is_flat(channel) else None
        self._differences: dict[tuple[int, float], tuple[float, float] | None] = {}

    def likeliest(self, share: float) -> int:
        """Return the cell of the quantile at the frequencies of greatest likelihood."""
        below = np.cumsum(self._observed.fitted[: self._size])
        reached = np.flatnonzero(below >= share * below[-1] * (1 - 1e-12))
        return int(reached[0]) if reached.size and below[-1] > 0 else 0

    def ends(self, share: float) -> tuple[int, int]:
        """Return the first and the last cell that can hold the quantile."""
        point = self.likeliest(share)
        if self._functionals is not None:
            return self._admitted(point, share)
        low, above = -1, point  # the quantile is not refused to be at most cell ``above``
        while above - low > 1:
            middle = (low + above) // 2
            low, above = (middle, above) if self.refuses_at_most(middle, share) else (low, middle)
        below, high = point, self._size - 1  # it is never above the last cell
        while high - below > 0:
            middle = (below + high) // 2
            below, high = (below, middle) if self.refuses_above(middle, share) else (middle + 1, high)
        return above, high

    def _admitted(self, point: int, share: float) -> tuple[int, int]:
        """Return the ends of what is admitted; between cells that are tried, up to the next one that is not."""
        step = -(-self._size // MOST_TRIED)
        held = [j for j in range(0, self._size, step) if self.admits(j, share)]
        low, high = min([point, *held]), max([point, *held])
        return max(low - step + 1, 0), min(high + step - 1, self._size - 1)

    def admits(self, cell: int, share: float) -> bool:
        """Whether the quantile may be that of ``cell``: what :meth:`ends` looks for by bisection."""
        below = cell > 0 and self.refuses_above(cell - 1, share)
        above = cell < self._size - 1 and self.refuses_at_most(cell, share)
        return not below and not above

    def refuses_at_most(self, cell: int, share: float) -> bool:
        """Whether it is refused that at least ``share`` of the rows with a value are at most ``cell``."""
        difference = self._difference(cell, share)
        if difference is not None:
            return difference[0] + difference[1] < 0
        below, there = self._below(cell)
        return below < share * there and self._refused(cell, share)

    def refuses_above(self, cell: int, share: float) -> bool:
        """Whether it is refused that fewer are."""
        difference = self._difference(cell, share)
        if difference is not None:
            return difference[0] - difference[1] > 0
        below, there = self._below(cell)
        return below > share * there and self._refused(cell, share)

    def _difference(self, cell: int, share: float) -> tuple[float, float] | None:
        """Return the unbiased estimate of the part at most ``cell`` less ``share`` of all, and its half-length.

        It is ``None`` where the likelihood ratio is used.
        """
        if self._functionals is None:
            return None
        if (cell, share) not in self._differences:
            wanted = np.zeros(self._total)
            wanted[: self._size] = -share
            wanted[: cell + 1] += 1.0
            chosen = self._functionals.choose(wanted)
            made = None
            if chosen.exact:
                noise = self._functionals.choose(chosen.linear.variance(self._observed.channel)).linear
                half = half_length(self._observed, chosen.linear, noise)
                made = self._observed.mean(chosen.linear.values), half
            self._differences[cell, share] = made
        return self._differences[cell, share]

    def _below(self, cell: int) -> tuple[float, float]:
        fitted = self._observed.fitted
        return float(fitted[: cell + 1].sum()), float(fitted[: self._size].sum())

    def _refused(self, cell: int, share: float) -> bool:
        """Whether exactly ``share`` at most ``cell`` is refused by the likelihood ratio; at doubt it is not."""
        left, right = slice(0, cell + 1), slice(cell + 1, self._size)
        frequencies = self._start(left, right, share)
        rows = self._observed.rows
        for step in range(max(LEAST_STEPS, min(MOST_STEPS, PRODUCTS // self._total))):
            self._cancel.check()
            if step % _LOOK == 0:
                lost = rows * (self._most - self._value(frequencies))
                if lost + self._gap <= self._limit:
                    return False
                if lost - self._room(frequencies, left, right, share) > self._limit:
                    return True
            frequencies = self._risen(frequencies, left, right, share)
        return False

    def _start(self, left: slice, right: slice, share: float) -> Floats:
        even = np.full(self._total, 1 / self._total)
        return _scaled((1 - _EVEN) * self._observed.fitted + _EVEN * even, left, right, share)

    def _value(self, frequencies: Floats) -> float:
        used = self._seen > 0
        answers = self._observed.channel.backward(frequencies)[used]
        return float(self._seen[used] @ np.log(np.maximum(answers, _LEAST)))

    def _slope(self, frequencies: Floats) -> Floats:
        answers = np.maximum(self._observed.channel.backward(frequencies), _LEAST)
        return self._observed.channel.forward(self._seen / answers)

    def _room(self, frequencies: Floats, left: slice, right: slice, share: float) -> float:
        """Return how much greater the log-likelihood of such frequencies can be at most."""
        slope = self._slope(frequencies)
        most = share * float(slope[left].max()) + (1 - share) * float(slope[right].max())
        if self._total > self._size:
            most = max(most, float(slope[-1]))
        return max(self._observed.rows * (most - 1), 0.0)

    def _risen(self, frequencies: Floats, left: slice, right: slice, share: float) -> Floats:
        """Return the frequencies after an accelerated step (SQUAREM: Varadhan & Roland 2008)."""

        def step(given: Floats) -> Floats:
            return _scaled(np.maximum(given * self._slope(given), 0.0), left, right, share)

        once = step(frequencies)
        twice = step(once)
        first = once - frequencies
        second = twice - once - first
        length = -float(np.linalg.norm(first)) / max(float(np.linalg.norm(second)), _LEAST)
        length = min(max(length, -_LONGEST_JUMP), -1.0)
        jumped = np.maximum(frequencies - 2 * length * first + length**2 * second, 0.0)
        if min(jumped[left].sum(), jumped[right].sum()) <= 0:
            return twice
        jumped = step(_scaled(jumped, left, right, share))
        return jumped if self._value(jumped) >= self._value(twice) else twice


def _scaled(frequencies: Floats, left: slice, right: slice, share: float) -> Floats:
    """Return frequencies with sum 1 of whose mass on both sides ``share`` is on the left one."""
    out: Floats = frequencies / frequencies.sum()
    low, high = float(out[left].sum()), float(out[right].sum())
    there = low + high
    for side, wanted, mass in ((left, share, low), (right, 1 - share, high)):
        size = out[side].size
        out[side] = out[side] * (wanted * there / mass) if mass > _LEAST else wanted * there / size
    return out


def _is_flat(channel: Channel) -> bool:
    """Whether a table blurs more than :data:`MOST_FLAT` directions about alike."""
    if isinstance(channel, TwoChances):
        return channel.inputs - 1 > MOST_FLAT
    if isinstance(channel, DistanceTable) or max(channel.inputs, channel.outputs) > _MOST_SQUARED:
        return False
    chances = channel.rows(np.arange(channel.inputs))
    used = np.sqrt(np.maximum(chances.mean(axis=0), _LEAST))
    scaled = chances / (used * math.sqrt(channel.inputs))  # its greatest singular value is 1, of the constants
    squares = float((scaled**2).sum()) - 1
    fourths = float(((scaled @ scaled.T) ** 2).sum()) - 1
    return squares**2 > MOST_FLAT * max(fourths, _LEAST)
