"""The Calculator while a slider of a million positions is dragged: how late each move is painted.

Run with ``pytest -m benchmark tests/benchmarks/bench_window_calculator.py -s``.
"""

from __future__ import annotations

import time

import pytest

pytest.importorskip("PySide6.QtWidgets")

from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QSlider
from window_tools import at, click, shown_window, spread, verdict, write_section

MOVES = 100
TARGET_MS = 50.0
SLIDERS = ("sigma", "batch", "rows", "epochs")


@pytest.mark.benchmark
def test_a_drag_is_painted_at_twenty_frames_a_second() -> None:
    lines = [
        f"From a move of the slider until it is painted, in ms, {MOVES} moves each, 5 ms apart, over the whole of the",
        "slider; the curves are computed in jobs meanwhile. Own work is what the GUI thread itself computed.",
        "",
        "| slider | positions | median | 95 % | worst | own work: median | 95 % | worst |",
        "|---|---|---|---|---|---|---|---|",
    ]
    every: list[float] = []
    with shown_window() as window:
        click(window, "rail_calculator")
        QTest.qWait(2000)
        for name in SLIDERS:
            slider = window.findChild(QSlider, f"calculator_{name}_slider")
            positions, clock, work = slider.maximum() - slider.minimum() + 1, [], []
            for move in range(MOVES):
                began, worked = time.perf_counter(), time.thread_time()
                slider.setValue(slider.minimum() + (positions - 1) * (move + 1) // (MOVES + 1))
                QApplication.processEvents()
                clock.append(1000 * (time.perf_counter() - began))
                work.append(1000 * (time.thread_time() - worked))
                time.sleep(0.005)
            lines.append(f"| {name} | {positions:,} | {spread(clock)} | {spread(work)} |")
            every += clock
            QTest.qWait(1000)
    lines += ["", f"All moves: 95 % {at(0.95, every):.1f} ms, {verdict(at(0.95, every), TARGET_MS)} (20 Hz)."]
    write_section("The calculator's sliders", lines)
    print("\n".join(lines))  # noqa: T201 - the figures are what a benchmark is run for
