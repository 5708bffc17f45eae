"""Who pays for a release of rows that have no file: the account that is stated, or that the data carry."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.params import ParameterError
from workbench.sanitize.account_name import checked_name


def one_account(stated: Sequence[str | None], carried: Sequence[str | None], rows: str) -> str:
    """Return the account that pays for a release.

    A part of a table (some columns, some rows) may have no mark in common with the whole, so that only its name leads
    the ledger to the account of the whole.

    Args:
        stated: the names that the caller and the plan state.
        carried: the names that the data carry, those of the rows first.
        rows: what the rows are, in words.

    Raises:
        ParameterError: nothing is stated and the rows carry no name; or there are two names, or one is not allowed.
    """
    names = list(dict.fromkeys(name for name in (*stated, *carried) if name is not None))
    if not any(name is not None for name in (*stated, *carried[:1])):
        raise ParameterError(
            f"who pays is not said: {rows} names no account",
            "account",
            'give account="NAME", or take the rows from api.dataset(…, account="NAME")',
        )
    if len(names) > 1:
        raise ParameterError(
            f"one release is charged to one account, and two are named: {names[0]!r} and {names[1]!r}",
            "account",
            "name one of them",
        )
    return checked_name(names[0])
