"""Edits of the split of ε over the protected columns; every one of them leaves shares that sum to ε exactly.

A locked column has its share written into the plan; the others split what is left by weight. One column always
stays free, so that the sum is the plan's ε whatever the locked ones are.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from workbench.gui.session.draft import DraftColumn, DraftPlan
from workbench.gui.session.draft_edits import protect_changes
from workbench.gui.style.language import tr
from workbench.gui.widgets.formatting import at_least, entered
from workbench.params import ParameterError

LEAST = Decimal("1e-6")
"""The least share a table can be built for."""


def split(draft: DraftPlan) -> dict[str, Decimal]:
    """Return the share of each protected column, whether or not its public facts are declared yet.

    Raises:
        ParameterError: the locked shares exceed ε, or leave too little for the others.
    """
    from workbench.sanitize.budget_split import shares

    return shares(draft.epsilon, draft.protected) if draft.protected else {}


def with_share(draft: DraftPlan, name: str, share: Decimal, *, lock: bool) -> DraftPlan:
    """Return the draft in which ``name`` has ``share`` and the other free columns split the rest as before.

    Args:
        draft: the plan.
        name: a protected column.
        share: its new share of ε.
        lock: whether the share is written into the plan, exactly; else it follows further moves of the others.

    Raises:
        ParameterError: no other column is free, or the share does not fit into ε.
    """
    free = [c for c in draft.protected if c.epsilon is None and c.name != name]
    if not free:
        raise ParameterError(*_nothing_free(draft, name))
    room = draft.epsilon - sum((c.epsilon for c in draft.protected if c.epsilon and c.name != name), Decimal(0))
    most = room - LEAST * len(free)
    if not LEAST <= share <= most:
        raise ParameterError(
            tr(
                "a share of {share} does not fit: the other columns leave {most}",
                share=entered(share),
                most=at_least(max(most, Decimal(0))),
            ),
            f"column {name}",
            tr("write less, raise ε, or free a lock"),
        )
    if lock:
        made = draft.with_column(name, epsilon=share)
    else:
        made = _weighted(draft.with_column(name, epsilon=None), name, float(share / room))
    split(made)  # refuses what would starve a column
    return made


def with_lock(draft: DraftPlan, name: str, locked: bool) -> DraftPlan:
    """Return the draft in which the share of ``name`` is locked or free; no share moves by it, but for its tail.

    Freed and locked again, a share of 0.3 is 0.3: what the weights make of it beyond nine digits is cut.

    Raises:
        ParameterError: it is the last free column.
    """
    present = split(draft)[name]
    if locked:
        if not any(c.epsilon is None and c.name != name for c in draft.protected):
            raise ParameterError(*_nothing_free(draft, name))
        return draft.with_column(name, epsilon=Decimal(f"{present:.9g}"))
    if any(c.epsilon is None for c in draft.protected):
        return with_share(draft, name, present, lock=False)
    return draft.with_column(name, epsilon=None, weight=1.0)


def with_action(draft: DraftPlan, columns: Sequence[DraftColumn], action: str, kinds: Mapping[str, str]) -> DraftPlan:
    """Return the draft with another action for columns; their locks go, and one column stays free.

    Args:
        draft: the plan.
        columns: the columns.
        action: what is done with them.
        kinds: the kind that each column of the table seems to have, for those that were dropped unseen.
    """
    made: dict[str, dict[str, Any]] = {}
    for column in (c for c in columns if c.action != action):
        protected = action == "protect"
        changes = protect_changes(column, kinds.get(column.name, "category")) if protected else {"action": action}
        made[column.name] = {**changes, "epsilon": None}
    return settled(draft.with_columns(made))


def fits(column: DraftColumn, mechanism: str) -> bool:
    """Return whether a column can go through a mechanism; what is wrong with it anyhow does not count."""
    before = {problem.text for problem in column.problems()}
    return {problem.text for problem in dataclasses.replace(column, mechanism=mechanism).problems()} <= before


def settled(draft: DraftPlan) -> DraftPlan:
    """Return the draft with the largest locked share freed where all are locked: it takes what the others leave."""
    if not draft.protected or any(c.epsilon is None for c in draft.protected):
        return draft
    largest = max(draft.protected, key=lambda c: c.epsilon or Decimal(0))
    return draft.with_column(largest.name, epsilon=None, weight=1.0)


def evenly(draft: DraftPlan) -> DraftPlan:
    """Return the draft with every lock freed and all weights equal."""
    return draft.with_(
        columns=tuple(
            dataclasses.replace(c, epsilon=None, weight=1.0) if (c.epsilon, c.weight) != (None, 1.0) else c
            for c in draft.columns
        )
    )


def _weighted(draft: DraftPlan, name: str, part: float) -> DraftPlan:
    """Return the draft in which ``name`` takes ``part`` of what locks leave; weights keep a mean of 1."""
    free = [c for c in draft.protected if c.epsilon is None]
    others = sum(c.weight for c in free if c.name != name)

    def weight(column: DraftColumn) -> float:
        return part * len(free) if column.name == name else column.weight / others * (1 - part) * len(free)

    names = {c.name for c in free}
    columns = tuple(dataclasses.replace(c, weight=weight(c)) if c.name in names else c for c in draft.columns)
    return draft.with_(columns=columns)


def _nothing_free(draft: DraftPlan, name: str) -> tuple[str, str, str]:
    if len(draft.protected) == 1:
        return tr("the only protected column takes all of ε"), f"column {name}", tr("change ε itself")
    return tr("one share stays free, so that the sum is exactly ε"), f"column {name}", tr("free another lock first")
