"""k, unique rows and the sizes of equivalence classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.risk.measures.base import Line, Measure, Subject, percent

LOWS = (1, 2, 3, 5, 10)
"""Where the bars of a picture of class sizes begin."""


def bars(sizes: np.ndarray, counts: np.ndarray) -> list[dict[str, int | None]]:
    """Return how many rows are in classes of each size or range of sizes; the last range has no end."""
    ends = [*(low - 1 for low in LOWS[1:]), None]
    found = []
    for low, end in zip(LOWS, ends, strict=True):
        inside = (sizes >= low) & (sizes <= (end or sizes.max()))
        found.append({"from": low, "to": end, "rows": int((sizes * counts)[inside].sum())})
    return found


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
            "bars": bars(sizes, counts),
            "histogram": [{"size": int(s), "classes": int(c)} for s, c in zip(sizes, counts, strict=True)],
        },
    }


def _lines(found: Mapping[str, Any]) -> list[Line]:
    of = found["classes"]
    return [
        Line("k", f"{found['k']:,}", "rows in the smallest class: each row is like at least k − 1 others"),
        Line(
            "unique rows", f"{found['unique']:,} ({percent(found['unique_share'])})", "rows that no other row is like"
        ),
        Line("classes", f"{of['number']:,}", "groups of rows with the same quasi-identifiers"),
        Line("rows in a class, on average", f"{of['average']:.4g}"),
        Line("rows in the largest class", f"{of['largest']:,}"),
    ]


CLASS_SIZES = Measure("classes", "Classes", "classes", class_sizes, _lines, anonymity=True)
