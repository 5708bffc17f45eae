"""A release into a table of a database: the finished draw, a file beside its certificate, is copied there.

The draw is text whose rows are sorted, as a table has no order of its own. So whoever reads the table can write the
same bytes again (:func:`certified_copy`), and the certificate is that of a file. The copy is one transaction. After a
crash the next run compares: a table with the rows of the draw is finished, and one without rows is filled.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from workbench.data.columns.source_types import type_named
from workbench.data.databases.access import existing_table, read_database, write_table
from workbench.data.databases.address import Address, address_of
from workbench.data.table import Table
from workbench.params import InputError, ParameterError, parse_json
from workbench.release.atomic import write_whole
from workbench.release.certificate import SUFFIX, certificate_path, read_any_certificate
from workbench.release.part_files import DrawFile, draw_parts
from workbench.release.signature import SUFFIX as SIGNATURE
from workbench.release.table_formats import DATABASE, sorted_rows
from workbench.sanitize.plan import Plan
from workbench.signals.cancel import NEVER, CancelToken

LONGEST_NAME = 63  # bytes of the name of a table or a column that every database takes whole

_AGAIN = "solve this and run the same command again: the finished draw is kept and costs nothing more"


def place_beside(address: Address, certificate: Path | None) -> Path:
    """Return the path that the draw and its certificate are named after; no file has that name itself.

    Raises:
        ParameterError: the address names no table, or columns of it, or the certificate's name does not end as it must.
    """
    if not address.table:
        raise ParameterError("the output's address names no table", address.shown, "add ?table=NEW")
    if address.columns:
        raise ParameterError("the output's address names columns", address.shown, "the plan says which are released")
    if certificate is None:
        return Path(address.table.replace("/", "_"))
    if not certificate.name.endswith(SUFFIX) or certificate.name == SUFFIX:
        raise ParameterError("the certificate has the wrong suffix", "--certificate", f"end its name in {SUFFIX}")
    return certificate.with_name(certificate.name.removesuffix(SUFFIX))


def require_new_table(address: Address, beside: Path) -> None:
    """Refuse a table that has rows, or a certificate that exists.

    Raises:
        InputError: there is one, or no table can be made there.
    """
    if os.path.lexists(certificate_path(beside)):
        what, hint = "there is already a certificate of this name", "choose another table, or give --certificate FILE"
        raise InputError(what, str(certificate_path(beside)), hint, code="output-exists")
    if len(address.table.rpartition(".")[2].encode()) > LONGEST_NAME:
        raise InputError("the table's name is longer than databases take", address.shown, "use a shorter name")
    existing_table(address)


def require_storable(address: Address, beside: Path, plan: Plan, rows: Table) -> None:
    """Refuse what a table cannot hold, before anything is charged.

    Raises:
        InputError: names are too long or alike, an empty table has other columns, or a text has a null character.
        ParameterError: the plan wants the order of rows kept.
    """
    released = [c for c in plan.columns if c.action != "drop"]
    names = [c.name for c in released]
    if plan.keep_order:
        raise ParameterError("a table of a database has no order to keep", "keep_order", "write keep_order = false")
    long = next((name for name in names if len(name.encode()) > LONGEST_NAME), None)
    if long is not None or len({name.casefold() for name in names}) < len(names):
        what = (
            "some column names differ only in upper and lower case" if long is None else "a column's name is too long"
        )
        raise InputError(f"{what} for a database", long or address.shown, "write a file", code="output-format")
    standing = None if draw_parts(beside) else existing_table(address)
    if standing is not None and sorted(standing) != sorted(names):
        hint = f"choose a new table, or create it with the columns {', '.join(names)}"
        raise InputError(
            "the empty table has other columns than the release", address.shown, hint, code="output-format"
        )
    for column in released:
        cells = rows.column(column.name) if column.action == "keep" else pl.Series([], dtype=pl.String)
        labels = column.grid().labels if column.action == "protect" else ()
        if cells.str.contains("\0", literal=True).any() or any("\0" in label for label in labels):
            raise InputError("a text has a null character, which databases do not store", f"column {column.name}")


class TableDraw(DrawFile):
    """The part of a table in a database, which is copied instead of renamed."""

    def _require_place(self, *, charged: bool) -> None:
        """Nothing has the name of the part's target; the table is looked at when the release begins."""

    def copy(self, address: Address, certificate: bytes) -> None:
        """Write the certificate, then the table; whole or not at all.

        Raises:
            InputError: the table could not be written; the part is kept, and no certificate is left without a table.
        """
        beside = certificate_path(self.target)
        existed = os.path.lexists(beside)
        write_whole(beside, certificate)
        try:
            self._fill(address, _types_of(parse_json(certificate.decode(), "certificate")))
        except InputError as error:
            if not existed:
                beside.unlink(missing_ok=True)
            what = f"the finished draw was not written into the table: {error.what}"
            raise InputError(what, error.where, _AGAIN, code=error.code) from None

    def _fill(self, address: Address, types: Mapping[str, pl.DataType]) -> None:
        try:
            into = existing_table(address)
        except InputError as error:
            # A run that was killed after it had written everything left this very table.
            if error.code == "output-exists" and _digest(address, types) == self.sha256:
                return
            raise
        write_table(address, self.path, types, into)

    def publish(self) -> None:
        """Remove the part: its rows are in the table."""
        self.path.unlink()


def _digest(address: Address, types: Mapping[str, pl.DataType]) -> str:
    """Return the SHA-256 of the draw whose rows a table has; empty where it has other columns."""
    try:
        return hashlib.sha256(_text_of(read_database(address), types)).hexdigest()
    except InputError:
        return ""


def _text_of(table: Table, types: Mapping[str, pl.DataType]) -> bytes:
    """Return the bytes of the draw whose rows ``table`` has.

    Raises:
        InputError: it has other columns.
    """
    if sorted(table.names) != sorted(types):
        raise InputError("the table and its certificate name different columns", table.source)
    return sorted_rows(table.frame, types)


def _types_of(document: Any) -> dict[str, pl.DataType]:
    return {str(name): type_named(str(word)) for name, word in document["output"]["columns"]}


@contextlib.contextmanager
def certified_copy(release: Path, certificate: Path | None, cancel: CancelToken = NEVER) -> Iterator[Path]:
    """Yield where a release is a file: ``release`` itself, or a copy of a table of a database beside its certificate.

    Only its owner can read the copy, which is removed after the block. Where no certificate is named, it is beside a
    file, or in the current folder.

    Raises:
        InputError: the table or the certificate cannot be read, or the certificate is not that of a table.
    """
    address = address_of(str(release))
    if address is None:
        yield release
        return
    beside = certificate_path(place_beside(address, None)) if certificate is None else certificate
    if not beside.is_file():
        hint = "give it: --certificate FILE"
        raise InputError("the table's certificate is not in this folder", str(beside), hint)
    document = read_any_certificate(beside)
    if document.get("output", {}).get("format") != DATABASE:
        raise InputError("this is not the certificate of a table in a database", str(beside), "give its own")
    table = read_database(address, cancel)
    with tempfile.TemporaryDirectory(prefix="workbench-") as folder:
        copy = Path(folder) / Path(str(document["output"]["file"])).name
        copy.write_bytes(_text_of(table, _types_of(document)))
        certificate_path(copy).write_bytes(beside.read_bytes())
        signature = beside.with_name(beside.name + SIGNATURE)
        if signature.is_file():
            certificate_path(copy).with_name(certificate_path(copy).name + SIGNATURE).write_bytes(
                signature.read_bytes()
            )
        yield copy


__all__ = ["LONGEST_NAME", "TableDraw", "certified_copy", "place_beside", "require_new_table", "require_storable"]
