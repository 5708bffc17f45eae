"""The smallest frequency that a collection can be expected to detect, before anything is collected."""

from __future__ import annotations

import math
from statistics import NormalDist

from workbench.params import ParameterError
from workbench.privacy.rappor.parameters import RapporParameters
from workbench.rappor.decode import ALPHA, even_share


def standard_error(parameters: RapporParameters, reports: int) -> float:
    """Return the standard error of the frequency of one rare string, from ``reports`` reports of as many clients.

    A string has h bits in each of m cohorts of N/m reports. Each corrected bit has the variance
    π(1 − π)·m/(N·(q* − p*)²), with π the share of reports that have it, so that their mean over m·h bits has
    π(1 − π)/(N·h·(q* − p*)²). Other strings beside it make it larger, as least squares distinguishes them.
    """
    if not reports >= 1:
        raise ParameterError("there are no reports", hint="give at least 1")
    spread = parameters.q_star - parameters.p_star
    share = parameters.p_star + spread * even_share(parameters)
    return math.sqrt(share * (1 - share) / (reports * parameters.h)) / abs(spread)


def smallest_detectable(
    parameters: RapporParameters, reports: int, candidates: int, alpha: float = ALPHA, power: float = 0.8
) -> float:
    """Return the frequency at which a string is found with probability ``power`` by Bonferroni's correction.

    It is a frequency above 1 where nothing can be found.

    Args:
        parameters: of the collection.
        reports: number of reports, one of each client.
        candidates: number of candidates that are tested.
        alpha: chance of one false discovery among them.
        power: chance of finding it.
    """
    if not (0 < alpha < 1 and 0 < power < 1 and candidates >= 1):
        raise ParameterError("alpha and power lie between 0 and 1, and there is at least one candidate")
    normal = NormalDist()
    deviations = normal.inv_cdf(power) - normal.inv_cdf(alpha / candidates)
    return deviations * standard_error(parameters, reports)
