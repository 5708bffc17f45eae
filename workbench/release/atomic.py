"""Atomic file writes (a temporary name, fsync, rename, fsync of the folder), locks, and the digest of a file."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import glob
import hashlib
import os
import re
import secrets
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Self

from workbench.params import InputError

PART = ".tmp.part"
"""How a temporary name of a plain output ends; those of draws end otherwise, so that neither takes the other away."""

LOCK = ".lock"  # a file in a folder that is locked in its place, where the system locks no folder

WINDOWS = os.name == "nt"

_HERE, _EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of renameat2(2)

_UNNAMED: set[Path] = set()


def sync_folder(folder: Path) -> None:
    """Make renames in ``folder`` durable (a rename is durable only then; Windows has no such call and no need)."""
    if WINDOWS:
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_error(error: OSError, path: Path) -> InputError:
    """Return the sentence for an operating-system error while writing ``path``."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return InputError("the disk is full", str(path), "free some space and run it again")
    if error.errno in (errno.ENOENT, errno.ENOTDIR) and not os.path.isdir(path.parent):
        return InputError(
            "the folder of the output does not exist", str(path), "create it, or choose another", code="output-place"
        )
    if error.errno == errno.EISDIR:
        return InputError("the output is a folder", str(path), "give a file name")
    reason = error.strerror or type(error).__name__
    return InputError(
        f"the output cannot be written: {reason}", str(path), "choose a place you may write to", code="output-place"
    )


def require_file(target: Path) -> None:
    """Refuse an output that exists and is not a file: renaming would replace it.

    Raises:
        InputError: it is a folder, a device or a pipe.
    """
    if os.path.isdir(target):
        raise InputError("the output is a folder", str(target), "give a file name")
    if os.path.exists(target) and not os.path.isfile(target):
        raise InputError("the output is a device or a pipe", str(target), "give a file name")


class PartFile:
    """An output under a temporary name beside its final one, readable by its owner alone.

    Use it as a context manager: leaving the block without :meth:`publish` removes the temporary file. What killed
    runs left of the same output is removed when it is made.

    Attributes:
        target: the final name.
        path: the temporary name.
        stream: binary stream to write to.
    """

    def __init__(self, target: Path, *, private: bool = False) -> None:
        """Make the temporary file.

        Args:
            target: the final name.
            private: whether nobody else may read it there either.

        Raises:
            InputError: the output is no file or cannot be written.
        """
        self.target, self._private = target, private
        require_file(target)
        remove_stale_parts(target)
        self.path, descriptor = create_locked(target, PART, new_file)
        self.stream: IO[bytes] = os.fdopen(descriptor, "w+b")
        self._renamed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
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
        """Close the stream; a full disk may be reported only here, when the file is being discarded anyway."""
        with contextlib.suppress(OSError):
            self.stream.close()

    def sync(self) -> None:
        """Make what was written durable under the temporary name."""
        self.stream.flush()
        os.fsync(self.stream.fileno())

    def publish(self) -> None:
        """Rename the file to its final name, durably."""
        if not self._private:
            os.chmod(self.path, public_mode())
        self.sync()
        if WINDOWS:  # an open file cannot be renamed there
            self.stream.close()
        self._renamed = True
        os.replace(self.path, self.target)
        self.close()
        sync_folder(self.target.parent)


def write_output(target: Path, data: bytes, *, private: bool = False) -> None:
    """Write a file named by the user, so that it appears complete or not at all; a private one only its owner can read.

    Raises:
        InputError: it is no file or cannot be written.
    """
    require_file(target)
    try:
        if not private:
            write_whole(target, data)
            return
        with PartFile(target, private=True) as part:
            part.stream.write(data)
            part.publish()
    except OSError as error:
        raise write_error(error, target) from None


def write_whole(target: Path, data: bytes) -> None:
    """Write a small file so that it appears complete or not at all, without a temporary name where possible.

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
            # A link cannot replace a name, a rename can: the old file stays until the very moment of the new one.
            part = part_name(target, PART)
            try_lock(descriptor, otherwise=True)  # so that nobody takes it for stale
            _link(descriptor, part)
            try:
                os.replace(part, target)
            finally:
                part.unlink(missing_ok=True)
    finally:
        os.close(descriptor)
    sync_folder(target.parent)


def _link(descriptor: int, name: Path) -> None:
    try:
        # Naming a folder makes this linkat(2) with AT_SYMLINK_FOLLOW, the only call that links a descriptor.
        os.link(f"/proc/self/fd/{descriptor}", name, src_dir_fd=descriptor, follow_symlinks=True)
    except FileExistsError:
        raise
    except OSError as error:
        raise _NoAnonymousFilesError from error


def remove_stale_parts(target: Path, *, folders: bool = False) -> None:
    """Remove temporary files (or folders) of ``target`` that a killed run left; those of a running one are locked."""
    for path in temporary_files(target, PART):
        if path.is_dir() and not path.is_symlink() if folders else path.is_file():
            with contextlib.suppress(OSError), exclusive_lock(path) as free:
                if free:
                    remove_path(path)


def remove_path(path: Path) -> None:
    """Remove a file, a link or a folder with everything in it."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def exclusive_lock(path: Path, *, otherwise: bool = False) -> Iterator[bool]:
    """Lock a file or folder for the block; yield whether nobody else had it locked, ``otherwise`` without locks."""
    with contextlib.ExitStack() as opened:
        descriptor = open_to_lock(path)
        opened.callback(os.close, descriptor)
        free = try_lock(descriptor, otherwise=otherwise)
        if WINDOWS:  # an open file can be neither removed there nor read by its name; what uses it has it open, too
            opened.close()
        yield free


def open_to_lock(path: Path) -> int:
    """Open a file or a folder so that it can be locked; Windows opens no folder, so a file in it is opened."""
    if WINDOWS and path.is_dir():
        return os.open(path / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    return os.open(path, os.O_RDONLY)


def try_lock(descriptor: int, *, otherwise: bool) -> bool:
    """Lock what is open until it is closed, also by the death of this process; return whether nobody else had it."""
    from filelock import lock_descriptor

    try:
        return lock_descriptor(descriptor, blocking=False)
    except OSError:  # the file system has no locks
        return otherwise


def temporary_files(target: Path, ending: str) -> list[Path]:
    """Return everything under a temporary name of ``target`` that ends so."""
    name = re.compile(re.escape(target.name) + r"\.[0-9a-f]{8}" + re.escape(ending))
    found = target.parent.glob(f"{glob.escape(target.name)}.????????{ending}")
    return sorted(p for p in found if name.fullmatch(p.name))


def part_name(target: Path, ending: str) -> Path:
    """Return a fresh temporary name of ``target``."""
    return target.with_name(f"{target.name}.{secrets.token_hex(4)}{ending}")


def swap_names(one: Path, other: Path) -> bool:
    """Let two files or folders change names in one step, and return whether this system can do that.

    Raises:
        OSError: it can, but not here.
    """
    renameat2 = None if sys.platform != "linux" else getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if renameat2 is None:
        return False
    if renameat2(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0:
        return True
    error = ctypes.get_errno()
    if error in (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP):  # the file system has no such call
        return False
    raise OSError(error, os.strerror(error), str(other))


def create_locked(target: Path, ending: str, make: Callable[[Path], int], again: str = "") -> tuple[Path, int]:
    """Create a temporary file or folder, by ``again`` if not by a fresh name, and lock it; return it as ``make`` does.

    It is tried again where another process removed it as stale in between.

    Raises:
        InputError: it cannot be made.
    """
    while True:
        path = target.with_name(again) if again else part_name(target, ending)
        try:
            made = make(path)
        except OSError as error:
            raise write_error(error, target) from None
        _UNNAMED.add(path)
        if try_lock(made, otherwise=True) and path.exists():
            return path, made
        os.close(made)


def keep_temporary(path: Path) -> None:
    """Take note that what is under a temporary name is finished, and stays if this program is ended."""
    _UNNAMED.discard(path)


def remove_temporary() -> None:
    """Remove whatever this program wrote under temporary names and has not finished: the program is being ended."""
    for path in tuple(_UNNAMED):
        with contextlib.suppress(OSError):
            remove_path(path)


def new_file(path: Path) -> int:
    """Create a file that only its owner can read, and therefore lock; return its descriptor."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)


def write_new(path: Path, data: bytes) -> None:
    """Create a file that only its owner can read, durably; its name is durable once its folder is."""
    with os.fdopen(new_file(path), "wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file's bytes; only for public files, or for hashes that are never published."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def public_mode() -> int:
    """Return the mode of a new file that others may read as far as the person's umask lets them."""
    return 0o666 & ~_umask()


def _umask() -> int:
    try:
        # Asking the system's call for it would change it for a moment, for every thread.
        with open("/proc/self/status", encoding="ascii", errors="replace") as status:
            return next(int(line.split()[1], 8) for line in status if line.startswith("Umask:"))
    except (OSError, StopIteration, ValueError):
        mask = os.umask(0o022)
        os.umask(mask)
        return mask
