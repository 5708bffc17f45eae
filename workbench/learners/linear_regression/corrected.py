"""Linear regression from a sanitised table, corrected for the mechanisms of its values.

The tables of two columns work independently: the mean product of their scores is the covariance of the true columns
times the part of each that its table left (:mod:`workbench.learners.public_tables`). Divided by these it is unbiased
where the scores lie on straight lines; of each correlation the model takes the part that is more than noise. With
tables that change nothing these are the ordinary moments, and the line is the ordinary one.

Where the target may be missing, a missing number counts as the mean of the others, and the slopes are divided by the
estimated part of the rows that have one: right where it does not depend on the columns which rows these are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.data.schema import OWN_VALUE
from workbench.learners.checks import plain_part
from workbench.learners.corrected_model import CorrectedEstimator, CorrectedModel, SanitisedFacts, numbers_part
from workbench.learners.denoise import Doubles
from workbench.learners.encoding import Encoding
from workbench.learners.linear_regression.solve import Line, cautious_slopes
from workbench.learners.public_tables import Differences, PublicTable, Scores, behind, number_scores, scores_of, weights
from workbench.learners.tasks import REGRESSION
from workbench.params import ParameterError
from workbench.privacy.central.sums import unscaled

MOST_NAMES = 512
"""A column of more names than this is left out: its public table would hide all but a few of them anyway."""

_FLAT = 1e-9
_MOST_CORRELATION = 1.0
_ROUNDING = 1e-6
_STEEPEST = 1e100  # far above what can be: what is read stays finite in all sums


@dataclass(frozen=True, eq=False)
class CorrectedLineModel(CorrectedModel):
    """The line as it is kept."""

    name, task, keys = "linear-regression", REGRESSION, ("height", "columns", "centre", "slopes")
    line_: Line  # the prediction on the encoded scale

    @cached_property
    def encoding(self) -> Encoding:
        """How the columns are encoded."""
        return Encoding(self.facts.attributes)

    @property
    def attributes_used(self) -> tuple[str, ...]:
        return self.encoding.names_of(np.flatnonzero(self.line_.slopes).tolist())

    def predict(self, X: ArrayLike) -> Doubles:
        """Return the predicted number (n,) of rows that no table has changed, within the declared bounds."""
        return unscaled(self.line_.at(self.encoding.places(X)), *self.facts.target.bounds())

    def figures(self) -> dict[str, Any]:
        """Return encoded columns and the line."""
        line = self.line_
        found = (line.height, list(self.encoding.labels), line.centre.tolist(), line.slopes.tolist())
        return dict(zip(self.keys, found, strict=True))

    @classmethod
    def of_figures(cls, facts: SanitisedFacts, values: Mapping[str, Any]) -> Self:
        labels = list(Encoding(facts.attributes).labels)
        if plain_part(values, "columns", list) != labels:
            raise ParameterError("the key 'columns' does not match the columns of this model", "the model")
        most, shape = 1 + _ROUNDING, (len(labels),)
        line = Line(
            numbers_part(values, "centre", shape, -most, most),
            float(numbers_part(values, "height", (), -most, most)),
            numbers_part(values, "slopes", shape, -_STEEPEST, _STEEPEST),
        )
        return cls(facts, line)


class CorrectedLinearRegression(CorrectedEstimator):
    """The line."""

    model_type = CorrectedLineModel
    model_: CorrectedLineModel

    def _learned(
        self, facts: SanitisedFacts, cells: NDArray[np.int64], numbers: NDArray[np.int64]
    ) -> CorrectedLineModel:
        rows = len(numbers)
        used = [j for j, table in enumerate(self.tables) if table.cells.numeric or table.cells.total <= MOST_NAMES]
        answers = np.column_stack([cells[:, used], numbers])
        found = [
            _encoded(self.tables[j], _counts(self.tables[j], column))
            for j, column in zip(used, answers.T[:-1], strict=True)
        ]
        goal_scores, here = _goal(self.target, _counts(self.target, answers[:, -1]), rows)
        found.append((goal_scores, np.diag(goal_scores.variances)))
        scores = np.concatenate([s.values[:, a] for (s, _), a in zip(found, answers.T, strict=True)])
        variances, means, kept = (
            np.concatenate([getattr(s, name) for s, _ in found]) for name in ("variances", "means", "kept")
        )
        deviations = np.sqrt(variances)
        left = np.outer(kept, kept)
        correlations = scores @ scores.T / rows / left / np.outer(deviations, deviations)
        source = np.repeat(np.arange(len(found)), [len(s.means) for s, _ in found])
        own = source[:, None] == source
        among, with_target = ~own[:-1, :-1], np.ones(len(source) - 1, dtype=bool)
        correlation, remains = np.eye(len(source) - 1), 0.0
        added = (1 / left - 1) / rows
        if among.any():
            correlation[among], noise = _believed(correlations[:-1, :-1][among], added[:-1, :-1][among], rows)
            remains = float(noise.mean())
        # Columns of one attribute went through one table together: their covariance comes with the frequencies.
        for j, (_, covariance) in enumerate(found[:-1]):
            at = np.flatnonzero(source == j)
            correlation[np.ix_(at, at)] = covariance / np.outer(deviations[at], deviations[at])
        goal, noise = _believed(correlations[:-1, -1][with_target], added[:-1, -1], rows)
        slopes = _solved(correlation, goal, remains, noise)
        # A column that is left out has no slope.
        there = np.isin(Encoding(facts.attributes).sources, used)
        centre, whole = np.zeros(len(there)), np.zeros(len(there))
        centre[there], whole[there] = means[:-1], slopes * deviations[-1] / deviations[:-1]
        return CorrectedLineModel(facts, Line(centre, float(means[-1]), whole / here))


def _counts(table: PublicTable, answers: NDArray[np.int64]) -> Doubles:
    return np.bincount(answers, minlength=table.randomiser.outputs).astype(np.float64)


def _goal(table: PublicTable, counts: Doubles, rows: int) -> tuple[Scores, float]:
    """Return the scores of the target's number, and the part of the rows that have one, above 0."""
    if not table.cells.missing:
        return _encoded(table, counts)[0], 1.0
    found = number_scores(table, counts)
    number = Scores(found.values[:1], found.variances[:1], found.means[:1], found.kept[:1])
    return number, max(1 - float(found.means[-1]), 1 / rows)


def _encoded(table: PublicTable, counts: Doubles) -> tuple[Scores, Doubles]:
    """Return the scores of a column's encoded columns (r of them), and their covariance (r, r)."""
    share = counts / counts.sum()
    moments, posterior = behind(table, counts)
    if table.cells.numeric:
        first, products = [moments[1]], [[moments[2]]]
        if table.attribute.missing == OWN_VALUE:
            first.append(posterior[-1])
            products = [[moments[2], np.zeros_like(share)], [np.zeros_like(share), posterior[-1]]]
        values, square = np.stack(first), np.array(products)
    else:
        of_cell = _codes(table)
        values = of_cell @ posterior
        square = np.einsum("ag,bg,gk->abk", of_cell, of_cell, posterior)
    means = values @ share
    covariance = square @ share - np.outer(means, means)
    return scores_of(values - means[:, None], np.diagonal(covariance).copy(), means, share), covariance


def _codes(table: PublicTable) -> Doubles:
    """Return what each cell of a column of names is in its encoded columns, (r, g)."""
    attribute, size = table.attribute, 1 << 10
    cells = np.arange(table.cells.total, dtype=np.float64)[:, None]
    return np.asarray(Encoding((attribute,)).encode(cells, size).T / size)


def _believed(correlations: Doubles, added: Doubles, rows: int) -> tuple[Doubles, Doubles]:
    """Return of correlations (p,) the part that is more than noise, and the variance that is left in each."""
    both = np.array([1.0, -1.0])  # a difference of two sides that sum to 0, as between two classes
    found = Differences(correlations[:, None] * both, (added + 1 / rows)[:, None] * both**2, added[:, None] * both**2)
    weight, left = weights(found)
    return np.clip(correlations * weight[:, 0], -_MOST_CORRELATION, _MOST_CORRELATION), left[:, 0]


def _solved(correlation: Doubles, goal: Doubles, remains: float, noise: Doubles) -> Doubles:
    """Return the slopes between columns of deviation 1: eigenvalues below 0 can only be noise, whose size is added."""
    values, vectors = np.linalg.eigh(correlation)
    values = np.clip(values, 0.0, None) + np.sqrt(remains * len(goal)) + _FLAT
    return cautious_slopes(values, vectors, goal, float(((vectors.T**2 @ noise) / values).sum()))
