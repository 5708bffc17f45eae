"""What stands in the way of synthetic rows, and what they cost, in sentences."""

from __future__ import annotations

from decimal import Decimal

from workbench.gui.pages.run_page import GUESSED, unconfirmed
from workbench.gui.pages.synthetic.tasks import Checked
from workbench.gui.session.session import Session
from workbench.gui.widgets.formatting import at_least, at_most, count, listed
from workbench.params import WorkbenchError

ABOUT = "A new table of the same shape, drawn from noisy counts of yours: no row is anybody's."
FREE = "The preview is private, costs nothing and is never released."
RUNNING = "Until the file stands, cancelling costs nothing."
PAID = "Privacy budget is spent when you press Release; a release cannot be undone."


def hindrance(session: Session) -> tuple[str, str]:
    """Return what keeps any synthetic rows from being drawn, and the page that mends it; empty where nothing does."""
    plan = session.plan
    first = next(iter(plan.problems()), None)
    if first is not None:
        return f"{first.column or 'The plan'}: {first.text}.", "data"
    kept = [column.name for column in plan.columns if column.action == "keep"]
    if kept:
        told = f"The plan publishes {listed(kept)} as it is, and no row of a synthetic table is anybody's: "
        return f"{told}protect or drop {'it' if len(kept) == 1 else 'them'}.", "protect"
    if not plan.protected:
        return "No column is left to synthesise: protect at least one.", "protect"
    return "", ""


def release_hindrance(session: Session) -> tuple[str, str]:
    """Return what keeps synthetic rows from being released, and the page that mends it; a preview may be drawn."""
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


def counted(checked: Checked) -> str:
    """Return what is counted with noise, in words."""
    told = count(checked.tables, "noisy table")
    return f"{told}, {count(checked.selections, 'noisy choice')} of a pair" if checked.selections else told


def left_words(session: Session, cost: Decimal) -> tuple[str, str]:
    """Return what remains after the release, and in which look it is written."""
    remaining = session.account.remaining
    if remaining is None:
        return "this release sets the cap", "muted"
    if cost > remaining:
        return f"only {at_least(max(remaining, Decimal(0)))} remain", "danger"
    return f"{at_least(remaining - cost)} of {at_least(remaining)}", ""


def short_words(session: Session, cost: Decimal) -> str:
    """Return why the budget refuses the release, with both numbers; empty where it does not."""
    remaining = session.account.remaining
    if remaining is None or cost <= remaining:
        return ""
    left = at_least(max(remaining, Decimal(0)))
    return f"This release needs ε = {at_most(cost)}, but only {left} remain: the ledger would refuse it."
