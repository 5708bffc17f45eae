"""The Release page: publish the table."""

from __future__ import annotations

from workbench.gui.pages.base import Page
from workbench.gui.session.session import Session, State


def _state(session: Session) -> State:
    if session.opened is None:
        return "empty"
    return "ready" if session.has_released(session.plan) else "needs"


PAGE = Page(
    name="release",
    title="Release",
    help="Publish the sanitised table: what, at which cost, what stands outside the guarantee, and one button",
    make="workbench.gui.pages.release.page:ReleasePage",
    state=_state,
    about=(
        "Publish the table: new noise is drawn from the computer's own randomness, the whole cost is charged to the "
        "ledger first, and the files appear together or not at all. A second release of the same plan costs again; "
        "copying the files costs nothing."
    ),
    keys="Verify recomputes every checksum of a release and compares it with its certificate.",
)
