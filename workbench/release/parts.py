"""A draw under its temporary name, ``OUTPUT.XXXXXXXX.part`` beside the output, readable by its owner alone.

A table's part is a file (0600), a model's a folder (0700) of such files. Space is reserved while the part is still
blank, so that a disk that is too small is noticed before anything is drawn. A finished draw that could not be given
its name stays under its part name, and the next run publishes it (:mod:`workbench.release.ledger.recover`).
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from workbench.params import InputError
from workbench.release.atomic import (
    PART,
    claimed,
    locked,
    new_file,
    parts_of,
    public_mode,
    sole_user,
    sync_folder,
    write_error,
)

ENDING = ".part"
PRIVATE = "private"
"""Sub-folder of a model for figures computed from private rows; not part of the release."""

_ROOM = ".room"


def draw_parts(target: Path) -> list[Path]:
    """Return everything that a run left of a draw for ``target``."""
    return parts_of(target, ENDING)


def is_blank(part: Path) -> bool:
    """Return whether a part contains only reserved space: no draw begins with a zero byte."""
    if part.is_dir():
        return all(f.name == _ROOM for f in part.iterdir())
    with part.open("rb") as stream:
        return not stream.read(4096).strip(b"\0")


def keep_room(descriptor: int, size: int, target: Path) -> None:
    """Reserve ``size`` bytes for an open file, or raise :class:`InputError` where the disk has no room for them."""
    free = shutil.disk_usage(target.parent).free
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(descriptor, 0, max(1, size))
            return
        if size <= free:
            return
    except OSError as error:
        if error.errno in (errno.EOPNOTSUPP, errno.EINVAL) and size <= free:
            return
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EOPNOTSUPP, errno.EINVAL):
            raise write_error(error, target) from None
    raise InputError(
        f"the disk is too full for this release: it may need {_megabytes(size)} MB and {_megabytes(free)} MB are free",
        str(target),
        "free some space or name another place; nothing was drawn and nothing is charged",
    )


class _Part:
    """Common base of a table's and a model's part: it is removed at the end of its block unless it is kept."""

    target: Path
    path: Path
    _kept: bool

    def __enter__(self) -> Self:
        return self

    @contextlib.contextmanager
    def kept_if_well(self) -> Iterator[None]:
        """Keep the part if the block, which records the finished draw in the ledger, succeeds."""
        self._kept = True
        try:
            yield
        except BaseException:
            self._kept = False
            raise

    def discard(self) -> None:
        """Mark the part for removal at the end of its block."""
        self._kept = False


class DrawFile(_Part):
    """The part of a table. Use it as a context manager: what is not published or kept is removed.

    Attributes:
        target: the final name.
        path: the temporary name.
        bytes: how many bytes were written.
    """

    def __init__(self, target: Path, room: int) -> None:
        """Create the part and reserve ``room`` bytes.

        Raises:
            InputError: the output is a folder, cannot be replaced or written, or the disk is too full.
        """
        self.target = target
        self._kept = False
        if os.path.isdir(target):
            raise InputError("the output is a folder", str(target), "name a file")
        _require_replaceable(target)
        try:
            self.path, descriptor = claimed(target, ENDING, new_file)
        except OSError as error:
            raise write_error(error, target) from None
        self._stream: IO[bytes] = os.fdopen(descriptor, "w+b")
        self._hash = hashlib.sha256()
        self.bytes = 0
        try:
            keep_room(descriptor, room, target)
        except BaseException:
            self.__exit__(None, None, None)
            raise

    @classmethod
    def reopened(cls, path: Path, target: Path) -> Self | None:
        """Return the part that an earlier run left, or ``None`` while another process has it open."""
        made = cls.__new__(cls)
        made.target, made.path, made._kept = target, path, True
        made._stream = path.open("r+b")
        made._hash = hashlib.sha256()
        made.bytes = path.stat().st_size
        if not locked(made._stream.fileno(), otherwise=True):
            made._stream.close()
            return None
        while chunk := made._stream.read(1 << 20):
            made._hash.update(chunk)
        return made

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):  # a full disk may be reported only here; then the part goes anyway
            self._stream.close()
        if not self._kept:
            self.path.unlink(missing_ok=True)

    @property
    def sha256(self) -> str:
        """SHA-256 of what was written."""
        return self._hash.hexdigest()

    def write(self, data: bytes) -> None:
        """Write the next bytes of the draw; its charge must be final."""
        self._stream.write(data)
        self._hash.update(data)
        self.bytes += len(data)

    def finish(self) -> None:
        """Release unused reserved space and make what was written durable."""
        self._stream.flush()
        os.ftruncate(self._stream.fileno(), self.bytes)
        os.fsync(self._stream.fileno())

    def publish(self) -> None:
        """Give the file its final name, durably.

        Raises:
            OSError: it could not be renamed; the part stands as before.
        """
        os.chmod(self.path, public_mode())
        if os.name == "nt":  # an open file cannot be renamed there
            self._stream.close()
        try:
            os.replace(self.path, self.target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.chmod(self.path, 0o600)
            raise
        sync_folder(self.target.parent)


class DrawFolder(_Part):
    """The part of a model: a folder that appears whole. Use it as a context manager, as :class:`DrawFile`.

    Attributes:
        target: the final name.
        path: the temporary name.
    """

    def __init__(self, target: Path, room: int, ending: str = ENDING) -> None:
        """Create the part and reserve ``room`` bytes; its name has an ``ending``.

        Raises:
            InputError: ``target`` exists and is not an empty folder, cannot be written, or the disk is too full.
        """
        self.target = target
        self._kept = False
        require_free(target)
        try:
            self.path, self._lock = claimed(target, ending, _new_folder)
        except OSError as error:
            raise write_error(error, target) from None
        try:
            self._reserve(_ROOM, room)
        except BaseException:
            self.__exit__(None, None, None)
            raise

    @classmethod
    def reopened(cls, path: Path, target: Path) -> Self | None:
        """Return the part that an earlier run left, or ``None`` while another process has it open."""
        made = cls.__new__(cls)
        made.target, made.path, made._kept = target, path, True
        made._lock = _opened(path)
        if made._lock is not None and not locked(made._lock, otherwise=True):
            os.close(made._lock)
            return None
        return made

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._kept:
            shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)

    def reserve(self, files: Mapping[str, bytes]) -> None:
        """Reserve the space of ``files`` before a byte of them is written.

        Raises:
            InputError: the disk is too full for them.
        """
        (self.path / _ROOM).unlink(missing_ok=True)
        self._reserve(_ROOM, sum(len(data) + 4096 for data in files.values()))

    def write(self, files: Mapping[str, bytes]) -> None:
        """Write ``files`` durably, named by their paths inside the folder; their charge is final by now."""
        (self.path / _ROOM).unlink(missing_ok=True)
        for name, data in files.items():
            file = self.path / name
            file.parent.mkdir(mode=0o700, exist_ok=True)
            with os.fdopen(new_file(file), "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
        for folder in (self.path, *(f for f in self.path.iterdir() if f.is_dir())):
            sync_folder(folder)

    def publish(self) -> None:
        """Rename the folder durably; other users may read its released files, but not the private ones.

        Raises:
            OSError: it could not be renamed; the part stands as before.
        """
        files = [f for f in self.path.iterdir() if f.is_file()]
        try:
            for file in files:
                os.chmod(file, public_mode())
            os.chmod(self.path, public_mode() | (public_mode() & 0o444) >> 2)
            if self.target.is_dir():
                self.target.rmdir()
            os.replace(self.path, self.target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.chmod(self.path, 0o700)
            raise
        sync_folder(self.target.parent)

    def _reserve(self, name: str, size: int) -> None:
        descriptor = new_file(self.path / name)
        try:
            keep_room(descriptor, size, self.target)
        finally:
            os.close(descriptor)


def remove_stale_folders(target: Path) -> None:
    """Remove temporary folders of ``target`` that a killed run left and that no charge stands for."""
    for path in parts_of(target, PART):
        if path.is_dir() and not path.is_symlink():
            with contextlib.suppress(OSError), sole_user(path, otherwise=os.name == "nt") as free:
                if free:
                    shutil.rmtree(path)


def require_free(target: Path) -> None:
    """Raise :class:`InputError` unless ``target`` can become the folder of a model."""
    if os.path.lexists(target) and (not target.is_dir() or any(target.iterdir())):
        raise InputError("the output folder exists already", str(target), "name a new one", code="output-exists")


def _require_replaceable(target: Path) -> None:
    """Refuse another user's file in a folder where only owners may replace files: the rename would fail."""
    if os.name == "nt" or not os.path.lexists(target) or os.geteuid() == 0:
        return
    folder = target.parent.stat()
    if folder.st_mode & stat.S_ISVTX and os.geteuid() not in (folder.st_uid, target.lstat().st_uid):
        raise InputError("the output belongs to somebody else", str(target), "name another file")


def _new_folder(path: Path) -> int | None:
    path.mkdir(mode=0o700)
    return _opened(path)


def _opened(folder: Path) -> int | None:
    return None if os.name == "nt" else os.open(folder, os.O_RDONLY)


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f}"
