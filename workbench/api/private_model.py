"""What the private models have in common as scikit-learn estimators: how columns are declared, read and charged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from workbench.api.frames import table_of
from workbench.api.made_columns import MadeColumns
from workbench.api.plans import categories, numeric
from workbench.api.study_warning import warn_of_study
from workbench.api.tables import Place, asked_for, place_of, study_path
from workbench.data.columns.matrix import matrix
from workbench.data.schema import OWN_VALUE, Attribute
from workbench.learners import Learner
from workbench.learners.tasks import task
from workbench.params import ParameterError
from workbench.privacy.central import StudyNoise
from workbench.release.ledger.ledger import Ledger
from workbench.release.ledger.study_note import note_study
from workbench.release.model.open_model import Predictor, open_model
from workbench.release.model.release_learner import columns_of, release_fit
from workbench.sanitize.plan import Column, Plan


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
    study_ledger: Place | None

    def fit(self, X: ArrayLike | pd.DataFrame, y: ArrayLike | pd.Series | None = None) -> Self:
        """Learn from X (n, d), a DataFrame or an array, and y (n,).

        Raises:
            InputError: a cell does not fit what is declared; the message names row and column.
            ParameterError: a column is not declared, or an argument is refused.
            BudgetRefusedError: the cap does not allow it; nothing was read.
        """
        frame = frame_of_rows(X)
        before = MadeColumns.of(frame)
        columns = self._columns([str(name) for name in frame.columns], before)
        target, values, goal = self._target(frame, y)
        table = table_of(frame.assign(**{target: values}))
        plan = Plan(
            epsilon=self.epsilon_of_row(),
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
            self._refuse_for_release(before)
            assert self.output is not None
            with Ledger.open(place_of(self.ledger)) as opened:
                self.release_ = release_fit(self.learner, parameters, plan, target, table, Path(self.output), opened)
            self.model_ = open_model(Path(self.output)).model
            return self
        if self.output is not None:
            raise ParameterError("what is written is released, and a release is charged", "output", "give a ledger=")
        note_study(table, "model", study_path(self.study_ledger))
        noise = StudyNoise(np.random.default_rng(self.random_state))
        X_, y_ = matrix(table, features), task(self.learner.task).read(table, declared)
        self.model_ = self.learner.private(self._attributes, declared.facts(), parameters, noise).fit(X_, y_)
        warn_of_study("this model", "with ledger= and output= it is charged and may leave")
        return self

    def model_of(self) -> Predictor:
        """Return the fitted model; raise scikit-learn's NotFittedError before that."""
        check_is_fitted(self, "model_")
        return self.model_

    def _read(self, X: ArrayLike | pd.DataFrame) -> NDArray[np.float64]:
        check_is_fitted(self, "model_")
        table = table_of(frame_of_rows(X))
        table.require([a.name for a in self._attributes])
        return matrix(table, self._attributes)

    def _parameters(self) -> Any:
        names = self.learner.parameters.declared()
        given = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        return self.learner.parameters.from_plain(given, type(self).__name__)

    def epsilon_of_row(self) -> float:
        """Return what a fit costs for one row; raise :class:`ParameterError` where nobody has said."""
        epsilon: float | None = getattr(self, "epsilon", None)
        if epsilon is None:
            raise ParameterError("epsilon is missing", type(self).__name__, "give epsilon= a number above 0")
        return epsilon

    def _refuse_for_release(self, before: MadeColumns | None) -> None:
        if before is not None:
            before.require_charged_to(self.account)
        if self.random_state is not None:
            raise ParameterError("a release draws fresh randomness", "random_state", "leave it out")
        if self.output is None:
            raise ParameterError("a released model is a folder with its card", "output", "give output= a new folder")

    def _columns(self, names: list[str], before: MadeColumns | None) -> tuple[Column, ...]:
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
            elif before is not None and name in before.facts:
                made.append(before.column(name, may_miss=name in self.missing))
                continue
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


def frame_of_rows(X: Any) -> pd.DataFrame:
    """Return X as a DataFrame with names as text; the columns of an array are called x0, x1 and so on.

    Raises:
        ParameterError: X has not two dimensions.
    """
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
