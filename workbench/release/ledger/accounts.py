"""The accounts of a ledger: finds, creates, joins, separates and names them."""

from __future__ import annotations

import dataclasses
import hashlib
import secrets
from collections.abc import Iterator
from decimal import Decimal

from workbench.data.table import Table
from workbench.params import CheckFailedError, InputError
from workbench.params.remedies import name_account, state_account
from workbench.release.ledger.account_finder import MERGED, NAMED, NEW, SKETCH, STEWARD, Accounts, Match
from workbench.release.ledger.entries import LedgerBook
from workbench.release.ledger.hash_chain import start_of
from workbench.release.ledger.identity import Identity, identify
from workbench.release.ledger.records import Account
from workbench.release.ledger.sketch import Sketches
from workbench.sanitize.account_name import checked_name

_ZERO = (Decimal(0), Decimal(0))


class LedgerAccounts(LedgerBook):
    """The part of the ledger that maps tables to accounts."""

    _told: tuple[tuple[int, int], Accounts] | None = None

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
        """Return the datasets and their accounts, read from the entries."""
        entries = self._chain.all()
        state = self._chain.generation, len(entries)
        known = self._told[1] if self._told is not None and self._told[0][0] == state[0] else None
        if known is None or self._told is None or known.changed_by(entries[self._told[0][1] :]):
            known = Accounts.told_by(entries)
        self._told = state, known
        return known

    def account_of(self, dataset: str) -> str:
        """Return the account that ``dataset`` is charged to (its own, or that of the version it follows)."""
        return self.accounts().of(dataset)

    def find(self, identity: Identity) -> Match:
        """Return the account of a table, without recording anything."""
        accounts = self.accounts()
        return accounts.match(identity, self._sketches(accounts))

    def enter(self, identity: Identity | str, name: str | None = None) -> str:
        """Return the account that a table is charged to, and record its marks there; a new one where it has none.

        If a table is found in several accounts, they become one with the sum of all.

        Args:
            identity: the marks of the table, or the name of its dataset.
            name: the public name of the account, as a plan states it.

        Raises:
            InputError: the table's account is not the one of that name, or it has a name that the plan does not state.
        """
        if isinstance(identity, str):
            return self.account_of(identity)
        with self._transaction():
            match = self.find(identity)
            if name is not None:
                self._require_named(name, match)
            account = self._entered(identity, match, self.accounts().named(name) if name else "")
            if name is not None and not self.accounts().named(name):
                self._append("name", "", account, _ZERO, {"name": checked_name(name)})
            return account

    def enter_for_release(self, table: Table, name: str | None) -> str:
        """Return the account that a release of ``table`` is charged to; ``name`` is the one that the plan states.

        Raises:
            InputError: the key is missing, or plan and ledger disagree about the name of the account.
        """
        identity = self.identify(table)
        with self._transaction():
            if name is None:
                accounts = self.accounts()
                present = next((n for a in self.find(identity).accounts if (n := accounts.name_of(a))), "")
                if present:  # what is published of a named account must not depend on which tables were found in it
                    raise InputError(
                        f"the account of this table has the public name {present!r}, which the plan does not state",
                        str(self.path),
                        state_account(present),
                    )
            return self.enter(identity, name)

    def link_version(self, new: Identity | str, old: Identity | str, origin: str = STEWARD) -> str:
        """Let ``new`` share the account of ``old`` and return that account; what both have spent is added up.

        Args:
            new: the table that joins.
            old: a table in the ledger.
            origin: ``steward`` for a newer version, ``group`` for another table about the same people.

        Raises:
            InputError: ``old`` is not in the ledger, or both have public names.
        """
        with self._transaction():
            if isinstance(old, str):
                account = self.account_of(old) if old in self.accounts().datasets else ""
            else:
                account = self.find(old).account and self.enter(old)
            if not account:
                raise InputError("the older table is not in the ledger", str(self.path), "release or cap it first")
            if isinstance(new, str):
                self._join(self.account_of(new), account, origin)
            else:
                match = self.find(new)
                for other in match.accounts:
                    self._join(self.account_of(other), self.account_of(account), origin)
                if not match.dataset:
                    self._append("version", "", self._marked(new, origin), _ZERO, {"of": account, "origin": origin})
            return self.account_of(account)

    def separate(self, new: Identity, old: Identity) -> str:
        """Record that ``new`` and ``old`` are different tables although their rows are similar; return the new account.

        Earlier charges stay with the account of ``old``.

        Raises:
            InputError: they are the same table, or are not in one account.
        """
        with self._transaction():
            one, other = self.find(new), self.find(old)
            if not other.dataset:
                raise InputError("the other table is not in the ledger", str(self.path), "release or cap it first")
            return self._separated(new, one, other.dataset)

    def separate_from_account(self, new: Identity) -> str:
        """Record that a table matched as a version by its rows is a different one; return its account.

        Raises:
            InputError: it was not taken for a version.
        """
        with self._transaction():
            match = self.find(new)
            return self._separated(new, match, match.account)

    def set_name(self, identity: Identity, name: str) -> str:
        """Give the account of a table a public name and return the account.

        Where another account has that name the two become one: its sum is that of both.

        Raises:
            ParameterError: the name cannot be one.
            InputError: the account has another name already.
        """
        name = checked_name(name)
        with self._transaction():
            account = self.enter(identity)
            accounts = self.accounts()
            present = accounts.name_of(account)
            if present and present != name:
                raise InputError(f"the account is named {present!r} already", str(self.path), "state that name")
            if accounts.named(name):
                return self._join(account, accounts.named(name), NAMED)
            self._append("name", "", account, _ZERO, {"name": name})
            return account

    def taken_as_version(self, identity: Identity) -> str:
        """Return the account whose version a table is taken for by its rows alone; empty where a person said so."""
        match = self.find(identity)
        if not match.dataset:
            return match.account if match.share else ""
        accounts = self.accounts()
        by_rows = accounts.origins.get(match.dataset) == SKETCH and accounts.of(match.dataset) != match.dataset
        return match.account if by_rows else ""

    def verify(self) -> list[str]:
        """Return what is wrong with the file, the chain or the sketches: nothing, if it is as it was written."""
        problems = super().verify()
        if not problems:
            try:
                list(self._sketches(self.accounts()))
            except CheckFailedError as error:
                problems = [error.what]
        return problems

    # -- within ---------------------------------------------------------------------------------------------------

    def account(self, dataset: str) -> Account:
        """Return the budget of the account that ``dataset`` is charged to."""
        raise NotImplementedError

    def _join_caps(self, lesser: Account, own: Account) -> None:
        raise NotImplementedError

    def _former(self) -> int:
        """Return the number of entries in the first format, which names datasets by their fingerprints."""
        told = self._meta("former")
        if told is not None:
            return int(told) if told.isdigit() else 0
        return len(self._rows("SELECT seq FROM entry LIMIT 1")) if self._meta("start") is None else 0

    def _sketches(self, accounts: Accounts) -> Iterator[tuple[str, Sketches]]:
        for digest, dataset in accounts.sketches.items():
            found = self._rows("SELECT data FROM sketch WHERE digest = ?", (digest,))
            data = found[0][0] if found else None
            if not isinstance(data, bytes) or hashlib.sha256(data).hexdigest() != digest:
                raise CheckFailedError(
                    "the ledger is damaged: the sketch of a table is not as it was written",
                    str(self.path),
                    "put back a copy",
                )
            yield dataset, Sketches.decode(data)

    def _require_named(self, name: str, match: Match) -> None:
        """Raise an error if the name in a plan and the marks of its table belong to different accounts."""
        checked_name(name)
        accounts = self.accounts()
        known = accounts.named(name)
        if all(account == known or self._blank(account, accounts) for account in match.accounts):
            return
        other = next((n for a in match.accounts if (n := accounts.name_of(a))), "")
        if other and other != name:
            told = f"this table belongs to the account {other!r}, not to {name!r}"
            mend = state_account(other)
        else:
            told = f"this table has an account that is not named {name!r}"
            mend = name_account(name)
        raise InputError(told, str(self.path), mend)

    def _blank(self, account: str, accounts: Accounts) -> bool:
        """Return whether an account has no charge, cap or name, as if the table were new."""
        told = (e for e in self.entries("cap", "reserve", "charge", "settle") if accounts.of(e.dataset) == account)
        return next(told, None) is None and not accounts.name_of(account)

    def _entered(self, identity: Identity, match: Match, account: str) -> str:
        """Record the marks of a table in ``account``, or where it was found, or in a new one; return the account."""
        accounts = self.accounts()
        account = account or match.account
        for other in match.accounts:
            account = self._join(other, account, MERGED)
        if match.dataset:
            if not accounts.knows(identity):
                self._marked(identity, "same", match.dataset)
            return account
        dataset = self._marked(identity, NEW if not account else SKETCH if match.accounts else NAMED)
        if account:
            origin = SKETCH if match.accounts else NAMED
            self._append("version", "", dataset, _ZERO, {"of": account, "origin": origin})
        return account or dataset

    def _marked(self, identity: Identity, origin: str, dataset: str = "") -> str:
        """Record the marks of a table for ``dataset``, a new one by default, and return the dataset."""
        dataset = dataset or secrets.token_hex(16)
        digest = ""
        if identity.sketches.parts:
            data = identity.sketches.encode()
            digest = hashlib.sha256(data).hexdigest()
            self._db.execute("INSERT OR IGNORE INTO sketch VALUES (?, ?)", (digest, data))
        body = {"content": identity.content, "file": identity.file, "sketch": digest, "origin": origin}
        self._append("mark", "", dataset, _ZERO, body)
        return dataset

    def _join(self, account: str, kept: str, origin: str) -> str:
        """Make ``account`` a part of ``kept``, whose cap becomes the lower one, and return what both are now."""
        if account == kept:
            return kept
        accounts = self.accounts()
        if accounts.name_of(account) and accounts.name_of(kept):
            raise InputError(
                "this table is found in two accounts with public names, which cannot become one",
                str(self.path),
                "say with `workbench ledger separate NEW --from OLD` that the tables are different ones",
            )
        if accounts.name_of(account) and origin == MERGED:
            account, kept = kept, account
        lesser, own = self.account(account), self.account(kept)
        self._append("version", "", account, _ZERO, {"of": kept, "origin": origin})
        self._join_caps(lesser, own)
        return kept

    def _separated(self, new: Identity, match: Match, old: str) -> str:
        accounts = self.accounts()
        account = accounts.of(old)
        if not old or account not in match.accounts:
            raise InputError("the two tables have different accounts already", str(self.path))
        if match.dataset == old:
            raise InputError("the two are the same table", str(self.path), "name another one")
        dataset, other = match.dataset or self._marked(new, STEWARD), account
        if dataset == account:  # the other one is the later of the two: it is the one that leaves
            dataset, other = old, account
        self._append("separate", "", dataset, _ZERO, {"from": other})
        return self.account_of(match.dataset or dataset)
