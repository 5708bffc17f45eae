"""The phases of a training in the memory gauge: what each takes at most, beside what was predicted of it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QLineF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from workbench.gui.session.session import Session
from workbench.gui.widgets.basic import named
from workbench.gui.widgets.formatting import memory
from workbench.render.fonts import font
from workbench.signals.events import PhaseMemory

LINE, THICK = 18, 8
NAMES, FIGURES = 66, 108
"""Points that a name and its two figures take; the bar has the rest."""

TIP = (
    "Memory of the training by phase: the bar is the most that was measured so far, the mark what was predicted. "
    "The phase that goes on now has the arrow."
)
MARKED_FROM = 1.02
"""Times its prediction from which a phase is said to take more: below it the two figures read the same."""


class PhaseBars(QWidget):
    """One line for each phase: its name, a bar with a mark, and both figures; nothing while no training speaks."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        named(self, "memory_phases", "Memory of the training by phase", TIP)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._session = session
        self._phases: tuple[PhaseMemory, ...] = ()
        self._now = ""
        session.theme_changed.connect(self.update)
        self.hide()

    @property
    def phases(self) -> tuple[PhaseMemory, ...]:
        """The phases that are drawn."""
        return self._phases

    @property
    def current(self) -> str:
        """The name of the phase that goes on."""
        return self._now

    def show_phases(self, phases: Sequence[PhaseMemory], now: str) -> None:
        """Show ``phases``, of which the one called ``now`` goes on; hide where there are none."""
        if (tuple(phases), now) == (self._phases, self._now):
            return
        another = len(phases) != len(self._phases)
        self._phases, self._now = tuple(phases), now
        if another:
            self.updateGeometry()
            self.setVisible(bool(phases))
        self.setAccessibleDescription("; ".join(map(_words, self._phases)) + (f"; now: {now}" if now else ""))
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return the size of all lines."""
        return QSize(NAMES + FIGURES + 60, LINE * max(1, len(self._phases)))

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return the same height: a line that is cut cannot be read."""
        return QSize(NAMES + FIGURES + 24, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw a line for each phase."""
        if not self._phases:
            return
        whole = 1.05 * max(max(p.predicted, p.peak) for p in self._phases) or 1.0
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            for at, phase in enumerate(self._phases):
                self._draw(painter, phase, at * LINE, whole)

    def _draw(self, painter: QPainter, phase: PhaseMemory, top: int, whole: float) -> None:
        theme, now = self._session.theme, phase.name == self._now
        painter.setFont(font(11, QFont.Weight.DemiBold if now else QFont.Weight.Normal))
        painter.setPen(QColor(theme.text if now else theme.muted))
        middle = Qt.AlignmentFlag.AlignVCenter
        painter.drawText(QRectF(0, top, NAMES, LINE), middle, f"{'▸' if now else ' '} {phase.name}")
        track = QRectF(NAMES, top + (LINE - THICK) / 2, self.width() - NAMES - FIGURES, THICK)
        ground = QColor(theme.line)
        ground.setAlphaF(0.6)
        painter.fillRect(track, ground)
        filled = QRectF(track)
        filled.setWidth(track.width() * phase.peak / whole)
        painter.fillRect(filled, QColor(theme.warn if exceeds(phase) else theme.muted))
        painter.setPen(QPen(QColor(theme.text), 2))
        x = track.left() + track.width() * phase.predicted / whole
        painter.drawLine(QLineF(x, track.top() - 2, x, track.bottom() + 2))
        painter.setPen(QColor(theme.text if now else theme.muted))
        painter.drawText(
            QRectF(self.width() - FIGURES, top, FIGURES, LINE),
            middle | Qt.AlignmentFlag.AlignRight,
            f"{'!' if exceeds(phase) else ''} {measured(phase)} of {memory(phase.predicted)}",
        )


def exceeds(phase: PhaseMemory) -> bool:
    """Return whether a phase has taken more than was predicted of it."""
    return phase.peak > MARKED_FROM * phase.predicted


def measured(phase: PhaseMemory) -> str:
    """Return what a phase took at most, without its unit where the prediction beside it has the same."""
    if not phase.peak:
        return "–"
    own, other = memory(phase.peak), memory(phase.predicted)
    return own.rpartition(" ")[0] if own.rpartition(" ")[2] == other.rpartition(" ")[2] else own


def _words(phase: PhaseMemory) -> str:
    taken = f"{memory(phase.peak)} measured" if phase.peak else "not begun"
    return f"{phase.name}: {taken}, {memory(phase.predicted)} predicted"
