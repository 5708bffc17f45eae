"""Edits of a draft that several pages make, and what is said of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from decimal import ROUND_FLOOR, Context, Decimal
from typing import Any

from workbench.gui.session.draft import DraftColumn, DraftPlan
from workbench.gui.style.language import tr_later, tr_n
from workbench.sanitize.intended_use import IntendedUse, Suggestion, changes

FROM_DATA = tr_later(
    "Read off the rows: a release publishes these values, which ε does not cover, and its "
    "certificate will say so. Declare them from public knowledge instead, if you can."
)

CLASSES = ("category", "boolean")

GUESSED_FACTS = {
    "action": tr_later("dropping"),
    "missing": tr_later("missing values"),
    "date_order": tr_later("order of day and month"),
    "domain": tr_later("values"),
}
"""What the window calls the facts that a draft takes from the rows."""


def scaled_to(draft: DraftPlan, epsilon: Decimal) -> DraftPlan:
    """Return the draft at another ε, with locked shares in the same proportion: then what was ready stays ready."""
    scale = Context(prec=9, rounding=ROUND_FLOOR)
    columns = tuple(
        replace(c, epsilon=scale.divide(c.epsilon * epsilon, draft.epsilon)) if c.epsilon is not None else c
        for c in draft.columns
    )
    return draft.with_(epsilon=epsilon, columns=columns)


def in_step(before: DraftPlan, after: DraftPlan) -> DraftPlan:
    """Return ``after`` with the share that a first plan gives the target, where nobody has moved a share so far.

    A change of ε alone moves no share: a curve against ε is of one split.
    """
    if [*_asked(before)] == [*_asked(after)]:
        return after
    moved = any(c.epsilon is not None for c in after.columns)
    moved |= [(c.name, c.weight) for c in before.columns] != [(c.name, c.weight) for c in after.columns]
    return after if moved or not _as_drafted(before) else with_target_share(after)


def _as_drafted(draft: DraftPlan) -> bool:
    """Return whether the weights can be those of a first plan, at whatever ε it was made."""
    drafted = with_target_share(draft)
    pairs = [(c, d) for c, d in zip(draft.columns, drafted.columns, strict=True) if c.protected]
    return all((c.weight > 1) == (d.weight > 1) if c.role == "target" else c.weight == 1 for c, d in pairs)


def _asked(draft: DraftPlan) -> Iterator[tuple[str, bool, bool]]:
    return ((c.name, c.role == "target", c.kind in CLASSES) for c in draft.protected)


def with_target_share(draft: DraftPlan) -> DraftPlan:
    """Return the draft with the weights of a first plan: 1, but more for the classes that are to be predicted."""
    from workbench.sanitize.budget_split import target_weight

    def weight(column: DraftColumn) -> float:
        if column.role != "target" or column.kind not in CLASSES:
            return 1.0
        return target_weight(draft.epsilon, len(draft.protected) - 1)

    new = {c.name: weight(c) for c in draft.protected}
    columns = tuple(
        replace(c, weight=new.get(c.name, c.weight)) if new.get(c.name, c.weight) != c.weight else c
        for c in draft.columns
    )
    return draft if columns == draft.columns else draft.with_(columns=columns)


def protect_changes(column: DraftColumn, guessed: str) -> dict[str, Any]:
    """Return what protecting a column changes; one that was dropped unseen takes the kind that was ``guessed``."""
    role = None if column.role == "identifier" else column.role
    out: dict[str, Any] = {"action": "protect", "role": role}
    if column.kind is None:
        left = tuple(fact for fact in column.guessed if fact not in ("action", "kind"))
        out |= {"kind": guessed, "guessed": ("kind", *left)}
    return out


def answered(draft: DraftPlan, questions: IntendedUse, kind_of: Callable[[str], str]) -> DraftPlan:
    """Return the plan that answers ``questions``: what is not needed is dropped, and ε is one that is offered.

    ``kind_of`` returns the kind that a column seems to have, by its name. A purpose that a person chose for one column
    stays while the answers call for the purpose that they called for before.
    """
    made, as_before = {}, questions.purpose == draft.questions.purpose
    for name, now in changes(questions, draft.columns).items():
        if as_before and draft.column(name).action != "drop":
            now.pop("purpose", None)
        back = protect_changes(draft.column(name), kind_of(name)) if now.get("action") == "protect" else {}
        made[name] = {**back, **now}
    epsilon = questions.offered(draft.epsilon)
    scaled = draft if epsilon == draft.epsilon else scaled_to(draft, epsilon)
    return scaled.with_columns(made).with_(asked=questions.asked)


def as_suggested(draft: DraftPlan, suggested: Suggestion) -> DraftPlan:
    """Return a first plan in which only the suggested columns are released; dropping the others is a guess."""
    made = {}
    for column in draft.columns:
        if column.action != "drop" and column.name not in suggested.needed:
            role = "identifier" if column.name in suggested.identifiers else column.role
            made[column.name] = {"action": "drop", "role": role, "guessed": ("action", *column.guessed)}
    return draft.with_columns(made).with_(asked=suggested.asked)


def agreed(draft: DraftPlan) -> DraftPlan:
    """Return the plan in which a person has said which columns are released, as they are now."""
    return draft.with_columns({c.name: {"action": c.action} for c in draft.columns if "action" in c.guessed})


def of_all(columns: Sequence[DraftColumn]) -> str:
    """Return what the Edit menu calls the columns that an edit is for: a name, or how many there are."""
    return columns[0].name if len(columns) == 1 else tr_n("{n} column", "{n} columns", len(columns))
