"""The command of a kind of release, with the options that its request declares."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from workbench.cli.command import Command, Context, add_options, read_options
from workbench.cli.common_options import (
    add_data,
    add_engine,
    add_join,
    delta_text,
    engine_of,
    load_confirmed,
    read_data,
    with_account,
)
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
from workbench.data.table import Table
from workbench.params import IntegerField, ParameterError, paid
from workbench.privacy.accounting.event import exact
from workbench.release.delta_limit import DELTA, EPSILON, require_small_cost
from workbench.release.kinds import TABLES, Kind
from workbench.release.part_files import files_in_request
from workbench.release.release_path import Released, prepare
from workbench.release.table_formats import written_like
from workbench.sanitize.plan import Column, Plan, load_plan
from workbench.work.work import Work, amount_of

_ROWS = IntegerField(help="number of rows, for --forecast", at_least=1, upto=10**12)


@dataclass(frozen=True)
class Asked:
    """What a person asked for."""

    request: Any  # the options of the kind
    plan: Plan
    epsilon: Decimal  # of one row; 0 where it follows from the request
    delta: Decimal  # of one row
    rows: int  # the number of rows as the plan reads them
    work: Work  # what is released


class KindCommand:
    """The command of ``kind``; a kind with facts, tables or a reading of its own overrides the methods below."""

    counts = False  # whether it is made of counts of parts of the rows, which the workers of a cluster can make

    def __init__(self, kind: Kind) -> None:
        self.kind = kind

    @property
    def name(self) -> str:
        """Its name, as it is typed before DATA."""
        return " ".join(self.kind.words)

    def add_request(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the request."""
        add_options(parser, self.kind.asked(), once=True)

    def request(self, options: argparse.Namespace) -> Any:
        """Return the request."""
        return read_options(options, self.kind.asked())

    def about(self, asked: Asked) -> str:
        """Return a sentence to say before the charge; empty where there is none."""
        return ""

    def facts(self, asked: Asked, done: Released | None, context: Context) -> dict[str, Any]:
        """Return what the result says besides what every release does; of a forecast ``done`` is ``None``."""
        if done is not None:
            return {}
        events = [{"label": event.label, "amount": float(amount_of(event))} for event in asked.work.events]
        return {"asked": events, "unit": "epsilon" if asked.work.budget is None else "rho"}

    def table(self, options: argparse.Namespace, context: Context, plan: Plan | None) -> Table:
        """Return the table that DATA names."""
        return read_data(options, context, plan)

    def what(self, result: Mapping[str, Any]) -> str:
        """Return what was released, in words."""
        return self.kind.gives

    def lines(self, result: Mapping[str, Any]) -> list[str]:
        """Return the lines that come before those on charge and documents, or before the forecast of the charge."""
        return [f"{each['label']}: {result['unit']} = {paid(each['amount'])}" for each in result.get("asked", ())]

    def command(self) -> Command:
        """Return the command."""
        kind, name = self.kind, self.name
        options = f" {kind.example}" if kind.example else ""
        return Command(
            "workbench plan sample:people --epsilon 1 -o trial.toml && "
            f"workbench {name} sample:people --plan trial.toml --epsilon 1{options} -o {kind.name}.{kind.formats[0]} "
            f"--ledger {kind.name}.sqlite",
            self.configure,
            self.run,
            self.text,
            releases=True,
        )

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the options."""
        kind = self.kind
        add_data(parser, required=not kind.forecasts)
        if not kind.own_cost:
            add_join(parser)
        declares = "how to read the file, rows per person (default: one row), account"
        stated = f"the plan (TOML): {declares if kind.any_text else 'its columns and bounds'}"
        parser.add_argument("--plan", required=not kind.any_text, type=Path, metavar="PLAN", help=stated)
        if not kind.own_cost:
            parser.add_argument("--epsilon", required=True, metavar="ε", help=EPSILON.help)
            parser.add_argument("--delta", metavar="δ", help=kind.delta or DELTA.help)
        self.add_request(parser)
        if self.counts:
            add_engine(parser, "counted")
        if not kind.own_cost:
            add_defuse(parser)
        *others, last = kind.suffixes()
        suffixes = f"{', '.join(others)} or {last}" if others else last
        address = ", or the address of a new table in a database" if kind.formats == TABLES else ""
        add_release(parser, f"the released file: {kind.gives}; {suffixes}{address}", required=not kind.forecasts)
        if address:
            add_certificate(parser)
        if kind.forecasts:
            stated = "only show the queries, their cost and expected errors; charges nothing"
            parser.add_argument("--forecast", action="store_true", help=stated)
            parser.add_argument("--rows", metavar="N", help=_ROWS.help)

    def run(self, options: argparse.Namespace, context: Context) -> dict[str, Any]:
        """Release, or forecast."""
        kind, request = self.kind, self.request(options)
        epsilon = Decimal(0) if kind.own_cost else exact(EPSILON.parse(options.epsilon, "--epsilon"))
        stated = None if kind.own_cost else options.delta
        delta = Decimal(0) if stated is None else exact(DELTA.parse(stated, "--delta"))
        if kind.forecasts and options.forecast:
            rows, plan = _forecast_facts(options)
            plan = kind.planned(plan, request)
            work = kind.work_of(plan, request, epsilon, delta, rows, kind.formats[0])
            asked = Asked(request, plan, epsilon, delta, rows, work)
            return {**_forecast_cost(asked), **self.facts(asked, None, context)}
        if kind.forecasts:
            _require_release(options)
        workers = engine_of(options, context) if self.counts else None
        files = files_in_request(request, options.data, options.plan, options.output)
        to = release_destination(options, *files, formats=kind.suffixes())
        named = None if options.plan is None else load_confirmed(options.plan, options.account)
        table = self.table(options, context, named)
        if named is None:  # every column is read as text, one row of a person
            columns = tuple(Column(name=name, action="drop") for name in table.names)
            named = with_account(Plan(epsilon=1.0, columns=columns), options.account)
        plan = kind.planned(named if kind.own_cost else with_defused_formulas(options, named), request)
        rows = plan.rows_of(table).rows
        plan = written_like(plan, table, to.format) if kind.formats == TABLES else plan
        work = kind.work_of(plan, request, epsilon, delta, rows, to.format)
        asked = Asked(request, plan, epsilon, delta, rows, work)
        prepared = prepare(plan, table, to, work, workers)
        done = release(options, context, prepared, lambda verdict: "" if verdict.waiting else self.about(asked))
        own = {"rows": done.rows, "delta_charged": float(done.delta_charged), **self.facts(asked, done, context)}
        return released(options, context, done, **own)

    def text(self, result: Mapping[str, Any]) -> str:
        """Return the short human text of a result."""
        lines = self.lines(result)
        if "epsilon_total" not in result:
            return "\n".join([*lines, released_text(f"released {self.what(result)}", result)])
        cost = f"{paid(result['epsilon_total'])}{delta_text({'delta_charged': result['delta_total']})}"
        return "\n".join([*lines, f"a release would charge epsilon = {cost}; nothing is charged now"])


def _forecast_facts(options: argparse.Namespace) -> tuple[int, Plan]:
    if options.rows is None:
        raise ParameterError("--forecast reads no table", hint="add --rows N")
    rows = int(_ROWS.parse(options.rows, "--rows"))
    if options.plan is None:
        raise ParameterError("--forecast reads no table, so it needs a plan", hint="add --plan PLAN")
    return rows, load_plan(options.plan)


def _require_release(options: argparse.Namespace) -> None:
    """Raise :class:`ParameterError` unless the options are those of a release, not of a forecast."""
    for given, name in ((options.data, "DATA"), (options.output, "-o")):
        if given is None:
            raise ParameterError(f"the release needs {name}", hint="give it, or --forecast")
    if options.rows is not None:
        raise ParameterError("--rows is for --forecast", hint="leave it out: the number of rows comes from the table")


def _forecast_cost(asked: Asked) -> dict[str, Any]:
    cost = asked.work.cost(asked.plan.rows_per_person)
    if cost.delta:
        require_small_cost(cost, asked.rows, rows_per_person=asked.plan.rows_per_person)
    return {
        "rows": asked.rows,
        "epsilon_row": float(asked.epsilon),
        "epsilon_total": float(cost.epsilon),
        "delta_total": float(cost.delta),
        "columns": list(asked.work.columns),
    }
