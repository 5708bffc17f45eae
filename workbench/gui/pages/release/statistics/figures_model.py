"""One row for each protected column: which figures of it are asked for, and what to expect of each."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
from PySide6.QtCore import Signal

from workbench.gui.pages.release_tasks import Chosen, asked_plan, certified
from workbench.gui.session.draft import DraftColumn
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later, tr_number, tr_sentence, typed
from workbench.gui.widgets.formatting import half_width, plain, together
from workbench.gui.widgets.table_model import Cell, Column, EditedModel
from workbench.params import InputError
from workbench.signals.cancel import CancelToken
from workbench.statistics.request import (
    COVARIANCE,
    OF_AMOUNTS,
    OF_PAIRS,
    QUANTILES,
    QUARTERS,
    RANGES,
    REGRESSION,
    TOP,
    Statistic,
    split_period,
)

if TYPE_CHECKING:
    from workbench.sanitize.plan import Column as PlanColumn
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
    "covariance": tr_later("covariance of {column} ± {width}"),
    "regression": tr_later("regression of {column} ± {width}"),
}
"""What is said of the figures of groups, by statistic."""

_RANGES = 4  # ranges are taken to hold one part in so many of the rows, where their noise is weighed
_SIZED = 3  # figures of which is said what to expect of groups of stated sizes


@dataclass(frozen=True)
class Expected:
    """What to expect of one figure."""

    words: str  # half of its 95 % interval: `± 21 rows`
    stated: str  # the same in full, with its share of ε
    noisy: bool  # whether it will say next to nothing
    half_width: float  # half of the interval, in its unit


@dataclass(frozen=True)
class Checked:
    """What is known before a row is read: of each (statistic, column, groups), the queries, groups of stated sizes."""

    expected: Mapping[tuple[str, str, tuple[str, ...]], Expected]
    queries: int
    sizes: str = ""


@dataclass(frozen=True)
class Bar:
    """One bin of a released histogram, in rows; ``sparse`` where it could as well be zero."""

    label: str
    estimate: float
    low: float
    high: float
    sparse: bool


@dataclass(frozen=True, eq=False)
class Released:
    """Released statistics: a row a figure, with all digits of its numbers, and bars by (column, group); public."""

    frame: pl.DataFrame
    statistics: tuple[str, ...]
    histograms: Mapping[tuple[str, str], tuple[Bar, ...]]


def checked(plan: Plan, rows: int, chosen: Chosen, cancel: CancelToken) -> Checked:
    """Return the expected errors of the figures that are chosen, for a table of ``rows`` rows."""
    from workbench.statistics.forecast import forecast
    from workbench.statistics.queries import queries_of

    queries = queries_of(chosen.request.checked(plan), plan, chosen.epsilon, rows, chosen.delta)
    expected, found = {}, []
    for query in queries:
        cancel.check()
        for ask, stated in zip(query.asks, forecast([query]), strict=True):
            columns, unit = [plan.column(name) for name in ask.columns], "ρ" if chosen.delta else "ε"
            expected[stated.statistic, stated.column, stated.by] = _expected(stated, columns, rows, unit)
            found.append(stated)
    return Checked(expected, len(queries), _sizes(found))


def figure_words(one: Statistic, expected: Mapping[tuple[str, str, tuple[str, ...]], Expected]) -> str:
    """Return what a figure is called, and what to expect of it: ``mean of pay by city ± 52``."""
    at = ", ".join(plain(level) for level in one.at or ())
    words = tr(
        "{statistic} of {column}", statistic=f"{tr_sentence(one.statistic)} {at}".rstrip(), column=one.column or ""
    )
    words = tr("{words} by {groups}", words=words, groups=together(one.by)) if one.by else words
    found = expected.get((one.statistic, one.column or "", one.by or ()))
    return words if found is None else f"{words} {found.words}"


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
                width=half_width(stated.by_group_size[at].half_width),
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
    said = tr(
        "The ± beside each tick is for groups of equal size ({equal} rows). If a group has {parts}.",
        equal=tr_number(equal, ","),
        parts="; ".join(parts),
    )
    return said.replace("….", "…")


def _expected(stated: FigureForecast, columns: Sequence[PlanColumn], rows: int, unit: str) -> Expected:
    width, epsilon = half_width(stated.half_width), plain(stated.epsilon)
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
    elif stated.statistic == COVARIANCE:
        one, other = columns
        length = tr("{width} units of {one} times {other}", width=width, one=one.name, other=other.name)
        area = math.prod(upper - lower for lower, upper in (c.bounds() for c in columns))
        noisy = stated.half_width >= 0.99 * area / 4
    else:
        if stated.statistic == REGRESSION:
            length = tr(
                "{width} units of {column} over the whole range of another column", width=width, column=columns[0].name
            )
        lower, upper = columns[0].bounds()
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
    """Return the figures in a released file, once it is verified."""
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
        shown[name] = [r[key] if isinstance(r[key], str) else repr(float(r[key])) for r in records]
    cancel.check()
    shown["remark"] = [tr(SPARSE) if r["sparse"] else "" for r in records]
    histograms: dict[tuple[str, str], list[Bar]] = {}
    for r in records:
        if r["statistic"] == "histogram":
            bar = Bar(r["value"], float(r["estimate"]), float(r["low"]), float(r["high"]), r["sparse"])
            histograms.setdefault((r["column"], r["group"]), []).append(bar)
    return Released(
        pl.DataFrame(shown, schema=dict.fromkeys(shown, pl.String)),
        tuple(dict.fromkeys(shown["statistic"])),
        {key: tuple(bars) for key, bars in histograms.items()},
    )


# -- the ticks --------------------------------------------------------------------------------------------------------


BINS_HELP = tr_later(
    "Into how many bins a range of numbers is cut; auto: every value by itself where there are few, else 20 bins"
)
AUTO = tr_later("auto")


class FiguresModel(EditedModel):
    """The protected columns with their ticks; what is ticked follows the usual request until it is changed."""

    changed = Signal()

    def __init__(self, session: Session) -> None:
        def figure(title: str, statistic: str, help_text: str, width: int, grows: float = 0.0) -> Column:
            cell, tick = partial(self._figure, statistic), partial(self._tick, statistic)
            return Column(title, cell, help_text, width, grows, tick=tick)

        bins = Column(
            tr("Bins"),
            self._bins_of,
            tr(BINS_HELP),
            width=44,
            right=True,
            field="bins_editor",
            spoken=tr("Number of bins; empty for the usual number"),
            edit=self._cut,
        )
        shares = tr("How many rows are in each bin; of numbers also which share of all rows is below each bin's end")
        mode = tr(
            "The most frequent value, without its count. It is right 95 % of the time if it leads by at "
            "least the rows shown"
        )
        columns = (
            Column(tr("Column"), self._name, tr("A column that the plan protects"), width=128, grows=0.3),
            figure(tr("Histogram"), "histogram", shares, 104, 0.1),
            bins,
            figure(tr("Mean"), "mean", tr("The mean of the values"), 92, 0.15),
            figure(
                tr("Quantiles"),
                "quantiles",
                tr("The values that 25 %, 50 % and 75 % of the rows do not pass"),
                92,
                0.15,
            ),
            figure(tr("Sum"), "sum", tr("The sum of the values"), 68),
            figure(tr("Std. dev."), "std", tr("How far the values usually are from their mean"), 80, 0.1),
            figure(tr("Most frequent"), "mode", mode, 104),
        )
        super().__init__(session, columns)
        self._columns: tuple[DraftColumn, ...] = ()
        self._ticks: dict[str, set[str]] = {}
        self._followed: dict[str, set[str]] = {}
        self._bins: dict[str, int] = {}
        self._checked: Checked | None = None
        self.groups: tuple[str, ...] = ()
        self._figures: tuple[Statistic, ...] = ()  # what answers what will be asked

    # -- what is asked for ----------------------------------------------------------------------------------------

    def start_over(self) -> None:
        self._ticks.clear()
        self._followed = {}
        self._bins.clear()
        self.groups = ()
        self.follow()

    def follow(self) -> None:
        """Show the columns that the plan protects now; one of another kind than before begins as is usual."""
        former, columns = {column.name: column.kind for column in self._columns}, self.session.plan.protected
        others = [c.name for c in columns] != list(former)
        self._figures = self._asked()
        usual = self._usual()
        if usual != self._followed:  # something else will be asked: what nobody has changed follows
            self._ticks = {name: ticks for name, ticks in self._ticks.items() if ticks != self._followed.get(name)}
            self._followed = usual
        if others:
            self.beginResetModel()
        self._columns = columns
        for column in columns:
            if column.name not in self._ticks or former.get(column.name) != column.kind:
                self._ticks[column.name] = set(usual.get(column.name, ()))
                self._bins.pop(column.name, None)
        if others:
            self.endResetModel()
        self.refresh()

    def state(self) -> Any:
        return {name: frozenset(ticks) for name, ticks in self._ticks.items()}, dict(self._bins)

    def restore(self, state: Any) -> None:
        ticks, bins = state
        names = {column.name for column in self._columns}
        self._ticks |= {name: set(ticked) for name, ticked in ticks.items() if name in names}
        self._bins = {name: number for name, number in bins.items() if name in names}
        self._edited()

    def tick_all(self, *, usual: bool) -> None:
        before = self.state()
        asked = self._usual() if usual else {}
        for column in self._columns:
            self._ticks[column.name] = set(asked.get(column.name, ()))
        self._bins.clear()
        self._edited()
        self.keep_step(tr("tick the usual figures") if usual else tr("tick no figure"), before)

    def group_by(self, names: tuple[str, ...]) -> None:
        self.groups = names
        self.show_checked(None)

    def wanted(self) -> tuple[Statistic, ...]:
        return tuple(
            Statistic(
                statistic=statistic,
                column=column.name,
                bins=self._bins.get(column.name) if statistic == "histogram" else None,
                by=self.groups or None,
                at=self._levels(column.name) if statistic == QUANTILES else None,
            )
            for column in self._columns
            for statistic in ("histogram", "mean", "quantiles", "sum", "std", "mode")
            if self._ticked(column, statistic)
        )

    def wished(self) -> tuple[Statistic, ...]:
        """Return the figures that wishes ask for and no tick gives: of groups of their own, or at stated quantiles."""
        ticked = {(one.statistic, one.column, frozenset(one.by or ())) for one in self.wanted()}
        figures = (one for one in self._figures if one.by is not None or one.at is not None)
        return tuple(one for one in figures if (one.statistic, one.column, frozenset(one.by or ())) not in ticked)

    def _levels(self, column: str) -> tuple[float, ...] | None:
        """Return the quantiles of a tick: the quarters, and what a wish about the same rows asks for."""
        own = (one for one in self._figures if one.statistic == QUANTILES and one.column == column)
        levels = {level for one in own if set(one.by or ()) == set(self.groups) for level in one.at or ()}
        return tuple(sorted(levels.union(QUARTERS))) if levels else None

    def further(self, statistic: str) -> tuple[Statistic, ...]:
        """Return what goes with ticks: pairs and regressions with means, ranges with quantiles, top with the mode."""
        ticked = {RANGES: "quantiles", TOP: "mode"}.get(statistic, "mean")
        names = [column.name for column in self._columns if self._ticked(column, ticked)]
        if statistic == REGRESSION:
            names.sort(key=lambda name: name != self.session.target)
            on, by = tuple(names[1:]), self.groups or None
            return (Statistic(statistic=statistic, column=names[0], on=on, by=by),) if on else ()
        if statistic in OF_PAIRS:
            pairs = itertools.combinations(names, 2)
            return tuple(Statistic(statistic=statistic, column=a, other=b, by=self.groups or None) for a, b in pairs)
        return tuple(Statistic(statistic=statistic, column=name, by=self.groups or None) for name in names)

    def show_checked(self, checked: Checked | None) -> None:
        self._checked = checked
        self.refresh()

    def height(self) -> int:
        return len(self._columns)

    def _can(self, column: DraftColumn, what: str) -> bool:
        return not self._makes_groups(column) and _fits(column, what)

    def _makes_groups(self, column: DraftColumn) -> bool:
        names = [one.name for one in self._columns]
        return column.name in (split_period(named, names)[0] for named in self.groups)

    def _ticked(self, column: DraftColumn, statistic: str) -> bool:
        return statistic in self._ticks[column.name] and self._can(column, statistic)

    def _asked(self) -> tuple[Statistic, ...]:
        """Return the figures that answer what will be asked."""
        from workbench.studies.kind_questions import asked_request

        draft = self.session.plan
        return asked_request(asked_plan(draft, draft.plan())).figures if draft.ready and draft.protected else ()

    def _usual(self) -> dict[str, set[str]]:
        """Return those of them that are ticks, by column."""
        found = dict[str, set[str]]()
        for figure in self._figures:
            if figure.by is None and figure.at is None:
                found.setdefault(figure.column or "", set()).add(figure.statistic)
        return found

    # -- edits, of all selected columns that can have them --------------------------------------------------------

    def _tick(self, statistic: str, at: int, ticked: bool) -> None:
        for column in self._edited_with(at, statistic):
            (self._ticks[column.name].add if ticked else self._ticks[column.name].discard)(statistic)
        self._edited()

    def _cut(self, at: int, text: str) -> None:
        columns, text = self._edited_with(at, "bins"), typed(text)
        bins = None
        if text.casefold() not in ("", AUTO, tr(AUTO).casefold()):
            bins = Statistic.declared()["bins"].parse(text, tr("bins of {name}", name=columns[0].name))
            assert bins is None or isinstance(bins, int)
        for column in columns:
            self._bins.pop(column.name, None)
            if bins is not None:
                self._bins[column.name] = bins
        self._edited()

    def _edited_with(self, at: int, what: str) -> list[DraftColumn]:
        columns = [self._columns[row] for row in self.chosen(at)]
        return [column for column in columns if self._can(column, what)]

    def _edited(self) -> None:
        self.show_checked(None)
        self.changed.emit()

    # -- cells ----------------------------------------------------------------------------------------------------

    def _name(self, at: int) -> Cell:
        name = self._columns[at].name
        return Cell(name, tip=name, key=name.casefold())

    def _figure(self, statistic: str, at: int) -> Cell:
        column = self._columns[at]
        ticked = self._ticked(column, statistic)
        if not self._can(column, statistic):
            return Cell(tip=self._why_not(column), key=True)
        known = self._checked.expected if self._checked is not None and ticked else {}
        found = known.get((statistic, column.name, self.groups))
        cell = Cell("…" if ticked else "", key=not ticked, ticked=ticked)  # ticked ones come first
        if found is None:
            return cell
        cell = cell._replace(text=found.words, tip=found.stated)
        return cell._replace(text=f"{found.words} ⚠", look="warn") if found.noisy else cell

    def _bins_of(self, at: int) -> Cell:
        column = self._columns[at]
        bins = self._bins.get(column.name)
        look, tip = "muted" if bins is None else "", "" if self._can(column, "bins") else self._why_not(column)
        if tip or not self._ticked(column, "histogram"):
            return Cell("", look, tip, key=bins)
        return Cell(str(bins or tr(AUTO)), look, key=bins, value=str(bins or ""))

    def _why_not(self, column: DraftColumn) -> str:
        return tr("This column makes the groups") if self._makes_groups(column) else tr("Not for such values")


def _fits(column: DraftColumn, what: str) -> bool:
    """Whether a figure (or bins of one's own) can be asked for of a column."""
    if what in OF_AMOUNTS:
        return column.kind in ("integer", "real")
    return what == "histogram" or column.numeric != (what == "mode")
