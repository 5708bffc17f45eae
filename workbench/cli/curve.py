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
from workbench.cli.models import TARGET_HELP, one_of
from workbench.cli.tables import add_data, add_ledger, add_output, columns_text, keep_inputs, note_study, read_data
from workbench.params import InputError, ParameterError
from workbench.params.field import ChoiceField, IntegerField
from workbench.paths import user_data
from workbench.processes.dask_address import FORMS, scheduler_address
from workbench.processes.executor import MOST_JOBS, cores
from workbench.release.atomic import PartFile, remove_stale_parts, write_error
from workbench.release.documents.study_report import study_report
from workbench.release.documents.written_document import check_document_path, write_document
from workbench.render.curve_figure import curve_figure
from workbench.render.offscreen import check_plot_path, write_figure
from workbench.render.palette import THEMES
from workbench.sanitize.plan import load_plan
from workbench.signals import Notice
from workbench.studies.curve import CurvePlan, CurveResult, identity, run_curve
from workbench.studies.journal import Journal
from workbench.studies.metrics import ACCURACY, measured
from workbench.studies.regimes import StudyData
from workbench.studies.results import to_csv

_JOBS = IntegerField(help="worker processes (default: one for each core)", at_least=1, upto=MOST_JOBS)
_SCHEDULER = (
    f"a Dask scheduler ({FORMS}) whose workers train the models, in place of --jobs. The raw rows are sent to them, "
    "encrypted only with tls://"
)
_THEME = ChoiceField(choices=tuple(THEMES), help="colours of the plot, light (default) or dark")


def _configure(parser: argparse.ArgumentParser) -> None:
    add_data(parser)
    parser.add_argument("--target", required=True, metavar="COLUMN", help=TARGET_HELP)
    default = CurvePlan().model
    help_text = f"the model, {one_of(learners.LEARNERS)} (default {default})"
    parser.add_argument("--model", dest="CurvePlan.model", metavar="MODEL", help=help_text.replace("%", "%%"))
    add_options(parser, CurvePlan, *(name for name in CurvePlan.declared() if name != "model"))
    parser.add_argument("--bounds", type=Path, metavar="PLAN", help="the plan (TOML) that declares bounds and domains")
    parser.add_argument("--jobs", metavar="N", help=_JOBS.help)
    parser.add_argument("--scheduler", metavar="ADDRESS", help=_SCHEDULER)
    add_ledger(parser)
    add_output(parser, "the figures as CSV: regime, epsilon, repeat, metric, value")
    parser.add_argument("--plot", type=Path, metavar="PNG", help="also draw them (.png or .svg)")
    parser.add_argument(
        "--report", type=Path, metavar="PDF", help="also write an internal report, marked as private on every page"
    )
    parser.add_argument("--theme", metavar="light|dark", default="light", help=_THEME.help)


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    begun = time.monotonic()
    plan = read_options(options, CurvePlan)
    if options.scheduler is not None:
        if options.jobs is not None:
            raise ParameterError("--jobs and --scheduler are two ways to run the study", hint="give one of them")
        scheduler_address(options.scheduler)
    jobs = cores() if options.jobs is None else _JOBS.parse(options.jobs, "--jobs")
    theme = _THEME.parse(options.theme, "--theme")
    if options.bounds is None:
        raise ParameterError(
            "the bounds of the columns are not declared",
            hint="give --bounds PLAN; `workbench plan` writes one to fill in",
        )
    _check_places(options)
    bounds = load_plan(options.bounds)
    bounds.column(options.target)
    table = read_data(options, context, bounds)
    _report_unused(table.names, [column.name for column in bounds.columns], context)
    chosen = learners.learner(plan.model)
    data = StudyData.read(table, bounds, options.target, chosen.task)
    chosen.require(data.columns, data.target)
    left_out = bounds.rows_of(table).rows - len(data.y)
    if left_out:
        context.emit(Notice("info", f"{left_out} rows have no valid {options.target} and are left out of the study"))
    # The output's place is taken before the work: an hour must not end in "cannot be written".
    remove_stale_parts(options.output)
    with PartFile(options.output, private=True) as part, _journal(plan, data, context) as journal:
        note_study(options, context, table, "curve")
        result = run_curve(
            plan,
            data,
            jobs=jobs,
            scheduler=options.scheduler,
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
    if options.plot is not None:
        write_figure(curve_figure(result, _source(options.data)), options.plot, theme=theme)
    if options.report is not None:
        write_document(study_report(curve_figure(result, _source(options.data)), to_csv(result.rows)), options.report)
    return {
        "rows": len(result.rows),
        "seconds": round(time.monotonic() - begun, 3),
        "output": str(options.output),
        **({} if options.plot is None else {"plot": str(options.plot)}),
        **({} if options.report is None else {"report": str(options.report)}),
        "private": True,
        **_figures(result),
    }


def _check_places(options: argparse.Namespace) -> None:
    if options.output.absolute() == Path(options.data).absolute():
        raise InputError("the output is the table itself", str(options.output), "name another file")
    if options.report is not None:
        if options.report.suffix.lower() != ".pdf":
            raise InputError("a report is a .pdf file", str(options.report), "end the name in .pdf")
        check_document_path(options.report)
    if options.plot is not None:
        check_plot_path(options.plot)
    named = [options.output, *(path for path in (options.plot, options.report) if path is not None)]
    for at, path in enumerate(named):
        keep_inputs(path, options.ledger)
        if path.absolute() == Path(options.data).absolute():
            raise InputError("an output is the table itself", str(path), "name another file")
        if path.absolute() in [other.absolute() for other in named[:at]]:
            raise InputError("two outputs are one file", str(path), "give them different names")


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
        *(["of the private model, epsilon is of each prediction"] if result["each_prediction"] else []),
        *result["left_out"],
        f"{result['rows']} rows in {result['output']} (private as well, though the file cannot say so)"
        + (f", plot in {result['plot']}" if "plot" in result else "")
        + (f", report in {result['report']}" if "report" in result else "")
        + f", {result['seconds']:.0f} s",
    ]
    return "\n".join(lines)


COMMAND = Command(
    name="curve",
    help="how good a model is against epsilon: without privacy, on a sanitised table (corrected or not) and with noise "
    "in the model (a private study)",
    example="workbench plan sample:iris --epsilon 3 --target species -o plan.toml && "
    "workbench curve sample:iris --target species --bounds plan.toml --epsilons 0.1,1,10 --repeats 5 "
    "-o curve.csv --plot curve.png",
    configure=_configure,
    run=_run,
    text=_text,
)
