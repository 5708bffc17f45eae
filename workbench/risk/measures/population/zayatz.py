"""Zayatz (1991): the class sizes of the sample stand for those of the population."""

from __future__ import annotations

import numpy as np

from workbench.risk.measures.population.base import Estimate, PopulationModel, Sample


def estimate(sample: Sample) -> Estimate:
    """Return s₁ P(F = 1 | f = 1) / π.

    P(F = 1 | f = 1) = p₁ P(f = 1 | F = 1) / Σⱼ pⱼ P(f = 1 | F = j), where pⱼ is the share of classes of size j in the
    sample and f given F = j is hypergeometric (Dankar et al. 2012, appendix A).
    """
    people, rows = float(round(sample.people)), sample.rows
    # P(f = 1 | F = j) = j·n/N·Π(1 − (n−1)/(N−i)) for 0 < i < j: SciPy's never ends where N is large.
    missed = 1 - (rows - 1) / np.maximum(people - np.arange(1, int(sample.sizes[-1])), rows - 1)
    chosen = sample.sizes * (rows / people) * np.cumprod([1.0, *missed])[sample.sizes - 1]
    alone = sample.of_size(1)
    chance = alone * chosen[0] / float((sample.counts * chosen).sum()) if alone else 0.0
    return Estimate(float(alone * chance / sample.fraction), {"P(F = 1 | f = 1)": float(chance)})


ZAYATZ = PopulationModel("zayatz", "Zayatz 1991", estimate)
