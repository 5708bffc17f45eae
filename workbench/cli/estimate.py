"""``workbench estimate``: statistics of the original table, estimated from a released one and its certificate."""

from __future__ import annotations

import argparse
import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from workbench.cli.command import Command, Context
from workbench.cli.tables import columns_text, figure
from workbench.params import ParameterError
from workbench.params.field import RealField, did_you_mean
from workbench.release.table.verified import VerifiedRelease, verified_release
from workbench.sanitize.clamping import MEANS_ARE_OF_CLAMPED
from workbench.sanitize.estimates import ColumnEstimate, estimate_column
from workbench.sanitize.estimates.column import LIKELIHOOD, RATIO
from workbench.sanitize.estimates.likelihood import GAP
from workbench.signals import Progress
from workbench.signals.cancel import CancelToken

_CONFIDENCE = RealField(help="confidence of each interval (default 0.95)", above=0, below=1)
_SHOWN = 12


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("release", type=Path, metavar="OUT", help="a released file")
    parser.add_argument("--certificate", type=Path, metavar="C", help="its certificate (default: beside it)")
    parser.add_argument("--column", action="append", metavar="COL", help="only this column; may be repeated")
    parser.add_argument("--confidence", metavar="P", default="0.95", help=_CONFIDENCE.help)


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    confidence = _CONFIDENCE.parse(options.confidence, "--confidence")
    released = verified_release(options.release, options.certificate, context.emit, context.cancel)
    names = _chosen(released, options.column)
    out = []
    for done, name in enumerate(names):
        context.cancel.check()
        context.emit(Progress(done, len(names), f"column {name}"))
        column = released.column(name)
        made = _estimate(released, name, confidence, context.cancel).to_plain()
        out.append({**made, "kind": column.column.kind, "mechanism": column.mechanism.name})
    notes = [f"{MEANS_ARE_OF_CLAMPED}."] if any("mean" in column for column in out) else []
    return {"rows": released.rows, "confidence": confidence, "columns": out, "notes": notes}


def _chosen(released: VerifiedRelease, names: Sequence[str] | None) -> list[str]:
    known = released.protected
    for name in names or ():
        if name not in known:
            raise ParameterError(
                f"the release protects no column {name!r}{did_you_mean(name, known)}",
                mend=f"choose from {', '.join(known)}",
            )
    return list(names or known)


def _estimate(released: VerifiedRelease, name: str, confidence: float, cancel: CancelToken) -> ColumnEstimate:
    column = released.column(name)
    counts = np.bincount(released.cells(name), minlength=column.grid.cells.total)
    return estimate_column(column, counts, confidence, cancel)


def _text(result: Mapping[str, Any]) -> str:
    rows = []
    for column in result["columns"]:
        mark = {LIKELIHOOD: "biased", RATIO: "ratio"}.get(column["method"], "unbiased")
        if "mean" in column:
            days = column["kind"] == "date"
            told = tuple(map(_day, _figures(column["mean"]))) if days else _interval(column["mean"])
            rows.append((column["name"], "mean", *told, mark))
        if "missing" in column:
            rows.append((column["name"], "missing", *_interval(column["missing"], 1.0), mark))
        frequencies = column.get("frequencies", {})
        shown = sorted(frequencies.items(), key=lambda item: (-item[1]["consistent"], -item[1]["estimate"]))[:_SHOWN]
        rows += [(column["name"], value, *_interval(i, 1.0), mark) for value, i in shown]
        if len(frequencies) > len(shown):
            rows.append((column["name"], f"… {len(frequencies) - len(shown)} more", "", "", "", "", ""))
    header = ("column", "of", "consistent", "low", "high", "raw", "")
    lines = [
        columns_text(header, rows, right=(2, 3, 4, 5)),
        "",
        f"{result['rows']} rows; each interval holds with {result['confidence']:.0%} confidence.",
        "consistent: the most likely value that a real table could have. raw: the unadjusted estimate; an unbiased one",
        "is right on average, but can be negative or beyond the bounds.",
    ]
    lines += [note[:1].upper() + note[1:] for note in result["notes"]]
    methods = {column["method"] for column in result["columns"]}
    if LIKELIHOOD in methods:
        lines += [
            "biased: the mechanism has no unbiased estimator for this column; the estimate is the most likely value,",
            "and its interval allows for a bias that more rows do not remove. A release with",
            'purpose = "statistics" would have no such bias.',
        ]
        lines += [
            f"allowance for bias in the mean of {column['name']}: ± {figure(column['bias_bound'])}."
            for column in result["columns"]
            if column.get("bias_bound")
        ]
    lines += [
        f"{column['name']}: the search for the most likely values ended {figure(column['gap'])} nats from the maximum."
        for column in result["columns"]
        if column["gap"] > GAP
    ]
    if RATIO in methods:
        lines.append("ratio: a ratio of two unbiased estimates; its own bias is about one row's worth.")
    return "\n".join(lines)


def _figures(interval: Mapping[str, float]) -> tuple[float, float, float, float]:
    return interval["consistent"], interval["low"], interval["high"], interval["estimate"]


def _day(number: float) -> str:
    """Return the day of a day number; an unbiased estimate may lie outside the calendar."""
    whole = round(number)
    inside = 1 <= whole <= datetime.date.max.toordinal()
    return datetime.date.fromordinal(whole).isoformat() if inside else f"{whole:,} days"


def _interval(interval: Mapping[str, float], most: float | None = None) -> tuple[str, str, str, str]:
    """Return the figures as a person reads them; the ends of a share's interval within 0 and 1."""
    low, high = interval["low"], interval["high"]
    if most is not None:
        low, high = max(low, 0.0), max(min(high, most), 0.0)
    return figure(interval["consistent"]), figure(low), figure(high), figure(interval["estimate"])


COMMAND = Command(
    name="estimate",
    help="frequencies and means from a released table, with confidence intervals",
    example="workbench plan sample:people --epsilon 6 -o trial.toml && workbench sanitize sample:people "
    "--plan trial.toml -o released.csv --ledger estimate.sqlite && "
    "workbench estimate released.csv --certificate released.csv.certificate.json",
    configure=_configure,
    run=_run,
    text=_text,
    reads_only=True,
)
