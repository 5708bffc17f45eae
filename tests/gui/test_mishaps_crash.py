"""A window that is killed: the plan is offered back once, and what was being released is charged once."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from mishaps import retype
from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QLabel, QWidget

from workbench.gui.app import main_window, settle
from workbench.gui.project import autosave
from workbench.paths import user_data, user_state
from workbench.release.ledger.ledger import Ledger
from workbench.render.palette import DARK, LIGHT

ROOT = Path(__file__).resolve().parents[2]
DIES = """
import sys
import time
from decimal import Decimal
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QAbstractButton, QApplication, QLineEdit
from workbench.gui.app import application, settle
from workbench.gui.app import main_window
from workbench.gui.project import autosave
from workbench.gui.shell.main_window import MainWindow
from workbench.paths import user_state
from workbench.release import release_path as export

autosave.REST_MS = 20
app = application()
window = main_window()
window.show()
settle(window, sys.argv[1])

def wait(condition, then):
    if condition():
        then()
    else:
        QTimer.singleShot(20, lambda: wait(condition, then))

def edit():
    window.session.edit_column("age", "bounds of age", lower=0.0, upper=120.0)
    window.session.edit_column("town", "towns", domain=("a", "b"))
    window.session.edit("confirm what was guessed", window.session.plan.confirmed())
    window.session.set_epsilon(Decimal("0.7"))
    wait(lambda: list(user_state().glob("unsaved/*.toml")) and not window.jobs.running, edited)

def edited():
    if len(sys.argv) < 3:
        print("kept", flush=True)
        return
    window.session.choose_way("rows")
    window.show_page("release")
    window.findChild(QLineEdit, "release_target").setText(sys.argv[2])
    wait(lambda: not window.jobs.running, press)

def press():
    window.findChild(QAbstractButton, "release_now").click()

def agree():
    box = QApplication.activeModalWidget()
    if box is not None:
        box.findChild(QAbstractButton, "confirm_yes").click()
        print("releasing", flush=True)

def never(*given):
    time.sleep(600)

export.publish_draw = never
question = QTimer()
question.timeout.connect(agree)
question.start(20)
wait(lambda: window.session.opened is not None and window.session.account.dataset, edit)
app.exec()
"""


@pytest.fixture(autouse=True)
def what_is_not_saved_is_kept_soon(monkeypatch):
    monkeypatch.setattr(autosave, "REST_MS", 20)


@pytest.fixture
def town(tmp_path):
    path = tmp_path / "town.csv"
    path.write_text("age,town\n" + "".join(f"{20 + i % 40},{'ab'[i % 2]}\n" for i in range(400)), "utf-8")
    return path


@pytest.fixture
def retype_target(window, qtbot):
    return lambda path: retype(window, qtbot, "release_target", path)


def killed(*arguments: object, word: str, when=lambda: True, qtbot=None) -> None:
    """Start a window, wait until it says ``word`` and ``when`` holds, and kill it as a power cut would."""
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(
            [sys.executable, "-X", "faulthandler", "-c", DIES, *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
            cwd=ROOT,
        )
        try:
            assert process.stdout is not None
            told = process.stdout.readline().strip()
            said.seek(0)
            assert told == word, f"the window ended with {process.poll()} and said: {said.read()}"
            qtbot.waitUntil(when)
        finally:
            process.send_signal(signal.SIGKILL)
            process.communicate()


def offer(window, idle) -> str | None:
    settle_and_wait(window, idle)
    panel = window.findChild(QWidget, "restore_panel")
    return window.findChild(QLabel, "restore_text").text() if panel.isVisible() else None


def settle_and_wait(window, idle) -> None:
    settle(window, None)
    idle(window)


def kept() -> list[Path]:
    return list(user_state().glob("unsaved/*"))


def test_an_edited_plan_is_offered_once_after_a_kill_and_comes_back(window, town, qtbot, finish, idle):
    killed(town, word="kept", qtbot=qtbot)
    assert "20" not in [line.split("=")[-1].strip() for line in kept()[0].read_text("utf-8").splitlines()]
    told = offer(window, idle)
    assert "ended unexpectedly" in told
    assert "town.csv" in told
    finish(window, "restore_take")
    assert window.session.plan.column("age").upper == 120
    assert str(window.session.plan.epsilon) == "0.7"
    assert window.project.unsaved
    assert not window.findChild(QWidget, "restore_panel").isVisible()
    window.autosave.finish()
    again = main_window()
    settle_and_wait(again, idle)
    assert not again.restore_panel.isVisibleTo(again)
    again.close()
    again.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def test_an_offer_that_is_discarded_is_gone(window, town, qtbot, press, idle):
    killed(town, word="kept", qtbot=qtbot)
    assert offer(window, idle)
    press(window, "restore_discard")
    assert kept() == []
    assert window.session.opened is None


def test_an_offer_whose_table_is_gone_says_so_and_stays(window, town, qtbot, finish, idle):
    killed(town, word="kept", qtbot=qtbot)
    town.unlink()
    assert offer(window, idle)
    finish(window, "restore_take")
    told = window.findChild(QLabel, "missing_text")
    assert told.isVisible()
    assert "town.csv" in told.text()
    assert window.findChild(QWidget, "restore_panel").isVisible()
    assert len(kept()) == 1


def test_a_kill_in_a_release_charges_once_and_the_finished_draw_is_published_for_free(
    window, at_release, town, tmp_path, qtbot, idle, press, answer, retype_target
):
    target = tmp_path / "out" / "released.csv"
    target.parent.mkdir()

    def waits() -> bool:
        if not (user_data() / "ledger.sqlite").exists():
            return False
        with Ledger.open() as book:
            # The file beside the ledger's mark, half-written, would go with the ledger's next entry; none follows here.
            return bool(book.finished()) and not list((user_state() / "ledger-heads").glob("*.part"))

    killed(town, target, word="releasing", when=waits, qtbot=qtbot)
    assert offer(window, idle)
    with Ledger.open() as book:
        assert [(r.status, str(r.epsilon)) for r in book.releases()] == [("charged", "0.7")]
    (part,) = target.parent.iterdir()
    finished = part.read_bytes()
    press(window, "restore_take")
    idle(window)
    at_release()
    retype_target(target)
    told = answer("yes")
    press(window, "release_now")
    # The question comes a moment after the job that looked has ended.
    qtbot.waitUntil(target.exists)
    idle(window)
    assert "is paid for, and is not yet saved" in told[0]
    assert target.read_bytes() == finished
    with Ledger.open() as book:
        assert [r.status for r in book.releases()] == ["charged"]


def test_unsaved_work_is_kept_without_a_value_and_goes_with_undo(people, qtbot):
    people.session.edit_column("age", "bounds of age", upper=99.0)
    qtbot.waitUntil(lambda: len(kept()) == 1)
    assert "99" in kept()[0].read_text("utf-8")
    assert os.stat(kept()[0].parent).st_mode & 0o077 == 0
    qtbot.keyClick(people, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: kept() == [])


def test_a_clean_end_leaves_nothing_to_offer(people, qtbot):
    people.session.edit_column("age", "bounds of age", upper=99.0)
    qtbot.waitUntil(lambda: len(kept()) == 1)
    people.session.may_leave = lambda then: True
    people.close()
    assert kept() == []


def test_unsaved_work_that_cannot_be_kept_is_told_of_once(people, qtbot, idle):
    user_state().mkdir(parents=True, exist_ok=True)
    (user_state() / "unsaved").write_text("a file in the folder's place")
    banner = people.findChild(QLabel, "banner_text")
    people.session.edit_column("age", "bounds of age", upper=99.0)
    qtbot.waitUntil(banner.isVisible)
    assert "not kept against a crash; save the project" in banner.text()
    people.escape()
    people.session.edit_column("age", "bounds of age", upper=98.0)
    with qtbot.waitSignal(people.jobs.idle):
        pass
    assert not banner.isVisible()


def test_damaged_unsaved_work_is_told_of_once(window, town, qtbot, idle):
    killed(town, word="kept", qtbot=qtbot)
    kept()[0].write_text("x = ", "utf-8")
    assert offer(window, idle) is None
    assert "unsaved work of an earlier window is damaged" in window.findChild(QLabel, "banner_text").text()
    window.escape()
    window.restore_panel.look_back()
    idle(window)
    assert not window.findChild(QLabel, "banner_text").isVisible()


def test_a_start_without_a_past_makes_no_ledger_and_says_nothing(window, idle):
    settle_and_wait(window, idle)
    assert not (user_data() / "ledger.sqlite").exists()
    assert not window.findChild(QLabel, "banner_text").isVisible()
    assert not window.restore_panel.isVisible()


class SystemColours(QObject):
    """The system's wish for light or dark, which a platform without a screen does not have."""

    colorSchemeChanged = Signal(Qt.ColorScheme)  # noqa: N815 - Qt's name

    def __init__(self) -> None:
        super().__init__()
        self.scheme = Qt.ColorScheme.Light

    def colorScheme(self) -> Qt.ColorScheme:  # noqa: N802 - Qt's name
        return self.scheme

    def become(self, scheme: Qt.ColorScheme) -> None:
        self.scheme = scheme
        self.colorSchemeChanged.emit(scheme)


def test_the_colours_follow_the_system_while_the_window_runs(qapp, qtbot, monkeypatch):
    system = SystemColours()
    monkeypatch.setattr(QGuiApplication, "styleHints", lambda *_: system)
    window = main_window()
    qtbot.addWidget(window)
    assert window.session.theme == LIGHT
    for scheme, theme in ((Qt.ColorScheme.Dark, DARK), (Qt.ColorScheme.Light, LIGHT), (Qt.ColorScheme.Dark, DARK)):
        system.become(scheme)
        assert window.session.theme == theme
        assert qapp.palette().window().color().name().upper() == theme.window
    window.menus.actions["theme_light"].trigger()
    assert window.session.theme == LIGHT
    system.become(Qt.ColorScheme.Light)
    system.become(Qt.ColorScheme.Dark)
    assert window.session.theme == LIGHT
    window.menus.actions["theme_system"].trigger()
    assert window.session.theme == DARK
    window.menus.actions["theme_light"].trigger()
