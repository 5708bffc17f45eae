"""Look into the ledger: every release and cap; verify its chain, export it, set the cap of the open dataset."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
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
    from workbench.release.ledger.ledger import Ledger
    from workbench.release.ledger.records import Account, Release
    from workbench.release.ledger.shown_figures import ShownFigures


@dataclass(frozen=True)
class LedgerView:
    """The whole ledger at one moment, the newest release first; the dataset of each is the account that pays for it."""

    path: Path
    releases: tuple[Release, ...]
    released: frozenset[str]
    """Releases with an output that the ledger knows of: one that was stopped may stay charged for what it has shown."""
    accounts: tuple[Account, ...]
    counted: Mapping[str, int]  # how many releases count against each account that has any
    called: Mapping[str, str]
    """What a person calls an account: that name, or the file by which its table was first seen."""
    groups: Mapping[str, int]  # how many tables about the same people share an account, where a person has said so
    figures: tuple[ShownFigures, ...] = ()  # which private figures were shown, in order
    older: str = ""  # that this file is older than what this computer has seen, as a sentence; empty where it is not


def ledger_view(emit: Emit, cancel: CancelToken) -> LedgerView:
    """Return the ledger's content; what killed runs left reserved is settled first."""
    from workbench.release.ledger.ledger import Ledger
    from workbench.release.ledger.records import COUNTED, has_output
    from workbench.release.recover import recover

    with Ledger.open() as book:
        for sentence in recover(book):
            emit(Notice("info", sentence))
        known = book.accounts()
        releases = [replace(r, dataset=known.of(r.dataset)) for r in book.releases()]
        named = map(known.of, known.names.values())
        datasets = dict.fromkeys([*(r.dataset for r in releases), *book.caps(), *named])
        shared = Counter(map(known.of, known.datasets))
        return LedgerView(
            book.path,
            releases=tuple(reversed(releases)),
            released=frozenset(r.release_id for r in releases if has_output(r)),
            accounts=tuple(map(book.account, datasets)),
            counted=Counter(r.dataset for r in releases if r.status in COUNTED),
            called=book.account_labels(),
            groups={dataset: shared[dataset] for dataset in datasets if known.grouped(dataset)},
            figures=tuple(book.figures()),
            older=as_sentence(book.older()),
        )


def how_counted(account: Account) -> str:
    """Return how the releases of an account are counted, where that is not their sum."""
    return tr("a Rényi filter of order {order}", order=account.count.filter.order) if account.count else ""


def for_persons(account: Account) -> bool:
    """Return whether the sum of an account holds for each person, as every release of it does; else for each row."""
    from workbench.release.ledger.records import PERSON

    return account.unit == PERSON


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
        from workbench.release.ledger.composition import FILTER, SUM

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

    stated = tr("Both tables now share one account; the ledger has recorded it.")
    change_ledger(session, jobs, tr("Sharing an account"), change, stated)


def accept_copy(session: Session, jobs: JobCenter, done: Callable[[], None]) -> None:
    """Record that the ledger goes on although entries are missing in it."""
    stated = tr("The ledger goes on from this copy, and has recorded it.")
    change_ledger(session, jobs, tr("Accepting the ledger"), lambda book: book.accept(), stated, done)
