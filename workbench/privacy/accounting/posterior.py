"""What ε means for an observer: how far a belief about one person's row can move."""

from __future__ import annotations

import math
from dataclasses import dataclass

from workbench.params import ParameterError

DELTA_NOTE = "with δ > 0 these bounds can fail, with a probability of the order of δ"
"""Shown with the bounds of every (ε, δ) guarantee."""


@dataclass(frozen=True, slots=True)
class Belief:
    """The range in which the belief of someone who sees the release must stay."""

    prior: float
    low: float
    high: float


def posterior(epsilon: float, prior: float) -> Belief:
    """Return the bounds p/(p + e^(±ε)·(1−p)) on a belief that was ``prior`` before the release.

    The belief is about one row under two neighbouring tables (the row is there, or it is empty): the release
    multiplies the odds by at most e^ε either way. See :data:`DELTA_NOTE` for δ > 0.

    Raises:
        ParameterError: ε < 0 or the prior is not in [0, 1].
    """
    if not 0 <= epsilon < math.inf:
        raise ParameterError(f"epsilon = {epsilon} is not a number of at least 0", hint="give epsilon ≥ 0")
    if not 0 <= prior <= 1:
        raise ParameterError(f"prior = {prior} is not a probability", hint="give a number from 0 to 1")

    def after(shift: float) -> float:
        if prior in (0.0, 1.0):  # certainty does not move, whatever factor the odds are multiplied by
            return prior
        return prior / (prior + math.exp(shift) * (1 - prior)) if shift < 700 else 0.0

    return Belief(prior, after(epsilon), after(-epsilon))
