"""A table and the card about its chosen row: one below the other, or side by side where the page is wide."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QLayout, QScrollArea, QWidget

from workbench.gui.widgets.basic import Card, scrolled, stack

WIDE = 1280
"""Pixels of a page from which the card stands beside the table: the lines of a wider table are tiring to follow."""

MASTER, DETAIL = 3, 2
"""How the width is shared then."""

HIGHEST = 2
"""How many times its least height a picture gets beside the table."""

UNBOUNDED = 16_777_215
"""Qt's largest widget."""


class Standing(Card):
    """A card that stands beside its table or below it."""

    def arrange(self, *, beside: bool) -> None:
        """Arrange what is in it for either place."""


class DetailCard(Standing):
    """A card of words and a picture: low and broad below its table, high and narrow beside it."""

    def __init__(self, height: int, picture_height: int) -> None:
        """Make the card.

        Args:
            height: its height below the table; it keeps it whatever it shows, so that nothing jumps.
            picture_height: least height of the picture beside the table.
        """
        super().__init__()
        self._height, self._picture_height = height, picture_height
        self._halves = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._halves.setSpacing(24)
        self.body.addLayout(self._halves)
        self._picture: QWidget | None = None
        self._picture_width = 0

    def fill(self, words: QLayout, picture: QWidget, *, picture_width: int) -> None:
        """Put in both halves.

        Args:
            words: what is said and can be pressed.
            picture: what is drawn.
            picture_width: pixels of the picture below the table.
        """
        self._picture, self._picture_width = picture, picture_width
        self._halves.addLayout(words, 1)
        self._halves.addWidget(picture)
        self._halves.addStretch(0)
        self.arrange(beside=False)

    def arrange(self, *, beside: bool) -> None:
        """Arrange the halves for a place beside the table or below it."""
        assert self._picture is not None
        directions = QBoxLayout.Direction
        self._halves.setDirection(directions.TopToBottom if beside else directions.LeftToRight)
        self._halves.setStretch(0, 0 if beside else 1)
        self._halves.setStretch(self._halves.count() - 1, 1 if beside else 0)
        self.setMinimumHeight(0 if beside else self._height)
        self.setMaximumHeight(UNBOUNDED if beside else self._height)
        self._picture.setMinimumWidth(0 if beside else self._picture_width)
        self._picture.setMaximumWidth(UNBOUNDED if beside else self._picture_width)
        self._picture.setMinimumHeight(self._picture_height if beside else 0)
        self._picture.setMaximumHeight(HIGHEST * self._picture_height if beside else UNBOUNDED)
        self._halves.setStretch(1, 2 if beside else 0)  # a high window is for the picture


def scrolled_words(*parts: QWidget) -> QScrollArea:
    """Return texts below each other that are scrolled where the card is low: no field beside them is ever squeezed."""
    return scrolled(stack(*parts, None, spacing=4), "")


class MasterDetail(QWidget):
    """Holds both, and turns them when the page becomes wide or narrow."""

    def __init__(
        self,
        master: QWidget,
        detail: Standing,
        heights: tuple[int, int] = (1, 0),
        widths: tuple[int, int] = (MASTER, DETAIL),
    ) -> None:
        """Put both one below the other, or side by side: how they share the height, and how the width."""
        super().__init__()
        self._detail, self._heights, self._widths = detail, heights, widths
        self._beside = False
        self._below = QSize(WIDE // 2, WIDE // 4)
        self._line = QBoxLayout(QBoxLayout.Direction.TopToBottom, self)
        self._line.setContentsMargins(0, 0, 0, 0)
        self._line.setSpacing(12)
        self._line.addWidget(master, heights[0])
        self._line.addWidget(detail, heights[1])

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Ask for what the two need one below the other, so that a wide window can be made narrow again."""
        hint = super().minimumSizeHint()
        if not self._beside:
            self._below = hint
        return hint.boundedTo(self._below)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Choose the arrangement that fits the width."""
        super().resizeEvent(event)
        beside = event.size().width() >= WIDE
        if beside == self._beside:
            return
        self._beside = beside
        directions = QBoxLayout.Direction
        self._line.setDirection(directions.LeftToRight if beside else directions.TopToBottom)
        self._line.setStretch(0, self._widths[0] if beside else self._heights[0])
        self._line.setStretch(1, self._widths[1] if beside else self._heights[1])
        self._detail.arrange(beside=beside)
