"""Prosecutor, journalist and marketer risk (El Emam, Guide to the De-Identification of Personal Health Information)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.risk.measures.base import Line, Measure, Subject, percent

_LARGE, _TERMS = 50, 60
"""From so many rows the series is summed, to so many terms: the rest is below 10⁻³⁰."""

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


def _lines(found: Mapping[str, Any]) -> list[Line]:
    risk, threshold = found["risk"], percent(found["risk"]["threshold"])
    knows = "the chance of whoever knows that a person is in the table to take the right row"
    guesses = "the chance of whoever does not know that the person is in the table"
    prosecutor, journalist = risk["prosecutor"], risk["journalist"]
    return [
        Line("prosecutor: highest risk", percent(prosecutor["highest"]), knows),
        Line("prosecutor: average risk", percent(prosecutor["average"]), knows),
        Line(f"prosecutor: rows above {threshold}", percent(prosecutor["above_threshold"]), knows),
        Line("journalist: highest risk", percent(journalist["highest"]), guesses),
        Line("journalist: average risk", percent(journalist["average"]), guesses),
        Line(f"journalist: rows above {threshold}", percent(journalist["above_threshold"]), guesses),
        Line(
            "marketer: average risk",
            percent(risk["marketer"]["average"]),
            "share of the rows that are found by a guess in each class",
        ),
    ]


REIDENTIFICATION = Measure("reidentification", "Risk of being found", "risk", reidentification, _lines, anonymity=True)
