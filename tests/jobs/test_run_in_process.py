"""Work in a process of its own: its events, its result, its errors, its end in every way."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import isolated_work
import psutil
import pytest

from workbench.params import BudgetRefusedError, CancelledError, WorkbenchError
from workbench.processes.isolated_process import run_in_process
from workbench.processes.worker import WorkerFaultError
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Memory, Progress, ignore

pytestmark = pytest.mark.usefixtures("spawned")

HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def no_process_left():
    before = set(psutil.Process().children(recursive=True))
    yield
    left = [
        p for p in psutil.Process().children(recursive=True) if p not in before and "resource_tracker" not in cmd(p)
    ]
    assert not left


def cmd(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return ""


def test_the_result_and_the_events_come_back_from_another_process():
    events = []
    pid, value = run_in_process(isolated_work.double, 21, events.append, CancelToken())
    assert value == 42
    assert pid != os.getpid()
    assert events[0] == Progress(1, 2, "half")
    assert not psutil.pid_exists(pid)


def test_its_memory_is_told_together_with_ours():
    events = []
    run_in_process(isolated_work.double, 1, events.append, CancelToken())
    (memory,) = [e for e in events if isinstance(e, Memory)]
    ours = memory.now - 10
    assert ours > 10_000_000
    assert (memory.peak, memory.before) == (ours + 20, ours + 5)


def test_an_error_for_the_person_comes_back_as_it_is():
    with pytest.raises(BudgetRefusedError, match="the cap is 1") as caught:
        run_in_process(isolated_work.refused, None, ignore, CancelToken())
    assert (caught.value.where, caught.value.hint) == ("dataset x", "raise it")


def test_a_fault_brings_its_place_and_no_value():
    with pytest.raises(WorkerFaultError) as caught:
        run_in_process(isolated_work.faulty, "4711", ignore, CancelToken())
    assert "isolated_work.py" in caught.value.trace
    assert "ValueError" in caught.value.trace
    assert "4711" not in caught.value.trace + str(caught.value)


def test_a_lack_of_memory_is_one_here_too():
    with pytest.raises(MemoryError) as caught:
        run_in_process(isolated_work.short_of_memory, "4711", ignore, CancelToken())
    assert "4711" not in str(caught.value)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_process_that_is_killed_is_one_sentence():
    with pytest.raises(WorkbenchError, match=r"has ended \(exit code -9\); the system may be short of memory"):
        run_in_process(isolated_work.killed, None, ignore, CancelToken())


def test_a_stop_reaches_it_and_it_settles_first(tmp_path):
    token, seen = CancelToken(), []

    def hear(event):
        seen.append(event)
        token.cancel()

    with pytest.raises(CancelledError):
        run_in_process(isolated_work.patient, str(tmp_path / "word"), hear, token)
    assert seen
    assert (tmp_path / "word").read_text() == "settled"


def test_a_stop_before_it_begins_starts_no_process(tmp_path):
    token = CancelToken()
    token.cancel()
    with pytest.raises(CancelledError):
        run_in_process(isolated_work.patient, str(tmp_path / "word"), ignore, token)
    assert not (tmp_path / "word").exists()


def test_a_listener_that_raises_ends_it_in_order(tmp_path):
    def hear(event):
        raise OSError("nobody listens")

    with pytest.raises(OSError, match="nobody listens"):
        run_in_process(isolated_work.patient, str(tmp_path / "word"), hear, CancelToken())
    assert (tmp_path / "word").read_text() == "settled"


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_it_ends_in_order_when_this_process_is_killed(tmp_path):
    script = textwrap.dedent(
        f"""
        import sys
        sys.path.insert(0, {str(HERE)!r})
        import isolated_work
        from workbench.processes.isolated_process import run_in_process
        from workbench.signals.cancel import CancelToken

        if __name__ == "__main__":
            word = {str(tmp_path / "word")!r}
            run_in_process(isolated_work.patient, word, lambda e: print(e.label, flush=True), CancelToken())
        """
    )
    (tmp_path / "parent.py").write_text(script, "utf-8")
    parent = subprocess.Popen([sys.executable, str(tmp_path / "parent.py")], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 300
    while not (tmp_path / "word").exists() or psutil.pid_exists(child):
        assert time.monotonic() < deadline, "the process outlived its parent"
        time.sleep(0.05)
    assert (tmp_path / "word").read_text() == "settled"


def test_a_fresh_process_loads_neither_qt_nor_what_the_work_does_not_need():
    found = []
    thread = threading.Thread(
        target=lambda: found.append(
            run_in_process(isolated_work.loaded, ["PySide6", "torch", "polars"], ignore, CancelToken())
        )
    )
    thread.start()
    thread.join()
    assert found == [[]]
