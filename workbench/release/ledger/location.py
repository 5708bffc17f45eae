"""The location of a ledger: whether it may charge, backups, and moves after which the former file charges no more.

A move is an entry of the chain that names the new place. It is in both files: the one at that place goes on, any other
one refuses. So no moment of a move leaves two ledgers that would each pay for the same table.

A file that was replaced by an earlier copy of itself is a whole chain, and nothing in it shows what is gone. So the
last entry of each ledger that this computer has seen is kept in the user's state folder as well: a copy is not noticed
by another user or computer, nor when that folder was cleared or put back together with the ledger. A copy that lacks
that entry charges nothing until the steward accepts it; the entry that records this names what is missing. What such a
copy holds as reserved may have been charged by then, so it is charged.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import socket
import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.params import CheckFailedError, InputError, WorkbenchError, read_json
from workbench.params.remedies import LEDGER, run
from workbench.paths import user_state
from workbench.release.atomic import sync_folder, write_new
from workbench.release.ledger.entry import is_digest, is_path, is_whole
from workbench.release.ledger.file import key_path, usable
from workbench.release.ledger.state import LedgerState


def this_process() -> dict[str, Any]:
    """Return an identifier of this process that stays unique when its number is reused."""
    import psutil

    return {"pid": os.getpid(), "started": psutil.Process().create_time(), "host": socket.gethostname()}


def still_runs(process: dict[str, Any]) -> bool:
    """Return whether ``process`` may still be running; for one on another machine this is assumed."""
    import psutil

    if process.get("host") != socket.gethostname():
        return True
    try:
        found = psutil.Process(int(process["pid"]))
        # Clocks that were set between boots move the creation time by less than a second's rounding.
        same = abs(float(found.create_time()) - float(process["started"])) < 1
        return same and bool(found.status() != psutil.STATUS_ZOMBIE)
    except (psutil.NoSuchProcess, KeyError, ValueError):
        return False
    except psutil.AccessDenied:
        return True


def is_other_live_process(process: dict[str, Any]) -> bool:
    """Return whether ``process`` is another one of this machine that is running."""
    here = process.get("host") == socket.gethostname()
    return here and process.get("pid") != os.getpid() and still_runs(process)


MOVED, ACCEPTED, MERGE = "moved", "accepted", "merge"


@dataclass(frozen=True)
class HeadMark:
    """An entry of a ledger that was the last one."""

    seq: int
    hash: str
    time: str
    path: str


def last_seen(start: str) -> HeadMark | None:
    """Return the mark of the ledger whose chain begins with ``start``; ``None`` where there is none that is whole."""
    try:
        stated = read_json(_place(start), "mark of a ledger")
        mark = HeadMark(stated["seq"], stated["hash"], stated["time"], stated["path"])
    except (InputError, KeyError, TypeError):
        return None
    known = is_whole(mark.seq) and mark.seq > 0 and is_digest(mark.hash) and isinstance(mark.time, str)
    return mark if known and is_path(mark.path) else None


_LEFT = 60
"""Seconds after which a half-written mark is of a process that was killed there, and of none that is about to name it:
the entry is committed, so another process may be at its own mark."""


def save_last_seen(start: str, mark: HeadMark) -> None:
    """Keep ``mark`` for the ledger whose chain begins with ``start``.

    The entry is committed already. So a folder that cannot be written is no error: `ledger verify` says that there is
    no mark.
    """
    place = _place(start)
    part = place.with_name(f"{place.name}.{secrets.token_hex(4)}.part")
    with contextlib.suppress(OSError):
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            part.write_text(json.dumps(vars(mark)), "utf-8")
            os.replace(part, place)
        finally:
            part.unlink(missing_ok=True)
        for left in place.parent.glob(f"{place.name}.*.part"):
            if time.time() - left.stat().st_mtime > _LEFT:
                left.unlink(missing_ok=True)


def _place(start: str) -> Path:
    if not is_digest(start):  # it comes from a ledger's file, and a name of a file is made of it
        raise ValueError("the start of a ledger is 64 hexadecimal digits")
    return user_state() / "ledger-heads" / f"{start[:32]}.json"


class LedgerLocation(LedgerState):
    """The part of the ledger that copies the file and knows where it belongs."""

    def moved_to(self) -> Path | None:
        """Return where the ledger was moved to, if that is not here; ``None`` where it was not."""
        stated = [e.body["to"] for e in self.entries(MOVED) if "to" in e.body]
        return None if not stated or _same(Path(stated[-1]), self.path) else Path(stated[-1])

    def require_not_moved(self) -> None:
        """Refuse to charge a ledger that was moved away.

        Raises:
            InputError: it was.
        """
        place = self.moved_to()
        if place is not None:
            raise InputError(
                "this ledger was moved and no longer charges releases", str(self.path), f"use --ledger {place}"
            )

    def seen(self) -> HeadMark | None:
        """Return the last entry of this ledger that this computer has seen; ``None`` where it has seen none."""
        start = self._start()
        return last_seen(start) if start else None

    def missing(self) -> HeadMark | None:
        """Return the entry that this computer has seen and this file lacks; ``None`` where there is none."""
        mark = self.seen()
        if mark is None or self.holds(mark):
            return None
        stated = {(e.body.get("seq"), e.body.get("hash")) for e in self.entries(ACCEPTED, MERGE)}
        return None if (mark.seq, mark.hash) in stated else mark

    def older(self) -> str:
        """Return a sentence about what this file lacks; empty where it lacks nothing that was seen."""
        mark = self.missing()
        if mark is None:
            return ""
        beside = "" if _same(Path(mark.path), self.path) else f" in {mark.path}"
        return (
            f"the ledger is older than the one that this computer has seen{beside}: "
            f"entry {mark.seq} of {mark.time[:16].replace('T', ' ')} UTC is missing"
        )

    def require_newest(self) -> None:
        """Refuse to charge a copy that is older than what this computer has seen.

        Raises:
            CheckFailedError: it is.
        """
        problem = self.older()
        if problem:
            raise CheckFailedError(
                problem,
                str(self.path),
                ("restore the newest copy", run("accept this copy with", "ledger", "accept", LEDGER)),
                code="ledger-older",
            )

    def require_whole(self) -> None:
        """Raise :class:`CheckFailedError` where an entry was altered or removed."""
        problems = self._chain_problems()
        if problems:  # entries that are gone could have been charges
            raise CheckFailedError(
                f"the ledger was altered or damaged: {problems[0]}",
                str(self.path),
                run("restore a copy that passes", "ledger", "verify", LEDGER),
            )

    def accept(self) -> HeadMark:
        """Record that this copy goes on although entries are missing in it, and return what was seen of them.

        What is reserved here becomes charged: the entries that are missing may have charged it, and a training that
        waits may have taken more steps than are counted here.

        Raises:
            InputError: nothing is missing.
        """
        with self._transaction():
            mark = self.missing()
            if mark is None:
                raise InputError("this ledger has every entry that this computer has seen", str(self.path))
            for release in self.releases():
                if release.status == "reserved":
                    self._append("charge", release.dataset, {ACCEPTED: mark.seq}, release.cost, release.release_id)
            self._append(ACCEPTED, "", {"seq": mark.seq, "hash": mark.hash, "time": mark.time})
        return mark

    def require_sound(self) -> None:
        """Raise an error unless this ledger may charge: whole, not moved away, with every entry that was seen.

        Raises:
            InputError: it was moved.
            CheckFailedError: it was altered, or is an older copy.
        """
        self.require_whole()
        self.require_not_moved()
        self.require_newest()

    def verify(self) -> list[str]:
        """Return what is wrong with file, chain or marks, or that it is an older copy; nothing if it is as written."""
        try:
            self._chain.forget()
            damage = [str(row[0]) for row in self._rows("PRAGMA integrity_check") if row[0] != "ok"]
            if problems := damage or self._chain_problems():
                return problems
            if older := self.older():
                return [older]
            for _ in self._sketches():  # each is read
                pass
            for digest in self.accounts().columns:
                self._decoded(len, digest)
        except WorkbenchError as error:
            return [error.what]
        return []

    def back_up(self, target: Path) -> Path:
        """Write a whole copy of the ledger and its key to ``target``, and return the path.

        Raises:
            InputError: there is a file already, the key is missing, or it cannot be written.
            CheckFailedError: the copy is not whole.
        """
        target = target.absolute()
        _require_free(target)
        keys = b"".join(self.keys)
        part = target.with_name(f"{target.name}.part")
        with usable(target):
            try:
                with contextlib.closing(sqlite3.connect(part)) as copy:
                    self._db.backup(copy)
                part.chmod(0o600)
                write_new(key_path(target), keys)
                with part.open("rb") as stream:
                    os.fsync(stream.fileno())
                os.replace(part, target)
                sync_folder(target.parent)
            finally:
                part.unlink(missing_ok=True)
        with type(self).read(target) as copied:
            problems = copied.verify()
        if problems:
            raise CheckFailedError(f"the copy is not intact: {problems[0]}", str(target), "check the disk")
        return target

    def move(self, target: Path) -> Path:
        """Move the ledger to ``target``: from then on only the file there charges releases.

        Raises:
            InputError: a file exists there already, a release is going on in another process, or the ledger was moved
                before and is where it was moved to.
        """
        target = target.absolute()
        _ = self.keys  # before anything is written: those of another ledger refuse the move
        self.require_whole()
        former = self.moved_to()
        if former is not None and former.exists():
            raise InputError("this ledger was moved already", str(self.path), f"use --ledger {former}")
        _require_free(target)
        if not os.access(target.parent, os.W_OK):
            raise InputError("the folder cannot be written", str(target.parent), "choose another one")
        if shutil.disk_usage(target.parent).free < 2 * self.path.stat().st_size + (1 << 20):
            raise InputError("there is not enough room", str(target.parent), "choose another disk")
        with self._transaction():
            # Wherever else one goes on: its charge here is refused, so it writes nothing.
            # One that is paused goes on at the new place.
            reserved = [r for r in self.releases() if r.status == "reserved" and r.body.get("run") != ""]
            going = [r for r in reserved if is_other_live_process(r.body.get("process", {}))]
            if going:
                raise InputError(
                    f"the release {going[0].release_id} is in progress, in process {going[0].body['process']['pid']}",
                    str(self.path),
                    "wait for it, or close the program that runs it",
                )
            self._append(MOVED, "", {"to": str(target)})
        try:
            return self.back_up(target)
        except BaseException:
            with self._transaction():  # it stays here: the entry is in no other file
                self._append(MOVED, "", {"to": str(self.path)})
            raise

    def holds(self, mark: HeadMark) -> bool:
        """Return whether an entry that was seen is in this file."""
        entries = self._chain.all()
        return mark.seq <= len(entries) and entries[mark.seq - 1].hash == mark.hash

    def _committed(self) -> None:
        added, self._added = self._added, False
        if added and self.missing() is None:
            last = self._chain.all()[-1]
            save_last_seen(self._start(), HeadMark(last.seq, last.hash, last.time, str(self.path)))


def _require_free(target: Path) -> None:
    for path in (target, key_path(target)):
        if os.path.lexists(path):
            raise InputError("a file exists there already", str(path), "choose another file")


def _same(one: Path, other: Path) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)
