"""The Train page: private models and networks."""

from __future__ import annotations

from workbench.gui.pages.base import Page
from workbench.gui.pages.run_page import has_run
from workbench.gui.session.session import Session, State
from workbench.gui.style.language import tr_later


def _state(session: Session) -> State:
    if has_run(session, "fit", "dpsgd"):
        return "ready"
    cost = session.model_cost
    return "empty" if cost is None or session.account.refusal(*cost) is None else "needs"


PAGE = Page(
    name="train",
    title=tr_later("Train"),
    room="models",
    help=tr_later("Train a private model or network, see what it costs before it starts, and release it"),
    make="workbench.gui.pages.train.page:TrainPage",
    topic="learners",
    known_as="learner network DP-SGD resume",
    state=_state,
    about=tr_later(
        "Train a private model. Its cost, noise, steps and memory are shown before it starts. The "
        "budget is charged first, and training stops before it would exceed the cap."
    ),
    keys=tr_later("The metrics of a run are private. Only the finished model is released."),
)
