"""What is compared: the networks, and the form of the study."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QGridLayout, QLineEdit, QWidget

from workbench.deep import networks
from workbench.deep.memory_study import MemoryStudy
from workbench.deep.networks.images import PIXELS
from workbench.gui.style.language import tr, tr_later, tr_sentence
from workbench.gui.widgets.basic import Card, hold, label, named, rule, stack
from workbench.gui.widgets.parameter_form import Form, explained

if TYPE_CHECKING:
    from workbench.deep.networks import Network

WIDTH = 320
ACROSS = 2
TITLES = {
    "classes": tr_later("classes"),
    "reductions": tr_later("reductions"),
    "device": tr_later("device"),
    "optimizer": tr_later("optimizer"),
}
FIRST, FOR_TABLES = "mnist-cnn", "mlp"


class ChoicesCard(Card):
    """A box for each network and the form below them.

    Signals:
        changed: another network, or another value of the form.
    """

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        hold(self, WIDTH)
        self._boxes: dict[str, QCheckBox] = {}
        self._touched = False
        boxes = QWidget()
        grid = QGridLayout(boxes)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setVerticalSpacing(2)
        for at, network in enumerate(networks.NETWORKS):
            title = tr_sentence(network.title)
            box = named(
                QCheckBox(tr_sentence(network.short or network.title).removesuffix(", DP-SGD")),  # all of them are
                f"memory_network_{network.name}",
                title,
                tr("{title}. {about}", title=title, about=tr_sentence(network.about)),
            )
            box.setChecked(network.name == FIRST)
            box.toggled.connect(self.changed)
            box.clicked.connect(self._touch)
            grid.addWidget(box, at // ACROSS, at % ACROSS, Qt.AlignmentFlag.AlignLeft)
            self._boxes[network.name] = box
        self.form = Form("memory", MemoryStudy, titles={key: tr(words) for key, words in TITLES.items()})
        self.form.changed.connect(self.changed)
        self._show_beginnings()
        self._given = ""
        self._networks = boxes
        whole = stack(label(tr("NETWORKS TO COMPARE"), "caption"), (explained(self.form, boxes, rule()), 1))
        self.body.addLayout(whole)

    def networks(self) -> tuple[Network, ...]:
        """Return the networks that are ticked."""
        return tuple(network for network in networks.NETWORKS if self._boxes[network.name].isChecked())

    def study(self) -> MemoryStudy | None:
        """Return what the form says, or ``None`` while it is refused."""
        found = self.form.value()
        assert found is None or isinstance(found, MemoryStudy)
        return found

    def show_shape(self, shape: str, classes: int) -> None:
        """Put in what the rows that are open are like, unless another shape was typed."""
        present = self.study()
        if present is None or present.shape not in (self._given, MemoryStudy().shape):
            return
        self._given = shape
        self.form.set_value(type(present).from_plain({**present.to_plain(), "shape": shape, "classes": classes}))
        self._show_beginnings()
        if not self._touched:
            images = type(present)(shape=shape).inputs == PIXELS or "," in shape
            for name, wanted in ((FIRST, images), (FOR_TABLES, not images)):
                self._boxes[name].setChecked(wanted)
        self.changed.emit()

    def _touch(self) -> None:
        self._touched = True

    def _show_beginnings(self) -> None:
        """Show the beginning of each list: a field that is filled shows its end."""
        for field in self.form.findChildren(QLineEdit):
            field.setCursorPosition(0)

    def lock(self, *, locked: bool) -> None:
        """Let nothing be changed while the study runs."""
        for part in (self._networks, self.form):
            part.setEnabled(not locked)
