"""Private preprocessing as scikit-learn transformers, and what a pipeline of private steps costs."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from workbench.api.datasets import mark_of
from workbench.api.made_columns import MadeColumns, values_of
from workbench.api.plans import categories
from workbench.api.private_model import PrivateModel
from workbench.data.schema import Attribute
from workbench.params import ParameterError
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
            raise NotFittedError(f"{type(self).__name__} is not fitted yet: call fit before asking for {name}")
        return getattr(self.model_, name)

    def _facts(self) -> tuple[Attribute, ...]:
        facts: tuple[Attribute, ...] = self.model_of().attributes_after  # type: ignore[attr-defined]
        return facts

    def _target(self, frame: pd.DataFrame, y: Any) -> tuple[str, Any, dict[str, Any]]:
        return super()._target(frame, ["0"] * len(frame))

    def _goal(self, name: str) -> dict[str, Any]:
        return categories(name, ["0", "1"])  # a column of no meaning: nothing is learned from it


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
                f"{type(step).__name__} learns from the rows without an epsilon",
                "the pipeline",
                "use private steps, and others that need no fit",
            )
    return total
