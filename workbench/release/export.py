"""The release of a table: reserve, draw, write under a temporary name, certify, rename, settle."""

from __future__ import annotations

import hashlib
import io
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, cast

import polars as pl

from workbench.data.table import Table
from workbench.params import InputError, WorkbenchError
from workbench.privacy.entropy import OsEntropy
from workbench.privacy.event import Cost, PureDp
from workbench.release.account import Account
from workbench.release.atomic import PartFile, naming, write_error, write_whole
from workbench.release.certificate import Output, certificate, certificate_path, encode
from workbench.release.fingerprint import fingerprint
from workbench.release.ledger import Ledger
from workbench.release.recover import recover
from workbench.sanitize.engine import Draw, check_columns, draw
from workbench.sanitize.forecast import charge_of
from workbench.sanitize.plan import Plan
from workbench.sanitize.randomisers import protected_columns
from workbench.signals import Notice, Progress
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit, ignore

FORMATS = {".csv": "csv", ".tsv": "tsv", ".parquet": "parquet"}
_ROWS_AT_ONCE = 200_000


@dataclass(frozen=True)
class TableRelease:
    """What a release gave.

    Attributes:
        release_id: its name in the ledger.
        rows: rows written.
        epsilon_charged: ε charged.
        epsilon_remaining: ε left under the cap.
        seconds: from the reservation to the rename.
        output: the file.
        certificate: its certificate.
    """

    release_id: str
    rows: int
    epsilon_charged: Decimal
    epsilon_remaining: Decimal
    seconds: float
    output: Path
    certificate: Path


def format_of(target: Path) -> str:
    """Return the format that the suffix of ``target`` names, or raise :class:`InputError`."""
    if target.suffix.lower() not in FORMATS:
        raise InputError(
            f"the output's suffix {target.suffix!r} is not known", str(target), f"use one of {', '.join(FORMATS)}"
        )
    return FORMATS[target.suffix.lower()]


def release_table(
    plan: Plan,
    table: Table,
    target: Path,
    ledger: Ledger,
    emit: Emit = ignore,
    cancel: CancelToken | None = None,
) -> TableRelease:
    """Release ``table`` as ``plan`` says, into ``target`` with a certificate beside it.

    The charge is durable before a value is drawn; the certificate stands before the data do. Every call draws and
    charges anew. If it fails before the output exists, the charge is recorded as void and nothing remains.

    Raises:
        InputError: plan, table and output do not fit each other, or the output cannot be written.
        BudgetRefusedError: the cap does not allow it.
        CancelledError: ``cancel`` was set before the output existed.
    """
    kind = format_of(target)
    started = time.monotonic()
    plan = plan.published()
    check_columns(plan, table)
    table.require_certain()  # a guess about the file that one row could turn would undo every guarantee
    protected_columns(plan)  # calibrated now: a plan that does not work is not charged
    if os.path.isdir(certificate_path(target)):
        raise InputError(
            "a folder has the name of the certificate", str(certificate_path(target)), "name another output"
        )
    for sentence in recover(ledger):
        emit(Notice("info", sentence))
    cost = Cost(charge_of(plan), Decimal(0), PureDp(charge_of(plan), "sanitised table"))
    dataset = fingerprint(table, ledger.key)
    with PartFile(target) as part:
        folder = target.parent.resolve()
        details = {"output": str(folder / target.name), "part": str(folder / part.path.name)}
        release_id = ledger.reserve(dataset, cost, work="sanitize", details=details)
        try:
            drawn = draw(plan, table, OsEntropy(), emit, cancel)
            output = _write(drawn, part, kind, emit, cancel or CancelToken())
            account = ledger.account(dataset)
            document = _certificate(drawn, release_id, ledger, account, output)
            emit(Progress(drawn.rows, drawn.rows, "certified"))  # from here on it is too late to cancel
            with naming(target.parent), _certified(certificate_path(target), encode(document), part):
                part.publish()
        except BaseException as error:
            if not part.published:
                part.give_up()
                _record(partial(ledger.void, release_id, type(error).__name__), emit)
            if isinstance(error, OSError):
                raise write_error(error, target) from None
            raise
    _record(partial(ledger.complete, release_id, document["checksum"]), emit)
    remaining = account.remaining
    assert remaining is not None
    return TableRelease(
        release_id=release_id,
        rows=drawn.rows,
        epsilon_charged=cost.epsilon,
        epsilon_remaining=remaining,
        seconds=time.monotonic() - started,
        output=target,
        certificate=certificate_path(target),
    )


def _record(entry: Callable[[], None], emit: Emit) -> None:
    """Make an entry about a reservation; where the ledger cannot be told, the reservation stays and counts."""
    try:
        entry()
    except WorkbenchError as error:
        emit(Notice("warning", f"the charge stands as reserved until another run looks after it: {error}"))


@contextmanager
def _certified(path: Path, data: bytes, part: PartFile) -> Iterator[None]:
    """Let a certificate stand while the block publishes ``part``; if it does not, put back what stood there."""
    earlier = path.read_bytes() if path.is_file() else None
    try:
        write_whole(path, data)
        yield
    except BaseException:
        if not part.published:
            if earlier is None:
                path.unlink(missing_ok=True)
            else:
                write_whole(path, earlier)
        raise


def _certificate(drawn: Draw, release_id: str, ledger: Ledger, account: Account, output: Output) -> dict[str, Any]:
    if not drawn.releasable:
        raise AssertionError("a seeded draw cannot be released")
    release = ledger.release(release_id)
    assert release is not None
    return certificate(drawn.plan, drawn.columns, drawn.rows, release, account, output)


def _write(drawn: Draw, part: PartFile, kind: str, emit: Emit, cancel: CancelToken) -> Output:
    """Write the rows under the temporary name, durably, and return what was written."""
    writer = _Hashing(part)
    if kind == "parquet":
        buffer = io.BytesIO()
        typed(drawn).write_parquet(buffer)
        writer.write(buffer.getvalue())
    for start in range(0, drawn.rows or 1, _ROWS_AT_ONCE) if kind != "parquet" else ():
        cancel.check()
        frame = drawn.frame(start, min(start + _ROWS_AT_ONCE, drawn.rows))
        writer.write(csv_bytes(frame, "\t" if kind == "tsv" else ",", header=start == 0))
        emit(Progress(min(start + _ROWS_AT_ONCE, drawn.rows), drawn.rows, "rows written"))
    part.sync()
    cancel.check()
    return Output(part.target.name, kind, writer.hash.hexdigest(), writer.bytes)


def csv_bytes(frame: pl.DataFrame, delimiter: str, *, header: bool) -> bytes:
    """Return ``frame`` as CSV; a missing value is an empty cell.

    In a table of one column an empty cell would be a blank line, which readers skip: it is written as ``""``.
    """
    if frame.width == 1 and frame.to_series().null_count():
        name = frame.columns[0]
        lines = frame.select(pl.col(name).fill_null("")).write_csv(
            include_header=header, separator=delimiter, quote_style="always"
        )
        return lines.encode()
    return frame.write_csv(include_header=header, separator=delimiter).encode()


def typed(drawn: Draw) -> pl.DataFrame:
    """Return the draw with the types of its kinds: whole numbers, reals, dates; text for the rest."""
    types = {
        "integer": lambda cells: cells.cast(pl.Int64),
        "real": lambda cells: cells.cast(pl.Float64),
        "date": lambda cells: cells.str.to_date("%Y-%m-%d"),
    }
    kinds = {c.column.name: c.column.kind for c in drawn.columns}
    # No cell can fail: the labels of a grid are made to parse.
    return drawn.frame().with_columns([types[k](pl.col(n)) for n, k in kinds.items() if k in types])


class _Hashing:
    """Writes to the temporary file and hashes what it writes."""

    def __init__(self, part: PartFile) -> None:
        self._stream = cast("BinaryIO", part.stream)
        self.hash = hashlib.sha256()
        self.bytes = 0

    def write(self, data: bytes) -> None:
        self._stream.write(data)
        self.hash.update(data)
        self.bytes += len(data)
