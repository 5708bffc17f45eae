"""What stands in the way of a central release, and what remains after it, in sentences."""

from __future__ import annotations

from decimal import Decimal

from workbench.gui.pages.run_page import GUESSED, unconfirmed
from workbench.gui.session.session import Session
from workbench.gui.widgets.formatting import at_least, at_most, listed
from workbench.params import WorkbenchError
from workbench.privacy.accounting.neighbours import replace_one

PAID = "Release spends privacy budget and cannot be undone."
RUNNING = "Until the file stands, cancelling costs nothing."
TITLES = {"data": "Data →", "protect": "Protect →", "ledger": "Ledger →"}
"""Where something is mended, and what the button that leads there says."""


def release_hindrance(session: Session) -> tuple[str, str]:
    """Return what keeps a central release from being made, and the page that mends it; empty where nothing does."""
    if session.opened is not None and session.opened.table.doubts:
        return GUESSED, "data"
    guessed = unconfirmed(session)
    if guessed:
        return guessed, "data"
    account = session.account.problem
    return (account, "ledger") if account else ("", "")


def error_of(error: BaseException) -> WorkbenchError | None:
    """Return ``error`` where a person can mend it."""
    return error if isinstance(error, WorkbenchError) else None


def steps_of(session: Session) -> str:
    """Return which columns have public values in steps, and how large: ``age in steps of 10``; empty where none has."""
    told = []
    for column in session.plan.protected if session.plan.ready else ():
        if column.cells is not None and column.numeric and not column.unfilled and not column.problems():
            step = column.column().grid().step
            told.append(
                f"{column.name} in steps of {'one day' if column.kind == 'date' and step == 1 else f'{step:,.6g}'}"
            )
    return listed(told)


def both_words(epsilon: Decimal, delta: Decimal) -> str:
    """Return a cost in words: ε, and δ where there is one."""
    return f"ε = {at_most(epsilon)}" + (f", δ = {float(delta):.3g}" if delta else "")


def replaced_words(epsilon: Decimal, delta: Decimal) -> str:
    """Return the same cost for neighbours of whom a row is replaced."""
    both, beside = replace_one(float(epsilon), float(delta))
    return both_words(2 * epsilon, Decimal(beside)) if both else ""


def left_words(session: Session, cost: Decimal) -> tuple[str, str]:
    """Return what remains of the budget after the release, and the style of that text."""
    remaining = session.account.remaining
    if remaining is None:
        return "this release sets the cap", "muted"
    if cost > remaining:
        return f"only {at_least(max(remaining, Decimal(0)))} remain", "danger"
    return f"{at_least(remaining - cost)} of {at_least(remaining)}", ""


def certainly_refused(session: Session, cost: Decimal) -> str:
    """Return why the ledger is certain to refuse a charge; empty where it may not, or a finished release may wait."""
    account = session.account
    waiting = account.releases > len(account.past)
    return "" if waiting else short_words(session, cost)


def short_words(session: Session, cost: Decimal) -> str:
    """Return why the budget refuses the release, with both numbers; empty where it does not."""
    remaining = session.account.remaining
    if remaining is None or cost <= remaining:
        return ""
    left = at_least(max(remaining, Decimal(0)))
    return f"This release needs ε = {at_most(cost)}, but only {left} remain: the ledger would refuse it."
