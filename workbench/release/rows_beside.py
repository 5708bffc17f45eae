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
from workbench.release.certificate import (
    ROWS_FORMAT,
    SUFFIX,
    certificate_path,
    is_model,
    read_any_certificate,
    read_card,
)
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


def document_of(path: Path) -> tuple[Path, dict[str, Any] | None]:
    """Return a released file or folder and its certificate or card; ``None`` of a table without one.

    Args:
        path: a released file, its certificate, a model's folder, a bundle, or any table.

    Raises:
        InputError: the certificate cannot be read.
    """
    if is_bundle(path):
        path = released_in(path)
    if is_model(path):
        return path, read_card(path)
    if path.name.endswith(SUFFIX) or os.path.exists(path.with_name(path.name + SUFFIX)):
        release, certificate = located(path)
        return release, read_any_certificate(certificate)
    return path, None


def holds_rows(document: Mapping[str, Any] | None) -> bool:
    """Return whether a release has rows like those of the original."""
    return document is None or document["format"] == ROWS_FORMAT or document.get("kind") in ROWS_OF_PEOPLE


def rows_of_release(path: str | Path, reading: ReadOptions, cancel: CancelToken | None = None) -> ReleasedRows:
    """Return the rows of a release by its certificate, or of any other table.

    Args:
        path: a released file, its certificate, a bundle, or a table.
        reading: how a table without a certificate is read.
        cancel: looked at while it is read.

    Raises:
        InputError: it is no table, or not the one that its certificate was written for.
    """
    release, document = document_of(Path(path))
    if not holds_rows(document):
        assert document is not None
        what = f"a release of {document['kind']} holds" if "kind" in document else "a model has"
        raise InputError(f"{what} no rows of people", str(path), "name noisy or synthetic rows")
    if document is None:
        return ReleasedRows(read_table(str(path), reading, cancel=cancel))
    plan, table = certified_rows(release, document, certificate_path(release), cancel)
    return ReleasedRows(table, plan, document)
