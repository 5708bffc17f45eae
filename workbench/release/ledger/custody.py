"""Where a ledger lives: backups, and moving it so that the former file takes no more charges.

A move is an entry of the chain that names the new place. It is in both files: the one at that place goes on, any other
one refuses. So no moment of a move leaves two ledgers that would each pay for the same table.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from decimal import Decimal
from pathlib import Path

from workbench.params import CheckFailedError, InputError
from workbench.release.atomic import sync_folder
from workbench.release.ledger.entries import LedgerBook
from workbench.release.ledger.file import FAULTS, key_path, unusable

MOVED = "moved"
_ZERO = (Decimal(0), Decimal(0))


class LedgerCustody(LedgerBook):
    """The part of the ledger that copies the file and knows where it belongs."""

    def moved_to(self) -> Path | None:
        """Return where the ledger was moved to, if that is not here; ``None`` where it was not."""
        told = [e.body.get("to") for e in self.entries(MOVED)]
        if not told or not isinstance(told[-1], str):
            return None
        place = Path(told[-1])
        return None if _same(place, self.path) else place

    def require_here(self) -> None:
        """Refuse to charge a ledger that was moved away.

        Raises:
            InputError: it was.
        """
        place = self.moved_to()
        if place is not None:
            raise InputError(
                "this ledger was moved, and charges no more releases", str(self.path), f"use --ledger {place}"
            )

    def back_up(self, target: Path) -> Path:
        """Write a whole copy of the ledger and its key to ``target``, and return the path.

        Raises:
            InputError: there is a file already, the key is missing, or it cannot be written.
            CheckFailedError: the copy is not whole.
        """
        target = target.absolute()
        for path in (target, key_path(target)):
            if os.path.lexists(path):
                raise InputError("a file is there already", str(path), "name another file")
        key = self.key
        part = target.with_name(f"{target.name}.part")
        try:
            copy = sqlite3.connect(part)
            try:
                self._db.backup(copy)
            finally:
                copy.close()
            part.chmod(0o600)
            descriptor = os.open(key_path(target), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(key)
                stream.flush()
                os.fsync(stream.fileno())
            with part.open("rb") as stream:
                os.fsync(stream.fileno())
            os.replace(part, target)
            sync_folder(target.parent)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise unusable(target, error.strerror or "it cannot be written") from None
        except FAULTS as error:
            part.unlink(missing_ok=True)
            raise unusable(target, str(error)) from None
        with type(self).read(target) as copied:
            problems = copied.verify()
        if problems:
            raise CheckFailedError(f"the copy is not whole: {problems[0]}", str(target), "check the disk")
        return target

    def move(self, target: Path) -> Path:
        """Move the ledger to ``target``: from then on only the file there charges releases.

        Raises:
            InputError: a file is there already, or the ledger was moved before and is where it was moved to.
        """
        target = target.absolute()
        former = self.moved_to()
        if former is not None and former.exists():
            raise InputError("this ledger was moved already", str(self.path), f"use --ledger {former}")
        for path in (target, key_path(target)):
            if os.path.lexists(path):
                raise InputError("a file is there already", str(path), "name another file")
        if not os.access(target.parent, os.W_OK):
            raise InputError("the folder cannot be written", str(target.parent), "name another one")
        if shutil.disk_usage(target.parent).free < 2 * self.path.stat().st_size + (1 << 20):
            raise InputError("there is not enough room", str(target.parent), "name another disk")
        with self._transaction():
            self._append(MOVED, "", "", _ZERO, {"to": str(target)})
        try:
            return self.back_up(target)
        except BaseException:
            with self._transaction():  # it stays here: the entry is in no other file
                self._append(MOVED, "", "", _ZERO, {"to": str(self.path)})
            raise


def _same(one: Path, other: Path) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)
