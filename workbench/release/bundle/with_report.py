"""A bundle of a release with the report on it, for those who may see the rows: the report is private."""

from __future__ import annotations

from pathlib import Path

from workbench.release.bundle.write_bundle import check_bundle_place, write_bundle
from workbench.release.documents.written_document import SUFFIXES, document_bytes
from workbench.release.ledger.ledger import Ledger
from workbench.release.signature.signing_key import own_public_key
from workbench.release.verify_any import verified
from workbench.render.document import Document
from workbench.signals.cancel import CancelToken


def write_bundle_with_report(
    report: Document,
    release: Path,
    target: Path,
    ledger: Path | None = None,
    *,
    replace: bool = False,
    cancel: CancelToken | None = None,
) -> None:
    """Write the bundle as :func:`~workbench.release.bundle.write_bundle.write_bundle` does, the report in ``private``.

    It is signed where this user has a key.

    Raises:
        InputError: the folder exists, or the ledger does not know the release.
        CheckFailedError: the release is not what its certificate says.
    """
    check_bundle_place(target, replace=replace)
    found = verified(release, cancel or CancelToken())
    private = {f"risk-report{suffix}": document_bytes(report, suffix) for suffix in SUFFIXES}
    with Ledger.read(ledger) as book:
        write_bundle(found, target, book, signed=own_public_key() is not None, replace=replace, private=private)
