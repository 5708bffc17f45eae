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
from workbench.release.attacked import read_released
from workbench.release.certificate import SUFFIX, certificate_path
from workbench.release.described_release import GENERALISED, DescribedRelease, stated
from workbench.release.open_release import certified_rows
from workbench.sanitize.plan import Plan
from workbench.signals.cancel import CancelToken

ROWS = "table"
"""The kind of described releases of noisy rows, one for each row of the original."""

ROWS_OF_PEOPLE = ("synthetic",)
"""Kinds of central releases whose file holds rows like those of the original."""


@dataclass(frozen=True, eq=False)
class ReleasedRows:
    """Rows that an outsider has, with what their certificate says; without one there is neither plan nor document."""

    table: Table
    plan: Plan | None = None
    document: Mapping[str, Any] | None = None


def described(path: Path) -> DescribedRelease | None:
    """Return the release at a file, certificate, model's folder or bundle; ``None`` of a table without a certificate.

    Raises:
        InputError: the certificate cannot be read.
        CheckFailedError: it was changed after it was written.
    """
    known = path.is_dir() or path.name.endswith(SUFFIX) or os.path.exists(certificate_path(path))
    return stated(path) if known else None


def holds_rows(found: DescribedRelease | None) -> bool:
    """Return whether a release has rows like those of the original."""
    return found is None or found.kind in (ROWS, GENERALISED) or found.document.get("kind") in ROWS_OF_PEOPLE


def rows_of_release(path: str | Path, reading: ReadOptions, cancel: CancelToken | None = None) -> ReleasedRows:
    """Return the rows of a release by its certificate, or of any other table.

    Args:
        path: a released file, its certificate, a bundle, or a table.
        reading: how a table without a certificate is read.
        cancel: looked at while it is read.

    Raises:
        InputError: it is no table, or not the one that its certificate was written for.
    """
    found = described(Path(path))
    if not holds_rows(found):
        assert found is not None
        kind = found.document.get("kind")
        what = "a model has no rows of people" if kind is None else f"a release of {kind} has no rows of people"
        raise InputError(what, str(path), "name noisy or synthetic rows")
    if found is None:
        return ReleasedRows(read_table(str(path), reading, cancel=cancel))
    if found.kind == GENERALISED:
        return ReleasedRows(read_released(found.release, cancel=cancel), None, found.document)
    plan, table = certified_rows(found.release, found.document, found.path, cancel)
    return ReleasedRows(table, plan, found.document)
