"""Positions of values within a model's cells: correlated with the cells of other columns.

A model of few wide cells says nothing of what is inside them; values drawn there independently of each other lose a
part of every correlation. Each ordered column is seen as a normal variable cut at its shares (polychoric correlation:
Olsson 1979, "Maximum likelihood estimation of the polychoric correlation coefficient", Psychometrika 44): from the
model's own tables of pairs follows the correlation that makes its cells most likely, and a row's position in a cell is
drawn, given its positions in the columns before, from the normal distribution cut off at the ends of the cell. All of
it is post-processing of the fitted model; the cells of a row stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.special import ndtr, ndtri

from workbench.privacy.entropy import Entropy
from workbench.synth.base import Coarser
from workbench.synth.cliques import CliqueMarginals, Doubles
from workbench.synth.columns import Codes
from workbench.synth.row_sampler import uniforms

_TRIED: Doubles = np.linspace(-0.99, 0.99, 67)  # correlations of which the likeliest is taken

_STEPS = 24  # points within each cell at which the chances of the other column's cells are averaged

_SAME = 1e-9  # difference of mean log-likelihoods that no table of rows shows: correlations so near are equally likely

_LEAST_REST = 0.02  # least part of a variance that the columns before leave open

_RIDGE = 1e-3
_END = 7.0  # where the tails of a normal variable are taken to end

Order = list[tuple[int, tuple[int, ...]]]  # columns as they are placed, each with the ones before it that it follows


def order_of(count: int, pairs: Sequence[tuple[int, int]], target: int | None) -> Order:
    """Return the target first, then each of ``count`` columns behind the one that it is paired with."""
    first = () if target is None else (target,)
    near: dict[int, list[int]] = {column: [] for column in range(count)}
    for a, b in pairs:
        near[a].append(b)
        near[b].append(a)
    out: Order = [(column, ()) for column in first]
    seen = set(first)
    for start in range(count):
        waiting = [] if start in seen else [(start, first)]
        seen.add(start)
        for column, before in waiting:
            out.append((column, before))
            waiting += [(other, (*first, column)) for other in near[column] if other not in seen]
            seen.update(near[column])
    return out


def positions(
    codes: Codes, cells: Coarser, model: CliqueMarginals, order: Order, entropy: Entropy
) -> Mapping[int, Doubles]:
    """Return by ordered column where each row is, from 0 to 1 within its cell of the model, (n,).

    In the (n, d) codes a missing value is one behind the ordered ones. A column and those that it follows are in one
    clique of the model.
    """
    # Two names have an order, too.
    counts = [size if size == 2 else ordered for size, ordered in zip(cells.sizes, cells.ordered, strict=True)]
    correlations: dict[tuple[int, int], float] = {}

    def correlation(a: int, b: int) -> float:
        if a == b:
            return 1.0
        pair = min(a, b), max(a, b)
        if pair not in correlations:
            correlations[pair] = latent_correlation(model.of(pair)[: counts[pair[0]], : counts[pair[1]]])
        return correlations[pair]

    out: dict[int, Doubles] = {}
    z: dict[int, Doubles] = {}
    for column, before in order:
        if counts[column] < 2:
            continue
        known = [other for other in before if other in z]
        among = np.array([[correlation(a, b) for b in known] for a in known]).reshape(len(known), len(known))
        own = np.array([correlation(column, other) for other in known])
        weights = np.linalg.solve(among + _RIDGE * np.eye(len(known)), own)
        mean = sum((w * z[other] for w, other in zip(weights, known, strict=True)), np.zeros(len(codes)))
        spread = float(np.sqrt(max(1.0 - float(own @ weights), _LEAST_REST)))
        ends, cell = _ends(cells.shares[column][: counts[column]]), codes[:, column].astype(np.int64)
        missing = cell >= counts[column]
        cell[missing] = 0
        low, high = ends[cell], ends[cell + 1]
        drawn = np.clip(
            mean + spread * _cut_off((low - mean) / spread, (high - mean) / spread, uniforms(len(codes), entropy)),
            low,
            high,
        )
        z[column] = np.where(missing, 0.0, drawn)
        width = np.maximum(ndtr(high) - ndtr(low), 1e-300)
        out[column] = np.clip((ndtr(drawn) - ndtr(low)) / width, 0.0, 1.0 - 1e-9)
    return out


def latent_correlation(table: Doubles) -> float:
    """Return the correlation of two normal variables that makes a table of two ordered columns most likely."""
    total = float(table.sum())
    if min(table.shape) < 2 or not total > 0:
        return 0.0
    chance = ndtr(_ends(table.sum(axis=1)))
    inside = chance[:-1, None] + (np.arange(_STEPS) + 0.5) / _STEPS * np.diff(chance)[:, None]
    z = ndtri(np.clip(inside, 1e-12, 1 - 1e-12))[..., None]
    tried = _TRIED[:, None, None, None]
    below = ndtr((_ends(table.sum(axis=0)) - tried * z) / np.sqrt(1 - tried**2))
    cells = np.diff(below, axis=-1).mean(axis=2)
    likelihood = (table / total * np.log(np.maximum(cells, 1e-9))).sum(axis=(1, 2))
    likely = _TRIED[likelihood >= likelihood.max() - _SAME]
    return float(likely[int(np.abs(likely).argmin())])  # where the table says nothing, none


def _ends(shares: Doubles) -> Doubles:
    """Return where a normal variable is cut so that its cells have these shares, (k + 1,)."""
    sums = np.concatenate([[0.0], np.cumsum(shares)])
    return np.asarray(np.clip(ndtri(np.clip(sums / max(float(sums[-1]), 1e-300), 0, 1)), -_END, _END))


def _cut_off(low: Doubles, high: Doubles, uniform: Doubles) -> Doubles:
    """Return normal numbers between ``low`` and ``high``; above the middle from the other side, where digits are."""
    flipped = low > 0
    low, high = np.where(flipped, -high, low), np.where(flipped, -low, high)
    first, last = ndtr(np.maximum(low, -_END)), ndtr(np.maximum(high, -_END))
    found = ndtri(np.clip(first + uniform * (last - first), 1e-300, 1 - 1e-16))
    return np.asarray(np.where(flipped, -found, found))
