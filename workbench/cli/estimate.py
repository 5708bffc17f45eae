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
from workbench.release.verify import VerifiedRelease, verified_release
from workbench.sanitize.clamping import MEANS_ARE_OF_CLAMPED
from workbench.sanitize.estimates import estimate_column
from workbench.sanitize.estimates.column import LIKELIHOOD, RATIO
from workbench.sanitize.estimates.likelihood import GAP
from workbench.sanitize.estimates.pair import estimate_pair
from workbench.sanitize.estimates.quantiles import checked_shares, estimate_quantiles
from workbench.signals import Progress

_SHARE = RealField(help="a quantile", above=0, below=1)
_CONFIDENCE = RealField(help="confidence of each interval (default 0.95)", above=0, below=1)
_QUANTILES = "quantiles of each column of numbers, such as 0.25,0.5,0.75"
_SHOWN = 12
_HIDES = "the noise hides it"


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("release", type=Path, metavar="OUT", help="a released file")
    parser.add_argument("--certificate", type=Path, metavar="C", help="its certificate (default: beside it)")
    parser.add_argument("--column", action="append", metavar="COL", help="only this column; may be repeated")
    parser.add_argument("--quantiles", metavar="Q,Q,…", help=_QUANTILES)
    parser.add_argument(
        "--pair",
        action="append",
        metavar="A,B",
        help="the correlation of two columns, or of names their two-way table; may be repeated",
    )
    parser.add_argument("--confidence", metavar="P", default="0.95", help=_CONFIDENCE.help)


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    confidence = _CONFIDENCE.parse(options.confidence, "--confidence")
    shares = _shares(options.quantiles)
    released = verified_release(options.release, options.certificate, context.emit, context.cancel)
    names = _chosen(released, options.column)
    pairs = [_pair(released, text) for text in options.pair or ()]
    out, steps = [], len(names) + len(pairs)
    for done, name in enumerate(names):
        context.cancel.check()
        context.emit(Progress(done, steps, f"column {name}"))
        column = released.column(name)
        counts = np.bincount(released.cells(name), minlength=column.randomiser.outputs)
        made = estimate_column(column, counts, confidence, context.cancel).to_plain()
        cells = column.grid.cells
        if shares and cells.numeric:
            found = estimate_quantiles(name, cells, column.randomiser, counts, shares, confidence, context.cancel)
            made["quantiles"] = [quantile.to_plain() for quantile in found]
        out.append({**made, "kind": column.column.kind, "mechanism": column.mechanism.name})
    together = []
    for done, (first, second) in enumerate(pairs, start=len(names)):
        context.cancel.check()
        context.emit(Progress(done, steps, f"columns {first} and {second}"))
        answers = released.cells(first), released.cells(second)
        pair = estimate_pair(released.column(first), released.column(second), answers, confidence, context.cancel)
        together.append(pair.to_plain())
    notes = [f"{MEANS_ARE_OF_CLAMPED}."] if any("mean" in column for column in out) else []
    stated = {"pairs": together} if together else {}
    return {"rows": released.rows, "confidence": confidence, "columns": out, **stated, "notes": notes}


def _shares(text: str | None) -> tuple[float, ...]:
    if text is None:
        return ()
    return checked_shares(tuple(_SHARE.parse(part.strip(), "--quantiles") for part in text.split(",")))


def _pair(released: VerifiedRelease, text: str) -> tuple[str, str]:
    """Return the two columns that a text names; their names may hold commas themselves."""
    parts = text.split(",")
    splits = [(",".join(parts[:at]).strip(), ",".join(parts[at:]).strip()) for at in range(1, len(parts))]
    if not splits:
        raise ParameterError(f"{text!r} does not name two columns", "--pair", "write --pair A,B")
    known = released.protected
    fitting = [split for split in splits if all(name in known for name in split)]
    return fitting[0] if fitting else _refused_pair(released, splits[0])


def _refused_pair(released: VerifiedRelease, names: tuple[str, str]) -> tuple[str, str]:
    first, second = _chosen(released, names)  # names the one that is not there
    return first, second


def _chosen(released: VerifiedRelease, names: Sequence[str] | None) -> list[str]:
    known = released.protected
    for name in names or ():
        if name not in known:
            raise ParameterError(
                f"the release protects no column {name!r}{did_you_mean(name, known)}",
                hint=f"choose from {', '.join(known)}",
            )
    return list(names or known)


def _text(result: Mapping[str, Any]) -> str:
    rows = []
    for column in result["columns"]:
        mark = {LIKELIHOOD: "biased", RATIO: "ratio"}.get(column["method"], "unbiased")
        if "mean" in column:
            days = column["kind"] == "date"
            stated = tuple(map(_day, _figures(column["mean"]))) if days else _interval(column["mean"])
            rows.append((column["name"], "mean", *stated, mark))
        for quantile in column.get("quantiles", ()):
            rows.append((column["name"], _quantile_name(quantile["quantile"]), *_quantile(quantile, column["kind"])))
        if "missing" in column:
            rows.append((column["name"], "missing", *_interval(column["missing"]), mark))
        frequencies = column.get("frequencies", {})
        shown = sorted(frequencies.items(), key=lambda item: (-item[1]["consistent"], -item[1]["estimate"]))[:_SHOWN]
        rows += [(column["name"], value, *_interval(i), mark) for value, i in shown]
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
    lines += _pair_lines(result)
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


def _quantile_name(share: float) -> str:
    return "median" if share == 0.5 else f"{100 * share:g} % quantile"


def _quantile(found: Mapping[str, Any], kind: str) -> tuple[str, ...]:
    """Return its likeliest value and the ends; a quantile has no unbiased estimate."""
    stated = _day if kind == "date" else figure
    figures = (stated(found["estimate"]), stated(found["low"]), stated(found["high"]))
    return (*figures, "", _HIDES if found["hidden"] else "biased")


def _pair_lines(result: Mapping[str, Any]) -> list[str]:
    """Return the correlations and two-way tables."""
    lines: list[str] = []
    for pair in result.get("pairs", ()):
        named = " and ".join(pair["columns"])
        if "correlation" in pair:
            found = pair["correlation"]
            stated = f"{figure(found['estimate'])} ({figure(found['low'])} to {figure(found['high'])})"
            if pair["hidden"]:
                stated = f"{_HIDES}: anything from {figure(found['low'])} to {figure(found['high'])} is possible"
            lines += ["", f"correlation of {named}: {stated}."]
        if "table" in pair:
            rows = [
                (a, b, *(figure(i[key]) for key in ("consistent", "low", "high")))
                for a, across in pair["table"].items()
                for b, i in across.items()
            ]
            rows.sort(key=lambda row: -float(pair["table"][row[0]][row[1]]["consistent"]))
            lines += ["", columns_text((*pair["columns"], "share", "low", "high"), rows[:_SHOWN], right=(2, 3, 4))]
            if len(rows) > _SHOWN:
                lines.append(f"… {len(rows) - _SHOWN} more")
    return lines


def _figures(interval: Mapping[str, float]) -> tuple[float, float, float, float]:
    return interval["consistent"], interval["low"], interval["high"], interval["estimate"]


def _day(number: float) -> str:
    """Return the day of a day number; an unbiased estimate may lie outside the calendar."""
    whole = round(number)
    inside = 1 <= whole <= datetime.date.max.toordinal()
    return datetime.date.fromordinal(whole).isoformat() if inside else f"{whole:,} days"


def _interval(interval: Mapping[str, float]) -> tuple[str, ...]:
    """Return the figures as a person reads them."""
    return tuple(map(figure, _figures(interval)))


COMMAND = Command(
    name="estimate",
    help="frequencies, means, quantiles and correlations from a released table, with confidence intervals",
    example="workbench plan sample:people --epsilon 6 -o trial.toml && workbench sanitize sample:people "
    "--plan trial.toml -o released.csv --ledger estimate.sqlite && "
    "workbench estimate released.csv --certificate released.csv.certificate.json",
    configure=_configure,
    run=_run,
    text=_text,
)
