"""The present state of a ledger, from its entries: accounts, the status of every release, what each account has left.

The status and cost of a release are those of its last entry; its body is merged from all of its entries.
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
from workbench.release.ledger.identity import Identity, Marking, identify
from workbench.release.ledger.records import CERTIFY, COUNTED, STATUS, Account, Release, by_the_row, unit_of
from workbench.release.ledger.sketch import Sketches

SHORT_ID = 6
"""The fewest digits of an account's id by which a person may name it."""

T = TypeVar("T")


class LedgerState(LedgerBook):
    """The part of the ledger that reads: the methods that change an account or a release are in its subclasses."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        super().__init__(path, connection)
        self._read_so_far: tuple[int, int, Accounts, dict[str, Release]] = -1, 0, Accounts(), {}
        """The generation of the chain, how many of its entries were read, and what they give."""

    def _accounts_and_releases(self) -> tuple[Accounts, dict[str, Release]]:
        """Return the accounts, and every release by its id; each call reads only the entries that are new."""
        entries, generation = self._chain.all(), self._chain.generation
        known, done, accounts, releases = self._read_so_far
        if known != generation:  # the chain was read again, so its entries may be others
            done, accounts, releases = 0, Accounts(), {}
        for entry in entries[done:]:
            accounts.take(entry)
            _take_release(entry, releases)
        self._read_so_far = generation, len(entries), accounts, releases
        return accounts, releases

    # -- tables and their accounts --------------------------------------------------------------------------------

    def identify(self, table: Table) -> Identity:
        """Return the marks of a table under this ledger's keys; a table's account is found by them alone.

        Raises:
            InputError: the key of the ledger is missing.
        """
        merged = {e.body.get("ledger"): e.body.get("former", 0) for e in self.entries("merge")}
        own, *others = self.keys
        found = identify(table, own, former=self._first_format_entries() > 0)
        beside = tuple(identify(table, key, former=bool(merged.get(start_of(key)))) for key in others)
        return dataclasses.replace(found, others=beside) if beside else found

    def marking(self, table: Table) -> Marking:
        """Return what makes the marks of a table of its parts, under the ledger's own key, for :meth:`identify`."""
        return Marking(table, self.keys[0], former=self._first_format_entries() > 0)

    def accounts(self) -> Accounts:
        """Return the datasets and their accounts; the same object takes up what is appended later."""
        return self._accounts_and_releases()[0]

    def account_of(self, dataset: str) -> str:
        """Return the account that pays for ``dataset``: its own, or that of the table it is a version of."""
        return self.accounts().of(dataset)

    def find(self, identity: Identity) -> Match:
        """Return the account of a table, and others it may belong to (``doubts``), without recording anything."""
        accounts = self.accounts()
        match = accounts.match(identity, self._sketches())
        # An account pays if it has a cap or a public name. A table that has one is in no doubt; doubts are about these.
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
        """Return the account that a table shares by the likeness of its rows alone; empty where a person said so."""
        match = self.find(identity)
        if not match.dataset:
            return match.account if match.share else ""
        accounts = self.accounts()
        by_rows = accounts.origins.get(match.dataset) == SKETCH and accounts.of(match.dataset) != match.dataset
        return match.account if by_rows else ""

    def called(self) -> dict[str, str]:
        """Return a readable name for each account.

        Its public name, else the file by which its table was first seen; in a ledger of a former version, which has
        not recorded that, the newest released file.
        """
        accounts = self.accounts()
        stated: dict[str, str] = {}
        for release in self.releases():
            output = release.body.get("output")
            if output and release.status in COUNTED:
                stated[accounts.of(release.dataset)] = f"released as {Path(output).name}"
        tables: dict[str, str] = {}
        for entry in self.entries("mark"):
            if entry.body.get("title"):
                tables.setdefault(accounts.of(entry.dataset), str(entry.body["title"]))
        return stated | tables | {accounts.named(name): name for name in accounts.names}

    def called_by(self, text: str) -> str:
        """Return the account that a person names by ``text``: its public name, or the first digits of its id.

        Returns:
            the account; empty where none or several match, or where fewer than :data:`SHORT_ID` digits are given.
        """
        accounts = self.accounts()
        if accounts.named(text):
            return accounts.named(text)
        found = {accounts.of(d) for d in accounts.datasets if len(text) >= SHORT_ID and d.startswith(text)}
        return found.pop() if len(found) == 1 else ""

    # -- releases and budgets -------------------------------------------------------------------------------------

    def releases(self, dataset: str | None = None) -> list[Release]:
        """Return every release in order, or those of the account of ``dataset``, with present status and cost."""
        accounts, found = self._accounts_and_releases()
        own = None if dataset is None else accounts.of(dataset)
        return [release for release in found.values() if own is None or accounts.of(release.dataset) == own]

    def release(self, release_id: str) -> Release | None:
        """Return one release, or ``None``."""
        return self._accounts_and_releases()[1].get(release_id)

    def account(self, dataset: str) -> Account:
        """Return the budget of the account that ``dataset`` is charged to."""
        dataset = self.account_of(dataset)
        caps = [e for e in self.entries("cap") if e.dataset == dataset]
        found = [r for r in self.releases(dataset) if r.status in COUNTED]
        unit, counted = unit_of(found), by_the_row(found)
        spent = total(r.cost for r in counted if r.status != "reserved")
        reserved = total(r.cost for r in counted if r.status == "reserved")
        count = self._count(dataset, counted)
        if count is not None:  # the account counts by a filter instead of the plain sum
            final = {r.release_id for r in counted if r.status != "reserved"}
            spent, used = count.amount(r for r in count.releases if r.release_id in final), count.amount()
            reserved = minus(used[0], spent[0]), minus(used[1], spent[1])
        history = tuple({"epsilon": e.epsilon, "delta": e.delta, "time": e.time, **e.body} for e in caps)
        cap = (caps[-1].cost[0], caps[-1].cost[1] if caps[-1].delta else None) if caps else None
        return Account(dataset, cap, spent, reserved, history, count, unit)

    def caps(self) -> dict[str, Decimal]:
        """Return the present ε cap of every account."""
        accounts = self.accounts()
        return {e.dataset: e.cost[0] for e in self.entries("cap") if accounts.of(e.dataset) == e.dataset}

    # -- helpers ---------------------------------------------------------------------------------------------------

    def _count(self, dataset: str, counted: list[Release]) -> Count | None:
        """Return the filter by which an account counts its releases; ``None`` where it counts their plain sum."""
        chosen = [filter_of(e.body) for e in self.entries("count") if e.dataset == dataset]
        if not chosen or chosen[-1] is None:
            return None
        parts = (Counted(r.release_id, r.cost, event_of_release(r.status, r.cost, r.body)) for r in counted)
        return Count(chosen[-1], tuple(parts))

    def _first_format_entries(self) -> int:
        """Return the number of entries in the first format, which named datasets by fingerprint.

        A ledger that is still in that format has 1 for all of its entries.
        """
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
        except ValueError:  # not written by this program, or under another key
            pass
        raise CheckFailedError(
            "the ledger is damaged: the marks of a table are not as they were written",
            str(self.path),
            "put back a copy",
        )


def _take_release(entry: Entry, found: dict[str, Release]) -> None:
    """Add an entry to the release it is about, if it is about one."""
    before = found.get(entry.release_id)
    body = {**(before.body if before else {}), **entry.body}
    if entry.kind == CERTIFY and before is not None:
        found[entry.release_id] = dataclasses.replace(before, body=body)
    elif entry.kind in STATUS:
        time = before.time if before else entry.first_time
        found[entry.release_id] = Release(entry.release_id, entry.dataset, *entry.cost, STATUS[entry.kind], time, body)
