"""What a kind of central release supplies: its columns, its costs and a function; the door does the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from workbench.data.table import Table
from workbench.params import ParameterError
from workbench.privacy.accounting.compose import for_person, total
from workbench.privacy.accounting.event import Composed, Cost, PureDp, ZeroConcentrated
from workbench.privacy.accounting.zcdp import delta_of
from workbench.privacy.central.laplace import CentralNoise
from workbench.privacy.central.share import Budget, QueryEvent
from workbench.privacy.local.mechanism_table import EPSILON_LEAST, EPSILON_MOST
from workbench.release.central.kinds import kind
from workbench.release.delta_limit import require_small_cost
from workbench.release.ledger.recover import request_of
from workbench.release.table.before_release import Destination
from workbench.sanitize.engine import check_columns
from workbench.sanitize.origin import require_confirmed
from workbench.sanitize.plan import Plan
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit


@dataclass(frozen=True)
class Made:
    """What was computed, still in memory.

    Attributes:
        data: the bytes of the released file.
        method: facts for the certificate, as JSON holds them: public ones, or made of noisy values alone.
    """

    data: bytes
    method: Mapping[str, Any]


Make = Callable[[Table, CentralNoise, Emit, CancelToken], Made]
"""Computes the release from the rows, as the plan reads them, with the noise that the door hands it.

It asks exactly the queries that :attr:`CentralWork.events` names, and writes nothing to a file.
"""


Check = Callable[[Table, CancelToken], None]
"""Refuses values of the rows, as the plan reads them, before anything is reserved or charged."""


@dataclass(frozen=True, eq=False)
class CentralWork:
    """A central release as its kind describes it, before a row is read.

    Attributes:
        kind: name of its kind (:mod:`workbench.release.central.kinds`).
        columns: names of the plan's columns that it reads.
        events: every query with its ε (or ρ) for one row, under zero-out neighbours; they sum to the release's.
        asked: what was asked for, as JSON holds it: it stands in the certificate, and a later run that asks for the
            same publishes a finished draw of this one.
        room: bytes that the released file and its certificate may need on the disk.
        make: computes it.
        budget: (ε, δ) of one row, where the events have a ρ; ``None`` where their ε says it all.
        check: refuses invalid values; where there is none, those that are not on their column's grid.
    """

    kind: str
    columns: tuple[str, ...]
    events: tuple[QueryEvent, ...]
    asked: Mapping[str, Any]
    room: int
    make: Make
    budget: Budget | None = None
    check: Check | None = None


@dataclass(frozen=True, eq=False)
class PreparedCentral:
    """A central release that has passed every check except those of the ledger, the values and the disk.

    Attributes:
        plan: declares the columns.
        table: of which table.
        rows: its rows as the plan reads them.
        to: where to.
        work: what is computed.
        cost: what it is charged, for all rows of a person.
    """

    plan: Plan
    table: Table
    rows: Table
    to: Destination
    work: CentralWork
    cost: Cost

    @property
    def request(self) -> str:
        """Digest of what is asked for."""
        asked = {"plan": self.plan.published().to_toml(), "format": self.to.format, **self.work.asked}
        queries = [[e.label, str(amount_of(e))] for e in self.work.events]
        if self.work.budget is not None:
            asked = {**asked, "budget": [str(self.work.budget.epsilon), str(self.work.budget.delta)]}
        return request_of(self.work.kind, asked=asked, queries=queries)


def prepared_central(plan: Plan, table: Table, to: Destination, work: CentralWork) -> PreparedCentral:
    """Return the central release of ``table``, checked once for all that follows.

    Raises:
        InputError: the plan holds unconfirmed guesses, plan and table do not fit each other, or a guess about the
            file is in doubt, which one row could turn.
        ParameterError: it reads a column that the plan does not protect, asks for nothing, or at an ε out of bounds,
            or δ is not below 1/rows.
    """
    needed = require_unpublished if kind(work.kind).any_text else require_protected
    require_confirmed(plan)
    check_columns(plan, table)
    table.require_certain()
    for name in work.columns:
        needed(plan, name)
    if not work.events:
        raise ParameterError("nothing was asked for", hint="name a figure")
    budget = budget_of(work.events, work.budget)
    require_epsilon(budget)
    cost, rows = cost_of(work.events, plan.rows_per_person, budget), plan.rows_of(table)
    if budget.gaussian:
        require_small_cost(cost, rows.rows, rows_per_person=plan.rows_per_person)
    return PreparedCentral(plan, table, rows, to, work, cost)


def amount_of(event: QueryEvent) -> Decimal:
    """Return the ε of a query, or its ρ."""
    return event.epsilon if isinstance(event, PureDp) else event.rho


def budget_of(events: tuple[QueryEvent, ...], budget: Budget | None = None) -> Budget:
    """Return (ε, δ) of one row: the sum of the queries' ε, or the one that was named and is at least that of their ρ.

    Raises:
        ParameterError: the queries are of two kinds, or their ρ is more than the named (ε, δ) allows.
    """
    amount = total(amount_of(e) for e in events)
    if budget is None or not budget.gaussian:
        if not all(isinstance(e, PureDp) for e in events):
            raise ParameterError("queries with a rho need a delta", hint="name one")
        return Budget(amount)
    if not all(isinstance(e, ZeroConcentrated) for e in events):
        raise ParameterError("with a delta every query has a share of rho")
    if delta_of(amount, budget.epsilon) > float(budget.delta):
        raise ParameterError(
            f"rho = {amount} of the queries is more than epsilon = {budget.epsilon} with delta = {budget.delta} allows"
        )
    return budget


def require_epsilon(budget: Budget) -> None:
    """Raise :class:`ParameterError` unless the ε of one row is one that is served."""
    epsilon = budget.epsilon
    if not EPSILON_LEAST <= epsilon <= EPSILON_MOST:
        what = f"epsilon = {epsilon:.6g} of a row is outside {EPSILON_LEAST:g} to {EPSILON_MOST:g}"
        raise ParameterError(what, hint="give another one")


def require_protected(plan: Plan, name: str) -> None:
    """Raise :class:`ParameterError` unless the plan has a column ``name`` and protects it."""
    action = plan.column(name).action
    if action != "protect":
        stated = {"drop": "drops", "keep": "publishes as it is"}[action]
        raise ParameterError(f"the plan {stated} the column {name!r}", hint='write action = "protect" for it')


def require_unpublished(plan: Plan, name: str) -> None:
    """Raise :class:`ParameterError` unless the plan has a column ``name`` and does not publish it as it is."""
    if plan.column(name).action == "keep":
        require_protected(plan, name)


def cost_of(events: tuple[QueryEvent, ...], rows_per_person: int, budget: Budget | None = None) -> Cost:
    """Return what queries of one row's ``events`` cost for a person with ``rows_per_person`` rows.

    Raises:
        ParameterError: as :func:`budget_of`.
    """
    row = budget_of(events, budget)
    return for_person(Cost(row.epsilon, row.delta, Composed(events)), rows_per_person)
