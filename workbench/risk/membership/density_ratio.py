"""The density ratio (DOMIAS, van Breugel et al. 2023): a row is nearer to the release than to other people.

Where rows are scarce everybody is far from the release, and where they are dense everybody is near: the distance alone
says little of who was used. The attacker has rows of the same population to compare with.
"""

from __future__ import annotations

import numpy as np

from workbench.risk.membership.base import Guess, Seen
from workbench.risk.roc import Scores

_SAME = 1e-6
"""A distance below it is none."""


def _score(seen: Seen) -> Scores:
    """Return ln of the ratio of two densities, but for factors that are the same for all rows.

    That of the release and that of the population are estimated by the nearest neighbour: with n rows in d dimensions
    by 1/(n·rᵈ), r being the distance to it.
    """
    assert seen.others is not None
    near, usual = (np.maximum(-likelihood, _SAME) for likelihood in (seen.likelihood, seen.others))
    ratio: Scores = np.log(usual) - np.log(near)
    return ratio


DENSITY_RATIO = Guess(
    "density-ratio",
    "Density ratio (DOMIAS)",
    "How near a row is to the release is compared with how near it is to others of the population.",
    _score,
    needs="others",
)
