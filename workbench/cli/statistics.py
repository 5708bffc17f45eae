"""``workbench statistics``: private counts, histograms, means, sums, quantiles and modes, of all rows or by groups."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from workbench.cli.command import Command, Context
from workbench.cli.kind_command import add_forecast, forecast_cost, forecast_rows, forecast_text, require_release
from workbench.cli.releasing import add_release, place_and_plan, release, released, released_text
from workbench.cli.tables import (
    add_data,
    add_delta,
    columns_text,
    figure,
    read_data,
    read_delta,
)
from workbench.params import ParameterError
from workbench.params.field import RealField
from workbench.privacy.local.mechanism_table import EPSILON_LEAST, EPSILON_MOST
from workbench.release.path import prepare
from workbench.release.statistics.statistics_work import statistics_work
from workbench.sanitize.plan import Plan, load_plan
from workbench.statistics.asked import MODE, STATISTICS, Request, read_request, request_of_options, usual_request
from workbench.statistics.forecast import forecast
from workbench.statistics.queries import queries_of
from workbench.statistics.release_file import FORMATS

_EPSILON = RealField(
    help="privacy loss of one row, for all figures together", symbol="ε", at_least=EPSILON_LEAST, upto=EPSILON_MOST
)
_OPTIONS = {
    "count": ("COL", "how many rows have a value in COL (with --by: of each group)"),
    "histogram": ("COL[:BINS]", "how many rows are in each bin of COL"),
    "mean": ("COL", "mean of COL"),
    "sum": ("COL", "sum of COL"),
    "quantiles": ("COL[:0.1,0.5]", "quantiles of COL (default 0.25, 0.5 and 0.75)"),
    "mode": ("COL", "the most frequent value of COL, a column of names"),
}


def _configure(parser: argparse.ArgumentParser) -> None:
    add_data(parser, required=False)
    parser.add_argument("--plan", required=True, type=Path, metavar="PLAN", help="the plan that declares the columns")
    parser.add_argument("--epsilon", required=True, metavar="ε", help=_EPSILON.help)
    add_delta(parser)
    add_release(parser, "the released figures; .csv or .json", required=False)
    for name in STATISTICS:
        what, stated = _OPTIONS[name]
        parser.add_argument(f"--{name}", action="append", metavar=what, help=f"{stated}; may be repeated")
    parser.add_argument(
        "--by", action="append", default=[], metavar="COL", help="of each group that COL makes; twice at most"
    )
    parser.add_argument("--request", type=Path, metavar="FILE", help="what is asked for, as [[figure]] tables (TOML)")
    add_forecast(parser, "the expected errors")


def _request(options: argparse.Namespace, plan: Plan) -> Request:
    asked = request_of_options({name: getattr(options, name) for name in STATISTICS}, options.by)
    if options.request is not None:
        if asked is not None:
            raise ParameterError("--request names everything that is asked for", hint="leave the other options out")
        asked = read_request(options.request)
    return (asked or usual_request(plan)).checked(plan)


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    delta = read_delta(options)
    epsilon = _EPSILON.parse(options.epsilon, "--epsilon")
    if options.forecast:
        return _forecast(options, epsilon, delta)
    require_release(options)
    to, plan = place_and_plan(options, options.request, formats=FORMATS)
    request = _request(options, plan)
    table = read_data(options, context, plan)
    work = statistics_work(request, plan, epsilon, plan.rows_of(table).rows, to.format, delta)
    done = release(options, context, prepare(plan, table, to, work))
    rows = done.rows
    return released(
        options,
        context,
        done,
        rows=rows,
        figures=[f.to_plain() for f in forecast(queries_of(request, plan, epsilon, rows, delta))],
        delta_charged=float(done.delta_charged),
        replace_one_epsilon=done.document["guarantee"]["replace_one"]["epsilon"],
    )


def _forecast(options: argparse.Namespace, epsilon: float, delta: Decimal) -> dict[str, Any]:
    rows, plan = forecast_rows(options), load_plan(options.plan)
    request = _request(options, plan)
    work = statistics_work(request, plan, epsilon, rows, "csv", delta)
    return {
        **forecast_cost(work, plan, rows, epsilon),
        "forecast": [f.to_plain() for f in forecast(queries_of(request, plan, epsilon, rows, delta))],
    }


def _text(result: Mapping[str, Any]) -> str:
    stated = result["forecast"] if "forecast" in result else result["figures"]
    lines = [
        [
            _called(f),
            str(f["figures"]),
            _expected(f) + (" in groups of equal size" if f["by_group_size"] else ""),
            f["source"],
        ]
        for f in stated
    ]
    table = columns_text(["statistic", "figures", "95 % interval, expected", "read from"], lines, right=(1,))
    table += _sizes_text(stated)
    if "forecast" in result:
        return f"{table}\n{forecast_text(result)}"
    return f"{table}\n{released_text('released', result)}"


def _sizes_text(stated: Sequence[Mapping[str, Any]]) -> str:
    """Return a table of what to expect of groups of stated sizes; empty where there are none."""
    sized = [f for f in stated if f["by_group_size"]]
    if not sized:
        return ""
    lines = [
        [
            _called(f),
            f"{100 * size['part']:.3g} %",
            f"{round(size['rows']):,}",
            f"± {figure(size['half_width'])} {f['unit']}",
        ]
        for f in sized
        for size in f["by_group_size"]
    ]
    head = ["if a group has", "of all rows", "rows", "95 % interval, expected"]
    return f"\n\n{columns_text(head, lines, right=(1, 2))}\n"


def _called(stated: Mapping[str, Any]) -> str:
    of = f" of {stated['column']}" if stated["column"] else ""
    return f"{stated['statistic']}{of}" + (f" by {' and '.join(stated['by'])}" if stated["by"] else "")


def _expected(stated: Mapping[str, Any]) -> str:
    width = f"{figure(stated['half_width'])} {stated['unit']}"
    return f"right if it leads by {width}" if stated["statistic"] == MODE else f"± {width}"


COMMAND = Command(
    name="statistics",
    help="release private counts, histograms, means, sums, quantiles and modes with their intervals",
    example="workbench plan sample:people --epsilon 1 -o trial.toml && workbench statistics sample:people "
    "--plan trial.toml --epsilon 1 -o figures.csv --ledger statistics.sqlite",
    configure=_configure,
    run=_run,
    text=_text,
    releases=True,
)
