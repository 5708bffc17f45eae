"""The phases of a training in the memory gauge: what each takes at most, beside what was predicted of it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QLineF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from workbench.gui.session.session import Session
from workbench.gui.widgets.basic import named
from workbench.gui.widgets.formatting import memory
from workbench.render.fonts import font
from workbench.signals.events import PhaseMemory

LINE, THICK, GAP = 18, 8, 8
LEAST_BAR = 48
"""Points of a line's height, of a bar's, between the parts of a line, and of the shortest bar."""

TIP = (
    "Memory of the training by phase: the bar is the most that was measured so far, the mark what was predicted. "
    "The phase that goes on now has the arrow."
)
MARKED_FROM = 1.1
"""Times its prediction from which a phase is said to take more: what the system keeps differs by a few per cent."""


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
        names, figures = self._widths()
        return QSize(names + figures + LEAST_BAR, LINE * max(1, len(self._phases)))

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return the same height, as a line that is cut cannot be read; a narrow column makes the bars shorter."""
        return QSize(0, self.sizeHint().height())

    def _widths(self) -> tuple[int, int]:
        """Return the points that names and figures take; the bars have the rest."""
        wide = QFontMetrics(_face(now=True)).horizontalAdvance
        names = max((wide(_name(p, now=True)) for p in self._phases), default=0)
        return names + GAP, max((wide(_figures(p)) for p in self._phases), default=0) + GAP

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
        names, figures = self._widths()
        painter.setFont(_face(now=now))
        painter.setPen(QColor(theme.text if now else theme.muted))
        middle = Qt.AlignmentFlag.AlignVCenter
        painter.drawText(QRectF(0, top, names, LINE), middle, _name(phase, now=now))
        track = QRectF(names, top + (LINE - THICK) / 2, max(1, self.width() - names - figures), THICK)
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
            QRectF(self.width() - figures, top, figures, LINE), middle | Qt.AlignmentFlag.AlignRight, _figures(phase)
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


def _face(*, now: bool) -> QFont:
    return font(11, QFont.Weight.DemiBold if now else QFont.Weight.Normal)


def _name(phase: PhaseMemory, *, now: bool) -> str:
    return f"{'▸' if now else '  '} {phase.name}"


def _figures(phase: PhaseMemory) -> str:
    return f"{'! ' if exceeds(phase) else ''}{measured(phase)} of {memory(phase.predicted)}"


def _words(phase: PhaseMemory) -> str:
    taken = f"{memory(phase.peak)} measured" if phase.peak else "not begun"
    return f"{phase.name}: {taken}, {memory(phase.predicted)} predicted"
