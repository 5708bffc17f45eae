"""How many people of the population are unique: counted where it is known, estimated from a sample fraction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.risk.classes import classes, coded
from workbench.risk.measures.base import Line, Measure, Subject, percent
from workbench.risk.measures.population import POPULATION_MODELS, Sample, chosen

COUNTED = "counted"


def population_uniqueness(subject: Subject) -> dict[str, Any]:
    """Return the unique people of the population by each model, and by the one that Dankar's rule chooses."""
    fraction = subject.fraction
    if subject.population is not None:
        people = subject.population
        sizes = classes([coded(people, name)[0] for name in subject.options.quasi], people.rows).sizes
        return _stated(fraction, people.rows, float((sizes == 1).sum()), COUNTED, {})
    if fraction == 1:
        return _stated(fraction, subject.rows, float(subject.uniques), COUNTED, {})
    sample = Sample(*subject.sizes, fraction)
    if not subject.uniques:
        return _stated(fraction, sample.people, 0.0, COUNTED, {})
    found = {model.name: model.estimate(sample) for model in POPULATION_MODELS}
    name = chosen(found, fraction)
    best = found[name] if name else None
    models = {
        model: None if e is None else {"unique": e.unique, "share": e.unique / sample.people, **e.parameters}
        for model, e in found.items()
    }
    return _stated(fraction, sample.people, None if best is None else best.unique, name or "none fits", models)


def _stated(fraction: float, people: float, unique: float | None, model: str, models: dict[str, Any]) -> dict[str, Any]:
    share = None if unique is None else unique / people
    return {
        "population": {
            "sample_fraction": fraction,
            "size": people,
            "unique": unique,
            "share": share,
            "model": model,
            "models": models,
        }
    }


def _lines(found: Mapping[str, Any]) -> list[Line]:
    population = found["population"]
    if population["share"] is None:
        return [Line("unique people", "no model fits", "too few classes, or all rows are unique")]
    people = Line("people", f"{population['size']:,.0f}", "the population, by the sample fraction")
    share, model = percent(population["share"]), population["model"]
    if model == COUNTED:
        return [people, Line("unique people", share, "nobody else in the population is like them")]
    lines = [people, Line(f"unique people, by {model}", share, "by the model that Dankar's rule chooses")]
    for name, figures in population["models"].items():
        if name != model:
            lines.append(Line(f"by {name}", "does not fit" if figures is None else percent(figures["share"])))
    return lines


POPULATION = Measure("population", "Unique in the population", "population", population_uniqueness, _lines)
