"""Start the window."""

from __future__ import annotations

import sys

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from workbench.gui.theme import base_font
from workbench.gui.window import MainWindow
from workbench.jobs import Job
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit


def run(data: str | None = None) -> int:
    """Show the window until it is closed and return the exit code.

    Args:
        data: a path or ``sample:NAME`` to open at once.
    """
    app = application()
    window = MainWindow()
    window.show()
    # After the first paint: a timer of 0 ms fires when the events that wait, the paint among them, are done.
    QTimer.singleShot(0, window, lambda: settle(window, data))
    return app.exec()


def application() -> QApplication:
    """Return the application in the project's style and typeface; there is one per process."""
    app = QApplication.instance() or QApplication(sys.argv[:1])
    assert isinstance(app, QApplication)
    app.setApplicationName("privacy-workbench")
    app.setApplicationDisplayName("Privacy workbench")
    app.setDesktopFileName("privacy-workbench")
    app.setStyle("Fusion")
    app.setFont(base_font())
    return app


def settle(window: MainWindow, data: str | None) -> None:
    """Do what the first paint did not wait for."""
    window.jobs.watch_memory()
    window.jobs.start(Job("Loading", _load_libraries), shown=False)
    if data is not None:
        window.open(data)


def _load_libraries(emit: Emit, cancel: CancelToken) -> None:
    """Import, off the GUI thread, what the first table will need."""
    import workbench.data.profile
    import workbench.sanitize.draft  # noqa: F401
