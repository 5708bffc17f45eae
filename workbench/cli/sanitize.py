"""``workbench sanitize``: the release of a table."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.cli.command import Command, Context
from workbench.cli.releasing import add_release, check_documents, released, released_text, warn_of
from workbench.cli.tables import add_data, load_confirmed, not_here, read_data
from workbench.params import ParameterError
from workbench.release.ledger.ledger import Ledger
from workbench.release.path import check_values, destination, prepare_rows, release_prepared, verdict_on
from workbench.signals import Notice


def _configure(parser: argparse.ArgumentParser) -> None:
    add_data(parser)
    parser.add_argument("--plan", required=True, type=Path, metavar="PLAN", help="the plan (TOML)")
    parser.add_argument("--engine", default="local", metavar="local|dask", help="where the work runs (default local)")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="scheduler of the dask engine")
    add_release(parser, "the released table; .csv, .tsv or .parquet")


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    if options.engine == "dask":
        raise ParameterError("--engine dask is not in this version", hint="use --engine local")
    if options.engine != "local":
        raise ParameterError(f"--engine {options.engine} is not known", hint="use --engine local")
    not_here(options, "scheduler")
    to = destination(options.output, options.data, options.plan, options.ledger, replace=options.replace)
    check_documents(options, options.data, options.plan, options.ledger)
    plan = load_confirmed(options.plan, options.account)
    table = read_data(options, context, plan)
    prepared = prepare_rows(plan, table, to)
    check_values(prepared, context.cancel)  # as the window does: a typing error is no reason to reserve and void
    with Ledger.open(options.ledger) as ledger:
        verdict = verdict_on(prepared, ledger)
        if verdict.earlier is not None and verdict.refusal is None:
            former = (
                f"release {verdict.earlier.release_id} of the same table by the same plan is {verdict.earlier.output}"
            )
            context.emit(Notice("info", f"{former}; to copy it would cost nothing, and this is another charge"))
        done = release_prepared(prepared, ledger, context.emit, context.cancel, account=verdict.account)
    warn_of(done.outside, context)  # not before: a release that failed published nothing to be warned of
    return released(options, context, done, rows=done.rows)


def _text(result: Mapping[str, Any]) -> str:
    return released_text(f"released {result['rows']} rows", result)


COMMAND = Command(
    name="sanitize",
    help="release a table as its plan says: charge, draw, certify, write",
    example="workbench plan sample:people --epsilon 3 -o trial.toml && "
    "workbench sanitize sample:people --plan trial.toml -o released.csv --ledger sanitize.sqlite",
    configure=_configure,
    run=_run,
    text=_text,
    releases=True,
)
