"""A field for a path: whole while it is edited, else with the middle left out where there is no room."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QLineEdit, QPushButton, QStyle, QStyleOptionFrame

from workbench.gui.style.language import again, tr
from workbench.gui.widgets.basic import button, named

TEXT_MARGIN = 2  # pixels that Qt leaves on either side of the text of a field


class PathField(QLineEdit):
    """A path says most at its two ends: where it is, and what it is called. The whole of it is the tooltip."""

    ending = ""  # of the name that is suggested for it

    def __init__(self, name: str, accessible: str, tip: str) -> None:
        super().__init__()
        named(self, name, accessible, tip)
        self._tip = tip
        self.textChanged.connect(self._notify)

    def choose(self, path: str) -> None:
        """Take a path that a person has chosen, as one that was typed."""
        self.setText(path)
        self.setModified(True)

    def chooser(
        self,
        ask: Callable[[], str],
        tip: str,
        then: Callable[[], object] | None = None,
        *,
        name: str = "",
        text: str = "",
    ) -> QPushButton:
        """Return the button, by default ``FIELD_browse``, that asks for a path and takes it; ``then`` follows that."""

        def press() -> None:
            if path := ask():
                self.choose(path)
                if then is not None:
                    then()

        return button(text or tr("Browse…"), name or f"{self.objectName()}_browse", tip=tip, press=press)

    def retranslate(self) -> None:
        self._tip = again(self._tip)
        self._notify(self.text())

    def shown(self) -> str:
        if self.hasFocus():
            return self.text()
        return self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideMiddle, self._room().width())

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        shown = self.shown()
        if shown == self.text():
            super().paintEvent(event)
            return
        option = QStyleOptionFrame()
        self.initStyleOption(option)
        with QPainter(self) as painter:
            self.style().drawPrimitive(QStyle.PrimitiveElement.PE_PanelLineEdit, option, painter, self)
            group = QPalette.ColorGroup.Active if self.isEnabled() else QPalette.ColorGroup.Disabled
            painter.setPen(option.palette.color(group, QPalette.ColorRole.Text))
            painter.drawText(self._room(), Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, shown)

    def _room(self) -> QRect:
        option = QStyleOptionFrame()
        self.initStyleOption(option)
        room = self.style().subElementRect(QStyle.SubElement.SE_LineEditContents, option, self)
        return room.adjusted(TEXT_MARGIN, 0, -TEXT_MARGIN, 0)

    def _notify(self, text: str) -> None:
        self.setToolTip(f"{text}\n{self._tip}" if text else self._tip)
