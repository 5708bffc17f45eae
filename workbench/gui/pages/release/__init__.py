"""The settings of the way to release, and the release."""

from __future__ import annotations

from workbench.gui.pages.base import Page
from workbench.gui.pages.release_account import plan_is_short
from workbench.gui.session.session import Session, State
from workbench.gui.style.language import tr_later


def _state(session: Session) -> State:
    if session.opened is None:
        return "empty"
    if any(not step.model for step in session.released):
        return "ready"
    return "needs" if plan_is_short(session) else "empty"


PAGE = Page(
    name="release",
    title=tr_later("Settings"),
    room="release",
    help=tr_later("Exactly what the chosen way releases, what it costs, and what ε does not cover"),
    make="workbench.gui.pages.release.page:SettingsPage",
    known_as="noisy rows synthetic rows statistics",
    topic="certificate",
    state=_state,
    about=tr_later(
        "The settings of the chosen way: noisy rows, synthetic rows, statistics or another kind. Release asks once. "
        "Then the whole cost is charged to the ledger, new noise is drawn from the system's random generator, and the "
        "files appear together or not at all. To release the same plan again costs again; to copy the files is free."
    ),
    keys=tr_later("Ctrl+Return releases, after you confirm. Esc cancels what is running."),
)
