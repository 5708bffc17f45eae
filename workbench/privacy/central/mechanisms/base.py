"""A central mechanism: a name, and a card computed from its density for two neighbouring tables."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from workbench.params import ParameterError


@dataclass(frozen=True, slots=True)
class Asked:
    """What a card is asked for."""

    epsilon: float  # ε of one draw
    delta: float = 0.0  # δ, for the Gaussian ones; 0 for the others
    sensitivity: float = 1.0  # the most by which one emptied row moves the number, the vector (L1 or L2) or a score
    scores: tuple[float, ...] = ()  # the scores of a choice; empty for noise

    def checked(self, *, delta: bool = False, whole: bool = False, scores: bool = False) -> Asked:
        """Return this, after a check of what the mechanism needs.

        Raises:
            ParameterError: something is missing or out of range.
        """
        if not 1e-6 <= self.epsilon <= 700:
            raise ParameterError(f"epsilon = {self.epsilon} is not between 1e-6 and 700", hint="give an ε such as 1")
        if not 0 < self.sensitivity <= 1e9:
            raise ParameterError(f"sensitivity = {self.sensitivity} is not a number above 0", hint="give 0 < Δ ≤ 1e9")
        if delta and not 0 < self.delta < 1:
            raise ParameterError("a Gaussian mechanism needs a delta", "--delta", "give a δ such as 1e-6")
        if not delta and self.delta:
            raise ParameterError("this mechanism has no delta", "--delta", "leave it out")
        if whole and (self.sensitivity != round(self.sensitivity) or self.sensitivity > 10**6):
            raise ParameterError(
                f"sensitivity = {self.sensitivity} is not a whole number up to 1e6", hint="count in steps of the grid"
            )
        if scores and not (2 <= len(self.scores) <= 12 and all(abs(s) < 2**40 for s in self.scores)):
            raise ParameterError("a choice needs 2 to 12 scores", "--scores", "give scores such as 3,2,0")
        return self


@dataclass(frozen=True, slots=True)
class Card:
    """What is exact about one draw."""

    mechanism: str  # its name
    epsilon: float  # ε asked for
    delta: float  # the exact δ at that ε; 0 for a pure mechanism
    loss: float  # the largest privacy loss |ln(p/q)| between the two densities; ∞ for Gaussian noise
    scale: float | None  # scale of the noise (b or σ); `None` for a choice
    absolute: float  # expected absolute error; of a choice, by how much the chosen score is below the best one
    variance: float | None  # variance of the noise; `None` for a choice
    tails: tuple[tuple[float, float], ...]  # (t, chance that the error is above t); of a choice upper bounds
    outputs: tuple[float, ...]  # the outputs of the two densities
    # Density of each output for a table whose answer is 0 (of a choice: with the scores given).
    densities: tuple[float, ...]
    neighbours: tuple[float, ...]  # density of each output for a neighbour
    drawn_by: str = ""  # which code draws it, exactly on a grid; empty where nothing here does


@dataclass(frozen=True, kw_only=True)
class CentralMechanism:
    """The descriptor of a central mechanism."""

    name: str
    title: str
    summary: str
    recipe: Callable[[Asked], Card]

    def card(self, asked: Asked) -> Card:
        """Return the card.

        Raises:
            ParameterError: a figure is missing or out of range.
        """
        return self.recipe(asked)


def largest_loss(densities: tuple[float, ...], neighbours: tuple[float, ...]) -> float:
    """Return max |ln(p/q)| over outputs that either table can have; ∞ where only one of them can."""
    worst = 0.0
    for p, q in zip(densities, neighbours, strict=True):
        if (p > 0) != (q > 0):
            return math.inf
        if p > 0:
            worst = max(worst, abs(math.log(p / q)))
    return worst


TAIL_CHANCES = (0.5, 0.1, 0.05, 0.01, 1e-3, 1e-6)  # the chances that the tails of a card are given for
