"""``workbench forecast``: cost and accuracy of a plan, without reading data."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.cli.command import Command, Context
from workbench.cli.common_options import columns_text, figure, margin
from workbench.params.field import IntegerField
from workbench.sanitize.forecast import forecast
from workbench.sanitize.plan import load_plan
from workbench.sanitize.utility_summary import RELATIONS_WAYS_OUT, relations_words

_ROWS = IntegerField(
    help="number of rows, to forecast the error of a mean and compare the kinds of release", at_least=1, upto=10**12
)


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--plan", required=True, type=Path, metavar="PLAN", help="the plan (TOML)")
    parser.add_argument("--rows", metavar="N", help=_ROWS.help)


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    plan = load_plan(options.plan)
    rows = None if options.rows is None else _ROWS.parse(options.rows, "--rows")
    made = forecast(plan)
    faded, release = relations_words(made), {}
    if rows is not None:
        from workbench.studies.kind_comparison import compare_kinds  # a third of what the command loads

        release = {"release": compare_kinds(plan, int(rows), made).to_plain()}
    columns = [c.to_plain() | ({} if rows is None else {"mean_error": c.mean_error(rows)}) for c in made.columns]
    return {
        "epsilon_total": float(made.epsilon_total),
        "epsilon_row": float(made.epsilon_row),
        "relation": "zero-out",
        "replace_one_epsilon": made.replace_one_epsilon,
        "columns": columns,
        "outside_guarantee": list(made.outside),
        "warnings": [f"{faded} {RELATIONS_WAYS_OUT}"] if faded else [],
        **release,
    }


def _text(result: Mapping[str, Any]) -> str:
    header = (
        "column",
        "for",
        "mechanism",
        "epsilon",
        "exact",
        "cells",
        "error",
        "constant",
        "statistic",
        "relations",
        "advised",
    )
    rows = [
        (
            c["name"],
            c["purpose"],
            c["mechanism"],
            figure(c["epsilon"]),
            f"{c['exact_epsilon']:.6f}",
            str(c["cells"]),
            figure(c["expected_absolute_error"]),
            figure(c["constant_error"]),
            "–" if c["statistic_sd"] is None else figure(c["statistic_sd"]),
            f"{100 * c['relations_kept']:.0f} %",
            c["advised"],
        )
        for c in result["columns"]
    ]
    lines = [
        columns_text(header, rows, right=(3, 4, 5, 6, 7, 8, 9)),
        "",
        f"A whole row costs epsilon = {figure(result['epsilon_row'])}; the release is charged "
        f"{figure(result['epsilon_total'])} (zero-out and, for these local mechanisms, replace-one alike).",
        "error is the expected distance between a value and its replacement, in the attribute's unit, if all values",
        "are equally likely; for categories, the probability of a change. constant is the error of writing one "
        "fixed value",
        "in every row. statistic is the standard error of the unbiased mean (for categories: of a share) from one row;",
        "for n rows divide it by the square root of n. – means that there is no unbiased estimator. relations is the",
        "share of a correlation with another column that remains if values are spread evenly over the declared range.",
    ]
    lines += result["warnings"]
    singular = [c["name"] for c in result["columns"] if c["statistic_sd"] is None]
    if singular:
        lines.append(
            f"{', '.join(singular)}: the error of a mean stops shrinking with more rows. For means and counts over "
            'many rows write purpose = "statistics" in the [[column]]; auto then chooses for that.'
        )
    noted: dict[str, list[str]] = {}
    for column in result["columns"]:
        noted.setdefault(column["note"], []).append(column["name"])
    lines += [f"{', '.join(names)}: {note}." for note, names in noted.items() if note]
    lines += [f"Not covered by epsilon: {s}" for s in result["outside_guarantee"]]
    return "\n".join(lines + _ways(result["release"])) if "release" in result else "\n".join(lines)


def _ways(stated: Mapping[str, Any]) -> list[str]:
    asked = stated["questions"]
    header = ("kind of release", *asked)
    rows = [
        (
            way["name"],
            *("–" if half is None else margin(of, half) for of, half in zip(asked, way["half_lengths"], strict=True)),
        )
        for way in stated["ways"]
    ]
    return [
        "",
        columns_text(header, rows, right=range(1, len(header))),
        f"recommended: {stated['advised']}. {stated['reason']}",
    ]


COMMAND = Command(
    "workbench plan sample:people --epsilon 3 -o trial.toml && workbench forecast --plan trial.toml",
    _configure,
    _run,
    _text,
)
