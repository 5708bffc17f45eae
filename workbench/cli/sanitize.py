"""``workbench sanitize``: the release of a table."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from workbench.cli.command import Command, Context
from workbench.cli.releasing import add_certificate, add_release, place, release, released, released_text
from workbench.cli.tables import add_data, load_confirmed, read_data
from workbench.params import ParameterError
from workbench.processes.dask_address import FORMS, scheduler_address
from workbench.release.path import Verdict, prepare_rows
from workbench.release.rows_on_workers import Workers
from workbench.release.table_formats import SUFFIXES
from workbench.sanitize.writing import PLAIN


def _configure(parser: argparse.ArgumentParser) -> None:
    add_data(parser)
    parser.add_argument("--plan", required=True, type=Path, metavar="PLAN", help="the plan (TOML)")
    where = "where rows are checked and drawn: on this computer (default), or on the workers of --scheduler"
    parser.add_argument("--engine", default="local", metavar="local|dask", help=where)
    scheduler = (
        f"the Dask scheduler of --engine dask ({FORMS}). Its workers read a large file by the same path; of a small"
    )
    scheduler += " one the raw rows are sent to them, encrypted only with tls://"
    parser.add_argument("--scheduler", metavar="ADDRESS", help=scheduler)
    stated = "put an apostrophe before text of kept columns that a spreadsheet would run as a formula"
    parser.add_argument("--defuse-formulas", action="store_true", help=stated)
    add_release(parser, f"the released table; {SUFFIXES}, or the address of a new one in a database")
    add_certificate(parser)


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    scheduler = _scheduler(options)
    to, plan = place(options), load_confirmed(options.plan, options.account)
    if options.defuse_formulas:
        plan = replace(plan, writing=replace(plan.writing or PLAIN, defuse_formulas=True))
    table = read_data(options, context, plan)
    workers = None if scheduler is None else Workers(scheduler, context.emit, context.cancel)
    done = release(options, context, prepare_rows(plan, table, to, workers), _copy_costs_nothing)
    return released(options, context, done, rows=done.rows)


def _scheduler(options: argparse.Namespace) -> str | None:
    """Return the address of the scheduler whose workers draw; ``None`` for this computer."""
    if options.engine not in ("local", "dask"):
        raise ParameterError(f"--engine {options.engine} is not known", hint="use --engine local or --engine dask")
    if options.engine == "dask" and options.scheduler is None:
        start = "python -m distributed.cli.dask_"
        hint = f"add --scheduler {FORMS}; `{start}scheduler` and `{start}worker ADDRESS --nthreads 1` start a cluster"
        raise ParameterError("--engine dask has no scheduler", hint=hint)
    if options.engine == "local" and options.scheduler is not None:
        raise ParameterError("--scheduler is for --engine dask", hint="add --engine dask, or leave --scheduler out")
    return None if options.scheduler is None else scheduler_address(options.scheduler)


def _copy_costs_nothing(verdict: Verdict) -> str:
    if verdict.earlier is None:
        return ""
    former = f"release {verdict.earlier.release_id} of the same table by the same plan is {verdict.earlier.output}"
    return f"{former}; to copy it would cost nothing, and this is another charge"


def _text(result: Mapping[str, Any]) -> str:
    return released_text(f"released {result['rows']} rows", result)


COMMAND = Command(
    name="sanitize",
    example="workbench plan sample:people --epsilon 3 -o trial.toml && "
    "workbench sanitize sample:people --plan trial.toml -o released.csv --ledger sanitize.sqlite",
    configure=_configure,
    run=_run,
    text=_text,
    releases=True,
)
