"""Naive Bayes from a sanitised table, corrected for the mechanisms of its values.

The densities are those of the ordinary model, and so are its figures where the tables change nothing. Otherwise they
begin from what all rows have in common; of each difference between classes the model takes the part that is more than
noise (:mod:`workbench.learners.public_tables`), and adds to a density the variance that is left in its mean. Variances
are drawn to the common one of all classes, and that to the one of all rows.

Where the target may be missing, rows without a class are distinguished as if that were one class more, which is then
left out: nobody asks for it, and it says nothing about how far the others differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.data.schema import OWN_VALUE, Attribute
from workbench.learners.checks import checked_columns, plain_part
from workbench.learners.corrected_model import (
    CorrectedEstimator,
    CorrectedModel,
    SanitisedFacts,
    numbers_part,
    only_keys,
)
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
    counts_together,
    name_scores,
    number_scores,
    weights,
)
from workbench.learners.tasks import CLASSIFICATION
from workbench.params import ParameterError

MOST_NAMES = 512
"""A column of more names than this is left out: its public table would hide all but a few of them anyway."""

_USUAL = NaiveBayesParameters()
_PLACE, _WIDTH, _MISSING = 0, 1, 2  # features of a number, in the order of its scores
_ROUNDING = 1e-9
_MOST_ROWS, _MOST_VARIANCE = 2.0**53, 1e12  # far above what can be: what is read stays finite in all sums


@dataclass(frozen=True, eq=False)
class CorrectedBayesModel(CorrectedModel):
    """The classifier as it is kept."""

    name, task, keys = "naive-bayes", CLASSIFICATION, ("class_sizes", "densities")
    class_sizes_: Doubles  # estimated rows of each true class (c,)
    densities_: Mapping[int, Density]  # the density of each column that is used, by its index

    @property
    def attributes_used(self) -> tuple[str, ...]:
        return tuple(self.facts.attributes[j].name for j in self.densities_)

    @property
    def classes_(self) -> NDArray[np.int64]:
        """Class codes (c,)."""
        return np.arange(len(self.class_sizes_))

    def predict_proba(self, X: ArrayLike) -> Doubles:
        """Return P(class | row) (n, c) of rows of numbers and codes that no table has changed."""
        return class_chances(self.class_sizes_, self.densities_, checked_columns(X, self.facts.attributes))

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Return the most probable class code of each row (n,)."""
        return np.asarray(self.predict_proba(X).argmax(axis=1), dtype=np.int64)

    def figures(self) -> dict[str, Any]:
        """Return class sizes and densities."""
        names = [a.name for a in self.facts.attributes]
        densities = [{"column": names[j], **_density_to_plain(d)} for j, d in self.densities_.items()]
        return {"class_sizes": self.class_sizes_.tolist(), "densities": densities}

    @classmethod
    def of_figures(cls, facts: SanitisedFacts, values: Mapping[str, Any]) -> Self:
        count = len(facts.target.values())
        sizes = numbers_part(values, "class_sizes", (count,), 0.0, _MOST_ROWS)
        if not sizes.all():
            raise ParameterError("the key 'class_sizes' has an empty class", "the model")
        names = [a.name for a in facts.attributes]
        densities: dict[int, Density] = {}
        for given in plain_part(values, "densities", list):
            if not isinstance(given, dict) or given.get("column") not in names:
                raise ParameterError("the key 'densities' names columns that the model does not have", "the model")
            j = names.index(given["column"])
            if j in densities:
                raise ParameterError("the key 'densities' names a column twice", f"column {names[j]}")
            densities[j] = _density_from_plain(given, facts.attributes[j], count)
        return cls(facts, sizes, densities)


class CorrectedNaiveBayes(CorrectedEstimator):
    """The classifier."""

    model_type = CorrectedBayesModel
    model_: CorrectedBayesModel

    def _learned(
        self, facts: SanitisedFacts, cells: NDArray[np.int64], classes: NDArray[np.int64]
    ) -> CorrectedBayesModel:
        known, count = Classes.of(self.target, classes), len(facts.target.values())
        sizes = known.sizes[:count]
        scores: dict[int, Scores] = {}
        differences: dict[int, Differences] = {}
        for j, table in enumerate(self.tables):
            if not table.cells.numeric and table.cells.total > MOST_NAMES:
                continue
            together = counts_together(classes, cells[:, j], (len(known.sizes), table.randomiser.outputs))
            scores_of = number_scores if table.cells.numeric else name_scores
            scores[j] = scores_of(table, together.sum(axis=0))
            differences[j] = Differences.of(scores[j], known, together).of_classes(count)
        densities: dict[int, Density] = {}
        for j, (values, left, weight) in _believed(self.tables, scores, differences).items():
            table = self.tables[j]
            if table.cells.numeric:
                densities[j] = _line(table, sizes, scores[j], differences[j], values, left, weight)
            else:
                densities[j] = _names(table, sizes, scores[j], values)
        return CorrectedBayesModel(facts, sizes, densities)


def _names(table: PublicTable, sizes: Doubles, scores: Scores, values: Doubles) -> Density:
    cells = np.maximum(scores.means[:, None] + values, 0.0).T
    cells /= np.maximum(cells.sum(axis=1, keepdims=True), LEAST_VARIANCE)
    return CellDensity(table.attribute, smoothed(cells, sizes, _USUAL.smoothing))


def _line(
    table: PublicTable,
    sizes: Doubles,
    scores: Scores,
    differences: Differences,
    values: Doubles,
    left: Doubles,
    weight: Doubles,
) -> Density:
    shares = sizes / sizes.sum()
    presence, here = None, np.ones(len(shares))
    if table.cells.missing:
        missing = np.clip(scores.means[2] + values[2], 0.0, 1.0)
        presence = smoothed(np.column_stack([1 - missing, missing]), sizes, _USUAL.smoothing)
        here = np.maximum(1 - missing, LEAST_VARIANCE)
    offset = np.clip(values[0] / here, -2.0, 2.0)
    # Each class's mean square about the common mean, and how far noise may have moved it and the squared offset.
    squares = scores.means[1] + differences.values[1] * np.sqrt(scores.variances[1])
    own = squares / here - offset**2
    moved = scores.variances[1] * differences.added[1] + 4 * offset**2 * left[0]
    moved += scores.variances[1] * (1 - scores.kept[1]) / (scores.kept[1] * sizes.sum())
    # Where that is all noise, a class is as wide as all rows together.
    prior = max(float(scores.means[1]), LEAST_VARIANCE)
    common = np.maximum(positive_mean((shares * own).sum(), np.sqrt((shares**2 * moved).sum()), prior), LEAST_VARIANCE)
    own = positive_mean(own, np.sqrt(moved), common)
    within = common + weight[_WIDTH] * (own - common) + left[_PLACE]
    means = np.clip(scores.means[0] + offset, -1.0, 1.0)
    return GaussianDensity(table.attribute, means, np.maximum(within, LEAST_VARIANCE), presence)


def _density_to_plain(density: Density) -> dict[str, Any]:
    if isinstance(density, CellDensity):
        return {"probabilities": density.probabilities.tolist()}
    plain: dict[str, Any] = {"means": density.means.tolist(), "variances": density.variances.tolist()}
    return plain if density.presence is None else {**plain, "presence": density.presence.tolist()}


def _density_from_plain(given: Mapping[str, Any], attribute: Attribute, count: int) -> Density:
    where, may_miss = f"column {attribute.name}", attribute.missing == OWN_VALUE
    if not attribute.numeric:
        only_keys(given, ("column", "probabilities"), where)
        shape = (count, len(attribute.values()) + may_miss)
        return CellDensity(attribute, numbers_part(given, "probabilities", shape, 0.0, 1 + _ROUNDING, where))
    only_keys(given, ("column", "means", "variances", *(["presence"] if may_miss else [])), where)
    return GaussianDensity(
        attribute,
        numbers_part(given, "means", (count,), -1.0, 1.0, where),
        numbers_part(given, "variances", (count,), LEAST_VARIANCE, _MOST_VARIANCE, where),
        numbers_part(given, "presence", (count, 2), 0.0, 1 + _ROUNDING, where) if may_miss else None,
    )


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
