"""The total of any list of releases by every account that is valid for it, and which is the best.

Each account either gives an upper bound on ε at the δ asked for, or says why it does not apply; none is guessed. The
releases and their noise have to be fixed beforehand: where later ones are chosen by what earlier ones showed, see
:mod:`workbench.privacy.accounting.renyi_filter`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from workbench.params import ParameterError
from workbench.privacy.accounting.accountant import PLD, RDP, RDP_CLASSIC
from workbench.privacy.accounting.compose import advanced_epsilon, total
from workbench.privacy.accounting.concentrated import renyi_total, zcdp_total
from workbench.privacy.accounting.event import ApproximateDp, CostEvent, PureDp
from workbench.privacy.accounting.event_alternatives import EventCounts, PoissonStep, SimpleEvent, alternatives
from workbench.privacy.accounting.pld_mixture import pld_total

MOST_OUTCOMES = 1 << 20  # most values of the sum of losses that are enumerated

_MOST_COUNT = 10**5
_ROUNDING = 1e-15  # taken off δ: above the rounding of the sums of probabilities
_MARGIN = 1e-12  # added to ε, relative to the sum: above the rounding of its terms


def dwork_roth(pure: Mapping[Decimal, int], slack: float) -> float:
    """Return ε by Dwork & Roth 2014, Theorem 3.20, at a further δ of ``slack``; it is for releases of one ε.

    Smaller releases are counted as the largest one.
    """
    largest, count = max(pure), sum(pure.values())
    return advanced_epsilon(float(largest), count, slack) * (1 + _MARGIN)


def optimal(pure: Mapping[Decimal, int], slack: float) -> float | None:
    """Return the least ε at a further δ of ``slack``; ``None`` where D has too many values to enumerate.

    Args:
        pure: how many releases have each ε.
        slack: δ beyond that of the releases, above 0.
    """
    outcomes = 1
    for count in pure.values():
        outcomes *= count + 1
        if outcomes > MOST_OUTCOMES or count > _MOST_COUNT:
            return None
    losses, logs, error = _distribution(pure)
    order = np.argsort(-losses, kind="stable")
    losses, masses = losses[order], np.exp(logs[order])
    top = float(losses[0]) * (1 + _MARGIN)  # the plain sum
    slack = slack / (1 + error) - _ROUNDING
    if slack <= 0:
        return top
    # δ(ε) = Σ over D > ε of p·(1 − e^(ε−D)) is linear in e^ε between two values of D.
    upper = np.cumsum(masses)
    tilted = np.cumsum(masses * np.exp(losses[0] - losses))
    deltas = upper - np.exp(losses - losses[0]) * tilted
    within = max(1, int(np.searchsorted(deltas, slack, side="right")))
    rest = float(upper[within - 1]) - slack
    epsilon = float(losses[0]) + math.log(rest / float(tilted[within - 1])) if rest > 0 else 0.0
    return min(top, max(epsilon, 0.0) + _MARGIN * top)


def _distribution(pure: Mapping[Decimal, int]) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return (values of D, logarithms of their probabilities, largest relative error of a probability)."""
    from scipy.special import gammaln

    losses, logs, error = np.zeros(1), np.zeros(1), 1e-14
    for epsilon, count in pure.items():
        loss = float(epsilon)
        wrong = np.arange(count + 1, dtype=np.float64)
        ways = gammaln(count + 1) - gammaln(wrong + 1) - gammaln(count - wrong + 1)
        one = ways - wrong * loss - count * math.log1p(math.exp(-loss))
        error += 1e-15 * (3 * float(gammaln(count + 1)) + count * (loss + 1))
        losses = (losses[:, None] + (count - 2 * wrong) * loss).ravel()
        logs = (logs[:, None] + one).ravel()
    return losses, logs, error


@dataclass(frozen=True, slots=True)
class Total:
    """What one account says."""

    method: str  # the name of one of `MIXED_ACCOUNTANTS`
    epsilon: float | None  # an upper bound on ε; `None` where the account does not apply
    why_not: str = ""  # why it does not apply; empty where it does
    order: float | None = None  # the Rényi order that gave the bound, where there is one


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


_NEEDS_DELTA = "needs a delta above that of the releases"
_NOT_EPSILON = "applies only to releases with their own (epsilon, delta), and this list has others"
_NOT_SAMPLED = "does not apply to subsampled steps when a person has several rows"
_NO_GRID = "needs a larger delta, a smaller loss, or an event other than zCDP"

Bound = tuple[float, float | None]  # an upper bound on ε, and the Rényi order that gave it, where there is one


class Mixture:
    """Releases of any kinds to the same rows, and what each account says of them, worked out when it is asked for.

    Attributes:
        leaves: the simple events, and how often each happens.
        slack: what the δ that is asked for leaves beyond that of the releases.
    """

    def __init__(self, leaves: EventCounts, slack: float) -> None:
        self.leaves, self.slack = leaves, slack

    @cached_property
    def pure(self) -> dict[Decimal, int]:
        """How often each ε happens among the releases that have one."""
        found: dict[Decimal, int] = {}
        for leaf, count in self.leaves.items():
            if isinstance(leaf, PureDp | ApproximateDp):
                found[leaf.epsilon] = found.get(leaf.epsilon, 0) + count
        return found

    @property
    def has_epsilons(self) -> bool:
        """Whether all releases have an ε of their own."""
        return sum(self.pure.values()) == sum(self.leaves.values())

    @property
    def small_epsilons(self) -> bool:
        """Whether all have one, and none above 100."""
        return self.has_epsilons and max(self.pure) <= 100

    @cached_property
    def basic(self) -> Bound | None:
        """The plain sum, in which a kind of event without an ε of its own has one at an equal share of δ."""
        summed = _up(total(epsilon * count for epsilon, count in self.pure.items()))
        if self.has_epsilons:
            return summed, None
        if not self.slack:
            return None
        others = {leaf: n for leaf, n in self.leaves.items() if not isinstance(leaf, PureDp | ApproximateDp)}
        share = self.slack / len(others) * (1 - 1e-15)
        parts = [Mixture({leaf: count}, share).of_one_kind for leaf, count in others.items()]
        if any(part is None for part in parts):
            return None
        return (summed + sum(part for part in parts if part is not None)) * (1 + 1e-15), None

    @property
    def of_one_kind(self) -> float | None:
        """ε of one kind of event alone, by its best account."""
        own = (renyi_total(self.leaves, self.slack, classic=False), zcdp_total(self.leaves, self.slack))
        bounds = [epsilon for epsilon, _ in filter(None, own)]
        pld = pld_total(self.leaves, self.slack, min(bounds, default=_rough(self.leaves, self.slack)))
        return min([*bounds, *([pld[0]] if pld else [])], default=None)

    @cached_property
    def advanced(self) -> Bound | None:
        """By Dwork & Roth 2014."""
        return _plain(dwork_roth(self.pure, self.slack)) if self.slack and self.small_epsilons else None

    @cached_property
    def optimal(self) -> Bound | None:
        """By Kairouz, Oh & Viswanath 2015."""
        return _plain(optimal(self.pure, self.slack)) if self.slack else None

    @cached_property
    def zcdp(self) -> Bound | None:
        """By Bun & Steinke 2016."""
        return _finite(zcdp_total(self.leaves, self.slack)) if self.slack else None

    @cached_property
    def rdp_classic(self) -> Bound | None:
        """By Mironov 2017."""
        return _finite(renyi_total(self.leaves, self.slack, classic=True)) if self.slack else None

    @cached_property
    def rdp(self) -> Bound | None:
        """By Canonne, Kamath & Steinke 2020."""
        return _finite(renyi_total(self.leaves, self.slack, classic=False)) if self.slack else None

    @cached_property
    def pld(self) -> Bound | None:
        """By Doroshenko et al. 2022; the others set its grid."""
        if not self.slack:
            return None
        own = (self.advanced, self.optimal, self.basic) if self.has_epsilons else ()
        bounds = [bound[0] for bound in (self.rdp_classic, self.rdp, self.zcdp, *own) if bound is not None]
        # Where there is none, only the distributions know what k rows in one step are.
        found = pld_total(self.leaves, self.slack, min(bounds) if bounds else _rough(self.leaves, self.slack))
        return (found[0], None) if found else None


@dataclass(frozen=True, kw_only=True)
class MixedAccountant:
    """An account of any list of releases."""

    name: str  # the word in results
    title: str  # its name in the literature
    bound: Callable[[Mixture], Bound | None]  # bounds ε at least one release from above; `None` where it does not apply
    why_not: str  # why it does not, where it is more than a missing δ
    applies: Callable[[Mixture], bool] = lambda mixture: True  # whether it is for such releases at all, whatever the δ

    def total(self, mixture: Mixture) -> Total:
        """Return what it says."""
        if not mixture.leaves:
            return Total(self.name, 0.0)
        applies = self.applies(mixture)
        bound = self.bound(mixture) if applies else None
        if bound is None:
            return Total(self.name, None, self.why_not if mixture.slack or not applies else _NEEDS_DELTA)
        return Total(self.name, bound[0], order=bound[1])


MIXED_ACCOUNTANTS: tuple[MixedAccountant, ...] = (
    MixedAccountant(name="basic", title="basic: the sum", bound=lambda m: m.basic, why_not=_NO_GRID),
    MixedAccountant(
        name="advanced",
        title="advanced (Dwork & Roth 2014, Theorem 3.20)",
        bound=lambda m: m.advanced,
        why_not=_NOT_EPSILON,
        applies=lambda m: m.small_epsilons,
    ),
    MixedAccountant(
        name="optimal",
        title="optimal for (ε, δ) releases (Kairouz, Oh & Viswanath 2015)",
        bound=lambda m: m.optimal,
        why_not=f"{_NOT_EPSILON}, or too many different epsilons",
        applies=lambda m: m.has_epsilons,
    ),
    MixedAccountant(
        name="zcdp",
        title="zero-concentrated (Bun & Steinke 2016)",
        bound=lambda m: m.zcdp,
        why_not="does not apply to subsampled steps",
    ),
    MixedAccountant(
        name=RDP_CLASSIC.name, title=RDP_CLASSIC.title, bound=lambda m: m.rdp_classic, why_not=_NOT_SAMPLED
    ),
    MixedAccountant(name=RDP.name, title=RDP.title, bound=lambda m: m.rdp, why_not=_NOT_SAMPLED),
    MixedAccountant(name=PLD.name, title=PLD.title, bound=lambda m: m.pld, why_not=_NO_GRID),
)
"""Every account of a list of releases, from the simplest to the tightest."""


def compose_totals(event: CostEvent, delta: Decimal | float = Decimal(0)) -> Totals:
    """Return what every account says of ``event`` at ``delta``, zero-out neighbours.

    Args:
        event: what happens to the same rows.
        delta: δ of the whole, in [0, 1).

    Raises:
        ParameterError: a number is out of range, the releases alone have a larger δ, or no account applies.
    """
    allowed = delta if isinstance(delta, Decimal) else Decimal(repr(float(delta)))
    if not (allowed.is_finite() and 0 <= allowed < 1):
        raise ParameterError(f"delta = {delta} is not at least 0 and below 1", hint="give a δ such as 1e-5")
    found = [_of_leaves(leaves, allowed) for leaves in alternatives(event)]
    merged = tuple(_largest([one[accountant.name] for one in found]) for accountant in MIXED_ACCOUNTANTS)
    if all(t.epsilon is None for t in merged):
        raise ParameterError("no method applies to this list of events", hint="give a larger delta")
    return Totals(float(allowed), merged)


def _largest(totals: list[Total]) -> Total:
    """Return the worst of what one account says of several alternatives; refused where one is."""
    return max(totals, key=lambda t: math.inf if t.epsilon is None else t.epsilon)


def _of_leaves(leaves: EventCounts, delta: Decimal) -> dict[str, Total]:
    own = total(leaf.delta * count for leaf, count in leaves.items() if isinstance(leaf, ApproximateDp))
    if own > delta:
        raise ParameterError(
            f"the releases alone have a delta of {float(own):g}, above {float(delta):g}",
            hint="give a larger delta, or releases with a smaller one",
        )
    mixture = Mixture(leaves, math.nextafter(float(delta - own), 0.0) if delta > own else 0.0)
    return {accountant.name: accountant.total(mixture) for accountant in MIXED_ACCOUNTANTS}


def _up(value: Decimal) -> float:
    nearest = float(value)
    return nearest if Decimal(nearest) >= value else math.nextafter(nearest, math.inf)


def _finite(bound: Bound | None) -> Bound | None:
    return bound if bound is not None and math.isfinite(bound[0]) else None


def _plain(epsilon: float | None) -> Bound | None:
    return None if epsilon is None else _finite((epsilon, None))


def _rough(leaves: EventCounts, slack: float) -> float:
    """Return an ε that is good enough to set a grid: that of as many steps by one row, times the rows squared."""
    alike: dict[SimpleEvent, int] = {}
    most = 1
    for leaf, count in leaves.items():
        if isinstance(leaf, PoissonStep):
            most = max(most, leaf.rows)
            leaf = PoissonStep(leaf.sample_rate, leaf.noise_multiplier)
        alike[leaf] = alike.get(leaf, 0) + count
    one = renyi_total(alike, slack, classic=False)
    return (one[0] if one else 1.0) * most
