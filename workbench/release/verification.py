"""Verification of a release or a bundle with its signature; and the bundle with the private report in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from workbench.params import CheckFailedError, WorkbenchError
from workbench.release.bundle import bundle_problems, check_bundle_place, write_bundle
from workbench.release.certificate import CARD, is_model, ledger_facts
from workbench.release.described_release import GENERALISED, DescribedRelease, release_at
from workbench.release.documents.written_document import SUFFIXES, document_bytes
from workbench.release.generalised.generalised_check import not_checked
from workbench.release.ledger.ledger import Ledger
from workbench.release.manifest import MANIFEST, is_bundle, released_in
from workbench.release.open_release import located
from workbench.release.signature import Signature, own_public_key, signature_of
from workbench.release.verify import first_fault, verify_release
from workbench.render.document import Document
from workbench.signals.cancel import NEVER, CancelToken


def verify_any(path: Path, cancel: CancelToken = NEVER) -> list[str]:
    """Return a sentence for every fault of the release at ``path``: a file, its certificate, its folder or a bundle.

    A signature beside the certificate, or of the bundle, is checked too; who holds its key, :func:`signatures` says.

    Raises:
        InputError: there is nothing to check: no file or no certificate.
        CancelledError: ``cancel`` was set.
    """
    if is_bundle(path):
        return bundle_problems(path) or verify_any(released_in(path), cancel)
    problems = verify_release(path, cancel)
    try:
        signatures(path)
    except WorkbenchError as error:
        problems.append(str(error))
    return problems


def unverified(path: Path) -> list[str]:
    """Return what of its certificate could not be checked, of a release that agrees with it otherwise.

    Raises:
        InputError: there is none, or its certificate cannot be read.
    """
    found = release_at(path)
    return not_checked(found.document) if found.kind == GENERALISED else []


def verified(path: Path, cancel: CancelToken = NEVER) -> DescribedRelease:
    """Return the release at ``path``, which agrees with its certificate.

    Raises:
        InputError: there is none, or it cannot be read.
        CheckFailedError: the release is not what its certificate says; the first fault is named.
        CancelledError: ``cancel`` was set.
    """
    problems = verify_any(path, cancel)
    if problems:
        raise CheckFailedError(first_fault(problems), str(path))
    return release_at(path)


def signatures(path: Path) -> Signature | None:
    """Return the signature of the release or bundle at ``path``, or ``None`` where it has none.

    Raises:
        InputError: there is a file in its place that is no signature.
        CheckFailedError: it is not that of the certificate, or of the manifest.
    """
    if is_bundle(path):
        return signature_of(path / MANIFEST)
    return signature_of(path / CARD if is_model(path) else located(path)[1])


def ledger_claims(path: Path) -> dict[str, Any]:
    """Return what a ledger can confirm of the release at ``path``, whose certificate or card was verified."""
    return ledger_facts(release_at(path).document)


def write_bundle_with_report(
    report: Document,
    release: Path,
    target: Path,
    ledger: Path | None = None,
    *,
    replace: bool = False,
    cancel: CancelToken = NEVER,
) -> None:
    """Write the bundle as :func:`~workbench.release.bundle.write_bundle` does, the report in ``private``.

    It is signed where this user has a key.

    Raises:
        InputError: the folder exists, or the ledger does not know the release.
        CheckFailedError: the release is not what its certificate says.
    """
    check_bundle_place(target, replace=replace)
    found = verified(release, cancel)
    private = {f"risk-report{suffix}": document_bytes(report, suffix) for suffix in SUFFIXES}
    with Ledger.read(ledger) as book:
        write_bundle(found, target, book, signed=own_public_key() is not None, replace=replace, private=private)
