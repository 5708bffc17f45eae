"""Losses of generalised tables: one is a :class:`Loss` and a line in :data:`LOSSES`.

A lower bound is right for suppression as well: a suppressed row counts as one in which everything is generalised.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.params import ParameterError
from workbench.params.field import named
from workbench.risk.generalise.problem import Groups, Node, Problem, Reals, Sensitive, Truths, Whole

Levels = Node | Whole
"""The level of each quasi-identifier: one for all entries, or of each entry, shape (entries, quasi-identifiers)."""

Lattice = NDArray[Any]  # a value for each node, one axis for each quasi-identifier


@dataclass(frozen=True, eq=False)
class Outcome:
    """A generalised table."""

    problem: Problem
    groups: Groups
    kept: Truths  # which classes are published; the rows of the others are suppressed
    levels: Levels  # how far the entries are generalised

    @property
    def sizes(self) -> Whole:
        """The rows of each class that is published."""
        return self.groups.sizes[self.kept]

    @property
    def suppressed(self) -> int:
        """The number of rows that are not published."""
        return int(self.problem.rows - self.sizes.sum())

    @property
    def kept_entries(self) -> Truths:
        """Which entries are published."""
        found: Truths = self.kept[self.groups.of]
        return found


@dataclass(frozen=True, kw_only=True)
class Loss:
    """An entry of the list of losses; less is better."""

    name: str
    title: str
    help: str
    of: Callable[[Outcome], float]  # the loss of an outcome
    least: Callable[[Problem, Groups], float]  # of the classes of a node what it and every node above it lose at least
    floor: Callable[[Problem], Lattice]  # the same of every node of the lattice, without looking at classes
    needs: str = ""  # `target` where it needs classes that are to be predicted


Cells = Callable[[Problem], Sequence[Sequence[Reals]]]
"""What each value of each quasi-identifier loses at each level: by quasi-identifier, by level, of shape (values,)."""

_Known = list[tuple[Reals, Reals]]


def of_cells(*, name: str, title: str, help: str, cells: Cells) -> Loss:
    """Return the loss that is the mean of what each cell loses; a suppressed cell loses what it loses at the top."""

    def known(problem: Problem) -> _Known:
        if name not in problem.memo:
            problem.memo[name] = _known(problem, cells(problem))
        found: _Known = problem.memo[name]
        return found

    def of(outcome: Outcome) -> float:
        problem, total = outcome.problem, 0.0
        lost = np.flatnonzero(~outcome.kept_entries)
        for place, (levels, totals) in enumerate(known(problem)):
            column = problem.columns[place]
            if isinstance(outcome.levels, tuple):
                # All rows by their counts, then what the few suppressed ones lose more: not every cell again.
                level = outcome.levels[place]
                more = (levels[-1] - levels[level])[column[lost]] * problem.count[lost]
                total += float(totals[level] + more.sum())
            else:
                at = outcome.levels[:, place].copy()
                at[lost] = len(levels) - 1
                total += float((levels[at, column] * problem.count).sum())
        return total / (problem.rows * len(problem.names))

    def floor(problem: Problem) -> Lattice:
        sums = []
        for place, (_, totals) in enumerate(known(problem)):
            shape = [1] * len(problem.names)
            shape[place] = -1
            sums.append(totals.reshape(shape))
        total: Lattice = sum(sums[1:], sums[0]) / (problem.rows * len(problem.names))
        return total

    return Loss(name=name, title=title, help=help, of=of, least=lambda problem, groups: 0.0, floor=floor)


def _known(problem: Problem, cells: Sequence[Sequence[Reals]]) -> _Known:
    """Return of each quasi-identifier the loss of each value at each level, and the loss of all rows at each level."""
    out = []
    for place, levels in enumerate(cells):
        rows = np.bincount(problem.columns[place], weights=problem.count, minlength=len(levels[0]))
        table = np.stack(levels)
        out.append((table, (table * rows).sum(axis=1)))
    return out


def most_classes(problem: Problem) -> Lattice:
    """Return how many classes each node has at the most: as many as its labels can be combined, or rows."""
    found: Lattice = np.ones((1,) * len(problem.names))
    for place, hierarchy in enumerate(problem.hierarchies):
        shape = [1] * len(problem.names)
        shape[place] = -1
        found = found * np.array([float(len(labels)) for labels in hierarchy.labels]).reshape(shape)
    return np.minimum(found, problem.rows)


def no_floor(problem: Problem) -> Lattice:
    """Return 0 for every node."""
    return np.zeros([height + 1 for height in problem.top])


def occupied(groups: Groups) -> int:
    """Return the number of classes that have rows."""
    return int(groups.occupied.sum())


def log2(values: Reals) -> Reals:
    """Return the logarithm of shares, in bits; 0 of none."""
    found: Reals = np.log2(np.where(values > 0, values, 1.0))
    return found


GRANULARITY: Loss = of_cells(
    name="granularity",
    title="granularity",
    help="the share of all values that a published label covers, averaged over cells: 0 to 1",
    cells=lambda problem: problem.spread,
)


def _entropy_cells(problem: Problem) -> Sequence[Sequence[Reals]]:
    out = []
    for hierarchy, column in zip(problem.hierarchies, problem.columns, strict=True):
        rows = np.bincount(column, weights=problem.count, minlength=len(hierarchy.values))
        # The mean over rows of -log2 P(value | *) is the entropy of the column, to which each column is scaled.
        entropy = -float((rows / problem.rows * log2(rows / problem.rows)).sum())
        levels = []
        for codes in hierarchy.codes:
            of_label = np.bincount(codes, weights=rows)[codes]
            bits = -log2(rows / np.maximum(of_label, 1.0))
            levels.append(bits / entropy if entropy > 0 else np.zeros_like(bits))
        out.append(levels)
    return out


NONUNIFORM_ENTROPY: Loss = of_cells(
    name="entropy",
    title="non-uniform entropy",
    help="the entropy of a value given its label, as a share of its entropy without the label: 0 to 1",
    cells=_entropy_cells,
)


def _squares(sizes: Whole) -> float:
    return float(np.square(sizes.astype(np.float64)).sum())


DISCERNIBILITY = Loss(
    name="discernibility",
    title="discernibility",
    help="the sum over rows of the size of their class; a suppressed row counts as in a class with all rows",
    of=lambda outcome: _squares(outcome.sizes) + float(outcome.suppressed) * outcome.problem.rows,
    least=lambda problem, groups: _squares(groups.sizes),
    # The squares of sizes that add up to n are least where all are equal.
    floor=lambda problem: float(problem.rows) ** 2 / most_classes(problem),
)


AVERAGE_CLASS_SIZE = Loss(
    name="class-size",
    title="average class size",
    help="the mean number of rows per class; all suppressed rows count as one class",
    of=lambda outcome: outcome.problem.rows / max(len(outcome.sizes) + (outcome.suppressed > 0), 1),
    least=lambda problem, groups: problem.rows / max(occupied(groups), 1),
    floor=lambda problem: np.asarray(problem.rows / most_classes(problem)),
)


def _target(problem: Problem) -> Sensitive:
    if problem.target is None:
        raise ParameterError("the loss classification needs a column to predict", "target", "choose one")
    return problem.target


def _right(problem: Problem, groups: Groups, judged: Truths) -> int:
    """Return how many rows of the ``judged`` classes have the most frequent target of their class."""
    votes = problem.histograms(groups, _target(problem), judged, lambda counts: counts.max(axis=1).astype(np.int64))
    return int(votes.sum())


CLASSIFICATION = Loss(
    name="classification",
    title="classification",
    help="the share of rows that a majority vote in their class predicts wrongly; a suppressed row counts as wrong",
    of=lambda outcome: 1 - _right(outcome.problem, outcome.groups, outcome.kept) / outcome.problem.rows,
    least=lambda problem, groups: 1 - _right(problem, groups, groups.occupied) / problem.rows,
    floor=no_floor,
    needs="target",
)


LOSSES: tuple[Loss, ...] = (
    GRANULARITY,
    NONUNIFORM_ENTROPY,
    DISCERNIBILITY,
    AVERAGE_CLASS_SIZE,
    CLASSIFICATION,
)


def loss(name: str) -> Loss:
    """Return the loss called ``name``.

    Raises:
        ParameterError: there is none; the message suggests a similar name.
    """
    return named(LOSSES, name, "loss")
