"""A release that is verified before its values are used: estimates, and models of it, begin here."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.data.table import Table
from workbench.params import InputError
from workbench.release.certificate import read_certificate
from workbench.release.open_release import located, released_cells
from workbench.release.verify import examine
from workbench.sanitize.calibrated import ProtectedColumn, protected_column
from workbench.sanitize.plan import Plan
from workbench.signals import Progress
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit


@dataclass(frozen=True, eq=False)
class VerifiedRelease:
    """A release that agrees with its certificate.

    Attributes:
        path: the released file.
        document: the certificate that it agrees with.
        plan: the plan in the certificate.
        table: the released rows as text.
    """

    path: Path
    document: dict[str, Any]
    plan: Plan
    table: Table

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.table.rows

    @property
    def protected(self) -> tuple[str, ...]:
        """Names of the columns that went through a mechanism."""
        return tuple(c.name for c in self.plan.protected)

    def column(self, name: str) -> ProtectedColumn:
        """Return the mechanism of a column, rebuilt from the plan."""
        return protected_column(self.plan, name)

    def cells(self, name: str) -> Any:
        """Return the (n,) released cells of a column."""
        return released_cells(self.plan.column(name).grid(), self.table)


def verified_release(path: Path, certificate: Path | None, emit: Emit, cancel: CancelToken) -> VerifiedRelease:
    """Return the release in ``path`` after verifying it, the cheap checks first.

    Raises:
        InputError: a file is missing, what is named is no certificate, or the release is not what its certificate
            says; the first fault is named.
    """
    emit(Progress(0, 1, "verifying"))
    file, named = located(path, certificate)
    if named.is_file():
        read_certificate(named)  # what is no certificate is told of as such
    problems, found = examine(path, certificate, cancel)
    if problems or found is None:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise InputError(
            f"the release is not what its certificate says: {problems[0]}{more}",
            str(path),
            "ask for the file and the certificate as they were released",
        )
    return VerifiedRelease(file, found.document, found.plan, found.table)
