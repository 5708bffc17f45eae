"""The page that sets the ways to release side by side: noisy rows, synthetic rows, statistics, a model."""

from __future__ import annotations

from workbench.gui.pages.base import Page
from workbench.gui.session.session import Session, State


def _state(session: Session) -> State:
    return "ready" if session.opened is not None and session.plan.ready else "empty"


PAGE = Page(
    name="ways",
    title="Decide",
    room="release",
    help="Noisy rows, synthetic rows, statistics or a model: what each is good for at this ε",
    make="workbench.gui.pages.ways.page:WaysPage",
    topic="ways",
    known_as="what to release ways",
    state=_state,
    about=(
        "The same ε can be spent in four ways. Each is asked the same questions, and how well it will answer them is "
        "estimated from the declared facts and the number of rows alone; none of the rows is read. Where there is a "
        "target, Try it trains a model on each kind of release: that is computed from the rows, and not for release."
    ),
    keys="Ctrl+Return leads to the way that is advised, Esc stops a trial.",
)
