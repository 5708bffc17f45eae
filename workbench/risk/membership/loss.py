"""The loss threshold (Yeom et al. 2018): a row that fits well was used. Of a table, the distance to its closest row."""

from __future__ import annotations

from workbench.risk.membership.base import Guess, Seen
from workbench.risk.roc import Scores


def _score(seen: Seen) -> Scores:
    return seen.likelihood


LOSS = Guess("loss", "Best fit", "A row that fits well, or is near, was used.", _score)
