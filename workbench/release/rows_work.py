"""Noisy rows as a Work: every value of a protected column goes through its integer table."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from workbench.data.cluster_parts import PartsOnWorkers
from workbench.data.table import Table
from workbench.release.certificate import described
from workbench.release.kinds import ROWS
from workbench.release.rows_on_workers import RowsOnWorkers
from workbench.release.sealed_parts import Sealing
from workbench.release.spilled_rows import DrawnInParts, SpilledRows
from workbench.release.table_formats import DATABASE, ROWS_AT_ONCE, ReleasedText, table_format, types_of
from workbench.sanitize.calibrated_columns import ProtectedColumn, protected_columns
from workbench.sanitize.engine import Draw, draw_prepared, events_of
from workbench.sanitize.plan import Plan
from workbench.signals import CancelToken, Emit
from workbench.work.ask import Ask
from workbench.work.work import Work, WorkOutput


def _text(drawn: Draw | DrawnInParts, kind: str) -> tuple[ReleasedText, int]:
    """Return the text of drawn rows for a file of a format, and in how many parts it is written."""
    types = types_of({c.column.name: c.column.kind for c in drawn.columns}) | drawn.kept_types
    if isinstance(drawn, DrawnInParts) and kind == DATABASE:  # its rows are sorted
        whole = pl.concat(drawn.pieces())
        return ReleasedText(lambda start, stop: whole[start:stop], whole.height, types), 1
    if isinstance(drawn, DrawnInParts):
        return ReleasedText(None, drawn.rows, types, drawn.pieces, drawn.coded), drawn.count
    return ReleasedText(drawn.frame, drawn.rows, types), max(1, -(-drawn.rows // ROWS_AT_ONCE))


def rows_work(
    plan: Plan,
    rows: Table,
    kind: str,
    folder: Path | None = None,
    parts: PartsOnWorkers | None = None,
    sealing: Sealing | None = None,
) -> Work:
    """Return the release of ``rows``, as the plan reads them, by ``plan``.

    Of the rows only the number and the room that kept columns take are used before the charge. Rows that are read in
    parts are kept in ``folder`` until they are written; those that workers drew, in the file of ``sealing``.

    Raises:
        ParameterError: the plan protects no column, or a mechanism does not fit.
    """
    columns = protected_columns(plan)
    form = table_format(kind)
    form.require(plan, rows.rows)
    spilled: SpilledRows | None = None
    if parts is not None and sealing is not None:
        spilled = RowsOnWorkers(plan, columns, rows, sealing, parts, form)
    elif rows.in_parts and folder is not None:
        spilled = SpilledRows(plan, columns, rows, folder, form)

    def ask_rows(table: Table, ask: Ask, emit: Emit, cancel: CancelToken) -> Draw | DrawnInParts:
        if spilled is not None:
            return spilled.draw(ask, emit, cancel)
        return draw_prepared(plan, columns, table, ask, emit, cancel)

    def check(table: Table, cancel: CancelToken) -> None:
        for column in columns:
            cancel.check()
            column.grid.encode(table)  # raises at an invalid value
        for kept in (c for c in plan.columns if c.action == "keep"):
            cancel.check()
            form.require_kept(plan, table, kept.name, table.column(kept.name))

    def files(drawn: Draw | DrawnInParts, cancel: CancelToken) -> WorkOutput:
        published = plan.published()
        method = {"columns": described(published, columns), "keep_order": plan.keep_order}
        text, count = _text(drawn, kind)
        return WorkOutput(form.written(text, plan), method, count=count, columns=form.columns(text))

    return Work(
        kind=ROWS,
        columns=tuple(c.column.name for c in columns),
        events=events_of(columns),
        request={},
        room=lambda: most_bytes(plan, columns, rows, None if spilled is None else spilled.kept_text),
        ask=ask_rows,
        files=files,
        check=check,
        reader=spilled,
    )


def most_bytes(plan: Plan, columns: tuple[ProtectedColumn, ...], table: Table, kept_text: int | None = None) -> int:
    """Return an upper bound on the size of a draw of ``plan`` on ``table`` in any format."""
    longest = sum(2 * max((len(text.encode()) for text in c.grid.labels), default=0) + 4 for c in columns)
    kept = [c.name for c in plan.columns if c.action == "keep"]
    if kept_text is None:
        kept_text = sum(int(table.column(name).str.len_bytes().sum() or 0) for name in kept)
    # A cell that returns to its type takes up to eight bytes, however short its text.
    bytes_kept = 2 * kept_text + 12 * table.rows * len(kept)
    header = sum(2 * len(name.encode()) + 4 for name in table.names)
    # Parquet and Feather have a footer, and dictionaries beside the values.
    return header + longest * table.rows + bytes_kept + (1 << 16) * (len(table.names) + 1)
