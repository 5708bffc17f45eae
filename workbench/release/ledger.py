"""The durable account of every dataset: charge first, then release.

One SQLite file holds an append-only chain of entries; each names the hash of the one before it. The present
status of a release follows from its last entry: ``reserved`` (the charge is durable, the work may be going on),
``charged`` (the output exists), ``settled`` (a run cost less than it reserved), ``void`` (no output ever existed)
or ``refused``. Reserved, charged and settled releases count against the cap, so a crash can only overcount.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Self

from workbench.params import CheckFailedError, InputError, WorkbenchError
from workbench.params.codec import parse_json
from workbench.paths import user_data
from workbench.privacy.event import Cost
from workbench.release.account import COUNTED, FIRST_RELEASE, STEWARD, Account, Release, refusal
from workbench.release.amounts import Amount, loss, plus
from workbench.release.chain import Entry, entry_hash, start_of, verify_chain
from workbench.release.processes import this_process

_PATIENCE = 20.0
"""Seconds to wait for another process that holds the ledger."""

_STATUS = {"reserve": "reserved", "charge": "charged", "settle": "settled", "void": "void", "refuse": "refused"}
_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS entry (
    seq INTEGER PRIMARY KEY, time TEXT NOT NULL, kind TEXT NOT NULL, release_id TEXT NOT NULL, dataset TEXT NOT NULL,
    epsilon TEXT NOT NULL, delta TEXT NOT NULL, body TEXT NOT NULL, prev TEXT NOT NULL, hash TEXT NOT NULL UNIQUE);
CREATE INDEX IF NOT EXISTS entry_release ON entry (release_id);
"""


class Ledger:
    """An open ledger. Use it as a context manager, or call :meth:`close`."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._db = connection

    @classmethod
    def open(cls, path: Path | None = None) -> Self:
        """Open the ledger at ``path`` (default: the user data folder), making it where there is none.

        Raises:
            InputError: the file is not a ledger, is locked, or cannot be written.
            CheckFailedError: it is damaged.
        """
        # Absolute: SQLite has names of its own for ledgers that would be forgotten, such as ":memory:".
        path = (path or user_data() / "ledger.sqlite").absolute()
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            if not path.is_file():
                raise _unusable(path, "it is not a regular file")
            # Autocommit mode: transactions are ours to open, so that the cap is read and charged under one lock.
            connection = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)
        except OSError as error:
            raise _unusable(path, error.strerror or "it cannot be opened") from None
        except sqlite3.Error as error:
            raise _unusable(path, str(error)) from None
        ledger = cls(path, connection)
        try:
            # EXTRA: the folder is synced too when the journal goes, so a commit survives a power cut.
            connection.execute("PRAGMA journal_mode = DELETE")
            connection.execute("PRAGMA synchronous = EXTRA")
            with ledger._transaction():
                for statement in filter(str.strip, _SCHEMA.split(";")):
                    connection.execute(statement)
                connection.execute("INSERT OR IGNORE INTO meta VALUES ('version', '1')")
                connection.execute("INSERT OR IGNORE INTO meta VALUES ('key', ?)", (secrets.token_bytes(32),))
                connection.execute("INSERT OR IGNORE INTO meta VALUES ('head', ?)", (start_of(ledger.key),))
        except sqlite3.Error as error:
            connection.close()
            raise _unusable(path, str(error)) from None
        except BaseException:
            connection.close()
            raise
        return ledger

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    @property
    def key(self) -> bytes:
        """The random key of this ledger's fingerprints; it never leaves the ledger."""
        return bytes(self._rows("SELECT value FROM meta WHERE key = 'key'")[0][0])

    # -- what happened ------------------------------------------------------------------------------------------

    def reserve(self, dataset: str, cost: Cost, *, work: str, details: dict[str, Any] | None = None) -> str:
        """Charge ``cost`` to ``dataset`` durably, before its rows are used, and return the release's id.

        Args:
            dataset: the keyed fingerprint.
            cost: what the work will cost at the most.
            work: what kind of work it is (``sanitize``, ``fit``, ``dpsgd``).
            details: what recovery needs to know (paths of the output); no data values.

        Raises:
            BudgetRefusedError: the cap does not allow it; the refusal is recorded, nothing is charged.
        """
        release_id = secrets.token_hex(8)
        wanted = loss(cost.epsilon, cost.delta)
        body = {"work": work, "process": this_process(), **(details or {})}
        with self._transaction():
            problems = self._chain_problems()
            if problems:  # entries that are gone could have been charges
                raise CheckFailedError(
                    f"the ledger is not as it was written: {problems[0]}",
                    str(self.path),
                    "put back a copy that `workbench ledger verify` finds whole",
                )
            dataset = self.account_of(dataset)
            account = self.account(dataset)
            cap = account.cap
            if cap is None or account.unused:
                cap = (cost.epsilon, None)
            if cap[1] is None and cost.delta > 0:
                cap = (cap[0], cost.delta)
            after = plus(account.used, wanted)
            refused = after[0] > cap[0] or after[1] > (cap[1] or 0)
            if refused:
                told = {"cap": _texts(cap), "used": _texts(account.used)}
                self._append("refuse", release_id, dataset, wanted, {**body, **told})
            else:
                if cap != account.cap:
                    self._append("cap", "", dataset, cap, {"origin": FIRST_RELEASE})
                self._append("reserve", release_id, dataset, wanted, body)
        if refused:
            raise refusal(cost, cap, account.used)
        return release_id

    def complete(self, release_id: str, certificate: str = "") -> None:
        """Record that the output of a reserved release exists: its charge is final.

        Args:
            release_id: the release.
            certificate: checksum of its certificate, so that no other one can pass for it.
        """
        self._follow(release_id, "charge", body={"certificate": certificate} if certificate else None)

    def void(self, release_id: str, reason: str) -> None:
        """Record that no output of a reserved release ever existed: it costs nothing."""
        self._follow(release_id, "void", body={"reason": reason})

    def settle(self, release_id: str, epsilon: Decimal, delta: Decimal, certificate: str = "") -> None:
        """Record that a run, stopped for a reason decided without data, cost less than it reserved."""
        body = {"certificate": certificate} if certificate else None
        self._follow(release_id, "settle", loss(epsilon, delta), body)

    def set_cap(self, dataset: str, epsilon: Decimal, delta: Decimal | None = None) -> Account:
        """Set the cap of ``dataset``; δ keeps its present cap where none is given. Recorded for good."""
        loss(epsilon, delta or Decimal(0))
        with self._transaction():
            dataset = self.account_of(dataset)
            present = self.account(dataset).cap
            kept = present[1] if present else None
            self._append("cap", "", dataset, (epsilon, kept if delta is None else delta), {"origin": STEWARD})
        return self.account(dataset)

    def link_version(self, new: str, old: str) -> str:
        """Let ``new`` share the account of ``old`` and return that account.

        Raises:
            InputError: ``old`` is not in the ledger, or ``new`` has an account of its own.
        """
        with self._transaction():
            account = self.account_of(old)
            if not self._known(account):
                raise InputError("the older table is not in the ledger", str(self.path), "release or cap it first")
            if self.account_of(new) == account:
                return account
            if self._known(new):
                raise InputError("the newer table has an account of its own already", str(self.path))
            self._append("version", "", new, (Decimal(0), Decimal(0)), {"of": account})
        return account

    # -- what is known --------------------------------------------------------------------------------------------

    def account_of(self, dataset: str) -> str:
        """Return the account that ``dataset`` is charged to (its own, or that of the version it follows)."""
        seen = {dataset}
        while True:
            older = [e.body.get("of", dataset) for e in self.entries("version") if e.dataset == dataset]
            if not older or older[-1] in seen:
                return dataset
            dataset = older[-1]
            seen.add(dataset)

    def account(self, dataset: str) -> Account:
        """Return the budget of ``dataset``."""
        dataset = self.account_of(dataset)
        caps = [e for e in self.entries("cap") if e.dataset == dataset]
        zero = (Decimal(0), Decimal(0))
        spent, reserved = zero, zero
        for release in self.releases(dataset):
            if release.status == "reserved":
                reserved = plus(reserved, (release.epsilon, release.delta))
            elif release.status in COUNTED:
                spent = plus(spent, (release.epsilon, release.delta))
        history = tuple({"epsilon": e.epsilon, "delta": e.delta, "time": e.time, **e.body} for e in caps)
        cap = None
        if caps:
            epsilon, delta = self._cost(caps[-1])
            cap = (epsilon, delta if caps[-1].delta else None)
        return Account(dataset, cap, spent, reserved, history)

    def releases(self, dataset: str | None = None) -> list[Release]:
        """Return every release (of ``dataset``), in order, with its present status and cost."""
        found: dict[str, Release] = {}
        for e in self.entries(*_STATUS):
            if dataset is not None and e.dataset != dataset:
                continue
            before = found.get(e.release_id)
            body = {**(before.body if before else {}), **e.body}
            time = before.time if before else e.time
            found[e.release_id] = Release(e.release_id, e.dataset, *self._cost(e), _STATUS[e.kind], time, body)
        return list(found.values())

    def release(self, release_id: str) -> Release | None:
        """Return one release, or ``None``."""
        return next((r for r in self.releases() if r.release_id == release_id), None)

    def caps(self) -> dict[str, Decimal]:
        """Return the present ε cap of every dataset."""
        return {e.dataset: self._cost(e)[0] for e in self.entries("cap")}

    def entries(self, *kinds: str) -> Iterator[Entry]:
        """Yield the entries (of ``kinds``) in order; the body of a damaged one is empty, which its hash betrays."""
        for row in self._rows("SELECT * FROM entry ORDER BY seq"):
            if not kinds or row[2] in kinds:
                seq, (time, kind, release_id, dataset, epsilon, delta) = row[0], map(str, row[1:7])
                prev, own = map(str, row[8:])
                yield Entry(seq, time, kind, release_id, dataset, epsilon, delta, _body(row[7]), prev, own)

    def verify(self) -> list[str]:
        """Return what is wrong with the file or the chain: nothing, if it is as it was written."""
        try:
            damage = [str(row[0]) for row in self._rows("PRAGMA integrity_check") if row[0] != "ok"]
            return damage or self._chain_problems()
        except WorkbenchError as error:
            return [error.what]

    # -- within ---------------------------------------------------------------------------------------------------

    def _rows(self, query: str) -> list[tuple[Any, ...]]:
        try:
            return self._db.execute(query).fetchall()
        except sqlite3.Error as error:
            raise _unusable(self.path, str(error)) from None

    def _chain_problems(self) -> list[str]:
        entries = list(self.entries())
        start = start_of(self.key)
        problems = verify_chain(entries, start)
        if self._head() != (entries[-1].hash if entries else start):
            problems.append(f"entries are missing after entry {entries[-1].seq if entries else 0}")
        return problems

    def _head(self) -> str:
        """Return the hash of the entry that was written last, as the ledger remembers it."""
        return str(self._rows("SELECT value FROM meta WHERE key = 'head'")[0][0])

    def _cost(self, entry: Entry) -> Amount:
        """Return the (ε, δ) of an entry; a cap's δ may be empty, which reads as 0."""
        try:
            return Decimal(entry.epsilon), Decimal(entry.delta or 0)
        except InvalidOperation:
            raise _unusable(self.path, f"entry {entry.seq} is damaged") from None

    def _known(self, account: str) -> bool:
        return any(e.dataset == account for e in self.entries())

    def _follow(
        self,
        release_id: str,
        kind: str,
        cost: tuple[Decimal, Decimal] | None = None,
        body: dict[str, Any] | None = None,
    ) -> None:
        with self._transaction():
            release = self.release(release_id)
            if release is None or release.status != "reserved":
                status = release.status if release else "unknown"
                raise InputError(f"the release {release_id} is {status}, not reserved", str(self.path))
            if cost is not None and (cost[0] > release.epsilon or cost[1] > release.delta):
                raise InputError(f"the release {release_id} cannot cost more than it reserved", str(self.path))
            self._append(kind, release_id, release.dataset, cost or (release.epsilon, release.delta), body or {})

    def _append(
        self, kind: str, release_id: str, dataset: str, cost: tuple[Decimal, Decimal | None], body: dict[str, Any]
    ) -> None:
        last = self._rows("SELECT seq, hash FROM entry ORDER BY seq DESC LIMIT 1")
        seq, prev = (last[0][0] + 1, last[0][1]) if last else (1, start_of(self.key))
        if prev != self._head():  # a new entry must not cover up that some are gone
            raise CheckFailedError(
                f"the ledger misses entries after entry {seq - 1}", str(self.path), "put back a copy"
            )
        time = datetime.now(UTC).isoformat(timespec="milliseconds")
        epsilon, delta = _texts(cost)
        own = entry_hash(Entry(seq, time, kind, release_id, dataset, epsilon, delta, body, prev, ""))
        self._db.execute(
            "INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (seq, time, kind, release_id, dataset, epsilon, delta, json.dumps(body), prev, own),
        )
        self._db.execute("UPDATE meta SET value = ? WHERE key = 'head'", (own,))

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            self._db.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            raise _unusable(self.path, str(error)) from None
        try:
            yield
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            self._roll_back()
            raise _unusable(self.path, str(error)) from None
        except BaseException:
            self._roll_back()
            raise

    def _roll_back(self) -> None:
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")


def _texts(cost: tuple[Decimal, Decimal | None]) -> tuple[str, str]:
    return str(cost[0]), "" if cost[1] is None else str(cost[1])


def _body(text: Any) -> dict[str, Any]:
    try:
        body = parse_json(text, "entry")
    except (InputError, TypeError):
        return {}
    return body if isinstance(body, dict) else {}


def _unusable(path: Path, reason: str) -> WorkbenchError:
    if "malformed" in reason:
        return CheckFailedError(f"the ledger is damaged: {reason}", str(path), "put back a whole copy")
    mend = "make it a file that you may write"
    if "locked" in reason:
        mend = "wait for the other program to finish"
    elif "not a database" in reason:
        mend = "put back a whole copy"
    return InputError(f"the ledger cannot be used: {reason}", str(path), mend)
