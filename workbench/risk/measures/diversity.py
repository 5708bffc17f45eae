"""ℓ-diversity: how many sensitive values a class leaves open (Machanavajjhala et al. 2007)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.risk.measures.base import Line, Measure, Subject
from workbench.risk.measures.sensitive_counts import SensitiveCounts, sensitive_counts


def distinct(found: SensitiveCounts) -> int:
    """Return the fewest different values of a class."""
    return int(np.bincount(found.of).min())


def entropy(found: SensitiveCounts) -> float:
    """Return the ℓ of entropy ℓ-diversity: e to the least entropy of a class, in nats."""
    shares = found.shares
    return float(np.exp(found.per_class(-shares * np.log(shares)).min()))


def recursive(found: SensitiveCounts, c: float) -> int:
    """Return the largest ℓ with r₁ < c·(r_ℓ + … + r_m) in every class, for counts r₁ ≥ r₂ ≥ …; 0 for none."""
    order = np.lexsort((-found.counts, found.of))
    counts, of = found.counts[order], found.of[order]
    before = np.cumsum(counts) - counts
    tail = found.sizes[of] - (before - before[found.first][of])
    holds = counts[found.first][of] < c * tail
    return int(found.per_class(holds.astype(np.int64)).min())


def diversity(subject: Subject) -> dict[str, Any]:
    """Return the three ℓ of each sensitive column, and the least of them."""
    c = subject.options.recursive
    columns: list[dict[str, Any]] = []
    for name in subject.options.sensitive:
        codes, _, _ = subject.sensitive(name)
        found = sensitive_counts(subject.classes.of, subject.classes.sizes, codes)
        alone = int((np.bincount(found.of) == 1).sum())
        rows = int(found.sizes[np.bincount(found.of) == 1].sum())
        ells = {"distinct": distinct(found), "entropy": entropy(found), "recursive": recursive(found, c)}
        columns.append({"name": name, **ells, "classes_with_one_value": alone, "rows_given_away": rows})
    least = {f"l_{key}": min(column[key] for column in columns) for key in ("distinct", "entropy", "recursive")}
    return {**least, "c": c, "diversity": columns}


def _lines(found: Mapping[str, Any]) -> list[Line]:
    lines, least = [], "how many values a class leaves open, at least"
    for column in found["diversity"]:
        name = column["name"]
        lines += [
            Line(f"distinct ℓ of {name}", f"{column['distinct']}", least),
            Line(f"entropy ℓ of {name}", f"{column['entropy']:.4g}", least),
            Line(f"recursive ℓ of {name}, c = {found['c']:g}", f"{column['recursive']}", least),
            Line(
                f"rows that give {name} away",
                f"{column['rows_given_away']:,} in {column['classes_with_one_value']:,} classes",
                "all rows of their class have one value",
            ),
        ]
    return lines


DIVERSITY = Measure("diversity", "ℓ-diversity", "diversity", diversity, _lines, anonymity=True, sensitive=True)
