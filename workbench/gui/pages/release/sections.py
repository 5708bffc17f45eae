"""Where the cards of Release stand: one below the other, or in two columns where there is room."""

from __future__ import annotations

from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QWidget

from workbench.gui.widgets.basic import look, stack

WIDE = 1200
"""Pixels of width from which what will be published stands beside all the rest, as high as the page."""


class Sections(QWidget):
    """What is to be decided, and below it what was released before: there may be many."""

    def __init__(self, version: QWidget, published: QWidget, cost: QWidget, outside: QWidget, past: QWidget) -> None:
        super().__init__()
        look(self, "clear")
        self._published, self._cost, self._outside = published, cost, outside
        self._past = look(QWidget(), "clear")
        below = stack(past, None, spacing=0)
        self._past.setLayout(below)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(12)
        self._grid.addWidget(version, 0, 0, 1, 2)
        self._grid.setRowStretch(3, 1)
        self._wide: bool | None = None
        self._arrange(wide=False)

    def show_only_past(self, *, only: bool) -> None:
        """Show what was released before ``only``, where there is no table to release."""
        for part in (self._published, self._cost, self._outside):
            part.setVisible(not only)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Take one column or two."""
        super().resizeEvent(event)
        self._arrange(wide=self.width() >= WIDE)

    def _arrange(self, *, wide: bool) -> None:
        if wide == self._wide:
            return
        self._wide = wide
        for part in (self._published, self._cost, self._outside, self._past):
            self._grid.removeWidget(part)
        self._grid.addWidget(self._published, 1, 0, 3 if wide else 1, 1)
        self._grid.addWidget(self._cost, 1, 1)
        for at, part in ((2, self._outside), (3, self._past)):
            self._grid.addWidget(part, at, 1 if wide else 0, 1, 1 if wide else 2)
        self._grid.setColumnStretch(0, 1 if wide else 3)
        self._grid.setColumnStretch(1, 1 if wide else 2)
