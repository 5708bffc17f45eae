"""Random forests of shallow trees for classification and regression, private or not, in one code path.

What is asked (zero-out neighbours, noise on whole numbers), of each tree:

* for each level, how each of its nodes is split, by report-noisy-max over the borders of public cells of all columns;
  with little n·ε only which column is split into equal parts (:mod:`workbench.learners.forest.trees`);
* the counts of the classes in the leaves, or the weights of low and high numbers, as one vector: L1 sensitivity of one
  row, which no L2 sensitivity is above.

The nodes of a level share no row, so that a level costs what one node costs. All trees look at all rows and share ε:
rows split among the trees would leave the same noise beside fewer rows. There is no bootstrap, which would use a row
twice. How many trees, how deep, and how ε is split follows from n·ε alone; with a few hundred rows and ε = 1 a single
tree beat every forest that was tried. The defaults were chosen on generated tables, wine, and the public ones that the
tests measure (iris, breast cancer, diabetes, Boston, diabetes progression), so that figures on those flatter a little.

Against diffprivlib's forest (Fletcher & Islam 2017): there splits are drawn without a look at the rows, a leaf keeps a
label, and the rows of a tree follow from their number, which is not public there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.learners.base import Answers, Classifier, Model, SummingEstimator, Total
from workbench.learners.forest.trees import (
    FARTHEST,
    FARTHEST_IN_WINDOW,
    PARTS,
    UNIT,
    Cells,
    Columns,
    Doubles,
    Goal,
    Split,
    choose_splits,
    leaf_shares,
    leaf_sums,
    losses_of,
    split_counts,
)
from workbench.learners.setting import (
    FitSetting,
    chance_of_failure,
    how_many,
    part_of_epsilon,
    privacy_budget,
    ranges_of_columns,
)
from workbench.learners.tasks import CLASSIFICATION, REGRESSION
from workbench.params import ParameterError, Parameters
from workbench.work.ask import Ask

MOST_DEPTH = 10


@dataclass(frozen=True, kw_only=True)
class TreesParameters(Parameters):
    """Budget and size. The defaults were chosen on generated tables and on the public ones of the tests."""

    epsilon: float | None = privacy_budget()
    ranges: str = ranges_of_columns()
    trees: int | None = how_many(
        "trees",
        100,
        "number of trees, which share the budget (default: one, more if ε and the number of rows allow)",
    )
    depth: int | None = how_many(
        "depth",
        MOST_DEPTH,
        "maximum depth of a tree (default: from ε and the number of rows)",
    )
    choice_share: float | None = part_of_epsilon(
        "share for splits",
        None,
        "share of ε for choosing splits; the rest is for the leaves (default: between 0.3 and 0.7)",
    )


@dataclass(frozen=True, kw_only=True)
class ForestParameters(TreesParameters):
    """The same of forests, which a δ may pay for."""

    delta: float | None = chance_of_failure()


@dataclass(frozen=True)
class Shape:
    """A size of a forest."""

    until: float  # up to which n·ε it is used
    trees: int  # how many
    # Into how many children each level of a tree splits its nodes; 2 is a cut at the best border.
    splits: tuple[int, ...]
    choice: float  # the part of ε for choosing the splits
    parts: int = PARTS  # into how many cells the bounds of a number are cut


_SHAPES = (
    # With few rows one column in eight equal parts: no borders are to be chosen, and only as many ways as columns.
    Shape(300.0, 1, (8,), 0.3),
    Shape(600.0, 1, (8, 2), 0.5),
    Shape(1_000.0, 1, (4, 4), 0.5),
    Shape(4_000.0, 1, (4, 2, 2), 0.7),
    Shape(10_000.0, 3, (2,) * 4, 0.7),
    Shape(50_000.0, 4, (2,) * 6, 0.7),
    Shape(500_000.0, 8, (2,) * 6, 0.6),
    Shape(math.inf, 16, (2,) * 7, 0.6),
)
_DEEP = (
    # Of numbers one deep tree says more than several that share ε, each level of which looks at half of the columns.
    Shape(15_000.0, 1, (4, 2, 2, 2, 2), 0.7),
    Shape(500_000.0, 1, (4, 2, 2, 2, 2, 2), 0.7),
)
_CUT_FIRST = Shape(600.0, 1, (2, 8), 0.45, 32)  # of numbers: what another column says may hang on the cut
_FEW_NUMBERS = Shape(25.0, 1, (4,), 0.3)  # of numbers only: eight leaves would be lost in noise
_WITHOUT_NOISE = Shape(math.inf, 20, (2,) * 8, 0.5)
_DEEP_SINCE, _CUT_FIRST_SINCE = 3, 4  # the format
_NUMBERS_NEED = 2.5  # how many times as much n·ε numbers need as classes: their splits are less clear
_COLUMNS_PART = {True: 2, False: 3}  # each level of several trees looks at one column in two (without noise in three)


class Setting(FitSetting[TreesParameters]):
    """The public facts of a fit, and what follows from them: queries, shares of ε, sensitivities."""

    ranges_since = 2

    one_after_the_other: ClassVar[bool] = False  # whether a tree is fitted to what the trees before it leave

    @cached_property
    def goal(self) -> Goal:
        """How the target is read."""
        return Goal(self.target, self.farthest)

    @property
    def farthest(self) -> float:
        """The part of the target's range up to which distances are counted; no answer is read by it."""
        ranged = bool(self.declared) and self.target.numeric
        return FARTHEST_IN_WINDOW if ranged and self.declared[-1].bounds() != self.target.bounds() else FARTHEST

    @cached_property
    def columns(self) -> Columns:
        """How the columns are read."""
        return Columns(self.attributes, self.shape.parts)

    @cached_property
    def shape(self) -> Shape:
        """The size of the forest: by n·ε, unless it is given."""
        chosen = _WITHOUT_NOISE
        if self.private:
            numeric, known = self.target.numeric, self.rows * self.epsilon
            shapes = (_FEW_NUMBERS, *_SHAPES) if numeric else _SHAPES
            if numeric and self.version >= _DEEP_SINCE:
                second = _CUT_FIRST if self.version >= _CUT_FIRST_SINCE else _SHAPES[1]
                shapes = (_FEW_NUMBERS, _SHAPES[0], second, *_SHAPES[2:4], *_DEEP, _SHAPES[-1])
            chosen = next(shape for shape in shapes if known / (_NUMBERS_NEED if numeric else 1.0) < shape.until)
        given = self.parameters
        return Shape(
            chosen.until,
            given.trees or chosen.trees,
            (2,) * given.depth if given.depth else chosen.splits,
            given.choice_share or chosen.choice,
            chosen.parts,
        )

    @cached_property
    def splits(self) -> tuple[Split, ...]:
        """How each level of a tree can be split."""
        sizes = self.columns.sizes
        return tuple(Split(sizes, parts) for parts in self.shape.splits)

    def nodes(self, level: int) -> int:
        """Return how many nodes a level has; after the last split, how many leaves."""
        return math.prod(self.shape.splits[:level])

    def labels(self, tree: int) -> tuple[str, ...]:
        """Return the queries of a tree in order: its splits from the top, then its leaves."""
        levels = range(1, len(self.shape.splits) + 1)
        return (*(f"tree {tree + 1}: split {level}" for level in levels), f"tree {tree + 1}: leaves")

    def lengths(self) -> dict[str, int]:
        found: dict[str, int] = {}
        levels = len(self.shape.splits)
        for tree in range(self.shape.trees):
            *splits, leaves = self.labels(tree)
            found |= {label: self.nodes(level) for level, label in enumerate(splits)}
            found[leaves] = self.nodes(levels) * self.goal.parts
        return found

    @property
    def weights(self) -> dict[str, float]:
        shape, found = self.shape, dict[str, float]()
        for tree in range(shape.trees):
            *splits, leaves = self.labels(tree)
            found |= {**dict.fromkeys(splits, shape.choice / len(shape.splits)), leaves: 1 - shape.choice}
        return found

    def leaf_values(self, tree: int, answers: Mapping[str, list[int]]) -> Doubles:
        """Return the estimated share of each part in each leaf of a tree (leaves, parts)."""
        goal, label = self.goal, self.labels(tree)[-1]
        sums = np.array(answers[label], dtype=np.float64).reshape(-1, goal.parts) / goal.weight
        variance = self.noise_variance(label, goal.weight) / goal.weight**2
        return leaf_shares(sums, self.rows, variance, goal.spread, goal.sampling)

    def targets(self, tree: int, y: NDArray[Any], said: Doubles) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the kinds (m,) and weights (m, parts) that a tree is fitted to.

        Args:
            tree: its number, from 0.
            y: the checked targets of the rows (m,).
            said: the sum of what the trees before it say of each row, (m,) or (m, parts).
        """
        return self.goal.read(y)

    def looked_at(self) -> Iterator[list[tuple[int, ...]]]:
        """Yield for each tree the columns that each of its levels looks at: all of them where there is one tree.

        They are drawn from a fixed public seed, so that the trees differ. A model holds the chosen splits, so that
        reading one does not hang on the draw.
        """
        shape, width = self.shape, len(self.columns.sizes)
        for tree in range(shape.trees):
            generator = np.random.Generator(np.random.PCG64([tree, width]))
            some = width if shape.trees == 1 else -(-width // _COLUMNS_PART[self.private])
            yield [tuple(int(c) for c in generator.permutation(width)[:some]) for _ in shape.splits]


class ForestModel(Model[Setting]):
    """The released numbers of a forest: the chosen splits, and noisy sums in the leaves.

    Attributes:
        answers: for each split the number of the way that each node takes; for leaves their noisy whole numbers.
        trees_: what each tree says in its leaves: the estimated shares (leaves, parts).
    """

    parameters_type: ClassVar[type[TreesParameters]] = ForestParameters
    setting_type, version = Setting, 2

    def __init__(self, setting: Setting, noise: str, answers: Answers) -> None:
        super().__init__(setting, noise, answers)
        for tree in range(setting.shape.trees):
            for split, label in zip(setting.splits, setting.labels(tree), strict=False):  # the last one is of leaves
                ways = int(split.starts[-1])
                if not all(0 <= way < ways for way in answers[label]):
                    raise ParameterError(f"the answer is not one of the {ways} ways of splitting", label)
        self.trees_ = [setting.leaf_values(tree, answers) for tree in range(setting.shape.trees)]

    def leaves(self, X: ArrayLike) -> Iterator[NDArray[np.int64]]:
        """Yield for each tree the leaf of each row (n,)."""
        setting = self.setting
        cells, splits = setting.columns.cells(X), setting.splits
        for tree in range(setting.shape.trees):
            nodes = np.zeros(len(cells), dtype=np.int64)
            for split, label in zip(splits, setting.labels(tree), strict=False):  # the last label is of the leaves
                chosen = np.array(self.answers[label], dtype=np.int64)
                nodes = nodes * split.parts + split.child(cells, chosen[nodes])
            yield nodes

    def shares(self, X: ArrayLike) -> Doubles:
        """Return each row's share of each part, the mean of all trees (n, parts)."""
        total = sum(shares[leaves] for shares, leaves in zip(self.trees_, self.leaves(X), strict=True))
        return np.asarray(total / len(self.trees_))


class ClassModel(ForestModel, Classifier[Setting]):
    """A forest whose leaves hold counts of classes."""

    name, task = "random-forest", CLASSIFICATION

    def predict_proba(self, X: ArrayLike) -> Doubles:
        return self.shares(X)


class NumberModel(ForestModel):
    """A forest whose leaves hold the weights of low and high numbers."""

    name, task, version = "forest-regression", REGRESSION, _CUT_FIRST_SINCE

    def predict(self, X: ArrayLike) -> Doubles:
        """Return the predicted number of each row (n,), within the declared bounds."""
        lower, upper = self.setting.target.bounds()
        high = self.shares(X)[:, 1]
        return np.asarray(lower * (1 - high) + upper * high)


AnyForest = TypeVar("AnyForest", bound=ForestModel)


class Rows:
    """Rows on their way down the trees, by the answers that were released; those in memory go on from where they are.

    Attributes:
        cells: of the rows (n, D).
        y: their checked targets (n,).
        nodes: where each row is in its level (n,).
        kinds: of the targets that the tree is fitted to (n,).
        weights: of the same (n, parts).
    """

    def __init__(self, setting: Setting, cells: Cells, y: NDArray[Any]) -> None:
        self.cells, self.y = cells, y
        self._said: Doubles = np.zeros(len(cells))
        self._begin(setting, 0)

    def _begin(self, setting: Setting, tree: int) -> None:
        self._tree, self._level = tree, 0
        self.nodes = np.zeros(len(self.cells), dtype=np.int64)
        self.kinds, self.weights = setting.targets(tree, self.y, self._said)

    def go(self, setting: Setting, answers: Answers, tree: int, level: int) -> None:
        """Go to a level of a tree."""
        splits = setting.splits
        if tree > self._tree and not setting.one_after_the_other:
            self._begin(setting, tree)
        while (self._tree, self._level) != (tree, level):
            if self._level == len(splits):
                self._said = self._said + setting.leaf_values(self._tree, answers)[self.nodes]
                self._begin(setting, self._tree + 1)
                continue
            split, label = splits[self._level], setting.labels(self._tree)[self._level]
            self.nodes = self.nodes * split.parts + split.child(self.cells, np.array(answers[label])[self.nodes])
            self._level += 1


def _splits_counted(
    setting: Setting, rows: Rows, answers: Answers, tree: int, level: int, columns: Sequence[int]
) -> Cells:
    """Return what the losses of splitting each column at each node of a level are computed from."""
    rows.go(setting, answers, tree, level)
    sizes, count = setting.columns.sizes, setting.nodes(level)
    found = [split_counts(rows.cells, rows.kinds, rows.nodes, count, sizes[c], c, setting.goal) for c in columns]
    return np.concatenate(found)


def _leaves_summed(setting: Setting, rows: Rows, answers: Answers, tree: int) -> list[int]:
    """Return the sums of the weights in the leaves of a tree."""
    levels = len(setting.splits)
    rows.go(setting, answers, tree, levels)
    return leaf_sums(rows.nodes, rows.weights, setting.nodes(levels))


class Forest(SummingEstimator[AnyForest]):
    """What all models of trees share."""

    @staticmethod
    def _coded(setting: Setting, X: Doubles, y: NDArray[Any]) -> Rows:
        return Rows(setting, setting.columns.cells(X), y)

    def _asked(self, ask: Ask, setting: Setting, total: Total) -> Answers:
        goal, splits, answers = setting.goal, setting.splits, Answers()
        sizes = setting.columns.sizes
        for tree, looked_at in enumerate(setting.looked_at()):
            *labels, last = setting.labels(tree)
            for level, (label, split, columns) in enumerate(zip(labels, splits, looked_at, strict=True)):
                lengths = [setting.nodes(level) * sizes[column] * goal.kinds for column in columns]
                counts = np.split(total(_splits_counted, answers, tree, level, columns), np.cumsum(lengths)[:-1])
                losses = [losses_of(own, split, c, goal) for own, c in zip(counts, columns, strict=True)]
                least = partial(ask.least, label, sensitivity=UNIT)  # of a row's own node, all in one direction
                answers[label] = choose_splits(losses, columns, split, least)
            answers[last] = ask(last, total(_leaves_summed, answers, tree).tolist(), goal.weight)
        return answers


class RandomForest(Forest[ClassModel]):
    """A forest for classes."""

    model_type = ClassModel


class ForestRegression(Forest[NumberModel]):
    """A forest for numbers, which are clamped to the target's bounds."""

    model_type = NumberModel


RANDOM_FOREST = RandomForest.described(
    "Random forest",
    "Chooses splits at public thresholds by noisy losses and adds noise to the class counts in the leaves.",
)

FOREST_REGRESSION = ForestRegression.described(
    "Forest regression",
    "Chooses splits at public thresholds by noisy losses and adds noise to the sums of the target in the leaves.",
)
