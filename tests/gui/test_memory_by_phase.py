"""The memory gauge by phase: marks, peaks, the phase that goes on; and what the run card says of the first step."""

from __future__ import annotations

import time

import pytest
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QLabel

from workbench.gui.gauges.memory import PhaseBars, exceeds, measured
from workbench.gui.pages.train.run_card import memory_words
from workbench.signals.events import Memory, PhaseMemory

MB = 10**6
PHASES = (
    PhaseMemory("model", 100 * MB, 90 * MB),
    PhaseMemory("batch", 110 * MB, 95 * MB),
    PhaseMemory("backward", 200 * MB, 240 * MB),
    PhaseMemory("step", 150 * MB),
)


def sample(**more: object) -> Memory:
    given = {"phases": PHASES, "phase": "backward", "forecast": 200 * MB, "before": 500 * MB}
    return Memory(now=700 * MB, peak=740 * MB, predicted=710 * MB, limit=8000 * MB, **{**given, **more})  # type: ignore[arg-type]


def inks(bars: PhaseBars, line: int, ink: str) -> int:
    """How many pixels of a line have the colour ``ink``, or nearly."""
    image = bars.grab().toImage()
    ratio = image.height() / bars.height()
    top, bottom = (int(ratio * bars.height() * at / len(PHASES)) for at in (line, line + 1))
    wanted = QColor(ink).getRgb()[:3]
    pixels = (image.pixelColor(x, y).getRgb()[:3] for x in range(image.width()) for y in range(top, bottom))
    return sum(all(abs(a - b) < 40 for a, b in zip(pixel, wanted, strict=True)) for pixel in pixels)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_each_phase_has_its_peak_its_mark_and_the_one_that_goes_on_an_arrow(window, mode):
    window.theme.set_mode(mode)
    gauge = window.memory_gauge
    bars = gauge.phases
    assert not bars.isVisible(), "without a training there is nothing to show"
    window.jobs.memory.emit(sample())
    assert bars.isVisible()
    assert bars.current == "backward"
    told = bars.accessibleDescription()
    assert "model: 90 MB measured, 100 MB predicted" in told
    assert "step: not begun, 150 MB predicted" in told
    assert told.endswith("now: backward")
    theme = window.session.theme
    assert inks(bars, 2, theme.warn) > 3 * max(1, inks(bars, 0, theme.warn)), "more than was predicted"
    assert inks(bars, 0, theme.muted) > 1.4 * inks(bars, 3, theme.muted), "a phase that has not begun has no bar"
    assert gauge.property("look") == "quiet"
    assert bars.sizeHint().height() <= 80, "the budget is what must be seen"


def test_the_windows_own_samples_leave_the_phases_and_the_end_takes_them_away(window):
    bars = window.memory_gauge.phases
    window.jobs.memory.emit(sample())
    window.jobs.memory.emit(Memory(now=600 * MB, peak=700 * MB))
    assert bars.isVisible()
    assert bars.phases == PHASES
    window.jobs.idle.emit()
    assert not bars.isVisible()
    assert bars.phases == ()


def test_a_sample_that_says_nothing_new_is_not_painted(window, qtbot):
    bars = window.memory_gauge.phases
    window.jobs.memory.emit(sample())
    qtbot.wait(100)
    asked = []
    bars.update = lambda: asked.append(True)  # type: ignore[method-assign]
    window.jobs.memory.emit(sample(first_step=3))
    assert not asked
    window.jobs.memory.emit(sample(phase="step"))
    assert asked == [True]
    began = time.process_time()  # of a busy machine others have a share
    for peak in range(200):
        window.memory_gauge.show_sample(sample(phases=(PhaseMemory("model", 9 * MB, peak * MB), *PHASES[1:])))
    assert (time.process_time() - began) / 200 < 0.02, "25 of them come in a second"


def test_figures_share_their_unit_and_a_small_excess_is_no_alarm():
    assert measured(PHASES[0]) == "90"
    assert measured(PHASES[3]) == "–"
    assert measured(PhaseMemory("model", 2_000 * MB, 900 * MB)) == "900 MB"
    assert [exceeds(phase) for phase in PHASES] == [False, False, True, False]
    assert not exceeds(PhaseMemory("model", 100 * MB, 104 * MB))


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({}, "Rows and model take 200 MB, at most 240 MB so far."),
        (
            {"first_step": 210 * MB},
            "Predicted 200 MB, measured 210 MB after the first step.",
        ),
        (
            {"first_step": 190 * MB},
            "Predicted 200 MB, measured 190 MB after the first step; 210 MB are now expected.",
        ),
    ],
)
def test_the_run_card_says_what_was_predicted_and_measured(more, told):
    assert memory_words(sample(**more)) == told


def test_the_card_of_a_run_shows_the_sentence(people, press):
    press(people, "tab_train")
    card = people.page.going
    card._take_memory(sample(first_step=210 * MB))
    shown = people.findChild(QLabel, "train_memory")
    assert shown.text().startswith("Predicted 200 MB, measured 210 MB after the first step.")
