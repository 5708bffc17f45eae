"""The Protect page: how each attribute is protected, and how epsilon is split over them."""

from __future__ import annotations

from workbench.gui.pages.base import Page
from workbench.gui.session.session import Session, State


def _state(session: Session) -> State:
    if session.opened is None:
        return "empty"
    return "ready" if session.plan.ready and session.plan.protected else "needs"


PAGE = Page(
    name="protect",
    title="Protect",
    help="Choose how each attribute is protected and how ε is split over them",
    make="workbench.gui.pages.protect.page:ProtectPage",
    state=_state,
    about=(
        "Choose what happens to each attribute and how much of the budget ε it gets. A larger share makes an "
        "attribute more exact and its person less private. The error beside it is what a released value is off by, on "
        "average, before anything is drawn."
    ),
    keys="Space locks a share; the free ones make room. A kept attribute is published as it is.",
)
