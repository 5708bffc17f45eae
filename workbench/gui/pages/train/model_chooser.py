"""The choice of the model: one button for each while there are few, else a list."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QButtonGroup, QPushButton, QWidget

from workbench.deep.networks import Network
from workbench.gui.widgets.basic import button, named, row
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.learners import Learner

MOST_BUTTONS = 5
"""More do not fit beside the title of the page in a window of 1280 pixels."""


class ModelChooser(QWidget):
    """Shows every model of the lists.

    Attributes:
        segments: the buttons by the models' names; empty where there is a list.

    Signals:
        chosen: the name of the model that a person chose.
    """

    chosen = Signal(str)

    def __init__(self, models: Sequence[Learner | Network]) -> None:
        super().__init__()
        self.segments: dict[str, QPushButton] = {}
        self._list: ChoiceBox | None = None
        if len(models) <= MOST_BUTTONS:
            self._make_buttons(models)
        else:
            self._make_list(models)

    def show_model(self, name: str) -> None:
        """Show ``name`` as the chosen one, without a signal."""
        if self._list is None:
            self.segments[name].setChecked(True)
            return
        self._list.blockSignals(True)
        self._list.setCurrentIndex(self._list.findData(name))
        self._list.blockSignals(False)

    def _make_buttons(self, models: Sequence[Learner | Network]) -> None:
        group = QButtonGroup(self)
        line = row()
        for model in models:
            name = model.name
            segment = button(model.short or model.title, f"train_model_{name}", "segment", tip=_tip(model))
            segment.setCheckable(True)
            segment.clicked.connect(lambda _checked, name=name: self.chosen.emit(name))
            group.addButton(segment)
            line.addWidget(segment)
            self.segments[name] = segment
        self.setLayout(line)

    def _make_list(self, models: Sequence[Learner | Network]) -> None:
        made = named(ChoiceBox(), "train_model", "Model", "The model that is trained")
        for model in models:
            made.addItem(model.title, model.name)
            made.setItemData(made.count() - 1, _tip(model), Qt.ItemDataRole.ToolTipRole)
        made.currentIndexChanged.connect(lambda _index: self.chosen.emit(made.currentData()))
        self._list = made
        self.setLayout(row(made))


def _tip(model: Learner | Network) -> str:
    return f"{model.title}. {model.about} {model.needs}"
