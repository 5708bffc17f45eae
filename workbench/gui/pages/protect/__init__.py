"""The Protect page: how each attribute is protected, and how ε is split over them."""

from __future__ import annotations

from workbench.gui.pages.base import Page
from workbench.gui.session.session import Session, State
from workbench.gui.style.language import tr_later


def _state(session: Session) -> State:
    if session.opened is None:
        return "empty"
    return "ready" if session.plan.ready and session.plan.protected else "needs"


PAGE = Page(
    name="protect",
    title=tr_later("Columns"),
    room="release",
    help=tr_later("Choose how each attribute is protected and how ε is split over them"),
    make="workbench.gui.pages.protect.page:ProtectPage",
    topic="plan",
    known_as="protect mechanisms",
    state=_state,
    about=tr_later(
        "Choose how each attribute is protected and how much of the budget ε it gets. A larger share makes it more "
        "accurate and less private. The error beside it says how far off a released value will be on average."
    ),
    keys=tr_later(
        "Space locks a share; the others divide the rest. A kept attribute is published unchanged. "
        "Shift+click, Ctrl+click and Ctrl+A select several columns, and an edit then changes all of "
        "them. Ctrl+F filters by name; a click on a heading, or Alt+S, sorts the view."
    ),
)
