"""Noisy rows as a Work: every value of a protected column goes through its integer table."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping

import polars as pl

from workbench.data.columns.source_types import as_type
from workbench.data.table import Table
from workbench.release.certificate import described
from workbench.release.kinds import ROWS
from workbench.sanitize.calibrated import ProtectedColumn, protected_columns
from workbench.sanitize.engine import Draw, draw_prepared, events_of
from workbench.sanitize.plan import Plan
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit
from workbench.work.ask import Ask
from workbench.work.work import Made, Work

FORMATS = {".csv": "csv", ".tsv": "tsv", ".parquet": "parquet"}

_ROWS_AT_ONCE = 200_000


def rows_work(plan: Plan, rows: Table, kind: str) -> Work:
    """Return the release of ``rows``, as the plan reads them, by ``plan``.

    Args:
        plan: what is done with each column.
        rows: of them only the number and the room that kept columns take are used before the charge.
        kind: format of the file.

    Raises:
        ParameterError: the plan protects no column, or a mechanism does not fit.
    """
    columns = protected_columns(plan)

    def ask_rows(table: Table, ask: Ask, emit: Emit, cancel: CancelToken) -> Draw:
        return draw_prepared(plan, columns, table, ask, emit, cancel)

    def files(drawn: Draw, cancel: CancelToken) -> Made:
        published = plan.published()
        method = {"columns": described(published, columns), "keep_order": plan.keep_order}
        return Made(_pieces(drawn, kind), method, count=max(1, -(-drawn.rows // _ROWS_AT_ONCE)))

    return Work(
        kind=ROWS,
        columns=tuple(c.column.name for c in columns),
        events=events_of(columns),
        request={},
        room=most_bytes(plan, columns, rows),
        ask=ask_rows,
        files=files,
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


def _pieces(drawn: Draw, kind: str) -> Iterator[bytes]:
    """Yield the bytes of the file; text in pieces, so that it never lies in memory whole."""
    if kind == "parquet":
        buffer = io.BytesIO()
        typed(drawn).write_parquet(buffer)
        yield buffer.getvalue()
        return
    for start in range(0, drawn.rows or 1, _ROWS_AT_ONCE):
        frame = drawn.frame(start, min(start + _ROWS_AT_ONCE, drawn.rows))
        yield csv_bytes(frame, "\t" if kind == "tsv" else ",", header=start == 0)


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
    frame = with_types(drawn.frame(), {c.column.name: c.column.kind for c in drawn.columns})
    return frame.with_columns([as_type(frame[n], kind) for n, kind in drawn.kept_types.items()])


def with_types(frame: pl.DataFrame, kinds: Mapping[str, str | None]) -> pl.DataFrame:
    """Return released text with the types of its columns' kinds; text for the rest."""
    types: dict[str | None, Callable[[pl.Expr], pl.Expr]] = {
        "integer": lambda cells: cells.cast(pl.Int64),
        "real": lambda cells: cells.cast(pl.Float64),
        "date": lambda cells: cells.str.to_date("%Y-%m-%d"),
    }
    # No cell can fail: the labels of a grid are made to parse, and kept cells were tried when they were drawn.
    return frame.with_columns([types[k](pl.col(n)) for n, k in kinds.items() if k in types])
