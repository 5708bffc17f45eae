"""Released models from Python: opened from their folders, or trained on a release at no cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import accuracy_score, r2_score

from workbench import learners
from workbench.api.datasets import in_python
from workbench.api.frames import Place, Shown, cell_text, path_of, table_of
from workbench.api.private_model import MadeColumns, frame_of_rows, unreadable_rows, values_of
from workbench.data.table import Table
from workbench.learners.tasks import CLASSIFICATION, REGRESSION
from workbench.params import ParameterError
from workbench.release.certificate import MADE_FROM
from workbench.release.model import on_release
from workbench.release.model.open_model import AnswersSomeRows, OpenModel, open_model
from workbench.release.verify import verified_release


class Released(Shown):
    """A released model, ready to predict as the fitted one does.

    Attributes:
        card: its card, as plain values.
        feature_names_in_: the columns that it reads.
    """

    def __init__(self, opened: OpenModel, classes: Sequence[Any] | None = None) -> None:
        self._opened = opened
        self.card = opened.card
        self.feature_names_in_ = np.array([a.name for a in opened.attributes], dtype=object)
        self._classes = None if opened.task != CLASSIFICATION else _classes(opened.target.values(), classes)

    @property
    def epsilon(self) -> float:
        """ε of its guarantee; a model that was trained on a release shares that of the release."""
        return float(self.card["guarantee"]["epsilon"])

    @property
    def charged(self) -> float:
        """ε that was charged for the model itself: 0 where it was trained on a release."""
        return 0.0 if MADE_FROM in self.card else self.epsilon

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes (k,), in the order of :meth:`predict_proba`; only a classifier has them."""
        if self._classes is None:
            raise AttributeError("this model does not predict classes")
        return self._classes

    def predict(self, X: ArrayLike | pd.DataFrame) -> NDArray[Any]:
        """Return the prediction for each row (n,): a class, a number, or the number of a group.

        It follows from the rows and is as private as they are. A DataFrame may have more columns, in any order; the
        columns of an array are those of :attr:`feature_names_in_`.
        """
        if self._opened.columns:
            raise AttributeError("this model transforms columns: call transform")
        predicted = np.asarray(self._opened.model.predict(self._read(X)))
        return predicted if self._classes is None else np.asarray(self._classes[predicted])

    def predict_proba(self, X: ArrayLike | pd.DataFrame) -> NDArray[np.float64]:
        """Return P(class | row) (n, k), in the order of :attr:`classes_`."""
        if not hasattr(self._opened.model, "predict_proba"):
            raise AttributeError("this model has no predicted probabilities")
        chances: NDArray[np.float64] = self._opened.model.predict_proba(self._read(X))
        return chances

    def score(self, X: ArrayLike | pd.DataFrame, y: ArrayLike) -> float:
        """Return the accuracy of a classifier, R² of a regression, on rows and their true values: private figures."""
        if self._opened.task not in (CLASSIFICATION, REGRESSION):
            raise AttributeError("only a classifier or regressor has a score")
        measure = accuracy_score if self._opened.task == CLASSIFICATION else r2_score
        return float(measure(y, self.predict(X)))

    def transform(self, X: ArrayLike | pd.DataFrame) -> pd.DataFrame:
        """Return the new columns of PCA and the like, with their public bounds for a model that follows."""
        made = self._opened.columns
        if not made:
            raise AttributeError("this model does not transform columns: call predict")
        rows = self._opened.made(self._table(X))
        account = self.card.get("account", {}).get("name")
        stated = MadeColumns({fact.name: fact for fact in made}, released=True, account=account)
        index = X.index if isinstance(X, pd.DataFrame) else pd.RangeIndex(len(rows))
        return stated.on(values_of(rows, made, {}), index)

    def predictions(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return what ``workbench predict`` writes: the predictions, and the probability of each class."""
        cells = list(self._opened.predict(table_of(frame)))
        said = pd.DataFrame(cells, columns=list(self._opened.header), index=frame.index)
        texts = 1 if self._opened.task == CLASSIFICATION else 0
        return said.astype(dict.fromkeys(self._opened.header[texts:], float))

    def facts_shown(self) -> tuple[str, dict[str, Any], list[dict[str, Any]]]:
        """Return the heading, the guarantee and the columns, as they are shown."""
        guarantee = self.card["guarantee"]
        facts: dict[str, Any] = {"ε": self.epsilon} | (
            {"δ": delta} if (delta := float(guarantee.get("delta", 0))) else {}
        )
        facts |= {} if self._opened.columns else {"predicts": self._opened.target.name}
        facts |= {"release": self.card["release_id"]} if "release_id" in self.card else {}
        reads = [{"reads": a.name, "kind": a.kind} for a in self._opened.attributes]
        return f"Released model {self._opened.title}", facts, reads

    def _table(self, X: Any) -> Table:
        frame = frame_of_rows(X)
        if not isinstance(X, pd.DataFrame):
            names = list(self.feature_names_in_)
            if len(frame.columns) != len(names):
                raise ParameterError(f"X has {len(frame.columns)} columns, but the model reads {len(names)}")
            frame = frame.set_axis(names, axis=1)
        return table_of(frame)

    def _read(self, X: Any) -> NDArray[Any]:
        with unreadable_rows():
            rows = self._opened.read(self._table(X))
            if isinstance(self._opened.model, AnswersSomeRows):
                self._opened.model.require_answered(rows)
            return rows


def fit_on_release(
    path: Place,
    certificate: Place | None = None,
    *,
    target: str,
    model: str = "naive-bayes",
    output: Place | None = None,
    replace: bool = False,
    classes: Sequence[Any] | None = None,
) -> Released:
    """Train a model on a released table, knowing the public tables of its certificate; that costs nothing beyond it.

    Only the released file and its certificate are read, so the model is as public as they are.

    Args:
        path: the released file.
        certificate: its certificate, where it is not beside it.
        target: the column to predict.
        model: a learner's name, as in ``workbench fit``: ``naive-bayes`` or ``linear-regression``.
        output: a new folder for the model and its card.
        replace: whether an ``output`` that exists is replaced; it is refused otherwise.
        classes: as for :func:`load_model`.

    Raises:
        InputError: the release is not what its certificate says, or the folder cannot be written.
        ParameterError: the model cannot learn from a release, or the target is not one that it can predict.
    """
    chosen = learners.learner(model)
    place = None if certificate is None else path_of(certificate)
    if output is not None:
        folder = path_of(output)
        with in_python():
            made = on_release.train_on_release(chosen, path_of(path), place, target, folder, replace=replace)
        return Released(made.opened(folder), classes)
    learners.corrected(chosen)  # refused before the release is read
    released = verified_release(path_of(path), place)
    return Released(on_release.fit_on_release(chosen, released, target).opened(), classes)


def load_model(folder: Place, *, classes: Sequence[Any] | None = None) -> Released:
    """Open the released model in ``folder``, after checking it against its card.

    Args:
        folder: of the model, text or a ``Path``.
        classes: the classes as predictions return them. A card names them as text: by default they are whole
            numbers, decimals or truth values where all of them are written so, else text.

    Raises:
        InputError: it is not a released model, or was changed after its release.
        ParameterError: the classes are not those of the card.
    """
    return Released(open_model(path_of(folder)), classes)


def _classes(texts: Sequence[str], given: Sequence[Any] | None) -> NDArray[Any]:
    if given is not None:
        known = {cell_text(value): i for i, value in enumerate(given)}
        if set(known) != set(texts):
            raise ParameterError("these are not the classes of the model", "classes", f"give {', '.join(texts)}")
        return np.asarray(given)[[known[text] for text in texts]]
    for kind, read in ((np.int64, int), (np.float64, float)):
        try:
            values = [read(text) for text in texts]
        except ValueError:
            continue
        if [cell_text(value) for value in values] == list(texts):
            return np.array(values, dtype=kind)
    if set(texts) <= {"true", "false"}:
        return np.array([text == "true" for text in texts])
    return np.asarray(texts)
