"""The panel at the bottom: running jobs with progress, time left and Cancel."""

from __future__ import annotations

import time

from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtWidgets import QFrame, QHBoxLayout, QProgressBar, QScrollArea, QSizePolicy, QVBoxLayout, QWidget

from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.widgets.basic import Elided, button, label, look
from workbench.gui.widgets.formatting import time_left
from workbench.signals.events import Cancelled, Failed, Progress

SHOW_AFTER = 0.3
"""Seconds before a job is listed: what is over at once would only flicker."""

LINGER_MS = {"Done": 1200, "Cancelled": 4000, "Failed": 6000}
"""How long the end of a job stays in sight."""

STEPS = 1000

ONE_LINE = 60
"""Pixels of one job with the gap below it."""


class JobLine(QFrame):
    """One job: title, what it is doing, progress, time left, Cancel → Cancelling… → Cancelled."""

    def __init__(self, handle: JobHandle) -> None:
        super().__init__()
        look(self, "card")
        self.setObjectName("job_line")
        self.setAccessibleName(handle.title)
        self._handle = handle
        self._what = Elided("", "muted")
        self._what.setMinimumWidth(160)
        self._bar = QProgressBar()
        self._bar.setObjectName("job_progress")
        self._bar.setAccessibleName(f"Progress of {handle.title}")
        self._bar.setRange(0, 0)
        self._bar.setTextVisible(False)
        self._bar.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._left = label("", "muted", name="job_time_left")
        self._left.setMinimumWidth(96)
        self.cancel_button = button("Cancel", "job_cancel", tip="Stop this at its next step; nothing is half-written")
        self.cancel_button.setMinimumWidth(104)
        self.cancel_button.clicked.connect(handle.cancel)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(12, 5, 8, 5)
        layout.setSpacing(12)
        layout.addWidget(label(handle.title))
        layout.addWidget(self._what, 2)
        layout.addWidget(self._bar, 3)
        layout.addWidget(self._left)
        layout.addWidget(self.cancel_button)
        handle.progress.connect(self._show_progress)
        handle.cancelling.connect(self._show_cancelling)
        if handle.latest is not None:
            self._show_progress(handle.latest)
        if handle.stopping:
            self._show_cancelling()

    def show_end(self, handle: JobHandle) -> str:
        """Say how the job ended, and return the word."""
        word = {Cancelled: "Cancelled", Failed: "Failed"}.get(type(handle.end), "Done")
        self._bar.setRange(0, STEPS)
        self._bar.setValue(STEPS if word == "Done" else self._bar.value())
        self._left.setText("")
        self.cancel_button.setText(word)
        self.cancel_button.setAccessibleName(word)
        self.cancel_button.setEnabled(False)
        return word

    def _show_progress(self, progress: Progress) -> None:
        if progress.total > 0:
            # Qt's bar paints itself, and all else that waits to be painted, before it returns; this one waits its turn.
            self._bar.setUpdatesEnabled(False)
            self._bar.setRange(0, STEPS)
            self._bar.setValue(round(STEPS * min(progress.done / progress.total, 1.0)))
            self._bar.setUpdatesEnabled(True)
        counted = f"{progress.done:,.0f} of {progress.total:,.0f} " if progress.total > 1 else ""
        self._what.set_whole(f"{counted}{progress.label}")
        self._left.setText("" if progress.seconds_left is None else time_left(progress.seconds_left))

    def _show_cancelling(self) -> None:
        self.cancel_button.setText("Cancelling…")
        self.cancel_button.setEnabled(False)


class JobsPanel(QScrollArea):
    """Lists the jobs that take a while; where there is no room for all, one is seen and the rest scrolled to."""

    def __init__(self, jobs: JobCenter) -> None:
        super().__init__()
        self.setObjectName("jobs_panel")
        self.setAccessibleName("Running jobs")
        self._lines: dict[JobHandle, JobLine] = {}
        self._inner = look(QWidget(), "clear")
        self._layout = QVBoxLayout(self._inner)
        self._layout.setContentsMargins(24, 0, 16, 12)
        self._layout.setSpacing(4)
        self.setWidget(self._inner)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._jobs = jobs
        self._timer = QTimer(self, interval=100)
        self._timer.timeout.connect(self._list)
        jobs.started.connect(self._started)
        jobs.ended.connect(self._ended)
        self.hide()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Ask for room for every line."""
        return self._inner.sizeHint()

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Ask for room for one line."""
        needed = self._inner.minimumSizeHint()
        return QSize(needed.width(), min(needed.height(), ONE_LINE))

    def _started(self, handle: JobHandle) -> None:
        if handle.shown:
            self._timer.start()

    def _list(self) -> None:
        waiting = False
        for handle in self._jobs.running:
            if not handle.shown or handle in self._lines:
                continue
            if time.monotonic() - handle.begun < SHOW_AFTER:
                waiting = True
                continue
            line = JobLine(handle)
            self._lines[handle] = line
            self._layout.addWidget(line)
            self.updateGeometry()
            self.show()
        if not waiting:
            self._timer.stop()

    def _ended(self, handle: JobHandle) -> None:
        line = self._lines.pop(handle, None)
        if line is None:
            return
        word = line.show_end(handle)
        # A timer of the line's own: it goes with the line, wherever that goes first.
        linger = QTimer(line, singleShot=True, interval=LINGER_MS[word])
        linger.timeout.connect(lambda: self._remove(line))
        linger.start()

    def _remove(self, line: JobLine) -> None:
        self._layout.removeWidget(line)
        line.hide()
        line.deleteLater()
        self.updateGeometry()
        self.setVisible(self._layout.count() > 0)
