"""Which attributes hold values that a release would refuse, as far as the private profile tells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.gui.session.draft import OWN_VALUE, DraftColumn, DraftPlan

if TYPE_CHECKING:  # it loads polars, which the first paint does not wait for
    from workbench.data.columns.profile import ColumnProfile
    from workbench.gui.session.session import OpenTable


class InvalidValues:
    """Finds them, once for each column as it is declared: a list of values may be long, and edits are many."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[DraftColumn, ColumnProfile, bool]] = {}

    def columns(self, opened: OpenTable | None, plan: DraftPlan) -> tuple[str, ...]:
        """Return the names of the protected columns with a cell that is missing, unreadable or not listed.

        Values outside bounds are not among them: they are moved to the nearest bound in any case.
        """
        if opened is None or plan.replaces_invalid:
            return ()
        return tuple(c.name for c in plan.protected if self._refused(c, opened.profiles.get(c.name)))

    def _refused(self, column: DraftColumn, profile: ColumnProfile | None) -> bool:
        if profile is None:
            return False
        known = self._known.get(column.name)
        if known is None or known[0] is not column or known[1] is not profile:
            known = self._known[column.name] = column, profile, _refused(column, profile)
        return known[2]


def _refused(column: DraftColumn, profile: ColumnProfile) -> bool:
    if profile.missing and column.missing != OWN_VALUE:
        return True
    if column.kind == "integer" and profile.kind == "real":
        return True
    if column.numeric:
        return profile.lower is None and profile.distinct > 0  # its values did not read as numbers or dates
    if column.domain is None or column.other is not None or profile.values == column.domain:
        return False
    return not set(profile.values) <= set(column.domain)
