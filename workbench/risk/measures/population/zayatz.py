"""Zayatz (1991): the class sizes of the sample stand for those of the population."""

from __future__ import annotations

from workbench.risk.measures.population.base import Estimate, PopulationModel, Sample


def estimate(sample: Sample) -> Estimate:
    """Return s₁ P(F = 1 | f = 1) / π.

    P(F = 1 | f = 1) = p₁ P(f = 1 | F = 1) / Σⱼ pⱼ P(f = 1 | F = j), where pⱼ is the share of classes of size j in the
    sample and f given F = j is hypergeometric (Dankar et al. 2012, appendix A).
    """
    from scipy.stats import hypergeom

    people = round(sample.people)
    chosen = hypergeom(people, sample.sizes, sample.rows).pmf(1)
    alone = sample.of_size(1)
    chance = alone * chosen[0] / float((sample.counts * chosen).sum()) if alone else 0.0
    return Estimate(float(alone * chance / sample.fraction), {"P(F = 1 | f = 1)": float(chance)})


ZAYATZ = PopulationModel("zayatz", "Zayatz 1991", estimate)
