"""One training in several processes of this computer: each draws the coins of rows of its own, and sums them.

**The same ε.** The accountant assumes one independent coin for each row and step, all of one rate; who throws the coin
of a row is no part of that. So the coins of contiguous ranges of rows, which follow from the public number of rows, are
together the batch of one sampler over all rows, and the sum of the ranges' clipped sums is its clipped sum. Noise is
added to that sum once, at rank 0, the process of the command: it alone has the steps that were charged. The others are
asked once for each step that was taken, and read the weights after the one before, which are as public as the model.

**Rounding.** A row is in one range, so it moves one rank's sum, by at most C′ (:mod:`workbench.deep.clipping_factors`).
The sums of N ranks are added in double precision, u = 2⁻⁵³, in any order: a number of the result differs from the true
sum by at most γ_N times the sizes of what is added, and all of it by γ_N·nC′ in norm, n the rows of the table. Emptying
a row moves the result by C′ + 2γ_N·nC′ at most, so each rank clips at C′ = C/(1 + 4Nnu): no row moves the whole by more
than C. How many rows were drawn is not needed, so no rank has to know what the others drew.

**What passes between them.** Rows go through the pipe by which a process was started, its own range to each, after the
charge. Weights and sums go through torch.distributed: gloo on the loopback device, NCCL between GPUs (which nobody has
run for this program). Ranks find each other by a file in a folder for its owner alone, which is gone before the charge.
Any program of this computer could be the first to connect to a rank, so each proves to each that it has the key that
came through the pipe, before a row is read.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import secrets
import signal
import struct
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray
from torch import Tensor

from workbench.deep.clipping import StepSums, sums_of
from workbench.deep.devices import computing_on, gpus
from workbench.deep.features import Features
from workbench.deep.frozen_weights import frozen
from workbench.deep.memory import out_of_memory
from workbench.deep.plan import CPU, DpSgdPlan, Schedule
from workbench.deep.preparation import engine_for
from workbench.deep.private_step import flattened, sampler_of
from workbench.deep.probe_step import HalvingClippedSum, example_of, warm_up
from workbench.params import ParameterError, WorkbenchError
from workbench.processes.executor import LOOK, PATIENCE, Worker, cores, workers
from workbench.processes.worker import answer_of
from workbench.signals.cancel import CancelToken
from workbench.signals.events import ignore
from workbench.work.ask import RemoteCoins, Steps

_LONGEST = timedelta(minutes=30)  # how long a process waits for the slowest one in a step before it takes it for gone

_UNIT = 2.0**-53
_FIGURES = 3


def bound_of(clip: float, rows: int, processes: int) -> float:
    """Return C′: ranks that clip at it have a sum, rounded as it is, that no row moves by more than ``clip``."""
    return clip / (1 + 4 * processes * rows * _UNIT)


def ranges(rows: int, processes: int) -> list[slice]:
    """Return the rows of each rank: contiguous, and nearly as many for each."""
    return [slice(*pair) for pair in itertools.pairwise(rows * k // processes for k in range(processes + 1))]


@dataclass(frozen=True)
class _Rank:
    """What a process is given before the charge; all of it is public."""

    plan: DpSgdPlan
    features: Features
    rank: int
    device: str
    file: str

    def group(self, key: bytes) -> Any:
        """Return the connection of all ranks, each of which has shown that it has the ``key``; waits for them."""
        group, ranks = self._group(), range(self.plan.processes)
        sent = torch.tensor([_proof(key, self.rank, other) for other in ranks], device=self.device)
        wanted = torch.tensor([_proof(key, other, self.rank) for other in ranks], device=self.device)
        found = torch.zeros_like(sent)
        group.alltoall_base(found, sent, [], [], dist.AllToAllOptions()).wait()
        if not torch.equal(found, wanted):
            raise _LostError
        return group

    def _group(self) -> Any:
        made: Any = dist  # what is not there on every computer is not in its types
        size = self.plan.processes
        store = made.FileStore(self.file, size)
        if self.device != CPU:
            return made.ProcessGroupNCCL(store, self.rank, size, _LONGEST)
        options = made.ProcessGroupGloo._Options()
        options._devices = [made.ProcessGroupGloo.create_device(hostname="127.0.0.1")]
        options._timeout = _LONGEST
        return made.ProcessGroupGloo(store, self.rank, size, options)


@dataclass(frozen=True, eq=False)
class _Part:
    """What a process is given after the charge: its rows, and how it draws and sums them."""

    inputs: NDArray[np.float32]  # of its rows, as the trained layers read them, (r, …)
    targets: NDArray[np.int64]  # their classes (r,)
    physical_batch: int  # the most rows at once
    clip: float  # the norm C′
    leave: RemoteCoins  # to draw batches of them
    # The frozen weights of the first process by name, which are public: code may make others each time.
    frozen: dict[str, NDArray[Any]]


class EndedError(WorkbenchError):
    """A process that takes the steps with this one has ended."""


class OtherProcesses:
    """The processes beside this one, as an engine: the sums of its batch are those of all their batches."""

    def __init__(self, known: _Rank, beside: list[Worker], folder: tempfile.TemporaryDirectory[str]) -> None:
        """Begin with processes that are being started; ``known`` is what this one, rank 0, knows."""
        self._known, self._beside, self._folder = known, beside, folder
        for rank, worker in enumerate(beside, 1):
            device = known.device if known.device == CPU else f"{known.device}:{rank}"
            self._send(worker, _Rank(known.plan, known.features, rank, device, known.file))

    def join(self, cancel: CancelToken) -> None:
        """Wait until all have tried their engine on made-up rows, and connect them; nothing is charged yet.

        Raises:
            EndedError: one of them died.
        """
        self._answers(cancel)
        key = secrets.token_bytes(32)
        for worker in self._beside:
            self._send(worker, key)
        with self._connected():
            self._group = self._known.group(key)
        self._folder.cleanup()  # all are connected: nobody needs the file any more

    def begin(
        self,
        inputs: Tensor,
        targets: Tensor,
        own: HalvingClippedSum,
        weights: tuple[Tensor, dict[str, NDArray[Any]]],
        steps: Steps,
    ) -> tuple[Tensor, Tensor]:
        """Give each process its rows, and keep those of this one, which are returned.

        Args:
            inputs: of all rows, (n, …).
            targets: their classes (n,).
            own: the engine of this process.
            weights: the parameters, one vector (P,) that the others are to have at each step, and the frozen weights.
            steps: that were charged.
        """
        parameters, frozen_ones = weights
        self._own, self._parameters, plan = own, parameters, self._known.plan
        first, *rest = ranges(len(targets), plan.processes)
        bound = bound_of(plan.clip, len(targets), plan.processes)
        own.clip_at(bound)
        for worker, part in zip(self._beside, rest, strict=True):
            rows = inputs[part].cpu().numpy(), targets[part].cpu().numpy()
            self._send(worker, _Part(*rows, own.physical_batch, bound, steps.remote(), frozen_ones))
        self._sums = torch.zeros(len(parameters) + _FIGURES, dtype=torch.float64, device=parameters.device)
        self._total = self._sums[: len(parameters)]
        return inputs[first].clone(), targets[first].clone()

    def drawn(self, inputs: Tensor, targets: Tensor, rows: NDArray[np.int64], *, measure: bool = True) -> StepSums:
        """Return the sums of all processes, of which ``rows`` are drawn here; the next call overwrites them."""
        for worker in self._beside:
            self._send(worker, measure)
        with self._connected():
            _from_first(self._group, self._parameters)
        sums = sums_of(self._own, inputs, targets, rows, measure=measure)
        _put(sums, self._sums)
        self._answers()
        with self._connected():
            _at_first(self._group, self._sums)
        count, loss, correct = self._sums[-_FIGURES:].tolist()
        return StepSums(self._total, int(count), loss, int(correct))

    def _send(self, worker: Worker, message: object) -> None:
        try:
            worker.pipe.send(message)
        except (BrokenPipeError, ConnectionResetError):
            raise self._died(worker) from None

    def _answers(self, cancel: CancelToken | None = None) -> None:
        """Wait until each process says that it is ready; raise what it raised, if it did."""
        waiting = set(self._beside)
        while waiting:
            if cancel is not None:
                cancel.check()
            waiting -= self._answered(waiting, LOOK)

    def _answered(self, waiting: set[Worker], seconds: float) -> set[Worker]:
        """Return those that say so within some seconds; raise what one of them raised."""
        by_pipe = {worker.pipe: worker for worker in waiting}
        found = {by_pipe[cast("Connection", pipe)] for pipe in wait(tuple(by_pipe), seconds)}
        for worker in found:
            try:
                answer = worker.pipe.recv()
            except (EOFError, ConnectionResetError):
                raise self._died(worker) from None
            if answer is not None:  # it is done for good: it failed, or lost the connection to another one
                raise answer[1] or self._died(worker)
        return found

    @contextlib.contextmanager
    def _connected(self) -> Iterator[None]:
        """Say which process died where the connection to one of them ended."""
        try:
            with _talking():
                yield
        except _LostError:
            self._answered(set(self._beside), PATIENCE)  # what one of them raised says more
            raise self._died(self._beside[0]) from None

    def _died(self, worker: Worker) -> EndedError:
        worker.process.join(PATIENCE)
        # One that lost the connection to another has ended as well, without a fault of its own.
        rank, code = next(
            ((rank, code) for rank, w in enumerate(self._beside, 2) if (code := w.process.exitcode)),
            (self._beside.index(worker) + 2, worker.process.exitcode),
        )
        return EndedError(
            f"process {rank} of the {self._known.plan.processes} training processes has ended (exit code {code})",
            hint="the system may be short of memory: train with fewer processes",
        )


class _LostError(Exception):
    """The connection to another rank has ended, or it was none."""


def _proof(key: bytes, sender: int, receiver: int) -> int:
    """Return what one rank sends to another; what comes back from a mirror is the proof of neither."""
    return int.from_bytes(hashlib.sha256(key + struct.pack("<2q", sender, receiver)).digest()[:7], "big")


@contextlib.contextmanager
def _talking() -> Iterator[None]:
    try:
        yield
    except RuntimeError:
        raise _LostError from None


@contextlib.contextmanager
def other_processes(
    plan: DpSgdPlan, features: Features, schedule: Schedule, device: str
) -> Iterator[OtherProcesses | None]:
    """Start the processes of ``plan`` beside this one, if it has any; none of them is alive after the block.

    Raises:
        ParameterError: there are fewer rows or GPUs than processes, more than twice as many processes as cores (each
            takes some 300 MB), or this PyTorch has no connections.
    """
    count, rows = plan.processes, schedule.rows
    if count == 1:
        yield None
        return
    if count > 2 * cores():
        raise ParameterError(
            f"{count} processes are more than two for each of the {cores()} processor cores",
            hint=f"give at most {2 * cores()}",
        )
    if rows < count:
        raise ParameterError(f"{rows:,} rows cannot be divided among {count} processes", hint="give fewer processes")
    if device != CPU and gpus() < count:
        raise ParameterError(
            f"{count} processes need a GPU each, and there are {gpus()}", hint="give fewer processes, or --device cpu"
        )
    if not dist.is_available() or not dist.is_gloo_available():
        raise ParameterError("PyTorch cannot connect processes on this computer", hint="leave --processes out")
    folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    with folder as name, workers(count - 1, serve) as started:
        yield OtherProcesses(_Rank(plan, features, 0, device, str(Path(name) / "ranks")), started, folder)


def serve(pipe: Connection) -> None:
    """Be one of the ranks behind the first, until the pipe closes; runs in the new process."""
    # Ctrl+C reaches the whole foreground group; stopping the ranks is the first one's decision.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        pipe.send(answer_of(_served, pipe, pipe.recv()))


def _served(pipe: Connection, known: _Rank) -> None:
    plan, features, device = known.plan, known.features, known.device
    with computing_on(device), contextlib.suppress(_LostError):
        if ":" in plan.network:
            from workbench.deep.user_network import trust

            trust(plan.network)  # the process that started this one did
        network = plan.architecture
        warm_up(plan, network, features, device)
        module = network.build(features.width, len(features.classes)).to(device)
        parameters, example = flattened(module), example_of(network, features, device)
        pipe.send(None)
        with _talking():
            group = known.group(pipe.recv())
        part: _Part = pipe.recv()
        for name, held in frozen(module).items():
            held.copy_(torch.from_numpy(part.frozen[name]))
        engine = HalvingClippedSum(
            lambda rows: engine_for(module, part.clip, rows, rule=plan.clipping, example=example),
            part.physical_batch,
            ignore,
        )
        sampler = sampler_of(len(part.targets), part.leave)
        inputs, targets = torch.from_numpy(part.inputs).to(device), torch.from_numpy(part.targets).to(device)
        sums = torch.zeros(len(parameters) + _FIGURES, dtype=torch.float64, device=device)
        while True:
            measure: bool = pipe.recv()
            with _talking():
                _from_first(group, parameters)
            try:
                _put(sums_of(engine, inputs, targets, sampler.draw(), measure=measure), sums)
            except RuntimeError as error:
                raise MemoryError from None if out_of_memory(error) else error
            pipe.send(None)
            with _talking():
                _at_first(group, sums)


def _put(found: StepSums, sums: Tensor) -> None:
    """Write the sums of a rank into one vector (P + 3,)."""
    sums[:-_FIGURES] = found.total
    sums[-_FIGURES:] = torch.tensor([found.rows, found.loss, found.correct], dtype=torch.float64)


def _from_first(group: Any, tensor: Tensor) -> None:
    """Give each rank what the first one has."""
    group.broadcast([tensor], dist.BroadcastOptions()).wait()


def _at_first(group: Any, sums: Tensor) -> None:
    """Add the vectors of all ranks up at the first one."""
    group.reduce([sums], dist.ReduceOptions()).wait()
