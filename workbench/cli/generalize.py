"""``workbench generalize``: k-anonymity and related models, which are not differential privacy."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.cli.command import Command, Context, add_options, command_in_use, read_options
from workbench.cli.common_options import add_account, add_data, add_ledger, columns_text, figure, read_data, read_other
from workbench.cli.release_options import add_documents, check_documents, documents_text, write_documents
from workbench.cli.study_options import note_study
from workbench.data.table import Table
from workbench.params import InputError, ParameterError, Parameters, counted, one_line, texts
from workbench.release.atomic import write_output
from workbench.release.described_release import note_unless_released
from workbench.release.generalised.generalised_file import Publication, publish, require_mapping, write_mapping
from workbench.release.ledger.ledger import Ledger
from workbench.release.part_files import refuse_replacing_inputs
from workbench.release.release_path import destination
from workbench.release.statements import PROMISES_NOTHING
from workbench.release.table_formats import SUFFIXES
from workbench.risk.attacks.outcome import percent
from workbench.risk.generalise.failures import failures
from workbench.risk.generalise.generalised import Generalised, Method, accuracy, answerable, generalise
from workbench.risk.generalise.models import MODELS
from workbench.risk.generalise.problem import Asked
from workbench.risk.hierarchies import BUILDERS, file_name
from workbench.risk.hierarchies.builders import absent, made, read_hierarchies, way_of
from workbench.sanitize.plan import load_plan
from workbench.signals import Notice

ACCURACY = "a classifier is right for {after} of the rows, {before} when trained on the original, {guess} when guessing"


@dataclass(frozen=True, kw_only=True)
class Columns(Parameters):
    """Which columns are what; every other one is left out."""

    quasi: tuple[str, ...] = texts(shortest=1, help="quasi-identifiers: the columns that an outsider may know")
    sensitive: tuple[str, ...] = texts(default=(), help="sensitive columns (for l, t and beta)")
    keep: tuple[str, ...] = texts(default=(), help="other columns to publish unchanged")
    target: tuple[str, ...] = texts(default=(), most=1, help="column for a classifier to predict")
    build: tuple[str, ...] = texts(
        default=(),
        repeated=True,
        help="with --make, how to build one hierarchy: COLUMN=BUILDER:key=value;key=value, with a BUILDER of "
        + ", ".join(b.name for b in BUILDERS),
    )


def _configure(parser: argparse.ArgumentParser) -> None:
    add_data(parser)
    add_options(parser, Columns)
    parser.add_argument(
        "--hierarchies", required=True, type=Path, metavar="DIR", help="a folder with a hierarchy NAME.csv per column"
    )
    models = parser.add_argument_group("privacy models; the table must meet all that are given")
    for model in MODELS:
        add_options(models, model)
    models.add_argument("--population", metavar="DATA", help="a table of the people that the rows are a part of")
    add_options(parser, Method)
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        type=Path,
        help=f"the generalised table; {SUFFIXES}",
    )
    parser.add_argument("--replace", action="store_true", help="replace an output that exists; nothing is charged")
    add_documents(parser)
    parser.add_argument("--keep-order", action="store_true", help="leave the rows in their order")
    parser.add_argument(
        "--mapping", type=Path, metavar="DIR", help="also write what each value became, a file per column; private"
    )
    parser.add_argument(
        "--make", action="store_true", help="only write a hierarchy for each column that has none in DIR"
    )
    parser.add_argument(
        "--plan", type=Path, metavar="PLAN", help="with --make: declared values and bounds are used too"
    )
    add_account(parser)
    add_ledger(parser)


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    columns = read_options(options, Columns)
    if options.make:
        return _make(options, context, columns)
    started = time.monotonic()
    models = tuple(read_options(options, model) for model in MODELS)
    if options.output is None or not models[0].asked:
        missing = "--output" if options.output is None else "--k"
        raise ParameterError(f"the option {missing} is missing", hint="add it, or --make to write hierarchies first")
    to = destination(
        options.output, options.data, options.ledger, options.population, replace=options.replace, charged=False
    )
    check_documents(options, options.data, options.ledger, options.population)
    refuse_replacing_inputs(
        options.output, *(options.hierarchies / file_name(name) for name in (*columns.quasi, *columns.sensitive))
    )
    if options.mapping is not None:
        used = (options.data, options.population, options.ledger, options.output)
        require_mapping(options.mapping, columns.quasi, options.hierarchies, *used)
    method = read_options(options, Method)
    asked = Asked(columns.quasi, columns.sensitive, next(iter(columns.target), None))
    answerable(models, asked, method, population=options.population is not None)  # before figures are noted as seen
    hierarchies = read_hierarchies(options.hierarchies, columns.quasi, columns.sensitive)
    table = read_data(options, context)
    population = None if options.population is None else read_other(options.population, options, context, None)
    note_study(options, context, table, "generalise", options.account)
    if population is not None:
        note_unless_released(population, "generalise", options.ledger, context.emit)
    try:
        found = generalise(table, asked, hierarchies, models, method, population, context.emit, context.cancel)
    except InputError as error:
        if error.code == "not-in-hierarchy":  # its place is the file, which the search does not know
            raise error.at(str(options.hierarchies / file_name(error.field))) from None
        raise
    publication = Publication(
        path=to.path,
        format=to.format,
        replace=options.replace,
        keep=columns.keep,
        keep_order=options.keep_order,
        account=options.account,
    )
    with Ledger.open(options.ledger) as ledger:
        done = publish(found, publication, ledger, context.emit, context.cancel)
    for sentence in (PROMISES_NOTHING, *done.document["outside"]):
        context.emit(Notice("warning", sentence))
    return {
        **_facts(found),
        "rows": done.document["rows"],
        "release_id": done.document["release_id"],
        "output": str(done.output),
        "certificate": str(done.certificate),
        **({} if options.mapping is None else {"mapping": write_mapping(options.mapping, found)}),
        **write_documents(options, done.output, context),
        "seconds": round(time.monotonic() - started, 3),
    }


def _facts(found: Generalised) -> dict[str, Any]:
    return {
        "levels": found.levels,
        "heights": {n: h.height for n, h in zip(found.asked.quasi, found.problem.hierarchies, strict=True)},
        "suppressed": found.outcome.suppressed,
        "loss": found.losses[found.method.loss],
        "losses": found.losses,
        "k": found.k,
        "classes": len(found.outcome.sizes),
        "models": [{"model": model.name, **model.to_plain()} for model in found.models],
        **found.method.to_plain(),
        "method": found.method.method,
        "loss_name": found.method.loss,
        "nodes": found.problem.nodes,
        "tried": len(found.tried),
        "epsilon_charged": 0.0,
        **({} if (score := accuracy(found)) is None else {"accuracy": vars(score)}),
        "failures": [list(one.sentences) for one in failures(found)],
    }


def _make(options: argparse.Namespace, context: Context, columns: Columns) -> dict[str, Any]:
    """Write a hierarchy for each column that has none; those that are there stay as they are."""
    ways = dict(way_of(words) for words in columns.build)
    wanted = (*columns.quasi, *(name for name in ways if name in columns.sensitive))
    unknown = [name for name in ways if name not in wanted]
    if unknown:
        raise ParameterError(f"{unknown[0]!r} is not one of the columns", "--build", "add it to --quasi or --sensitive")
    plan = None if options.plan is None else load_plan(options.plan)
    declared = {} if plan is None else {column.name: column for column in plan.columns}
    table: Table = read_data(options, context, plan)
    table.require(wanted)
    paths = absent(options.hierarchies, wanted)
    taken = [name for name in ways if name not in paths]
    if taken:
        where = options.hierarchies / file_name(taken[0])
        raise InputError(f"the column {taken[0]} already has a hierarchy", str(where), "remove it first")
    options.hierarchies.mkdir(parents=True, exist_ok=True)
    for name, path in paths.items():
        hierarchy = made(table, name, ways.get(name), declared.get(name))
        write_output(path, hierarchy.to_text().encode())
    if paths:
        context.emit(Notice("info", "these hierarchies list values of the rows: they are private, as the table is"))
    following = ["generalize", str(options.data), "--quasi", ",".join(columns.quasi), "--hierarchies"]
    return {
        "hierarchies": {name: str(options.hierarchies / file_name(name)) for name in wanted},
        "made": list(paths),
        "next": command_in_use(options, *following, str(options.hierarchies), "--k", "5", "-o", "OUT"),
    }


def _text(result: Mapping[str, Any]) -> str:
    if "made" in result:
        files = result["hierarchies"].items()
        rows = [[one_line(n), one_line(path), "made" if n in result["made"] else "was there"] for n, path in files]
        return f"{columns_text(('column', 'hierarchy', ''), rows)}\ncheck them, then run: {one_line(result['next'])}"
    levels = [
        [
            one_line(name),
            level if isinstance(level, int) else f"{level[0]} to {level[1]}",
            f"of {result['heights'][name]}",
        ]
        for name, level in result["levels"].items()
    ]
    losses = ", ".join(f"{name} {figure(value)}" for name, value in result["losses"].items())
    shares = {of: percent(share) for of, share in result.get("accuracy", {}).items()}
    return "\n".join(
        [
            columns_text(("column", "level", ""), [[str(cell) for cell in row] for row in levels]),
            f"{counted(result['rows'], 'row')} in {counted(result['classes'], 'class', 'classes')} "
            f"of at least {result['k']}; "
            f"{result['suppressed']} suppressed",
            f"loss: {losses}",
            *([ACCURACY.format_map(shares)] if shares else []),
            *([] if not result["failures"] else ["remaining disclosures: private – not for release"]),
            *(one_line(f"  {' '.join(sentences)}") for sentences in result["failures"]),
            f"written to {one_line(result['output'])}",
            f"certificate {one_line(result['certificate'])}{documents_text(result)}",
        ]
    )


COMMAND = Command(
    "workbench generalize sample:people --quasi age,sex,zip --hierarchies levels --make && "
    "workbench generalize sample:people --quasi age,sex,zip --hierarchies levels --k 5 --suppression 0.05 "
    "-o general.csv --ledger general.sqlite",
    _configure,
    _run,
    _text,
    releases=True,
)
