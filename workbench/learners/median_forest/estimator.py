"""Regression by sample-and-aggregate (Nissim, Raskhodnikova & Smith 2007, section 4), of forests or of XGBoost.

*The blocks.* Row i belongs to block i mod B, by its public place alone. On each block an ordinary model is trained,
from its own rows and a public seed. The answer to a row x is a private median of the B predictions for x, each clamped
to the target's declared bounds and rounded to a public grid (:mod:`workbench.privacy.central.private_median`). What the
drawn cell says of the median is worked out from public facts (:mod:`workbench.learners.median_forest.expected_median`).

*The guarantee.* A row is in one block, so that emptying it (zero-out), or replacing it by any other, changes one of the
B predictions for x, whatever the model of a block does with its rows: each answer costs ε, under both relations alike,
and q answers cost q·ε. (Cards give 2ε for replace-one, which holds for every learner; here ε does.)

A released fit can therefore not be asked forever. It answers the rows of a public file (``ask``), is charged for all of
them before a row of the table is read, publishes rows and answers, and throws the blocks away. In a study the blocks
stay in memory and each prediction is drawn when it is asked for.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.data.schema import Attribute
from workbench.learners.base import (
    Learner,
    PrivateEstimator,
    checked_numbers,
    checked_schema,
    noise_kind,
    table_shape,
)
from workbench.learners.encoding import Encoding, grid_of
from workbench.learners.median_forest.asked_rows import AskedRows
from workbench.learners.median_forest.blocks import (
    BlockModel,
    Doubles,
    Encoded,
    boosted,
    forest,
    require_xgboost,
    trained_blocks,
)
from workbench.learners.median_forest.model import AnsweredRows
from workbench.learners.median_forest.parameters import (
    MedianForestParameters,
    MedianParameters,
    MedianXgboostParameters,
)
from workbench.learners.median_forest.setting import Setting, to_numbers, to_shares
from workbench.learners.plain import Facts
from workbench.learners.tasks import REGRESSION
from workbench.params import ParameterError
from workbench.privacy.accounting.event import Charge, Cost, PureDp, exact
from workbench.privacy.central import CentralNoise
from workbench.privacy.central.private_median import median, private_median


class SampleAndAggregate(PrivateEstimator):
    """What both models share, with the scikit-learn API; private if its noise is.

    X (n, d): numbers (NaN: missing, where the column may be), categories as codes 0 … k−1 (k: missing). y (n,):
    numbers, clamped to the target's bounds; NaN marks an empty row, which contributes nothing.

    Attributes:
        setting_: the public facts of the last fit.
        blocks_: the models of the blocks, in memory only; ``None`` once rows were asked and answered.
        model_: the answers, where rows were asked.
    """

    name: ClassVar[str]
    randomness = "a cell of a public grid by whole-number weights, exactly, with random bits from the operating system"

    setting_: Setting
    blocks_: list[BlockModel] | None
    model_: AnsweredRows | None

    def __init__(
        self,
        attributes: Sequence[Attribute],
        target: Attribute,
        parameters: MedianParameters,
        noise: CentralNoise,
        charge: Charge | None = None,
    ) -> None:
        super().__init__(attributes, target, parameters, noise, charge)
        self.parameters: MedianParameters = parameters
        self._read: tuple[str, AskedRows] | None = None

    @abstractmethod
    def _train(self, X: Encoded, y: Doubles, seed: int) -> BlockModel:
        """Return the ordinary model of the rows of one block."""

    def _setting(self, rows: int) -> Setting:
        checked_schema(self.attributes, self.target, REGRESSION)
        # The path of the asked rows is nobody's business: the model holds the rows themselves.
        stated = dataclasses.replace(self.parameters, ask=None)
        private = noise_kind(self.noise) != "none"
        return Setting(Facts(tuple(self.attributes), self.target, stated, rows, private))

    def asked_rows(self) -> AskedRows | None:
        """Return the rows that ``ask`` names, read once; ``None`` in a study that names none.

        Raises:
            InputError: the file cannot be used.
            ParameterError: a fit may be released, and no rows are named.
        """
        path = self.parameters.ask
        if path is None:
            if self.noise.releasable:
                raise ParameterError(
                    "the rows to predict are not named, and each prediction costs epsilon",
                    hint="give ask, a file of public rows with the columns of the table",
                    field="ask",
                )
            return None
        if self._read is None or self._read[0] != path:
            self._read = path, AskedRows.read(path, self.attributes)
        return self._read[1]

    @property
    def files_read(self) -> Mapping[str, bytes]:
        """SHA-256 of the file of asked rows."""
        asked = self.asked_rows()
        return {} if asked is None else {"ask": asked.digest}

    def published_parameters(self) -> dict[str, Any]:
        """Return the parameters without the path of the asked rows."""
        return dataclasses.replace(self.parameters, ask=None).to_plain()

    def events(self, rows: int | None = None) -> tuple[PureDp, ...]:
        """Return what a fit on ``rows`` rows costs: one event for each asked row, or the one that each later row costs.

        (Of the last fit where no ``rows`` are given.)
        """
        setting = self.setting_ if rows is None else self._setting(rows)
        if not setting.private:
            return ()
        asked, share = self.asked_rows(), exact(setting.epsilon)
        if asked is None:
            return (PureDp(share, "each prediction"),)
        return tuple(PureDp(share, f"prediction {place}") for place in range(1, len(asked) + 1))

    def cost(self, rows: int) -> Cost | None:
        """Return what a fit on ``rows`` rows is charged; ``None`` without noise."""
        return self._composed(self.name, rows)

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Charge, then read the rows, train the blocks, and answer the rows that are asked, if any.

        Raises:
            BudgetRefusedError: from the charge; nothing was read.
            InputError: a value that the column's declaration does not allow, naming row and column.
        """
        setting = self._setting(table_shape(X, y, self.attributes))
        asked = self.asked_rows()
        self._pay(self.cost(setting.rows))
        goal = to_shares(checked_numbers(y, setting.facts.target), setting.facts.target)
        encoded = setting.encoding.encode(X, setting.scale)
        made = trained_blocks(encoded, goal, setting.blocks, self._train)
        self.setting_, self.model_, self.blocks_ = setting, None, made
        if asked is not None:
            answers = self._answers(asked.X)
            self.model_ = AnsweredRows(setting, self.name, noise_kind(self.noise), asked, answers)
            self.blocks_ = None
        return self

    def _answers(self, X: ArrayLike) -> list[int]:
        """Return the cell of a median of the blocks for each row, drawn anew; without noise the median itself."""
        setting, made = self.setting_, self.blocks_
        assert made is not None
        rows = setting.encoding.encode(X, setting.scale).astype(np.float32)
        stated = setting.to_cells(np.array([np.asarray(block.predict(rows), dtype=np.float64) for block in made]))
        sorted_cells = np.sort(stated, axis=0).T.tolist()
        if not setting.private:
            return [median(cells) for cells in sorted_cells]
        way, size, share = setting.parameters.aggregate, setting.cells, setting.share
        return [private_median(way, cells, size, share, self.noise) for cells in sorted_cells]

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the predicted number of each row (n,): the released answers, or in a study fresh ones at ε each.

        Raises:
            InputError: rows were asked at the fit, and this is none of them.
        """
        if self.model_ is not None:
            return self.model_.predict(X)
        return self.setting_.to_numbers(np.array(self._answers(X), dtype=np.int64))

    def to_plain(self) -> dict[str, Any]:
        """Return asked rows and answers as JSON holds them.

        Raises:
            ParameterError: no rows were asked: the blocks of a study are never written.
        """
        if self.model_ is None:
            raise ParameterError("the blocks of a study are kept in memory only", hint="name the rows to predict (ask)")
        return self.model_.to_plain()


class MedianForest(SampleAndAggregate):
    """The median of ordinary forests."""

    name = "median-forest"
    parameters: MedianForestParameters

    def _train(self, X: Encoded, y: Doubles, seed: int) -> BlockModel:
        return forest(X, y, seed, trees=self.parameters.trees, depth=self.parameters.depth)

    @staticmethod
    def from_plain(values: Mapping[str, Any]) -> AnsweredRows:
        """Return the model that :meth:`to_plain` wrote; it answers its rows, and cannot be fitted again."""
        return AnsweredRows.from_plain(values, MedianForest.name, MedianForestParameters)


class MedianXgboost(SampleAndAggregate):
    """The median of boosted trees by XGBoost, an optional library."""

    name = "median-xgboost"
    parameters: MedianXgboostParameters

    def _setting(self, rows: int) -> Setting:
        require_xgboost()
        return super()._setting(rows)

    def _train(self, X: Encoded, y: Doubles, seed: int) -> BlockModel:
        return boosted(X, y, seed, trees=self.parameters.trees, depth=self.parameters.depth)

    @staticmethod
    def from_plain(values: Mapping[str, Any]) -> AnsweredRows:
        """Return the model that :meth:`to_plain` wrote; it answers its rows, and needs no XGBoost for that."""
        return AnsweredRows.from_plain(values, MedianXgboost.name, MedianXgboostParameters)


class OrdinaryTrees:
    """One ordinary model of all rows, as :class:`SampleAndAggregate` reads them; without privacy."""

    _TREES = 100

    def __init__(self, attributes: Sequence[Attribute], target: Attribute, *, boost: bool) -> None:
        if boost:
            require_xgboost()
        self._encoding, self._target, self._boost = Encoding(tuple(attributes)), target, boost

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Train on rows X (n, d) and numbers y (n,)."""
        goal = to_shares(checked_numbers(y, self._target), self._target)
        here = ~np.isnan(goal)
        rows, goal = self._encoding.encode(X, grid_of(1))[here], goal[here]
        if self._boost:
            self._model = boosted(rows, goal, 0, trees=self._TREES, depth=4, rate=0.1)
        else:
            self._model = forest(rows, goal, 0, trees=self._TREES, depth=None)
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the predicted number of each row (n,)."""
        rows = self._encoding.encode(X, grid_of(1)).astype(np.float32)
        return to_numbers(np.asarray(self._model.predict(rows), dtype=np.float64), self._target)


def _ordinary_forest(attributes: Sequence[Attribute], target: Attribute) -> OrdinaryTrees:
    return OrdinaryTrees(attributes, target, boost=False)


def _ordinary_boosted(attributes: Sequence[Attribute], target: Attribute) -> OrdinaryTrees:
    return OrdinaryTrees(attributes, target, boost=True)


MEDIAN_FOREST = Learner(
    name=MedianForest.name,
    title="Median of forests",
    about="It trains forests on disjoint blocks of rows and answers with a private median of their predictions; each "
    "prediction costs ε.",
    task=REGRESSION,
    parameters=MedianForestParameters,
    estimator=MedianForest,
    ordinary=_ordinary_forest,
    each_prediction=True,
)

MEDIAN_XGBOOST = Learner(
    name=MedianXgboost.name,
    title="Median of XGBoost",
    about="It trains XGBoost on disjoint blocks of rows and answers with a private median of their predictions; each "
    "prediction costs ε.",
    task=REGRESSION,
    parameters=MedianXgboostParameters,
    estimator=MedianXgboost,
    ordinary=_ordinary_boosted,
    each_prediction=True,
)
