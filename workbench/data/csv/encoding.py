"""Detect the text encoding of a file, and whether it is text at all."""

from __future__ import annotations

import codecs
import os
import re
import threading
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from workbench.data.csv.legacy_encodings import SEVERAL_BYTES, likely
from workbench.data.private_file import path_of
from workbench.params import InputError
from workbench.params.remedies import state_option
from workbench.signals.cancel import CancelToken

Bytes = NDArray[np.uint8]

CHUNK = 1 << 20  # bytes that are looked at together: so few that they stay in the processor's cache


class FileBytes:
    """The bytes of a large file, or of a range of it; a slice reads what it names, and nothing else is in memory.

    A file that another program cuts short is an error here; of a mapped one the system would kill the process.
    """

    def __init__(self, file: int, source: str, *, remote: bool = False) -> None:
        """Take a file.

        Args:
            file: its open descriptor, which is closed when the bytes are no longer used.
            source: the name a person uses for it.
            remote: whether that is an address at which others fetch the same bytes.
        """
        self._file, self.remote = file, remote
        self._source, self._lock = source, threading.Lock()
        weakref.finalize(self._lock, os.close, self._file)  # all ranges of the file share the lock
        self._found = self._state()
        self._first, self._size = 0, self._found[0]

    def _state(self) -> tuple[int, int]:
        state = os.fstat(self._file)
        return state.st_size, state.st_mtime_ns

    def __len__(self) -> int:
        """Return the number of bytes."""
        return self._size

    def __getitem__(self, wanted: slice) -> Bytes:
        """Read a range of bytes."""
        return np.frombuffer(self.read(wanted.start, wanted.stop), np.uint8)

    def read(self, start: int | None = None, stop: int | None = None) -> bytes:
        """Read a range of bytes, by default all."""
        start, stop, _ = slice(start, stop).indices(self._size)
        size, found, at = max(0, stop - start), [], self._first + start
        while size:
            if hasattr(os, "pread"):
                data = os.pread(self._file, size, at)
            else:
                with self._lock:
                    os.lseek(self._file, at, os.SEEK_SET)
                    data = os.read(self._file, size)
            if not data:
                raise self._changed()
            found.append(data)
            size, at = size - len(data), at + len(data)
        return found[0] if len(found) == 1 else b"".join(found)

    tobytes = read

    def between(self, start: int, stop: int | None = None) -> FileBytes:
        """Return a range of the bytes, unread."""
        out = object.__new__(FileBytes)
        out.__dict__.update(self.__dict__)
        start, stop, _ = slice(start, stop).indices(self._size)
        out._first, out._size = self._first + start, max(0, stop - start)
        return out

    def place_in(self, path: str) -> int | None:
        """Return where these bytes begin in the file called ``path``; ``None`` where it is not the file they are of."""
        if self.remote:
            return self._first
        try:
            same = os.path.samestat(os.fstat(self._file), os.stat(path))
        except (OSError, ValueError):
            return None
        return self._first if same else None

    @property
    def path(self) -> Path | None:
        """Where other processes open this very file while it is in use; ``None`` where there is no such place."""
        return path_of(self._file)

    def require_unchanged(self) -> None:
        """Raise :class:`InputError` if somebody wrote to the file since it was opened."""
        if self._state() != self._found:
            raise self._changed()

    def _changed(self) -> InputError:
        return InputError("the file changed while it was read", self._source, "run it again when nobody writes to it")


AnyBytes = Bytes | FileBytes


def between(view: AnyBytes, start: int, stop: int | None = None) -> AnyBytes:
    """Return a range of bytes without reading it."""
    return view.between(start, stop) if isinstance(view, FileBytes) else view[start:stop]


_HEAD = 1 << 16
MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# A NUL is legitimate only as a whole cell: some databases write their NULL so.
_NUL_CELL = re.compile(rb"(?:(?<=[,;\t|\"'\r\n])|\A)\x00+(?=[,;\t|\"'\r\n]|\Z)")
_LINES_LOOKED_AT = 400
_LONGEST_LINE = 2000
_MOST_CANDIDATES = 5
# cp932 is Shift JIS with more characters: it is named only where they are used.
_OLDER = {"cp932": ("shift_jis", "cp932")}


def chunks(view: AnyBytes, cancel: CancelToken) -> Iterator[Bytes]:
    """Yield ``view`` in pieces of bounded size, looking for a Cancel between them."""
    for start in range(0, len(view), CHUNK):
        cancel.check()
        yield np.asarray(view[start : start + CHUNK])


@dataclass(frozen=True)
class EncodingGuess:
    """The encoding of a text file, as far as its bytes reveal it."""

    name: str  # the encoding
    # Where that is a guess, the encodings in which the file can be read, the likeliest first.
    likely: tuple[str, ...] = ()
    # Where that is a guess, some of the lines that they read differently. Private.
    lines: tuple[bytes, ...] = field(default=(), repr=False)

    @property
    def certain(self) -> bool:
        """Whether no row could change it."""
        return not self.likely


def guess_encoding(view: AnyBytes, source: str, cancel: CancelToken) -> EncodingGuess:
    """Return the encoding of a text file.

    A byte-order mark decides; then UTF-16 without a mark by its pattern of zero bytes; then UTF-8 if every byte of the
    file is valid in it; then the likeliest of the legacy encodings in which the whole file can be read.

    Raises:
        InputError: the file is not text.
    """
    head = view[:_HEAD].tobytes()
    for mark, name in MARKS:
        if head.startswith(mark):
            return EncodingGuess(name)
    wide = _utf16_without_mark(head) if len(view) % 2 == 0 else None
    if wide is not None:
        return EncodingGuess(wide)
    pieces = _of_text(view, source, cancel)
    if is_utf8(pieces):
        return EncodingGuess("utf-8")
    for _ in pieces:
        pass  # the rest is looked at, too
    lines = _lines_beyond_ascii(view, cancel)
    names: list[str] = []
    held = _bytes_held(view, cancel)
    for name in likely(lines):
        if len(names) < _MOST_CANDIDATES:
            names += [fit for fit in _OLDER.get(name, (name,)) if _fits(view, held, fit, cancel)][:1]
    # Every file can be read as Latin-1, which is cp1252 but for bytes that hardly any text holds.
    names = names if "cp1252" in names else [*names, "latin-1"]
    return EncodingGuess(names[0], tuple(names), tuple(lines))


def _utf16_without_mark(head: bytes) -> str | None:
    """Return which UTF-16 the zero bytes show: of Latin text every other byte is 0, and hardly any between them."""
    even, odd = head[0::2], head[1::2]
    for name, zeros, other in (("utf-16-le", odd, even), ("utf-16-be", even, odd)):
        if len(zeros) > 1 and 2 * zeros.count(0) > len(zeros) and 10 * other.count(0) < len(other):
            return name
    return None


def decode(view: AnyBytes, encoding: str, source: str, *, replace: bool = False) -> str:
    """Return the text of ``view`` without its byte-order mark.

    Args:
        view: the bytes.
        encoding: their encoding.
        source: the name a person uses for the file.
        replace: whether a byte that is not valid becomes U+FFFD, so that no byte of one row refuses the file.

    Raises:
        InputError: a byte is not valid in ``encoding``; the message names its line.
    """
    raw = view.tobytes()
    try:
        text = raw.decode(encoding, "replace" if replace else "strict")
        if replace:
            text = text.encode("utf-8", "replace").decode("utf-8")
        text.encode("utf-8")  # fails for codecs that yield halves of characters
    except UnicodeError as error:
        start = error.start if isinstance(error, UnicodeDecodeError) else 0
        line = raw.count(b"\n", 0, start) + 1
        raise InputError(
            f"the file is not written in {encoding}",
            source,
            state_option("encoding", doing="name its encoding"),
        ).on_line(line) from None
    return text.removeprefix("\ufeff")


def _of_text(view: AnyBytes, source: str, cancel: CancelToken) -> Iterator[Bytes]:
    """Yield a file in pieces.

    Raises:
        InputError: it is not text.
    """
    head = view[:_HEAD]
    control = np.count_nonzero((head < 32) & ~np.isin(head, (0, 9, 10, 11, 12, 13, 26, 27)))
    hint = "give a table as CSV or Parquet"
    for piece in chunks(view, cancel):
        if piece.min() == 0:
            raw = piece.tobytes()
            if sum(len(cell) for cell in _NUL_CELL.findall(raw)) != raw.count(0):
                raise InputError("the file is not text (it has zero bytes)", source, hint)
        yield piece
    if control > 0.02 * len(head) + 1:
        raise InputError("the file is not text (it has control characters)", source, hint)


def is_utf8(pieces: Iterable[Bytes]) -> bool:
    """Whether every byte is part of a valid UTF-8 character."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    pending = False
    try:
        for piece in pieces:
            if pending or piece.max() >= 128:
                decoder.decode(piece.tobytes())
                pending = bool(decoder.getstate()[0])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _lines_beyond_ascii(view: AnyBytes, cancel: CancelToken) -> list[bytes]:
    """Return the first few different lines that hold a byte above 127, each from 200 bytes before the first such byte.

    No line begins within a character: what precedes the first byte above 127 is ASCII.
    """
    lines: dict[bytes, None] = {}
    offset, within = 0, False
    for piece in chunks(view, cancel):
        high, ends = np.flatnonzero(piece >= 128), np.flatnonzero((piece == 10) | (piece == 13))
        after = 0
        if within and len(ends):
            after, within = int(ends[0]) + 1, False
        while not within and len(lines) < _LINES_LOOKED_AT and (k := int(np.searchsorted(high, after))) < len(high):
            at = int(high[k])
            line = int(np.searchsorted(ends, at))
            within = line == len(ends)
            after = len(piece) if within else int(ends[line]) + 1
            before = view[max(offset + at - 200, 0) : offset + at].tobytes()
            rest = view[offset + at : offset + at + _LONGEST_LINE].tobytes()
            lines[re.split(rb"[\r\n]", before)[-1] + re.split(rb"[\r\n]", rest, maxsplit=1)[0]] = None
        if len(lines) >= _LINES_LOOKED_AT:
            break
        offset += len(piece)
    return list(lines)


def _bytes_held(view: AnyBytes, cancel: CancelToken) -> bytes:
    """Return the different bytes of ``view``."""
    counts = sum((np.bincount(piece, minlength=256) for piece in chunks(view, cancel)), np.zeros(256, np.int64))
    return bytes(np.flatnonzero(counts).tolist())


def _fits(view: AnyBytes, held: bytes, encoding: str, cancel: CancelToken) -> bool:
    """Whether the whole of ``view``, whose different bytes are ``held``, can be read in ``encoding``."""
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        if encoding not in SEVERAL_BYTES:
            held.decode(encoding)  # one byte is one character, wherever it is
            return True
        for piece in chunks(view, cancel):
            decoder.decode(piece.tobytes())
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True
