"""The one release path: check, reserve, ask, charge, write, certify, rename.

Every released file goes this way: noisy rows, statistics, synthetic rows, RAPPOR reports. What differs is the
:class:`~workbench.work.work.Work`, which declares its cost, asks its questions of the rows and makes the bytes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from workbench.data.table import Table
from workbench.params import BudgetRefusedError, InputError, ParameterError, WorkbenchError
from workbench.params.remedies import OTHER_OUTPUT, Remedy
from workbench.privacy.accounting.compose import for_person
from workbench.privacy.accounting.event import Cost
from workbench.release.certificate import (
    Output,
    certificate,
    certificate_path,
    encode,
    not_covered,
    read_certificate,
)
from workbench.release.choosing import with_choice
from workbench.release.delta_limit import require_epsilon, require_small_cost
from workbench.release.kinds import ROWS, kind
from workbench.release.ledger.ledger import Ledger
from workbench.release.open_release import plan_of
from workbench.release.parts import DrawFile, require_new
from workbench.release.recover import (
    begun,
    publish_earlier,
    publish_table,
    request_of,
    require_new_pair,
    settle_earlier,
    waiting_for,
)
from workbench.release.reservation import Reservation, charged, charged_again, standing_charge
from workbench.release.rows_work import FORMATS, rows_work
from workbench.release.verify import verify_release
from workbench.sanitize.engine import check_columns
from workbench.sanitize.origin import require_confirmed
from workbench.sanitize.plan import Plan
from workbench.signals import AtStake, Progress
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit, Event, ignore
from workbench.work.noise import Charged
from workbench.work.work import Made, Work, amount_of, budget_of

_ROOM_OF_A_CERTIFICATE = 1 << 16
_OTHER_FILE = Remedy(OTHER_OUTPUT, "name another file")


@dataclass(frozen=True)
class Destination:
    """Where a table is released to.

    Attributes:
        path: the file.
        format: what it is written as.
        replace: whether it may replace an output that exists.
    """

    path: Path
    format: str
    replace: bool = False


def destination(
    path: Path, *sources: str | Path | None, formats: Mapping[str, str] = FORMATS, replace: bool = False
) -> Destination:
    """Return where a table, or another file with a certificate, is released to.

    Args:
        path: the file.
        sources: the files that the release is made from; what is no file is passed over.
        formats: the format of each suffix that is known.
        replace: whether it may replace an output that exists.

    Raises:
        InputError: the suffix names no format, the file exists and is not to be replaced, or a folder has the name of
            the certificate.
        ParameterError: the release would replace what it is made from.
    """
    if path.suffix.lower() not in formats:
        raise InputError(
            f"the output's suffix {path.suffix!r} is not known",
            str(path),
            f"use one of {', '.join(formats)}",
            code="output-format",
        )
    for written in (path, certificate_path(path)):
        for source in sources:
            if source is not None and os.path.exists(written) and os.path.exists(source) and written.samefile(source):
                what = "the output would replace what it is made from"
                raise ParameterError(what, str(written), _OTHER_FILE, code="output-is-source")
    if os.path.isdir(certificate_path(path)):
        what = "a folder has the name of the certificate"
        raise InputError(what, str(certificate_path(path)), "name another output", code="output-taken")
    require_new(path, replace=replace)
    return Destination(path, formats[path.suffix.lower()], replace)


@dataclass(frozen=True, eq=False)
class Prepared:
    """A release that has passed every check except those of the ledger, the values and the disk.

    Attributes:
        plan: declares the columns.
        table: of which table.
        rows: its rows as the plan reads them.
        to: where to.
        work: what is released.
        cost: what it is charged, for all rows of a person.
    """

    plan: Plan
    table: Table
    rows: Table
    to: Destination
    work: Work
    cost: Cost
    _checked: list[bool] = field(default_factory=list, repr=False)

    @property
    def request(self) -> str:
        """Digest of what is asked for."""
        if self.work.kind == ROWS:
            return request_of(ROWS, plan=self.plan.published().to_toml(), format=self.to.format)
        asked = {"plan": self.plan.published().to_toml(), "format": self.to.format, **self.work.request}
        queries = [[e.label, str(amount_of(e))] for e in self.work.events]
        if self.work.budget is not None:
            asked = {**asked, "budget": [str(self.work.budget.epsilon), str(self.work.budget.delta)]}
        return request_of(self.work.kind, asked=asked, queries=queries)


def prepare(plan: Plan, table: Table, to: Destination, work: Work | Callable[[Table], Work]) -> Prepared:
    """Return the release of ``table``, checked once for all that follows.

    Args:
        plan: declares the columns.
        table: the table.
        to: where to.
        work: what is released, or what makes it of the rows as the plan reads them.

    Raises:
        InputError: the plan holds unconfirmed guesses, plan and table do not fit each other, or a guess about the
            file is in doubt, which one row could turn.
        ParameterError: the work reads a column that the plan does not protect, asks for nothing, or at an ε out of
            bounds, or δ is not below 1/rows.
    """
    require_confirmed(plan)
    check_columns(plan, table)
    table.require_certain()
    rows = plan.rows_of(table)
    work = work if isinstance(work, Work) else work(rows)
    for name in work.columns:
        kind(work.kind).require(plan, name)
    if not work.events:
        raise ParameterError("nothing was asked for", hint="name a figure")
    budget = budget_of(work.events, work.budget)
    if work.kind != ROWS:  # the mechanisms of noisy rows have limits of their own
        require_epsilon(budget)
    cost = work.cost(plan.rows_per_person)
    if budget.gaussian:
        require_small_cost(cost, rows.rows, rows_per_person=plan.rows_per_person)
    return Prepared(plan, table, rows, to, work, cost)


def prepare_rows(plan: Plan, table: Table, to: Destination) -> Prepared:
    """Return the release of noisy rows of ``table``, checked as by :func:`prepare`."""
    return prepare(plan, table, to, lambda rows: rows_work(plan, rows, to.format))


@dataclass(frozen=True)
class EarlierRelease:
    """A release of the same table by the same plan whose files still stand; to copy them costs nothing.

    Attributes:
        release_id: its name in the ledger.
        time: when it was charged, UTC.
        epsilon: what it cost.
        output: the released file.
    """

    release_id: str
    time: str
    epsilon: Decimal
    output: Path


@dataclass(frozen=True)
class Verdict:
    """What the ledger says to a release before it is asked for a charge.

    Attributes:
        account: the account that would be charged.
        waiting: id of the finished release that only waits to be given this name, and is paid for; else empty.
        refusal: why the cap forbids the charge, ``None`` where it allows it.
        earlier: the newest release of noisy rows of the same table by the same plan, or ``None``.
    """

    account: str
    waiting: str
    refusal: BudgetRefusedError | None
    earlier: EarlierRelease | None = None


def verdict_on(prepared: Prepared, ledger: Ledger) -> Verdict:
    """Return the ledger's verdict on a release; charges nothing, and records the marks of a table that is new.

    Raises:
        InputError: a finished draw waits there that this release did not ask for, or plan and ledger disagree about
            the name of the account.
    """
    account = ledger.enter_for_release(prepared.table, prepared.plan.account)
    waiting = waiting_for(ledger, prepared.to.path, prepared.request, account)
    if waiting is not None:
        return Verdict(account, waiting.release.release_id, None)
    refused = ledger.account(account).refusal(prepared.cost)
    earlier = _earlier_release(ledger, account, prepared.plan) if prepared.work.kind == ROWS else None
    return Verdict(account, "", refused, earlier)


def check_values(prepared: Prepared, cancel: CancelToken) -> None:
    """Refuse invalid values before anything is reserved or charged.

    Raises:
        InputError: there is such a value; its column and row are named.
    """
    if prepared._checked:
        return
    if prepared.work.check is not None:
        prepared.work.check(prepared.rows, cancel)
    for name in prepared.work.columns if prepared.work.check is None else ():
        cancel.check()
        prepared.plan.column(name).grid().encode(prepared.rows)
    prepared._checked.append(True)


@dataclass(frozen=True)
class Released:
    """The result of a release.

    Attributes:
        release_id: its name in the ledger.
        rows: rows of the table, which are public.
        epsilon_charged: ε charged, for all rows of a person.
        delta_charged: δ charged, for all rows of a person; 0 for pure differential privacy.
        epsilon_remaining: ε left under the cap.
        seconds: from the reservation to the rename.
        output: the file.
        certificate: its certificate.
        document: what the certificate says.
        published_earlier: whether it was drawn and charged by an earlier run, which could not give it its name.
    """

    release_id: str
    rows: int
    epsilon_charged: Decimal
    delta_charged: Decimal
    epsilon_remaining: Decimal
    seconds: float
    output: Path
    certificate: Path
    document: dict[str, Any]
    published_earlier: bool = False

    @property
    def outside(self) -> tuple[str, ...]:
        """Sentences on what the ε does not cover."""
        return tuple(self.document["outside_guarantee"])


def release_prepared(
    prepared: Prepared,
    ledger: Ledger,
    emit: Emit = ignore,
    cancel: CancelToken | None = None,
    *,
    account: str = "",
) -> Released:
    """Release what was prepared.

    The values are checked and the output's place and space secured first, then the cost is reserved, then the work
    asks its questions, in memory; the charge is final before the first byte goes into a file, whatever ends the run
    afterwards. A run that ends earlier is recorded as void. A finished draw that could not be given its name is kept,
    and the next run of the same request publishes it instead of drawing and charging anew.

    Args:
        prepared: the release.
        ledger: who charges it.
        emit: receives progress, and notices about earlier runs.
        cancel: looked at between the steps.
        account: the account, where :func:`verdict_on` has found it already.

    Raises:
        InputError: a value does not fit its column, or the output cannot be written.
        BudgetRefusedError: the cap does not allow it.
        CancelledError: ``cancel`` was set; the message says whether the charge stands.
    """
    started, cancel = time.monotonic(), cancel or CancelToken()
    target, replace = prepared.to.path, prepared.to.replace
    dataset = ledger.account_of(account) if account else ledger.enter_for_release(prepared.table, prepared.plan.account)
    settle_earlier(ledger, target, emit)
    published = publish_earlier(ledger, target, prepared.request, dataset, emit, replace=replace)
    if published is not None:
        return _released(published, ledger, target, started, published_earlier=True)
    replaces = require_new_pair(target, replace=replace)
    check_values(prepared, cancel)
    with DrawFile(target, prepared.work.room + _ROOM_OF_A_CERTIFICATE, replace=replace) as part:
        release_id, made = _charged(prepared, ledger, dataset, part, emit, cancel)
        emit(AtStake(prepared.cost.epsilon))
        with standing_charge(prepared.cost, target):
            document = _certified(prepared, made, release_id, ledger, dataset, part, emit, cancel)
            data = encode(document)
            with part.keep_on_success():
                ledger.certify(release_id, document["checksum"], prepared.request, data.decode())
        emit(AtStake(Decimal(0)))
        emit(Progress(1, 1, "certified"))  # from here on it is too late to cancel
        publish_table(ledger, part, release_id, data)
    if replaces:
        emit(charged_again(target))
    return _released(document, ledger, target, started)


def _charged(
    prepared: Prepared, ledger: Ledger, dataset: str, part: DrawFile, emit: Emit, cancel: CancelToken
) -> tuple[str, Made]:
    """Reserve the cost, ask, and make the charge final; return the release's id and what is to be written."""
    work, people = prepared.work, prepared.plan.rows_per_person
    reservation = Reservation(ledger, dataset, work.kind, begun(part))

    def progress(event: Event) -> None:
        if isinstance(event, Progress):  # nothing else of a Work is shown before its charge is final
            emit(event)

    ask = Charged(lambda cost_of_row: reservation(for_person(cost_of_row, people))).ask(work.cost())
    try:
        made = work.run(prepared.rows, ask, progress, cancel)
        cancel.check()
        reservation.make_final()  # from the next line on somebody could read drawn values
    except BaseException as error:
        reservation.abandon(error, emit)
        raise
    return reservation.made()[1], made


def _certified(
    prepared: Prepared,
    made: Made,
    release_id: str,
    ledger: Ledger,
    dataset: str,
    part: DrawFile,
    emit: Emit,
    cancel: CancelToken,
) -> dict[str, Any]:
    """Write what was made under its temporary name, durably, and return its certificate."""
    if isinstance(made.data, bytes):  # written at once: nobody could stop it for less than it cost
        part.write(made.data)
        part.finish()
    else:
        for done, piece in enumerate(made.data, start=1):
            cancel.check()
            part.write(piece)
            emit(Progress(done, made.count, "written"))
        part.finish()
        cancel.check()
    found = ledger.release(release_id)
    assert found is not None
    return certificate(
        prepared.work,
        prepared.plan,
        prepared.rows.rows,
        made.method,
        found,
        ledger.account(dataset),
        Output(part.target.name, prepared.to.format, part.sha256, part.bytes),
        with_choice(not_covered(prepared.work, prepared.plan), ledger, dataset, release_id),
    )


def _released(
    document: dict[str, Any], ledger: Ledger, target: Path, started: float, *, published_earlier: bool = False
) -> Released:
    release, remaining = charged(ledger, document["release_id"])
    return Released(
        release_id=release.release_id,
        rows=document["rows"],
        epsilon_charged=release.epsilon,
        delta_charged=release.delta,
        epsilon_remaining=remaining,
        seconds=time.monotonic() - started,
        output=target,
        certificate=certificate_path(target),
        document=document,
        published_earlier=published_earlier,
    )


def _earlier_release(ledger: Ledger, account: str, plan: Plan) -> EarlierRelease | None:
    """Return the newest release of the account by ``plan`` whose files still stand as they were certified."""
    for release in reversed(ledger.releases(account)):
        output = Path(release.body.get("output", ""))
        certificate = certificate_path(output) if release.body.get("output") else output
        if release.status != "charged" or not output.is_file() or not certificate.is_file():
            continue
        try:
            document = read_certificate(certificate)
            stated = plan_of(document, certificate).published()  # a former version told the kind of what was dropped
            same = document["release_id"] == release.release_id and stated == plan.published()
            whole = same and not verify_release(output)
        except WorkbenchError:
            continue  # a certificate that cannot be read vouches for no file
        if whole:
            return EarlierRelease(release.release_id, release.time, release.epsilon, output)
    return None
