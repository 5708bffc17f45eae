"""The present state of a ledger: what its entries say of accounts, releases and caps, and the methods that read it.

Every table that was seen has a *dataset* in the ledger, a random name with its marks; a dataset is its own account or
shares that of another, whose version it is. The status and cost of a release are those of its last entry; its body is
merged from all of its entries.
"""

from __future__ import annotations

import dataclasses
import hashlib
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import TypeVar

from workbench.data.cluster_parts import PartsOnWorkers
from workbench.data.table import Table
from workbench.params import CheckFailedError
from workbench.release.ledger.column_marks import ColumnMarks
from workbench.release.ledger.composition import CountedRelease, FilterCount, event_of_release, filter_of
from workbench.release.ledger.entry import Entry, minus, start_of, total
from workbench.release.ledger.entry_chain import LedgerChain
from workbench.release.ledger.identity import Identity, Marking, identify, keyed
from workbench.release.ledger.records import (
    CERTIFY,
    CLAIM,
    COUNTED,
    JOINED,
    PAUSE,
    STATUS,
    Account,
    Release,
    at_unit_cost,
    lowest_caps,
    unit_of,
)
from workbench.release.ledger.resemblance import in_doubt
from workbench.release.ledger.sketch import SHARED, Sketches

NEW, SKETCH, STEWARD, NAMED, MERGED, GROUP = "new", "sketch", "steward", "name", "merged", "group"
"""Why a dataset has its account: it is new, its rows are those of a known one, a person said so, a plan named the
account, a table was found in several accounts, which became one, or it is about the same people as another table."""

SHORT_ID = 6  # the fewest digits of an account's id by which a person may name it

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Match:
    """The accounts and datasets that match the marks of a table."""

    dataset: str = ""  # the dataset with the same bytes or content; empty where there is none
    # The accounts that the table belongs to, the one that stays first; several become one when it is used.
    accounts: tuple[str, ...] = ()
    share: float = 0.0  # for a version found by its rows, the share of its unique rows that are known; else 0
    doubts: tuple[str, ...] = ()  # other accounts, from whose tables its columns seem to come; a person decides

    @property
    def account(self) -> str:
        """The account, or empty for a table that is not known."""
        return self.accounts[0] if self.accounts else ""


class State:
    """What the entries of a ledger say, taken one after the other."""

    def __init__(self) -> None:
        self.datasets: dict[str, int] = {}  # every dataset, the oldest first, with its place in that order
        self.origins: dict[str, str] = {}  # why a dataset shares the account of another
        self.names: dict[str, str] = {}  # the dataset of each public name
        self.sketches: dict[str, str] = {}  # the dataset of each digest of marks of rows
        self.columns: dict[str, str] = {}  # the dataset of each digest of marks of columns
        # The pairs of datasets that a person has declared to be different tables.
        self.separations: list[tuple[str, str]] = []
        self.releases: dict[str, Release] = {}  # every release by its id, with present status and cost
        # How many steps of each release were taken, or may have been.
        self.steps: defaultdict[str, int] = defaultdict(int)
        self.caps: defaultdict[str, list[Entry]] = defaultdict(list)  # the entries that set a cap, by dataset
        # The entries that chose how releases are counted, by dataset.
        self.counts: defaultdict[str, list[Entry]] = defaultdict(list)
        self._parents: dict[str, str] = {}
        self._exact: dict[str, str] = {}

    def take(self, entry: Entry) -> None:
        """Take the next entry of the ledger into account."""
        dataset, body = entry.dataset, entry.body
        self._take_release(entry)
        if not dataset:  # an entry about the ledger itself
            return
        self.datasets.setdefault(dataset, len(self.datasets))
        if entry.kind == "mark":
            kept = {"content": self._exact, "file": self._exact, "sketch": self.sketches, "columns": self.columns}
            for key, marks in kept.items():
                if body.get(key):
                    marks[body[key]] = dataset
        elif entry.kind == "version" and body.get("of"):
            self._parents[dataset] = body["of"]
            self.origins[dataset] = body.get("origin", STEWARD)
        elif entry.kind == "separate" and body.get("from"):
            self._parents.pop(dataset, None)
            self.separations.append((dataset, body["from"]))
        elif entry.kind == "name" and body.get("name"):
            self.names[body["name"]] = dataset
        elif entry.kind in ("cap", "count"):
            (self.caps if entry.kind == "cap" else self.counts)[dataset].append(entry)

    def _take_release(self, entry: Entry) -> None:
        name, kind = entry.release_id, entry.kind
        before = self.releases.get(name)
        body = {**(before.body if before else {}), **entry.body}
        if kind == CLAIM:
            self.steps[name] += entry.body.get("steps", 0)
        elif kind == PAUSE:
            self.steps[name] -= entry.body.get("given_back", 0)
        if kind == CERTIFY and before is not None:
            self.releases[name] = dataclasses.replace(before, body=body)
        elif kind in STATUS:
            time = before.time if before else entry.first_time
            self.releases[name] = Release(name, entry.dataset, *entry.cost, STATUS[kind], time, body)

    def of(self, dataset: str) -> str:
        """Return the account of a dataset: its own, or that of the one whose version it is."""
        seen = {dataset}
        while dataset in self._parents and self._parents[dataset] not in seen:
            dataset = self._parents[dataset]
            seen.add(dataset)
        return dataset

    def within(self, dataset: str, other: str) -> bool:
        """Return whether ``dataset`` has its account by way of ``other``, or is that one."""
        seen: set[str] = set()
        while dataset and dataset != other and dataset not in seen:
            seen.add(dataset)
            dataset = self.parent(dataset)
        return dataset == other

    def parent(self, dataset: str) -> str:
        """Return the dataset whose version it is; empty where it is its own account."""
        return self._parents.get(dataset, "")

    def name_of(self, *accounts: str) -> str:
        """Return the public name of the first account that has one; empty where none has."""
        named = {self.of(dataset): name for name, dataset in reversed(self.names.items())}
        return next((named[account] for account in accounts if account in named), "")

    def named(self, name: str) -> str:
        """Return the account of that name; empty where there is none."""
        return self.of(self.names[name]) if name in self.names else ""

    def grouped(self, account: str) -> bool:
        """Return whether tables that are about the same people share this account, as a person declared."""
        return any(o == GROUP and self.of(dataset) == account for dataset, o in self.origins.items())

    def paying(self) -> set[str]:
        """Return the accounts that have a cap, a charge or a public name; any other one counts as new."""
        charged = {r.dataset for r in self.releases.values() if r.status != "refused"}
        return {self.of(dataset) for dataset in (*self.caps, *charged, *self.names.values())}

    def separate(self, account: str, others: Iterable[str]) -> bool:
        """Return whether a person has declared that an account belongs to another table than one of ``others``."""
        different = [{self.of(a), self.of(b)} for a, b in self.separations]
        return any({account, other} in different and account != other for other in others)

    def knows(self, identity: Identity) -> bool:
        """Return whether every mark of a table is recorded; those of an earlier version are none of its columns."""
        if not all(mark in self._exact for mark in identity.exact):
            return False
        return identity.columns.empty or any(self._exact[m] in self.columns.values() for m in identity.exact)

    def match(self, identity: Identity, sketches: Iterable[tuple[str, Sketches]]) -> Match:
        """Return the accounts of a table whose rows are known, by its marks and those of the datasets."""
        stated = (identity, *identity.others)
        former = [marks.former for marks in stated if marks.former in self.datasets]
        exact = [self._exact[mark] for marks in stated for mark in marks.exact if mark in self._exact]
        same = list(dict.fromkeys([*exact, *former]))
        kept = list(dict.fromkeys(self.of(dataset) for dataset in same))
        shares: dict[str, float] = {}
        for dataset, theirs in sketches:
            account = self.of(dataset)
            if account not in kept:
                shared = max(marks.sketches.shared(theirs) for marks in stated)
                shares[account] = max(shares.get(account, 0.0), shared)
        best = 0.0
        for account, share in sorted(shares.items(), key=lambda pair: -pair[1]):
            if share > SHARED and not self.separate(account, kept):
                best = best or (0.0 if same else share)
                kept.append(account)
        # A named account stays, then the oldest.
        accounts = sorted(kept, key=lambda account: (not self.name_of(account), self._age(account)))
        return Match(same[0] if same else "", tuple(accounts), best)

    def doubts(
        self, identity: Identity, match: Match, columns: Iterable[tuple[str, ColumnMarks]], paying: set[str]
    ) -> tuple[str, ...]:
        """Return the paying accounts from whose tables the columns of a table seem to come, the oldest first.

        A table that pays nothing yet (it was studied, or refused) leads to the accounts of which it has columns: two
        projections without a column in common meet in the whole.
        """
        stated, known = (identity, *identity.others), [(self.of(dataset), marks) for dataset, marks in columns]
        near = [
            (account, marks)
            for account, marks in known
            if account not in match.accounts
            and not self.separate(account, match.accounts)
            and any(in_doubt(own.columns, marks) for own in stated)
        ]
        found = {account for account, _ in near} & paying
        between = [(account, marks) for account, marks in near if account not in paying]
        for account, theirs in known if between else ():
            if account not in paying - found - {*match.accounts}:
                continue
            if any(in_doubt(m, theirs) and not self.separate(account, (own, *match.accounts)) for own, m in between):
                found.add(account)
        return tuple(sorted(found, key=self._age))

    def _age(self, account: str) -> int:
        return self.datasets.get(account, 0)


class LedgerState(LedgerChain):
    """The part of the ledger that reads: the methods that change an account or a release are in its subclasses."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        super().__init__(path, connection)
        self._read_so_far: tuple[int, int, State] = -1, 0, State()
        """The generation of the chain, how many of its entries were read, and what they say."""

    def accounts(self) -> State:
        """Return what the entries say; the same object takes up those that are appended later."""
        entries, generation = self._chain.all(), self._chain.generation
        known, done, state = self._read_so_far
        if known != generation:  # the chain was read again, so its entries may be others
            done, state = 0, State()
        for entry in entries[done:]:
            state.take(entry)
        self._read_so_far = generation, len(entries), state
        return state

    # -- tables and their accounts --------------------------------------------------------------------------------

    def identify(self, table: Table) -> Identity:
        """Return the marks of a table under this ledger's keys; a table's account is found by them alone.

        Of two tables that are joined they are those of the first, with those of the second beside them.

        Raises:
            InputError: the key of the ledger is missing.
        """
        if table.joined is not None:
            return dataclasses.replace(self.identify(table.joined.first), second=self.identify(table.joined.second))
        merged = {e.body.get("ledger"): e.body.get("former", 0) for e in self.entries("merge")}
        own, *others = self.keys
        found = identify(table, own, former=self._first_format_entries() > 0)
        beside = tuple(identify(table, key, former=bool(merged.get(start_of(key)))) for key in others)
        return dataclasses.replace(found, others=beside) if beside else found

    def marking(self, table: Table, parts: PartsOnWorkers | None = None) -> Marking:
        """Return what makes a table's marks of its parts, here or on workers, for :meth:`identify`."""
        each = None if parts is None else parts.each_part
        return Marking(table, self.keys[0], former=self._first_format_entries() > 0, each=each)

    def marks_of(self, digest: bytes) -> list[str]:
        """Return the mark of a digest of private rows under each key; it tests no guess for whoever lacks the keys."""
        return [keyed(key, b"rows", digest) for key in self.keys]

    def account_of(self, dataset: str) -> str:
        """Return the account that pays for ``dataset``: its own, or that of the table it is a version of."""
        return self.accounts().of(dataset)

    def tables_of(self, identity: Identity) -> tuple[str, ...]:
        """Return the datasets of two tables that are joined, as far as they are known; none of a table by itself."""
        tables = () if identity.second is None else (identity, identity.second)
        return tuple(filter(None, (self.find(each).dataset for each in tables)))

    def find(self, identity: Identity) -> Match:
        """Return the account of a table, and others it may belong to (``doubts``), without recording anything."""
        state = self.accounts()
        match = state.match(identity, self._sketches())
        # A table that pays is in no doubt; doubts are about these accounts.
        paying = state.paying()
        if identity.columns.empty or state.parent(match.dataset) or paying.intersection(match.accounts):
            return match
        keys = self.keys
        columns = (
            (dataset, self._decoded(lambda data: ColumnMarks.decode(data, keys), digest))
            for digest, dataset in state.columns.items()
        )
        return dataclasses.replace(match, doubts=state.doubts(identity, match, columns, paying))

    def taken_as_version(self, identity: Identity) -> str:
        """Return the account that a table shares by the likeness of its rows alone; empty where a person said so."""
        match, state = self.find(identity), self.accounts()
        if not match.dataset:
            return match.account if match.share else ""
        by_rows = state.origins.get(match.dataset) == SKETCH and state.of(match.dataset) != match.dataset
        return match.account if by_rows else ""

    def account_labels(self) -> dict[str, str]:
        """Return a readable name for each account.

        Its public name, else the file by which its table was first seen; in a ledger of a former version, which has
        not recorded that, the newest released file.
        """
        state = self.accounts()
        stated: dict[str, str] = {}
        for release in self.releases():
            output = release.body.get("output")
            if output and release.status in COUNTED:
                stated[state.of(release.dataset)] = f"released as {Path(output).name}"
        tables: dict[str, str] = {}
        for entry in self.entries("mark"):
            if entry.body.get("title"):
                tables.setdefault(state.of(entry.dataset), str(entry.body["title"]))
        return stated | tables | {state.named(name): name for name in state.names}

    def account_labelled(self, text: str) -> str:
        """Return the account with the public name ``text``, or whose id begins with these digits.

        Returns:
            the account; empty where none or several match, or where fewer than :data:`SHORT_ID` digits are given.
        """
        state = self.accounts()
        if state.named(text):
            return state.named(text)
        found = {state.of(d) for d in state.datasets if len(text) >= SHORT_ID and d.startswith(text)}
        return found.pop() if len(found) == 1 else ""

    # -- releases and budgets -------------------------------------------------------------------------------------

    def releases(self, dataset: str | None = None) -> list[Release]:
        """Return every release in order, or those of the account of ``dataset``, with present status and cost."""
        state = self.accounts()
        own = None if dataset is None else state.of(dataset)
        return [release for release in state.releases.values() if own is None or state.of(release.dataset) == own]

    def release(self, release_id: str) -> Release | None:
        """Return one release, or ``None``."""
        return self.accounts().releases.get(release_id)

    def steps_taken(self, release_id: str) -> int:
        """Return how many steps of a training were taken, or may have been."""
        return max(0, self.accounts().steps.get(release_id, 0))

    def counted(self, *datasets: str) -> list[Release]:
        """Return the releases that count against the caps of the accounts of these datasets."""
        state = self.accounts()
        own = set(map(state.of, datasets))
        return [r for r in state.releases.values() if r.status in COUNTED and state.of(r.dataset) in own]

    def account(self, dataset: str, *others: str) -> Account:
        """Return the budget of the account that ``dataset`` is charged to, as if it were that of ``others``, too."""
        state = self.accounts()
        dataset, *more = dict.fromkeys(map(state.of, (dataset, *others)))
        caps = state.caps.get(dataset, [])
        found = self.counted(dataset, *more)
        unit, counted = unit_of(found), at_unit_cost(found)
        spent = total(r.cost for r in counted if r.status != "reserved")
        reserved = total(r.cost for r in counted if r.status == "reserved")
        chosen = filter_of(state.counts[dataset][-1].body) if dataset in state.counts else None
        count = None
        if chosen is not None:  # the account counts by a filter instead of the plain sum
            parts = (CountedRelease(r.release_id, r.cost, event_of_release(r.status, r.cost, r.body)) for r in counted)
            count = FilterCount(chosen, tuple(parts))
            final = {r.release_id for r in counted if r.status != "reserved"}
            spent, used = count.amount(r for r in count.releases if r.release_id in final), count.amount()
            reserved = minus(used[0], spent[0]), minus(used[1], spent[1])
        history = tuple({"epsilon": e.epsilon, "delta": e.delta, "time": e.time, **e.body} for e in caps)
        cap = (caps[-1].cost[0], caps[-1].cost[1] if caps[-1].delta else None) if caps else None
        if more:
            cap = lowest_caps(*(self.account(each).standing_cap for each in (dataset, *more)))
            history = (*history, {"origin": JOINED}) if cap is not None else ()
        return Account(dataset, cap, spent, reserved, history, count, unit, bool(more))

    def caps(self) -> dict[str, Decimal]:
        """Return the present ε cap of every account."""
        state = self.accounts()
        return {dataset: caps[-1].cost[0] for dataset, caps in state.caps.items() if state.of(dataset) == dataset}

    # -- helpers ---------------------------------------------------------------------------------------------------

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
        found = self._rows("SELECT data FROM sketch WHERE digest = ?", (digest,))
        data = found[0][0] if found else None
        try:
            if isinstance(data, bytes) and hashlib.sha256(data).hexdigest() == digest:
                return decode(data)
        except ValueError:  # not written by this program, or under another key
            pass
        raise CheckFailedError(
            "the ledger is damaged: the marks of a table were changed", str(self.path), "restore a copy"
        )
