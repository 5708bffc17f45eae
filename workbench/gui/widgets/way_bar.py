"""The four ways to release, at the head of each page that makes one: its own is marked, the others lead on."""

from __future__ import annotations

from collections.abc import Container

from PySide6.QtCore import QTimer
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QPushButton, QWidget

from workbench.gui.session.session import Session
from workbench.gui.widgets.basic import button, row

WAYS = (
    ("release", "Noisy rows", "Release every row with noise in its cells"),
    ("synthetic", "Synthetic rows", "Release new rows of the same shape, drawn from noisy counts"),
    ("statistics", "Statistics", "Release means, sums, counts and quantiles with noise"),
    ("train", "A model", "Release a private model instead of a table"),
)
"""The page of each way, its words, and what it releases."""


class WayBar(QWidget):
    """Segments; the page's own is pressed and stays so.

    Attributes:
        page: the name of the page that it stands on.
    """

    def __init__(self, session: Session, page: str, own: str = "", only: Container[str] | None = None) -> None:
        """Make it for ``page``, which shows the way of the page ``own``, by default its own; of ``only`` these ways."""
        super().__init__()
        self.setObjectName(f"{page}_ways")
        self.setAccessibleName("How to release")
        self._segments: dict[str, QPushButton] = {}
        for name, words, tip in WAYS:
            if only is not None and name not in only:
                continue
            segment = button(words, f"{page}_way_{name}", "segment", tip=tip)
            segment.setCheckable(True)
            segment.clicked.connect(lambda _checked, name=name: self._choose(name))
            self._segments[name] = segment
        self._session, self._own, self.page = session, own or page, page
        self.setLayout(row(*self._segments.values(), spacing=2))
        self._mark()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        """Keep the keys on the page's own segment: Qt gives them to the first one when another page's goes."""
        super().showEvent(event)
        QTimer.singleShot(0, self, self._give_keys)

    def _give_keys(self) -> None:
        if any(segment.hasFocus() for segment in self._segments.values()) and self._own in self._segments:
            self._segments[self._own].setFocus()

    def _mark(self) -> None:
        for name, segment in self._segments.items():
            segment.setChecked(name == self._own)

    def _choose(self, name: str) -> None:
        self._mark()
        if name != self._own:
            self._session.go(name)
