"""The accounts of a ledger: finds, creates, joins, separates and names them.

A table that is new to the ledger, and of which only columns are known, is in doubt: nothing is charged to it until a
person has named the account that pays, or has declared that it is another table. One that was entered without a cap,
a charge or a name (it was opened, or studied) counts as new.
"""

from __future__ import annotations

import dataclasses
import hashlib
import secrets
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import TypeVar

from workbench.data.table import Table
from workbench.params import CheckFailedError, InputError
from workbench.params.remedies import (
    DATA,
    LEDGER,
    WHO_PAYS,
    charge_account,
    name_account,
    other_table,
    run,
    state_account,
)
from workbench.release.ledger.account_finder import MERGED, NAMED, NEW, SKETCH, STEWARD, Accounts, Match
from workbench.release.ledger.column_marks import ColumnMarks
from workbench.release.ledger.entries import LedgerBook
from workbench.release.ledger.hash_chain import start_of
from workbench.release.ledger.identity import Identity, identify
from workbench.release.ledger.records import Account
from workbench.release.ledger.sketch import Sketches
from workbench.sanitize.account_name import checked_name

SHORT_ID = 6
"""Digits of an account's id by which a person may call it."""

_ZERO = (Decimal(0), Decimal(0))

T = TypeVar("T")


class LedgerAccounts(LedgerBook):
    """The part of the ledger that maps tables to accounts."""

    _stated: tuple[tuple[int, int], Accounts] | None = None

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
        known = self._stated[1] if self._stated is not None and self._stated[0][0] == state[0] else None
        if known is None or self._stated is None or known.changed_by(entries[self._stated[0][1] :]):
            known = Accounts.from_entries(entries)
        self._stated = state, known
        return known

    def account_of(self, dataset: str) -> str:
        """Return the account that ``dataset`` is charged to (its own, or that of the version it follows)."""
        return self.accounts().of(dataset)

    def find(self, identity: Identity) -> Match:
        """Return the account of a table, and those it may belong to, without recording anything."""
        accounts = self.accounts()
        match = accounts.match(identity, self._sketches(accounts))
        paying = self._paying(accounts)
        if identity.columns.empty or accounts.parent(match.dataset) or paying.intersection(match.accounts):
            return match
        doubts = accounts.doubts(identity, match, self._columns(accounts), paying)
        return dataclasses.replace(match, doubts=doubts) if doubts else match

    def enter(self, identity: Identity | str, name: str | None = None) -> str:
        """Return the account that a table is charged to, and record its marks there; a new one where it has none.

        If a table is found in several accounts, they become one with the sum of all.

        Args:
            identity: the marks of the table, or the name of its dataset.
            name: the public name of the account, as a plan states it.

        Raises:
            InputError: the table's account is not the one of that name, or it has a name that the plan does not state,
                or the table is in doubt.
        """
        if isinstance(identity, str):
            return self.account_of(identity)
        with self._transaction():
            match = self.find(identity)
            if name is not None:
                self._require_named(name, match)
            open_doubts = [a for a in match.doubts if not name or a != self.accounts().named(name)]
            if open_doubts:
                raise self._in_doubt(open_doubts[0])
            account = self._entered(identity, match, self.accounts().named(name) if name else "")
            if name is not None and not self.accounts().named(name):
                self._append("name", "", account, _ZERO, {"name": checked_name(name)})
            return account

    def know(self, table: Table) -> None:
        """Record the marks of a table that is new, at no cost, so that its parts are recognised.

        Raises:
            InputError: the key is missing.
        """
        identity = self.identify(table)
        with self._transaction():
            if not self.find(identity).accounts:
                self._marked(identity, NEW)

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
                for doubt in match.doubts:
                    if doubt != self.account_of(account):  # else its rows would be paid from another table's budget
                        raise self._in_doubt(doubt)
                for other in match.accounts:
                    self._join(self.account_of(other), self.account_of(account), origin)
                if not match.dataset:
                    self._append("version", "", self._marked(new, origin), _ZERO, {"of": account, "origin": origin})
            return self.account_of(account)

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

    def separate(self, new: Identity, old: Identity | str) -> str:
        """Record that ``new`` and ``old`` are different tables although they are similar; return the new account.

        Earlier charges stay with the account of ``old``.

        Raises:
            InputError: they are the same table, or are not in one account.
        """
        with self._transaction():
            other = old if isinstance(old, str) else self.find(old).dataset
            if other not in self.accounts().datasets:
                raise InputError("the other table is not in the ledger", str(self.path), "release or cap it first")
            return self._separated(new, self.find(new), other)

    def separate_from_account(self, new: Identity) -> str:
        """Record that a table matched as a version by its rows, or in doubt, is a different one; return its account.

        Raises:
            InputError: it was not taken for a version, and is not in doubt.
        """
        with self._transaction():
            match = self.find(new)
            account = "" if match.doubts else self._separated(new, match, match.account)
            for doubt in match.doubts:
                account = self._separated(new, self.find(new), doubt)
            return account

    def set_name(self, identity: Identity | str, name: str) -> str:
        """Give the account of a table (or of a dataset) a public name and return the account.

        Where another account has that name the two become one: its sum is that of both.

        Raises:
            ParameterError: the name cannot be one.
            InputError: the account has another name already.
        """
        name = checked_name(name)
        with self._transaction():
            if isinstance(identity, Identity) and self.accounts().named(name) in self.find(identity).doubts:
                return self.enter(identity, name)
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
                accounts = self.accounts()
                list(self._sketches(accounts))
                for digest in accounts.columns:
                    self._decoded(len, digest)
            except CheckFailedError as error:
                problems = [error.what]
        return problems

    # -- within ---------------------------------------------------------------------------------------------------

    def account(self, dataset: str) -> Account:
        """Return the budget of the account that ``dataset`` is charged to."""
        raise NotImplementedError

    def called(self) -> dict[str, str]:
        """Return a readable name of each account."""
        raise NotImplementedError

    def _join_caps(self, lesser: Account, own: Account) -> None:
        raise NotImplementedError

    def _former(self) -> int:
        """Return the number of entries in the first format, which names datasets by their fingerprints."""
        stated = self._meta("former")
        if stated is not None:
            return int(stated)
        return len(self._rows("SELECT seq FROM entry LIMIT 1")) if self._meta("start") is None else 0

    def _sketches(self, accounts: Accounts) -> Iterator[tuple[str, Sketches]]:
        for digest, dataset in accounts.sketches.items():
            yield dataset, self._decoded(Sketches.decode, digest)

    def _columns(self, accounts: Accounts) -> Iterator[tuple[str, ColumnMarks]]:
        keys = self.keys
        for digest, dataset in accounts.columns.items():
            yield dataset, self._decoded(lambda data: ColumnMarks.decode(data, keys), digest)

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

    def _paying(self, accounts: Accounts) -> set[str]:
        """Return the accounts that have a cap, which the first charge sets, or a public name."""
        return {accounts.of(e.dataset) for e in self.entries("cap")} | set(accounts.named_accounts())

    def _in_doubt(self, account: str) -> InputError:
        name, short = self.accounts().name_of(account), account[:SHORT_ID]
        called = self.called().get(account, "")
        known = f"has the account {name!r}" if name else f"has the account {short}"
        if called and not name:
            known += f", {called}"
        return InputError(
            f"columns of this table are like those of another one, which {known}, so it is not certain who pays",
            str(self.path),
            (
                charge_account(name, short),
                other_table(name or short),
            ),
            code=WHO_PAYS,
        )

    def _require_named(self, name: str, match: Match) -> None:
        """Raise an error if the name in a plan and the marks of its table belong to different accounts."""
        checked_name(name)
        accounts = self.accounts()
        known = accounts.named(name)
        if all(account == known or self._blank(account, accounts) for account in match.accounts):
            return
        other = next((n for a in match.accounts if (n := accounts.name_of(a))), "")
        if other and other != name:
            stated = f"this table belongs to the account {other!r}, not to {name!r}"
            hint = state_account(other)
        else:
            stated = f"this table has an account that is not named {name!r}"
            hint = name_account(name)
        raise InputError(stated, str(self.path), hint)

    def _blank(self, account: str, accounts: Accounts) -> bool:
        """Return whether an account has no charge, cap or name, as if the table were new."""
        stated = (e for e in self.entries("cap", "reserve", "charge", "settle") if accounts.of(e.dataset) == account)
        return next(stated, None) is None and not accounts.name_of(account)

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
        body = {"content": identity.content, "file": identity.file, "sketch": "", "origin": origin}
        if identity.sketches.parts:
            body["sketch"] = self._kept(identity.sketches.encode())
        if not identity.columns.empty:
            body["columns"] = self._kept(identity.columns.encode(self.key))
        self._append("mark", "", dataset, _ZERO, body)
        return dataset

    def _kept(self, data: bytes) -> str:
        """Store marks beside the entries and return their digest."""
        digest = hashlib.sha256(data).hexdigest()
        self._db.execute("INSERT OR IGNORE INTO sketch VALUES (?, ?)", (digest, data))
        return digest

    def _join(self, account: str, kept: str, origin: str) -> str:
        """Make ``account`` a part of ``kept``, whose cap becomes the lower one, and return what both are now."""
        if account == kept:
            return kept
        accounts = self.accounts()
        if accounts.name_of(account) and accounts.name_of(kept):
            raise InputError(
                "this table is found in two accounts with public names, which cannot become one",
                str(self.path),
                run("if the tables are different ones, run", "ledger", "separate", DATA, "--from", "OLD", LEDGER),
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
        if not old or account not in (*match.accounts, *match.doubts):
            raise InputError("the two tables have different accounts already", str(self.path))
        if match.dataset == old:
            raise InputError("the two are the same table", str(self.path), "name another one")
        dataset, other = match.dataset or self._marked(new, STEWARD), account
        if dataset == account:  # the other one is the later of the two: it is the one that leaves
            dataset, other = old, account
        self._append("separate", "", dataset, _ZERO, {"from": other})
        return self.account_of(match.dataset or dataset)
