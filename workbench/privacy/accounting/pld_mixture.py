"""Composition of different events by their privacy loss distributions, the tightest accountant of a mixture.

Each leaf becomes a pessimistic discrete distribution on one grid (Doroshenko et al. 2022), and all are convolved. A
ρ-zCDP release has no distribution that is worst at every ε: it enters as the (ε, δ) that it guarantees for a part of δ.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from workbench.privacy.accounting.accountant import FINE, composed_with_itself, pld_of_one
from workbench.privacy.accounting.concentrated import zcdp_epsilon
from workbench.privacy.accounting.event import ApproximateDp, GaussianNoise, PureDp, ZeroConcentrated
from workbench.privacy.accounting.event_alternatives import EventCounts, PoissonStep, SimpleEvent

_MOST_CELLS = 2**17
_FINE_PERSON = 2**-9  # width of a cell relative to ε where a person has several rows: each cell takes a millisecond
_ROUNDING_LEAST, _ROUNDING = 1e-12, 1e-15
"""Taken off δ for the rounding of the Fourier transforms: at least, and for each event."""
_SHARES = (0.5, 0.9, 0.1)  # parts of δ that are tried for zCDP releases beside others


def pld_total(leaves: EventCounts, slack: float, bound: float) -> tuple[float, float] | None:
    """Return (ε, width of a cell) of all ``leaves`` at a further δ of ``slack``.

    Args:
        leaves: the events and how often each happens.
        slack: δ beyond that of the (ε, δ) releases.
        bound: an upper bound on ε by another account, which sets the grid.

    Returns:
        The bound; ``None`` where δ is too near the rounding errors, or the loss too large for the grid.
    """
    zcdp = [(float(leaf.rho), count) for leaf, count in leaves.items() if isinstance(leaf, ZeroConcentrated)]
    if not zcdp:
        return _composed(leaves, slack, bound)
    rho = sum(r * count for r, count in zcdp) * (1 + 1e-12)
    others: dict[SimpleEvent, int] = {
        leaf: count for leaf, count in leaves.items() if not isinstance(leaf, ZeroConcentrated)
    }
    if not others:
        return None
    found = []
    for share in _SHARES:
        epsilon = zcdp_epsilon(rho, share * slack)[0]
        rest = _composed(others, (1 - share) * slack, bound, extra=epsilon)
        if rest is not None:
            found.append(rest)
    return min(found, default=None)


def _composed(leaves: EventCounts, slack: float, bound: float, extra: float = 0.0) -> tuple[float, float] | None:
    events = sum(leaves.values())
    delta = slack - max(_ROUNDING_LEAST, _ROUNDING * events)
    if delta < 9 * _ROUNDING_LEAST or not 0 < bound < 10_000:
        return None
    reach = max([_reach(leaf) for leaf in leaves] + [extra])
    least = reach / _MOST_CELLS
    fine = _FINE_PERSON if any(isinstance(leaf, PoissonStep) and leaf.rows > 1 for leaf in leaves) else FINE
    epsilon = cell = math.inf
    for _ in range(3):
        aimed = min(bound, epsilon)
        finer = 2.0 ** math.floor(math.log2(max(fine * aimed, least)))
        parts: list[Any] = [composed_with_itself(_distribution(leaf, finer), count) for leaf, count in leaves.items()]
        if any(part is None for part in parts):
            break  # too many cells: what the wider ones gave is used
        cell = finer
        if extra:
            parts.append(_coin(extra, cell))
        whole = parts[0]
        for part in parts[1:]:
            whole = whole.compose(part)
        epsilon = float(whole.get_epsilon_for_delta(delta))
        if cell <= least or not 0 < epsilon < aimed / 4:
            break  # otherwise the bound was far above the true ε, and the grid too coarse
    return (epsilon, cell) if math.isfinite(epsilon) else None


def _reach(leaf: SimpleEvent) -> float:
    """Return about the largest loss of one event that has to fit on the grid."""
    match leaf:
        case PureDp() | ApproximateDp():
            return float(leaf.epsilon)
        case GaussianNoise():
            return 0.5 / leaf.noise_multiplier**2 + 10 / leaf.noise_multiplier
        case PoissonStep():
            full = 0.5 * leaf.rows**2 / leaf.noise_multiplier**2 + 10 * leaf.rows / leaf.noise_multiplier
            rate = min(1.0, leaf.rows * leaf.sample_rate)
            return max(math.log(rate) + full, rate * min(full, 1.0))
        case _:
            return 0.0


@lru_cache(maxsize=64)
def _distribution(leaf: SimpleEvent, cell: float) -> Any:
    """Return the privacy loss distribution of one event, on the grid of ``cell``; its δ is counted elsewhere."""
    match leaf:
        case PureDp() | ApproximateDp():
            return _coin(float(leaf.epsilon), cell)
        case GaussianNoise():
            return pld_of_one(1.0, leaf.noise_multiplier, cell)
        case PoissonStep(rows=1):
            return pld_of_one(leaf.sample_rate, leaf.noise_multiplier, cell)
        case PoissonStep():
            return _person(leaf, cell)
        case _:
            raise AssertionError("a zCDP release has no privacy loss distribution")


def _person(leaf: PoissonStep, cell: float) -> Any:
    """Return the distribution of a step for a person whose rows are in the batch independently.

    Of k rows a binomial number is in it, and each moves the sum by at most the clipping norm: a mixture of Gaussians
    (Ganesh 2024, Theorem 3.1).
    """
    from scipy.stats import binom

    from workbench.privacy.accounting.dp_library import privacy_loss_distribution as library

    present = np.arange(leaf.rows + 1)
    chances = binom.pmf(present, leaf.rows, leaf.sample_rate)
    return library.from_mixture_gaussian_mechanism(
        leaf.noise_multiplier,
        sensitivities=present.astype(float).tolist(),
        sampling_probs=(chances / chances.sum()).tolist(),
        value_discretization_interval=cell,
    )


def _coin(epsilon: float, cell: float) -> Any:
    """Return the distribution of a coin that is right with probability e^ε/(1 + e^ε), the worst ε-private release.

    Its δ at every ε between −ε and ε lies on one line in e^ε: four points of the grid carry it (Connect the Dots).
    """
    from workbench.privacy.accounting.dp_library import pld_pmf
    from workbench.privacy.accounting.dp_library import privacy_loss_distribution as library

    last = max(2, math.ceil(epsilon / cell))
    points = np.array([-last, 1 - last, last - 1, last])
    at = points * cell
    right = 1 / (1 + math.exp(-epsilon))
    # Of ε-private releases δ at a loss t: 1 − e^t below −ε, right − wrong·e^t up to ε, 0 from there on.
    deltas = np.where(
        at >= epsilon, 0.0, np.where(at <= -epsilon, -np.expm1(at), right * -np.expm1(np.minimum(at - epsilon, 0.0)))
    )
    return library.PrivacyLossDistribution(pld_pmf.create_pmf_pessimistic_connect_dots(cell, points, deltas))
