"""Columns of numbers scaled to mean 0 and standard deviation 1, private or not, in one code path.

What is asked of each column (pure ε, zero-out neighbours, discrete Laplace noise on whole numbers): its two sums, the
squares of which cost nothing beside the values (:mod:`workbench.learners.sums`), and how many rows have a value, where
one may be missing. ε is split over the columns alike. Categories pass through untouched.

The new bounds follow from the declared ones and the released figures: (L − mean)/deviation to (U − mean)/deviation,
and never further than the limit. Without a limit scaling would be lost on a learner that reads every column by its
bounds; with it, columns of equal spread are as wide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from workbench.data.schema import Attribute
from workbench.learners.base import (
    Learner,
    checked_columns,
    checked_schema,
    noise_kind,
    plain_part,
    table_shape,
)
from workbench.learners.plain import Facts, facts_from_plain, facts_to_plain
from workbench.learners.queries import checked_answers, events
from workbench.learners.standardize.parameters import StandardizeParameters
from workbench.learners.standardize.setting import Setting, require_numbers
from workbench.learners.standardize.solve import Doubles, figures
from workbench.learners.sums import scaled
from workbench.learners.tasks import EMPTY, SCALING
from workbench.learners.transforms import Transformer, filled_rows, outward
from workbench.privacy.accounting.event import Charge, Cost, PureDp
from workbench.privacy.central import CentralNoise, NoNoise

_FORMAT = 1


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
            lower, upper = outward((-1 - mean) / deviation, (1 - mean) / deviation)
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


class StandardizeModel:
    """The released sums, and the means and standard deviations made from them.

    Attributes:
        setting: the public facts.
        noise: one of ``released``, ``study`` and ``none``.
        answers: released whole numbers, one list a query.
    """

    def __init__(self, setting: Setting, noise: str, answers: list[list[int]]) -> None:
        self.setting = setting
        self.noise = noise
        self.answers = answers
        means, deviations = figures(setting, answers)
        self._scales = Scales(setting.facts.attributes, setting.numeric, means, deviations, setting.parameters.limit)

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
        ends = np.array([self.setting.facts.attributes[j].bounds() for j in self.setting.numeric])
        half = ends[:, 1] / 2 - ends[:, 0] / 2
        return np.asarray(values * half + moved * (ends[:, 0] / 2 + ends[:, 1] / 2))

    def transform(self, X: ArrayLike) -> Doubles:
        """Return rows (n, d) with their numbers scaled; categories keep their codes, missing numbers stay NaN."""
        return self._scales.apply(X)

    def predict(self, X: ArrayLike) -> Doubles:
        """Return rows (n, d) with their numbers scaled."""
        return self.transform(X)

    def to_plain(self) -> dict[str, Any]:
        """Return public facts and noisy whole numbers as JSON holds them; means and deviations follow from these."""
        labels = (query.label for query in self.setting.queries)
        return {
            **facts_to_plain(STANDARDIZE.name, _FORMAT, self.noise, self.setting.facts),
            "answers": dict(zip(labels, self.answers, strict=True)),
        }

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> StandardizeModel:
        """Return the model that :meth:`to_plain` wrote.

        Raises:
            ParameterError: a key is missing, or a value is not what such a model can hold; the message names it.
        """
        facts = facts_from_plain(values, STANDARDIZE.name, _FORMAT, StandardizeParameters, SCALING)
        require_numbers(facts.attributes)
        setting = Setting(facts)
        return cls(setting, values["noise"], checked_answers(plain_part(values, "answers", dict), setting.queries))


class Standardize(Transformer):
    """Standardising with the scikit-learn API; it is private if its noise is.

    X (n, d): numbers (NaN: missing, where the column may be), categories as codes. y (n,): the target's values, which
    say only which rows are empty (−1, NaN).

    Attributes:
        model_: what :meth:`fit` released.
    """

    model_: StandardizeModel

    def __init__(
        self,
        attributes: Sequence[Attribute],
        target: Attribute,
        parameters: StandardizeParameters,
        noise: CentralNoise,
        charge: Charge | None = None,
    ) -> None:
        super().__init__(attributes, target, parameters, noise, charge)
        self.parameters: StandardizeParameters = parameters

    def _setting(self, rows: int) -> Setting:
        checked_schema(self.attributes, self.target, SCALING)
        require_numbers(self.attributes)
        private = noise_kind(self.noise) != "none"
        return Setting(Facts(tuple(self.attributes), self.target, self.parameters, rows, private))

    def events(self, rows: int | None = None) -> tuple[PureDp, ...]:
        """Return what a fit on ``rows`` rows costs, one event a query (of the last fit where none is given)."""
        setting = self.model_.setting if rows is None else self._setting(rows)
        return events(setting.queries)

    def cost(self, rows: int) -> Cost | None:
        """Return what a fit on ``rows`` rows is charged; ``None`` without noise."""
        return self._composed(STANDARDIZE.name, rows)

    def numbers(self, rows: int) -> int:
        """Return how many whole numbers a fit releases."""
        return 2 * len(self._setting(rows).queries)

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Charge, then read the rows, then release the noisy sums of each column.

        Raises:
            BudgetRefusedError: from the charge; nothing was read.
            InputError: a value that the column's declaration does not allow, naming row and column.
            ParameterError: there is no column of numbers.
        """
        setting = self._setting(table_shape(X, y, self.attributes))
        self._pay(self.cost(setting.rows))
        columns = checked_columns(X, self.attributes)
        classes = np.where(filled_rows(y, setting.facts.target), 0, EMPTY)
        answers = []
        for query in setting.queries:
            exact = query.answer(columns, classes, self.attributes, 1)
            answers.append(self.noise.integers(exact, query.sensitivity, query.epsilon))
        self.model_ = StandardizeModel(setting, noise_kind(self.noise), answers)
        return self

    @property
    def mean_(self) -> Doubles:
        """The means of the columns of numbers (m,), in their own units."""
        return self.model_.mean_

    @property
    def scale_(self) -> Doubles:
        """The standard deviations of the columns of numbers (m,), in their own units."""
        return self.model_.scale_

    @staticmethod
    def from_plain(values: Mapping[str, Any]) -> StandardizeModel:
        """Return the model that :meth:`to_plain` wrote; it transforms, and cannot be fitted again."""
        return StandardizeModel.from_plain(values)


class UniformScales(Scales):
    """Scales that look at no row: those of values spread evenly between their bounds."""

    def __init__(self, attributes: Sequence[Attribute], target: Attribute) -> None:
        numeric = [j for j, attribute in enumerate(attributes) if attribute.numeric]
        even = np.full(len(numeric), 3**-0.5)
        super().__init__(attributes, numeric, np.zeros(len(numeric)), even, StandardizeParameters().limit)

    def predict(self, X: ArrayLike) -> Doubles:
        """Return rows (n, d) with their numbers scaled."""
        return self.apply(X)


def _ordinary(attributes: Sequence[Attribute], target: Attribute) -> Standardize:
    """Return the same model without noise: private and ordinary are one code path."""
    return Standardize(attributes, target, StandardizeParameters(), NoNoise())


STANDARDIZE = Learner(
    name="standardize",
    title="Standardising",
    about="It scales columns of numbers by their noisy means and standard deviations.",
    task=SCALING,
    parameters=StandardizeParameters,
    estimator=Standardize,
    ordinary=_ordinary,
    blind=UniformScales,
    check=require_numbers,
)
