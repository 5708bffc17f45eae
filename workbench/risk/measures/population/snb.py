"""The slide negative binomial model (Chen and Keller-McNulty 1998), fitted by moments.

A class of the population has F = 1 + G people, where G is negative binomial: P(G = g) = C(α+g−1, g) βᵅ (1−β)ᵍ. A row is
sampled with probability π, so that the generating function of f is G(1 − π + πz) with G(z) = z (β/(1−(1−β)z))ᵅ, whose
derivatives give the expected numbers of classes of size 1 and 2.
"""

from __future__ import annotations

import numpy as np

from workbench.risk.measures.population.base import Estimate, PopulationModel, Sample


def classes_in_population(sample: Sample) -> float:
    """Return K, the number of classes of the population, by Shlosser's modified estimator (Haas and Stokes 1998)."""
    i, f, q = sample.sizes, sample.counts, sample.fraction
    larger = (i * q**2 * (1 - q**2) ** (i - 1) * f).sum() / (((1 - q**2) ** i - (1 - q) ** i) * f).sum()
    unseen = ((1 - q) ** i * f).sum() / (i * q * (1 - q) ** (i - 1) * f).sum()
    return float(sample.number + sample.of_size(1) * larger * unseen**2)


def expected(classes: float, fraction: float, alpha: float, beta: float) -> tuple[float, float]:
    """Return the expected numbers of classes of size 1 and 2 in a sample."""
    z = 1 - fraction
    rest = 1 - (1 - beta) * z
    none = (beta / rest) ** alpha
    ones = classes * fraction * none * (1 + alpha * (1 - beta) * z / rest)
    inner = 2 - (1 - alpha) * (1 - beta) * z
    twos = classes * fraction**2 / 2 * alpha * (1 - beta) * none / rest**2 * inner
    return ones, twos


def estimate(sample: Sample) -> Estimate | None:
    """Return K βᵅ, with α and β at which as many classes of size 1 and 2 are expected as there are."""
    from scipy.optimize import least_squares
    from scipy.special import expit

    seen = sample.of_size(1), sample.of_size(2)
    if not all(seen):
        return None
    classes = classes_in_population(sample)

    def misfit(point: np.ndarray) -> np.ndarray:
        found = expected(classes, sample.fraction, float(np.exp(point[0])), float(expit(point[1])))
        return np.log(np.maximum(found, 1e-300)) - np.log(seen)

    starts = [(a, b) for a in (-2.0, 0.0, 2.0) for b in (-5.0, -1.0, 2.0)]
    fits = [least_squares(misfit, at, bounds=([-12, -20], [8, 20])) for at in starts]
    best = min(fits, key=lambda fit: float(fit.cost))
    if best.cost > 1e-12:
        return None  # no α and β fit: the model has no solution for this sample
    alpha, beta = float(np.exp(best.x[0])), float(expit(best.x[1]))
    return Estimate(classes * beta**alpha, {"K": classes, "α": alpha, "β": beta})


SNB = PopulationModel("snb", "slide negative binomial, Chen and Keller-McNulty 1998", estimate)
