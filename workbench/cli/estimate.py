"""``workbench estimate``: what a released table says of the original one, from its certificate alone."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from workbench.cli.command import Command, Context
from workbench.cli.tables import columns_text, figure
from workbench.params import ParameterError
from workbench.params.field import RealField, did_you_mean
from workbench.release.reread import Released, read_release
from workbench.sanitize.estimate import ColumnEstimate, estimate_names, estimate_numbers
from workbench.sanitize.randomisers import ProtectedColumn
from workbench.signals import Progress

_CONFIDENCE = RealField(help="confidence of each interval (default 0.95)", above=0, below=1)


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("release", type=Path, metavar="OUT", help="a released file")
    parser.add_argument("--certificate", type=Path, metavar="C", help="its certificate (default: beside it)")
    parser.add_argument("--column", action="append", metavar="COL", help="only this column; may be repeated")
    parser.add_argument("--confidence", metavar="P", default="0.95", help=_CONFIDENCE.help)


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    confidence = _CONFIDENCE.parse(options.confidence, "--confidence")
    released = read_release(options.release, options.certificate)
    columns = _chosen(released, options.column)
    out = []
    for done, column in enumerate(columns):
        context.cancel.check()
        context.emit(Progress(done, len(columns), f"column {column.column.name}"))
        out.append({**_estimate(released, column, confidence).to_plain(), "mechanism": column.mechanism.name})
    return {"rows": released.table.rows, "confidence": confidence, "columns": out}


def _chosen(released: Released, names: list[str] | None) -> list[ProtectedColumn]:
    known = {c.column.name: c for c in released.columns}
    for name in names or ():
        if name not in known:
            raise ParameterError(
                f"the release protects no column {name!r}{did_you_mean(name, known)}",
                mend=f"choose from {', '.join(known)}",
            )
    return [known[n] for n in names or known]


def _estimate(released: Released, column: ProtectedColumn, confidence: float) -> ColumnEstimate:
    grid = column.grid
    counts = np.bincount(released.cells(column), minlength=grid.cells.total)
    if grid.cells.numeric:
        return estimate_numbers(column.column.name, grid.cells, column.randomiser, counts, confidence)
    return estimate_names(column.column.name, grid.labels, column.randomiser, counts, grid.cells.missing, confidence)


def _text(result: Mapping[str, Any]) -> str:
    rows = []
    for column in result["columns"]:
        mark = "biased" if column["biased"] else "unbiased"
        if "mean" in column:
            rows.append((column["name"], "mean", *_interval(column["mean"]), mark))
        if "missing" in column:
            rows.append((column["name"], "missing", *_interval(column["missing"]), mark))
        frequencies = column.get("frequencies", {})
        shown = sorted(frequencies.items(), key=lambda item: -item[1]["estimate"])[:12]
        rows += [(column["name"], value, *_interval(i), mark) for value, i in shown]
        if len(frequencies) > len(shown):
            rows.append((column["name"], f"… {len(frequencies) - len(shown)} more", "", "", "", ""))
    table = columns_text(("column", "of", "estimate", "low", "high", ""), rows, right=(2, 3, 4))
    told = ""
    if any(column["biased"] for column in result["columns"]):
        told = "\nbiased: the noise may pull the figure, for want of a usable unbiased one; the interval allows for it."
    certain = f"each interval holds with at least {result['confidence']:.0%} confidence"
    return f"{table}\n\n{result['rows']} rows; {certain}.{told}"


def _interval(interval: Mapping[str, float]) -> tuple[str, str, str]:
    return figure(interval["estimate"]), figure(interval["low"]), figure(interval["high"])


COMMAND = Command(
    name="estimate",
    help="frequencies and means from a released table, with confidence intervals",
    example="workbench plan sample:people --epsilon 6 -o trial.toml && workbench sanitize sample:people "
    "--plan trial.toml -o released.csv --ledger estimate.sqlite && "
    "workbench estimate released.csv --certificate released.csv.certificate.json",
    configure=_configure,
    run=_run,
    text=_text,
)
