"""The eighteen identifiers of HIPAA's Safe Harbor (45 CFR 164.514(b)(2)): hints from column names and value formats."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from workbench.data.columns.missing import uncoded
from workbench.data.table import Table
from workbench.risk.measures.base import Line, Measure, Subject

LOOKED_AT = 200  # so many different values of a column are compared with a form; nearly all of them have it
NEARLY_ALL = 0.9


@dataclass(frozen=True)
class Identifier:
    """One of the eighteen; names of columns and the form of values are patterns."""

    letter: str
    title: str
    names: str
    form: str = ""


HIPAA = (
    Identifier("A", "names", r"((first|last|fore|sur|given|family|middle|maiden|full|patient)[_ ]?)?names?|initials"),
    Identifier(
        "B",
        "places smaller than a state",
        r"zip([_ ]?codes?)?|post(al)?[_ ]?codes?|city|town|county|street|address|parish|precinct|municipality|"
        r"latitude|longitude|lat|lon|lng|geocode",
        r"^\d{5}-\d{4}$",
    ),
    Identifier(
        "C",
        "dates other than years, and ages over 89",
        r"date|dob|birth([_ ]?da(te|y))?|birthday|admission|discharge|death|age|time(stamp)?",
        r"^(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})([T ].*)?$",
    ),
    Identifier("D", "telephone numbers", r"(tele)?phone|tel|mobile|cell", r"^(\+|00|\()\d[\d ()/.-]{6,}$"),
    Identifier("E", "fax numbers", r"fax"),
    Identifier("F", "e-mail addresses", r"e[_ -]?mail", r"^[^@\s]+@[^@\s]+\.[^@\s]+$"),
    Identifier("G", "social security numbers", r"ssn|social[_ ]?security", r"^\d{3}-\d{2}-\d{4}$"),
    Identifier("H", "medical record numbers", r"mrn|medical[_ ]?record|chart[_ ]?(no|number|id)"),
    Identifier("I", "health plan numbers", r"beneficiary|health[_ ]?plan|insurance[_ ]?(no|number|id)|policy"),
    Identifier("J", "account numbers", r"account|iban|bank|card[_ ]?number", r"^[A-Z]{2}\d{2}[A-Z0-9 ]{11,40}$"),
    Identifier("K", "certificate and licence numbers", r"licen[cs]e|certificate|passport|driver"),
    Identifier("L", "vehicle identifiers", r"vin|vehicle|plate", r"^[A-HJ-NPR-Z0-9]{17}$"),
    Identifier(
        "M", "device identifiers", r"device|serial|imei|mac[_ ]?address", r"^([0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}$"
    ),
    Identifier("N", "web addresses", r"url|website|homepage|web", r"^(https?://|www\.)\S+$"),
    Identifier("O", "IP addresses", r"ip|ip[_ ]?address", r"^(\d{1,3}\.){3}\d{1,3}$"),
    Identifier("P", "biometric identifiers", r"finger[_ ]?print|voice|retina|iris[_ ]?scan|biometric"),
    Identifier("Q", "photographs of a face", r"photo(graph)?|picture|image|face"),
    Identifier("R", "other unique numbers, features or codes", r"id|uuid|guid|identifier|key|code|number|no|nr"),
)


def hints(table: Table) -> Iterator[tuple[str, Identifier, str]]:
    """Yield each column that may be one of the eighteen, which one, and what it was seen by: its first hint counts."""
    for name in table.names:
        words = re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()
        seen = uncoded(table, name).drop_nulls().unique(maintain_order=True).head(LOOKED_AT).cast(pl.String)
        for one in HIPAA:
            if one.form and seen.len() and _share(seen, one.form) >= NEARLY_ALL:
                yield name, one, "values"
                break
        else:
            for one in HIPAA:
                if re.search(rf"(^|[^a-z]|_)({one.names})($|[^a-z]|_)", words):
                    yield name, one, "name"
                    break


def _share(values: pl.Series, form: str) -> float:
    return int(values.str.strip_chars().str.contains(form).sum()) / values.len()


def hipaa(subject: Subject) -> dict[str, Any]:
    """Return a hint for each column of the table whose name or values suggest one of HIPAA's identifiers."""
    found = [
        {"column": column, "letter": one.letter, "identifier": one.title, "by": by}
        for column, one, by in hints(subject.table)
    ]
    return {"hipaa": found}


def _lines(found: Mapping[str, Any]) -> list[Line]:
    lines = [
        Line(h["column"], f"{h['identifier']} ({h['letter']}), by its {h['by']}", detail=True) for h in found["hipaa"]
    ]
    none = "no name or value suggests one of the eighteen; check the table yourself as well"
    return lines or [Line("hints", "none", none, detail=True)]


HIPAA_HINTS = Measure("hipaa", "Possible HIPAA identifiers", "hipaa", hipaa, _lines)
