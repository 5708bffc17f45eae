"""Measures of classes, the rows that are alike in the quasi-identifiers: sizes, risks, ℓ-diversity and t-closeness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from workbench.params import ParameterError
from workbench.params.amounts import counted
from workbench.risk.distances import AUTO, HIERARCHICAL, coded, coded_by_size, farness, fitting, sensitive_counts
from workbench.risk.hierarchies.hierarchy import file_name
from workbench.risk.measures.base import Line, Measure, Subject, percent

LOWS = (1, 2, 3, 5, 10)  # where the bars of a picture of class sizes begin


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


def _class_sizes_lines(found: Mapping[str, Any]) -> list[Line]:
    of = found["classes"]
    return [
        Line(
            "smallest class (k)",
            f"{found['k']:,}",
            "rows in the smallest class: each row shares its quasi-identifiers with at least k − 1 others",
        ),
        Line("unique rows", f"{found['unique']:,} ({percent(found['unique_share'])})", "rows unlike any other row"),
        Line("classes", f"{of['number']:,}", "groups of rows with the same quasi-identifiers"),
        Line("rows in a class, on average", f"{of['average']:.4g}"),
        Line("rows in the largest class", f"{of['largest']:,}"),
    ]


CLASS_SIZES = Measure("classes", "Classes", "classes", class_sizes, _class_sizes_lines, anonymity=True)


_LARGE, _TERMS = 50, 60  # from so many rows the series is summed, to so many terms: the rest is below 10⁻³⁰

TABLE, FRACTION, POPULATION = "the table", "the sample fraction", "the population table"


def class_risk(sizes: np.ndarray, fraction: float) -> np.ndarray:
    """Return for classes of ``sizes`` rows the expected 1/F, where F people of the population are in the class.

    Given f rows in a sample of fraction π, F is negative binomial with f successes of probability π (Benedetti and
    Franconi 1998), hence E(1/F) = (π/f) ₂F₁(1, 1; f + 1; 1 − π), after Euler's transformation.
    """
    from scipy.special import hyp2f1

    z = 1 - fraction
    # SciPy's has no value for some large f, where the series Σ zᵏ k! f! / (f + k)! ends soon.
    large = np.maximum(sizes, _LARGE).astype(float)[:, None]
    terms = np.arange(1, _TERMS + 1)
    series = 1 + np.cumprod(z * terms / (large + terms), axis=1).sum(axis=1)
    whole = np.where(sizes < _LARGE, hyp2f1(1, 1, np.minimum(sizes, _LARGE) + 1, z), series)
    risk: np.ndarray = fraction / sizes * whole
    return risk


def reidentification(subject: Subject) -> dict[str, Any]:
    """Return the three risks, as ARX defines them.

    The prosecutor knows that a person is in the table: 1/f. The journalist does not: 1/F, with F the people of the
    population in the class; its average is the larger of J/ΣF and Σ(f/F)/n for J classes. The marketer wants as many
    people as possible: Σ(f/F)/n. With a sample fraction 1/F is its expectation, and ΣF is n/π.
    """
    asked, rows, (sizes, counts) = subject.options, subject.rows, subject.sizes
    people, basis = subject.in_population, TABLE
    risks, whole = 1 / sizes, float(rows)
    if people is not None:
        sizes, counts, basis = subject.classes.sizes, np.ones(subject.classes.sizes.size, dtype=np.int64), POPULATION
        risks, whole = 1 / people, float(people.sum())
    elif subject.fraction < 1:
        risks, whole, basis = class_risk(sizes, subject.fraction), rows / subject.fraction, FRACTION
    number, weights = int(counts.sum()), sizes * counts
    marketer = float((weights * risks).sum()) / rows

    def risk(each: np.ndarray, average: float) -> dict[str, Any]:
        above = int(weights[each > asked.threshold].sum()) / rows
        return {"highest": float(each.max()), "average": average, "above_threshold": above}

    return {
        "risk": {
            "threshold": asked.threshold,
            "prosecutor": risk(1 / sizes, number / rows),
            "journalist": risk(risks, max(number / whole, marketer)) | {"basis": basis},
            "marketer": {"average": marketer, "basis": basis},
        }
    }


def _reidentification_lines(found: Mapping[str, Any]) -> list[Line]:
    risk, threshold = found["risk"], percent(found["risk"]["threshold"])
    knows = "probability of picking the right row for an attacker who knows that the person is in the table"
    guesses = "the same for an attacker who does not know whether the person is in the table"
    prosecutor, journalist = risk["prosecutor"], risk["journalist"]
    return [
        Line("highest, presence known (prosecutor)", percent(prosecutor["highest"]), knows),
        Line("average, presence known (prosecutor)", percent(prosecutor["average"]), knows),
        Line(
            f"above {threshold}, presence known (prosecutor)",
            percent(prosecutor["above_threshold"]),
            knows,
        ),
        Line("highest, presence unknown (journalist)", percent(journalist["highest"]), guesses),
        Line("average, presence unknown (journalist)", percent(journalist["average"]), guesses),
        Line(
            f"above {threshold}, presence unknown (journalist)",
            percent(journalist["above_threshold"]),
            guesses,
        ),
        Line(
            "average over all rows (marketer)",
            percent(risk["marketer"]["average"]),
            "expected share of rows found by guessing within each class",
        ),
    ]


REIDENTIFICATION = Measure(
    "reidentification", "Re-identification risk", "risk", reidentification, _reidentification_lines, anonymity=True
)


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


def _diversity_lines(found: Mapping[str, Any]) -> list[Line]:
    lines, least = [], "minimum number of possible values per class"
    for column in found["diversity"]:
        name = column["name"]
        lines += [
            Line(f"distinct values of {name} (distinct ℓ)", f"{column['distinct']}", least),
            Line(f"evenly distributed values of {name} (entropy ℓ)", f"{column['entropy']:.4g}", least),
            Line(f"no dominant value of {name} (recursive ℓ, c = {found['c']:g})", f"{column['recursive']}", least),
            Line(
                f"rows that reveal {name}",
                f"{column['rows_given_away']:,} in {counted(column['classes_with_one_value'], 'class', 'classes')}",
                "all rows of their class have the same value",
            ),
        ]
    return lines


DIVERSITY = Measure(
    "diversity",
    "Values in a class (ℓ-diversity)",
    "diversity",
    diversity,
    _diversity_lines,
    anonymity=True,
    sensitive=True,
)


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
        hint = f"use a folder of hierarchies with {file_name(name)}, or another distance"
        raise ParameterError(f"the sensitive column {name} has no hierarchy", "--distance", hint)
    return list(tree.of(values, name).codes[1:])


_FAR = {
    "equal": "distance of the sensitive values of a class from the table's, 0 to 1: any two values differ equally",
    "ordered": "distance of the sensitive values of a class from the table's, 0 to 1: values are ordered",
    "hierarchical": "distance of the sensitive values of a class from the table's, 0 to 1: values are in a hierarchy",
}


def _closeness_lines(found: Mapping[str, Any]) -> list[Line]:
    lines = []
    for column in found["closeness"]:
        far = _FAR[column["distance"]]
        lines.append(Line(f"largest distance of {column['name']} (t)", f"{column['t']:.4g}", far))
        lines.append(Line(f"average distance of {column['name']}", f"{column['average']:.4g}", far))
    return lines


CLOSENESS = Measure(
    "closeness",
    "Distance from the table (t-closeness)",
    "closeness",
    closeness,
    _closeness_lines,
    anonymity=True,
    sensitive=True,
)
