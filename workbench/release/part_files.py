"""A draw under its temporary name, ``OUTPUT.XXXXXXXX.part`` beside the output, readable by its owner alone.

A table's part is a file (0600), a model's a folder (0700) of such files. Space is reserved while the part is still
blank, so that a disk that is too small is noticed before anything is drawn. A finished draw that could not be given
its name stays under its part name, and the next run publishes it (:mod:`workbench.release.recover`).
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
from typing import IO, Self

from workbench.params import InputError, ParameterError, Parameters
from workbench.params.field import TextField
from workbench.params.remedies import OTHER_OUTPUT, REPLACE_FREE, REPLACE_IT, Remedy
from workbench.release import atomic
from workbench.release.atomic import (
    LOCK,
    PART,
    create_locked,
    keep_temporary,
    new_file,
    open_to_lock,
    part_name,
    public_mode,
    remove_stale_parts,
    require_file,
    swap_names,
    sync_folder,
    temporary_files,
    try_lock,
    write_error,
    write_new,
)
from workbench.release.certificate import certificate_path

ENDING = ".part"
PRIVATE = "private"  # sub-folder of a model for figures computed from private rows; not part of the release

_ROOM = ".room"
_OTHER = Remedy(OTHER_OUTPUT, "choose a new one")


def draw_parts(target: Path) -> list[Path]:
    """Return everything that a run left of a draw for ``target``."""
    return temporary_files(target, ENDING)


def is_blank(part: Path) -> bool:
    """Return whether a part contains only reserved space: no draw begins with a zero byte."""
    if part.is_dir():
        return all(f.name in (_ROOM, LOCK) for f in part.iterdir())
    with part.open("rb") as stream:
        return not stream.read(4096).strip(b"\0")


def reserve_space(descriptor: int, size: int, target: Path) -> None:
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
        "free some space or choose another place; this run has drawn nothing and charged nothing",
    )


class _Part:
    """Common base of a table's and a model's part: it is removed at the end of its block unless it is kept."""

    target: Path
    path: Path
    _kept: bool
    replaces: bool

    def __enter__(self) -> Self:
        return self

    @contextlib.contextmanager
    def keep_on_success(self) -> Iterator[None]:
        """Keep the part if the block, which records the finished draw in the ledger, succeeds."""
        self._kept = True
        keep_temporary(self.path)
        try:
            yield
        except BaseException:
            self._kept = False
            raise

    def discard(self) -> None:
        self._kept = False


class DrawFile(_Part):
    """The part of a table. Use it as a context manager: what is not published or kept is removed.

    Attributes:
        target: the final name.
        path: the temporary name.
        bytes: how many bytes were written.
    """

    def __init__(
        self, target: Path, room: int, *, ending: str = ENDING, replace: bool = False, again: str = ""
    ) -> None:
        """Create the part and reserve ``room`` bytes; only where it may ``replace`` an output may there be one.

        ``again`` is the temporary name, where the ledger knows it from a run that goes on.

        Raises:
            InputError: the output exists, is a folder, cannot be replaced or written, or the disk is too full.
        """
        self.target = target
        self._kept, self.replaces = False, replace
        if ending == PART:  # what a killed run left was not charged
            remove_stale_parts(target)
        self._require_place(charged=ending != PART)
        self.path, descriptor = create_locked(target, ending, new_file, again)
        self._stream: IO[bytes] = os.fdopen(descriptor, "w+b")
        self._hash = hashlib.sha256()
        self.bytes = 0
        try:
            reserve_space(descriptor, room, target)
        except BaseException:
            self.__exit__()
            raise

    def _require_place(self, *, charged: bool) -> None:
        require_new(self.target, replace=self.replaces, charged=charged)
        _require_replaceable(self.target)

    @classmethod
    def reopened(cls, path: Path, target: Path, *, replace: bool = False) -> Self | None:
        """Return the part that an earlier run left, or ``None`` while another process has it open."""
        made = cls.__new__(cls)
        made.target, made.path, made._kept, made.replaces = target, path, True, replace
        made._stream = path.open("r+b")
        made.bytes = path.stat().st_size
        if not try_lock(made._stream.fileno(), otherwise=True):
            made._stream.close()
            return None
        made._hash = hashlib.file_digest(made._stream, "sha256")
        return made

    def __exit__(self, *_: object) -> None:
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
            OSError: it could not be renamed; the part stays as before.
        """
        if not self.replaces and os.path.lexists(self.target):  # made by somebody while this was drawn
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(self.target))
        os.chmod(self.path, public_mode())
        if atomic.WINDOWS:  # an open file cannot be renamed there
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

    def __init__(self, target: Path, room: int, known_by: str, *, ending: str = ENDING, replace: bool = False) -> None:
        """Create the part and reserve ``room`` bytes.

        ``known_by`` is the file by which such a folder is recognised, so that no other one is ever replaced.

        Raises:
            InputError: ``target`` exists and is not an empty folder, cannot be written, or the disk is too full.
        """
        self.target, self._known_by = target, known_by
        self._kept, self.replaces = False, replace
        if ending == PART:  # what a killed run left was not charged
            remove_stale_parts(target, folders=True)
        require_new(target, replace=replace, known_by=known_by, charged=ending != PART)
        self.path, lock = create_locked(target, ending, _new_folder)
        self._locks = [lock]
        try:
            self._keep_room(room)
        except BaseException:
            self.__exit__()
            raise

    @classmethod
    def reopened(cls, path: Path, target: Path, known_by: str, *, replace: bool = False) -> Self | None:
        """Return the part that an earlier run left, or ``None`` while another process has it open."""
        made = cls.__new__(cls)
        made.target, made.path, made._kept, made.replaces = target, path, True, replace
        made._known_by = known_by
        made._locks = [open_to_lock(path)]
        if not try_lock(made._locks[0], otherwise=True):
            made._unlock()
            return None
        return made

    def __exit__(self, *_: object) -> None:
        if atomic.WINDOWS:
            self._unlock()
        if not self._kept:
            shutil.rmtree(self.path, ignore_errors=True)
        self._unlock()

    def reserve(self, files: Mapping[str, bytes]) -> None:
        """Reserve the space of ``files`` before a byte of them is written.

        Raises:
            InputError: the disk is too full for them.
        """
        self._keep_room(sum(len(data) + 4096 for data in files.values()))

    def write(self, files: Mapping[str, bytes]) -> None:
        """Write ``files`` durably, named by their paths inside the folder; their charge is final by now."""
        (self.path / _ROOM).unlink(missing_ok=True)
        for name, data in files.items():
            file = self.path / name
            file.parent.mkdir(mode=0o700, exist_ok=True)
            write_new(file, data)
        for folder in (self.path, *(f for f in self.path.iterdir() if f.is_dir())):
            sync_folder(folder)

    def publish(self) -> None:
        """Rename the folder durably; other users may read its released files, but not the private ones.

        Raises:
            OSError: it could not be renamed; the part stays as before.
        """
        if atomic.WINDOWS:  # a folder with an open file cannot be renamed there
            self._unlock()
            (self.path / LOCK).unlink(missing_ok=True)
        files = [f for f in self.path.iterdir() if f.is_file()]
        try:
            for file in files:
                os.chmod(file, public_mode())
            os.chmod(self.path, public_mode() | (public_mode() & 0o444) >> 2)
            self._rename()
        except BaseException:
            with contextlib.suppress(OSError):
                os.chmod(self.path, 0o700)
            raise
        sync_folder(self.target.parent)

    def _rename(self) -> None:
        """Rename the folder; one that it replaces changes places with it, so that the name always has one of them.

        Where the system cannot do that in one step, the former one is put aside first.
        """
        try:
            replaces = require_new(self.target, replace=self.replaces, known_by=self._known_by)
        except InputError:  # made by somebody while this was drawn
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(self.target)) from None
        if not replaces:
            if self.target.is_dir():
                self.target.rmdir()  # fails where somebody made something in it
            os.replace(self.path, self.target)
        elif swap_names(self.path, self.target):
            shutil.rmtree(self.path, ignore_errors=True)  # the former one by now
        else:
            aside = part_name(self.target, PART)
            os.rename(self.target, aside)
            try:
                os.replace(self.path, self.target)
            except BaseException:
                os.rename(aside, self.target)
                raise
            remove_stale_parts(self.target, folders=True)

    def _unlock(self) -> None:
        self._locks, opened = [], self._locks
        for descriptor in opened:
            os.close(descriptor)

    def _keep_room(self, size: int) -> None:
        (self.path / _ROOM).unlink(missing_ok=True)
        descriptor = new_file(self.path / _ROOM)
        try:
            reserve_space(descriptor, size, self.target)
        finally:
            os.close(descriptor)


def require_new(target: Path, *, replace: bool, known_by: str = "", charged: bool = True) -> bool:
    """Refuse the output of a release that exists, unless it is to be replaced; return whether one is.

    The one rule for released files, their certificates, models and bundles: whatever writes one of them checks it
    before anything is charged, and again when the finished draw is given its name.

    Args:
        target: the file or folder.
        replace: whether the person asked for that.
        known_by: for a folder, the file by which it is recognised; a folder of anything else is never replaced.
        charged: whether the one that replaces it is charged; a bundle and a generalised table are not.

    Raises:
        InputError: it exists and is not to be replaced, or is of another kind; or it is a new folder, and the
            certificate of a file of that name exists.
    """
    if not known_by:
        require_file(target)
    new = not os.path.lexists(target)
    if os.path.isdir(target):  # False of a name that no file can have, where Path.is_dir would raise
        new = not any(target.iterdir())
        ours = (target / known_by).is_file() and not target.is_symlink()
    else:
        ours = not known_by
    if new:
        if known_by and os.path.lexists(certificate_path(target)):
            # The file's run may have been killed between its two renames, and another ledger may have paid for it.
            what = "there is already a certificate for a file of this name"
            raise InputError(what, str(certificate_path(target)), _OTHER, code="output-taken")
        return False
    if replace and ours:
        return True
    ways = (REPLACE_IT if charged else REPLACE_FREE, _OTHER) if ours else _OTHER
    what = f"the output {'folder ' if known_by else ''}exists already"
    what += f" and is not a folder with a {known_by}, so it is not replaced" if replace else ""
    raise InputError(what, str(target), ways, code="output-exists")


def refuse_replacing_inputs(output: Path, *inputs: str | Path | None) -> None:
    """Refuse an output that would replace what it is made from.

    Raises:
        ParameterError: the output is one of ``inputs``, under whatever name.
    """
    for path in inputs:
        if path is None:
            continue
        there = os.path.exists(output) and os.path.exists(path) and output.samefile(path)
        if there or os.path.realpath(output) == os.path.realpath(path):  # kept answers may be written only by the run
            what = "the output would replace its input"
            raise ParameterError(
                what, str(output), Remedy(OTHER_OUTPUT, "choose another file"), code="output-is-source"
            )


def files_in_request(request: Parameters, *inputs: str | Path | None) -> list[str]:
    """Return the files that a request names.

    Raises:
        ParameterError: one that the release changes is another of them, or one of ``inputs``.
    """
    declared = {n: spec for n, spec in request.declared().items() if isinstance(spec, TextField) and spec.file}
    given = {name: path for name in declared if (path := getattr(request, name)) is not None}
    for name, path in given.items():
        if declared[name].file == "kept":
            refuse_replacing_inputs(Path(path), *inputs, *(other for key, other in given.items() if key != name))
    return list(given.values())


def _require_replaceable(target: Path) -> None:
    """Refuse another user's file in a folder where only owners may replace files: the rename would fail."""
    if atomic.WINDOWS or not os.path.lexists(target) or os.geteuid() == 0:
        return
    folder = target.parent.stat()
    if folder.st_mode & stat.S_ISVTX and os.geteuid() not in (folder.st_uid, target.lstat().st_uid):
        raise InputError("the output belongs to another user", str(target), "choose another file")


def _new_folder(path: Path) -> int:
    path.mkdir(mode=0o700)
    return open_to_lock(path)


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f}"
