"""A release that was verified before a document is made of it."""

from __future__ import annotations

from pathlib import Path

from workbench.params import CheckFailedError
from workbench.release.documents.described_release import DescribedRelease, stated
from workbench.release.verify_any import verify_any
from workbench.signals.cancel import CancelToken


def verified(path: Path, cancel: CancelToken | None = None) -> DescribedRelease:
    """Return what :func:`told` does of a release that agrees with its certificate.

    Raises:
        InputError: there is none, or it cannot be read.
        CheckFailedError: the release is not what its certificate says; the first fault is named.
        CancelledError: ``cancel`` was set.
    """
    problems = verify_any(path, cancel)
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise CheckFailedError(f"the release is not what its certificate says: {problems[0]}{more}", str(path))
    return stated(path)
