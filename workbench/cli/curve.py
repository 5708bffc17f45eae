"""``workbench curve``: accuracy, or the metrics of another task, against ε in each regime; a private study."""

from __future__ import annotations

import argparse
import contextlib
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench import learners
from workbench.cli.command import Command, Context, add_options, read_options
from workbench.cli.common_options import add_data, add_join, add_ledger, add_output, columns_text, read_data
from workbench.cli.model_options import TARGET_HELP, one_of
from workbench.cli.study_options import Picture, Workers, check_outputs, files_text, note_study
from workbench.params import InputError, ParameterError, counted
from workbench.paths import user_data
from workbench.release.atomic import PartFile, remove_stale_parts, write_error
from workbench.release.documents.written_document import check_document_path, study_report, write_document
from workbench.render.curve_figure import curve_figure
from workbench.render.offscreen import write_figure
from workbench.sanitize.plan import load_plan
from workbench.signals import Notice
from workbench.studies.curve import CurvePlan, CurveResult, Journal, identity, run_curve
from workbench.studies.metrics import ACCURACY, measured
from workbench.studies.regimes import StudyData
from workbench.studies.results import to_csv


def _configure(parser: argparse.ArgumentParser) -> None:
    add_data(parser)
    add_join(parser)
    parser.add_argument("--target", required=True, metavar="COLUMN", help=TARGET_HELP)
    add_options(parser, CurvePlan, listed={"model": one_of(learners.LEARNERS)})
    parser.add_argument(
        "--bounds", "--plan", type=Path, metavar="PLAN", help="the plan (TOML) that declares bounds and domains"
    )
    add_options(parser, Workers, "jobs", "scheduler", "scheduler_file")
    add_ledger(parser)
    add_output(parser, "the figures as CSV: regime, epsilon, repeat, metric, value")
    add_options(parser, Picture)
    parser.add_argument(
        "--report", type=Path, metavar="PDF", help="also write an internal report, marked as private on every page"
    )


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    begun = time.monotonic()
    plan, workers = read_options(options, CurvePlan), read_options(options, Workers)
    picture = read_options(options, Picture)
    if options.bounds is None:
        raise ParameterError(
            "the bounds of the columns are not declared",
            hint="add --bounds PLAN; `workbench plan` writes one to fill in",
        )
    if options.report is not None:
        if options.report.suffix.lower() != ".pdf":
            raise InputError("a report is a .pdf file", str(options.report), "use a name that ends in .pdf")
        check_document_path(options.report)
    made_from = options.data, options.join, options.bounds
    check_outputs((options.output, options.report), options.ledger, picture, made_from)
    bounds = load_plan(options.bounds)
    bounds.column(options.target)
    table = read_data(options, context, bounds)
    _report_unused(table.names, [column.name for column in bounds.columns], context)
    chosen = learners.learner(plan.model)
    data = StudyData.read(table, bounds, options.target, chosen.task)
    chosen.require(data.columns, data.target)
    left_out = bounds.rows_of(table).rows - len(data.y)
    if left_out:
        context.emit(
            Notice("info", f"the study leaves out {counted(left_out, 'row')} without a valid {options.target}")
        )
    # The output's place is taken before the work: an hour must not end in "cannot be written".
    remove_stale_parts(options.output)
    with PartFile(options.output, private=True) as part, _journal(plan, data, context) as journal:
        note_study(options, context, table, "curve")
        result = run_curve(
            plan,
            data,
            jobs=workers.processes,
            scheduler=workers.address,
            emit=context.emit,
            cancel=context.cancel,
            journal=journal,
        )
        try:
            part.stream.write(to_csv(result.rows).encode())
            part.publish()
        except OSError as error:
            raise write_error(error, options.output) from None
        if journal is not None:
            journal.discard()
    if picture.path is not None:
        write_figure(curve_figure(result, _source(options.data)), picture.path, theme=picture.theme)
    if options.report is not None:
        write_document(study_report(curve_figure(result, _source(options.data)), to_csv(result.rows)), options.report)
    return {
        "rows": len(result.rows),
        "seconds": round(time.monotonic() - begun, 3),
        "output": str(options.output),
        **({} if picture.plot is None else {"plot": picture.plot}),
        **({} if options.report is None else {"report": str(options.report)}),
        "private": True,
        **_figures(result),
    }


def _report_unused(names: tuple[str, ...], declared: list[str], context: Context) -> None:
    unused = [name for name in names if name not in declared]
    if unused:
        context.emit(Notice("info", f"not in the plan and so not used: {', '.join(unused)}"))


def _journal(plan: CurvePlan, data: StudyData, context: Context) -> contextlib.AbstractContextManager[Journal | None]:
    """Open the record of finished fits; a study that cannot be continued later is still a study."""
    try:
        journal = Journal.open(user_data() / "unfinished", identity(plan, data))
    except InputError as error:
        context.emit(Notice("info", f"this study cannot be continued after a stop: {error}"))
        return contextlib.nullcontext()
    if journal.done:
        context.emit(Notice("info", f"{len(journal.done)} fits are kept from a run that was stopped"))
    return journal


def _source(data: str) -> str:
    return data if data.startswith("sample:") else Path(data).name


def _figures(result: CurveResult) -> dict[str, Any]:
    """Return the task's main metric: its name, its figures by regime and ε, and the level of one constant answer."""
    metric = result.plan.measured.main
    figures = [
        {"regime": p.regime, "epsilon": p.epsilon, "mean": p.mean, "standard_error": p.standard_error}
        for p in result.points
        if p.metric == metric.name
    ]
    level = result.levels[metric.name]
    stated = {"task": result.plan.measured.task, "metric": metric.name, "constant": level, metric.name: figures}
    stated["left_out"] = list(result.left_out.values())
    private = any(way.kind == "private" for way in result.plan.ways)
    stated["each_prediction"] = private and learners.learner(result.plan.model).each_prediction
    return {"majority": level, **stated} if metric.name == ACCURACY else stated


def _text(result: Mapping[str, Any]) -> str:
    metric = measured(result["task"]).main
    figures = result[metric.name]
    regimes = list(dict.fromkeys(p["regime"] for p in figures))
    stated = {(p["epsilon"], p["regime"]): f"{p['mean']:.3f} ± {p['standard_error']:.3f}" for p in figures}
    epsilons = list(dict.fromkeys(p["epsilon"] for p in figures))
    rows = [[f"{e:.3g}", *(stated[e, regime] for regime in regimes)] for e in epsilons]
    lines = [
        f"{metric.inside} on held-out rows, mean ± standard error (private – not for release)",
        columns_text(["epsilon", *regimes], rows, right=range(len(regimes) + 1)),
        f"{metric.level}: {result['constant']:.3f}",
        *(["epsilon of the private model is per prediction"] if result["each_prediction"] else []),
        *result["left_out"],
        f"{counted(result['rows'], 'row')} in {result['output']} (private, although the file is not marked)"
        + files_text(result),
    ]
    return "\n".join(lines)


COMMAND = Command(
    "workbench plan sample:iris --epsilon 3 --target species -o plan.toml && "
    "workbench curve sample:iris --target species --bounds plan.toml --epsilons 0.1,1,10 --repeats 5 "
    "-o curve.csv --plot curve.png",
    _configure,
    _run,
    _text,
)
