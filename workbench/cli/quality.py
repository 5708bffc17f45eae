"""``workbench quality``: quality of released rows, each score compared with held-out real rows."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from workbench.cli.command import Command, Context, add_options, read_options
from workbench.cli.common_options import add_ledger, add_reading, columns_text, read_other, report_notices
from workbench.cli.study_options import note_study
from workbench.data.table_reader import ReadOptions
from workbench.release.attack_inputs import rows_of_release
from workbench.release.described_release import note_unless_released
from workbench.studies.quality.study import SCORES, QualityRequest, quality

_WORST = 3


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("release", metavar="RELEASE", help="a released table (or any other), or a bundle")
    parser.add_argument("--original", required=True, metavar="DATA", help="the rows that it was made of")
    parser.add_argument(
        "--control",
        metavar="DATA",
        help="rows of the same population that were not released (default: half of the original takes their place)",
    )
    add_options(parser, QualityRequest)
    add_ledger(parser)
    add_reading(parser)


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    request = read_options(options, QualityRequest)
    released = rows_of_release(options.release, ReadOptions(), context.cancel)
    names = [options.original, *([] if options.control is None else [options.control])]
    tables = [report_notices(read_other(name, options, context, released.plan), context) for name in names]
    for table in tables:
        note_study(options, context, table, "quality")
    note_unless_released(released.table, "quality", options.ledger, context.emit)
    found = quality(
        tables[0],
        released.table,
        tables[1] if len(tables) > 1 else None,
        plan=released.plan,
        request=request,
        emit=context.emit,
        cancel=context.cancel,
    )
    return {"private": True, "beside": found.comparison_words, **found.to_plain()}


def _text(result: Mapping[str, Any]) -> str:
    scores = result["scores"]
    rows = [
        (score.title, *(_figure(scores[score.name][key]) for key in ("value", "held_out")), _share(scores[score.name]))
        for score in SCORES
        if score.name in scores
    ]
    lines = [
        "score (1 is best; private – not for release)",
        columns_text(("score", "these rows", "held-out rows", "share"), rows, right=(1, 2, 3)),
        f"held-out rows: what {result['beside']}; share: the score of as many of these rows, relative to that.",
        f"overall score as in sdmetrics: {_figure(result['overall'])}",
        f"pMSE {scores['pmse']['pmse']:.3g}, {_ratio(scores['pmse'])}",
    ]
    worst = sorted((c for c in result["columns"] if c["score"] is not None), key=lambda c: c["score"])[:_WORST]
    lines.append("least alike: " + ", ".join(f"{c['column']} {_figure(c['score'])}" for c in worst))
    lines += [scores[name]["words"] for name in scores if "words" in scores[name]]
    lines += [f"not compared: {name} ({why})" for name, why in result["left_out"].items()]
    return "\n".join(lines)


def _ratio(found: Mapping[str, Any]) -> str:
    if found["ratio"] is None:
        return "no column varies"
    return (
        f"{found['ratio']:.3g} times the value for rows from the right model (held-out rows: "
        f"{found['ratio_held_out']:.3g})"
    )


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _share(found: Mapping[str, Any]) -> str:
    return "–" if found["share"] is None else f"{100 * found['share']:.0f} %"


COMMAND = Command(
    "workbench quality sample:people --original sample:people --target label --ledger quality.sqlite",
    _configure,
    _run,
    _text,
)
