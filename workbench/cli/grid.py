"""``workbench grid``: sweep the settings of DP-SGD; a private study."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.cli.command import Command, Context, add_options, read_options
from workbench.cli.common_options import (
    add_ledger,
    add_output,
    add_reading,
    columns_text,
    figure,
    read_other,
    report_notices,
)
from workbench.cli.study_options import Picture, Workers, check_outputs, files_text, note_study
from workbench.data.images.image_reader import ImageOptions, is_image_set, read_images
from workbench.data.table import Table
from workbench.deep.features import ImageFeatures, TableData
from workbench.params import InputError, ParameterError, counted
from workbench.params.remedies import shown
from workbench.release.atomic import write_error
from workbench.release.model.preflight import network_features
from workbench.render.grid_figure import grid_figure
from workbench.render.offscreen import write_figure
from workbench.sanitize.plan import load_plan
from workbench.studies.grid.files import TEMPLATE, GridSpec, load_spec
from workbench.studies.grid.lines import sweep_lines
from workbench.studies.grid.sweep import LoadedRows, publishing, publishing_words, run_grid, schedules_of

_TEMPLATE = "write a template sweep to SPEC (- is standard output) without training"
_LONGEST = 30  # most lines that are printed: the best ones


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("spec", metavar="SPEC", type=Path, help="the sweep (TOML): data and settings, some as lists")
    parser.add_argument("--template", action="store_true", help=_TEMPLATE)
    add_reading(parser)
    add_output(parser, "one row for each finished run as CSV; where it is there, the sweep goes on", required=False)
    add_options(parser, Workers)
    add_ledger(parser)
    add_options(parser, Picture)


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    if options.template:
        return _write_template(options.spec)
    if options.output is None:
        raise ParameterError("the option --output is missing", hint="add -o CSV")
    begun = time.monotonic()
    workers, picture = read_options(options, Workers), read_options(options, Picture)
    spec, folder = load_spec(options.spec), options.spec.parent
    inputs = [options.spec, *(folder / name for name in (spec.file.data, spec.file.bounds) if name)]
    check_outputs((options.output,), options.ledger, picture, inputs)
    data, table = _load(spec, options, context)
    schedules = schedules_of(spec, data, context.cancel)
    note_study(options, context, table, "grid")
    stated = publishing(schedules)
    runs = run_grid(
        spec,
        data,
        options.output,
        schedules=schedules,
        jobs=workers.processes,
        scheduler=workers.address,
        emit=context.emit,
        cancel=context.cancel,
    )
    lines = sweep_lines(runs)
    if picture.path is not None:
        figures = grid_figure(lines, spec.file.data.removeprefix("sample:"))
        write_figure(figures, picture.path, theme=picture.theme)
    return {
        "rows": len(runs),
        "seconds": round(time.monotonic() - begun, 3),
        "output": str(options.output),
        **({} if picture.plot is None else {"plot": picture.plot}),
        "private": True,
        "lines": [
            {
                "setting": line.setting,
                **{k: getattr(p, k) for k in ("epsilon", "mean", "standard_error")},
                "repeats": p.count,
            }
            for line in lines
            for p in line.tried
        ],
        "majority": lines[0].majority,
        "publishing": {
            "settings": stated.settings,
            "delta": stated.delta,
            "one_run": stated.largest,
            "plain_sum": stated.plain_sum,
            "all_runs": stated.composed,
            "selected": None if stated.selected is None else stated.selected.epsilon,
            "sentences": list(publishing_words(stated)),
        },
    }


def _write_template(path: Path) -> dict[str, Any]:
    if str(path) == "-":
        return {"template": "-", "text": TEMPLATE}
    try:
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(TEMPLATE)
    except FileExistsError:
        raise InputError("the file already exists", str(path), "use a new file name") from None
    except OSError as error:
        raise write_error(error, path) from None
    return {"template": str(path)}


def _load(spec: GridSpec, options: argparse.Namespace, context: Context) -> tuple[LoadedRows, Table]:
    file, path = spec.file, options.spec
    source = file.data if file.data.startswith("sample:") else str(path.parent / file.data)
    if is_image_set(source):
        return _load_images(source, spec, path, context)
    if file.rows_per_person != 1:
        raise ParameterError("a table takes the maximum rows per person from its plan", str(path), "set it there")
    for name in ("target", "bounds"):
        if getattr(file, name) is None:
            raise ParameterError(f"the sweep has no {name}", str(path), "a table needs target and bounds")
    assert file.bounds is not None
    assert file.target is not None
    facts = load_plan(path.parent / file.bounds)
    features = network_features(facts, file.target)
    table = report_notices(read_other(source, options, context, facts), context)
    return LoadedRows.of(TableData(features, facts.rows_of(table)), facts.rows_per_person), table


def _load_images(source: str, spec: GridSpec, path: Path, context: Context) -> tuple[LoadedRows, Table]:
    if spec.file.target is not None or spec.file.bounds is not None:
        raise ParameterError("target and bounds are for tables, but these are images", str(path), "leave them out")
    images = read_images(source, ImageOptions(), emit=context.emit, cancel=context.cancel)
    return LoadedRows.of(TableData(ImageFeatures.of(images), images), spec.file.rows_per_person), images


def _text(result: Mapping[str, Any]) -> str:
    if "text" in result:
        return TEMPLATE.rstrip("\n")  # that of the result is one line
    if "template" in result:
        return f"wrote {result['template']}: fill it in and run {shown(['grid', result['template'], '-o', 'CSV'])}"
    lines = sorted(result["lines"], key=lambda line: -line["mean"])
    rows = [
        [
            line["setting"],
            figure(line["epsilon"]),
            f"{line['mean']:.3f}" + (f" ± {line['standard_error']:.3f}" if line["repeats"] > 1 else ""),
        ]
        for line in lines[:_LONGEST]
    ]
    more = [f"and {len(lines) - _LONGEST} more in the file"] if len(lines) > _LONGEST else []
    return "\n".join(
        [
            "accuracy on held-out rows, mean ± standard error, the best first (private – not for release)",
            columns_text(["setting", "epsilon", "accuracy"], rows, right=(1, 2)),
            *more,
            f"majority class: {result['majority']:.3f}",
            *result["publishing"]["sentences"],
            f"{counted(result['rows'], 'run')} in {result['output']} (private as well){files_text(result)}",
        ]
    )


COMMAND = Command(
    "workbench plan sample:iris --epsilon 3 --target species -o plan.toml && "
    "workbench grid sweep.toml --template && workbench grid sweep.toml -o sweep.csv --jobs 1 --plot sweep.png",
    _configure,
    _run,
    _text,
)
