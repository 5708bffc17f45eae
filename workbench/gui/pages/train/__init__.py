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
    room="models",
    help="Train a private model or network, see what it costs before it starts, and release it",
    make="workbench.gui.pages.train.page:TrainPage",
    topic="learners",
    state=_state,
    about=(
        "Train a private model. Its cost, noise, steps and memory are shown before it starts. The budget is charged "
        "first, and training stops before it would exceed the cap."
    ),
    keys="The metrics of a run are private. Only the finished model is released.",
)
