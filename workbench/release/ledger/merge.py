"""Merging: the entries of another ledger become part of this one, which then charges for both.

Every table, release, name and cap of the other ledger is appended here in one transaction, under the lock of both
files. A release that both hold (one file began as a copy of the other) counts once, at the higher of its two costs.
Accounts that both hold become one with the sum of both and the lower cap. The other ledger is marked as moved here;
this is committed after the entries here, so a crash in between leaves it in use and the merge can be repeated.

The marks of the other ledger's tables are under its own key, which joins the key of this one: a table is then looked
for under both. A version of the workbench that knows one key only refuses such a key file, instead of taking a known
table for a new one.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from workbench.params import InputError
from workbench.release.ledger.account_finder import MERGED, NAMED, Accounts
from workbench.release.ledger.counting import SUM, filter_of
from workbench.release.ledger.custody import MERGE, MOVED
from workbench.release.ledger.exact import plus
from workbench.release.ledger.figures import FIGURES, LedgerFigures, noted
from workbench.release.ledger.file import write_keys
from workbench.release.ledger.hash_chain import Entry
from workbench.release.ledger.records import COUNTED, Release

FROM = "merged"
"""Key in the body of an entry that was appended by a merge: the time and the ledger of the first one."""

MERGED_CAP = "two ledgers became one"
"""Who set a cap that is the lower one of two ledgers."""

PARTS = "parts"
"""Key in the body of a charge that a merge has made: what other ledgers record of a training, beside the entries."""

RESUMABLE = "resumable"
"""Key of a reservation whose work can be interrupted and go on."""

_GOING_ON = ("resume", "claim", "pause")
_ENDING = ("charge", "settle")
_ZERO = (Decimal(0), Decimal(0))


@dataclass(frozen=True)
class MergeResult:
    """What a merge has added: releases of the other ledger, those both held, and tables."""

    releases: int
    shared: int
    tables: int


class LedgerMerge(LedgerFigures):
    """The part of the ledger that takes over the entries of another one."""

    def merge(self, other: LedgerMerge) -> MergeResult:
        """Append everything that ``other`` records and this ledger does not, and let ``other`` charge no more.

        Raises:
            InputError: it is the same file, or one of the two was moved elsewhere, or lacks its key.
            CheckFailedError: one of the two is not as it was written, or older than what this computer has seen.
        """
        if os.path.realpath(self.path) == os.path.realpath(other.path):
            raise InputError("this is the same ledger", str(other.path), "name another one")
        with other._transaction(), self._transaction():
            self._require_whole(other)
            other._require_whole(self)
            self.require_not_moved()
            place = other.moved_to()
            if place is not None and os.path.realpath(place) != os.path.realpath(self.path):
                raise InputError("this ledger was moved", str(other.path), f"merge {place} instead")
            self._take_keys(other)
            result = self._take_over(other)
            if place is None:
                other._append(MOVED, "", "", _ZERO, {"to": str(self.path), "merged": True})
        return result

    def finished(self) -> dict[str, tuple[str, str]]:
        """Return (request, document) of every finished draw that is not renamed yet, by release."""
        raise NotImplementedError

    def _require_whole(self, other: LedgerMerge) -> None:
        """Raise an error unless the chain is whole, and what was seen of it is here or in the other file."""
        self.require_whole()
        mark = self.missing()
        if mark is None or not other.holds(mark):
            self.require_newest()

    def _take_keys(self, other: LedgerMerge) -> None:
        """Add the keys of the other ledger to the key file, durably, before an entry depends on them."""
        own, theirs = self.keys, other.keys
        missing = [key for key in theirs if key not in own]
        if missing:
            write_keys(self.path, (*own, *missing))

    def _take_over(self, other: LedgerMerge) -> MergeResult:
        source = other._start()
        ours, theirs = self.accounts(), other.accounts()
        # What each account of the other ledger may spend, before anything is joined.
        caps = {a: other.account(a).standing_cap for a in dict.fromkeys(map(theirs.of, theirs.datasets))}
        known, new = set(ours.datasets), [d for d in theirs.datasets if d not in ours.datasets]
        joins = self._take_tables(other, source, known)
        for dataset in new:
            parent = theirs.parent(dataset)
            if parent:
                body = {"of": parent, "origin": theirs.origins[dataset], FROM: {"ledger": source}}
                self._append("version", "", dataset, _ZERO, body)
        releases, shared = self._take_releases(other, source)
        self._take_choices(other, source, known)
        for dataset in theirs.datasets:
            if dataset in known:
                joins.append((dataset, theirs.of(dataset)))
        for one, two in joins:
            self._joined(one, two, MERGED)
        self._take_names(theirs)
        for account, cap in caps.items():
            if cap is not None and account in known:
                self._lower_cap(account, cap)
        for release_id, (request, document) in other.finished().items():
            self._db.execute("INSERT OR IGNORE INTO finished VALUES (?, ?, ?)", (release_id, request, document))
        self._record(other, source, releases)
        return MergeResult(releases, shared, len(new))

    def _take_tables(self, other: LedgerMerge, source: str, known: set[str]) -> list[tuple[str, str]]:
        """Append the marks of the other ledger's tables; return pairs of datasets that are the same table."""
        stated = {(e.dataset, *_marks(e)) for e in self.entries("mark")}
        same = {mark: e.dataset for e in self.entries("mark") for mark in _marks(e)[:2] if mark}
        joins = []
        for digest, data in other._rows("SELECT digest, data FROM sketch"):
            self._db.execute("INSERT OR IGNORE INTO sketch VALUES (?, ?)", (digest, data))
        for e in other.entries("mark"):
            if (e.dataset, *_marks(e)) not in stated:
                self._append("mark", "", e.dataset, _ZERO, {**e.body, FROM: _origin(e, source)})
            joins += [(e.dataset, same[m]) for m in _marks(e)[:2] if m in same and same[m] != e.dataset]
        for one, two in other.accounts().separations():
            if one not in known and two not in known:  # a link that stands here is never undone
                self._append("separate", "", one, _ZERO, {"from": two, FROM: {"ledger": source}})
        return joins

    def _take_releases(self, other: LedgerMerge, source: str) -> tuple[int, int]:
        """Append the releases that are not here, and the higher cost of those that are; return how many of each."""
        here = {r.release_id: r for r in self.releases()}
        theirs = {r.release_id: r for r in other.releases()}
        for e in other.entries():
            if e.release_id and e.release_id not in here:
                self._append(e.kind, e.release_id, e.dataset, self._cost(e), {**e.body, FROM: _origin(e, source)})
        for release_id, release in theirs.items():
            if release_id not in here:
                # Whoever holds a reservation will end it in the other file, so here it is final.
                if release.status == "reserved":
                    cost = release.epsilon, release.delta
                    self._append("charge", release_id, release.dataset, cost, {FROM: {"ledger": source}})
            else:
                self._raise_cost(other, here[release_id], release, source)
        shared = sum(release_id in here for release_id in theirs)
        return len(theirs) - shared, shared

    def _raise_cost(self, other: LedgerMerge, own: Release, theirs: Release, source: str) -> None:
        """Record the higher cost of a release that both ledgers hold; of a training that went on in both, the sum."""
        if theirs.status not in COUNTED:
            return
        here, there = self._parts(own), other._parts(theirs)
        new = there - here
        body: dict[str, Any] = {FROM: {"ledger": source}}
        present = (own.epsilon, own.delta) if own.status in COUNTED else _ZERO
        if new and here - there:
            cost = plus(present, (theirs.epsilon, theirs.delta))
            body["event"] = None  # it was not one event: of both together ε and δ alone are known
        else:
            cost = max(present[0], theirs.epsilon), max(present[1], theirs.delta)
        if new:
            body[PARTS] = sorted(new)
        # Its last entry here may say "void", or "reserved" of a run that ends it in the other file.
        if new or cost != present or own.status == "reserved":
            self._append("charge", own.release_id, own.dataset, cost, body)

    def _parts(self, release: Release) -> set[str]:
        """Return the hashes of the entries by which a training that can be interrupted went on or ended.

        Entries that a merge brought here have the hash that they had where they were written.
        """
        found, pausable = set(), bool(release.body.get(RESUMABLE))
        for e in self.entries():
            if e.release_id == release.release_id:
                pausable = pausable or e.kind in _GOING_ON
                former = e.body.get(FROM)
                if isinstance(e.body.get(PARTS), list):
                    found |= {str(part) for part in e.body[PARTS]}
                elif e.kind in (*_GOING_ON, *_ENDING) and (not isinstance(former, dict) or "time" in former):
                    found.add(str(former.get("hash", e.hash)) if isinstance(former, dict) else e.hash)
        return found if pausable else set()

    def _take_choices(self, other: LedgerMerge, source: str, known: set[str]) -> None:
        """Append caps and counts of accounts that are new here; a filter here gives way to a plain sum there.

        Of which tables private figures were shown is appended for those that both hold as well.
        """
        for e in other.entries("cap", "count"):
            if e.dataset not in known:
                epsilon, delta = self._cost(e)
                cost = (epsilon, delta if e.delta else None) if e.kind == "cap" else _ZERO
                self._append(e.kind, "", e.dataset, cost, {**e.body, FROM: _origin(e, source)})
        stated = {noted(e) for e in self.entries(FIGURES)}
        for e in other.entries(FIGURES):
            if noted(e) not in stated:
                self._append(FIGURES, "", e.dataset, _ZERO, {**e.body, FROM: _origin(e, source)})
        last = {e.dataset: e for e in other.entries("count")}
        own = {e.dataset: e for e in self.entries("count")}
        for dataset, e in last.items():
            if dataset in known and dataset in own and filter_of(e.body) is None and filter_of(own[dataset].body):
                self._append("count", "", dataset, _ZERO, {"method": SUM, FROM: _origin(e, source)})

    def _take_names(self, theirs: Accounts) -> None:
        for name, dataset in theirs.names.items():
            standing = self.accounts().named(name)
            if standing:
                self._joined(dataset, standing, NAMED)
            else:
                self._append("name", "", self.account_of(dataset), _ZERO, {"name": name})

    def _joined(self, one: str, two: str, origin: str) -> None:
        """Let two datasets share one account, with both names where both have one."""
        account, kept = self.account_of(one), self.account_of(two)
        if account == kept:
            return
        lesser, own = self.account(account), self.account(kept)
        self._append("version", "", account, _ZERO, {"of": kept, "origin": origin})
        self._join_caps(lesser, own)

    def _lower_cap(self, account: str, theirs: tuple[Decimal, Decimal | None]) -> None:
        """Set the cap of an account that both ledgers hold to the lower one."""
        present = self.account(account)
        own = present.standing_cap or theirs
        deltas = [delta for _, delta in (own, theirs) if delta is not None]
        lower = min(own[0], theirs[0]), min(deltas) if deltas else None
        if lower != present.standing_cap:
            self._append("cap", "", present.dataset, lower, {"origin": MERGED_CAP})

    def _record(self, other: LedgerMerge, source: str, releases: int) -> None:
        head, stated = other._head(), {(e.body.get("ledger"), e.body.get("head")) for e in self.entries(MERGE)}
        for e in other.entries(MERGE):  # what was merged into the other one before came along
            if (e.body.get("ledger"), e.body.get("head")) not in stated:
                self._append(MERGE, "", "", _ZERO, {**e.body, FROM: _origin(e, source)})
        if (source, head) not in stated:
            body = {"ledger": source, "head": head, "path": str(other.path), "releases": releases}
            mark = self.missing()  # then the other one holds it
            seen = {} if mark is None else {"seq": mark.seq, "hash": mark.hash}
            self._append(MERGE, "", "", _ZERO, {**body, "former": other._former(), **seen})


def _marks(entry: Entry) -> tuple[str, ...]:
    return tuple(str(entry.body.get(key) or "") for key in ("content", "file", "sketch", "columns"))


def _origin(entry: Entry, source: str) -> dict[str, Any]:
    """Return where an entry comes from; one that was merged before keeps its first ledger."""
    former = entry.body.get(FROM)
    if isinstance(former, dict) and "time" in former:
        return former
    return {"ledger": source, "time": entry.time, "hash": entry.hash}
