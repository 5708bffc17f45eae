"""The frame: light to start, in the colours asked for, every page within reach of the keyboard."""

import gc
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, QRect, Qt
from PySide6.QtGui import QColor, QImage, QPalette
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QLabel,
    QLineEdit,
    QMenu,
    QPushButton,
    QStyle,
    QToolTip,
    QWidget,
)

import workbench.gui.project.open_table
import workbench.release.release_path
from workbench.gui.app import LATER, Collector
from workbench.gui.pages import PAGES, ROOMS
from workbench.gui.pages.base import PageFrame
from workbench.gui.widgets.basic import button
from workbench.gui.widgets.dialogs import Question
from workbench.jobs import Job
from workbench.params import InputError
from workbench.render.palette import DARK, LIGHT, THEMES

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("sklearn", "torch", "scipy.stats", "opendp.prelude", "dp_accounting", "polars", "numpy")
FIRST_PAINT = """
import os, sys
os.environ["QT_QPA_PLATFORM"] = "offscreen"
from workbench.gui.app import application
from workbench.gui.app import main_window
from workbench.gui.shell.main_window import MainWindow
app = application()
window = main_window()
window.show()
app.processEvents()
print(*(name for name in sys.argv[1:] if name in sys.modules))
window.close()
"""


def test_the_first_paint_loads_no_engine():
    done = subprocess.run(
        [sys.executable, "-c", FIRST_PAINT, *HEAVY], capture_output=True, text=True, cwd=ROOT, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == ""


PAGES_AFTER_LOADING = """
import os, sys, threading
os.environ["QT_QPA_PLATFORM"] = "offscreen"
from workbench.gui.app import application, settle
from workbench.gui.app import main_window
from workbench.gui.pages import PAGES
app = application()
window = main_window()
window.show()
settle(window, None)
while window.jobs.running or not all(page.module in sys.modules for page in PAGES):
    app.processEvents()
late = []
class Watch:
    def find_spec(self, name, path=None, target=None):
        # What a page computes in a job may load more of them there, where nobody waits.
        if threading.current_thread() is threading.main_thread() and name.startswith(("numpy", "polars", "workbench.")):
            late.append(name)
sys.meta_path.insert(0, Watch())
for name in list(window.rail.pages):
    window.show_page(name)
    app.processEvents()
while window.jobs.running:
    app.processEvents()
print(*late)
print("torch" in sys.modules)
window.close()
"""


def test_pages_find_their_libraries_loaded_by_a_job_and_torch_waits_for_a_training():
    done = subprocess.run(
        [sys.executable, "-c", PAGES_AFTER_LOADING], capture_output=True, text=True, cwd=ROOT, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["False"], done.stdout


def test_pages_out_of_sight_wait_with_another_table_until_they_are_shown(people, load, visit, monkeypatch):
    """All of them at once took a tenth of a second."""
    names = {f"page_{name}" for name in ("protect", "release", "generalise", "train", "utility")}
    for name in sorted(names):
        visit(people, name.removeprefix("page_"))
    people.show_page("data")
    noted, note = [], PageFrame.set_note
    monkeypatch.setattr(PageFrame, "set_note", lambda page, text: (noted.append(page.objectName()), note(page, text)))
    load(people, "sample:iris")
    assert not names & set(noted)
    for name in sorted(names):
        people.show_page(name.removeprefix("page_"))
        assert noted[-1] == name


def test_pages_wait_and_jobs_are_cancelled_replaced_told_of_and_logged(window, qtbot):
    # What shows a whole page takes the place of all that was put off.
    said, page = [], window.page
    first, last = (page.in_sight(partial(said.append, words)) for words in ("first", "last"))
    whole = page.in_sight(partial(said.append, "whole"), whole=True)
    window.show_page("help")
    for signal in (first, whole, whole, last):
        signal()
    assert said == []
    window.show_page("data")
    assert said == ["whole"]
    last()
    assert said == ["whole", "last"]

    # A newer job of the same kind replaces the older.
    results = []
    for number in (1, 2):
        window.jobs.start(Job("Preview", lambda emit, cancel, n=number: n), key="preview", on_result=results.append)
    qtbot.waitUntil(lambda: not window.jobs.running)
    assert results == [2]

    # A failing job is told of in one sentence.
    def fail(emit, cancel):
        raise InputError("the file went away", "people.csv", "open it again")

    banner = window.findChild(QLabel, "banner_text")
    for end in ("escape", "done"):
        window.jobs.start(Job("Saving", fail, about="nowhere/curve.pdf"))
        qtbot.waitUntil(banner.isVisible)
        assert banner.text() == "The file went away (people.csv); open it again."
        if end == "escape":
            qtbot.keyClick(window, Qt.Key.Key_Escape)
        else:  # under another name
            with qtbot.waitSignal(window.jobs.idle):
                window.jobs.start(Job("Saving", lambda emit, cancel: None, about="curve.pdf"))
        assert not banner.isVisible()

    # A bug in a job is logged without values.
    from workbench.paths import user_log

    def fault(emit, cancel):
        raise ValueError("secret 4711")

    window.jobs.start(Job("Faulty", fault))
    banner = window.findChild(QLabel, "banner_text")
    qtbot.waitUntil(banner.isVisible)
    assert "bug in the program" in banner.text()
    logged = (user_log() / "workbench.log").read_text("utf-8")
    assert "ValueError" in logged
    assert "4711" not in logged + banner.text()
    qtbot.keyClick(window, Qt.Key.Key_Escape)

    # A job can be cancelled from its line.
    def wait(emit, cancel):
        while not cancel.cancelled:
            pass
        cancel.check()

    handle = window.jobs.start(Job("Waiting", wait))
    qtbot.waitUntil(lambda: window.findChild(QPushButton, "job_cancel") is not None)
    cancel = window.findChild(QPushButton, "job_cancel")
    assert cancel.text() == "Cancel"
    with qtbot.waitSignal(handle.ended):
        qtbot.mouseClick(cancel, Qt.MouseButton.LeftButton)
        assert cancel.text() == "Cancelling…"
    assert cancel.text() == "Cancelled"

    # Closing during a job stops the job and then closes.
    def wait(emit, cancel):
        while not cancel.cancelled:
            pass
        cancel.check()

    handle = window.jobs.start(Job("Waiting", wait))
    window.close()
    qtbot.waitUntil(lambda: not window.isVisible())
    assert not handle.running


def test_every_page_has_a_name_of_its_own_and_a_help():
    folders = [file.parent.name for file in (ROOT / "workbench/gui/pages").glob("*/page.py")]
    assert sorted(page.name for page in PAGES) == sorted(folders)
    assert all(page.help and page.title for page in PAGES)


def test_every_room_is_reached_by_ctrl_and_its_number_and_every_tab_by_ctrl_and_page_keys(window, qtbot):
    seen = []
    for position, room in enumerate(ROOMS):
        qtbot.keyClick(window, Qt.Key(Qt.Key.Key_1 + position), Qt.KeyboardModifier.ControlModifier)
        assert window.rail.buttons[room.name].isChecked()
        first = window.page.objectName()
        while True:
            seen.append(window.page.objectName().removeprefix("page_"))
            assert window.rail.buttons[room.name].isChecked()
            qtbot.keyClick(window, Qt.Key.Key_PageDown, Qt.KeyboardModifier.ControlModifier)
            if window.page.objectName() == first:
                break
        if len(window.rail.tabs(seen[-1])) > 1:
            qtbot.keyClick(window, Qt.Key.Key_PageUp, Qt.KeyboardModifier.ControlModifier)
            assert window.page.objectName() == f"page_{seen[-1]}"
    tabs = [page.name for page in PAGES if not page.under]
    home = next(page for page in PAGES if page.home)  # shown while nothing is open, so that its room begins there
    before = [page.name for page in PAGES if page.room == home.room and not page.under]
    before = before[: before.index(home.name)]
    first = [page.name for page in PAGES if page.room == home.room and page.name not in before and not page.under]
    assert seen == [*first, *before, *(name for name in tabs if name not in (*first, *before))]


def test_a_way_to_release_is_chosen_at_the_head_of_its_settings_and_kept(people, press):
    press(people, "tab_rows")
    for way in ("synthetic", "statistics", "rows"):
        press(people, f"release_way_{way}")
        assert people.page.objectName() == "page_release"
        assert people.findChild(QAbstractButton, f"release_way_{way}").isChecked()
        assert people.findChild(QWidget, f"pane_{way}").isVisible()
        press(people, "tab_data")
        press(people, "rail_release")
        assert people.findChild(QWidget, f"pane_{way}").isVisible()
        assert people.rail.buttons["release"].isChecked()
    press(people, "release_way_model")
    press(people, "release_of_model_go")
    assert people.page.objectName() == "page_train"


def test_the_theme_changes_in_every_part_while_the_window_is_open_and_is_remembered(window, press):
    # The theme changes while the window is open.
    window.menus.actions["theme_dark"].trigger()
    assert window.session.theme == DARK
    assert QApplication.palette().window().color().name().upper() == DARK.window
    window.menus.actions["theme_light"].trigger()
    assert window.session.theme == LIGHT
    assert QApplication.palette().window().color().name().upper() == LIGHT.window

    # An example in an empty field and a link that is off have the colour of lesser words.
    off = button("a", "off", "link")
    off.setParent(window)
    off.setEnabled(False)
    for theme in (DARK, LIGHT):
        window.theme.set_mode(theme.name)
        press(window, "tab_help")
        field = window.page.findChild(QLineEdit, "help_search")
        assert field.palette().color(QPalette.ColorRole.PlaceholderText) == QColor(theme.muted)
        off.ensurePolished()
        assert off.palette().color(QPalette.ColorRole.ButtonText) == QColor(theme.muted)

    # Every line has an icon of its own in the ink of the theme.
    window.show_page("ledger")
    for mode in ("light", "dark"):
        window.theme.set_mode(mode)
        seen = {}
        for room in ROOMS:
            image = icon_of(window, room.name)
            ink = THEMES[mode].accent if room.name == "released" else THEMES[mode].text
            assert near(image, ink) >= 8, room.name
            seen[room.name] = bytes(image.constBits())
        assert len(set(seen.values())) == len(ROOMS)

    # The theme is remembered.
    window.menus.actions["theme_dark"].trigger()
    assert type(window.settings)().theme == "dark"


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)
def test_menus_questions_lists_and_tips_have_the_colours_of_the_window(window, people, press, qtbot, theme):
    """They are windows of their own, and the style sheet is the main window's."""
    window.menus.actions[f"theme_{theme.name}"].trigger()
    press(window, "tab_utility")
    combo = next(c for c in window.page.findChildren(QComboBox) if c.isVisible())
    menu, question = window.findChild(QMenu), Question(window, "Really?", "", {"yes": "Yes"}, "No")
    menu.popup(QPoint(20, 20))
    question.setModal(False)
    question.show()
    combo.showPopup()
    QToolTip.showText(window.mapToGlobal(QPoint(300, 300)), "A tip", window.page)
    qtbot.waitUntil(QToolTip.isVisible)
    tip = next(w for w in QApplication.topLevelWidgets() if w.metaObject().className() == "QTipLabel")
    shown = [(menu, theme.surface), (question, theme.window), (combo.view(), theme.surface), (tip, theme.surface)]
    for widget, colour in shown:
        image = widget.grab().toImage()
        assert image.pixelColor(image.width() - 4, 3).name() == QColor(colour).name(), widget
    QToolTip.hideText()
    combo.hidePopup()
    menu.close()
    question.close()
    qtbot.waitUntil(lambda: not QToolTip.isVisible())


def test_at_1280_by_800_nothing_asks_for_more_room(people):
    assert people.minimumSizeHint().width() <= 1280
    assert people.minimumSizeHint().height() <= 800


@pytest.mark.parametrize("work", ["Opening", "Releasing"])
def test_the_log_names_the_kind_of_work_and_no_file(
    window, at_release, qtbot, idle, press, answer, tmp_path, monkeypatch, work
):
    from workbench.paths import user_log

    threads, titles = [], []

    def fault(*given, **named):
        threads.append(threading.current_thread().name)
        raise ValueError

    window.jobs.started.connect(lambda handle: titles.append(handle.title))
    table = tmp_path / "divorces of 2024.csv"
    table.write_text("age\n" + "33\n34\n" * 9, "utf-8")
    if work == "Opening":
        monkeypatch.setattr(workbench.gui.project.open_table, "load", fault)
        window.open(str(table))
    else:
        window.open(str(table))
        idle(window)
        window.session.edit_column("age", "bounds of age", lower=0.0, upper=99.0)
        window.session.edit("confirm what was guessed", window.session.plan.confirmed())
        at_release()
        monkeypatch.setattr(workbench.release.release_path, "release_prepared", fault)
        answer("yes")
        press(window, "release_now")
    qtbot.waitUntil(window.findChild(QLabel, "banner_text").isVisible)
    assert f"{work} divorces of 2024.csv" in titles
    logged = (user_log() / "workbench.log").read_text("utf-8")
    assert f" {work}\n" in logged
    assert "divorces" not in logged + "".join(threads)


# -- The rail: an icon for each room in the ink of the theme, and dots that are explained -----------------------------


def icon_of(window, name: str) -> QImage:
    """What the rail draws before the title of a room."""
    line = window.rail.buttons[name]
    return line.grab(QRect(8, 0, 20, line.height())).toImage()


def near(image: QImage, ink: str) -> int:
    """How many pixels have the colour ``ink``, or nearly."""
    wanted = QColor(ink)
    return sum(
        all(abs(a - b) < 60 for a, b in zip(image.pixelColor(x, y).getRgb()[:3], wanted.getRgb()[:3], strict=True))
        for x in range(image.width())
        for y in range(image.height())
    )


def test_on_a_screen_of_its_size_the_window_leaves_room_for_its_title(window, monkeypatch):
    """The line at the bottom was below the screen: a window of 800 points is higher with its title."""
    screen = SimpleNamespace(availableGeometry=lambda: QRect(0, 0, 1280, 800))
    monkeypatch.setattr(type(window), "screen", lambda _window: screen)
    window._restore()
    title = window.style().pixelMetric(QStyle.PixelMetric.PM_TitleBarHeight)
    assert title > 0
    assert (window.width(), window.height() + title) == (1280, 800)


def test_the_pointer_is_told_what_the_dot_means(people):
    assert people.rail.buttons["data"].toolTip().endswith("\nFull dot: ready")
    assert people.rail.buttons["models"].toolTip().endswith("\nRing dot: nothing here yet")
    people.session.edit_column("age", "Lower bound of age", lower=None)
    assert people.rail.buttons["data"].toolTip().endswith("\nHalf dot: needs you")
    assert "dot" not in people.rail.buttons["tools"].toolTip(), "a tool has no state"


def test_an_icon_that_cannot_be_drawn_is_a_fault_of_its_page():
    from PySide6.QtCore import QRectF
    from PySide6.QtGui import QPainter

    from workbench.gui.shell.rail import draw_icon

    image = QImage(16, 16, QImage.Format.Format_ARGB32)
    with QPainter(image) as painter, pytest.raises(ValueError, match="not the path"):
        draw_icon(painter, '"/><broken', QColor("black"), QRectF(0, 0, 16, 16))


def test_memory_is_quieter_than_the_budget(people, qtbot):
    budget, memory = people.budget_gauge, people.memory_gauge
    figures = [people.findChild(type(memory._figure), name) for name in ("budget_figure", "memory_figure")]
    assert figures[0].font().pixelSize() > 1.5 * figures[1].font().pixelSize()
    assert budget.property("look") == "card"
    assert memory.property("look") == "quiet"


# -- What is loaded beside the window: nothing that makes types of Qt, which only the GUI thread may ------------------


LOADS = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
print(*(n for n in sys.modules if n.split(".")[0] in ("PySide6", "shiboken6", "torch")))
"""


def test_what_a_worker_imports_at_the_start_holds_nothing_of_qt():
    """A window was ended by the system, in one start of ten, while a worker imported a library that makes some."""
    done = subprocess.run([sys.executable, "-c", LOADS, *LATER], capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == ""


class InACycle:
    """Garbage that only the collector finds, which notes in which thread it is taken away."""

    def __init__(self, found: list[str]) -> None:
        self.found, self.cycle = found, self

    def __del__(self) -> None:
        self.found.append(threading.current_thread().name)


def test_garbage_is_looked_for_between_events_of_the_window_only(qtbot):
    found: list[str] = []
    many = 10 * gc.get_threshold()[0]
    host = QObject()
    Collector(host)
    worker = threading.Thread(target=lambda: [InACycle(found) for _ in range(many)] and None)
    worker.start()
    worker.join()
    assert found == []
    qtbot.waitUntil(lambda: len(found) == many)
    assert set(found) == {threading.main_thread().name}
    assert not gc.isenabled()
    host.deleteLater()
    QApplication.sendPostedEvents(host, QEvent.Type.DeferredDelete)
    assert gc.isenabled()
