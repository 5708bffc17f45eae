import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from unittest import mock

import pytest

from workbench.jobs import Job, run_to_end, start
from workbench.jobs.runner import MemorySampler
from workbench.params import InputError
from workbench.signals import Cancelled, Event, Failed, Finished, Notice, Progress
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit, Terminal


class Rows:
    """What a job works on."""


def raising(error: BaseException) -> Job[None]:
    def work(emit: Emit, cancel: CancelToken) -> None:
        raise error

    return Job("a job that fails", work)


def until_cancelled(emit: Emit, cancel: CancelToken) -> None:
    emit(Progress(1, 2))
    while True:
        cancel.check()
        time.sleep(0.001)


def test_a_job_ends_with_its_result():
    seen: list[Event] = []

    def work(emit: Emit, cancel: CancelToken) -> int:
        emit(Progress(1, 2, "half"))
        emit(Notice("info", "a sentence"))
        return 42

    terminal = run_to_end(Job("sum", work), seen.append)
    assert terminal == Finished(42)
    assert seen == [Progress(1, 2, "half"), Notice("info", "a sentence"), Finished(42)]


def test_a_persons_error_is_no_bug():
    error = InputError("the file is empty", "x.csv")
    terminal = run_to_end(raising(error))
    assert terminal == Failed(error, bug=False, trace="")


@pytest.mark.parametrize("error", [KeyError("secret 77"), SystemExit(3), KeyboardInterrupt(), GeneratorExit("secret")])
def test_anything_else_is_a_bug_traced_without_values(error):
    seen: list[Event] = []
    terminal = run_to_end(raising(error), seen.append)
    assert isinstance(terminal, Failed)
    assert terminal.bug
    assert terminal.error is error
    assert type(error).__name__ in terminal.trace
    assert "workbench/jobs/runner.py:" in terminal.trace
    assert "secret" not in terminal.trace
    assert [e for e in seen if isinstance(e, Terminal)] == [terminal]


def test_a_trace_names_every_cause_and_no_value():
    def work(emit: Emit, cancel: CancelToken) -> None:
        try:
            int("secret")
        except ValueError as error:
            raise RuntimeError(f"secret {error}") from error

    terminal = run_to_end(Job("chain", work))
    assert isinstance(terminal, Failed)
    assert terminal.trace.index("ValueError") < terminal.trace.index("RuntimeError")
    assert "secret" not in terminal.trace


def test_a_failed_job_keeps_no_table_alive():
    class Table:
        pass

    freed = threading.Event()

    def work(emit: Emit, cancel: CancelToken) -> None:
        table = Table()
        import weakref

        weakref.finalize(table, freed.set)
        raise InputError("bad table")

    terminal = run_to_end(Job("table", work))
    assert isinstance(terminal, Failed)
    assert freed.is_set()


def test_too_little_memory_is_one_clear_sentence():
    terminal = run_to_end(raising(MemoryError("Unable to allocate 8 TiB for an array with secret shape")))
    assert isinstance(terminal, Failed)
    assert not terminal.bug
    assert str(terminal.error).startswith("there is not enough memory for this; ")


def test_cancel_ends_a_job_that_polls():
    run = start(Job("endless", until_cancelled))
    run.cancel()
    assert run.wait(60)
    assert run.poll()[-1] == Cancelled()
    assert run.terminal == Cancelled()


def test_a_job_that_had_finished_stays_finished():
    run = start(Job("quick", lambda emit, cancel: 1))
    assert run.wait(60)
    run.cancel()
    assert run.poll() == [Finished(1)]
    assert run.poll() == []


def test_work_may_not_end_itself():
    terminal = run_to_end(Job("impostor", lambda emit, cancel: emit(Finished(1))))
    assert isinstance(terminal, Failed)
    assert terminal.bug
    assert isinstance(terminal.error, TypeError)


def test_events_after_the_end_are_dropped():
    kept: list[Emit] = []
    run = start(Job("leaks its emit", lambda emit, cancel: kept.append(emit)))
    assert run.wait(60)
    kept[0](Progress(1, 1))
    assert run.poll() == [Finished(None)]


def test_a_listener_that_fails_stops_the_job():
    def listen(event: Event) -> None:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        run_to_end(Job("endless", until_cancelled), listen)
    assert not [t for t in threading.enumerate() if t.name.startswith("job:")]


def test_no_more_threads_is_a_failure_and_not_a_hang():
    with mock.patch("threading._start_new_thread", side_effect=RuntimeError("can't start new thread")):
        terminal = run_to_end(Job("never", until_cancelled))
    assert isinstance(terminal, Failed)
    assert "another thread" in str(terminal.error)


def test_memory_is_sampled_and_a_fresh_sample_is_not_taken_again():
    sampler = MemorySampler()
    found = sampler.sample()
    assert found is not None
    assert 1_000_000 < found.now <= found.peak < (found.limit or 0)
    assert sampler.sample() is None


@pytest.mark.skipif(sys.platform == "win32", reason="os.kill cannot send Ctrl+C to one process on Windows")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_cancels_and_the_former_handler_returns(number):
    former = signal.getsignal(number)

    def work(emit: Emit, cancel: CancelToken) -> None:
        os.kill(os.getpid(), number)
        until_cancelled(emit, cancel)

    assert run_to_end(Job("signalled", work)) == Cancelled()
    assert signal.getsignal(number) is former


def test_the_layer_imports_light():
    code = (
        "import sys, workbench.jobs; print([m for m in ('numpy', 'sklearn', 'torch', 'PySide6') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.strip() == "[]"


def test_what_a_job_worked_on_goes_though_its_run_is_kept():
    def job() -> tuple[Job[None], weakref.ref[Rows]]:
        rows = Rows()
        return Job("work on rows", lambda emit, cancel: emit(Notice("info", type(rows).__name__))), weakref.ref(rows)

    made, rows = job()
    run = start(made)
    del made
    assert run.wait(60)
    run.poll()  # joins the thread
    assert rows() is None
