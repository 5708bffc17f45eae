"""``workbench describe``: what a table looks like to the steward who owns it."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.cli.command import Command, Context
from workbench.cli.tables import add_data, columns_text, read_data
from workbench.data.columns.profile import ColumnProfile, profile
from workbench.data.csv.dialect import Dialect
from workbench.data.table import Doubt
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
        "renamed": list(table.renamed),
        "dialect": _dialect(table.dialect),
        "notices": list(table.notices),
        "doubts": [_doubt(doubt) for doubt in table.doubts],
    }


def _column(column: ColumnProfile) -> dict[str, Any]:
    return {
        "name": column.name,
        "kind": column.kind,
        "missing": column.missing,
        "distinct": column.distinct,
        "suspicions": [{"what": suspicion.what, "reason": suspicion.reason} for suspicion in column.suspicions],
    }


def _dialect(dialect: Dialect | None) -> dict[str, Any]:
    """Return how the text was written; every value is null where the table is no text file."""
    keys = ("encoding", "delimiter", "quote", "decimal", "header")
    return {key: getattr(dialect, key) if dialect is not None else None for key in keys}


def _doubt(doubt: Doubt) -> dict[str, Any]:
    """Return a guess that one row could turn, with how some cells read under each candidate: the guess comes first."""
    candidates = [{"option": c.option, "fits": c.fits, "cells": list(c.cells)} for c in doubt.candidates]
    return {"about": doubt.name, "guess": doubt.guess, "option": doubt.option, "candidates": candidates}


def _doubts_text(doubts: Sequence[Mapping[str, Any]]) -> list[str]:
    lines = ["", "One row could change these guesses; state the options that read right before you release:"]
    for doubt in doubts:
        lines.append(f"  {one_line(doubt['guess'])}")
        rows = [
            (f"    {c['option']}", one_line("   ".join(c["cells"])) if c["fits"] else "cannot read the file")
            for c in doubt["candidates"]
        ]
        lines += columns_text(("", ""), rows).splitlines()[1:]
    return lines


def _text(result: Mapping[str, Any]) -> str:
    lines = [f"{result['source']}: {result['rows']:,} rows, {len(result['columns'])} columns"]
    dialect = result["dialect"]
    if dialect["encoding"] is not None:
        between = {"\t": "tab", "": "none (one column)"}.get(dialect["delimiter"], dialect["delimiter"])
        lines.append(
            f"read as {dialect['encoding']}, delimiter {between}, quote {dialect['quote'] or 'none'}, "
            f"decimal mark {dialect['decimal']}, header {'yes' if dialect['header'] else 'no'}"
        )
    if result["renamed"]:
        lines.append(f"repeated names in the header, renamed: {', '.join(result['renamed'])}")
    if result["doubts"]:
        lines += _doubts_text(result["doubts"])
    rows = []
    for column in result["columns"]:
        name = one_line(column["name"])
        name = name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
        stated = one_line("; ".join(suspicion["reason"] for suspicion in column["suspicions"]))
        rows.append((name, column["kind"], f"{column['missing']:,}", f"{column['distinct']:,}", stated))
    header = ("column", "kind", "missing", "distinct", "look at" if any(row[-1] for row in rows) else "")
    lines += ["", columns_text(header, rows, right=(2, 3))]
    lines += ["", "Everything above is private: it is computed from the rows, without noise. Not for release."]
    return "\n".join(lines)


COMMAND = Command(
    name="describe",
    example="workbench describe sample:people",
    configure=add_data,
    run=_run,
    text=_text,
)
