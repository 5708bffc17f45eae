"""The memory gauge: now, peak, predicted and limit of the process or GPU, with a trace; of a training by phase."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from PySide6.QtCore import QMarginsF, QSize

from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later
from workbench.gui.widgets import chart_marks as mark
from workbench.gui.widgets.bar import Bar, Part
from workbench.gui.widgets.basic import Card, Fact, Facts, label, look, panel, row
from workbench.gui.widgets.chart import Chart, Drawing
from workbench.gui.widgets.chart_marks import BarLine, Scale
from workbench.gui.widgets.formatting import memory
from workbench.signals.events import Memory, PhaseMemory

KEPT = 120  # samples in the trace: the last two minutes

WORDS = {
    "peak": (tr_later("peak"), ""),
    "predicted": (
        tr_later("predicted in all"),
        tr_later("The window and the training together; the second mark on the bar"),
    ),
    "limit": (tr_later("limit"), tr_later("What this computer can give")),
}
"""What the line of a figure is called, and its tool tip."""

PHASES = {
    "model": tr_later("model"),
    "batch": tr_later("batch"),
    "backward": tr_later("backward"),
    "step": tr_later("step"),
}
"""What the phases of a training are called."""

LINE, LEAST_BAR, LETTERS = 18, 48, 11  # pixels of a line's height, of the shortest bar, and of the letters

PHASES_TIP = tr_later(
    "Memory of the training by phase: the bar is the most that was measured so far, the mark "
    "what was predicted. The phase that goes on now has the arrow."
)
MARKED_FROM = 1.1
"""Times its prediction from which a phase is said to take more: what the system keeps differs by a few per cent."""


class Trace(Chart):
    """A line of the last samples, the newest at the right end."""

    margins = QMarginsF()
    usual, height_fixed = QSize(120, 24), True

    def __init__(self, session: Session) -> None:
        super().__init__(session, "memory_trace", tr("Memory in the last two minutes"))
        self.samples: deque[int] = deque(maxlen=KEPT)

    def drawing(self) -> Drawing | None:
        if len(self.samples) < 2:
            return None
        line = [(float(at), float(size)) for at, size in enumerate(self.samples, KEPT - len(self.samples))]
        top = 1.15 * max(self.samples)
        return Drawing((mark.line(line, "muted", 1),), x=Scale(0, KEPT - 1), y=Scale(0, top), frame="none")


class PhaseBars(Chart):
    """One line for each phase: its name, a bar with a mark, and both figures; empty while no training runs."""

    margins, height_fixed = QMarginsF(), True

    def __init__(self, session: Session) -> None:
        super().__init__(session, "memory_phases", tr("Memory of the training by phase"), tr(PHASES_TIP))
        self.phases: tuple[PhaseMemory, ...] = ()  # what is drawn
        self.current = ""  # the name of the phase that goes on
        self.hide()

    def show_phases(self, phases: Sequence[PhaseMemory], now: str) -> None:
        """Show ``phases``, of which the one called ``now`` goes on; hide where there are none."""
        if (tuple(phases), now) == (self.phases, self.current):
            return
        another = len(phases) != len(self.phases)
        self.phases, self.current = tuple(phases), now
        if another:
            self.updateGeometry()
            self.setVisible(bool(phases))
        self.setAccessibleDescription(
            "; ".join(map(_words, self.phases)) + (f"; {tr('now: {phase}', phase=_called(now))}" if now else "")
        )
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        names, figures = mark.bar_widths(self._bars(), LETTERS) if self.phases else (0, 0)
        return QSize(int(names + figures) + LEAST_BAR, LINE * max(1, len(self.phases)))

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return the same height, as a line that is cut cannot be read; a narrow column makes the bars shorter."""
        return QSize(0, self.sizeHint().height())

    def drawing(self) -> Drawing | None:
        return Drawing((mark.bar_lines(self._bars(), LETTERS),), frame="none") if self.phases else None

    def _bars(self) -> list[BarLine]:
        whole = 1.05 * max(max(p.predicted, p.peak) for p in self.phases) or 1.0
        return [
            BarLine(
                f"{'▸' if p.name == self.current else '  '} {_called(p.name)}",
                p.peak / whole,
                ("! " if exceeds(p) else "")
                + tr("{peak} of {predicted}", peak=measured(p), predicted=memory(p.predicted)),
                "warn" if exceeds(p) else "muted",
                strong=p.name == self.current,
                mark=p.predicted / whole,
            )
            for p in self.phases
        ]


class MemoryGauge(Card):
    """Follows the memory events of the process, or of a job's GPU while one speaks."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__(spacing=4)
        look(self, "quiet")  # the budget is what must be seen: no surface, and a figure no larger than text
        self.setObjectName("gauge_memory")
        self.setAccessibleName(tr("Memory"))
        self._caption = label(tr("MEMORY"), "caption", name="memory_caption")
        self._figure = label("–", name="memory_figure")
        self._bar = Bar(session, "memory_bar")
        self._trace = Trace(session)
        self._facts = Facts()
        self.phases = PhaseBars(session)
        self._device = "cpu"
        self._predicted: int | None = None
        self._limit: int | None = None
        self._peak = 0
        head = panel(row(self._figure, label(tr("now"), "muted"), None))
        self.body.add(self._caption, head, self._bar, self._facts, self.phases, self._trace)
        jobs.memory.connect(self.show_sample)
        jobs.idle.connect(self._back_to_process)

    def show_sample(self, sample: Memory) -> None:
        """Show one sample; while a GPU is spoken of, the process is not."""
        if self._device != "cpu" and sample.device == "cpu":
            return
        if sample.device != self._device:
            self._begin(sample.device)
        # Two speak of the process: a job as it goes, and the window once a second. What one does not know stays.
        self._predicted = sample.predicted or self._predicted
        self._limit = sample.limit or self._limit
        self._peak = max(self._peak, sample.peak)
        if sample.phases:  # of a training; the window's own samples have none
            self.phases.show_phases(sample.phases, sample.phase)
        self._caption.setText(
            tr("MEMORY") if self._device == "cpu" else tr("MEMORY OF {device}", device=self._device.upper())
        )
        self._figure.setText(memory(sample.now))
        self._show_facts()
        whole = self._limit or 2 * self._peak or 1
        full = sample.now > 0.9 * whole
        marks = [self._peak / whole, *([self._predicted / whole] if self._predicted else [])]
        self._bar.show_parts((Part(sample.now / whole, "danger" if full else "muted"),), marks)
        self._trace.samples.append(sample.now)
        self._trace.update()

    def _show_facts(self) -> None:
        sizes = {"peak": self._peak, "predicted": self._predicted, "limit": self._limit}
        known = {key: memory(size) for key, size in sizes.items() if size is not None}
        self._facts.show_lines(Fact(key, tr(WORDS[key][0]), size, tip=tr(WORDS[key][1])) for key, size in known.items())

    def _begin(self, device: str) -> None:
        self._device = device
        self._peak, self._limit = 0, None
        self._trace.samples.clear()

    def _back_to_process(self) -> None:
        self.phases.show_phases((), "")
        if self._device != "cpu":
            self._begin("cpu")
        if self._predicted is not None:
            self._predicted = None
            self._show_facts()


def exceeds(phase: PhaseMemory) -> bool:
    """Return whether a phase has taken more than was predicted of it."""
    return phase.peak > MARKED_FROM * phase.predicted


def measured(phase: PhaseMemory) -> str:
    """Return what a phase took at most, without its unit where the prediction beside it has the same."""
    if not phase.peak:
        return "–"
    own, other = memory(phase.peak), memory(phase.predicted)
    return own.rpartition(" ")[0] if own.rpartition(" ")[2] == other.rpartition(" ")[2] else own


def _called(phase: str) -> str:
    return tr(PHASES.get(phase, phase))


def _words(phase: PhaseMemory) -> str:
    name, predicted = _called(phase.name), memory(phase.predicted)
    if not phase.peak:
        return tr("{phase}: not begun, {predicted} predicted", phase=name, predicted=predicted)
    return tr(
        "{phase}: {peak} measured, {predicted} predicted", phase=name, peak=memory(phase.peak), predicted=predicted
    )
