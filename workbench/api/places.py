"""Paths and ledgers as they are given from Python."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from workbench.data.databases.address import as_path
from workbench.params import ParameterError

Place = str | os.PathLike[str]


def path_of(place: Any) -> Path:
    """Return a path that was given as text or as a ``Path``, or the address of a table in a database.

    Raises:
        ParameterError: it is neither.
    """
    try:
        return as_path(os.fspath(place))
    except TypeError:
        raise ParameterError(f"the {type(place).__name__} is not a path", hint="give text or a Path") from None


def asked_for(ledger: Place | bool | None) -> bool:
    """Return whether a ledger was given."""
    return ledger is not None and ledger is not False


def place_of(ledger: Place | bool | None) -> Path | None:
    """Return the ledger's file; ``None`` for the user's own."""
    return None if ledger is True or not asked_for(ledger) else path_of(ledger)
