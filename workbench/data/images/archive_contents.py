"""Contents of files, checked by their headers before they are read; compressed files are unpacked in another process.

A small file can unfold into gigabytes, and a damaged one can end what unpacks it. So the process that unpacks is
limited, and holds a piece at a time; here the first piece of each file is judged, room is made for what its header
promises, and what goes beyond that is refused.
"""

from __future__ import annotations

import contextlib
import gzip
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
from numpy.typing import NDArray

from workbench.data.images.image_set import MOST_BYTES, require_room
from workbench.params import InputError, WorkbenchError
from workbench.processes.isolated_process import run_in_process
from workbench.signals.cancel import NEVER, CancelToken
from workbench.signals.events import Emit

GZIP = ".gz"
HEAD = 1 << 17  # bytes of the first piece of each file, in which its header lies

_AT_ONCE = 1 << 26
_PIECE = 1 << 20
_MEMORY, _SECONDS = 1 << 28, 600  # memory and processor time of the process that unpacks

_MOST_PER_BYTE, _LEAST = 1032, 1024
"""The most bytes that deflate expands one byte to, and the size that any file may have."""


@dataclass(frozen=True)
class StoredFile:
    """A file, which is packed where its name ends in ``.gz``, or a member of an archive."""

    path: Path
    member: str = ""

    @property
    def packed(self) -> bool:
        """Whether it is packed."""
        return bool(self.member) or self.path.name.endswith(GZIP)


@dataclass(frozen=True)
class _Piece:
    """Some bytes of one of the files, in order."""

    index: int
    data: bytes


Judge = Callable[[Sequence[bytes]], Sequence[tuple[int, int]]]
"""From the first bytes of each file to where what is wanted begins in it, and how many bytes that are."""


def file_contents(files: Sequence[StoredFile], judge: Judge, cancel: CancelToken = NEVER) -> list[NDArray[np.uint8]]:
    """Return what ``judge`` wants of each file.

    Raises:
        InputError: ``judge`` refused them; one is damaged, or holds more or less than it says.
    """
    heads: list[bytes] = []
    rooms: list[_Room] = []

    def take(piece: _Piece) -> None:
        if rooms:
            rooms[piece.index].add(piece.data)
            return
        heads.append(piece.data)
        if len(heads) == len(files):
            for file, head, (begin, size) in zip(files, heads, judge(heads), strict=True):
                rooms.append(_Room(file, size))
                rooms[-1].add(head[begin:])

    _read(files, take, cancel)
    return [room.whole() for room in rooms]


def require_possible(size: int, file: Path, source: str) -> None:
    """Refuse a header that promises ``size`` bytes, more than ``file`` can unfold into.

    Raises:
        InputError: it does.
    """
    own = file.stat().st_size
    if size > (_MOST_PER_BYTE * own + _LEAST if StoredFile(file).packed else own):
        raise InputError("the header declares more data than the file can contain", source, "fetch the file again")


def file_content(file: Path, most: int = MOST_BYTES, cancel: CancelToken = NEVER) -> bytearray:
    """Return the bytes of ``file``, which has no header, unpacked if its name ends in ``.gz``.

    Raises:
        InputError: it cannot be read, is damaged, or holds more than ``most`` bytes or than there is memory for.
    """
    source, found = str(file), bytearray()
    more = InputError(f"the file contains more than {most / 2**30:.3g} GiB", source, "split it into parts")

    def take(piece: _Piece) -> None:
        if len(found) + len(piece.data) > most:
            raise more
        if (len(found) + len(piece.data)) // _AT_ONCE > len(found) // _AT_ONCE:
            require_room(len(found), "the contents of the file", source)  # as much again must be free
        found.extend(piece.data)

    if not file.is_file():
        raise InputError("there is no such file", source, "check the path")
    if file.stat().st_size > most:
        raise more
    _read([StoredFile(file)], take, cancel)
    return found


class _Room:
    """Room for what a header promises, filled piece by piece."""

    def __init__(self, file: StoredFile, size: int) -> None:
        self._file, self._filled = file, 0
        self._room = np.empty(size, np.uint8)

    def add(self, data: bytes) -> None:
        end = self._filled + len(data)
        if end > len(self._room):
            raise self._other("more")
        self._room[self._filled : end] = np.frombuffer(data, np.uint8)
        self._filled = end

    def whole(self) -> NDArray[np.uint8]:
        if self._filled < len(self._room):
            raise self._other(f"{self._filled:,}")
        return self._room

    def _other(self, found: str) -> InputError:
        name = f"the array {self._file.member} is damaged: its" if self._file.member else "the"
        what = f"{name} header declares {len(self._room):,} bytes and {found} follow"
        return InputError(what, str(self._file.path), "the file was cut short or changed: fetch it again")


def _read(files: Sequence[StoredFile], take: Callable[[_Piece], None], cancel: CancelToken) -> None:
    """Read first the head of each file, then the rest of each: in a process of their own, unless none is packed."""
    if not any(file.packed for file in files):
        _send(files, take, cancel)
        return

    def on_event(event: Any) -> None:
        cancel.check()  # here as well: pieces that were sent already are not waited for
        take(event)

    source = str(files[0].path)
    try:
        run_in_process(_pieces, tuple(files), on_event, cancel)
    except MemoryError:
        raise _damaged(source) from None
    except WorkbenchError as error:
        if isinstance(error, InputError) or error.exit_code != InputError.exit_code:
            raise
        raise _damaged(source) from None  # its process has ended


def _pieces(files: tuple[StoredFile, ...], emit: Emit, cancel: CancelToken) -> None:
    """Send the pieces of ``files``; runs in the process that unpacks."""
    from workbench.data.isolated_child import restrict

    restrict(_MEMORY, _SECONDS)
    _send(files, cast("Callable[[_Piece], None]", emit), cancel)


def _send(files: Sequence[StoredFile], send: Callable[[_Piece], None], cancel: CancelToken) -> None:
    with contextlib.ExitStack() as opened:
        streams = []
        for index, file in enumerate(files):
            with _readable(str(file.path)):
                streams.append(opened.enter_context(_opened(file)))
                send(_Piece(index, streams[index].read(HEAD)))
        for index, (file, stream) in enumerate(zip(files, streams, strict=True)):
            with _readable(str(file.path)):
                while part := stream.read(_PIECE):
                    cancel.check()
                    send(_Piece(index, part))


@contextlib.contextmanager
def _opened(file: StoredFile) -> Iterator[IO[bytes]]:
    if not file.member:
        with gzip.open(file.path) if file.packed else file.path.open("rb") as stream:
            yield cast("IO[bytes]", stream)
        return
    with zipfile.ZipFile(file.path) as archive, archive.open(file.member) as stream:
        yield stream


@contextlib.contextmanager
def _readable(source: str) -> Iterator[None]:
    """Turn what the decompressors and the system raise into one sentence."""
    try:
        yield
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, zipfile.BadZipFile):
        raise _damaged(source) from None
    except (NotImplementedError, RuntimeError):
        raise InputError("the archive cannot be read", source, "write it again without a password") from None
    except OSError as error:
        reason = error.strerror or "its contents are damaged"
        raise InputError(f"the file cannot be read: {reason}", source, "check the path and its rights") from None


def _damaged(source: str) -> InputError:
    return InputError("the compressed file is damaged or cut short", source, "fetch it again")
