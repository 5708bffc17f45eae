"""Any release by its certificate or card, and the document that a person reads of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.learners.base import Effect
from workbench.params import CheckFailedError
from workbench.release.card import learned
from workbench.release.certificate import (
    CARD,
    FILES,
    GENERALISED_FORMAT,
    MADE_FROM,
    ROWS_FORMAT,
    checksum,
    is_model,
    read_card,
    read_document,
)
from workbench.release.documents.release_document import generalised_document, release_document
from workbench.release.manifest import is_bundle, released_in
from workbench.release.open_release import located
from workbench.render.document import Document

GENERALISED = "generalised"
"""The kind of a generalised table, which has no guarantee."""


@dataclass(frozen=True, eq=False)
class DescribedRelease:
    """A release by its JSON file.

    Attributes:
        kind: ``table``, ``central``, ``generalised`` or ``model``.
        release: the released file, or the folder of a model.
        path: its certificate or card.
        document: its content.
    """

    kind: str
    release: Path
    path: Path
    document: dict[str, Any]

    def paper(self) -> Document:
        """Return the document that a person reads."""
        name = self.release.absolute().name if self.kind == "model" else self.document["output"]["file"]
        if self.kind == GENERALISED:
            return generalised_document(self.document, name)
        return release_document(self.document, name, self._effects())

    def _effects(self) -> tuple[Effect, ...]:
        """Return what each column does to the predictions, of a learner whose model says it."""
        if self.kind != "model" or MADE_FROM in self.document or "queries" not in self.document["training"]:
            return ()
        found: tuple[Effect, ...] = learned(self.document, self.release).effects()
        return found


def stated(path: Path) -> DescribedRelease:
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
