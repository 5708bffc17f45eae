"""``workbench describe``: the columns of a table, for the data owner."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.cli.command import Command, Context
from workbench.cli.common_options import add_data, add_join, columns_text, read_data, shortened
from workbench.data.columns.profile import ColumnProfile, profile
from workbench.data.csv.options import Dialect
from workbench.data.person_join import persons_matched
from workbench.data.table import Ambiguity, FileFacts, Joined, Table
from workbench.params import counted, one_line
from workbench.signals import Notice

_MOST_LABELS = 12


def _configure(parser: argparse.ArgumentParser) -> None:
    add_data(parser)
    add_join(parser)


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    table = read_data(options, context)
    for sentence in table.last_rows:
        context.emit(Notice("info", sentence))
    columns = profile(table, cancel=context.cancel, emit=context.emit)
    return {
        "source": table.source,
        "private": True,
        "rows": table.rows,
        "columns": [_column(column, table.facts) for column in columns],
        "renamed": list(table.renamed),
        "dialect": _dialect(table.dialect),
        "notices": [*table.notices, *table.to_check],
        "doubts": [_doubt(doubt) for doubt in table.ambiguities],
        "part": {"option": table.facts.option, "read": table.facts.part, "of": list(table.facts.parts)},
        **({} if table.joined is None else {"joined": _joined(table, table.joined)}),
    }


def _joined(table: Table, of: Joined) -> dict[str, Any]:
    stated = {"source": of.second.source, "person": of.person, "on": of.on, "rows": of.second.rows}
    return {**stated, "columns": list(of.names), "persons": persons_matched(table)}


def _column(column: ColumnProfile, facts: FileFacts) -> dict[str, Any]:
    """Return the profile of a column, and what the file says of it: nobody has confirmed that."""
    return {
        "name": column.name,
        "label": facts.labels.get(column.name, ""),
        "labels": dict(facts.values.get(column.name, {})),
        "missing_codes": list(facts.missing.get(column.name, ())),
        "kind": column.kind,
        "missing": column.missing,
        "distinct": column.distinct,
        "suspicions": [{"what": suspicion.what, "reason": suspicion.reason} for suspicion in column.suspicions],
    }


def _dialect(dialect: Dialect | None) -> dict[str, Any]:
    """Return how the text was written; every value is null where the table is no text file."""
    keys = ("encoding", "delimiter", "quote", "decimal", "header")
    return {key: getattr(dialect, key) if dialect is not None else None for key in keys}


def _doubt(doubt: Ambiguity) -> dict[str, Any]:
    """Return a guess that one row could turn, with how some cells read under each candidate: the guess comes first."""
    candidates = [{"option": c.option, "fits": c.fits, "cells": list(c.cells)} for c in doubt.candidates]
    stated = {"about": doubt.name, "guess": doubt.guess, "option": doubt.option, "candidates": candidates}
    return {**stated, "by_a_row": doubt.by_a_row}


def _doubts_text(doubts: Sequence[Mapping[str, Any]]) -> list[str]:
    by_a_row = any(doubt["by_a_row"] for doubt in doubts)
    why = "One row could change these guesses" if by_a_row else "Stated only by the file"
    lines = ["", f"{why}; set the right reading options before you release:"]
    for doubt in doubts:
        lines.append(f"  {one_line(doubt['guess'])}")
        rows = [
            (f"    {c['option']}", one_line("   ".join(c["cells"])) if c["fits"] else "cannot read the file")
            for c in doubt["candidates"]
        ]
        lines += columns_text(("", ""), rows).splitlines()[1:]
    return lines


def _labels_text(columns: Sequence[Mapping[str, Any]]) -> list[str]:
    lines = []
    for column in columns:
        labels = [f"{value} = {label}" for value, label in column["labels"].items()]
        more = [f"… ({len(labels)} labels)"] if len(labels) > _MOST_LABELS else []
        stated = [*labels[:_MOST_LABELS], *more]
        if column["missing_codes"]:
            stated.append(f"missing: {', '.join(column['missing_codes'])}")
        if stated:
            lines.append(one_line(f"  {shortened(column['name'])}: {', '.join(stated)}"))
    return ["", "What the file states about values, not confirmed by anybody:", *lines] if lines else []


def _text(result: Mapping[str, Any]) -> str:
    lines = [f"{result['source']}: {counted(result['rows'], 'row')}, {counted(len(result['columns']), 'column')}"]
    dialect = result["dialect"]
    if dialect["encoding"] is not None:
        between = {"\t": "tab", "": "none (one column)"}.get(dialect["delimiter"], dialect["delimiter"])
        lines.append(
            f"read as {dialect['encoding']}, delimiter {between}, quote {dialect['quote'] or 'none'}, "
            f"decimal mark {dialect['decimal']}, header {'yes' if dialect['header'] else 'no'}"
        )
    if result["part"]["read"] and len(result["part"]["of"]) > 1:
        lines.append(f"{result['part']['option']} {result['part']['read']} of {', '.join(result['part']['of'])}")
    if result["renamed"]:
        lines.append(f"repeated names in the header, renamed: {', '.join(result['renamed'])}")
    if "joined" in result:
        lines.append(
            "joined with {source} on {person} = {on}: {rows:,} rows, {persons:,} persons are in both".format(
                **result["joined"]
            )
        )
    if result["doubts"]:
        lines += _doubts_text(result["doubts"])
    rows = []
    for column in result["columns"]:
        stated = one_line("; ".join(suspicion["reason"] for suspicion in column["suspicions"]))
        counts = (f"{column['missing']:,}", f"{column['distinct']:,}")
        rows.append((shortened(column["name"]), column["kind"], *counts, shortened(column["label"]), stated))
    titles = ("column", "kind", "missing", "distinct", "label", "check")
    used = [k for k in range(len(titles)) if k < 4 or any(row[k] for row in rows)]
    header = [titles[k] for k in used]
    lines += ["", columns_text(header, [[row[k] for k in used] for row in rows], right=(2, 3))]
    lines += _labels_text(result["columns"])
    lines += ["", "Everything above is private: it is computed from the rows, without noise. Not for release."]
    return "\n".join(lines)


COMMAND = Command("workbench describe sample:people", _configure, _run, _text)
