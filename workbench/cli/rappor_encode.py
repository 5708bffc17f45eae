"""``workbench rappor encode``: the reports of a column, charged, certified and released."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.cli.command import Context, read_options
from workbench.cli.tables import (
    add_account,
    add_data,
    add_ledger,
    add_release_output,
    charge,
    charged_to,
    keep_inputs,
    load_confirmed,
    read_as,
    read_data,
)
from workbench.data.read import SAMPLE_PREFIX, ReadOptions
from workbench.data.table import Table
from workbench.params import ParameterError
from workbench.params.field import IntegerField
from workbench.privacy.rappor.account import MOST_REPORTS
from workbench.signals import Notice

_PUBLISHED = {"encoding": "utf-8", "delimiter": ",", "quote": '"', "decimal": ".", "header": "yes"}
"""How a file is read for which neither a plan nor an option says otherwise: as the published files are written."""

_VALUE, _CLIENT, _COHORT = ("value",), ("client", "client_id", "user_id"), ("cohort",)
_REPORTS = IntegerField(
    at_least=1, upto=MOST_REPORTS, help="most reports of a client (default 1); without --client, each row's number"
)


def configure_encode(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``rappor encode``."""
    add_data(parser)
    parser.add_argument("--params", required=True, type=Path, metavar="FILE", help="CSV: k,h,m,p,q,f")
    parser.add_argument("--column", metavar="COL", help="the column to report (default: value, or the only one)")
    parser.add_argument(
        "--client", metavar="COL", help="the column that names each row's client (default: client; else a client a row)"
    )
    parser.add_argument(
        "--cohort", metavar="COL", help="the column with each client's cohort, public (default: cohort; else drawn)"
    )
    parser.add_argument("--reports", metavar="N", help=_REPORTS.help)
    parser.add_argument(
        "--answers", type=Path, metavar="FILE", help="private file in which clients' permanent answers are kept"
    )
    parser.add_argument(
        "--basic", type=Path, metavar="CANDIDATES", help="list of the public values: each has a bit of its own"
    )
    parser.add_argument(
        "--plan", type=Path, metavar="PLAN", help="how the file is read, rows per person, account (default: one row)"
    )
    add_release_output(parser, "the reports; .csv")
    add_ledger(parser)
    add_account(parser)
    parser.add_argument("--seed", dest="seed_refused", help=argparse.SUPPRESS)


def encode(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    """Release the reports; return what ``--json`` prints."""
    from workbench.privacy.rappor.account import cost
    from workbench.rappor.candidates import read_candidates
    from workbench.rappor.files import read_parameters
    from workbench.release.ledger.ledger import Ledger
    from workbench.release.path import check_values, destination, prepare, release_prepared
    from workbench.release.rappor.rappor_work import FORMATS, rappor_work

    if options.answers is not None:
        keep_inputs(options.answers, options.data, options.params, options.plan, options.basic, options.output)
    to = destination(
        options.output,
        options.data,
        options.params,
        options.plan,
        options.ledger,
        options.basic,
        options.answers,
        formats=FORMATS,
        replace=options.replace,
    )
    parameters = read_parameters(options.params)
    basic = () if options.basic is None else read_candidates(options.basic)
    plan = None if options.plan is None else load_confirmed(options.plan, options.account)
    table = read_data(options, context, plan) if plan is not None else _published(options, context)
    asked = _asked(options, table)
    plan = plan if plan is not None else charged_to(_open_plan(table), options.account)
    rows = plan.rows_of(table).rows
    work = rappor_work(parameters, asked, rows, basic=basic, answers=options.answers)
    prepared = prepare(plan, table, to, work)
    check_values(prepared, context.cancel)  # a contradiction is no reason to reserve and void
    with Ledger.open(options.ledger) as ledger:
        done = release_prepared(prepared, ledger, context.emit, context.cancel)
    for sentence in done.document["outside_guarantee"]:
        context.emit(Notice("warning", f"not covered by epsilon: {sentence}"))
    if asked.cohort is not None:
        context.emit(Notice("warning", f"the cohorts of the column {asked.cohort!r} are published as they are"))
    bound = cost(parameters, asked.reports)
    return {
        "rows": done.document["rows"],
        "reports": done.document["method"]["reports"],
        "column": asked.column,
        "client": asked.client,
        "cohort": asked.cohort,
        "reports_each": asked.reports,
        "epsilon_permanent": done.document["request"]["epsilon_permanent"],
        "epsilon_one": done.document["request"]["epsilon_one"],
        "epsilon_exact": bound.exact,
        "epsilon_charged": float(done.epsilon_charged),
        "epsilon_remaining": float(done.epsilon_remaining),
        "release_id": done.release_id,
        "seconds": round(done.seconds, 3),
        "output": str(done.output),
        "certificate": str(done.certificate),
        **({"published_earlier": True} if done.published_earlier else {}),
    }


def encode_text(result: Mapping[str, Any]) -> str:
    """Return the short text of that object."""
    return "\n".join(
        [
            f"released {result['reports']} reports of the column {result['column']} to {result['output']}",
            f"certificate {result['certificate']}",
            f"charged epsilon = {charge(result['epsilon_charged'])}, {charge(result['epsilon_remaining'])} remain "
            f"(release {result['release_id']})",
        ]
    )


def _published(options: argparse.Namespace, context: Context) -> Table:
    """Return the table, read as the published files are written where no option says otherwise."""
    stated = read_options(options, ReadOptions)
    if not options.data.startswith(SAMPLE_PREFIX):
        for name, usual in _PUBLISHED.items():
            if getattr(stated, name) is None:
                setattr(options, f"{ReadOptions.__name__}.{name}", usual)
    table = read_as(options.data, options, context, None)
    for sentence in table.notices:
        context.emit(Notice("info", sentence))
    return table


def _asked(options: argparse.Namespace, table: Table) -> Any:
    """Return what is collected; columns with the published names stand for options that are not given."""
    from workbench.rappor.collection import Collection

    def named(given: str | None, usual: tuple[str, ...]) -> str | None:
        return given if given is not None else next((name for name in usual if name in table.names), None)

    column = named(options.column, _VALUE)
    if column is None and len(table.names) == 1:
        column = table.names[0]
    if column is None:
        raise ParameterError(
            "the column to report is not named", hint=f"give --column, one of {', '.join(table.names)}"
        )
    client, cohort = named(options.client, _CLIENT), named(options.cohort, _COHORT)
    reports = 1 if options.reports is None else _REPORTS.parse(options.reports, "--reports")
    found = Collection(
        column=column,
        client=None if client == column and options.client is None else client,
        cohort=None if cohort == column and options.cohort is None else cohort,
        reports=reports,
    )
    table.require(found.columns)
    return found


def _open_plan(table: Table) -> Any:
    """Return the plan of a file without one: every column is read as text, one row of a person."""
    from workbench.sanitize.plan import Column, Plan

    return Plan(epsilon=1.0, columns=tuple(Column(name=name, action="drop") for name in table.names))
