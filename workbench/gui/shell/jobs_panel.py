"""The running jobs, below the pages of the rail: progress, time left and Cancel.

They are in a part of the window that is free, so that no button moves under the pointer when a job begins or ends.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QRect, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QProgressBar, QScrollArea, QSizePolicy, QStatusBar, QWidget

from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import Session
from workbench.gui.style.language import capital, tr, tr_later, tr_number, tr_sentence
from workbench.gui.widgets.basic import Elided, button, label, look, panel, row, stack
from workbench.gui.widgets.formatting import breakable, time_words
from workbench.gui.widgets.stopping import ask_to_stop
from workbench.render.fonts import scaled
from workbench.signals.events import Cancelled, Failed, Finished, Progress

SHOW_AFTER = 0.3
"""Seconds before a job is listed: what is over at once would only flicker."""

LINGER_MS = {tr_later("Done"): 1200, tr_later("Cancelled"): 4000, tr_later("Paused"): 4000, tr_later("Failed"): 6000}
"""How long the end of a job stays in sight."""

TICK_MS = 500
"""How often its time is updated: without an estimate it shows the seconds so far."""

STEPS = 1000

ONE_JOB, MOST = 116, 120
"""Pixels of one job with the gap below it, and at most in large text, where it scrolls."""


class JobLine(QFrame):
    """One job: title, what it is doing, progress, time left, Cancel → Cancelling… → Cancelled."""

    def __init__(self, handle: JobHandle, keys_to: Callable[[], object]) -> None:
        """Make the line; ``keys_to`` gives the keyboard to the page."""
        super().__init__()
        self._keys_to = keys_to
        look(self, "card")
        self.setObjectName("job_line")
        self.setAccessibleName(handle.title)
        self.handle = handle
        self._title = Elided(name="job_title")
        self._title.set_whole(breakable(handle.title, narrow=True), handle.title, wrapped=True)
        self._what = Elided("", "muted")
        self._bar = QProgressBar()
        self._bar.setObjectName("job_progress")
        self._bar.setAccessibleName(tr("Progress of {title}", title=handle.title))
        self._bar.setRange(0, 0)
        self._bar.setTextVisible(False)
        self._bar.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._left = Elided("", "muted", name="job_time_left")
        self.cancel_button = button(
            tr("Cancel"), "job_cancel", "link", tip=tr("Stop this at its next step; nothing is half-written")
        )
        self.cancel_button.clicked.connect(lambda: ask_to_stop(self.window(), handle))
        foot = row((self._left, 1), self.cancel_button, spacing=4)
        layout = stack(self._title, self._what, self._bar, foot, spacing=4, margins=(10, 6, 10, 4))
        self.setLayout(layout)
        handle.progress.connect(self._show_progress)
        handle.cancelling.connect(self._show_cancelling)
        if handle.latest is not None:
            self._show_progress(handle.latest)
        if handle.stopping:
            self._show_cancelling()
        self._clock = QTimer(self, interval=TICK_MS)
        self._clock.timeout.connect(self._show_time)
        self._clock.start()
        self._show_time()

    def show_end(self) -> str:
        """Say how the job ended, and return the word."""
        stopped = "Paused" if self.handle.paused else "Cancelled"  # not translated
        word = {Cancelled: stopped, Failed: "Failed"}.get(type(self.handle.end), "Done")  # not translated
        self._bar.setRange(0, STEPS)
        self._bar.setValue(STEPS if word == "Done" else self._bar.value())
        self._clock.stop()
        self._left.set_whole("")
        self.cancel_button.setAccessibleName(tr(word))
        self._end_cancel(tr(word))
        self.cancel_button.show()  # it says how the job ended
        return word

    def show_cancel(self, shown: bool) -> None:
        """Show Cancel, or not where the page in sight has one for this job."""
        shown &= self.handle.stoppable
        if not shown:
            self._free_keys()
        self.cancel_button.setVisible(shown)

    def _show_progress(self, progress: Progress) -> None:
        if progress.total > 0:
            # Qt's bar paints itself, and all else that waits to be painted, before it returns; this one waits its turn.
            self._bar.setUpdatesEnabled(False)
            self._bar.setRange(0, STEPS)
            self._bar.setValue(round(STEPS * min(progress.done / progress.total, 1.0)))
            self._bar.setUpdatesEnabled(True)
        counted = tr(
            "{done} of {total}", done=tr_number(progress.done, ",.0f"), total=tr_number(progress.total, ",.0f")
        )
        if progress.total <= 1:
            counted = ""
        doing = tr_sentence(progress.label)
        self._what.set_whole(doing or counted, f"{counted} {doing}".strip())
        self._show_time()

    def _show_time(self) -> None:
        self._left.set_whole(time_words(self.handle.seconds_left, self.handle.elapsed))

    def _show_cancelling(self) -> None:
        self._end_cancel(tr("Pausing…") if self.handle.paused else tr("Cancelling…"))

    def _end_cancel(self, word: str) -> None:
        self._free_keys()
        self.cancel_button.setText(word)
        self.cancel_button.setEnabled(False)

    def _free_keys(self) -> None:
        """Give the keyboard to the page before the button that has it goes or greys: Qt would give it to the rail."""
        if self.cancel_button.hasFocus():
            self._keys_to()


class JobsPanel(QScrollArea):
    """Lists the jobs that take a while; where there is no room for all, one is seen and the rest scrolled to."""

    def __init__(self, jobs: JobCenter, has_cancel: Callable[[JobHandle], bool], keys_to: Callable[[], object]) -> None:
        """Make the panel; where the page in sight ``has_cancel`` for a job, its line has none.

        ``keys_to`` gives the keyboard to the page; called when a button that had it goes or greys.
        """
        super().__init__()
        self.setObjectName("jobs_panel")
        self.setAccessibleName(tr("Running jobs"))
        self._has_cancel, self._keys_to = has_cancel, keys_to
        self._lines: dict[JobHandle, JobLine] = {}
        self._layout = stack(spacing=4, margins=(0, 0, 0, 8))
        self._inner = look(panel(self._layout), "clear")
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

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Ask for other room when the lines do: they learn their height when they are first shown."""
        if watched is self._inner and event.type() == QEvent.Type.LayoutRequest:
            self.updateGeometry()
        return super().eventFilter(watched, event)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Ask for the height of the titles at the new width."""
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.updateGeometry()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return the height that the lines take at this width: Qt would guess one for titles of several lines."""
        return QSize(self._inner.sizeHint().width(), self._inner.heightForWidth(self.viewport().width()))

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        needed = self._inner.minimumSizeHint()
        return QSize(needed.width(), min(needed.height(), scaled(ONE_JOB, MOST)))

    def show_cancels(self) -> None:
        """Show Cancel beside the jobs that the page in sight does not stop by a button of its own."""
        for handle, line in self._lines.items():
            line.show_cancel(not self._has_cancel(handle))

    def _started(self, handle: JobHandle) -> None:
        self._timer.start()
        for former in [h for h in self._lines if h.superseded]:
            self._remove(self._lines.pop(former))
        if handle.stoppable:
            self._remove_ended()  # the person does something else by now

    def _list(self) -> None:
        waiting = False
        for handle in self._jobs.running:
            if handle.superseded or handle in self._lines:
                continue
            if handle.elapsed < SHOW_AFTER:
                waiting = True
                continue
            self._remove_ended(handle.title)  # the same again takes its place
            line = JobLine(handle, self._keys_to)
            self._lines[handle] = line
            self._layout.addWidget(line)
            handle.cancelling.connect(self.show_cancels)
            self.show_cancels()
            self.updateGeometry()
            self.show()
        if not waiting:
            self._timer.stop()

    def _ended(self, handle: JobHandle) -> None:
        line = self._lines.pop(handle, None)
        if line is None:
            return
        word = line.show_end()
        if word == "Cancelled" and not handle.stoppable:
            self._remove(line)  # nobody asked for that
            return
        # A timer of the line's own: it goes with the line, wherever that goes first.
        linger = QTimer(line, singleShot=True, interval=LINGER_MS[word])
        linger.timeout.connect(lambda: self._remove(line))
        linger.start()

    def _remove_ended(self, title: str = "") -> None:
        for line in set(self.findChildren(JobLine)).difference(self._lines.values()):
            if title in ("", line.handle.title):
                self._remove(line)

    def _remove(self, line: JobLine) -> None:
        self._layout.removeWidget(line)
        line.hide()
        line.deleteLater()
        self.updateGeometry()
        self.setVisible(self._layout.count() > 0)


# -- messages ---------------------------------------------------------------------------------------------------------


LEVELS = {"error": tr_later("Error"), "warning": tr_later("Warning"), "info": tr_later("Note")}
SIGNS = {"error": "✕", "warning": "⚠", "info": "i"}
LINES = 2
"""Lines of text that are reserved; what is longer ends with … and is in the tooltip and behind More."""


class Banner(QWidget):
    """One sentence with a sign for its level and a button that closes it."""

    closed = Signal()  # the button was pressed
    more_asked = Signal(str)  # (sentence) the person wants to read all of a long one

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("banner")
        self._whole = ""
        self._frame = look(QFrame(), "banner-error")
        self._sign = label("", "danger")
        self._text = label("", wrap=True, name="banner_text")
        self._more = button(tr("More"), "banner_more", "link", tip=tr("Show the whole message beside the page"))
        self._more.clicked.connect(lambda: self.more_asked.emit(self._whole))
        self._more.hide()
        close = button(tr("Close"), "banner_close", "link", tip=tr("Close this message (Esc)"), press=self.closed)
        inner = row(self._sign, (self._text, 1), self._more, close, spacing=10, margins=(12, 0, 12, 0))
        self._frame.setLayout(inner)
        self.setLayout(stack(self._frame, margins=(0, 1, 0, 1)))
        self.hide()

    @property
    def reserved(self) -> int:
        """The height that it needs for its lines."""
        return LINES * self._text.fontMetrics().lineSpacing() + 6

    def show_text(self, level: str, text: str) -> None:
        look(self._frame, f"banner-{level}")
        look(self._sign, {"error": "danger", "warning": "warn"}.get(level, "accent"))
        self._sign.setText(SIGNS[level])
        self._whole = text
        self.setAccessibleName(f"{tr(LEVELS[level])}: {text}")
        self.setToolTip(text)
        self.show()
        self._cut()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        super().resizeEvent(event)
        self._cut()

    def _cut(self) -> None:
        metrics, whole = self._text.fontMetrics(), self._whole
        room = QRect(0, 0, max(self._text.width(), 80), LINES * metrics.lineSpacing())

        def fits(text: str) -> bool:
            return metrics.boundingRect(room, Qt.TextFlag.TextWordWrap, text).height() <= room.height()

        shown, end = whole, len(whole)
        while not fits(shown) and end > 20:
            end = whole.rfind(" ", 0, end - 1)
            shown = f"{whole[: max(end, 20)]} …"
        self._text.setText(shown)
        self._more.setVisible(shown != whole)


def reading_time(text: str) -> int:
    """Return how long a message is shown, in ms: time to notice it, and to read it at a slow 150 words a minute."""
    return 8000 + 80 * len(text)


class Messages(QObject):
    """The newest message, and when it is over: what went well is shown for its :func:`reading_time`.

    An error or a warning is removed with the page it was shown on, with the edit it is about when that is undone, and
    once the job that failed has been done, though for a file of another name.
    """

    def __init__(self, session: Session, jobs: JobCenter, banner: Banner, status: QStatusBar) -> None:
        super().__init__(status)
        self.banner, self._status = banner, status
        self._shown = self._warned = ""  # the newest message, and the newest error or warning
        self._edit: int | None = None  # the step that was just made, until the event in which it was made is over
        self._about: int | None = None  # the step that the newest message is about
        self._of_step = False  # whether it says that a step was undone or done again
        self._over = QTimer(self, singleShot=True, interval=0)
        self._over.timeout.connect(self._end_edit)
        self._index = 0
        self._failed = ""  # the kind of the job that it is about
        self._stopped = False
        banner.closed.connect(self.drop)
        session.notified.connect(self.notify)
        for changed in (session.table_changed, session.overtaken):  # what was said was about the former one
            changed.connect(self.drop)
        session.undo_stack.indexChanged.connect(self._moved)
        jobs.ended.connect(self._job_ended)

    def notify(self, level: str, text: str) -> None:
        """Say ``text``; in the banner, too, where it is an error or a warning."""
        text = tr_sentence(text)
        self._show(text, stays=level != "info")
        self._about = self._edit
        if level != "info":
            self._failed, self._warned = "", self._shown
            self.banner.show_text(level, text)
        elif self._edit is not None:  # what went wrong before was put right, or left, by a step that went well
            self.banner.hide()

    def report_step(self, what: str, edit: str) -> None:
        """Say that an edit was undone or done again, and end the message that it had."""
        self._show(f"{what}: {edit}" if edit else "")
        self._of_step = True

    def drop(self) -> None:
        if self.banner.isHidden():
            return
        self.banner.hide()
        if self._status.currentMessage() == self._shown:
            self._status.clearMessage()

    def _job_ended(self, handle: JobHandle) -> None:
        if isinstance(handle.end, Failed):
            self._failed = handle.kind
        elif isinstance(handle.end, Finished) and handle.kind == self._failed:
            self._failed = ""
            self.banner.hide()
            if self._status.currentMessage() == self._warned:
                self._status.clearMessage()

    def stop(self) -> None:
        """Follow the edits no longer: the status bar goes before the session, which forgets its edits last."""
        self._stopped = True

    def _show(self, text: str, *, stays: bool = False) -> None:
        stated = capital(text)
        self._shown = stated if not stated or stated.endswith((".", "…", "?", "!")) else f"{stated}."
        self._of_step = False
        self._status.showMessage(self._shown, 0 if stays else reading_time(self._shown))

    def _moved(self, index: int) -> None:
        if self._stopped:
            return
        undone = self._about is not None and index < self._about
        if undone:
            self.banner.hide()
            self._about = None
        if (undone or self._of_step) and self._status.currentMessage() == self._shown:
            self._status.clearMessage()
        self._edit = index if index > self._index else None
        self._index = index
        self._over.start()

    def _end_edit(self) -> None:
        self._edit = None
