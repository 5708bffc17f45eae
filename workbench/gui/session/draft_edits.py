"""Edits of a draft that several pages make, and what is said of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import ROUND_FLOOR, Context, Decimal
from typing import Any

from workbench.gui.session.draft import DraftColumn, DraftPlan

FROM_DATA = (
    "Read off the rows: a release publishes these values outside the guarantee, and its certificate will say so. "
    "Declare them from public knowledge instead, if you can."
)

GUESSED_FACTS = {"action": "dropping", "missing": "missing values", "date_order": "order of day and month"}
"""What the window calls the facts that a draft takes from the rows."""


def scaled_to(draft: DraftPlan, epsilon: Decimal) -> DraftPlan:
    """Return the draft at another ε, with locked shares in the same proportion: then what was ready stays ready."""
    scale = Context(prec=9, rounding=ROUND_FLOOR)
    columns = tuple(
        replace(c, epsilon=scale.divide(c.epsilon * epsilon, draft.epsilon)) if c.epsilon is not None else c
        for c in draft.columns
    )
    return draft.with_(epsilon=epsilon, columns=columns)


def protect_changes(column: DraftColumn, guessed: str) -> dict[str, Any]:
    """Return what protecting a column changes; one that was dropped unseen takes the kind that was ``guessed``."""
    role = None if column.role == "identifier" else column.role
    out: dict[str, Any] = {"action": "protect", "role": role}
    if column.kind is None:
        left = tuple(fact for fact in column.guessed if fact not in ("action", "kind"))
        out |= {"kind": guessed, "guessed": ("kind", *left)}
    return out


def of_all(columns: Sequence[DraftColumn]) -> str:
    """Return what the Edit menu calls the columns that an edit is for: a name, or how many there are."""
    return columns[0].name if len(columns) == 1 else f"{len(columns):,} columns"
