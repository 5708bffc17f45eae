"""Whether a table is a file that was released: its figures are then nobody's secret."""

from __future__ import annotations

from pathlib import Path

from workbench.data.table import Table
from workbench.params import InputError
from workbench.release.certificate import FILES, GENERALISED_FORMAT, certificate_path, read_document


def is_release(table: Table) -> bool:
    """Return whether the certificate beside the table's file is of exactly these bytes."""
    if not table.digest:
        return False
    beside = certificate_path(Path(table.source))
    try:
        document = read_document(beside, *FILES, GENERALISED_FORMAT)
    except InputError:  # none, or one that proves nothing: the rows count as private
        return False
    return bool(document["output"]["sha256"] == table.digest.hex())
