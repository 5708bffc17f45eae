"""Whether a table is a file that was released: its figures are then nobody's secret."""

from __future__ import annotations

from pathlib import Path

from workbench.data.table import Table
from workbench.params import InputError
from workbench.release.certificate import FILES, GENERALISED_FORMAT, certificate_path, checksum, read_document
from workbench.release.generalised.generalised_check import generalised_problems
from workbench.release.ledger.study_note import note_study
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit, ignore


def is_release(table: Table) -> bool:
    """Return whether the certificate beside the table's file is of exactly these bytes.

    Whoever computes its checksums anew can write one for any file. So a generalised file must also be what its
    certificate says: its labels, k and models are recomputed. Noisy rows cannot be recognised in that way.
    """
    if not table.digest:
        return False
    beside = certificate_path(Path(table.source))
    try:
        document = read_document(beside, *FILES, GENERALISED_FORMAT)
    except InputError:  # none, or one that proves nothing: the rows count as private
        return False
    unchanged = checksum(document) == document["checksum"]
    if not unchanged or document["output"]["sha256"] != table.digest.hex():
        return False
    if document["format"] != GENERALISED_FORMAT:
        return True
    return next(generalised_problems(document, Path(table.source), CancelToken()), None) is None


def note_unless_released(table: Table, study: str, ledger: Path | None = None, emit: Emit = ignore) -> None:
    """Note, as :func:`note_study`, rows that somebody calls released, where no certificate shows that they are."""
    if not is_release(table):
        note_study(table, study, ledger, emit)
