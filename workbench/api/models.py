"""Private models as scikit-learn estimators: one class for each learner, made from its descriptor."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Sequence
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, ClusterMixin, RegressorMixin, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from workbench import learners
from workbench.api.datasets import mark_of
from workbench.api.plans import categories, numeric
from workbench.api.private_model import MadeColumns, PrivateModel, values_of
from workbench.data.cluster_parts import LOCAL
from workbench.data.schema import Attribute
from workbench.learners import Learner
from workbench.learners.tasks import CLASSIFICATION, CLUSTERING, REDUCTION, REGRESSION, SCALING
from workbench.params import ParameterError, did_you_mean
from workbench.privacy.accounting.event import exact


class PrivateTransformer(TransformerMixin, PrivateModel):  # type: ignore[misc]  # scikit-learn has no types
    """A model that makes new columns; it needs no y."""

    def transform(self, X: ArrayLike | pd.DataFrame) -> pd.DataFrame:
        """Return the new columns of each row: private, as the rows are.

        The DataFrame carries the columns' public bounds, which the next private step takes where it has none declared.
        """
        made = np.asarray(self.model_of().predict(self._read(X)))
        facts, mark = self._facts(), mark_of(X)
        released = self.release_ is not None
        known = MadeColumns({f.name: f for f in facts}, released, self._account)
        named = {name: list(values) for name, values in (self.domains or {}).items()}
        index = X.index if isinstance(X, pd.DataFrame) else pd.RangeIndex(len(made))
        columns = known.on(values_of(made, facts, named), index)
        return columns if mark is None else mark.on(columns)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the new columns; the names of X, where they are given, must be those of the fit."""
        check_is_fitted(self, "model_")
        _check_feature_names_in(self, input_features, generate_names=False)
        return np.array([fact.name for fact in self._facts()], dtype=object)

    @property
    def bounds_(self) -> dict[str, tuple[float, float]]:
        """The public bounds of the new columns of numbers, as the next step's ``bounds=`` takes them."""
        return {fact.name: fact.bounds() for fact in self._facts() if fact.numeric}

    def __getattr__(self, name: str) -> Any:
        """Return a released figure of the fitted model, such as ``components_`` or ``scale_``."""
        if not name.endswith("_") or name.startswith("_"):
            raise AttributeError(f"{type(self).__name__} has no {name!r}")
        if "model_" not in vars(self):  # asked of vars: scikit-learn's own check would ask here again
            raise NotFittedError(f"{type(self).__name__} is not fitted yet: call fit before using {name}")
        return getattr(self.model_, name)

    def _facts(self) -> tuple[Attribute, ...]:
        facts: tuple[Attribute, ...] = self.model_of().attributes_after  # type: ignore[attr-defined]
        return facts


def total_epsilon(model: Any) -> Decimal:
    """Return what one fit of a model, or of all steps of a pipeline, costs: the sum of their ε for one person.

    Raises:
        ParameterError: a step has no ε, or learns from the rows without one.
    """
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    total = Decimal(0)
    for step in steps:
        if isinstance(step, Pipeline):
            total += total_epsilon(step)
        elif isinstance(step, PrivateModel):
            total += exact(step.epsilon_of_row()) * step.rows_per_person
        elif step not in (None, "passthrough") and get_tags(step).requires_fit:
            raise ParameterError(
                f"{type(step).__name__} is fitted on the rows without privacy",
                "the pipeline",
                "use private steps, or steps that need no fitting",
            )
    return total


_COMMON: dict[str, Any] = {
    "bounds": None,
    "domains": None,
    "missing": (),
    "rows_per_person": 1,
    "account": None,
    "ledger": None,
    "output": None,
    "replace": False,
    "random_state": None,
    "study_ledger": None,
    "engine": LOCAL,
    "scheduler": None,
    "scheduler_file": None,
}
_OF_TASK: dict[str, dict[str, Any]] = {CLASSIFICATION: {"classes": None}, REGRESSION: {"target_bounds": None}}

_ARGUMENTS = """
    Without a ledger the fitted model is a private study; with one the fit is charged before a row is read, and the
    model is written to the folder ``output`` with its card. The ledger and the account that pays are those of the
    dataset (``api.dataset``) that X is taken from, or ``ledger`` and ``account``; without either, ``fit`` is refused.

    Args:
        bounds: public (lower, upper) by column of numbers; or a list of such pairs, one for each column; or (lower,
            upper), each one number or a list of one for each column. Columns that a private step before has made bring
            theirs along.
        domains: public values by column of categories.
        missing: columns in which a missing value is one more value; elsewhere it is refused.
        rows_per_person: maximum rows per person; multiplies the charge.
        account: public name of the account that pays; an array says nothing of it.
        ledger: the ledger's file, or ``True`` for the user's own.
        output: a new folder for the released model and its card.
        replace: whether an ``output`` that exists is replaced, which is charged again; it is refused otherwise.
        random_state: makes a study repeatable; a release takes none.
        study_ledger: the ledger's file that notes, at no cost, that there was a study; by default that of the
            dataset, else the user's own.
        engine: ``dask``: the rows are added up by the workers of ``scheduler``, for the models that are made of sums.
        scheduler: address of the Dask scheduler (``tcp://HOST:PORT`` or ``tls://HOST:PORT``), which receives the rows.
        scheduler_file: in its place, the file that ``dask scheduler --scheduler-file FILE`` has written.
"""


class _Predicts(PrivateModel):
    def predict(self, X: ArrayLike | pd.DataFrame) -> NDArray[Any]:
        """Return the prediction for each row (n,): a class as it was declared, a number, or the number of a group."""
        return self._named(np.asarray(self.model_of().predict(self._read(X))))

    def _named(self, predicted: NDArray[Any]) -> NDArray[Any]:
        return predicted


class _Classifier(ClassifierMixin, _Predicts):  # type: ignore[misc]  # scikit-learn has no types
    classes: Sequence[Any] | None

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes as they were declared (k,)."""
        check_is_fitted(self, "model_")
        return self._declared()

    def predict_proba(self, X: ArrayLike | pd.DataFrame) -> NDArray[np.float64]:
        """Return P(class | row) (n, k), in the order of :attr:`classes_`."""
        chances: NDArray[np.float64] = self.model_of().predict_proba(self._read(X))  # type: ignore[attr-defined]
        return chances

    def _named(self, predicted: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(self._declared()[predicted])

    def _target(self, frame: pd.DataFrame, y: Any) -> tuple[str, Any, dict[str, Any]]:
        values = np.asarray(y)
        if values.dtype.kind == "f" and self._declared().dtype.kind in "iub":
            check_classification_targets(values)
        return super()._target(frame, y)

    def _goal(self, name: str) -> dict[str, Any]:
        return categories(name, self._declared())

    def _declared(self) -> NDArray[Any]:
        """Return the classes as they were declared (k,), with the dtype that predictions have."""
        if self.classes is None:
            raise ParameterError(
                "the classes are not declared",
                type(self).__name__,
                "pass classes=[…]; they are never read from the rows",
            )
        if isinstance(self.classes, str):
            raise ParameterError("the classes are not a list", type(self).__name__, "pass classes=[…]")
        return np.asarray(self.classes if hasattr(self.classes, "dtype") else list(self.classes))


class _Regressor(RegressorMixin, _Predicts):  # type: ignore[misc]
    target_bounds: tuple[float, float] | None

    def _goal(self, name: str) -> dict[str, Any]:
        if self.target_bounds is None:
            raise ParameterError(
                "the bounds of y are not declared",
                type(self).__name__,
                "pass target_bounds=(lower, upper); they are never read from the rows",
            )
        return {**numeric(name, self.target_bounds), "kind": "real"}


class _Clusterer(ClusterMixin, _Predicts):  # type: ignore[misc]
    """A model that finds groups; it needs no y."""

    @property
    def labels_(self) -> NDArray[Any]:
        """There are none: the group of a training row is private; call ``predict``."""
        raise AttributeError("the cluster labels of the training rows are private; call predict")

    def fit_predict(self, X: ArrayLike | pd.DataFrame, y: Any = None, **more: Any) -> NDArray[Any]:
        """Fit, then return the group of each row of X: private, as the rows are."""
        return self.fit(X).predict(X)


_BASES: dict[str, type[PrivateModel]] = {
    CLASSIFICATION: _Classifier,
    REGRESSION: _Regressor,
    CLUSTERING: _Clusterer,
    REDUCTION: PrivateTransformer,
    SCALING: PrivateTransformer,
}


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
            near = did_you_mean(unknown, defaults) or f"; it has {', '.join(defaults)}"
            raise TypeError(f"{name} has no argument {unknown!r}{near}")
        for key, default in defaults.items():
            setattr(self, key, given.get(key, default))

    # scikit-learn reads the names of the arguments off the signature.
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    keys = [inspect.Parameter(k, inspect.Parameter.KEYWORD_ONLY, default=v) for k, v in defaults.items()]
    __init__.__signature__ = inspect.Signature([own, *keys])  # type: ignore[attr-defined]
    about = "".join(f"        {k}: {field.help}.\n" for k, field in chosen.parameters.declared().items())
    return type(
        name,
        (_BASES[chosen.task],),
        {
            "__init__": __init__,
            "__doc__": f"{chosen.title}. {chosen.about}\n{_ARGUMENTS}{about}    ",
            "__module__": "workbench.api",
            "learner": chosen,
        },
    )
