"""Models of how many people of a population are unique; a new one is its file and a line in this list."""

from __future__ import annotations

from workbench.risk.measures.population.base import Estimate, PopulationModel, Sample
from workbench.risk.measures.population.pitman import PITMAN
from workbench.risk.measures.population.snb import SNB
from workbench.risk.measures.population.zayatz import ZAYATZ

POPULATION_MODELS: tuple[PopulationModel, ...] = (PITMAN, ZAYATZ, SNB)

SMALL_FRACTION = 0.1


def chosen(estimates: dict[str, Estimate | None], fraction: float) -> str:
    """Return the model that Dankar et al. (2012) choose: empty where the ones they choose from do not fit.

    Pitman up to a tenth of the population, Zayatz where Pitman does not fit; above it the smaller of SNB and Zayatz.
    """
    if fraction <= SMALL_FRACTION:
        order = [name for name in (PITMAN.name, ZAYATZ.name) if estimates.get(name) is not None]
        return order[0] if order else ""
    among = {name: e.unique for name in (SNB.name, ZAYATZ.name) if (e := estimates.get(name)) is not None}
    return min(among, key=lambda name: among[name]) if among else ""


__all__ = ["PITMAN", "POPULATION_MODELS", "SNB", "ZAYATZ", "Estimate", "PopulationModel", "Sample", "chosen"]
