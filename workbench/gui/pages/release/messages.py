"""What a release is worth, in sentences: what a recipient can learn from it, and what of it is mostly noise."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.gui.session.session import Session
from workbench.gui.widgets.formatting import listed, rounded
from workbench.sanitize.forecast import Forecast
from workbench.sanitize.recipient import MOST_NAMED, Learnt, is_mostly_noise, learnt, noisy_columns, relations_words

_KNOWN = 2
"""Significant digits of an error, which is known no better."""

WAYS_OUT = "Drop columns, round numbers to fewer steps, or release synthetic rows, statistics or a model instead."

LITTLE = "Most of these columns would be noise: see what the same ε gives in another way"
RELEASE_TIP = "Charge the budget, draw the table, certify and write it"
NO_TABLE = "Open a table and declare its public facts; then it can be released here."
REFUSED_TIP = "The cap does not pay for this plan: use what remains, or raise the cap on the Ledger page first"


def noise_words(forecast: Forecast, rows: int) -> str:
    """Return which columns will be mostly noise, in one sentence; empty where none will."""
    names = noisy_columns(forecast, rows)
    if not names:
        return ""
    if len(names) == len(forecast.columns) > 1:
        return "Every protected column will be mostly noise."
    return f"Mostly noise: {listed(names, MOST_NAMED)}."


def says_little(session: Session, forecast: Forecast | None) -> bool:
    """Return whether most of what would be released is noise: another way is better, or more ε."""
    opened = session.opened
    return opened is not None and forecast is not None and is_mostly_noise(forecast, opened.rows_under(session.plan))


def learn_words(forecast: Forecast, rows: int) -> str:
    """Return what a recipient can learn from the table with about 95 % confidence, in one sentence."""
    found = learnt(forecast, rows)
    means = [_stated(one) for one in found if one.numeric]
    shares = [_stated(one) for one in found if not one.numeric]
    parts = []
    if means:
        parts.append(f"the mean of {_joined(means)}")
    if shares:
        parts.append(f"shares of {_joined(shares)}")
    if not parts:
        return "A recipient can learn next to nothing from this table."
    return f"A recipient can learn {'; '.join(parts)}; little else."


def worth_words(forecast: Forecast, rows: int) -> str:
    """Return both sentences, and how far relations between columns fade."""
    stated = (learn_words(forecast, rows), noise_words(forecast, rows), relations_words(forecast))
    return " ".join(filter(None, stated))


def outside_words(sentences: tuple[str, ...]) -> str:
    """Return what stands outside the guarantee, as a paragraph of a question; empty where nothing does."""
    if not sentences:
        return ""
    return "\n\nOutside the guarantee:\n" + "\n".join(f"• {sentence}" for sentence in sentences)


def _stated(one: Learnt) -> str:
    return f"{one.name} to ± {rounded(one.half_length, _KNOWN)}" if one.numeric else f"{one.name} to ± {_points(one)}"


def _points(one: Learnt) -> str:
    return f"{rounded(100 * one.half_length, _KNOWN)} points"


def _joined(stated: Sequence[str]) -> str:
    if len(stated) > MOST_NAMED + 1:
        return f"{', of '.join(stated[:MOST_NAMED])} and of {len(stated) - MOST_NAMED} more"
    return " and of ".join(filter(None, (", of ".join(stated[:-1]), stated[-1])))
