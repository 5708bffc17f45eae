"""Poisson sampling: each row enters a batch by an independent coin, as the accountant assumes.

Shuffled batches of fixed size do not have the accountant's ε (one epoch, σ = 1, 100 batches: at least 4.06 against
0.718), so there is no such sampler here.

The coins of all rows and steps are one long row of coins. What is drawn is not each coin but the number of coins until
the next success, so that a step costs as much as it draws rows. This is exact, in whole numbers: of 64 random bits,
read as an integer U, the next g coins are failures when U < Sg, with S₀ = 2⁶⁴ and Sg₊₁ = ⌈Sg·(1 − q)⌉. The rounding is
upwards, so a coin that is reached succeeds with probability 1 − Sg₊₁/Sg ≤ q, and less than 1/Sg ≤ 2⁻³² below q. After
the last coin of the table the next 64 bits begin at S₀ again.

The number of failures is looked up in the table of S only where it is in doubt. Everywhere else it is ⌊x⌋ of
x = ln U / ln(1 − q): computed for a U on the other side of Sg, x is on the other side of g by all but the margin by
which it misses g at Sg itself. That is measured at every Sg when the table is made.

Many steps are drawn at once, and dealt out one at a time. What was dealt is never dealt again, and what was not dealt
when a run is paused is thrown away with the sampler. Neither a copy nor a forked process deals it out a second time.
"""

from __future__ import annotations

import math
import os
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from workbench.deep.compiled import as_written
from workbench.params import ParameterError
from workbench.privacy.entropy import Entropy
from workbench.work.ask import Steps

_BITS = 64
_LEAST_SURVIVAL = 2**32
_MOST_COINS = 2**16

_LEAST_GAPS, _MOST_GAPS = 2**10, 2**15
_STEPS_AHEAD = 32
"""Steps whose gaps are drawn at once, about: starting the operations then costs little beside the gaps themselves."""

_MOST_STEPS = 2**12  # steps that are dealt out at once at most, where one draw of gaps covers very many

_ROUNDING = 1e-12  # far above what rounding does to a logarithm of at most 45


class PoissonSampler:
    """Independent coins for each row and step, of a rate never above ``rate`` and at most 2⁻³² below it."""

    def __init__(self, rows: int, rate: float, entropy: Entropy) -> None:
        """Make the sampler.

        Raises:
            ParameterError: no rows, or a rate outside (0, 1].
        """
        if not rows >= 1:
            raise ParameterError(f"{rows:,} rows cannot be sampled", hint="give a table with rows")
        if not 0 < rate <= 1:
            raise ParameterError(f"sample rate = {rate} is not above 0 and at most 1")
        self.rows = rows  # number of rows, n
        self.threshold = int(Fraction(rate) * 2**_BITS)  # ⌊rate·2⁶⁴⌋: the rate of the coins, as a multiple of 2⁻⁶⁴
        # S₁ … S_G, descending: how many of 2⁶⁴ values of U mean that so many coins failed.
        self.survival = _survival(self.threshold)
        self._ascending = self.survival[::-1].copy()
        self._inverse = 1 / min(math.log1p(-rate), -(2.0**-_BITS)) if rate < 1 else -1.0
        counts = np.arange(1, len(self.survival) + 1)
        # How near to a whole number x must be for the table to be asked.
        self.margin = float(np.abs(self._estimate(self.survival) - counts).max()) + _ROUNDING * (1 - self._inverse)
        self._gaps = min(max(int(_STEPS_AHEAD * rate * rows), _LEAST_GAPS), _MOST_GAPS)
        self._entropy = entropy
        self._begin()

    def _begin(self) -> None:
        """Begin with a coin that was not thrown; what was prepared is thrown away."""
        self._process = os.getpid()
        self._waiting = np.empty(0, dtype=np.int64)
        """Places of successes, counted from the first coin of the first step that was not prepared."""
        self._reached = 0
        """Coins that were thrown, counted from the same place."""
        self._ready = self._waiting
        """The rows of all steps that were prepared, one step after the other."""
        self._edges = [0]
        """Where the next steps begin in ``_ready``, last first, and before that where the last one ends."""

    def __reduce__(self) -> str:
        """Refuse to be copied: the copy would deal out the steps that are prepared a second time."""
        raise TypeError("a sampler cannot be copied; make another one")

    @property
    def releasable(self) -> bool:
        """Whether the coins are cryptographic."""
        return self._entropy.releasable

    def draw(self) -> NDArray[np.int64]:
        """Return the rows of one batch, ascending; often fewer or more than the expected number, sometimes none."""
        if self.threshold == 2**_BITS:
            return np.arange(self.rows)
        if os.getpid() != self._process:
            self._begin()  # a forked process must not deal out the steps that its parent has prepared
        if len(self._edges) < 2:
            self._prepare()
        start = self._edges.pop()
        return self._ready[start : self._edges[-1]]

    def _prepare(self) -> None:
        """Cut what was thrown into the batches of steps, at least one."""
        while self._reached < self.rows:
            self._throw()
        steps = min(self._reached // self.rows, _MOST_STEPS)
        cuts = np.searchsorted(self._waiting, self.rows * np.arange(steps + 1))
        self._ready = self._waiting[: cuts[-1]] - self.rows * np.repeat(np.arange(steps), np.diff(cuts))
        self._edges = cuts[::-1].tolist()
        self._waiting = self._waiting[cuts[-1] :] - self.rows * steps
        self._reached -= self.rows * steps

    def _throw(self) -> None:
        """Throw more coins: so many that at least one gap is known."""
        failed = self._failures(self._entropy.words(self._gaps))
        places = np.empty(len(self._waiting) + len(failed), dtype=np.int64)
        places[: len(self._waiting)] = self._waiting
        found, self._reached = _successes(failed, len(self.survival), self._reached, places[len(self._waiting) :])
        self._waiting = places[: len(self._waiting) + found]

    def _failures(self, words: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return for each word how many of S₁ … S_G are above it."""
        failed = np.empty(len(words), dtype=np.int64)
        words = words.view()
        words.flags.writeable = False  # as some sources give them: one kind of array to compile for
        _counted(self._estimate(words), words, self._ascending, self.margin, failed)
        return failed

    def _estimate(self, words: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Return x; a half is added to U, so that there is a logarithm of zero."""
        x = words.astype(np.float64)
        x += 0.5
        x *= 2.0**-_BITS
        np.log(x, out=x)
        x *= self._inverse
        return x


def _survival(threshold: int) -> NDArray[np.uint64]:
    """Return S₁ … S_G for coins of rate threshold/2⁶⁴; at least one."""
    survival = 2**_BITS
    found: list[int] = []
    while not found or (survival > _LEAST_SURVIVAL and len(found) < _MOST_COINS):
        survival = -(-survival * (2**_BITS - threshold) >> _BITS)
        found.append(survival)
    # A rate below 2⁻⁶⁴ leaves all of 2⁶⁴, which does not fit into a word: one value is then called a success.
    return np.array([min(s, 2**_BITS - 1) for s in found], dtype=np.uint64)


class InTurn:
    """Poisson sampling of parts of the rows in turn: row i is in part i mod ``bands``, whatever the rows hold.

    Only the steps of its part throw a coin of a row: one batch of a row and the next are ``bands`` steps away or more.
    """

    def __init__(self, rows: int, steps: Steps, largest: PoissonSampler) -> None:
        """Take the sampler of the ``largest`` part, of ⌈rows/bands⌉ rows; in other parts its last coin is of no row."""
        self.rows, self._steps, self._coins = rows, steps, largest

    @property
    def releasable(self) -> bool:
        """Whether the coins are cryptographic."""
        return self._coins.releasable

    def draw(self) -> NDArray[np.int64]:
        """Return the rows of the batch of the step that was taken last, ascending."""
        drawn = self._coins.draw() * self._steps.bands + self._steps.part
        return drawn[drawn < self.rows]


@as_written
def _counted(
    x: NDArray[np.float64],
    words: NDArray[np.uint64],
    ascending: NDArray[np.uint64],
    margin: float,
    failed: NDArray[np.int64],
) -> None:
    """Write ⌊x⌋, or what the table says where x is within the margin of a whole number: nothing is sure there."""
    table = len(ascending)
    for i in range(len(words)):
        near = min(x[i], table + 0.5)
        count = int(near)
        if not abs(near - count - 0.5) < 0.5 - margin:
            count = table - np.searchsorted(ascending, words[i], side="right")
        failed[i] = count


@as_written
def _successes(failed: NDArray[np.int64], table: int, reached: int, places: NDArray[np.int64]) -> tuple[int, int]:
    """Write which coins were successes; return how many were, and how many coins have been thrown.

    Args:
        failed: coins that failed before each success; as many as ``table``: so many failed, and no success is known.
        table: the most that a word can give.
        reached: coins thrown before.
        places: to be written into, as long as ``failed``.
    """
    found = 0
    for gap in failed:
        reached += gap
        places[found] = reached
        if gap < table:
            found += 1
            reached += 1
    return found, reached
