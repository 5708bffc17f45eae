"""Private models as scikit-learn estimators: one class for each learner, made from its descriptor."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, ClusterMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from workbench import learners
from workbench.api.frames import table_of
from workbench.api.plans import categories, numeric
from workbench.api.study_warning import warn_of_study
from workbench.api.tables import Place, asked_for, place_of
from workbench.data.columns.matrix import matrix
from workbench.data.schema import OWN_VALUE, Attribute
from workbench.learners import Learner
from workbench.learners.tasks import CLASSIFICATION, CLUSTERING, REGRESSION, task
from workbench.params import ParameterError
from workbench.privacy.central import StudyNoise
from workbench.release.ledger.ledger import Ledger
from workbench.release.model.open_model import Predictor, open_model
from workbench.release.model.release_learner import columns_of, release_fit
from workbench.sanitize.plan import Column, Plan

_MIXINS: dict[str, type] = {CLASSIFICATION: ClassifierMixin, REGRESSION: RegressorMixin, CLUSTERING: ClusterMixin}
_COMMON: dict[str, Any] = {
    "bounds": None,
    "domains": None,
    "missing": (),
    "rows_per_person": 1,
    "account": None,
    "ledger": None,
    "output": None,
    "random_state": None,
}
_OF_TASK: dict[str, dict[str, Any]] = {CLASSIFICATION: {"classes": None}, REGRESSION: {"target_bounds": None}}

_ARGUMENTS = """
    Without ``ledger`` the fitted model is a private study; with it the fit is charged before a row is read, and the
    model is written to the folder ``output`` with its card.

    Args:
        bounds: public (lower, upper) by column of numbers; or (lower, upper), each one number or one for each column.
        domains: public values by column of categories.
        missing: columns in which a missing value is one more value; elsewhere it is refused.
        rows_per_person: most rows of one person; multiplies the charge.
        account: public name of the account that pays.
        ledger: the ledger's file, or ``True`` for the user's own.
        output: a new folder for the released model and its card.
        random_state: makes a study repeatable; not with ``ledger``.
"""


class PrivateModel(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """What the classes have in common.

    Attributes:
        model_: the fitted model.
        feature_names_in_: the columns of X.
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
    random_state: int | None

    def fit(self, X: ArrayLike | pd.DataFrame, y: ArrayLike | pd.Series | None = None) -> Self:
        """Learn from X (n, d), a DataFrame or an array, and y (n,).

        Raises:
            InputError: a cell does not fit what is declared; the message names row and column.
            ParameterError: a column is not declared, or an argument is refused.
            BudgetRefusedError: the cap does not allow it; nothing was read.
        """
        frame = _frame(X)
        columns = self._columns([str(name) for name in frame.columns])
        target, values, goal = self._target(frame, y)
        table = table_of(frame.assign(**{target: values}))
        plan = Plan(
            epsilon=self._epsilon(),
            columns=(*columns, Column(name=target, action="protect", **goal)),
            rows_per_person=self.rows_per_person,
            account=self.account,
        )
        features, declared = columns_of(plan, target)
        parameters = self._parameters()
        self.feature_names_in_ = np.array([c.name for c in features], dtype=object)
        self.n_features_in_ = len(features)
        self._attributes: tuple[Attribute, ...] = tuple(c.facts() for c in features)
        self.release_ = None
        self.model_: Predictor
        if asked_for(self.ledger):
            self._refuse_for_release()
            assert self.output is not None
            with Ledger.open(place_of(self.ledger)) as opened:
                self.release_ = release_fit(self.learner, parameters, plan, target, table, Path(self.output), opened)
            self.model_ = open_model(Path(self.output)).model
            return self
        if self.output is not None:
            raise ParameterError("what is written is released, and a release is charged", "output", "give a ledger=")
        noise = StudyNoise(np.random.default_rng(self.random_state))
        X_, y_ = matrix(table, features), task(self.learner.task).read(table, declared)
        self.model_ = self.learner.private(self._attributes, declared.facts(), parameters, noise).fit(X_, y_)
        warn_of_study("this model", "with ledger= and output= it is charged and may leave")
        return self

    def predict(self, X: ArrayLike | pd.DataFrame) -> NDArray[Any]:
        """Return the prediction for each row (n,): a class as it was declared, a number, or the number of a group."""
        return self._named(np.asarray(self.model_of().predict(self._read(X))))

    def model_of(self) -> Predictor:
        """Return the fitted model; raise scikit-learn's NotFittedError before that."""
        check_is_fitted(self, "model_")
        return self.model_

    def _named(self, predicted: NDArray[Any]) -> NDArray[Any]:
        return predicted

    def _read(self, X: ArrayLike | pd.DataFrame) -> NDArray[np.float64]:
        check_is_fitted(self, "model_")
        table = table_of(_frame(X))
        table.require([a.name for a in self._attributes])
        return matrix(table, self._attributes)

    def _parameters(self) -> Any:
        names = self.learner.parameters.declared()
        given = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        return self.learner.parameters.from_plain(given, type(self).__name__)

    def _epsilon(self) -> float:
        epsilon: float | None = getattr(self, "epsilon", None)
        if epsilon is None:
            raise ParameterError("epsilon is missing", type(self).__name__, "give epsilon= a number above 0")
        return epsilon

    def _refuse_for_release(self) -> None:
        if self.random_state is not None:
            raise ParameterError("a release draws fresh randomness", "random_state", "leave it out")
        if self.output is None:
            raise ParameterError("a released model is a folder with its card", "output", "give output= a new folder")

    def _columns(self, names: list[str]) -> tuple[Column, ...]:
        pairs, domains = _pairs(self.bounds, names, self.domains), dict(self.domains or {})
        for name in (n for n in (*pairs, *domains, *self.missing) if n not in names):
            raise ParameterError(
                "X has no such column", f"column {name}", "check the names in bounds, domains, missing"
            )
        made = []
        for name in names:
            if name in pairs and name in domains:
                raise ParameterError("it has both bounds and a domain", f"column {name}", "give one of them")
            if name in pairs:
                facts = numeric(name, pairs[name])
                facts["kind"] = "date" if facts["kind"] == "date" else "real"  # models take decimals everywhere
            elif name in domains:
                facts = categories(name, domains[name])
            else:
                raise ParameterError(
                    "its public bounds or values are not declared",
                    f"column {name}",
                    "name it in bounds= or domains=; they are never read from the rows",
                )
            told: dict[str, Any] = {"missing": OWN_VALUE} if name in self.missing else {}
            made.append(Column(name=name, action="protect", **facts, **told))
        return tuple(made)

    def _target(self, frame: pd.DataFrame, y: Any) -> tuple[str, Any, dict[str, Any]]:
        """Return the name of the column to predict, its values and its public facts."""
        if y is None:
            raise ParameterError("y is missing", type(self).__name__, "give what is to be predicted")
        name = str(y.name) if isinstance(y, pd.Series) and y.name is not None else "target"
        values = list(y.tolist() if hasattr(y, "tolist") else y)
        if len(values) != len(frame):
            raise ParameterError(f"y has {len(values)} values, not {len(frame)}", type(self).__name__)
        while name in frame.columns:
            name += "_"
        return name, values, self._goal(name)

    def _goal(self, name: str) -> dict[str, Any]:
        raise NotImplementedError


class _Classifier(PrivateModel):
    """A model that predicts classes."""

    classes: Sequence[Any] | None

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes as they were declared (k,)."""
        return np.asarray(list(self.classes or ()))

    def predict_proba(self, X: ArrayLike | pd.DataFrame) -> NDArray[np.float64]:
        """Return P(class | row) (n, k), in the order of :attr:`classes_`."""
        chances: NDArray[np.float64] = self.model_of().predict_proba(self._read(X))  # type: ignore[attr-defined]
        return chances

    def _named(self, predicted: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(self.classes_[predicted])

    def _goal(self, name: str) -> dict[str, Any]:
        if self.classes is None:
            raise ParameterError(
                "the classes are not declared",
                type(self).__name__,
                "give classes=[…]; they are never read from the rows",
            )
        return categories(name, self.classes)


class _Regressor(PrivateModel):
    """A model that predicts numbers."""

    target_bounds: tuple[float, float] | None

    def _goal(self, name: str) -> dict[str, Any]:
        if self.target_bounds is None:
            raise ParameterError(
                "the bounds of y are not declared",
                type(self).__name__,
                "give target_bounds=(lower, upper); they are never read from the rows",
            )
        return {**numeric(name, self.target_bounds), "kind": "real"}


class _Clusterer(PrivateModel):
    """A model that finds groups; it needs no y."""

    @property
    def labels_(self) -> NDArray[Any]:
        """There are none: the group of a training row is private; call ``predict``."""
        raise AttributeError("the groups of the training rows are private; call predict")

    def fit_predict(self, X: ArrayLike | pd.DataFrame, y: Any = None, **more: Any) -> NDArray[Any]:
        """Fit, then return the group of each row of X: private, as the rows are."""
        return self.fit(X).predict(X)

    def _target(self, frame: pd.DataFrame, y: Any) -> tuple[str, Any, dict[str, Any]]:
        if "groups" in self.learner.parameters.declared() and getattr(self, "groups", None) is None:
            raise ParameterError("the number of groups is missing", type(self).__name__, "give groups= a number")
        return super()._target(frame, ["0"] * len(frame))

    def _goal(self, name: str) -> dict[str, Any]:
        return categories(name, ["0", "1"])  # a column of no meaning: groups are found without it


_BASES: dict[str, type[PrivateModel]] = {CLASSIFICATION: _Classifier, REGRESSION: _Regressor, CLUSTERING: _Clusterer}


def classes() -> dict[str, type[PrivateModel]]:
    """Return every model's class by its name."""
    return {chosen.estimator.__name__: _class_of(chosen) for chosen in learners.LEARNERS}


@cache
def _class_of(chosen: Learner) -> type[PrivateModel]:
    """Return the class of a learner; its arguments are the learner's parameters and what all have."""
    defaults = {f.name: f.default for f in dataclasses.fields(chosen.parameters)}
    defaults |= _OF_TASK.get(chosen.task, {}) | _COMMON
    name = chosen.estimator.__name__

    def __init__(self: PrivateModel, **given: Any) -> None:  # noqa: N807
        for unknown in (key for key in given if key not in defaults):
            raise TypeError(f"{name} has no argument {unknown!r}")
        for key, default in defaults.items():
            setattr(self, key, given.get(key, default))

    # scikit-learn reads the names of the arguments off the signature.
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    keys = [inspect.Parameter(k, inspect.Parameter.KEYWORD_ONLY, default=v) for k, v in defaults.items()]
    __init__.__signature__ = inspect.Signature([own, *keys])  # type: ignore[attr-defined]
    about = "".join(f"        {k}: {field.help}.\n" for k, field in chosen.parameters.declared().items())
    return type(
        name,
        (_MIXINS[chosen.task], _BASES[chosen.task]),
        {
            "__init__": __init__,
            "__doc__": f"{chosen.title}. {chosen.about}\n{_ARGUMENTS}{about}    ",
            "__module__": "workbench.api",
            "learner": chosen,
        },
    )


def _frame(X: Any) -> pd.DataFrame:
    if isinstance(X, pd.DataFrame):
        return X.rename(columns=str)
    values = np.asarray(X)
    if values.ndim != 2:
        raise ParameterError(f"X has the shape {values.shape}, not (rows, columns)", mend="give a table")
    return pd.DataFrame(values, columns=[f"x{i}" for i in range(values.shape[1])])


def _pairs(bounds: Any, names: list[str], domains: Any) -> dict[str, tuple[Any, Any]]:
    """Return (lower, upper) by column; of a pair of numbers or sequences, for each column without a domain."""
    if bounds is None:
        return {}
    if isinstance(bounds, Mapping):
        return {str(name): pair for name, pair in bounds.items()}
    numbered = [name for name in names if name not in (domains or {})]
    try:
        lower, upper = (np.broadcast_to(np.asarray(end, dtype=float), len(numbered)) for end in bounds)
    except (TypeError, ValueError):
        raise ParameterError(
            "bounds are neither a mapping nor (lower, upper)", mend="give one number or one for each column"
        ) from None
    return {name: (float(a), float(b)) for name, a, b in zip(numbered, lower, upper, strict=True)}
