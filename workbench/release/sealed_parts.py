"""Drawn parts of a release, kept beside its output until it is finished, so that a later run can go on with them.

Each part that was drawn is one record: a head with the number of the part and the keyed digest of what follows, then
the drawn cells and the text of kept columns. It is durable before the next part is waited for; one that a crash has cut
short, or that somebody without the ledger has written, has another digest, and counts as not drawn. The file has a
temporary name of the output and is readable by its owner alone. What may go on with it is in the ledger: the release,
which is charged and has no certificate, the request, and a keyed mark of the rows of every part, so that no row is
drawn twice because the table has changed.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import struct
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from workbench.params import InputError
from workbench.release.atomic import create_locked, keep_temporary, new_file, try_lock
from workbench.release.ledger.records import DRAWN
from workbench.release.part_files import ENDING
from workbench.release.spilled_rows import Rows, Spill, SpillFile, in_bytes

_MARK = b"drawn\0\0\1"
_REOPEN = os.O_RDWR | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
_DIGEST = hashlib.sha256().digest_size


class SealedParts(Spill):
    """Drawn parts in a file that outlives its process."""

    def __init__(self, file: SpillFile, packed: np.dtype[np.void], kept: Sequence[str], key: bytes) -> None:
        """Take up the whole records of the file under ``key``; what comes after them is written over."""
        super().__init__(file, packed, kept)
        self._key = key
        self._head = struct.Struct(f"<{len(_MARK)}s{2 + len(kept)}Q{_DIGEST}s")
        self.numbers: list[int] = []  # of the parts, in the order in which they were drawn
        while self._take_up():
            pass

    def seal(self, number: int, rows: Rows) -> None:
        """Write the draw of a part, durably."""
        pieces = in_bytes(rows)
        stated = number, len(rows.cells), *(len(piece) for piece in pieces[2::2])
        self._file.append(self._head.pack(_MARK, *stated, self._digest(stated, pieces)))
        starts = [self._file.append(piece) for piece in pieces]
        self._file.sync()
        self._add(number, starts, len(rows.cells), pieces[1::2])

    def in_order(self) -> None:
        """Put the parts in the order of their numbers."""
        self.arrange(sorted(range(len(self)), key=self.numbers.__getitem__))

    def _take_up(self) -> bool:
        """Take note of the next record, and return whether there is a whole one."""
        file, start = self._file, self._file.size
        raw = file.read(start, self._head.size)
        if len(raw) < self._head.size:
            return False
        mark, number, rows, *texts, digest = self._head.unpack(raw)
        if mark != _MARK:
            return False
        sizes = [rows * self._packed.itemsize, *(size for text in texts for size in (4 * rows, text))]
        at = list(accumulate(sizes, initial=0))
        start += self._head.size
        data = memoryview(file.read(start, min(at[-1], file.stored)))
        pieces = [data[a:b] for a, b in pairwise(at)]
        if self._digest((number, rows, *texts), pieces) != digest:
            return False
        self._add(number, [start + one for one in at[:-1]], rows, pieces[1::2])
        file.size = start + at[-1]
        return True

    def _add(self, number: int, starts: Sequence[int], rows: int, lengths: Sequence[bytes | memoryview]) -> None:
        self._take(starts, np.array([0, rows], np.int64), lengths)
        self.numbers.append(number)

    def _digest(self, stated: Sequence[int], pieces: Sequence[memoryview]) -> bytes:
        found = hmac.new(self._key, repr(stated).encode(), hashlib.sha256)
        for piece in pieces:
            found.update(piece)
        return found.digest()


class Sealing:
    """The file of drawn parts of one release.

    Attributes:
        target: the output.
        path: the file, while it is open.
        rows: digest of the rows of every part, once their values are checked.
    """

    def __init__(self, target: Path) -> None:
        self.target, self.path, self.rows = target, target, b""
        self._opened, self._kept, self._key = -1, False, b""

    @contextlib.contextmanager
    def opened(self, found: Path | None, key: bytes) -> Iterator[None]:
        """Open the file for the block, a new one unless an earlier run left ``found``; it goes unless it is kept.

        The digests in it have ``key`` and its name as their key: another release of the same rows has another file.

        Raises:
            InputError: another run has it open, or it cannot be made.
        """
        self._kept = found is not None
        if found is None:
            self.path, self._opened = create_locked(self.target, ENDING, new_file)
        else:
            try:
                self.path, self._opened = found, os.open(found, _REOPEN)
            except OSError as error:  # somebody has put something else there, or another run has just ended
                what = f"the parts that are drawn cannot be opened: {error.strerror}"
                raise InputError(what, str(found), "check it, and run the same command again") from None
        self._key = key + self.path.name.encode()
        try:
            if found is not None and not try_lock(self._opened, otherwise=True):
                raise InputError("another run is already continuing this release", str(self.target), "wait for it")
            yield
        finally:
            os.close(self._opened)
            if not self._kept:
                self.path.unlink(missing_ok=True)

    def parts(self, room: int, packed: np.dtype[np.void], kept: Sequence[str]) -> SealedParts:
        """Return the parts that are in the file, which gets ``room`` bytes.

        Raises:
            InputError: the disk is too full.
        """
        return SealedParts(SpillFile(self.target.parent, room, self._opened), packed, kept, self._key)

    def keep(self) -> None:
        """Keep the file whatever ends the run: its charge is final."""
        self._kept = True
        keep_temporary(self.path)

    def discard(self) -> None:
        """Remove the file: the draw is finished, and in the order of the table nobody needs it."""
        self._kept = False
        with contextlib.suppress(OSError):  # an open file cannot be removed on Windows before the block ends
            self.path.unlink()

    def details(self) -> dict[str, Any]:
        """Return what the reservation says of the file."""
        return {DRAWN: self.path.name}
