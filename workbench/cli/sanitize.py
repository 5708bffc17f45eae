"""``workbench sanitize``: the release of a table."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.cli.command import Command, Context
from workbench.cli.common_options import add_data, add_engine, add_join, engine_of, load_confirmed, read_data
from workbench.cli.release_options import (
    add_certificate,
    add_defuse,
    add_release,
    release,
    release_destination,
    released,
    released_text,
    with_defused_formulas,
)
from workbench.params.amounts import counted
from workbench.release.release_path import prepare_rows
from workbench.release.table_formats import SUFFIXES
from workbench.release.verdict import Verdict


def _configure(parser: argparse.ArgumentParser) -> None:
    add_data(parser)
    add_join(parser)
    parser.add_argument("--plan", required=True, type=Path, metavar="PLAN", help="the plan (TOML)")
    add_engine(parser, "checked and drawn")
    add_defuse(parser)
    add_release(parser, f"the released table; {SUFFIXES}, or the address of a new one in a database")
    add_certificate(parser)


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    workers = engine_of(options, context)
    to, plan = (
        release_destination(options),
        with_defused_formulas(options, load_confirmed(options.plan, options.account)),
    )
    table = read_data(options, context, plan)
    done = release(options, context, prepare_rows(plan, table, to, workers), _copy_costs_nothing)
    return released(options, context, done, rows=done.rows)


def _copy_costs_nothing(verdict: Verdict) -> str:
    if verdict.earlier is None:
        return ""
    earlier = verdict.earlier
    former = f"release {earlier.release_id} of this table, or an earlier version of it, by the same plan"
    return f"{former} is {earlier.output}; copying it costs nothing, but a new release is charged again"


def _text(result: Mapping[str, Any]) -> str:
    return released_text(f"released {counted(result['rows'], 'row')}", result)


COMMAND = Command(
    "workbench plan sample:people --epsilon 3 -o trial.toml && "
    "workbench sanitize sample:people --plan trial.toml -o released.csv --ledger sanitize.sqlite",
    _configure,
    _run,
    _text,
    releases=True,
)
