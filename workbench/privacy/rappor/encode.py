"""From values to reports: Bloom filter, permanent answer, instantaneous answer."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench.privacy.entropy import Entropy
from workbench.privacy.rappor.bits import Reports, biased, trimmed
from workbench.privacy.rappor.parameters import RapporParameters


def permanent_answers(filters: Reports, parameters: RapporParameters, entropy: Entropy) -> Reports:
    """Return the permanent answer to each Bloom filter: each bit is a coin toss with probability f.

    A client draws it once for a value and keeps it; who draws it anew for every report spends ε∞ each time.

    Args:
        filters: (n, bytes) packed bits.
        parameters: of the collection.
        entropy: operating-system entropy for real answers.
    """
    return trimmed(biased(filters, *parameters.permanent_integers(), entropy), parameters.k)


def instant_answers(permanent: Reports, parameters: RapporParameters, entropy: Entropy) -> Reports:
    """Return one report for each permanent answer: a 1 is reported as 1 with probability q, a 0 with probability p."""
    return trimmed(biased(permanent, *parameters.instant_integers(), entropy), parameters.k)


def cohorts(clients: int, parameters: RapporParameters, entropy: Entropy) -> NDArray[np.int64]:
    """Return a uniformly random cohort for each client, independent of its value.

    Of 16 random bits, the part that m does not divide is drawn again.
    """
    limit = (1 << 16) // parameters.m * parameters.m
    drawn = _sixteen(clients, entropy)
    while (again := np.flatnonzero(drawn >= limit)).size:
        drawn[again] = _sixteen(again.size, entropy)
    return drawn % parameters.m


def _sixteen(count: int, entropy: Entropy) -> NDArray[np.int64]:
    return entropy.words(-(-count // 4)).view(np.uint16)[:count].astype(np.int64)
