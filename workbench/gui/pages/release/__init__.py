"""The settings of the way to release, and the release."""

from __future__ import annotations

from workbench.gui.pages.base import Page
from workbench.gui.pages.release_account import plan_is_short
from workbench.gui.session.session import Session, State


def _state(session: Session) -> State:
    if session.opened is None:
        return "empty"
    if any(not step.model for step in session.released):
        return "ready"
    return "needs" if plan_is_short(session) else "empty"


PAGE = Page(
    name="release",
    title="Settings",
    room="release",
    help="What exactly is released in the way that is chosen, at what cost, and what ε does not cover",
    make="workbench.gui.pages.release.page:SettingsPage",
    known_as="noisy rows synthetic rows statistics",
    topic="certificate",
    state=_state,
    about=(
        "The settings of the way that is chosen: noisy rows, synthetic rows, statistics or another kind. Release asks "
        "once; then the whole cost is charged to the ledger first, new noise is drawn with the system's random "
        "generator, and the files appear together or not at all. Releasing the same again costs again; copying the "
        "files is free."
    ),
    keys=(
        "Ctrl+Return releases, after a question. Esc cancels what is running. Verify recomputes every checksum of a "
        "release and compares them with its certificate."
    ),
)
