"""Checks before a table is released: a refusal, or an earlier release that can be copied, costs nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from workbench.data.table import Table
from workbench.params import BudgetRefusedError, InputError, ParameterError, WorkbenchError
from workbench.params.remedies import OTHER_OUTPUT, Remedy
from workbench.privacy.accounting.event import Cost, PureDp
from workbench.release.finished_file import waiting_for
from workbench.release.ledger.ledger import Ledger
from workbench.release.ledger.recover import FinishedDraw, request_of
from workbench.release.parts import require_new
from workbench.release.table.certificate import certificate_path, read_certificate
from workbench.release.table.open_release import plan_of
from workbench.release.table.verify import verify_release
from workbench.sanitize.calibrated import ProtectedColumn, protected_columns
from workbench.sanitize.engine import check_columns
from workbench.sanitize.forecast import charge_of
from workbench.sanitize.origin import require_confirmed
from workbench.sanitize.plan import Plan
from workbench.signals.cancel import CancelToken

FORMATS = {".csv": "csv", ".tsv": "tsv", ".parquet": "parquet"}

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
class PreparedRelease:
    """A release that has passed every check except those of the ledger, the values and the disk.

    Attributes:
        plan: what is released.
        table: of which table.
        rows: its rows as the plan reads them.
        to: where to.
        columns: the protected columns, calibrated.
    """

    plan: Plan
    table: Table
    rows: Table
    to: Destination
    columns: tuple[ProtectedColumn, ...]

    @property
    def epsilon(self) -> Decimal:
        """What it is charged."""
        return charge_of(self.plan)


def prepared_release(plan: Plan, table: Table, to: Destination) -> PreparedRelease:
    """Return the release of ``table`` by ``plan``, checked once for all that follows.

    Raises:
        InputError: the plan holds unconfirmed guesses, plan and table do not fit each other, or a guess about the
            file is in doubt, which one row could turn.
        ParameterError: the plan protects no column, or a mechanism does not fit.
    """
    require_confirmed(plan)
    check_columns(plan, table)
    table.require_certain()
    return PreparedRelease(plan, table, plan.rows_of(table), to, protected_columns(plan))


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
        earlier: the newest release of the same table by the same plan, or ``None``.
        refusal: why the cap forbids the charge, ``None`` where it allows it.
    """

    account: str
    waiting: str
    earlier: EarlierRelease | None
    refusal: BudgetRefusedError | None


def verdict_on(prepared: PreparedRelease, ledger: Ledger) -> Verdict:
    """Return the ledger's verdict on a release, without recording anything.

    Raises:
        InputError: a finished draw waits there that this release did not ask for, or plan and ledger disagree about
            the name of the account.
    """
    plan, table = prepared.plan, prepared.table
    account = ledger.enter_for_release(table, plan.account)
    waiting = waiting_draw(ledger, prepared.to, plan, account)
    if waiting is not None:
        return Verdict(account, waiting.release.release_id, None, None)
    cost = Cost(prepared.epsilon, Decimal(0), PureDp(prepared.epsilon))
    refused = ledger.account(account).refusal(cost)
    return Verdict(account, "", _earlier_release(ledger, account, plan), refused)


def check_values(prepared: PreparedRelease, cancel: CancelToken) -> None:
    """Refuse invalid values before anything is reserved or charged.

    Raises:
        InputError: there is such a value; its column and row are named.
    """
    for column in prepared.columns:
        cancel.check()
        column.grid.encode(prepared.rows)


def table_request(plan: Plan, kind: str) -> str:
    """Return the digest of the request to release a table by ``plan`` in the format ``kind``."""
    return request_of("sanitize", plan=plan.published().to_toml(), format=kind)


def waiting_draw(ledger: Ledger, to: Destination, plan: Plan, account: str) -> FinishedDraw | None:
    """Return the finished draw that a release of this table by ``plan`` would publish for free.

    Raises:
        InputError: a finished draw waits there that this release did not ask for.
    """
    return waiting_for(ledger, to.path, table_request(plan, to.format), account)


def _earlier_release(ledger: Ledger, account: str, plan: Plan) -> EarlierRelease | None:
    """Return the newest release of the account by ``plan`` whose files still stand as they were certified."""
    for release in reversed(ledger.releases(account)):
        output = Path(release.body.get("output", ""))
        certificate = certificate_path(output) if release.body.get("output") else output
        if release.status != "charged" or not output.is_file() or not certificate.is_file():
            continue
        try:
            document = read_certificate(certificate)
            same = document["release_id"] == release.release_id and plan_of(document, certificate) == plan.published()
            whole = same and not verify_release(output)
        except WorkbenchError:
            continue  # a certificate that cannot be read vouches for no file
        if whole:
            return EarlierRelease(release.release_id, release.time, release.epsilon, output)
    return None
