"""Naive Bayes from a sanitised table, knowing the public tables that its values went through.

The densities are those of the ordinary model, and so are its figures where the tables change nothing. Otherwise they
begin from what all rows have in common; of each difference between classes the model takes the part that is more than
noise (:mod:`workbench.learners.public_tables`), and adds to a density the variance that is left in its mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.learners.base import checked_columns, checked_schema
from workbench.learners.denoise import Doubles
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

_LEAST_WITHIN = 0.1  # of the variance of all rows: noisy differences of classes cannot explain more than the rest

_Part = tuple[Doubles, Doubles]
"""(r, c) the part of each difference that is believed, in the feature's unit, and the variance left in it."""


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
        for j, (part, weight) in _believed(self.tables, scores, differences).items():
            self.densities_[j] = self._density(j, scores[j], part, weight)
            self.believed_[j] = float(weight[: 1 if self.tables[j].cells.numeric else None].max())
        return self

    def _density(self, j: int, scores: Scores, part: _Part, weight: Doubles) -> Density:
        table, smoothing = self.tables[j], NaiveBayesParameters().smoothing
        attribute, (values, left) = table.attribute, part
        if not table.cells.numeric:
            cells = np.maximum(scores.means[:, None] + values, 0.0).T
            cells /= np.maximum(cells.sum(axis=1, keepdims=True), LEAST_VARIANCE)
            return CellDensity(attribute, smoothed(cells, self.class_sizes_, smoothing))
        shares = self.class_sizes_ / self.class_sizes_.sum()
        spread = scores.variances[0]
        presence, here = None, np.ones(len(shares))
        if table.cells.missing:
            missing = np.clip(scores.means[2] + values[2], 0.0, 1.0)
            presence = smoothed(np.column_stack([1 - missing, missing]), self.class_sizes_, smoothing)
            here = np.maximum(1 - missing, LEAST_VARIANCE)
            spread = spread / max(1 - scores.means[2], LEAST_VARIANCE)
        offset = np.clip(values[0] / here, -2.0, 2.0)
        common = max(spread - float((shares * offset**2).sum()), _LEAST_WITHIN * spread)
        own = (scores.means[1] + values[1]) / here - offset**2
        # Each class has its own variance as far as the differences of the variances are believed.
        within = common + weight[1] * (own - common)
        within = np.maximum(within, _LEAST_WITHIN * spread * (1 - weight[1])) + left[0]
        means = np.clip(scores.means[0] + offset, -1.0, 1.0)
        return GaussianDensity(attribute, means, np.maximum(within, LEAST_VARIANCE), presence)

    def predict_proba(self, X: ArrayLike) -> Doubles:
        """Return P(class | row) (n, c) of rows of numbers and codes that no table has changed."""
        columns = checked_columns(X, [table.attribute for table in self.tables])
        return class_chances(self.class_sizes_, self.densities_, columns)

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Return the most probable class code of each row (n,)."""
        return np.asarray(self.predict_proba(X).argmax(axis=1), dtype=np.int64)


def _believed(
    tables: Sequence[PublicTable], scores: dict[int, Scores], differences: dict[int, Differences]
) -> dict[int, tuple[_Part, Doubles]]:
    """Return for each column what is believed of its differences, and the weights (r, c).

    Where classes lie and how wide they are, are two kinds of differences: each kind is judged by its own.
    """
    kinds: dict[tuple[int, int], bool] = {}
    for j in differences:
        for r in range(len(scores[j].means)):
            absent = tables[j].cells.numeric and r == 2 and not tables[j].cells.missing
            if not absent:
                kinds[j, r] = tables[j].cells.numeric and r == 1
    out = {
        j: ((np.zeros_like(d.values), np.zeros_like(d.values)), np.zeros_like(d.values)) for j, d in differences.items()
    }
    for kind in (False, True):
        asked = [key for key, found in kinds.items() if found is kind]
        if not asked:
            continue
        pooled = Differences.joined(
            [
                Differences(*(getattr(differences[j], name)[r : r + 1] for name in ("values", "variances", "added")))
                for j, r in asked
            ]
        )
        weight, left = weights(pooled)
        for (j, r), w, remains, value in zip(asked, weight, left, pooled.values, strict=True):
            (values, variances), kept = out[j]
            deviation = np.sqrt(scores[j].variances[r])
            values[r], variances[r], kept[r] = w * value * deviation, remains * deviation**2, w
    return out
