"""How long the window takes to react to each control of each page and each menu entry: until its event loop is free.

Run with ``pytest -m benchmark tests/benchmarks/bench_window_reactions.py -s``. Questions and file dialogs are declined,
so that nothing is released; what a click starts in a job is cancelled once it has been measured.
"""

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("PySide6.QtWidgets")

import window_tools
from PySide6.QtCore import Qt
from PySide6.QtGui import QDesktopServices
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QFileDialog,
    QLineEdit,
    QToolButton,
    QWidget,
)
from window_tools import open_table, shown_window, until, verdict, write_section

from workbench.gui.pages import PAGES
from workbench.gui.shell.main_window import MainWindow
from workbench.gui.widgets.dialogs import Question

sys.path.append(str(Path(__file__).parents[1] / "gui"))
from survey import BOUNDS, CHOICES, write_survey

TARGET_MS = 100.0
LEFT_OUT = ("quit", "close_table", "preferences", "about", "about_qt")
"""Entries of the menu that end the window or its table, or wait for an answer."""

CONTROLS = (QAbstractButton, QComboBox, QLineEdit)


def busy(window: MainWindow) -> float:
    """Handle what waits; return the milliseconds of processor time that this thread took."""
    since = time.thread_time()
    QApplication.processEvents()
    QApplication.processEvents()  # what the first round has asked for, as a painting
    return 1e3 * (time.thread_time() - since)


def settle(window: MainWindow, seconds: float) -> float:
    """Let results of jobs arrive for a while, then cancel what still runs; return the longest stretch of work."""
    longest, end = 0.0, time.monotonic() + seconds
    while window.jobs.running and time.monotonic() < end:
        longest = max(longest, busy(window))
        time.sleep(0.001)
    for job in list(window.jobs.running):
        job.cancel()
    until(lambda: not window.jobs.running, 120.0)
    return max(longest, busy(window))


def controls(page: QWidget) -> Iterator[tuple[str, type]]:
    """Return name and kind of every control of a page that can be used; menus would wait for a choice."""
    for part in page.findChildren(QWidget):
        usable = isinstance(part, CONTROLS) and part.isVisible() and part.isEnabled() and part.objectName()
        if usable and not (isinstance(part, QToolButton) and part.menu()):
            yield part.objectName(), type(part)


def use(part: QWidget) -> float:
    """Click a control, and type into a field; return the milliseconds until the event loop is free."""
    since = time.thread_time()
    QTest.mouseClick(part, Qt.MouseButton.LeftButton)
    if isinstance(part, QLineEdit):
        QTest.keyClick(part, "1")
    QApplication.processEvents()
    QApplication.processEvents()
    took = 1e3 * (time.thread_time() - since)
    if isinstance(part, QComboBox):
        part.hidePopup()
    if isinstance(part, QLineEdit):
        QTest.keyClick(part, Qt.Key.Key_Backspace)
    return took


def reactions(window: MainWindow) -> dict[str, tuple[float, float, str]]:
    """Return of each control the ms until the loop is free, the longest stretch while results arrive, and the sign.

    The sign is what the status bar said before the window was busy; work in jobs is listed after 0.3 s, whatever it is.
    """
    found: dict[str, tuple[float, float, str]] = {}
    said: list[str] = []
    window.statusBar().messageChanged.connect(said.append)

    def sign() -> str:
        each = next((text for text in said if text.endswith("…")), "")
        said.clear()
        return each

    for page in PAGES:
        since = time.thread_time()
        window.show_page(page.name)
        first = 1e3 * (time.thread_time() - since) + busy(window)
        found[f"{page.name}: shown first"] = first, settle(window, 20.0), sign()
        for name, kind in list(controls(window.page)):
            window.show_page(page.name)
            busy(window)
            part = next((p for p in window.page.findChildren(QWidget, name) if p.isVisible() and p.isEnabled()), None)
            if part is not None:
                found[f"{page.name}: {name} ({kind.__name__})"] = use(part), settle(window, 1.0), sign()
    for name, action in window.menus.actions.items():
        if name not in LEFT_OUT and action.isEnabled():
            since = time.thread_time()
            action.trigger()
            first = 1e3 * (time.thread_time() - since) + busy(window)
            found[f"menu: {name}"] = first, settle(window, 1.0), sign()
    for name in ("language_en", "theme_system", "text_normal"):
        window.menus.actions[name].trigger()
    return found


def declared(window: MainWindow) -> None:
    """Declare what the survey's dictionary would."""
    facts: dict[str, dict[str, object]] = {name: {"lower": low, "upper": high} for name, (low, high) in BOUNDS.items()}
    facts |= {name: {"domain": values} for name, values in CHOICES.items()}
    changes = {name: {**fact, "missing": "own-value"} for name, fact in facts.items()}
    window.session.edit("declare", window.session.plan.with_columns(changes))
    assert window.session.plan.ready, window.session.plan.problems()[:3]


@pytest.mark.benchmark
def test_the_window_reacts_to_each_control(tmp_path, monkeypatch):
    for variable in ("HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "LOCALAPPDATA", "APPDATA"):
        monkeypatch.setenv(variable, str(tmp_path / "home"))
    for name in ("getOpenFileName", "getSaveFileName", "getOpenFileNames"):
        monkeypatch.setattr(QFileDialog, name, staticmethod(lambda *_, **__: ("", "")))
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", staticmethod(lambda *_, **__: ""))
    monkeypatch.setattr(Question, "exec", lambda _: 0)
    monkeypatch.setattr(QDesktopServices, "openUrl", staticmethod(lambda _: True))
    monkeypatch.setattr(window_tools, "PATIENCE", 240.0)
    lines = [
        "Processor time of the window's thread, in ms, from a click on a control until its event loop is free again,",
        "and the longest stretch of work while results of what it started arrive. Every control of every page and",
        "every entry of the menu.",
        "",
        "| table | controls | median | over 100 ms | of these without a busy sign | longest without a sign | longest |",
        "|---|---|---|---|---|---|---|",
    ]
    slow: list[tuple[float, str]] = []
    worst = 0.0
    for source in ("sample:people", str(write_survey(tmp_path / "survey.csv"))):
        with shown_window() as window:
            open_table(window, source)
            if not window.session.plan.ready:
                declared(window)
            found = reactions(window)
            window.session.may_leave = lambda then: True
        each = sorted(max(one[:2]) for one in found.values())
        over = [one for one in found.items() if max(one[1][:2]) > TARGET_MS]
        bare = [max(one[:2]) for one in found.values() if not one[2]]
        title = Path(source).stem.removeprefix("sample:")
        unsaid = f"{sum(ms > TARGET_MS for ms in bare)} | {max(bare):.0f}"
        lines.append(
            f"| {title} | {len(each)} | {each[len(each) // 2]:.1f} | {len(over)} | {unsaid} | {each[-1]:.0f} |"
        )
        slow += [(max(a, b), f"{title}, {name}: {a:.0f} and {b:.0f}, “{sign}”") for name, (a, b, sign) in over]
        worst = max(worst, *bare)
    lines += ["", f"Longest without a sign: {worst:.0f} ms, {verdict(worst, TARGET_MS)}.", ""]
    lines += [f"* {words}" for _, words in sorted(slow, reverse=True)]
    write_section("Reactions", lines)
    print("\n".join(lines))  # noqa: T201 - the figures are what a benchmark is run for
