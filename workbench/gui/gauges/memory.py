"""The memory gauge: now, peak, predicted and limit, of the process or of the GPU, with a small trace."""

from __future__ import annotations

from collections import deque

from PySide6.QtCore import QMarginsF, QSize
from PySide6.QtWidgets import QWidget

from workbench.gui.gauges.memory_phases import PhaseBars
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.widgets import chart_marks as mark
from workbench.gui.widgets.bar import Bar, Part
from workbench.gui.widgets.basic import Card, Facts, label, look, row
from workbench.gui.widgets.chart import Chart, Drawing
from workbench.gui.widgets.chart_marks import Scale
from workbench.gui.widgets.formatting import memory
from workbench.signals.events import Memory

KEPT = 120
"""Samples in the trace: the last two minutes."""

WORDS = {
    "predicted": ("predicted in all", "The window and the training together; the second mark on the bar"),
    "limit": ("limit", "What this computer can give"),
}
"""Of a figure that is not always known: what its line is called, and what the pointer is told there."""


class Trace(Chart):
    """A line of the last samples, the newest at the right end."""

    margins = QMarginsF()
    usual, height_fixed = QSize(120, 24), True

    def __init__(self, session: Session) -> None:
        super().__init__(session, "memory_trace", "Memory in the last two minutes")
        self._samples: deque[int] = deque(maxlen=KEPT)

    def add(self, size: int) -> None:
        """Add one sample, in bytes."""
        self._samples.append(size)
        self.update()

    def clear(self) -> None:
        """Begin anew, for another device."""
        self._samples.clear()

    def drawing(self) -> Drawing | None:
        """Return the line."""
        if len(self._samples) < 2:
            return None
        line = [(float(at), float(size)) for at, size in enumerate(self._samples, KEPT - len(self._samples))]
        top = 1.15 * max(self._samples)
        return Drawing((mark.line(line, "muted", 1),), x=Scale(0, KEPT - 1), y=Scale(0, top), frame="none")


class MemoryGauge(Card):
    """Follows the memory events of the process, or of a job's GPU while one speaks."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__(spacing=4)
        look(self, "quiet")  # the budget is what must be seen: no surface, and a figure no larger than text
        self.setObjectName("gauge_memory")
        self.setAccessibleName("Memory")
        self._caption = label("MEMORY", "caption", name="memory_caption")
        self._figure = label("–", name="memory_figure")
        self._bar = Bar(session, "memory_bar")
        self._trace = Trace(session)
        self._facts = Facts()
        self.phases = PhaseBars(session)
        self._device = "cpu"
        self._predicted: int | None = None
        self._limit: int | None = None
        self._peak = 0
        for key in ("peak", "predicted", "limit"):  # in this order, whichever is shown first
            self._facts.show_line(key, "", "")
            self._facts.hide_line(key)
        head = QWidget()
        head.setLayout(row(self._figure, label("now", "muted"), None))
        for part in (self._caption, head, self._bar, self._facts, self.phases, self._trace):
            self.body.addWidget(part)
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
        self._caption.setText("MEMORY" if self._device == "cpu" else f"MEMORY OF {self._device.upper()}")
        self._figure.setText(memory(sample.now))
        self._facts.show_line("peak", "peak", memory(self._peak))
        for key, size in (("predicted", self._predicted), ("limit", self._limit)):
            if size is None:
                self._facts.hide_line(key)
            else:
                name, tip = WORDS[key]
                self._facts.show_line(key, name, memory(size), tip=tip)
        whole = self._limit or 2 * self._peak or 1
        full = sample.now > 0.9 * whole
        marks = [self._peak / whole, *([self._predicted / whole] if self._predicted else [])]
        self._bar.show_parts((Part(sample.now / whole, "danger" if full else "muted"),), marks)
        self._trace.add(sample.now)

    def _begin(self, device: str) -> None:
        self._device = device
        self._peak, self._limit = 0, None
        self._trace.clear()

    def _back_to_process(self) -> None:
        self.phases.show_phases((), "")
        if self._device != "cpu":
            self._begin("cpu")
        if self._predicted is not None:
            self._predicted = None
            self._facts.hide_line("predicted")
