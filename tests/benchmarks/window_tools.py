"""What the benchmarks of the window share: a real window, a heartbeat of its event loop, and the file of results."""

import contextlib
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

# Before Qt is loaded, and for the programs that a benchmark starts: the figures are those of a window without a screen.
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QElapsedTimer, QEventLoop, QObject, QPoint, Qt, QTimer, qVersion
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox, QWidget

from workbench.gui.app import application, main_window, settle
from workbench.gui.pages import PAGES
from workbench.gui.shell.main_window import MainWindow
from workbench.gui.widgets import private_figures

RESULTS = Path(__file__).parent / "results" / "window.md"
ORDER = ("Start-up", "Stalls", "Rows", "Preview", "Edits", "Reactions", "Decide", "Generalise")
BEAT_MS = 2
PATIENCE = 25.0


class Heartbeat(QObject):
    """A precise timer of the GUI thread that notes how late each of its beats is, and how long that thread computed.

    Attributes:
        late: (milliseconds beyond the beat, what was last done to the window) of every beat.
        busy: milliseconds that the GUI thread itself computed before each beat, whatever else runs.
        queued: milliseconds that it was ready before each beat while other threads had the processors, as Linux counts.
        doing: what is being done to the window now.
    """

    def __init__(self) -> None:
        super().__init__()
        self.late: list[tuple[float, str]] = []
        self.busy: list[float] = []
        self.queued: list[float] = []
        self.doing = ""
        self._spent = 0.0
        self._waited = 0.0
        self._clock = QElapsedTimer()
        self._timer = QTimer(self, interval=BEAT_MS, timerType=Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._beat)

    def start(self) -> None:
        """Begin to listen."""
        self._spent, self._waited = time.thread_time(), waited_ms()
        self._clock.start()
        self._timer.start()

    def stop(self) -> None:
        """Listen no longer."""
        self._timer.stop()

    def _beat(self) -> None:
        gap = self._clock.nsecsElapsed() / 1e6
        self._clock.start()
        self.late.append((max(0.0, gap - BEAT_MS), self.doing))
        now = time.thread_time()
        self.busy.append(1e3 * (now - self._spent))
        waited = waited_ms()
        self.queued.append(waited - self._waited)
        self._spent, self._waited = now, waited


def waited_ms() -> float:
    """Return for how long this thread was ready and had no processor, in ms since it began; 0 where no one counts."""
    try:
        with open("/proc/thread-self/schedstat", "rb") as file:
            return int(file.read().split()[1]) / 1e6
    except FileNotFoundError:
        return 0.0


@contextlib.contextmanager
def shown_window(width: int = 1280, height: int = 800) -> Iterator[MainWindow]:
    """Yield the main window as the program shows it, with its libraries loaded."""
    application()
    window = main_window()
    window.session.table_changed.connect(lambda: private_figures.agree(window.session))  # no question stops it
    window.resize(width, height)
    window.show()
    QTest.qWaitForWindowExposed(window)
    settle(window, None)
    until(lambda: not window.jobs.running and all(page.module in sys.modules for page in PAGES))
    try:
        yield window
    finally:
        window.jobs.shut_down(60.0)
        window.session.may_leave = lambda then: True
        window.close()
        window.deleteLater()
        QApplication.processEvents()


def until(done: Callable[[], object], seconds: float | None = None) -> None:
    """Run the event loop until ``done``."""
    deadline = time.monotonic() + (seconds or PATIENCE)
    while not done():
        assert time.monotonic() < deadline, "it takes too long"
        QTest.qWait(1)


def run_for(seconds: float) -> None:
    """Run the event loop as the program does; ``QTest.qWait`` would sleep 10 ms between two looks."""
    loop = QEventLoop()
    QTimer.singleShot(round(1000 * seconds), loop.quit)
    loop.exec()


def open_table(window: MainWindow, source: str) -> None:
    """Open ``source`` in the window and wait for it."""
    window.open(source)
    until(lambda: not window.jobs.running)
    assert window.session.opened is not None


def click(window: QWidget, name: str) -> None:
    """Click the middle of the visible widget called ``name``."""
    found = window.findChild(QWidget, name)
    assert found is not None, name
    assert found.isVisible(), name
    QTest.mouseClick(found, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, QPoint())


def go(window: MainWindow, page: str) -> None:
    """Click the room of a page, and its tab."""
    for _ in clicks_to(window, page):
        pass


def clicks_to(window: MainWindow, page: str) -> Iterator[str]:
    """Click the room of a page and then its tab; yield what was done after each click that led to another page."""
    wanted = window.rail.pages[page]
    for name in (f"rail_{wanted.room}", f"tab_{wanted.tab}"):
        former = window.page
        seen = next((found for found in window.findChildren(QWidget, name) if found.isVisible()), None)
        if seen is not None:
            QTest.mouseClick(seen, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, QPoint())
        if window.page is not former:
            yield f"to {window.page.objectName().removeprefix('page_')}"
    assert window.page.objectName() == f"page_{page}", page


def choose(window: QWidget, name: str, value: str) -> None:
    """Choose the entry of a list that stands for ``value``, by keys."""
    chooser = window.findChild(QComboBox, name)
    assert chooser is not None, name
    chooser.setFocus()
    QTest.keyClick(chooser, Qt.Key.Key_Home)
    for _ in range(chooser.findData(value)):
        QTest.keyClick(chooser, Qt.Key.Key_Down)


def at(share: float, values: Sequence[float]) -> float:
    """Return the quantile of ``values``: the value that ``share`` of them do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def spread(values: Sequence[float]) -> str:
    """Return cells of a table: median, 95 %, worst, in milliseconds."""
    return f"{statistics.median(values):.1f} | {at(0.95, values):.1f} | {max(values):.1f}"


def verdict(value: float, target: float) -> str:
    """Say how a figure stands to its target."""
    return f"{'within' if value <= target else 'beyond'} the target of {target:g} ms"


def write_section(title: str, lines: Sequence[str]) -> None:
    """Replace one section of the results, under the machine it was measured on."""
    kept: dict[str, str] = {}
    if RESULTS.exists():
        for part in RESULTS.read_text(encoding="utf-8").split("\n## ")[1:]:
            name, _, body = part.partition("\n")
            kept[name] = body.strip()
    load = os.getloadavg()
    machine = (
        f"*{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores ({platform.machine()}), load {load[0]:.1f} at the end, "
        f"Python {platform.python_version()}, Qt {qVersion()}, polars {version('polars')}, platform "
        f"{os.environ.get('QT_QPA_PLATFORM', 'native')}*"
    )
    kept[title] = "\n".join([machine, "", *lines])
    text = ["# The window: how long a person waits", "", "`pytest -m benchmark tests/benchmarks/bench_window_*.py`", ""]
    for name in ORDER:
        if name in kept:
            text += [f"## {name}", "", kept[name], ""]
    RESULTS.write_text("\n".join(text), encoding="utf-8")
