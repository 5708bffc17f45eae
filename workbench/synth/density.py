"""Smooth densities of ordered columns from noisy counts of cells.

Penalised likelihood of the logarithm of the density (Silverman 1982, "On the estimation of a probability density
function by the maximum penalized likelihood method", Annals of Statistics), whose second differences are charged: the
stronger, the nearer the density is to an exponential one. So tails end, and the empty parts of bounds that are far too
wide stay nearly empty, where counts that are merely made non-negative keep a large part of their noise. Strengths, and
first and last cells that differ from the rest (the many zeros of a measurement that was not taken), are averaged by
their evidence (Laplace's approximation, MacKay 1992). Everything is post-processing of released counts.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from workbench.signals.cancel import CancelToken
from workbench.synth.cliques import Doubles

_STRENGTHS = tuple(10.0**power for power in np.arange(4.5, -3.6, -1.0))
_SEPARATE = 0.06  # weight of the step between a separate end cell and its neighbour: of the order of e⁴ either way

_FEW = 6  # cells below which there is no tail to make smooth

_ROUNDS, _STILL, _STEP, _RIDGE = 40, 1e-3, 4.0, 1e-6
_ROUNDING = 1e-14


def density(counts: Doubles, variance: float, rows: float, cancel: CancelToken) -> Doubles | None:
    """Return the estimated shares of ordered cells, (k,), or ``None`` where there are too few cells or rows.

    The noise of each count has that variance; how many rows the cells hold is public or estimated.
    """
    cells = len(counts)
    if cells < _FEW or not rows > 0:
        return None
    bends = np.diff(np.eye(cells), 2, axis=0)
    begin = np.log(np.maximum(counts, 0.3 * np.sqrt(variance)) / rows)
    tried: list[tuple[float, Doubles]] = []
    for first, last in itertools.product((False, True), repeat=2):
        kept = bends[int(first) : len(bends) - int(last)]
        fixed = _RIDGE * np.eye(cells)
        for separate, step in ((first, (0, 1)), (last, (-1, -2))):
            if separate:
                across = np.zeros(cells)
                across[list(step)] = 1.0, -1.0
                fixed += _SEPARATE * np.outer(across, across)
        at = begin - begin.mean()
        for strength in _STRENGTHS:
            cancel.check()
            evidence, at = _fitted(at, counts, variance, rows, strength * kept.T @ kept + fixed)
            tried.append((evidence, _shares(at)))
    best = max(evidence for evidence, _ in tried)
    weights = np.exp([evidence - best for evidence, _ in tried])
    out: Doubles = weights @ np.array([shares for _, shares in tried]) / weights.sum()
    return out


def _fitted(at: Doubles, counts: Doubles, variance: float, rows: float, prior: Doubles) -> tuple[float, Doubles]:
    """Return the evidence of a prior precision of the logarithms, and the logarithms at the most likely place."""

    def loss(theta: Doubles) -> float:
        away = rows * _shares(theta) - counts
        return float(away @ away / (2 * variance) + theta @ prior @ theta / 2)

    now, bend = loss(at), prior
    for _ in range(_ROUNDS):
        shares = _shares(at)
        slopes = rows * (np.diag(shares) - np.outer(shares, shares))
        bend = slopes @ slopes / variance + prior
        # With next to no noise the prior is lost beside it, and what is left has no inverse.
        bend += _ROUNDING * bend.trace() * np.eye(len(bend))
        step = np.linalg.solve(bend, slopes @ (rows * shares - counts) / variance + prior @ at)
        step *= min(1.0, _STEP / max(float(np.abs(step).max()), 1e-300))
        gained = 0.0
        while float(np.abs(step).max()) > _STILL * 1e-2:
            found = loss(at - step)
            if found <= now:
                at, gained, now = at - step, now - found, found
                break
            step /= 2
        if gained < _STILL:
            break
    evidence = -now - (np.linalg.slogdet(bend)[1] - np.linalg.slogdet(prior)[1]) / 2
    return float(evidence), at - at.mean()


def _shares(theta: NDArray[np.float64]) -> Doubles:
    out = np.exp(theta - theta.max())
    return np.asarray(out / out.sum())
