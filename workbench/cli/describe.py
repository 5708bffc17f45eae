"""``workbench describe``: what a table looks like to the steward who owns it."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Mapping
from typing import Any

from workbench.cli.command import Command, Context
from workbench.cli.tables import add_data, columns_text, read_data
from workbench.data.dialect import Dialect
from workbench.data.profile import ColumnProfile, profile
from workbench.params.errors import one_line

_LONGEST_NAME = 40


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    table = read_data(options, context)
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
    rows = []
    for column in result["columns"]:
        name = one_line(column["name"])
        name = name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
        told = one_line("; ".join(suspicion["reason"] for suspicion in column["suspicions"]))
        rows.append((name, column["kind"], f"{column['missing']:,}", f"{column['distinct']:,}", told))
    header = ("column", "kind", "missing", "distinct", "look at" if any(row[-1] for row in rows) else "")
    lines += ["", columns_text(header, rows, right=(2, 3))]
    lines += ["", "Everything above is private: it is computed from the rows, without noise. Not for release."]
    return "\n".join(lines)


COMMAND = Command(
    name="describe",
    help="read a table and say what is in its columns (private)",
    example="workbench describe sample:people",
    configure=add_data,
    run=_run,
    text=_text,
)
