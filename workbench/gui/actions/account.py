"""Read what the ledger says about the dataset that is open."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from workbench.gui.bridge import JobCenter
from workbench.gui.state import AccountView, Session, sentence
from workbench.jobs import Job
from workbench.params import WorkbenchError

if TYPE_CHECKING:
    from workbench.data.table import Table

KEY = "account"


def read_account(session: Session, jobs: JobCenter, ledger: Path | None = None) -> None:
    """Bring the budget gauge up to date, after opening a table and after every charge."""
    opened = session.opened
    if opened is None:
        return
    known = session.account.dataset

    def apply(account: AccountView) -> None:
        if session.opened is opened:
            session.set_account(account)

    def failed(error: BaseException) -> None:
        problem = sentence(error) if isinstance(error, WorkbenchError) else "The ledger could not be read."
        apply(AccountView(problem=problem))

    job = Job("Reading the ledger", lambda emit, cancel: account_of(opened.table, known, ledger))
    jobs.start(job, key=KEY, shown=False, on_result=apply, on_failure=failed)


def account_of(table: Table, known: str, ledger: Path | None = None) -> AccountView:
    """Return the account of ``table``; ``known`` is its fingerprint where that was found before."""
    from workbench.release.account import COUNTED
    from workbench.release.fingerprint import fingerprint
    from workbench.release.ledger import Ledger

    with Ledger.open(ledger) as book:
        dataset = known or fingerprint(table, book.key)
        account = book.account(dataset)
        counted = [r for r in book.releases(account.dataset) if r.status in COUNTED]
    return AccountView(
        dataset=dataset,
        cap=None if account.standing_cap is None else account.standing_cap[0],
        spent=account.spent[0],
        reserved=account.reserved[0],
        releases=len(counted),
        going=sum(r.status == "reserved" for r in counted),
    )
