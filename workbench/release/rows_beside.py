"""Released rows beside the rows they were made of: a certified release, or any other table that somebody gives."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.data.read import ReadOptions, read_table
from workbench.data.table import Table
from workbench.params import InputError
from workbench.release.certificate import CARD, ROWS_FORMAT, SUFFIX, read_any_certificate
from workbench.release.manifest import is_bundle, released_in
from workbench.release.open_release import certified_rows, located
from workbench.sanitize.plan import Plan
from workbench.signals.cancel import CancelToken

ROWS_OF_PEOPLE = ("synthetic",)
"""Kinds of central releases whose file holds rows like those of the original."""


@dataclass(frozen=True, eq=False)
class ReleasedRows:
    """Rows that an outsider has.

    Attributes:
        table: the rows.
        plan: what its certificate says of the columns; ``None`` of a table without one.
        document: its certificate; ``None`` of a table without one.
    """

    table: Table
    plan: Plan | None = None
    document: Mapping[str, Any] | None = None


def rows_of_release(path: str | Path, reading: ReadOptions, cancel: CancelToken | None = None) -> ReleasedRows:
    """Return the rows of a release by its certificate, or of any other table.

    Args:
        path: a released file, its certificate, a bundle, or a table.
        reading: how a table without a certificate is read.
        cancel: looked at while it is read.

    Raises:
        InputError: it is no table, or not the one that its certificate was written for.
    """
    place = Path(path)
    if is_bundle(place):
        place = released_in(place)
    if os.path.exists(place / CARD):
        raise InputError("a model has no rows", str(path), "name a released table")
    if place.name.endswith(SUFFIX) or os.path.exists(place.with_name(place.name + SUFFIX)):
        release, certificate = located(place)
        document = read_any_certificate(certificate)
        kind = document.get("kind", "")
        if document["format"] == ROWS_FORMAT or kind in ROWS_OF_PEOPLE:
            plan, table = certified_rows(release, document, certificate, cancel)
            return ReleasedRows(table, plan, document)
        raise InputError(f"a release of {kind} holds no rows of people", str(path), "name noisy or synthetic rows")
    return ReleasedRows(read_table(str(path), reading, cancel=cancel or CancelToken()))
