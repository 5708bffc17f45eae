"""What says that a result is a private study."""

from __future__ import annotations

import warnings

PRIVATE = "private – not for release"


class PrivateStudyWarning(UserWarning):
    """What was computed is a private study: it follows from the rows, and nothing was charged for it."""


def warn_of_study(what: str, mend: str) -> None:
    """Say that ``what`` is a private study, on behalf of the function that a person called."""
    warnings.warn(f"{what} is a private study, not for release; {mend}", PrivateStudyWarning, stacklevel=3)
