"""Start the window."""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Callable
from types import TracebackType

from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtWidgets import QApplication

from workbench.gui import pages
from workbench.gui.session.settings import Settings
from workbench.gui.shell.main_window import MainWindow
from workbench.gui.shell.menus import Menus
from workbench.gui.style.language import best, set_language, tr
from workbench.gui.style.theme import base_font
from workbench.jobs import CancelToken, Emit, Job, trace_of
from workbench.jobs.loading import load
from workbench.jobs.log import log_trace

SWITCH_SECONDS = 0.0001
"""After how long a working thread hands the interpreter over; Python's own 5 ms, ten times while a page is painted,
is a stutter."""

LATER = (
    "workbench.data.columns.profile",
    "workbench.sanitize.plan_template",
    "numpy.random",
    "workbench.privacy.entropy",
    "workbench.sanitize.engine",
    "workbench.release.ledger.ledger",
    "workbench.studies.curve",
    "workbench.deep.networks",
    "workbench.deep.plan",
    "workbench.learners",
    "workbench.studies.kind_comparison",
    "scipy.special",
    "scipy.optimize",
    "workbench.risk.measures",
    "workbench.risk.generalise.generalised",
    "workbench.studies.spreads_and_pairs",
    "workbench.release.kinds",
    "workbench.sanitize.learner_advice",
    "workbench.studies.comparison",
    "workbench.release.model.preflight",
    "workbench.release.model.released_models",
    "workbench.release.delta_limit",
    "workbench.studies.why.study",
    "workbench.risk.attacks.singling_out",
    "workbench.privacy.accounting.run_curves",
    "workbench.deep.memory_study",
    "workbench.rappor.simulate",
    "workbench.privacy.explain.guide",
    "workbench.privacy.explain.sections",
)
"""What the pages and their first forecasts import, in the order in which a person comes to them. Nothing of Qt: the
types of PySide are made when a module is imported, and a worker that makes some while the window uses others ends the
program. :func:`load_pages` has the rest.
"""


COLLECT_MS = 500
PAGES_MS = 20
"""Milliseconds between two imports of the window's thread: what a person does meanwhile is not held up by several."""


class FirstPaint(QObject):
    """Calls ``then`` once the window that it watches has been painted. A timer that starts with it may fire before."""

    def __init__(self, then: Callable[[], object]) -> None:
        super().__init__()
        self.then = then

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Wait for the paint; what follows is done when it is."""
        if event.type() == QEvent.Type.Paint:
            watched.removeEventFilter(self)
            # Without a receiver: PySide reports no fault in a call that has one.
            QTimer.singleShot(0, lambda: self.then())
        return False


def run(data: str | None = None, language: str | None = None) -> int:
    """Show the window until it is closed and return the exit code.

    Args:
        data: a path or ``sample:NAME`` to open at once.
        language: the code of the language of this window; else the one that was chosen, else the system's.
    """
    app = application()
    wanted = best(language or Settings().language)
    if wanted != "en":
        set_language(wanted)
    window = main_window()
    painted = FirstPaint(lambda: settle(window, data))
    window.installEventFilter(painted)
    window.show()
    report_faults(window)
    return app.exec()


def main_window() -> MainWindow:
    """Return the window with every page, and its menus."""
    window = MainWindow(pages.PAGES)
    Menus(window)
    return window


def application() -> QApplication:
    """Return the application in the project's style and typeface; there is one per process."""
    app = QApplication.instance() or QApplication(sys.argv[:1])
    assert isinstance(app, QApplication)
    app.setApplicationName("privacy-workbench")
    app.setApplicationDisplayName(tr("Privacy workbench"))
    app.setDesktopFileName("privacy-workbench")
    app.setStyle("Fusion")  # not translated
    app.setFont(base_font())
    return app


class Collector(QObject):
    """Looks for garbage between two events of the window's thread.

    Python's own collector does so in the middle of any work of any thread: a full look then holds up a paint by 20 ms,
    and a widget in a cycle is deleted by a thread that is not the window's.
    """

    def __init__(self, window: QObject) -> None:
        super().__init__(window)
        gc.disable()
        window.destroyed.connect(lambda: gc.enable())  # windows of tests come and go
        timer = QTimer(self, interval=COLLECT_MS)
        timer.timeout.connect(self.look)
        timer.start()

    def look(self) -> None:
        """Collect the oldest generation that is due, by the collector's own thresholds."""
        due = [g for g, (made, most) in enumerate(zip(gc.get_count(), gc.get_threshold(), strict=True)) if made > most]
        if due:
            gc.collect(due[-1])


def report_faults(window: MainWindow) -> None:
    """Report and log a bug in the window's own code without values, and keep the window running."""

    def stated(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):  # Ctrl+C in the terminal it was started from
            window.close()
            return
        log_trace("the window", trace_of(error))
        window.session.report(error)

    sys.excepthook = stated


def settle(window: MainWindow, data: str | None) -> None:
    """Do what the first paint did not wait for."""
    sys.setswitchinterval(SWITCH_SECONDS)
    Collector(window)
    window.page.make_whole()
    window.jobs.watch_memory()
    window.restore_panel.look_back()
    loading = window.jobs.start(Job(tr("Loading"), _load_libraries), stoppable=False)
    loading.ended.connect(lambda: load_pages(window))
    if data is not None:
        window.open(data)


def _load_libraries(emit: Emit, cancel: CancelToken) -> None:
    """Import, off the GUI thread, what the first table and the first look at each page will need.

    Not PyTorch: it takes 200 MB, which only a person who trains a network should pay.
    """
    load(*LATER, cancel=cancel)


def load_pages(window: MainWindow) -> None:
    """Import every page between two events, one at a time: to show one first would take a third longer for it."""
    waiting = list(dict.fromkeys(page.module for page in pages.PAGES))
    timer = QTimer(window, interval=PAGES_MS)

    def load_next() -> None:
        if waiting:
            importlib.import_module(waiting.pop(0))
        else:
            timer.stop()

    timer.timeout.connect(load_next)
    timer.start()
