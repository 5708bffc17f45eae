"""Parts of a table read by the workers of a Dask cluster, which return results and no rows.

A part is some bytes: a range of a file of text, row groups of Parquet with what the file says of all of them, or the
rows of a table of a database between two keys. Workers read them by its path or address, and refuse other bytes than
those that this computer read. Of a packed file the bytes are sent to them; of everything else, which is read whole
here, the cells.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, TypeVar

import polars as pl

from workbench.data.csv.encoding import FileBytes
from workbench.data.databases.access import bytes_between
from workbench.data.databases.address import address_of
from workbench.data.remote import is_remote, ranges_of
from workbench.data.rows_in_parts import Piece, PieceReader, Rows
from workbench.data.table import Table
from workbench.params import CancelledError, InputError, ParameterError, WorkbenchError
from workbench.processes.dask_address import CONTINUE, FORMS, file_option, scheduler_named
from workbench.signals import Notice, Progress
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit

PART_BYTES = 1 << 23
"""Size of a part, about: what a worker that dies has done in vain, and less than Dask warns of where it is sent."""

T = TypeVar("T")


@dataclass(frozen=True)
class Workers:
    """Where parts are read."""

    address: str  # of the scheduler
    emit: Emit  # receives progress, and a warning before rows leave this computer unencrypted
    cancel: CancelToken  # stops at once
    # Where the scheduler has written its address, which another one that takes its place replaces.
    file: Path | None = None
    _warned: list[str] = field(default_factory=list, repr=False)

    def address_now(self) -> str:
        """Return the present address of the scheduler, from its file if there is one.

        In place of an encrypted one, one that is not gets no rows: nobody has agreed to that.
        """
        now = None
        if self.file is not None:
            with contextlib.suppress(InputError):  # a scheduler that ends removes its file
                now = scheduler_named(None, self.file)
        return self.address if now is None or (_encrypted(self.address) and not _encrypted(now)) else now

    def warn(self, text: str) -> None:
        """Emit a warning once for all passes over the rows."""
        if not self._warned:
            self._warned.append(text)
            self.emit(Notice("warning", text))


def _encrypted(address: str) -> bool:
    return address.startswith("tls://")


LOCAL, DASK = "local", "dask"


def run_tasks_on(*given: Any, **named: Any) -> Generator[Any, None, None]:
    """Run tasks by :func:`workbench.processes.dask_executor.run_tasks_on`, whose imports nothing else waits for."""
    from workbench.processes.dask_executor import run_tasks_on as run

    return run(*given, **named)


def workers_of(
    engine: str,
    scheduler: str | None,
    file: str | os.PathLike[str] | None,
    emit: Emit,
    cancel: CancelToken,
    mark: str = "",
) -> Workers | None:
    """Return the chosen workers; ``None`` for this computer.

    Args:
        engine: :data:`LOCAL` or :data:`DASK`.
        scheduler: its address.
        file: the file that it has written its address to, in place of ``scheduler``.
        emit: receives progress and warnings.
        cancel: stops at once.
        mark: comes before the names of the two in messages.

    Raises:
        InputError: the file is not one of a scheduler.
        ParameterError: they contradict each other, the address is malformed, or Dask is not installed.
    """
    dask, named = f"{mark}engine {DASK}", f"{mark}scheduler"
    if engine not in (LOCAL, DASK):
        raise ParameterError(f"{mark}engine {engine} is not known", hint=f"use {mark}engine {LOCAL} or {dask}")
    if engine == DASK and scheduler is None and file is None:
        start = "python -m distributed.cli.dask_"
        hint = f"add {named} {FORMS}; `{start}scheduler` and `{start}worker ADDRESS --nthreads 1` start a cluster"
        raise ParameterError(f"{dask} needs the address of a scheduler", hint=hint)
    if engine == LOCAL and (scheduler is not None or file is not None):
        used = named if scheduler is not None else file_option(mark)
        raise ParameterError(f"{used} is for {dask}", hint=f"add {dask}, or leave {used} out")
    address = scheduler_named(scheduler, file, mark)
    place = None if file is None else Path(file)
    return None if address is None else Workers(address, emit, cancel, place)


@dataclass(frozen=True, eq=False)
class _Part:
    """Some rows, as they are described to a worker."""

    number: int  # of the part
    rows_before: int  # how many rows come before them
    frame: pl.DataFrame | None = None  # their cells; or `None` where they are read from bytes
    how: Any = None  # how they are
    path: str | None = None  # the file, or the table of a database, that has the bytes; `None` where they are sent
    ranges: tuple[tuple[int, int], ...] = ()  # where they are: bytes of the file, or keys of the table
    texts: tuple[bytes, ...] = ()  # the bytes that are sent
    digest: bytes = b""  # SHA-256 of all the bytes


class PartsOnWorkers(Sequence[_Part]):
    """The parts of a table; each is prepared when it is sent, so that few are in memory."""

    def __init__(self, table: Table, workers: Workers) -> None:
        """Describe the parts.

        Args:
            table: the rows as they were read.
            workers: who reads them.

        Raises:
            InputError: a table that workers cannot read in parts does not fit into memory.
        """
        stored = table.stored
        self._workers = workers
        self._reading: PieceReader | None = None
        self._pieces: list[Piece] = []
        self._digests: dict[int, bytes] = {}
        self._files: list[tuple[FileBytes, str, int | None]] = []
        if isinstance(stored, Rows) and stored.files:
            self._reading, self._pieces = stored.reading, list(stored.pieces(PART_BYTES))
            for body, named in stored.files:
                path = named if body.remote else str(Path(named).resolve())
                self._files.append((body, path, body.place_in(path)))
            self._frame, self._count = None, len(self._pieces)
        else:
            self._frame = table.frame
            self._rows = max(1, PART_BYTES * table.rows // max(1, int(self._frame.estimated_size())))
            self._count = -(-table.rows // self._rows)
        nothing = pl.DataFrame(schema=dict.fromkeys(table.names, pl.String))
        self._beside = table.replaced(frame=nothing, digest=b"", blank_lines=(), row_numbers=None, joined=None)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: Any) -> Any:
        """Return a part as it is described to a worker.

        Raises:
            InputError: the file was cut short.
        """
        if not 0 <= number < len(self):
            raise IndexError(number)
        if self._frame is not None:
            before = number * self._rows
            return _Part(number, before, self._frame.slice(before, self._rows))
        piece = self._pieces[number]
        body, path, place = self._files[piece.file]
        texts: tuple[bytes, ...] = ()
        if place is None or number not in self._digests:
            texts = tuple(body.read(start, stop) for start, stop in piece.ranges)
            self._digests.setdefault(number, _digest(texts))
        part = _Part(number, piece.rows_before, None, piece.how, digest=self._digests[number])
        if place is None:
            return replace(part, texts=texts)
        there = tuple((place + start, place + stop) for start, stop in piece.ranges)
        return replace(part, path=path, ranges=piece.keys or there)

    def hand_over(self, emit: Emit, cancel: CancelToken) -> None:
        """Report events to another listener from now on."""
        self._workers = replace(self._workers, emit=emit, cancel=cancel)

    def notice(self, text: str) -> None:
        """Send a warning to the current listener."""
        self._workers.emit(Notice("warning", text))

    def require_unchanged(self) -> None:
        """Raise :class:`InputError` where somebody wrote to the file since it was opened."""
        for body, _, _ in self._files:
            body.require_unchanged()

    def each(
        self,
        work: Callable[[Any, Table], T],
        shared: Any,
        label: str,
        again: str = "run it again",
        only: Sequence[int] | None = None,
    ) -> Iterator[tuple[int, T]]:
        """Yield what workers make of each part, by its number, in the order in which they end.

        A part whose worker died is read again; what comes of it twice is for the caller to refuse.

        Args:
            work: a function of a module, which is given ``shared`` and a part, on a worker.
            shared: sent to every worker once.
            label: of the progress.
            again: what an error of the cluster says of another try.
            only: the numbers of the parts, if not all.

        Raises:
            InputError: a worker cannot read the file, or reads another one.
            WorkbenchError: the cluster failed.
        """
        workers = self._workers
        tasks = self if only is None else _Some(self, only)
        results = run_tasks_on(
            workers.address_now(),
            _there,
            _Sent(work, shared, self._beside, self._reading),
            tasks,
            cancel=workers.cancel,
            warn=workers.warn,
            name=_named,
        )
        try:
            for done, (part, result) in enumerate(results, start=len(self) - len(tasks) + 1):
                yield part.number, result
                workers.emit(Progress(done, len(self), label))
        except CancelledError:
            raise
        except WorkbenchError as error:
            if CONTINUE not in error.hint:
                raise
            raise type(error)(error.what, error.where, error.hint.replace(CONTINUE, again)) from None
        finally:
            results.close()

    def each_part(self, work: Callable[[Table], T]) -> Generator[T, None, None]:
        """Yield what ``work``, which can be sent, makes of each part once, in the order of the parts."""
        return self.in_order(_applied, work, "rows read again")

    def in_order(self, work: Callable[[Any, Table], T], shared: Any, label: str) -> Generator[T, None, None]:
        """Yield what workers make of each part once, in the order of the parts; arguments are those of :meth:`each`."""
        waiting: dict[int, T] = {}
        following = 0
        for number, found in self.each(work, shared, label):
            if number >= following:
                waiting.setdefault(number, found)
            while following in waiting:
                yield waiting.pop(following)
                following += 1
        self.require_unchanged()
        assert following == len(self)


class _Some(Sequence[_Part]):
    """Some of the parts of a table."""

    def __init__(self, parts: PartsOnWorkers, numbers: Sequence[int]) -> None:
        self._parts, self._numbers = parts, numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, place: Any) -> Any:
        return self._parts[self._numbers[place]]


def _named(part: _Part) -> str:
    return f"part {part.number + 1} of the rows"


# -- on the workers ----------------------------------------------------------------------------------------------------


def _applied(work: Callable[[Table], T], part: Table) -> T:
    return work(part)


@dataclass(frozen=True, eq=False)
class _Sent:
    """What is sent to every worker: the work, what it shares, what the file says beside cells, and how it is read."""

    work: Callable[[Any, Table], Any]
    shared: Any
    beside: Table
    reading: PieceReader | None


def _there(sent: _Sent, part: _Part) -> Any:
    frame = part.frame
    if frame is None:
        assert sent.reading is not None
        frame = sent.reading.rows(part.how, _texts_of(part, sent.beside.source))
    return sent.work(sent.shared, sent.beside.replaced(frame=frame, rows_before=part.rows_before))


def _texts_of(part: _Part, source: str) -> tuple[bytes, ...]:
    texts, what = part.texts, "a worker reads different bytes from this file than this computer"
    hint = "give all of them the same file at the same path, and stop writing to it"
    if part.path is not None and address_of(part.path) is not None:
        texts = bytes_between(part.path, part.ranges)
        what = "a worker reads different rows from this table than this computer"
        hint = "give every worker access to all of its rows, and run it again when nobody is writing to it"
    elif part.path is not None and is_remote(part.path):
        texts = ranges_of(part.path, part.ranges)
    elif part.path is not None:
        try:
            with open(part.path, "rb") as file:
                texts = tuple(_range(file, start, stop) for start, stop in part.ranges)
        except OSError as error:
            reason = (error.strerror or "it is not there").lower()
            mounted = "mount it on every worker under the same path"
            raise InputError(f"a worker cannot read the file: {reason}", part.path, mounted) from None
    if _digest(texts) != part.digest:
        raise InputError(what, source, hint)
    return texts


def _range(file: IO[bytes], start: int, stop: int) -> bytes:
    file.seek(start)
    return file.read(stop - start)


def _digest(texts: Sequence[bytes]) -> bytes:
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text)
    return digest.digest()
