"""The door of every central release: reserve, compute in memory, charge, write, certify, rename."""

from __future__ import annotations

import time
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from workbench.params import BudgetRefusedError
from workbench.privacy.accounting.compose import for_person
from workbench.privacy.accounting.event import Cost
from workbench.release.central.central_work import PreparedCentral
from workbench.release.central.certificate import central_certificate, encode_central, outside
from workbench.release.choosing import with_choice
from workbench.release.exposure import charged_again, standing_charge, void_unless_charged
from workbench.release.finished_file import publish_earlier, require_new_pair, waiting_for
from workbench.release.ledger.ledger import Ledger
from workbench.release.ledger.recover import CHARGED_FIRST, clear_leftovers, place_of, publish_table, recover
from workbench.release.parts import DrawFile
from workbench.release.table.certificate import Output, certificate_path
from workbench.signals import Notice, Progress
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit, ignore
from workbench.work.noise import Charged

_ROOM_OF_A_CERTIFICATE = 1 << 20


@dataclass(frozen=True)
class CentralRelease:
    """The result of a central release.

    Attributes:
        release_id: its name in the ledger.
        epsilon_charged: ε charged, for all rows of a person.
        delta_charged: δ charged, for all rows of a person; 0 for pure differential privacy.
        epsilon_remaining: ε left under the cap.
        seconds: from the reservation to the rename.
        output: the file.
        certificate: its certificate.
        document: what stands in the certificate.
        published_earlier: whether it was made and charged by an earlier run, which could not give it its name.
    """

    release_id: str
    epsilon_charged: Decimal
    delta_charged: Decimal
    epsilon_remaining: Decimal
    seconds: float
    output: Path
    certificate: Path
    document: dict[str, Any]
    published_earlier: bool = False


@dataclass(frozen=True)
class CentralVerdict:
    """What the ledger says to a central release before it is asked for a charge.

    Attributes:
        account: the account that would be charged.
        waiting: id of the finished release that only waits to be given this name, and is paid for; else empty.
        refusal: why the cap forbids the charge, ``None`` where it allows it.
    """

    account: str
    waiting: str
    refusal: BudgetRefusedError | None


def central_verdict(prepared: PreparedCentral, ledger: Ledger) -> CentralVerdict:
    """Return the ledger's verdict on a release, without recording anything.

    Raises:
        InputError: a finished draw waits there that this release did not ask for, or plan and ledger disagree about
            the name of the account.
    """
    account = ledger.enter_for_release(prepared.table, prepared.plan.account)
    waiting = waiting_for(ledger, prepared.to.path, prepared.request, account)
    if waiting is not None:
        return CentralVerdict(account, waiting.release.release_id, None)
    return CentralVerdict(account, "", ledger.account(account).refusal(prepared.cost))


def check_central_values(prepared: PreparedCentral, cancel: CancelToken) -> None:
    """Refuse invalid values before anything is reserved or charged.

    Raises:
        InputError: there is such a value; its column and row are named.
    """
    if prepared.work.check is not None:
        prepared.work.check(prepared.rows, cancel)
        return
    for name in prepared.work.columns:
        cancel.check()
        prepared.plan.column(name).grid().encode(prepared.rows)


def release_central(
    prepared: PreparedCentral,
    ledger: Ledger,
    emit: Emit = ignore,
    cancel: CancelToken | None = None,
    *,
    account: str = "",
) -> CentralRelease:
    """Release what was prepared.

    The values are checked and the output's place and space secured first, then the cost is reserved, then the release
    is computed in memory; the charge is final before the first of its bytes goes into a file, whatever ends the run
    afterwards. A run that ends earlier is recorded as void. A finished draw that could not be given its name is kept,
    and the next run of the same request publishes it instead of computing and charging anew.

    Args:
        prepared: the release.
        ledger: who charges it.
        emit: receives progress, and notices about earlier runs.
        cancel: looked at between the steps.
        account: the account, where :func:`central_verdict` has found it already.

    Raises:
        InputError: a value does not fit its column, or the output cannot be written.
        BudgetRefusedError: the cap does not allow it.
        CancelledError: ``cancel`` was set; the message says whether the charge stands.
    """
    started = time.monotonic()
    plan, work, target = prepared.plan, prepared.work, prepared.to.path
    dataset = ledger.account_of(account) if account else ledger.enter_for_release(prepared.table, plan.account)
    for sentence in (*recover(ledger), *clear_leftovers(ledger, target)):
        emit(Notice("info", sentence))
    published = publish_earlier(ledger, target, prepared.request, dataset, emit, replace=prepared.to.replace)
    if published is not None:
        return _released(published, ledger, target, started, published_earlier=True)
    replaces = require_new_pair(target, replace=prepared.to.replace)
    cancel = cancel or CancelToken()
    check_central_values(prepared, cancel)
    with DrawFile(target, work.room + _ROOM_OF_A_CERTIFICATE, replace=prepared.to.replace) as part:
        details = {"output": place_of(target), "part": part.path.name, CHARGED_FIRST: True}
        release_id = ""

        def reserve(row: Cost) -> None:
            nonlocal release_id
            whole = for_person(row, plan.rows_per_person)
            release_id = ledger.reserve(dataset, whole, work=work.kind, details=details)

        ask = Charged(reserve).ask(work.cost())
        try:
            made = work.run(prepared.rows, ask, emit, cancel)
            cancel.check()
            ledger.charge(release_id)  # final: from the next line on somebody could read noisy values
        except BaseException as error:
            void_unless_charged(ledger, release_id, error, emit)
            raise
        with standing_charge(prepared.cost, target):
            for piece in made.pieces:
                part.write(piece)
            part.finish()
            output = Output(target.name, prepared.to.format, part.sha256, part.bytes)
            release = ledger.release(release_id)
            assert release is not None
            document = central_certificate(
                work.kind,
                plan,
                work.columns,
                work.events,
                work.request,
                made.method,
                prepared.rows.rows,
                release,
                ledger.account(dataset),
                output,
                with_choice(outside(plan.published(), work.columns), ledger, dataset, release_id),
                work.budget,
            )
            data = encode_central(document)
            with part.keep_on_success():
                ledger.certify(release_id, document["checksum"], prepared.request, data.decode())
        emit(Progress(1, 1, "certified"))  # from here on it is too late to cancel
        publish_table(ledger, part, release_id, data)
    if replaces:
        emit(charged_again(target))
    return _released(document, ledger, target, started)


def _released(
    document: dict[str, Any], ledger: Ledger, target: Path, started: float, *, published_earlier: bool = False
) -> CentralRelease:
    release = ledger.release(document["release_id"])
    assert release is not None
    remaining = ledger.account(release.dataset).remaining
    assert remaining is not None
    return CentralRelease(
        release_id=release.release_id,
        epsilon_charged=release.epsilon,
        delta_charged=release.delta,
        epsilon_remaining=remaining,
        seconds=time.monotonic() - started,
        output=target,
        certificate=certificate_path(target),
        document=document,
        published_earlier=published_earlier,
    )
