"""The phases of a training in the memory gauge: what each takes at most, beside what was predicted of it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QMarginsF, QSize

from workbench.gui.session.session import Session
from workbench.gui.widgets import chart_marks as mark
from workbench.gui.widgets.chart import Chart, Drawing
from workbench.gui.widgets.chart_marks import BarLine
from workbench.gui.widgets.formatting import memory
from workbench.signals.events import PhaseMemory

LINE, LEAST_BAR, LETTERS = 18, 48, 11
"""Pixels of a line's height, of the shortest bar, and of the letters."""

TIP = (
    "Memory of the training by phase: the bar is the most that was measured so far, the mark what was predicted. "
    "The phase that goes on now has the arrow."
)
MARKED_FROM = 1.1
"""Times its prediction from which a phase is said to take more: what the system keeps differs by a few per cent."""


class PhaseBars(Chart):
    """One line for each phase: its name, a bar with a mark, and both figures; nothing while no training speaks."""

    margins, height_fixed = QMarginsF(), True

    def __init__(self, session: Session) -> None:
        super().__init__(session, "memory_phases", "Memory of the training by phase", TIP)
        self._phases: tuple[PhaseMemory, ...] = ()
        self._now = ""
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
        names, figures = mark.bar_widths(self._bars(), LETTERS) if self._phases else (0, 0)
        return QSize(int(names + figures) + LEAST_BAR, LINE * max(1, len(self._phases)))

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return the same height, as a line that is cut cannot be read; a narrow column makes the bars shorter."""
        return QSize(0, self.sizeHint().height())

    def drawing(self) -> Drawing | None:
        """Return a line for each phase."""
        return Drawing((mark.bar_lines(self._bars(), LETTERS),), frame="none") if self._phases else None

    def _bars(self) -> list[BarLine]:
        whole = 1.05 * max(max(p.predicted, p.peak) for p in self._phases) or 1.0
        return [
            BarLine(
                f"{'▸' if p.name == self._now else '  '} {p.name}",
                p.peak / whole,
                f"{'! ' if exceeds(p) else ''}{measured(p)} of {memory(p.predicted)}",
                "warn" if exceeds(p) else "muted",
                strong=p.name == self._now,
                mark=p.predicted / whole,
            )
            for p in self._phases
        ]


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
