"""Work that raises: one sentence in the banner, the trace in the log without a value, and the window goes on."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from mishaps import Heard, banner, retype, statuses
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication, QLabel

from workbench.data import isolated_reader
from workbench.gui.app import main_window
from workbench.gui.pages import PAGES
from workbench.gui.pages.base import Page, PageFrame
from workbench.gui.pages.release_tasks import BeforeRelease, look_before_release, release_plan
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.shell.main_window import MainWindow
from workbench.jobs import Job
from workbench.paths import user_log

ROOT = Path(__file__).resolve().parents[2]
SECRET = "Ada Lovelace, 36"


def logged() -> str:
    path = user_log() / "workbench.log"
    return path.read_text("utf-8") if path.exists() else ""


class FaultyPage(PageFrame):
    """A page whose worker has a bug and holds values of a row when it meets it."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__(session, jobs, FAULTY)
        self.set_primary("Go", "faulty_go", lambda: jobs.start(Job("Working on it", self._work)))

    def _work(self, emit, cancel) -> None:
        row = {"name": SECRET}
        raise KeyError(f"no such person: {row['name']}")


FAULTY = Page(name="faulty", title="Faulty", room="tools", help="A page with a bug", make=f"{__name__}:FaultyPage")


@pytest.fixture
def faulty(qtbot):
    made = MainWindow((*PAGES, FAULTY))
    made.show()
    qtbot.waitExposed(made)
    made.show_page("faulty")
    yield made
    made.close()
    made.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def test_a_bug_in_a_worker_is_one_sentence_each_time_and_a_trace_without_values(faulty, finish, load):
    # Each bug is told of once.
    heard = Heard(faulty)
    for number in (1, 2):
        finish(faulty, "faulty_go")
        assert len(heard.lines) == number
    assert logged().count("Working on it") == 2

    # A bug in a worker is one sentence and a trace without values.
    heard = Heard(faulty)
    finish(faulty, "faulty_go")
    assert heard.one() == "A bug in the program (KeyError); its trace is in the log."
    assert "KeyError" in logged()
    assert "test_mishaps_faults.py" in logged()
    assert "Lovelace" not in logged() + banner(faulty)
    load(faulty, "sample:iris")
    assert faulty.session.opened.title == "iris"


IN_THE_WINDOW = """
import sys
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QLabel
from workbench.gui import app
from workbench.gui.app import main_window
from workbench.gui.shell.main_window import MainWindow

def bug():
    name = "Ada Lovelace, 36"
    raise ValueError(name)

def look():
    text = window.findChild(QLabel, "banner_text").text()
    print(text, window.isVisible(), flush=True)
    window.close()

application = app.application()
window = main_window()
window.show()
app.report_faults(window)
QTimer.singleShot(0, bug)
QTimer.singleShot(200, look)
sys.exit(application.exec())
"""


def test_a_bug_in_the_window_itself_is_told_of_and_it_goes_on():
    done = subprocess.run(
        [sys.executable, "-c", IN_THE_WINDOW],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "A bug in the program (ValueError); its trace is in the log. True"
    assert "ValueError" in logged()
    assert "Lovelace" not in logged() + done.stdout + done.stderr


def test_a_file_that_cannot_be_read_is_one_sentence(people, tmp_path, load):
    path, heard = tmp_path / "big.csv", Heard(people)
    for content, words in (
        (None, "there is no such file"),
        (b"", "the file is empty"),
        (b"a,b\n1,2\n3\n", "line 3"),
        (b"\x89PNG\r\n\x1a\n" + bytes(300), "big.csv"),
        (b"a,b\n", "no rows"),
    ):
        if content is not None:
            path.write_bytes(content)
        load(people, path)
        assert words in heard.one().lower()
        assert people.session.opened.title == "people"
        assert logged() == ""


@pytest.fixture
def full_disk(tmp_path):
    """A folder on a file system of one page, where a system lets a test make one."""
    folder = tmp_path / "full"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("this system lets nobody make a small file system")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_is_one_sentence_and_costs_nothing(people, full_disk, idle, release, qtbot):
    fails_at(people, full_disk / "released.csv", idle, release, qtbot)
    assert list(full_disk.iterdir()) == []


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="the system has no folder that takes no files")
def test_an_output_in_a_folder_that_takes_no_files_is_one_sentence(people, idle, release, qtbot):
    """As /proc: nobody, whatever their rights, can make a file there."""
    fails_at(people, Path("/proc/released.csv"), idle, release, qtbot, "cannot be written|does not exist")


def fails_at(window, target, idle, release, qtbot, words="the disk is too full") -> None:
    window.session.choose_way("rows")
    window.show_page("release")
    idle(window)
    retype(window, qtbot, "release_target", target)
    heard = Heard(window)
    release()
    assert any(word in heard.one().lower() for word in words.split("|"))
    assert set(statuses()) <= {"void"}
    assert window.session.released == ()
    assert window.page.primary.isEnabled()
    assert logged() == ""


def test_two_windows_share_one_ledger_and_neither_overspends(people, press, idle, answer, qtbot, tmp_path):
    """The second window learns at the door what the first has spent since it looked."""
    other = main_window()
    other.show()
    qtbot.waitExposed(other)
    other.open("sample:people")
    idle(other)
    for window, name in ((people, "one.csv"), (other, "two.csv")):
        window.session.choose_way("rows")
        window.show_page("release")
        idle(window)
        retype(window, qtbot, "release_target", tmp_path / name)
    answer("yes")
    press(people, "release_now")
    qtbot.waitUntil(lambda: len(people.session.released) == 1)
    idle(people)
    other.session.edit_column("age", "bounds of age", upper=119.0)  # another plan, the same table
    idle(other)
    press(other, "release_now")
    refusal = other.findChild(QLabel, "release_refusal")
    qtbot.waitUntil(refusal.isVisible)
    assert not (tmp_path / "two.csv").exists()
    assert statuses() == ["charged"]
    assert "costs ε = 1 but nothing is left" in refusal.text()
    assert other.isVisible()
    assert people.isVisible()
    other.session.may_leave = lambda then: True
    other.close()
    other.deleteLater()


def test_two_windows_that_release_at_once_are_charged_one_after_the_other(people, press, idle, answer, qtbot, tmp_path):
    other = main_window()
    other.show()
    other.open("sample:people")
    idle(other)
    failures: list[BaseException] = []
    looks: list[BeforeRelease] = []
    for window, name in ((people, "one.csv"), (other, "two.csv")):
        look_before_release(window.session, window.jobs, tmp_path / name, looks.append)
        idle(window)
    for window, look in zip((people, other), looks, strict=True):
        release_plan(window.session, window.jobs, look, failures.append)
    idle(people)
    idle(other)
    assert sorted(statuses()) == ["charged", "refused"]
    (refused,) = failures
    assert "nothing is left" in str(refused)
    assert len(list(tmp_path.glob("*.csv"))) == 1
    assert len(people.session.released) + len(other.session.released) == 1
    other.close()
    other.deleteLater()


def test_a_damaged_parquet_file_is_one_sentence_and_the_window_lives(people, tmp_path, load, monkeypatch):
    """The library that reads such files may end its process, as it does for some flipped bits: here always."""
    path, healthy = tmp_path / "damaged.parquet", tmp_path / "healthy.parquet"
    pl.DataFrame({"age": [1, 2, 3]}).write_parquet(healthy)
    path.write_bytes(healthy.read_bytes())
    (tmp_path / "dying_reader.py").write_text("import os; os.write(2, b'Lovelace'); os.abort()", "utf-8")
    heard = Heard(people)
    with monkeypatch.context() as patch:
        patch.setenv("PYTHONPATH", str(tmp_path))
        patch.setattr(isolated_reader, "_MODULE", "dying_reader")
        load(people, path)
    told = heard.one()
    assert "Parquet file is damaged, or reading it needs more than" in told
    assert "Lovelace" not in told + logged()
    assert people.session.opened.title == "people"
    for cut in (len(path.read_bytes()) // 2, 20):
        path.write_bytes(healthy.read_bytes()[:cut])
        load(people, path)
        assert "not a Parquet file, or it is damaged" in heard.one()
    load(people, healthy)
    assert people.session.opened.title == "healthy.parquet"
    assert people.session.opened.table.rows == 3
