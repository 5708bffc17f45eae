"""The choice of the model that is trained: a list of all there are, each with what it needs as its tooltip."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtGui import QStandardItemModel
from PySide6.QtWidgets import QWidget

from workbench.deep.networks import Network
from workbench.gui.widgets.basic import named, row
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.learners import Learner

OF_TABLES = "learns from tables; networks alone learn from images."


class ModelChooser(QWidget):
    """Shows every model of the lists.

    Signals:
        chosen: the name of the model that a person chose.
    """

    chosen = Signal(str)

    def __init__(self, models: Sequence[Learner | Network]) -> None:
        super().__init__()
        self._list = named(ChoiceBox(), "train_model", "Model", "The model that is trained")
        for model in models:
            self._list.addItem(model.title, model.name)
        self._models = tuple(models)
        self._list.currentIndexChanged.connect(lambda _index: self.chosen.emit(self._list.currentData()))
        self.show_what_reads(images=False)
        self.setLayout(row(self._list))

    def show_what_reads(self, *, images: bool) -> None:
        """Let only what reads them be chosen where ``images`` are open: the rest is greyed, and says why."""
        entries = self._list.model()
        assert isinstance(entries, QStandardItemModel)
        for at, model in enumerate(self._models):
            fits = not images or isinstance(model, Network)
            stated = f"{model.title}. {model.about} {model.needs}" if fits else f"{model.title} {OF_TABLES}"
            entries.item(at).setEnabled(fits)
            entries.item(at).setToolTip(stated)

    def show_model(self, name: str) -> None:
        """Show ``name`` as the chosen one, without a signal."""
        self._list.blockSignals(True)
        self._list.setCurrentIndex(self._list.findData(name))
        self._list.blockSignals(False)
