"""The plan against the account, and what of the table was released: what the page shows and what it lets be pressed."""

from __future__ import annotations

from workbench.gui.pages.run_page import GUESSED, unconfirmed
from workbench.gui.session.account_view import PastRelease
from workbench.gui.session.draft import DraftPlan
from workbench.gui.session.session import ReleasedStep, Session
from workbench.params import WorkbenchError

DECIDE = "It is not certain which account pays: decide it above."


def payable(session: Session) -> bool:
    """Whether the plan can be released, as far as the page knows; the ledger has the last word."""
    if session.opened is None or session.opened.table.doubts or session.plan.guesses():
        return False
    return session.plan.cost() is not None and not session.account.problem


def is_short(session: Session) -> bool:
    """Return whether the cap is certain not to pay for the plan."""
    cost, remaining = session.plan.cost(), session.account.remaining
    return cost is not None and remaining is not None and cost > remaining


def certainly_refused(session: Session) -> bool:
    """Return whether the ledger is certain to refuse the plan, and there is nothing that Release could do instead.

    A finished draw that waits to be published costs nothing more, and what was released before can be copied.
    """
    account, cost = session.account, session.plan.cost()
    waiting = account.releases > len(account.past)
    copied = session.has_released(session.plan) or any(
        one.epsilon == cost and not one.model and not one.central for one in account.past
    )
    return is_short(session) and not waiting and not copied


def certain_refusal(session: Session) -> WorkbenchError | None:
    """Return what the ledger would say to the plan, where it is certain to refuse it."""
    cost = session.plan.cost()
    return session.account.refusal(cost) if cost is not None and certainly_refused(session) else None


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
        central=past.central,
        time=past.time,
    )


def note_words(session: Session, *, running: bool, released: bool, short: bool, model: bool) -> str:
    """Return the sentence at the foot of the page: what stands in the way, or what Release does.

    Args:
        session: what is open, and its account.
        running: whether a release goes on.
        released: whether just this plan was released.
        short: whether the cap does not pay for it.
        model: whether a model was released by this plan.
    """
    plan, account, cost = session.plan, session.account, session.plan.cost()
    if session.opened is None:
        return ""
    if running:
        return "Cancelling is free until the file is written."
    if session.opened.table.doubts:
        return GUESSED
    if plan.problems():
        first = plan.problems()[0]
        return f"{first.column or 'The plan'}: {first.text}."
    if unconfirmed(session):
        return unconfirmed(session)
    if cost is None:
        return "Nothing is protected: there is nothing to release under a guarantee."
    if account.problem:
        return DECIDE if account.in_doubt else account.problem
    if released:
        fits = account.remaining is None or cost <= account.remaining
        more = "a second draw is a second charge" if fits else "a second draw needs a higher cap"
        return f"This plan is released; {more}."
    if short:
        return "Its ε is more than what is left under the cap: use what remains, or raise the cap first."
    if model:
        return "The model is released. Release… would publish the table, too, and charge again."
    return "Release spends privacy budget and cannot be undone."
