"""``workbench synthesize``: the release of a synthetic table."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.cli.command import Command, Context, add_options, read_options
from workbench.cli.releasing import add_release, check_documents, released, released_text, warn_of
from workbench.cli.tables import add_data, add_delta, load_confirmed, read_data, read_delta
from workbench.params.field import RealField
from workbench.privacy.accounting.event import exact
from workbench.privacy.local.mechanism_table import EPSILON_LEAST, EPSILON_MOST
from workbench.release.ledger.ledger import Ledger
from workbench.release.path import check_values, destination, prepare, release_prepared, verdict_on
from workbench.release.synthetic.synthesis_work import synthesis_setting, synthesis_work
from workbench.signals import Notice
from workbench.synth.needs import needs_of
from workbench.synth.parameters import SynthesisParameters

_EPSILON = RealField(
    help="privacy loss of one row's whole record", symbol="ε", at_least=EPSILON_LEAST, upto=EPSILON_MOST
)


def _configure(parser: argparse.ArgumentParser) -> None:
    add_data(parser)
    parser.add_argument(
        "--plan", required=True, type=Path, metavar="PLAN", help="the plan (TOML): its columns and bounds"
    )
    parser.add_argument("--epsilon", required=True, metavar="ε", help=_EPSILON.help)
    add_delta(parser)
    add_options(parser, SynthesisParameters)
    add_release(parser, "the synthetic table; .csv, .tsv or .parquet")


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    delta = read_delta(options)
    epsilon = exact(_EPSILON.parse(options.epsilon, "--epsilon"))
    chosen = read_options(options, SynthesisParameters)
    to = destination(options.output, options.data, options.plan, options.ledger, replace=options.replace)
    check_documents(options, options.data, options.plan, options.ledger)
    plan = load_confirmed(options.plan, options.account)
    table = read_data(options, context, plan)
    rows = plan.rows_of(table).rows
    work = synthesis_work(plan, epsilon, rows, to.format, chosen, delta)
    prepared = prepare(plan, table, to, work)
    check_values(prepared, context.cancel)  # a typing error is no reason to reserve and void
    needs = needs_of(*synthesis_setting(plan, epsilon, rows, chosen, delta), work.request["rows"])
    with Ledger.open(options.ledger) as ledger:
        verdict = verdict_on(prepared, ledger)
        if verdict.refusal is None and not verdict.waiting:
            context.emit(Notice("info", f"this takes about {needs.words()}"))
        done = release_prepared(prepared, ledger, context.emit, context.cancel, account=verdict.account)
    warn_of(done.document["outside_guarantee"], context)
    asked = {key: done.document["request"][key] for key in ("method", "target", "rows")}
    return released(options, context, done, **asked, delta_charged=float(done.delta_charged))


def _text(result: Mapping[str, Any]) -> str:
    return released_text(f"released {result['rows']} synthetic rows", result, f" (method {result['method']})")


COMMAND = Command(
    name="synthesize",
    help="release a synthetic table: rows drawn from a private model of the table",
    example="workbench plan sample:people --epsilon 1 -o trial.toml && "
    "workbench synthesize sample:people --plan trial.toml --epsilon 1 --target label -o synthetic.csv "
    "--ledger synthesize.sqlite",
    configure=_configure,
    run=_run,
    text=_text,
    releases=True,
)
