"""``workbench solve``: the ε needed for the errors you want, from public facts."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.cli.command import Command, Context, add_options, read_options
from workbench.cli.common_options import add_data, add_join, add_output, columns_text, figure, margin, read_data
from workbench.data.samples.sample_tables import sample_attributes
from workbench.data.table_reader import SAMPLE_PREFIX
from workbench.params import ParameterError, paid, write_toml
from workbench.privacy.accounting.event import exact
from workbench.release.atomic import write_output
from workbench.release.delta_limit import require_small_delta
from workbench.release.part_files import refuse_replacing_inputs
from workbench.sanitize.forecast import read_off
from workbench.sanitize.plan import Column, Plan, load_plan
from workbench.studies.kind_advice import ROWS, STATISTICS, SYNTHETIC
from workbench.studies.solve import Solution, Wanted

_PLAN = "the plan (TOML) that declares the columns of DATA"
_OUT = "write the input for the release: a request (--request) for statistics, else the plan with its split"


def _configure(parser: argparse.ArgumentParser) -> None:
    add_data(parser, more=", of which only the number of rows is used; or a plan (.toml)")
    add_join(parser)
    parser.add_argument("--plan", type=Path, metavar="PLAN", help=_PLAN)
    add_options(parser, Wanted)
    add_output(parser, _OUT, required=False)


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    wanted = read_options(options, Wanted)
    if options.output is not None:
        refuse_replacing_inputs(options.output, options.data, options.join, options.plan)
    plan, rows = _facts(options, context, wanted.rows)
    if wanted.delta is not None:
        require_small_delta(exact(wanted.delta), rows)
    found = wanted.solution(plan, rows, context.cancel)
    total = None if found.epsilon is None else float(found.epsilon * plan.rows_per_person)
    result = {**found.to_plain(), "epsilon_total": total, "rows": rows}
    result["outside_guarantee"] = list(read_off(plan.protected))
    if options.output is not None and found.plan is not None:
        written = found.plan.to_toml() if found.request is None else write_toml(found.request.to_plain())
        write_output(options.output, written.encode())
        result |= {"output": str(options.output), "next": _next(options, found)}
    return result


def _facts(options: argparse.Namespace, context: Context, stated: int | None) -> tuple[Plan, int]:
    """Return the declared columns and the number of rows, which are public; no value is used."""
    if Path(options.data).suffix.lower() == ".toml":
        if options.plan is not None:
            raise ParameterError("two plans are given", str(options.data), "leave one of them out")
        plan = load_plan(Path(options.data))
        if stated is None:
            raise ParameterError(
                "a plan does not have the number of rows",
                str(options.data),
                "add --rows N, or use DATA with --plan PLAN",
            )
        return plan, stated
    if options.plan is not None:
        plan = load_plan(options.plan)
    elif options.data.startswith(SAMPLE_PREFIX):
        declared = [vars(a) for a in sample_attributes(options.data.removeprefix(SAMPLE_PREFIX))]
        actions = ["drop" if a["lower"] is a["domain"] is None else "protect" for a in declared]
        columns = (Column(**facts, action=action) for facts, action in zip(declared, actions, strict=True))
        plan = Plan(epsilon=1.0, columns=tuple(columns))
    else:
        what = "the columns of the table are not declared"
        raise ParameterError(what, str(options.data), "add the plan that declares them: --plan PLAN")
    rows = stated if stated is not None else plan.rows_of(read_data(options, context, plan)).rows
    return plan, rows


def _next(options: argparse.Namespace, found: Solution) -> str:
    data = "DATA" if Path(options.data).suffix.lower() == ".toml" else options.data
    declared = options.plan or ("PLAN" if options.data.startswith(SAMPLE_PREFIX) else options.data)
    if found.way == ROWS:
        words = ["sanitize", data, "--plan", options.output]
    else:
        command = ["synthesize", data, "--plan", options.output, "--epsilon", found.epsilon]
        asked = ["statistics", data, "--plan", declared, "--epsilon", found.epsilon, "--request", options.output]
        words = command if found.request is None else asked
        words += ["--delta", found.delta] if found.delta else []
    return shlex.join(map(str, ("workbench", *words, "-o", "OUT")))


_TITLES = {STATISTICS: "statistics", ROWS: "noisy rows", SYNTHETIC: "synthetic rows"}


def _text(result: Mapping[str, Any]) -> str:
    lines = []
    if result["epsilon"] is not None:
        of = f" and delta = {paid(result['delta'])}" if result["delta"] else ""
        lines.append(f"epsilon = {paid(result['epsilon'])}{of}, released as {_TITLES[result['way']]}:")
        split = [[key, figure(amount)] for key, amount in result["split"].items()]
        lines.append(columns_text(["for", result["unit"]], split, right=(1,)))
        errors = [[key, margin(key, error)] for key, error in result["errors"].items()]
        lines += ["", columns_text(["figure", "95 % interval, expected"], errors)]
    else:
        lines.append(f"not possible by {_TITLES[result['way']]}")
    lines += [f"not possible: {one['want']}: {one['reason']}" for one in result["impossible"]]
    if result["left_out"]:
        lines.append(f"Not released, as nothing is wished of them: {', '.join(result['left_out'])}.")
    if result["epsilon_total"] not in (None, result["epsilon"]):
        lines.append(f"A release is charged epsilon = {paid(result['epsilon_total'])}: a person may have several rows.")
    lines += [f"Not covered by epsilon: {sentence}" for sentence in result["outside_guarantee"]]
    if "output" in result:
        lines += [f"wrote {result['output']}; release it with", f"  {result['next']}"]
    return "\n".join(lines)


COMMAND = Command(
    'workbench solve sample:people --want "mean(age)<=2" --want "share(sex=female) ± 3 %"', _configure, _run, _text
)
