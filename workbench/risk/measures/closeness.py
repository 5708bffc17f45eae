"""t-closeness: how far a class's sensitive values are from those of the whole table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from workbench.params import ParameterError
from workbench.risk.classes import coded_by_size
from workbench.risk.distances import AUTO, HIERARCHICAL, farness, fitting
from workbench.risk.hierarchies.hierarchy import file_name
from workbench.risk.measures.base import Line, Measure, Subject
from workbench.risk.sensitive_counts import sensitive_counts


def closeness(subject: Subject) -> dict[str, Any]:
    """Return t of each sensitive column, the largest distance of a class, and the largest of them."""
    columns: list[dict[str, Any]] = []
    for name in subject.options.sensitive:
        codes, values, numbers = coded_by_size(subject.table, name)
        found = sensitive_counts(subject.classes.of, subject.classes.sizes, codes)
        whole = np.bincount(codes, minlength=len(values)) / subject.rows
        distance = subject.options.distance
        if distance == AUTO:
            distance = fitting(grouped=name in subject.hierarchies, numbers=numbers)
        levels = _levels(subject, name, values) if distance == HIERARCHICAL else ()
        far = farness(distance, found, whole, levels)
        columns.append({"name": name, "t": float(far.max()), "average": float(far.mean()), "distance": distance})
    return {"t": max(column["t"] for column in columns), "closeness": columns}


def _levels(subject: Subject, name: str, values: Sequence[str | None]) -> list[np.ndarray]:
    tree = subject.hierarchies.get(name)
    if tree is None:
        hint = f"give a folder of hierarchies with {file_name(name)}, or another distance"
        raise ParameterError(f"the sensitive column {name} has no hierarchy", "--distance", hint)
    return list(tree.of(values, name).codes[1:])


_FAR = {
    "equal": "how far sensitive values of a class are from those of the table, 0 to 1: any two differ equally",
    "ordered": "how far sensitive values of a class are from those of the table, 0 to 1: values are steps of a scale",
    "hierarchical": "how far sensitive values of a class are from those of the table, 0 to 1: values are in groups",
}


def _lines(found: Mapping[str, Any]) -> list[Line]:
    lines = []
    for column in found["closeness"]:
        far = _FAR[column["distance"]]
        lines.append(Line(f"t of {column['name']}", f"{column['t']:.4g}", far))
        lines.append(Line(f"average distance of {column['name']}", f"{column['average']:.4g}", far))
    return lines


CLOSENESS = Measure("closeness", "t-closeness", "closeness", closeness, _lines, anonymity=True, sensitive=True)
