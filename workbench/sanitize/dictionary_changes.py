"""What the entries of a data dictionary change of a plan: of a draft in the window and of one on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from workbench.params import InputError
from workbench.sanitize.data_dictionary import IDENTIFIER, NUMERIC, Entry

_WAYS = ("missing", "date_order")


class Present(Protocol):
    """What a plan already says of a column: a :class:`Column`, or a draft of one."""

    @property
    def kind(self) -> str | None:
        """What the values are."""

    @property
    def action(self) -> str:
        """What is done with the column."""

    @property
    def lower(self) -> float | None:
        """Its lower bound."""

    @property
    def upper(self) -> float | None:
        """Its upper bound."""

    @property
    def bounds_origin(self) -> str:
        """Whether bounds were read off the rows."""


def not_in_table(entries: Sequence[Entry], names: Sequence[str]) -> str:
    """Return one sentence about the entries whose column a table does not have; empty where there are none."""
    known = set(names)
    found = [e.name for e in entries if e.name not in known]
    what = "1 column" if len(found) == 1 else f"{len(found)} columns"
    return f"the table lacks {what} of the data dictionary: {', '.join(found)}" if found else ""


def changes(entry: Entry, present: Present, *, drop_guessed: bool = False) -> dict[str, Any]:
    """Return what an entry changes of a column, by the attributes of :class:`Column`.

    Facts that mean nothing for another kind go, and so does the mechanism. A declared fact is never beside one that
    was read off the rows: the other one is open again. An identifier is dropped.

    Args:
        entry: what is declared.
        present: what the plan says of the column now.
        drop_guessed: whether it is dropped because the rows look like an identifier, which the entry may correct.

    Raises:
        InputError: a declared bound contradicts the other one of the plan.
    """
    out: dict[str, Any] = {}
    if entry.role is not None:
        out["role"] = entry.role
    if entry.role == IDENTIFIER:
        out["action"] = "drop"
    elif drop_guessed and present.action == "drop" and (entry.kind or entry.role):
        out |= {"action": "protect", "role": entry.role}
    if entry.kind is not None:
        out["kind"] = entry.kind
        if entry.kind != present.kind:
            out |= {"mechanism": "auto", "cells": None, "domain": None, "other": None, "date_order": None}
            if entry.kind not in NUMERIC or "date" in (entry.kind, present.kind):
                out |= {"lower": None, "upper": None}
    out |= {fact: value for fact in _WAYS if (value := getattr(entry, fact)) is not None}
    if entry.facts:
        if present.bounds_origin == "data":
            out |= {"lower": None, "upper": None, "domain": None}
        out |= {"bounds_origin": "declared", **entry.facts}
    lower, upper = (out.get(fact, getattr(present, fact)) for fact in ("lower", "upper"))
    if entry.facts and lower is not None and upper is not None and not lower < upper:
        raise InputError(
            f"row {entry.row} ({entry.name}): the lower bound {lower:g} is not below the upper bound {upper:g}",
            hint="declare both in the dictionary",
        )
    return out


def with_guesses(entry: Entry, former: Sequence[str]) -> tuple[str, ...]:
    """Return which facts of a column are still guesses after ``entry``, of which ``former`` were.

    A fact that the dictionary states is declared by whoever wrote it, unless it is marked as a guess.
    """
    settled = set()
    if entry.kind is not None and "kind" not in entry.guessed:
        settled.add("kind")
    if (entry.role is not None and "role" not in entry.guessed) or entry.kind is not None:
        settled.add("action")
    settled |= {fact for fact in _WAYS if getattr(entry, fact) is not None and fact not in entry.guessed}
    marked = [fact for fact, of in (("action", "role"), *((f, f) for f in ("kind", *_WAYS))) if of in entry.guessed]
    return tuple(dict.fromkeys((*marked, *(fact for fact in former if fact not in settled))))
