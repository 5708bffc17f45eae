"""Smooth steps of a shape function from the noisy sum of each cell: post-processing, which costs nothing.

A released sum is s = c·f + noise, where c is how much a cell knows (its noisy count, times the curvature of the loss),
f the step that is looked for, and the noise that of the query, of the rows in the cell and of the count. The step is
the mean of what is plausible: f is a smooth line of one of a few lengths and heights, each weighed by how well it
explains the sums (Gaussian processes; Rasmussen & Williams 2006, sections 2.2 and 5.2). Where the sums show nothing
but noise, the steps are nearly 0: a question of little worth does little harm, which is what lets all columns have
their turn.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from workbench.signals.cancel import check_here

Doubles = NDArray[np.float64]

_LENGTHS, _ROUND_LENGTHS = (0.1, 0.5, 2.0), (0.1, 0.4)
_HEIGHTS = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003, 0.0001)
_FLAT = 0.1  # weight of there being no step at all, beside all others together
_SHIFT = 0.1  # variance of a step that all cells of a line have in common, in squared reaches
_PASSES = 3
_LEAST_STEP = 0.01
_NODES, _COMMON = (0.1, 0.01), 0.003
"""Variances of a step that all cells of one node have in common, and of one that all nodes have."""
_NODE_HEIGHTS, _OWN = (0.3, 0.1, 0.03, 0.01, 0.003), 0.3
"""Variances of the effect of a column, and the part of each that differs from node to node."""


@lru_cache(maxsize=32)
def lines(cells: int) -> Doubles:
    """Return the covariances of smooth lines over so many cells in a row, (lines, cells, cells), the flat one first."""
    x = (np.arange(cells) + 0.5) / cells * 2 - 1
    far = np.abs(x[:, None] - x)
    shapes = [np.outer(x, x) if cells > 1 else np.ones((1, 1)), *(np.exp(-far / length) for length in _LENGTHS)]
    shapes += [np.exp(-(far**2) / (2 * length**2)) for length in _ROUND_LENGTHS]
    heights = [height * shape / np.diag(shape).mean() for shape in shapes for height in _HEIGHTS]
    return np.stack([np.zeros((cells, cells)), *heights]) + _SHIFT


@lru_cache(maxsize=32)
def lines_of_nodes(nodes: int, cells: int) -> Doubles:
    """Return the covariances of what a column does in each of some nodes, (lines, nodes·cells, nodes·cells).

    Mostly the same in all nodes, and a smooth line; a column of two cells has no line. The flat one comes first.
    """
    x = (np.arange(cells) + 0.5) / cells * 2 - 1
    far = np.abs(x[:, None] - x)
    shapes = [np.outer(x, x) / (x * x).mean(), np.exp(-far / 0.5)] if cells > 2 else [np.eye(cells)]
    own, among = np.eye(nodes), np.full((nodes, nodes), 1 - _OWN) + _OWN * np.eye(nodes)
    flat = [np.kron(height * own + _COMMON, np.ones((cells, cells))) for height in _NODES]
    bent = [height * np.kron(among, shape) for shape in shapes for height in _NODE_HEIGHTS]
    return np.stack([*flat, *(one + more for one in flat for more in bent)])


def of_line(sums: Doubles, known: Doubles, variances: Doubles) -> Doubles:
    """Return the step of each cell of a line (cells,), in reaches.

    Args:
        sums: noisy sums of the cells.
        known: how much each cell knows.
        variances: of the noise in each sum.
    """
    return _plausible(sums, known, variances, lines(len(sums)))


def _plausible(sums: Doubles, known: Doubles, variances: Doubles, covariances: Doubles) -> Doubles:
    """Return the mean of the steps of all covariances (k, cells, cells), each weighed by its fit to the sums."""
    whole = known[:, None] * covariances * known + np.diag(variances)
    explained = np.linalg.solve(whole, np.broadcast_to(sums[:, None], (len(covariances), len(sums), 1)))[..., 0]
    fits = -0.5 * (explained @ sums) - 0.5 * np.linalg.slogdet(whole)[1]
    return _weighed(fits, (covariances @ (known * explained)[..., None])[..., 0])


def of_values(sums: Doubles, known: Doubles, variances: Doubles) -> Doubles:
    """Return the step of each of some values that have no order, (values,), in reaches."""
    heights = np.array([0.0, *_HEIGHTS])[:, None]
    whole = known**2 * heights + variances
    fits = -0.5 * (sums**2 / whole + np.log(whole)).sum(axis=1)
    return _weighed(fits, heights * known * sums / whole)


def _weighed(fits: Doubles, steps: Doubles) -> Doubles:
    """Return the mean of the steps of all lines (lines, cells), each weighed by its fit (lines,)."""
    chances = np.full(len(fits), (1 - _FLAT) / (len(fits) - 1))
    chances[0] = _FLAT
    weights = np.exp(fits - fits.max()) * chances
    return np.asarray(weights @ steps / weights.sum())


def steps(sums: Doubles, known: Doubles, noise: Doubles, doubt: float, line: int) -> Doubles:
    """Return the step of each cell (cells,) in reaches, from −1 to 1.

    Args:
        sums: noisy sums of errors in each cell, in reaches.
        known: how much each cell knows.
        noise: variance of each sum but for what is not known of the cell.
        doubt: variance of what each cell knows.
        line: how many of the cells lie in a row; those after them are values without an order.
    """
    found = np.zeros(len(sums))
    for _ in range(_PASSES if doubt else 1):
        check_here()
        variances = noise + doubt * (found**2 + _LEAST_STEP) + 1e-9
        for part, smooth in ((slice(0, line), of_line), (slice(line, None), of_values)):
            if len(sums[part]):
                found[part] = np.clip(smooth(sums[part], known[part], variances[part]), -1.0, 1.0)
    return found


def steps_of_nodes(sums: Doubles, known: Doubles, noise: Doubles, doubt: float) -> Doubles:
    """Return the same of the cells of one column in each of some nodes, (nodes, cells)."""
    found, covariances = np.zeros(sums.size), lines_of_nodes(*sums.shape)
    for _ in range(_PASSES):
        check_here()
        variances = noise.ravel() + doubt * (found**2 + _LEAST_STEP)
        found = np.clip(_plausible(sums.ravel(), known.ravel(), variances, covariances), -1.0, 1.0)
    return found.reshape(sums.shape)
