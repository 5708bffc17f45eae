"""A first plan for a table, for a person to edit, with "?" wherever a public fact is to be declared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from workbench.data.columns.profile import ColumnProfile, attribute_from_data
from workbench.data.reading import Reading
from workbench.data.schema import GUESS, Attribute
from workbench.params import InputError, ParameterError
from workbench.params.codec import write_toml
from workbench.params.field import did_you_mean
from workbench.privacy.local.mechanisms import mechanism
from workbench.sanitize.origin import Guess, raw_guesses
from workbench.sanitize.plan import AUTO, UNFILLED, Column, Plan, unfilled

_MOST_CLASSES = 20

_HEADER = """A plan of the privacy workbench.
epsilon is the privacy loss of one row's whole record; the shares of the columns sum to it.
action: protect (through a mechanism), drop, or keep (published as it is: no epsilon covers it).
Bounds and domains are public facts: declare them from what everybody may know, never from the rows.
origin = "guess": this was guessed from the rows, where one row can change it. Nothing is released before you have
checked it and run  workbench plan --confirm  on this file.
Numbers are written without quotes (lower = 0), names and dates with them (domain = ["yes", "no"]).
A line such as  epsilon = 1  in a column fixes its share; the others divide what is left.
purpose = "statistics" in a column makes auto choose for means and counts over many rows, not for single values."""

_OPEN = """
Replace every "?": lower and upper of numbers, domain = ["…", "…"] of names, missing = "refuse" or "own-value",
date_order = "day-first" or "month-first"."""


@dataclass(frozen=True)
class Draft:
    """A draft of a plan: its TOML and the public facts that are still to be declared.

    Attributes:
        toml: the text of the plan file.
        unfilled: ``KEY of COLUMN`` for each ``"?"``.
        guesses: facts that were taken from the rows and are to be confirmed.
        notes: sentences on automatic choices.
    """

    toml: str
    unfilled: tuple[str, ...]
    guesses: tuple[Guess, ...]
    notes: tuple[str, ...]


def draft(
    columns: Sequence[ColumnProfile],
    epsilon: float,
    *,
    declared: Sequence[Attribute] = (),
    target: str | None = None,
    mechanism_name: str = AUTO,
    dropped: Sequence[str] = (),
    from_data: bool = False,
    reading: Reading | None = None,
) -> Draft:
    """Return a first plan for a table.

    Args:
        columns: the private profile; names and guessed kinds enter the plan, and which facts are to be filled in;
            bounds and domains only with ``from_data``. What enters is marked as a guess.
        epsilon: ε of one row's whole record.
        declared: public facts that are known already (a bundled sample's).
        target: the column to predict, planned as a category.
        mechanism_name: the mechanism of every column it fits; the advisor's choice elsewhere.
        dropped: columns to leave out.
        from_data: whether bounds and domains are taken from the rows and marked as such.
        reading: how the file was read.

    Raises:
        ParameterError: a named column does not exist, or the mechanism is not known.
    """
    names = [c.name for c in columns]
    for name in [*dropped, *([target] if target else [])]:
        if name not in names:
            raise ParameterError(
                f"the table has no column {name!r}{did_you_mean(name, names)}", mend=f"choose from {', '.join(names)}"
            )
    if mechanism_name != AUTO:
        mechanism(mechanism_name)
    known = {a.name: a for a in declared}
    tables, notes = [], []
    for column in columns:
        table, note = _column(column, known.get(column.name), target, mechanism_name, dropped, from_data)
        tables.append(table)
        notes += [note] if note else []
    raw: dict[str, Any] = {"version": 1, "epsilon": epsilon}
    raw |= {"reading": reading.to_plain()} if reading is not None else {}
    raw["column"] = tables
    still_open = tuple(unfilled(raw, "the draft"))
    if not still_open:
        Plan.from_plain(raw, where="the draft")
    text = write_toml(raw, _HEADER + (_OPEN if still_open else ""))
    return Draft(text, still_open, raw_guesses(raw), tuple(notes))


def _column(
    column: ColumnProfile,
    declared: Attribute | None,
    target: str | None,
    mechanism_name: str,
    dropped: Sequence[str],
    from_data: bool,
) -> tuple[dict[str, Any], str]:
    """Return the ``[[column]]`` table of one column and a note for the person."""
    name = column.name
    if name in dropped:
        return {"name": name, "action": "drop"}, ""
    if declared is not None:
        return _declared(declared, name == target, mechanism_name)
    identifier = next((s for s in column.suspicions if s.what == "identifier"), None)
    if identifier is not None and name != target:
        note = f"{name} is dropped: {identifier.reason}, so it looks like an identifier"
        return {"name": name, "action": "drop", "role": "identifier", "origin": GUESS}, note
    note = ""
    if from_data:
        try:
            table = _table(attribute_from_data(_as_class(column) if name == target else column))
        except InputError as error:
            return {"name": name, "action": "drop", "origin": GUESS}, f"{name} is dropped: {error.what}"
    else:
        kind = "category" if name == target and column.distinct <= _MOST_CLASSES else column.kind
        table = {"name": name, "action": "protect", "kind": kind}
        if kind in ("integer", "real", "date"):
            table |= {"lower": UNFILLED, "upper": UNFILLED}
        elif kind == "category":
            table["domain"] = UNFILLED
        if column.missing:
            table["missing"] = UNFILLED
            note = f'{name} has missing values: fill in missing = "own-value" (one more value) or "refuse"'
        if column.year_last:
            table["date_order"] = UNFILLED
    table["origin"] = GUESS
    return _completed(table, name == target, mechanism_name), note


def _declared(attribute: Attribute, predicted: bool, mechanism_name: str) -> tuple[dict[str, Any], str]:
    """Return the table and the note of a column whose facts are known; an identifier is dropped."""
    if attribute.role == "identifier":
        table = {"name": attribute.name, "action": "drop", "role": "identifier"}
        return table, f"{attribute.name} is dropped: it is an identifier"
    return _completed(_table(attribute), predicted, mechanism_name), ""


def _completed(table: dict[str, Any], predicted: bool, mechanism_name: str) -> dict[str, Any]:
    """Return ``table`` with its role as the target, if it is, and its mechanism."""
    role = {"role": "target"} if predicted else {}
    return {**table, **role, "mechanism": _mechanism(mechanism_name, table)}


def _table(attribute: Attribute) -> dict[str, Any]:
    """Return the ``[[column]]`` table of a protected attribute."""
    facts = {name: getattr(attribute, name) for name in Attribute.declared()}
    return Column(**facts).to_plain()


def _mechanism(name: str, table: dict[str, Any]) -> str:
    """Return ``name`` where it fits the column's kind, else the advisor's choice."""
    if name == AUTO:
        return AUTO
    wanted = mechanism(name)
    numeric = table["kind"] in ("integer", "real", "date")
    if (wanted.line_only and not numeric) or (wanted.two_values and len(table.get("domain", ())) != 2):
        return AUTO
    return name


def _as_class(column: ColumnProfile) -> ColumnProfile:
    """Return the profile of a target as a category of the numbers that occur, where they are few."""
    if column.lower is None or column.kind != "integer" or column.distinct > _MOST_CLASSES:
        return column
    labels = tuple(bar.label for bar in column.histogram if bar.count)
    return ColumnProfile(name=column.name, kind="category", missing=column.missing, distinct=len(labels), values=labels)
