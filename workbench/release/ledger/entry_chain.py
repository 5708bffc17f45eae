"""The ledger as a chain of entries: reading them all, appending one, checking that none was altered or removed.

A charge depends on every entry before it. So whatever else has written to the file, all of its rows are read again and
compared, value by value, with those that were checked; only rows that differ or are new are parsed and hashed. Without
such a change the rows are not read: SQLite's version of the data, what this connection has changed, and the file's
size, times and identity on the disk are as they were.
"""

from __future__ import annotations

import json
import os
import random
import sqlite3
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Self

from workbench.params import CheckFailedError, InputError, parse_json
from workbench.release.ledger import file
from workbench.release.ledger.entry import META, ZERO, Entry, entry_hash, fault_of, start_of, verify_chain
from workbench.release.ledger.file import (
    FAULTS,
    KEY_BYTES,
    key_path,
    located,
    open_to_read,
    open_to_write,
    read_keys,
    unusable,
    usable,
)

Stamp = tuple[int, int, int, int, int] | None
"""Device, inode, size, and the times of the last write and of the last change of a file; ``None`` without a file."""

_AGAIN, _LET_IN, _POLL = 0.05, 0.01, 0.003
"""Seconds: transactions so soon after one another are a row, which waits a little now and then; a process that waits
asks so often."""

_ROW = 6
"""Transactions of a row, before it waits: a release has five."""

_ROWS = "SELECT * FROM entry"


class _Turns:
    """How often this process has just written to each ledger, by whatever it opened the file with."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last: dict[Path, tuple[float, int]] = {}  # when a row was last written to, and how long it is

    def taken(self, path: Path) -> bool:
        """Count a transaction that begins; return whether others get their turn first."""
        with self._lock:
            self._last = {p: (t, n) for p, (t, n) in self._last.items() if time.monotonic() - t < _AGAIN}
            row = self._last.get(path, (0.0, 0))[1] + 1
            over = row > _ROW
            self._last[path] = time.monotonic(), 1 if over else row
            return over

    def ended(self, path: Path) -> None:
        """Note that a transaction has ended."""
        with self._lock:
            self._last[path] = time.monotonic(), self._last.get(path, (0.0, 1))[1]


_TURNS = _Turns()


class LedgerChain:
    """An open ledger. Use it as a context manager, or call :meth:`close`."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._db = connection
        self._added = False  # whether the transaction that is open has appended an entry
        self._chain = VerifiedEntries(path, connection)
        self._file = _file_of(path)

    @classmethod
    def open(cls, path: Path | None = None) -> Self:
        """Open the ledger at ``path`` (default: the user data folder), making it where there is none.

        Raises:
            InputError: the file is not a ledger, is locked, or cannot be written.
            CheckFailedError: it is damaged.
        """
        path = located(path)
        return cls(path, open_to_write(path))

    @classmethod
    def read(cls, path: Path | None = None) -> Self:
        """Open the ledger at ``path`` read-only, without changing anything on disk; one that does not exist is empty.

        Raises:
            InputError: the file is not a ledger, or cannot be read.
            CheckFailedError: it is damaged.
        """
        path = located(path)
        return cls(path, open_to_read(path))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    @property
    def key(self) -> bytes:
        """The random key of this ledger's marks.

        Raises:
            InputError: it is not beside the ledger, or another one is.
        """
        return self.keys[0]

    @property
    def keys(self) -> tuple[bytes, ...]:
        """The key of this ledger's marks, and those of the ledgers that were merged into it.

        Raises:
            InputError: one of them is not beside the ledger.
        """
        start = self._meta("start")
        if start is None and (former := self._former_key()):
            return (former,)
        keys = read_keys(self.path)
        if start is not None and start_of(keys[0]) != start:
            raise unusable(key_path(self.path), "this is the key of another ledger")
        merged = {str(e.body.get("ledger")) for e in self.entries("merge")}
        if not merged <= set(map(start_of, keys)):  # a table of that ledger would look new
            raise unusable(key_path(self.path), "the key of a ledger that was merged into this one is missing")
        return keys

    def entries(self, *kinds: str) -> Iterator[Entry]:
        """Return the entries (of ``kinds``) in order; a damaged one has an empty body, unlike its hash."""
        if len(kinds) == 1:  # a charge asks for one kind after another of all that there are
            return iter(self._chain.of_kind(kinds[0]))
        return (e for e in self._chain.all() if not kinds or e.kind in kinds)

    def _rows(self, query: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        with usable(self.path):
            return self._db.execute(query, values).fetchall()

    def _chain_problems(self) -> list[str]:
        return self._chain.problems(self._start(), self._head())

    def _meta(self, name: str) -> str | None:
        found = self._rows("SELECT value FROM meta WHERE key = ?", (name,))
        if not found:
            return None
        value = _plain(found[0][0])
        if not META[name](value):
            raise unusable(self.path, f"malformed {name} of the chain")
        return value

    def _start(self) -> str:
        """Return the hash in the first entry; it depends on the key, which may be missing."""
        start = self._meta("start")
        if start is not None:
            return start
        former = self._former_key()
        return start_of(former) if former else ""

    def _former_key(self) -> bytes:
        """Return the key that a ledger of the first format holds itself; empty where there is none."""
        found = self._rows("SELECT value FROM meta WHERE key = 'key'")
        if not found:
            return b""
        if not isinstance(found[0][0], bytes) or len(found[0][0]) != KEY_BYTES:
            raise unusable(self.path, "malformed key")
        return found[0][0]

    def _head(self) -> str:
        return self._meta("head") or ""

    def _append(
        self,
        kind: str,
        dataset: str,
        body: dict[str, Any],
        cost: tuple[Decimal, Decimal | None] = ZERO,
        release_id: str = "",
    ) -> None:
        last = self._rows("SELECT seq, hash FROM entry ORDER BY seq DESC LIMIT 1")
        seq, prev = (last[0][0] + 1, last[0][1]) if last else (1, self._start())
        if prev != self._head():  # a new entry must not cover up that some are gone
            raise CheckFailedError(
                f"entries are missing from the ledger after entry {seq - 1}", str(self.path), "restore a copy"
            )
        known = self._chain.current()
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        entry = Entry(seq, now, kind, release_id, dataset, *amount_texts(cost), body, prev, "")
        own, stated = entry_hash(entry), json.dumps(body)
        if fault := fault_of(replace(entry, body=json.loads(stated), hash=own)):  # written, it would damage the ledger
            raise InputError(f"the ledger cannot record this: malformed {fault}", str(self.path))
        row = tuple({**vars(entry), "body": stated, "hash": own}.values())
        self._db.execute("INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        self._db.execute("UPDATE meta SET value = ? WHERE key = 'head'", (own,))
        self._chain.appended(seq, known)
        self._added = True

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        if self._db.in_transaction:
            yield
            return
        self._begin()
        try:
            yield
            self._chain.commit()
            self._committed()
            _TURNS.ended(self.path)
        except FAULTS as error:
            self._roll_back()
            raise unusable(self.path, str(error)) from None
        except BaseException:
            self._roll_back()
            raise

    def _committed(self) -> None:
        """Do what follows a transaction that was committed."""

    def _begin(self) -> None:
        """Lock the file for writing; processes that write again and again let each other in.

        SQLite's own waiting asks ever more rarely, so that one of several busy processes may never get its turn.
        """
        if _TURNS.taken(self.path):
            time.sleep(_LET_IN)
        end = time.monotonic() + file.PATIENCE
        try:
            self._db.execute("PRAGMA busy_timeout = 0")
            while True:
                try:
                    self._db.execute("BEGIN IMMEDIATE")
                    break
                except sqlite3.OperationalError as error:
                    if "locked" not in str(error) or time.monotonic() > end:
                        raise
                time.sleep(_POLL * (0.5 + random.random()))
            self._db.execute(f"PRAGMA busy_timeout = {round(1000 * file.PATIENCE)}")
            if _file_of(self.path) != self._file:  # what is written now would be in no file
                self._roll_back()
                raise InputError(
                    "the ledger's file was replaced or removed while it was open", str(self.path), "try again"
                )
        except sqlite3.Error as error:
            raise unusable(self.path, str(error)) from None

    def _roll_back(self) -> None:
        self._added = False
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")
        self._chain.compare_again()


def amount_texts(cost: tuple[Decimal, Decimal | None]) -> tuple[str, str]:
    """Return an amount as the ledger stores it; an uncapped δ is an empty string."""
    return str(cost[0]), "" if cost[1] is None else str(cost[1])


class VerifiedEntries:
    """The entries of one connection."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        # Grows when an entry that was read before is changed or gone, as after a transaction that failed.
        self.generation = 0
        self._path = path
        self._db = connection
        self._state: tuple[int, int, Stamp] | None = None
        self._rows: list[tuple[Any, ...]] = []
        self._entries: list[Entry] = []
        self._kinds: defaultdict[str, list[Entry]] = defaultdict(list)
        self._sound = 0  # so many of the first entries were checked
        self._start = ""  # against this start of the chain

    def all(self) -> list[Entry]:
        """Return every entry in order; a damaged one has an empty body, which its hash does not match."""
        self._refresh()
        return self._entries[:]

    def of_kind(self, kind: str) -> list[Entry]:
        """Return the entries of one kind in order."""
        self._refresh()
        return self._kinds[kind][:]

    def problems(self, start: str, head: str) -> list[str]:
        """Return what is wrong with the chain, which begins with ``start`` and ends with ``head``; else nothing."""
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

    def compare_again(self) -> None:
        """Compare with the file again: a transaction was rolled back."""
        self._state = None

    def appended(self, seq: int, before: bool) -> None:
        """Take the entry that this connection has just appended; ``before`` is what :meth:`current` said until then."""
        if before:
            self._take(self._db.execute(f"{_ROWS} WHERE seq = ?", (seq,)).fetchall())
            self._state = self._present()

    def current(self) -> bool:
        """Return whether the file cannot have changed since it was read."""
        return self._state is not None and self._state == self._present()

    def commit(self) -> None:
        """Commit the transaction of this connection, under whose lock nothing else changes the data."""
        known = self._state is not None and self._state[:2] == self._present()[:2]
        self._db.execute("COMMIT")
        if known and self._state is not None:
            self._state = *self._state[:2], _stamp_of(self._path)

    def _present(self) -> tuple[int, int, Stamp]:
        (version,) = self._db.execute("PRAGMA data_version").fetchone()
        return int(version), self._db.total_changes, _stamp_of(self._path)

    def _refresh(self) -> None:
        with usable(self._path):
            state = self._present()
            if state == self._state:
                return
            if self._state is not None and state[:2] == self._state[:2]:
                # Not written by SQLite: what it holds in memory is not what is on the disk.
                self._db.execute("PRAGMA shrink_memory")
            rows = self._read()
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
            return self._db.execute(f"{_ROWS} ORDER BY seq").fetchall()
        except sqlite3.OperationalError:  # text that is no UTF-8, which the reader below replaces; or any other fault
            self._db.text_factory = former
            return self._db.execute(f"{_ROWS} ORDER BY seq").fetchall()
        finally:
            self._db.text_factory = former

    def _cut(self, kept: int) -> None:
        if kept < len(self._rows):
            self.generation += 1
        del self._rows[kept:], self._entries[kept:]
        self._sound = min(self._sound, kept)
        self._kinds.clear()
        for entry in self._entries:
            self._kinds[entry.kind].append(entry)

    def _take(self, rows: list[tuple[Any, ...]]) -> None:
        for row in rows:
            if len(row) != 10 or not isinstance(row[0], int):
                raise unusable(self._path, "malformed table of entries")
            seq, (time, kind, release_id, dataset, epsilon, delta) = row[0], map(_plain, row[1:7])
            prev, own = map(_plain, row[8:])
            entry = Entry(seq, time, kind, release_id, dataset, epsilon, delta, _body(row[7]), prev, own)
            if fault := fault_of(entry):
                raise unusable(self._path, f"entry {seq} was changed after it was written: malformed {fault}")
            self._rows.append(row)
            self._entries.append(entry)
            self._kinds[kind].append(entry)


def _stamp_of(path: Path) -> Stamp:
    """Return what a write by another program changes about a file."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _file_of(path: Path) -> tuple[int, int] | None:
    """Return what distinguishes a file from another one of the same name."""
    found = _stamp_of(path)
    return None if found is None else found[:2]


def _plain(value: Any) -> str:
    """Return a value of the file as text; damaged bytes as hexadecimal digits."""
    return value if isinstance(value, str) else value.hex() if isinstance(value, bytes) else str(value)


def _body(text: Any) -> dict[str, Any]:
    try:
        body = parse_json(text, "entry")
    except (InputError, TypeError):
        return {}
    return body if isinstance(body, dict) else {}
