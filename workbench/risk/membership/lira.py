"""The likelihood ratio attack (Carlini et al. 2022): is the fit as it is with the row, or as it is without?"""

from __future__ import annotations

import numpy as np

from workbench.risk.membership.base import Guess, Seen, log_odds
from workbench.risk.roc import Scores

_LEAST = 1e-9
"""A spread below it is rounding."""


def _online(seen: Seen) -> Scores:
    """Return the log-likelihood ratio of two normals; means are each row's, and of many shadows spreads as well."""
    found = log_odds(seen.likelihood, seen.chances)
    return _distance(seen, found, used=False) - _distance(seen, found, used=True)


def _offline(seen: Seen) -> Scores:
    """Return how far the fit is above what it is without the row, in standard deviations."""
    assert seen.shadows is not None
    odds = log_odds(seen.shadows.likelihood, seen.chances)
    spread = np.maximum(seen.shadows.spread(odds, used=False), _LEAST)
    above: Scores = (log_odds(seen.likelihood, seen.chances) - seen.shadows.mean(odds, used=False)) / spread
    return above


def _distance(seen: Seen, found: Scores, used: bool) -> Scores:
    """Return minus the log-density of a normal, but for a constant."""
    assert seen.shadows is not None
    odds = log_odds(seen.shadows.likelihood, seen.chances)
    spread = np.maximum(seen.shadows.spread(odds, used), _LEAST)
    squares: Scores = 0.5 * ((found - seen.shadows.mean(odds, used)) / spread) ** 2 + np.log(spread)
    return squares


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
