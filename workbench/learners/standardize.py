"""Numeric columns scaled to mean 0 and standard deviation 1, private or not, in one code path.

What is asked of each column (pure ε, zero-out neighbours, discrete Laplace noise on whole numbers): its two sums, the
squares of which cost nothing beside the values (:mod:`.central.sums`), and how many rows have a value, where
one may be missing. ε is split over the columns alike. Categories pass through untouched.

The new bounds follow from the declared ones and the released figures: (L − mean)/deviation to (U − mean)/deviation,
and never further than the limit. Without a limit scaling would be lost on a learner that reads every column by its
bounds; with it, columns of equal spread are as wide.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.data.schema import OWN_VALUE, Attribute
from workbench.learners.base import Answers, Model, SummingEstimator, Total
from workbench.learners.checks import checked_columns
from workbench.learners.denoise import Doubles, class_means, positive_mean
from workbench.learners.encoding import widened
from workbench.learners.queries import Query, exact_answers
from workbench.learners.setting import FitSetting, privacy_budget
from workbench.learners.tasks import SCALING
from workbench.params import ParameterError, Parameters, real
from workbench.privacy.central.sums import grid_size, scaled
from workbench.work.ask import Ask


@dataclass(frozen=True, kw_only=True)
class StandardizeParameters(Parameters):
    """Budget and limit. The default of the limit was chosen on scikit-learn's tables."""

    epsilon: float | None = privacy_budget("means and standard deviations", "smaller is more private")
    limit: float = real(
        default=3.0,
        at_least=0.1,
        upto=1e6,
        title="limit",
        unit="standard deviations",
        help="scaled values are clipped to this many standard deviations, so that the next step needs less noise",
    )


_PRESENCE_PART = 0.2  # part of a column's ε for how many rows have a value, where one may be missing


class Setting(FitSetting[StandardizeParameters]):
    """The public facts of a fit, and what follows from them."""

    @staticmethod
    def require_columns(attributes: Sequence[Attribute]) -> None:
        if not any(attribute.numeric for attribute in attributes):
            hint = ("give at least one", "leave this step out")
            raise ParameterError("there is no numeric column to scale", hint=hint)

    @cached_property
    def numeric(self) -> tuple[int, ...]:
        """The indices of the columns of numbers, which alone are scaled."""
        return tuple(j for j, attribute in enumerate(self.attributes) if attribute.numeric)

    @property
    def weights(self) -> dict[str, float]:
        """Each query with its weight in the split of ε: the columns have equal parts."""
        found: dict[str, float] = {}
        for attribute in (self.attributes[j] for j in self.numeric):
            present = _PRESENCE_PART if attribute.missing == OWN_VALUE else 0.0
            if present:
                found[f"{attribute.name}: presence"] = present
            found[f"{attribute.name}: sums"] = 1 - present
        return found

    @cached_property
    def queries(self) -> tuple[Query, ...]:
        """Return the queries in order, with shares that sum to ε exactly."""
        made = []
        for j in self.numeric:
            name = self.attributes[j].name
            for label, form in ((f"{name}: presence", "histogram"), (f"{name}: sums", "moments")):
                if label in self.weights:
                    size = grid_size(self.rows, self.budget(label)) if form == "moments" else 1
                    # Both have two numbers: Σi and Σt, or the rows with a value and those without.
                    made.append(Query(label, form, j, 2, size, self.part(label) if self.private else None))
        return tuple(made)

    def lengths(self) -> dict[str, int]:
        return {query.label: query.length for query in self.queries}


LEAST_DEVIATION = 0.01
"""Smallest standard deviation of a column, in half-ranges: a column of one value is not divided by 0."""

_USUAL_VARIANCE = 0.1
_SPREAD = 0.35  # prior deviation of a column's mean about the common one, in half-ranges


def figures(setting: Setting, answers: Sequence[Sequence[int]]) -> tuple[Doubles, Doubles]:
    """Return mean and standard deviation of each column of numbers (m,), (m,), in half-ranges.

    The variance is E[z²] − mean², with Σz² = n − 2Σt (:mod:`.central.sums`). With noise, means are drawn to
    their common mean (after Lindley & Smith 1972), and a variance is the positive posterior mean whose prior is the
    variance that the columns have in common, which is seen with less noise. What noise leaves of a mean's variance is
    added to it, so that most values stay within a few standard deviations.

    Args:
        setting: the public facts.
        answers: released numbers in the order of the queries.
    """
    rows: list[float] = []
    sums, noise = np.zeros((2, len(setting.numeric))), np.zeros(len(setting.numeric))
    present = float(setting.rows)
    for query, released in zip(setting.queries, answers, strict=True):
        if query.form == "histogram":
            # Fewer rows than the noise of their number would make a mean of noise alone.
            present = float(np.clip(released[0], max(1.0, np.sqrt(query.variance)), setting.rows))
            continue
        at = len(rows)
        sums[:, at] = np.array(released, dtype=np.float64) / query.sensitivity
        noise[at] = query.variance
        rows.append(present)
        present = float(setting.rows)
    n = np.array(rows)
    of_mean = noise / n**2
    means, left, _ = class_means(sums[0] / n, of_mean, _SPREAD)
    own = 1 - 2 * sums[1] / n - means**2
    deviation = np.sqrt((4 + 4 * means**2) * of_mean)
    common = positive_mean(own.mean(), np.sqrt((deviation**2).sum()) / len(n), _USUAL_VARIANCE)
    variances = positive_mean(own, deviation, np.maximum(common, LEAST_DEVIATION**2)) + left
    return means, np.sqrt(np.clip(variances, LEAST_DEVIATION**2, 1.0))


class Scales:
    """Means and standard deviations applied to rows.

    Attributes:
        attributes: the public facts about the columns.
        numeric: the indices of the columns that are scaled (m).
        means: of these (m,), in half-ranges from the middle of the bounds.
        deviations: of these (m,), in half-ranges.
        limit: the most standard deviations.
    """

    def __init__(
        self, attributes: Sequence[Attribute], numeric: Sequence[int], means: Doubles, deviations: Doubles, limit: float
    ) -> None:
        self.attributes, self.numeric, self.limit = tuple(attributes), tuple(numeric), limit
        self.means, self.deviations = means, deviations

    def after(self) -> tuple[Attribute, ...]:
        """Return the public facts about the columns that are made."""
        made = list(self.attributes)
        for j, mean, deviation in zip(self.numeric, self.means, self.deviations, strict=True):
            lower, upper = widened((-1 - mean) / deviation, (1 - mean) / deviation)
            made[j] = Attribute(
                name=made[j].name,
                kind="real",
                lower=max(-self.limit, lower),
                upper=min(self.limit, upper),
                missing=made[j].missing,
            )
        return tuple(attribute.facts() for attribute in made)

    def apply(self, X: ArrayLike) -> Doubles:
        """Return rows (n, d) with their numbers scaled; missing ones stay NaN, and codes what they are."""
        columns = checked_columns(X, self.attributes).copy()
        after = self.after()
        for j, mean, deviation in zip(self.numeric, self.means, self.deviations, strict=True):
            place = scaled(columns[:, j], *self.attributes[j].bounds())
            columns[:, j] = np.clip((place - mean) / deviation, *after[j].bounds())
        return columns


class StandardizeModel(Model[Setting]):
    """The released sums, and the means and standard deviations made from them."""

    name, task = "standardize", SCALING
    parameters_type, setting_type = StandardizeParameters, Setting

    def __init__(self, setting: Setting, noise: str, answers: Answers) -> None:
        super().__init__(setting, noise, answers)
        means, deviations = figures(setting, [answers[query.label] for query in setting.queries])
        self._scales = Scales(setting.attributes, setting.numeric, means, deviations, setting.parameters.limit)

    @property
    def attributes_after(self) -> tuple[Attribute, ...]:
        """The public facts about the columns that are made."""
        return self._scales.after()

    @property
    def mean_(self) -> Doubles:
        """The means of the columns of numbers (m,), in their own units."""
        return self._of_columns(self._scales.means, moved=True)

    @property
    def scale_(self) -> Doubles:
        """The standard deviations of the columns of numbers (m,), in their own units."""
        return self._of_columns(self._scales.deviations, moved=False)

    def _of_columns(self, values: Doubles, *, moved: bool) -> Doubles:
        ends = np.array([self.setting.attributes[j].bounds() for j in self.setting.numeric])
        half = ends[:, 1] / 2 - ends[:, 0] / 2
        return np.asarray(values * half + moved * (ends[:, 0] / 2 + ends[:, 1] / 2))

    def transform(self, X: ArrayLike) -> Doubles:
        """Return rows (n, d) with their numbers scaled; categories keep their codes, missing numbers stay NaN."""
        return self._scales.apply(X)

    def predict(self, X: ArrayLike) -> Doubles:
        """Return rows (n, d) with their numbers scaled."""
        return self.transform(X)


def _answered(setting: Setting, rows: tuple[Doubles, NDArray[Any]]) -> list[int]:
    """Return the exact whole numbers of all queries, one after another."""
    X, nobody = rows[0], np.zeros(len(rows[0]), dtype=np.int64)
    return exact_answers(setting.queries, X, nobody, setting.attributes, 1)


class Standardize(SummingEstimator[StandardizeModel]):
    """Standardising; y says only which rows are empty."""

    model_type = StandardizeModel

    def _asked(self, ask: Ask, setting: Setting, total: Total) -> Answers:
        sums = iter(total(_answered).tolist())
        exact = {query.label: list(itertools.islice(sums, query.length)) for query in setting.queries}
        return {query.label: ask(query.label, exact[query.label], query.sensitivity) for query in setting.queries}


class UniformScales(Scales):
    """Scales that look at no row: those of values spread evenly between their bounds."""

    def __init__(self, attributes: Sequence[Attribute], target: Attribute) -> None:
        numeric = [j for j, attribute in enumerate(attributes) if attribute.numeric]
        even = np.full(len(numeric), 3**-0.5)
        super().__init__(attributes, numeric, np.zeros(len(numeric)), even, StandardizeParameters().limit)

    def predict(self, X: ArrayLike) -> Doubles:
        """Return rows (n, d) with their numbers scaled."""
        return self.apply(X)


STANDARDIZE = Standardize.described(
    "Standardising",
    "Scales numeric columns by their noisy means and standard deviations.",
    blind=UniformScales,
)
