"""The Risk page: who could be found in the table that is open, and what makes rows unique."""

from __future__ import annotations

from workbench.data.schema import QUASI
from workbench.gui.pages.base import Page
from workbench.gui.session.session import Session, State
from workbench.gui.style.language import tr_later


def known(session: Session) -> State:
    """Return ``ready`` where some column is one that an outsider may know."""
    named = session.opened is not None and any(c.role == QUASI for c in session.plan.columns)
    return "ready" if named else "empty"


PAGE = Page(
    name="risk",
    title=tr_later("Risk"),
    room="data",
    help=tr_later("Who could be found in the table by what an outsider knows, and which columns make rows unique"),
    make="workbench.gui.pages.risk.page:RiskPage",
    topic="risk",
    known_as="k-anonymity l-diversity t-closeness uniqueness SUDA HIPAA prosecutor journalist marketer",
    state=known,
    about=tr_later(
        "Tick what an outsider may know of a person (quasi-identifiers), and what nobody must learn (sensitive "
        "columns). The figures follow at once: unique rows, the chance that somebody is found, how much a class of "
        "rows that look alike gives away. Open a released file as a table to see the same of it. Removing names "
        "and grouping values lowers these figures, and none of them is a guarantee: only ε is."
    ),
    keys=tr_later("Space ticks a column as known, or all that are selected. Ctrl+Return shows the figures."),
)
