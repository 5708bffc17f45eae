"""Warner's randomised response: two values, the truth with probability p = e^ε/(1 + e^ε).

S. L. Warner, "Randomized response: a survey technique for eliminating evasive answer bias", JASA 60, 1965. The
coin that tells the truth on heads and tosses again on tails has p = 3/4, which is ε = ln 3; telling the truth on
heads and "yes" on tails has no finite ε, because a "no" is then certainly true.
"""

from __future__ import annotations

import math

from workbench.params import ParameterError
from workbench.privacy.local.mechanisms.base import Mechanism
from workbench.privacy.local.mechanisms.grr import randomised_response


def epsilon_of_truth(probability: float) -> float:
    """Return ε = ln(p/(1−p)) of an answer that is true with ``probability`` in (1/2, 1)."""
    if not 0.5 < probability < 1:
        raise ParameterError(f"a truth probability of {probability} is not between 1/2 and 1")
    return math.log(probability / (1 - probability))


WARNER = Mechanism(
    name="warner",
    title="Warner's randomised response",
    summary="Tells the truth more often than not; for questions with two answers.",
    recipe=randomised_response,
    two_values=True,
)
