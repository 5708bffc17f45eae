"""What follows from the public facts of a naive Bayes fit: how many attributes are used, and what is asked of each.

Ten noisy attributes say less than two clear ones. Where ε and the rows do not allow all of them, the ones that are used
are chosen from the rows and paid for, whatever order the columns have: by what each could tell alone, one after another
with report-noisy-max (:mod:`workbench.learners.selection`).

*The loss of an attribute.* Its values fall into public cells: eight equal parts of the bounds, or the values of its
domain. A row's class is a corner of a simplex; in each cell the best prediction is the shares of the classes there, and
the loss is the sum of squared distances to it, n − Σ_c n_c²/n for a cell with n rows, n_c of them of class c. One more
row cannot make the least sum smaller, and makes it larger by at most its own distance to the former best prediction: 2.
The loss is half of it, in whole numbers rounded down for each cell, of which one row changes one: between 0 and
UNIT + 1, exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from workbench.data.schema import Attribute
from workbench.learners.base import split_epsilon
from workbench.learners.naive_bayes.parameters import NaiveBayesParameters
from workbench.learners.queries import Query
from workbench.learners.selection import UNIT
from workbench.learners.sums import grid_size, histogram, on_grid
from workbench.learners.tasks import EMPTY
from workbench.params import ParameterError
from workbench.privacy.accounting.event import PureDp, exact, floor_double

CHOICE = "choice of attributes"

_PRESENCE_PART = 0.25  # of the share of a numeric attribute that may be missing: two cells need less than its sums
_PARTS, _SIZE = 8, 1 << 12
_SQRT2 = math.sqrt(2)


@dataclass(frozen=True)
class Setting:
    """The public facts that queries and model follow from, with the attributes that were chosen.

    Attributes:
        attributes: the public facts about the columns of X, in order.
        target: the same of y.
        parameters: the declared parameters.
        rows: public n.
        private: whether there is noise.
    """

    attributes: tuple[Attribute, ...]
    target: Attribute
    parameters: NaiveBayesParameters
    rows: int
    private: bool

    @property
    def classes(self) -> int:
        """Number of declared classes."""
        return len(self.target.values())

    @property
    def epsilon(self) -> float:
        """ε of the fit; infinite without noise."""
        if self.private and self.parameters.epsilon is None:
            raise ParameterError("epsilon is not given", hint="give epsilon = NUMBER above 0")
        return self.parameters.epsilon if self.private and self.parameters.epsilon is not None else math.inf

    @property
    def choice_share(self) -> float:
        """The part of ε that the choice takes where there is one: more where there is more to choose from."""
        return self.parameters.choice_share * (1 - 1 / math.sqrt(len(self.attributes)))

    @property
    def used(self) -> int:
        """How many attributes are used: all, or the most whose class means keep noise below the limit."""
        p, all_of_them = self.parameters, len(self.attributes)
        if not self.private or all_of_them == 1:
            return all_of_them
        # √2·k·used/(n·share·ε) is the deviation of a class mean's noise when classes are equally large.
        for_means = (1 - p.count_share) * (1 - self.choice_share)
        most = p.noise_limit * for_means * self.epsilon * self.rows / (_SQRT2 * self.classes)
        return all_of_them if most >= all_of_them else max(1, int(most))

    @property
    def selects(self) -> bool:
        """Whether the attributes that are used are chosen from the rows."""
        return self.used < len(self.attributes)

    def _parts(self) -> tuple[Decimal, Decimal]:
        """Return ε of the choice and of the rest; they sum to ε exactly."""
        whole = exact(self.epsilon)
        if not self.selects:
            return Decimal(0), whole
        choosing, rest = split_epsilon(whole, (self.choice_share, 1 - self.choice_share))
        return choosing, rest

    def choices(self) -> tuple[PureDp, ...]:
        """Return what each round of the choice costs; none where all attributes are used."""
        if not self.selects:
            return ()
        # The first ones matter most, and the first round has the most to choose from.
        shares = split_epsilon(self._parts()[0], [i**-0.5 for i in range(1, self.used + 1)])
        return tuple(PureDp(share, f"{CHOICE}, {i}") for i, share in enumerate(shares, start=1))

    def planned(self) -> tuple[PureDp, ...]:
        """Return what a fit costs, before it is known which attributes are used; none without noise."""
        if not self.private:
            return ()
        if not self.selects:
            return tuple(PureDp(q.share, q.label) for q in self.queries() if q.share is not None)
        sizes, *each = self._shares()
        parts = (PureDp(share, f"chosen attribute {i}") for i, share in enumerate(each, start=1))
        return (*self.choices(), PureDp(sizes, "class sizes"), *parts)

    def _shares(self) -> tuple[Decimal, ...]:
        """Return ε of the class sizes and of each used attribute, where attributes are chosen."""
        count = self.parameters.count_share
        return split_epsilon(self._parts()[1], [count, *[(1 - count) / self.used] * self.used])

    def queries(self, chosen: Sequence[int] = ()) -> tuple[Query, ...]:
        """Return the queries in order, with shares that sum to ε exactly, together with those of the choice.

        Args:
            chosen: indices of the attributes that are used, where they are chosen.
        """
        k, p = self.classes, self.parameters
        each = (1 - p.count_share) / self.used
        # √8·k/(n·ε_j) is the deviation of the noise of one class's variance when classes are equally large.
        of_means = each * (1 - self.choice_share) if self.selects else each
        per_class = 2 * _SQRT2 * k / (self.rows * of_means * self.epsilon) < p.separate_below

        asked: list[tuple[float, str, str, int, int]] = [(p.count_share, "class sizes", "sizes", -1, k)]
        for j in chosen if self.selects else range(len(self.attributes)):
            asked += self._asked(j, each, per_class)
        shares: tuple[Decimal | None, ...] = (None,) * len(asked)
        if self.selects:
            of_attributes = dict(zip((-1, *chosen), self._shares(), strict=True))
            found: list[Decimal | None] = []
            for j, whole in of_attributes.items():
                found += split_epsilon(whole, [weight for weight, _, _, column, _ in asked if column == j])
            shares = tuple(found)
        elif self.private:
            shares = split_epsilon(exact(self.epsilon), [weight for weight, *_ in asked])
        return tuple(
            Query(
                label,
                form,
                column,
                length,
                grid_size(self.rows, math.inf if share is None else floor_double(share)) if form == "moments" else 1,
                share,
                per_class and form == "moments",
            )
            for share, (_, label, form, column, length) in zip(shares, asked, strict=True)
        )

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
            classes: checked class codes (n,); a row of class :data:`EMPTY` contributes nothing.
        """
        here = classes != EMPTY
        found = []
        for attribute, column in zip(self.attributes, columns[here].T, strict=True):
            cells, count = _cells(attribute, column)
            counts = np.array(histogram(cells, classes[here], self.classes, count)).reshape(self.classes, count)
            # Python's own whole numbers: n² of many rows does not fit into 64 bits.
            found.append(sum(_loss([int(v) for v in cell]) for cell in counts.T))
        return found


def _cells(attribute: Attribute, column: NDArray[np.float64]) -> tuple[NDArray[np.int64], int]:
    """Return the public cell of each value (n,), and how many there are; a missing one has a cell of its own."""
    if not attribute.numeric:
        return column.astype(np.int64), len(attribute.values()) + 1
    missing = np.isnan(column)
    places = on_grid(np.where(missing, attribute.bounds()[0], column), *attribute.bounds(), _SIZE) + _SIZE
    return np.where(missing, _PARTS, places * _PARTS // (2 * _SIZE + 1)), _PARTS + 1


def _loss(counts: list[int]) -> int:
    """Return ⌊UNIT·(n − Σ n_c²/n)/2⌋ of the rows of one cell."""
    n = sum(counts)
    return UNIT * (n * n - sum(c * c for c in counts)) // (2 * n) if n else 0
