"""Poisson sampling: each row enters a batch by an independent coin, as the accountant assumes.

Shuffled batches of fixed size do not have the accountant's ε (one epoch, σ = 1, 100 batches: at least 4.06 against
0.718), so there is no such sampler here.

The coins of all rows and steps are one long row of coins. What is drawn is not each coin but the number of coins until
the next success, so that a step costs as much as it draws rows. This is exact, in whole numbers: of 64 random bits,
read as an integer U, the next g coins are failures when U < Sg, with S₀ = 2⁶⁴ and Sg₊₁ = ⌈Sg·(1 − q)⌉. The rounding is
upwards, so a coin that is reached succeeds with probability 1 − Sg₊₁/Sg ≤ q, and less than 1/Sg ≤ 2⁻³² below q. After
the last coin of the table the next 64 bits begin at S₀ again.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from workbench.params import ParameterError
from workbench.privacy.entropy import Entropy

_BITS = 64
_LEAST_SURVIVAL = 2**32
_MOST_COINS = 2**16
_GAPS_AT_ONCE = 1024


class PoissonSampler:
    """Independent coins for each row and step, of a rate never above ``rate`` and at most 2⁻³² below it.

    Attributes:
        rows: number of rows, n.
        threshold: ⌊rate·2⁶⁴⌋: the rate of the coins, as a multiple of 2⁻⁶⁴.
        survival: S₁ … S_G, descending: how many of 2⁶⁴ values of U mean that so many coins failed.
    """

    def __init__(self, rows: int, rate: float, entropy: Entropy) -> None:
        """Make the sampler.

        Raises:
            ParameterError: no rows, or a rate outside (0, 1].
        """
        if not rows >= 1:
            raise ParameterError(f"{rows} rows cannot be sampled", mend="give a table with rows")
        if not 0 < rate <= 1:
            raise ParameterError(f"sample rate = {rate} is not above 0 and at most 1")
        self.rows = rows
        self.threshold = int(Fraction(rate) * 2**_BITS)
        self.survival = _survival(self.threshold)
        self._ascending = self.survival[::-1].copy()
        self._entropy = entropy
        self._waiting = np.empty(0, dtype=np.int64)
        """Places of successes, counted from the first coin of the next step."""
        self._reached = 0
        """Coins that were thrown, counted from the same place."""

    @property
    def releasable(self) -> bool:
        """Whether the coins are cryptographic."""
        return self._entropy.releasable

    def draw(self) -> NDArray[np.int64]:
        """Return the rows of one batch, ascending; often fewer or more than the expected number, sometimes none."""
        if self.threshold == 2**_BITS:
            return np.arange(self.rows)
        while self._reached < self.rows:
            self._throw()
        cut = int(np.searchsorted(self._waiting, self.rows))
        drawn, self._waiting = self._waiting[:cut], self._waiting[cut:] - self.rows
        self._reached -= self.rows
        return drawn

    def _throw(self) -> None:
        """Throw more coins: so many that at least one gap is known."""
        table = len(self.survival)
        failed = table - np.searchsorted(self._ascending, self._entropy.words(_GAPS_AT_ONCE), side="right")
        found = failed < table
        ends = self._reached + np.cumsum(failed + found)
        self._waiting = np.concatenate([self._waiting, ends[found] - 1])
        self._reached = int(ends[-1])


def _survival(threshold: int) -> NDArray[np.uint64]:
    """Return S₁ … S_G for coins of rate threshold/2⁶⁴; at least one."""
    survival = 2**_BITS
    found: list[int] = []
    while not found or (survival > _LEAST_SURVIVAL and len(found) < _MOST_COINS):
        survival = -(-survival * (2**_BITS - threshold) >> _BITS)
        found.append(survival)
    # A rate below 2⁻⁶⁴ leaves all of 2⁶⁴, which does not fit into a word: one value is then called a success.
    return np.array([min(s, 2**_BITS - 1) for s in found], dtype=np.uint64)
