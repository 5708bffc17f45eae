"""Corrects features of sanitised columns for their mechanism, and compares them between classes.

A row of a sanitised table went, value by value, through public tables of chances: its attribute through P, its class
through Q, independently. A model that knows them need not take the answers for the truth:

1. the frequencies f of the true cells of a column come from its answers by the method of maximum likelihood, in
   :data:`STEPS` steps of the EM algorithm from equal frequencies (Agrawal & Aggarwal 2001, "On the design and
   quantification of privacy preserving data mining algorithms", PODS); to stop there draws noisy ones to equal ones;
2. a feature φ of the true cell (the number, its square, whether it is a certain value) becomes the score
   s(answer) = E[φ | answer] − E[φ] under f;
3. the sums of the scores in the true classes come from those in the answered ones by the inverse of Q;
4. what is left of a difference between classes in the scores is the part Var s / Var φ of the one in φ, exactly so if
   E[s | φ] is a straight line: the difference is divided by it.

With tables that change nothing every step returns the plain figure. Otherwise each difference comes with the variance
that the tables gave it, and :func:`weights` says how much of it to believe.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from workbench.data.schema import Attribute
from workbench.learners.denoise import class_sizes
from workbench.params import InputError

if TYPE_CHECKING:
    from workbench.privacy.local.cells import Cells

Doubles = NDArray[np.float64]

STEPS = 100
MOST_GROUPS = 64
"""True cells that are distinguished by their frequencies; within a group they count as equally frequent."""

# The public prior of the distance of classes, in deviations of a feature: mostly less than USUAL. Chosen on iris,
# wine, breast cancer and generated tables with and without differences; half or twice as much changes accuracy by up
# to 0.03, and a flat prior falls 0.05 below the majority at small ε.
_SPREADS = np.array([0.01, 0.03, 0.06, 0.12, 0.25, 0.5, 1.0, 2.0, 4.0])
_USUAL = 0.5
_PRIOR_FEATURES = 3.0  # how many features the prior counts for
_ROUNDS = 40
_TINY = 1e-12


class Chances(Protocol):
    """The part of a mechanism that its recipients know: the public table."""

    @property
    def outputs(self) -> int:
        """Number of output cells."""
        ...

    def probabilities(self, rows: slice = slice(None)) -> Doubles:
        """Return the (inputs, outputs) transition probabilities, or those of some inputs."""
        ...


@dataclass(frozen=True, eq=False)
class Lens:
    """A public table as seen from its answers: which true cells may be behind each."""

    # (g, k) mean chance of each answer over the true cells of a group; a missing value is the last group.
    chances: Doubles
    # (5, g, k) the same with each true cell's chance multiplied by 1, z, z², z³, z⁴, where z is its number in
    # half-ranges from the centre of the bounds (0 of a missing value and of names).
    moments: Doubles

    @classmethod
    def of(cls, randomiser: Chances, cells: Cells, places: Doubles | None) -> Self:
        """Read a table once; of many cells only a few rows are in memory at a time."""
        size = cells.size
        edges = np.linspace(0, size, min(size, MOST_GROUPS if places is not None else size) + 1).round().astype(int)
        found = []
        for low, high in itertools.pairwise(edges):
            rows = randomiser.probabilities(slice(low, high))
            z = np.zeros(high - low) if places is None else places[low:high]
            found.append(np.stack([z**power @ rows for power in range(5)]) / (high - low))
        if cells.missing:
            row = randomiser.probabilities(slice(size, size + 1))[0]
            found.append(np.stack([row, *[np.zeros_like(row)] * 4]))
        moments = np.stack(found, axis=1)
        return cls(moments[0], moments)


@dataclass(frozen=True, eq=False)
class PublicTable:
    """The public table that one column of a sanitised table went through."""

    attribute: Attribute  # the public facts about the column
    cells: Cells  # its inputs and outputs
    randomiser: Chances

    @cached_property
    def lens(self) -> Lens:
        """The table as seen from its answers."""
        places = None
        if self.cells.values is not None:
            low, high = self.attribute.bounds()
            places = np.clip((self.cells.values - (low / 2 + high / 2)) / (high / 2 - low / 2), -1.0, 1.0)
        return Lens.of(self.randomiser, self.cells, places)

    @cached_property
    def inverse(self) -> Doubles:
        """The inverse of the chances, (k, k); the nearest one where the table has none."""
        return np.asarray(np.linalg.pinv(self.randomiser.probabilities()))


@dataclass(frozen=True, eq=False)
class Scores:
    """What the answers of one column say of r features of its true cells; under f each has the mean 0."""

    values: Doubles  # (r, k) E[φ | answer] for each answer
    variances: Doubles  # (r,) of φ under f
    means: Doubles  # (r,) what was taken off each feature, in the feature's own unit
    kept: Doubles  # (r,) the part Var s / Var φ of a difference that is left in the scores; 1: all of it


def frequencies(lens: Lens, counts: Doubles) -> Doubles:
    """Return the estimated frequency (g,) of each group of true cells from the counts (k,) of the answers."""
    seen = counts > 0
    chances, share = lens.chances[:, seen], counts[seen] / counts.sum()
    found = np.full(len(chances), 1 / len(chances))
    for _ in range(STEPS):
        found = found * (chances @ (share / (found @ chances)))
    return found


def number_scores(table: PublicTable, counts: Doubles) -> Scores:
    """Return the scores of a number about its mean, of its squared distance from it, and of being missing."""
    share = counts / counts.sum()
    (_, one, two, three, four), posterior = behind(table, counts)
    missing = posterior[-1] if table.cells.missing else np.zeros(counts.shape)
    here = 1 - missing
    centre = float(share @ one / max(share @ here, _TINY))
    square = two - 2 * centre * one + centre**2 * here
    fourth = four - 4 * centre * three + 6 * centre**2 * two - 4 * centre**3 * one + centre**4 * here
    spread, gone = float(share @ square), float(share @ missing)
    values = np.stack([one - centre * here, square - spread, missing - gone])
    variances = np.array([spread, share @ fourth - spread**2, gone * (1 - gone)])
    return scores_of(values, variances, np.array([centre, spread, gone]), share)


def name_scores(table: PublicTable, counts: Doubles) -> Scores:
    """Return the scores of being each value of a column of names, a missing one last."""
    share = counts / counts.sum()
    posterior = behind(table, counts)[1]
    means = posterior @ share
    return scores_of(posterior - means[:, None], means * (1 - means), means, share)


def behind(table: PublicTable, counts: Doubles) -> tuple[Doubles, Doubles]:
    """Return what is behind each answer: E[z^p | answer] (5, k), and the chance of each group of cells (g, k).

    Args:
        table: the public table.
        counts: of the answers (k,).
    """
    found = frequencies(table.lens, counts)
    joint = found[:, None] * table.lens.chances
    whole = np.maximum(joint.sum(axis=0), _TINY)
    return np.einsum("g,pgk->pk", found, table.lens.moments) / whole, joint / whole


def scores_of(values: Doubles, variances: Doubles, means: Doubles, share: Doubles) -> Scores:
    """Return scores whose ``kept`` follows from the ``share`` (k,) of each answer."""
    variances = np.maximum(variances, _TINY)
    kept = np.clip(values**2 @ share / variances, _TINY, 1.0)
    return Scores(values, variances, means, kept)


@dataclass(frozen=True, eq=False)
class Classes:
    """The estimated classes of sanitised rows."""

    sizes: Doubles  # (c,) estimated rows of each true class
    inverse: Doubles  # (c, c) turns sums over the answered classes into sums over the true ones
    kept: Doubles  # (c,) the part of the precision of a class's sum that its table left; 1: all of it

    @classmethod
    def of(cls, table: PublicTable, answers: NDArray[np.int64]) -> Self:
        """Estimate the classes from the answered ones (n,)."""
        inverse = table.inverse
        answered = np.bincount(answers, minlength=len(inverse)).astype(np.float64)
        raw = answered @ inverse
        spread = answered @ inverse**2
        # What the table added to the spread of each count: nothing where it changed nothing.
        added = float(np.maximum(spread - np.clip(raw, 0, len(answers)), 0).mean())
        sizes, _ = class_sizes(raw, len(answers), added)
        return cls(sizes, inverse, np.clip(sizes / np.maximum(spread, _TINY), 0.0, 1.0))


@dataclass(frozen=True, eq=False)
class Differences:
    """How r features differ between the classes, in deviations of the feature."""

    values: Doubles  # (r, c) each class's mean of the feature less the mean of all rows
    variances: Doubles  # (r, c) of these estimates
    added: Doubles  # (r, c) the part of the variance that the public tables caused

    @classmethod
    def of(cls, scores: Scores, classes: Classes, together: Doubles) -> Self:
        """Estimate the differences.

        Args:
            scores: of one column.
            classes: the estimated classes.
            together: (c, k) how often each answered class occurs with each answer.
        """
        deviation = np.sqrt(scores.variances)[:, None]
        scale = scores.kept[:, None] * deviation * classes.sizes
        values = scores.values @ together.T @ classes.inverse / scale
        values -= (values * classes.sizes).sum(axis=1, keepdims=True) / classes.sizes.sum()
        variances = scores.values**2 @ together.T @ classes.inverse**2 / scale**2
        lost = 1 - scores.kept[:, None] * classes.kept
        return cls(values, variances, variances * np.maximum(lost, 0.0))

    def only(self, feature: int) -> Differences:
        """Return those of one feature."""
        rows = slice(feature, feature + 1)
        return Differences(self.values[rows], self.variances[rows], self.added[rows])

    def of_classes(self, count: int) -> Differences:
        """Return those of the first ``count`` classes."""
        return Differences(self.values[:, :count], self.variances[:, :count], self.added[:, :count])

    @classmethod
    def joined(cls, parts: list[Differences]) -> Differences:
        """Return the differences of several columns as those of one."""
        names = ("values", "variances", "added")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def weights(differences: Differences) -> tuple[Doubles, Doubles]:
    """Return (r, c) the part of each difference to believe, and (r, c) the variance that is then left in it.

    The true differences of a feature scatter about 0 with one of the deviations :data:`_SPREADS`; how common each of
    them is among the features is estimated from all of them and a prior (empirical Bayes: Robbins 1956). A feature
    whose classes differ no more than noise explains gets the small ones, and is as good as left out.
    """
    values, variances, added = differences.values, differences.variances, differences.added
    free = (values.shape[1] - 1) / values.shape[1]  # the differences of a feature sum to 0
    spread = (_SPREADS**2)[:, None, None]
    total = spread + variances
    evidence = free * (-0.5 * np.log(total) - 0.5 * values**2 / total).sum(axis=2)
    evidence -= evidence.max(axis=0)
    prior = 1 / (1 + (_SPREADS / _USUAL) ** 2)
    prior /= prior.sum()
    common = prior
    for _ in range(_ROUNDS):
        chance = np.exp(evidence) * common[:, None]
        chance /= chance.sum(axis=0)
        common = (chance.sum(axis=1) + _PRIOR_FEATURES * prior) / (chance.sum() + _PRIOR_FEATURES)
    believed = spread / (spread + added)
    weight = (chance[:, :, None] * believed).sum(axis=0)
    return weight, (chance[:, :, None] * believed * added).sum(axis=0)


def counts_together(classes: NDArray[np.int64], answers: NDArray[np.int64], shape: tuple[int, int]) -> Doubles:
    """Return (c, k) how often each answered class occurs with each answer."""
    out = np.bincount(classes * shape[1] + answers, minlength=shape[0] * shape[1])
    return out.reshape(shape).astype(np.float64)


def checked_answers_of(tables: tuple[PublicTable, ...], answers: NDArray[np.int64]) -> None:
    """Raise :class:`InputError` unless the rows (n, d) hold answers of these tables."""
    if answers.ndim != 2 or answers.shape[1] != len(tables) or not len(answers):
        raise InputError(f"the sanitised rows have the shape {answers.shape}, not (rows, {len(tables)})")
    for table, column in zip(tables, answers.T, strict=True):
        if column.min() < 0 or column.max() >= table.cells.total:
            raise InputError("a cell is not one of the column's", f"column {table.attribute.name}")
