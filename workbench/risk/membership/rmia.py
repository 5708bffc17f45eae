"""The robust attack (Zarifzadeh, Liu & Shokri 2024): does the fit rise more for this row than for most others?"""

from __future__ import annotations

import numpy as np

from workbench.risk.membership.base import Guess, Seen
from workbench.risk.roc import Scores

GAMMA = 2.0
"""By how much the ratio of a row must be above that of another one (their γ)."""


def _score(seen: Seen) -> Scores:
    """Return the share of the rows z with (p(x|θ)/p(x)) / (p(z|θ)/p(z)) ≥ γ; p(x) is the mean over the shadows.

    Rows with the same share are ordered by their own ratio, as with more rows z they would be.
    """
    assert seen.shadows is not None
    likelihood = seen.shadows.likelihood
    top = np.maximum(likelihood.max(axis=0), seen.likelihood)
    raised = np.exp(likelihood - top)
    usual = (seen.shadows.mean(raised, used=True) + seen.shadows.mean(raised, used=False)) / 2
    ratio = seen.likelihood - top - np.log(np.maximum(usual, np.finfo(float).tiny))
    below = np.searchsorted(np.sort(ratio), ratio - np.log(GAMMA), side="right")
    rank = np.unique(ratio, return_inverse=True)[1]
    share: Scores = (below + rank / (rank.max() + 1)) / len(ratio)
    return share


RMIA = Guess(
    "rmia",
    "Robust attack (RMIA)",
    "How much better the model fits a row than usual is compared with the same of the other rows.",
    _score,
    needs="shadows",
)
