"""A release and a dataset's budget, as the ledger records them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from workbench.params import BudgetRefusedError, ParameterError, amounts
from workbench.params.remedies import SPEND_LESS, Remedy, raise_cap, share_account
from workbench.privacy.accounting.compose import for_person
from workbench.privacy.accounting.event import Composed, Cost
from workbench.release.ledger.composition import FilterCount
from workbench.release.ledger.entry import Amount, decimal_text, minus, plus

Cap = tuple[Decimal, Decimal | None]  # (ε, δ) of a cap; δ is `None` until a release with δ > 0 or the steward sets it

CLAIM, PAUSE, RESUME = "claim", "pause", "resume"
"""Entries about the steps of a training: some count as taken; a part of it has ended; another one goes on."""

STATUS = {
    "reserve": "reserved",
    RESUME: "reserved",
    PAUSE: "reserved",
    "charge": "charged",
    "settle": "settled",
    "void": "void",
    "refuse": "refused",
}
"""The status of a release after each kind of entry."""

CERTIFY = "certify"  # the entry that names the certificate of a release; it leaves status and cost as they are

DRAWN = "drawn"
"""Key of a reservation: the name of the file with the parts that workers drew, with which another run can go on."""

TABLES = "tables"
"""Key of a reservation: the datasets of two tables that are joined; from then on they share one account."""

COUNTED = ("reserved", "charged", "settled")  # the statuses that count against the cap

FIRST_RELEASE, STEWARD, JOINED = "first release", "steward", "two accounts became one"  # who set a cap


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

    @property
    def cost(self) -> Amount:
        """(ε, δ) at present."""
        return self.epsilon, self.delta

    @property
    def unit(self) -> int:
        """How many rows of each person were kept; 0 where the plan names no column that identifies one."""
        found = self.body.get("unit", 0)
        return found if isinstance(found, int) else 0

    @property
    def tables(self) -> tuple[str, ...]:
        """The datasets of the two tables that it was made of, where they were joined; none else."""
        found = self.body.get(TABLES, ())
        return tuple(map(str, found)) if isinstance(found, list) else ()

    @property
    def covers_rows(self) -> bool:
        """Whether what it costs covers a single row that becomes empty (:mod:`workbench.data.person_join`)."""
        return self.unit != 1 and not self.tables


ROW, PERSON = "row", "person"
"""What the sum of an account bounds: what one row changes in all of its releases, or all rows of one person."""


def unit_of(counted: Sequence[Release]) -> str:
    """Return what the sum of an account's releases bounds.

    A release whose plan names the person bounds her rows together, and so each of them; any other one bounds rows
    alone, or persons as they were declared. The sum is of persons only where every release is.
    """
    return PERSON if counted and all(release.unit for release in counted) else ROW


def at_unit_cost(counted: Sequence[Release]) -> list[Release]:
    """Return releases at what they cost the unit of their sum.

    Where one row of each person is kept and that row alone becomes empty, another may take its place: two rows change,
    and the ε of the release covers one. Of joined tables all k rows of a person may change so. In a sum that bounds
    rows such a release counts as a group of two.
    """
    if unit_of(counted) == PERSON:
        return list(counted)
    return [release if release.covers_rows else _of_two(release) for release in counted]


def _of_two(release: Release) -> Release:
    cost = for_person(Cost(release.epsilon, release.delta, Composed(())), 2)
    return replace(release, epsilon=cost.epsilon, delta=cost.delta)


def require_unit(release: Release, counted: Sequence[Release]) -> None:
    """Refuse a release that would change what the earlier ones of its account count for (:func:`at_unit_cost`).

    Raises:
        ParameterError: it covers no single row and an earlier one is by the row, or the other way round.
    """
    by_rows = any(not earlier.unit for earlier in counted)
    if by_rows and release.tables:
        what = (
            "a second table is joined: its epsilon is per person, not per row, but the account of one of the two was "
            "charged per row"
        )
        raise ParameterError(
            what, "join", "release the tables one by one, with at least two rows of each person", code="units-mixed"
        )
    if by_rows and not release.covers_rows:
        what = "one row of each person is kept: its epsilon is per person, but this account was charged per row"
        raise ParameterError(what, "unit", "keep at least two: rows_per_person = 2", code="units-mixed")
    if not release.unit and any(not earlier.covers_rows for earlier in counted):
        what = "this account was charged per person: its sum does not bound the privacy loss of a single row"
        hint = 'add the column that identifies a person to the plan: unit = "NAME"'
        raise ParameterError(what, "unit", hint, code="units-mixed")


COMMITS = (
    "One row of each person is read, so the account counts persons from then on: later releases must also name the "
    "person, and one charged per row is refused."
)


def commitment(unit: str | None, rows_per_person: int) -> str:
    """Return what a release commits its account to (:func:`require_unit`), to say before the charge; empty for none."""
    return COMMITS if unit and rows_per_person == 1 else ""


def has_output(release: Release) -> bool:
    """Return whether anything was released, of a training that may stay charged though it was stopped."""
    if release.body.get("work") != "dpsgd" or release.status not in ("charged", "settled"):
        return release.status in ("charged", "settled")
    # A release that recovery found whole has a file and no checksum of its certificate.
    output = release.body.get("output", "")
    return bool(release.body.get("certificate")) or not output or Path(output).exists()


@dataclass(frozen=True)
class Account:
    """A dataset's budget: cap (``None`` before the first release), spent and reserved, in (ε, δ).

    The cap's δ is ``None`` until a release with δ > 0 or the steward sets it. ``count`` is how the releases are counted
    where that is not their plain sum; ``unit`` what their sum bounds; ``together`` is set where it is what two accounts
    would be as one.
    """

    dataset: str
    cap: Cap | None
    spent: Amount
    reserved: Amount
    cap_history: tuple[dict[str, str], ...] = ()
    count: FilterCount | None = None
    unit: str = ROW
    together: bool = False

    @property
    def remaining(self) -> Decimal | None:
        """ε left under the cap, or ``None`` before the first release."""
        return None if self.standing_cap is None else minus(self.standing_cap[0], self.used[0])

    @property
    def standing_cap(self) -> Cap | None:
        """The cap that the next release must fit; ``None`` where that release sets it."""
        return None if self.unused else self.cap

    @property
    def delta_remaining(self) -> Decimal | None:
        """δ left under the cap, or ``None`` where the next release with δ > 0 sets that cap."""
        cap = self.standing_cap
        return None if cap is None or cap[1] is None else minus(cap[1], self.used[1])

    @property
    def unused(self) -> bool:
        """Whether the cap was set only by a first release that was void; the next release then sets it again."""
        return self.used == (Decimal(0), Decimal(0)) and all(c["origin"] == FIRST_RELEASE for c in self.cap_history)

    @property
    def used(self) -> Amount:
        """What counts against the cap: spent and reserved."""
        return plus(self.spent, self.reserved)

    def refusal(self, cost: Cost) -> BudgetRefusedError | None:
        """Return why a release of ``cost`` is refused now; ``None`` if the cap allows it."""
        after = None if self.count is None else self.count.after(cost)
        refused = refusal((cost.epsilon, cost.delta), self.standing_cap, self.used, after)
        if refused is not None and self.together:  # each of the two has a cap of its own, and the lower one counts
            refused.remedies = (refused.remedies[0], share_account())
        return refused


def _too_much(short: list[str], wanted: Amount, left: Amount) -> str:
    """Return what a release needs of that which is ``short``, and what is left of it: whole sentences, to translate."""
    epsilon, delta = map(amounts.paid, wanted)
    remaining, delta_left = map(amounts.left, left)
    if "epsilon" in short and not left[0]:  # then it is refused whatever is left of delta
        return f"this release costs epsilon = {epsilon} but nothing is left"
    if "delta" not in short:
        return f"this release costs epsilon = {epsilon} but only {remaining} remain"
    if "epsilon" not in short and not left[1]:
        return f"this release needs delta = {delta} of which nothing is left"
    if "epsilon" not in short:
        return f"this release needs delta = {delta} of which {delta_left} remain"
    return (
        f"this release costs epsilon = {epsilon} but only {remaining} remain "
        f"and needs delta = {delta} of which {delta_left} remain"
    )


def cap_for(wanted: Amount, cap: Cap | None) -> Cap:
    """Return the cap that applies to the charge ``wanted``; where no cap is set, the charge itself becomes the cap."""
    epsilon, delta = cap or (wanted[0], None)
    return epsilon, wanted[1] if delta is None and wanted[1] > 0 else delta


def lowest_caps(*caps: Cap | None) -> Cap | None:
    """Return the lowest ε and the lowest δ of those caps that are set."""
    found = [cap for cap in caps if cap is not None]
    deltas = [delta for _, delta in found if delta is not None]
    return (min(epsilon for epsilon, _ in found), min(deltas) if deltas else None) if found else None


def refusal(wanted: Amount, cap: Cap | None, used: Amount, after: Amount | None = None) -> BudgetRefusedError | None:
    """Return why a charge is refused, with what is needed and what remains; ``None`` if the cap allows it.

    ``after`` is what counts with the charge, where that is not the sum of it and what is used; without a cap it sets
    one.
    """
    cap = cap_for(wanted, cap)
    if after is None:
        after = plus(used, wanted)
    else:
        wanted = max(minus(after[0], used[0]), Decimal(0)), max(minus(after[1], used[1]), Decimal(0))
    if after[0] <= cap[0] and after[1] <= (cap[1] or 0):
        return None
    left = max(minus(cap[0], used[0]), Decimal(0))
    delta_left = max(minus(cap[1] or Decimal(0), used[1]), Decimal(0))
    short, where = [], []
    if wanted[0] > left:
        short.append("epsilon")
        where.append(f"cap epsilon = {amounts.limit(cap[0], left)}, spent or reserved {amounts.paid(used[0])}")
    if wanted[1] > delta_left:
        short.append("delta")
        most = amounts.limit(cap[1] or 0, delta_left)
        where.append(f"cap delta = {most}, spent or reserved {amounts.paid(used[1])}")
    remains = "epsilon" in short and left > 0
    quantity = ", ".join(short)
    less = Remedy(
        SPEND_LESS, "spend less", {"quantity": quantity, **({"remains": decimal_text(left)} if remains else {})}
    )
    return BudgetRefusedError(
        _too_much(short, wanted, (left, delta_left)),
        "; ".join(where),
        (less, raise_cap(quantity, epsilon=max(cap[0], after[0]), delta=after[1])),
        code="over-cap",
        field=quantity,
    )
