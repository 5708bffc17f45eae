"""A table of a million rows scrolled page by page and by jumps: from the key to the painted page.

Run with ``pytest -m benchmark tests/benchmarks/bench_window_rows.py -s``.
"""

import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

pytest.importorskip("PySide6.QtWidgets")

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QTableView
from window_tools import at, click, go, open_table, shown_window, spread, until, verdict, write_section

from workbench.gui.shell.main_window import MainWindow

ROWS = 1_000_000
PAGES = 200
JUMPS = 100
TARGET_MS = 16.0
SIZES = ((1280, 800), (2560, 1440))


def million(path: Path) -> Path:
    """Write a table of eight columns of mixed kinds."""
    draw = np.random.default_rng(0)
    pl.DataFrame(
        {
            "id": np.arange(ROWS),
            "age": draw.integers(0, 100, ROWS),
            "income": np.round(draw.gamma(2, 20_000, ROWS), 2),
            "height": np.round(draw.normal(170, 10, ROWS), 1),
            "sex": draw.choice(["f", "m"], ROWS),
            "city": draw.choice(["Paris", "Hanoi", "Moscow", "London", "Berlin"], ROWS),
            "visits": draw.integers(0, 40, ROWS),
            "member": draw.choice(["yes", "no"], ROWS),
        }
    ).write_csv(path)
    return path


def declare(window: MainWindow) -> None:
    """State the public facts of the columns, and drop the number of the row."""
    edit = window.session.edit_column
    edit("id", "drop", action="drop")
    for name, low, high in (("age", 0, 120), ("income", 0, 500_000), ("height", 50, 250), ("visits", 0, 50)):
        edit(name, "declare", action="protect", lower=float(low), upper=float(high))
    for name, domain in (
        ("sex", ("f", "m")),
        ("city", ("Berlin", "Hanoi", "London", "Moscow", "Paris")),
        ("member", ("no", "yes")),
    ):
        edit(name, "declare", action="protect", kind="category", domain=domain)
    assert window.session.plan.ready, window.session.plan.problems()


def timed(act: Callable[[int], object], times: int) -> tuple[list[float], list[float]]:
    """Return the milliseconds from each action until it is painted, by the clock and of this thread's own work."""
    clock, work = [], []
    for number in range(times):
        began, worked = time.perf_counter(), time.thread_time()
        act(number)
        QApplication.processEvents()
        clock.append(1000 * (time.perf_counter() - began))
        work.append(1000 * (time.thread_time() - worked))
    return clock, work


def scrolled(view: QTableView) -> Iterator[tuple[str, list[float], list[float]]]:
    """Scroll page by page, then by jumps of the bar."""
    bar = view.verticalScrollBar()
    view.setFocus()

    def page(number: int) -> None:
        if bar.value() == bar.maximum():  # from the last row, which the keyboard is in, there is no page further
            QTest.keyClick(view, Qt.Key.Key_Home, Qt.KeyboardModifier.ControlModifier)
        else:
            QTest.keyClick(view, Qt.Key.Key_PageDown)

    yield "page", *timed(page, PAGES)
    yield "jump", *timed(lambda i: bar.setValue(i * 7919 * 131 % max(bar.maximum(), 1)), JUMPS)


@pytest.mark.benchmark
def test_a_million_rows_scroll_without_a_stutter(tmp_path):
    path = million(tmp_path / "million.csv")
    lines = [
        f"{ROWS:,} rows of eight columns of numbers and words ({path.stat().st_size / 1e6:.0f} MB of CSV). From the",
        f"key, or the move of the scroll bar, until the page is painted, in ms: {PAGES} pages, {JUMPS} jumps.",
        "Own work is what the GUI thread itself computed; the rest it waited for other programs.",
        "",
        "| window | table | way | median | 95 % | worst | over 16 ms | own work | worst |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    pages: list[float] = []
    for width, height in SIZES:
        with shown_window(width, height) as window:
            began = time.perf_counter()
            open_table(window, str(path))
            opened = time.perf_counter() - began
            declare(window)
            click(window, "view_rows")
            QTest.qWait(200)
            for name in ("rows_table", "preview_original"):
                if name == "preview_original":
                    go(window, "preview")
                    until(lambda: not window.jobs.running)
                    QTest.qWait(500)
                view = window.findChild(QTableView, name)
                assert view is not None
                place = "Data → Rows" if name == "rows_table" else "Preview, both sides"
                for way, clock, work in scrolled(view):
                    over = sum(ms > TARGET_MS for ms in clock)
                    own = f"{statistics.median(work):.1f} | {max(work):.1f}"
                    lines.append(f"| {width} × {height} | {place} | {way} | {spread(clock)} | {over} | {own} |")
                    if width == SIZES[0][0]:
                        pages += clock
    lines += [
        "",
        f"At {SIZES[0][0]} × {SIZES[0][1]}, 99 % of all: {at(0.99, pages):.1f} ms, "
        f"{verdict(at(0.99, pages), TARGET_MS)}. Opening it took {opened:.1f} s, in a job.",
    ]
    write_section("Rows", lines)
    print("\n".join(lines))  # noqa: T201 - the figures are what a benchmark is run for
