"""Read a file of a binary format as text cells: a separate process opens it, with limited memory and time."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any

import polars as pl

from workbench.data.columns.source_types import type_named
from workbench.data.csv.options import ReadOptions
from workbench.data.isolated_child import BYTES, FACTS, HEAD, LAST, REFUSED, SHAPE, TEXT, TYPES, limits, unpacked_limit
from workbench.data.opened_file import not_of_format
from workbench.data.table import FileFacts, Table
from workbench.params import InputError, WorkbenchError
from workbench.params.codec import parse_json
from workbench.params.remedies import state_option
from workbench.processes.child_program import command, environment
from workbench.signals.cancel import CancelToken

if TYPE_CHECKING:
    import psutil

    from workbench.data.sources.source import SourceFile

LOOK = 0.05
"""Seconds between two checks of the cancel token, the clock and, if the system limits no memory, the process's size."""

PATIENCE = 4  # factor from a file's processor time to the wall-clock time it may take: other programs run as well


def read_isolated(file: SourceFile, format_name: str, module: str) -> Table:
    """Return the cells of a file as text, and the types that its columns have there.

    Whole numbers are written ``1``, reals in their shortest exact form, dates ``2024-01-31``, times of day after
    a space, truth values ``true`` and ``false``; nulls and empty strings are missing.

    Raises:
        InputError: the file is damaged, needs more memory or time than a file of its size may take, or every column
            holds lists, records or bytes; where some do, they are left out.
    """
    table = read_in_child(file, format_name, module).table
    assert table is not None  # no bytes without a place for them
    return table


@dataclass(frozen=True)
class ChildResult:
    """What the process found: a table, or ``None`` where it was bytes that were packed; and what else the file says."""

    table: Table | None
    facts: FileFacts
    more: Mapping[str, Any] = field(default_factory=dict)  # what of that are attributes of a table


def read_in_child(
    file: SourceFile,
    format_name: str,
    module: str,
    unpacked: IO[bytes] | None = None,
    asked: Mapping[str, Any] | None = None,
) -> ChildResult:
    """Return what the function ``opened`` of ``module`` makes of a file, in a process of its own.

    Args:
        file: the file.
        format_name: what a person calls a file of its format.
        module: where the function is.
        unpacked: where bytes go that were packed; ``None`` for a format that packs none.
        asked: what else ``opened`` is given.

    Raises:
        InputError: as for :func:`read_isolated`.
    """
    import psutil

    assert file.path is not None
    free = int(psutil.virtual_memory().available)
    reading = _Reading(format_name, file, limits(file.size, 0, free), unpacked)
    request = {
        "path": str(file.path.absolute()),
        "format": format_name,
        "module": module,
        "free": free,
        "size": file.size,
        "options": {
            **file.options.to_plain(),
            "replace_invalid": file.replace_invalid,
            "planned": list(file.names or ()),
            **(asked or {}),
        },
    }
    parts: list[pl.DataFrame] = []
    try:
        for letter, content in frames(_MODULE, request, reading, file.cancel):
            parts += reading.taken(letter, content)
        facts, more = reading.facts()
        if not parts and unpacked is None:
            raise ValueError("no rows")
        frame = pl.concat(parts, rechunk=False) if parts else None
    except (ValueError, TypeError, KeyError, pl.exceptions.PolarsError):  # its answer is not one
        raise reading.damaged() from None
    if frame is None:
        return ChildResult(None, facts, more)
    types = dict(zip(frame.columns, reading.types, strict=True))
    typed = pl.Schema({name: kind for name, kind in types.items() if kind is not None})
    return ChildResult(Table(frame, file.source, types=typed, facts=facts, **more), facts, more)


class Limits(ABC):
    """What a process may take, and what is said where it takes more or answers nonsense.

    Attributes:
        source: what a person calls the file or the database.
        memory: bytes that it may take.
        seconds: of the processor.
        too_long: whether it took too long.
    """

    def __init__(self, source: str, memory: int, seconds: float) -> None:
        self.source, self.memory, self.seconds, self.too_long = source, memory, seconds, False

    @abstractmethod
    def longest(self, letter: bytes) -> int:
        """Return how long a frame may be."""

    @abstractmethod
    def died(self) -> InputError:
        """Return the error for a process that ended before its answer was complete."""

    @abstractmethod
    def damaged(self) -> InputError:
        """Return the error for an answer that makes no sense."""


def frames(
    module: str, request: Mapping[str, Any], asked: Limits, cancel: CancelToken
) -> Iterator[tuple[bytes, bytes]]:
    """Yield the frames of the answer of a process of its own, which runs ``module``.

    Raises:
        InputError: the process reports an error, has ended, or answers nonsense.
        CancelledError: ``cancel`` was set.
    """
    cancel.check()
    with child_of(module) as child, watched(child, asked, cancel):
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            child.stdin.write(json.dumps(request).encode() + b"\n")
            child.stdin.flush()
            letter = b""
            while letter not in LAST:
                letter, length = HEAD.unpack(_exactly(child.stdout, HEAD.size))
                if length > asked.longest(letter):
                    raise EOFError
                content = _exactly(child.stdout, length)
                if letter == REFUSED:
                    what, where, hint, *codes = parse_json(content.decode(), "answer")
                    place, code = f"{asked.source}, {where}" if where else asked.source, "".join(codes)
                    fix = state_option(code, doing=hint) if code in ReadOptions.declared() else hint
                    raise InputError(what, place, fix, code=code)
                yield letter, content
        except (BrokenPipeError, EOFError):  # the process has ended
            cancel.check()
            raise asked.died() from None
        except (ValueError, TypeError):
            raise asked.damaged() from None
    cancel.check()


class _Reading(Limits):
    """What is known about a file while it is read: its format, its source and its limits."""

    def __init__(
        self, format_name: str, file: SourceFile, most: tuple[int, int], unpacked: IO[bytes] | None = None
    ) -> None:
        super().__init__(file.source, *most)
        self.format, self.size = format_name, file.size
        self.types: list[pl.DataType | None] = []
        self.unpacked = unpacked
        self.said: dict[str, Any] = {}
        self._rows = self._columns = self._held = self._unfolded = 0

    def longest(self, letter: bytes) -> int:
        return self.memory if letter == BYTES else self.memory - self._held

    def taken(self, letter: bytes, content: bytes) -> list[pl.DataFrame]:
        """Return the rows that a frame has, if any; an inconsistent answer is refused."""
        self._held += 0 if letter == BYTES else len(content)
        if letter == SHAPE:
            self._rows, self._columns, self.memory, self.seconds = parse_json(content.decode(), "answer")
        elif letter == TYPES:
            words = [str(word) for word in parse_json(content.decode(), "answer")]
            self.types = [type_named(word) if word else None for word in words]
        elif letter == FACTS:
            self.said = dict(parse_json(content.decode(), "answer"))
        elif letter == BYTES and self.unpacked is not None:
            self._unfolded += len(content)
            if self._unfolded > unpacked_limit(self.size):
                raise self.damaged()
            try:
                self.unpacked.write(content)
            except OSError as error:
                what = f"the file cannot be unpacked: {(error.strerror or str(error)).lower()}"
                raise InputError(what, self.source, "free some space in the folder of temporary files") from None
        elif letter == TEXT:
            part = pl.read_ipc_stream(io.BytesIO(content))
            self._rows -= part.height
            fits = part.width == self._columns == len(self.types) and self._rows >= 0
            if not fits or any(kind != pl.String for kind in part.dtypes):
                raise self.damaged()
            return [part]
        elif letter not in LAST or self._rows:
            raise self.damaged()
        return []

    def facts(self) -> tuple[FileFacts, dict[str, Any]]:
        """Return what the file says, and what of that are attributes of a table; ``ValueError`` if it is not that."""
        said = dict(self.said)
        more = {
            "notices": tuple(str(each) for each in said.pop("notices", ())),
            "renamed": tuple(str(each) for each in said.pop("renamed", ())),
            "blank_lines": tuple(int(each) for each in said.pop("blank_lines", ())),
            "left_out": {str(name): str(what) for name, what in dict(said.pop("left_out", {})).items()},
        }
        return FileFacts.from_plain(said), more

    def died(self) -> InputError:
        hint = "export it again, in parts if it is large, or give a CSV file"
        if self.too_long:
            return InputError(f"the {self.format} file was not read within {self._time()}", self.source, hint)
        return InputError(
            f"the {self.format} file is damaged, or reading it needs more than {self.memory / 1e6:,.0f} MB of memory "
            f"or {self.seconds} s of processor time",
            self.source,
            hint,
            code="damaged-file",
        )

    def damaged(self) -> InputError:
        hint = "export it again, or give a CSV file"
        return InputError(not_of_format(self.format), self.source, hint, code="damaged-file")

    def _time(self) -> str:
        return f"{PATIENCE * self.seconds} seconds"


def _exactly(stream: IO[bytes], count: int) -> bytes:
    """Return so many bytes; :class:`EOFError` where the process ended before."""
    content = stream.read(count)
    if len(content) < count:
        raise EOFError
    return content


@contextlib.contextmanager
def child_of(module: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start the process that runs ``module``; it is always ended after the block."""
    variables = environment()
    variables.pop("PYTHONFAULTHANDLER", None)
    try:
        child = subprocess.Popen(
            command(module),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=variables,
            # Ctrl+C reaches the whole foreground group; whether to stop is the parent's decision.
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
    except OSError as error:
        reason = error.strerror or "the operating system refused"
        raise WorkbenchError(
            f"no process can be started to read the file: {reason}", hint="close other programs"
        ) from None
    try:
        yield child
    finally:
        child.kill()
        for stream in (child.stdin, child.stdout):
            with contextlib.suppress(BrokenPipeError):
                assert stream is not None
                stream.close()
        child.wait()


_MODULE = "workbench.data.isolated_child"


@contextlib.contextmanager
def watched(child: subprocess.Popen[bytes], reading: Limits, cancel: CancelToken) -> Iterator[None]:
    """End ``child`` if it is cancelled, takes too long or, on systems other than Linux, uses too much memory."""
    done = threading.Event()

    def watch() -> None:
        begun, size = time.monotonic(), None if sys.platform == "linux" else _process(child.pid)
        while not done.wait(LOOK):
            reading.too_long = time.monotonic() - begun > PATIENCE * reading.seconds
            if reading.too_long or cancel.cancelled or (size is not None and _resident(size) > reading.memory):
                child.kill()
                return

    watcher = threading.Thread(target=watch, name="watch over a reader")
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def _process(pid: int) -> psutil.Process | None:
    import psutil

    try:
        return psutil.Process(pid)
    except psutil.NoSuchProcess:
        return None


def _resident(process: psutil.Process) -> int:
    import psutil

    try:
        return int(process.memory_info().rss)
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return 0  # it has just ended
