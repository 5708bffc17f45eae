"""What all private learners share: shares of ε, the size of the noise, checks of the input, the descriptor."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_DOWN, Decimal, localcontext
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.data.schema import KINDS, Attribute
from workbench.learners.tasks import CLASSIFICATION, EMPTY, task
from workbench.params import InputError, ParameterError, Parameters
from workbench.params.remedies import declare
from workbench.privacy.accounting.event import Charge, Composed, Cost, PureDp
from workbench.privacy.central import CentralNoise, NoNoise

NOISES = ("released", "study", "none")
"""The origin of a model's noise: only ``released`` models may be published; ``none`` has no privacy at all."""

_SHARE_DIGITS = 12
_EXACT_DIGITS = 100


@dataclass(frozen=True, kw_only=True)
class Learner:
    """The descriptor of a learner: light, so that lists and forms can be shown before anything is computed.

    It is all that the window, the command line and the studies know of a learner.

    Attributes:
        name: the word of the command line.
        title: its name for a person.
        about: how it is trained, in one sentence.
        task: what it makes: the name of a :class:`workbench.learners.tasks.Task`.
        parameters: its declared parameters; ``epsilon`` is one of them.
        estimator: makes the private model; a class with ``fit``, ``predict`` and what :class:`PrivateEstimator` asks.
        ordinary: makes the ordinary model of the same family from attributes and target, without privacy; ``None``
            where there is none.
        corrected: a ``CorrectedEstimator``: makes the model that learns from sanitised cells, knowing the public tables
            of the attributes and of the target; asked about rows as the others are. ``None`` where there is none.
        blind: makes the model that looks at no row, from attributes and target: what a study compares with where no
            constant answer exists; ``None`` elsewhere.
        check: raises :class:`ParameterError` where it cannot use columns of the right kinds: too many, or too few.
        kinds: the kinds of columns that it can learn from.
        short: the title where there is little room.
        relation: the neighbours that its cost is stated for.
        each_prediction: whether ε is the cost of each prediction and not of the whole model.
    """

    name: str
    title: str
    about: str
    task: str
    parameters: type[Parameters]
    estimator: type[PrivateEstimator]
    ordinary: Callable[[Sequence[Attribute], Attribute], Any] | None = None
    corrected: type[Any] | None = None
    blind: Callable[[Sequence[Attribute], Attribute], Any] | None = None
    check: Callable[[Sequence[Attribute]], None] | None = None
    kinds: tuple[str, ...] = KINDS
    short: str = ""
    relation: str = "zero-out"
    each_prediction: bool = False

    @property
    def needs(self) -> str:
        """What it needs of the table, in a sentence or two."""
        columns = "" if self.kinds == KINDS else f" It learns from columns of kind {', '.join(self.kinds)}."
        return f"{task(self.task).needs}{columns}"

    def require(self, attributes: Sequence[Attribute], target: Attribute) -> None:
        """Check that the columns are what this learner can use.

        Raises:
            ParameterError: they are not; the message names the column.
        """
        checked_schema(attributes, target, self.task)
        for attribute in attributes:
            if attribute.kind not in self.kinds:
                raise ParameterError(
                    f"{self.title} cannot use a column of kind {attribute.kind}",
                    f"column {attribute.name}",
                    ("drop it", "choose another model"),
                    code="column-kind",
                )
        if self.check is not None:
            self.check(attributes)

    def private(
        self, attributes: Sequence[Attribute], target: Attribute, parameters: Parameters, noise: CentralNoise
    ) -> PrivateEstimator:
        """Return the private model, still to be fitted.

        Raises:
            ParameterError: the columns are not what it can use.
        """
        self.require(attributes, target)
        return self.estimator(attributes, target, parameters, noise)


class PrivateEstimator(ABC):
    """The part of the scikit-learn protocol that is the same for all learners.

    A subclass calls :meth:`_pay` in ``fit`` before it looks at a row.

    Attributes:
        attributes: the public facts about the columns of X, in order.
        target: the public facts about y.
        parameters: the learner's declared parameters.
        noise: where the noise of the released numbers comes from.
        charge: called with the cost before the data are read; a fit with releasable noise must have one.
        randomness: where the randomness of a released model comes from, for its card.
    """

    parameters: Parameters
    randomness = (
        "exact discrete Laplace on integers (OpenDP) from OpenSSL's cryptographic generator, seeded by the system"
    )

    def __init__(
        self,
        attributes: Sequence[Attribute],
        target: Attribute,
        parameters: Parameters,
        noise: CentralNoise,
        charge: Charge | None = None,
    ) -> None:
        self.attributes = attributes
        self.target = target
        self.parameters = parameters
        self.noise = noise
        self.charge = charge

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor's arguments, as scikit-learn asks for them."""
        return {name: getattr(self, name) for name in ("attributes", "target", "parameters", "noise", "charge")}

    def set_params(self, **values: Any) -> Self:
        """Replace constructor arguments; raise :class:`ParameterError` on an unknown name."""
        for name, value in values.items():
            if name not in self.get_params():
                raise ParameterError(f"{name!r} is not an argument of {type(self).__name__}")
            setattr(self, name, value)
        return self

    @abstractmethod
    def events(self, rows: int | None = None) -> tuple[PureDp, ...]:
        """Return what a fit on ``rows`` rows costs, one event a query (of the last fit where none is given)."""

    @abstractmethod
    def cost(self, rows: int) -> Cost | None:
        """Return what a fit on ``rows`` rows is charged; ``None`` without noise."""

    @abstractmethod
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Charge, then read the rows, then keep what may be released of them."""

    @abstractmethod
    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the prediction for each row, shape (n,)."""

    @abstractmethod
    def to_plain(self) -> dict[str, Any]:
        """Return the fitted model as JSON holds it."""

    @staticmethod
    @abstractmethod
    def from_plain(values: Mapping[str, Any]) -> Any:
        """Return the model that :meth:`to_plain` wrote; it predicts, and cannot be fitted again."""

    def numbers(self, rows: int) -> int:
        """Return how many whole numbers a fit on ``rows`` rows releases, where they may be many; 0 where few."""
        return 0

    @property
    def attributes_used(self) -> tuple[str, ...]:
        """Names of the columns that the fitted model looks at: all of them, unless it chooses."""
        return tuple(a.name for a in self.attributes)

    @property
    def files_read(self) -> Mapping[str, bytes]:
        """SHA-256 of each public file that a fit reads besides the table, by the parameter that names it."""
        return {}

    def published_parameters(self) -> dict[str, Any]:
        """Return the parameters as a card holds them."""
        return self.parameters.to_plain()

    @property
    def releasable(self) -> bool:
        """Whether the result of ``fit`` may be released: only with cryptographic noise."""
        return self.noise.releasable

    def _composed(self, name: str, rows: int) -> Cost | None:
        """Return the cost of all events of a fit of the learner called ``name``; ``None`` without noise."""
        parts = self.events(rows)
        if not parts:
            return None
        return Cost(sum((e.epsilon for e in parts), Decimal(0)), Decimal(0), Composed(parts, name))

    def _pay(self, cost: Cost | None) -> None:
        """Charge ``cost`` (``None`` where there is no noise), or refuse a fit that could not be charged."""
        if cost is None:
            if self.charge is not None:
                raise ParameterError(
                    "a fit without noise has no privacy cost that a budget could carry", hint="give it no charge"
                )
        elif self.charge is not None:
            self.charge(cost)
        elif self.noise.releasable:
            raise ParameterError("a fit that may be released has to be charged", hint="give it a ledger's charge")


def noise_kind(noise: CentralNoise) -> str:
    """Return which of :data:`NOISES` this is."""
    if noise.releasable:
        return "released"
    return "none" if isinstance(noise, NoNoise) else "study"


def split_epsilon(total: Decimal, weights: Sequence[float]) -> tuple[Decimal, ...]:
    """Split ε by weight into decimals that sum to ``total`` exactly.

    Each share is rounded down to 12 digits; the largest takes the remainder, so that no share gets close to 0.

    Raises:
        ParameterError: there is no weight, or one is not above 0.
    """
    if not weights or not all(0 < w < float("inf") for w in weights):
        raise ParameterError("the weights of a split of epsilon are not all numbers above 0")
    whole = sum(weights)
    with localcontext() as context:
        context.prec, context.rounding = _SHARE_DIGITS, ROUND_DOWN
        shares = [total * Decimal(repr(float(w / whole))) for w in weights]
        context.prec = _EXACT_DIGITS
        largest = shares.index(max(shares))
        shares[largest] += total - sum(shares, Decimal(0))
    return tuple(shares)


def discrete_laplace_variance(sensitivity: int, epsilon: float) -> float:
    """Return 2b/(1−b)², b = e^(−ε/Δ): the variance of discrete Laplace noise, 0 at ε = ∞."""
    rate = epsilon / sensitivity
    return float(2 * np.exp(-rate) / np.expm1(-rate) ** 2)


def table_shape(X: ArrayLike, y: ArrayLike, attributes: Sequence[Attribute]) -> int:
    """Return the number of rows (public under zero-out), from the shapes alone.

    Raises:
        InputError: X is not (n, d) with one column for each attribute, y is not (n,), or there is no row.
    """
    shape, length = np.shape(X), np.shape(y)
    if len(shape) != 2 or shape[1] != len(attributes):
        raise InputError(f"X has the shape {shape}, not (rows, {len(attributes)})", hint="give one column an attribute")
    if length != (shape[0],):
        raise InputError(f"y has the shape {length}, not ({shape[0]},)", hint="give one target value for each row")
    if shape[0] < 1:
        raise InputError("the table has no rows", hint="give at least one row")
    return int(shape[0])


def checked_columns(X: ArrayLike, attributes: Sequence[Attribute]) -> NDArray[np.float64]:
    """Return X (n, d) as doubles after checking each cell against what is declared about its column.

    Numeric cells are numbers, NaN where the value is missing; the others are codes 0 … k−1, k where it is missing.

    Raises:
        InputError: a value is infinite, no code of its domain, or missing in a column that refuses it; the message
            names row (from 1) and column.
    """
    try:
        columns = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("X is not a table of numbers", hint="give numbers and codes") from None
    if columns.ndim != 2 or columns.shape[1] != len(attributes):
        raise InputError(
            f"X has the shape {columns.shape}, not (rows, {len(attributes)})", hint="give one column an attribute"
        )
    for attribute, column in zip(attributes, columns.T, strict=True):
        if attribute.numeric:
            attribute.bounds()
            missing = np.isnan(column)
            wrong = np.isinf(column)
        else:
            size = len(attribute.values())
            missing = column == size
            wrong = ~missing & ~((column >= 0) & (column < size) & (column == np.floor(column)))
        if wrong.any():
            row = int(np.argmax(wrong))
            raise InputError(
                f"the value {column[row]:g} is no value of the column",
                f"row {row + 1}, column {attribute.name}",
                "give a finite number" if attribute.numeric else "give a code of the declared domain",
            )
        if attribute.missing == "refuse" and missing.any():
            raise InputError(
                "the value is missing",
                f"row {int(np.argmax(missing)) + 1}, column {attribute.name}",
                ("fill it in", declare("missing", "own-value")),
            )
    return columns


def checked_classes(y: ArrayLike, target: Attribute) -> NDArray[np.int64]:
    """Return y (n,) as codes 0 … k−1 of the declared classes, or :data:`EMPTY`.

    Raises:
        InputError: a code is not one of them; the message names the row (from 1).
    """
    given = np.asarray(y)
    if given.ndim != 1 or given.dtype.kind not in "iufb":
        raise InputError("y is not a list of class codes", f"column {target.name}", "give whole numbers")
    size = len(target.values())
    wrong = ~((given >= EMPTY) & (given < size) & (given == np.floor(given)))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError(
            f"{given[row]:g} is no code of the {size} declared classes",
            f"row {row + 1}, column {target.name}",
            f"give 0 to {size - 1}, or {EMPTY} for an empty row",
        )
    return given.astype(np.int64)


def checked_numbers(y: ArrayLike, target: Attribute) -> NDArray[np.float64]:
    """Return y (n,) as doubles; NaN marks an empty row.

    Raises:
        InputError: y is not a list of numbers, or one is infinite; the message names the row (from 1).
    """
    given = np.asarray(y)
    if given.ndim != 1 or given.dtype.kind not in "iufb":
        raise InputError("y is not a list of numbers", f"column {target.name}", "give numbers")
    numbers = given.astype(np.float64)
    if np.isinf(numbers).any():
        row = int(np.argmax(np.isinf(numbers)))
        raise InputError(
            f"the value {numbers[row]:g} is no value of the column",
            f"row {row + 1}, column {target.name}",
            "give a finite number, or NaN for an empty row",
        )
    return numbers


def checked_schema(attributes: Sequence[Attribute], target: Attribute, to_predict: str = CLASSIFICATION) -> None:
    """Check that a model can be learned from these columns.

    Args:
        attributes: the public facts about the columns of X.
        target: the same of y.
        to_predict: the name of the task.

    Raises:
        ParameterError: no attribute, a name given twice, a bound or domain that nobody declared, or a target that does
            not fit the task.
    """
    if not attributes:
        raise ParameterError("there is no attribute to learn from", hint="give at least one")
    names = [a.name for a in (*attributes, target)]
    for name in names:
        if names.count(name) > 1:
            raise ParameterError("two columns have one name", f"column {name}", "rename one of them")
    for attribute in attributes:
        if attribute.numeric:
            attribute.bounds()
        else:
            attribute.values()
    task(to_predict).check(target)


def plain_part(values: Mapping[str, Any], key: str, kind: type | tuple[type, ...]) -> Any:
    """Return ``values[key]`` after checking its type; raise :class:`ParameterError` naming the key."""
    if key not in values:
        raise ParameterError(f"the key {key!r} is missing", "the model", "give a model that this program wrote")
    value = values[key]
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ParameterError(f"the key {key!r} has a value of the wrong type", "the model", "give it as it was written")
    return value
