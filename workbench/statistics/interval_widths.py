"""Half-widths of 95 % intervals for weighted sums of discrete Laplace or discrete Gaussian noise.

The noise of a count is discrete Laplace with b = e^(−ε). A geometric variable is the whole part of an exponential one,
and its fractional part is independent of it; so Laplace noise of scale 1/ε is the discrete noise plus an independent
symmetric part below 1. Half-widths of sums are those of Laplace noise, plus half of the largest weight.

Discrete Gaussian noise is subgaussian with its σ² (Canonne, Kamath & Steinke 2020), so that its sums are as wide as
those of Gaussian noise but for the steps between whole numbers: half of the largest weight is added here, too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.privacy.central.share import Share

CONFIDENCE = 0.95

Weights = tuple[tuple[float, int], ...]  # (weight, how many independent draws have it)

_RISK = 1 - CONFIDENCE
_NORMAL = 1.959963984540054
_NEARLY_NORMAL = 0.15  # excess kurtosis up to which the Cornish–Fisher quantile is exact to a thousandth

_FREQUENCIES = np.arange(0.5, 12_000) * 0.04
_NEGLIGIBLE = 1e-20  # all terms below it add up to less than the rounding of a sum near 1
_GRID = 401
_ZOOMS = 4


def count_width(epsilon: float, risk: float = _RISK) -> int:
    """Return the least t with P(|noise| > t) = 2b^(t+1)/(1+b) ≤ ``risk`` of one noisy count."""
    log_b = -epsilon
    needed = math.log(risk * (1 + math.exp(log_b)) / 2) / log_b - 1
    return max(0, math.ceil(needed - 1e-12))


def sum_width(weights: Weights, epsilon: float) -> float:
    """Return the half-width for Σ weight·noise of counts whose noise has the share ``epsilon``."""
    used = tuple((abs(w), c) for w, c in weights if w and c)
    if not used:
        return 0.0
    if len(used) == 1 and used[0][1] == 1:
        return used[0][0] * count_width(epsilon)
    return laplace_width(used) / epsilon + max(w for w, _ in used) / 2


@lru_cache(maxsize=65_536)
def laplace_width(weights: Weights) -> float:
    """Return the half-width for Σ weight·noise of Laplace noise of scale 1."""
    w, count = np.array([abs(a) for a, _ in weights]), np.array([c for _, c in weights], dtype=np.float64)
    largest = float(w.max())
    if largest == 0:
        return 0.0
    w = w / largest
    variance = float(2 * (count * w**2).sum())
    spread = math.sqrt(variance)
    kurtosis = float(12 * (count * w**4).sum()) / variance**2
    if kurtosis < _NEARLY_NORMAL:
        return largest * spread * (_NORMAL + kurtosis * (_NORMAL**3 - 3 * _NORMAL) / 24)
    return largest * spread * _inverted(w / spread, count)


def _inverted(w: NDArray[np.float64], count: NDArray[np.float64]) -> float:
    """Return the quantile of |X| for a sum of variance 1: P(|X| ≤ t) = (2/π)·∫ sin(ut)/u · φ(u) du (Gil-Pelaez)."""
    u = _FREQUENCIES
    phi = np.exp(-(count[:, None] * np.log1p((w[:, None] * u) ** 2)).sum(axis=0)) / u
    u, phi = u[phi > _NEGLIGIBLE], phi[phi > _NEGLIGIBLE]  # of many draws few frequencies are left

    def inside(t: float) -> float:
        return 2 / math.pi * float((np.sin(u * t) * phi).sum()) * 0.04

    root, step, other, above = 2.0, 0.05, 1.95, inside(1.95) - CONFIDENCE
    while abs(step) > 1e-10:  # secants: five sums, and the bisection, whose bits certificates have, needs none
        here = inside(root) - CONFIDENCE
        step = here * (root - other) / (here - above)
        root, other, above = root - step, root, here
    low, high = 1.8, 2.3  # the normal and the Laplace distribution of variance 1 have 1.96 and 2.12
    for _ in range(24):
        middle = (low + high) / 2
        near = abs(middle - root) < 1e-9
        less = inside(middle) < CONFIDENCE if near else middle < root
        low, high = (middle, high) if less else (low, middle)
    return high


def ratio_interval(
    numerator: float, denominator: float, low: float, high: float, widths: NDArray[np.float64]
) -> tuple[float, float]:
    """Return the interval of μ = N/D where N and D are known with noise (Fieller 1940), within [low, high].

    μ is in it if N − μ·D is no farther from 0 than the noise of N − μ·D reaches, which is right for every true D. Its
    half-widths are given at the points of an even grid over [low, high].
    """
    whole = np.linspace(low, high, len(widths))
    grid, left, right = whole, low, high
    for _ in range(_ZOOMS):
        grid = np.linspace(left, right, len(widths))
        margin = np.interp(grid, whole, widths) - np.abs(numerator - grid * denominator)
        inside = np.flatnonzero(margin >= 0)
        if not len(inside):
            if not (denominator > 0 and left <= numerator / denominator <= right):
                return low, high  # no value is plausible: the noise is larger than all there is, and nothing is said
            near = int(np.searchsorted(grid, numerator / denominator))
            inside = np.array([near])
        # One point of the grid farther on either side: the interval is never too narrow by the grid.
        first, last = max(int(inside[0]) - 1, 0), min(int(inside[-1]) + 1, len(grid) - 1)
        left, right = float(grid[first]), float(grid[last])
        if last - first > len(grid) // 2:
            break
    return left, right


@lru_cache(maxsize=1)
def pair_widths() -> NDArray[np.float64]:
    """Return the half-widths of (1−p)·e₁ − p·e₂ for p on an even grid over [0, 1], noise of scale 1."""
    return np.array([laplace_width(((1 - p, 1), (p, 1))) for p in np.linspace(0, 1, _GRID)])


@dataclass(frozen=True)
class Widths:
    """Half-widths of what is read from one query's noisy numbers."""

    share: Share  # the query's share of the budget

    def count(self, together: int = 1) -> int:
        """Return the half-width of one noisy count, or of each of so many that all stay within theirs together."""
        risk = _RISK / together
        if self.share.gaussian:
            return gaussian_count_width(self.share.scale, risk)
        return count_width(self.share.loss, risk)

    def sum(self, weights: Weights) -> float:
        """Return the half-width of Σ weight·noise of counts."""
        if not self.share.gaussian:
            return sum_width(weights, self.share.loss)
        used = [(abs(w), c) for w, c in weights if w and c]
        if not used:
            return 0.0
        if len(used) == 1 and used[0][1] == 1:
            return used[0][0] * self.count()
        return self.smooth(weights) + max(w for w, _ in used) / 2

    def smooth(self, weights: Weights) -> float:
        """Return the half-width of Σ weight·noise in units of the sensitivity, where a step is small beside them."""
        if not self.share.gaussian:
            return laplace_width(weights) * self.share.scale
        return _NORMAL * self.share.scale * math.sqrt(math.fsum(w * w * c for w, c in weights))

    def joint(self, norm: NDArray[np.float64] | float, risk: float = _RISK / 2) -> Any:
        """Return the half-widths of weighted sums of noise; each fails in the part ``risk`` of releases at most.

        Two such sums keep theirs together in 95 % of releases. Of all sums of Laplace noise of one variance a single
        draw has the widest interval: it exceeds ln(1/risk) times its scale in that part of them (risk ≤ 5 %). ``norm``
        has the L2 norms of the weights, in units of the sensitivity.
        """
        reach = NormalDist().inv_cdf(1 - risk / 2) if self.share.gaussian else -math.log(risk)
        return reach * self.share.scale * norm

    def shares_of_pair(self) -> NDArray[np.float64]:
        """Return the half-widths of (1−p)·e₁ − p·e₂ for p on an even grid over [0, 1], in units of the sensitivity."""
        if not self.share.gaussian:
            return pair_widths() * self.share.scale
        p = np.linspace(0, 1, _GRID)
        return np.asarray(_NORMAL * self.share.scale * np.sqrt((1 - p) ** 2 + p**2))


@lru_cache(maxsize=4096)
def gaussian_count_width(sigma: float, risk: float = _RISK) -> int:
    """Return the least t with P(|noise| > t) ≤ ``risk`` of one count with discrete Gaussian noise."""
    if sigma > 1e4:
        return math.ceil(NormalDist().inv_cdf(1 - risk / 2) * sigma + 0.5)
    terms = np.exp(-(np.arange(math.ceil(12 * sigma) + 2) ** 2) / (2 * sigma * sigma))
    inside = (2 * np.cumsum(terms) - 1) / (2 * terms.sum() - 1)
    return int(np.argmax(inside >= 1 - risk))
