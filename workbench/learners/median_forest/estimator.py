"""Regression by sample-and-aggregate (Nissim, Raskhodnikova & Smith 2007, section 4) of forests or XGBoost.

*The blocks.* Row i belongs to block i mod B, by its public place alone. On each block an ordinary model is trained,
from its own rows and a public seed. The answer to a row x is a private median of the B predictions for x, each clamped
to the target's declared bounds and rounded to a public grid (:mod:`workbench.privacy.central.private_median`). What the
drawn cell says of the median is worked out from public facts (:mod:`workbench.learners.median_forest.blocks`).

*The guarantee.* A row is in one block, so that emptying it (zero-out), or replacing it by any other, changes one of the
B predictions for x, whatever the model of a block does with its rows: each answer costs ε, under both relations alike,
and q answers cost q·ε. (Cards give 2ε for replace-one, which holds for every learner; here ε does.)

A released fit can therefore not be asked forever. It answers the rows of a public file (``ask``), is charged for all of
them before a row of the table is read, publishes rows and answers, and throws the blocks away. In a study the blocks
stay in memory and each prediction is drawn when it is asked for.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.data.schema import Attribute
from workbench.learners.base import Answers, Model, PrivateEstimator, blocks_of, composed
from workbench.learners.checks import checked_numbers, plain_part
from workbench.learners.encoding import Encoding, grid_of
from workbench.learners.median_forest.blocks import (
    MIDDLE,
    AskedRows,
    BlockModel,
    Doubles,
    boosted,
    expected_medians,
    forest,
    require_xgboost,
    trained_blocks,
)
from workbench.learners.setting import FitSetting, how_many
from workbench.learners.tasks import REGRESSION
from workbench.params import InputError, ParameterError, Parameters, choice, integer, real, text
from workbench.params.remedies import give
from workbench.privacy.accounting.event import PureDp, exact, floor_double
from workbench.privacy.central.private_median import AGGREGATES, EPSILON_LEAST, EXPONENTIAL
from workbench.privacy.central.sums import scaled
from workbench.signals.cancel import check_here
from workbench.work.ask import Ask
from workbench.work.noise import Noise

MOST_BLOCKS = 1000


@dataclass(frozen=True, kw_only=True)
class MedianParameters(Parameters):
    """What both models share. The defaults were chosen on the public tables of the tests."""

    epsilon: float | None = real(
        default=None,
        at_least=EPSILON_LEAST,
        upto=1e6,
        symbol="ε",
        title="cost of each prediction",
        help="how much one prediction may reveal about one row; a release costs this times the number of rows to "
        "predict",
    )
    ask: str | None = text(
        default=None,
        file="table",
        title="rows to predict",
        empty="public rows",
        help="a file of public rows with the columns of the table; only these are predicted, and they are published",
    )
    blocks: int | None = integer(
        default=None,
        at_least=1,
        upto=MOST_BLOCKS,
        title="blocks",
        help="number of disjoint blocks of rows (default: from ε and the number of rows)",
    )
    aggregate: str = choice(
        choices=AGGREGATES,
        default=EXPONENTIAL,
        title="median by",
        help="exponential: exponential mechanism over cells by rank; smooth: noise by smooth sensitivity",
        advanced=True,
    )
    cells: int = integer(
        default=64,
        at_least=2,
        upto=512,
        title="cells of a prediction",
        help="number of equal cells of the target's range; fewer cells are less noisy but coarser",
        advanced=True,
    )


@dataclass(frozen=True, kw_only=True)
class MedianForestParameters(MedianParameters):
    """With the size of each block's forest."""

    trees: int = integer(
        default=10, at_least=1, upto=500, title="trees", help="number of trees in each block", advanced=True
    )
    depth: int | None = how_many("depth", 30, "maximum depth of a tree (default: until all rows in a leaf agree)")


@dataclass(frozen=True, kw_only=True)
class MedianXgboostParameters(MedianParameters):
    """With the size of each block's boosted trees."""

    trees: int = integer(
        default=20, at_least=1, upto=1000, title="trees", help="number of trees in each block", advanced=True
    )
    depth: int = integer(default=3, at_least=1, upto=15, title="depth", help="maximum depth of a tree", advanced=True)


_SURE, _RANKS = 3.0, 28.0
_LEAST_BLOCKS, _MOST_DEFAULT = 5, 300
_LEAST_ROWS = 4

# Where there are rows enough: three times as many ranks, so that the answer is hardly ever outside the blocks' answers.
# Chosen on taxi rides, where a block of 60 rows is still a fair model: at ε = 0.3 R² is .80 with them, .46 without.
_MORE_RANKS, _MOST_OF_MANY, _MANY_ROWS = 80.0, 800, 60


class Setting(FitSetting[MedianParameters]):
    """The public facts of a fit."""

    @property
    def blocks(self) -> int:
        """B, the number of blocks, each of at least one row.

        By default about 3 + 28/ε, as an answer is drawn among the ranks within a few 1/ε of the median's, while the
        blocks have a few rows each; up to 3 + 80/ε as long as they have many.
        """
        asked = self.parameters.blocks
        if asked is None:
            few = min(max(_SURE + _RANKS / self.epsilon, _LEAST_BLOCKS), _MOST_DEFAULT)
            many = min(_SURE + _MORE_RANKS / self.epsilon, _MOST_OF_MANY, self.rows // _MANY_ROWS)
            asked = max(1, min(round(few), self.rows // _LEAST_ROWS), round(many))
        return min(asked, self.rows)

    @property
    def scale(self) -> int:
        """K of the encoding of the columns: numbers lie on a grid of 2K + 1 places within their bounds."""
        return grid_of(1)

    @property
    def share(self) -> float:
        """ε of each prediction, as a double that is not above it."""
        return floor_double(exact(self.epsilon))

    @property
    def cells(self) -> int:
        """The number of values that an answer can have."""
        return self.parameters.cells

    def to_cells(self, shares: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the cell of each share of the target's range, clamped to it; any shape. NaN gets the middle."""
        clamped = np.clip(np.nan_to_num(shares, nan=MIDDLE), 0.0, 1.0)
        return np.rint(clamped * (self.cells - 1)).astype(np.int64)

    def to_numbers(self, cells: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the number that each answer represents, within the bounds: with noise, the expected median."""
        if not self.private:
            return to_numbers(cells / (self.cells - 1), self.target)
        shares = expected_medians(self.parameters.aggregate, self.blocks, self.cells, self.share)
        return to_numbers(shares[cells], self.target)


def to_shares(numbers: NDArray[np.float64], target: Attribute) -> NDArray[np.float64]:
    """Return the place of each number in the target's range, 0 at the lower bound and 1 at the upper; NaN stays."""
    return (scaled(numbers, *target.bounds()) + 1) / 2


def to_numbers(shares: NDArray[np.float64], target: Attribute) -> NDArray[np.float64]:
    """Return the number at each place of the target's range, clamped to it."""
    lower, upper = target.bounds()
    inside = np.clip(shares, 0.0, 1.0)
    return np.asarray(np.clip(lower * (1 - inside) + upper * inside, lower, upper))


_ANSWERS, _EACH = "predictions", "each prediction"


class AnsweredRows(Model[Setting]):
    """A model that predicts the rows it was asked about when it was released, and no others."""

    task, version, setting_type = REGRESSION, 2, Setting

    def __init__(self, setting: Setting, noise: str, answers: Answers, asked: AskedRows) -> None:
        super().__init__(setting, noise, answers)
        self.asked = asked  # the rows
        self.cells = tuple(answers[_ANSWERS])  # the cell of each row's answer
        if not all(0 <= cell < setting.cells for cell in self.cells):
            raise ParameterError(f"an answer is not one of the {setting.cells:,} cells", "the model")

    def events(self) -> tuple[PureDp, ...]:
        """Return what the fit cost: one event for each asked row."""
        return predictions(self.setting, len(self.asked))

    def require_answered(self, X: ArrayLike) -> NDArray[np.int64]:
        """Return the place of each row of X (n, d) among the asked ones.

        Raises:
            InputError: a row is none of them; its number is named.
        """
        places = self.asked.places(X, self.setting.attributes)
        if (places < 0).any():
            row = int(np.argmax(places < 0)) + 1
            raise InputError(
                f"the row is not among the {len(self.asked)} rows that this model predicts: each prediction "
                "cost epsilon at release",
                f"row {row}",
                "predict rows from its list, or fit again with other rows to predict",
            )
        return places

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the released answer for each row (n,), a value of the public grid."""
        return self.setting.to_numbers(np.array(self.cells, dtype=np.int64)[self.require_answered(X)])

    def more(self) -> dict[str, Any]:
        return {"asked": self.asked.to_plain()}

    @classmethod
    def read(cls, values: Mapping[str, Any], setting: Setting) -> dict[str, Any]:
        return {"asked": AskedRows.from_plain(plain_part(values, "asked", list), setting.attributes)}

    @classmethod
    def lengths(cls, setting: Setting, answered: Mapping[str, Any], **read: Any) -> Mapping[str, int]:
        return {_ANSWERS: len(read["asked"])}


class ForestAnswers(AnsweredRows):
    """Answers of forests."""

    name, parameters_type = "median-forest", MedianForestParameters


class XgboostAnswers(AnsweredRows):
    """Answers of boosted trees; to read them needs no XGBoost."""

    name, parameters_type = "median-xgboost", MedianXgboostParameters


def predictions(setting: Setting, rows: int) -> tuple[PureDp, ...]:
    """Return what so many predictions cost, one event each; none without noise."""
    share = exact(setting.epsilon) if setting.private else None
    return () if share is None else tuple(PureDp(share, f"prediction {i}") for i in range(1, rows + 1))


class Blocks:
    """The models of the blocks, in memory only: each prediction of a study is drawn when it is asked for.

    Attributes:
        setting: the public facts.
        blocks: the models.
    """

    def __init__(self, setting: Setting, blocks: list[BlockModel], noise: Noise, name: str) -> None:
        self.setting, self.blocks = setting, blocks
        self._noise, self._name = noise, name

    attributes_used = AnsweredRows.attributes_used

    def events(self) -> tuple[PureDp, ...]:
        """Return what each prediction costs."""
        return tuple(PureDp(event.epsilon, _EACH) for event in predictions(self.setting, 1))

    def cells(self, ask: Ask, X: ArrayLike) -> list[int]:
        """Return the cell of a median of the blocks for each row; without noise the median itself."""
        setting = self.setting
        rows = setting.encoding.encode(X, setting.scale).astype(np.float32)
        way, size, found = setting.parameters.aggregate, setting.cells, list[int]()
        for here in blocks_of(len(rows)):
            shares = []
            for block in self.blocks:
                check_here()
                shares.append(np.asarray(block.predict(rows[here]), dtype=np.float64))
            for cells in np.sort(setting.to_cells(np.array(shares)), axis=0).T.tolist():
                check_here()  # a median is drawn in half a millisecond
                found.append(ask.median(f"prediction {len(found) + 1}", cells, size, way))
        return found

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return a fresh prediction for each row (n,), at ε each."""
        costs = predictions(self.setting, len(np.asarray(X)))
        ask = self._noise.ask(composed(costs, self._name))
        return self.setting.to_numbers(np.array(self.cells(ask, X), dtype=np.int64))

    def to_plain(self) -> dict[str, Any]:
        """Raise :class:`ParameterError`: the blocks of a study are never written."""
        raise ParameterError("the blocks of a study are kept in memory only", hint="name the rows to predict (ask)")


class SampleAndAggregate(PrivateEstimator[AnsweredRows]):
    """What both models share; numbers are clamped to the target's bounds.

    Attributes:
        trainer: makes the ordinary model of the rows of one block.
        model_: the answers, where rows were asked; else, in a study, the models of the :class:`Blocks`.
    """

    empty_rows = True  # a row's block follows from its place

    def randomness(self, rows: int) -> str:
        return "a cell of a public grid by whole-number weights, exactly, with random bits from the operating system"

    trainer: ClassVar[Callable[..., BlockModel]]
    _read: tuple[str, AskedRows] | None = None

    def stated(self) -> MedianParameters:
        """Return the parameters without the path of the asked rows: the model holds the rows themselves."""
        given: MedianParameters = self.parameters
        return dataclasses.replace(given, ask=None)

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
                    "the rows to predict are missing: each prediction costs epsilon, so they must be known at release",
                    hint=give(
                        "ask",
                        "name a file of public rows with the columns of the table: --ask FILE",
                        python="name a file of public rows with the columns of the table: ask=",
                    ),
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

    def _events_of(self, setting: Setting) -> tuple[PureDp, ...]:
        """Return one event for each asked row, or the one that each later row costs."""
        if not setting.private:
            return ()
        asked = self.asked_rows()
        return (PureDp(exact(setting.epsilon), _EACH),) if asked is None else predictions(setting, len(asked))

    def _learn(self, ask: Ask, setting: Setting, X: Doubles, y: Doubles) -> Any:
        goal = to_shares(y, setting.target)
        encoded = np.concatenate([setting.encoding.encode(X[here], setting.scale) for here in blocks_of(len(y))])
        train = partial(self.trainer, trees=self.parameters.trees, depth=self.parameters.depth)
        blocks = Blocks(setting, trained_blocks(encoded, goal, setting.blocks, train), self.noise, self.model_type.name)
        asked = self.asked_rows()
        if asked is None:
            return blocks
        return self.model_type(setting, self.noise.name, {_ANSWERS: blocks.cells(ask, asked.X)}, asked)  # type: ignore[call-arg]

    def _finish(self, ask: Ask, setting: Any = None) -> None:
        if self.asked_rows() is not None:  # what a study pays for a prediction, it asks when it predicts
            super()._finish(ask, setting)


class MedianForest(SampleAndAggregate):
    """The median of ordinary forests."""

    model_type, trainer = ForestAnswers, staticmethod(forest)


class MedianXgboost(SampleAndAggregate):
    """The median of boosted trees by XGBoost, an optional library."""

    model_type, trainer = XgboostAnswers, staticmethod(boosted)

    def _setting(self, rows: int) -> Setting:
        require_xgboost()
        found: Setting = super()._setting(rows)
        return found


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


MEDIAN_FOREST = MedianForest.described(
    "Median of forests",
    "Trains forests on disjoint blocks of rows and predicts with a private median of their predictions; each "
    "prediction costs ε.",
    ordinary=partial(OrdinaryTrees, boost=False),
    each_prediction=True,
)

MEDIAN_XGBOOST = MedianXgboost.described(
    "Median of XGBoost",
    "Trains XGBoost on disjoint blocks of rows and predicts with a private median of their predictions; each "
    "prediction costs ε.",
    ordinary=partial(OrdinaryTrees, boost=True),
    each_prediction=True,
)
