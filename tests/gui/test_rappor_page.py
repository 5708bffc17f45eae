"""RAPPOR: both ε live under the sliders, simulated for free, released once through the ledger, decoded and drawn."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fits import misfits
from mishaps import retype, statuses
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QComboBox, QLabel, QSlider, QWidget

from workbench.gui.pages.rappor.live_plots import SCALES, Setting, plot_drawing, plots, roc_drawing
from workbench.gui.pages.rappor.tasks import simulated
from workbench.gui.widgets.chart import Chart
from workbench.privacy.rappor.parameters import RapporParameters, cost
from workbench.release.ledger.ledger import Ledger
from workbench.release.verification import verify_any
from workbench.signals.cancel import NEVER
from workbench.signals.events import ignore


def fact(window, key: str) -> str:
    return window.findChild(QLabel, f"fact_rappor_{key}").text()


def enabled(window, name: str) -> bool:
    return window.findChild(QAbstractButton, name).isEnabled()


def note(window) -> str:
    return window.findChild(QWidget, "note_rappor").text()


def pick(window, start: str) -> None:
    """Choose an entry of the list of values by keys."""
    box = window.findChild(QComboBox, "rappor_source")
    assert box.isEnabled()
    at = next(i for i in range(box.count()) if box.itemText(i).startswith(start))
    box.setFocus()
    QTest.keyClick(box, Qt.Key.Key_Home)
    for _ in range(at):
        QTest.keyClick(box, Qt.Key.Key_Down)
    assert box.currentText().startswith(start)


@pytest.fixture
def ready(people, finish, qtbot, tmp_path):
    """The page for the people sample, with an output in a folder of the test."""
    finish(people, "tab_rappor")
    retype(people, qtbot, "rappor_output", tmp_path / "reports.csv")
    return people


def test_both_figures_follow_the_fields_and_a_release_is_charged_first_and_decoded(
    ready, press, idle, answer, qtbot, tmp_path: Path
) -> None:
    assert "Choose a column" in note(ready)
    assert not enabled(ready, "rappor_release")
    assert (fact(ready, "permanent"), fact(ready, "one")) == ("4.395", "1.075")
    assert "ε = 1.075" in fact(ready, "charge")
    before = fact(ready, "least")
    retype(ready, qtbot, "rappor_clients", "100000")
    assert fact(ready, "least") != before
    retype(ready, qtbot, "rappor_each", "50")
    assert "4.395" in fact(ready, "charge")
    slider = ready.findChild(QSlider, "rappor_h_slider")
    slider.setFocus()
    qtbot.keyClick(slider, Qt.Key.Key_End)
    assert fact(ready, "permanent") == "17.58"  # 8 hash functions
    plot = ready.findChild(QWidget, "rappor_epsilon_plot")
    assert "hashes, h" in plot.accessibleName()
    assert "ε₁" in plot.words_at(plot.width() / 2)
    # What cannot be is told beside the fields, and at the release.
    pick(ready, "column sex")
    retype(ready, qtbot, "rappor_f", "0")
    retype(ready, qtbot, "rappor_p", "0.75")
    assert "would contain no information" in ready.findChild(QLabel, "rappor_q_problem").text()
    assert not enabled(ready, "rappor_simulate")
    retype(ready, qtbot, "rappor_p", "0")
    retype(ready, qtbot, "rappor_q", "1")
    assert "refused" in fact(ready, "charge")
    assert "infinite" in note(ready)
    assert not enabled(ready, "rappor_release")
    assert enabled(ready, "rappor_simulate")
    # Parameters that can be charged: released once.
    target = tmp_path / "reports.csv"
    for name, value in (("f", "0.5"), ("p", "0.5"), ("q", "0.75"), ("h", "2"), ("each", "1")):
        retype(ready, qtbot, f"rappor_{name}", value)
    told = answer("yes")
    press(ready, "rappor_release")
    qtbot.waitUntil(lambda: bool(told))
    idle(ready)
    assert "ε = 1.075" in told[0]
    assert verify_any(target) == []
    rows = list(csv.DictReader(target.read_text("utf-8").splitlines()))
    assert len(rows) == ready.session.opened.table.rows
    assert set(rows[0]) == {"client", "cohort", "rappor"}
    with Ledger.open() as book:
        assert [release.status for release in book.releases()] == ["charged"]
    qtbot.waitUntil(lambda: ready.page._results.isVisible())
    assert "released reports of sex" in ready.findChild(QLabel, "rappor_found_title").text()
    assert not ready.page._results._badge.isVisible()
    assert ready.findChild(QAbstractButton, "rappor_release_verify").isVisible()
    # A second one passes the cap, which the first has set.
    assert "nothing is left" in note(ready)
    assert not enabled(ready, "rappor_release")
    assert statuses() == ["charged"]


def test_it_opens_on_a_bounded_setting_and_warns_of_one_that_is_not(ready, qtbot) -> None:
    warning = ready.findChild(QLabel, "rappor_unbounded")
    assert fact(ready, "permanent") == "4.395"
    assert not warning.isVisible()
    pick(ready, "made-up: normal")
    assert (fact(ready, "permanent"), fact(ready, "one")) == ("∞", "2.198")
    assert warning.isVisible()
    assert "no bound" in warning.text()
    retype(ready, qtbot, "rappor_clients", "20,000,000")
    assert not [line for line in misfits(ready) if "rappor_clients" in line]
    retype(ready, qtbot, "rappor_f", "0.5")
    assert not warning.isVisible()


@pytest.mark.parametrize("key", SCALES)
def test_the_plots_are_of_the_engine(key) -> None:
    setting = Setting()
    epsilon, least = plots(setting, key)
    one = {s.words.split(",")[0]: s.points for s in epsilon.series}["ε₁"]
    for value, told in one:
        there = setting.at(key, value)
        assert told == cost(there.parameters, there.each).one
    assert len(one) >= 28
    assert all(0 < share <= 1 for _, share in least.series[0].points)


@pytest.mark.slow
def test_a_simulation_is_free_and_drawn(ready, finish, press, idle, qtbot) -> None:
    retype(ready, qtbot, "rappor_clients", "20000000")
    press(ready, "rappor_simulate")
    finish(ready, "rappor_cancel")
    assert not ready.page._results.isVisible()
    retype(ready, qtbot, "rappor_clients", "20000")
    press(ready, "rappor_simulate")
    assert ready.page.job is not None
    idle(ready)
    told = ready.findChild(QLabel, "rappor_found").text()
    assert told.startswith("20,000 reports, ")
    bars = ready.findChild(Chart, "rappor_bars")
    assert "60 candidates" in bars.accessibleName()
    assert [below.text.rstrip("0123456789") for below in bars.drawing().below] == ["value ", "absent "]
    assert "true" in bars.words_at(bars.width() / 2)
    heat = ready.findChild(Chart, "rappor_heat")
    assert "128 bits in 16 cohorts" in heat.accessibleName()
    assert "bit" in heat.words_at(heat.width() / 2)
    for part in (bars, heat):
        shown = part.grab().toImage()
        places = [QPoint(x, y) for x in range(0, shown.width(), 3) for y in range(0, shown.height(), 3)]
        assert len({shown.pixelColor(place).rgb() for place in places}) > 3
    with Ledger.open() as book:
        assert book.releases() == []
        assert book.figures() == []


def test_the_lines_of_every_chart_differ_by_more_than_a_colour() -> None:
    ends = np.array([0.0, 1.0])
    setting = replace(Setting(f=0.5, p=0.5, q=0.75, h=2, k=64, m=4), each=2)
    for drawing in (roc_drawing([(n, ends, ends) for n in (100, 10, 1)]), plot_drawing(plots(setting, "f")[0])):
        assert [key.dash for key in drawing.key] == ["solid", "dashed", "dotted"]


@pytest.mark.slow
def test_a_simulation_of_a_column_is_private_and_has_a_roc(ready, finish, qtbot) -> None:
    pick(ready, "column age")
    retype(ready, qtbot, "rappor_clients", "100000")
    finish(ready, "rappor_simulate")
    assert ready.page._results._badge.isVisible()
    assert "column age" in ready.findChild(QLabel, "rappor_found_title").text()
    with Ledger.read() as book:
        assert [figures.study for figures in book.figures()] == ["rappor"]
    roc = ready.findChild(Chart, "rappor_roc")
    assert roc.accessibleName() == "ROC of 100,000 reports, 10,000 reports, 1,000 reports"
    assert "false alarms" in roc.words_at(roc.width() / 2)
    found = ready.page._results._found
    assert found is not None
    assert found.private
    assert areas(found) == sorted(areas(found), reverse=True)


def areas(found) -> list[float]:
    """Return the area below each line, of the most reports first."""
    return [float(np.trapezoid(hits, alarms)) for _, alarms, hits in found.roc]


def test_the_strings_that_only_more_reports_bring_do_not_lower_their_line() -> None:
    found = simulated(None, None, "exponential", RapporParameters(), 100_000, ignore, NEVER)
    assert areas(found) == sorted(areas(found), reverse=True)
