"""The ledger from Python: what was charged, the caps, and which tables share an account."""

from __future__ import annotations

import os
from typing import Any, TypeAlias

import pandas as pd

from workbench.api.datasets import mark_of
from workbench.api.frames import Place, Shown, frame_of, path_of, table_of
from workbench.data.databases.address import address_of
from workbench.data.table import Table
from workbench.data.table_reader import read_table
from workbench.params import InputError, ParameterError
from workbench.release.ledger.identity import Identity
from workbench.release.ledger.ledger import Ledger
from workbench.release.ledger.summary import Caps, account_facts, releases
from workbench.release.recover import recover

Of: TypeAlias = pd.DataFrame | str | os.PathLike[str]
"""A DataFrame, the path of a table, or the public name of an account."""

ACCOUNT_COLUMNS = ("account", "dataset", "cap_epsilon", "spent_epsilon", "remaining_epsilon")
DELTA_COLUMNS = ("cap_delta", "spent_delta", "remaining_delta")
RELEASE_COLUMNS = ("time", "release_id", "account", "work", "epsilon", "delta", "status", "output")


class LedgerView(Shown):
    """A ledger: every method opens the file, so that other programs can charge it at the same time."""

    def __init__(self, path: Place | None) -> None:
        self._path = None if path is None else path_of(path)

    def show(self) -> pd.DataFrame:
        """Return one row for each account: its name, cap, what is spent or reserved, and what remains, in ε and δ."""
        with Ledger.read(self._path) as opened:
            rows = [account_facts(opened, dataset) for dataset in opened.caps()]
            stated = {"ledger": str(opened.path), "problems": opened.verify()}
        columns = (*ACCOUNT_COLUMNS, *DELTA_COLUMNS)
        return frame_of({name: [_number(row[name]) for row in rows] for name in columns}, **stated)

    def releases(self) -> pd.DataFrame:
        """Return one row for each release, with its present status and cost."""
        with Ledger.read(self._path) as opened:
            rows = [{**row, "account": row["called"]} for row in releases(opened)]
        return frame_of({name: [row[name] for row in rows] for name in RELEASE_COLUMNS})

    def verify(self) -> list[str]:
        """Return a sentence for each problem with the file; none where no entry was altered or removed."""
        with Ledger.read(self._path) as opened:
            return opened.verify()

    def cap(self, of: Of, *, epsilon: float | None = None, delta: float | None = None) -> pd.Series[Any]:
        """Set the cap of an account, which is recorded and named in later certificates; return its row of :meth:`show`.

        Args:
            of: a DataFrame (a dataset has an account with a name), the path of a table, or the name of an account.
            epsilon: the most that all its releases may cost together; by default as it is.
            delta: the same of δ.

        Raises:
            ParameterError: the cap is missing, or it is out of range.
            InputError: there is no such account or table.
        """
        if epsilon is None and delta is None:
            raise ParameterError("the cap is missing", "cap", "pass epsilon=, delta= or both")
        caps = Caps(epsilon=epsilon, delta=delta)
        with Ledger.open(self._path) as opened:
            recover(opened)
            facts = account_facts(opened, caps.set(opened, self._dataset(opened, of)))
            return pd.Series({name: _number(facts[name]) for name in (*ACCOUNT_COLUMNS, *DELTA_COLUMNS)})

    def name(self, of: Of, name: str) -> None:
        """Give an account (of a DataFrame, of the table in a file, or by its id) a public name.

        Raises:
            ParameterError: the name is not allowed.
            InputError: the account has another name.
        """
        with Ledger.open(self._path) as opened:
            opened.set_name(self._dataset(opened, of), name)

    def version(self, new: Of, *, of: Of) -> None:
        """Record that the table ``new`` is the next version of a known one, whose account it shares.

        Raises:
            InputError: the older table is not in the ledger, or both have names.
        """
        with Ledger.open(self._path) as opened:
            opened.link_version(self._dataset(opened, new), self._dataset(opened, of))

    def separate(self, new: pd.DataFrame | Place, *, of: Of) -> None:
        """Record that tables with similar rows or columns are different ones: ``new`` gets an account of its own.

        Args:
            new: the table that was taken for another one, or may be one.
            of: the other table, or its account.

        Raises:
            InputError: they are the same table, or are not in one account.
        """
        with Ledger.open(self._path) as opened:
            opened.separate(opened.identify(_rows(new)), self._dataset(opened, of))

    def facts_shown(self) -> tuple[str, dict[str, Any], list[dict[str, Any]]]:
        """Return the heading, the file and the accounts, as they are shown."""
        accounts = self.show()
        rows = accounts[list(ACCOUNT_COLUMNS)].astype({"dataset": "object"}).to_dict("records")
        shown = [{str(k): v[:6] if k == "dataset" else v for k, v in row.items()} for row in rows]
        facts = {"file": accounts.attrs["ledger"], "accounts": len(rows), "faults": len(accounts.attrs["problems"])}
        return "Ledger", facts, shown

    def _dataset(self, opened: Ledger, of: Of) -> Identity | str:
        """Return what the ledger knows a table or an account by; a dataset's account is made where there is none."""
        if isinstance(of, str) and opened.account_labelled(of):
            return opened.account_labelled(of)
        mark = mark_of(of)
        identity = opened.identify(_rows(of))
        return identity if mark is None else opened.enter(identity, mark.account)


def ledger(path: Place | None = None) -> LedgerView:
    """Return the ledger in the file ``path``, or the user's own: its accounts, caps and releases.

    ::

        api.ledger("ledger.sqlite").show()
        api.ledger("ledger.sqlite").cap("people", epsilon=5)
    """
    return LedgerView(path)


def _rows(of: Any) -> Table:
    if isinstance(of, pd.DataFrame):
        return table_of(of)
    path = path_of(of)
    if not path.exists() and address_of(str(path)) is None:
        raise InputError("there is no such account or file", str(path), "pass a DataFrame, a path or a name")
    return read_table(str(path))


def _number(value: Any) -> Any:
    """Return a value; NaN where an amount is not set."""
    return float("nan") if value is None else value
