"""``workbench why``: where the accuracy of a private model goes, and what would help most."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench import learners
from workbench.cli.command import Command, Context, add_options, read_options
from workbench.cli.models import one_of
from workbench.cli.tables import add_data, add_ledger, columns_text, note_study, read_data
from workbench.data.read import ReadOptions
from workbench.params import ParameterError
from workbench.params.field import IntegerField
from workbench.processes.executor import MOST_JOBS, cores
from workbench.release.model.release_learner import columns_of
from workbench.sanitize.plan import Plan, load_plan
from workbench.studies.regimes import StudyData
from workbench.studies.why.rows import Rows, generate
from workbench.studies.why.study import WhyPlan, explain
from workbench.studies.why.words import change_lines, in_sentences, step_lines

_JOBS = IntegerField(help="worker processes (default: one for each core)", at_least=1, upto=MOST_JOBS)
_ROWS = IntegerField(
    help="in place of DATA: as many generated rows, which follow from the plan alone and contain no real data",
    at_least=5,
    upto=1_000_000,
)


def _configure(parser: argparse.ArgumentParser) -> None:
    add_data(parser, required=False)
    parser.add_argument("--target", required=True, metavar="COLUMN", help="the column to predict")
    help_text = f"the model, {one_of(learners.LEARNERS)} (default naive-bayes)"
    parser.add_argument("--model", dest="WhyPlan.model", metavar="MODEL", help=help_text.replace("%", "%%"))
    add_options(parser, WhyPlan, *(name for name in WhyPlan.declared() if name != "model"))
    parser.add_argument(
        "--bounds", required=True, type=Path, metavar="PLAN", help="plan with public bounds and domains"
    )
    parser.add_argument("--rows", metavar="N", help=_ROWS.help)
    parser.add_argument("--jobs", metavar="N", help=_JOBS.help)
    add_ledger(parser)


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    plan = read_options(options, WhyPlan)
    jobs = cores() if options.jobs is None else _JOBS.parse(options.jobs, "--jobs")
    bounds = load_plan(options.bounds)
    bounds.column(options.target)
    if (options.data is None) == (options.rows is None):
        raise ParameterError("no rows are given", hint="give DATA, or --rows N for generated ones")
    rows = _generated(options, plan, bounds) if options.data is None else _read(options, context, plan, bounds)
    result = explain(plan, rows, jobs=jobs, emit=context.emit, cancel=context.cancel)
    return {
        "model": plan.model,
        "epsilon": plan.epsilon,
        "metric": plan.metric.name,
        "rows": result.rows,
        "private": not result.generated,
        "steps": [
            {"step": line.name, "title": line.title, **_figure(line.point), "change": line.change}
            for line in step_lines(result)
        ],
        "changes": [
            {
                "change": line.name,
                "title": line.title,
                **_figure(line.point),
                "gain": line.change,
                "gain_standard_error": result.gains[line.name].standard_error,
                "how": line.cause,
            }
            for line in change_lines(result)
        ],
        "absent": result.absent,
        "best": result.best,
        "sentences": list(in_sentences(result)),
    }


def _figure(point: Any) -> dict[str, float]:
    return {"mean": point.mean, "standard_error": point.standard_error}


def _read(options: argparse.Namespace, context: Context, plan: WhyPlan, bounds: Plan) -> Rows:
    table = read_data(options, context, bounds)
    rows = Rows.of(StudyData.read(table, bounds, options.target, plan.learner.task))
    note_study(options, context, table, "why")
    return rows


def _generated(options: argparse.Namespace, plan: WhyPlan, bounds: Plan) -> Rows:
    for name in ReadOptions.declared():
        if getattr(options, f"{ReadOptions.__name__}.{name}", None) is not None:
            raise ParameterError("generated rows are not read from a file", hint="leave the reading options out")
    attributes, target = columns_of(bounds, options.target)
    facts, goal = [a.facts() for a in attributes], target.facts()
    plan.learner.require(facts, goal)
    return generate(facts, goal, plan.learner.task, _ROWS.parse(options.rows, "--rows"), plan.seed)


def _text(result: Mapping[str, Any]) -> str:
    steps = [[s["title"], _stated(s), "" if s["change"] is None else f"{s['change']:+.3f}"] for s in result["steps"]]
    changes = [[c["title"], _stated(c), f"{c['gain']:+.3f}"] for c in result["changes"]]
    of = "private – not for release" if result["private"] else "generated rows: contains no real data"
    return "\n".join(
        [
            f"{result['metric']} on held-out rows, mean ± standard error ({of})",
            columns_text(["way of training", "figure", "difference"], steps, right=(1, 2)),
            "",
            "with one thing changed",
            columns_text(["change", "figure", "gain"], changes, right=(1, 2)),
            *(f"{name}: {reason}" for name, reason in result["absent"].items()),
            "",
            *result["sentences"],
        ]
    )


def _stated(figure: Mapping[str, Any]) -> str:
    return f"{figure['mean']:.3f} ± {figure['standard_error']:.3f}"


COMMAND = Command(
    name="why",
    help="where the accuracy of a private model goes (bounds, form, noise), and what would help most (a private study)",
    example="workbench plan sample:iris --epsilon 1 --target species -o plan.toml && "
    "workbench why sample:iris --target species --model naive-bayes --epsilon 1 --bounds plan.toml --repeats 5",
    configure=_configure,
    run=_run,
    text=_text,
)
