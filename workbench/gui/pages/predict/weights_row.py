"""The file of public weights that a released network with a frozen part was trained on."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from workbench.gui.widgets.basic import button, label, row, stack
from workbench.gui.widgets.dialogs import ask_for_weights
from workbench.gui.widgets.path_field import PathField


class WeightsRow(QWidget):
    """A field for the file and the checksum that it must have; hidden while no network asks for it.

    Signals:
        chosen: (Path) open the network with this file.
    """

    chosen = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self._field = PathField("predict_weights", "File of the public weights", "The weights of the frozen part")
        self._field.editingFinished.connect(self._take)
        browse = button("Browse…", "predict_weights_browse", tip="Choose the file of the public weights")
        browse.clicked.connect(self._browse)
        self._stated = label("", "muted", wrap=True, name="predict_weights_told")
        lines = stack(self._stated, spacing=4)
        lines.addLayout(row(label("public weights"), self._field, browse))
        self.setLayout(lines)
        self.hide()

    def ask(self, checksum: str) -> None:
        """Ask for the file whose SHA-256 is ``checksum``."""
        self._stated.setText(f"SHA-256 of the file, as stated on the card: {checksum}")
        self.show()

    def _browse(self) -> None:
        path = ask_for_weights(self, "The public weights of the network")
        if path:
            self._field.choose(path)
            self._take()

    def _take(self) -> None:
        text = self._field.text().strip()
        if text and self.isVisible():
            self.chosen.emit(Path(text))
