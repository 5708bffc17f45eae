"""What is to be settled before a release: facts that are open, wrong or guessed, values that are refused or doubtful.

The rail's dot, the foot of the pages, the filter “needs you” and the questions ask this, so that all of them name the
same; a column that is not released needs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.gui.session.draft import OWN_VALUE, DraftColumn, DraftPlan
from workbench.gui.style.language import tr, tr_later, tr_n

if TYPE_CHECKING:  # it loads polars, which the first paint does not wait for
    from workbench.data.columns.profile import ColumnProfile
    from workbench.gui.session.session import OpenTable


SHOWN = 3  # values that are named; all of it is private and stays on the screen

_UNREAD = {
    "integer": tr_later("its values are no whole numbers"),
    "real": tr_later("its values are no numbers"),
    "date": tr_later("its values are no dates"),
}


@dataclass(frozen=True)
class Refused:
    """Why a release would stop at a column."""

    fact: str  # what to change: `missing`, `kind` or `domain`
    words: str  # what is wrong, as a clause


_KNOWN: dict[str, tuple[DraftColumn, ColumnProfile, Refused | None]] = {}
"""What was found of each column as it is declared: a list of values may be long, and edits are many."""


def refused_columns(opened: OpenTable | None, plan: DraftPlan) -> tuple[str, ...]:
    """Return the names of the protected columns with a cell that is missing, unreadable or not listed.

    Values outside bounds are not among them: they are moved to the nearest bound in any case.
    """
    return tuple(c.name for c in plan.protected if why_refused(opened, plan, c) is not None)


def why_refused(opened: OpenTable | None, plan: DraftPlan, column: DraftColumn) -> Refused | None:
    """Return what a release would refuse in a column; ``None`` where that is nothing."""
    profile = opened.profiles.get(column.name) if opened is not None else None
    if profile is None or plan.replaces_invalid or not column.protected:
        return None
    known = _KNOWN.get(column.name)
    if known is None or known[0] is not column or known[1] is not profile:
        known = _KNOWN[column.name] = column, profile, _refused(column, profile)
    return known[2]


def _refused(column: DraftColumn, profile: ColumnProfile) -> Refused | None:
    missing = profile.missing_beside(column.domain or ())
    if missing and column.missing != OWN_VALUE:
        words = tr_n(
            "{n} row has no value, which “if a value is missing” refuses",
            "{n} rows have no value, which “if a value is missing” refuses",
            missing,
        )
        return Refused("missing", words)
    if column.kind == "integer" and profile.kind == "real":
        return Refused("kind", tr("some numbers are not whole"))
    if column.numeric:
        # its values did not read as numbers or dates
        found = profile.lower is None and profile.distinct > 0
        return Refused("kind", tr(_UNREAD[column.kind or "real"])) if found else None
    if column.domain is None or column.other is not None or profile.values == column.domain:
        return None
    listed = set(column.domain)
    unlisted = [value for value in profile.values if value not in listed]
    if not unlisted:
        return None
    stated = ", ".join(f"“{value}”" for value in unlisted[:SHOWN])
    if len(unlisted) <= SHOWN:
        words = tr_n(
            "{values} is in the rows and not in the list of values",
            "{values} are in the rows and not in the list of values",
            len(unlisted),
            values=stated,
        )
    else:
        words = tr_n(
            "{values} and {n} more are in the rows and not in the list of values",
            "{values} and {n} more are in the rows and not in the list of values",
            len(unlisted) - SHOWN,
            values=stated,
        )
    return Refused("domain", words)


def suspected_codes(column: DraftColumn, profile: ColumnProfile) -> tuple[str, ...]:
    """Return the cells that may be codes for missing values.

    There are none where somebody has declared the codes, or that there are none, or bounds or values that include them.
    """
    if column.missing_codes is not None:
        return ()
    cells = next((s.cells for s in profile.suspicions if s.what == "missing-code"), ())
    if column.lower is None or column.upper is None:
        return () if set(cells) <= set(column.domain or ()) else cells
    held = (column.lower <= float(cell.replace(",", ".")) <= column.upper for cell in cells)
    return () if all(held) else cells


def coded_columns(opened: OpenTable | None, plan: DraftPlan) -> tuple[str, ...]:
    """Return the names of the protected columns that may have codes for missing values which nobody declared."""
    return tuple(c.name for c in plan.protected if _may_be_coded(opened, c))


def _may_be_coded(opened: OpenTable | None, column: DraftColumn) -> bool:
    profile = opened.profiles.get(column.name) if opened is not None and column.protected else None
    return profile is not None and bool(suspected_codes(column, profile))


def codes_in_words(opened: OpenTable | None, plan: DraftPlan) -> str:
    """Return that columns may have codes for missing values that nobody declared; empty where none seems to."""
    found = ", ".join(coded_columns(opened, plan))
    note = tr("In {columns} a number may be a code for a missing value: it counts as a number.", columns=found)
    return note if found else ""


FACT_WORDS = {
    "lower": tr_later("bounds"),
    "upper": tr_later("bounds"),
    "domain": tr_later("values"),
    "missing": tr_later("how to treat missing values"),
    "date_order": tr_later("day or month first"),
}
"""What the window calls a fact that is still open."""


def open_facts(plan: DraftPlan) -> dict[str, list[str]]:
    """Return which columns still need each fact, by its words; the fact that is needed first comes first."""
    found: dict[str, list[str]] = {}
    for column in plan.protected:
        for words in dict.fromkeys(FACT_WORDS[fact] for fact in column.unfilled):
            found.setdefault(words, []).append(column.name)
    return found


def in_need(opened: OpenTable | None, plan: DraftPlan, column: DraftColumn) -> bool:
    """Return whether something of a released column is to be settled first.

    That is a fact that is open, wrong or guessed, a value that is refused, or one that may be a code for a missing one.
    """
    if column.action == "drop":
        return False
    blocked = bool(column.unfilled) or bool(column.problems()) or bool(column.unconfirmed)
    return blocked or why_refused(opened, plan, column) is not None or _may_be_coded(opened, column)


def blocks(opened: OpenTable, plan: DraftPlan) -> bool:
    """Return whether anything about the table or its columns is to be settled before a release."""
    stated = bool(opened.table.ambiguities) or bool(plan.guesses()) or any(p.column for p in plan.problems())
    return stated or bool(refused_columns(opened, plan)) or bool(coded_columns(opened, plan))


def needed_first(plan: DraftPlan) -> list[int]:
    """Return the places of the columns: those that are released, then the others, each in the table's order."""
    places = range(len(plan.columns))
    return sorted(places, key=lambda at: plan.columns[at].action == "drop")
