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
from workbench.gui.style.language import as_sentence, tr
from workbench.jobs import CancelToken, Emit
from workbench.params import ParameterError
from workbench.signals.events import Notice

if TYPE_CHECKING:  # it loads numpy and polars, which the first paint does not wait for
    from workbench.release.ledger.figures import ShownFigures
    from workbench.release.ledger.ledger import Ledger


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


def ledger_view(emit: Emit, cancel: CancelToken) -> LedgerView:
    """Return the ledger's content; what killed runs left reserved is settled first."""
    from workbench.release.ledger.ledger import Ledger
    from workbench.release.ledger.records import COUNTED, PERSON, has_output
    from workbench.release.recover import recover

    with Ledger.open() as book:
        for sentence in recover(book):
            emit(Notice("info", sentence))
        releases, known, called = book.releases(), book.accounts(), book.called()
        lines = tuple(
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
        )
        named = map(known.of, known.names.values())
        datasets = dict.fromkeys([*(known.of(r.dataset) for r in releases), *book.caps(), *named])
        accounts = []
        for dataset in datasets:
            account = book.account(dataset)
            cap, delta_cap = account.standing_cap or (None, None)
            how = account.count and tr("a Rényi filter of order {order}", order=account.count.filter.order)
            line = AccountLine(
                dataset,
                cap,
                account.spent[0],
                account.reserved[0],
                account.remaining,
                releases=sum(known.of(r.dataset) == dataset and r.status in COUNTED for r in releases),
                called=called.get(dataset, ""),
                delta_cap=delta_cap,
                delta_remaining=account.delta_remaining,
                group=sum(known.of(d) == dataset for d in known.datasets) if known.grouped(dataset) else 0,
                count=how or "",
                persons=account.unit == PERSON,
            )
            accounts.append(line)
        return LedgerView(book.path, lines, tuple(accounts), tuple(book.figures()), as_sentence(book.older()))


def verify_chain(emit: Emit, cancel: CancelToken) -> list[str]:
    """Recompute the hash chain; return a sentence for every fault."""
    from workbench.release.ledger.ledger import Ledger

    with Ledger.read() as book:
        return book.verify()


def export_ledger(target: Path, emit: Emit, cancel: CancelToken) -> Path:
    """Write every entry of the ledger to ``target`` as JSON."""
    from workbench.release.atomic import write_output
    from workbench.release.ledger.ledger import Ledger

    with Ledger.read() as book:
        if target.exists() and target.samefile(book.path):
            raise ParameterError(tr("the export would replace the ledger itself"), str(target), tr("name another file"))
        text = json.dumps({"ledger": str(book.path), "chain": [vars(e) for e in book.entries()]}, indent=2)
    write_output(target, text.encode())
    return target


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
