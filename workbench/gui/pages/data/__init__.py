"""Data, Columns: open a table and declare what is publicly known about its columns."""

from __future__ import annotations

from workbench.gui.pages.base import Page
from workbench.gui.session.blocking import blocks
from workbench.gui.session.session import Session, State
from workbench.gui.style.language import tr_later


def _state(session: Session) -> State:
    if session.images is not None:
        return "ready"
    if session.opened is None:
        return "empty"
    return "needs" if blocks(session.opened, session.plan) else "ready"


PAGE = Page(
    name="data",
    title=tr_later("Columns"),
    room="data",
    home=True,
    help=tr_later("Open a table and declare what is publicly known about its attributes"),
    make="workbench.gui.pages.data.page:DataPage",
    topic="bounds",
    known_as="bounds domains dictionary rows per person how it is read join",
    state=_state,
    about=tr_later(
        "Open a table and declare what is public about each attribute: its kind, its bounds or its "
        "list of values, and how missing values are treated. A release hides each row within these "
        "public facts, so they must not be taken from the rows."
    ),
    keys=tr_later(
        "Tab moves to the next fact, Return edits it. Ctrl+V pastes a block from a spreadsheet from the current cell "
        "on, Ctrl+D gives all selected columns what the current cell says. Select a name with ⚠ to see the reason "
        "below the table. Shift+click, Ctrl+click and Ctrl+A select several columns, and an edit then changes all of "
        "them. Ctrl+F filters by name; a click on a heading, or Alt+S, sorts the view."
    ),
)
