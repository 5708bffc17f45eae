"""Lines of a title, a bar and figures: how good each way of training is."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QWidget

from workbench.gui.session.session import Session
from workbench.gui.style.language import tr_sentence
from workbench.gui.widgets.bar import Bar, Ink, Part
from workbench.gui.widgets.basic import label
from workbench.render.values import BAND

NAME, BAR, FIGURE, CHANGE = range(4)


class BarLines(QWidget):
    """A grid of lines; the bars begin at 0 and share one scale."""

    def __init__(self, session: Session, name: str, change: str, figure: str = "") -> None:
        """Make the grid; the figures of a line are ``NAME_LINE``, headed by ``figure`` and ``change``."""
        super().__init__()
        self.setObjectName(name)
        self._session, self._name = session, name
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(16)
        self._grid.setVerticalSpacing(8)
        self._grid.setColumnStretch(BAR, 1)
        self._grid.addWidget(label(figure or tr_sentence(BAND), "muted"), 0, FIGURE, _RIGHT)
        self._grid.addWidget(label(change, "muted"), 0, CHANGE, _RIGHT)
        self._parts: list[QWidget] = []

    def show_lines(self, lines: list[tuple[str, str, float, float, str, str]], ink: Ink) -> None:
        """Show lines of (name, title, share of the scale, mark, figure, change); their titles wrap.

        The mark is a place between 0 and 1, of the figure that a line is compared with; below 0: none.
        """
        for part in self._parts:
            self._grid.removeWidget(part)
            part.hide()
            part.deleteLater()
        self._parts = []
        for at, (name, title, share, mark, figure, change) in enumerate(lines, start=1):
            bar = Bar(self._session, f"{self._name}_{name}_bar")
            bar.show_parts([Part(max(share, 0.0), ink)], [mark] if mark >= 0 else [])
            stated = label(figure, name=f"{self._name}_{name}")
            stated.setAccessibleName(f"{title}: {figure}" + (f", {change}" if change else ""))
            changed = label(change, name=f"{self._name}_{name}_change")
            for column, part in ((NAME, label(title)), (BAR, bar), (FIGURE, stated), (CHANGE, changed)):
                align = _RIGHT if column in (FIGURE, CHANGE) else Qt.AlignmentFlag(0)
                self._grid.addWidget(part, at, column, align)
                self._parts.append(part)


_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
