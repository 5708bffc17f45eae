"""Released models from Python: opened from their folders, or trained on a release at no cost."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from workbench import learners
from workbench.api.frames import table_of
from workbench.api.made_columns import MadeColumns, values_of
from workbench.api.tables import Place
from workbench.learners.tasks import CLASSIFICATION
from workbench.release.model import on_release
from workbench.release.model.card import MADE_FROM
from workbench.release.model.open_model import OpenModel, open_model
from workbench.release.table.verified import verified_release
from workbench.signals.cancel import CancelToken
from workbench.signals.events import ignore


class Released:
    """A released model, ready to predict.

    Attributes:
        card: its card, as plain values.
    """

    def __init__(self, opened: OpenModel) -> None:
        self._opened = opened
        self.card = opened.card

    @property
    def _account(self) -> str | None:
        told = self.card.get("account")
        return None if told is None else str(told["name"])

    @property
    def epsilon(self) -> float:
        """ε of its guarantee; a model that was trained on a release shares that of the release."""
        return float(self.card["guarantee"]["epsilon"])

    @property
    def charged(self) -> float:
        """ε that was charged for the model itself: 0 where it was trained on a release."""
        return 0.0 if MADE_FROM in self.card else self.epsilon

    def predict(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the predictions for each row, and the probabilities of the classes where the model tells them.

        Of PCA and the like they are the new columns, with their public bounds for a model that follows. They are
        functions of the rows: private, as these are.
        """
        made = self._opened.columns
        if made:
            rows = self._opened.made(table_of(frame))
            told = MadeColumns({fact.name: fact for fact in made}, released=True, account=self._account)
            return told.on(values_of(rows, made, {}), frame.index)
        cells = list(self._opened.predict(table_of(frame)))
        said = pd.DataFrame(cells, columns=list(self._opened.header), index=frame.index)
        texts = 1 if self._opened.task == CLASSIFICATION else 0
        return said.astype(dict.fromkeys(self._opened.header[texts:], float))


def fit_on_release(
    path: Place,
    certificate: Place | None = None,
    *,
    target: str,
    model: str = "naive-bayes",
    output: Place | None = None,
) -> Released:
    """Train a model on a released table, knowing the public tables of its certificate; that costs nothing beyond it.

    Only the released file and its certificate are read, so the model is as public as they are.

    Args:
        path: the released file.
        certificate: its certificate, where that does not lie beside it.
        target: the column to predict.
        model: a learner's name, as in ``workbench fit``: ``naive-bayes`` or ``linear-regression``.
        output: a new folder for the model and its card.

    Raises:
        InputError: the release is not what its certificate says, or the folder cannot be written.
        ParameterError: the model cannot learn from a release, or the target is not one that it can predict.
    """
    chosen = learners.learner(model)
    place = None if certificate is None else Path(certificate)
    if output is not None:
        folder = Path(output)
        return Released(on_release.train_on_release(chosen, Path(path), place, target, folder).opened(folder))
    learners.corrected(chosen)  # refused before the release is read
    released = verified_release(Path(path), place, ignore, CancelToken())
    return Released(on_release.fit_on_release(chosen, released, target).opened())


def load_model(folder: Place) -> Released:
    """Open the released model in ``folder``, after checking it against its card.

    Raises:
        InputError: it is no released model, or was changed after its release.
    """
    return Released(open_model(Path(folder)))
