"""What is asked before a release: the last word, in full."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from workbench.gui.gauges.budget import HIGH, first_words, high_words
from workbench.gui.pages.release.messages import outside_words, worth_words
from workbench.gui.pages.release.tasks import BeforeRelease
from workbench.gui.session.account_view import AccountView
from workbench.gui.widgets.formatting import at_most, exactly

if TYPE_CHECKING:
    from workbench.release.path import EarlierRelease
    from workbench.sanitize.forecast import Forecast


def waiting_question(outlook: BeforeRelease, replaced: str) -> str:
    """Return the question where a finished draw waits to be published; ``replaced`` is what else is to be said."""
    return (
        f"A finished draw of this release (release {outlook.verdict.waiting}) is paid for and not yet saved to "
        f"{outlook.target.name}. Publishing it costs nothing more.{replaced}"
    )


def release_question(
    outlook: BeforeRelease, account: AccountView, forecast: Forecast | None, cost: Decimal, replaced: str
) -> str:
    """Return the question of a first release: what it costs, what it is worth, and what ε does not cover."""
    high = f"\n\n⚠ {high_words(cost)}" if cost > HIGH else ""
    sets = first_words(account, cost)
    worth = worth_of(outlook, forecast)
    stated = f"\n\n{worth}" if worth else ""
    return (
        f"This charges ε = {at_most(cost)}{exactly(cost)} and writes {outlook.target.name}; nothing is uploaded. "
        f"It cannot be undone.{sets}{stated}{high}{outside_words(outlook.outside)}{replaced}"
    )


def again_question(earlier: EarlierRelease, cost: Decimal, outside: tuple[str, ...], replaced: str) -> str:
    """Return the question where the same plan was released of the same table before."""
    return (
        f"The same table was released by the same plan on {earlier.time[:10]} (release {earlier.release_id}):\n"
        f"{earlier.output}\n\nTo copy that file is free. A new draw is a second release and charges "
        f"ε = {at_most(cost)}{exactly(cost)} again.{outside_words(outside)}{replaced}"
    )


def worth_of(outlook: BeforeRelease, forecast: Forecast | None) -> str:
    """Return what a recipient can learn and what will be mostly noise; empty while that is not known."""
    return worth_words(forecast, outlook.opened.rows_under(outlook.plan)) if forecast is not None else ""
