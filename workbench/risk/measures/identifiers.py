"""Identifiers: how many values a set of attributes has, and which share of pairs it separates (Motwani and Xu)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.risk.measures.base import Line, Measure, Subject, percent

SHOWN = 50


def identifiers(subject: Subject) -> dict[str, Any]:
    """Return distinction (classes / rows) and separation (share of the pairs that differ) of sets of attributes.

    Every single attribute is there, and the larger sets that separate most.
    """
    rows, names = subject.rows, subject.options.quasi
    pairs = rows * (rows - 1) // 2
    found: list[dict[str, Any]] = [
        {
            "columns": [names[i] for i in s.members],
            "distinction": s.classes / rows,
            "separation": 1.0 if not pairs else (pairs - s.alike) / pairs,
        }
        for s in subject.unique_sets.sets
    ]
    single = [f for f in found if len(f["columns"]) == 1]
    larger = sorted((f for f in found if len(f["columns"]) > 1), key=lambda f: (-f["separation"], len(f["columns"])))
    single.sort(key=lambda f: -f["separation"])
    return {"identifiers": [*single, *larger[: max(0, SHOWN - len(single))]]}


def _lines(found: Mapping[str, Any]) -> list[Line]:
    return [
        Line(
            " + ".join(one["columns"]),
            f"{percent(one['distinction'])} distinct, {percent(one['separation'])} of pairs separated",
            detail=True,
        )
        for one in found["identifiers"]
        if len(one["columns"]) == 1
    ]


IDENTIFIERS = Measure("identifiers", "Distinction and separation", "identifiers", identifiers, _lines, slow=True)
