"""Private quantiles on a public lattice by the exponential mechanism, drawn exactly; several by halving.

*The quantile* q = a/b of N values is the least one that at least q·N of the values do not exceed; N is private, as an
empty row has no value. Cell c of the lattice, with B values below it and A above, misses being it by

    loss(c) = max(0, b·B − a·N + 1, b·A − (b − a)·N)    (in parts 1/b of a row).

*Sensitivity.* Emptying a row takes one value away, or none. It moves b·B − a·N by −(b − a) where the value is below c
and by +a elsewhere, and b·A − (b − a)·N by −a where it is above c and by +(b − a) elsewhere: a loss moves by at most
Δ = max(a, b − a), half a row for the median (with |#below − q·n| and the public n it would be a row). A loss above a
public limit counts as the limit, which moves no farther. So the weight e^(−ε·loss/(2Δ)) costs ε on any lattice
(McSherry & Talwar 2007).

*Several* (Kaplan, Schnapp & Stemmer 2022): the middle one is drawn first; those below it are drawn from the values
below the drawn cell, those above it from the values above. A value is in one part at most, and from a part that a row
does not touch is drawn as before: all draws at one depth cost what one does, ⌈log₂(K + 1)⌉ depths instead of K draws.

*Rounding.* A weight is a whole number of 2⁻²⁵⁶, never below 2⁻¹⁴⁵, with a relative error below 2⁻⁶⁰ whatever the loss:
ε changes by less than :data:`SLACK`, which is taken off beforehand. The tests compute exact ratios of whole numbers.
"""

from __future__ import annotations

import bisect
import itertools
import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from workbench.params import ParameterError
from workbench.privacy.central.central_noise import CentralNoise, NoNoise
from workbench.privacy.central.exponential import EPSILON_LEAST, SLACK

Cells = NDArray[np.int64]

_BITS = 256
_MOST_EXPONENT = 100  # a weight below about e^-100 counts as that
_DIGIT, _LAST_DIGIT = 8, 255
_MOST_LOSS = 1 << 62
_LARGEST_DENOMINATOR = 10_000


def depths(count: int) -> int:
    """Return at how many depths ``count`` quantiles are drawn; each costs its ε."""
    return count.bit_length()


@lru_cache(maxsize=256)
def _powers(rate: Decimal, digits: int) -> tuple[tuple[int, ...], ...]:
    """Return e^(−rate·d·2^(8j)) in units of 2⁻²⁵⁶ for each digit d < 256 at each place j."""
    tables = []
    with localcontext() as context:
        context.prec = 100
        for place in range(digits):
            one = int((-rate * (1 << (_DIGIT * place))).exp() * (1 << _BITS))
            found = [1 << _BITS]
            for _ in range((1 << _DIGIT) - 1):
                found.append(found[-1] * one >> _BITS)
            tables.append(tuple(found))
    return tuple(tables)


@dataclass(frozen=True, eq=False)
class Held:
    """The values of some rows, by the cells that hold them."""

    cells: Cells  # (s,) sorted and different
    upto: Cells  # (s + 1,) values before each cell, and before the end

    @classmethod
    def of(cls, values: Cells | Held) -> Held:
        """Return sorted values."""
        if isinstance(values, Held):
            return values
        cells, counts = np.unique(np.asarray(values, dtype=np.int64), return_counts=True)
        return cls(cells, np.append(0, np.cumsum(counts)))

    def __len__(self) -> int:
        """Return how many values there are."""
        return int(self.upto[-1] - self.upto[0])

    def between(self, first: int, beyond: int) -> Held:
        """Return the values in the cells from ``first`` up to the one before ``beyond``."""
        start, stop = np.searchsorted(self.cells, (first, beyond))
        return Held(self.cells[start:stop], self.upto[start : stop + 1])

    def counts(self, borders: Sequence[int]) -> list[int]:
        """Return how many values are from each border up to the one before the next."""
        found: list[int] = np.diff(self.upto[np.searchsorted(self.cells, borders)]).tolist()
        return found

    def ranked(self, rank: int) -> int:
        """Return the cell of a value, counted from 0."""
        return int(self.cells[np.searchsorted(self.upto, self.upto[0] + rank, side="right") - 1])


@dataclass(frozen=True)
class Weights:
    """The weight of each loss for one quantile at one ε."""

    share: Fraction  # q = a/b
    epsilon: float  # ε of one draw

    def __post_init__(self) -> None:
        """Refuse what is no quantile, and an ε that is too small."""
        if not 0 < self.share < 1:
            raise ParameterError(f"the quantile {self.share} is not between 0 and 1", hint="0.5 is the median")
        if not EPSILON_LEAST <= self.epsilon < math.inf:
            raise ParameterError(
                f"epsilon = {self.epsilon:g} of a quantile is below {EPSILON_LEAST:g}", hint="give a larger one"
            )

    @property
    def sensitivity(self) -> int:
        """Δ = max(a, b − a)."""
        return max(self.share.numerator, self.share.denominator - self.share.numerator)

    @property
    def rate(self) -> Decimal:
        """The exponent of a loss of 1; a larger ε uses that of 100, at which the draw is nearly certain."""
        return min((Decimal(self.epsilon) - Decimal(SLACK)) / (2 * self.sensitivity), Decimal(_MOST_EXPONENT))

    @property
    def limit(self) -> int:
        """The loss that larger ones count as."""
        return int(_MOST_EXPONENT / self.rate)

    def of(self, losses: Sequence[int]) -> list[int]:
        """Return the weight of each loss from 0 to the limit, in units of 2⁻²⁵⁶."""
        tables = _powers(self.rate, -(-self.limit.bit_length() // _DIGIT))
        seen: dict[int, int] = {}
        for loss in losses:
            if loss not in seen:
                weight, left = tables[0][loss & _LAST_DIGIT], loss >> _DIGIT
                for table in tables[1:]:
                    if not left:
                        break
                    weight, left = weight * table[left & _LAST_DIGIT] >> _BITS, left >> _DIGIT
                seen[loss] = weight
        return [seen[loss] for loss in losses]


@dataclass(frozen=True, eq=False)
class Segments:
    """Neighbouring cells of a lattice with one loss each."""

    first: Cells  # (s,) the first cell
    width: Cells  # (s,) how many cells; may be 0
    loss: Cells  # (s,) the loss of each of these cells, not limited

    @classmethod
    def of(cls, values: Cells | Held, low: int, high: int, share: Fraction, limit: int = _MOST_LOSS) -> Segments:
        """Return the segments of cells ``low`` to ``high`` for ``values``, sorted cells among them.

        Args:
            values: sorted cells.
            low: first cell.
            high: last cell.
            share: q.
            limit: the loss that larger ones count as. Losses fall up to the quantile, then rise: so the first and the
                last cells that have it are a segment each, and only the values between them take memory.
        """
        found = Held.of(values)
        a, b, n = share.numerator, share.denominator, len(found)
        if b * (n + 1) >= _MOST_LOSS:
            raise ParameterError(f"a quantile of {n:,} rows with the denominator {b} is beyond 62 bits")
        cells, upto = found.cells, found.upto
        begin = int(upto[0])
        # Values up to which no more than so many are reached, and from that on with as many below them, have the limit.
        reached_least, below_most = (a * n - limit) // b, -((1 - limit - a * n) // b)
        start = int(np.searchsorted(upto[1:], begin + reached_least, "right"))
        stop = int(np.searchsorted(upto[:-1], begin + below_most))
        held, before = cells[start:stop], upto[start : stop + 1] - begin
        # A gap, a value, a gap, …, a gap.
        first, last, below, reached = (np.empty(2 * len(held) + 1, dtype=np.int64) for _ in range(4))
        first[1::2] = last[1::2] = held
        first[0::2] = np.append(cells[start - 1] + 1 if start else low, held + 1)
        last[0::2] = np.append(held - 1, cells[stop] - 1 if stop < len(cells) else high)
        below[1::2], reached[1::2] = before[:-1], before[1:]
        below[0::2] = reached[0::2] = before
        loss = np.maximum(np.maximum(b * below - a * n + 1, a * n - b * reached), 0)
        if start:
            first, last, loss = np.append(low, first), np.append(cells[start - 1], last), np.append(limit, loss)
        if stop < len(cells):
            first, last, loss = np.append(first, cells[stop]), np.append(last, high), np.append(loss, limit)
        return cls(first, last - first + 1, loss)

    def drawn(self, weights: Weights, noise: CentralNoise) -> int:
        """Return a cell, drawn by the weight of its loss."""
        far = self.loss >= weights.limit
        near = ~far & (self.width > 0)
        first, width = self.first[near].tolist(), self.width[near].tolist()
        chances = weights.of(self.loss[near].tolist())
        # All that are beyond the limit come first, as one.
        far_width = np.cumsum(self.width[far])
        (far_weight,) = weights.of([weights.limit])
        far_sum = far_weight * int(far_width[-1]) if len(far_width) else 0
        sums = list(itertools.accumulate(map(operator.mul, width, chances), initial=far_sum))
        place = noise.below(sums[-1])
        if place < far_sum:
            cell = place // far_weight
            at = int(np.searchsorted(far_width, cell, side="right"))
            return int(self.first[far][at]) + cell - int(far_width[at - 1] if at else 0)
        at = bisect.bisect_right(sums, place) - 1
        return int(first[at] + (place - sums[at]) // chances[at])


def simple(share: Fraction | float) -> Fraction:
    """Return the nearest fraction between 0 and 1 whose denominator keeps losses short."""
    found = Fraction(share).limit_denominator(_LARGEST_DENOMINATOR)
    return min(max(found, Fraction(1, _LARGEST_DENOMINATOR)), 1 - Fraction(1, _LARGEST_DENOMINATOR))


def drawn_quantile(
    values: Cells | Held, low: int, high: int, share: Fraction, epsilon: float, noise: CentralNoise
) -> int:
    """Return one drawn cell from ``low`` to ``high``; it costs ε.

    Args:
        values: (n,) sorted cells, all from ``low`` to ``high``.
        low: first cell.
        high: last cell.
        share: q.
        epsilon: ε of the draw.
        noise: where the randomness comes from; without noise it is the quantile itself.
    """
    values = Held.of(values)
    if isinstance(noise, NoNoise):
        rank = -(-share.numerator * len(values) // share.denominator) - 1
        return values.ranked(rank) if len(values) else low
    weights = Weights(share, epsilon)
    return Segments.of(values, low, high, share, min(weights.limit, _MOST_LOSS)).drawn(weights, noise)


def drawn_quantiles(
    values: Cells | Held, low: int, high: int, shares: Sequence[Fraction], epsilon: float, noise: CentralNoise
) -> list[int]:
    """Return a drawn cell for each of the sorted, different ``shares``; they cost ``depths(len(shares))·ε``.

    Args:
        values: (n,) sorted cells, all from ``low`` to ``high``.
        low: first cell.
        high: last cell.
        shares: each q, in order, made :func:`simple`.
        epsilon: ε of one depth.
        noise: where the randomness comes from; without noise they are the quantiles themselves.
    """
    if isinstance(noise, NoNoise):
        return [drawn_quantile(values, low, high, share, epsilon, noise) for share in shares]
    return _drawn(Held.of(values), (low, high), shares, (Fraction(0), Fraction(1)), epsilon, noise)


def _drawn(
    values: Held,
    cells: tuple[int, int],
    shares: Sequence[Fraction],
    within: tuple[Fraction, Fraction],
    epsilon: float,
    noise: CentralNoise,
) -> list[int]:
    if not shares:
        return []
    middle, (low, high), (least, most) = len(shares) // 2, cells, within
    share = shares[middle]
    cell = drawn_quantile(values, low, high, simple((share - least) / (most - least)), epsilon, noise)
    before, after = values.between(low, cell), values.between(cell + 1, high + 1)
    return [
        *_drawn(before, (low, cell), shares[:middle], (least, share), epsilon, noise),
        cell,
        *_drawn(after, (cell, high), shares[middle + 1 :], (share, most), epsilon, noise),
    ]
