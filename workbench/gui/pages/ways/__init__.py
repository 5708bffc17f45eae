"""The page on which a way to release and an ε are chosen: what recipients will see of what they ask."""

from __future__ import annotations

from workbench.gui.pages.base import Page
from workbench.gui.session.session import Session, State


def _state(session: Session) -> State:
    return "ready" if session.opened is not None and session.plan.ready else "empty"


PAGE = Page(
    name="ways",
    title="Decide",
    room="release",
    help="What recipients will see of what they ask, by each way to release and at each ε; release from here",
    make="workbench.gui.pages.ways.page:WaysPage",
    topic="ways",
    known_as="what to release ways",
    state=_state,
    about=(
        "Each row is a question that recipients will ask, each column a way to release at the chosen ε: how near to "
        "the truth its answer will be, and ✓ where that is near enough. The marks follow from the declared facts and "
        "the number of rows; none of the rows is read. Show the truth draws once from the rows: that is private."
    ),
    keys=(
        "A click on a heading chooses a way, Return in a cell does the same. F2 in “within” types how near an answer "
        "must be. Ctrl+Return releases, after a question. Esc stops a private draw."
    ),
)
