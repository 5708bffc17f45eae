"""A release that has passed every check of plan and table."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.data.table import Table
from workbench.params import ParameterError
from workbench.privacy.accounting.event import Cost
from workbench.privacy.central.share import Budget
from workbench.privacy.local.mechanism_table import EPSILON_LEAST, EPSILON_MOST
from workbench.release.central.kinds import kind
from workbench.release.delta_limit import require_small_cost
from workbench.release.ledger.recover import request_of
from workbench.release.table.before_release import Destination
from workbench.sanitize.engine import check_columns
from workbench.sanitize.origin import require_confirmed
from workbench.sanitize.plan import Plan
from workbench.work.work import Work, amount_of, budget_of


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
    work: Work
    cost: Cost

    @property
    def request(self) -> str:
        """Digest of what is asked for."""
        asked = {"plan": self.plan.published().to_toml(), "format": self.to.format, **self.work.request}
        queries = [[e.label, str(amount_of(e))] for e in self.work.events]
        if self.work.budget is not None:
            asked = {**asked, "budget": [str(self.work.budget.epsilon), str(self.work.budget.delta)]}
        return request_of(self.work.kind, asked=asked, queries=queries)


def prepared_central(plan: Plan, table: Table, to: Destination, work: Work) -> PreparedCentral:
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
    cost, rows = work.cost(plan.rows_per_person), plan.rows_of(table)
    if budget.gaussian:
        require_small_cost(cost, rows.rows, rows_per_person=plan.rows_per_person)
    return PreparedCentral(plan, table, rows, to, work, cost)


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
