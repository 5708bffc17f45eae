"""The fixture that looks for leaks: each kind is planted once and named by the place that planted it."""

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest
from leaks import Leaks, children
from PySide6.QtCore import QObject, QThread, QTimer
from PySide6.QtWidgets import QWidget

HERE = "tests/gui/test_leaks.py"
PLANTED = """
from PySide6.QtWidgets import QWidget

WINDOWS = []

def test_leaks(qapp):
    window = QWidget(objectName="planted")
    window.show()
    WINDOWS.append(window)

def test_clean():
    WINDOWS.pop().close()
"""


@pytest.fixture
def look(qapp, tmp_path):
    """A function that returns what is left since the test began."""
    temporary = Path(tempfile.gettempdir())
    leaks = Leaks(qapp, temporary, [tmp_path])
    return lambda: leaks.found(grace=0.0)


def line() -> int:
    return sys._getframe(1).f_lineno


def only(found: list[str], kind: str, number: int) -> None:
    (told,) = found
    assert told.startswith(kind)
    assert f"{HERE}:{number}" in told


def test_nothing_left_is_nothing_found(look):
    assert look() == []


def test_a_thread_is_named(look):
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait, name="planted")
    thread.start()
    number = line() - 1
    only(look(), "thread 'planted'", number)
    stop.set()
    thread.join()
    assert look() == []


def test_a_process_is_named(look):
    command = [sys.executable, "-c", "input()"]
    child = subprocess.Popen(command, stdin=subprocess.PIPE)
    number = line() - 1
    only(look(), f"process {child.pid}", number)
    child.communicate(b"\n")
    assert look() == []


@pytest.mark.parametrize("gone", [FileNotFoundError, ProcessLookupError])
def test_a_thread_that_ends_while_its_children_are_read_had_none(monkeypatch, gone):
    """The folder of a thread goes with it: it cannot be opened any more, or no longer be read."""

    def ended(path, *_):
        raise gone(path)

    monkeypatch.setattr(Path, "read_text", ended)
    assert children() == set()


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are not files here")
def test_children_are_counted_beside_threads_that_come_and_go():
    stop = threading.Event()

    def bustle():
        while not stop.is_set():
            brief = threading.Thread(target=int)
            brief.start()
            brief.join()

    bustling = [threading.Thread(target=bustle) for _ in range(4)]
    before = children()
    for thread in bustling:
        thread.start()
    try:
        assert all(children() == before for _ in range(1_000))
    finally:
        stop.set()
        for thread in bustling:
            thread.join()


def test_a_timer_is_named(look, qapp):
    owner = QObject(qapp)
    timer = QTimer(owner, interval=60_000)
    timer.start()
    number = line() - 1
    only(look(), "timer of QObject", number)
    timer.stop()
    owner.deleteLater()
    assert look() == []


def test_a_single_shot_is_named_until_it_fires_or_its_receiver_goes(look, qtbot):
    fired: list[int] = []
    receiver = QObject()
    QTimer.singleShot(0, lambda: fired.append(1))
    QTimer.singleShot(60_000, receiver, lambda: fired.append(2))
    number = line() - 1
    qtbot.waitUntil(lambda: fired == [1])
    only(look(), "single shot", number)
    receiver.deleteLater()
    assert look() == []


def test_a_qthread_is_named(look):
    thread = QThread()
    thread.start()
    number = line() - 1
    only(look(), "QThread", number)
    thread.quit()
    thread.wait()
    assert look() == []


def test_a_window_is_named(look, qapp):
    window = QWidget()
    window.setObjectName("planted")
    window.show()
    number = line() - 1
    only(look(), "window planted", number)
    window.close()
    assert look() == []


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_temporary_file_is_named(look, kind):
    if kind == "file":
        descriptor, path = tempfile.mkstemp()
        number = line() - 1
        os.close(descriptor)
    else:
        path = tempfile.mkdtemp()
        number = line() - 1
    only(look(), f"file {path}", number)
    os.unlink(path) if kind == "file" else os.rmdir(path)
    assert look() == []


def test_an_open_file_is_named(look, tmp_path):
    stream = (tmp_path / "open.csv").open("w")
    number = line() - 1
    if sys.platform.startswith("linux"):
        only(look(), f"open file {tmp_path}", number)
    stream.close()
    assert look() == []


def test_a_half_written_file_is_named(look, tmp_path):
    path = tmp_path / "out.csv.0123abcd.part"
    path.write_bytes(b"1")
    number = line() - 1
    only(look(), f"half-written {path}", number)
    path.unlink()
    assert look() == []


def test_a_leak_fails_the_test_that_made_it_and_no_other(tmp_path):
    """The fixture itself, at work on a test of its own in a process of its own."""
    here, gui = Path(__file__).parent, tmp_path / "gui"
    gui.mkdir()
    for name in ("conftest.py", "forked.py", "slow_tests.txt"):
        shutil.copy(here.parent / name, tmp_path)
    shutil.copy(here / "conftest.py", gui)
    (gui / "test_planted.py").write_text(PLANTED, "utf-8")
    paths = os.pathsep.join((str(here.parents[1]), str(here)))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--basetemp", str(tmp_path / "base")]
    command += ["--rootdir", str(tmp_path), str(gui)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, env={**os.environ, "PYTHONPATH": paths}, cwd=tmp_path
    )
    assert "left behind" in done.stdout, done.stdout + done.stderr
    assert "window planted, shown at" in done.stdout
    assert "2 passed, 1 error" in done.stdout


def test_looking_is_cheap(qapp, tmp_path):
    times = []
    for _ in range(20):
        begun = time.thread_time()  # of the processor: other programs may have it meanwhile
        assert Leaks(qapp, Path(tempfile.gettempdir()), [tmp_path]).found() == []
        times.append(time.thread_time() - begun)
    assert sorted(times)[len(times) // 2] < 0.1  # about a millisecond
