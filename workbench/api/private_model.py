"""The base of private models as scikit-learn estimators: declaring columns, reading X and y, charging."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from workbench.api.datasets import note, opened, payment_for, warn_of_study, workers_from
from workbench.api.frames import Place, table_of
from workbench.api.plans import categories, numeric
from workbench.data.columns.grid import matrix
from workbench.data.schema import OWN_VALUE, Attribute
from workbench.learners import Learner
from workbench.params import InputError, ParameterError, counted
from workbench.params.field import did_you_mean
from workbench.params.remedies import DECLARE, REPLACE_INVALID, SAY, Remedy
from workbench.release.model.open_model import Predictor, open_model
from workbench.release.model.release_learner import FitTask, columns_of, fit_on, release_fit, require_sums
from workbench.sanitize.plan import Column, Plan
from workbench.work.noise import Study

_KEY = "workbench columns"
_RELEASED, _ACCOUNT, _FACTS = "released", "account", "facts"
_FEW = 12  # the most columns that a message lists


@dataclass(frozen=True)
class MadeColumns:
    """What is known of columns that a private step made.

    Attributes:
        facts: what is public of each, by name; it follows from declared facts and the step's noisy figures.
        released: whether the step was charged; else it is a private study, and so is all that follows.
        account: the public name of the account that paid.
    """

    facts: Mapping[str, Attribute]
    released: bool
    account: str | None = None

    @classmethod
    def of(cls, frame: Any) -> Self | None:
        """Return what ``frame`` carries; ``None`` where no private step has made it."""
        stated = frame.attrs.get(_KEY) if isinstance(frame, pd.DataFrame) else None
        if not isinstance(stated, dict):
            return None
        facts = (Attribute.from_plain(plain, "the columns' facts") for plain in stated[_FACTS])
        return cls({fact.name: fact for fact in facts}, stated[_RELEASED] is True, stated[_ACCOUNT])

    def on(self, columns: Mapping[str, Sequence[Any]], index: pd.Index[Any]) -> pd.DataFrame:
        """Return a DataFrame of ``columns`` that carries this."""
        made = pd.DataFrame(columns, index=index)
        facts = [fact.to_plain() for fact in self.facts.values()]
        made.attrs[_KEY] = {_FACTS: facts, _RELEASED: self.released, _ACCOUNT: self.account}
        return made

    def column(self, name: str, *, may_miss: bool) -> Column:
        """Return one of the columns as a plan declares it; ``may_miss`` says that a missing value is one more value."""
        stated = {"missing": OWN_VALUE} if may_miss else {}
        return Column.from_plain({**self.facts[name].to_plain(), **stated, "action": "protect"}, f"column {name}")


def values_of(made: Any, facts: Sequence[Attribute], named: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    """Return the columns of rows (n, k) that a step made: numbers, and the values of categories.

    Args:
        made: numbers and codes (n, k).
        facts: what is public of each column.
        named: the values of categories as a person gave them, by column.
    """
    columns: dict[str, list[Any]] = {}
    for fact, column in zip(facts, made.T, strict=True):
        if fact.numeric:
            columns[fact.name] = column.tolist()
        else:
            values = [*(named.get(fact.name) or fact.values()), None]
            columns[fact.name] = [values[int(code)] for code in column]
    return columns


class PrivateModel(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """What the classes have in common.

    Attributes:
        model_: the fitted model.
        feature_names_in_: the columns of X, of a DataFrame.
        release_: what the ledger recorded of the release; ``None`` of a private study.
    """

    learner: ClassVar[Learner]

    bounds: Any
    domains: Mapping[str, Sequence[Any]] | None
    missing: Sequence[str]
    rows_per_person: int
    account: str | None
    ledger: Place | bool | None
    output: Place | None
    replace: bool
    random_state: int | None
    study_ledger: Place | None
    engine: str
    scheduler: str | None
    scheduler_file: Place | None

    def fit(self, X: ArrayLike | pd.DataFrame, y: ArrayLike | pd.Series | None = None) -> Self:
        """Learn from X (n, d), a DataFrame or an array, and y (n,).

        Raises:
            InputError: a cell does not fit what is declared; the message names row and column.
            ParameterError: a column is not declared, an argument is refused, or who pays is not said.
            BudgetRefusedError: the cap does not allow it; nothing was read.
        """
        before, workers = MadeColumns.of(X), workers_from(self.engine, self.scheduler, self.scheduler_file)
        if workers is not None:
            require_sums(self.learner)
        charged_to = None if before is None else before.account
        pays = payment_for(X, y, account=self.account, ledger=self.ledger, output=self.output, made_for=charged_to)
        if pays is not None:
            self._refuse_for_release(before)
        frame = self._frame(X, reset=True)
        columns = self._columns(frame, before)
        target, values, goal = self._target(frame, y) if self.learner.predicts else (None, None, {})
        with unreadable_rows():
            table = table_of(frame if target is None else frame.assign(**{target: values}))
        plan = Plan(
            epsilon=self.epsilon_of_row(),
            columns=columns if target is None else (*columns, Column(name=target, action="protect", **goal)),
            rows_per_person=self.rows_per_person,
            account=None if pays is None else pays.account,
        )
        features, declared = columns_of(plan, target)
        names_of = self.learner.parameters.declared()
        given = {name: getattr(self, name) for name in names_of if getattr(self, name) is not None}
        parameters = self.learner.parameters.from_plain(given, type(self).__name__)
        self._attributes: tuple[Attribute, ...] = tuple(c.facts() for c in features)
        self._account = self.account if pays is None else pays.account
        self.release_ = None
        self.model_: Predictor
        if pays is not None:
            how: dict[str, Any] = {"replace": self.replace, "workers": workers}
            wanted = FitTask(self.learner, parameters, plan, target, table, pays.output, **how)
            with opened(pays) as book:
                self.release_ = release_fit(wanted, book)
            self.model_ = open_model(pays.output).model
            return self
        note("model", table, X, y, study_ledger=self.study_ledger)
        noise = Study(np.random.default_rng(self.random_state))
        estimator = self.learner.private(self._attributes, declared.facts(), parameters, noise)
        with unreadable_rows(target):
            fit_on(estimator, table, (features, declared), workers)
        self.model_ = estimator
        warn_of_study("this model")
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        tags.input_tags.allow_nan = bool(self.missing)
        tags.input_tags.string = tags.input_tags.categorical = bool(self.domains)
        return tags

    def model_of(self) -> Predictor:
        """Return the fitted model; raise scikit-learn's NotFittedError before that."""
        check_is_fitted(self, "model_")
        return self.model_

    def _frame(self, X: Any, *, reset: bool) -> pd.DataFrame:
        """Return X as a DataFrame; when fitted, with the names of the columns that the model was fitted on."""
        frame = frame_of_rows(X, self)
        validate_data(self, X, reset=reset, skip_check_array=True)
        if not reset:
            frame = frame.set_axis([a.name for a in self._attributes], axis=1)
        return frame

    def _read(self, X: ArrayLike | pd.DataFrame) -> NDArray[np.float64]:
        check_is_fitted(self, "model_")
        frame = self._frame(X, reset=False)
        with unreadable_rows():
            return matrix(table_of(frame), self._attributes)

    def epsilon_of_row(self) -> float:
        """Return what a fit costs for one row; raise :class:`ParameterError` where nobody has said."""
        epsilon: float | None = getattr(self, "epsilon", None)
        if epsilon is None:
            raise ParameterError("epsilon is missing", type(self).__name__, "pass epsilon= with a number above 0")
        return epsilon

    def _refuse_for_release(self, before: MadeColumns | None) -> None:
        if before is not None and not before.released:
            what = "an earlier step is a private study, so this step is one as well"
            raise ParameterError(what, "ledger", "pass a ledger and output= to every step, or to none")
        if self.random_state is not None:
            raise ParameterError("a release draws fresh randomness", "random_state", "leave it out")

    def _columns(self, frame: pd.DataFrame, before: MadeColumns | None) -> tuple[Column, ...]:
        names = [str(name) for name in frame.columns]
        pairs, domains = _pairs(self.bounds, names, self.domains), dict(self.domains or {})
        for name in (n for n in (*pairs, *domains, *self.missing) if n not in names):
            hint = "check the names in bounds, domains, missing"
            if hasattr(self, "target_bounds"):
                hint += ", and pass the bounds of y as target_bounds"
            hint += f"; X has {', '.join(names)}" if len(names) <= _FEW else ""
            raise ParameterError(f"X has no such column{did_you_mean(name, names)}", f"column {name}", hint)
        made = []
        for name in names:
            if name in pairs and name in domains:
                raise ParameterError("it has both bounds and a domain", f"column {name}", "keep one of them")
            if name in pairs:
                facts = numeric(name, pairs[name])
                facts["kind"] = "date" if facts["kind"] == "date" else "real"  # models take decimals everywhere
            elif name in domains:
                facts = categories(name, domains[name])
            elif before is not None and name in before.facts:
                made.append(before.column(name, may_miss=name in self.missing))
                continue
            elif pd.api.types.is_bool_dtype(frame[name].dtype):
                facts = {"kind": "boolean"}
            else:
                raise ParameterError(
                    "its public bounds or values are not declared",
                    f"column {name}",
                    "name it in bounds= or domains=; they are never read from the rows",
                )
            stated: dict[str, Any] = {"missing": OWN_VALUE} if name in self.missing else {}
            made.append(Column(name=name, action="protect", **facts, **stated))
        return tuple(made)

    def _target(self, frame: pd.DataFrame, y: Any) -> tuple[str, Any, dict[str, Any]]:
        if y is None:
            raise ParameterError(
                f"{type(self).__name__} requires y to be passed, but the target y is None",
                hint="pass y, the values to predict",
            )
        name = str(y.name) if isinstance(y, pd.Series) and y.name is not None else "target"
        values = y.tolist() if isinstance(y, pd.Series) else column_or_1d(y, warn=True).tolist()
        if len(values) != len(frame):
            raise ParameterError(
                f"y has {len(values)} values, but X has {len(frame)} rows: inconsistent numbers of samples",
                type(self).__name__,
                "pass one value for each row",
            )
        while name in frame.columns:
            name += "_"
        return name, values, self._goal(name)

    def _goal(self, name: str) -> dict[str, Any]:
        raise NotImplementedError


class UnreadableRowsError(InputError, ValueError):
    """A cell of X or y cannot be used; a ValueError too, which scikit-learn's tools expect of an estimator."""


@contextmanager
def unreadable_rows(target: str | None = None) -> Iterator[None]:
    """Raise a ValueError where a cell cannot be used, with ways out in Python; ``target`` is the name given to y."""
    try:
        yield
    except InputError as error:
        ways = tuple(_in_arguments(error.remedies, of_y=error.field == target))
        raise UnreadableRowsError(error.what, error.where, ways, code=error.code, field=error.field) from None


def _in_arguments(remedies: Sequence[Remedy], *, of_y: bool) -> Iterator[Remedy]:
    """Yield what can be done where arguments say what columns are, and no plan does."""
    for remedy in remedies:
        key = remedy.about.get("key")
        if (remedy.kind, key) == (DECLARE, "missing") and not of_y:
            yield Remedy(SAY, "name the column in missing= of the model before it is fitted")
        elif remedy.kind != REPLACE_INVALID and key not in ("missing", "other"):
            yield remedy


def frame_of_rows(X: Any, estimator: Any = None) -> pd.DataFrame:
    """Return X as a DataFrame with names as text; the columns of an array are called x0, x1 and so on.

    Raises:
        ValueError: X is not a table of numbers, text, booleans or dates (n, d), or a value is missing in an array.
    """
    if isinstance(X, pd.DataFrame):
        return X.rename(columns=str)
    finite = "allow-nan" if getattr(estimator, "missing", ()) else True
    values = check_array(X, dtype=None, ensure_all_finite=finite, estimator=estimator)
    return pd.DataFrame(values, columns=[f"x{i}" for i in range(values.shape[1])])


def _pairs(bounds: Any, names: list[str], domains: Any) -> dict[str, tuple[Any, Any]]:
    """Return (lower, upper) by column; of a pair of numbers or sequences, for each column without a domain."""
    if bounds is None:
        return {}
    if isinstance(bounds, Mapping):
        return {str(name): pair for name, pair in bounds.items()}
    numbered = [name for name in names if name not in (domains or {})]
    if isinstance(bounds, list) and all(isinstance(pair, tuple) and len(pair) == 2 for pair in bounds):
        if len(bounds) != len(numbered):
            what = f"bounds has {counted(len(bounds), 'pair')} for {counted(len(numbered), 'column')} of numbers"
            raise ParameterError(what, "bounds", "give a pair for each column, in the order of the columns")
        return dict(zip(numbered, bounds, strict=True))
    if len(numbered) == 2 and _either_way(bounds):
        what = "bounds of two columns may be two pairs here, or both lower and both upper bounds"
        raise ParameterError(what, "bounds", "write [(lower, upper), (lower, upper)], or name the columns")
    try:
        lower, upper = (np.broadcast_to(np.asarray(end, dtype=float), len(numbered)) for end in bounds)
    except (TypeError, ValueError):
        raise ParameterError(
            "bounds are neither a mapping nor (lower, upper)",
            hint='give (lower, upper), a list of such pairs, one for each column, or {"NAME": (lower, upper), …}',
        ) from None
    return {name: (float(a), float(b)) for name, a, b in zip(numbered, lower, upper, strict=True)}


def _either_way(bounds: Any) -> bool:
    """Return whether two sequences may be pairs as well as sides; a tuple of lists or arrays is sides."""
    sides = isinstance(bounds, tuple) and not any(isinstance(side, tuple) for side in bounds)
    return not sides and _is_list(bounds) and all(map(_is_list, bounds))


def _is_list(given: Any) -> bool:
    return isinstance(given, Sequence | np.ndarray) and not isinstance(given, str)
