"""What a release costs against the account, and what prevents any release, in sentences."""

from __future__ import annotations

import math
from decimal import ROUND_FLOOR, Context, Decimal

from workbench.gui.pages.run_page import GUESSED, unconfirmed, who_pays
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later, tr_number
from workbench.gui.widgets.formatting import at_least, at_most, left_of_budget, listed, only_left
from workbench.privacy.accounting.event import exact, replace_one

CHARGED_AGAIN = tr_later("This plan has been released; a second draw is a second charge.")
PAID = tr_later("Release spends privacy budget and cannot be undone.")
RUNNING = tr_later("Cancelling is free until the file is written.")


def release_hindrance(session: Session) -> tuple[str, str]:
    """Return what keeps a forecast release from being made, and the page where it is put right."""
    if session.opened is not None and session.opened.table.ambiguities:
        return tr(GUESSED), "data"
    guessed = unconfirmed(session)
    if guessed:
        return guessed, "data"
    doubt = who_pays(session)
    if doubt:
        return doubt, "release"
    account = session.account.problem
    return (account, "ledger") if account else ("", "")


def steps_of(session: Session) -> str:
    """Return which columns have public values in steps, and how large: ``age in steps of 10``; empty where none has."""
    stated = []
    for column in session.plan.protected if session.plan.ready else ():
        if column.cells is not None and column.numeric and not column.unfilled and not column.problems():
            step = column.column().grid().step
            stated.append(
                tr("{name} in steps of one day", name=column.name)
                if column.kind == "date" and step == 1
                else tr("{name} in steps of {step}", name=column.name, step=tr_number(step, ",.6g"))
            )
    return listed(stated)


def with_delta(stated: str, delta: Decimal) -> str:
    """Return what is said of an ε, followed by δ where there is one."""
    return f"{stated}, δ = {tr_number(float(delta), '.3g')}" if delta else stated


def both_words(epsilon: Decimal, delta: Decimal) -> str:
    """Return a cost in words: ε, and δ where there is one."""
    return with_delta(f"ε = {at_most(epsilon)}", delta)


def replaced_words(epsilon: Decimal, delta: Decimal) -> str:
    """Return the same cost for neighbours of whom a row is replaced."""
    both, beside = replace_one(float(epsilon), float(delta))
    return both_words(2 * epsilon, Decimal(beside)) if both else ""


def left_words(session: Session, cost: Decimal, delta: Decimal = Decimal(0)) -> tuple[str, str]:
    """Return what remains of the budget after the release, and the style of that text."""
    account = session.account
    remaining = account.remaining
    if account.problem:
        return tr("not certain who pays") if account.in_doubt else tr("not known"), "danger"
    if remaining is None:
        return tr("this release sets the cap"), "muted"
    if cost > remaining or (delta and account.delta_remaining is not None and delta > account.delta_remaining):
        return left_of(session, delta, alone=True), "danger"
    return tr("{left} of {cap}", left=left_of_budget(remaining - cost), cap=at_least(remaining)), ""


def certainly_refused(session: Session, cost: Decimal, delta: Decimal = Decimal(0)) -> str:
    """Return why the ledger is certain to refuse a charge; empty where it may not, or a finished release may wait."""
    account = session.account
    waiting = account.releases > len(account.past)
    return "" if waiting else short_words(session, cost, delta)


def short_words(session: Session, cost: Decimal, delta: Decimal = Decimal(0)) -> str:
    """Return why the budget refuses the release, with what it needs and what remains; empty where it does not."""
    account = session.account
    short = account.remaining is not None and cost > account.remaining
    if delta and account.delta_remaining is not None and delta > account.delta_remaining:
        short = True
    if not short:
        return ""
    return tr(
        "This release needs {cost}, but {left}: the ledger would refuse it.",
        cost=both_words(cost, delta),
        left=left_of(session, delta),
    )


def what_remains(session: Session, cost: Decimal, delta: Decimal) -> tuple[Decimal, Decimal] | None:
    """Return (ε, δ) of one row that the caps allow of a release like the one that is refused; ``None`` where none is.

    Of ε and δ, only what is short is lowered, ε to at most 15 digits and never a digit too much. A δ of which nothing
    remains becomes 0.
    """
    account, rows = session.account, session.plan.rows_per_person
    if account.remaining is None or account.remaining <= 0 or (delta and rows != 1):
        return None
    left = account.delta_remaining
    lower = delta if left is None or not delta else min(delta, _float_below(max(left, Decimal(0))))
    floor = Context(prec=15, rounding=ROUND_FLOOR)
    return floor.divide(min(cost, account.remaining), Decimal(rows)), lower


def _float_below(value: Decimal) -> Decimal:
    """Return the largest amount not above ``value`` that a field for δ can hold."""
    near = float(value)
    return exact(near if exact(near) <= value else math.nextafter(near, 0.0))


def left_of(session: Session, delta: Decimal, *, alone: bool = False) -> str:
    """Return what remains of caps that are too small, as the end of a sentence.

    It names ε unless that sentence does and there is no δ beside; ``alone``: there is no such sentence.
    """
    account = session.account
    remaining = account.remaining or Decimal(0)
    if not delta or account.delta_remaining is None:
        return only_left(remaining, left_of_budget(remaining) if alone else "")
    of_delta = tr_number(float(max(account.delta_remaining, Decimal(0))), ".3g")
    return only_left(remaining, tr("ε = {epsilon} and δ = {delta}", epsilon=at_least(remaining), delta=of_delta))


# -- noisy rows, whose cost is the plan's -----------------------------------------------------------------------------


def plan_is_short(session: Session) -> bool:
    """Return whether the cap is certain not to pay for the plan."""
    cost = session.plan.cost()
    return cost is not None and bool(short_words(session, cost))


def plan_is_refused(session: Session) -> bool:
    """Return whether the ledger is certain to refuse the plan, and there is nothing that Release could do instead.

    A finished draw that waits to be published costs nothing more, and what was released before can be copied.
    """
    cost = session.plan.cost()
    copied = session.has_released(session.plan) or any(
        one.epsilon == cost and not one.model and not one.central for one in session.account.past
    )
    return cost is not None and not copied and bool(certainly_refused(session, cost))
