"""DBSCAN on a public grid, private or not, in one code path.

What is asked (pure ε, zero-out neighbours, discrete Laplace noise on whole numbers): how many rows lie in each cell of
a public grid over the declared bounds, *all* cells, the empty ones too. A row lies in one cell: L1 sensitivity 1. A
cell is dense if its noisy count reaches a public limit, which noise alone hardly ever does; dense cells that share a
side are one group.

Released are the counts. Groups are of cells, never of rows: which group a training row is in, or that it is noise,
would tell where it lies. Noise on the distances between rows, as it is sometimes taught, protects nobody: a row far
from all others stays far from them (``tests/learners/test_dbscan.py`` shows it). Grid-based density clustering: Wang
et al., STING (1997); with differential privacy: Wu et al., DP-DBSCAN (2015).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.data.schema import Attribute
from workbench.learners.base import (
    Learner,
    PrivateEstimator,
    checked_classes,
    checked_schema,
    noise_kind,
    plain_part,
    table_shape,
)
from workbench.learners.dbscan.parameters import APART, DbscanParameters
from workbench.learners.dbscan.setting import COUNTS, Setting
from workbench.learners.plain import Facts, facts_from_plain, facts_to_plain
from workbench.learners.queries import checked_whole_numbers
from workbench.learners.tasks import CLUSTERING, EMPTY
from workbench.privacy.accounting.event import Charge, Cost, PureDp
from workbench.privacy.central import CentralNoise, NoNoise

_FORMAT = 1
_ROWS_AT_ONCE = 4_096


class DbscanModel:
    """The released counts, and the groups of cells made from them.

    Attributes:
        setting: the public facts.
        noise: one of ``released``, ``study`` and ``none``.
        counts: the noisy count of each cell, (cells,).
        dense_: the dense cells as parts (m, D).
        groups_: the group of each dense cell (m,), the largest group first.
    """

    def __init__(self, setting: Setting, noise: str, counts: Sequence[int]) -> None:
        self.setting = setting
        self.noise = noise
        self.counts = tuple(int(v) for v in counts)
        self.dense_, self.groups_ = setting.groups(np.array(self.counts, dtype=np.int64))

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Return the group of each row (n,): that of its cell, else that of the nearest dense cell, or −1."""
        cells = self.setting.cell(X)
        out = np.zeros(len(cells), dtype=np.int64)
        if not len(self.dense_):
            return out - 1 if self.setting.parameters.outliers == APART else out
        scale = 1 / np.array(self.setting.sizes)
        for begin in range(0, len(cells), _ROWS_AT_ONCE):
            part = slice(begin, begin + _ROWS_AT_ONCE)
            distance = np.abs((cells[part, None, :] - self.dense_[None]) * scale).sum(axis=2)
            nearest = distance.argmin(axis=1)
            found = self.groups_[nearest]
            if self.setting.parameters.outliers == APART:
                found = np.where(distance[np.arange(len(found)), nearest] > 0, -1, found)
            out[part] = found
        return out

    def to_plain(self) -> dict[str, Any]:
        """Return public facts and noisy counts as JSON holds them; the groups follow from these."""
        return {
            **facts_to_plain(DBSCAN.name, _FORMAT, self.noise, self.setting.facts),
            "answers": {COUNTS: list(self.counts)},
        }

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> DbscanModel:
        """Return the model that :meth:`to_plain` wrote.

        Raises:
            ParameterError: a key is missing, or a value is not what such a model can hold; the message names it.
        """
        facts = facts_from_plain(values, DBSCAN.name, _FORMAT, DbscanParameters, CLUSTERING)
        setting = Setting(facts)
        answers = checked_whole_numbers(plain_part(values, "answers", dict), {COUNTS: setting.cells})
        return cls(setting, values["noise"], answers[COUNTS])


class Dbscan(PrivateEstimator):
    """DBSCAN on a grid with the scikit-learn API; it is private if its noise is.

    X (n, d): numbers (NaN: missing, where the column may be), categories as codes. y (n,): codes of the target's
    classes, which say only which rows are empty (−1); no group is made from them.

    Attributes:
        model_: what :meth:`fit` released.
    """

    model_: DbscanModel

    def __init__(
        self,
        attributes: Sequence[Attribute],
        target: Attribute,
        parameters: DbscanParameters,
        noise: CentralNoise,
        charge: Charge | None = None,
    ) -> None:
        super().__init__(attributes, target, parameters, noise, charge)
        self.parameters: DbscanParameters = parameters

    def _setting(self, rows: int) -> Setting:
        checked_schema(self.attributes, self.target, CLUSTERING)
        private = noise_kind(self.noise) != "none"
        setting = Setting(Facts(tuple(self.attributes), self.target, self.parameters, rows, private))
        _ = setting.sizes  # too many cells are told of before anything is charged
        return setting

    def events(self, rows: int | None = None) -> tuple[PureDp, ...]:
        """Return what a fit on ``rows`` rows costs, one event a query (of the last fit where none is given)."""
        setting = self.model_.setting if rows is None else self._setting(rows)
        return (PureDp(setting.share, COUNTS),) if setting.private else ()

    def cost(self, rows: int) -> Cost | None:
        """Return what a fit on ``rows`` rows is charged; ``None`` without noise."""
        return self._composed(DBSCAN.name, rows)

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Charge, then read the rows, then release the noisy count of each cell.

        Raises:
            BudgetRefusedError: from the charge; nothing was read.
            InputError: a value that the column's declaration does not allow, naming row and column.
            ParameterError: there are more cells than can be counted.
        """
        setting = self._setting(table_shape(X, y, self.attributes))
        self._pay(self.cost(setting.rows))
        here = checked_classes(y, setting.facts.target) != EMPTY
        numbers = setting.number(setting.cell(X)[here])
        counts = [int(v) for v in np.bincount(numbers, minlength=setting.cells)]
        released = self.noise.integers(counts, 1, setting.budget)
        self.model_ = DbscanModel(setting, noise_kind(self.noise), released)
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Return the group of each row (n,)."""
        return self.model_.predict(X)

    def to_plain(self) -> dict[str, Any]:
        """Return the fitted model as JSON holds it."""
        return self.model_.to_plain()

    @staticmethod
    def from_plain(values: Mapping[str, Any]) -> DbscanModel:
        """Return the model that :meth:`to_plain` wrote; it predicts, and cannot be fitted again."""
        return DbscanModel.from_plain(values)


def _ordinary(attributes: Sequence[Attribute], target: Attribute) -> Dbscan:
    """Return the same model without noise: private and ordinary are one code path."""
    return Dbscan(attributes, target, DbscanParameters(), NoNoise())


DBSCAN = Learner(
    name="dbscan",
    title="DBSCAN on a grid",
    about="It counts the rows in each cell of a public grid, adds noise, and joins dense cells that touch.",
    task=CLUSTERING,
    parameters=DbscanParameters,
    estimator=Dbscan,
    ordinary=_ordinary,
    short="DBSCAN",
)
