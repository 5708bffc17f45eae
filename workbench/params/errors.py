"""User errors: what, where and how to fix it, as data and as one sentence."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Callable
from typing import Self

from workbench import __version__
from workbench.params.remedies import Hint, joined, remedies_of

_LONGEST, _END = 1_000, 200
"""Most characters of the thing and of the place; of a longer text, the beginning and so much of the end are shown."""


class WorkbenchError(Exception):
    """An error with a message for the person at the screen, never a traceback.

    The text may hold an offending value (it is shown on screen), so it is never written to a log.

    Attributes:
        what: the thing that is wrong, as a clause without a final full stop.
        where: the place (file, row, column, key); empty where the place is plain from ``what``.
        remedies: what can be done about it; empty if nothing can.
        code: a word for what is refused, the same whoever asked; empty where no caller distinguishes it from others.
        field: the parameter or key it is about; empty where it is about none.
        line: the line of the file it is about, from 1; ``None`` where it is about none.
        outcome: what the failure has cost; empty where it cost nothing.
        exit_code: the command line's exit status for this kind of error.
    """

    exit_code = 2

    def __init__(self, what: str, where: str = "", hint: Hint = "", *, code: str = "", field: str = "") -> None:
        self.what, self.where, self.remedies = _cut(what), _cut(where), remedies_of(hint)
        self.code, self.field, self.outcome = code, field, ""
        self.line: int | None = None
        super().__init__(what, where, hint)

    @property
    def hint(self) -> str:
        """What to do about it, as files and commands say it."""
        return joined([remedy.text for remedy in self.remedies])

    def at(self, where: str) -> Self:
        """Return the same error with another place."""
        return type(self)(self.what, where, self.remedies, code=self.code, field=self.field)

    def on_line(self, line: int) -> Self:
        """Return this error with the line of the file it is about; its place names it, too."""
        self.line, self.where = line, f"{self.where}, line {line}"
        return self

    def __str__(self) -> str:
        return self.worded(self.hint)

    def worded(self, hint: str, say: Callable[[str], str] = str) -> str:
        """Return the error as one sentence in which ``hint`` states the ways out; ``say`` translates the rest."""
        place = f" ({say(self.where)})" if self.where else ""
        ends = "".join(f"{say('; ')}{stated}" for stated in (hint, say(self.outcome)) if stated)
        return one_line(f"{say(self.what)}{place}{ends}")


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

    def __init__(
        self, what: str = "cancelled", where: str = "", hint: Hint = "", *, code: str = "", field: str = ""
    ) -> None:
        super().__init__(what, where, hint, code=code, field=field)


class CheckFailedError(WorkbenchError):
    """A verification found a fault."""

    exit_code = 5


_SPACES = "\u00a0\u202f"  # spaces where no line is broken: French sentences and numbers have them
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
"""What a terminal obeys instead of showing it: control characters of both sets, and what turns the direction."""


def visible(text: str) -> str:
    r"""Return ``text`` with what a terminal would obey written out as ``\u001b``; JSON stays the same JSON."""
    return _UNSEEN.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def one_line(text: str) -> str:
    """Return ``text`` with line breaks and control characters made visible, so that it stays one line."""
    return "".join(c if c.isprintable() or c in _SPACES else repr(c)[1:-1] for c in text)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - _END]} … {text[-_END:]}"


EXTRAS = {
    "torch": ("PyTorch", "deep"),
    "numba": ("Numba", "deep"),
    "xgboost": ("XGBoost", "boost"),
    "distributed": ("Dask", "dist"),
    "dask": ("Dask", "dist"),
    "pandas": ("pandas", "api"),
    "fsspec": ("fsspec", "remote"),
    "fastexcel": ("fastexcel", "formats"),
    "pyreadstat": ("pyreadstat", "formats"),
    "xlsxwriter": ("XlsxWriter", "formats"),
    "sqlalchemy": ("SQLAlchemy", "sql"),
    "sqlglot": ("sqlglot", "sql"),
}
"""Module → its usual name, and the extra that brings it."""


def is_missing(module: str) -> bool:
    """Return whether ``module`` is not installed; does not load it."""
    return importlib.util.find_spec(module) is None


def how_to_install(module: str) -> str:
    """Return how to get ``module``, one of :data:`EXTRAS`, as a clause without a final full stop."""
    bundled, extra = getattr(sys, "frozen", False), EXTRAS[module][1]
    # Beside a bundle is its wheel; the package index need not have one.
    package = f"./privacy_workbench-{__version__}-py3-none-any.whl" if bundled else "privacy-workbench"
    command = f'pip install "{package}[{extra}]"'
    if bundled:
        return f"it is not part of this bundle: beside it, with Python, {command} (see READ-ME.txt)"
    return f"in a terminal: {command}"


def require(module: str, what: str, where: str = "") -> None:
    """Raise :class:`ParameterError` where ``module`` is not installed.

    Args:
        module: one of :data:`EXTRAS`.
        what: needs it, as the beginning of a sentence.
        where: the parameter that asks for it.
    """
    if is_missing(module):
        title = EXTRAS[module][0]
        raise ParameterError(f"{what} needs {title}, which is not installed", where, how_to_install(module))


def absent(error: ModuleNotFoundError) -> ParameterError | None:
    """Return what to say to a person of an import that failed, where an extra would bring the module."""
    module = (error.name or "").partition(".")[0]
    if module not in EXTRAS:
        return None
    return ParameterError(f"this needs {EXTRAS[module][0]}, which is not installed", hint=how_to_install(module))
