"""The least count that is published of a value nobody declared, and what it costs.

A value occurs in the rows or does not, and a column of values that nobody declared has a count for those alone that
occur. Each of these counts gets discrete Laplace noise X, P(X = k) = (1−b)/(1+b)·b^|k| with b = e^(−ε), and a value is
published, with its noisy count, where that is at least T (Korolova, Kenthapadi, Mishra & Ntoulas 2009; Bun, Nissim &
Stemmer 2016 with the noise used here). A row has one value of a column, or none.

**One row emptied.** Its value v has c rows, and c − 1 without it. For c ≥ 2 the same values occur, one count moves by
1, and the release costs ε alone. For c = 1 the value does not occur in the neighbour, whose release can never name it;
with the row it is named with the chance

    p₁ = P(1 + X ≥ T) = b^(T−1)/(1+b)    (T ≥ 1),

and everything else is distributed alike. So P(S) ≤ P'(S) + p₁ and P'(S) ≤ P(S) + p₁ for every set S of releases: the
mechanism is (ε, p₁)-private, and T is the least whole number with p₁ ≤ δ.

**k rows of a person emptied.** A value that others hold too costs e^(jε) for its j rows of hers. A value that she alone
holds, with j rows, is named with the chance p_j = b^(T−j)/(1+b) = e^((j−1)ε)·p₁ (for j < T). The sum of these over her
values is convex in how her rows are spread, so that it is largest with one value or with k of them:

    δ_k = max(k, e^((k−1)ε))·p₁,  at kε.

What is charged is the general k·e^((k−1)ε)·δ (Dwork & Roth 2014, Theorem 2.2), which is never less.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal, localcontext

from workbench.params import ParameterError
from workbench.privacy.accounting.event import floor_double

_SCALE_OFF = Decimal(2) ** -40
"""By how much of it the ε of the noise that is drawn may lie below the declared one: a library nudges its scale."""
_ROUNDING = Decimal("1e-30")
_DIGITS = 60
_MOST = 2**53


def least_with_tail(epsilon: Decimal, chance: Decimal) -> int:
    """Return the least t ≥ 0, rounded to the safe side, with P(X ≥ t) = b^t/(1+b) ≤ ``chance``.

    Args:
        epsilon: of the noise, with sensitivity 1.
        chance: above 0.

    Raises:
        ParameterError: there is no such whole number below 2^53.
    """
    with localcontext() as context:
        context.prec = _DIGITS
        drawn = Decimal(floor_double(epsilon)) * (1 - _SCALE_OFF)
        if not (drawn > 0 and 0 < chance < 1):
            raise ParameterError(f"no threshold keeps a chance of {chance} at epsilon = {epsilon}")
        # With less noise than declared b is smaller: 1 + b is taken at the declared ε, and b^t at that of the noise.
        needed = -(chance * (1 + (-epsilon).exp())).ln() / drawn
        least = max(0, int((needed * (1 + _ROUNDING) + _ROUNDING).to_integral_value(ROUND_CEILING)))
    if least >= _MOST:
        what = f"the threshold that keeps a chance of {chance} at epsilon = {epsilon} is more than 2^53"
        raise ParameterError(what, hint="give a larger epsilon")
    return least


def threshold(epsilon: Decimal, delta: Decimal) -> int:
    """Return T: the least noisy count that is published at (ε, δ) of one row.

    Raises:
        ParameterError: as :func:`least_with_tail`.
    """
    return 1 + least_with_tail(epsilon, delta)
