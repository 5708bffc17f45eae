"""Re-identification risk measures of a table; a new one is a file and a line in this list."""

from __future__ import annotations

from typing import Any

from workbench.risk.measures.base import Line, Measure, RiskOptions, Subject
from workbench.risk.measures.class_measures import CLASS_SIZES, CLOSENESS, DIVERSITY, REIDENTIFICATION
from workbench.risk.measures.hipaa import HIPAA_HINTS
from workbench.risk.measures.population import POPULATION
from workbench.risk.measures.unique_measures import IDENTIFIERS, MINIMAL_SETS, SPECIAL_UNIQUES

MEASURES: tuple[Measure, ...] = (
    CLASS_SIZES,
    REIDENTIFICATION,
    POPULATION,
    DIVERSITY,
    CLOSENESS,
    SPECIAL_UNIQUES,
    MINIMAL_SETS,
    IDENTIFIERS,
    HIPAA_HINTS,
)


def measures_of(subject: Subject, *, anonymity: bool = False) -> tuple[Measure, ...]:
    """Return the measures that can be made of ``subject``, or those of them that ``workbench anonymity`` has."""
    able = [m for m in MEASURES if subject.options.sensitive or not m.sensitive]
    return tuple(m for m in able if m.anonymity or not anonymity)


def measured(subject: Subject, *, anonymity: bool = False) -> dict[str, Any]:
    """Return the figures of every measure, as ``--json`` prints them."""
    figures: dict[str, Any] = {}
    for measure in measures_of(subject, anonymity=anonymity):
        subject.cancel.check()
        figures |= measure.of(subject)
    return figures


__all__ = ["MEASURES", "Line", "Measure", "RiskOptions", "Subject", "measured", "measures_of"]
