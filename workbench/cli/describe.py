"""``workbench describe``: what a table looks like to the steward who owns it."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Mapping
from typing import Any

from workbench.cli.command import Command, Context, add_options, read_options
from workbench.data.profile import ColumnProfile, profile
from workbench.data.read import ReadOptions, read_table
from workbench.data.table import Dialect
from workbench.params.errors import one_line
from workbench.signals.events import Notice

_LONGEST_NAME = 40


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", metavar="DATA", help="a file, or sample:NAME")
    add_options(parser, ReadOptions)


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    table = read_table(options.data, read_options(options, ReadOptions), cancel=context.cancel)
    for notice in table.notices:
        context.emit(Notice("warning", notice))
    columns = profile(table, cancel=context.cancel, emit=context.emit)
    return {
        "source": table.source,
        "private": True,
        "rows": table.rows,
        "columns": [_column(column) for column in columns],
        "dialect": _dialect(table.dialect),
        "notices": list(table.notices),
    }


def _column(column: ColumnProfile) -> dict[str, Any]:
    return {
        "name": column.name,
        "kind": column.kind,
        "missing": column.missing,
        "distinct": column.distinct,
        "suspicions": [dataclasses.asdict(suspicion) for suspicion in column.suspicions],
    }


def _dialect(dialect: Dialect | None) -> dict[str, Any]:
    """Return how the text was written; every value is null where the table is no text file."""
    keys = ("encoding", "delimiter", "quote", "decimal", "header")
    return {key: getattr(dialect, key) if dialect is not None else None for key in keys}


def _text(result: Mapping[str, Any]) -> str:
    lines = [f"{result['source']}: {result['rows']:,} rows, {len(result['columns'])} columns"]
    dialect = result["dialect"]
    if dialect["encoding"] is not None:
        between = {"\t": "tab", "": "none (one column)"}.get(dialect["delimiter"], dialect["delimiter"])
        lines.append(
            f"read as {dialect['encoding']}, delimiter {between}, quote {dialect['quote'] or 'none'}, "
            f"decimal mark {dialect['decimal']}, header {'yes' if dialect['header'] else 'no'}"
        )
    rows = [("column", "kind", "missing", "distinct", "")]
    for column in result["columns"]:
        told = "; ".join(suspicion["reason"] for suspicion in column["suspicions"])
        name = one_line(column["name"])
        name = name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
        rows.append((name, column["kind"], f"{column['missing']:,}", f"{column['distinct']:,}", one_line(told)))
    widths = [max(len(row[k]) for row in rows) for k in range(4)]
    lines.append("")
    for name, kind, missing, distinct, told in rows:
        figures = f"{missing:>{widths[2]}}  {distinct:>{widths[3]}}"
        lines.append(f"{name:<{widths[0]}}  {kind:<{widths[1]}}  {figures}  {told}".rstrip())
    lines += ["", "Everything above is private: it is computed from the rows, without noise. Not for release."]
    return "\n".join(lines)


COMMAND = Command(
    name="describe",
    help="read a table and say what is in its columns (private)",
    example="workbench describe sample:people",
    configure=_configure,
    run=_run,
    text=_text,
)
