"""Composition of costs: exact basic composition, the advanced bound, and a person with several rows.

Costs are decimals and their sums are exact, so that shares add up to the total that a person wrote, to the
last digit. A figure that has to be rounded is rounded up: an ε that is shown is never too small.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from decimal import ROUND_CEILING, Context, Decimal

from workbench.params import ParameterError
from workbench.privacy.accounting.event import Cost, RowsPerPerson, group

EXACT = Context(prec=400, rounding=ROUND_CEILING)
"""Doubles are decimals of at most 17 significant digits within 10^±308: no realistic sum needs more digits."""

SHOWN_PLACES = 6  # decimal places with which an accountant's ε is charged


def round_up(value: float, places: int = SHOWN_PLACES) -> Decimal:
    """Return ``value`` with ``places`` decimals, rounded up.

    Raises:
        ParameterError: the value is negative, infinite or not a number.
    """
    if not 0 <= value < math.inf:
        raise ParameterError(f"the privacy loss {value} is not a finite number", hint="use more noise or fewer steps")
    return Decimal(value).quantize(Decimal(1).scaleb(-places), context=EXACT)


def last_that(holds: Callable[[int], bool], low: int, high: int, close: float = 0.0) -> int:
    """Return a number that holds, where ``low`` does and ``high`` does not, at most ``close`` of it from the edge."""
    while high - low > max(1.0, close * low):
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def total(values: Iterable[Decimal]) -> Decimal:
    """Return the exact sum."""
    result = Decimal(0)
    for value in values:
        result = EXACT.add(result, value)
    return result


def advanced_epsilon(epsilon: float, count: int, slack: float) -> float:
    """Return ε of ``count`` releases at ``epsilon`` each, at δ = ``slack`` (beside count·δ of their own).

    ε·√(2k·ln(1/δ′)) + k·ε·(e^ε−1) (Dwork & Roth 2014, Theorem 3.20). Basic composition's k·ε is often smaller:
    take the lesser of the two.

    Raises:
        ParameterError: ε ≤ 0, fewer than one release, or slack not in (0, 1).
    """
    if not 0 < epsilon <= 100:
        raise ParameterError(f"epsilon = {epsilon} is not between 0 and 100", hint="give 0 < epsilon ≤ 100")
    if isinstance(count, bool) or not 1 <= count <= 10**12:
        raise ParameterError(f"{count} releases cannot be composed", hint="give a whole number of at least 1")
    if not 0 < slack < 1:
        raise ParameterError(f"delta = {slack} is not between 0 and 1", hint="give a δ such as 1e-6")
    return epsilon * math.sqrt(2 * count * math.log(1 / slack)) + count * epsilon * math.expm1(epsilon)


def for_person(cost: Cost, rows: int) -> Cost:
    """Return what ``cost`` per row means for a person with ``rows`` rows: (kε, k·e^((k−1)ε)·δ), rounded up.

    Raises:
        ParameterError: fewer than one row.
    """
    if isinstance(rows, bool) or not rows >= 1:
        raise ParameterError(f"{rows} rows per person is not a whole number of at least 1", hint="give 1 or more")
    if rows == 1:
        return cost
    delta = cost.delta
    if delta:
        # One double above the floating-point value of e^((k−1)ε), so that rounding never makes it too small.
        delta = min(Decimal(1), Decimal(math.nextafter(group(float(cost.epsilon), float(delta), rows)[1], 2.0)))
    return Cost(EXACT.multiply(cost.epsilon, Decimal(rows)), delta, RowsPerPerson(cost.event, rows))
