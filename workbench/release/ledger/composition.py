"""How the costs of an account's releases are composed: by plain sum, or by a Rényi filter that the steward has chosen.

The choice is an entry of the chain (``count``); its order and its part of δ are those of the first choice, whatever the
cap becomes later, because a filter is valid for an order that is fixed beforehand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Any

from workbench.params import ParameterError
from workbench.privacy.accounting.accountant import INTEGER_ORDERS
from workbench.privacy.accounting.compose import for_person, total
from workbench.privacy.accounting.event import (
    ApproximateDp,
    Composed,
    Cost,
    CostEvent,
    PoissonGaussian,
    PureDp,
    Repeated,
    RowsPerPerson,
)
from workbench.privacy.accounting.event_alternatives import alternatives
from workbench.privacy.accounting.event_text import from_plain, to_plain
from workbench.privacy.accounting.renyi_filter import Filter
from workbench.release.ledger.entry import Amount, decimal_text, plus

SUM, FILTER = "sum", "renyi-filter"  # how an account can be counted

_MOST_PARTS = 64
"""Most different parts of an event that an entry stores; one with more is counted as one release of its ε."""


@dataclass(frozen=True)
class CountedRelease:
    """One release as it counts: what it cost, and what happened."""

    release_id: str
    cost: Amount
    event: CostEvent


@dataclass(frozen=True)
class FilterCount:
    """The releases of an account under the filter that the steward has chosen."""

    filter: Filter  # its order and its part of δ
    releases: tuple[CountedRelease, ...]

    def amount(self, releases: Iterable[CountedRelease] | None = None) -> Amount:
        """Return what ``releases`` (default: all) count for: the lesser of sum and filter, δ with that of the filter.

        The δ of the filter counts in every case: whether it was needed may depend on what the releases showed.
        """
        some = tuple(self.releases if releases is None else releases)
        summed = Decimal(0), Decimal(0)
        for release in some:
            summed = plus(summed, release.cost)
        filtered = self.filter.epsilon(release.event for release in some)
        epsilon = summed[0] if filtered is None else min(summed[0], filtered)
        return plus((epsilon, summed[1]), (Decimal(0), self.filter.slack))

    def after(self, cost: Cost) -> Amount:
        """Return what all releases count for with one more of ``cost``."""
        return self.amount((*self.releases, CountedRelease("", (cost.epsilon, cost.delta), event_of_cost(cost))))

    def without(self, release_id: str) -> Amount:
        """Return what the other releases count for."""
        return self.amount(r for r in self.releases if r.release_id != release_id)

    def stated(self) -> dict[str, Any]:
        """Return the count as entries, certificates and lists name it."""
        return {"method": FILTER, "order": self.filter.order, "delta": decimal_text(self.filter.slack)}


def filter_of(body: dict[str, Any]) -> Filter | None:
    """Return the filter that the body of an entry names; ``None`` for the plain sum or anything else."""
    order, slack = body.get("order"), body.get("delta")
    known = isinstance(order, int) and order in INTEGER_ORDERS
    if body.get("method") != FILTER or not known or not isinstance(slack, str):
        return None
    try:
        amount = Decimal(slack)
    except InvalidOperation:
        return None
    return Filter(int(str(order)), amount) if amount.is_finite() and 0 < amount < 1 else None


def event_of_cost(cost: Cost) -> CostEvent:
    """Return what happened, where it explains the whole cost; else a release of which ε and δ alone are known."""
    plain = _plain_event((cost.epsilon, cost.delta))
    explained = _is_pure(cost.event, cost.epsilon) if cost.delta == 0 else isinstance(cost.event, PoissonGaussian)
    return cost.event if explained else plain


def event_of_row(event: CostEvent) -> tuple[CostEvent, int]:
    """Return what happened to one row of a person, and how many rows she may have."""
    return (event.event, event.rows) if isinstance(event, RowsPerPerson) else (event, 1)


def event_body(cost: Cost) -> dict[str, Any]:
    """Return the key of an entry that names what happened; none where ε and δ say as much."""
    event = event_of_cost(cost)
    if isinstance(event, PureDp | ApproximateDp):
        return {}
    return {"event": to_plain(_short(event))}


def steps_body(cost: Cost) -> dict[str, Any]:
    """Return the keys of an entry that name the steps of a training; none of other work.

    They are there whatever the entry says of the event as the account counts it: what is given back of a training
    is worked out from them.
    """
    event, rows = event_of_row(cost.event)
    if not isinstance(event, PoissonGaussian):
        return {}
    return {"training": to_plain(_short(event)), "rows_per_person": rows}


def steps_of_release(body: dict[str, Any]) -> tuple[PoissonGaussian, int] | None:
    """Return the whole run of a training and its rows per person, as reserved; ``None`` where they are not known."""
    rows = body.get("rows_per_person")
    try:
        event = from_plain(body.get("training"))
    except ParameterError:
        return None
    return (event, rows) if isinstance(event, PoissonGaussian) and isinstance(rows, int) and rows > 0 else None


def event_of_release(status: str, cost: Amount, body: dict[str, Any]) -> CostEvent:
    """Return the event of a release in the ledger; where it cost less than reserved, its ε and δ alone."""
    if "event" not in body or status == "settled":
        return _plain_event(cost)
    try:
        event = from_plain(body["event"])
        alternatives(event)
    except ParameterError:
        return _plain_event(cost)
    return event_of_cost(Cost(cost[0], cost[1], event))


def _plain_event(cost: Amount) -> CostEvent:
    if cost[0] == 0:
        return Composed(()) if cost[1] == 0 else ApproximateDp(Decimal("1e-9"), cost[1])
    return PureDp(cost[0]) if cost[1] == 0 else ApproximateDp(*cost)


def _is_pure(event: CostEvent, epsilon: Decimal) -> bool:
    event, rows = event_of_row(event)
    try:
        found = _leaves_of(event)
    except ParameterError:
        return False
    own = for_person(Cost(total(e * n for e, n in found.items()), Decimal(0), event), rows)
    return bool(found) and len(found) <= _MOST_PARTS and own.epsilon == epsilon


def _leaves_of(event: CostEvent) -> Mapping[Decimal, int]:
    """Return how often each ε happens among the pure releases that an event consists of; none where it has others.

    Raises:
        ParameterError: it cannot be split.
    """
    leaves, *others = alternatives(event)
    pure = {leaf.epsilon: count for leaf, count in leaves.items() if isinstance(leaf, PureDp)}
    return pure if len(pure) == len(leaves) and not others else {}


def _short(event: CostEvent) -> CostEvent:
    if isinstance(event, RowsPerPerson):
        return RowsPerPerson(_short(event.event), event.rows)
    if isinstance(event, PoissonGaussian):
        return replace(event, label="")
    parts = [Repeated(PureDp(e), n) if n > 1 else PureDp(e) for e, n in _leaves_of(event).items()]
    return Composed(tuple(parts))
