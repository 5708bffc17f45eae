"""Pitman's sampling formula (Hoshino 2001), fitted by maximum likelihood."""

from __future__ import annotations

import numpy as np

from workbench.risk.measures.population.base import Estimate, PopulationModel, Sample

_EDGE = 1e-6


def log_likelihood(theta: float, alpha: float, sample: Sample) -> float:
    """Return ln L(θ, α) = Σᵢ₌₁ᵘ⁻¹ ln(θ + iα) − Σᵢ₌₁ⁿ⁻¹ ln(θ + i) + Σⱼ sⱼ Σᵢ₌₁ʲ⁻¹ ln(i − α), without its constant.

    Hoshino 2001, equation 5, the sums as differences of ln Γ.
    """
    from scipy.special import gammaln

    u, n = sample.number, sample.rows
    classes = (u - 1) * np.log(alpha) + gammaln(theta / alpha + u) - gammaln(theta / alpha + 1)
    rows = gammaln(theta + n) - gammaln(theta + 1)
    inside = (sample.counts * (gammaln(sample.sizes - alpha) - gammaln(1 - alpha))).sum()
    return float(classes - rows + inside)


def estimate(sample: Sample) -> Estimate | None:
    """Return Γ(θ + 1) / Γ(θ + α) · N^α, the expected number of uniques for large N (Hoshino 2001)."""
    from scipy.optimize import minimize
    from scipy.special import expit, gammaln, logit

    if sample.number < 2 or sample.number == sample.rows:
        return None  # one class, or all rows unique: the likelihood has its maximum at no finite θ or at α = 1

    def loss(point: np.ndarray) -> float:
        return -log_likelihood(float(np.exp(point[0])), float(expit(point[1])), sample)

    starts = [np.array([np.log(max(sample.number, 2) / 4), logit(a)]) for a in (0.2, 0.7)]
    bounds = [(np.log(1e-3), np.log(100.0 * sample.rows)), (logit(_EDGE), logit(1 - _EDGE))]
    tight = {"xatol": 1e-9, "fatol": 1e-9, "maxiter": 2000}
    fits = [minimize(loss, at, method="Nelder-Mead", bounds=bounds, options=tight) for at in starts]
    best = min(fits, key=lambda fit: float(fit.fun))
    inside = all(low + 1e-3 < x < high - 1e-3 for x, (low, high) in zip(best.x, bounds, strict=True))
    if not best.success or not inside:
        return None
    theta, alpha = float(np.exp(best.x[0])), float(expit(best.x[1]))
    unique = float(np.exp(gammaln(theta + 1) - gammaln(theta + alpha) + alpha * np.log(sample.people)))
    return Estimate(unique, {"θ": theta, "α": alpha}) if unique <= sample.people else None


PITMAN = PopulationModel("pitman", "Pitman, Hoshino 2001", estimate)
