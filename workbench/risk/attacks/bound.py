"""The bound that a privacy guarantee puts on every attacker, for every attack and every table.

**One person.** An attack on the person of row i is a set S of outputs: those on which it is right about her. (ε, δ)
says P(S) ≤ e^ε·Q(S) + δ, where Q is the release of a neighbouring table, and the same of the outputs outside S. So, if
it is right with probability p about her where her row was not used, it is right where it was used with at most

    f(p) = min(e^ε·p + δ, 1 − e^−ε·(1 − δ − p))                       (Wasserman & Zhou 2010; Kairouz et al. 2015)

f is concave and rises, so it may be applied to averages over people. *Zero-out*: p is her chance where her row was
emptied. *Replace-one*: p is her chance where another person is in her row, with (2ε, (1+e^ε)δ), or ε where each row
is randomised by itself.

**Control.** What is right about her although she was not used is no loss of privacy, and it is measured: if released
and control rows come from one population, in random order, then a released person and one of the control set can be
swapped without changing the distribution of the experiment. The attack's chance on the control set is thus exactly p of
the replace-one relation, and

    main ≤ f(control) with the replace-one figures.

The zero-out figures beside it bound what is right about her against the release *without* her row, which the control
set measures only if one row more or less of other people leaves the attack's chance on strangers as it is.

**In or out, a fair coin.** A guess which of two neighbouring tables was used is right with at most (e^ε + δ)/(1 + e^ε).

The bound is of averages over the noise of the release and over who was sampled: a single release can lie above it by
chance, but not all of them. It is computed from the upper end of the control set's interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

_LARGEST = 700.0


@dataclass(frozen=True)
class Guarantee:
    """What a release promises about one person."""

    epsilon: float | None = None  # ε of all her rows under zero-out; `None` where nothing is promised
    delta: float = 0.0  # δ beside it
    replaced: tuple[float, float] = (math.inf, 1.0)  # (ε, δ) under replace-one
    why_not: str = ""  # why it promises nothing about the attacked rows, as a sentence; empty where it does

    @property
    def holds(self) -> bool:
        """Whether a bound can follow from it."""
        return self.epsilon is not None and not self.why_not


NOTHING = Guarantee(why_not="There is no certificate: no ε bounds what an attacker learns.")


def most(p: float, epsilon: float, delta: float = 0.0) -> float:
    """Return f(p): the most that an attack's chance can be that has chance ``p`` on a neighbouring table."""
    up = math.exp(min(epsilon, _LARGEST)) * p + delta
    return min(1.0, up, 1 - math.exp(-epsilon) * max(1 - delta - p, 0.0))


def most_of_coin(epsilon: float, delta: float = 0.0) -> float:
    """Return the most that a guess which of two neighbouring tables was used can be right, each being as likely."""
    return (1 + delta * math.exp(-min(epsilon, _LARGEST))) / (1 + math.exp(-epsilon))
