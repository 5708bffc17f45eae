"""The accounts of a ledger: finds, creates, joins, separates and names them.

A table that is new to the ledger, and of which only columns are known, is in doubt: nothing is charged to it until a
person has named the account that pays, or has declared that it is another table. One that was entered without a cap,
a charge or a name (it was opened, or studied) counts as new.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection

from workbench.data.table import Table
from workbench.params import InputError
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
from workbench.release.ledger.identity import Identity
from workbench.release.ledger.location import LedgerLocation
from workbench.release.ledger.records import JOINED, lowest_caps
from workbench.release.ledger.state import GROUP, MERGED, NAMED, NEW, SHORT_ID, SKETCH, STEWARD, Match
from workbench.sanitize.account_name import checked_name


class LedgerAccounts(LedgerLocation):
    """The part of the ledger that maps tables to accounts."""

    def enter(self, identity: Identity | str, name: str | None = None, *, beside: Collection[str] = ()) -> str:
        """Return the account that a table is charged to, and record its marks there; a new one where it has none.

        If a table is found in several accounts, they become one with the sum of all. A second table, joined with it,
        is entered in its own account: the two become one when a release is reserved (:meth:`share`). ``name`` is the
        public name that the plan states; that its columns are like those of the accounts ``beside`` is no doubt.

        Raises:
            InputError: the table's account is not the one of that name, or it has a name that the plan does not state,
                or the table is in doubt.
        """
        if isinstance(identity, str):
            return self.account_of(identity)
        with self._transaction():
            match, known, second = self.find(identity), self.accounts().named(name or ""), identity.second
            beside = (known, *beside, *(() if second is None else self.find(second).accounts))
            if name is not None:
                self._require_named(name, match)
            open_doubts = [account for account in match.doubts if account not in beside]
            if open_doubts:
                raise self._in_doubt(open_doubts[0])
            account = self._entered(identity, match, known)
            if name is not None and not known:
                self._append("name", account, {"name": name})
            if second is not None:
                self._enter_second(second, name, account)
            return account

    def record_marks(self, table: Table) -> None:
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
            for each in (identity, identity.second) if name is None else ():
                present = "" if each is None else self.accounts().name_of(*self.find(each).accounts)
                if present:  # what is published of a named account must not depend on which tables were found in it
                    raise InputError(
                        f"the account of this table has the public name {present!r}, which the plan does not state",
                        str(self.path),
                        state_account(present),
                    )
            return self.enter(identity, name)

    def link_version(self, new: Identity | str, old: Identity | str, origin: str = STEWARD) -> str:
        """Let ``new`` share the account of ``old`` and return that account; what both have spent is added up.

        ``origin`` is ``steward`` for a newer version, ``group`` for another table about the same people.

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
                    self._append("version", self._marked(new, origin), {"of": account, "origin": origin})
            return self.account_of(account)

    def share(self, dataset: str, *others: str) -> str:
        """Let the accounts of ``others`` become that of ``dataset``, of tables about the same people; return it.

        Raises:
            InputError: two of them have public names.
        """
        for other in others:
            dataset = self._join(self.account_of(other), self.account_of(dataset), GROUP)
        return self.account_of(dataset)

    def separate(self, new: Identity, old: Identity | str | None = None) -> str:
        """Record that two tables are different although they are similar; return the account of ``new``.

        Earlier charges stay with the account of ``old``, the other table or its account; ``None`` means all those that
        ``new`` was taken for, or may belong to.

        Raises:
            InputError: they are the same table, or are not in one account, or ``old`` is not in the ledger, or a
                release was made of both.
        """
        with self._transaction():
            if old is None:
                match = self.find(new)
                others = match.doubts or (match.account,)
            else:
                others = (old if isinstance(old, str) else self.find(old).dataset,)
                if others[0] not in self.accounts().datasets:
                    raise InputError("the other table is not in the ledger", str(self.path), "release or cap it first")
            return [self._separated(new, other) for other in others][-1]

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
                raise InputError(f"the account already has the name {present!r}", str(self.path), "use that name")
            if accounts.named(name):
                return self._join(account, accounts.named(name), NAMED)
            self._append("name", account, {"name": name})
            return account

    # -- within ---------------------------------------------------------------------------------------------------

    def _enter_second(self, identity: Identity, name: str | None, beside: str) -> None:
        """Enter a table that is joined with another one; what is refused of it can be settled for it alone."""
        try:
            self.enter(identity, name, beside=(beside,))
        except InputError as error:
            settle = "settle it for that table alone: `workbench ledger name`, `group` or `separate`"
            raise InputError(f"the second table: {error.what}", error.where, settle, code=error.code) from None

    def _in_doubt(self, account: str) -> InputError:
        name, short = self.accounts().name_of(account), account[:SHORT_ID]
        called = self.account_labels().get(account, "")
        known = f"has the account {name!r}" if name else f"has the account {short}"
        if called and not name:
            known += f", {called}"
        return InputError(
            f"columns of this table resemble those of another one, which {known}, so it is not certain who pays",
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
        if not accounts.paying().intersection(match.accounts) - {accounts.named(name)}:
            return
        other = accounts.name_of(*match.accounts)
        if other and other != name:
            stated = f"this table belongs to the account {other!r}, not to {name!r}"
            raise InputError(stated, str(self.path), state_account(other))
        raise InputError(f"this table has an account that is not named {name!r}", str(self.path), name_account(name))

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
        origin = SKETCH if match.accounts else NAMED if account else NEW
        dataset = self._marked(identity, origin)
        if account:
            self._append("version", dataset, {"of": account, "origin": origin})
        return account or dataset

    def _marked(self, identity: Identity, origin: str, dataset: str = "") -> str:
        dataset = dataset or secrets.token_hex(16)
        body = {"content": identity.content, "file": identity.file, "sketch": "", "origin": origin}
        if identity.title:
            body["title"] = identity.title
        if identity.sketches.parts:
            body["sketch"] = self._kept(identity.sketches.encode())
        if not identity.columns.empty:
            body["columns"] = self._kept(identity.columns.encode(self.key))
        self._append("mark", dataset, body)
        return dataset

    def _kept(self, data: bytes) -> str:
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
        self._joined(account, kept, origin)
        return kept

    def _joined(self, one: str, other: str, origin: str) -> None:
        """Let the account of a dataset share that of another one, whose cap becomes the lower one of the two."""
        account, kept = self.account_of(one), self.account_of(other)
        if account == kept:
            return
        lesser, own = self.account(account), self.account(kept)
        self._append("version", account, {"of": kept, "origin": origin})
        cap = lowest_caps(own.standing_cap, lesser.standing_cap)
        if cap is not None and (cap != own.cap or lesser.standing_cap is not None):
            self._append("cap", kept, {"origin": JOINED}, cap)

    def _separated(self, new: Identity, old: str) -> str:
        match, accounts = self.find(new), self.accounts()
        account = accounts.of(old)
        if not old or account not in (*match.accounts, *match.doubts):
            raise InputError("the two tables already have different accounts", str(self.path))
        if match.dataset == old:
            raise InputError("the two are the same table", str(self.path), "choose another one")
        dataset, other = match.dataset or self._marked(new, STEWARD), account
        if dataset == account:  # the other one is the later of the two: it is the one that leaves
            dataset, other = old, account
        for release in self.counted(account):
            if len({accounts.within(table, dataset) for table in release.tables}) > 1:
                what = f"the release {release.release_id} was made from both tables: its cost counts against both"
                raise InputError(what, str(self.path), code="joined-release")
        self._append("separate", dataset, {"from": other})
        return self.account_of(match.dataset or dataset)
