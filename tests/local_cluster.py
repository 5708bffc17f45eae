"""A real Dask scheduler and its workers, each a process of its own on this computer."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import psutil
import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
LONG = 120.0

NO_DASK = [
    pytest.mark.skipif(
        importlib.util.find_spec("distributed") is None,
        reason='Dask is not installed: pip install "privacy-workbench[dist]"',
    ),
    pytest.mark.skipif(sys.platform == "win32", reason="kill -9 is a POSIX word"),
]


def until(condition: Callable[[], Any], what: str) -> Any:
    deadline = time.monotonic() + LONG
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"never came: {what}")


def copy(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


def here(times: int = 1, before: Callable[[str], None] = lambda name: None) -> Callable[..., Iterator[Any]]:
    """Return what runs tasks as the cluster does, in this process, each ``times`` times and the last one first."""

    def run(address: str, work: Any, shared: Any, tasks: Any, **_: Any) -> Iterator[Any]:
        before(shared.work.__name__)
        for task in reversed(tasks):
            sent = copy(task)
            for _ in range(times):
                yield task, copy(work(copy(shared), sent))

    return run


NURSERY = """
import json, os, runpy, signal, sys
import distributed.cli.dask_scheduler, distributed.cli.dask_worker
import workbench.release.rows_on_workers, workbench.release.statistics.statistics_work
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for line in sys.stdin:
    words, folder, log = json.loads(line)
    if not (child := os.fork()):
        os.setsid()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.chdir(folder)
        for stream in (1, 2):
            os.dup2(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT), stream)
        sys.argv = words
        runpy.run_module(words[0], run_name="__main__", alter_sys=True)
        os._exit(0)
    print(child, flush=True)
"""
"""A process that has imported everything and gives birth to schedulers and workers, which takes no second then."""


class Nursery:
    """Starts many processes of clusters quickly; a context manager."""

    def __init__(self) -> None:
        own = {"PYTHONPATH": os.pathsep.join(map(str, [ROOT, HERE])), "OPENBLAS_NUM_THREADS": "2"}
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self._process = subprocess.Popen([sys.executable, "-c", NURSERY], env={**os.environ, **own}, **pipes)

    def start(self, words: Sequence[str], folder: Path, log: Path) -> Born:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([words, str(folder), str(log)]) + "\n")
        self._process.stdin.flush()
        return Born(int(self._process.stdout.readline()))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._process:  # which closes its pipes
            self._process.kill()


class Born:
    """A process that is not this one's child."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def wait(self, _: float) -> None:
        until(lambda: not psutil.pid_exists(self.pid), "the end of a process")


QUIET = {
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
    "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "1s",
    "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__INTERVAL": "10s",
}
"""Settings by which a cluster that has nothing to do takes a sixtieth of a core and not a thirteenth."""


class Cluster:
    """A scheduler without workers; a context manager that ends every process it has started.

    Attributes:
        address: of the scheduler.
        file: where it has written its address.
        workers: the processes, oldest first.
    """

    def __init__(
        self, folder: Path, *, imports: Sequence[Path] = (), more: Sequence[str] = (), nursery: Nursery | None = None
    ) -> None:
        self._folder, self._more, self._nursery = folder, more, nursery
        paths = os.pathsep.join(map(str, [ROOT, HERE, *imports]))
        two = {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}  # a task is to use one
        own = {"PYTHONPATH": paths, "PYTHONUNBUFFERED": "1", **two, **QUIET}
        self._environment = {**os.environ, **own}
        self.file = folder / "scheduler.json"
        self.workers: list[subprocess.Popen[bytes] | Born] = []
        self._scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-show")
        self.address: str = until(self._written, "the scheduler")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in [*self.workers, self._scheduler]:
            process.kill()
        for process in [*self.workers, self._scheduler]:
            process.wait(LONG)

    def _start(self, kind: str, *options: str) -> subprocess.Popen[bytes] | Born:
        module = f"distributed.cli.dask_{kind}"
        given = ["--scheduler-file", str(self.file), "--no-dashboard", *self._more, *options]
        if self._nursery is not None:
            return self._nursery.start([module, *given], self._folder, self._folder / "log")
        with (self._folder / "log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", module, *given],
                env=self._environment,
                cwd=self._folder,
                stdout=log,
                stderr=log,
            )

    def _written(self) -> str:
        try:
            return str(json.loads(self.file.read_text())["address"])
        except (OSError, ValueError):
            return ""

    def add(self, count: int, *options: str) -> None:
        """Start workers of one thread and wait until they have joined."""
        before = self.log().count("Register worker")
        usual = ("--nthreads", "1", "--no-nanny", "--local-directory", str(self._folder))
        self.workers += [self._start("worker", *usual, *options) for _ in range(count)]
        until(lambda: self.log().count("Register worker") >= before + count, "the workers")

    def kill_worker(self) -> None:
        """Kill the oldest worker, as the system does where memory is short."""
        worker = self.workers.pop(0)
        worker.kill()
        worker.wait(LONG)

    def kill_scheduler(self) -> None:
        self._scheduler.kill()
        self._scheduler.wait(LONG)

    def log(self) -> str:
        """Return all that scheduler and workers have said."""
        return (self._folder / "log").read_text()

    def kept(self) -> tuple[int, int]:
        """Return how many tasks the scheduler knows and how many values its workers hold, once both are settled."""
        from distributed import Client

        def nothing() -> bool:
            return counted() == (0, 0)

        def counted() -> tuple[int, int]:
            held = sum(len(keys) for keys in client.has_what().values())
            return client.run_on_scheduler(_tasks), held

        with Client(self.address, set_as_default=False) as client:
            deadline = time.monotonic() + LONG
            while not nothing() and time.monotonic() < deadline:
                time.sleep(0.05)
            return counted()


def _tasks(dask_scheduler: Any) -> int:
    return len(dask_scheduler.tasks)
