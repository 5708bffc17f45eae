"""The Train page: private models and networks."""

from __future__ import annotations

from workbench.gui.pages.base import Page
from workbench.gui.pages.run_page import has_run
from workbench.gui.session.session import Session, State


def _state(session: Session) -> State:
    return "ready" if has_run(session, "fit", "dpsgd") else "empty"


PAGE = Page(
    name="train",
    title="Train",
    help="Train a private model or network, see what it costs before it starts, and release it",
    make="workbench.gui.pages.train.page:TrainPage",
    icon=(
        "M5.5 4.5a1.5 1.5 0 1 1-3 0a1.5 1.5 0 1 1 3 0z M5.5 11.5a1.5 1.5 0 1 1-3 0a1.5 1.5 0 1 1 3 0z "
        "M13.5 8a1.5 1.5 0 1 1-3 0a1.5 1.5 0 1 1 3 0z M5.4 5.1l5.2 2.3 M5.4 10.9l5.2-2.3"
    ),
    state=_state,
    about=(
        "Train a private model. Its cost, noise, steps and memory are shown before it starts. The budget is charged "
        "first, and training stops before it would exceed the cap."
    ),
    keys="The metrics of a run are private. Only the finished model is released.",
)
