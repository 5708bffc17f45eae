"""Files that appear whole or not at all: a temporary name, fsync, rename, fsync of the folder."""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from workbench.params import InputError

PART = ".part"


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
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return InputError("the folder of the output does not exist", str(path), "make it, or name another")
    if error.errno == errno.EISDIR:
        return InputError("the output is a folder", str(path), "name a file")
    reason = error.strerror or type(error).__name__
    return InputError(f"the output cannot be written: {reason}", str(path), "name a place you may write to")


class PartFile:
    """An output under its temporary name ``OUT.ID.part``, beside where it will stand.

    Use it as a context manager: leaving the block without :meth:`publish` removes the temporary file.

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
        if target.is_dir():
            raise InputError("the output is a folder", str(target), "name a file")
        self.path = target.with_name(f"{target.name}.{secrets.token_hex(4)}{PART}")
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o644)
        except OSError as error:
            raise write_error(error, target) from None
        self.stream: IO[bytes] = os.fdopen(descriptor, "w+b")
        self.published = False
        _lock(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        if not self.published:
            self.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the stream; a full disk may be reported only here, and then the file is thrown away anyway."""
        with contextlib.suppress(OSError):
            self.stream.close()

    def sync(self) -> None:
        """Make what was written durable under the temporary name."""
        self.stream.flush()
        os.fsync(self.stream.fileno())

    def publish(self) -> None:
        """Give the file its final name, durably."""
        self.sync()
        if os.name == "nt":  # an open file cannot be renamed there
            self.stream.close()
        os.replace(self.path, self.target)
        self.published = True
        self.close()
        sync_folder(self.target.parent)


def _lock(descriptor: int) -> bool:
    """Lock an open temporary file for the life of its writer; return whether nobody else had it locked."""
    try:
        import fcntl
    except ImportError:  # Windows: an open file cannot be removed by another process, which serves the same end
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def remove_stale_parts(target: Path) -> None:
    """Remove temporary files of ``target`` that a killed run left; those of a running one are locked."""
    for path in target.parent.glob(f"{glob.escape(target.name)}.????????{PART}"):
        if not path.is_file():
            continue
        with contextlib.suppress(OSError), path.open("rb+") as stream:
            if _lock(stream.fileno()):
                path.unlink()


def write_whole(target: Path, data: bytes) -> None:
    """Write a small file so that it appears whole, if the system allows without a second temporary name.

    On Linux the file is anonymous until it is linked, so that a kill leaves nothing; elsewhere it has a ``.part``
    name for the moment of its writing.

    Raises:
        OSError: it could not be written.
    """
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
        # A link cannot replace a name: an older certificate goes first, its data file stays as it was.
        target.unlink(missing_ok=True)
        try:
            # Naming a folder makes this linkat(2) with AT_SYMLINK_FOLLOW, the only call that links a descriptor.
            os.link(f"/proc/self/fd/{descriptor}", target, src_dir_fd=descriptor, follow_symlinks=True)
        except OSError as error:
            raise _NoAnonymousFilesError from error
    finally:
        os.close(descriptor)
    sync_folder(target.parent)


@contextlib.contextmanager
def part_folder(target: Path) -> Iterator[Path]:
    """Yield a temporary folder that takes the name ``target`` if the block ends well, and is removed if not.

    Raises:
        InputError: ``target`` exists and is not an empty folder, or cannot be written.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError("the output folder exists already", str(target), "name a new one")
    _remove_stale_folders(target)
    part = target.with_name(f"{target.name}.{secrets.token_hex(4)}{PART}")
    try:
        part.mkdir()
    except OSError as error:
        raise write_error(error, target) from None
    try:
        with _locked_folder(part):
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


def _sync_tree(part: Path) -> None:
    inside = list(part.rglob("*"))
    for file in (f for f in inside if f.is_file()):
        with file.open("rb+") as stream:
            os.fsync(stream.fileno())
    for folder in (part, *(f for f in inside if f.is_dir())):
        sync_folder(folder)


@contextlib.contextmanager
def _locked_folder(folder: Path) -> Iterator[bool]:
    """Lock ``folder`` for the block; yield whether nobody else had it. Windows cannot lock one: it says no."""
    if os.name == "nt":
        yield False
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        yield _lock(descriptor)
    finally:
        os.close(descriptor)


def _remove_stale_folders(target: Path) -> None:
    for path in target.parent.glob(f"{glob.escape(target.name)}.????????{PART}"):
        if path.is_dir():
            with contextlib.suppress(OSError), _locked_folder(path) as free:
                if free:
                    shutil.rmtree(path)
