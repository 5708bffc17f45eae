"""Formatting of counts, lists and privacy costs for window, command line and messages.

An amount of ε is shown in at most four significant digits: what is paid rounded up, what is left rounded down, so that
nobody pays more or has less than is shown. Files, ``--json`` and tooltips have all digits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

DIGITS = 4


def counted(number: int, noun: str, nouns: str = "") -> str:
    """Return ``1 row`` or ``2,000 rows``; ``nouns`` is the plural where that does not end in s."""
    return f"{number:,} {noun if number == 1 else nouns or f'{noun}s'}"


def together(names: Sequence[str], ended: Callable[..., str] = "{names} and {last}".format) -> str:
    """Return all names as a sentence says them: ``a``, ``a and b``, ``a, b and c``; ``a and b, and c`` of two parts.

    ``ended`` joins the ``last`` name to the other ``names`` in another language.
    """
    if len(names) < 2:
        return "".join(names)
    comma = "," if any(" and " in name for name in names) else ""
    return ended(names=f"{', '.join(names[:-1])}{comma}", last=names[-1])


def rounded_up(amount: Decimal | float) -> Decimal:
    """Return an amount that is paid with at most four significant digits."""
    return Context(prec=DIGITS, rounding=ROUND_CEILING).plus(_decimal(amount))


def rounded_down(amount: Decimal | float) -> Decimal:
    """Return an amount that is left, or a limit, with at most four significant digits."""
    return Context(prec=DIGITS, rounding=ROUND_FLOOR).plus(_decimal(amount))


def limit_beside(cap: Decimal | float, remaining: Decimal | float | None) -> Decimal:
    """Return a cap beside what was spent of it: in the same digits where nothing remains, else as a limit."""
    return rounded_up(cap) if remaining == 0 else rounded_down(cap)


def paid(amount: Decimal | float) -> str:
    """Return an amount that is paid as messages and commands show it."""
    return _digits(rounded_up(amount))


def left(amount: Decimal | float) -> str:
    """Return an amount that is left, or a limit, as messages and commands show it."""
    return _digits(rounded_down(amount))


def limit(cap: Decimal | float, remaining: Decimal | float | None) -> str:
    """Return a cap beside what was spent of it as messages and commands show it."""
    return _digits(limit_beside(cap, remaining))


def _digits(short: Decimal) -> str:
    """Return all digits, with an exponent where there are many zeros: ``1e-05``."""
    return f"{short.normalize():f}" if not short or short.adjusted() >= -4 else f"{float(short):g}"


def _decimal(amount: Decimal | float) -> Decimal:
    return amount if isinstance(amount, Decimal) else Decimal(repr(float(amount)))
