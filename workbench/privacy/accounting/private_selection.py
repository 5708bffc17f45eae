"""Publishing the best of several runs: a random number of tries costs far less than all of them.

Papernot & Steinke 2022, "Hyperparameter Tuning with Rényi Differential Privacy": draw how often to try, each time
train with settings drawn at random, and publish the best run alone. The cost depends on the distribution of the number
of tries, which must be secret and random: whoever tries a fixed number pays for every run.

What decides which run is the best is a part of what each run gives away: it must be measured on public rows, or paid.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal, localcontext

import numpy as np
from numpy.typing import NDArray

from workbench.params import ParameterError
from workbench.privacy.accounting.accountant import converted, renyi
from workbench.privacy.accounting.event import PoissonGaussian
from workbench.privacy.central.number_of_tries import log_inverse_gamma

LOGARITHMIC, POISSON = "logarithmic", "Poisson"


@dataclass(frozen=True)
class Selection:
    """What publishing the best run costs."""

    epsilon: float  # an upper bound on ε at `delta`, zero-out neighbours
    delta: float  # δ
    tries: float  # the expected number of tries
    number: str  # the distribution of the number of tries: `LOGARITHMIC` or `POISSON`


def best_of(runs: Sequence[PoissonGaussian], delta: float, tries: float) -> Selection:
    """Return the cost of publishing the best of ``tries`` runs, on average, each with settings drawn from ``runs``.

    Args:
        runs: the settings that a try may draw, any distribution over them that does not depend on the rows.
        delta: δ of the whole.
        tries: the expected number of tries, 1 or more.

    Raises:
        ParameterError: there is no run, or a number is out of range.
    """
    if not runs:
        raise ParameterError("there is no run to choose from", hint="name a setting")
    if not 0 < delta < 1:
        raise ParameterError(f"delta = {delta:g} is not between 0 and 1", hint="give a δ such as 1e-5")
    if not 1 <= tries <= 1e9:
        raise ParameterError(f"{tries:g} tries are not possible", hint="give 1 to 1e9")
    known = [renyi(run) for run in runs]
    orders = known[0][0]
    # A try with random settings is a mixture: it diverges by no more than the worst of them, at every order.
    one = np.max([divergence for _, divergence in known], axis=0)
    found = []
    for number, bound in ((LOGARITHMIC, _logarithmic), (POISSON, _poisson)):
        epsilons = converted(orders, bound(orders, one, tries), delta)
        found.append(Selection(max(0.0, float(np.nanmin(epsilons))), delta, tries, number))
    return min(found, key=lambda s: s.epsilon)


def epsilon_of_try(epsilon: Decimal) -> Decimal:
    """Return the pure ε that one try may cost where publishing the best of them costs ``epsilon``: half of it.

    The best of a number of tries with the truncated negative binomial distribution is (2 + η)·ε-private where one try
    is ε-private (Papernot & Steinke 2022, Corollary 3); the logarithmic one has η = 0. The expected number of tries
    does not matter.
    """
    with localcontext() as context:
        context.prec, context.rounding = 50, ROUND_FLOOR
        return epsilon / 2


def _logarithmic(orders: NDArray[np.float64], one: NDArray[np.float64], tries: float) -> NDArray[np.float64]:
    """Return Rényi divergences of a logarithmic number of tries (Theorem 2 with η = 0).

    ε' = ε(α) + (1 − 1/α̂)·ε(α̂) + ln(1/γ)/α̂ + ln(E[K])/(α − 1), for any order α̂; E[K] = (1/γ − 1)/ln(1/γ).
    """
    spread = log_inverse_gamma(tries)
    beside = float(np.min((1 - 1 / orders) * one + spread / orders))
    return one + beside + math.log(tries) / (orders - 1)


def _poisson(orders: NDArray[np.float64], one: NDArray[np.float64], tries: float) -> NDArray[np.float64]:
    """Return Rényi divergences of a Poisson number of tries (Theorem 6).

    ε' = ε(α) + E[K]·δ̂ + ln(E[K])/(α − 1), where a try is (ln(1 + 1/(α − 1)), δ̂)-private.
    """
    allowed = np.log1p(1 / (orders - 1))
    # δ at each of these ε by every order (Canonne, Kamath & Steinke 2020, Proposition 12); the least is taken.
    with np.errstate(over="ignore", invalid="ignore"):
        logs = (orders[None, :] - 1) * (one[None, :] - allowed[:, None]) + (
            orders * np.log1p(-1 / orders) - np.log(orders - 1)
        )[None, :]
        deltas: NDArray[np.float64] = np.exp(np.minimum(np.nanmin(logs, axis=1), 0.0))
    total: NDArray[np.float64] = one + tries * deltas + math.log(tries) / (orders - 1)
    return total
