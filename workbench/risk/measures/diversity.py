"""ℓ-diversity: how many sensitive values a class leaves open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.risk.classes import coded
from workbench.risk.measures.base import Line, Measure, Subject
from workbench.risk.sensitive_counts import sensitive_counts


def diversity(subject: Subject) -> dict[str, Any]:
    """Return the three ℓ of each sensitive column, and the least of them."""
    c = subject.options.recursive
    columns: list[dict[str, Any]] = []
    for name in subject.options.sensitive:
        codes, _ = coded(subject.table, name)
        found = sensitive_counts(subject.classes.of, subject.classes.sizes, codes)
        alone = found.distinct == 1
        columns.append(
            {
                "name": name,
                "distinct": int(found.distinct.min()),
                "entropy": float(np.exp(found.entropy.min())),
                "recursive": int(found.recursive(c).min()),
                "classes_with_one_value": int(alone.sum()),
                "rows_given_away": int(found.sizes[alone].sum()),
            }
        )
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
