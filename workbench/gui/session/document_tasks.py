"""Write the certificate of a release as a document, or its bundle."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.style.language import tr
from workbench.jobs import Job
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit

Save = Callable[[JobCenter, Path, Path, Callable[[], object], Callable[[BaseException], None]], JobHandle]
"""(jobs, release, path, done, on_failure) → the job that writes ``path``."""


def save_certificate(
    jobs: JobCenter, release: Path, path: Path, done: Callable[[], object], on_failure: Callable[[BaseException], None]
) -> JobHandle:
    """Write the certificate of ``release``, which is verified first, as PDF or HTML."""

    def work(emit: Emit, cancel: CancelToken) -> None:
        from workbench.release.documents.written_document import check_document_path, write_document
        from workbench.release.verify_any import verified

        check_document_path(path)
        write_document(verified(release, cancel).paper(), path)

    return _start(jobs, Job(tr("Writing the certificate"), work, about=path.name), done, on_failure)


def save_bundle(
    jobs: JobCenter, release: Path, path: Path, done: Callable[[], object], on_failure: Callable[[BaseException], None]
) -> JobHandle:
    """Write the bundle of ``release``, which is verified first; it is signed where this user has a key."""

    def work(emit: Emit, cancel: CancelToken) -> None:
        from workbench.release.bundle.write_bundle import check_bundle_place, write_bundle
        from workbench.release.ledger.ledger import Ledger
        from workbench.release.signature.signing_key import own_public_key
        from workbench.release.verify_any import verified

        check_bundle_place(path)
        found = verified(release, cancel)
        with Ledger.read() as ledger:
            write_bundle(found, path, ledger, signed=own_public_key() is not None)

    return _start(jobs, Job(tr("Writing the bundle"), work, about=path.name), done, on_failure)


def _start(
    jobs: JobCenter, job: Job[None], done: Callable[[], object], on_failure: Callable[[BaseException], None]
) -> JobHandle:
    def apply(_result: None) -> None:
        done()

    return jobs.start(job, key="documents", on_result=apply, on_failure=on_failure)
