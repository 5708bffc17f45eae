"""The ledger as a chain of entries: reading them all, appending one, checking that none was altered or removed."""

from __future__ import annotations

import json
import math
import random
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Self

from workbench.params import CheckFailedError, InputError, WorkbenchError
from workbench.release.ledger import file
from workbench.release.ledger.entry_form import META, fault_of
from workbench.release.ledger.exact import Amount
from workbench.release.ledger.file import (
    FAULTS,
    KEY_BYTES,
    key_path,
    located,
    open_to_read,
    open_to_write,
    read_keys,
    unusable,
)
from workbench.release.ledger.hash_chain import Entry, entry_hash, start_of
from workbench.release.ledger.verified_entries import VerifiedEntries, file_of, plain

_AGAIN, _LET_IN, _POLL = 0.05, 0.01, 0.003
"""Seconds: a transaction so soon after the last one waits a little first; a process that waits asks so often."""


class LedgerBook:
    """An open ledger. Use it as a context manager, or call :meth:`close`."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._db = connection
        self._ended = -math.inf
        self._added = False  # whether the transaction that is open has appended an entry
        self._chain = VerifiedEntries(path, connection)
        self._file = file_of(path)

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
        """Yield the entries (of ``kinds``) in order; a damaged one has an empty body, which its hash does not match."""
        if len(kinds) == 1:
            yield from self._chain.of_kind(kinds[0])
        else:
            yield from (e for e in self._chain.all() if not kinds or e.kind in kinds)

    def verify(self) -> list[str]:
        """Return what is wrong with the file or the chain: nothing, if it is as it was written."""
        try:
            self._chain.forget()
            damage = [plain(row[0]) for row in self._rows("PRAGMA integrity_check") if row[0] != "ok"]
            return damage or self._chain_problems()
        except WorkbenchError as error:
            return [error.what]

    def _rows(self, query: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        try:
            return self._db.execute(query, values).fetchall()
        except FAULTS as error:
            raise unusable(self.path, str(error)) from None

    def _chain_problems(self) -> list[str]:
        return self._chain.problems(self._start(), self._head())

    def _meta(self, name: str) -> str | None:
        found = self._rows("SELECT value FROM meta WHERE key = ?", (name,))
        if not found:
            return None
        value = plain(found[0][0])
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
        """Return the hash of the last entry, as stored beside the chain."""
        return self._meta("head") or ""

    def _cost(self, entry: Entry) -> Amount:
        """Return the (ε, δ) of an entry; a cap's δ may be empty, which reads as 0."""
        return Decimal(entry.epsilon), Decimal(entry.delta or 0)

    def _append(
        self, kind: str, release_id: str, dataset: str, cost: tuple[Decimal, Decimal | None], body: dict[str, Any]
    ) -> None:
        last = self._rows("SELECT seq, hash FROM entry ORDER BY seq DESC LIMIT 1")
        seq, prev = (last[0][0] + 1, last[0][1]) if last else (1, self._start())
        if prev != self._head():  # a new entry must not cover up that some are gone
            raise CheckFailedError(
                f"the ledger misses entries after entry {seq - 1}", str(self.path), "put back a copy"
            )
        known = self._chain.current()
        time = datetime.now(UTC).isoformat(timespec="milliseconds")
        epsilon, delta = texts(cost)
        entry = Entry(seq, time, kind, release_id, dataset, epsilon, delta, body, prev, "")
        own, stated = entry_hash(entry), json.dumps(body)
        if fault := fault_of(replace(entry, body=json.loads(stated), hash=own)):  # written, it would damage the ledger
            raise InputError(f"the ledger cannot record this: malformed {fault}", str(self.path))
        self._db.execute(
            "INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (seq, time, kind, release_id, dataset, epsilon, delta, stated, prev, own),
        )
        self._db.execute("UPDATE meta SET value = ? WHERE key = 'head'", (own,))
        self._chain.appended(seq, known)
        self._added = True

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Run the block in a transaction; within another one, the block becomes part of it."""
        if self._db.in_transaction:
            yield
            return
        self._begin()
        try:
            yield
            self._chain.commit()
            self._committed()
            self._ended = time.monotonic()
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
        if time.monotonic() - self._ended < _AGAIN:
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
            if file_of(self.path) != self._file:  # what is written now would be in no file
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
        self._chain.unsure()


def texts(cost: tuple[Decimal, Decimal | None]) -> tuple[str, str]:
    """Return an amount as the ledger stores it; an uncapped δ is an empty string."""
    return str(cost[0]), "" if cost[1] is None else str(cost[1])
