"""Check a release against its certificate and the ledger."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from workbench.gui.session.job_center import JobCenter
from workbench.gui.style.language import tr
from workbench.jobs import Job
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit

KEY = "verify"


def verify(
    jobs: JobCenter,
    release: Path,
    show: Callable[[list[str], list[str]], None],
    on_failure: Callable[[BaseException], None] | None = None,
    on_cancel: Callable[[], None] | None = None,
) -> None:
    """Recompute everything a certificate says.

    ``show`` gets a sentence for every fault, none where all is well, and then for everything that could not be checked.
    """

    def work(emit: Emit, cancel: CancelToken) -> tuple[list[str], list[str]]:
        from workbench.release.verify_any import left_unchecked

        found = faults(release, cancel)
        return found, [] if found else left_unchecked(release)

    job = Job(tr("Verifying"), work, about=release.name)
    handle = jobs.start(job, key=KEY, on_result=lambda result: show(*result), on_failure=on_failure)
    if on_cancel is not None:
        handle.cancelled.connect(on_cancel)


def faults(release: Path, cancel: CancelToken | None = None) -> list[str]:
    """Return a sentence for every way in which ``release`` is not what its certificate and the ledger say."""
    from workbench.release.ledger.ledger import Ledger
    from workbench.release.verify import verify_in_ledger
    from workbench.release.verify_any import ledger_claims, verify_any

    found = verify_any(release, cancel)
    if found:
        return found
    document = ledger_claims(release)
    with Ledger.open() as book:
        return verify_in_ledger(document, book)
