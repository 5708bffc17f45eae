"""The base of learners: descriptor, released model, and the estimator that queries the rows.

A learner is a file with its parameters, a :class:`FitSetting` (what is asked, from public facts alone), a
:class:`Model` (what follows from the answers) and an estimator whose ``_answers`` reads the rows and asks. All else is
here: the charge before a row is read, checks of the input, the model's file, and scikit-learn's protocol. An estimator
never says an ε: what is asked is drawn at the share that was declared, and so charged (:mod:`workbench.work.ask`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.data.schema import KINDS, Attribute
from workbench.learners.checks import (
    checked_classes,
    checked_rows,
    checked_schema,
    places_part,
    plain_part,
    table_shape,
)
from workbench.learners.queries import checked_whole_numbers
from workbench.learners.ranges import range_counts, range_scores
from workbench.learners.setting import FitSetting
from workbench.learners.tasks import CLASSIFICATION, EMPTY, REGRESSION, task
from workbench.params import InputError, ParameterError, Parameters
from workbench.privacy.accounting.event import Composed, Cost, PureDp
from workbench.privacy.central.share import Budget, QueryEvent
from workbench.signals.cancel import CancelToken, check_here, interruptible
from workbench.work.ask import Ask
from workbench.work.noise import Exact, Noise

Answers = dict[str, list[int]]  # the released whole numbers of each query, by its label

OfPart = Callable[[list[Any]], NDArray[np.int64]]
"""Makes whole numbers, which are added up, of the columns of a part, the target last; it can be sent to workers."""

Total = Callable[..., NDArray[np.int64]]
"""``total(part, …)``: the sums over all rows of the whole numbers ``part(setting, rows, …)``, where the rows are what
:meth:`SummingEstimator._coded` makes of some of them. ``part`` is a function of a module: workers may call it."""

ROWS_AT_ONCE = 1 << 13  # rows that a fit reads between two looks whether to stop

Facts = TypeVar("Facts", bound=FitSetting[Any])


def blocks_of(rows: int) -> Iterator[slice]:
    """Yield blocks of rows in memory, one of none where there are none; before each look whether to stop."""
    for start in range(0, max(rows, 1), ROWS_AT_ONCE):
        check_here()
        yield slice(start, start + ROWS_AT_ONCE)


@dataclass(frozen=True)
class Effect:
    """What one column does to the predictions of a model that is a sum of such effects."""

    column: str  # its name
    parts: tuple[str, ...]  # names of parts of its bounds, or of values
    # What is predicted in each part where the other columns add nothing (parts, outputs): the chance of each class, or
    # the place between the target's bounds from 0 to 1.
    shares: NDArray[np.float64]
    start: NDArray[np.float64]  # the same where this column adds nothing either (outputs,)
    outputs: tuple[str, ...]  # their names


@dataclass(frozen=True, kw_only=True)
class Learner:
    """The descriptor of a learner: light, so that lists and forms can be shown before anything is computed.

    It is all that the window, the command line and the studies know of a learner.
    """

    name: str  # the word of the command line
    title: str  # its name for a person
    about: str  # how it is trained, in one sentence
    task: str  # what it makes: the name of a `workbench.learners.tasks.Task`
    parameters: type[Parameters]  # its declared parameters; `epsilon` is one of them
    # Makes the private model; a class with `fit`, `predict` and what `PrivateEstimator` asks.
    estimator: type[PrivateEstimator[Any]]
    # Makes the ordinary model of the same family from attributes and target, without privacy; `None` where there is
    # none.
    ordinary: Callable[[Sequence[Attribute], Attribute], Any] | None = None
    # A `CorrectedEstimator`: makes the model that learns from sanitised cells, knowing the public tables of the
    # attributes and of the target; asked about rows as the others are. `None` where there is none.
    corrected: type[Any] | None = None
    # Makes the model that looks at no row, from attributes and target: what a study compares with where no constant
    # answer exists; `None` elsewhere.
    blind: Callable[[Sequence[Attribute], Attribute], Any] | None = None
    kinds: tuple[str, ...] = KINDS  # the kinds of columns that it can learn from
    short: str = ""  # the title where there is little room
    each_prediction: bool = False  # whether ε is the cost of each prediction and not of the whole model

    @property
    def sums(self) -> bool:
        """Whether it asks for sums over the rows alone, so that it reads them in parts, here or on workers."""
        return issubclass(self.estimator, SummingEstimator)

    @property
    def predicts(self) -> bool:
        """Whether it predicts a column; others need no target, and leave it out where there is one."""
        return self.task in (CLASSIFICATION, REGRESSION)

    @property
    def needs(self) -> str:
        """What it needs of the table, in a sentence or two."""
        columns = "" if self.kinds == KINDS else f"It accepts only columns of kind {', '.join(self.kinds)}."
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
        self.estimator.model_type.setting_type.require_columns(attributes)

    def private(
        self, attributes: Sequence[Attribute], target: Attribute, parameters: Parameters, noise: Noise
    ) -> PrivateEstimator[Any]:
        """Return the private model, still to be fitted.

        Raises:
            ParameterError: the columns are not what it can use.
        """
        self.require(attributes, target)
        return self.estimator(attributes, target, parameters, noise)


class Model(ABC, Generic[Facts]):
    """What a fit released, and what follows from it: it predicts, and cannot be fitted again."""

    name: ClassVar[str]  # of the learner
    task: ClassVar[str]  # of the learner
    parameters_type: ClassVar[type[Parameters]]  # the declared parameters
    setting_type: ClassVar[type[FitSetting[Any]]]  # what follows from the public facts
    version: ClassVar[int] = 1  # of the file's format; files of all former ones are read too

    def __init__(self, setting: Facts, noise: str, answers: Mapping[str, list[int]]) -> None:
        self.setting = setting  # the public facts
        self.noise = noise  # one of `released`, `study` and `none`
        self.answers = dict(answers)  # released whole numbers by query

    @property
    def releasable(self) -> bool:
        """Whether the noise was the cryptographic one."""
        return self.noise == "released"

    @property
    def attributes_used(self) -> tuple[str, ...]:
        """Names of the columns that the model looks at: all of them, unless it chooses."""
        return tuple(a.name for a in self.setting.attributes)

    def effects(self) -> tuple[Effect, ...]:
        """Return what each used column does to the predictions; nothing where these are no sum over columns."""
        return ()

    @abstractmethod
    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return what the model makes of each row: its prediction (n,), its group (n,) or its new columns (n, k)."""

    def events(self) -> tuple[QueryEvent, ...]:
        """Return what the queries but those of the ranges cost, one event each; none without noise."""
        return self.setting.events()

    def more(self) -> dict[str, Any]:
        """Return what the file holds besides public facts and answers; :meth:`read` reads what does not follow."""
        return {}

    @classmethod
    def read(cls, values: Mapping[str, Any], setting: Facts) -> dict[str, Any]:
        """Return further arguments of the constructor from what :meth:`more` wrote, checked."""
        return {}

    @classmethod
    def lengths(cls, setting: Facts, answered: Mapping[str, Any], **read: Any) -> Mapping[str, int]:
        """Return how many whole numbers each query of a file released; ``answered`` are its answers."""
        return setting.lengths()

    def to_plain(self) -> dict[str, Any]:
        """Return public facts and noisy whole numbers as JSON holds them; the rest follows from these."""
        answers = {**self.setting.range_answers(), **self.answers}
        return {**self.setting.to_plain(self.name, self.noise), **self.more(), "answers": answers}

    @classmethod
    def setting_from_plain(cls, values: Mapping[str, Any]) -> Facts:
        """Return the public facts of a file, checked."""
        setting: Any = cls.setting_type.from_plain(values, cls.name, cls.version, cls.parameters_type, cls.task)
        setting.check()
        return setting  # type: ignore[no-any-return]

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> Self:
        """Return the model that :meth:`to_plain` wrote.

        Raises:
            ParameterError: a key is missing, or a value is not what such a model can hold; the message names it.
        """
        setting = cls.setting_from_plain(values)
        answered = plain_part(values, "answers", dict)
        ranges = {label: answered[label] for label in setting.ranged if label in answered}
        setting = setting.with_ranges(checked_whole_numbers(ranges, dict.fromkeys(setting.ranged, 1)))
        answered = {label: answer for label, answer in answered.items() if label not in ranges}
        read = cls.read(values, setting)
        answers = checked_whole_numbers(answered, cls.lengths(setting, answered, **read))
        made = cls(setting, values["noise"], answers, **read)
        for key, value in made.more().items():
            if plain_part(values, key, type(value)) != value:
                raise ParameterError(f"the key {key!r} does not match the model", "the model")
        return made


class Choosing(Model[Facts]):
    """A model of some columns, which its file names; its setting says of which ones (``choosable``), and how many."""

    named: ClassVar[str] = "columns"  # the key of the names in the file

    def __init__(self, setting: Facts, noise: str, answers: Mapping[str, list[int]], chosen: Sequence[int]) -> None:
        super().__init__(setting, noise, answers)
        self.chosen = tuple(chosen)  # the places of the columns that are used, in the order in which they were found

    @property
    def columns_used(self) -> tuple[str, ...]:
        """Names of the columns that are used, those found first at the front."""
        return tuple(self.setting.choosable[j] for j in self.chosen)

    @property
    def attributes_used(self) -> tuple[str, ...]:
        """The same of the columns of the table."""
        return self.columns_used

    def more(self) -> dict[str, Any]:
        return {self.named: list(self.columns_used)}

    @classmethod
    def read(cls, values: Mapping[str, Any], setting: Facts) -> dict[str, Any]:
        """Return which columns are used."""
        return {"chosen": places_part(values, cls.named, setting.choosable, setting.used)}


class Classifier(Model[Facts]):
    """A model of classes: it has a chance for each."""

    def __init__(self, setting: Facts, noise: str, answers: Mapping[str, list[int]]) -> None:
        super().__init__(setting, noise, answers)
        self.class_names = setting.target.values()  # the declared classes
        self.classes_ = np.arange(len(self.class_names))  # class codes (k,)

    @abstractmethod
    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return P(class | row) (n, k)."""

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Return the most probable class code of each row (n,)."""
        return np.asarray(self.predict_proba(X).argmax(axis=1), dtype=np.int64)

    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        """Return the accuracy on the rows that have a class; it is computed exactly, so it is private itself."""
        classes = checked_classes(y, self.setting.target)
        here = classes != EMPTY
        if not here.any():
            raise ParameterError("no row has a class, so accuracy cannot be computed")
        return float((self.predict(X)[here] == classes[here]).mean())


def composed(events: tuple[QueryEvent, ...], learner: str, whole: Budget | None = None) -> Cost | None:
    """Return what queries of one fit of a learner cost together; ``None`` without noise.

    Args:
        events: of the queries.
        learner: its name.
        whole: their ε and δ, where they are shares of its ρ.
    """
    if not events:
        return None
    if whole is not None and whole.gaussian:
        return Cost(whole.epsilon, whole.delta, Composed(events, learner))
    return Cost(
        sum((e.epsilon for e in events if isinstance(e, PureDp)), Decimal(0)), Decimal(0), Composed(events, learner)
    )


_LAPLACE_NOISE, _GAUSSIAN_NOISE = (
    "exact discrete Laplace on integers (OpenDP) from OpenSSL's cryptographic generator, seeded by the system",
    "exact discrete Gaussian on integers (OpenDP) from OpenSSL's cryptographic generator, seeded by the system",
)


@lru_cache(maxsize=16)  # a study fits on the same public facts again and again
def _setting_of(
    made: type[Model[Any]],
    attributes: tuple[Attribute, ...],
    target: Attribute,
    parameters: Any,
    rows: int,
    private: bool,
    version: int | None,
) -> Any:
    checked_schema(attributes, target, made.task)
    facts = tuple(a.facts() for a in attributes), target.facts(), parameters, rows, private
    setting = made.setting_type(*facts, version or made.version)
    setting.check()
    return setting


Released = TypeVar("Released", bound=Model[Any])


class Fitted:
    """What every estimator says through what it learned."""

    model_type: ClassVar[type[Any]]  # the class of what is learned
    model_: Any  # what was learned

    def __getattr__(self, name: str) -> Any:
        # What is not the estimator's is its fitted model's; model_ itself is absent before a fit.
        if name.startswith("_") or name == "model_":
            raise AttributeError(f"{type(self).__name__} has no {name}", name=name, obj=self)
        return getattr(self.model_, name)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return what the fitted model makes of each row (n,) of numbers and codes."""
        found: NDArray[Any] = self.model_.predict(X)
        return found

    def to_plain(self) -> dict[str, Any]:
        """Return the fitted model as JSON holds it."""
        found: dict[str, Any] = self.model_.to_plain()
        return found

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> Any:
        """Return the model that :meth:`to_plain` wrote; it predicts, and cannot be fitted again."""
        return cls.model_type.from_plain(values)


class PrivateEstimator(Fitted, Generic[Released]):
    """A learner with the scikit-learn API; it is private if its noise is. Private and ordinary are one code path.

    X (n, d): numbers (NaN: missing, where the column may be), categories as codes 0 … k−1 (k: missing). y (n,): codes
    of the target's declared classes, −1 in an empty row; or numbers, NaN in an empty row. An empty row contributes
    nothing; where nothing is predicted, y says only which rows are empty. What the fitted model has (``predict_proba``,
    ``transform`` …), the estimator has by the same name.
    """

    model_type: ClassVar[type[Model[Any]]]  # its class, which names the learner, its task and its parameters
    empty_rows: ClassVar[bool] = False  # whether `_answers` is given the empty rows too
    # Of the format whose rules it follows; of a former one only where a former card is checked.
    version: int | None = None
    model_: Released  # what `fit` released

    def gaussian(self, rows: int) -> bool:
        """Return whether the noise of a fit on ``rows`` rows is discrete Gaussian: a δ is given, and pays."""
        return getattr(self.parameters, "delta", None) is not None and self._setting(rows).gaussian

    def randomness(self, rows: int) -> str:
        """Return where the randomness of a model of ``rows`` rows comes from, for its card."""
        return _GAUSSIAN_NOISE if self.gaussian(rows) else _LAPLACE_NOISE

    def __init__(self, attributes: Sequence[Attribute], target: Attribute, parameters: Any, noise: Noise) -> None:
        self.attributes = attributes  # the public facts about the columns of X, in order
        self.target = target  # the public facts about y
        self.parameters = parameters  # the learner's declared parameters
        # Where the noise of the released numbers comes from; it charges first, where there is a charge.
        self.noise = noise

    @classmethod
    def ordinary(cls, attributes: Sequence[Attribute], target: Attribute) -> Any:
        """Return the ordinary model of the same family: usual parameters, and no noise."""
        return cls(attributes, target, cls.model_type.parameters_type(), Exact())

    @classmethod
    def described(cls, title: str, about: str, **more: Any) -> Learner:
        """Return the descriptor; ``more`` are further attributes of :class:`Learner`."""
        made = cls.model_type
        given = {"ordinary": cls.ordinary, **more}
        return Learner(
            name=made.name,
            title=title,
            about=about,
            task=made.task,
            parameters=made.parameters_type,
            estimator=cls,
            **given,
        )

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor's arguments, as scikit-learn asks for them."""
        return {name: getattr(self, name) for name in ("attributes", "target", "parameters", "noise")}

    def set_params(self, **values: Any) -> Self:
        """Replace constructor arguments; raise :class:`ParameterError` on an unknown name."""
        for name, value in values.items():
            if name not in self.get_params():
                raise ParameterError(f"{name!r} is not an argument of {type(self).__name__}")
            setattr(self, name, value)
        return self

    def _setting(self, rows: int) -> Any:
        """Return what follows from the public facts of a fit on ``rows`` rows, checked."""
        private = self.noise.name != "none"
        return _setting_of(
            self.model_type, tuple(self.attributes), self.target, self.stated(), rows, private, self.version
        )

    def events(self, rows: int | None = None) -> tuple[QueryEvent, ...]:
        """Return what a fit on ``rows`` rows costs, one event a query (of the last fit where none is given)."""
        if rows is None:
            return (*self.model_.setting.range_events(), *self.model_.events())
        return self._events_of(self._setting(rows))

    def _events_of(self, setting: Any) -> tuple[QueryEvent, ...]:
        events: tuple[QueryEvent, ...] = setting.asked
        return events

    def cost(self, rows: int) -> Cost | None:
        """Return what a fit on ``rows`` rows costs; ``None`` without noise."""
        return self._cost_of(self._setting(rows))

    def _cost_of(self, setting: Any) -> Cost | None:
        return composed(self._events_of(setting), self.model_type.name, setting.whole if setting.private else None)

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Charge, then read the rows, then ask what was declared, and keep what may be released.

        Raises:
            BudgetRefusedError: from the charge; nothing was read.
            InputError: a value that the column's declaration does not allow, naming row and column.
            ParameterError: the learner cannot use these columns.
            UndeclaredError: it asked for something else than it declared, or not for all of it: a bug of the learner.
        """
        return self.fit_rows(table_shape(X, y, self.attributes), lambda: (X, y))

    def fit_rows(self, rows: int, read: Callable[[], tuple[ArrayLike, ArrayLike]]) -> Self:
        """Fit on so many rows, X and y of which are read once they are charged for: see :meth:`fit`."""
        setting = self._setting(rows)
        ask = self.noise.ask(self._cost_of(setting))
        X, y = read()
        if table_shape(X, y, self.attributes) != rows:
            raise InputError(f"the charge was for {rows:,} rows, and the table has a different number")
        model = self._learned(ask, setting, X, y)
        self._finish(ask)
        self.model_ = model
        return self

    def learned(self, ask: Ask, rows: int, X: ArrayLike, y: ArrayLike, cancel: CancelToken) -> Released:
        """Return the model of a fit on so many rows, empty ones of which may be left out, whose questions are open.

        Whoever opened them has charged for them, among others, and finishes them.

        Raises:
            CancelledError: ``cancel`` was set.
        """
        with interruptible(cancel):
            return self._learned(ask, self._setting(rows), X, y)

    def _learned(self, ask: Ask, setting: Any, X: ArrayLike, y: ArrayLike) -> Released:
        columns, goal, filled = checked_rows(X, y, setting.attributes, setting.target)
        check_here()
        if not self.empty_rows:
            goal, columns = goal[filled], columns[filled]
        here = filled if self.empty_rows else slice(None)
        setting = _ranged(ask, setting, lambda: _range_counts(setting, columns[here], goal[here]))
        return self._learn(ask, setting, columns, goal)

    def _finish(self, ask: Ask, setting: Any = None) -> None:
        if ask.private:  # of a setting: what a fit on it asks, which may be some of the questions that are open
            ask.finish(None if setting is None else {event.label for event in self._events_of(setting)})

    def _learn(self, ask: Ask, setting: Any, X: NDArray[np.float64], y: NDArray[Any]) -> Released:
        """Return the model of the answers; a learner whose model has more arguments makes it here."""
        answers = self._answers(ask, setting, X, y)
        self._finish(ask, setting)  # what was not asked is named before the model misses it
        return self.model_type(setting, self.noise.name, answers)  # type: ignore[return-value]

    def _answers(self, ask: Ask, setting: Any, X: NDArray[np.float64], y: NDArray[Any]) -> Answers:
        """Ask each declared query of the checked rows X (m, d) and y (m,), and return what was released by label.

        Exact answers are given to ``ask`` alone; the model is made of what it returns and of public facts.
        """
        raise NotImplementedError

    def numbers(self, rows: int) -> int:
        """Return how many numbers the file of a fit on ``rows`` rows holds, where they may be many."""
        return sum(self._setting(rows).lengths().values())

    @property
    def files_read(self) -> Mapping[str, bytes]:
        """SHA-256 of each public file that a fit reads besides the table, by the parameter that names it."""
        return {}

    def published_parameters(self) -> dict[str, Any]:
        """Return the parameters as a card holds them."""
        plain: dict[str, Any] = self.stated().to_plain()
        return plain

    def stated(self) -> Any:
        """Return the parameters as the model and its card state them."""
        return self.parameters

    @property
    def releasable(self) -> bool:
        """Whether the result of ``fit`` may be released: only with cryptographic noise."""
        fitted = getattr(self, "model_", None)
        return self.noise.releasable if fitted is None else bool(fitted.releasable)


class SummingEstimator(PrivateEstimator[Released]):
    """A learner that asks for sums over the rows and for nothing else of them: rows in memory and in parts are one.

    One that has fixed what it asks (:meth:`_asked`) reads the rows once for each total that it asks for.
    """

    @staticmethod
    def _coded(setting: Any, X: NDArray[np.float64], y: NDArray[Any]) -> Any:
        """Return checked rows, none of them empty, as the parts of sums read them; each row by itself."""
        return X, y

    def _asked(self, ask: Ask, setting: Any, total: Total) -> Answers:
        """Ask each declared query of sums over the rows, and return what was released by label."""
        raise NotImplementedError

    def _of_sums(self, ask: Ask, setting: Any, total: Total) -> Released:
        """Return the model of the answers; a learner whose model has more arguments makes it here."""
        answers = self._asked(ask, setting, total)
        self._finish(ask, setting)  # what was not asked is named before the model misses it
        return self.model_type(setting, self.noise.name, answers)  # type: ignore[return-value]

    def _learn(self, ask: Ask, setting: Any, X: NDArray[np.float64], y: NDArray[Any]) -> Released:
        blocks = [self._coded(setting, X[here], y[here]) for here in blocks_of(len(y))]

        def total(part: Callable[..., Any], *more: Any) -> NDArray[np.int64]:
            found = np.zeros((), np.int64)
            for rows in blocks:
                check_here()
                found = found + np.array(part(setting, rows, *more), np.int64)
            return found

        return self._of_sums(ask, setting, total)

    def range_counts(self, rows: int) -> OfPart | None:
        """Return what makes the counts from which ranges are chosen, of the columns of a part; ``None`` without ranges.

        They are the first that is asked of the rows, and follow from public facts alone: whoever reads the rows for
        another reason before the charge can add them up then.
        """
        setting = self._setting(rows)
        return partial(_range_counts_of_part, setting) if setting.ranged else None

    def fit_parts(self, rows: int, add_up: Callable[[OfPart], Any], counts: NDArray[np.int64] | None = None) -> Self:
        """Fit on so many rows, which are read in parts as often as sums are asked for: see :meth:`fit`.

        Args:
            rows: how many there are.
            add_up: returns the sums over all parts of what a function, which can be sent to workers, makes of the
                columns of each, the target last.
            counts: the sums of :meth:`range_counts`, where they are known.
        """
        setting = self._setting(rows)
        ask = self.noise.ask(self._cost_of(setting))

        def counted() -> NDArray[np.int64]:
            return np.asarray(add_up(partial(_range_counts_of_part, setting)) if counts is None else counts)

        setting = _ranged(ask, setting, counted)

        def total(part: Callable[..., Any], *more: Any) -> NDArray[np.int64]:
            return np.asarray(add_up(partial(_of_part, type(self), setting, part, more)))

        model = self._of_sums(ask, setting, total)
        self._finish(ask)
        self.model_ = model
        return self


def _of_part(
    learner: type[SummingEstimator[Any]],
    setting: FitSetting[Any],
    part: Callable[..., Any],
    more: tuple[Any, ...],
    columns: list[Any],
) -> NDArray[np.int64]:
    """Return the whole numbers of the rows of a part, whose columns were read, the target last."""
    X, goal = _filled_rows(setting, columns)
    return np.array(part(setting, learner._coded(setting, X, goal), *more), dtype=np.int64)


def _filled_rows(setting: FitSetting[Any], columns: list[Any]) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return X (m, d) and y (m,) of the rows that are not empty, of columns whose last one is the target."""
    X, goal, filled = checked_rows(np.column_stack(columns[:-1]), columns[-1], setting.attributes, setting.target)
    return X[filled], goal[filled]


def _range_counts_of_part(setting: FitSetting[Any], columns: list[Any]) -> NDArray[np.int64]:
    return _range_counts(setting, *_filled_rows(setting, columns))


def _range_counts(setting: FitSetting[Any], X: NDArray[np.float64], y: NDArray[Any]) -> NDArray[np.int64]:
    """Return how many of the rows, none of them empty, lie in each cell of each column whose range is chosen (c, w)."""
    facts, chosen = (*setting.attributes, setting.target), setting.range_columns
    columns = X[:, chosen] if chosen[-1] < X.shape[1] else np.column_stack([X[:, chosen[:-1]], y])
    return range_counts([facts[j] for j in chosen], columns, setting.range_depth)


def _ranged(ask: Ask, setting: Any, counts: Callable[[], NDArray[np.int64]]) -> Any:
    """Choose the range of each column, where that is declared, and return the setting whose columns have them."""
    if not setting.ranged:
        return setting
    worth = setting.range_rule.worth(setting.range_known)
    scores = range_scores(counts(), setting.range_depth, setting.rows, worth)
    return setting.with_ranges(
        {label: ask.largest(label, [own], 1) for label, own in zip(setting.ranged, scores, strict=True)}
    )
