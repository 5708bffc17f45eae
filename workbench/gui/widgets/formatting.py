"""Numbers and times as a person reads them."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import TYPE_CHECKING

from workbench.gui.style.language import day, localised, tr, tr_n, tr_number, tr_sentence
from workbench.params import amounts
from workbench.params.amounts import DIGITS, limit_beside, rounded_down, rounded_up

if TYPE_CHECKING:  # it loads numpy, which the first paint does not wait for
    from workbench.release.model.paused_training import PausedTraining

STAR = "★"  # marks what is advised in a list

NO_BREAK = "\u00a0"
MAY_BREAK = "\u200b"
_LARGEST = 20  # power of ten from the next of which on a number has an exponent
_LONG = re.compile(r"[^\s<>]{40,}")  # no tag of a rich text
_LONG_WHERE_NARROW = re.compile(r"\S{16,}")
_JOINTS = re.compile(r"[_./\\-]+(?=\w)")
_SIGNS = re.compile(r"\b(ε|δ|σ|k|epsilon|delta) (=|≤|≥|<|>) (?=\d)|(±) (?=\d)|([✓✗✕]) (?=\w)")
_UNITS = re.compile(r"(?<=\d) (?=%|(?:[KMG]B|ms|s|min|h|days?|years?|rows?|columns?)\b)")


def unbroken(text: str) -> str:
    """Return ``text`` with spaces at which no line is broken between a figure and its sign or unit: ε = 3, 22.0 GB."""
    text = _SIGNS.sub(lambda found: NO_BREAK.join([*filter(None, found.groups()), ""]), text)
    return _UNITS.sub(NO_BREAK, text)


def breakable(text: str, *, narrow: bool = False) -> str:
    """Return ``text`` with places where a very long word, such as a column's name or a path, may go on below.

    Where it has a ``narrow`` place, a name of usual length is a long one.
    """
    return (_LONG_WHERE_NARROW if narrow else _LONG).sub(
        lambda found: _JOINTS.sub(f"\\g<0>{MAY_BREAK}", found.group()), text
    )


def plain(value: Decimal | float | None) -> str:
    """Return four significant digits, with a separator between thousands; tiny and huge numbers have an exponent."""
    if value is None:
        return "–"
    number = value if isinstance(value, Decimal) else Decimal(repr(float(value)))
    if number == 0 or not number.is_finite():
        return entered(number)
    if number.adjusted() < -4:
        return entered(number.quantize(Decimal(1).scaleb(number.adjusted() - 2), rounding=ROUND_HALF_EVEN))
    if number.adjusted() > _LARGEST:
        return entered(Context(prec=DIGITS).plus(number))
    places = DIGITS - 1 - number.adjusted()
    short = number.quantize(Decimal(1).scaleb(-max(places, 0)), rounding=ROUND_HALF_EVEN)
    text = f"{short:,f}"
    return localised(text.rstrip("0").rstrip(".") if "." in text else text)


def rounded(value: float, digits: int) -> str:
    """Return a number with so many significant digits, at most four, and a separator between thousands."""
    return plain(float(f"{value:.{digits}g}"))


def two_digits(share: float) -> str:
    """Return a share in percent with two significant digits."""
    return f"{rounded(100 * share, 2)} %"


def in_letters(value: float) -> str:
    """Return a figure of an axis, or a large one, in as few letters as it can be read in: ``3.23M``."""
    if value >= 1e4:
        millions = value >= 1e6
        return f"{tr_number(value / (1e6 if millions else 1e3), '.3g')}{'M' if millions else 'k'}"
    return tr_number(value, ",.0f") if value >= 10 else tr_number(value, ".2g").replace("e-0", "e-")


def half_width(value: float) -> str:
    """Return half of an interval, which reads alike wherever it is shown."""
    return rounded(value, 3)


def share_half_width(half: float) -> str:
    """Return half of an interval of a share in percent: at most 100, as a share is between 0 and 100 %."""
    return half_width(min(100 * half, 100))


def at_most(epsilon: Decimal | float) -> str:
    """Return an ε that is paid: in four significant digits at most, the last rounded up.

    So a figure reads the same wherever it is, and nobody pays more than he reads; :func:`entered` has all digits.
    """
    return entered(rounded_up(epsilon))


def at_least(epsilon: Decimal | float) -> str:
    """Return an ε that is left, or a cap that limits it: in four significant digits at most, the last rounded down."""
    return entered(rounded_down(epsilon))


def left_of_budget(epsilon: Decimal) -> str:
    """Return what is left of a budget where no sentence around it names ε: ``ε 0.8``, and never less than 0."""
    return f"ε{NO_BREAK}{at_least(max(epsilon, Decimal(0)))}"


def still_left(remaining: Decimal, left: str = "") -> str:
    """Return what is left of a budget, as the end of a sentence, in the words ``left`` where it is not of ε."""
    left = left or f"ε = {at_least(remaining)}"
    return tr("{left} is left", left=left) if remaining > 0 else tr("nothing is left")


def only_left(remaining: Decimal, left: str = "") -> str:
    """Return what is left of a budget that is too small, in the words ``left`` where they name more than ε."""
    return tr("only {left} remain", left=left or at_least(remaining)) if remaining > 0 else tr("nothing is left")


def cap_beside(cap: Decimal, remaining: Decimal | None) -> str:
    """Return a cap beside what was spent of it: in the same digits where nothing remains, else as a limit."""
    return entered(limit_beside(cap, remaining))


def in_full(epsilon: Decimal | None) -> str:
    """Return all digits of an ε that may be shown shortened, for its tooltip; empty for none."""
    return "" if epsilon is None else tr("ε = {epsilon} exactly", epsilon=entered(epsilon))


def exactly(epsilon: Decimal) -> str:
    """Return what is behind a shortened ε where nothing can be pointed at; empty where it is whole."""
    return "" if at_most(epsilon) == entered(epsilon) else f" ({tr('exactly {epsilon}', epsilon=entered(epsilon))})"


def entered(value: Decimal) -> str:
    """Return all digits of ``value`` as a person would type them, and nothing rounded: 0.5, 12, 1e-6.

    What :func:`~workbench.gui.style.language.typed` reads back from it is ``value`` itself; of what no digits can state
    it writes ∞, or – where it is no number.
    """
    if not value.is_finite():
        return "–" if value.is_nan() else "∞" if value > 0 else "-∞"
    if value == 0:
        return "0"
    if not Decimal("1e-4") <= abs(value) < Decimal("1e7"):
        digits = value.normalize(Context(prec=max(len(value.as_tuple().digits), 1))).as_tuple()
        mantissa = "".join(map(str, digits.digits))
        point = f".{mantissa[1:]}" if len(mantissa) > 1 else ""
        return localised(f"{'-' if digits.sign else ''}{mantissa[0]}{point}e{value.adjusted()}")
    text = f"{value:f}"
    return localised(text.rstrip("0").rstrip(".") if "." in text else text)


def memory(size: int) -> str:
    """Return a number of bytes in MB or GB."""
    if size < 1e9:
        return tr("{size} MB", size=tr_number(size / 1e6, ".0f"))
    return tr("{size} GB", size=tr_number(size / 1e9, ".1f" if size < 1e11 else ".0f"))


def time_words(left: float | None, elapsed: float) -> str:
    """Return how long work takes: ``0:21 left``, ``1 h 5 min left``; while no one knows, ``0:05 so far``."""
    whole = round(elapsed if left is None else left)
    if whole < 3600:
        time = f"{whole // 60}:{whole % 60:02d}"
        return tr("{time} so far", time=time) if left is None else tr("{time} left", time=time)
    times = {"hours": whole // 3600, "minutes": whole % 3600 // 60}
    return (
        tr("{hours} h {minutes} min so far", **times) if left is None else tr("{hours} h {minutes} min left", **times)
    )


def percent(share: float, digits: int = 3) -> str:
    """Return a share in percent with so many significant digits: ``12.5 %``."""
    return tr("{share} %", share=tr_number(100 * share, f".{digits}g"))


def moment(time: str) -> str:
    """Return the day and the minute of a time as the ledger writes it; any other text as it is."""
    try:
        read = datetime.datetime.fromisoformat(time)
    except ValueError:
        return time[:16].replace("T", " ")
    return f"{day(read.date())} {read:%H:%M}"


def day_of(time: str) -> str:
    """Return the day of a time as files write it; empty for none."""
    return day(datetime.date.fromisoformat(time[:10])) if time else ""


def listed(names: Sequence[str], most: int = 2) -> str:
    """Return the first ``most`` names, and how many more there are; the name that would be the only other is named."""
    if len(names) <= most + 1:
        return together(names)
    return tr("{names} and {number} more", names=", ".join(names[:most]), number=len(names) - most)


def together(names: Sequence[str]) -> str:
    """Return all names as a sentence says them in the person's language."""
    return amounts.together(names, lambda **ends: tr("{names} and {last}", **ends))


def count(number: int, noun: str, nouns: str = "") -> str:
    """Return ``1 row`` or ``2,000 rows``; the nouns are literals, which ``packaging/translations.py`` lists."""
    return tr_n(f"{{n}} {noun}", f"{{n}} {nouns or noun + 's'}", number)


def first_rows(seen: int, rows: int) -> str:
    """Return which rows are shown: all, or the first ``seen`` of them."""
    if seen >= rows:
        return count(rows, "row")
    return tr("the first {seen} of {rows} rows", seen=tr_number(seen, ","), rows=tr_number(rows, ","))


def paused_words(run: PausedTraining) -> str:
    """Return which training is paused, and where."""
    from workbench.deep.networks import network

    return tr(
        "{title} is paused after {taken} of {steps} steps (ε = {spent} of {epsilon}).",
        title=tr_sentence(network(run.plan.network).title),
        taken=tr_number(run.taken, ","),
        steps=tr_number(run.steps, ","),
        spent=at_most(run.spent),
        epsilon=at_most(run.epsilon),
    )
