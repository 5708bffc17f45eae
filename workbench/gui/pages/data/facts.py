"""Public facts as a person writes and reads them in a cell of the attribute table."""

from __future__ import annotations

import datetime
import re
from typing import Any

from workbench.gui.session.draft import DraftColumn
from workbench.gui.session.draft_edits import protect_changes
from workbench.gui.style.language import tr, tr_later, typed
from workbench.params import ParameterError
from workbench.params.field import RealField, TextsField

NUMBER = RealField()
NAMES = TextsField(shortest=2)
_NAME = re.compile(r'(?:^|[,\n])[ \t]*(?:(")((?:[^"]|"")*)"[ \t]*(?=[,\n]|\Z)|([^,\n]*))')
ROLE_MEANING = {
    None: tr_later("No role chosen: taken as neither identifying nor sensitive."),
    "identifier": tr_later("Identifier: it says by itself who somebody is; best dropped."),
    "quasi-identifier": tr_later("Quasi-identifier: with other columns it may single a person out."),
    "sensitive": tr_later("Sensitive: must not be learned about any person."),
    "target": tr_later("Target: what models learn to predict from the other columns."),
}
"""What each role says, as one line."""

ROLE_WORDS = (tr_later("identifier"), tr_later("quasi-identifier"), tr_later("sensitive"), tr_later("target"))
"""The roles, as they are translated where they are shown."""

BOUNDS = {"lower": tr_later("the lower bound of {name}"), "upper": tr_later("the upper bound of {name}")}
DATES = {
    None: tr_later("write it as 1990-12-31"),
    "day-first": tr_later("write it as 1990-12-31 or 31/12/1990"),
    "month-first": tr_later("write it as 1990-12-31 or 12/31/1990"),
}
"""How a date can be written, by the order that is declared."""


def read(column: DraftColumn, fact: str, text: str, decimal: str = ".") -> Any:
    """Return the value of ``fact`` that ``text`` writes; ``None`` for an empty text.

    Numbers may be written with the file's ``decimal`` mark, and dates in the order that is declared for the column.

    Raises:
        ParameterError: the text is no number, no date, or no list of names.
    """
    if not text.strip():
        return None
    if fact == "domain":
        return NAMES.check([n for n in _names(text) if n], tr("the values of {name}", name=column.name))
    words = tr(BOUNDS[fact], name=column.name)
    if column.kind == "date":
        return _day(text.strip(), column.date_order, words)
    if decimal == "," and text.count(",") == 1 and "." not in text:
        text = text.replace(",", ".")
    number = typed(text)
    try:
        return NUMBER.parse(number, words)
    except ParameterError as error:
        hint = tr("write a decimal point, and nothing between thousands: 1234.5") if "," in number else error.remedies
        raise ParameterError(error.what, hint=hint, field=error.field) from None


def _day(text: str, order: str | None, words: str) -> float:
    """Return the number of the day that ``text`` writes with the year first, or in the declared ``order``."""
    forms = {
        "day-first": r"(?P<d>\d{1,2})([/.-])(?P<m>\d{1,2})\2(?P<y>\d{4})",
        "month-first": r"(?P<m>\d{1,2})([/.-])(?P<d>\d{1,2})\2(?P<y>\d{4})",
    }
    form = forms.get(order or "", "")
    try:
        if form and (found := re.fullmatch(form, text, re.ASCII)):
            return float(datetime.date(int(found["y"]), int(found["m"]), int(found["d"])).toordinal())
        return float(datetime.date.fromisoformat(text).toordinal())
    except ValueError:
        raise ParameterError(
            tr("{words} = {text} is not a date", words=words, text=repr(text)),
            hint=tr(DATES[order if form else None]),
        ) from None


def _names(text: str) -> list[str]:
    """Return the values of a list parted by commas or lines; what is in quotes is taken as it is."""
    return [quoted.replace('""', '"') if mark else bare.strip() for mark, quoted, bare in _NAME.findall(text)]


def changes(column: DraftColumn, fact: str, value: Any) -> dict[str, Any]:
    """Return what declaring one fact changes of a column.

    A fact read off the rows is never kept beside a declared one: declaring the first of two opens the other again.
    """
    out: dict[str, Any] = {fact: value}
    if column.bounds_origin == "data":
        out |= {"bounds_origin": "declared", **{other: None for other in column.needs if other != fact}}
    return out


def kind_changes(column: DraftColumn, kind: str) -> dict[str, Any]:
    """Return what another kind changes of a column: facts that mean nothing for it go, and so does the mechanism."""
    numeric = kind in ("integer", "real", "date")
    out: dict[str, Any] = {"kind": kind, "mechanism": "auto", "cells": None}
    if not numeric or (kind == "date") != (column.kind == "date"):
        out |= {"lower": None, "upper": None}
    if kind != "category":
        out |= {"domain": None, "other": None}
    return out


def role_changes(column: DraftColumn, role: str | None, guessed: str) -> dict[str, Any]:
    """Return what another role changes of a column: an identifier is dropped, what is none any more is protected."""
    if role == "identifier":
        return {"role": role, "action": "drop"}
    back = column.role == "identifier" and column.action == "drop"
    return {**protect_changes(column, guessed), "role": role} if back else {"role": role}
