"""k, unique rows and the sizes of equivalence classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.risk.measures.base import Line, Measure, Subject, percent


def class_sizes(subject: Subject) -> dict[str, Any]:
    """Return k (the smallest class; Samarati and Sweeney 1998), unique rows and the histogram of class sizes."""
    sizes, counts = subject.sizes
    number = int(counts.sum())
    return {
        "rows": subject.rows,
        "unique": subject.uniques,
        "unique_share": subject.uniques / subject.rows,
        "k": int(sizes[0]),
        "classes": {
            "number": number,
            "smallest": int(sizes[0]),
            "average": subject.rows / number,
            "largest": int(sizes[-1]),
            "histogram": [{"size": int(s), "classes": int(c)} for s, c in zip(sizes, counts, strict=True)],
        },
    }


def _lines(found: Mapping[str, Any]) -> list[Line]:
    of = found["classes"]
    return [
        Line("k", f"{found['k']:,}", "rows in the smallest class: each row is like at least k − 1 others"),
        Line("unique rows", f"{found['unique']:,} of {found['rows']:,} ({percent(found['unique_share'])})"),
        Line("classes", f"{of['number']:,}", "groups of rows with the same quasi-identifiers"),
        Line("rows in a class", f"{of['average']:.4g} on average, {of['largest']:,} at most"),
    ]


CLASS_SIZES = Measure("classes", "Classes", "classes", class_sizes, _lines, anonymity=True)
