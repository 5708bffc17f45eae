"""The tasks of one run on the workers of a Dask cluster, handed out a few at a time."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import time
import uuid
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.params import WorkbenchError
from workbench.processes.dask_address import CONTINUE, ClusterLostError
from workbench.processes.dask_worker import Answers, answer_all, versions
from workbench.processes.executor import Waiting
from workbench.processes.redacted_traceback import trace_of
from workbench.processes.worker import WorkerFaultError

AHEAD = 2  # pieces of work that a worker has at a time, so that it need not wait for the next one

PIECE_SECONDS = 0.25
"""How long a piece of work should take: longer than its way there and back, shorter than a person waits for Cancel."""

MOST_TASKS = 64  # most tasks in a piece of work

LOOK = 0.2  # seconds to wait for an answer at a time

ROLL_CALL = 1.0  # seconds between two questions which workers there are

PATIENCE = 30.0  # seconds to wait for a worker where none is left

SENDING = 15.0  # seconds that the shared value has to arrive after a cancel, so that it can be taken away again

MOST_DEATHS = 2  # workers that may die at a task before it is held to be the cause

MOST_SHARES = 4  # how often the shared value is sent anew because every worker that had it has died


@dataclass(eq=False)
class _Piece:
    """Some tasks of one group, sent together."""

    places: list[int]  # which tasks, by their place in the list of all
    group: Hashable  # their group
    worker: str  # the worker that they were meant for; Dask may run them on another one
    future: Any = None  # Dask's own


@dataclass(eq=False)
class _Worker:
    """What is known of a worker: the group it has last had, the pieces it has now, seconds that a task takes."""

    group: Hashable = None
    pieces: int = 0
    seconds: float = PIECE_SECONDS


class Run:
    """One run.

    Args:
        client: connected, in asynchronous mode.
        address: of the scheduler.
        work: what is done with the shared value and a task.
        shared: sent to one worker; the others fetch it.
        tasks: the tasks.
        name: the name of a task in an error sentence.
        group: tasks of one group go to one worker while others have groups of their own.
        notify: receives the place of each task that is done, and its result.
    """

    def __init__(
        self,
        client: Any,
        address: str,
        work: Callable[[Any, Any], Any],
        shared: Any,
        tasks: Sequence[Any],
        *,
        name: Callable[[Any], str],
        group: Callable[[Any], Hashable] | None,
        notify: Callable[[int, Any], None],
    ) -> None:
        self._client, self._address, self._work, self._value = client, address, work, shared
        self._tasks, self._name, self._notify = tasks, name, notify
        self._versions = versions()
        self._waiting = Waiting(range(len(tasks)), lambda place: None if group is None else group(tasks[place]))
        self._again: deque[_Piece] = deque()
        self._flying: dict[asyncio.Task[Answers | None], _Piece] = {}
        self._workers: dict[str, _Worker] = {}
        self._deaths: Counter[int] = Counter()
        self._key = f"workbench-{uuid.uuid4().hex}"
        self._sent = self._shares = 0
        self._shared: Any = None
        self._error: WorkbenchError | None = None
        self._seen = self._called = time.monotonic()

    async def drive(self, workers: Sequence[str]) -> None:
        """Do all tasks, on ``workers`` and on those that join.

        Raises:
            WorkbenchError: a task raised it, killed two workers, or the cluster is gone.
            WorkerFaultError: a task raised anything else.
        """
        self._know(workers)
        try:
            await self._do_all()
        except (WorkbenchError, WorkerFaultError, MemoryError):
            raise
        except Exception:
            self._check()  # where the connection was lost, any error may follow from that
            raise

    async def _do_all(self) -> None:
        while self._waiting or self._again or self._flying:
            if self._shared is None and self._workers:
                await self._share()
            if self._shared is not None:
                self._hand_out()
            await self._look()
            if time.monotonic() - self._called > ROLL_CALL:
                await self._call_roll()
            self._check()

    async def _share(self) -> None:
        self._shares += 1
        if self._shares > MOST_SHARES:
            raise WorkbenchError(
                f"every worker that had the table has died, {MOST_SHARES} times", self._address, CONTINUE
            )
        # Not hashed: another run's table would have the same name, and be taken away with this one. To one worker, from
        # which the others fetch it: a scheduler that copies it to all tries for ever where one dies meanwhile.
        sending = asyncio.ensure_future(self._client.scatter([self._value], hash=False))
        try:
            (self._shared,) = await asyncio.shield(sending)
        except asyncio.CancelledError:
            # The scheduler keeps for ever what it receives for a client that has left meanwhile.
            with contextlib.suppress(Exception):
                await asyncio.wait_for(sending, SENDING)
            raise
        except (OSError, KeyError, ValueError):  # they died meanwhile
            self._shared = None

    def _hand_out(self) -> None:
        """Give each worker something to do; the worker's death, or its idleness, moves it to another one."""
        for address, worker in self._workers.items():
            while worker.pieces < AHEAD and (self._again or self._waiting):
                if self._again:
                    piece = self._again.popleft()
                    piece.worker = address
                else:
                    others = {other.group for other in self._workers.values()}
                    most = int(min(max(PIECE_SECONDS / max(worker.seconds, 1e-9), 1), MOST_TASKS))
                    group, places = self._waiting.take(worker.group, others, most)
                    piece = _Piece(places, group, address)
                worker.group = piece.group
                worker.pieces += 1
                self._send(piece)

    def _send(self, piece: _Piece) -> None:
        self._sent += 1
        piece.future = self._client.submit(
            answer_all,
            self._work,
            self._versions,
            self._shared,
            tuple(self._tasks[place] for place in piece.places),
            key=f"{self._key}-{self._sent}",
            pure=False,
            workers=[piece.worker],
            allow_other_workers=True,
        )
        self._flying[asyncio.create_task(_answers(piece.future))] = piece

    async def _look(self) -> None:
        """Wait a little for an answer, and take those that are there."""
        if not self._flying:
            await asyncio.sleep(LOOK)
            return
        ended, _ = await asyncio.wait(self._flying, timeout=LOOK, return_when=asyncio.FIRST_COMPLETED)
        for flight in ended:
            self._land(flight, self._flying.pop(flight))

    def _land(self, flight: asyncio.Task[Answers | None], piece: _Piece) -> None:
        worker = self._workers.get(piece.worker)
        if worker is not None:
            worker.pieces = max(worker.pieces - 1, 0)
        try:
            answers = flight.result()
        except OSError:  # the tasks' own are among the answers
            raise self._lost() from None
        except Exception as error:  # noqa: BLE001 - Dask's own; raised again without the values in its text
            raise self._killed([piece]) if _by_death(error) else WorkerFaultError(trace_of(error)) from None
        if answers is None:  # the table was lost with a worker
            if self._shared is not None and self._shared.status != "finished":
                self._shared = None
            self._send_again(piece)
            return
        if worker is not None and answers.answers:
            worker.seconds = answers.seconds
        for place, (done, answer) in zip(piece.places, answers.answers, strict=False):
            if not done:
                raise answer
            self._notify(place, answer)

    def _send_again(self, piece: _Piece) -> None:
        # One by one where a worker has died at them, so that the next death names its task.
        alone = any(self._deaths[place] for place in piece.places)
        groups = [[place] for place in piece.places] if alone else [piece.places]
        self._again.extend(_Piece(places, piece.group, "") for places in groups)

    def _know(self, addresses: Iterable[str]) -> None:
        """Count these and no others as the workers there are."""
        addresses = set(addresses)
        for address in self._workers.keys() - addresses:
            del self._workers[address]
        for address in addresses - self._workers.keys():
            self._workers[address] = _Worker()
            # Its own topic: that of all workers may carry what Dask cannot send, which ends the connection.
            self._client.subscribe_topic(address, functools.partial(self._happened, address))

    async def _call_roll(self) -> None:
        self._called = time.monotonic()
        with contextlib.suppress(OSError):  # a lost connection is seen below
            stated = await self._client.scheduler.identity(n_workers=-1)
            self._know(stated["workers"])

    def _happened(self, address: str, event: tuple[float, Any]) -> None:
        _, message = event
        if not isinstance(message, dict) or message.get("action") != "remove-worker":
            return
        self._workers.pop(address, None)
        if self._shared is not None and self._shared.key in message["lost-scattered-tasks"]:
            self._shared = None
        if not message["expected"]:
            self._count_deaths(set(message["processing-tasks"]))

    def _count_deaths(self, keys: set[str]) -> None:
        lost = [piece for piece in self._flying.values() if piece.future.key in keys]
        for piece in lost:
            self._deaths.update(piece.places)
        again = [piece for piece in lost if max(self._deaths[place] for place in piece.places) >= MOST_DEATHS]
        if again:
            self._error = self._killed(again)

    def _killed(self, pieces: Sequence[_Piece]) -> WorkbenchError:
        names = [self._name(self._tasks[place]) for piece in pieces for place in piece.places]
        stated = " or ".join(names[:3]) + (f" or one of {len(names) - 3} more" if len(names) > 3 else "")
        return WorkbenchError(
            "worker processes keep dying",
            f"at {stated}",
            f"the workers may be short of memory: give them more, and {CONTINUE}",
        )

    def _lost(self) -> WorkbenchError:
        return ClusterLostError("the connection to the scheduler was lost", self._address, CONTINUE)

    def _check(self) -> None:
        if self._error is not None:
            raise self._error
        if self._client.status != "running":
            raise self._lost()
        now = time.monotonic()
        if self._workers:
            self._seen = now
        elif now - self._seen > PATIENCE:
            raise ClusterLostError("no worker is left on the cluster", self._address, f"start one, and {CONTINUE}")


async def _answers(future: Any) -> Answers | None:
    """Return the answers, or None where the future was cancelled because what it needs was lost."""
    from distributed.client import FutureCancelledError

    try:
        answers: Answers = await future.result()
    except FutureCancelledError:
        return None
    return answers


def _by_death(error: Exception) -> bool:
    from distributed.scheduler import KilledWorker

    return isinstance(error, KilledWorker)
