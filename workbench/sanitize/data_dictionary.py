r"""A data dictionary: what is publicly known about the columns of a table, as a CSV that a person can keep.

The header is ``name,role,kind,lower,upper,values,missing,missing_codes,date_order``; ``name`` is needed, the others may
be absent or in another order. An empty cell declares nothing. Dates are written ``1990-12-31``. The values of a list
are separated by ``|``; blanks around a value do not count; a bar, a blank or a backslash that belongs to a value has a
backslash before it: ``\|``, ``\ ``, ``\\``. Bounds and values need a kind in the same row, because 0 may be a number
or a name.

What other programs write is read as well: the titles and kinds of :data:`TITLES` and :data:`WORDS`, values as
``1=never; 2=often``, of which the codes are taken, and columns of :data:`PROSE`, which declare nothing.

``missing`` says what becomes of a missing value: ``refuse`` or ``own-value``; ``missing_codes`` lists what the file
writes where a value is missing: ``-9|99``, and a lone bar that nothing is one: what looks like a code is a value;
``date_order`` says how dates with the year last are written: ``day-first`` or ``month-first``. A role, kind,
``missing`` or ``date_order`` that ends in ``?`` is a guess that nobody has confirmed: an export marks it so, and an
import leaves it a guess. Facts that were read off the rows are left out of an export, and the export says which.
"""

from __future__ import annotations

import csv
import datetime
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from workbench.data.schema import GUESS, KINDS, OWN_VALUE, ROLES, Declaration, written_bound
from workbench.params import InputError, ParameterError, WorkbenchError
from workbench.params.amounts import counted
from workbench.params.codec import read_text, read_toml, require_table
from workbench.params.field import RealField, did_you_mean
from workbench.sanitize.plan import UNFILLED, Column

HEADER = ("name", "role", "kind", "lower", "upper", "values", "missing", "missing_codes", "date_order")
ORDERS = ("day-first", "month-first")
TITLES = {"variable": "name", "column": "name", "field": "name", "type": "kind", "min": "lower", "max": "upper"}
"""Other titles for what the header names."""
PROSE = ("label", "description", "question", "unit", "note", "notes", "comment")
"""Titles of columns that are for people, and are passed over."""
WORDS = {
    **dict.fromkeys(("text", "string", "factor", "categorical", "nominal"), "category"),
    **dict.fromkeys(("numeric", "float", "double", "decimal"), "real"),
    "int": "integer",
    "bool": "boolean",
    "logical": "boolean",
}
"""Other words for kinds."""
SEPARATOR = "|"
DOUBT = "?"
IDENTIFIER = "identifier"
NUMERIC = ("integer", "real", "date")
_NUMBER = RealField()
_PART = re.compile(r"((?:\\[\\| ]|[^|])*)(\||\Z)")
_ESCAPED = re.compile(r"\\([\\| ])")
_TOLD = 3  # rows that a refusal names; of more it gives the number


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What a dictionary declares of one column; ``None`` where it declares nothing."""

    name: str
    row: int  # the row of the file, as a spreadsheet counts: the header is row 1
    role: str | None = None  # what the column is in a disclosure
    kind: str | None = None
    lower: float | None = None  # public lower bound; of dates the day number
    upper: float | None = None  # public upper bound
    domain: tuple[str, ...] | None = None
    missing: str | None = None
    missing_codes: tuple[str, ...] | None = None
    date_order: str | None = None  # how dates with the year last are written
    guessed: tuple[str, ...] = ()  # which of `role`, `kind`, `missing` and `date_order` are marked as guesses

    @property
    def declares(self) -> bool:
        """Whether it says anything."""
        stated = (self.role, self.kind, *(getattr(self, way) for way in _WAYS), *self.facts.values())
        return any(fact is not None for fact in stated)

    @property
    def facts(self) -> dict[str, Any]:
        """The declared bounds or values."""
        stated = {"lower": self.lower, "upper": self.upper, "domain": self.domain}
        return {fact: value for fact, value in stated.items() if value is not None}


def load_dictionary(path: Path) -> tuple[Entry, ...]:
    """Return the entries of the dictionary in ``path``; see :func:`read_dictionary`."""
    return read_dictionary(read_text(path, "data dictionary"), str(path))


def read_dictionary(text: str, where: str = "") -> tuple[Entry, ...]:
    """Return the entries of a dictionary; nothing is returned unless every row is right.

    Raises:
        InputError: the header or a row is wrong; each is named by row and column, the first three in full.
    """
    rows = _rows(text, where)
    header = [title.strip().lower() for title in rows[0]] if rows else []
    header = [TITLES.get(title, title) for title in header]
    _check_header(header, where)
    entries, wrong = [], []
    for number, cells in enumerate(rows[1:], start=2):
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(header):
            wrong.append(f"row {number} has {len(cells)} cells, and the header has {len(header)}")
            continue
        try:
            entries.append(_entry(dict(zip(header, cells, strict=True)), number))
        except ParameterError as error:
            wrong.append(f"{error.what}{f'; {error.hint}' if error.hint else ''}")
    wrong += _clashes(entries)
    if wrong:
        more = f"; and {len(wrong) - _TOLD} more" if len(wrong) > _TOLD else ""
        raise InputError(f"the data dictionary cannot be used: {'; '.join(wrong[:_TOLD])}{more}", where)
    if not entries:
        raise InputError("the data dictionary names no columns", where, "add a row for each column")
    return tuple(entries)


def write_dictionary(columns: Iterable[Mapping[str, Any]]) -> tuple[str, tuple[str, ...]]:
    """Return the dictionary of a plan's columns as CSV, and what was left out because it was read off the rows.

    In its ``[[column]]`` tables facts may still be ``"?"``; ``guessed`` in one names which facts are guesses where
    ``origin`` is ``guess``; without it all of them are.

    Raises:
        ParameterError: a key or a value is refused.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADER)
    left_out = []
    for table in columns:
        stated = {k: v for k, v in table.items() if v not in (UNFILLED, [UNFILLED]) and k != "guessed"}
        # A column that is dropped needs no facts, so that one with open facts is checked as such.
        column = Column.from_plain({**stated, "action": "drop"}, where=f"column {table.get('name', UNFILLED)}")
        guessed = table.get("guessed", ("action", "kind", "missing", "date_order")) if column.origin == GUESS else ()
        role_guessed = "action" in guessed and column.role == IDENTIFIER
        role = _marked(column.role, guessed=role_guessed)
        kind = _marked(column.kind, guessed="kind" in guessed)
        decided = table.get("missing") != UNFILLED and table.get("action") != "drop" and column.kind is not None
        missing = _marked(column.missing if decided else None, guessed="missing" in guessed)
        order = _marked(column.date_order if column.kind == "date" else None, guessed="date_order" in guessed)
        plain = column.to_plain()
        facts = {fact: plain[fact] for fact in ("lower", "upper", "domain") if fact in plain}
        if facts and column.bounds_origin == "data":
            left_out.append(f"{'values' if 'domain' in facts else 'bounds'} of {column.name}")
            facts = {}
        if column.kind is None:
            facts = {}  # bounds without a kind say nothing
        values, codes = (SEPARATOR.join(map(_escaped, of or ())) for of in (facts.get("domain"), column.missing_codes))
        codes = SEPARATOR if column.missing_codes == () else codes
        bounds = ("" if fact not in facts else _bound(facts[fact]) for fact in ("lower", "upper"))
        writer.writerow((column.name, role, kind, *bounds, values, missing, codes, order))
    return out.getvalue(), tuple(left_out)


def column_tables(path: Path) -> list[dict[str, Any]]:
    """Return the ``[[column]]`` tables of the plan in ``path``, in which public facts may still be open.

    Raises:
        InputError: it cannot be read, or names no columns.
    """
    tables = read_toml(path, "plan").get("column")
    if not isinstance(tables, list) or not tables:
        raise InputError("the plan names no columns", str(path), "add a [[column]] for each column of the table")
    return [require_table(table, "a column", str(path)) for table in tables]


def left_out_in_words(left_out: Sequence[str]) -> str:
    """Return one sentence about what an export left out; empty where that is nothing."""
    if not left_out:
        return ""
    more = f" and {len(left_out) - _TOLD} more" if len(left_out) > _TOLD else ""
    return f"left out, because they were read from the rows: {', '.join(left_out[:_TOLD])}{more}"


# -- reading ----------------------------------------------------------------------------------------------------------


def _rows(text: str, where: str) -> list[list[str]]:
    first = text.split("\n", 1)[0]
    # A spreadsheet in many countries saves with semicolons; no title of ours holds either sign.
    delimiter = ";" if ";" in first and "," not in first else ","
    try:
        return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise InputError(f"the data dictionary is not CSV: {error}", where, "check its quotes") from None


def _check_header(header: Sequence[str], where: str) -> None:
    unknown = [title or "(empty)" for title in header if title not in (*HEADER, *PROSE)]
    if not header or "name" not in header:
        raise InputError("the data dictionary has no column “name”", where, f"begin it with {','.join(HEADER)}")
    if unknown:
        raise InputError(
            f"the data dictionary has unknown columns: {', '.join(unknown)}",
            where,
            f"remove them; known are {', '.join(HEADER)}",
        )
    twice = next((title for title in header if title in HEADER and header.count(title) > 1), None)
    if twice is not None:
        raise InputError(f"the data dictionary has two columns “{twice}”", where, "remove one of them")


def _entry(cells: Mapping[str, str], row: int) -> Entry:
    name = cells["name"]
    if not name.strip():
        raise ParameterError(f"row {row}, name: it is empty")
    place = f"row {row} ({name})"
    said = {title: cells.get(title, "").strip() for title in HEADER[1:]}
    role, role_guessed = _choice(said["role"], ROLES, f"{place}, role")
    kind, kind_guessed = _choice(said["kind"], KINDS, f"{place}, kind", WORDS)
    missing, missing_guessed = _choice(said["missing"], ("refuse", OWN_VALUE), f"{place}, missing")
    order, order_guessed = _choice(said["date_order"], ORDERS, f"{place}, date_order")
    marks = {"role": role_guessed, "kind": kind_guessed, "missing": missing_guessed, "date_order": order_guessed}
    given = [title for title in ("lower", "upper", "values", "date_order") if said[title]]
    if given and kind is None:
        raise ParameterError(f"{place}, kind: it is empty, and {given[0]} is given", hint="write the kind as well")
    if order is not None and kind != "date":
        raise ParameterError(f"{place}, date_order: a column of kind {kind} has no dates", hint="leave the cell empty")
    for title in (t for t in given if t != "date_order"):
        if (title == "values") == (kind in NUMERIC):
            fitting = "bounds" if kind in NUMERIC else "values"
            raise ParameterError(f"{place}, {title}: a column of kind {kind} has {fitting} instead")
    lower, upper = (_number(said[title], kind, f"{place}, {title}") for title in ("lower", "upper"))
    entry = Entry(
        name=name,
        row=row,
        role=role,
        kind=kind,
        lower=lower,
        upper=upper,
        domain=_values(cells["values"], f"{place}, values") if said["values"] else None,
        missing=missing,
        missing_codes=_codes(said["missing_codes"], f"{place}, missing_codes"),
        date_order=order,
        guessed=tuple(fact for fact, is_guess in marks.items() if is_guess),
    )
    _check_together(entry, place)
    return entry


def _check_together(entry: Entry, place: str) -> None:
    """Refuse facts that no plan can hold, as a plan would."""
    if entry.lower is not None and entry.upper is not None and not entry.lower < entry.upper:
        raise ParameterError(f"{place}, upper: it is not above the lower bound")
    needed = ("lower", "upper") if entry.kind in NUMERIC else ("domain",)
    if not all(fact in entry.facts for fact in needed):
        return
    try:
        Column(name=entry.name, kind=entry.kind, missing_codes=entry.missing_codes, **entry.facts)
    except WorkbenchError as error:
        raise ParameterError(f"{place}: {error.what}") from None


def _clashes(entries: Sequence[Entry]) -> list[str]:
    out: list[str] = []
    rows: dict[str, int] = {}
    for entry in entries:
        if entry.name in rows:
            out.append(f"row {entry.row} ({entry.name}), name: row {rows[entry.name]} is about the same column")
        rows.setdefault(entry.name, entry.row)
    targets = [e for e in entries if e.role == "target"]
    out += [
        f"row {e.row} ({e.name}), role: the target is {targets[0].name} already, with only one allowed"
        for e in targets[1:]
    ]
    return out


def _choice(
    text: str, choices: Sequence[str], place: str, others: Mapping[str, str] | None = None
) -> tuple[str | None, bool]:
    """Return the choice that a cell makes, and whether it is marked as a guess; ``others`` are words for choices."""
    bare = text.removesuffix(DOUBT).strip()
    if not bare:
        return None, False
    chosen = (others or {}).get(bare.lower(), bare)
    if chosen not in choices:
        raise ParameterError(f"{place}: {bare!r} is not one of {', '.join(choices)}{did_you_mean(bare, choices)}")
    return chosen, bare != text


def _number(text: str, kind: str | None, place: str) -> float | None:
    if not text:
        return None
    if kind == "date":
        return float(_day(text, place))
    try:
        number: float = _NUMBER.parse(text, place)
    except ParameterError:
        raise ParameterError(f"{place}: {text!r} is not a number", hint="write it as 1234.5") from None
    return number


def _day(text: str, place: str) -> int:
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text, re.ASCII):
        try:
            return datetime.date.fromisoformat(text).toordinal()
        except ValueError:
            pass  # reported below, as of any other text that is not a date
    raise ParameterError(f"{place}: {text!r} is not a date", hint="write it as 1990-12-31")


def _values(text: str, place: str) -> tuple[str, ...]:
    parts = _listed(text, place)
    if len(parts) < 2:
        raise ParameterError(f"{place}: there is one value, {parts[0]!r}", hint=f"separate values with {SEPARATOR}")
    return parts


def _codes(text: str, place: str) -> tuple[str, ...] | None:
    if not text:
        return None
    return () if text == SEPARATOR else _listed(text, place)


def _listed(text: str, place: str) -> tuple[str, ...]:
    """Return the values, or codes, of a list."""
    parts = [_bare(part) for part in _split(text)]
    coded = [part.partition("=") for part in text.split(";") if part.strip()]
    if len(parts) < 2 and coded and all(sign for _code, sign, _label in coded):  # 1=never; 2=often
        parts = [code.strip() for code, _sign, _label in coded]
    if "" in parts:
        raise ParameterError(f"{place}: a value is empty", hint="remove it; a missing value is not listed")
    seen: set[str] = set()
    for part in parts:
        if part in seen:
            raise ParameterError(f"{place}: {part!r} is listed twice")
        seen.add(part)
    return tuple(parts)


def _split(text: str) -> list[str]:
    """Return the parts between bars that no backslash makes part of a value."""
    parts, at = [], 0
    while True:
        found = _PART.match(text, at)
        assert found is not None  # the pattern matches the empty text
        parts.append(found[1])
        at = found.end()
        if not found[2]:
            return parts


def _bare(part: str) -> str:
    """Return a value without the blanks around it, except those that a backslash makes part of it."""
    stripped = part.lstrip(" ")
    end = stripped.rstrip(" ")
    if end.endswith("\\") and len(end) < len(stripped) and (len(end) - len(end.rstrip("\\"))) % 2:
        end = stripped[: len(end) + 1]
    return _ESCAPED.sub(r"\1", end)


# -- writing ----------------------------------------------------------------------------------------------------------


def _marked(word: str | None, *, guessed: bool) -> str:
    return "" if word is None else f"{word}{DOUBT if guessed else ''}"


def _bound(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else str(value)


def _escaped(value: str) -> str:
    out = value.replace("\\", "\\\\").replace(SEPARATOR, f"\\{SEPARATOR}")
    if out.startswith(" "):
        out = "\\" + out
    if out.endswith(" ") and out != "\\ ":
        out = out[:-1] + "\\ "
    return out


_WAYS = ("missing", "missing_codes", "date_order")


class Present(Declaration, Protocol):
    """What a plan already says of a column: a :class:`Column`, or a draft of one."""

    @property
    def action(self) -> str:
        """What is done with the column."""

    @property
    def bounds_origin(self) -> str:
        """Whether bounds were read off the rows."""


def not_in_table(entries: Sequence[Entry], names: Sequence[str]) -> str:
    """Return one sentence about the entries whose column a table does not have; empty where there are none."""
    known = set(names)
    found = [e.name for e in entries if e.name not in known]
    what = counted(len(found), "column")
    return f"the table lacks {what} of the data dictionary: {', '.join(found)}" if found else ""


def changes(entry: Entry, present: Present, *, drop_guessed: bool = False) -> dict[str, Any]:
    """Return what an entry changes of a column, by the attributes of :class:`Column`.

    Facts that mean nothing for another kind go, and so does the mechanism. A declared fact is never beside one that
    was read off the rows: the other one is open again. An identifier is dropped; one that was dropped because its rows
    look like an identifier (``drop_guessed``) may come back.

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
        lower, upper = (written_bound(bound, out.get("kind", present.kind)) for bound in (lower, upper))
        raise InputError(
            f"row {entry.row} ({entry.name}): the lower bound {lower} is not below the upper bound {upper}",
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
