"""Edits of the facts of one column or of several at once: each is one plan, and so one step of undo."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from workbench.gui.pages.data.facts import changes, kind_changes, role_changes
from workbench.gui.session.draft import OPEN, DraftColumn, DraftPlan
from workbench.gui.session.draft_edits import of_all, protect_changes
from workbench.gui.style.language import tr, tr_later
from workbench.params import InputError

if TYPE_CHECKING:
    from workbench.data.columns.profile import ColumnProfile

Edit = tuple[str, DraftPlan]
"""What the Edit menu says, and the plan after it."""

FACT_EDITS = {
    "lower": tr_later("set the lower bound of {name}"),
    "upper": tr_later("set the upper bound of {name}"),
    "domain": tr_later("list the values of {name}"),
}


def role_edit(plan: DraftPlan, columns: Sequence[DraftColumn], role: str | None, kind_of: Callable[[str], str]) -> Edit:
    """Return the plan in which columns have another role; a target is one column alone.

    Args:
        plan: the plan.
        columns: the columns to change.
        role: their role.
        kind_of: the kind that a column seems to have, by its name.
    """
    if role == "target":
        (column,) = columns
        back = protect_changes(column, kind_of(column.name)) if column.action == "drop" else {}
        made = plan.with_column(column.name, **back) if back else plan
        return tr("use {name} as target", name=column.name), made.with_target(column.name)
    made = plan.with_columns({c.name: role_changes(c, role, kind_of(c.name)) for c in columns})
    words = tr("call {columns} {role}", columns=of_all(columns), role=tr(role)) if role else _no_role(columns)
    return words, made


def _no_role(columns: Sequence[DraftColumn]) -> str:
    return tr("call {columns} nothing special", columns=of_all(columns))


def kind_edit(plan: DraftPlan, columns: Sequence[DraftColumn], kind: str) -> Edit:
    """Return the plan in which columns have another kind; those that have it already are confirmed."""
    made = {c.name: kind_changes(c, kind) if c.kind != kind else {"kind": kind} for c in columns}
    return tr("call {columns} {kind}", columns=of_all(columns), kind=tr(kind)), plan.with_columns(made)


def fact_edit(plan: DraftPlan, column: DraftColumn, columns: Sequence[DraftColumn], fact: str, value: Any) -> Edit:
    """Return the plan in which ``column``, and each other one for which it means the same, has a bound or values."""
    same = [
        c
        for c in columns
        if c.name == column.name
        or (c.protected and fact in c.needs and c.numeric == column.numeric and (c.kind == "date") == _dated(column))
    ]
    differ = [c for c in same if getattr(c, fact) != value]
    return tr(FACT_EDITS[fact], name=of_all(same)), plan.with_columns({c.name: changes(c, fact, value) for c in differ})


def way_edit(plan: DraftPlan, columns: Sequence[DraftColumn], say: Callable[[str], str], **made: Any) -> Edit:
    """Return the plan in which facts of how cells are read differ, in each column where they mean something.

    Args:
        plan: the plan.
        columns: the columns to change.
        say: returns what the Edit menu says, given what it calls the columns.
        made: the facts.
    """
    fitting = [c for c in columns if c.protected and c.kind and all(_has(c, fact) for fact in made)]
    return say(of_all(fitting)), plan.with_columns({c.name: made for c in fitting})


def _has(column: DraftColumn, fact: str) -> bool:
    return {"date_order": _dated(column), "cells": column.numeric, "other": not column.numeric}.get(fact, True)


def _dated(column: DraftColumn) -> bool:
    return column.kind == "date"


def found_in_rows(column: DraftColumn, profile: ColumnProfile) -> dict[str, Any]:
    """Return what using the values found in the rows changes of a column; they are marked as read off the data.

    Raises:
        InputError: the rows do not tell, or not in the order of dates that is declared.
    """
    from workbench.data.columns.profile import attribute_from_data

    read = attribute_from_data(_in_declared_order(profile, column))
    ways: dict[str, Any] = {
        "kind": read.kind,
        "missing": read.missing if column.missing == OPEN else column.missing,
        "date_order": read.date_order or column.date_order,
    }
    taken = [fact for fact, value in ways.items() if value != getattr(column, fact)]
    return {
        **ways,
        "lower": read.lower,
        "upper": read.upper,
        "domain": read.domain,
        "bounds_origin": read.bounds_origin,
        "mechanism": "auto",
        "guessed": tuple(dict.fromkeys((*column.guessed, *taken))),
    }


def _in_declared_order(profile: ColumnProfile, column: DraftColumn) -> ColumnProfile:
    """Return the profile as its dates are declared to be written, where the rows leave that open.

    Raises:
        InputError: the bounds were looked at in the other order.
    """
    if not profile.year_last or profile.date_order is not None or column.date_order in (None, OPEN):
        return profile
    if column.date_order != "day-first":  # which is how a profile reads what it cannot tell
        raise InputError(tr("its bounds are not known with the month first"), f"column {column.name}", tr("type them"))
    return dataclasses.replace(profile, date_order=column.date_order)
