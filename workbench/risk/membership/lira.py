"""The likelihood ratio attack (Carlini et al. 2022): is the fit as it is with the row, or as it is without?"""

from __future__ import annotations

import numpy as np

from workbench.risk.membership.base import ENOUGH, Guess, Seen, log_odds
from workbench.risk.roc import Scores

_LEAST = 1e-9
"""A spread below it is rounding."""

_NARROW, _TAIL = 0.5, 4
"""Width of a kernel in n^(−1/5) spreads: half of what is usual, for fits with two humps; and its degrees of freedom."""


def _online(seen: Seen) -> Scores:
    """Return ln of the ratio of two densities of the fit: with the row, and without it."""
    return _log_density(seen, used=True) - _log_density(seen, used=False)


def _offline(seen: Seen) -> Scores:
    """Return how far the fit is above what it is without the row, in standard deviations."""
    assert seen.shadows is not None
    odds = log_odds(seen.shadows.likelihood, seen.chances)
    spread = np.maximum(seen.shadows.spread(odds, used=False), _LEAST)
    above: Scores = (log_odds(seen.likelihood, seen.chances) - seen.shadows.mean(odds, used=False)) / spread
    return above


def _log_density(seen: Seen, used: bool) -> Scores:
    """Return ln of the density of each row's fit among the shadows, but for a constant.

    Of few shadows it is that of a normal with a spread for all rows, as in the paper. Of many it is each row's own: a
    network remembers a row or does not, with little in between, so that no normal describes its fit; Student's kernel
    about that of each shadow does.
    """
    assert seen.shadows is not None
    found, odds = log_odds(seen.likelihood, seen.chances), log_odds(seen.shadows.likelihood, seen.chances)
    spread = np.maximum(seen.shadows.spread(odds, used), _LEAST)
    here = seen.shadows.used == used
    number = here.sum(axis=0)
    if number.min() < ENOUGH:
        squares = ((found - seen.shadows.mean(odds, used)) / spread) ** 2
        normal: Scores = -0.5 * squares - np.log(spread)
        return normal
    width = _NARROW * number**-0.2 * spread
    heights = (1 + ((found - odds) / width) ** 2 / _TAIL) ** (-(_TAIL + 1) / 2)
    density = np.where(here, heights, 0.0).sum(axis=0) / number
    kernel: Scores = np.log(np.maximum(density, np.finfo(float).tiny)) - np.log(width)
    return kernel


LIRA = Guess(
    "lira",
    "Likelihood ratio (LiRA)",
    "The fit of a row is compared with that of models trained with it and of models trained without it.",
    _online,
    needs="shadows",
)
LIRA_OFFLINE = Guess(
    "lira-offline",
    "Likelihood ratio without the row (LiRA offline)",
    "The fit of a row is compared with that of models trained without it.",
    _offline,
    needs="shadows",
)
