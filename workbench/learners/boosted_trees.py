"""Boosted regression trees: each tree is fitted to the errors of the trees before it.

What is asked of each tree (pure ε, zero-out neighbours, discrete Laplace noise on whole numbers) is what a forest asks
(:mod:`workbench.learners.forest.estimator`): how it is split, by report-noisy-max over all columns, and the weights of
low and high errors in its leaves, with the L1 sensitivity of one row. The error of a row follows from that row and from
what the earlier trees released, so that an emptied row moves no other row's error; it is cut off at the tree's *reach*,
a public number that falls from tree to tree, and the noise falls with it. All trees look at all rows and share ε.

With the default size and n·ε from 600 to 80,000 it is one tree of a few cuts, which is then *corrected*, once or a few
times. What is asked of each correction:

* its column, the same for all rows, by report-noisy-max: eight equal parts of it take the most of what is still wrong;
* in each leaf and each part the weights of low and high errors, with the L1 sensitivity of one row. The steps are those
  that are plausible where a column does much the same in all leaves (:func:`.smooth.steps_of_nodes`).

So the cuts find what columns do together, and the corrections what one does everywhere: a model tree (Quinlan 1992,
"Learning with continuous classes") whose leaves share what they learn. With less n·ε each tree splits one column into
eight equal parts, and the model is a sum of steps in single columns, as in an explainable boosting machine (Nori,
Caruana, Bu, Shen & Kulkarni 2021, "Accuracy, interpretability, and differential privacy via explainable boosting",
ICML); there each column has its turn, here the best one is chosen.

Classes are not predicted: with gradients of the logistic loss the same trees were behind logistic regression, naive
Bayes or the forest on every table that was tried (see ``tests/benchmarks/results/boosted_trees.md``).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.data.schema import Attribute
from workbench.learners.additive_trees.smooth import steps_of_nodes
from workbench.learners.base import Answers, Total
from workbench.learners.forest.estimator import Forest, ForestModel, Rows, Setting, Shape, TreesParameters
from workbench.learners.forest.trees import (
    UNIT,
    Cells,
    Doubles,
    Goal,
    Split,
    choose_splits,
    leaf_sums,
    losses_of,
    split_counts,
)
from workbench.learners.ranges import RANGES, RangeRule
from workbench.learners.setting import how_many
from workbench.learners.tasks import REGRESSION
from workbench.params import ParameterError
from workbench.privacy.central.sums import scaled, unscaled
from workbench.work.ask import Ask


@dataclass(frozen=True, kw_only=True)
class BoostedParameters(TreesParameters):
    """Budget and size. The defaults were chosen on public tables and checked on generated ones."""

    trees: int | None = how_many(
        "trees",
        100,
        "number of trees, fitted in sequence, which share the budget (default: from ε and the number of rows)",
    )


@dataclass(frozen=True)
class Corrected(Shape):
    """A size of one tree that is corrected."""

    corrections: int = 1  # how often
    leaves: float = 0.4  # of the part of ε that chooses nothing, what the leaves of the tree have


_SHAPES = (
    # Trees of one split: the model is a sum of steps in single columns, each step chosen to correct the sum so far.
    Shape(60.0, 1, (4,), 0.3),
    Shape(200.0, 1, (8,), 0.3),
    Shape(600.0, 2, (8,), 0.4),
    Shape(2_000.0, 6, (8,), 0.3),
    Shape(20_000.0, 10, (8,), 0.3),
    # Enough to look into the parts: what two columns do together, and where a long column is mostly one part.
    Shape(math.inf, 16, (8, 2, 2), 0.4),
)
_CORRECTED_SINCE, _SPARING_SINCE = 3, 4  # the format
_CORRECTED = (
    *_SHAPES[:3],
    Corrected(2_000.0, 1, (2, 2), 0.5, 32),
    Corrected(6_000.0, 1, (2, 2, 2), 0.4, 32, 3, 0.2),
    Corrected(20_000.0, 1, (2, 2, 2), 0.4, 32, 4, 0.2),
    Corrected(80_000.0, 1, (2, 2, 2), 0.4, 32, 8, 0.1),
    *_SHAPES[-1:],
)
"""Chosen on 25 tables at n·ε of 1,070 to 100,000: see ``tests/benchmarks/results/boosted_trees.md``."""
_PARTS = 8  # equal parts of a column that corrects
_COLUMN, _COLUMN_BEFORE = 0.4, 0.5  # weight of its choice, in those of a level of the tree
_RANGES = RangeRule(most=0.12, by_root=1.68, narrow=0.05)
"""A tree of cuts loses little by bounds that are somewhat too wide, and much by noise in its cuts."""
_CORRECTION_REACH = 0.3
_SAMPLING = 9.0  # of an error within the reach a third is its usual deviation
_WITHOUT_NOISE = Shape(math.inf, 40, (8,), 0.3)
_SECOND, _SHRINKING, _LEAST = 0.5, 0.9, 0.2


class BoostedSetting(Setting):
    """The public facts of a fit, and what follows from them: queries, shares of ε, sensitivities."""

    one_after_the_other = True

    @cached_property
    def goal(self) -> Goal:
        """How what is still wrong is read: numbers from −1 to 1, in units of the tree's reach."""
        return Goal(Attribute(name=self.target.name, kind="real", lower=-1.0, upper=1.0), self.farthest)

    @cached_property
    def shape(self) -> Shape:
        """How many trees and splits: by n·ε, unless it is given."""
        known, given = self.rows * self.epsilon, self.parameters
        corrected = self.version >= _CORRECTED_SINCE and not (given.trees or given.depth)
        shapes = _CORRECTED if corrected else _SHAPES
        chosen = next(shape for shape in shapes if known < shape.until) if self.private else _WITHOUT_NOISE
        return dataclasses.replace(
            chosen,
            trees=given.trees or chosen.trees,
            splits=(2,) * given.depth if given.depth else chosen.splits,
            choice=given.choice_share or chosen.choice,
        )

    def reach(self, tree: int) -> float:
        """Return how far a tree can move a prediction, in half-ranges of the target.

        Errors beyond it count as errors of that size. The first tree can reach the bounds; errors after it are mostly
        smaller, and the same noise in units of a smaller reach is less noise.
        """
        if tree and self.corrections:
            return _CORRECTION_REACH
        return 1.0 if tree == 0 else max(_LEAST, _SECOND * _SHRINKING ** (tree - 1))

    def targets(self, tree: int, y: NDArray[Any], said: Doubles) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the kinds and weights of what is still wrong, in units of the tree's reach."""
        heights = scaled(y, *self.target.bounds())
        return self.goal.read(np.clip((heights - said) / self.reach(tree), -1.0, 1.0))

    def leaf_values(self, tree: int, answers: Mapping[str, list[int]]) -> Doubles:
        """Return what a tree adds to the prediction in each of its leaves (leaves,), in half-ranges."""
        shares = super().leaf_values(tree, answers)
        return np.asarray(self.reach(tree) * (shares[:, 1] - shares[:, 0]))

    def looked_at(self) -> Iterator[list[tuple[int, ...]]]:
        every = tuple(range(len(self.columns.sizes)))
        for _ in range(self.shape.trees):
            yield [every] * len(self.shape.splits)

    @property
    def range_rule(self) -> RangeRule:
        return _RANGES if self.version >= _SPARING_SINCE else RANGES

    # -- corrections --------------------------------------------------------------------------------------------------

    @property
    def corrections(self) -> int:
        """How often the tree is corrected."""
        return self.shape.corrections if isinstance(self.shape, Corrected) else 0

    @staticmethod
    def turn(number: int) -> tuple[str, str]:
        """Return the queries of a correction: its column, and what is wrong in the parts of the leaves."""
        return f"correction {number + 1}: column", f"correction {number + 1}: parts"

    @cached_property
    def parted(self) -> Split:
        """How a column is split that corrects: in one way, so that the way's number is the column's."""
        return Split(self.columns.sizes, _PARTS)

    @cached_property
    def leaves(self) -> int:
        """How many leaves a tree has."""
        return self.nodes(len(self.shape.splits))

    def lengths(self) -> dict[str, int]:
        found = super().lengths()
        for number in range(self.corrections):
            column, parts = self.turn(number)
            found |= {column: 1, parts: self.leaves * _PARTS * self.goal.parts}
        return found

    @property
    def weights(self) -> dict[str, float]:
        shape = self.shape
        if not isinstance(shape, Corrected):
            return super().weights
        turns = [self.turn(number) for number in range(shape.corrections)]
        *levels, leaves = self.labels(0)
        weight = _COLUMN if self.version >= _SPARING_SINCE else _COLUMN_BEFORE
        level = shape.choice / (len(levels) + weight * len(turns))
        found = {**dict.fromkeys(levels, level), leaves: (1 - shape.choice) * shape.leaves}
        for column, parts in turns:
            found |= {column: weight * level, parts: (1 - shape.choice) * (1 - shape.leaves) / len(turns)}
        return found

    def places(self, cells: Cells, leaves: NDArray[np.int64], column: int) -> NDArray[np.int64]:
        """Return the leaf and the part of a column of each row, as one number (n,)."""
        return leaves * _PARTS + self.parted.child(cells, np.full(len(cells), column))

    def correction(self, number: int, answers: Mapping[str, list[int]]) -> Doubles:
        """Return what a correction adds in each part of each leaf, (leaves · parts,), in half-ranges."""
        column, label = self.turn(number)
        size = self.columns.sizes[answers[column][0]]
        there = np.unique(np.arange(size) * _PARTS // size)  # a column of two cells has no more parts
        sums = np.array(answers[label], dtype=np.float64).reshape(self.leaves, _PARTS, 2)[:, there] / self.goal.weight
        # Of low + high, and of high − low.
        variance = 2 * self.noise_variance(label, self.goal.weight) / self.goal.weight**2
        usual = self.rows / (self.leaves * len(there))
        kept = usual**2 / (usual**2 + variance)
        known = np.clip(usual + kept * (sums.sum(axis=2) - usual), 0.0, self.rows)  # whatever a file says
        found = np.zeros((self.leaves, _PARTS))
        found[:, there] = steps_of_nodes(sums[..., 1] - sums[..., 0], known, variance + known / _SAMPLING, variance)
        return self.reach(1 + number) * found.ravel()


class BoostedModel(ForestModel):
    """The released numbers: the chosen splits, and noisy sums of errors in the leaves.

    Attributes:
        trees_: what each tree adds to the prediction in its leaves (leaves,), in half-ranges of the target.
        corrections_: the column of each correction, and what it adds in the parts of the leaves (leaves · parts,).
    """

    name, task = "boosted-trees", REGRESSION
    parameters_type, setting_type, version = BoostedParameters, BoostedSetting, _SPARING_SINCE

    def __init__(self, setting: BoostedSetting, noise: str, answers: Answers) -> None:
        super().__init__(setting, noise, answers)
        self.corrections_: list[tuple[int, Doubles]] = []
        for number in range(setting.corrections):
            label, _ = setting.turn(number)
            if not 0 <= answers[label][0] < len(setting.columns.sizes):
                raise ParameterError(f"the answer is not one of the {len(setting.columns.sizes)} columns", label)
            self.corrections_.append((answers[label][0], setting.correction(number, answers)))

    def predict(self, X: ArrayLike) -> Doubles:
        """Return the predicted number of each row (n,), within the declared bounds."""
        setting: Any = self.setting
        every, cells = list(self.leaves(X)), setting.columns.cells(X)
        height = sum(steps[leaves] for steps, leaves in zip(self.trees_, every, strict=True))
        height += sum(steps[setting.places(cells, every[0], column)] for column, steps in self.corrections_)
        return unscaled(np.clip(height, -1, 1), *setting.target.bounds())


def _left(
    setting: BoostedSetting, rows: Rows, answers: Answers, made: Sequence[Doubles]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Take rows to their leaves, and return kinds and weights of what the tree and some corrections leave wrong."""
    rows.go(setting, answers, 0, len(setting.splits))
    said = setting.leaf_values(0, answers)[rows.nodes]
    for number, steps in enumerate(made):
        said = said + steps[setting.places(rows.cells, rows.nodes, answers[setting.turn(number)[0]][0])]
    return setting.targets(1 + len(made), rows.y, said)


def _parts_counted(setting: BoostedSetting, rows: Rows, answers: Answers, made: Sequence[Doubles]) -> Cells:
    """Return what the losses of the next correction by each column are computed from."""
    kinds, _ = _left(setting, rows, answers, made)
    every, sizes = np.zeros(len(kinds), dtype=np.int64), setting.columns.sizes
    found = [split_counts(rows.cells, kinds, every, 1, size, c, setting.goal) for c, size in enumerate(sizes)]
    return np.concatenate(found)


def _parts_summed(setting: BoostedSetting, rows: Rows, answers: Answers, made: Sequence[Doubles]) -> list[int]:
    """Return the sums of the weights in the leaves' parts of the column that corrects next."""
    _, weights = _left(setting, rows, answers, made)
    places = setting.places(rows.cells, rows.nodes, answers[setting.turn(len(made))[0]][0])
    return leaf_sums(places, weights, setting.leaves * _PARTS)


class BoostedTrees(Forest[BoostedModel]):
    """Boosted trees; numbers are clamped to the target's bounds."""

    model_type = BoostedModel

    def _asked(self, ask: Ask, setting: Any, total: Total) -> Answers:
        answers, made = super()._asked(ask, setting, total), list[Doubles]()
        goal, sizes = setting.goal, setting.columns.sizes
        ends = np.cumsum([size * goal.kinds for size in sizes])[:-1]
        for number in range(setting.corrections):
            column, parts = setting.turn(number)
            counts = np.split(total(_parts_counted, answers, made), ends)
            losses = [losses_of(own, setting.parted, c, goal) for c, own in enumerate(counts)]
            least = partial(ask.least, column, sensitivity=UNIT)  # of all rows together, all in one direction
            answers[column] = choose_splits(losses, range(len(sizes)), setting.parted, least)
            answers[parts] = ask(parts, total(_parts_summed, answers, made).tolist(), goal.weight)
            made.append(setting.correction(number, answers))
        return answers


BOOSTED_TREES = BoostedTrees.described(
    "Boosted trees",
    "Each tree chooses a split by noisy losses and adds noisy leaf values that correct the errors of earlier trees.",
)
