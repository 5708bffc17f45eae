"""A run as it goes: accuracy, loss and ε against its steps, its memory, how it ended; and what Curves has found."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from PySide6.QtCore import QMarginsF, QPointF, QRectF, QSize
from PySide6.QtWidgets import QWidget

from workbench.gui.pages.curve_actions import in_language
from workbench.gui.pages.train.messages import CHOOSING, broken_off, clipped_words, rising_words, went_words
from workbench.gui.session.job_center import JobHandle
from workbench.gui.session.session import RunRecord, Session
from workbench.gui.style.language import again, as_sentence, tr, tr_later, tr_number, tr_sentence
from workbench.gui.widgets import chart_marks as mark
from workbench.gui.widgets.basic import (
    Card,
    badge,
    button,
    into_sight,
    label,
    lines,
    look,
    named,
    panel,
    row,
    rule,
    say,
    show_if,
    stack,
)
from workbench.gui.widgets.chart import SHARES, Below, Chart, Drawing
from workbench.gui.widgets.chart_marks import BarLine, Scale
from workbench.gui.widgets.formatting import at_least, at_most, memory, plain, time_words
from workbench.render.fonts import scaled
from workbench.signals.events import Budget, Cancelled, Memory, Metric, Notice, Progress, Spread

MOST = 2000  # points that are kept: more than pixels. When they are reached, every second one goes.

PIECES = 24  # straight pieces of a line that is bent

FAR = 3.0
"""A cap this many times as high as the target is named at the upper edge, and not drawn: the line would be flat."""

NAME_HEIGHT = 17  # points that the name of a line takes above it

PLAIN = (1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8, 10)  # figures whose half is a plain figure too


class RunChart(Chart):
    """A small chart beside another one, or below it where large text leaves both too little room."""

    letters = 11

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        return QSize(scaled(140), scaled(88))


class StepChart(RunChart):
    """One line over the steps of a run, its newest value written out, and a target where there is one."""

    def __init__(
        self,
        session: Session,
        name: str,
        title: str,
        *,
        style: str = "private",
        top: float = 0.0,
        rising: bool = False,
    ) -> None:
        """Make the chart; ``rising`` values bound something that never falls: a lower one bounds the former, too."""
        super().__init__(session, name, title)
        self._title = title
        self._style, self._top, self._rising = style, top, rising
        self._points: list[tuple[int, float]] = []
        self._steps = 0
        self._target: float | None = None
        self._cap: float | None = None

    @property
    def points(self) -> tuple[tuple[int, float], ...]:
        return tuple(self._points)

    def begin(self, steps: int, target: float | None = None, cap: float | None = None) -> None:
        """Begin a run of ``steps`` steps that stops before ``target``, where ``cap`` is all that there is for it."""
        self._points, self._steps, self._target, self._cap = [], steps, target, cap
        self.update()

    @property
    def limits(self) -> tuple[tuple[str, float, bool], ...]:
        """What bounds the values: words, the value, and whether it is so near that a line is drawn."""
        target, cap = self._target, self._cap
        if target is None:
            return ()
        if cap is None:
            return ((tr("target ε"), target, True),)
        if cap <= target * (1 + 1e-9):
            return ((tr("target = cap ε"), target, True),)
        return (tr("target ε"), target, True), (tr("cap allows ε"), cap, cap <= FAR * target)

    def add(self, step: int, value: float) -> None:
        if self._rising and self._points and value < self._points[-1][1]:
            self._points = [(s, min(v, value)) for s, v in self._points]
        self._points.append((step, value))
        if len(self._points) > MOST:
            self._points = self._points[::2]
        self._name()

    def _name(self) -> None:
        """Say the newest value and its bounds to a screen reader, and draw them."""
        step, value = self._points[-1]
        bounds = "".join(f", {words} {plain(limit)}" for words, limit, _ in self.limits)
        self.setAccessibleName(
            tr("{title}: {value} at step {step}", title=again(self._title), value=self._written(value), step=step)
            + bounds
        )
        self.update()

    def move_cap(self, by: float) -> None:
        """Follow a cap that was changed after the run began."""
        if self._cap is not None and self._points:
            self._cap += by
            self._name()

    def show_points(self, points: Sequence[tuple[int, float]]) -> None:
        self._points = list(points)
        self.update()

    def _projected(self, target: float) -> list[tuple[float, float]]:
        """Return the line from the newest value to the target at the last step, bent as √t is."""
        at, value = self._points[-1]
        begin, end = math.sqrt(at), math.sqrt(self._steps)
        steps = [at + (self._steps - at) * part / PIECES for part in range(PIECES + 1)]
        return [(t, value + (target - value) * (math.sqrt(t) - begin) / (end - begin)) for t in steps]

    def _written(self, value: float) -> str:
        """Return a figure; of ε, which bounds what is spent, never less than it is."""
        return at_most(value) if self._rising else plain(value)

    def drawing(self) -> Drawing:
        drawn = [value for _, value, near in self.limits if near]
        top = rounded_up(max([self._top / 1.08, *drawn, *(v for _, v in self._points)]) * 1.08) or 1.0
        last = max(self._steps, 1)
        marks = [_limits(self.limits)]
        if self._points and self._target is not None and self._steps > self._points[-1][0]:
            # Where it ends if nobody stops it; ε grows about as the root of the steps.
            marks.append(mark.line(self._projected(self._target), self._style, 1.5, "dotted"))
        return Drawing(
            (*marks, mark.line(self._points, self._style)),
            x=Scale(0, last),
            y=Scale(0, top),
            left=[(share * top, plain(share * top)) for share in (0.0, 0.5, 1.0)],
            grid=True,
            below=(
                Below(0, tr("step {step}", step=0)),
                Below(last, tr_number(self._steps, ",") if self._steps else ""),
            ),
            title=again(self._title),
            figure=self._written(self._points[-1][1]) if self._points else "–",
        )


def _limits(limits: tuple[tuple[str, float, bool], ...]) -> mark.Mark:
    """Return what bounds the values: the target dashed, named at the left, the cap whole, named at the right."""

    def paint(on: mark.Canvas) -> None:
        box = on.box
        for at, (words, limit, near) in enumerate(limits):
            y = on.up(limit) if near else box.top()
            if near:
                on.smooth("danger", 1.5, "solid" if at else "dashed")
                on.line(QPointF(box.left(), y), QPointF(box.right(), y))
            stated = f"{words} {at_least(limit) if at else at_most(limit)}" + ("" if near else " ↑")
            # Where it is longer than the box it takes the margin of the axis, too.
            begin, end = (0.0, box.right() - 4) if at else (box.left() + 4, box.right() + 8)
            # Above its line, which the values never cross; below it only where the line of the cap is in the way.
            below = at == 0 and any(y - scaled(NAME_HEIGHT) < on.up(v) < y for _, v, drawn in limits[1:] if drawn)
            place = QRectF(begin, y + (2 if below else -scaled(15)), end - begin, scaled(14))
            on.write(place, stated, "danger", "right" if at else "left")

    return paint


def rounded_up(value: float) -> float:
    """Return the next plain figure: the ends of an axis are to be read at a glance."""
    if value <= 0:
        return 0.0
    unit = 10.0 ** math.floor(math.log10(value))
    return next(step * unit for step in PLAIN if step * unit >= value * (1 - 1e-9))


Stages = tuple[tuple[str, float, int], ...]  # (name, accuracy, rows it was measured on) of each training

LINE = 20


class WhereChart(Chart):
    """One bar for each training, and a sentence on what clipping and noise cost; hidden while nothing is known."""

    margins = QMarginsF(0, 0, 0, LINE)
    letters, height_fixed = 13, True

    def __init__(self, session: Session) -> None:
        super().__init__(session, "train_where_chart", tr("Where the accuracy went"))
        self.stages: Stages = ()
        self.hide()

    def show_stages(self, stages: Stages) -> None:
        self.stages = stages
        self.setVisible(bool(stages))
        self.setAccessibleName(tr("Where the accuracy went: {stages}", stages=went_words(stages)) if stages else "")
        self.setToolTip(went_words(stages) if stages else "")
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        return QSize(360, (len(self.stages) + 1) * LINE)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        return QSize(200, self.sizeHint().height())

    def drawing(self) -> Drawing | None:
        if not self.stages:
            return None
        lines = [
            BarLine(tr_sentence(name), accuracy, tr_number(accuracy, ".3f"), ink)
            for (name, accuracy, _), ink in zip(self.stages, ("no-privacy", "sanitized", "private"), strict=False)
        ]
        return Drawing((mark.bar_lines(lines, 13),), below=(Below(0, went_words(self.stages), "text"),), frame="none")


NORMS = tr_later("gradient norms, in clipping norms")
TIP = tr_later(
    "The size of each row's gradient in one step, in clipping norms. Those right of the line are scaled down."
)
LABELS = ("", "1⁄16", "⅛", "¼", "½", "1", "2", "4", "8", "16", "")


class NormChart(RunChart):
    """A histogram: what lies right of the line at 1 is clipped, and hatched besides its colour."""

    margins = QMarginsF(8, 30, 8, 24)

    def __init__(self, session: Session) -> None:
        super().__init__(session, "train_norms", tr(NORMS), tr(TIP))
        self._spread: Spread | None = None

    @property
    def clipped(self) -> float | None:
        """The share of the rows that is clipped; ``None`` where no row was seen."""
        spread = self._spread
        if spread is None or not sum(spread.counts):
            return None
        above = sum(c for c, edge in zip(spread.counts[1:], spread.edges, strict=True) if edge >= 1)
        return above / sum(spread.counts)

    def begin(self, steps: int) -> None:
        self._spread = None
        self.setAccessibleName(tr(NORMS))
        self.update()

    def take(self, spread: Spread) -> None:
        self._spread = spread
        if self.clipped is not None:
            self.setAccessibleName(
                tr(
                    "{norms}: {share} % of the rows clipped at step {step}",
                    norms=tr(NORMS),
                    share=tr_number(100 * self.clipped, ".0f"),
                    step=spread.step,
                )
            )
        self.update()

    def drawing(self) -> Drawing:
        first, counts = LABELS.index("1"), self._spread.counts if self._spread is not None else ()
        return Drawing(
            (
                mark.bars(dict(enumerate(counts[:first])), "private"),
                mark.bars({at: n for at, n in enumerate(counts) if at >= first}, "sanitized", hatched=True),
                mark.upright(first, "danger", width=1.5),
            ),
            x=Scale(0, len(LABELS) - 1),
            y=Scale(0, max(1, *counts)) if counts else SHARES,
            below=[Below(at, text) for at, text in enumerate(LABELS)],
            title=tr("gradients"),
            figure="–" if self.clipped is None else tr("{share} % clipped", share=tr_number(100 * self.clipped, ".0f")),
        )


# -- the card ---------------------------------------------------------------------------------------------------------


def memory_words(sample: Memory) -> str:
    """Return a sentence on one sample of a run, of which all figures are of the run alone.

    Where the run has reported its phases, the gauge shows what it takes now.
    """
    predicted = _predicted(sample)
    if predicted:
        return predicted
    now, peak = memory(sample.now - sample.before), memory(sample.peak - sample.before)
    return tr("Rows and model take {now}, at most {peak} so far.", now=now, peak=peak)


def _predicted(sample: Memory) -> str:
    """Return what was predicted beside what the first step took, and what is expected since where that is more."""
    if sample.forecast is None or sample.first_step is None:
        return ""
    said = {"predicted": memory(sample.forecast), "measured": memory(sample.first_step)}
    expected = 0 if sample.predicted is None else sample.predicted - sample.before
    if not expected or memory(expected) in said.values():
        return tr("Predicted {predicted}, measured {measured} after the first step.", **said)
    return tr(
        "Predicted {predicted}, measured {measured} after the first step; {expected} are now expected.",
        expected=memory(expected),
        **said,
    )


class RunCard(Card):
    """Follows one run after another: the last step that was reported, of how many."""

    def __init__(self, session: Session) -> None:
        super().__init__(spacing=6)
        self.accuracy = StepChart(session, "train_accuracy", tr("batch accuracy"), top=1.0)
        self.loss = StepChart(session, "train_loss", tr("batch loss"), style="sanitized")
        self.epsilon = StepChart(session, "train_epsilon", tr("ε so far, at most"), style="third", rising=True)
        self.norms = NormChart(session)
        self.step = self.steps = 0
        self._paused = False
        self.quiet = False
        self._steps_shown = True
        self._begun: tuple[float, float] | None = None  # the steps that were taken before the first report, and when
        self._pace = ""
        self._private = (self.accuracy, self.loss, self.norms)
        self._badge = named(badge(), "train_badge")
        self._no_steps = label("", "muted", wrap=True, name="train_no_steps")
        self._memory = label("", "muted", wrap=True, name="train_memory")
        self._notice = label("", "muted", wrap=True, name="train_notice")
        self._outcome = label("", wrap=True, name="train_outcome")
        self._rising = label("", "warn", wrap=True, name="train_loss_rises")
        self._clipped = label("", "warn", wrap=True, name="train_clipped")
        self._choosing = label(tr(CHOOSING), "muted", wrap=True, name="train_choosing")
        self._speed = label("", "muted", wrap=True, name="train_speed")
        self.where = WhereChart(session)
        tip = tr(
            "Train three times: without privacy, with clipping alone, with noise as well. A study: "
            "nothing is released or charged"
        )
        self.ask_where = button(tr("Where did the accuracy go?"), "train_where", "link", tip=tip)
        second = panel(row((self._speed, 1), self.ask_where, spacing=12))
        upper = panel(lines((self.accuracy, 1), (self.loss, 1), spacing=16))
        lower = panel(lines((self.epsilon, 1), (self.norms, 1), spacing=16))
        self.body.add(
            panel(row(label(tr("THE RUN"), "caption"), None, self._badge)),
            self._no_steps,
            self._outcome,  # above the charts, which may have to be scrolled
            second,
            self.where,
            upper,
            lower,
            self._rising,
            self._clipped,
            self._choosing,
            self._memory,
            self._notice,
        )
        self.body.addStretch(0)
        for charted in (upper, lower):
            self.body.setStretchFactor(charted, 1)
        self._of_steps = (second, lower)
        self._of_private = (self._badge, upper, self.norms)
        self.clear()

    @property
    def charts(self) -> tuple[StepChart | NormChart, ...]:
        return self.accuracy, self.loss, self.epsilon, self.norms

    def show_kind(self, no_steps: str) -> None:
        """Show charts, or why there are none: ``no_steps``, empty of a model that is trained step by step."""
        self._steps_shown = not no_steps
        show_if(self._steps_shown, *self._of_steps)
        self._show_private()
        say(self._no_steps, no_steps)

    def clear(self) -> None:
        self.step = self.steps = 0
        self._paused = False
        for chart in self.charts:
            chart.begin(0)
        self._begun, self._pace = None, ""
        self._speed.setText("")
        self.where.show_stages(())
        self._show_private()
        for stated in (self._rising, self._clipped, self._memory, self._notice, self._outcome):
            say(stated, "")
        self._choosing.hide()

    def begin(
        self,
        steps: int,
        epsilon: Decimal,
        handle: JobHandle,
        *,
        quiet: bool,
        room: Decimal | None = None,
        taken: int = 0,
        spent: float = 0.0,
    ) -> None:
        """Follow a run for which the cap leaves ``room``; ``taken`` and ``spent`` are of steps before a pause."""
        self.clear()
        self.steps, self.step, self.quiet = steps, taken, quiet
        for chart in self._private:
            chart.begin(steps)
        self._show_private()
        if steps:
            self.epsilon.begin(steps, float(epsilon), None if room is None else float(room))
            self.epsilon.add(0, 0.0)
            if taken:
                self.epsilon.add(taken, spent)
        handle.progress.connect(self._take_progress)
        handle.spread.connect(self._take_spread)
        handle.metric.connect(self._take_metric)
        handle.budget.connect(self._take_budget)
        handle.memory.connect(self._take_memory)
        handle.notice.connect(self._take_notice)

    def expect(self, *, quiet: bool) -> None:
        """Show, before a run, the charts that it will have."""
        if not self.steps:
            self.quiet = quiet
            self._show_private()

    def _show_private(self) -> None:
        """Show the charts of private figures, and their badge, where a run has some: ε then has a line for itself."""
        show_if(self._steps_shown and not self.quiet, *self._of_private)

    def show_stages(self, stages: Stages) -> None:
        self.where.show_stages(stages)
        self._report_choosing()
        into_sight(self)

    def show_result(self, result: Any) -> None:
        """Draw the whole of ε where the run had steps."""
        epsilons = getattr(result, "epsilons", ())
        if epsilons:
            self.epsilon.show_points([(0, 0.0), *epsilons])

    def report_end(self, end: object, *, paused: bool = False) -> None:
        """Say how a run ended that released nothing; what it costs was shown as a notice where it failed."""
        self._paused = paused
        how = tr("Paused") if paused else tr("Cancelled") if isinstance(end, Cancelled) else tr("Ended by an error")
        what = end.what if isinstance(end, Cancelled) else ""
        # What a pause says names the step that it goes on from; the last one that was reported may be an earlier one.
        self.notify(broken_off(0 if paused else self.step, self.steps, what, how).strip())

    def settle(self, taken: int, epsilon: float) -> None:
        """Show the exact ε of a run that was paused after ``taken`` steps in place of the bound that was drawn."""
        if self._paused and (taken, epsilon) != self.epsilon.points[-1]:
            self.epsilon.show_points([point for point in self.epsilon.points if point[0] < taken])
            self.epsilon.add(taken, epsilon)

    def notify(self, text: str) -> None:
        say(self._outcome, text)
        self._speed.setText(tr("{speed} steps a second", speed=self._pace) if self._pace else "")
        if text:  # what was said on the way gives its room to the charts
            self._memory.hide()
            self._notice.hide()

    def _take_metric(self, metric: Metric) -> None:
        chart = {"accuracy": self.accuracy, "loss": self.loss}.get(metric.name)
        if chart is None:
            return
        chart.add(metric.step, metric.value)
        if chart is self.loss:
            say(self._rising, rising_words([value for _, value in chart.points]))
        self._report_choosing()

    def _take_spread(self, spread: Spread) -> None:
        self.norms.take(spread)
        say(self._clipped, clipped_words(self.norms.clipped))
        self._report_choosing()

    def _report_choosing(self) -> None:
        """Say what it costs to follow a remark, or a study on the rows, wherever there is one."""
        self._choosing.setVisible(bool(self._rising.text() or self._clipped.text() or self.where.stages))

    def _take_progress(self, progress: Progress) -> None:
        if self.steps and progress.total == self.steps:
            self._say_pace(progress)
        elif not progress.total:
            self._speed.setText(tr_sentence(progress.label))

    def _say_pace(self, progress: Progress) -> None:
        done, total = (tr_number(steps, ",.0f") for steps in (progress.done, progress.total))
        parts = [tr("step {done} of {total}", done=done, total=total)]
        now = time.monotonic()
        before, since = self._begun = self._begun or (progress.done, now)
        if progress.done > before and now > since:
            speed = float(f"{(progress.done - before) / (now - since):.2g}")
            self._pace = plain(speed)
            parts.append(tr("{speed} steps a second", speed=self._pace))
        if progress.seconds_left is not None:
            parts.append(time_words(progress.seconds_left, 0.0))
        self._speed.setText(" · ".join(parts))

    def _take_budget(self, budget: Budget) -> None:
        self.step = budget.step
        self.epsilon.add(budget.step, budget.epsilon)

    def _take_memory(self, sample: Memory) -> None:
        say(self._memory, memory_words(sample))

    def _take_notice(self, notice: Notice) -> None:
        say(self._notice, as_sentence(tr_sentence(notice.text)))


# -- what to expect of a model that takes no steps ------------------------------------------------------------------


ROOM = 620  # points of the card from which a curve with its names can be read

HIGH = 420  # points of the card in which the settings can be explained as well

UNKNOWN = tr_later(
    "Curves draws how accurate it is against ε, on your rows or on made-up ones, before anything is paid."
)


class StudyCard(Card):
    """The newest curve of the chosen model, with the ε in the form marked; below a line that leads to Curves."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._model, self._epsilon = "", Decimal(1)
        self._words = label(tr(UNKNOWN), "muted", wrap=True, name="train_study")
        tip = tr("Open Curves with this model")
        self._onward = button(tr("Its accuracy against ε →"), "train_to_curves", "link", tip=tip, press=self._go)
        self._place = stack()
        self._holder = named(panel(self._place), "train_study_holder")
        self._plot: QWidget | None = None
        self.body.add(
            label(tr("ACCURACY TO EXPECT"), "caption"), self._words, row(self._onward, None), (self._holder, 100)
        )
        self._meanings = label("", "muted", wrap=True, name="train_meanings")
        title = label(tr("WHAT THE SETTINGS MEAN"), "caption")
        self._of_settings = look(panel(stack(rule(), title, self._meanings)), "clear")
        self.body.add(self._of_settings, None)
        show_if(False, self._holder, self._of_settings)
        session.runs_changed.connect(self._draw)
        session.theme_changed.connect(self._draw)

    def show_model(self, model: str, epsilon: Decimal, meanings: Sequence[str]) -> None:
        """Show what is known of ``model``, and mark ``epsilon``; without a curve, what its settings mean."""
        self._meanings.setText("\n".join(meanings))
        if (model, epsilon) != (self._model, self._epsilon):
            self._model, self._epsilon = model, epsilon
            self._draw()

    def resizeEvent(self, event: object) -> None:  # noqa: N802 - Qt's name
        self._draw()

    def _found(self) -> RunRecord | None:
        runs = [run for run in self._session.runs if run.kind == "curve" and not run.result.plan.against]
        return next((run for run in reversed(runs) if run.result.plan.model == self._model), None)

    def _draw(self) -> None:
        found = self._found()
        self._words.setText(tr(UNKNOWN) if found is None else tr("Curves has drawn how accurate it is against ε."))
        drawn = found is not None and self.width() >= ROOM and self.isVisible()
        self._holder.setVisible(drawn)
        self._of_settings.setVisible(not drawn and self.height() >= HIGH)
        if found is None or not drawn:
            return
        # It knows numpy, which a page without a study does not wait for.

        from workbench.gui.widgets.curve_plot import CurvePlot
        from workbench.render.curve_figure import curve_figure

        if not isinstance(self._plot, CurvePlot):
            self._plot = CurvePlot("train_study", tr("Accuracy of the model against ε"))
            self._place.addWidget(self._plot)
        figure = curve_figure(found.result, found.source)
        figure = replace(figure, badge="") if found.made_up else figure
        figure = in_language(figure, found.result.plan.measured.main)
        self._plot.show_figure(figure, self._session.theme, self._epsilon)

    def _go(self) -> None:
        self._session.to_draw.make(self._model)
        self._session.go("utility")
