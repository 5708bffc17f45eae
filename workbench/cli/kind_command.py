"""The command of a kind of release that has none of its own: its options are what its request declares."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from workbench.cli.command import Command, Context, add_options, read_options
from workbench.cli.releasing import add_release, place_and_plan, release, released, released_text
from workbench.cli.tables import add_data, add_delta, beside, charge, read_data, read_delta
from workbench.params import ParameterError
from workbench.params.field import IntegerField, RealField
from workbench.privacy.accounting.event import exact
from workbench.privacy.local.mechanism_table import EPSILON_LEAST, EPSILON_MOST
from workbench.release.delta_limit import require_small_cost
from workbench.release.kinds import Kind
from workbench.release.path import prepare
from workbench.sanitize.plan import Plan, load_plan
from workbench.work.work import Work, amount_of

_ROWS = IntegerField(help="number of rows, for --forecast", at_least=1, upto=10**12)
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
    add_data(parser, required=False)
    parser.add_argument(
        "--plan", required=True, type=Path, metavar="PLAN", help="the plan (TOML): its columns and bounds"
    )
    parser.add_argument("--epsilon", required=True, metavar="ε", help=_EPSILON.help)
    add_delta(parser)
    add_options(parser, kind.asked())
    add_release(parser, f"the file with {kind.gives}; {' or '.join(kind.suffixes())}", required=False)
    add_forecast(parser, "what is asked of the rows, and its cost")


def _run(kind: Kind, options: argparse.Namespace, context: Context) -> dict[str, Any]:
    delta, epsilon = read_delta(options), _EPSILON.parse(options.epsilon, "--epsilon")
    request = read_options(options, kind.asked())
    if options.forecast:
        rows, plan = forecast_rows(options), load_plan(options.plan)
        work = kind.work_of(plan, request, exact(epsilon), delta, rows, kind.formats[0])
        asked = [{"label": event.label, "amount": float(amount_of(event))} for event in work.events]
        unit = "epsilon" if work.budget is None else "rho"
        return {**forecast_cost(work, plan, rows, epsilon), "unit": unit, "asked": asked}
    require_release(options)
    to, plan = place_and_plan(options, formats=kind.suffixes())
    table = read_data(options, context, plan)
    work = kind.work_of(plan, request, exact(epsilon), delta, plan.rows_of(table).rows, to.format)
    done = release(options, context, prepare(plan, table, to, work))
    return released(options, context, done, rows=done.rows, delta_charged=float(done.delta_charged))


def _text(kind: Kind, result: Mapping[str, Any]) -> str:
    if "asked" not in result:
        return released_text(f"released {kind.gives}", result)
    lines = [f"{each['label']}: {result['unit']} = {charge(each['amount'])}" for each in result["asked"]]
    return "\n".join([*lines, forecast_text(result)])


# -- shared with the command of statistics ---------------------------------------------------------------------------


def add_forecast(parser: argparse.ArgumentParser, shown: str) -> None:
    """Add ``--forecast --rows``."""
    parser.add_argument("--forecast", action="store_true", help=f"only show {shown}; charges nothing")
    parser.add_argument("--rows", metavar="N", help=_ROWS.help)


def forecast_rows(options: argparse.Namespace) -> int:
    """Return the number of rows of a forecast.

    Raises:
        ParameterError: none is given.
    """
    if options.rows is None:
        raise ParameterError("--forecast reads no table", hint="give --rows N")
    return int(_ROWS.parse(options.rows, "--rows"))


def require_release(options: argparse.Namespace) -> None:
    """Raise :class:`ParameterError` unless the options are those of a release, not of a forecast."""
    for given, name in ((options.data, "DATA"), (options.output, "-o")):
        if given is None:
            raise ParameterError(f"the release needs {name}", hint="give it, or --forecast")
    if options.rows is not None:
        raise ParameterError("--rows is for --forecast", hint="leave it out: the rows of the table count")


def forecast_cost(work: Work, plan: Plan, rows: int, epsilon: float) -> dict[str, Any]:
    """Return what a release of ``work`` would charge, as part of the result of a forecast.

    Raises:
        ParameterError: δ is not below 1/rows.
    """
    cost = work.cost(plan.rows_per_person)
    if cost.delta:
        require_small_cost(cost, rows, rows_per_person=plan.rows_per_person)
    return {
        "rows": rows,
        "epsilon_row": epsilon,
        "epsilon_total": float(cost.epsilon),
        "delta_total": float(cost.delta),
        "columns": list(work.columns),
    }


def forecast_text(result: Mapping[str, Any]) -> str:
    """Return the line on what a release would charge."""
    cost = f"{charge(result['epsilon_total'])}{beside({'delta_charged': result['delta_total']})}"
    return f"a release would charge epsilon = {cost}; nothing is charged now"
