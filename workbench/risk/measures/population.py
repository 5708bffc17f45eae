"""Estimates of how many people are unique in the population, by model: one is a function and a line in the list."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.risk.distances import classes, coded
from workbench.risk.measures.base import Line, Measure, Subject, percent


@dataclass(frozen=True)
class Sample:
    """The classes of a sample."""

    sizes: np.ndarray  # the sizes that occur, ascending
    counts: np.ndarray  # how many classes have each
    fraction: float  # the share π of the population that was sampled, below 1

    @property
    def rows(self) -> int:
        """The number of rows, n."""
        return int((self.sizes * self.counts).sum())

    @property
    def number(self) -> int:
        """The number of classes, u."""
        return int(self.counts.sum())

    @property
    def people(self) -> float:
        """The size of the population, N = n / π."""
        return self.rows / self.fraction

    def of_size(self, size: int) -> int:
        """Return the number of classes of ``size`` rows."""
        return int(self.counts[self.sizes == size].sum())


@dataclass(frozen=True)
class Estimate:
    """People of the population who are alone in their class, and the parameters of the model by their symbols."""

    unique: float
    parameters: Mapping[str, float]


@dataclass(frozen=True)
class PopulationModel:
    """A way to estimate how many people of a population are unique; ``None`` where it does not fit the sample."""

    name: str
    title: str
    estimate: Callable[[Sample], Estimate | None]


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


def _pitman_estimate(sample: Sample) -> Estimate | None:
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


PITMAN = PopulationModel("pitman", "Pitman, Hoshino 2001", _pitman_estimate)


def _zayatz_estimate(sample: Sample) -> Estimate:
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


ZAYATZ = PopulationModel("zayatz", "Zayatz 1991", _zayatz_estimate)


def classes_in_population(sample: Sample) -> float:
    """Return K, the number of classes of the population, by Shlosser's modified estimator (Haas and Stokes 1998)."""
    i, f, q = sample.sizes, sample.counts, sample.fraction
    larger = (i * q**2 * (1 - q**2) ** (i - 1) * f).sum() / (((1 - q**2) ** i - (1 - q) ** i) * f).sum()
    unseen = ((1 - q) ** i * f).sum() / (i * q * (1 - q) ** (i - 1) * f).sum()
    return float(sample.number + sample.of_size(1) * larger * unseen**2)


def expected(classes: float, fraction: float, alpha: float, beta: float) -> tuple[float, float]:
    """Return the expected numbers of classes of size 1 and 2 in a sample.

    A class of the population has F = 1 + G people, where G is negative binomial: P(G = g) = C(α+g−1, g) βᵅ (1−β)ᵍ. A
    row is sampled with probability π, so that the generating function of f is G(1 − π + πz) with
    G(z) = z (β/(1−(1−β)z))ᵅ, whose derivatives give the two numbers.
    """
    z = 1 - fraction
    rest = 1 - (1 - beta) * z
    none = (beta / rest) ** alpha
    ones = classes * fraction * none * (1 + alpha * (1 - beta) * z / rest)
    inner = 2 - (1 - alpha) * (1 - beta) * z
    twos = classes * fraction**2 / 2 * alpha * (1 - beta) * none / rest**2 * inner
    return ones, twos


def _snb_estimate(sample: Sample) -> Estimate | None:
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


SNB = PopulationModel("snb", "slide negative binomial, Chen and Keller-McNulty 1998", _snb_estimate)


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
    people = Line("people", f"{population['size']:,.0f}", "population size, from the sample fraction")
    share, model = percent(population["share"]), population["model"]
    if model == COUNTED:
        return [people, Line("unique people", share, "no one else in the population has the same quasi-identifiers")]
    lines = [people, Line(f"unique people, by {model}", share, "by the model that Dankar's rule selects")]
    for name, figures in population["models"].items():
        if name != model:
            lines.append(Line(f"by {name}", "does not fit" if figures is None else percent(figures["share"])))
    return lines


POPULATION = Measure("population", "Unique in the population", "population", population_uniqueness, _lines)
