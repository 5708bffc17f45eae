"""The Data page: open a table and declare what is publicly known about its attributes."""

from __future__ import annotations

from workbench.gui.pages.base import Page
from workbench.gui.session.session import Session, State


def _state(session: Session) -> State:
    if session.opened is None:
        return "empty"
    plan = session.plan
    open_still = session.opened.table.doubts or any(p.column for p in plan.problems()) or plan.guesses()
    return "needs" if open_still else "ready"


PAGE = Page(
    name="data",
    title="Data",
    help="Open a table and declare what is publicly known about its attributes",
    make="workbench.gui.pages.data.page:DataPage",
    state=_state,
    about=(
        "Open a table and say what everybody may know about each attribute: what it is, its bounds or its list of "
        "values, and what a missing value means. The noise of a release is made to hide one row within these facts, "
        "so they must not come from the rows."
    ),
    keys="Tab goes to the next fact, Return edits it. Names with ⚠ were noticed: the reason stands below the table.",
)
