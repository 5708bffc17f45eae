"""Fits the distribution on a tree of cliques to noisy tables.

Minimised over all distributions on the tree (McKenna, Sheldon & Miklau 2019, "Graphical-model based estimation and
inference for differential privacy", ICML):

    Σ over measured tables ‖n·(marginal, joined as measured) − noisy counts‖² / (2·variance)  +  smoothness,

by entropic mirror descent on the potentials, one array for each measured table: their gradient is that of the loss in
the marginals. It begins where each table alone fits best (:attr:`Term.settled`), as it reaches small counts slowly.
Everything is post-processing of released counts.

Where an axis is ordered and not joined, the second differences of neighbouring counts are charged by Huber's function
(absolute value, rounded off near 0), weighed by the noise: a count that differs by more than its noise explains
stays, a jagged line of noise does not. The weight tends to nothing with the noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from workbench.signals.cancel import CancelToken
from workbench.synth.cliques import CliqueMarginals, CliqueTree, Columns, Doubles, spread

SMOOTHNESS = 0.2  # weight of the second differences, in parts of the noise's scale

_BEND = 0.3
ROUNDS = 150
_ENOUGH = 3e-5
_LEAST_VARIANCE = 1e-3

_SETTLING, _STILL = 60, 1e-2
_SCALINGS = 10
_LEAST_ROWS = 0.1
"""Rows that all cells of a settled table get beside its own, so that later rounds can raise those that have none."""

_NEVER = 1e-30  # share that is taken for that of a cell which cannot occur


@dataclass(frozen=True, eq=False)
class Measured:
    """One noisy table of one to three columns."""

    columns: tuple[int, ...]  # which
    # For each of them the measured cell of each of its cells, (k,), or `None` where none are joined.
    groups: tuple[NDArray[np.int64] | None, ...]
    counts: Doubles  # noisy counts, one axis for each column
    variance: float  # of the noise of each count
    ordered: tuple[int, ...]  # for each of them how many of its first cells are ordered; 0 where none are


def in_order(measured: Measured) -> Measured:
    """Return a measured table with its columns, of which it has one or two, in the order of the table; three are so."""
    if measured.columns == tuple(sorted(measured.columns)):
        return measured
    columns, groups, ordered = measured.columns[::-1], measured.groups[::-1], measured.ordered[::-1]
    return Measured(columns, groups, measured.counts.T, measured.variance, ordered)


class Term:
    """One measured table in the loss; ``place`` is that of the marginal on ``tree`` that it is compared with."""

    def __init__(self, measured: Measured, tree: CliqueTree, rows: int) -> None:
        measured = in_order(measured)
        self.columns, self.rows, self.counts = measured.columns, rows, measured.counts
        self.place, sizes = tree.home(self.columns), [tree.sizes[i] for i in self.columns]
        self.weight = 1.0 / max(measured.variance, _LEAST_VARIANCE)
        self.joins = [None if g is None else _indicator(g, s) for g, s in zip(measured.groups, sizes, strict=True)]
        self.scale = float(np.sqrt(max(measured.variance, _LEAST_VARIANCE) / 2))
        plain = [axis for axis, g in enumerate(measured.groups) if g is None and measured.ordered[axis] >= 3]
        self.smooth = [(axis, measured.ordered[axis]) for axis in plain] if measured.variance > _LEAST_VARIANCE else []

    def joined(self, marginal: Doubles) -> Doubles:
        """Return a marginal with its cells joined as they were measured."""
        for axis, join in enumerate(self.joins):
            if join is not None:
                marginal = np.tensordot(join, marginal, axes=(1, axis)).swapaxes(0, axis)
        return marginal

    def loss(self, marginal: Doubles) -> tuple[float, Doubles]:
        """Return the loss of a marginal and its gradient by it."""
        value, gradient = self._of_counts(self.joined(marginal * self.rows))
        for axis, join in enumerate(self.joins):
            if join is not None:
                gradient = np.tensordot(join.T, gradient, axes=(1, axis)).swapaxes(0, axis)
        return value, gradient * self.rows

    @cached_property
    def settled(self) -> Doubles:
        """The shares of the measured cells that fit this table best, were there no other; none is quite 0.

        By accelerated projected gradient with restarts (Beck & Teboulle 2009; O'Donoghue & Candès 2015): cells that
        noise alone fills are 0 at once, while mirror descent makes each only a little smaller in a round. In far
        corners of a table of two skewed columns little is enough for a correlation that the rows do not have.
        """
        total, pace = max(self.rows, 1), 1.0
        steepest = self.weight + len(self.smooth) * 16 * SMOOTHNESS / (_BEND * self.scale**2)
        found = ahead = _projected(self.counts, total)
        for _ in range(_SETTLING):
            former, found = found, _projected(ahead - self._of_counts(ahead)[1] / steepest, total)
            moved = found - former
            if float(np.abs(moved).max()) < _STILL * self.scale:
                break
            pace = 1.0 if float(((ahead - found) * moved).sum()) > 0 else pace
            faster = (1 + math.sqrt(1 + 4 * pace * pace)) / 2
            pace, ahead = faster, found + (pace - 1) / faster * moved
        shares = found + _LEAST_ROWS / found.size
        return np.asarray(shares / shares.sum())

    def towards(self, marginal: Doubles, known: Sequence[bool]) -> Doubles:
        """Return the potentials that lead a model with this marginal to the settled table.

        Of two columns, to the nearest one with the model's own sums for those that are ``known`` from other tables:
        these may have measured them more exactly.
        """
        expected = np.maximum(self.joined(marginal), _NEVER)
        wanted = self.settled
        if wanted.ndim == 2:
            sums = [(expected if known[1 - a] else wanted).sum(axis=a, keepdims=True) for a in (0, 1)]
            for _ in range(_SCALINGS):
                for axis in (0, 1):
                    wanted = wanted * (sums[axis] / wanted.sum(axis=axis, keepdims=True))
        out = np.log(wanted / expected)
        for axis, join in enumerate(self.joins):
            if join is not None:
                out = np.take(out, join.argmax(axis=0), axis=axis)
        return np.asarray(out)

    def _of_counts(self, joined: Doubles) -> tuple[float, Doubles]:
        separate = joined - self.counts
        value, gradient = self.weight * float((separate * separate).sum()) / 2, self.weight * separate
        for axis, ordered in self.smooth:
            bent, slope = _bends(joined.swapaxes(axis, -1)[..., :ordered], _BEND * self.scale)
            value += SMOOTHNESS / self.scale * bent
            gradient.swapaxes(axis, -1)[..., :ordered] += SMOOTHNESS / self.scale * slope
        return value, gradient


def _projected(counts: Doubles, total: float) -> Doubles:
    """Return the nearest counts that are not negative and sum to ``total`` (Michelot 1986)."""
    above = counts.ravel()
    while True:
        level = (above.sum() - total) / above.size
        kept = above[above > level]
        if kept.size in (0, above.size):
            return np.asarray(np.maximum(counts - level, 0.0))
        above = kept


def _indicator(groups: NDArray[np.int64], size: int) -> Doubles:
    out = np.zeros((int(groups.max()) + 1, size))
    out[groups, np.arange(size)] = 1.0
    return out


def _bends(table: Doubles, corner: float) -> tuple[float, Doubles]:
    """Return Huber's function of the second differences along the last axis, summed, and its gradient."""
    first = table[..., 1:] - table[..., :-1]
    second = first[..., 1:] - first[..., :-1]
    size = np.abs(second)
    value = np.where(size < corner, second * second / (2 * corner), size - corner / 2).sum()
    slope = np.minimum(np.maximum(second / corner, -1), 1)
    gradient = np.zeros_like(table)
    gradient[..., 2:] += slope
    gradient[..., 1:-1] -= 2 * slope
    gradient[..., :-2] += slope
    return float(value), gradient


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted model."""

    marginals: CliqueMarginals
    potentials: list[Doubles]  # θ of each measured table, from which a larger model may begin


class _Model:
    """What potentials of measured tables make of a tree, and the loss of that."""

    def __init__(
        self, tree: CliqueTree, terms: Sequence[Term], barriers: Sequence[tuple[Columns, Doubles]], cancel: CancelToken
    ) -> None:
        self._tree, self._terms, self._cancel, self._fixed = tree, terms, cancel, tree.flat()
        for columns, barrier in barriers:
            home = tree.home(columns)
            self._fixed[home] += spread(barrier, columns, tree.cliques[home])

    def of(self, potentials: Sequence[Doubles]) -> CliqueMarginals:
        """Return the distribution; tables without potentials have no part in it."""
        self._cancel.check()
        whole = [theta.copy() for theta in self._fixed]
        for term, theta in zip(self._terms, potentials, strict=False):
            whole[term.place] += spread(theta, term.columns, self._tree.cliques[term.place])
        return self._tree.marginals(whole)

    def loss(self, marginals: CliqueMarginals) -> tuple[float, list[Doubles]]:
        """Return the loss, and its gradient by the potentials of each table."""
        parts = [term.loss(marginals.of(term.columns, term.place)) for term in self._terms]
        return sum(value for value, _ in parts), [slope for _, slope in parts]

    def begun(self, begin: Sequence[Doubles]) -> list[Doubles]:
        """Return the first potentials: ``begin``, and for every other table those that fit it by itself."""
        potentials, found, moved = [*begin], self.of(begin), set[int]()
        known = {column for term in self._terms[: len(begin)] for column in term.columns}
        for term in self._terms[len(begin) :]:
            if moved.intersection(term.columns):
                found, moved = self.of(potentials), set()
            potentials.append(term.towards(found.of(term.columns, term.place), [c in known for c in term.columns]))
            moved.update(term.columns)
            known.update(term.columns)
        return potentials


def fitted(
    tree: CliqueTree,
    measured: Sequence[Measured],
    rows: int,
    cancel: CancelToken,
    rounds: int = ROUNDS,
    on_round: Callable[[int], None] = lambda done: None,
    *,
    begin: Sequence[Doubles] = (),
    barriers: Sequence[tuple[Columns, Doubles]] = (),
) -> Fit:
    """Return the distribution on ``tree`` that fits the measured tables best, each of which is within a clique.

    Args:
        tree: the tree.
        measured: the noisy tables.
        rows: public n, to which every table sums.
        cancel: checked in every round.
        rounds: most rounds of the descent.
        on_round: is called with the number of finished rounds.
        begin: the first potentials of the first tables; a table without begins where it is fitted alone.
        barriers: columns and fixed potentials of their cells, for what cannot occur.
    """
    terms = [Term(table, tree, rows) for table in measured]
    model = _Model(tree, terms, barriers, cancel)
    potentials = model.begun(begin)
    best = model.of(potentials)
    loss, slopes = model.loss(best)
    step, still = 1.0 / (max((term.weight for term in terms), default=1.0) * max(rows, 1) ** 2), 0
    for done in range(rounds):
        on_round(done)
        for _ in range(40):
            tried_at = [theta - step * slope for theta, slope in zip(potentials, slopes, strict=True)]
            tried = model.of(tried_at)
            found = model.loss(tried)
            if found[0] <= loss:
                break
            step /= 2
        else:
            break
        still = still + 1 if loss - found[0] < _ENOUGH * max(loss, 1.0) else 0
        potentials, best = tried_at, tried
        loss, slopes = found
        step *= 1.6
        if still >= 3:
            break
    return Fit(best, potentials)
