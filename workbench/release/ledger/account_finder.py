"""Finds the account that a table is charged to, from the entries of a ledger.

Every table that was seen has a *dataset* in the ledger, a random name with its marks; a dataset is its own account or
shares that of another, whose version it is. Entries that say so: ``mark`` (the marks of a dataset), ``version`` (one
dataset shares the account of another), ``separate`` (it does so no longer), ``name`` (an account has a public name).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from workbench.release.ledger.column_marks import ColumnMarks
from workbench.release.ledger.hash_chain import Entry
from workbench.release.ledger.identity import Identity
from workbench.release.ledger.resemblance import in_doubt
from workbench.release.ledger.sketch import SHARED, Sketches

KINDS = ("mark", "version", "separate", "name")

NEW, SKETCH, STEWARD, NAMED, MERGED, GROUP = "new", "sketch", "steward", "name", "merged", "group"
"""Why a dataset has its account: it is new, its rows are those of a known one, a person said so, a plan named the
account, a table was found in several accounts, which became one, or it is about the same people as another table."""


@dataclass(frozen=True)
class Match:
    """The accounts and datasets that match the marks of a table.

    Attributes:
        dataset: the dataset with the same bytes or content; empty where there is none.
        accounts: the accounts that the table belongs to, the one that stays first; several become one when it is used.
        share: for a version found by its rows, the share of its unique rows that are known; else 0.
        doubts: other accounts, from whose tables its columns seem to come; a person decides.
    """

    dataset: str = ""
    accounts: tuple[str, ...] = ()
    share: float = 0.0
    doubts: tuple[str, ...] = ()

    @property
    def account(self) -> str:
        """The account, or empty for a table that is not known."""
        return self.accounts[0] if self.accounts else ""


@dataclass(eq=False)
class Accounts:
    """The datasets of a ledger, their accounts, names and marks."""

    datasets: dict[str, None] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    sketches: dict[str, str] = field(default_factory=dict)
    columns: dict[str, str] = field(default_factory=dict)
    _parents: dict[str, str] = field(default_factory=dict)
    _exact: dict[str, str] = field(default_factory=dict)
    _separate: list[tuple[str, str]] = field(default_factory=list)

    @classmethod
    def from_entries(cls, entries: Iterable[Entry]) -> Accounts:
        """Return what ``entries`` tell, in their order."""
        found = cls()
        for entry in entries:
            found._take(entry)
        return found

    def changed_by(self, entries: Iterable[Entry]) -> bool:
        """Return whether later entries tell anything new about the accounts; a charge of a known dataset does not."""
        return any(e.kind in KINDS or (e.dataset and e.dataset not in self.datasets) for e in entries)

    def _take(self, entry: Entry) -> None:
        dataset, body = entry.dataset, entry.body
        if not dataset:  # an entry about the ledger itself
            return
        self.datasets.setdefault(dataset)
        if entry.kind == "mark":
            for mark in (body.get("content"), body.get("file")):
                if isinstance(mark, str) and mark:
                    self._exact[mark] = dataset
            if isinstance(body.get("sketch"), str) and body["sketch"]:
                self.sketches[body["sketch"]] = dataset
            if isinstance(body.get("columns"), str) and body["columns"]:
                self.columns[body["columns"]] = dataset
        elif entry.kind == "version" and isinstance(body.get("of"), str):
            self._parents[dataset] = body["of"]
            self.origins[dataset] = str(body.get("origin", STEWARD))
        elif entry.kind == "separate" and isinstance(body.get("from"), str):
            self._parents.pop(dataset, None)
            self._separate.append((dataset, body["from"]))
        elif entry.kind == "name" and isinstance(body.get("name"), str):
            self.names[body["name"]] = dataset

    def of(self, dataset: str) -> str:
        """Return the account of a dataset: its own, or that of the one whose version it is."""
        seen = {dataset}
        while dataset in self._parents and self._parents[dataset] not in seen:
            dataset = self._parents[dataset]
            seen.add(dataset)
        return dataset

    def parent(self, dataset: str) -> str:
        """Return the dataset whose version it is; empty where it is its own account."""
        return self._parents.get(dataset, "")

    def separations(self) -> list[tuple[str, str]]:
        """Return the pairs of datasets that a person has declared to be different tables."""
        return self._separate[:]

    def name_of(self, account: str) -> str:
        """Return the public name of an account; empty where it has none."""
        return next((name for name, dataset in self.names.items() if self.of(dataset) == account), "")

    def named(self, name: str) -> str:
        """Return the account of that name; empty where there is none."""
        return self.of(self.names[name]) if name in self.names else ""

    def named_accounts(self) -> list[str]:
        """Return the accounts that have a public name."""
        return [self.of(dataset) for dataset in self.names.values()]

    def grouped(self, account: str) -> bool:
        """Return whether tables that are about the same people share this account, as a person declared."""
        return any(o == GROUP and self.of(dataset) == account for dataset, o in self.origins.items())

    def separate(self, one: str, other: str) -> bool:
        """Return whether a person has declared that these accounts belong to different tables."""
        return any({self.of(a), self.of(b)} == {one, other} and one != other for a, b in self._separate)

    def knows(self, identity: Identity) -> bool:
        """Return whether every mark of a table is recorded; those of an earlier version are none of its columns."""
        if not all(mark in self._exact for mark in identity.exact):
            return False
        return identity.columns.empty or any(self._exact[m] in self.columns.values() for m in identity.exact)

    def match(self, identity: Identity, sketches: Iterable[tuple[str, Sketches]]) -> Match:
        """Return the accounts of a table; in doubt, a known account.

        Args:
            identity: its marks.
            sketches: the datasets that have sketches, with them.
        """
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
            if share > SHARED and not any(self.separate(account, other) for other in kept):
                best = best or (0.0 if same else share)
                kept.append(account)
        order = {dataset: position for position, dataset in enumerate(self.datasets)}
        # A named account stays, then the oldest.
        accounts = sorted(kept, key=lambda account: (not self.name_of(account), order.get(account, 0)))
        return Match(same[0] if same else "", tuple(accounts), best)

    def doubts(
        self, identity: Identity, match: Match, columns: Iterable[tuple[str, ColumnMarks]], paying: set[str]
    ) -> tuple[str, ...]:
        """Return the paying accounts from whose tables the columns of a table seem to come, the oldest first.

        A table that pays nothing yet (it was studied, or refused) leads to the accounts of which it has columns: two
        projections without a column in common meet in the whole.

        Args:
            identity: its marks.
            match: where it was found.
            columns: the datasets that have marks of columns, with them.
            paying: the accounts that may be in doubt.
        """
        stated, known = (identity, *identity.others), list(columns)

        def separate(account: str, *others: str) -> bool:
            return any(self.separate(account, other) for other in others)

        near = [
            (account, marks)
            for dataset, marks in known
            if (account := self.of(dataset)) not in match.accounts
            and not separate(account, *match.accounts)
            and any(in_doubt(own.columns, marks) for own in stated)
        ]
        found = {account for account, _ in near} & paying
        between = [(account, marks) for account, marks in near if account not in paying]
        for dataset, theirs in known if between else ():
            account = self.of(dataset)
            if account not in paying - found - {*match.accounts}:
                continue
            if any(in_doubt(marks, theirs) and not separate(account, own, *match.accounts) for own, marks in between):
                found.add(account)
        order = {dataset: position for position, dataset in enumerate(self.datasets)}
        return tuple(sorted(found, key=lambda account: order.get(account, 0)))
