import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import psutil
import pytest

sys.path.insert(0, str(Path(__file__).parent))  # the workers inherit it
import executor_tasks as tasks

from workbench.params import CancelledError, InputError, ParameterError, WorkbenchError
from workbench.processes.executor import cores, run_tasks
from workbench.processes.worker import ONE_THREAD, WorkerFaultError
from workbench.signals.cancel import CancelToken, check_here

pytestmark = pytest.mark.usefixtures("spawned")


def workers_alive() -> list[psutil.Process]:
    """Children of this process, without multiprocessing's own resource tracker and fork server."""
    helpers = ("resource_tracker", "forkserver")
    return [c for c in psutil.Process().children() if not any(h in " ".join(c.cmdline()) for h in helpers)]


@pytest.fixture(autouse=True)
def before():
    """Children there were before, such as a cluster that other tests use; the test leaves no others behind."""
    there = workers_alive()
    yield there
    assert [c for c in workers_alive() if c not in there] == []


@pytest.mark.parametrize("jobs", [1, 2])
def test_every_task_is_done_once(jobs):
    table = np.arange(10.0) * 10
    done = dict(run_tasks(tasks.add, table, range(10), jobs=jobs, cancel=CancelToken()))
    assert done == {i: 11.0 * i for i in range(10)}


def test_a_task_that_is_done_here_can_be_stopped_within_it():
    cancel = CancelToken()

    def work(_shared, _task):
        cancel.cancel()
        check_here()
        pytest.fail("the task goes on")

    with pytest.raises(CancelledError):
        list(run_tasks(work, None, [1], jobs=1, cancel=cancel))
    check_here()


def test_results_come_as_they_are_ready(tmp_path):
    other = str(tmp_path / "another is done")
    done = [task for task, _ in run_tasks(tasks.first_waits_for_sixth, other, range(6), jobs=2, cancel=CancelToken())]
    assert sorted(done) == list(range(6))
    assert done[0] != 0


def test_cancel_stops_running_workers_at_once(tmp_path):
    cancel = CancelToken()
    timer = threading.Timer(1.0, cancel.cancel)
    timer.start()
    ended = str(tmp_path / "ended")
    with pytest.raises(CancelledError):
        list(run_tasks(tasks.sleep, ended, range(4), jobs=2, cancel=cancel))
    timer.join()
    assert not Path(ended).exists()  # none of them slept to its end


def test_cancel_is_honoured_without_workers_too():
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(CancelledError):
        list(run_tasks(tasks.slower_first, None, range(4), jobs=1, cancel=cancel))


def test_leaving_early_ends_the_workers(before):
    results = run_tasks(tasks.slower_first, None, range(50), jobs=2, cancel=CancelToken())
    next(results)
    results.close()
    assert [c for c in workers_alive() if c not in before] == []


def test_a_workers_death_names_the_task():
    with pytest.raises(WorkbenchError, match=r"a worker process died \(exit code -?\d+\) \(at task 2\)"):
        list(run_tasks(tasks.die, None, range(4), jobs=2, cancel=CancelToken(), name=lambda t: f"task {t}"))


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_persons_error_crosses_the_pipe_whole(jobs):
    with pytest.raises(InputError) as caught:
        list(run_tasks(tasks.refuse, None, range(4), jobs=jobs, cancel=CancelToken()))
    assert str(caught.value) == "the value 'x' is not a number (row 7, column Age); mend the row"


def test_a_fault_brings_its_place_and_no_value():
    with pytest.raises(WorkerFaultError) as caught:
        list(run_tasks(tasks.fault, None, range(4), jobs=2, cancel=CancelToken()))
    assert "KeyError" in caught.value.trace
    assert "executor_tasks.py" in caught.value.trace
    assert "secret" not in caught.value.trace


def test_a_worker_short_of_memory_says_so():
    with pytest.raises(MemoryError):
        list(run_tasks(tasks.exhaust, None, range(4), jobs=2, cancel=CancelToken()))


def test_a_worker_uses_one_thread(monkeypatch):
    for variable in ONE_THREAD:
        monkeypatch.setenv(variable, "2")
    for _, counts in run_tasks(tasks.threads, None, range(2), jobs=2, cancel=CancelToken()):
        assert counts
        assert set(counts) == {1}


@pytest.mark.parametrize("jobs", [0, -1, 257])
def test_an_impossible_number_of_jobs_is_refused(jobs):
    with pytest.raises(ParameterError, match="jobs"):
        next(run_tasks(tasks.add, np.zeros(1), [0], jobs=jobs, cancel=CancelToken()))


def test_there_is_at_least_one_core():
    assert 1 <= cores() <= psutil.cpu_count()


@pytest.mark.skipif(sys.platform == "win32", reason="kill -9 is a POSIX word")
def test_workers_end_when_their_parent_is_killed(tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(
        "import sys\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "import executor_tasks as tasks\n"
        "from workbench.processes.executor import run_tasks\n"
        "from workbench.signals.cancel import CancelToken\n"
        "if __name__ == '__main__':\n"
        "    for task, _ in run_tasks(tasks.slower_first, None, range(100000), jobs=2, cancel=CancelToken()):\n"
        "        print(task, flush=True)\n"
    )
    parent = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    parent.stdout.readline()
    children = psutil.Process(parent.pid).children()
    assert len(children) >= 2
    parent.kill()
    parent.stdout.close()
    parent.wait(10)
    _, alive = psutil.wait_procs(children, timeout=300)
    assert alive == []
