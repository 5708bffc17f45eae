"""Many independent, seeded tasks on the workers of a Dask cluster; imports Dask only when it runs.

Dask's own futures do the work: if a worker dies, the scheduler runs its tasks again on another one. What is added here:
nothing is sent to workers with other versions, no value of a row gets into a log or an error, and nothing stays on the
cluster, however the run ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable, Generator, Hashable, Sequence
from typing import Any, TypeVar

from workbench.processes.dask_address import CONTINUE, ClusterLostError, scheduler_address, unencrypted
from workbench.processes.dask_cluster import connected, quiet_logs, workers_of
from workbench.processes.dask_run import Run
from workbench.processes.executor import LOOK
from workbench.signals.cancel import CancelToken

S = TypeVar("S")
T = TypeVar("T")
R = TypeVar("R")

GOODBYE = 0.9  # seconds that the connection has to close before the run ends, and it goes on closing by itself

DONE, WARNING, END = "done", "warning", "end"


def run_tasks_on(
    address: str,
    work: Callable[[S, T], R],
    shared: S,
    tasks: Sequence[T],
    *,
    cancel: CancelToken,
    warn: Callable[[str], None],
    name: Callable[[T], str] = str,
    group: Callable[[T], Hashable] | None = None,
) -> Generator[tuple[T, R], None, None]:
    """Yield ``(task, work(shared, task))`` for every task, in the order in which they end.

    As :func:`workbench.processes.executor.run_tasks`, but on the workers of a Dask scheduler. ``shared`` (the table) is
    sent to one of them, and the others fetch it once each. If a worker dies, its tasks are done again on
    another one, and results cannot depend on that as long as a task carries its own seed.

    When the iterator ends in any way (exhausted, closed, cancelled, an error), the tasks are cancelled, and neither
    ``shared`` nor a result is kept on the cluster; a worker first ends the task that it is at.

    Args:
        address: of the scheduler.
        work: a function of a module (workers import it by name).
        shared: a value that all tasks read.
        tasks: the tasks; one is asked for when it is sent, unless there are groups.
        cancel: polled many times a second.
        warn: receives a sentence before anything is sent where others can read it.
        name: the name of a task in an error sentence.
        group: tasks of one group share something costly that a worker keeps.

    Raises:
        CancelledError: a stop was requested.
        ParameterError: the address is malformed, or Dask is not installed.
        WorkbenchError: no scheduler or no worker is there, one has other versions, a task raised it, or a task was
            running when two workers died.
        WorkerFaultError: a task raised anything else.
    """
    place = scheduler_address(address)
    cancel.check()
    if not tasks:
        return
    said: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()

    def run_of(client: Any) -> Run:
        def done(number: int, result: R) -> None:
            said.put((DONE, (number, result)))

        return Run(client, place, work, shared, tasks, name=name, group=group, notify=done)

    conversation = _Conversation(place, run_of, said)
    try:
        while True:
            cancel.check()
            try:
                kind, value = said.get(timeout=LOOK)
            except queue.Empty:
                continue
            if kind == DONE:
                number, result = value
                yield tasks[number], result
            elif kind == WARNING:
                warn(value)
                conversation.go_on()
            elif value is not None:
                raise value
            else:
                return
    finally:
        conversation.end()


class _Conversation:
    """What is said with the cluster, in a thread with an event loop of its own."""

    def __init__(self, address: str, run_of: Callable[[Any], Run], said: queue.SimpleQueue[tuple[str, Any]]) -> None:
        """Begin it; ``run_of`` makes the run of a client."""
        self._address, self._run_of, self._said = address, run_of, said
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(lambda loop, context: None)  # the usual one logs exceptions whole
        self._stated = asyncio.Event()
        self._main: asyncio.Task[None] | None = None
        self._ending = False
        # No daemon: the end of the program waits until nothing is left on the cluster, which takes seconds at most.
        self._thread = threading.Thread(target=self._live, name="dask")
        self._thread.start()

    def go_on(self) -> None:
        with contextlib.suppress(RuntimeError):  # it has ended
            self._loop.call_soon_threadsafe(self._stated.set)

    def end(self) -> None:
        with contextlib.suppress(RuntimeError):  # it has ended
            self._loop.call_soon_threadsafe(self._leave)
        self._thread.join(GOODBYE)

    def _leave(self) -> None:
        self._ending = True
        if self._main is not None:
            self._main.cancel()

    def _live(self) -> None:
        end: BaseException | None = None
        try:
            import distributed  # noqa: F401 - its log handlers exist from here on

            with quiet_logs(), asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._converse())
        except asyncio.CancelledError:
            if not self._ending:  # a cancel inside Dask, which nobody here has asked for
                end = ClusterLostError("the work on the cluster was interrupted", self._address, CONTINUE)
        except BaseException as error:  # noqa: BLE001 - raised again where the results are awaited
            end = error
        self._said.put((END, end))

    async def _converse(self) -> None:
        self._main = asyncio.current_task()
        if self._ending:
            return
        async with connected(self._address) as client:
            workers = await workers_of(client, self._address)
            open_to_all = unencrypted([self._address, *workers])
            if open_to_all:
                others = f" and {len(open_to_all) - 1} more" if len(open_to_all) > 1 else ""
                warning = f"the rows are sent unencrypted to {open_to_all[0]}{others}; use tls://"
                self._said.put((WARNING, warning))
                await self._stated.wait()
            await self._run_of(client).drive(workers)
