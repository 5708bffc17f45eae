"""Membership inference: who was among those that a model was trained on, or a table was made from."""

from __future__ import annotations

from workbench.params.field import named
from workbench.risk.membership.base import Guess
from workbench.risk.membership.density_ratio import DENSITY_RATIO
from workbench.risk.membership.lira import LIRA, LIRA_OFFLINE
from workbench.risk.membership.loss import LOSS
from workbench.risk.membership.rmia import RMIA

GUESSES: tuple[Guess, ...] = (LOSS, LIRA, LIRA_OFFLINE, RMIA, DENSITY_RATIO)
"""The ways to guess, by name."""


def guess(name: str) -> Guess:
    """Return the way to guess called ``name``.

    Raises:
        ParameterError: there is none.
    """
    return named(GUESSES, name, "way to guess")
