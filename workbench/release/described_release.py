"""Any release by its certificate or card, and the document that a person reads of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.data.table import Table
from workbench.learners.base import Effect
from workbench.params import CheckFailedError, InputError
from workbench.release.card import read_learner_model
from workbench.release.certificate import (
    CARD,
    FILES,
    GENERALISED_FORMAT,
    MADE_FROM,
    ROWS_FORMAT,
    certificate_path,
    checksum,
    is_model,
    read_card,
    read_document,
)
from workbench.release.documents.release_document import generalised_document, release_document
from workbench.release.generalised.generalised_check import generalised_problems
from workbench.release.ledger.study_note import note_study
from workbench.release.manifest import is_bundle, released_in
from workbench.release.open_release import located
from workbench.render.document import Document
from workbench.signals import CancelToken, Emit, ignore

GENERALISED = "generalised"  # the kind of a generalised table, which has no guarantee


@dataclass(frozen=True, eq=False)
class DescribedRelease:
    """A release by its JSON file."""

    kind: str  # `table`, `central`, `generalised` or `model`
    release: Path  # the released file, or the folder of a model
    path: Path  # its certificate or card
    document: dict[str, Any]

    def to_document(self) -> Document:
        """Return the document that a person reads."""
        name = self.release.absolute().name if self.kind == "model" else self.document["output"]["file"]
        if self.kind == GENERALISED:
            return generalised_document(self.document, name)
        return release_document(self.document, name, self._effects())

    def _effects(self) -> tuple[Effect, ...]:
        """Return what each column does to the predictions, of a learner whose model says it."""
        if self.kind != "model" or MADE_FROM in self.document or "queries" not in self.document["training"]:
            return ()
        found: tuple[Effect, ...] = read_learner_model(self.document, self.release).effects()
        return found


def release_at(path: Path) -> DescribedRelease:
    """Return the release at ``path`` (a released file, its certificate, a model's folder or card, a bundle).

    Raises:
        InputError: there is none, or its certificate cannot be read.
        CheckFailedError: the certificate was changed after it was written.
    """
    if is_bundle(path):
        path = released_in(path)
    if path.name == CARD:
        path = path.parent
    if is_model(path):
        found = DescribedRelease("model", path, path / CARD, read_card(path))
    else:
        release, certificate = located(path)
        document = read_document(certificate, *FILES, GENERALISED_FORMAT)
        kind = {ROWS_FORMAT: "table", GENERALISED_FORMAT: GENERALISED}.get(document["format"], "central")
        found = DescribedRelease(kind, release, certificate, document)
    if checksum(found.document) != found.document["checksum"]:
        raise CheckFailedError("the certificate was changed after it was written: its checksum differs", str(path))
    return found


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


def with_codes_unless_released(table: Table, codes: Mapping[str, tuple[str, ...]]) -> Table:
    """Return a table as a study of risk reads it: in raw rows the declared codes of each column are missing values.

    A release is read as it is: it is what outsiders see, and its noise may be the same number as a code.
    """
    return table.replaced(missing_codes=codes) if codes and not is_release(table) else table


def note_unless_released(table: Table, study: str, ledger: Path | None = None, emit: Emit = ignore) -> None:
    """Note, as :func:`note_study`, rows that somebody calls released, where no certificate shows that they are."""
    if not is_release(table):
        note_study(table, study, ledger, emit)
