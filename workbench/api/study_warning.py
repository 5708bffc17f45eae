"""What says that a result is a private study."""

from __future__ import annotations

import warnings

PRIVATE = "private – not for release"


class PrivateStudyWarning(UserWarning):
    """What was computed is a private study: it follows from the rows, and nothing was charged for it."""


def warn_of_study(
    what: str, *, many: bool = False, hint: str = "with a ledger and output= it is charged and can be published"
) -> None:
    """Say that ``what`` is a private study, on behalf of the function that a person called."""
    verb = "are" if many else "is"
    warnings.warn(f"{what} {verb} a private study, not for release; {hint}", PrivateStudyWarning, stacklevel=3)
