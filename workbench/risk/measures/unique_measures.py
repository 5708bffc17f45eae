"""Measures of uniqueness: sets of columns, special uniques and single columns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.params.amounts import counted
from workbench.risk.distances import classes
from workbench.risk.measures.base import Line, Measure, Subject, percent

SHOWN = 20  # how many rows are listed, the highest scores first


@dataclass(frozen=True)
class Scores:
    """How special each row is."""

    # The score of each row: the sum over its minimal unique sets of ∏ᵢ₌ₖᴹ (A − i), for k attributes of a set, A in all,
    # and M the largest size that was searched, at most A − 1.
    rows: np.ndarray
    attributes: np.ndarray  # the sum of the scores of the sets that contain each attribute
    by_size: tuple[int, ...]  # how many minimal unique sets have each size, from 1
    sets: np.ndarray  # how many minimal unique sets each row has


def scores(subject: Subject) -> Scores:
    """Return the scores of a table; a row that only all attributes together make unique has none."""
    found = subject.unique_sets
    most = min(found.largest, found.attributes - 1)
    rows, sets = np.zeros(found.rows), np.zeros(found.rows, dtype=np.int64)
    attributes, by_size = np.zeros(found.attributes), [0] * most
    for one in found.sets:
        size = len(one.members)
        if size > most:
            continue
        weight = float(math.prod(found.attributes - i for i in range(size, most + 1)))
        rows[one.minimal] += weight
        sets[one.minimal] += 1
        attributes[list(one.members)] += weight * one.minimal.size
        by_size[size - 1] += one.minimal.size
    return Scores(rows, attributes, tuple(by_size), sets)


def intrusion(subject: Subject) -> float:
    """Return θ, the chance that a match with a unique row is right; 1 where the table is the population.

    θ = n₁π / (n₁π + 2n₂(1 − π)) for n₁ unique rows and n₂ classes of two (Skinner and Elliot 2002).
    """
    fraction = subject.fraction
    ones, twos = subject.uniques, int((subject.classes.sizes == 2).sum())
    return ones * fraction / (ones * fraction + 2 * twos * (1 - fraction)) if ones else 0.0


def minimal_sets_of(subject: Subject, rows: np.ndarray) -> dict[int, list[tuple[str, ...]]]:
    """Return the minimal unique sets of each of ``rows``, the smallest first."""
    names, rows = subject.options.quasi, np.sort(rows)
    sets: dict[int, list[tuple[str, ...]]] = {int(row): [] for row in rows}
    for one in sorted(subject.unique_sets.sets, key=lambda s: len(s.members)):
        for row in np.intersect1d(rows, one.minimal, assume_unique=True):
            sets[int(row)].append(tuple(names[i] for i in one.members))
    return sets


def special_uniques(subject: Subject) -> dict[str, Any]:
    """Return special uniques by row and attribute; θ n₁ is shared out by score as a row's ``dis``, at most 1."""
    found, most = scores(subject), min(subject.unique_sets.largest, subject.unique_sets.attributes - 1)
    total, theta = float(found.rows.sum()), intrusion(subject)
    special = np.flatnonzero(found.sets)
    first = special[np.argsort(-found.rows[special], kind="stable")[:SHOWN]]
    each = theta * subject.uniques / total if total else 0.0
    names = subject.options.quasi
    sets = minimal_sets_of(subject, first)
    return {
        "special": {
            "largest": most,
            "complete": most == len(names) - 1,
            "rows": int(special.size),
            "sets": int(found.sets.sum()),
            "by_size": list(found.by_size),
            "dis": theta,
            "attributes": [
                {"name": name, "contribution": float(score) / total if total else 0.0}
                for name, score in zip(names, found.attributes, strict=True)
            ],
            "highest": [
                {
                    "row": int(row) + 1,
                    "score": float(found.rows[row]),
                    "dis": min(1.0, each * float(found.rows[row])),
                    "sets": [list(s) for s in sets[int(row)] if len(s) <= most],
                }
                for row in first
            ],
        }
    }


def _special_uniques_lines(found: Mapping[str, Any]) -> list[Line]:
    special = found["special"]
    by_size = [(number, size) for size, number in enumerate(special["by_size"], 1) if number]
    sizes = "; ".join(f"{n:,} of {size} attributes" if size > 1 else f"{n:,} of one attribute" for n, size in by_size)
    searched = "all sizes" if special["complete"] else f"up to {special['largest']} attributes"
    by = sorted(special["attributes"], key=lambda a: -a["contribution"])[:6]
    lines = [
        Line(
            "special uniques",
            counted(special["rows"], "row"),
            "rows that a subset of the attributes already makes unique",
        ),
        Line(f"their minimal attribute sets ({searched})", sizes or "none"),
    ]
    if special["rows"]:
        share = ", ".join(f"{a['name']} {percent(a['contribution'])}" for a in by)
        lines.append(Line("part of the score, by attribute", share, "of the sets that contain it", detail=True))
    for row in special["highest"][:5]:
        on = "; ".join(" + ".join(names) for names in row["sets"][:3])
        lines.append(Line(f"row {row['row']:,}", f"score {row['score']:g}: unique on {on}", detail=True))
    return lines


SPECIAL_UNIQUES = Measure("special", "Special uniques", "special", special_uniques, _special_uniques_lines, slow=True)


SETS_SHOWN = 20


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
                for s in by_rows[:SETS_SHOWN]
            ],
            "number": len(by_rows),
            "identify_all": [[names[i] for i in sorted(key)] for key in keys[:SETS_SHOWN]],
            "attributes": [
                {"name": name, "unique_without": w, "contribution": (unique - w) / unique if unique else 0.0}
                for name, w in zip(names, without, strict=True)
            ],
        }
    }


def _minimal_sets_lines(found: Mapping[str, Any]) -> list[Line]:
    sets = found["minimal_sets"]
    only = "rows unique on these but on no smaller set"
    lines = [Line(" + ".join(s["columns"]), counted(s["rows"], "row"), only, detail=True) for s in sets["sets"][:5]]
    lines += [
        Line(" + ".join(key), "every row is unique on these attributes", detail=True)
        for key in sets["identify_all"][:3]
    ]
    by = sorted(sets["attributes"], key=lambda a: -a["contribution"])[:6]
    share = ", ".join(f"{a['name']} {percent(a['contribution'])}" for a in by)
    lines.append(Line("unique rows that need the attribute", share, "they are not unique without it", detail=True))
    return lines


MINIMAL_SETS = Measure(
    "minimal", "What makes rows unique", "minimal_sets", minimal_sets, _minimal_sets_lines, slow=True
)


COLUMNS_SHOWN = 50


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
    return {"identifiers": [*single, *larger[: max(0, COLUMNS_SHOWN - len(single))]]}


def _identifiers_lines(found: Mapping[str, Any]) -> list[Line]:
    return [
        Line(
            " + ".join(one["columns"]),
            f"{percent(one['distinction'])} distinct, {percent(one['separation'])} of pairs separated",
            detail=True,
        )
        for one in found["identifiers"]
        if len(one["columns"]) == 1
    ]


IDENTIFIERS = Measure(
    "identifiers", "Distinction and separation", "identifiers", identifiers, _identifiers_lines, slow=True
)
