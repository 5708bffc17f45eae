"""Frequencies from randomised response: unbiased, with intervals that are exact for every number of rows.

If m of n rows hold a value, the number that report it is Bin(m, p) + Bin(n − m, q): nothing else of the table enters.
The interval holds each m for which the count seen is not in a tail of chance α/2 (Neyman's inversion; m is a whole
number, so it covers at every n). The tails come from the saddlepoint formula of Lugannani & Rice (1980) with its
lattice correction, within 10 % of the exact tail (tested), which the risk allows for; those at the ends are exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from workbench.privacy.local.channel import TwoChances

Floats = NDArray[np.float64]

_SLACK = 0.9  # part of the risk that is used: the saddlepoint tail may be that much too small


def at_least(count: Floats, holders: Floats, rows: int, keep: float, other: float) -> Floats:
    """Return P(Bin(holders, keep) + Bin(rows − holders, other) ≥ count), elementwise."""
    others = rows - holders
    t, spread, exponent = _tilt(count, holders, others, keep, other)
    w = np.sign(t) * np.sqrt(2 * np.maximum(t * count - exponent, 0.0))
    u = -np.expm1(-t) * np.sqrt(spread)
    with np.errstate(divide="ignore", invalid="ignore"):
        formula = ndtr(-w) + np.exp(-(w**2) / 2) / math.sqrt(2 * math.pi) * (1 / u - 1 / w)
    # At the mean itself the formula is 0/0, and no tail of interest lies there.
    out = np.where(np.abs(w) < 1e-4, 0.5, np.clip(formula, 0.0, 1.0))
    some = -np.expm1(holders * math.log1p(-keep) + others * math.log1p(-other))
    every = np.exp(holders * math.log(keep) + others * math.log(other))
    out = np.where(count <= 0, 1.0, np.where(count == 1, some, out))
    return np.where(count > rows, 0.0, np.where(count == rows, every, out))


def at_most(count: Floats, holders: Floats, rows: int, keep: float, other: float) -> Floats:
    """Return the chance of at most ``count``: of at least rows − count that do not report the value."""
    return at_least(rows - count, holders, rows, 1 - keep, 1 - other)


def _tilt(count: Floats, holders: Floats, others: Floats, p: float, q: float) -> tuple[Floats, Floats, Floats]:
    """Return the saddlepoint t where the tilted expectation is ``count``, the tilted variance, and K(t)."""
    rows = holders + others
    inside = np.clip(count, 0.25, rows - 0.25)
    # With x = e^t: m·px/(1−p+px) + (n−m)·qx/(1−q+qx) = c is a quadratic in x.
    a = p * q * (rows - inside)
    b = holders * p * (1 - q) + others * q * (1 - p) - inside * (p * (1 - q) + q * (1 - p))
    c = -inside * (1 - p) * (1 - q)
    root = np.sqrt(b**2 - 4 * a * c)
    with np.errstate(divide="ignore", invalid="ignore"):  # in the form that is not taken the difference may vanish
        x = np.where(b > 0, -2 * c / (b + root), (root - b) / (2 * a))
    own, other = p * x / (1 - p + p * x), q * x / (1 - q + q * x)
    spread = holders * own * (1 - own) + others * other * (1 - other)
    exponent = holders * np.log1p(p * (x - 1)) + others * np.log1p(q * (x - 1))
    return np.log(x), spread, exponent


def frequency_intervals(
    channel: TwoChances, counts: NDArray[np.int64], rows: int, alpha: float
) -> tuple[Floats, Floats, Floats]:
    """Return the unbiased frequencies of the values and the ends of their intervals, each (k,).

    Args:
        channel: p and q.
        counts: (k,) how often each value is reported.
        rows: n.
        alpha: chance that one interval misses.
    """
    estimate = (counts / rows - channel.other) / (channel.keep - channel.other)
    risk = alpha / 2 * _SLACK
    # Values that are reported alike have one interval: of millions most are.
    seen, back = np.unique(counts, return_inverse=True)
    given = seen.astype(np.float64)
    # The chance of a report grows with m, so each tail crosses the risk once.
    p, q = channel.keep, channel.other
    low = _first(lambda m: at_least(given, m, rows, p, q) > risk, given.size, rows)
    high = _first(lambda m: at_most(given, m, rows, p, q) <= risk, given.size, rows + 1) - 1
    # A count too small (or too large) for any m is nearest to none (or all) of the rows.
    return estimate, (np.minimum(low, rows) / rows)[back], (np.maximum(high, 0) / rows)[back]


def _first(holds: Callable[[Floats], NDArray[np.bool_]], size: int, most: int) -> Floats:
    """Return the least whole m below ``most`` for which ``holds``, else ``most``: by bisection, all values at once."""
    low, high = np.full(size, -1.0), np.full(size, float(most))
    while np.any(high - low > 1):
        middle = np.floor((low + high) / 2)
        yes = holds(np.maximum(middle, 0.0))
        move = high - low > 1
        high = np.where(move & yes, middle, high)
        low = np.where(move & ~yes, middle, low)
    return high
