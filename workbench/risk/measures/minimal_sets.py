"""Which attributes make rows unique: the smallest sets that do, and what each attribute adds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.risk.classes import classes
from workbench.risk.measures.base import Line, Measure, Subject, percent

SHOWN = 20


def minimal_sets(subject: Subject) -> dict[str, Any]:
    """Return the sets that are minimal for most rows, those that make all rows unique, and each attribute's part.

    The part of an attribute is the share of the unique rows that are unique no longer without it.
    """
    found, names = subject.unique_sets, subject.options.quasi
    by_rows = sorted((s for s in found.sets if s.minimal.size), key=lambda s: (-s.minimal.size, len(s.members)))
    keys: list[frozenset[int]] = []
    for one in sorted(found.sets, key=lambda s: len(s.members)):
        members = frozenset(one.members)
        if one.unique == subject.rows and not any(key < members for key in keys):
            keys.append(members)
    without = []
    for place in range(len(names)):
        others = [column for i, column in enumerate(subject.columns) if i != place]
        without.append(int((classes(others, subject.rows).sizes == 1).sum()))
    unique = subject.uniques
    return {
        "minimal_sets": {
            "largest": found.largest,
            "complete": found.complete,
            "sets": [
                {"columns": [names[i] for i in s.members], "rows": int(s.minimal.size), "unique": s.unique}
                for s in by_rows[:SHOWN]
            ],
            "number": len(by_rows),
            "identify_all": [[names[i] for i in sorted(key)] for key in keys[:SHOWN]],
            "attributes": [
                {"name": name, "unique_without": w, "contribution": (unique - w) / unique if unique else 0.0}
                for name, w in zip(names, without, strict=True)
            ],
        }
    }


def _lines(found: Mapping[str, Any]) -> list[Line]:
    sets = found["minimal_sets"]
    only = "rows that are unique on these and on no fewer of them"
    lines = [Line(" + ".join(s["columns"]), f"{s['rows']:,} rows", only, detail=True) for s in sets["sets"][:5]]
    lines += [Line(" + ".join(key), "every row is unique on these", detail=True) for key in sets["identify_all"][:3]]
    by = sorted(sets["attributes"], key=lambda a: -a["contribution"])[:6]
    share = ", ".join(f"{a['name']} {percent(a['contribution'])}" for a in by)
    lines.append(Line("unique rows that need the attribute", share, "they are not unique without it", detail=True))
    return lines


MINIMAL_SETS = Measure("minimal", "What makes rows unique", "minimal_sets", minimal_sets, _lines, slow=True)
