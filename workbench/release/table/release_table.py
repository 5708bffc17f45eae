"""The release of a table: reserve, draw, write under a temporary name, certify, rename, settle."""

from __future__ import annotations

import io
import time
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl

from workbench.data.columns.source_types import as_type
from workbench.data.table import Table
from workbench.privacy.accounting.event import Cost, PureDp
from workbench.privacy.entropy import OsEntropy
from workbench.release.choosing import with_choice
from workbench.release.exposure import charged_again, standing_charge, void_unless_charged
from workbench.release.finished_file import publish_earlier, require_new_pair
from workbench.release.ledger.ledger import Ledger
from workbench.release.ledger.recover import (
    CHARGED_FIRST,
    clear_leftovers,
    place_of,
    publish_table,
    recover,
)
from workbench.release.parts import DrawFile
from workbench.release.table.before_release import (
    PreparedRelease,
    destination,
    prepared_release,
    table_request,
)
from workbench.release.table.certificate import Output, certificate, certificate_path, encode
from workbench.sanitize.calibrated import ProtectedColumn
from workbench.sanitize.engine import Draw, draw_prepared
from workbench.sanitize.forecast import outside_guarantee
from workbench.sanitize.plan import Plan
from workbench.signals import AtStake, Notice, Progress
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit, ignore

_ROWS_AT_ONCE = 200_000


@dataclass(frozen=True)
class TableRelease:
    """The result of a release.

    Attributes:
        release_id: its name in the ledger.
        rows: rows written.
        epsilon_charged: ε charged.
        epsilon_remaining: ε left under the cap.
        seconds: from the reservation to the rename.
        output: the file.
        certificate: its certificate.
        outside: sentences on what the ε does not cover.
        published_earlier: whether it was drawn and charged by an earlier run, which could not give it its name.
    """

    release_id: str
    rows: int
    epsilon_charged: Decimal
    epsilon_remaining: Decimal
    seconds: float
    output: Path
    certificate: Path
    outside: tuple[str, ...] = ()
    published_earlier: bool = False


def release_table(
    plan: Plan,
    table: Table,
    target: Path,
    ledger: Ledger,
    emit: Emit = ignore,
    cancel: CancelToken | None = None,
    *,
    replace: bool = False,
) -> TableRelease:
    """Release ``table`` as ``plan`` says, into ``target`` with a certificate beside it; see :func:`release_prepared`.

    Raises:
        InputError: the plan holds unconfirmed guesses; or plan, table and output do not fit each other.
    """
    prepared = prepared_release(plan, table, destination(target, replace=replace))
    return release_prepared(prepared, ledger, emit, cancel)


def release_prepared(
    prepared: PreparedRelease,
    ledger: Ledger,
    emit: Emit = ignore,
    cancel: CancelToken | None = None,
    *,
    account: str = "",
) -> TableRelease:
    """Release what was prepared.

    The output's place and the space it needs are secured first, then the cost is reserved, then the values are drawn
    in memory; the charge is final before the first of their bytes goes into a file, whatever ends the run afterwards.
    A run that ends earlier is recorded as void. A finished draw that could not be given its name is kept, and the
    next run of the same request publishes it instead of drawing and charging anew.

    Raises:
        InputError: a value does not fit its column, or the output cannot be written.
        BudgetRefusedError: the cap does not allow it.
        CancelledError: ``cancel`` was set; the message says whether the charge stands.
    """
    started = time.monotonic()
    plan, table, target = prepared.plan, prepared.table, prepared.to.path
    dataset = ledger.account_of(account) if account else ledger.enter_for_release(table, plan.account)
    for sentence in (*recover(ledger), *clear_leftovers(ledger, target)):
        emit(Notice("info", sentence))
    request = table_request(plan, prepared.to.format)
    published = publish_earlier(ledger, target, request, dataset, emit, replace=prepared.to.replace)
    if published is not None:
        return _released(published, ledger, target, started, published_earlier=True)
    replaces = require_new_pair(target, replace=prepared.to.replace)
    cancel = cancel or CancelToken()
    cost = Cost(prepared.epsilon, Decimal(0), PureDp(prepared.epsilon, "sanitised table"))
    room = most_bytes(plan, prepared.columns, prepared.rows)
    with DrawFile(target, room, replace=prepared.to.replace) as part:
        details = {"output": place_of(target), "part": part.path.name, CHARGED_FIRST: True}
        release_id = ledger.reserve(dataset, cost, work="sanitize", details=details)
        try:
            drawn = draw_prepared(plan, prepared.columns, prepared.rows, OsEntropy(), emit, cancel)
            if not drawn.releasable:
                raise AssertionError("a seeded draw cannot be released")
            cancel.check()
            ledger.charge(release_id)  # final: from the next line on somebody could read drawn values
        except BaseException as error:
            void_unless_charged(ledger, release_id, error, emit)
            raise
        emit(AtStake(cost.epsilon))
        with standing_charge(cost, target):
            output = _write(drawn, part, prepared.to.format, emit, cancel)
            release = ledger.release(release_id)
            assert release is not None
            stated = plan.published()
            outside = with_choice(outside_guarantee(stated), ledger, dataset, release_id)
            document = certificate(stated, drawn.columns, drawn.rows, release, ledger.account(dataset), output, outside)
            data = encode(document)
            with part.keep_on_success():
                ledger.certify(release_id, document["checksum"], request, data.decode())
        emit(AtStake(Decimal(0)))
        emit(Progress(drawn.rows, drawn.rows, "certified"))  # from here on it is too late to cancel
        publish_table(ledger, part, release_id, data)
    if replaces:
        emit(charged_again(target))
    return _released(document, ledger, target, started)


def _released(
    document: dict[str, Any], ledger: Ledger, target: Path, started: float, *, published_earlier: bool = False
) -> TableRelease:
    release = ledger.release(document["release_id"])
    assert release is not None
    remaining = ledger.account(release.dataset).remaining
    assert remaining is not None
    return TableRelease(
        release_id=release.release_id,
        rows=document["rows"],
        epsilon_charged=release.epsilon,
        epsilon_remaining=remaining,
        seconds=time.monotonic() - started,
        output=target,
        certificate=certificate_path(target),
        outside=tuple(document["outside_guarantee"]),
        published_earlier=published_earlier,
    )


def most_bytes(plan: Plan, columns: tuple[ProtectedColumn, ...], table: Table) -> int:
    """Return an upper bound on the size of a draw of ``plan`` on ``table`` in any format."""
    longest = sum(2 * max((len(text.encode()) for text in c.grid.labels), default=0) + 4 for c in columns)
    kept = [c.name for c in plan.columns if c.action == "keep"]
    # A cell that returns to its type takes up to eight bytes, however short its text.
    bytes_kept = sum(2 * int(table.frame[name].str.len_bytes().sum() or 0) + 12 * table.rows for name in kept)
    header = sum(2 * len(name.encode()) + 4 for name in table.names)
    # Parquet and Feather have a footer, and dictionaries beside the values.
    return header + longest * table.rows + bytes_kept + (1 << 16) * (len(table.names) + 1)


def _write(drawn: Draw, part: DrawFile, kind: str, emit: Emit, cancel: CancelToken) -> Output:
    """Write the rows under the temporary name, durably, and return what was written."""
    if kind == "parquet":
        buffer = io.BytesIO()
        typed(drawn).write_parquet(buffer)
        part.write(buffer.getvalue())
    for start in range(0, drawn.rows or 1, _ROWS_AT_ONCE) if kind != "parquet" else ():
        cancel.check()
        frame = drawn.frame(start, min(start + _ROWS_AT_ONCE, drawn.rows))
        part.write(csv_bytes(frame, "\t" if kind == "tsv" else ",", header=start == 0))
        emit(Progress(min(start + _ROWS_AT_ONCE, drawn.rows), drawn.rows, "rows written"))
    part.finish()
    cancel.check()
    return Output(part.target.name, kind, part.sha256, part.bytes)


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
    """Return the draw with types: whole numbers, reals, dates; kept columns as in the source; text for the rest."""
    types = {
        "integer": lambda cells: cells.cast(pl.Int64),
        "real": lambda cells: cells.cast(pl.Float64),
        "date": lambda cells: cells.str.to_date("%Y-%m-%d"),
    }
    kinds = {c.column.name: c.column.kind for c in drawn.columns}
    # No cell can fail: the labels of a grid are made to parse, and kept cells were tried when they were drawn.
    frame = drawn.frame().with_columns([types[k](pl.col(n)) for n, k in kinds.items() if k in types])
    return frame.with_columns([as_type(frame[n], kind) for n, kind in drawn.kept_types.items()])
