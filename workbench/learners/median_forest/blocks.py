"""Assigns rows to blocks and trains an ordinary model on each block.

What a drawn cell says of the median that it was drawn for: post-processing, which costs nothing.

With few blocks or little ε, a cell is often drawn far from the median, and a number taken at its word would be worse
than none. How a cell is drawn is public. With the public assumptions that the blocks' answers are spread normally about
their median by :data:`SPREAD` of the target's range, and that medians lie about the middle of the range by
:data:`PRIOR` of it, the expected median given the drawn cell follows (Bayes). Where the noise is small that is the
cell; where nothing can be known it is the middle of the range. The assumptions bear on the error alone, not on privacy.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.data.schema import Attribute
from workbench.learners.base import ROWS_AT_ONCE
from workbench.learners.checks import checked_columns
from workbench.params import InputError, ParameterError
from workbench.params.errors import require
from workbench.privacy.central.private_median import median_weights
from workbench.signals.cancel import check_here

MOST_ASKED = 10_000

_LOOK = 0.05  # seconds between two looks whether to stop, while a library is loaded


@dataclass(frozen=True, eq=False)
class AskedRows:
    """Different rows, in the order in which they were first asked."""

    X: NDArray[np.float64]  # (q, d), numbers (NaN: missing) and codes as every learner reads them
    digest: bytes = b""  # SHA-256 of the file that they were read from; empty of rows that were not

    def __len__(self) -> int:
        return len(self.X)

    @classmethod
    def read(cls, path: str, attributes: Sequence[Attribute]) -> AskedRows:
        """Return the rows of a file; further columns of it are not looked at.

        Raises:
            InputError: it cannot be read, lacks a column, has a value that does not fit, or too many rows.
        """
        from workbench.data.columns.grid import matrix  # loads polars
        from workbench.data.table_reader import read_table

        names = [attribute.name for attribute in attributes]
        table = read_table(path, names=names)
        table.require(names)
        if table.rows > MOST_ASKED:
            raise InputError(f"there are {table.rows:,} rows to predict", path, f"give at most {MOST_ASKED:,}")
        try:
            return cls.of(matrix(table, attributes), attributes, table.digest)
        except InputError as error:
            raise error.at(f"{path}, {error.where}") from None

    @classmethod
    def of(cls, X: ArrayLike, attributes: Sequence[Attribute], digest: bytes = b"") -> AskedRows:
        """Return the different ones of rows X (n, d); a row that is asked twice is answered and paid once."""
        rows = checked_columns(X, attributes)
        first = {key: place for place, key in reversed(list(enumerate(keys_of(rows))))}
        return cls(rows[sorted(first.values())], digest)

    def to_plain(self) -> list[list[float | None]]:
        """Return the rows as JSON holds them; ``null`` is a missing number."""
        return [[None if np.isnan(cell) else float(cell) for cell in row] for row in self.X]

    @classmethod
    def from_plain(cls, values: Any, attributes: Sequence[Attribute]) -> AskedRows:
        """Return the rows that :meth:`to_plain` wrote.

        Raises:
            ParameterError: they are no such rows.
        """
        wrong = ParameterError("the key 'asked' does not list distinct rows with this model's columns", "the model")
        if not isinstance(values, list) or not 1 <= len(values) <= MOST_ASKED:
            raise wrong
        for row in values:
            if not isinstance(row, list) or len(row) != len(attributes):
                raise wrong
            if not all(cell is None or (isinstance(cell, int | float) and not isinstance(cell, bool)) for cell in row):
                raise wrong
        try:
            rows = np.array([[np.nan if cell is None else cell for cell in row] for row in values], dtype=np.float64)
            found = cls.of(rows, attributes)
        except (InputError, OverflowError):
            raise wrong from None
        if len(found) != len(rows):
            raise wrong
        return found

    def places(self, X: ArrayLike, attributes: Sequence[Attribute]) -> NDArray[np.int64]:
        """Return for each row of X (n, d) its place among these rows, −1 where it is none of them."""
        known = {key: place for place, key in enumerate(keys_of(self.X))}
        return np.array([known.get(key, -1) for key in keys_of(checked_columns(X, attributes))], dtype=np.int64)


def keys_of(rows: NDArray[np.float64]) -> list[bytes]:
    """Return the bytes of each row, the same for equal rows: one zero, one NaN."""
    plain = np.where(np.isnan(rows), np.nan, rows + 0.0)
    return [row.tobytes() for row in plain]


MIDDLE = 0.5  # what a block without a row answers, as a share of the target's range

Encoded = NDArray[np.int64]
Doubles = NDArray[np.float64]


class BlockModel(Protocol):
    """The model of one block."""

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted share of the range of each row (n,)."""
        ...


Trainer = Callable[[Encoded, Doubles, int], BlockModel]
"""Makes the model of encoded rows (n, D) and their shares of the range (n,), with a public seed in the third place."""


class Constant:
    """The model of a block without a row: the middle of the range."""

    def predict(self, X: Any) -> Doubles:
        """Return the same share for each row (n,)."""
        return np.full(len(X), MIDDLE)


def deal(rows: int, blocks: int) -> Iterator[NDArray[np.int64]]:
    """Yield the places of the rows of each block: row i is in block i mod B, and in no other.

    It rests on the place alone: an emptied row stays in its block, and the others stay in theirs.
    """
    for block in range(blocks):
        yield np.arange(block, rows, blocks)


def trained_blocks(X: Encoded, y: Doubles, blocks: int, train: Trainer) -> list[BlockModel]:
    """Return the model of each block, made from its own rows and the number of the block alone.

    Args:
        X: encoded rows (n, D).
        y: the target's share of its range in each row (n,), NaN of an empty one, which contributes nothing.
        blocks: B.
        train: makes a model.
    """
    made: list[BlockModel] = []
    for block, places in enumerate(deal(len(y), blocks)):
        check_here()
        here = places[~np.isnan(y[places])]
        made.append(train(X[here], y[here], block) if len(here) else Constant())
    return made


def forest(X: Encoded, y: Doubles, seed: int, *, trees: int, depth: int | None) -> BlockModel:
    """Return an ordinary random forest (scikit-learn's)."""
    from sklearn.ensemble import RandomForestRegressor

    # One thread: the mean over the trees is then always summed in one order.
    model = RandomForestRegressor(max_depth=depth, random_state=seed, n_jobs=1, warm_start=True)
    rows = X.astype(np.float32)  # whole numbers of 16 bits: exact
    step = max(1, ROWS_AT_ONCE // len(y))
    for made in (*range(step, trees, step), trees):  # the same trees as all at once
        check_here()
        model.set_params(n_estimators=made).fit(rows, y)
    fitted: BlockModel = model
    return fitted


def boosted(X: Encoded, y: Doubles, seed: int, *, trees: int, depth: int, rate: float = 0.3) -> BlockModel:
    """Return ordinary boosted trees (XGBoost's).

    Raises:
        ParameterError: XGBoost is not installed.
    """
    _load_xgboost()
    from xgboost import XGBRegressor
    from xgboost.callback import TrainingCallback

    class Look(TrainingCallback):  # type: ignore[misc]  # XGBoost has no types
        """Looks before each tree whether to stop."""

        def before_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            """Return ``False``, to go on; a stop that was requested ends the fit."""
            check_here()
            return False

    model = XGBRegressor(
        n_estimators=trees,
        max_depth=depth,
        learning_rate=rate,
        tree_method="exact",
        n_jobs=1,
        random_state=seed,
        verbosity=0,
        callbacks=[Look()],
    )
    fitted: BlockModel = model.fit(X.astype(np.float32), y)
    model.callbacks = None  # they cannot be pickled, and are for fitting alone
    return fitted


def _load_xgboost() -> None:
    """Import XGBoost, which takes seconds, in a thread that is left to itself where a stop is requested meanwhile."""
    require_xgboost()
    if "xgboost" in sys.modules:
        return
    loading = threading.Thread(target=_import_xgboost, daemon=True)
    loading.start()
    while loading.is_alive():
        check_here()
        loading.join(_LOOK)


def _import_xgboost() -> None:
    with contextlib.suppress(ImportError):  # whoever uses it imports it again, and gets the error
        importlib.import_module("xgboost")


def require_xgboost() -> None:
    """Raise :class:`ParameterError` with the command that installs XGBoost, where it is not installed."""
    require("xgboost", "median-xgboost")


SPREAD = 0.05
PRIOR = 0.25


@lru_cache(maxsize=16)
def _expected(aggregate: str, blocks: int, size: int, epsilon: float) -> tuple[float, ...]:
    about = np.array([NormalDist().inv_cdf((block + 0.5) / blocks) for block in range(blocks)]) * SPREAD
    places = np.arange(size) / (size - 1)
    chances = np.empty((size, size))  # of each drawn cell (fastest) at each median
    for cell, place in enumerate(places):
        answers = np.sort(np.rint(np.clip(place + about, 0, 1) * (size - 1))).astype(np.int64)
        weights = median_weights(aggregate, answers.tolist(), size, epsilon)
        total = sum(weights)
        chances[cell] = [weight / total for weight in weights]
    joint = chances * np.exp(-((places - 0.5) ** 2) / (2 * PRIOR**2))[:, None]
    expected: NDArray[np.float64] = (joint * places[:, None]).sum(axis=0) / joint.sum(axis=0)
    return tuple(float(place) for place in expected)


def expected_medians(aggregate: str, blocks: int, size: int, epsilon: float) -> NDArray[np.float64]:
    """Return the expected median for each drawn cell (size,), as a share of the target's range.

    Args:
        aggregate: how the cells are drawn.
        blocks: B.
        size: number of cells.
        epsilon: of each prediction.
    """
    return np.array(_expected(aggregate, blocks, size, epsilon))
