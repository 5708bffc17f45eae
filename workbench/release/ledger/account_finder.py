"""Finds the account that a table is charged to, from the entries of a ledger.

Every table that was seen has a *dataset* in the ledger, a random name with its marks; a dataset is its own account or
shares that of another, whose version it is. Entries that say so: ``mark`` (the marks of a dataset), ``version`` (one
dataset shares the account of another), ``separate`` (it does so no longer), ``name`` (an account has a public name).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from workbench.release.ledger.column_marks import ColumnMarks
from workbench.release.ledger.entry import Entry
from workbench.release.ledger.identity import Identity
from workbench.release.ledger.resemblance import in_doubt
from workbench.release.ledger.sketch import SHARED, Sketches

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


class Accounts:
    """The datasets of a ledger, their accounts, names and marks, as its entries state them.

    Attributes:
        datasets: every dataset, the oldest first, with its place in that order.
        origins: why a dataset shares the account of another.
        names: the dataset of each public name.
        sketches: the dataset of each digest of marks of rows.
        columns: the dataset of each digest of marks of columns.
        separations: the pairs of datasets that a person has declared to be different tables.
    """

    def __init__(self) -> None:
        self.datasets: dict[str, int] = {}
        self.origins: dict[str, str] = {}
        self.names: dict[str, str] = {}
        self.sketches: dict[str, str] = {}
        self.columns: dict[str, str] = {}
        self.separations: list[tuple[str, str]] = []
        self._parents: dict[str, str] = {}
        self._exact: dict[str, str] = {}

    def take(self, entry: Entry) -> None:
        """Take the next entry of the ledger into account."""
        dataset, body = entry.dataset, entry.body
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

    def name_of(self, *accounts: str) -> str:
        """Return the public name of the first account that has one; empty where none has."""
        named = {self.of(dataset): name for name, dataset in reversed(self.names.items())}
        return next((named[account] for account in accounts if account in named), "")

    def named(self, name: str) -> str:
        """Return the account of that name; empty where there is none."""
        return self.of(self.names[name]) if name in self.names else ""

    def named_accounts(self) -> list[str]:
        """Return the accounts that have a public name."""
        return [self.of(dataset) for dataset in self.names.values()]

    def grouped(self, account: str) -> bool:
        """Return whether tables that are about the same people share this account, as a person declared."""
        return any(o == GROUP and self.of(dataset) == account for dataset, o in self.origins.items())

    def separate(self, account: str, others: Iterable[str]) -> bool:
        """Return whether a person has declared that an account belongs to another table than one of ``others``."""
        apart = [{self.of(a), self.of(b)} for a, b in self.separations]
        return any({account, other} in apart and account != other for other in others)

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

        Args:
            identity: its marks.
            match: where it was found.
            columns: the datasets that have marks of columns, with them.
            paying: the accounts that may be in doubt.
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
