"""The errors a person can mend: one sentence that names the thing, the place and the mend."""

from __future__ import annotations

import re


class WorkbenchError(Exception):
    """An error with a message for the person at the screen, never a traceback.

    The text may hold an offending value (it is shown on screen), so it is never written to a log.

    Attributes:
        what: the thing that is wrong, as a clause without a final full stop.
        where: the place (file, row, column, key); empty where the place is plain from ``what``.
        mend: what to do about it; empty where nothing can be done.
        exit_code: the command line's exit status for this kind of error.
    """

    exit_code = 2

    def __init__(self, what: str, where: str = "", mend: str = "") -> None:
        self.what, self.where, self.mend = what, where, mend
        super().__init__(what, where, mend)

    def __str__(self) -> str:
        place = f" ({self.where})" if self.where else ""
        mend = f"; {self.mend}" if self.mend else ""
        return one_line(f"{self.what}{place}{mend}")


class ParameterError(WorkbenchError, ValueError):
    """A parameter has a value that its declaration refuses, or a key is not known."""


class InputError(WorkbenchError):
    """A file, a table or a value in it cannot be used."""


class BudgetRefusedError(WorkbenchError):
    """A charge would pass the cap; nothing was released."""

    exit_code = 3


class CancelledError(WorkbenchError):
    """A person cancelled the work."""

    exit_code = 4

    def __init__(self, what: str = "cancelled", where: str = "", mend: str = "") -> None:
        super().__init__(what, where, mend)


class CheckFailedError(WorkbenchError):
    """A verification found a fault."""

    exit_code = 5


_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
"""What a terminal obeys instead of showing it: control characters of both sets, and what turns the direction."""


def visible(text: str) -> str:
    r"""Return ``text`` with what a terminal would obey written out as ``\u001b``; JSON stays the same JSON."""
    return _UNSEEN.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def one_line(text: str) -> str:
    """Return ``text`` with line breaks and control characters made visible, so that it stays one line."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
