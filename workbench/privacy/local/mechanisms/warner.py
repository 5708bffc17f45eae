"""Warner's randomised response: two values, the truth with probability p = e^ε/(1 + e^ε).

S. L. Warner, "Randomized response: a survey technique for eliminating evasive answer bias", JASA 60, 1965. The
coin that tells the truth on heads and tosses again on tails has p = 3/4, which is ε = ln 3; telling the truth on
heads and "yes" on tails has no finite ε, because a "no" is then certainly true.
"""

from workbench.privacy.local.mechanisms.base import Mechanism
from workbench.privacy.local.mechanisms.grr import randomised_response

WARNER = Mechanism(
    name="warner",
    title="Warner's randomised response",
    summary="Tells the truth more often than not; for questions with two answers.",
    recipe=randomised_response,
    two_values=True,
)
