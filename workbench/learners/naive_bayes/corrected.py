"""Naive Bayes from a sanitised table, knowing the public tables that its values went through.

The densities are those of the ordinary model, and so are its figures where the tables change nothing. Otherwise they
begin from what all rows have in common; of each difference between classes the model takes the part that is more than
noise (:mod:`workbench.learners.public_tables`), and adds to a density the variance that is left in its mean. Variances
are drawn to the common one of all classes, and that to the one of all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.learners.base import checked_columns, checked_schema
from workbench.learners.denoise import Doubles, positive_mean
from workbench.learners.naive_bayes.likelihood import (
    LEAST_VARIANCE,
    CellDensity,
    Density,
    GaussianDensity,
    class_chances,
    smoothed,
)
from workbench.learners.naive_bayes.parameters import NaiveBayesParameters
from workbench.learners.public_tables import (
    Classes,
    Differences,
    PublicTable,
    Scores,
    checked_answers_of,
    counts_together,
    name_scores,
    number_scores,
    weights,
)

MOST_NAMES = 512
"""A column of more names than this is left out: its public table would hide all but a few of them anyway."""

_USUAL = NaiveBayesParameters()
_PLACE, _WIDTH, _MISSING = 0, 1, 2  # features of a number, in the order of its scores


class CorrectedNaiveBayes:
    """The classifier; it is fitted to cells of a sanitised table, and asked about rows as they are.

    Attributes:
        tables: the public table of each column of the rows, in order.
        target: the one of the classes.
        classes_: class codes (c,).
        class_sizes_: estimated rows of each true class (c,).
        densities_: the density of each column that is used, by its index.
        believed_: the largest part of a difference between classes that was believed, by column index.
    """

    def __init__(self, tables: Sequence[PublicTable], target: PublicTable) -> None:
        checked_schema([table.attribute for table in tables], target.attribute)
        self.tables, self.target = tuple(tables), target
        self.classes_ = np.arange(len(target.attribute.values()))

    def fit(self, cells: NDArray[np.int64], classes: NDArray[np.int64]) -> Self:
        """Learn from sanitised rows.

        Args:
            cells: (n, d) cells of the columns.
            classes: (n,) cells of the target: class codes.

        Raises:
            InputError: a cell is none of its column's.
        """
        checked_answers_of((*self.tables, self.target), np.column_stack([cells, classes]))
        known = Classes.of(self.target, classes)
        self.class_sizes_ = known.sizes
        scores: dict[int, Scores] = {}
        differences: dict[int, Differences] = {}
        for j, table in enumerate(self.tables):
            if not table.cells.numeric and table.cells.total > MOST_NAMES:
                continue
            together = counts_together(classes, cells[:, j], (len(self.classes_), table.randomiser.outputs))
            scores_of = number_scores if table.cells.numeric else name_scores
            scores[j] = scores_of(table, together.sum(axis=0))
            differences[j] = Differences.of(scores[j], known, together)
        self.densities_: dict[int, Density] = {}
        self.believed_: dict[int, float] = {}
        for j, (values, left, weight) in _believed(self.tables, scores, differences).items():
            table = self.tables[j]
            self.believed_[j] = float(weight.max())
            if table.cells.numeric:
                self.densities_[j] = self._line(table, scores[j], differences[j], values, left, weight)
            else:
                self.densities_[j] = self._names(table, scores[j], values)
        return self

    def _names(self, table: PublicTable, scores: Scores, values: Doubles) -> Density:
        cells = np.maximum(scores.means[:, None] + values, 0.0).T
        cells /= np.maximum(cells.sum(axis=1, keepdims=True), LEAST_VARIANCE)
        return CellDensity(table.attribute, smoothed(cells, self.class_sizes_, _USUAL.smoothing))

    def _line(
        self,
        table: PublicTable,
        scores: Scores,
        differences: Differences,
        values: Doubles,
        left: Doubles,
        weight: Doubles,
    ) -> Density:
        shares = self.class_sizes_ / self.class_sizes_.sum()
        presence, here = None, np.ones(len(shares))
        if table.cells.missing:
            missing = np.clip(scores.means[2] + values[2], 0.0, 1.0)
            presence = smoothed(np.column_stack([1 - missing, missing]), self.class_sizes_, _USUAL.smoothing)
            here = np.maximum(1 - missing, LEAST_VARIANCE)
        offset = np.clip(values[0] / here, -2.0, 2.0)
        # Each class's mean square about the common mean, and how far noise may have moved it and the squared offset.
        squares = scores.means[1] + differences.values[1] * np.sqrt(scores.variances[1])
        own = squares / here - offset**2
        moved = scores.variances[1] * differences.added[1] + 4 * offset**2 * left[0]
        moved += scores.variances[1] * (1 - scores.kept[1]) / (scores.kept[1] * self.class_sizes_.sum())
        # Where that is all noise, a class is as wide as all rows together.
        prior = max(float(scores.means[1]), LEAST_VARIANCE)
        common = np.maximum(
            positive_mean((shares * own).sum(), np.sqrt((shares**2 * moved).sum()), prior), LEAST_VARIANCE
        )
        own = positive_mean(own, np.sqrt(moved), common)
        within = common + weight[_WIDTH] * (own - common) + left[_PLACE]
        means = np.clip(scores.means[0] + offset, -1.0, 1.0)
        return GaussianDensity(table.attribute, means, np.maximum(within, LEAST_VARIANCE), presence)

    def predict_proba(self, X: ArrayLike) -> Doubles:
        """Return P(class | row) (n, c) of rows of numbers and codes that no table has changed."""
        columns = checked_columns(X, [table.attribute for table in self.tables])
        return class_chances(self.class_sizes_, self.densities_, columns)

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Return the most probable class code of each row (n,)."""
        return np.asarray(self.predict_proba(X).argmax(axis=1), dtype=np.int64)


def _believed(
    tables: Sequence[PublicTable], scores: dict[int, Scores], differences: dict[int, Differences]
) -> dict[int, tuple[Doubles, Doubles, Doubles]]:
    """Return for each column the believed differences (r, c) in the feature's unit, their variances, and the weights.

    Where classes lie and how wide they are, are two kinds of differences: each kind is judged by its own.
    """
    out = {
        j: (np.zeros_like(d.values), np.zeros_like(d.values), np.zeros_like(d.values)) for j, d in differences.items()
    }
    for wide in (False, True):
        asked = [
            (j, r)
            for j in differences
            for r in range(len(scores[j].means))
            if (tables[j].cells.numeric and r == _WIDTH) == wide
            and (not tables[j].cells.numeric or r != _MISSING or tables[j].cells.missing)
        ]
        if not asked:
            continue
        pooled = Differences.joined([differences[j].only(r) for j, r in asked])
        for (j, r), weight, left, value in zip(asked, *weights(pooled), pooled.values, strict=True):
            deviation = np.sqrt(scores[j].variances[r])
            for kept, found in zip(out[j], (weight * value * deviation, left * deviation**2, weight), strict=True):
                kept[r] = found
    return out
