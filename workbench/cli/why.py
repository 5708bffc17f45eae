"""``workbench why``: where a private model loses accuracy, and what would help most."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench import learners
from workbench.cli.command import Command, Context, add_options, read_options
from workbench.cli.common_options import add_data, add_join, add_ledger, columns_text, read_data
from workbench.cli.model_options import one_of
from workbench.cli.study_options import Workers, note_study, refuse_reading
from workbench.params import ParameterError, Parameters, integer
from workbench.release.model.release_learner import columns_of
from workbench.sanitize.plan import Plan, load_plan
from workbench.studies.regimes import StudyData
from workbench.studies.why.rows import Rows, generate
from workbench.studies.why.study import WhyPlan, change_lines, explain, in_sentences, step_lines


@dataclass(frozen=True, kw_only=True)
class GeneratedRows(Parameters):
    """Rows in place of a table."""

    rows: int | None = integer(
        default=None,
        at_least=5,
        upto=1_000_000,
        symbol="N",
        help="instead of DATA: number of rows to generate from the plan alone, without real data",
    )


def _configure(parser: argparse.ArgumentParser) -> None:
    add_data(parser, required=False)
    add_join(parser)
    parser.add_argument("--target", required=True, metavar="COLUMN", help="the column to predict")
    add_options(parser, WhyPlan, listed={"model": one_of(learners.LEARNERS)})
    parser.add_argument(
        "--bounds", "--plan", required=True, type=Path, metavar="PLAN", help="plan with public bounds and domains"
    )
    add_options(parser, GeneratedRows)
    add_options(parser, Workers, "jobs")
    add_ledger(parser)


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    plan, workers = read_options(options, WhyPlan), read_options(options, Workers)
    count = read_options(options, GeneratedRows).rows
    bounds = load_plan(options.bounds)
    bounds.column(options.target)
    if (options.data is None) == (count is None):
        raise ParameterError("no rows are given", hint="give DATA, or --rows N for generated rows")
    rows = _read(options, context, plan, bounds) if count is None else _generated(options, plan, bounds, count)
    result = explain(plan, rows, jobs=workers.processes, emit=context.emit, cancel=context.cancel)
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


def _generated(options: argparse.Namespace, plan: WhyPlan, bounds: Plan, rows: int) -> Rows:
    refuse_reading(options, "generated")
    attributes, target = columns_of(bounds, options.target)
    facts, goal = [a.facts() for a in attributes], target.facts()
    plan.learner.require(facts, goal)
    return generate(facts, goal, plan.learner.task, rows, plan.seed)


def _text(result: Mapping[str, Any]) -> str:
    steps = [[s["title"], _stated(s), "" if s["change"] is None else f"{s['change']:+.3f}"] for s in result["steps"]]
    changes = [[c["title"], _stated(c), f"{c['gain']:+.3f}"] for c in result["changes"]]
    of = "private – not for release" if result["private"] else "generated rows: contains no real data"
    return "\n".join(
        [
            f"{result['metric']} on held-out rows, mean ± standard error ({of})",
            columns_text(["training", "figure", "difference"], steps, right=(1, 2)),
            "",
            "with one change",
            columns_text(["change", "figure", "gain"], changes, right=(1, 2)),
            *(f"{name}: {reason}" for name, reason in result["absent"].items()),
            "",
            *result["sentences"],
        ]
    )


def _stated(figure: Mapping[str, Any]) -> str:
    return f"{figure['mean']:.3f} ± {figure['standard_error']:.3f}"


COMMAND = Command(
    "workbench plan sample:iris --epsilon 1 --target species -o plan.toml && "
    "workbench why sample:iris --target species --model naive-bayes --epsilon 1 --bounds plan.toml --repeats 5",
    _configure,
    _run,
    _text,
)
