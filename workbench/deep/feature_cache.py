"""Cache on disk for the features that a frozen, public part of a network computes from private rows.

They are functions of the rows, hence as private as these: the files are the owner's alone, in the user's cache folder,
and nothing of them is ever released. A set is named by a keyed hash of the rows and of the frozen part, so that other
rows or another part never find it, and its name, seen without the random key beside it, shows nothing of the rows. Each
block of rows is a file with its own digest: an interrupted run goes on where it stopped,
and a damaged block is computed again.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from workbench.paths import user_cache

LIMIT = 4 * 2**30  # bytes of all kept features; those that were not used for the longest time go first

BLOCK = 512  # rows in a file

_SPARE = 2 * 2**30  # bytes that are left free on the disk

KEY = "names.key"  # the file of the key that sets are named with

_DIGEST = 32
_ENDING = ".features"

Rows = NDArray[np.float32]


@dataclass(frozen=True)
class CacheState:
    """What is kept."""

    folder: Path  # where
    sets: int  # features of how many sets of rows
    size: int  # bytes of all of them


class FeatureCache:
    """The kept features of one set of rows, made by one frozen part."""

    def __init__(self, inputs: Rows, frozen: str, width: int, folder: Path | None = None) -> None:
        self._rows, self._width = len(inputs), width
        self._root = folder or user_cache("features")
        size = 4 * width * self._rows
        key = _key(self._root) if size <= LIMIT else None
        digest = hmac.new(key or b"", f"{frozen}\0{inputs.shape}\0{width}\0".encode(), hashlib.sha256)
        digest.update(np.ascontiguousarray(inputs).data)
        self._folder = self._root / digest.hexdigest()
        self._usable = key is not None and self._ready(size)

    def block(self, start: int, make: Callable[[], Rows]) -> Rows:
        """Return the features of the rows from ``start`` on, kept or made now; at most :data:`BLOCK` rows.

        A disk that is full or cannot be written is no error: the features are made each time.
        """
        stop = min(self._rows, start + BLOCK)
        if not self._usable:
            return make()
        path = self._folder / f"{start}{_ENDING}"
        kept = self._read(path, stop - start)
        if kept is not None:
            return kept
        made = make()
        self._usable = _written(path, made)
        return made

    def _ready(self, size: int) -> bool:
        """Make room and the folder; return whether features may be kept."""
        try:
            _make_room(self._root, LIMIT - size, self._folder)
            if shutil.disk_usage(self._root).free < size + _SPARE:
                return False
            self._folder.mkdir(mode=0o700, exist_ok=True)
            os.utime(self._folder)
        except OSError:
            return False
        return True

    def _read(self, path: Path, rows: int) -> Rows | None:
        try:
            data = path.read_bytes()
        except OSError:
            return None
        stated, body = data[:_DIGEST], memoryview(data)[_DIGEST:]
        if len(body) != 4 * rows * self._width or hashlib.sha256(body).digest() != stated:
            return None
        return np.frombuffer(body, np.float32).reshape(rows, self._width)


def _key(root: Path) -> bytes | None:
    """Return the random key of the names in ``root``, made with the folder; ``None`` where none can be kept."""
    path = root / KEY
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        root.chmod(0o700)
        if not path.exists():
            handle, temporary = tempfile.mkstemp(dir=root)  # the owner's alone
            with os.fdopen(handle, "wb") as stream:
                stream.write(secrets.token_bytes(_DIGEST))
            try:
                os.link(temporary, path)  # whole from the start, and never in place of another run's
            except FileExistsError:
                pass
            finally:
                os.unlink(temporary)
            for former in _sets(root):  # their names were made without this key
                shutil.rmtree(former, ignore_errors=True)
        key = path.read_bytes()
    except OSError:
        return None
    return key if len(key) == _DIGEST else None


def cache_state(folder: Path | None = None) -> CacheState:
    """Return what is kept."""
    root = folder or user_cache("features")
    sets = _sets(root)
    return CacheState(root, len(sets), sum(_size(path) for path in sets))


def clear(folder: Path | None = None) -> CacheState:
    """Remove all kept features; return what was there."""
    before = cache_state(folder)
    for path in _sets(before.folder):
        shutil.rmtree(path)
    (before.folder / KEY).unlink(missing_ok=True)
    return before


def _sets(root: Path) -> list[Path]:
    """Return the folders of features; nothing else in the cache folder is looked at or removed."""
    if not root.is_dir():
        return []
    names = (path for path in root.iterdir() if len(path.name) == 64 and not path.is_symlink() and path.is_dir())
    return [path for path in names if all(c in "0123456789abcdef" for c in path.name)]


def _size(path: Path) -> int:
    total = 0
    for file in path.iterdir():
        with contextlib.suppress(OSError):  # another run has just removed it
            total += file.stat().st_size
    return total


def _make_room(root: Path, most: int, keep: Path) -> None:
    """Remove the sets that were not used for the longest time until the others take at most ``most`` bytes."""
    others = sorted((path for path in _sets(root) if path != keep), key=lambda path: path.stat().st_mtime)
    sizes = [_size(path) for path in others]
    total = sum(sizes)
    for path, size in zip(others, sizes, strict=True):
        if total <= most:
            return
        shutil.rmtree(path)
        total -= size


def _written(path: Path, made: Rows) -> bool:
    """Write a block under a temporary name, then rename it; return whether that worked."""
    body = np.ascontiguousarray(made, np.float32).data.cast("B")
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent)  # the owner's alone
        with os.fdopen(handle, "wb") as stream:
            stream.write(hashlib.sha256(body).digest())
            stream.write(body)
        os.replace(temporary, path)
    except OSError:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        return False
    return True
