"""Budget calculator: five sliders, what the run costs by three accountants, and ε against each figure."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from PySide6.QtCore import QBuffer, QIODevice, QMarginsF, QRectF, QSignalBlocker, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QLinearGradient
from PySide6.QtWidgets import QGridLayout, QLineEdit, QSizePolicy, QSlider, QWidget

from workbench.gui.pages import page_called
from workbench.gui.pages.base import PageFrame
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later, tr_number, tr_sentence, typed
from workbench.gui.style.stylesheet import MARGIN, PAD, mixed
from workbench.gui.widgets import chart_marks as mark
from workbench.gui.widgets.basic import (
    Card,
    Fact,
    Facts,
    button,
    caption,
    hold,
    label,
    lines,
    look,
    mark_wrong,
    named,
    panel,
    row,
    say,
    scrolled,
    stack,
)
from workbench.gui.widgets.chart import KEY, Below, Chart, Drawing
from workbench.gui.widgets.chart_marks import Dash, Scale
from workbench.gui.widgets.dialogs import ask_where_to_save
from workbench.gui.widgets.explain import Asked, explain_button
from workbench.gui.widgets.formatting import at_most, in_letters, plain
from workbench.jobs import CancelToken, Emit, Job
from workbench.render.fonts import scaled
from workbench.signals.cancel import interruptible

if TYPE_CHECKING:
    from workbench.privacy.accounting.accountant import Accountant
    from workbench.privacy.accounting.run_curves import HeatMap, RunCurve, TrainingRun


EXACT_POINTS = 9
AXES = ("order", "rows", "batch", "sigma", "epochs", "delta")


@dataclass(frozen=True)
class QuickFigures:
    """What is known of a run within a moment: Rényi bounds by accountant, lines by axis, the chosen order."""

    run: TrainingRun
    steps: int
    epsilons: dict[str, float]
    order: float
    curves: dict[str, list[RunCurve]]
    heat: HeatMap


@dataclass(frozen=True)
class ExactFigures:
    """What takes seconds: ε by every accountant, or the tightest line for one axis."""

    run: TrainingRun
    epsilons: dict[str, float]
    curve: RunCurve | None


def quick_figures(run: TrainingRun, emit: Emit, cancel: CancelToken) -> QuickFigures:
    """Compute what takes no more than a moment; runs in a worker."""
    from workbench.privacy.accounting import accountant
    from workbench.privacy.accounting.run_curves import curve, heat_map, orders_curve

    by_orders = [a.name for a in accountant.ACCOUNTANTS if a.at_orders is not None]
    at_once = [a.name for a in accountant.ACCOUNTANTS if a.at_once == a.name]
    found = [orders_curve(run, name, quick=True) for name in by_orders]
    curves, order = {"order": [line for line, _ in found]}, found[-1][1]
    for axis in AXES[1:]:
        cancel.check()
        curves[axis] = [curve(run, axis, name, cancel, quick=True) for name in at_once]
    epsilons = {name: run.epsilon(name, quick=True) for name in at_once}
    steps = accountant.steps_of(run.rows, run.batch, run.epochs)
    return QuickFigures(run, steps, epsilons, order, curves, heat_map(run, cancel))


def exact_figures(run: TrainingRun, axis: str | None, emit: Emit, cancel: CancelToken) -> ExactFigures:
    """Compute ε by the tightest accountant, or its line for one axis; runs in a worker."""
    from workbench.privacy.accounting.accountant import accountant_names
    from workbench.privacy.accounting.run_curves import curve

    tightest, *others = accountant_names()
    with interruptible(cancel):
        if axis is None:
            return ExactFigures(run, {name: run.epsilon(name) for name in (*others, tightest)}, None)
        return ExactFigures(run, {}, curve(run, axis, tightest, cancel, points=EXACT_POINTS))


def save_figures(run: TrainingRun, path: Path, picture: bytes | None, emit: Emit, cancel: CancelToken) -> Path:
    """Save the picture, or all curves as CSV where there is none; runs in a worker."""
    from workbench.privacy.accounting.run_curves import csv_lines
    from workbench.release.atomic import write_output

    with interruptible(cancel):
        data = picture or "".join(f"{line}\n" for line in csv_lines(run, cancel)).encode()
    write_output(path, data)
    return path


# -- the charts -------------------------------------------------------------------------------------------------------


LINES: tuple[tuple[str, Dash], ...] = (
    ("private", "solid"),
    ("third", "dashed"),
    ("sanitized", "dotted"),
    ("fourth", "dashed"),
)
"""Of the accountants in the order of their list: role of the palette, and dash."""


def line_of(name: str) -> tuple[str, Dash]:
    """Return how the line of an accountant is drawn: role of the palette, and dash."""
    from workbench.privacy.accounting.accountant import accountant_names

    return LINES[accountant_names().index(name) % len(LINES)]


def _in_legend(session: Session, known: Accountant) -> QWidget:
    """Return the name of an accountant behind a piece of its line."""
    style, dash = line_of(known.name)
    sign = Chart(session, f"calculator_line_{known.name}")
    sign.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
    sign.setFixedSize(24, 8)
    across = mark.line(((0.0, 0.5), (1.0, 0.5)), style, dash=dash)
    sign.show_drawing(Drawing((across,), frame="none", margins=QMarginsF()))
    return panel(row(sign, label(tr_sentence(known.short), "muted"), spacing=6))


TALLEST = 200.0
"""A line that rises to more than this many times the least ε is cut: the rest would be pressed to the floor."""

SHADES, PALEST = 72, 0.08  # pixels of the range of shades below the title, and the share of the accent in its palest


class CalculatorChart(Chart):
    """One of the charts, which are all of one size."""

    margins = QMarginsF(44, 26, 10, 20)
    usual, least, letters = QSize(360, 220), QSize(200, 220), 11


def epsilon_drawing(title: str, curves: Iterable[RunCurve], at: float | None) -> Drawing:
    """Return ε on a log scale against one figure on a log scale, one line for each accountant; ``at`` is marked."""
    shown = [curve for curve in curves if curve.x]
    lines = [(c.accountant, [p for p in zip(c.x, c.epsilons, strict=True) if p[1] > 0]) for c in shown]
    points = [point for _, line in lines for point in line]
    if not points:
        return Drawing(title=title, empty="…", frame="box", spoken=title)
    left, right = min(x for x, _ in points), max(x for x, _ in points)
    low = min(e for _, e in points)
    high = min(max(e for _, e in points), low * TALLEST)
    y, x = Scale(low, max(high, low * 1.1), log=True), Scale(left, max(right, left * (1 + 1e-9)), log=True)
    marks: list[mark.Mark] = []
    below = [Below(x.low, in_letters(x.low)), Below(x.high, in_letters(x.high))]
    if at is not None and left <= at <= right * (1 + 1e-6):
        marks.append(mark.upright(at))
        below.append(Below(at, in_letters(at), "accent"))
    for name, line in lines:
        style, dash = line_of(name)
        marks.append(mark.line([point for point in line if math.isfinite(point[1])], style, dash=dash))
    words = [
        tr("{name} from {first} to {last}", name=c.accountant, first=plain(c.epsilons[0]), last=plain(c.epsilons[-1]))
        for c in shown
    ]
    return Drawing(
        marks,
        x=x,
        y=y,
        left=((y.high, in_letters(y.high)), (y.value(0.5), "ε"), (y.low, in_letters(y.low))),
        below=below,
        title=title,
        frame="box",
        words=lambda _x: "\n".join(words),
        spoken=f"{title}: {'; '.join(words)}",
    )


def heat_drawing(title: str, found: HeatMap, sigma: float, batch: float) -> Drawing:
    """Return a map of ε by σ (upwards) and batch (to the right): darker is larger, the present setting is framed."""
    values = [e for line in found.epsilons for e in line]
    words = tr("ε from {low} to {high}", low=at_most(min(values)), high=at_most(max(values)))
    logs = [[math.log(max(e, 1e-12)) for e in line] for line in found.epsilons]
    low, high = min(map(min, logs)), max(map(max, logs))
    across, up = len(found.batches), len(found.sigmas)
    shades = [[PALEST + (1 - PALEST) * (v - low) / max(high - low, 1e-9) for v in line] for line in logs]
    return Drawing(
        (
            mark.shades(shades),
            _present(_nearest(found.batches, batch), _nearest(found.sigmas, sigma)),
            _shades_of(in_letters(math.exp(low)), f"ε {in_letters(math.exp(high))}"),
        ),
        x=Scale(0, across),
        y=Scale(0, up),
        left=((up, tr_number(found.sigmas[-1], ".2g")), (up / 2, "σ"), (0, tr_number(found.sigmas[0], ".2g"))),
        below=(
            Below(0, in_letters(found.batches[0])),
            Below(across / 2, tr("batch")),
            Below(across, in_letters(found.batches[-1])),
        ),
        title=title,
        frame="none",
        words=lambda _x: f"{title}: {words}",
        spoken=f"{title}: {words}",
        margins=CalculatorChart.margins + QMarginsF(0, KEY, 0, 0),
    )


def _present(column: int, row: int) -> mark.Mark:
    def paint(on: mark.Canvas) -> None:
        on.smooth("text")
        on.painter.drawRect(QRectF(on.at(column, row + 1), on.at(column + 1, row)))

    return paint


def _shades_of(least: str, most: str) -> mark.Mark:
    def paint(on: mark.Canvas) -> None:
        high, wide = scaled(KEY), on.painter.fontMetrics().horizontalAdvance(most) + 2
        top = on.box.top() - high
        bar = QRectF(on.box.right() - wide - 6 - SHADES, top + high / 2 - 5, SHADES, 10)
        shades = QLinearGradient(bar.topLeft(), bar.topRight())
        shades.setColorAt(0, QColor(mixed(on.theme.surface, on.theme.accent, PALEST)))
        shades.setColorAt(1, on.ink("accent"))
        on.painter.fillRect(bar, shades)
        on.write(QRectF(bar.left() - 66, top, 60, high), least, side="right")
        on.write(QRectF(bar.right() + 6, top, wide, high), most)

    return paint


def _nearest(values: Sequence[float], value: float) -> int:
    return min(range(len(values)), key=lambda k: abs(math.log(values[k] / value)))


# -- the page ---------------------------------------------------------------------------------------------------------


POSITIONS = 1_000_000
FIELD = 92

_THOUSANDS = re.compile(r"[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?")  # 1,5 is none: whether it is 1.5 nobody can tell


class Figure(NamedTuple):
    """A figure of a run: its title, what it is, its ends, where it begins, and whether it is a whole number."""

    title: str
    tip: str
    low: float
    high: float
    usual: float
    whole: bool = True


FIGURES = {
    "rows": Figure(tr_later("Rows"), tr_later("Rows of the table, public"), 10, 1e9, 60_000),
    "batch": Figure(tr_later("Batch"), tr_later("Expected rows of a batch"), 1, 1e6, 64),
    "sigma": Figure(tr_later("Noise σ"), tr_later("Noise of a step divided by the clipping norm"), 0.3, 100, 1, False),
    "epochs": Figure(tr_later("Epochs"), tr_later("Passes over the table"), 1, 1e4, 15),
    "delta": Figure("δ", tr_later("Chance that the guarantee fails"), 1e-12, 1e-2, 1e-5, False),
}


class FigureSlider(QWidget):
    """A number above 0 between two bounds; the field takes every number between them, the slider a million."""

    changed = Signal()

    def __init__(self, name: str, figure: Figure) -> None:
        """Make the slider ``NAME_slider`` with its field ``NAME_field``."""
        super().__init__()
        title, tip, low, high = tr(figure.title), tr(figure.tip), figure.low, figure.high
        named(self, name, title, tip)
        self._low, self._high, self._whole, self._value = low, high, figure.whole, figure.usual
        spoken = tr("{title}, from {low} to {high}", title=title, low=plain(low), high=plain(high))
        self.field = named(QLineEdit(), f"{name}_field", spoken, tip)
        hold(self.field, FIELD)
        self.field.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.slider = named(
            QSlider(Qt.Orientation.Horizontal), f"{name}_slider", tr("{title} on a log scale", title=title), tip
        )
        self.slider.setRange(0, POSITIONS)
        self.slider.setSingleStep(POSITIONS // 400)
        self.slider.setPageStep(POSITIONS // 20)
        self._problem = label("", "problem", wrap=True, name=f"{name}_problem", hidden=True)
        self.setLayout(stack(row(label(title, "muted"), None, self.field), self.slider, self._problem, spacing=2))
        self.field.editingFinished.connect(self._entered)
        self.slider.valueChanged.connect(self._dragged)
        self._show()

    def value(self) -> float:
        return self._value

    def set_value(self, value: float) -> None:
        self._value = min(max(value, self._low), self._high)
        self._show()

    def _show(self) -> None:
        share = math.log(self._value / self._low) / math.log(self._high / self._low)
        with QSignalBlocker(self.slider):
            self.slider.setValue(round(share * POSITIONS))
        self._write()

    def _write(self) -> None:
        self.field.setText(tr_number(round(self._value), ",") if self._whole else plain(self._value))
        self.slider.setAccessibleDescription(self.field.text())
        mark_wrong(self.field, False)
        self._problem.hide()

    def _dragged(self, position: int) -> None:
        value = self._low * (self._high / self._low) ** (position / POSITIONS)
        value = float(round(value)) if self._whole else float(f"{value:.4g}")
        if value != self._value:
            self._value = value
            self._write()
            self.changed.emit()

    def _entered(self) -> None:
        text = typed(self.field.text())
        try:
            value = float(text.replace(",", "") if _THOUSANDS.fullmatch(text) else text)
        except ValueError:
            value = math.nan
        if self._whole and ("." in text or value % 1):  # 60.000 may be meant as thousands
            value = math.nan
        if not self._low <= value <= self._high:
            low, high = plain(self._low), plain(self._high)
            whole = tr("Give a whole number from {low} to {high}.", low=low, high=high)
            say(self._problem, whole if self._whole else tr("Give a number from {low} to {high}.", low=low, high=high))
            mark_wrong(self.field, True)
            return
        if value != self._value:
            self._value = value
            self._show()
            self.changed.emit()
        else:
            self._write()


PER_FRAME_MS = 40  # while a slider moves, figures are asked for at most so often
AT_REST_MS = 350  # after so long without a move the tightest accountant is asked

WIDTH = 262
CHART = 370  # pixels of a column in which a chart can be read
TITLES = {
    "order": tr_later("ε against the order α"),
    "rows": tr_later("ε against rows"),
    "batch": tr_later("ε against batch"),
    "sigma": tr_later("ε against noise σ"),
    "epochs": tr_later("ε against epochs"),
    "delta": tr_later("ε against δ"),
}
HEAT = tr_later("ε over σ and batch")
FILES = tr_later("Picture (*.png);;Figures (*.csv)")


class CalculatorPage(PageFrame):
    """What a run would cost, live while a slider moves; the figures go to Train by one button."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__(session, jobs, page_called("calculator"))
        self._quick: QuickFigures | None = None
        self._busy = self._again = False
        self._exact_run: TrainingRun | None = None
        self._exact: JobHandle | None = None
        self._epsilons: dict[str, float] = {}
        self._waiting: list[str] = []
        tip = tr("Save the charts as a picture, or all curves as CSV")
        self.header.addWidget(button(tr("Export…"), "calculator_export", tip=tip, press=self._export))
        self.sliders = {key: FigureSlider(f"calculator_{key}", figure) for key, figure in FIGURES.items()}
        self._facts = Facts()
        self._problem = label("", "problem", wrap=True, name="calculator_problem", hidden=True)
        self.curves: dict[str, dict[str, RunCurve]] = {axis: {} for axis in AXES}  # of each axis, by accountant
        self.charts = {axis: CalculatorChart(session, f"calculator_{axis}_chart", tr(TITLES[axis])) for axis in AXES}
        self.heat = CalculatorChart(session, "calculator_heat", tr(HEAT))
        self._arrange()
        self._show_costs()  # at once: the fields below move no more
        self._frame = QTimer(self, interval=PER_FRAME_MS, singleShot=True)
        self._frame.timeout.connect(self._calculate)
        self._rest = QTimer(self, interval=AT_REST_MS, singleShot=True)
        self._rest.timeout.connect(self.in_sight(self._tighten))
        for slider in self.sliders.values():
            slider.changed.connect(self._moved)
        self.set_primary(tr("Take these values to Train"), "calculator_to_train", self._to_train)
        self.set_note(tr("Nothing is read or charged here: ε follows from public figures alone."))
        session.table_changed.connect(self._table_changed)
        self._table_changed()

    def _arrange(self) -> None:
        from workbench.privacy.accounting import accountant

        ask = explain_button(self.session, "calculator_explain", self._asked)
        inputs = Card(label(tr("THE RUN"), "caption"), *self.sliders.values(), self._problem)
        costs = Card(caption(tr("IT COSTS AT MOST"), ask), self._facts)
        legend = lines(*(_in_legend(self.session, each) for each in accountant.ACCOUNTANTS), None, spacing=16)
        self._left = left = panel(
            stack(costs, inputs, None, spacing=12)
        )  # the answer first: large text leaves not both in sight
        hold(left, WIDTH)
        self._grid = QGridLayout()
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(10)
        self._drawn = look(panel(self._grid), "clear")
        self._area = scrolled(stack(self._drawn), "calculator_area")
        self._columns = 3
        self._place_charts()
        self.body.addWidget(panel(lines(left, (Card(panel(legend), (self._area, 1)), 1), spacing=12)), 1)

    def _place_charts(self) -> None:
        """Put the charts into as many columns as have room, the map over σ and batch below them all."""
        for at, chart in enumerate(self.charts.values()):
            self._grid.addWidget(chart, at // self._columns, at % self._columns)
        self._grid.addWidget(self.heat, len(self.charts), 0, 1, self._columns)

    def resized(self) -> None:
        """Keep a width at which a chart can be read."""
        room = self.width() - 2 * (MARGIN + PAD) - self._left.minimumWidth()
        columns = max(1, min(3, room // CHART))
        if columns != self._columns:
            self._columns = columns
            self._place_charts()

    # -- what is set ----------------------------------------------------------------------------------------------

    def run_as_set(self) -> TrainingRun:
        from workbench.privacy.accounting.run_curves import TrainingRun

        at = {name: slider.value() for name, slider in self.sliders.items()}
        return TrainingRun(round(at["rows"]), round(at["batch"]), at["sigma"], round(at["epochs"]), at["delta"])

    def _table_changed(self) -> None:
        opened = self.session.opened
        if opened is not None:
            rows = max(10, opened.rows_under(self.session.plan))
            self.sliders["rows"].set_value(rows)
            self.sliders["batch"].set_value(max(1, min(self.sliders["batch"].value(), rows // 8)))
        assert self.primary is not None
        self.primary.setEnabled(opened is not None)
        self.primary.setToolTip("" if opened is not None else tr("Open a table first (Data)"))
        self._moved()

    def _moved(self) -> None:
        self._waiting = []
        if self._exact is not None:  # what it computes is out of date
            self._exact.cancel()
        if not self._frame.isActive():
            self._frame.start()
        self._rest.start()

    # -- what it costs --------------------------------------------------------------------------------------------

    def _calculate(self) -> None:
        if self._busy:  # the newest values follow when this one is done: jobs never pile up
            self._again = True
            return
        run = self.run_as_set()
        if run.batch > run.rows:
            say(self._problem, tr("A batch cannot have more rows than the table."))
            return
        self._busy = True
        self._start("calculator_quick", partial(quick_figures, run), self._show_quick)

    def _start(self, key: str, work: Callable[[Emit, CancelToken], Any], show: Callable[[Any], None]) -> JobHandle:
        job = Job(tr("Calculating"), work)
        return self.jobs.start(job, key=key, stoppable=False, on_result=show, on_failure=self._failed)

    def _show_quick(self, found: QuickFigures) -> None:
        self._busy = False
        if self._again:
            self._again = False
            self._frame.start()
        self._problem.hide()
        if not (found.run == self._exact_run and "pld" in self._epsilons):
            self._epsilons = found.epsilons
        self._quick = found
        self._show_costs()
        for axis in AXES:
            self.curves[axis] = {curve.accountant: curve for curve in found.curves[axis]}
        self._draw()

    def _draw(self) -> None:
        from workbench.privacy.accounting.accountant import accountant_named

        found = self._quick
        if found is None:
            return
        for axis, chart in self.charts.items():
            at = found.order if axis == "order" else float(getattr(found.run, axis))
            chart.show_drawing(epsilon_drawing(tr(TITLES[axis]), self.curves[axis].values(), at))
        by = tr_sentence(accountant_named(found.heat.accountant).short)
        self.heat.show_drawing(heat_drawing(f"{tr(HEAT)} ({by})", found.heat, found.run.sigma, found.run.batch))

    def _tighten(self) -> None:
        run = self.run_as_set()
        if run.batch > run.rows:
            return
        self._exact_run = run
        self._waiting = list(AXES[1:])
        self._compute_exactly(None)

    def _compute_exactly(self, axis: str | None) -> None:
        assert self._exact_run is not None
        self._exact = self._start("calculator_exact", partial(exact_figures, self._exact_run, axis), self._show_exact)

    def _show_exact(self, found: ExactFigures) -> None:
        if found.run != self.run_as_set():
            return
        if found.epsilons:
            self._epsilons = found.epsilons
            self._show_costs()
        if found.curve is not None:
            self.curves[found.curve.axis][found.curve.accountant] = found.curve
            self._draw()
        self.in_sight(self._tighten_next)()

    def _tighten_next(self) -> None:
        if self._waiting and self._exact_run is not None:
            self._compute_exactly(self._waiting.pop(0))

    def _show_costs(self) -> None:
        from workbench.privacy.accounting import accountant

        facts: list[Fact] = []
        for known in accountant.ACCOUNTANTS:
            epsilon = self._epsilons.get(known.name)
            text = "…" if epsilon is None else f"ε = {at_most(epsilon)}"
            kind = "" if facts else "accent"
            facts.append(Fact(known.name, tr_sentence(known.short), text, kind, tr_sentence(known.title)))
        steps = "…" if self._quick is None else tr_number(self._quick.steps, ",")
        self._facts.show_lines([*facts, Fact("steps", tr("steps"), steps)])

    def retranslate(self) -> None:
        for slider in self.sliders.values():
            slider.set_value(slider.value())
        self._show_costs()
        self._draw()

    def _failed(self, error: BaseException) -> None:
        self._busy = False
        say(self._problem, self.session.worded(error))

    def _asked(self) -> Asked | None:
        best = min(self._epsilons.values(), default=None)
        if best is None:
            return None
        return Asked(Decimal(repr(best)), Decimal(repr(self.sliders["delta"].value())))

    # -- where it goes --------------------------------------------------------------------------------------------

    def _to_train(self) -> None:
        run = self.run_as_set()
        self.session.to_run.make({"batch": run.batch, "noise": run.sigma, "epochs": run.epochs, "delta": run.delta})
        self.session.go("train")

    def _export(self) -> None:
        path = ask_where_to_save(self, tr("Save the charts or their figures"), "budget-calculator.png", tr(FILES))
        if not path:
            return
        picture = None
        if Path(path).suffix.lower() != ".csv":
            buffer = QBuffer()
            buffer.open(QIODevice.OpenModeFlag.WriteOnly)
            self._drawn.grab().save(buffer, "PNG")
            picture = bytes(buffer.data().data())
        work = partial(save_figures, self.run_as_set(), Path(path), picture)
        self.jobs.start(Job(tr("Saving"), work, about=Path(path).name), on_result=self._say_saved)

    def _say_saved(self, saved: Path) -> None:
        self.session.notify("info", tr("Saved {name}.", name=saved.name))
