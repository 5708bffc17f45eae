"""What stands in the way of synthetic rows, and what is counted for them, in sentences."""

from __future__ import annotations

from workbench.gui.pages.synthetic.tasks import Checked
from workbench.gui.session.session import Session
from workbench.gui.widgets.formatting import count, listed

ABOUT = "A new table of the same shape, drawn from noisy counts of yours: no row is anybody's."
FREE = "The preview is private, costs nothing and is never released."

STEPS = "Values are rounded as the plan says: {steps}."


def hindrance(session: Session) -> tuple[str, str]:
    """Return what keeps any synthetic rows from being drawn, and the page that mends it; empty where nothing does."""
    plan = session.plan
    first = next(iter(plan.problems()), None)
    if first is not None:
        return f"{first.column or 'The plan'}: {first.text}.", "data"
    kept = [column.name for column in plan.columns if column.action == "keep"]
    if kept:
        stated = f"The plan publishes {listed(kept)} as it is, and no row of a synthetic table is anybody's: "
        return f"{stated}protect or drop {'it' if len(kept) == 1 else 'them'}.", "protect"
    if not plan.protected:
        return "No column is left to synthesise: protect at least one.", "protect"
    return "", ""


NEEDS_TIP = "Estimated from the numbers of rows, columns and values; Cancel stops it within a second"


def needed(checked: Checked) -> str:
    """Return how long it is expected to take, and its memory, in words."""
    return checked.needs.words()


def counted(checked: Checked) -> str:
    """Return what is counted with noise, in words."""
    stated = count(checked.tables, "noisy table")
    return f"{stated}, {count(checked.selections, 'noisy choice')} of a pair" if checked.selections else stated
