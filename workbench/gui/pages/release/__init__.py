"""The Release page: publish the table."""

from __future__ import annotations

from workbench.gui.pages.base import Page
from workbench.gui.pages.release_account import plan_is_short
from workbench.gui.session.session import Session, State


def _state(session: Session) -> State:
    if session.opened is None:
        return "empty"
    if session.has_released(session.plan):
        return "ready"
    return "needs" if plan_is_short(session) else "empty"


PAGE = Page(
    name="release",
    title="Settings",
    room="release",
    help="See what will be published, at what cost, and what ε does not cover; then release",
    make="workbench.gui.pages.release.page:NoisyRowsPage",
    topic="certificate",
    known_as="noisy rows",
    state=_state,
    about=(
        "Release the table. The whole cost is charged to the ledger first, new noise is drawn with the system's random "
        "generator, and the files appear together or not at all. Releasing the same plan again costs again; "
        "copying the files is free."
    ),
    keys="Verify recomputes every checksum of a release and compares them with its certificate.",
)
