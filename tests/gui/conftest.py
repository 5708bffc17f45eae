"""Fixtures of the window's tests: a real window without a screen, real clicks and keys, nothing left behind."""

import os

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import functools
import gc
import tempfile
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("PySide6.QtWidgets", reason="the window needs Qt and the libraries it draws with")

from hands import Hands, choose_model, go_to, show, when_asked
from leaks import Leaks
from mishaps import PATIENCE, Standstill, retype, statuses
from PySide6.QtCore import QEvent, QEventLoop, Qt, QTimer
from PySide6.QtWidgets import QAbstractButton, QApplication, QFileDialog, QWidget
from pytestqt.qtbot import QtBot
from survey import write_survey

from workbench import learners
from workbench.data import table_reader
from workbench.data.columns import profile
from workbench.data.samples import sample_tables
from workbench.data.table import Table
from workbench.gui.app import application, main_window
from workbench.gui.pages import way_marks as marks
from workbench.gui.pages.protect.share_model import evenly
from workbench.gui.pages.train import page as train_page
from workbench.gui.project import open_table as opening
from workbench.gui.session import job_center
from workbench.gui.session.draft import DraftPlan
from workbench.gui.shell import main_window as shell
from workbench.gui.shell.main_window import MainWindow
from workbench.gui.style.theme import base_font
from workbench.gui.widgets import private_figures
from workbench.gui.widgets.dialogs import Question
from workbench.jobs.runner import Mailbox
from workbench.release import release_path as export
from workbench.release.ledger import file as ledger_file
from workbench.render import fonts
from workbench.signals.cancel import NEVER, CancelToken
from workbench.signals.events import Emit, ignore

LOOK_MS = 2
"""Milliseconds between two looks at what is waited for, and at what a job has said."""


def came_true(condition: Callable[[], object], *, late: bool) -> bool:
    """Return whether a condition holds, which says so by its result or asserts it; a failure where it is too late."""
    try:
        held = condition() is not False
    except AssertionError:
        if late:
            raise
        return False
    assert held or not late, "what was waited for has not come true"
    return held


class PatientBot(QtBot):
    """A robot that waits for what must come true as long as a busy machine may need, and not 10 ms longer."""

    def waitUntil(self, callback: Callable[[], object], *, timeout: int = PATIENCE) -> None:  # noqa: N802 - its name
        deadline = time.monotonic() + timeout / 1000
        loop, look = QEventLoop(), QTimer(interval=LOOK_MS)
        look.timeout.connect(loop.quit)
        look.start()
        while not came_true(callback, late=time.monotonic() > deadline):
            loop.exec()
        look.stop()

    def waitSignal(self, signal: Any, *, timeout: int = PATIENCE, **more: Any) -> Any:  # noqa: N802 - its name
        return super().waitSignal(signal, timeout=timeout, **more)

    def waitExposed(self, widget: QWidget, *, timeout: int = PATIENCE) -> Any:  # noqa: N802 - its name
        return super().waitExposed(widget, timeout=timeout)


@pytest.fixture
def qtbot(qapp, request):
    """The robot of pytest-qt, with more patience."""
    return PatientBot(request)


@pytest.fixture(scope="session")
def qapp():
    """The application in the project's style, once for all tests."""
    return application()


@pytest.fixture(autouse=True)
def garbage_is_collected_between_tests():
    """As in the program, whose Collector looks between two events: a look while Qt lists widgets may delete some."""
    gc.disable()
    yield
    gc.enable()


_READ, _LOOK = functools.cache(sample_tables.sample_table), profile.profile
_SEEN: weakref.WeakKeyDictionary[Table, Any] = weakref.WeakKeyDictionary()


def _looked_at(table: Table, *, cancel: CancelToken = NEVER, emit: Emit = ignore) -> Any:
    if table not in _SEEN:
        _SEEN[table] = _LOOK(table, cancel=cancel, emit=emit)
    return _SEEN[table]


@pytest.fixture(autouse=True)
def samples_are_read_once(monkeypatch):
    """Let the bundled tables, what is seen in their columns and their marks in a ledger be computed once.

    Nearly every test opens one; that took a quarter of the time of these tests. What is given is what is computed.
    """
    monkeypatch.setattr(sample_tables, "sample_table", _READ)
    monkeypatch.setattr(profile, "profile", _looked_at)
    # One key for all ledgers, so that a table has the same marks in each.
    monkeypatch.setattr(ledger_file, "secrets", SimpleNamespace(token_bytes=lambda size: bytes(range(size))))


_COMPARE = marks._compared
_COMPARED: dict[tuple[object, ...], Any] = {}


def _compared(draft: DraftPlan, rows: int, cancel: CancelToken, *, fine: bool) -> Any:
    key = draft, rows, fine, tuple(kind.name for kind in learners.LEARNERS)
    if key not in _COMPARED:
        _COMPARED[key] = _COMPARE(draft, rows, cancel, fine=fine)
    cancel.check()
    return _COMPARED[key]


@pytest.fixture(autouse=True)
def ways_are_compared_once(monkeypatch):
    """Let what follows from a plan alone be computed once: the way to the Release room's pages leads past eight of it.

    The window keeps it by the same key while a table is open.
    """
    monkeypatch.setattr(marks, "_compared", _compared)


@pytest.fixture(autouse=True)
def figures_are_agreed_to(monkeypatch):
    """The person has agreed to see private figures of every table; ``test_first_figures`` asks her."""
    monkeypatch.setattr(private_figures, "is_first", lambda session: False)


@pytest.fixture(autouse=True)
def the_tour_is_known(monkeypatch):
    """No window of a test is the first one; ``test_help_and_closing`` takes the tour."""
    monkeypatch.setattr(shell, "FIRST_TOUR", False)


@pytest.fixture(autouse=True)
def text_has_its_usual_size(qapp):
    """The size of text is the process's: a test that changes it changes no other."""
    yield
    if fonts.scaled(100) != 100:
        fonts.set_scale(1.0)
        qapp.setFont(base_font())


@pytest.fixture(autouse=True)
def jobs_are_heard_soon(monkeypatch):
    """Let the window look at jobs more often, and at a form sooner, as nearly every test waits for several."""
    monkeypatch.setattr(job_center, "QUICK_MS", LOOK_MS)
    monkeypatch.setattr(job_center, "POLL_MS", 4 * LOOK_MS)
    monkeypatch.setattr(train_page, "WAIT_MS", 10 * LOOK_MS)


@pytest.fixture(scope="session")
def own_temporary_folder(tmp_path_factory):
    """A temporary folder of this run alone, so that what is in it was left by its tests."""
    folder = tmp_path_factory.mktemp("temporary")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(folder))  # for child processes
        patch.setattr(tempfile, "tempdir", str(folder))
        yield folder


@pytest.fixture(autouse=True)
def nothing_left_behind(qapp, own_temporary_folder, tmp_path, user_folders):
    """Fail a test that leaves anything behind, and name the place where it was started."""
    leaks = Leaks(qapp, own_temporary_folder, [tmp_path, Path(os.environ["HOME"])])
    yield
    left = leaks.found()
    if left:  # a widget that waits for Python's collector is no leak
        gc.collect()
        left = leaks.found()
    assert not left, "left behind:\n" + "\n".join(left)


@pytest.fixture
def window(qtbot):
    """A shown main window of 1280 by 800; at the end its jobs are stopped and it is closed."""
    made = main_window()
    made.show()
    qtbot.waitExposed(made)
    yield made
    made.jobs.shut_down()
    made.session.may_leave = lambda then: True  # what a test has changed is not to be saved
    made.close()
    made.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


@pytest.fixture
def press(qtbot):
    """A click of the left button in the middle of the visible widget of that name; of a model, its choice."""

    def press(within: QWidget, name: str) -> None:
        if name.startswith("train_model_"):
            choose_model(within, name.removeprefix("train_model_"))
            return
        if name.startswith("tab_"):
            shell = within.window()
            assert isinstance(shell, MainWindow)
            go_to(shell, name.removeprefix("tab_"))
            return
        widget = within.findChild(QWidget, name)
        assert widget is not None, f"there is no {name}"
        assert widget.isVisible(), f"{name} is not visible"
        assert widget.isEnabled(), f"{name} is not enabled"
        qtbot.mouseClick(widget, Qt.MouseButton.LeftButton)

    return press


@pytest.fixture
def idle(qtbot):
    def idle(window: MainWindow) -> None:
        qtbot.waitUntil(lambda: not window.jobs.running)

    return idle


@pytest.fixture
def finish(press, idle):
    """Click, and wait until what that started is finished."""

    def finish(window: MainWindow, name: str) -> None:
        press(window, name)
        idle(window)

    return finish


@pytest.fixture
def load(idle):
    """Open a table or a project, and wait until it is open."""

    def load(window: MainWindow, source: object) -> None:
        window.open(str(source))
        idle(window)

    return load


@pytest.fixture
def visit(idle):
    """Show a page without a click, and wait until it is complete."""

    def visit(window: MainWindow, page: str) -> None:
        window.show_page(page)
        idle(window)

    return visit


@pytest.fixture
def people(window, press, finish, monkeypatch):
    """A window with the columns of the people sample, opened by clicks; planned as one's own table: evenly, ε = 1.

    It stays on Data: to make the page of the questions takes a quarter of the time, and their own tests go there.
    """
    monkeypatch.setattr(opening, "with_first_plan", lambda plan, described: evenly(plan))
    with monkeypatch.context() as opened:
        opened.setattr(window.session, "go", lambda page: None)
        finish(window, "sample_people")
    assert window.session.opened is not None
    press(window, "tab_data")
    return window


@pytest.fixture
def iris(window, finish):
    """A window with the iris sample."""
    finish(window, "sample_iris")
    return window


@pytest.fixture
def project(tmp_path, monkeypatch):
    """The file of a project that the system's chooser, which a test cannot drive, gives."""
    path = tmp_path / "town.workbench.toml"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(path), ""))
    return path


@pytest.fixture
def standstill(monkeypatch):
    """Every job stands still where it next looks whether it is to stop; see :class:`mishaps.Standstill`."""
    held = Standstill()
    check, put = CancelToken.check, Mailbox.put
    monkeypatch.setattr(CancelToken, "check", lambda token: (held.on_check(token), check(token))[1])
    monkeypatch.setattr(Mailbox, "put", lambda box, event: (put(box, event), held.on_event(event))[0])
    yield held
    held.go_on()


@pytest.fixture
def answer(qtbot):
    """Press the button of that name in the question that comes next; the texts of the questions are kept."""
    told: list[str] = []

    def answer(name: str) -> list[str]:
        def click(box: Question) -> None:
            told.append(f"{box.text()}\n{box.words()}".replace("\u00a0", " "))
            qtbot.mouseClick(box.findChild(QAbstractButton, f"confirm_{name}"), Qt.MouseButton.LeftButton)

        when_asked(click)
        return told

    return answer


@pytest.fixture
def at_release(window, idle, qtbot):
    """Show what is released as rows, and name the file where one is given."""

    def at_release(target: object = None) -> None:
        show(window, "rows")
        idle(window)
        if target is not None:
            retype(window, qtbot, "release_target", target)

    return at_release


@pytest.fixture
def release(window, press, idle, answer, qtbot):
    """Press Release, answer the question and wait for the end; return what was asked."""

    def release(name: str = "yes") -> list[str]:
        told = answer(name)
        before = len(told)
        press(window, "release_now")
        qtbot.waitUntil(lambda: len(told) > before)
        idle(window)
        return told

    return release


@pytest.fixture
def releasing(people, press, at_release, answer, qtbot, tmp_path, monkeypatch):
    """A window whose release has drawn and waits for its turn to name its files; closing the stack is its turn."""
    target = tmp_path / "out" / "released.csv"
    target.parent.mkdir()
    at_release(target)
    with ExitStack() as turn:
        its_turn, publish = threading.Event(), export.publish_draw

        def wait_and_publish(*given: Any) -> None:
            its_turn.wait()
            publish(*given)

        monkeypatch.setattr(export, "publish_draw", wait_and_publish)
        turn.callback(its_turn.set)
        answer("yes")
        press(people, "release_now")

        def certified() -> bool:
            """Whether the release has looked for a cancel for the last time."""
            said = [job.latest for job in people.jobs.running if job.title.startswith("Releasing")]
            return any(progress is not None and progress.label == "certified" for progress in said)

        qtbot.waitUntil(certified)
        assert any(p.stat().st_size for p in target.parent.glob("*.part"))
        assert statuses() == ["charged"]
        yield people, target, turn


@pytest.fixture
def hands(window, qtbot):
    window.activateWindow()
    return Hands(window, qtbot)


@pytest.fixture(scope="session")
def survey_table(tmp_path_factory):
    return table_reader.read_table(write_survey(tmp_path_factory.mktemp("survey") / "survey.csv"))


@pytest.fixture
def survey(hands, survey_table, monkeypatch):
    """Hands at a window in which a survey of 60 columns was dropped, read and marked once for all tests."""
    with monkeypatch.context() as known:
        known.setattr(table_reader, "read_table", lambda *given, **more: survey_table)
        hands.drop(Path(survey_table.source))
    return hands


@pytest.fixture
def listed(people, at_release, release, finish, idle, qtbot, tmp_path):
    """The page after a release of noisy rows by clicks."""
    at_release(tmp_path / "released.csv")
    release()
    qtbot.waitUntil(lambda: statuses() == ["charged"])
    idle(people)
    finish(people, "tab_released")
    return people


@pytest.fixture
def trained(hands, tmp_path):
    """A window in which a model of the sample of irises was released by clicks."""
    hands.finish("sample_iris")
    hands.click("tab_train")
    hands.type_into("train_folder", str(tmp_path / "model"))
    hands.until(lambda: hands.window.page.primary.isEnabled())
    hands.answer("yes")
    hands.click("train_start")
    hands.until(lambda: bool(hands.window.session.released))
    hands.idle()
    return hands
