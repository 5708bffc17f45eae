"""Many independent, seeded tasks on the cores of this machine."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Container, Generator, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Generic, TypeVar, cast

from workbench.params import ParameterError, WorkbenchError
from workbench.processes.worker import serve
from workbench.signals.cancel import CancelToken, interruptible

S = TypeVar("S")
T = TypeVar("T")
R = TypeVar("R")

MOST_JOBS = 256
LOOK = 0.05  # seconds between two checks of the cancel token while every worker is busy

PATIENCE = 5.0  # seconds that a terminated process has to end before it is killed


_alive: set[int] = set()


def worker_processes() -> tuple[int, ...]:
    """Return the process numbers of the workers that this program has started and not yet seen end.

    Known without asking the system, which would have to look at every process there is.
    """
    return tuple(_alive)


def cores() -> int:
    """Return the number of cores that this process may use."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(usable, MOST_JOBS)


def run_tasks(
    work: Callable[[S, T], R],
    shared: S,
    tasks: Sequence[T],
    *,
    jobs: int,
    cancel: CancelToken,
    name: Callable[[T], str] = str,
    group: Callable[[T], Hashable] = lambda task: None,
) -> Generator[tuple[T, R], None, None]:
    """Yield ``(task, work(shared, task))`` for every task, in the order in which they end.

    With ``jobs = 1`` the tasks run here, one after another. With more, each worker is a spawned process with one
    BLAS thread. It gets ``shared`` (the table) once and then only tasks, so both and the results must pickle; they
    pass between processes of this run and are never stored. Results cannot depend on the number of workers as long
    as a task carries its own seed.

    When the iterator ends in any way (exhausted, closed, cancelled, an error), every worker has ended too.

    Args:
        work: a function of a module (a spawned process imports it by name).
        shared: a value that all tasks read.
        tasks: the tasks.
        jobs: how many processes; no more are started than there are tasks.
        cancel: polled between tasks, here also within one, and many times a second while waiting; running workers are
            then stopped at once.
        name: the name of a task in an error sentence.
        group: tasks of one group share something costly that a worker keeps; they go to one worker while others have
            groups of their own.

    Raises:
        CancelledError: a stop was requested.
        WorkbenchError: a task raised it, or a worker process died; the sentence names the task.
        WorkerFaultError: a task raised anything else.
    """
    if not 1 <= jobs <= MOST_JOBS:
        raise ParameterError(f"jobs = {jobs} is not a whole number from 1 to {MOST_JOBS}")
    if jobs == 1 or len(tasks) <= 1:
        for task in tasks:
            cancel.check()
            with interruptible(cancel):
                done = work(shared, task)
            yield task, done
        return
    with workers(min(jobs, len(tasks)), serve) as started:
        yield from _distribute(started, work, shared, Waiting(tasks, group), cancel, name)


@dataclass(eq=False)
class Worker:
    """A process, our end of the pipe to it, and what it does."""

    process: BaseProcess
    pipe: Connection
    task: Any = None
    group: Hashable = None

    def died(self, name: Callable[[Any], str]) -> WorkbenchError:
        """Return what to say of it where it has ended; ``name`` is that of a task."""
        self.process.join(PATIENCE)
        doing = f"at {name(self.task)}" if self.task is not None else "while it started"
        return WorkbenchError(
            f"a worker process died (exit code {self.process.exitcode})",
            doing,
            "the system may be short of memory: use fewer jobs and run again",
        )


class Waiting(Generic[T]):
    """Tasks that are not assigned yet, by group."""

    def __init__(self, tasks: Sequence[T], group: Callable[[T], Hashable]) -> None:
        self._groups: dict[Hashable, deque[T]] = {}
        for task in tasks:
            self._groups.setdefault(group(task), deque()).append(task)

    def __bool__(self) -> bool:
        return bool(self._groups)

    def take(self, last: Hashable, others: Container[Hashable], most: int = 1) -> tuple[Hashable, list[T]]:
        """Return up to ``most`` tasks of one group: ``last``, else one that is not in ``others``, else the longest."""
        group = last
        if group not in self._groups:
            free = (g for g in self._groups if g not in others)
            group = next(free, max(self._groups, key=lambda g: len(self._groups[g])))
        tasks = self._groups[group]
        taken = [tasks.popleft() for _ in range(min(most, len(tasks)))]
        if not tasks:
            del self._groups[group]
        return group, taken


def _distribute(
    started: Sequence[Worker],
    work: Callable[[S, T], R],
    shared: S,
    waiting: Waiting[T],
    cancel: CancelToken,
    name: Callable[[T], str],
) -> Iterator[tuple[T, R]]:
    busy: dict[Connection, Worker] = {}

    def send(worker: Worker, message: object) -> None:
        try:
            worker.pipe.send(message)
        except (BrokenPipeError, ConnectionResetError):
            raise worker.died(name) from None

    def hand_out(worker: Worker) -> None:
        if waiting:
            others = {other.group for other in busy.values()}
            worker.group, (worker.task,) = waiting.take(worker.group, others)
            send(worker, worker.task)
            busy[worker.pipe] = worker

    for worker in started:
        cancel.check()
        send(worker, (work, shared))
        hand_out(worker)
    while busy:
        cancel.check()
        for pipe in wait(tuple(busy), timeout=LOOK):
            worker = busy.pop(cast("Connection", pipe))
            try:
                done, answer = worker.pipe.recv()
            except (EOFError, ConnectionResetError):
                raise worker.died(name) from None
            if not done:
                raise answer
            task: T = worker.task
            hand_out(worker)  # before the caller looks at the result: a worker need not wait for that
            yield task, answer


@contextmanager
def workers(
    count: int, target: Callable[[Connection], None], *, last_word: float = 0.0, daemon: bool = True
) -> Iterator[list[Worker]]:
    """Start ``count`` processes that do ``target``; whatever happens, none is alive after the block.

    Args:
        count: how many.
        target: is given the other end of a pipe; where the pipe is closed, it is to end by itself.
        last_word: seconds that they have for that, before they are terminated.
        daemon: whether they are stopped with this process, and may start none of their own.
    """
    # Spawned on every system: a fork copies locks that other threads hold at that instant.
    context = multiprocessing.get_context("spawn")
    started: list[Worker] = []
    try:
        with no_ctrl_c_at_birth():
            for number in range(count):
                ours, theirs = context.Pipe()
                process = context.Process(target=target, args=(theirs,), name=f"worker {number + 1}", daemon=daemon)
                started.append(Worker(process, ours))
                process.start()
                assert process.pid is not None
                _alive.add(process.pid)
                # Only the child holds this end now, so that its death is an end of file here.
                theirs.close()
        yield started
    finally:
        for worker in started:
            worker.pipe.close()
        born = [worker.process for worker in started if worker.process.pid is not None]
        for each in born:
            each.join(last_word)
            each.terminate()
        for each in born:
            each.join(PATIENCE)
            if each.is_alive():
                each.kill()
                each.join()
            _alive.discard(each.pid or 0)
            each.close()


@contextmanager
def no_ctrl_c_at_birth() -> Iterator[None]:
    """Let children be born with Ctrl+C blocked: Python would print a traceback before the worker's own code runs.

    The mask belongs to this thread alone and is inherited through ``exec``. Where a system has no such masks
    (Windows), a Ctrl+C in the first tenths of a second may print one.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    former = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, former)
