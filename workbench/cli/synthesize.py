"""``workbench synthesize``: the release of a synthetic table."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.cli.command import Command, Context, add_options, read_options
from workbench.cli.releasing import add_release, place_and_plan, release, released, released_text
from workbench.cli.tables import add_data, add_delta, read_data, read_delta
from workbench.params.field import RealField
from workbench.privacy.accounting.event import exact
from workbench.privacy.local.mechanism_table import EPSILON_LEAST, EPSILON_MOST
from workbench.release.path import prepare
from workbench.release.synthetic.synthesis_work import synthesis_setting, synthesis_work
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
    to, plan = place_and_plan(options)
    table = read_data(options, context, plan)
    rows = plan.rows_of(table).rows
    work = synthesis_work(plan, epsilon, rows, to.format, chosen, delta)
    needs = needs_of(*synthesis_setting(plan, epsilon, rows, chosen, delta), work.request["rows"])
    about = f"this takes about {needs.words()}"
    prepared = prepare(plan, table, to, work)
    done = release(options, context, prepared, lambda verdict: "" if verdict.waiting else about)
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
