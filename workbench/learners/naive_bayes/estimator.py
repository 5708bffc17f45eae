"""Naive Bayes for numeric and categorical attributes, private or not, in one code path.

The queries (zero-out neighbours, noise on integers):

* the range of each numeric attribute, where ε and the rows allow it (:mod:`workbench.learners.ranges`);
* where ε and the rows do not allow all attributes, which ones are used;
* the size of each class, L1 sensitivity 1;
* for each numeric attribute the sum of the values of each class and the sum of squares (of each class where the noise
  allows it, else of all rows) about a public centre, as one vector with the L1 sensitivity of the values alone
  (:mod:`workbench.privacy.central.sums`);
* for each categorical attribute its histogram in each class, sensitivity 1; a missing value is one more cell. If a
  numeric attribute may be missing, also a histogram of present and missing.

A row belongs to one class, so that classes compose in parallel, and n is public. The model is these integers and public
facts, nothing else; everything else is post-processing (:mod:`workbench.learners.denoise`).

Against Vaidya et al. (2013), who query n, mean and variance of each class and attribute: no sensitivity here depends on
a private n, the sum of squares is free, and estimates are shrunk to public priors according to their noise.

*The choice.* Ten noisy attributes say less than two clear ones. Where ε and the rows do not allow all of them, the ones
that are used are chosen from the rows and paid for, whatever order the columns have: by what each could show alone, one
after another with report-noisy-max (:mod:`workbench.learners.selection`).

*The loss of an attribute.* Its values fall into public cells: eight equal parts of the bounds, or the values of its
domain. A row's class is a corner of a simplex; in each cell the best prediction is the shares of the classes there, and
the loss is the sum of squared distances to it, n − Σ_c n_c²/n for a cell with n rows, n_c of them of class c. One more
row cannot make the least sum smaller, and makes it larger by at most its own distance to the former best prediction: 2.
The loss is half of it, in whole numbers rounded down for each cell, of which one row changes one: between 0 and UNIT +
1, exactly.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.data.schema import Attribute
from workbench.learners.base import Answers, Choosing, Classifier, SummingEstimator, Total
from workbench.learners.checks import checked_columns
from workbench.learners.denoise import class_sizes
from workbench.learners.naive_bayes.corrected import CorrectedNaiveBayes
from workbench.learners.naive_bayes.likelihood import (
    CellDensity,
    ClassSizes,
    Density,
    GaussianDensity,
    class_chances,
    gaussian_moments,
    histogram_cells,
    joint_log_likelihood,
    present_sizes,
    smoothed,
)
from workbench.learners.naive_bayes.parameters import NaiveBayesParameters
from workbench.learners.queries import Query, events, exact_answers
from workbench.learners.selection import UNIT, choose
from workbench.learners.setting import FitSetting, split_epsilon
from workbench.learners.tasks import CLASSIFICATION
from workbench.privacy.central.share import QueryEvent, Share
from workbench.privacy.central.sums import grid_size, histogram, on_grid
from workbench.work.ask import Ask

CHOICE = "choice of attributes"

_PRESENCE_PART = 0.25  # of the share of a numeric attribute that may be missing: two cells need less than its sums
_PARTS, _SIZE = 8, 1 << 12
_RANGED = 4.0  # times the usual variance: a class fills more of a range that was chosen than of declared bounds
_SQRT2 = math.sqrt(2)


class Setting(FitSetting[NaiveBayesParameters]):
    """The public facts that queries and model follow from, with the attributes that were chosen."""

    ranges_since = 3
    any_range = (*FitSetting.any_range, "used", "_of_all")

    @cached_property
    def classes(self) -> int:
        """Number of declared classes."""
        return len(self.target.values())

    @property
    def choice_share(self) -> float:
        """The part of ε that the choice takes where there is one: more where there is more to choose from."""
        return self.parameters.choice_share * (1 - 1 / math.sqrt(len(self.attributes)))

    @cached_property
    def used(self) -> int:
        """How many attributes are used: all, or the most whose class means keep noise below the limit."""
        p, all_of_them = self.parameters, len(self.attributes)
        if not self.private or all_of_them == 1:
            return all_of_them
        # √2·k/(n·ε) is the deviation of a class mean's noise when classes are equally large, ε being its part.
        for_means = self._strength((1 - p.count_share) * (1 - self.choice_share))
        most = p.noise_limit * for_means * self.rows / (_SQRT2 * self.classes)
        most = most**2 if self.gaussian else most
        return all_of_them if most >= all_of_them else max(1, int(most))

    def _strength(self, part: float) -> float:
        """Return the ε of Laplace noise as large as that of a query with this part of the budget."""
        return Share(self.amount * Decimal(part), self.gaussian).strength

    @property
    def selects(self) -> bool:
        """Whether the attributes that are used are chosen from the rows."""
        return self.used < len(self.attributes)

    def _parts(self) -> tuple[Decimal, ...]:
        """Return ε of the choice, where there is one, and of the rest; they sum to ε exactly."""
        return split_epsilon(self.amount, (self.choice_share, 1 - self.choice_share))

    def choices(self) -> tuple[QueryEvent, ...]:
        """Return what each round of the choice costs; none where all attributes are used."""
        if not self.selects:
            return ()
        # The first ones matter most, and the first round has the most to choose from.
        shares = split_epsilon(self._parts()[0], [i**-0.5 for i in range(1, self.used + 1)])
        return tuple(Share(share, self.gaussian).event(f"{CHOICE}, {i}") for i, share in enumerate(shares, start=1))

    def events(self) -> tuple[QueryEvent, ...]:
        """Return what a fit costs, before it is known which attributes are used; none without noise."""
        if not self.private:
            return ()
        if not self.selects:
            return events(self.queries())
        sizes, *each = self._shares()
        labelled = (("class sizes", sizes), *((f"chosen attribute {i}", own) for i, own in enumerate(each, start=1)))
        return (*self.choices(), *(Share(share, self.gaussian).event(label) for label, share in labelled))

    def _shares(self) -> tuple[Decimal, ...]:
        """Return ε of the class sizes and of each used attribute, where attributes are chosen."""
        count = self.parameters.count_share
        return split_epsilon(self._parts()[1], [count, *[(1 - count) / self.used] * self.used])

    def queries(self, chosen: Sequence[int] = ()) -> tuple[Query, ...]:
        """Return the queries in order, with shares that sum to ε exactly, together with those of the choice.

        Args:
            chosen: indices of the attributes that are used, where they are chosen.
        """
        return self._queries(chosen) if self.selects else self._of_all

    @cached_property
    def _of_all(self) -> tuple[Query, ...]:
        return self._queries(range(len(self.attributes)))

    def _queries(self, chosen: Sequence[int]) -> tuple[Query, ...]:
        k, p = self.classes, self.parameters
        each = (1 - p.count_share) / self.used
        # √8·k/(n·ε_j) is the deviation of the noise of one class's variance when classes are equally large.
        of_means = each * (1 - self.choice_share) if self.selects else each
        per_class = not self.private or 2 * _SQRT2 * k / (self.rows * self._strength(of_means)) < p.separate_below

        asked: list[tuple[float, str, str, int, int]] = [(p.count_share, "class sizes", "sizes", -1, k)]
        for j in chosen:
            asked += self._asked(j, each, per_class)
        shares: tuple[Decimal | None, ...] = (None,) * len(asked)
        if self.selects:
            of_attributes = dict(zip((-1, *chosen), self._shares(), strict=True))
            found: list[Decimal | None] = []
            for j, whole in of_attributes.items():
                found += split_epsilon(whole, [weight for weight, _, _, column, _ in asked if column == j])
            shares = tuple(found)
        elif self.private:
            shares = split_epsilon(self.amount, [weight for weight, *_ in asked])
        made = list[Query]()
        for amount, (_, label, form, column, length) in zip(shares, asked, strict=True):
            share = None if amount is None else Share(amount, self.gaussian)
            moments = form == "moments"
            size = grid_size(self.rows, math.inf if share is None else share.strength) if moments else 1
            made.append(Query(label, form, column, length, size, share, per_class and moments))
        return tuple(made)

    def _asked(self, j: int, each: float, per_class: bool) -> list[tuple[float, str, str, int, int]]:
        """Return (weight, label, form, column, length) of each query about attribute ``j``."""
        attribute, k = self.attributes[j], self.classes
        may_miss = attribute.missing == "own-value"
        if not attribute.numeric:
            cells = len(attribute.values()) + may_miss
            return [(each, f"{attribute.name}: histogram", "histogram", j, cells * k)]
        sums = (f"{attribute.name}: sums", "moments", j, 2 * k if per_class else k + 1)
        if not may_miss:
            return [(each, *sums)]
        presence = (each * _PRESENCE_PART, f"{attribute.name}: presence", "histogram", j, 2 * k)
        return [presence, (each * (1 - _PRESENCE_PART), *sums)]

    def losses(self, columns: NDArray[np.float64], classes: NDArray[np.int64]) -> list[int]:
        """Return the loss of each attribute alone, (d,), in parts of :data:`~workbench.learners.selection.UNIT`.

        Args:
            columns: checked rows (n, d).
            classes: checked class codes (n,).
        """
        return self.losses_of(_counted(self, (columns, classes)))

    def losses_of(self, counted: Sequence[int] | NDArray[np.int64]) -> list[int]:
        """Return :meth:`losses` of what :func:`_counted` counts."""
        found, at = [], 0
        for attribute in self.attributes:
            size = self.classes * _cell_count(attribute)
            counts = np.array(counted[at : at + size]).reshape(self.classes, -1)
            # Python's own whole numbers: n² of many rows does not fit into 64 bits.
            found.append(sum(_loss([int(v) for v in cell]) for cell in counts.T))
            at += size
        return found


Rows = tuple[NDArray[np.float64], NDArray[np.int64]]  # checked rows (n, d), and their class codes (n,)


def _counted(setting: Setting, rows: Rows) -> list[int]:
    """Return of each attribute the rows of each class in each public cell."""
    columns, classes = rows
    found: list[int] = []
    for attribute, column in zip(setting.attributes, columns.T, strict=True):
        found += histogram(_cells(attribute, column), classes, setting.classes, _cell_count(attribute))
    return found


def _answered(setting: Setting, rows: Rows, queries: Sequence[Query]) -> list[int]:
    """Return the exact whole numbers of queries, one after another."""
    return exact_answers(queries, *rows, setting.attributes, setting.classes)


def _cell_count(attribute: Attribute) -> int:
    """Return how many public cells there are, one of them for a missing value."""
    return (_PARTS if attribute.numeric else len(attribute.values())) + 1


def _cells(attribute: Attribute, column: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the public cell of each value (n,); a missing one has a cell of its own."""
    if not attribute.numeric:
        return column.astype(np.int64)
    missing = np.isnan(column)
    places = on_grid(np.where(missing, attribute.bounds()[0], column), *attribute.bounds(), _SIZE) + _SIZE
    return np.where(missing, _PARTS, places * _PARTS // (2 * _SIZE + 1))


def _loss(counts: list[int]) -> int:
    """Return ⌊UNIT·(n − Σ n_c²/n)/2⌋ of the rows of one cell."""
    n = sum(counts)
    return UNIT * (n * n - sum(c * c for c in counts)) // (2 * n) if n else 0


class NaiveBayesModel(Choosing[Setting], Classifier[Setting]):
    """The released numbers, and the classifier made from them.

    Attributes:
        queries: the queries.
        class_sizes_: estimated rows of each class (k,).
        densities_: the class-conditional density of each used attribute, by column index.
    """

    name, task, version = "naive-bayes", CLASSIFICATION, 3
    parameters_type, setting_type, named = NaiveBayesParameters, Setting, "used"

    def __init__(self, setting: Setting, noise: str, answers: Answers, chosen: Sequence[int]) -> None:
        super().__init__(setting, noise, answers, chosen if setting.selects else range(len(setting.attributes)))
        self.queries = setting.queries(self.chosen)
        sizes = self.queries[0]
        noisy = np.array(answers[sizes.label], dtype=np.float64)
        self._classes = ClassSizes(*class_sizes(noisy, setting.rows, sizes.variance))
        self.class_sizes_ = self._classes.sizes

    @cached_property
    def densities_(self) -> dict[int, Density]:
        """Made when they are first used: a model that is only written has no need of them."""
        p, found = self.setting.parameters, dict[int, Density]()
        usual = min(1.0, p.typical_variance * (_RANGED if self.setting.ranges else 1.0))
        numbers: list[tuple[Query, NDArray[np.float64] | None, ClassSizes]] = []
        presence: NDArray[np.float64] | None = None
        presence_variance = 0.0
        for query in self.queries[1:]:
            attribute = self.setting.attributes[query.column]
            if query.form == "histogram":
                cells = histogram_cells(self.answers[query.label], self._classes, query.variance)
                if attribute.numeric:
                    presence, presence_variance = cells, query.variance
                else:
                    found[query.column] = CellDensity(attribute, smoothed(cells, self.class_sizes_, p.smoothing))
                continue
            numbers.append((query, presence, present_sizes(self._classes, presence, presence_variance)))
            presence, presence_variance = None, 0.0
        if not numbers:
            return found
        k = self.setting.classes
        sizes = ClassSizes(
            *(np.stack(parts) for parts in zip(*((c.sizes, c.variance) for *_, c in numbers), strict=True))
        )
        units = np.array([[query.sensitivity] for query, *_ in numbers], dtype=np.float64)
        released = np.array([self.answers[query.label] for query, *_ in numbers], dtype=np.float64) / units
        noise = np.array([[query.variance] for query, *_ in numbers])
        moments = gaussian_moments(released[:, :k], released[:, k:], sizes, noise, p.mean_spread, usual)
        for (query, known, _), means, variances in zip(numbers, *moments, strict=True):
            attribute = self.setting.attributes[query.column]
            shares = None if known is None else smoothed(known, self.class_sizes_, p.smoothing)
            found[query.column] = GaussianDensity(attribute, means, variances, shares)
        return {query.column: found[query.column] for query in self.queries[1:]}

    def joint_log_likelihood(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return log P(class) + Σ log p(x_j | class) of each row (n, k)."""
        columns = checked_columns(X, self.setting.attributes)
        return joint_log_likelihood(self.class_sizes_, self.densities_, columns)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return P(class | row) (n, k); a row that is impossible in every class gets the class sizes."""
        columns = checked_columns(X, self.setting.attributes)
        return class_chances(self.class_sizes_, self.densities_, columns)

    def events(self) -> tuple[QueryEvent, ...]:
        """Return one event a query, with shares that sum to ε exactly; none without noise."""
        return (*self.setting.choices(), *events(self.queries))

    @classmethod
    def lengths(cls, setting: Setting, answered: Mapping[str, Any], **read: Any) -> Mapping[str, int]:
        """Return how many whole numbers each query about the used attributes released."""
        return {query.label: query.length for query in setting.queries(read["chosen"])}


class NaiveBayes(SummingEstimator[NaiveBayesModel]):
    """Naive Bayes; a missing number contributes to nothing but the histogram of presence."""

    model_type = NaiveBayesModel

    def _of_sums(self, ask: Ask, setting: Setting, total: Total) -> NaiveBayesModel:
        chosen, asks = list(range(len(setting.attributes))), {}
        if setting.selects:
            chosen = choose(setting.losses_of(total(_counted)), [e.label for e in setting.choices()], ask)
        queries, answers = setting.queries(chosen), {}
        if setting.selects:  # what was paid for an attribute pays for its one or two queries
            for i, j in enumerate(chosen, start=1):
                asks[j] = ask.into(f"chosen attribute {i}", events([q for q in queries if q.column == j]))
        sums = iter(total(_answered, queries).tolist())
        for query in queries:
            exact = list(itertools.islice(sums, query.length))
            answers[query.label] = asks.get(query.column, ask)(query.label, exact, query.sensitivity)
        for part in asks.values():
            part.finish()
        return NaiveBayesModel(setting, self.noise.name, answers, chosen)


NAIVE_BAYES = NaiveBayes.described(
    "Naive Bayes",
    "Adds noise to class counts, category counts and sums of numeric columns.",
    corrected=CorrectedNaiveBayes,
)
