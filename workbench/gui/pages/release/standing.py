"""The plan against the account, and what of the table was released: what the page shows and what it lets be pressed."""

from __future__ import annotations

from workbench.gui.session.account_view import PastRelease
from workbench.gui.session.draft import DraftPlan
from workbench.gui.session.session import ReleasedStep, Session


def payable(session: Session) -> bool:
    """Whether the plan can be released, as far as the page knows; the ledger has the last word."""
    if session.opened is None or session.opened.table.doubts or session.plan.guesses():
        return False
    return session.plan.cost() is not None and not session.account.problem


def is_short(session: Session) -> bool:
    """Return whether the cap is certain not to pay for the plan."""
    cost, remaining = session.plan.cost(), session.account.remaining
    return cost is not None and remaining is not None and cost > remaining


def released_steps(session: Session) -> list[ReleasedStep]:
    """Return the releases of the table that is open, oldest first: what the ledger knows, and those of this session."""
    own = {step.release_id: step for step in session.released}
    known = {one.release_id for one in session.account.past}
    past = [own.get(one.release_id) or _step_of(one) for one in session.account.past]
    return [*past, *(step for step in session.released if step.release_id not in known)]


def _step_of(past: PastRelease) -> ReleasedStep:
    return ReleasedStep(
        past.release_id,
        past.output.parent,
        DraftPlan(),
        past.epsilon,
        delta=past.delta,
        title=past.output.name,
        files=past.files,
        model=past.model,
        time=past.time,
    )
