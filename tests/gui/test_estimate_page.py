"""The Estimate page: a released file and its certificate in; figures with intervals, and the rows, out."""

import csv
import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from fits import misfits
from hands import drop_on
from mishaps import choose_by_keys, retype, rows_of, statuses, text_of
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QGuiApplication, QImage, QPainter
from PySide6.QtWidgets import QComboBox, QFileDialog, QLabel, QPushButton, QTableView, QWidget

from workbench.cli import main
from workbench.gui.pages.estimate.figures import Figure, as_csv, stated
from workbench.gui.pages.estimate.page import _strip, figure_cells, sentence_of
from workbench.gui.widgets.basic import PRIVATE
from workbench.gui.widgets.chart_marks import Canvas, Scale
from workbench.render.palette import LIGHT

PLAN = """version = 1
epsilon = 24
[[column]]
name = "sepal_length"
kind = "real"
lower = 4
upper = 8
cells = 21
mechanism = "staircase"
[[column]]
name = "petal_length"
kind = "real"
lower = 1
upper = 7
cells = 21
mechanism = "bounded-laplace"
[[column]]
name = "petal_width"
action = "drop"
[[column]]
name = "sepal_width"
action = "keep"
[[column]]
name = "species"
kind = "category"
domain = ["setosa", "versicolor", "virginica"]
"""


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A release of iris, charged to a ledger of its own."""
    folder = tmp_path_factory.mktemp("release")
    plan, out, ledger = (folder / name for name in ("plan.toml", "iris.csv", "ledger.sqlite"))
    plan.write_text(PLAN, "utf-8")
    assert main(["sanitize", "sample:iris", "--plan", str(plan), "-o", str(out), "--ledger", str(ledger)]) == 0
    return out


@pytest.fixture
def release(original, tmp_path):
    """A copy of the released file and its certificate, alone in a folder."""
    (tmp_path / "got").mkdir()
    for path in (original, certificate_of(original)):
        shutil.copy(path, tmp_path / "got" / path.name)
    return tmp_path / "got" / original.name


def certificate_of(release: Path) -> Path:
    return release.with_name(f"{release.name}.certificate.json")


@pytest.fixture
def page(window, press):
    """The page, with no table open and no ledger anywhere."""
    press(window, "tab_estimate")
    return window


@pytest.fixture
def estimated(page, finish, qtbot, release):
    """The page with the figures of the release."""
    retype(page, qtbot, "estimate_release", release)
    finish(page, "estimate_run")
    return page


def test_an_empty_page_says_what_to_do_and_takes_a_file_with_a_certificate_from_elsewhere(
    page, idle, release, tmp_path
):
    # An empty page says what to do and needs nothing open.
    assert "Name or drop a file that was released" in text_of(page, "estimate_nothing_why")
    assert not page.findChild(QPushButton, "estimate_run").isEnabled()
    lead = page.findChild(QPushButton, "estimate_nothing_go")
    assert lead.isVisible()
    assert page.page.primary is lead, "the highlighted button leads on"
    assert lead.property("look") == "primary"
    assert not page.findChild(QPushButton, "estimate_export").isVisible()
    assert "no ledger needed" in page.findChild(QLabel, "note_estimate").text()
    assert misfits(page) == []

    # A file is dropped with a certificate from elsewhere.
    elsewhere = tmp_path / "paper.certificate.json"
    certificate_of(release).rename(elsewhere)
    drop_on(page.page, elsewhere, release)
    idle(page)
    assert text_of(page, "estimate_said").startswith("✓")
    assert page.findChild(QWidget, "estimate_certificate").text() == str(elsewhere)


def test_an_interval_as_wide_as_its_chart_has_its_name_on_it(qapp, monkeypatch):
    said, box, along = [], QRectF(0, 60, 200, 40), Scale(18, 98)
    monkeypatch.setattr(Canvas, "write", lambda _on, place, text: said.append((place, text)))
    with QPainter(image := QImage(200, 120, QImage.Format.Format_RGB32)) as painter:
        for hidden in (False, True):
            figure = SimpleNamespace(low=28.0, estimate=50.0, high=98.0, hidden=hidden, called="3rd quartile")
            _strip(0, figure, along)(Canvas(painter, box, LIGHT, along, Scale(0, 1)))
    assert [text for _, text in said] == ["3rd quartile"] * 2
    assert all(box.left() < place.left() < place.right() < box.right() for place, _ in said), image.size()


def test_figures_come_from_file_and_certificate_alone_are_drawn_copied_and_compared(
    estimated, qtbot, press, release, finish
):
    # Figures come from file and certificate alone.
    said = text_of(estimated, "estimate_said")
    assert said.startswith("✓ File and certificate agree: 150 rows, ε = 24, release ")
    assert "sepal_width" in said, "a kept column is not covered by ε, and that is said"
    columns = rows_of(estimated, "estimate_columns")
    assert [line[0] for line in columns] == ["sepal_length", "petal_length", "species"]
    assert [line[1] for line in columns[:2]] == ["mean", "mean"]
    low, high = float(columns[0][3]), float(columns[0][4])
    # 95 % of intervals contain the mean: 2.6 of their half lengths are 5.1 standard errors, a false alarm of 4e-7.
    assert abs((low + high) / 2 - 5.843) <= 2.6 * (high - low) / 2
    assert high - low < 2
    figures = [line[0] for line in rows_of(estimated, "estimate_figures")]
    assert figures == ["mean", "1st quartile", "median", "3rd quartile"]
    assert statuses() == [], "no ledger knows of it"
    assert PRIVATE not in {label.text() for label in estimated.page.findChildren(QLabel)}
    assert misfits(estimated) == []

    # A copy has all digits and no badge.
    table = estimated.findChild(QTableView, "estimate_figures")
    table.setFocus()
    table.selectAll()
    qtbot.keyClick(table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    head, mean, *_ = QGuiApplication.clipboard().text().splitlines()
    assert head.startswith("Of\tEstimate\tLow\tHigh")
    assert len(mean.split("\t")[1]) > 6
    assert PRIVATE not in head

    # The chosen column is drawn and told by the picture.
    table = estimated.findChild(QTableView, "estimate_columns")
    assert "estimated separately" in text_of(estimated, "estimate_apart"), "shape and quartiles can differ"
    table.setFocus()
    qtbot.keyClick(table, Qt.Key.Key_Down)
    qtbot.keyClick(table, Qt.Key.Key_Down)
    assert not estimated.findChild(QLabel, "estimate_apart").isVisible(), "shares of names have one estimate"
    chart = estimated.findChild(QWidget, "estimate_chart")
    assert chart.accessibleName() == "Estimated distribution of species beside the released one"
    words = chart.words_at(chart.width() / 6)
    assert "estimated" in words
    assert "released" in words
    assert " to " in words
    assert {line[0] for line in rows_of(estimated, "estimate_figures")} == {"setosa", "versicolor", "virginica"}
    for mode in ("light", "dark"):
        estimated.theme.set_mode(mode)
        image = chart.grab().toImage()
        colours = {image.pixelColor(x, image.height() // 2).name() for x in range(image.width())}
        assert len(colours) > 1, mode
    estimated.theme.set_mode("light")

    # The released rows are shown beside what they say.
    press(estimated, "estimate_view_rows")
    with release.open(encoding="utf-8", newline="") as stream:
        header, *rows = csv.reader(stream)
    shown = estimated.findChild(QTableView, "estimate_rows").model()
    assert (shown.rowCount(), shown.columnCount()) == (150, len(header))
    assert [shown.index(7, c).data() for c in range(len(header))] == rows[7]
    summary = {line[0]: line for line in rows_of(estimated, "estimate_summary")}
    assert list(summary) == header
    assert summary["sepal_width"][-1] == "published as it was"
    assert summary["sepal_length"][2].startswith("mean ")
    assert summary["species"][-1].split()[0] in ("setosa", "versicolor", "virginica")
    assert misfits(estimated) == []

    # A pair of numbers has a correlation and names have none.
    press(estimated, "estimate_view_pairs")
    assert "how often two values occur together" in text_of(estimated, "estimate_pair_said")
    assert estimated.findChild(QComboBox, "estimate_pair_first").currentText() == "sepal_length"
    finish(estimated, "estimate_pair")
    ((of, estimate, low, high, _note),) = rows_of(estimated, "estimate_pair_table")
    assert of == "correlation"
    assert -1 <= float(low) <= float(estimate) <= float(high) <= 1  # how often it covers is tested without a window
    assert f"between {low} and {high}" in text_of(estimated, "estimate_pair_said")
    assert estimate in text_of(estimated, "estimate_pair_said")
    choose_by_keys(estimated, qtbot, "estimate_pair_second", "species")
    assert not estimated.findChild(QTableView, "estimate_pair_table").isVisible()
    finish(estimated, "estimate_pair")
    assert "no correlation with numbers" in text_of(estimated, "estimate_pair_said")
    choose_by_keys(estimated, qtbot, "estimate_pair_first", "species")
    assert text_of(estimated, "estimate_pair_said") == "Choose two different columns."
    assert not estimated.findChild(QPushButton, "estimate_pair").isEnabled()
    assert misfits(estimated) == []


def test_every_figure_is_exported_never_over_the_release_and_a_tampered_file_shows_nothing(
    estimated, finish, press, release, tmp_path, monkeypatch
):
    # Every figure is exported and never over the release.
    press(estimated, "estimate_view_pairs")
    finish(estimated, "estimate_pair")
    target = tmp_path / "figures.csv"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *given: (str(target), ""))
    finish(estimated, "estimate_export")
    with target.open(encoding="utf-8", newline="") as stream:
        head, *rows = csv.reader(stream)
    assert head == ["column", "of", "estimate", "low", "high", "biased", "hidden_by_noise"]
    assert [row[1] for row in rows].count("median") == 2
    assert rows[-1][:2] == ["sepal_length × petal_length", "correlation"]
    assert all(float(row[3]) <= float(row[2]) <= float(row[4]) for row in rows)
    before = release.read_bytes()
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *given: (str(release), ""))
    finish(estimated, "estimate_export")
    assert release.read_bytes() == before
    assert sorted(p.name for p in release.parent.iterdir()) == [release.name, certificate_of(release).name]

    # A tampered file is refused and shows nothing.
    release.write_text(release.read_text("utf-8").replace("setosa", "virginica", 1), "utf-8")
    finish(estimated, "estimate_run")
    assert "The release does not match its certificate" in text_of(estimated, "estimate_said")
    assert estimated.findChild(QLabel, "estimate_nothing_why").isVisible()
    assert not estimated.findChild(QPushButton, "estimate_export").isVisible()


def test_it_is_cancelled_by_its_button_and_begun_anew(page, finish, press, idle, qtbot, release, standstill):
    retype(page, qtbot, "estimate_release", release)
    press(page, "estimate_run")
    qtbot.waitUntil(page.findChild(QPushButton, "estimate_cancel").isVisible)
    press(page, "estimate_cancel")
    standstill.go_on()
    idle(page)
    assert text_of(page, "estimate_said") == "Cancelled."
    assert page.findChild(QLabel, "estimate_nothing_why").isVisible()
    finish(page, "estimate_run")
    assert text_of(page, "estimate_said").startswith("✓")


def test_the_release_page_leads_there(people, at_release, finish, qtbot, answer, tmp_path):
    at_release()
    target = tmp_path / "people-released.csv"
    retype(people, qtbot, "release_target", target)
    answer("yes")
    finish(people, "release_now")
    finish(people, "tab_released")
    # Sentences came with the release: their lines are laid out a turn of the event loop later.
    qtbot.waitUntil(lambda: [fault for fault in misfits(people) if "gauge_budget" not in fault] == [])
    charged = statuses()
    finish(people, "shown_release_estimate")
    assert people.findChild(QWidget, "page_estimate").isVisible()
    assert text_of(people, "estimate_said").startswith("✓ File and certificate agree: 2,000 rows, ε = 1, ")
    columns = {line[0]: line for line in rows_of(people, "estimate_columns")}
    assert set(columns) == {
        c["name"] for c in json.loads(certificate_of(target).read_text("utf-8"))["columns"] if c["action"] == "protect"
    }
    assert statuses() == charged


def test_words_and_figures():
    hidden = Figure("a × b", "correlation", "correlation", 0.5, -1.0, 1.0, True, True)
    assert sentence_of([hidden]).startswith("The noise hides it")
    assert [cell.text for cell in figure_cells(hidden)] == ["correlation", "–", "-1.00", "1.00", "noise hides it"]
    none = Figure("a × b", "correlation", "correlation", 0.1, -0.2, 0.4, True, False)
    assert "may be 0" in sentence_of([none])
    day = Figure("seen", "median", "date", 737_000.0, 736_000.0, 738_000.0, False, False)
    assert as_csv([day]).splitlines()[1] == "seen,median,2018-11-02,2016-02-06,2021-07-29,false,false"
    assert stated(0.12345, "share") == "12.3 %"
    assert stated(1234567.0, "integer") == "1,235,000"
