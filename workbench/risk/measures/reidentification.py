"""Prosecutor, journalist and marketer risk (El Emam, Guide to the De-Identification of Personal Health Information)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.risk.measures.base import Line, Measure, Subject, percent

TABLE, FRACTION, POPULATION = "the table", "the sample fraction", "the population table"


def class_risk(sizes: np.ndarray, fraction: float) -> np.ndarray:
    """Return for classes of ``sizes`` rows the expected 1/F, where F people of the population are in the class.

    Given f rows in a sample of fraction π, F is negative binomial with f successes of probability π (Benedetti and
    Franconi 1998), hence E(1/F) = (π/f) ₂F₁(1, 1; f + 1; 1 − π), after Euler's transformation.
    """
    from scipy.special import hyp2f1

    risk: np.ndarray = fraction / sizes * hyp2f1(1, 1, sizes + 1, 1 - fraction)
    return risk


def reidentification(subject: Subject) -> dict[str, Any]:
    """Return the three risks, as ARX defines them.

    The prosecutor knows that a person is in the table: 1/f. The journalist does not: 1/F, with F the people of the
    population in the class; its average is the larger of J/ΣF and Σ(f/F)/n for J classes. The marketer wants as many
    people as possible: Σ(f/F)/n. With a sample fraction 1/F is its expectation, and ΣF is n/π.
    """
    sizes, asked, rows = subject.classes.sizes, subject.options, subject.rows
    people, basis = subject.in_population, POPULATION
    if people is not None:
        risks, whole = 1 / people, float(people.sum())
    elif asked.sample_fraction not in (None, 1.0):
        assert asked.sample_fraction is not None
        different, place = np.unique(sizes, return_inverse=True)
        risks, whole, basis = (
            class_risk(different, asked.sample_fraction)[place],
            rows / asked.sample_fraction,
            FRACTION,
        )
    else:
        risks, whole, basis = 1 / sizes, float(rows), TABLE
    marketer = float((sizes * risks).sum()) / rows
    return {
        "risk": {
            "threshold": asked.threshold,
            "prosecutor": _risk(1 / sizes, sizes, asked.threshold, sizes.size / rows),
            "journalist": _risk(risks, sizes, asked.threshold, max(sizes.size / whole, marketer)) | {"basis": basis},
            "marketer": {"average": marketer, "basis": basis},
        }
    }


def _risk(risks: np.ndarray, sizes: np.ndarray, threshold: float, average: float) -> dict[str, Any]:
    above = float(sizes[risks > threshold].sum() / sizes.sum())
    return {"highest": float(risks.max()), "average": average, "above_threshold": above}


def _lines(found: Mapping[str, Any]) -> list[Line]:
    risk = found["risk"]
    over = f"above {percent(risk['threshold'])}"
    who = {"prosecutor": "who knows that a person is in the table", "journalist": "who does not know it"}
    lines = [
        Line(
            f"{name}: highest, average, {over}",
            ", ".join(percent(risk[name][key]) for key in ("highest", "average", "above_threshold")),
            f"the chance that somebody {knows} takes the right row",
        )
        for name, knows in who.items()
    ]
    found_by = "share of the rows that are found by guessing in each class"
    return [*lines, Line("marketer: average", percent(risk["marketer"]["average"]), found_by)]


REIDENTIFICATION = Measure("reidentification", "Risk of being found", "risk", reidentification, _lines, anonymity=True)
