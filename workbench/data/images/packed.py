"""The contents of packed files, unpacked in a process of their own and judged by their heads before they are taken.

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
HEAD = 1 << 17
"""Bytes of the first piece of each file, in which its header lies."""

_AT_ONCE = 1 << 26
_PIECE = 1 << 20
_MEMORY, _SECONDS = 1 << 28, 600
"""Memory and processor time of the process that unpacks."""

_MOST_PER_BYTE, _LEAST = 1032, 1024
"""The most bytes that deflate expands one byte to, and the size that any file may have."""


@dataclass(frozen=True)
class Packed:
    """A file that is packed: one that ends in ``.gz``, or a member of an archive."""

    path: Path
    member: str = ""

    @classmethod
    def needed(cls, file: Path) -> bool:
        """Return whether ``file`` is packed, by its name."""
        return file.name.endswith(GZIP)


@dataclass(frozen=True)
class _Piece:
    """Some bytes of one of the files, in order."""

    index: int
    data: bytes


Judge = Callable[[Sequence[bytes]], Sequence[tuple[int, int]]]
"""From the first bytes of each file to where what is wanted begins in it, and how many bytes that are."""


def unpacked(files: Sequence[Packed], judge: Judge, cancel: CancelToken = NEVER) -> list[NDArray[np.uint8]]:
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

    if not files:
        judge([])
        return []
    _unpack(files, take, cancel)
    return [room.whole() for room in rooms]


def contents(files: Sequence[Path], judge: Judge, cancel: CancelToken = NEVER) -> list[NDArray[np.uint8]]:
    """Return what ``judge`` wants of each file, packed or not; as :func:`unpacked`."""
    found: dict[Path, bytes] = {}
    for file in files:
        if not Packed.needed(file):
            with _readable(str(file)), file.open("rb") as stream:
                found[file] = stream.read(HEAD)
    packed = [file for file in files if Packed.needed(file)]
    wanted: dict[Path, tuple[int, int]] = {}

    def judge_all(heads: Sequence[bytes]) -> list[tuple[int, int]]:
        known = {**found, **dict(zip(packed, heads, strict=True))}
        wanted.update(zip(files, judge([known[file] for file in files]), strict=True))
        return [wanted[file] for file in packed]

    arrays = dict(zip(packed, unpacked([Packed(file) for file in packed], judge_all, cancel), strict=True))
    for file in found:
        arrays[file] = _plain(file, *wanted[file], cancel)
    return [arrays[file] for file in files]


def require_possible(size: int, file: Path, source: str) -> None:
    """Refuse a header that promises ``size`` bytes, more than ``file`` can unfold into.

    Raises:
        InputError: it does.
    """
    packed = file.stat().st_size
    if size > (_MOST_PER_BYTE * packed + _LEAST if Packed.needed(file) else packed):
        raise InputError("the header promises more than the file can hold", source, "fetch the file again")


def content(file: Path, most: int = MOST_BYTES, cancel: CancelToken = NEVER) -> bytearray:
    """Return the bytes of ``file``, which has no header, unpacked if its name ends in ``.gz``.

    Raises:
        InputError: it cannot be read, is damaged, or holds more than ``most`` bytes or than there is memory for.
    """
    source, found = str(file), bytearray()
    more = InputError(f"the file holds more than {most / 2**30:.3g} GiB", source, "give it in parts")

    def take(piece: _Piece) -> None:
        if len(found) + len(piece.data) > most:
            raise more
        if (len(found) + len(piece.data)) // _AT_ONCE > len(found) // _AT_ONCE:
            require_room(len(found), "the contents of the file", source)  # as much again must be free
        found.extend(piece.data)

    if not file.is_file():
        raise InputError("there is no such file", source, "check the path")
    if Packed.needed(file):
        _unpack([Packed(file)], take, cancel)
        return found
    with _readable(source), file.open("rb") as stream:
        if file.stat().st_size > most:
            raise more
        require_room(file.stat().st_size, "the contents of the file", source)
        while part := stream.read(min(_PIECE, most + 1 - len(found))):
            cancel.check()
            found.extend(part)
    return found


def _plain(file: Path, begin: int, size: int, cancel: CancelToken) -> NDArray[np.uint8]:
    """Return some bytes of a file that is not packed, after comparing them with its length."""
    with _readable(str(file)), file.open("rb") as stream:
        room = _Room(Packed(file), size)
        stream.seek(begin)
        while part := stream.read(_PIECE):
            cancel.check()
            room.add(part)
        return room.whole()


class _Room:
    """Room for what a header promises, filled piece by piece."""

    def __init__(self, file: Packed, size: int) -> None:
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
        what = f"{name} header promises {len(self._room):,} bytes and {found} follow"
        return InputError(what, str(self._file.path), "the file was cut short or changed: fetch it again")


def _unpack(files: Sequence[Packed], take: Callable[[_Piece], None], cancel: CancelToken) -> None:
    """Unpack ``files`` in a process of their own: first the head of each, then the rest of each."""

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


def _pieces(files: tuple[Packed, ...], emit: Emit, cancel: CancelToken) -> None:
    """Send the pieces of ``files``; runs in the process that unpacks."""
    from workbench.data.isolated_child import restrict

    restrict(_MEMORY, _SECONDS)
    send = cast("Callable[[_Piece], None]", emit)
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
def _opened(file: Packed) -> Iterator[IO[bytes]]:
    if not file.member:
        with gzip.open(file.path) as stream:
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
