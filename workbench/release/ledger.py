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
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Self

from workbench.params import BudgetRefusedError, InputError
from workbench.paths import user_data
from workbench.privacy.event import Cost
from workbench.release.chain import GENESIS, Entry, entry_hash, verify_chain
from workbench.release.processes import this_process

COUNTED = ("reserved", "charged", "settled")
_STATUS = {"reserve": "reserved", "charge": "charged", "settle": "settled", "void": "void", "refuse": "refused"}
_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS entry (
    seq INTEGER PRIMARY KEY, time TEXT NOT NULL, kind TEXT NOT NULL, release_id TEXT NOT NULL, dataset TEXT NOT NULL,
    epsilon TEXT NOT NULL, delta TEXT NOT NULL, body TEXT NOT NULL, prev TEXT NOT NULL, hash TEXT NOT NULL UNIQUE);
CREATE INDEX IF NOT EXISTS entry_release ON entry (release_id);
"""


@dataclass(frozen=True)
class Release:
    """One release with its present status and cost."""

    release_id: str
    dataset: str
    epsilon: Decimal
    delta: Decimal
    status: str
    time: str
    body: dict[str, Any]


@dataclass(frozen=True)
class Account:
    """A dataset's budget: cap (``None`` before the first release), spent and reserved, in (ε, δ).

    The cap's δ is ``None`` until a release with δ > 0 or the steward sets it.
    """

    dataset: str
    cap: tuple[Decimal, Decimal | None] | None
    spent: tuple[Decimal, Decimal]
    reserved: tuple[Decimal, Decimal]
    cap_history: tuple[dict[str, str], ...] = ()

    @property
    def remaining(self) -> Decimal | None:
        """ε left under the cap, or ``None`` before the first release."""
        return None if self.cap is None else self.cap[0] - self.spent[0] - self.reserved[0]


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
        """
        path = path or user_data() / "ledger.sqlite"
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            # Autocommit mode: transactions are ours to open, so that the cap is read and charged under one lock.
            connection = sqlite3.connect(path, timeout=20, isolation_level=None)
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
        row = self._db.execute("SELECT value FROM meta WHERE key = 'key'").fetchone()
        return bytes(row[0])

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
        body = {"work": work, "process": this_process(), **(details or {})}
        with self._transaction():
            dataset = self.account_of(dataset)
            account = self.account(dataset)
            used = (account.spent[0] + account.reserved[0], account.spent[1] + account.reserved[1])
            cap = account.cap or (cost.epsilon, None)
            if cap[1] is None and cost.delta > 0:
                cap = (cap[0], cost.delta)
            refused = used[0] + cost.epsilon > cap[0] or used[1] + cost.delta > (cap[1] or 0)
            if not refused and cap != account.cap:
                self._append("cap", "", dataset, cap, {"origin": "first release"})
            self._append("refuse" if refused else "reserve", release_id, dataset, (cost.epsilon, cost.delta), body)
        if refused:
            raise BudgetRefusedError(*_refusal(cost, cap, used))
        return release_id

    def complete(self, release_id: str) -> None:
        """Record that the output of a reserved release exists: its charge is final."""
        self._follow(release_id, "charge")

    def void(self, release_id: str, reason: str) -> None:
        """Record that no output of a reserved release ever existed: it costs nothing."""
        self._follow(release_id, "void", body={"reason": reason})

    def settle(self, release_id: str, epsilon: Decimal, delta: Decimal) -> None:
        """Record that a run, stopped for a reason decided without data, cost less than it reserved."""
        self._follow(release_id, "settle", (epsilon, delta))

    def set_cap(self, dataset: str, epsilon: Decimal, delta: Decimal | None = None) -> Account:
        """Set the cap of ``dataset``; δ keeps its present cap where none is given. Recorded for good."""
        with self._transaction():
            dataset = self.account_of(dataset)
            present = self.account(dataset).cap
            kept = present[1] if present else None
            self._append("cap", "", dataset, (epsilon, kept if delta is None else delta), {"origin": "steward"})
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
            row = self._db.execute(
                "SELECT body FROM entry WHERE kind = 'version' AND dataset = ? ORDER BY seq DESC LIMIT 1", (dataset,)
            ).fetchone()
            if row is None:
                return dataset
            dataset = json.loads(row[0])["of"]
            if dataset in seen:
                return dataset
            seen.add(dataset)

    def account(self, dataset: str) -> Account:
        """Return the budget of ``dataset``."""
        dataset = self.account_of(dataset)
        caps = [e for e in self.entries("cap") if e.dataset == dataset]
        zero = (Decimal(0), Decimal(0))
        spent, reserved = zero, zero
        for release in self.releases(dataset):
            if release.status == "reserved":
                reserved = (reserved[0] + release.epsilon, reserved[1] + release.delta)
            elif release.status in COUNTED:
                spent = (spent[0] + release.epsilon, spent[1] + release.delta)
        history = tuple({"epsilon": e.epsilon, "delta": e.delta, "time": e.time, **e.body} for e in caps)
        cap = (Decimal(caps[-1].epsilon), Decimal(caps[-1].delta) if caps[-1].delta else None) if caps else None
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
            cost = Decimal(e.epsilon), Decimal(e.delta)
            found[e.release_id] = Release(e.release_id, e.dataset, *cost, _STATUS[e.kind], time, body)
        return list(found.values())

    def release(self, release_id: str) -> Release | None:
        """Return one release, or ``None``."""
        return next((r for r in self.releases() if r.release_id == release_id), None)

    def caps(self) -> dict[str, Decimal]:
        """Return the present ε cap of every dataset."""
        return {e.dataset: Decimal(e.epsilon) for e in self.entries("cap")}

    def entries(self, *kinds: str) -> Iterator[Entry]:
        """Yield the entries (of ``kinds``) in order."""
        for row in self._db.execute("SELECT * FROM entry ORDER BY seq"):
            if not kinds or row[2] in kinds:
                yield Entry(*row[:7], *(json.loads(row[7]), *row[8:]))

    def verify(self) -> list[str]:
        """Return what is wrong with the file or the chain: nothing, if it is as it was written."""
        try:
            damage = [str(r[0]) for r in self._db.execute("PRAGMA integrity_check") if r[0] != "ok"]
            return damage or verify_chain(self.entries())
        except (sqlite3.Error, ValueError, TypeError) as error:
            return [f"the ledger file is damaged ({type(error).__name__})"]

    # -- within ---------------------------------------------------------------------------------------------------

    def _known(self, account: str) -> bool:
        return self._db.execute("SELECT 1 FROM entry WHERE dataset = ? LIMIT 1", (account,)).fetchone() is not None

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
        row = self._db.execute("SELECT seq, hash FROM entry ORDER BY seq DESC LIMIT 1").fetchone()
        seq, prev = (row[0] + 1, row[1]) if row else (1, GENESIS)
        time = datetime.now(UTC).isoformat(timespec="milliseconds")
        epsilon, delta = str(cost[0]), "" if cost[1] is None else str(cost[1])
        entry = Entry(seq, time, kind, release_id, dataset, epsilon, delta, body, prev, "")
        self._db.execute(
            "INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (seq, time, kind, release_id, dataset, epsilon, delta, json.dumps(body), prev, entry_hash(entry)),
        )

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


def _unusable(path: Path, reason: str) -> InputError:
    mend = "wait for the other program to finish" if "locked" in reason else "name another file with --ledger"
    return InputError(f"the ledger cannot be used: {reason}", str(path), mend)


def _refusal(cost: Cost, cap: tuple[Decimal, Decimal | None], used: tuple[Decimal, Decimal]) -> tuple[str, str, str]:
    left = max(cap[0] - used[0], Decimal(0))
    what = f"this release costs epsilon = {cost.epsilon.normalize():f} but only {left.normalize():f} remain"
    where = f"cap epsilon = {cap[0].normalize():f}, spent or reserved {used[0].normalize():f}"
    delta_left = max((cap[1] or Decimal(0)) - used[1], Decimal(0))
    if cost.delta > delta_left:
        what += f", and it needs delta = {float(cost.delta):g} of which {float(delta_left):g} remain"
    return what, where, "spend less, or raise the cap with `workbench ledger cap`"
