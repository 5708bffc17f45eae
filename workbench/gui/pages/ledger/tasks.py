"""Look into the ledger: every release and cap; verify its chain, export it, set the cap of the open dataset."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.gui.session.account_task import change_ledger
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr
from workbench.jobs import CancelToken, Emit, Job
from workbench.params import ParameterError
from workbench.signals.events import Notice

if TYPE_CHECKING:  # it loads numpy and polars, which the first paint does not wait for
    from workbench.release.ledger.figures import ShownFigures
    from workbench.release.ledger.ledger import Ledger

KEY = "ledger"


@dataclass(frozen=True)
class LedgerLine:
    """One release, as the table shows it."""

    time: str
    dataset: str
    work: str
    epsilon: Decimal
    delta: Decimal
    status: str
    output: str
    released: bool = True
    """Whether the ledger knows of an output: a run that was stopped may stay charged for what it has shown."""


@dataclass(frozen=True)
class AccountLine:
    """One account's budget, as the table shows it; a cap is ``None`` before the first release that needs it."""

    dataset: str
    cap: Decimal | None
    spent: Decimal
    reserved: Decimal
    remaining: Decimal | None
    releases: int
    name: str = ""
    """Its public name."""
    called: str = ""
    """What a person calls it: that name, or the file by which its table was first seen."""
    delta_cap: Decimal | None = None
    delta_remaining: Decimal | None = None
    group: int = 0
    """How many tables about the same people share it, where a person has said so."""
    count: str = ""
    """How its releases are counted, where that is not their sum."""
    persons: bool = False
    """Whether its sum holds for each person, as every release of it does; else for each row."""


@dataclass(frozen=True)
class LedgerView:
    """The whole ledger at one moment, the newest release first."""

    path: Path
    releases: tuple[LedgerLine, ...]
    accounts: tuple[AccountLine, ...]
    figures: tuple[ShownFigures, ...] = ()
    """Which private figures were shown, in order."""
    older: str = ""
    """That this file is older than what this computer has seen, as a sentence; empty where it is not."""


def read_ledger(
    jobs: JobCenter, show: Callable[[LedgerView], None], on_failure: Callable[[BaseException], None]
) -> None:
    """Read every release and cap."""
    job = Job(tr("Reading the ledger"), lambda emit, cancel: ledger_view(emit))
    jobs.start(job, key=KEY, shown=False, on_result=show, on_failure=on_failure)


def ledger_view(emit: Emit) -> LedgerView:
    """Return the ledger's content; what killed runs left reserved is settled first."""
    from workbench.release.ledger.ledger import Ledger
    from workbench.release.ledger.records import COUNTED, PERSON, has_output
    from workbench.release.recover import recover

    with Ledger.open() as book:
        for sentence in recover(book):
            emit(Notice("info", sentence))
        releases, known, called = book.releases(), book.accounts(), book.called()
        lines = [
            LedgerLine(
                r.time,
                known.of(r.dataset),
                r.body.get("work", ""),
                r.epsilon,
                r.delta,
                r.status,
                r.body.get("output", ""),
                released=has_output(r),
            )
            for r in reversed(releases)
        ]
        named = map(known.of, known.names.values())
        datasets = dict.fromkeys([*(known.of(r.dataset) for r in releases), *book.caps(), *named])
        accounts = []
        for dataset in datasets:
            account = book.account(dataset)
            counted = sum(known.of(r.dataset) == dataset and r.status in COUNTED for r in releases)
            cap = None if account.standing_cap is None else account.standing_cap[0]
            used = account.spent[0], account.reserved[0]
            name = known.name_of(dataset)
            delta_cap = None if account.standing_cap is None else account.standing_cap[1]
            group = sum(known.of(d) == dataset for d in known.datasets) if known.grouped(dataset) else 0
            how = (
                "" if account.count is None else tr("a Rényi filter of order {order}", order=account.count.filter.order)
            )
            line = AccountLine(
                dataset,
                cap,
                *used,
                account.remaining,
                counted,
                name,
                called.get(dataset, ""),
                delta_cap,
                account.delta_remaining,
                group,
                how,
                account.unit == PERSON,
            )
            accounts.append(line)
        return LedgerView(book.path, tuple(lines), tuple(accounts), tuple(book.figures()), _sentence(book.older()))


def _sentence(stated: str) -> str:
    return f"{stated[0].upper()}{stated[1:]}." if stated else ""


def verify_chain(jobs: JobCenter, show: Callable[[list[str]], None]) -> None:
    """Recompute the hash chain; ``show`` gets a sentence for every fault, none where it is as it was written."""

    def work(emit: Emit, cancel: CancelToken) -> list[str]:
        from workbench.release.ledger.ledger import Ledger

        with Ledger.read() as book:
            return book.verify()

    jobs.start(Job(tr("Verifying the ledger"), work), key="verify_ledger", on_result=show)


def export_ledger(jobs: JobCenter, target: Path, done: Callable[[Path], None]) -> None:
    """Write every entry of the ledger to ``target`` as JSON."""

    def work(emit: Emit, cancel: CancelToken) -> Path:
        from workbench.release.atomic import write_output
        from workbench.release.ledger.ledger import Ledger

        with Ledger.read() as book:
            if target.exists() and target.samefile(book.path):
                raise ParameterError(
                    tr("the export would replace the ledger itself"), str(target), tr("name another file")
                )
            text = json.dumps({"ledger": str(book.path), "chain": [vars(e) for e in book.entries()]}, indent=2)
        write_output(target, text.encode())
        return target

    jobs.start(Job(tr("Exporting the ledger"), work), on_result=done)


def set_count(session: Session, jobs: JobCenter, dataset: str, *, by_filter: bool) -> None:
    """Choose how the releases of ``dataset`` are counted."""

    def change(book: Ledger) -> None:
        from workbench.release.ledger.counting import FILTER, SUM

        book.count_by(dataset, FILTER if by_filter else SUM)

    stated = (
        tr("The releases are counted by a Rényi filter now; the ledger has recorded it.")
        if by_filter
        else tr("The releases are counted by their sum now; the ledger has recorded it.")
    )
    change_ledger(session, jobs, tr("Choosing the count"), change, stated)


def join_group(session: Session, jobs: JobCenter, dataset: str, other: str) -> None:
    """Let ``dataset`` share the account of ``other``, whose table is about the same people."""

    def change(book: Ledger) -> None:
        from workbench.release.ledger.state import GROUP

        book.link_version(dataset, other, GROUP)

    stated = tr("Both tables share one account now; the ledger has recorded it.")
    change_ledger(session, jobs, tr("Sharing an account"), change, stated)


def accept_copy(session: Session, jobs: JobCenter, done: Callable[[], None]) -> None:
    """Record that the ledger goes on although entries are missing in it."""
    stated = tr("The ledger goes on from this copy, and has recorded it.")
    change_ledger(session, jobs, tr("Accepting the ledger"), lambda book: book.accept(), stated, done)
