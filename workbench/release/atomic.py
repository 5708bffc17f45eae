"""Files that appear whole or not at all: a temporary name, fsync, rename, fsync of the folder."""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Self, TypeVar

from workbench.params import InputError

PART = ".part"
_PART_NAME = re.compile(r"\.[0-9a-f]{8}\.part\Z")
_PATIENCE = 20.0
"""Seconds to wait for another process that is just giving its files their names."""

T = TypeVar("T")


def sync_folder(folder: Path) -> None:
    """Make renames in ``folder`` durable (a rename is durable only then; Windows has no such call and no need)."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_error(error: OSError, path: Path) -> InputError:
    """Return the sentence for an operating-system error while writing ``path``."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return InputError("the disk is full", str(path), "free some space and run it again; nothing was released")
    if error.errno in (errno.ENOENT, errno.ENOTDIR) and not os.path.isdir(path.parent):
        return InputError("the folder of the output does not exist", str(path), "make it, or name another")
    if error.errno == errno.EISDIR:
        return InputError("the output is a folder", str(path), "name a file")
    reason = error.strerror or type(error).__name__
    return InputError(f"the output cannot be written: {reason}", str(path), "name a place you may write to")


class PartFile:
    """An output under its temporary name ``OUT.ID.part``, beside where it will stand.

    Use it as a context manager: leaving the block without :meth:`publish` removes the temporary file. What killed
    runs left of the same output is removed when it is made.

    Attributes:
        target: the final name.
        path: the temporary name.
        stream: binary stream to write to.
    """

    def __init__(self, target: Path) -> None:
        """Make the temporary file.

        Raises:
            InputError: the output is a folder or cannot be written.
        """
        self.target = target
        if os.path.isdir(target):
            raise InputError("the output is a folder", str(target), "name a file")
        remove_stale_parts(target)
        try:
            self.path, descriptor = _claimed(target, _new_file)
        except OSError as error:
            raise write_error(error, target) from None
        self.stream: IO[bytes] = os.fdopen(descriptor, "w+b")
        self._renamed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        if not self.published:
            self._renamed = False
            self.path.unlink(missing_ok=True)

    @property
    def published(self) -> bool:
        """Whether the file has its final name: asked for, and the temporary name is gone.

        It holds also where the call that renamed it was interrupted or failed afterwards.
        """
        return self._renamed and not os.path.lexists(self.path)

    def close(self) -> None:
        """Close the stream; a full disk may be reported only here, and then the file is thrown away anyway."""
        with contextlib.suppress(OSError):
            self.stream.close()

    def sync(self) -> None:
        """Make what was written durable under the temporary name."""
        self.stream.flush()
        os.fsync(self.stream.fileno())

    def give_up(self) -> None:
        """Give the space back and keep the name: on a full disk the ledger needs room to record the failure."""
        with contextlib.suppress(OSError, ValueError):  # ValueError: the stream is closed
            os.ftruncate(self.stream.fileno(), 0)

    def publish(self) -> None:
        """Give the file its final name, durably."""
        self.sync()
        if os.name == "nt":  # an open file cannot be renamed there
            self.stream.close()
        self._renamed = True
        os.replace(self.path, self.target)
        self.close()
        sync_folder(self.target.parent)


def write_output(target: Path, data: bytes) -> None:
    """Write a file that a person named, so that it appears whole.

    Raises:
        InputError: it is a folder or cannot be written.
    """
    if os.path.isdir(target):
        raise InputError("the output is a folder", str(target), "name a file")
    try:
        write_whole(target, data)
    except OSError as error:
        raise write_error(error, target) from None


def write_whole(target: Path, data: bytes) -> None:
    """Write a small file so that it appears whole, if the system allows without a second temporary name.

    On Linux the file is anonymous until it is linked, so that a kill leaves nothing; elsewhere it has a ``.part``
    name for the moment of its writing.

    Raises:
        InputError: its folder does not exist or cannot be written.
        OSError: it could not be written.
    """
    remove_stale_parts(target)
    if hasattr(os, "O_TMPFILE"):
        with contextlib.suppress(_NoAnonymousFilesError):
            _write_anonymous(target, data)
            return
    with PartFile(target) as part:
        part.stream.write(data)
        part.publish()


class _NoAnonymousFilesError(Exception):
    """The file system has no anonymous files."""


def _write_anonymous(target: Path, data: bytes) -> None:
    try:
        descriptor = os.open(target.parent, os.O_TMPFILE | os.O_WRONLY, 0o644)
    except OSError as error:
        if error.errno in (errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL):
            raise _NoAnonymousFilesError from None
        raise
    try:
        with os.fdopen(descriptor, "wb", closefd=False) as stream:
            stream.write(data)
        os.fsync(descriptor)
        try:
            _link(descriptor, target)
        except FileExistsError:
            # A link cannot replace a name, a rename can: the old file stands until the very moment of the new one.
            part = _part_name(target)
            _locked(descriptor, otherwise=True)  # so that nobody takes it for stale
            _link(descriptor, part)
            try:
                os.replace(part, target)
            finally:
                part.unlink(missing_ok=True)
    finally:
        os.close(descriptor)
    sync_folder(target.parent)


def _link(descriptor: int, name: Path) -> None:
    """Name an anonymous file."""
    try:
        # Naming a folder makes this linkat(2) with AT_SYMLINK_FOLLOW, the only call that links a descriptor.
        os.link(f"/proc/self/fd/{descriptor}", name, src_dir_fd=descriptor, follow_symlinks=True)
    except FileExistsError:
        raise
    except OSError as error:
        raise _NoAnonymousFilesError from error


def remove_stale_parts(target: Path) -> None:
    """Remove temporary files of ``target`` that a killed run left; those of a running one are locked."""
    for path in _parts(target):
        if path.is_file():
            # Windows lets nobody remove a file that is open, so trying is safe there.
            with contextlib.suppress(OSError), sole_user(path, otherwise=os.name == "nt") as free:
                if free:
                    path.unlink()


@contextlib.contextmanager
def part_folder(target: Path) -> Iterator[Path]:
    """Yield a temporary folder that takes the name ``target`` if the block ends well, and is removed if not.

    Raises:
        InputError: ``target`` exists and is not an empty folder, or cannot be written.
    """
    if os.path.exists(target) and (not target.is_dir() or any(target.iterdir())):
        raise InputError("the output folder exists already", str(target), "name a new one")
    for path in _parts(target):
        if path.is_dir():
            with contextlib.suppress(OSError), sole_user(path, otherwise=False) as free:
                if free:
                    shutil.rmtree(path)
    try:
        part, descriptor = _claimed(target, _new_folder)
    except OSError as error:
        raise write_error(error, target) from None
    try:
        yield part
        _sync_tree(part)
        if target.is_dir():
            target.rmdir()
        os.replace(part, target)
        sync_folder(target.parent)
    except OSError as error:
        raise write_error(error, target) from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
        if descriptor is not None:
            os.close(descriptor)


def _sync_tree(part: Path) -> None:
    inside = list(part.rglob("*"))
    for file in (f for f in inside if f.is_file()):
        with file.open("rb+") as stream:
            os.fsync(stream.fileno())
    for folder in (part, *(f for f in inside if f.is_dir())):
        sync_folder(folder)


@contextlib.contextmanager
def naming(folder: Path) -> Iterator[None]:
    """Let one process at a time give files in ``folder`` their names, so that two files that belong together do.

    Raises:
        InputError: another process does not finish.
    """
    patience = time.monotonic() + _PATIENCE
    while True:
        with sole_user(folder, otherwise=True) as free:
            if free:
                yield
                return
        if time.monotonic() > patience:
            raise InputError("another release into this folder does not finish", str(folder), "wait for it, or end it")
        time.sleep(0.01)


@contextlib.contextmanager
def sole_user(path: Path, *, otherwise: bool) -> Iterator[bool]:
    """Lock a file or folder for the block, if nobody else has; yield whether that is so.

    Args:
        path: what exists.
        otherwise: what to say where the file system has no locks, and on Windows, which locks neither (an open file
            cannot be removed there, which serves the same end).
    """
    if os.name == "nt":
        yield otherwise
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        yield _locked(descriptor, otherwise=otherwise)
    finally:
        os.close(descriptor)


def _locked(descriptor: int, *, otherwise: bool) -> bool:
    """Lock an open file or folder until it is closed; return whether nobody else had it locked."""
    try:
        import fcntl
    except ImportError:  # Windows
        return otherwise
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return otherwise
    return True


def _parts(target: Path) -> list[Path]:
    """Return everything under a temporary name of ``target``."""
    found = target.parent.glob(f"{glob.escape(target.name)}.????????{PART}")
    return [p for p in found if _PART_NAME.search(p.name)]


def _part_name(target: Path) -> Path:
    return target.with_name(f"{target.name}.{secrets.token_hex(4)}{PART}")


def _claimed(target: Path, make: Callable[[Path], T]) -> tuple[Path, T]:
    """Make something under a temporary name and lock it, again if another process took it for stale in between."""
    while True:
        path = _part_name(target)
        made = make(path)
        if not isinstance(made, int) or (_locked(made, otherwise=True) and path.exists()):
            return path, made
        os.close(made)


def _new_file(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o644)


def _new_folder(path: Path) -> int | None:
    path.mkdir()
    return None if os.name == "nt" else os.open(path, os.O_RDONLY)
