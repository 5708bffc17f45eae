"""The command of a kind of release that has none of its own: its options are what its request declares."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from workbench.cli.command import Command, Context, add_options, read_options
from workbench.cli.releasing import add_release, check_documents, released, released_text, warn_of
from workbench.cli.tables import add_data, add_delta, load_confirmed, read_data, read_delta
from workbench.params.field import RealField
from workbench.privacy.accounting.event import exact
from workbench.privacy.local.mechanism_table import EPSILON_LEAST, EPSILON_MOST
from workbench.release.kinds import Kind
from workbench.release.ledger.ledger import Ledger
from workbench.release.path import check_values, destination, prepare, release_prepared

_EPSILON = RealField(
    help="privacy loss of one row, for everything that is released",
    symbol="ε",
    at_least=EPSILON_LEAST,
    upto=EPSILON_MOST,
)


def command_of(kind: Kind) -> Command:
    """Return the command of ``kind``."""
    options = f" {kind.example}" if kind.example else ""
    return Command(
        name=kind.name,
        help=kind.help,
        example="workbench plan sample:people --epsilon 1 -o trial.toml && "
        f"workbench {kind.name} sample:people --plan trial.toml --epsilon 1{options} -o {kind.name}.{kind.formats[0]} "
        f"--ledger {kind.name}.sqlite",
        configure=partial(_configure, kind),
        run=partial(_run, kind),
        text=partial(_text, kind),
        releases=True,
    )


def _configure(kind: Kind, parser: argparse.ArgumentParser) -> None:
    add_data(parser)
    parser.add_argument(
        "--plan", required=True, type=Path, metavar="PLAN", help="the plan (TOML): its columns and bounds"
    )
    parser.add_argument("--epsilon", required=True, metavar="ε", help=_EPSILON.help)
    add_delta(parser)
    add_options(parser, kind.asked())
    add_release(parser, f"the file with {kind.gives}; {' or '.join(kind.suffixes())}")


def _run(kind: Kind, options: argparse.Namespace, context: Context) -> dict[str, Any]:
    delta = read_delta(options)
    epsilon = exact(_EPSILON.parse(options.epsilon, "--epsilon"))
    request = read_options(options, kind.asked())
    sources = (options.data, options.plan, options.ledger)
    to = destination(options.output, *sources, formats=kind.suffixes(), replace=options.replace)
    check_documents(options, *sources)
    plan = load_confirmed(options.plan, options.account)
    table = read_data(options, context, plan)
    work = kind.work_of(plan, request, epsilon, delta, plan.rows_of(table).rows, to.format)
    prepared = prepare(plan, table, to, work)
    check_values(prepared, context.cancel)
    with Ledger.open(options.ledger) as ledger:
        done = release_prepared(prepared, ledger, context.emit, context.cancel)
    warn_of(done.outside, context)
    return released(options, context, done, rows=done.rows, delta_charged=float(done.delta_charged))


def _text(kind: Kind, result: Mapping[str, Any]) -> str:
    return released_text(f"released {kind.gives}", result)
