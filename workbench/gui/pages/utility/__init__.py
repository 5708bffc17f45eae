"""The Utility page: accuracy against epsilon."""

from __future__ import annotations

from workbench.gui.pages.base import Page
from workbench.gui.pages.run_page import has_run
from workbench.gui.session.session import Session, State


def _state(session: Session) -> State:
    return "ready" if has_run(session, "curve") else "empty"


PAGE = Page(
    name="utility",
    title="Utility",
    help="Accuracy against ε: without privacy, on a sanitised table, with a private model",
    make="workbench.gui.pages.utility.page:UtilityPage",
    state=_state,
    about=(
        "See how well a model predicts without privacy, from a sanitised table, and with privacy built in, for one ε "
        "after another. Bands show how much that varies from one split of the rows to the next."
    ),
    keys="Arrow keys go from point to point, Return takes its ε into the plan, Ctrl+C copies the picture.",
)
