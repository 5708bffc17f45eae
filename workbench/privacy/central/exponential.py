"""The exponential mechanism over whole-number scores, drawn exactly.

McSherry & Talwar 2007: choice i of score sᵢ has the weight e^(ε·sᵢ/(2Δ)), Δ the most by which one row moves a score.
One row changes each weight and their sum by a factor of at most e^(ε/2): the choice costs ε.

The weight of a score depends on that score alone: e^x = 2^k·2^f with k whole and 0 ≤ f < 1, and 2^f is rounded to a
whole number of 2⁻⁶⁴. The sum of the weights is a whole number, one below it is drawn, and nothing is added to a number.
The rounding of ε·s/(2Δ) and of 2^f changes a weight by a factor within 1 ± 2⁻⁵⁵, and the choice's ε by less than
:data:`SLACK`, which is taken off beforehand. The tests compute the exact ratios of the whole numbers.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Sequence
from decimal import ROUND_FLOOR, Context, Decimal, localcontext
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.params import ParameterError
from workbench.privacy.accounting.compose import last_that
from workbench.privacy.central.central_noise import CentralNoise

Scores = Sequence[int] | NDArray[np.int64]

SLACK = 2.0**-40  # what is taken off ε for the rounding of the weights

EPSILON_LEAST = 1e-11
_BITS = 64
_MOST_SCORE = 1 << 56
_MOST_BITS = 1 << 12
"""By how many bits the least weight may be below the largest: a lower score counts as one that far below."""


_EXACT = Context(prec=60)
_LN2 = _EXACT.ln(Decimal(2))


def _weight(score: int, sensitivity: int, epsilon: float) -> tuple[int, int]:
    """Return (m, k): the weight of a score is m·2^k. Nothing is kept: scores are private, and so is which were seen."""
    with localcontext(_EXACT):
        exponent = Decimal(epsilon) * score / (2 * sensitivity) / _LN2
        whole = int(exponent.to_integral_value(rounding=ROUND_FLOOR))
        part = ((exponent - whole) * _LN2).exp()
        return int(part * 2**_BITS), whole


def exponential_weights(scores: Scores, sensitivity: int, epsilon: float) -> list[int]:
    """Return the whole-number weight of each choice, all multiplied by one power of two.

    Args:
        scores: whole numbers, each moved by one row by at most ``sensitivity``.
        sensitivity: Δ.
        epsilon: ε of the choice.

    Raises:
        ParameterError: there is no score, or ε or a score is out of range.
    """
    values = np.asarray(scores)
    _require_choice(values, sensitivity, epsilon)
    scores = values.tolist()
    # A score raised to a floor that moves with the largest one still moves by at most Δ, and no weight grows without
    # bound, however large n·ε is. The chance of such a choice is below 2⁻⁴⁰⁰⁰ with and without.
    floor = max(scores) - int(_MOST_BITS * 2 * sensitivity * math.log(2) / epsilon) - 1
    raised = [max(score, floor) for score in scores]
    parts = {score: _weight(score, sensitivity, epsilon - SLACK) for score in set(raised)}
    least = min(k for _, k in parts.values())
    # A common factor, which no probability depends on: the rounding was done before.
    weights = {score: m << (k - least) for score, (m, k) in parts.items()}
    return [weights[score] for score in raised]


def _require_choice(scores: NDArray[Any], sensitivity: int, epsilon: float) -> None:
    if not EPSILON_LEAST <= epsilon < math.inf:
        raise ParameterError(f"epsilon = {epsilon:g} of a choice is below {EPSILON_LEAST:g}", hint="give a larger one")
    if not len(scores) or sensitivity < 1 or not -_MOST_SCORE < scores.min() <= scores.max() < _MOST_SCORE:
        raise ParameterError("the scores of a choice are not 56-bit whole numbers")


def exponential_choice(scores: Scores, sensitivity: int, epsilon: float, noise: CentralNoise) -> int:
    """Return the place of one score, drawn by ``noise`` with its :func:`exponential_weights`; it costs ε."""
    return drawn_by(exponential_weights(scores, sensitivity, epsilon), noise)


def drawn_by(weights: Sequence[int], noise: CentralNoise) -> int:
    """Return a place, drawn with the chance that its whole-number weight has of their sum."""
    sums = list(itertools.accumulate(weights))
    return bisect.bisect_right(sums, noise.below(sums[-1]))


_RISK = 0.05


def noisy_max_weights(scores: Scores, sensitivity: int, epsilon: float) -> list[int]:
    """Return whole numbers w: choice i is accepted with the chance wᵢ/max w.

    As for :func:`exponential_weights`, but one row moves all scores in one direction, by at most ``sensitivity``.
    """
    return exponential_weights(scores, sensitivity, 2 * epsilon)


def noisy_max(scores: Scores, sensitivity: int, epsilon: float, noise: CentralNoise) -> int:
    """Return the place of one score, accepted by ``noise`` with its :func:`noisy_max_weights`; it costs ε.

    Permute-and-flip (McKenna & Sheldon 2020): choices in random order, the first one that is accepted. It draws as the
    largest score with exponential noise z of mean Δ/ε does (Ding et al. 2021), so that choice i wins where zᵢ is above
    t, the largest other noisy score less sᵢ. A row that moves all scores up, or all down, by at most Δ moves t by at
    most Δ, and P(zᵢ > t) = e^(−ε·max(t, 0)/Δ) changes by a factor of at most e^ε. Laplace noise, which would cost as
    much, has twice the variance. Every choice is drawn for, however early one is accepted.
    """
    accepted = np.flatnonzero(_accepted(scores, sensitivity, epsilon, noise))
    return int(accepted[noise.below(len(accepted))])


_NEAR = 2.0**-40  # a chance in doubles is nearer to the exact one than this by a factor of some thousand


def _accepted(scores: Scores, sensitivity: int, epsilon: float, noise: CentralNoise) -> NDArray[np.bool_]:
    """Return for each choice whether it is accepted, with exactly the chance weight/largest.

    One word of 64 bits a choice is compared with its chance. Doubles decide, unless the two are near: then the chance's
    first 64 bits do, and only a tie needs the rest of them.
    """
    values = np.asarray(scores)
    _require_choice(values, sensitivity, 2 * epsilon)
    words = noise.words(len(values))
    chances = np.exp((values - values.max()) * ((2 * epsilon - SLACK) / (2 * sensitivity)))
    beyond = words * 2.0**-_BITS - chances
    kept: NDArray[np.bool_] = beyond < 0
    near = np.flatnonzero(np.abs(beyond) < _NEAR).tolist()
    if near:
        weights = noisy_max_weights(scores, sensitivity, epsilon)
        top = max(weights)
        for place in near:
            first, rest = divmod(weights[place] << _BITS, top)
            word = int(words[place])
            kept[place] = word < first or (word == first and noise.below(top) < rest)
    return kept


def one_way_choice(scores: Scores, sensitivity: int, epsilon: float, noise: CentralNoise) -> int:
    """Return the place of one score of weight e^(ε·s/Δ), where one row moves all scores in one direction; it costs ε.

    Its arguments are those of :func:`noisy_max`, but its privacy loss lies in a range of length ε: it costs ρ = ε²/8,
    and not ε²/2.
    """
    return drawn_by(noisy_max_weights(scores, sensitivity, epsilon), noise)


@lru_cache(maxsize=4096)
def clear_lead(choices: int, epsilon: float) -> int:
    """Return the least lead t, in units of Δ, at which 95 % of draws are right, whatever the scores.

    A choice at least t behind the best one is drawn most often where all others are exactly t behind: with p = e^(−εt)
    the chance is 1 − (1 − (1 − p)^K)/(K·p). So with 95 % the choice is also fewer than t behind the best.

    Args:
        choices: K.
        epsilon: ε of the choice.
    """

    def wrong(lead: int) -> float:
        p = math.exp(-(epsilon - SLACK) * lead)
        if p in (0.0, 1.0):
            return 0.0 if p == 0 else 1 - 1 / choices
        return 1 + math.expm1(choices * math.log1p(-p)) / (choices * p)

    high = 1
    while wrong(high) > _RISK:
        high *= 2
    return 1 + last_that(lambda lead: lead < 0 or wrong(lead) > _RISK, -1 if high == 1 else high // 2, high)
