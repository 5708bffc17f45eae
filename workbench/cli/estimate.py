"""``workbench estimate``: statistics of the original table, estimated from a released one and its certificate."""

from __future__ import annotations

import argparse
import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.cli.command import Command, Context, add_options, read_options
from workbench.cli.common_options import add_engine, columns_text, engine_of, figure
from workbench.data.databases.address import as_path
from workbench.params import Parameters, RealField, counted, real, texts
from workbench.release.estimates import estimates_of, pair_named
from workbench.release.verify import verified_release
from workbench.sanitize.calibrated_columns import MEANS_ARE_OF_CLAMPED
from workbench.sanitize.estimates.column import LIKELIHOOD, RATIO
from workbench.sanitize.estimates.likelihood import GAP
from workbench.sanitize.estimates.quantiles import checked_shares


@dataclass(frozen=True, kw_only=True)
class EstimateOptions(Parameters):
    """What is estimated."""

    quantiles: tuple[str, ...] | None = texts(
        default=None, symbol="Q,Q,…", help="quantiles of each numeric column, such as 0.25,0.5,0.75"
    )
    confidence: float = real(default=0.95, above=0, below=1, symbol="P", help="confidence level of each interval")

    @property
    def shares(self) -> tuple[float, ...]:
        """The quantiles as numbers."""
        return checked_shares(tuple(_SHARE.parse(text, "--quantiles") for text in self.quantiles or ()))


_SHARE = RealField(help="a quantile", above=0, below=1)
_SHOWN = 12
_HIDES = "hidden by noise"


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "release", type=as_path, metavar="OUT", help="a released file, or the address of a table in a database"
    )
    parser.add_argument("--certificate", type=Path, metavar="C", help="its certificate (default: beside it)")
    parser.add_argument("--column", action="append", metavar="COL", help="only this column; may be repeated")
    add_options(parser, EstimateOptions)
    parser.add_argument(
        "--pair",
        action="append",
        metavar="A,B",
        help="the correlation of two columns, or of names their two-way table; may be repeated",
    )
    add_engine(parser, "counted", rows="the released rows")


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    asked = read_options(options, EstimateOptions)
    shares, workers = asked.shares, engine_of(options, context)
    released = verified_release(options.release, options.certificate, context.emit, context.cancel)
    columns, pairs = estimates_of(
        released,
        options.column,
        [pair_named(released, text) for text in options.pair or ()],
        confidence=asked.confidence,
        quantiles=shares,
        emit=context.emit,
        cancel=context.cancel,
        workers=workers,
    )
    out = [
        {
            **of.found.to_plain(),
            **({"quantiles": [quantile.to_plain() for quantile in of.quantiles]} if of.quantiles else {}),
            "kind": of.column.column.kind,
            "mechanism": of.column.mechanism.name,
        }
        for of in columns
    ]
    notes = [f"{MEANS_ARE_OF_CLAMPED}."] if any("mean" in column for column in out) else []
    together = {"pairs": [pair.to_plain() for pair in pairs]} if pairs else {}
    return {"rows": released.rows, "confidence": asked.confidence, "columns": out, **together, "notes": notes}


def _text(result: Mapping[str, Any]) -> str:
    rows = []
    for column in result["columns"]:
        mark = {LIKELIHOOD: "biased", RATIO: "ratio"}.get(column["method"], "unbiased")
        if "mean" in column:
            days = column["kind"] == "date"
            stated = tuple(map(_day, _figures(column["mean"]))) if days else _interval(column["mean"])
            rows.append((column["name"], "mean", *stated, mark))
        for quantile in column.get("quantiles", ()):
            share = quantile["quantile"]
            what = "median" if share == 0.5 else f"{100 * share:g} % quantile"
            rows.append((column["name"], what, *_quantile(quantile, column["kind"])))
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
        f"{counted(result['rows'], 'row')}; intervals have a confidence level of {result['confidence']:.0%}.",
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


def _quantile(found: Mapping[str, Any], kind: str) -> tuple[str, ...]:
    """Return its likeliest value and the ends; a quantile has no unbiased estimate."""
    stated = _day if kind == "date" else figure
    figures = (stated(found["estimate"]), stated(found["low"]), stated(found["high"]))
    return (*figures, "", _HIDES if found["hidden"] else "biased")


def _pair_lines(result: Mapping[str, Any]) -> list[str]:
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
    return datetime.date.fromordinal(whole).isoformat() if inside else counted(whole, "day")


def _interval(interval: Mapping[str, float]) -> tuple[str, ...]:
    return tuple(map(figure, _figures(interval)))


COMMAND = Command(
    "workbench plan sample:people --epsilon 6 -o trial.toml && workbench sanitize sample:people "
    "--plan trial.toml -o released.csv --ledger estimate.sqlite && "
    "workbench estimate released.csv --certificate released.csv.certificate.json",
    _configure,
    _run,
    _text,
)
