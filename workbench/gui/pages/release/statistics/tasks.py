"""What the Statistics page works out: what to expect of what is ticked, and what was released."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from workbench.gui.pages.release_tasks import Chosen, certified
from workbench.gui.style.language import tr, tr_later, tr_number, tr_sentence
from workbench.gui.widgets.formatting import plain, rounded
from workbench.params import InputError
from workbench.signals.cancel import CancelToken
from workbench.statistics.asked import Request

if TYPE_CHECKING:
    from workbench.sanitize.plan import Plan
    from workbench.statistics.forecast import FigureForecast

SPARSE = tr_later("too few to say")
LENGTHS = {"rows": tr_later("{width} rows"), "days": tr_later("{width} days")}
"""How wide an interval is; of any other unit it is in units of the column."""
HALVES = {"rows": tr_later("± {width} rows"), "days": tr_later("± {width} days")}
OF_GROUPS = {
    "mean": tr_later("mean of {column} ± {width}"),
    "quantiles": tr_later("quantiles of {column} ± {width}"),
    "std": tr_later("standard deviation of {column} ± {width}"),
    "correlation": tr_later("correlation of {column} ± {width}"),
}
"""What is said of the figures of groups, by statistic."""

_RANGES = 4
"""Ranges are taken to hold one part in so many of the rows, where their noise is weighed."""
_SIZED = 3
"""Figures of which is said what to expect of groups of stated sizes."""


@dataclass(frozen=True)
class Expected:
    """What to expect of one figure.

    Attributes:
        words: half of its 95 % interval: ``± 21 rows``.
        stated: the same in full, with its share of ε.
        noisy: whether it will say next to nothing.
        half_width: half of the interval, in its unit.
    """

    words: str
    stated: str
    noisy: bool
    half_width: float


@dataclass(frozen=True)
class Checked:
    """What is known of the figures before a row is read.

    Attributes:
        expected: of each figure by (statistic, column); the column of a count of groups is empty.
        queries: how many queries are charged.
        sizes: what to expect of groups of stated sizes, in a sentence; empty where there are none.
    """

    expected: Mapping[tuple[str, str], Expected]
    queries: int
    sizes: str = ""


@dataclass(frozen=True)
class Bar:
    """One bin of a released histogram, in rows.

    Attributes:
        label: its values.
        estimate: how many rows.
        low: lower end of the interval.
        high: upper end.
        sparse: whether it could as well be zero.
    """

    label: str
    estimate: float
    low: float
    high: float
    sparse: bool


@dataclass(frozen=True, eq=False)
class Released:
    """Released statistics as they can be looked at; public.

    Attributes:
        path: the file.
        frame: one row a figure, as text.
        statistics: the names of its statistics, in the order of the file.
        histograms: the bars of each histogram by (column, group).
    """

    path: Path
    frame: pl.DataFrame
    statistics: tuple[str, ...]
    histograms: Mapping[tuple[str, str], tuple[Bar, ...]]


def checked(plan: Plan, rows: int, chosen: Chosen, cancel: CancelToken) -> Checked:
    """Return the expected errors of the figures that are chosen, for a table of ``rows`` rows.

    Raises:
        ParameterError: they do not fit the plan, or ε is too small for them.
    """
    from workbench.statistics.forecast import forecast
    from workbench.statistics.queries import queries_of

    assert isinstance(chosen.request, Request)
    queries = queries_of(chosen.request.checked(plan), plan, chosen.epsilon, rows, chosen.delta)
    expected, found = {}, []
    for query in queries:
        cancel.check()
        for stated in forecast([query]):
            expected[stated.statistic, stated.column] = _expected(stated, plan, rows, "ρ" if chosen.delta else "ε")
            found.append(stated)
    return Checked(expected, len(queries), _sizes(found))


def _sizes(found: Sequence[FigureForecast]) -> str:
    sized = [stated for stated in found if stated.by_group_size]
    if not sized:
        return ""
    shown, more = sized[:_SIZED], ["…"] if len(sized) > _SIZED else []
    parts, equal = [], 0
    for at, size in enumerate(sized[0].by_group_size):
        if size.equal:
            equal = round(size.rows)
            continue
        widths = [
            tr(
                OF_GROUPS[stated.statistic],
                column=stated.column,
                width=rounded(stated.by_group_size[at].half_width, 3),
            )
            for stated in shown
        ]
        parts.append(
            tr(
                "{part} % of all rows ({rows}): {widths}",
                part=tr_number(100 * size.part, ".3g"),
                rows=tr_number(round(size.rows), ","),
                widths=", ".join([*widths, *more]),
            )
        )
    return tr(
        "Beside each tick groups are of equal size ({equal} rows). If a group has {parts}.",
        equal=tr_number(equal, ","),
        parts="; ".join(parts),
    )


def _expected(stated: FigureForecast, plan: Plan, rows: int, unit: str) -> Expected:
    width, epsilon = rounded(stated.half_width, 3), plain(stated.epsilon)
    if stated.statistic == "mode":
        noisy = stated.half_width >= rows / max(stated.figures, 1)
        whole = tr(
            "It is right in 95 % of releases where it leads all other values by {width} rows, for {unit} = {epsilon}; "
            "with 95 % no other value leads it by as many.",
            width=width,
            unit=unit,
            epsilon=epsilon,
        )
        words = tr("lead ≥ {width}", width=width)
        return Expected(words, f"{whole} {tr('Mostly chance.')}" if noisy else whole, noisy, stated.half_width)
    words = tr(HALVES[stated.unit], width=width) if stated.unit in HALVES else f"± {width}"
    length = (
        tr(LENGTHS[stated.unit], width=width)
        if stated.unit in LENGTHS
        else tr("{width} units of {column}", width=width, column=stated.column)
    )
    if stated.statistic == "correlation":
        length, noisy = width, stated.half_width >= 0.99
    elif stated.unit == "rows":
        many = _RANGES if stated.statistic == "ranges" else max(stated.figures, 1)
        noisy = stated.half_width >= rows / many
    else:
        lower, upper = plan.column(stated.column).bounds()
        reach = max(abs(lower), abs(upper)) * rows if stated.statistic == "sum" else (upper - lower) / 2
        noisy = stated.half_width >= 0.99 * reach
    half = (
        tr("Half of the 95 % interval: {length}, if {assumed}.", length=length, assumed=tr_sentence(stated.assumes))
        if stated.assumes
        else tr("Half of the 95 % interval: {length}.", length=length)
    )
    source = tr(
        "Read from the {source} for {unit} = {epsilon}, with which it gives {figures} figures.",
        source=tr_sentence(stated.source),
        unit=unit,
        epsilon=epsilon,
        figures=tr_number(stated.figures, ","),
    )
    more = [tr("Mostly noise: nothing much can be learnt.")] if noisy else []
    return Expected(words, " ".join((half, source, *more)), noisy, stated.half_width)


def released(path: Path, cancel: CancelToken) -> Released:
    """Return the figures in a released file.

    Raises:
        InputError: file or certificate cannot be read, or the file is not the one that was certified,
            or its verification finds a fault.
    """
    from workbench.release.verify import verify_release
    from workbench.statistics.release_file import decode

    document, _ = certified(path)
    # Not only for what it finds: it refuses a file that is larger than its figures, before that is read whole.
    problems = verify_release(path, cancel)
    if problems:
        raise InputError(problems[0], str(path), tr("ask for the file as it was released"))
    data = path.read_bytes()
    records = decode(data, document["output"]["format"], str(path))
    cancel.check()
    shown: dict[str, list[str]] = {"statistic": [r["statistic"] for r in records]}
    for name in ("column", "group", "value"):
        texts = [r[name] for r in records]
        if any(texts):
            shown[name] = texts
    for name, key in (("estimate", "estimate"), ("from", "low"), ("to", "high")):
        shown[name] = [r[key] if isinstance(r[key], str) else plain(r[key]) for r in records]
    cancel.check()
    shown["remark"] = [tr(SPARSE) if r["sparse"] else "" for r in records]
    histograms: dict[tuple[str, str], list[Bar]] = {}
    for r in records:
        if r["statistic"] == "histogram":
            bar = Bar(r["value"], float(r["estimate"]), float(r["low"]), float(r["high"]), r["sparse"])
            histograms.setdefault((r["column"], r["group"]), []).append(bar)
    return Released(
        path,
        pl.DataFrame(shown, schema=dict.fromkeys(shown, pl.String)),
        tuple(dict.fromkeys(shown["statistic"])),
        {key: tuple(bars) for key, bars in histograms.items()},
    )
