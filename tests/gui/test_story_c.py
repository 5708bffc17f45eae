"""Story C: what privacy costs in accuracy, by naive Bayes: computed, stopped, continued, read, taken and exported."""

import csv
import io
import json
import os
from multiprocessing import resource_tracker
from xml.etree import ElementTree as ET

import polars as pl
import pytest
from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import QApplication, QComboBox, QFileDialog, QLabel, QLineEdit, QTableView, QWidget

from workbench.gui.widgets.basic import PRIVATE
from workbench.paths import user_data

CTRL = Qt.KeyboardModifier.ControlModifier
EPSILONS = (0.1, 0.464158883, 1.0, 2.15443469, 10.0)
"""What is typed, and the ε of the plan."""

REPEATS = 9
MODELS = REPEATS * (1 + 2 * len(EPSILONS))
BADGE = "# private – not for release"


@pytest.fixture(scope="module", autouse=True)
def tracker():
    """Start Python's own helper of spawned processes, which outlives them, before children are counted."""
    resource_tracker.ensure_running()


def retype(window, qtbot, name, text):
    field = window.findChild(QLineEdit, name)
    field.setFocus()
    qtbot.keyClick(field, Qt.Key.Key_A, CTRL)
    qtbot.keyClicks(field, text)


def heading(table, column):
    """Return where a heading of a table is clicked."""
    header = table.horizontalHeader()
    return QPoint(header.sectionViewportPosition(column) + header.sectionSize(column) // 2, header.height() // 2)


def column_of(table, column):
    return [table.model().index(row, column).data(Qt.ItemDataRole.DisplayRole) for row in table.in_sight()]


def type_into_the_save_dialog(path):
    """Type a path into the dialog that is about to be shown, and press Return."""

    def look():
        for dialog in QApplication.topLevelWidgets():
            if isinstance(dialog, QFileDialog) and dialog.isVisible():
                kind = next(k for k in dialog.nameFilters() if path.suffix in k)
                dialog.selectNameFilter(kind)
                dialog.selectFile(str(path))
                dialog.accept()
                return
        QTimer.singleShot(50, look)

    QTimer.singleShot(50, look)


def test_models_are_compared_stopped_continued_and_carried_away(window, qtbot, finish, press, idle, tmp_path):
    QApplication.setAttribute(Qt.ApplicationAttribute.AA_DontUseNativeDialogs)
    finish(window, "sample_wine")
    assert window.session.target == "cultivar"
    press(window, "tab_utility")
    page = window.page
    model = window.findChild(QComboBox, "curve_model")
    assert model.currentText().endswith("★"), "it starts on the advised one"
    model.setCurrentIndex(model.findData("naive-bayes"))
    retype(window, qtbot, "curve_epsilons", "0.1:10:4")
    retype(window, qtbot, "curve_repeats", str(REPEATS))
    assert f"{MODELS} models" in window.findChild(QWidget, "note_utility").accessibleName()

    # -- run; meanwhile the table is sorted and other pages are looked at
    seen = []
    qtbot.keyClick(window, Qt.Key.Key_Return, CTRL)
    qtbot.waitUntil(lambda: page.figure is not None)
    (job,) = window.jobs.running
    job.progress.connect(lambda progress: seen.append(progress.done))
    as_table = window.findChild(QWidget, "curve_as_table")
    qtbot.waitUntil(lambda: as_table.width() > 0)  # it is laid out a moment after the first figure
    press(window, "curve_as_table")
    table = window.findChild(QTableView, "curve_table")
    assert table.isVisible()
    qtbot.mouseClick(table.horizontalHeader().viewport(), Qt.MouseButton.LeftButton, pos=heading(table, 2))
    rising = [float(text) for text in column_of(table, 2)]
    assert rising == sorted(rising)
    qtbot.mouseClick(table.horizontalHeader().viewport(), Qt.MouseButton.LeftButton, pos=heading(table, 2))
    falling = [float(text) for text in column_of(table, 2)]
    assert falling == sorted(falling, reverse=True)
    press(window, "tab_data")
    press(window, "tab_protect")
    before = len(seen)
    qtbot.waitUntil(lambda: len(seen) > before)
    press(window, "tab_utility")
    press(window, "curve_as_plot")

    # -- cancel at half, in the panel of jobs
    qtbot.waitUntil(lambda: seen[-1] >= MODELS / 2)
    assert not window.findChild(QWidget, "job_cancel").isVisible(), "this page has a Cancel of its own"
    press(window, "tab_data")
    cancel = window.findChild(QWidget, "job_cancel")
    words = [cancel.text()]
    job.cancelling.connect(lambda: words.append(cancel.text()))
    window.jobs.idle.connect(lambda: words.append(cancel.text()), Qt.ConnectionType.SingleShotConnection)
    qtbot.mouseClick(cancel, Qt.MouseButton.LeftButton)
    idle(window)
    assert words == ["Cancel", "Cancelling…", "Cancelled"]
    press(window, "tab_utility")
    assert seen == sorted(seen)
    assert page.figure is not None, "what was computed stays"
    assert "kept" in window.findChild(QWidget, "note_utility").accessibleName()
    assert window.session.runs == ()
    (journal,) = (user_data() / "unfinished").glob("*.jsonl")
    kept = len(journal.read_text().splitlines())
    assert MODELS / 2 <= kept < MODELS

    # -- run again: only the rest
    record = tmp_path / "record.jsonl"
    os.link(journal, record)  # the file itself stays when the finished study removes its name
    told = []
    window.jobs.noticed.connect(lambda level, text: told.append(text))
    finish(window, "curve_run")
    assert told == [f"{kept} models from a stopped run are kept."]
    tasks = [json.loads(line)[0] for line in record.read_text().splitlines()]
    assert len(tasks) == len(set(tasks)) == MODELS, "no model was trained twice"
    assert not journal.exists()
    (run,) = window.session.runs
    rows = [r for r in run.result.rows if r.metric == "accuracy"]
    assert len(rows) == REPEATS * 3 * len(EPSILONS)
    assert {r.repeat for r in rows} == set(range(REPEATS))
    assert sorted({r.epsilon for r in rows}) == pytest.approx(EPSILONS)

    # -- read it: under the pointer, in words
    callout = window.findChild(QLabel, "curve_callout")

    def pointed():
        qtbot.mouseMove(page.plot.view, QPoint(3, 3))
        qtbot.mouseMove(page.plot.view, page.plot.place_of(1, 2).toPoint())
        return callout.isVisible()

    qtbot.waitUntil(pointed)
    line = page.figure.series[1]
    assert line.name == "private model"
    assert f"{line.mean[2]:.3f}" in callout.text()
    accuracies = [r.value for r in rows if r.regime == "private" and r.epsilon == line.x[2]]
    assert line.mean[2] == pytest.approx(sum(accuracies) / REPEATS), "what is shown is what was measured"

    # -- take its ε, and take it back
    qtbot.mouseClick(page.plot.view, Qt.MouseButton.LeftButton, pos=page.plot.place_of(0, 3).toPoint())
    assert window.session.plan.epsilon == 1, "a click says what the point is, and sets nothing"
    press(window, "curve_point_take")
    assert float(window.session.plan.epsilon) == line.x[3]
    qtbot.keyClick(window, Qt.Key.Key_Z, CTRL)
    assert window.session.plan.epsilon == 1

    # -- carry it away
    page.plot.setFocus()
    qtbot.keyClick(page.plot, Qt.Key.Key_C, CTRL)
    image = QGuiApplication.clipboard().image()
    assert image.width() >= page.plot.view.width() > 400
    press(window, "curve_as_table")
    table.setFocus()
    qtbot.keyClick(table, Qt.Key.Key_C, CTRL)
    text = QGuiApplication.clipboard().text().splitlines()
    assert text[0] == PRIVATE
    assert text[1].split("\t")[1] == "ε"
    assert len(text) == 2 + 2 + 2 * len(EPSILONS), "badge, headings, two levels and the points"
    press(window, "curve_as_plot")
    for suffix in (".png", ".svg", ".csv"):
        path = tmp_path / f"curve{suffix}"
        type_into_the_save_dialog(path)
        finish(window, "curve_save")
        assert path.exists(), f"{suffix} was saved"
    picture = QImage(str(tmp_path / "curve.png"))
    assert picture.width() > 400
    drawn = "".join(ET.parse(tmp_path / "curve.svg").getroot().itertext())
    assert "PRIVATE" in drawn.upper()
    lines = (tmp_path / "curve.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == BADGE
    figures = list(csv.DictReader(io.StringIO("\n".join(lines[1:]))))
    assert len(figures) == len(run.result.rows)
    raw = values_of(window.session.opened.table.frame)
    for name in ("curve.svg", "curve.csv"):
        exported = (tmp_path / name).read_text(encoding="utf-8")
        assert not [value for value in raw if value in exported], "no value of the table leaves"
    assert window.session.account.spent == 0, "a study spends nothing"


def values_of(frame):
    """Return cells long enough not to turn up in a file of figures by chance."""
    return {
        cell
        for column in frame.head(50).iter_columns()
        if column.dtype == pl.String
        for cell in column
        if len(cell) > 5
    }
