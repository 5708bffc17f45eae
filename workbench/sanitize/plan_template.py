"""A first plan for a table, for a person to edit, with "?" wherever a public fact is to be declared."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from workbench.data.columns.profile import ColumnProfile, attribute_from_data
from workbench.data.person_join import Join
from workbench.data.reading_options import Reading
from workbench.data.schema import GUESS, Attribute
from workbench.params import InputError, ParameterError
from workbench.params.codec import write_toml
from workbench.params.field import did_you_mean
from workbench.privacy.local.mechanisms import mechanism
from workbench.sanitize.budget_split import target_weight
from workbench.sanitize.data_dictionary import IDENTIFIER, NUMERIC, Entry, changes, not_in_table
from workbench.sanitize.intended_use import STATISTICS, IntendedUse, Suggestion
from workbench.sanitize.plan import AUTO, REPLACE, UNFILLED, Column, Plan, unfilled
from workbench.sanitize.plan_guesses import Guess, raw_guesses

_MOST_CLASSES = 20

_HEADER = """A plan of the privacy workbench.
epsilon is the privacy loss of one row's whole record; the shares of the columns sum to it.
action: protect (through a mechanism), drop, or keep (published as it is: no epsilon covers it).
Bounds and domains are public facts: declare them from public knowledge, never from the rows.
origin = "guess": this was guessed from the rows, where one row can change it. Nothing is released before you have
checked it and run  workbench plan --confirm  on this file.
Numbers are written without quotes (lower = 0), names and dates with them (domain = ["yes", "no"]).
A line such as  epsilon = 1  in a column fixes its share; the others divide what is left by weight (1 if none is given).
auto chooses for means and counts over many rows; purpose = "values" in a column makes it choose for values that are
each near the truth."""

_OPEN = """
Replace every "?": lower and upper of numbers, domain = ["…", "…"] of names, missing = "refuse" or "own-value",
date_order = "day-first" or "month-first"."""


@dataclass(frozen=True)
class Draft:
    """A draft of a plan: its TOML and the public facts that are still to be declared."""

    toml: str  # the text of the plan file
    unfilled: tuple[str, ...]  # `KEY of COLUMN` for each `"?"`
    guesses: tuple[Guess, ...]  # facts that were taken from the rows and are to be confirmed
    notes: tuple[str, ...]  # sentences on automatic choices
    on_target: str  # a sentence on the share of the column to predict; empty where it has an equal one


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
    join: Join | None = None,
    dictionary: Sequence[Entry] = (),
    questions: IntendedUse | None = None,
    suggested: Suggestion | None = None,
    labelled: Mapping[str, Sequence[str]] = MappingProxyType({}),
    unit: str | None = None,
    rows_per_person: int = 1,
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
        join: the second table, where one is joined on ``unit``.
        dictionary: what a data dictionary declares; it goes before ``declared`` and before any guess.
        questions: who gets the release, which columns they need and what they ask: the others are left out.
        suggested: where the columns needed are those that are suggested: then leaving out the others is a guess.
        labelled: domains that the file proposes, by column; they are guesses.
        unit: the column that identifies a person: it is dropped, and invalid values are replaced.
        rows_per_person: maximum rows per person.

    Raises:
        ParameterError: a named column does not exist, the mechanism is not known, there are two targets, ε is more than
            is offered, or a wish cannot be one of these columns.
    """
    names = [c.name for c in columns]
    target = _one_target(target or (questions.target if questions else None), dictionary, names)
    persons = [unit] if unit else []
    needed = () if questions is None else questions.needed
    _require_columns([*dropped, *([target] if target else []), *needed, *persons], names)
    if target in dropped:
        raise ParameterError(f"the target {target!r} is also to be dropped", hint="leave one of the two out")
    left_out = [] if questions is None else [name for name in names if name not in needed]
    chosen = _Choices(
        target=target,
        mechanism=mechanism_name,
        dropped=(*dropped, *(left_out if suggested is None else ()), *persons),
        from_data=from_data,
        labelled=labelled,
    )
    known, entries = {a.name: a for a in declared}, {e.name: e for e in dictionary}
    tables, notes = [], []
    for column in columns:
        if suggested is not None and column.name in left_out and column.name not in chosen.dropped:
            role = {"role": IDENTIFIER} if column.name in suggested.identifiers else {}
            tables.append({"name": column.name, "action": "drop", **role, "origin": GUESS})
            continue
        table, note = chosen.column(column, *_stated(known.get(column.name), entries.get(column.name)))
        tables.append(table)
        notes += [note] if note else []
        notes += _suspected(column, table)
    notes += filter(None, (not_in_table(dictionary, names), suggested.left_out_in_words if suggested else ""))
    on_target = _weighed(tables, epsilon)
    raw: dict[str, Any] = {"version": 1, "epsilon": epsilon}
    raw |= {"rows_per_person": rows_per_person} if rows_per_person != 1 else {}
    if unit is not None:
        raw |= {"unit": unit, "invalid": REPLACE}
        tables = [{k: v for k, v in table.items() if (k, v) != ("missing", UNFILLED)} for table in tables]
    raw |= {"reading": reading.to_plain()} if reading is not None else {}
    raw |= {"join": join.to_plain()} if join is not None else {}
    raw |= {"questions": _answered(questions, tables, epsilon)} if questions is not None else {}
    raw["column"] = tables
    return _drafted(raw, notes, on_target)


def _suspected(column: ColumnProfile, table: Mapping[str, Any]) -> list[str]:
    """Return notes on numbers that may be codes, on values that may be spellings of one, and on percentages."""
    if table["action"] != "protect":
        return []
    notes, domain = [], set(table.get("domain", ()))
    for found in column.suspicions:
        if found.what == "missing-code" and "missing_codes" not in table:
            notes.append(f"{column.name}: {found.why}; then write missing_codes = {json.dumps(found.cells)}")
        if found.what == "spelling" and (table.get("bounds_origin") == "data" or not domain.issuperset(found.cells)):
            notes.append(f"{column.name}: {found.why}; then correct them in the file, as a plan counts each separately")
        if found.what == "percent" and "origin" in table:
            notes.append(f"{column.name}: {found.why}")
    return notes


def _drafted(raw: dict[str, Any], notes: Sequence[str], on_target: str) -> Draft:
    """Return the draft with its text; a plan with nothing left to fill in is checked as one."""
    still_open = tuple(unfilled(raw, "the draft"))
    if not still_open:
        Plan.from_plain(raw, where="the draft")
    text = write_toml(raw, _HEADER + (_OPEN if still_open else ""))
    return Draft(text, still_open, raw_guesses(raw), tuple(notes), on_target)


def _require_columns(named: Sequence[str], names: Sequence[str]) -> None:
    for name in (n for n in named if n not in names):
        raise ParameterError(
            f"the table has no column {name!r}{did_you_mean(name, names)}", hint=f"choose from {', '.join(names)}"
        )


def _answered(questions: IntendedUse, tables: Sequence[dict[str, Any]], epsilon: float) -> dict[str, Any]:
    """Give each released column the purpose that the questions call for; return what the plan says of them."""
    questions.require_offered(epsilon)
    released = [table for table in tables if table["action"] != "drop"]
    for wish in questions.wishes:
        wish.checked({table["name"]: table.get("kind") for table in released})
    if questions.purpose != STATISTICS:
        for table in released:
            table["purpose"] = questions.purpose
    return questions.asked.to_plain()


@dataclass(frozen=True)
class _Choices:
    """What a caller chose; the parameters of :func:`draft`, with every column that is left out in ``dropped``."""

    target: str | None
    mechanism: str
    dropped: Sequence[str]
    from_data: bool
    labelled: Mapping[str, Sequence[str]]

    def __post_init__(self) -> None:
        if self.mechanism != AUTO:
            mechanism(self.mechanism)

    def column(
        self, column: ColumnProfile, declared: Attribute | None, entry: Entry | None
    ) -> tuple[dict[str, Any], str]:
        """Return the ``[[column]]`` table of one column and a note for the person."""
        table, note = self._stated_or_guessed(column, declared, entry)
        if table["action"] != "protect":
            return table, note
        if "origin" in table and column.name in self.labelled and not self.from_data:
            table, note = _with_labels(table, self.labelled[column.name], note)
        role = {"role": "target"} if column.name == self.target else {}
        return {**table, **role, "mechanism": _mechanism(self.mechanism, table)}, note

    def _stated_or_guessed(
        self, column: ColumnProfile, declared: Attribute | None, entry: Entry | None
    ) -> tuple[dict[str, Any], str]:
        name = column.name
        if name in self.dropped:
            return _dropped(name)
        if declared is not None and declared.role == IDENTIFIER:
            return _dropped(name, f"{name} is dropped: it is an identifier", role=IDENTIFIER)
        if declared is not None:
            return _table(declared), ""
        if entry is not None and entry.role == IDENTIFIER:
            marks = {"origin": GUESS} if entry.guessed else {}
            return _dropped(name, f"{name} is dropped: it is an identifier", role=IDENTIFIER, **marks)
        if entry is not None and entry.kind is not None:
            return _entered(column, entry, self.from_data)
        identifier = next((s for s in column.suspicions if s.what == "identifier"), None)
        if identifier is not None and name != self.target and entry is None:
            note = f"{name} is dropped: {identifier.reason}, so it looks like an identifier"
            return _dropped(name, note, role=IDENTIFIER, origin=GUESS)
        try:
            table, note = self._guessed(column, entry)
        except InputError as error:
            return _dropped(name, f"{name} is dropped: {error.what}", origin=GUESS)
        codes = None if entry is None or entry.missing_codes is None else list(entry.missing_codes)
        said = {} if entry is None else {"role": entry.role, "missing_codes": codes}
        return {**table, "origin": GUESS, **{key: value for key, value in said.items() if value is not None}}, note

    def _guessed(self, column: ColumnProfile, entry: Entry | None) -> tuple[dict[str, Any], str]:
        name = column.name
        if self.from_data:
            return _table(attribute_from_data(_as_class(column) if name == self.target else column)), ""
        kind = "category" if name == self.target and column.distinct <= _MOST_CLASSES else column.kind
        table: dict[str, Any] = {"name": name, "action": "protect", "kind": kind}
        note = ""
        if kind in ("integer", "real", "date"):
            table |= {"lower": UNFILLED, "upper": UNFILLED}
        elif kind == "category":
            table["domain"] = UNFILLED
        if entry is not None and entry.missing is not None:
            table["missing"] = entry.missing
        elif column.missing:
            table["missing"] = UNFILLED
            note = f'{name} has missing values: fill in missing = "own-value" (one more value) or "refuse"'
        if column.year_last:
            table["date_order"] = UNFILLED
        return table, note


def _dropped(name: str, note: str = "", **marks: str) -> tuple[dict[str, Any], str]:
    return {"name": name, "action": "drop", **marks}, note


def _with_labels(table: dict[str, Any], values: Sequence[str], note: str) -> tuple[dict[str, Any], str]:
    """Return the column as a category of the values that the file labels; nothing of it is declared yet."""
    kept = {key: value for key, value in table.items() if key not in ("lower", "upper", "date_order", "origin")}
    made = {**kept, "kind": "category", "domain": list(values), "origin": GUESS}
    said = f"the domain of {table['name']} is taken from the value labels in the file"
    return made, "; ".join(filter(None, (said, note)))


def _weighed(tables: Sequence[dict[str, Any]], epsilon: float) -> str:
    """Give the classes to predict the weight that they need, and say so; empty where it is an equal share."""
    protected = [table for table in tables if table["action"] == "protect"]
    target = next((table for table in protected if table.get("role") == "target"), None)
    if target is None or target["kind"] not in ("category", "boolean"):
        return ""
    weight = target_weight(epsilon, len(protected) - 1)
    if weight == 1:
        return ""
    target["weight"] = weight
    part = weight / (weight + len(protected) - 1)
    return f"{target['name']}, the target, gets {part:.0%} of epsilon (its weight is {weight:g}): models need it most"


def _one_target(target: str | None, dictionary: Sequence[Entry], names: Sequence[str]) -> str | None:
    """Return the column to predict, which a caller or a dictionary names."""
    named = next((e.name for e in dictionary if e.role == "target" and e.name in names), None)
    if named is not None and target not in (None, named):
        raise ParameterError(
            f"the target is {target!r}, and the data dictionary calls {named!r} the target",
            hint="change one of the two",
        )
    return target or named


def _stated(attribute: Attribute | None, entry: Entry | None) -> tuple[Attribute | None, Entry | None]:
    """Return the known facts of a column with those of a dictionary over them; or the latter alone."""
    if entry is None or not entry.declares:
        return attribute, None
    if attribute is None or entry.kind not in (None, attribute.kind):
        return None, entry
    made = changes(entry, Column(**{**vars(attribute), "action": "drop"}))
    return dataclasses.replace(attribute, **{k: v for k, v in made.items() if k not in ("action", "mechanism")}), None


def _entered(column: ColumnProfile, entry: Entry, from_data: bool) -> tuple[dict[str, Any], str]:
    """Return the table and the note of a column whose kind a dictionary states.

    How missing values and dates are written is left as a plan has it by default, whatever the rows hold: only so is
    nothing of the table a guess. Where the kind itself is marked as one, they are asked for as usual.
    """
    name, guessed = column.name, "kind" in entry.guessed
    percent = next((s for s in column.suspicions if s.what == "percent"), None)
    if percent is not None and entry.kind in NUMERIC:
        what = f"the data dictionary calls it {entry.kind}, and {percent.why}"
        ways = ("remove the % signs from the file", 'write "category" as its kind')
        raise ParameterError(what, f"column {name}", ways)
    needed = ("lower", "upper") if entry.kind in ("integer", "real", "date") else ("domain",)
    facts = {**entry.facts, "missing_codes": entry.missing_codes, "date_order": entry.date_order}
    stated = Column(name=name, action="drop", kind=entry.kind, role=entry.role, **facts).to_plain()
    table = {**stated, "action": "protect"}
    if from_data and not entry.facts and entry.kind == column.kind:
        try:
            read = _table(attribute_from_data(column))
        except InputError as error:
            return _dropped(name, f"{name} is dropped: {error.what}", origin=GUESS)
        table |= {key: read[key] for key in (*needed, "bounds_origin") if key in read}
    if entry.kind != "boolean":
        table |= {fact: UNFILLED for fact in needed if fact not in table}
    asked = []
    if entry.missing is not None:
        table["missing"] = entry.missing
    elif column.missing:
        asked.append('missing = "own-value", because rows have missing values')
    order_open = entry.kind == "date" and column.year_last and entry.date_order is None
    if order_open:
        asked.append('date_order = "day-first" or "month-first", because its dates have the year last')
    if guessed:
        table |= {"missing": UNFILLED} if column.missing and entry.missing is None else {}
        table |= {"date_order": UNFILLED} if order_open else {}
    if guessed or {"missing", "date_order"}.intersection(entry.guessed):
        table["origin"] = GUESS
    return table, f"{name} may need {' and '.join(asked)}" if asked else ""


def _table(attribute: Attribute) -> dict[str, Any]:
    facts = {name: getattr(attribute, name) for name in Attribute.declared()}
    return Column(**facts).to_plain()


def _mechanism(name: str, table: dict[str, Any]) -> str:
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
