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
from typing import Any

from workbench.params import InputError
from workbench.release.ledger.composition import SUM, filter_of
from workbench.release.ledger.entry import FROM, ZERO, Entry, plus
from workbench.release.ledger.file import write_keys
from workbench.release.ledger.location import MERGE, MOVED
from workbench.release.ledger.records import CERTIFY, CLAIM, COUNTED, DRAWN, PAUSE, RESUME, Cap, Release, lowest_caps
from workbench.release.ledger.shown_figures import FIGURES, LedgerShownFigures, noted_study
from workbench.release.ledger.state import MERGED, NAMED, State

MERGED_CAP = "two ledgers became one"  # who set a cap that is the lower one of two ledgers

PARTS = "parts"
"""Key in the body of a charge that a merge has made: what other ledgers record of the work, beside the entries."""

RESUMABLE = "resumable"  # key of a reservation whose work can be interrupted and go on

_GOING_ON = (RESUME, CLAIM, PAUSE)
_ENDING = ("charge", "settle")


@dataclass(frozen=True)
class MergeResult:
    """What a merge has added: releases of the other ledger, those both held, and tables."""

    releases: int
    shared: int
    tables: int


class LedgerMerge(LedgerShownFigures):
    """The part of the ledger that takes over the entries of another one."""

    def merge(self, other: LedgerMerge) -> MergeResult:
        """Append everything that ``other`` records and this ledger does not, and let ``other`` charge no more.

        Raises:
            InputError: it is the same file, or one of the two was moved elsewhere, or lacks its key.
            CheckFailedError: one of the two is not as it was written, or older than what this computer has seen.
        """
        if os.path.realpath(self.path) == os.path.realpath(other.path):
            raise InputError("this is the same ledger", str(other.path), "choose another one")
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
                other._append(MOVED, "", {"to": str(self.path), FROM: True})
        return result

    def _require_whole(self, other: LedgerMerge) -> None:
        """Raise an error unless the chain is whole, and what was seen of it is here or in the other file."""
        self.require_whole()
        mark = self.missing()
        if mark is None or not other.holds(mark):
            self.require_newest()

    def _take_keys(self, other: LedgerMerge) -> None:
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
                self._append("version", dataset, body)
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
        self._db.executemany("INSERT OR IGNORE INTO finished VALUES (?, ?, ?)", other._rows("SELECT * FROM finished"))
        self._record(other, source, releases)
        return MergeResult(releases, shared, len(new))

    def _take_tables(self, other: LedgerMerge, source: str, known: set[str]) -> list[tuple[str, str]]:
        stated = {(e.dataset, *_marks(e)) for e in self.entries("mark")}
        same = {mark: e.dataset for e in self.entries("mark") for mark in _marks(e)[:2] if mark}
        joins = []
        self._db.executemany("INSERT OR IGNORE INTO sketch VALUES (?, ?)", other._rows("SELECT * FROM sketch"))
        for e in other.entries("mark"):
            if (e.dataset, *_marks(e)) not in stated:
                self._append("mark", e.dataset, _taken_over(e, source))
            joins += [(e.dataset, same[m]) for m in _marks(e)[:2] if m in same and same[m] != e.dataset]
        for one, two in other.accounts().separations:
            if one not in known and two not in known:  # a link that is here is never undone
                self._append("separate", one, {"from": two, FROM: {"ledger": source}})
        return joins

    def _take_releases(self, other: LedgerMerge, source: str) -> tuple[int, int]:
        here = {r.release_id: r for r in self.releases()}
        theirs = {r.release_id: r for r in other.releases()}
        for e in other.entries():
            if e.release_id and e.release_id not in here:
                self._append(e.kind, e.dataset, _taken_over(e, source), e.cost, e.release_id)
        for release_id, release in theirs.items():
            if release_id not in here:
                # Whoever holds a reservation will end it in the other file, so here it is final.
                if release.status == "reserved":
                    self._append("charge", release.dataset, {FROM: {"ledger": source}}, release.cost, release_id)
            else:
                self._raise_cost(other, here[release_id], release, source)
        shared = sum(release_id in here for release_id in theirs)
        return len(theirs) - shared, shared

    def _raise_cost(self, other: LedgerMerge, own: Release, theirs: Release, source: str) -> None:
        """Record the higher cost of a release that both ledgers hold; of work that went on in both, the sum.

        What is published elsewhere goes on here no more.
        """
        if theirs.status not in COUNTED:
            return
        here, there = self._parts(own), other._parts(theirs)
        new = there - here
        body: dict[str, Any] = {FROM: {"ledger": source}}
        present = own.cost if own.status in COUNTED else ZERO
        if new and here - there:
            cost = plus(present, theirs.cost)
            body["event"] = None  # it was not one event: of both together ε and δ alone are known
        else:
            cost = max(present[0], theirs.epsilon), max(present[1], theirs.delta)
        if new:
            body[PARTS] = sorted(new)
        if "certificate" in theirs.body and "certificate" not in own.body:
            body["certificate"] = theirs.body["certificate"]
        # Its last entry here may say "void", or "reserved" of a run that ends it in the other file.
        if new or cost != present or own.status == "reserved":
            self._append("charge", own.dataset, body, cost, own.release_id)

    def _parts(self, release: Release) -> set[str]:
        """Return the hashes of the entries by which work that can be interrupted went on or ended.

        Entries that a merge brought here have the hash that they had where they were written.
        """
        found, on_workers = set(), DRAWN in release.body
        pausable, ending = (
            on_workers or bool(release.body.get(RESUMABLE)),
            (*_ENDING, CERTIFY) if on_workers else _ENDING,
        )
        for e in self.entries():
            if e.release_id == release.release_id:
                pausable = pausable or e.kind in _GOING_ON
                if PARTS in e.body:
                    found.update(e.body[PARTS])
                elif e.kind in (*_GOING_ON, *ending) and (e.origin is None or "time" in e.origin):
                    found.add((e.origin or {}).get("hash", e.hash))
        return found if pausable else set()

    def _take_choices(self, other: LedgerMerge, source: str, known: set[str]) -> None:
        """Append caps and counts of accounts that are new here; a filter here gives way to a plain sum there.

        Of which tables private figures were shown is appended for those that both hold as well.
        """
        for e in other.entries("cap", "count"):
            if e.dataset not in known:
                cap = (e.cost[0], e.cost[1] if e.delta else None)
                self._append(e.kind, e.dataset, _taken_over(e, source), cap)
        stated = {noted_study(e) for e in self.entries(FIGURES)}
        for e in other.entries(FIGURES):
            if noted_study(e) not in stated:
                self._append(FIGURES, e.dataset, _taken_over(e, source))
        last = {e.dataset: e for e in other.entries("count")}
        own = {e.dataset: e for e in self.entries("count")}
        for dataset, e in last.items():
            if dataset in known and dataset in own and filter_of(e.body) is None and filter_of(own[dataset].body):
                self._append("count", dataset, {**_taken_over(e, source), "method": SUM})

    def _take_names(self, theirs: State) -> None:
        for name, dataset in theirs.names.items():
            standing = self.accounts().named(name)
            if standing:
                self._joined(dataset, standing, NAMED)
            else:
                self._append("name", self.account_of(dataset), {"name": name})

    def _lower_cap(self, account: str, theirs: Cap) -> None:
        own = self.account(account)
        lower = lowest_caps(own.standing_cap, theirs)
        if lower is not None and lower != own.standing_cap:
            self._append("cap", own.dataset, {"origin": MERGED_CAP}, lower)

    def _record(self, other: LedgerMerge, source: str, releases: int) -> None:
        head, stated = other._head(), {(e.body.get("ledger"), e.body.get("head")) for e in self.entries(MERGE)}
        for e in other.entries(MERGE):  # what was merged into the other one before came along
            if (e.body.get("ledger"), e.body.get("head")) not in stated:
                self._append(MERGE, "", _taken_over(e, source))
        if (source, head) not in stated:
            body = {"ledger": source, "head": head, "path": str(other.path), "releases": releases}
            mark = self.missing()  # then the other one holds it
            seen = {} if mark is None else {"seq": mark.seq, "hash": mark.hash}
            self._append(MERGE, "", {**body, "former": other._first_format_entries(), **seen})


def _marks(entry: Entry) -> tuple[str, ...]:
    return tuple(str(entry.body.get(key) or "") for key in ("content", "file", "sketch", "columns"))


def _taken_over(entry: Entry, source: str) -> dict[str, Any]:
    """Return the body of an entry of another ledger, with its origin; one that was merged before keeps its first."""
    origin = {"ledger": source, "time": entry.time, "hash": entry.hash}
    return {**entry.body, FROM: entry.origin if entry.origin and "time" in entry.origin else origin}
