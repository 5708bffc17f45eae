"""The entries of an open ledger, each parsed and checked once, and compared with the file whenever it may have changed.

A charge depends on every entry before it. So whatever else has written to the file, all of its rows are read again and
compared, value by value, with those that were checked; only rows that differ or are new are parsed and hashed. Without
such a change the rows are not read: SQLite's version of the data, what this connection has changed, and the file's
size, times and identity on the disk are as they were.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

from workbench.params import InputError
from workbench.params.codec import parse_json
from workbench.release.ledger.entry_form import fault_of
from workbench.release.ledger.file import FAULTS, unusable
from workbench.release.ledger.hash_chain import Entry, verify_chain

Stamp = tuple[int, int, int, int, int] | None
"""Device, inode, size, and the times of the last write and of the last change of a file; ``None`` without a file."""

_ALL = "SELECT * FROM entry ORDER BY seq"


def stamp_of(path: Path) -> Stamp:
    """Return what a write by another program changes about a file."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def file_of(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from another one of the same name."""
    found = stamp_of(path)
    return None if found is None else found[:2]


class VerifiedEntries:
    """The entries of one connection.

    Attributes:
        generation: grows when an entry that was read before is changed or gone, as after a transaction that failed.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.generation = 0
        self._path = path
        self._db = connection
        self._state: tuple[int, int, Stamp] | None = None
        self._rows: list[tuple[Any, ...]] = []
        self._entries: list[Entry] = []
        self._kinds: dict[str, list[Entry]] = {}
        self._sound = 0  # so many of the first entries were checked
        self._start = ""  # against this start of the chain

    def all(self) -> list[Entry]:
        """Return every entry in order; a damaged one has an empty body, which its hash does not match."""
        self._refresh()
        return self._entries[:]

    def of_kind(self, kind: str) -> list[Entry]:
        """Return the entries of one kind in order."""
        self._refresh()
        return self._kinds.get(kind, [])[:]

    def problems(self, start: str, head: str) -> list[str]:
        """Return what is wrong with the chain: nothing, if it is as it was written.

        Args:
            start: what the first entry must name.
            head: the hash of the last entry, as stored beside the chain.
        """
        self._refresh()
        if start != self._start:
            self._sound, self._start = 0, start
        prev = self._entries[self._sound - 1].hash if self._sound else start
        problems = verify_chain(self._entries[self._sound :], prev, self._sound + 1)
        if not problems:
            self._sound = len(self._entries)
        if head != (self._entries[-1].hash if self._entries else start):
            problems.append(f"entries are missing after entry {self._entries[-1].seq if self._entries else 0}")
        return problems

    def forget(self) -> None:
        """Read, parse and check every entry again, from the disk."""
        self._state, self._sound = None, 0
        self._cut(0)
        self._db.execute("PRAGMA shrink_memory")

    def unsure(self) -> None:
        """Compare with the file again: a transaction was rolled back."""
        self._state = None

    def appended(self, seq: int, before: bool) -> None:
        """Take the entry that this connection has just appended; ``before`` is what :meth:`current` said until then."""
        if before:
            self._take(self._db.execute("SELECT * FROM entry WHERE seq = ?", (seq,)).fetchall())
            self._state = self._present()

    def current(self) -> bool:
        """Return whether the file cannot have changed since it was read."""
        return self._state is not None and self._state == self._present()

    def commit(self) -> None:
        """Commit the transaction of this connection, under whose lock nothing else changes the data."""
        known = self._state is not None and self._state[:2] == self._present()[:2]
        self._db.execute("COMMIT")
        if known and self._state is not None:
            self._state = *self._state[:2], stamp_of(self._path)

    # -- within ---------------------------------------------------------------------------------------------------

    def _present(self) -> tuple[int, int, Stamp]:
        (version,) = self._db.execute("PRAGMA data_version").fetchone()
        return int(version), self._db.total_changes, stamp_of(self._path)

    def _refresh(self) -> None:
        try:
            state = self._present()
            if state == self._state:
                return
            if self._state is not None and state[:2] == self._state[:2]:
                # Not written by SQLite: what it holds in memory is not what is on the disk.
                self._db.execute("PRAGMA shrink_memory")
            rows = self._read()
        except FAULTS as error:
            raise unusable(self._path, str(error)) from None
        known = self._rows
        if rows[: len(known)] != known:
            same = next((i for i, (a, b) in enumerate(zip(known, rows, strict=False)) if a != b), len(rows))
            self._cut(min(same, len(known)))
        self._take(rows[len(self._rows) :])
        self._state = state

    def _read(self) -> list[tuple[Any, ...]]:
        former = self._db.text_factory
        self._db.text_factory = str
        try:
            return self._db.execute(_ALL).fetchall()
        except sqlite3.OperationalError:  # text that is no UTF-8, which the reader below replaces; or any other fault
            self._db.text_factory = former
            return self._db.execute(_ALL).fetchall()
        finally:
            self._db.text_factory = former

    def _cut(self, kept: int) -> None:
        if kept < len(self._rows):
            self.generation += 1
        del self._rows[kept:], self._entries[kept:]
        self._sound = min(self._sound, kept)
        self._kinds = {}
        for entry in self._entries:
            self._kinds.setdefault(entry.kind, []).append(entry)

    def _take(self, rows: list[tuple[Any, ...]]) -> None:
        for row in rows:
            if len(row) != 10 or not isinstance(row[0], int):
                raise unusable(self._path, "malformed table of entries")
            seq, (time, kind, release_id, dataset, epsilon, delta) = row[0], map(plain, row[1:7])
            prev, own = map(plain, row[8:])
            entry = Entry(seq, time, kind, release_id, dataset, epsilon, delta, _body(row[7]), prev, own)
            if fault := fault_of(entry):
                raise unusable(self._path, f"entry {seq} was changed after it was written: malformed {fault}")
            self._rows.append(row)
            self._entries.append(entry)
            self._kinds.setdefault(kind, []).append(entry)


def plain(value: Any) -> str:
    """Return a value of the file as text; damaged bytes as hexadecimal digits."""
    return value if isinstance(value, str) else value.hex() if isinstance(value, bytes) else str(value)


def _body(text: Any) -> dict[str, Any]:
    try:
        body = parse_json(text, "entry")
    except (InputError, TypeError):
        return {}
    return body if isinstance(body, dict) else {}
