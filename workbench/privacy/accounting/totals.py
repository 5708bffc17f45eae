"""The total of any list of releases by every account that is valid for it, and which is the best.

Each account either gives an upper bound on ε at the δ asked for, or says why it does not apply; none is guessed. The
releases and their noise have to be fixed beforehand: where later ones are chosen by what earlier ones showed, see
:mod:`workbench.privacy.accounting.renyi_filter`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from workbench.params import ParameterError
from workbench.privacy.accounting.advanced import dwork_roth, optimal
from workbench.privacy.accounting.compose import total
from workbench.privacy.accounting.concentrated import renyi_total, zcdp_total
from workbench.privacy.accounting.event import ApproximateDp, CostEvent, PureDp
from workbench.privacy.accounting.leaves import Leaf, Leaves, alternatives
from workbench.privacy.accounting.pld_mixture import pld_total

BASIC, ADVANCED, OPTIMAL, ZCDP, RDP_CLASSIC, RDP, PLD = METHODS = (
    "basic",
    "advanced",
    "optimal",
    "zcdp",
    "rdp-classic",
    "rdp",
    "pld",
)
"""Every account, from the simplest to the tightest."""

TITLES = {
    BASIC: "basic: the sum",
    ADVANCED: "advanced (Dwork & Roth 2014, Theorem 3.20)",
    OPTIMAL: "optimal for (ε, δ) releases (Kairouz, Oh & Viswanath 2015)",
    ZCDP: "zero-concentrated (Bun & Steinke 2016)",
    RDP_CLASSIC: "Rényi, published conversion (Mironov 2017)",
    RDP: "Rényi, improved conversion (Canonne, Kamath & Steinke 2020)",
    PLD: "privacy loss distributions (Doroshenko et al. 2022)",
}

_NEEDS_DELTA = "needs a delta above that of the releases"
_NOT_EPSILON = "is for releases with an (epsilon, delta) of their own, and this list has others"
_WHY_NOT = {
    ADVANCED: _NOT_EPSILON,
    OPTIMAL: f"{_NOT_EPSILON}, or too many different epsilons",
    ZCDP: "knows no rho of a subsampled step",
    RDP_CLASSIC: "knows no divergence of a subsampled step for a person with several rows",
    RDP: "knows no divergence of a subsampled step for a person with several rows",
    PLD: "needs a larger delta, a smaller loss, or an event other than zCDP",
}


@dataclass(frozen=True, slots=True)
class Total:
    """What one account says.

    Attributes:
        method: one of :data:`METHODS`.
        epsilon: an upper bound on ε; ``None`` where the account does not apply.
        why_not: why it does not apply; empty where it does.
        order: the Rényi order that gave the bound, where there is one.
    """

    method: str
    epsilon: float | None
    why_not: str = ""
    order: float | None = None


@dataclass(frozen=True, slots=True)
class Totals:
    """What every account says of the same events at the same δ."""

    delta: float
    totals: tuple[Total, ...]

    @property
    def best(self) -> Total:
        """The account with the least ε; of equal ones the simplest."""
        valid = [t for t in self.totals if t.epsilon is not None]
        return min(valid, key=lambda t: t.epsilon if t.epsilon is not None else math.inf)

    def epsilon(self, method: str) -> float | None:
        """Return the ε of one account."""
        return next(t.epsilon for t in self.totals if t.method == method)


def compose_totals(event: CostEvent, delta: Decimal | float = Decimal(0)) -> Totals:
    """Return what every account says of ``event`` at ``delta``, zero-out neighbours.

    Args:
        event: what happens to the same rows.
        delta: δ of the whole, in [0, 1).

    Raises:
        ParameterError: a number is out of range, the releases alone have a larger δ, or no account applies.
    """
    allowed = delta if isinstance(delta, Decimal) else Decimal(repr(float(delta)))
    if not 0 <= allowed < 1:
        raise ParameterError(f"delta = {delta} is not at least 0 and below 1", hint="give a δ such as 1e-5")
    found = [_of_leaves(leaves, allowed) for leaves in alternatives(event)]
    merged = tuple(_largest([one[method] for one in found]) for method in METHODS)
    if all(t.epsilon is None for t in merged):
        raise ParameterError("no method applies to this list of events", hint="give a larger delta")
    return Totals(float(allowed), merged)


def _largest(totals: list[Total]) -> Total:
    """Return the worst of what one account says of several alternatives; refused where one is."""
    return max(totals, key=lambda t: math.inf if t.epsilon is None else t.epsilon)


def _of_leaves(leaves: Leaves, delta: Decimal) -> dict[str, Total]:
    own = total(leaf.delta * count for leaf, count in leaves.items() if isinstance(leaf, ApproximateDp))
    if own > delta:
        raise ParameterError(
            f"the releases alone have a delta of {float(own):g}, above {float(delta):g}",
            hint="give a larger delta, or releases with a smaller one",
        )
    slack = math.nextafter(float(delta - own), 0.0) if delta > own else 0.0
    if not leaves:
        return {method: Total(method, 0.0) for method in METHODS}
    pure: dict[Decimal, int] = {}
    for leaf, count in leaves.items():
        if isinstance(leaf, PureDp | ApproximateDp):
            pure[leaf.epsilon] = pure.get(leaf.epsilon, 0) + count
    alone = sum(pure.values()) == sum(leaves.values())
    found = {RDP_CLASSIC: _renyi(RDP_CLASSIC, leaves, slack), RDP: _renyi(RDP, leaves, slack)}
    found[ZCDP] = _ordered(ZCDP, zcdp_total(leaves, slack) if slack else None, slack)
    found[ADVANCED] = _plain(ADVANCED, (lambda: dwork_roth(pure, slack)) if alone and max(pure) <= 100 else None, slack)
    found[OPTIMAL] = _plain(OPTIMAL, (lambda: optimal(pure, slack)) if alone else None, slack)
    summed = _up(total(epsilon * count for epsilon, count in pure.items()))
    bounds = [t.epsilon for t in found.values() if t.epsilon is not None] + ([summed] if alone else [])
    if not bounds and slack:  # only the distributions know what k rows in one step are
        bounds = [_rough(leaves, slack)]
    pld = pld_total(leaves, slack, min(bounds)) if bounds and slack else None
    found[PLD] = Total(PLD, pld[0]) if pld else Total(PLD, None, _NEEDS_DELTA if not slack else _WHY_NOT[PLD])
    found[BASIC] = Total(BASIC, summed) if alone else _summed(leaves, summed, slack)
    return found


def _up(value: Decimal) -> float:
    nearest = float(value)
    return nearest if Decimal(nearest) >= value else math.nextafter(nearest, math.inf)


def _rough(leaves: Leaves, slack: float) -> float:
    """Return an ε that is good enough to set a grid: that of as many steps by one row, times the rows squared."""
    from workbench.privacy.accounting.leaves import PoissonStep

    alike: dict[Leaf, int] = {}
    most = 1
    for leaf, count in leaves.items():
        if isinstance(leaf, PoissonStep):
            most = max(most, leaf.rows)
            leaf = PoissonStep(leaf.sample_rate, leaf.noise_multiplier)
        alike[leaf] = alike.get(leaf, 0) + count
    one = renyi_total(alike, slack, classic=False)
    return (one[0] if one else 1.0) * most


def _renyi(method: str, leaves: Leaves, slack: float) -> Total:
    found = renyi_total(leaves, slack, classic=method == RDP_CLASSIC) if slack else None
    return _ordered(method, found, slack)


def _ordered(method: str, found: tuple[float, float] | None, slack: float) -> Total:
    if found is None or not math.isfinite(found[0]):
        return Total(method, None, _WHY_NOT[method] if slack else _NEEDS_DELTA)
    return Total(method, found[0], order=found[1])


def _plain(method: str, compute: Callable[[], float | None] | None, slack: float) -> Total:
    epsilon = compute() if compute is not None and slack else None
    if epsilon is None or not math.isfinite(epsilon):
        return Total(method, None, _WHY_NOT[method] if compute is None or slack else _NEEDS_DELTA)
    return Total(method, epsilon)


def _summed(leaves: Leaves, pure: float, slack: float) -> Total:
    """Return the plain sum where some events have no ε of their own: each kind gets one at an equal share of δ."""
    if not slack:
        return Total(BASIC, None, _NEEDS_DELTA)
    others = {leaf: count for leaf, count in leaves.items() if not isinstance(leaf, PureDp | ApproximateDp)}
    share = slack / len(others) * (1 - 1e-15)
    parts = [_own(leaf, count, share) for leaf, count in others.items()]
    if any(part is None for part in parts):
        return Total(BASIC, None, _WHY_NOT[PLD])
    return Total(BASIC, (pure + sum(part for part in parts if part is not None)) * (1 + 1e-15))


def _own(leaf: Leaf, count: int, share: float) -> float | None:
    """Return ε of one kind of event alone, by its best account."""
    leaves = {leaf: count}
    found = [renyi_total(leaves, share, classic=False), zcdp_total(leaves, share)]
    bounds = [epsilon for epsilon, _ in filter(None, found)]
    pld = pld_total(leaves, share, min(bounds, default=_rough(leaves, share)))
    return min([*bounds, *([pld[0]] if pld else [])], default=None)
