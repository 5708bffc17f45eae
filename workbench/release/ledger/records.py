"""What the ledger knows of a release and of a dataset's budget."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from workbench.params import BudgetRefusedError
from workbench.privacy.accounting.event import Cost
from workbench.release.ledger.exact import Amount, decimal_text, minus, plus

COUNTED = ("reserved", "charged", "settled")
"""The statuses that count against the cap."""

FIRST_RELEASE, STEWARD, MERGED = "first release", "steward", "two accounts became one"
"""Who set a cap."""


@dataclass(frozen=True)
class Release:
    """One release with its present status and cost."""

    release_id: str
    dataset: str
    epsilon: Decimal
    delta: Decimal
    status: str
    time: str
    body: dict[str, Any]


@dataclass(frozen=True)
class Account:
    """A dataset's budget: cap (``None`` before the first release), spent and reserved, in (ε, δ).

    The cap's δ is ``None`` until a release with δ > 0 or the steward sets it.
    """

    dataset: str
    cap: tuple[Decimal, Decimal | None] | None
    spent: Amount
    reserved: Amount
    cap_history: tuple[dict[str, str], ...] = ()

    @property
    def remaining(self) -> Decimal | None:
        """ε left under the cap, or ``None`` before the first release."""
        return None if self.standing_cap is None else minus(self.standing_cap[0], self.used[0])

    @property
    def standing_cap(self) -> tuple[Decimal, Decimal | None] | None:
        """The cap that the next release must fit; ``None`` where that release sets it."""
        return None if self.unused else self.cap

    @property
    def unused(self) -> bool:
        """Whether nobody set the cap but a first release that came to nothing: then the next one is the first."""
        return self.used == (Decimal(0), Decimal(0)) and all(c["origin"] == FIRST_RELEASE for c in self.cap_history)

    @property
    def used(self) -> Amount:
        """What counts against the cap: spent and reserved."""
        return plus(self.spent, self.reserved)


def refusal(cost: Cost, cap: tuple[Decimal, Decimal | None], used: Amount) -> BudgetRefusedError:
    """Return the sentence that a charge does not fit under its cap, with both numbers."""
    left = max(minus(cap[0], used[0]), Decimal(0))
    delta_left = max(minus(cap[1] or Decimal(0), used[1]), Decimal(0))
    needs = []
    if cost.epsilon > left:
        needs.append(f"costs epsilon = {decimal_text(cost.epsilon)} but only {decimal_text(left)} remain")
    if cost.delta > delta_left:
        needs.append(f"needs delta = {float(cost.delta):g} of which {float(delta_left):g} remain")
    where = f"cap epsilon = {decimal_text(cap[0])}, spent or reserved {decimal_text(used[0])}"
    mend = "spend less, or raise the cap with `workbench ledger cap DATA --epsilon TOTAL`"
    return BudgetRefusedError(f"this release {' and '.join(needs)}", where, mend)
