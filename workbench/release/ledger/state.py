"""What the entries of a ledger say together: its accounts, the status of every release, and what each account has left.

Status and cost of a release follow from its last entry, the body from all of its entries.
"""

from __future__ import annotations

import dataclasses
import hashlib
import sqlite3
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import TypeVar

from workbench.data.table import Table
from workbench.params import CheckFailedError
from workbench.release.ledger.account_finder import SKETCH, Accounts, Match
from workbench.release.ledger.book import LedgerBook
from workbench.release.ledger.column_marks import ColumnMarks
from workbench.release.ledger.counting import Count, Counted, event_of_release, filter_of
from workbench.release.ledger.entry import Entry, start_of
from workbench.release.ledger.exact import minus, total
from workbench.release.ledger.identity import Identity, identify
from workbench.release.ledger.records import CERTIFY, COUNTED, STATUS, Account, Release
from workbench.release.ledger.sketch import Sketches

SHORT_ID = 6
"""Digits of an account's id by which a person may call it."""

T = TypeVar("T")


class LedgerState(LedgerBook):
    """The part of the ledger that reads accounts and releases."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        super().__init__(path, connection)
        self._taken: tuple[int, int, Accounts, dict[str, Release]] = -1, 0, Accounts(), {}

    def _present(self) -> tuple[Accounts, dict[str, Release]]:
        """Return the accounts, and every release by its id; each entry is taken into account once."""
        entries, generation = self._chain.all(), self._chain.generation
        former, done, accounts, releases = self._taken
        if former != generation:
            done, accounts, releases = 0, Accounts(), {}
        for entry in entries[done:]:
            accounts.take(entry)
            _take_release(entry, releases)
        self._taken = generation, len(entries), accounts, releases
        return accounts, releases

    # -- tables and their accounts --------------------------------------------------------------------------------

    def identify(self, table: Table) -> Identity:
        """Return the marks of a table under this ledger's keys: the one way from a table to its account.

        Raises:
            InputError: the key of the ledger is missing.
        """
        merged = {e.body.get("ledger"): e.body.get("former", 0) for e in self.entries("merge")}
        own, *others = self.keys
        found = identify(table, own, former=self._former() > 0)
        beside = tuple(identify(table, key, former=bool(merged.get(start_of(key)))) for key in others)
        return dataclasses.replace(found, others=beside) if beside else found

    def accounts(self) -> Accounts:
        """Return the datasets and their accounts; they follow what is appended later."""
        return self._present()[0]

    def account_of(self, dataset: str) -> str:
        """Return the account that ``dataset`` is charged to (its own, or that of the version it follows)."""
        return self.accounts().of(dataset)

    def find(self, identity: Identity) -> Match:
        """Return the account of a table, and those it may belong to, without recording anything."""
        accounts = self.accounts()
        match = accounts.match(identity, self._sketches())
        paying = {accounts.of(e.dataset) for e in self.entries("cap")} | set(accounts.named_accounts())
        if identity.columns.empty or accounts.parent(match.dataset) or paying.intersection(match.accounts):
            return match
        keys = self.keys
        columns = (
            (dataset, self._decoded(lambda data: ColumnMarks.decode(data, keys), digest))
            for digest, dataset in accounts.columns.items()
        )
        return dataclasses.replace(match, doubts=accounts.doubts(identity, match, columns, paying))

    def taken_as_version(self, identity: Identity) -> str:
        """Return the account whose version a table is taken for by its rows alone; empty where a person said so."""
        match = self.find(identity)
        if not match.dataset:
            return match.account if match.share else ""
        accounts = self.accounts()
        by_rows = accounts.origins.get(match.dataset) == SKETCH and accounts.of(match.dataset) != match.dataset
        return match.account if by_rows else ""

    def called(self) -> dict[str, str]:
        """Return a readable name of each account: its public name, or else the newest file released from it."""
        accounts = self.accounts()
        stated: dict[str, str] = {}
        for release in self.releases():
            output = release.body.get("output")
            if output and release.status in COUNTED:
                stated[accounts.of(release.dataset)] = f"released as {Path(output).name}"
        return stated | {accounts.named(name): name for name in accounts.names}

    def called_by(self, text: str) -> str:
        """Return the account that a person calls ``text``: its public name, or six or more digits of its id.

        Returns:
            the account; empty where there is none, or several.
        """
        accounts = self.accounts()
        if accounts.named(text):
            return accounts.named(text)
        found = {accounts.of(d) for d in accounts.datasets if len(text) >= SHORT_ID and d.startswith(text)}
        return found.pop() if len(found) == 1 else ""

    # -- releases and budgets -------------------------------------------------------------------------------------

    def releases(self, dataset: str | None = None) -> list[Release]:
        """Return every release (of the account of ``dataset``), in order, with its present status and cost."""
        accounts, found = self._present()
        own = None if dataset is None else accounts.of(dataset)
        return [release for release in found.values() if own is None or accounts.of(release.dataset) == own]

    def release(self, release_id: str) -> Release | None:
        """Return one release, or ``None``."""
        return self._present()[1].get(release_id)

    def account(self, dataset: str) -> Account:
        """Return the budget of the account that ``dataset`` is charged to."""
        dataset = self.account_of(dataset)
        caps = [e for e in self.entries("cap") if e.dataset == dataset]
        counted = [r for r in self.releases(dataset) if r.status in COUNTED]
        spent = total(r.cost for r in counted if r.status != "reserved")
        reserved = total(r.cost for r in counted if r.status == "reserved")
        count = self._count(dataset, counted)
        if count is not None:
            final = {r.release_id for r in counted if r.status != "reserved"}
            spent, used = count.amount(r for r in count.releases if r.release_id in final), count.amount()
            reserved = minus(used[0], spent[0]), minus(used[1], spent[1])
        history = tuple({"epsilon": e.epsilon, "delta": e.delta, "time": e.time, **e.body} for e in caps)
        cap = (caps[-1].cost[0], caps[-1].cost[1] if caps[-1].delta else None) if caps else None
        return Account(dataset, cap, spent, reserved, history, count)

    def caps(self) -> dict[str, Decimal]:
        """Return the present ε cap of every account."""
        accounts = self.accounts()
        return {e.dataset: e.cost[0] for e in self.entries("cap") if accounts.of(e.dataset) == e.dataset}

    # -- within ---------------------------------------------------------------------------------------------------

    def _count(self, dataset: str, counted: list[Release]) -> Count | None:
        """Return how an account counts its releases; ``None`` for their plain sum."""
        chosen = [filter_of(e.body) for e in self.entries("count") if e.dataset == dataset]
        if not chosen or chosen[-1] is None:
            return None
        parts = (Counted(r.release_id, r.cost, event_of_release(r.status, r.cost, r.body)) for r in counted)
        return Count(chosen[-1], tuple(parts))

    def _former(self) -> int:
        """Return the number of entries in the first format, which names datasets by their fingerprints."""
        stated = self._meta("former")
        if stated is not None:
            return int(stated)
        return len(self._rows("SELECT seq FROM entry LIMIT 1")) if self._meta("start") is None else 0

    def _sketches(self) -> Iterator[tuple[str, Sketches]]:
        for digest, dataset in self.accounts().sketches.items():
            yield dataset, self._decoded(Sketches.decode, digest)

    def _decoded(self, decode: Callable[[bytes], T], digest: str) -> T:
        """Return the marks that an entry names by their digest."""
        found = self._rows("SELECT data FROM sketch WHERE digest = ?", (digest,))
        data = found[0][0] if found else None
        try:
            if isinstance(data, bytes) and hashlib.sha256(data).hexdigest() == digest:
                return decode(data)
        except ValueError:  # they were never written by this program, or under another key
            pass
        raise CheckFailedError(
            "the ledger is damaged: the marks of a table are not as they were written",
            str(self.path),
            "put back a copy",
        )


def _take_release(entry: Entry, found: dict[str, Release]) -> None:
    """Take the next entry of a release into account."""
    before = found.get(entry.release_id)
    body = {**(before.body if before else {}), **entry.body}
    if entry.kind == CERTIFY and before is not None:
        found[entry.release_id] = dataclasses.replace(before, body=body)
    elif entry.kind in STATUS:
        time = before.time if before else entry.first_time
        found[entry.release_id] = Release(entry.release_id, entry.dataset, *entry.cost, STATUS[entry.kind], time, body)
