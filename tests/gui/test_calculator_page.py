"""The calculator: live while a slider moves, the tightest figure when it rests, its values taken to Train."""

from __future__ import annotations

import csv
import time
from dataclasses import replace

import numpy as np
import pytest
from mishaps import retype, text_of
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QLabel, QPushButton, QScrollArea, QSlider

from workbench.gui.pages.calculator import page as calculator
from workbench.gui.widgets.chart import Chart
from workbench.privacy.accounting.accountant import accountant_names
from workbench.render.palette import STYLES


@pytest.fixture
def coarse(monkeypatch):
    monkeypatch.setattr(calculator, "EXACT_POINTS", 2)
    monkeypatch.setattr("workbench.privacy.accounting.run_curves.POINTS", 3)
    monkeypatch.setattr("workbench.privacy.accounting.run_curves.HEAT_POINTS", 3)


@pytest.fixture
def page(window, finish, coarse):
    finish(window, "tab_calculator")
    return window.page


def settled(page, qtbot):
    qtbot.waitUntil(lambda: "pld" in page._epsilons and not page._waiting and not page._busy and not page.jobs.running)


def test_the_answer_stands_in_sight_at_large_text_and_moves_no_field(page, qtbot):
    window, field = page.window(), page.sliders["rows"].field
    window.theme.set_scale(150)
    window.resize(1280, 800)
    qtbot.wait(100)
    before = field.mapTo(window, QPoint(0, 0))
    settled(page, qtbot)
    qtbot.wait(100)
    assert field.mapTo(window, QPoint(0, 0)) == before
    area = page.findChild(QScrollArea, "body_calculator").viewport()
    for known in (*accountant_names(), "steps"):
        answer = page.findChild(QLabel, f"fact_{known}")
        assert answer.mapTo(area, QPoint(0, answer.height())).y() <= area.height(), known
        assert answer.text() != "…"


def test_the_shades_of_the_map_are_clear_of_its_title_at_large_text(page, qtbot):
    page.window().theme.set_scale(150)
    page.window().resize(1280, 800)
    settled(page, qtbot)
    heat, drawing = page.heat, page.heat.drawing()

    def painted(**without) -> np.ndarray:
        heat.show_drawing(replace(drawing, **without))
        image = heat.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
        return np.array(image.constBits()).view(np.uint32).reshape(image.height(), image.width())

    whole = painted()
    title, shades = painted(title="") != whole, painted(marks=drawing.marks[:-1]) != whole
    assert title.any()
    assert shades.any()
    assert not set(np.flatnonzero(title.any(axis=1))) & set(np.flatnonzero(shades.any(axis=1)))


@pytest.mark.slow
def test_the_published_run_costs_the_golden_figures(page, qtbot):
    settled(page, qtbot)
    assert text_of(page, "fact_rdp-classic") == "ε = 1.167"
    assert text_of(page, "fact_rdp") == "ε = 0.8726"
    assert text_of(page, "fact_pld").startswith("ε = 0.61")
    assert text_of(page, "fact_steps") == "14,070"
    for axis, curves in page.curves.items():
        assert set(curves) == ({"rdp", "rdp-classic"} if axis == "order" else {"pld", "rdp", "rdp-classic"}), axis
        assert "rdp-classic from " in page.charts[axis].accessibleName()
    heat = page._quick.heat
    assert "(Rényi, improved)" in page.heat.accessibleName(), "as its lines are"
    assert heat.epsilons[0][-1] == max(max(line) for line in heat.epsilons)


def test_a_figure_that_is_typed_is_used_and_a_wrong_one_is_explained(page, qtbot):
    qtbot.waitUntil(lambda: "rdp" in page._epsilons)
    before = dict(page._epsilons)
    retype(page.window(), qtbot, "calculator_epochs_field", "150")
    qtbot.keyClick(page.sliders["epochs"].field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: page._epsilons.get("rdp", 0) > before["rdp"])
    assert page.run_as_set().epochs == 150
    retype(page.window(), qtbot, "calculator_epochs_field", "many")
    qtbot.keyClick(page.sliders["epochs"].field, Qt.Key.Key_Return)
    assert "Give a whole number from 1 to 10000" in text_of(page, "calculator_epochs_problem").replace(",", "")
    assert page.run_as_set().epochs == 150
    for text, value in (("1,5", 1.0), ("0,050", 1.0), ("2.5", 2.5)):  # a comma is between thousands, else nothing
        retype(page.window(), qtbot, "calculator_sigma_field", text)
        qtbot.keyClick(page.sliders["sigma"].field, Qt.Key.Key_Return)
        assert page.run_as_set().sigma == value
    for text in ("60.000", "1e999", "nan"):
        retype(page.window(), qtbot, "calculator_rows_field", text)
        qtbot.keyClick(page.sliders["rows"].field, Qt.Key.Key_Return)
        assert text_of(page, "calculator_rows_problem").startswith("Give a whole number from 10 to ")
    retype(page.window(), qtbot, "calculator_rows_field", "1,000,000")
    qtbot.keyClick(page.sliders["rows"].field, Qt.Key.Key_Return)
    assert page.run_as_set().rows == 1_000_000
    retype(page.window(), qtbot, "calculator_rows_field", "60000")
    qtbot.keyClick(page.sliders["rows"].field, Qt.Key.Key_Return)
    retype(page.window(), qtbot, "calculator_batch_field", "70000")
    qtbot.keyClick(page.sliders["batch"].field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: "more rows than the table" in text_of(page, "calculator_problem"))


@pytest.mark.slow
def test_a_drag_stays_live(page, qtbot, qapp):
    """Of a slider with a million positions each move is handled within a frame of 20 Hz, however long figures take."""
    settled(page, qtbot)
    slider = page.findChild(QSlider, "calculator_sigma_slider")
    assert slider.maximum() == 1_000_000
    took = []
    for step in range(60):
        slider.setValue(100_000 + 12_345 * step)
        began = time.perf_counter()
        qapp.processEvents()
        took.append(time.perf_counter() - began)
        assert float(page.sliders["sigma"].field.text()) == page.run_as_set().sigma
        assert len(page.jobs.running) <= 2
    took.sort()
    assert took[len(took) // 2] < 0.05
    settled(page, qtbot)
    assert page.curves["sigma"]["rdp"].x


def test_the_values_go_to_train(page, window, finish, press, idle, qtbot):
    assert not page.findChild(QPushButton, "calculator_to_train").isEnabled()
    press(window, "tab_data")
    finish(window, "sample_iris")
    press(window, "tab_calculator")
    assert page.run_as_set().rows == window.session.opened.table.rows
    page.sliders["epochs"].set_value(7)
    page.sliders["sigma"].set_value(2.5)
    press(window, "calculator_to_train")
    assert window.page.objectName() == "page_train"
    plan = window.page.forms.value()
    assert (plan.noise, plan.epochs, plan.epsilon) == (2.5, 7, None)
    assert plan.batch == round(page.sliders["batch"].value())
    idle(window)


@pytest.mark.slow
def test_picture_and_figures_are_saved(page, qtbot, idle, window, tmp_path, monkeypatch):
    settled(page, qtbot)
    for name in ("charts.png", "charts.csv"):
        monkeypatch.setattr(calculator, "ask_where_to_save", lambda *_, name=name: str(tmp_path / name))
        page.findChild(QPushButton, "calculator_export").click()
        qtbot.waitUntil(lambda name=name: (tmp_path / name).exists())
        idle(window)
    assert (tmp_path / "charts.png").read_bytes().startswith(b"\x89PNG")
    lines = list(csv.DictReader((tmp_path / "charts.csv").read_text("utf-8").splitlines()))
    assert {line["accountant"] for line in lines} == {"pld", "rdp", "rdp-classic"}


def test_nothing_is_read_or_charged(page):
    assert "Nothing is read or charged" in page.findChild(QLabel, "note_calculator").text()


def test_the_legend_has_the_colours_of_the_lines(page):
    theme = page.session.theme
    for name in accountant_names():
        shown = page.findChild(Chart, f"calculator_line_{name}").grab().toImage()
        seen = {shown.pixelColor(x, y).name() for x in range(shown.width()) for y in range(shown.height())}
        assert theme.series(STYLES[calculator.line_of(name)[0]]).lower() in seen, name
