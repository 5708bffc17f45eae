"""Cost and error of one mechanism, in closed form: Laplace, staircase, randomised response, shuffling."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from workbench.params import ParameterError

MOST_REPORTS = 10**9
_TAIL = 1e-3  # part of δ that is spent on the reports that are left out of the exact sum


def laplace(epsilon: float, sensitivity: float) -> float:
    """Return the scale b = Δ/ε of Laplace noise: E|X| = b, variance 2b² (Dwork, McSherry, Nissim & Smith 2006)."""
    _check(epsilon, sensitivity)
    return sensitivity / epsilon


def staircase(epsilon: float, sensitivity: float) -> tuple[float, float, float, float]:
    """Return γ of the least E|X| of staircase noise, that value, γ of its least variance, and that variance.

    γ is where a step breaks. E|X| = Δ·e^(ε/2)/(e^ε − 1) at γ = 1/(1 + e^(ε/2)) (Geng & Viswanath 2014); the variance is
    computed from the density (Geng et al. 2015) and minimised over γ.
    """
    _check(epsilon, sensitivity)
    b = math.exp(-epsilon)
    by_absolute = 1 / (1 + math.exp(epsilon / 2))
    absolute = sensitivity * math.exp(-epsilon / 2) / -math.expm1(-epsilon)
    low, high = 0.0, 1.0  # the variance falls, then rises with γ
    for _ in range(200):
        one, two = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, two) if _staircase_variance(one, b) < _staircase_variance(two, b) else (one, high)
    gamma = (low + high) / 2
    return by_absolute, absolute, gamma, sensitivity**2 * _staircase_variance(gamma, b)


def _staircase_variance(gamma: float, b: float) -> float:
    """Return E[X²] at Δ = 1: with probability b^k (1−b) the step k, the near part of it γ : (1−γ)·b the far one."""
    near, far = gamma, (1 - gamma) * b
    weight = near + far
    # On the near part X is uniform on [k, k + γ], on the far part on [k + γ, k + 1].
    first = (near * gamma / 2 + far * (1 + gamma) / 2) / weight
    second = (near * gamma**2 / 3 + far * (1 + gamma + gamma**2) / 3) / weight
    steps, squares = b / (1 - b), b * (1 + b) / (1 - b) ** 2
    return squares + 2 * steps * first + second


def randomised_response(epsilon: float, values: int) -> tuple[float, float, float]:
    """Return the probability p of the true one of k values and q of each other one, and the variance of a rare one.

    They are e^ε/(k − 1 + e^ε), 1/(k − 1 + e^ε), and n times that of its estimated share, q(1−q)/(p−q)².
    """
    _check(epsilon, 1.0)
    if isinstance(values, bool) or not 2 <= values <= 10**9:
        raise ParameterError(f"{values} values is not a whole number of at least 2", hint="give --values 2 or more")
    other = math.exp(-epsilon) / (1 + (values - 1) * math.exp(-epsilon))
    truth = 1 / (1 + (values - 1) * math.exp(-epsilon))
    return truth, other, other * (1 - other) / (truth - other) ** 2


@dataclass(frozen=True, slots=True)
class Shuffled:
    """What ``reports`` shuffled reports guarantee, for one replaced report."""

    epsilon: float  # an upper bound on ε at δ, the lesser of the two below and of the local ε
    exact: float | None  # by the exact sum over the reports that look alike; `None` if it gives nothing
    closed: float | None  # by the closed form; `None` where it does not hold


def shuffled(epsilon: float, reports: int, delta: float) -> Shuffled:
    """Return the central ε of ``reports`` local reports of ``epsilon`` each, in random order (replace-one neighbours).

    Feldman, McMillan & Talwar 2021: each other report looks like one of the two with probability e^−ε₀, so hides it as
    one of Binomial(n − 1, e^−ε₀) clones (Theorem 3.1); the divergence of the two counts is summed exactly. The closed
    form is ln(1 + (e^ε₀ − 1)/(e^ε₀ + 1)·(8√(e^ε₀·ln(4/δ))/√n + 8e^ε₀/n)), for ε₀ ≤ ln(n/(16·ln(2/δ))).

    Raises:
        ParameterError: an argument is out of range.
    """
    _check(epsilon, 1.0)
    if isinstance(reports, bool) or not 1 <= reports <= MOST_REPORTS:
        raise ParameterError(f"{reports} reports is not a whole number from 1 to 1e9", hint="give the number of rows")
    if not 1e-300 < delta < 1:
        raise ParameterError(f"delta = {delta} is not between 0 and 1", hint="give a δ such as 1e-6")
    closed = None
    if epsilon <= math.log(reports / (16 * math.log(2 / delta))):
        e = math.exp(epsilon)
        inner = 8 * math.sqrt(e * math.log(4 / delta) / reports) + 8 * e / reports
        closed = math.log1p(math.tanh(epsilon / 2) * inner) * (1 + 1e-12)
    exact = _by_clones(epsilon, reports, delta)
    return Shuffled(min(x for x in (epsilon, closed, exact) if x is not None), exact, closed)


def _by_clones(local: float, reports: int, delta: float) -> float | None:
    from scipy.stats import binom

    clones = binom(reports - 1, math.exp(-local))
    tail = _TAIL * delta
    least, most = int(clones.ppf(tail / 4)), int(clones.isf(tail / 4)) + 1
    least = max(0, least - 1)
    if most - least > 2_000_000:
        return None
    counts = np.arange(least, most + 1)
    weights = clones.pmf(counts)
    truth = 1 / (1 + math.exp(-local))

    def divergence(epsilon: float) -> float:
        edge = math.exp(epsilon)
        top, bottom = edge * truth - (1 - truth), truth - edge * (1 - truth)
        if bottom <= 0:
            return 0.0
        ratio = top / bottom
        first = np.ceil(ratio * (counts + 1) / (1 + ratio))  # fewest reports of the one kind that reveal more than ε
        one, two = binom.sf(first - 2, counts, 0.5), binom.sf(first - 1, counts, 0.5)
        each = (truth * one + (1 - truth) * two) - edge * ((1 - truth) * one + truth * two)
        return float(np.sum(weights * np.maximum(each, 0.0))) * (1 + 1e-9)

    allowed = delta * (1 - _TAIL)
    low, high = 0.0, local
    while high - low > 1e-6 * local:
        middle = (low + high) / 2
        low, high = (low, middle) if divergence(middle) <= allowed else (middle, high)
    return high


def _check(epsilon: float, sensitivity: float) -> None:
    if not 1e-6 <= epsilon <= 700:
        raise ParameterError(f"epsilon = {epsilon} is not between 1e-6 and 700", hint="give an ε such as 1")
    if not 0 < sensitivity <= 1e9:
        raise ParameterError(f"sensitivity = {sensitivity} is not a number above 0", hint="give 0 < Δ ≤ 1e9")
