"""What a ledger holds as plain values: releases, accounts with their caps, and private figures that were shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from workbench.params import ParameterError, Parameters, real
from workbench.privacy.accounting.event import exact
from workbench.privacy.local.mechanism_table import EPSILON_MOST
from workbench.release.ledger.composition import SUM
from workbench.release.ledger.identity import Identity
from workbench.release.ledger.ledger import Ledger
from workbench.release.ledger.records import PERSON, ROW


@dataclass(frozen=True, kw_only=True)
class Caps(Parameters):
    """Caps of an account; one that is not given stays as it is."""

    epsilon: float | None = real(
        default=None,
        above=0,
        upto=EPSILON_MOST,
        symbol="ε",
        help="the cap: ε of all releases of this dataset together; with --delta alone it stays as it is",
    )
    delta: float | None = real(
        default=None,
        at_least=0,
        below=1,
        symbol="δ",
        help="the cap of δ (default: the first release with δ > 0 sets it)",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon is None and self.delta is None:
            raise ParameterError("no cap is given", "ledger cap", "give --epsilon, --delta or both")

    def set(self, ledger: Ledger, dataset: Identity | str) -> str:
        """Record them; return the account.

        Raises:
            ParameterError: there is none of ε yet that could stay as it is.
        """
        epsilon, delta = (None if amount is None else exact(amount) for amount in (self.epsilon, self.delta))
        return ledger.set_cap(dataset, epsilon, delta).dataset


def summary(ledger: Ledger, account: str | None = None) -> dict[str, Any]:
    """Return releases, caps, figures and generalised tables, all of them or those of one account."""
    caps = {dataset: float(cap) for dataset, cap in ledger.caps().items() if account in (None, dataset)}
    called = ledger.account_labels()
    return {
        "entries": releases(ledger, account),
        "caps": caps,
        "called": {dataset: called.get(dataset, "") for dataset in caps},
        "accounts": [account_facts(ledger, dataset) for dataset in caps],
        "figures": [
            {**vars(f), "called": called.get(f.dataset, ""), "shown": f.words} for f in ledger.figures(account)
        ],
        "generalised": [
            {**vars(table), "called": called.get(table.dataset, "")}
            for table in ledger.published_tables()
            if account in (None, table.dataset)
        ],
        "ok": not ledger.verify(),
        "ledger": str(ledger.path),
    }


def releases(ledger: Ledger, account: str | None = None) -> list[dict[str, Any]]:
    """Return every release with its present status and cost."""
    called = ledger.account_labels()
    return [
        {
            "release_id": release.release_id,
            "dataset": release.dataset,
            "called": called.get(ledger.account_of(release.dataset), ""),
            "epsilon": float(release.epsilon),
            "delta": float(release.delta),
            "status": release.status,
            "time": release.time,
            "work": release.body.get("work", ""),
            "output": release.body.get("output", ""),
            "unit": PERSON if release.unit else ROW,
            **({"tables": list(release.tables)} if release.tables else {}),
        }
        for release in ledger.releases(account)
    ]


def account_facts(ledger: Ledger, dataset: str) -> dict[str, Any]:
    """Return an account: its name and tables, how it counts, its caps, and what counts against them and remains."""
    account, known = ledger.account(dataset), ledger.accounts()
    cap = account.standing_cap or (None, None)
    amounts = {
        "cap_epsilon": cap[0],
        "cap_delta": cap[1],
        "spent_epsilon": account.used[0],
        "spent_delta": account.used[1],
        "remaining_epsilon": account.remaining,
        "remaining_delta": account.delta_remaining,
    }
    return {
        "dataset": account.dataset,
        "account": ledger.account_labels().get(account.dataset, ""),
        "name": known.name_of(account.dataset),
        "tables": sum(known.of(each) == account.dataset for each in known.datasets),
        "group": known.grouped(account.dataset),
        "unit": account.unit,
        "count": {"method": SUM} if account.count is None else account.count.stated(),
        **{name: None if amount is None else float(amount) for name, amount in amounts.items()},
    }
