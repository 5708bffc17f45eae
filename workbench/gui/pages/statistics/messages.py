"""What stands in the way of statistics, in sentences."""

from __future__ import annotations

from workbench.gui.session.session import Session

ABOUT = (
    "Figures of your table with noise, each with its 95 % interval, and no rows. Beside each tick is half of the "
    "interval to expect; nothing is charged before Release."
)
STEPS = (
    "Histograms, shares and quantiles read from them count in the steps of the plan ({steps}); means and sums do not."
)
NOTHING_TICKED = "Nothing is ticked: tick a figure of a column."


def hindrance(session: Session) -> tuple[str, str]:
    """Return what keeps any statistics from being forecast, and the page that mends it; empty where nothing does."""
    plan = session.plan
    first = next(iter(plan.problems()), None)
    if first is not None:
        return f"{first.column or 'The plan'}: {first.text}.", "data"
    if not plan.protected:
        return "The plan protects no column, and only of protected ones are there figures: protect one.", "protect"
    return "", ""
