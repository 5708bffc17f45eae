"""The study of memory in the window: chosen, computed, drawn, saved, and taken to Train."""

import csv
import time
from decimal import Decimal

import pytest
from mishaps import retype, text_of
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QGuiApplication
from PySide6.QtWidgets import QCheckBox, QComboBox, QLabel, QLineEdit

from workbench.cli.main import main as command
from workbench.gui.gauges.memory import PhaseBars, exceeds, measured
from workbench.gui.pages.memory import page as memory_page
from workbench.gui.pages.train.run_card import memory_words
from workbench.gui.widgets.table_model import EXACT
from workbench.params import ParameterError
from workbench.render.curve import settings_ticks
from workbench.render.memory_figure import decimals
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Memory, PhaseMemory


@pytest.fixture
def page(window, finish):
    finish(window, "tab_memory")
    return window.page


@pytest.fixture
def found(page, qtbot, press, idle):
    retype(page.window(), qtbot, "memory_batches", "32,64,128")
    press(page, "memory_run")
    idle(page.window())
    return page


@pytest.mark.parametrize("size", [100, 150])
def test_the_usual_batches_are_to_be_read_whole(page, qtbot, size):
    page.window().theme.set_scale(size)
    field = page.findChild(QLineEdit, "memory_batches")
    qtbot.waitUntil(lambda: field.fontMetrics().horizontalAdvance(field.text()) < field.width() - 16)


def test_before_it_is_run_the_page_says_what_to_do_and_faults_are_sentences(page, qtbot, press, idle, monkeypatch):
    # Before it is run the page says what to do.
    assert page.findChild(QCheckBox, "memory_network_mnist-cnn").isChecked()
    assert "press Compute" in text_of(page, "memory_empty")
    assert "no data is read and nothing is charged" in page._note._whole
    assert page.primary.text() == "Compute"
    assert not page.findChild(type(page.primary), "memory_save").isEnabled()

    # What is wrong is told where it is.
    retype(page.window(), qtbot, "memory_batches", "16,many")
    assert "not a list of whole numbers" in text_of(page, "memory_batches_problem")
    assert not page.primary.isEnabled()
    retype(page.window(), qtbot, "memory_batches", "16")
    press(page, "memory_network_mnist-cnn")
    assert not page.primary.isEnabled()
    assert "at least one network" in page._note._whole
    press(page, "memory_network_vgg16-head")
    press(page, "memory_run")
    idle(page.window())
    assert "32 × 32 pixels or more" in text_of(page, "memory_problem")
    press(page, "memory_network_vgg16-head")
    press(page, "memory_network_mnist-cnn")

    # A study is cancelled by its button.
    began = []

    def endless(*given, **more):
        began.append(True)
        cancel: CancelToken = given[4]
        while True:
            cancel.check()

    monkeypatch.setattr("workbench.deep.memory_study.compare", endless)
    press(page, "memory_run")
    qtbot.waitUntil(lambda: bool(began))
    assert page.findChild(QLineEdit, "memory_batches").isEnabled() is False
    press(page, "memory_cancel")
    idle(page.window())
    assert page.found.result is None
    assert page.primary.isEnabled()

    # A fault of the study is a sentence.
    def refused(*given, **more):
        raise ParameterError("this cannot be", hint="try another")

    monkeypatch.setattr("workbench.deep.memory_study.compare", refused)
    press(page, "memory_run")
    idle(page.window())
    assert "This cannot be" in text_of(page, "memory_problem")


def test_a_study_stands_in_table_and_chart_is_saved_and_fits_a_wide_window(
    found, press, idle, monkeypatch, tmp_path, capsys, qtbot
):
    # Every setting stands in the table and the chart has four phases.
    model = found.found.table.model()
    assert model.rowCount() == 2 * 3
    assert [series.name for series in found.found.figure.series] == ["model", "batch", "backward", "step"]
    assert found.found.figure.series[0].x == (32.0, 64.0, 128.0)
    assert found.found.figure.badge == "", "nothing of it is private"
    assert found.found.selected.line.private
    assert found.found.selected.batch == 128, "the largest that fits"
    press(found, "memory_show_table")
    assert found.found.table.isVisible()
    assert not found.found.plot.isVisible()
    places = range(model.columnCount())
    headings = [model.headerData(c, Qt.Orientation.Horizontal).replace("\n", " ") for c in places]
    most = headings.index("Most rows")
    cell = model.index(0, most)
    assert int(cell.data(EXACT)) > 128
    assert len(cell.data()) < 6, "seven digits would make the table scroll"
    assert f"{int(cell.data(EXACT)):,}" in cell.data(Qt.ItemDataRole.ToolTipRole)
    assert "Most rows: what fits in" in found._note._whole
    assert "memory is allocated in pages" in text_of(found, "memory_remarks")
    press(found, "memory_show_chart")

    # Without data there is nowhere to take a batch.
    onward = found.primary
    assert onward.text().startswith("Take this batch")
    assert not onward.isEnabled()
    assert "Open a table" in onward.toolTip()

    # The saved figures are those of the command.
    ours, theirs = tmp_path / "page.csv", tmp_path / "command.csv"
    monkeypatch.setattr(memory_page, "ask_where_to_save", lambda *asked: str(ours))
    press(found, "memory_save")
    idle(found.window())
    words = ["memory", "--network", "mnist-cnn", "--batch", "64", "--shape", "1,28,28", "--batches", "32,64,128"]
    assert command([*words, "-o", str(theirs)]) == 0
    capsys.readouterr()
    assert ours.read_bytes() == theirs.read_bytes()
    assert len(list(csv.DictReader(ours.read_text().splitlines()))) == 6

    # In a wide window the table beside the chart hides no phase.
    window = found.window()
    window.resize(2560, 1440)
    table, plot = found.found.table, found.found.plot
    qtbot.waitUntil(lambda: table.isVisible() and plot.isVisible() and plot.width() > table.width())
    qtbot.waitUntil(lambda: table.horizontalScrollBar().maximum() == 0)
    header = table.horizontalHeader()
    cut = [at for at in range(header.count()) if header.sectionSize(at) < header.sectionSizeHint(at)]
    assert not cut, "no heading is cut"
    assert window.minimumSizeHint().width() <= 1280, "and the window can be made small again"
    told = [text for _, text in settings_ticks(found.found.figure)]
    assert told == ["32", "64", "128"], "the batches that were asked for"
    window.resize(1280, 800)

    # Lines of every setting are drawn together.
    combo = found.findChild(QComboBox, "memory_chart")
    combo.setFocus()
    qtbot.keyClicks(combo, "Peak")
    combo.activated.emit(combo.currentIndex())
    names = [series.name for series in found.found.figure.series]
    assert names == ["CNN, not private", "CNN, private"]
    peaks = {row.batch: row.peak / 1e6 for row in found.found.result.of(found.found.result.lines[1])}
    assert dict(zip(found.found.figure.series[1].x, found.found.figure.series[1].mean, strict=True)) == peaks
    press(found, "memory_copy")
    assert not QGuiApplication.clipboard().pixmap().isNull()


def test_sizes_have_three_digits_small_or_large():
    assert [decimals(highest) for highest in (0.111, 9.2, 25, 999, 2400)] == [3, 2, 1, 1, 0]


@pytest.mark.slow  # a picture is drawn by a process of its own
def test_the_chart_is_saved_as_a_picture(found, press, idle, monkeypatch, tmp_path):
    for name in ("study.png", "study.svg"):
        monkeypatch.setattr(memory_page, "ask_where_to_save", lambda *asked, name=name: str(tmp_path / name))
        press(found, "memory_save")
        idle(found.window())
    assert (tmp_path / "study.png").read_bytes().startswith(b"\x89PNG")
    assert "backward" in (tmp_path / "study.svg").read_text()


def test_on_a_gpu_the_jumps_are_explained_and_its_memory_is_asked_for(page, qtbot, press, idle):
    combo = page.findChild(QComboBox, "memory_device")
    combo.setFocus()
    qtbot.keyClicks(combo, "GPU")
    press(page, "memory_run")
    idle(page.window())
    assert "outgrows" in text_of(page, "memory_remarks")
    assert "type the GPU's memory" in page._note._whole
    retype(page.window(), qtbot, "memory_fit", "100")
    assert page.primary.text() == "Compute", "another question is another study"
    press(page, "memory_run")
    idle(page.window())
    assert page.found.result.fit == 100_000_000
    assert page.found.selected.peak <= 100_000_000
    assert any(row.peak > 100_000_000 for row in page.found.result.rows)


def test_the_chosen_batch_is_taken_to_train(people, finish, press, idle, qtbot):
    people.resize(1280, 800)
    finish(people, "tab_memory")
    page = people.page
    assert page.findChild(QLineEdit, "memory_shape").text() != "1,28,28", "the numbers of a row of this table"
    assert page.findChild(QCheckBox, "memory_network_mlp").isChecked()
    retype(people, qtbot, "memory_batches", "8,16,32")
    press(page, "memory_run")
    idle(people)
    press(page, "memory_show_table")
    press(page, "memory_show_chart")  # at no moment are both in sight: the card would grow and shrink without end
    press(page, "memory_show_table")
    row = next(at for at, r in enumerate(page.found.result.rows) if r.batch == 16 and r.line.private)
    table = page.found.table
    place = table.visualRect(table.model().index(row, 0)).center()
    qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=place)
    press(page, "memory_to_train")
    idle(people)
    train = people.page
    assert train.objectName() == "page_train"
    assert train.forms.model == "mlp"
    value = train.forms.value()
    assert (value.batch, value.physical_batch) == (16, 16)
    assert value.epsilon is not None, "the budget in the form stays"
    assert people.session.account.spent == Decimal(0)


def test_train_leads_to_the_study(people, press):
    press(people, "tab_train")
    press(people, "train_model_mlp")
    press(people, "train_way_memory")
    assert people.page.objectName() == "page_memory"


# -- The memory gauge by phase: marks, peaks, the phase that goes on; and what the run card says of the first step


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


def test_the_gauge_shows_phases_in_either_theme_until_the_end_and_paints_what_is_new(window, qtbot):
    # Each phase has its peak its mark and the one that goes on an arrow.
    for mode in ("light", "dark"):
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
        window.jobs.idle.emit()

    # A sample that says nothing new is not painted.
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
    del bars.update

    # The windows own samples leave the phases and the end takes them away.
    bars = window.memory_gauge.phases
    window.jobs.memory.emit(sample())
    window.jobs.memory.emit(Memory(now=600 * MB, peak=700 * MB))
    assert bars.isVisible()
    assert bars.phases == PHASES
    window.jobs.idle.emit()
    assert not bars.isVisible()
    assert bars.phases == ()


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
