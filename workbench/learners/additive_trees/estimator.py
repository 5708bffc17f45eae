"""Additive trees for classification and regression: an explainable boosting machine.

After Nori, Caruana, Bu, Shen & Kulkarni 2021, "Accuracy, interpretability, and differential privacy via explainable
boosting" (ICML): the model is a sum of one function of each column, so that it can be read; the columns have their turn
in a fixed cycle, and each turn asks for the noisy sums of what is still wrong in the cells of one column. As there,
which column is asked for does not follow from the rows and costs nothing, and the rows in each cell are counted once.
Unlike there, the cells are those of a public grid, and a turn is not a tree with random splits but the smooth steps
that are plausible under the known noise (:mod:`workbench.learners.additive_trees.smooth`): few turns suffice, with pure
ε, where the noise of each grows with their number; with a δ noise is discrete Gaussian, and there are more. With little
n·ε only a few columns are used, chosen by report-noisy-max first.

What is asked (zero-out neighbours, noise on whole numbers), each an exact sum over the rows:

* *choice of column i*: the losses of the best step in each column alone, moved by one row in one direction;
* *counts*: how many rows lie in each cell of each used column, a row once in each: L1 sensitivity, their number;
* *start*: the sum of the targets about the middle;
* *cycle t: column i*: the sum of the errors in each cell, cut off at the cycle's *reach*: the sensitivity is the reach.
  For more than two classes there is a sum for each class, and a row's errors in all of them add up to two at most.

The error of a row follows from that row and from what was released before it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.data.schema import OWN_VALUE
from workbench.learners.additive_trees.smooth import steps
from workbench.learners.base import Answers, Choosing, Classifier, Effect, PrivateEstimator
from workbench.learners.checks import checked_columns
from workbench.learners.encoding import cells_of
from workbench.learners.forest.trees import UNIT, Cells, Doubles, Goal, Split, split_losses
from workbench.learners.selection import choose
from workbench.learners.setting import FitSetting, chance_of_failure, how_many, privacy_budget, ranges_of_columns
from workbench.learners.tasks import CLASSIFICATION, REGRESSION
from workbench.params import Parameters
from workbench.privacy.central.sums import parts_of, scaled, unscaled
from workbench.work.ask import Ask


@dataclass(frozen=True, kw_only=True)
class AdditiveParameters(Parameters):
    """Budget and size; the defaults were chosen on tables of ``tests/benchmarks/results/additive_trees.md``."""

    epsilon: float | None = privacy_budget()
    delta: float | None = chance_of_failure()
    ranges: str = ranges_of_columns()
    columns: int | None = how_many(
        "columns used", 1000, "number of columns to use (default: as many as ε and the number of rows allow)"
    )
    cycles: int | None = how_many(
        "cycles", 100, "number of passes over the columns (default: from ε and the number of rows)"
    )
    parts: int | None = how_many(
        "parts",
        256,
        "number of bins of a numeric column (default: from ε and the number of rows)",
    )


COUNTS, START = "counts", "start"

_GRID = 1 << 12
_CHOICE_SHARE, _COUNT_SHARE = 0.25, 0.2
_START = 20.0, 0.03, 0.15  # share of the start: so much over n·ε, between these
_START_SPREAD = 0.05  # usual variance of the start about the middle
_ONE, _EACH = 200.0, 1_200.0  # one column up to so much n·ε; then two, and one more for each so much of it
_NEARLY_ALL = 0.6  # of the columns: then all of them, and none is chosen
_PARTS = (
    (100.0, 4),
    (400.0, 8),
    (1_200.0, 12),
    (4_000.0, 24),
    (20_000.0, 48),
    (math.inf, 96),
)  # by n·ε for each column
_CYCLES = ((300.0, 1), (2_000.0, 2), (10_000.0, 4), (math.inf, 6))
# With a delta noise grows with the root of the number of turns, and many small ones are better.
_WITH_DELTA, _CYCLES_WITH_DELTA = 1.5, ((100.0, 2), (300.0, 4), (math.inf, 10))
_PARTS_WITHOUT_NOISE, _CYCLES_WITHOUT_NOISE = 32, 30
_LOOKED_AT = 8  # equal parts of a column that its choice looks at
_REACH, _SHRINKING, _LEAST_REACH = 0.4, 0.9, 0.2
_LOGITS = 2.0  # a step of 1 in smooth's units, for classes
_MOST_LOGITS = 30.0
_SHOWN = 16  # parts of a column in a picture


class Setting(FitSetting[AdditiveParameters]):
    """The public facts of a fit, and what follows from them: queries, shares of ε, sensitivities."""

    ranges_since, delta_weighed_since = 2, 3

    @cached_property
    def used(self) -> int:
        every = len(self.attributes)
        if self.parameters.columns is not None:
            return min(self.parameters.columns, every)
        known = self.rows * self.epsilon * (_WITH_DELTA if self.gaussian else 1.0)
        chosen = 1 if known < _ONE else 2 + int(min(known / _EACH, every))
        return every if chosen >= _NEARLY_ALL * every else chosen

    @property
    def _known(self) -> float:
        """n·ε for each used column."""
        return self.rows * self.epsilon / self.used

    @cached_property
    def cycles(self) -> int:
        """How often each column has its turn."""
        if not self.private:
            return self.parameters.cycles or _CYCLES_WITHOUT_NOISE
        table = _CYCLES_WITH_DELTA if self.gaussian else _CYCLES
        return self.parameters.cycles or next(cycles for until, cycles in table if self._known <= until)

    @cached_property
    def parts(self) -> int:
        """Into how many parts the bounds of a number are cut."""
        chosen = next(parts for until, parts in _PARTS if self._known <= until)
        return self.parameters.parts or (chosen if self.private else _PARTS_WITHOUT_NOISE)

    def line(self, column: int) -> int:
        """Return how many cells of a column lie in a row."""
        attribute = self.attributes[column]
        return cells_of(attribute, self.parts) if attribute.numeric else 0

    def size(self, column: int) -> int:
        """Return how many cells a column has: parts of its bounds or values, and one of missing values."""
        attribute = self.attributes[column]
        return (self.line(column) or len(attribute.values())) + (attribute.missing == OWN_VALUE)

    def cell_labels(self, column: int) -> list[tuple[str, str]]:
        """Return the ends of each cell of a column in words; of a value its name and nothing."""
        attribute, line = self.attributes[column], self.line(column)
        if attribute.numeric:
            ends = [f"{end:.4g}" for end in np.linspace(*attribute.bounds(), line + 1)]
            found = list(itertools.pairwise(ends))
        else:
            found = [(value, "") for value in attribute.values()]
        return [*found, ("missing", "")][: self.size(column)]

    def cells(self, X: ArrayLike) -> Cells:
        """Return the cell of each row in each column (n, d), each computed from its own row."""
        columns = checked_columns(X, self.attributes)
        found = np.zeros(columns.shape, dtype=np.int64)
        for j, (attribute, column) in enumerate(zip(self.attributes, columns.T, strict=True)):
            if attribute.numeric:
                here = ~np.isnan(column)
                found[here, j] = parts_of(column[here], *attribute.bounds(), self.line(j))
                found[~here, j] = self.line(j)
            else:
                found[:, j] = column
        return found

    # -- the target ---------------------------------------------------------------------------------------------------

    @cached_property
    def outputs(self) -> int:
        """How many sums a cell has: one for each class, of two classes or of numbers one."""
        return 1 if self.target.numeric or len(self.target.values()) == 2 else len(self.target.values())

    def reach(self, cycle: int) -> float:
        """Return at which size errors of a cycle are cut off: 1 for classes, half-ranges of the target for numbers."""
        if not self.target.numeric or cycle == 0:
            return 1.0
        return max(_LEAST_REACH, _REACH * _SHRINKING ** (cycle - 1))

    @property
    def unit(self) -> float:
        """What a step of one reach is in the scores."""
        return 1.0 if self.target.numeric else _LOGITS

    @property
    def curvature(self) -> float:
        """The most that an error falls by where its score rises by one."""
        if self.target.numeric:
            return 1.0
        return 0.25 if self.outputs == 1 else 0.5

    def moved(self, units: int, of: int = 1) -> int:
        """Return how far a row moves a query that it adds up to so many units to, each ``of`` at most in one number.

        In L1 that is their sum; where a δ is given, in L2, the root of the sum of their squares, rounded up.
        """
        return of * units if not self.gaussian else math.isqrt(of * of * units - 1) + 1

    @property
    def sensitivity(self) -> int:
        """Sensitivity of the errors of one row: at most one in each number, two in all."""
        return self.moved(min(self.outputs, 2), _GRID)

    def errors(self, y: NDArray[Any], scores: Doubles, reach: float) -> Cells:
        """Return what is wrong in each row (n, outputs), in whole numbers of which :data:`_GRID` are the reach."""
        if self.target.numeric:
            wrong = (scaled(y, *self.target.bounds()) - scores[:, 0])[:, None]
        else:
            here = (y[:, None] == 1) if self.outputs == 1 else (y[:, None] == np.arange(self.outputs))
            wrong = here - self.chances(scores)
        # Cut towards 0, so that rounding never adds to what a row moves.
        return np.trunc(np.clip(wrong / reach, -1.0, 1.0) * _GRID).astype(np.int64)

    def chances(self, scores: Doubles) -> Doubles:
        """Return the chance of the second class (n, 1) or of each (n, outputs)."""
        if self.outputs == 1:
            return 1 / (1 + np.exp(-scores))
        raised = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(raised / raised.sum(axis=1, keepdims=True))

    # -- the queries --------------------------------------------------------------------------------------------------

    @property
    def choices(self) -> list[str]:
        """The queries that choose a column; none where all are used."""
        return [f"choice of column {i + 1}" for i in range(self.used if self.used < len(self.attributes) else 0)]

    def turn(self, cycle: int, place: int) -> str:
        """Return the label of a column's turn."""
        return f"cycle {cycle + 1}: column {place + 1}"

    @property
    def turns(self) -> list[tuple[int, int]]:
        """Cycle and place of each turn, in order."""
        return [(cycle, place) for cycle in range(self.cycles) for place in range(self.used)]

    @property
    def weights(self) -> dict[str, float]:
        choosing = _CHOICE_SHARE if self.choices else 0.0
        turns = [self.turn(*turn) for turn in self.turns]
        asked, least, most = _START
        start = min(max(asked / (self.rows * self.epsilon), least), most)
        each = (1 - _COUNT_SHARE - start) / len(turns)
        rest = {COUNTS: _COUNT_SHARE, START: start, **dict.fromkeys(turns, each)}
        shares = {label: weight * (1 - choosing) for label, weight in rest.items()}
        return {**dict.fromkeys(self.choices, choosing / self.used), **shares}

    def lengths_of(self, chosen: Sequence[int]) -> dict[str, int]:
        """Return how many whole numbers each query of the chosen columns releases."""
        sizes = [self.size(column) for column in chosen]
        turns = {self.turn(cycle, place): sizes[place] * self.outputs for cycle, place in self.turns}
        return {COUNTS: sum(sizes), START: self.outputs, **turns}

    def lengths(self) -> dict[str, int]:
        """Return how many whole numbers the queries of the first columns release, to know how large a file is."""
        return self.lengths_of(range(self.used))

    def losses(self, cells: Cells, y: NDArray[Any]) -> list[int]:
        """Return the loss of the best steps in each column alone (d,), in parts of ``UNIT``."""
        goal, sizes = Goal(self.target), tuple(self.size(column) for column in range(len(self.attributes)))
        kinds, _ = goal.read(y)
        split, nodes = Split(sizes, _LOOKED_AT), np.zeros(len(cells), dtype=np.int64)
        return [int(split_losses(cells, kinds, nodes, 1, split, column, goal)[0, 0]) for column in range(len(sizes))]

    # -- what follows from the answers --------------------------------------------------------------------------------

    def counted(self, answer: list[int], chosen: Sequence[int]) -> list[Doubles]:
        """Return the rows in each cell of each chosen column, at least 0: the more noise, the more alike."""
        ends = np.cumsum([self.size(column) for column in chosen])[:-1]
        found = []
        for counts in np.split(np.array(answer, dtype=np.float64), ends):
            usual = self.rows / len(counts)
            kept = usual**2 / (usual**2 + self.noise_variance(COUNTS, self.moved(self.used)))
            found.append(np.maximum(usual + kept * (counts - usual), 0.0))
        return found

    def started(self, answer: list[int]) -> Doubles:
        """Return the score that all rows begin with (outputs,)."""
        mean = np.array(answer, dtype=np.float64) / _GRID / self.rows
        noise = self.noise_variance(START, self.sensitivity) / (_GRID * self.rows) ** 2
        mean *= _START_SPREAD / (_START_SPREAD + noise)
        if self.target.numeric:
            return np.clip(mean, -1.0, 1.0)
        least = 1 / (self.rows + 2)
        share = np.clip(mean + (0.5 if self.outputs == 1 else 1 / self.outputs), least, 1 - least)
        return np.log(share / (1 - share)) if self.outputs == 1 else np.log(share)

    def stepped(self, turn: tuple[int, int], column: int, answer: list[int], counts: Doubles) -> Doubles:
        """Return what a turn adds to the scores in each cell of its column (cells, outputs)."""
        cycle, _ = turn
        reach, bend = self.reach(cycle), self.curvature * self.unit
        sums = np.array(answer, dtype=np.float64).reshape(-1, self.outputs) / _GRID
        of_query = self.noise_variance(self.turn(*turn), self.sensitivity) / _GRID**2
        # Of an error within the reach a third is its usual deviation; of a class, what its chance says.
        of_rows = counts / 9 if self.target.numeric else counts * self.curvature
        doubt = self.noise_variance(COUNTS, self.moved(self.used)) * bend**2
        line = self.line(column)
        found = [steps(own, counts * bend, of_query + of_rows, doubt, line) for own in sums.T]
        return np.column_stack(found) * reach * self.unit


class AdditiveModel(Choosing[Setting]):
    """The released numbers, and the function of each column that follows from them."""

    parameters_type, setting_type, version = AdditiveParameters, Setting, 3

    def __init__(self, setting: Setting, noise: str, answers: Answers, chosen: Sequence[int]) -> None:
        super().__init__(setting, noise, answers, chosen)
        counts = setting.counted(answers[COUNTS], chosen)
        self.start_ = setting.started(answers[START])  # the score that all rows begin with (outputs,)
        # What each used column adds to the scores in each of its cells (cells, outputs), about a mean of 0.
        self.shapes_ = [np.zeros((setting.size(column), setting.outputs)) for column in chosen]
        for cycle, place in setting.turns:
            answer = answers[setting.turn(cycle, place)]
            self.shapes_[place] += setting.stepped((cycle, place), chosen[place], answer, counts[place])

    def scores(self, X: ArrayLike) -> Doubles:
        """Return the sum of the functions for each row (n, outputs)."""
        cells = self.setting.cells(X)
        added = sum(shape[cells[:, column]] for column, shape in zip(self.chosen, self.shapes_, strict=True))
        return np.asarray(self.start_ + added)

    def shares(self, scores: Doubles) -> Doubles:
        """Return what scores (n, outputs) predict, between 0 and 1, for each name of :attr:`output_names`."""
        raise NotImplementedError

    @property
    def output_names(self) -> tuple[str, ...]:
        """What is predicted."""
        return self.setting.target.values()

    def effects(self) -> tuple[Effect, ...]:
        """Return the function of each used column, long ones in the means of neighbouring parts."""
        found, start = [], self.shares(self.start_[None])[0]
        for column, shape in zip(self.chosen, self.shapes_, strict=True):
            labels, line = self.setting.cell_labels(column), self.setting.line(column)
            runs = [*np.array_split(np.arange(line), min(line, _SHOWN) or 1), *np.arange(line, len(shape))[:, None]]
            runs = [run for run in runs if len(run)]
            means = np.stack([shape[run].mean(axis=0) for run in runs])
            ends = [(labels[run[0]][0], labels[run[-1]][1]) for run in runs]
            parts = tuple(f"{low} – {high}" if high else low for low, high in ends)
            name = self.setting.attributes[column].name
            found.append(Effect(name, parts, self.shares(self.start_ + means), start, self.output_names))
        return tuple(found)

    @classmethod
    def lengths(cls, setting: Setting, answered: Mapping[str, Any], **read: Any) -> Mapping[str, int]:
        """Return how many whole numbers each query about the used columns released."""
        return setting.lengths_of(read["chosen"])


class ClassModel(AdditiveModel, Classifier[Setting]):
    """Functions that add up to the logarithms of odds."""

    name, task = "additive-trees", CLASSIFICATION

    def predict_proba(self, X: ArrayLike) -> Doubles:
        return self.shares(self.scores(X))

    def shares(self, scores: Doubles) -> Doubles:
        """Return the chance of each class (n, k)."""
        chances = self.setting.chances(np.clip(scores, -_MOST_LOGITS, _MOST_LOGITS))
        return np.column_stack([1 - chances, chances]) if self.setting.outputs == 1 else chances


class NumberModel(AdditiveModel):
    """Functions that add up to the number, in half-ranges of its bounds."""

    name, task = "additive-regression", REGRESSION

    def predict(self, X: ArrayLike) -> Doubles:
        """Return the predicted number of each row (n,), within the declared bounds."""
        return unscaled(np.clip(self.scores(X)[:, 0], -1.0, 1.0), *self.setting.target.bounds())

    def shares(self, scores: Doubles) -> Doubles:
        """Return the place between the target's bounds (n, 1)."""
        return np.asarray((np.clip(scores, -1.0, 1.0) + 1) / 2)

    @property
    def output_names(self) -> tuple[str, ...]:
        """The target and its bounds."""
        lower, upper = self.setting.target.bounds()
        return (f"{self.setting.target.name}, from {lower:g} to {upper:g}",)


AnyAdditive = TypeVar("AnyAdditive", bound=AdditiveModel)


class Additive(PrivateEstimator[AnyAdditive]):
    """What models of classes and of numbers share."""

    def _learn(self, ask: Ask, setting: Setting, X: Doubles, y: NDArray[Any]) -> AnyAdditive:
        cells = setting.cells(X)
        chosen, labels = list(range(setting.used)), setting.choices
        if labels:
            chosen = choose(setting.losses(cells, y), labels, ask, UNIT)
        held = [np.bincount(cells[:, column], minlength=setting.size(column)) for column in chosen]
        answers = {COUNTS: ask(COUNTS, np.concatenate(held).tolist(), setting.moved(setting.used))}
        counts = setting.counted(answers[COUNTS], chosen)
        begin = setting.errors(y, np.zeros((len(cells), setting.outputs)), 1.0)
        answers[START] = ask(START, begin.sum(axis=0).tolist(), setting.sensitivity)
        scores = np.tile(setting.started(answers[START]), (len(cells), 1))
        for turn in setting.turns:
            column, label = chosen[turn[1]], setting.turn(*turn)
            sums = np.zeros((setting.size(column), setting.outputs), dtype=np.int64)
            np.add.at(sums, cells[:, column], setting.errors(y, scores, setting.reach(turn[0])))
            answers[label] = ask(label, sums.ravel().tolist(), setting.sensitivity)
            scores = scores + setting.stepped(turn, column, answers[label], counts[turn[1]])[cells[:, column]]
        self._finish(ask, setting)
        return self.model_type(setting, self.noise.name, answers, chosen)  # type: ignore[call-arg, return-value]


class AdditiveTrees(Additive[ClassModel]):
    """A sum of functions of single columns, for classes."""

    model_type = ClassModel


class AdditiveRegression(Additive[NumberModel]):
    """The same for numbers, which are clamped to the target's bounds."""

    model_type = NumberModel


_ABOUT = "Fits one smooth function per column in turn, from noisy sums of the residuals in its bins."

ADDITIVE_TREES = AdditiveTrees.described("Additive trees", f"{_ABOUT} Their sum gives the odds of each class.")

ADDITIVE_REGRESSION = AdditiveRegression.described("Additive regression", f"{_ABOUT} Their sum is the prediction.")
