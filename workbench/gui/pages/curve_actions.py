"""What a person does with a curve on any page: ask about a point, copy the picture, save picture or figures."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QGuiApplication, QKeyEvent

from workbench.gui.gauges.budget import offered_words
from workbench.gui.session.draft_edits import scaled_to
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import Session
from workbench.gui.style.language import language, localised, tr, tr_later, tr_n, tr_number, tr_sentence
from workbench.gui.widgets.bar import BAND
from workbench.gui.widgets.basic import Card, button, label, row, say
from workbench.gui.widgets.formatting import at_most
from workbench.jobs import CancelToken, Emit, Job

if TYPE_CHECKING:
    from workbench.gui.widgets.curve_plot import CurvePlot
    from workbench.render.values import CurveFigure
    from workbench.studies.metrics import Metric


_WAYS = {
    "sanitised": tr_later("sanitised: {by}"),
    "corrected": tr_later("corrected: {by}"),
    "synthetic": tr_later("synthetic: {by}"),
}
_COUNTED = re.compile(r"(?P<n>[\d,]+) (?P<of>rows?|lines?|.+ splits)")


def figure_words(metric: Metric, value: float, spread: float) -> str:
    """Return a figure of a metric in words, with its margin where there is one."""
    margin = f" ± {tr_number(spread, '.3f')}" if spread else ""
    return f"{tr_sentence(metric.inside)} {tr_number(value, '.3f')}{margin}"


def against_words(metric: Metric, against: str) -> str:
    """Return the title of a curve; ``against`` is empty where it is drawn against ε."""
    return tr("{metric} against {against}", metric=tr_sentence(metric.title), against=against or "ε")


def line_words(name: str) -> str:
    """Return the name of a line, of a study or of several models, each part of it in the language of the person."""
    known = tr_sentence(name)
    first, colon, last = name.partition(": ")
    if known != name or not colon:
        return known
    if first in _WAYS:
        return tr(_WAYS[first], by=tr_sentence(last))
    return f"{tr_sentence(first)}: {line_words(last)}"


def in_language(figure: CurveFigure, metric: Metric | None = None) -> CurveFigure:
    """Return the picture of ``metric``, or of anything else, with every text of it in the language of the person."""
    if language() == "en":
        return figure
    title, y_label = tr_sentence(figure.title), tr_sentence(figure.y_label)
    if metric is not None:
        inside, unit = tr_sentence(metric.inside), tr_sentence(metric.unit)
        title, y_label = against_words(metric, figure.against), f"{inside} ({unit})"
        if " on held-out rows (" in figure.y_label:
            y_label = tr("{metric} on held-out rows ({unit})", metric=inside, unit=unit)
    return dataclasses.replace(
        figure,
        title=title,
        subtitle=" · ".join(map(_part, figure.subtitle.split(" · "))),
        x_label=tr_sentence(figure.x_label),
        y_label=f"{y_label}, {tr(BAND)}" if figure.y_label.endswith(BAND) else y_label,
        series=tuple(dataclasses.replace(line, name=line_words(line.name)) for line in figure.series),
        baselines=tuple(dataclasses.replace(level, name=line_words(level.name)) for level in figure.baselines),
        badge=tr_sentence(figure.badge),
        point=localised("."),
    )


def _part(text: str) -> str:
    """Return a part of a subtitle: a table's name, a model, a number of rows, lines or splits, a setting."""
    found = _COUNTED.fullmatch(text)
    if found is None:
        return tr_sentence(text)
    n = int(found["n"].replace(",", ""))
    if found["of"] in ("row", "rows"):
        return tr_n("{n} row", "{n} rows", n)
    if found["of"] in ("line", "lines"):
        return tr_n("{n} line", "{n} lines", n)
    return tr("{repeats} {splits}", repeats=n, splits=tr_sentence(found["of"]))


# -- what a person does with a curve ----------------------------------------------------------------------------------


CURVE_FILES = tr_later("Picture (*.png);;Vector picture (*.svg);;Figures (*.csv);;Report (*.pdf)")


@dataclass(frozen=True)
class PointFacts:
    """A point of a curve, and what can be done about it."""

    name: str
    epsilon: float
    figure: str  # what was measured there, in words
    warning: str = ""  # why it should not be taken, in a sentence; empty where nothing speaks against it
    model: str = ""  # the name of the private model that can be trained at its ε; empty where there is none
    to_run: Callable[[], object] | None = None  # shows its run in the table of runs; `None` while that is not finished
    without_privacy: bool = False  # whether it has no ε to take


class PointPanel(Card):
    """What a point is, and what can be done about it: nothing of it is done before a button is pressed."""

    def __init__(self, session: Session, plot: CurvePlot, name: str, to_run: str) -> None:
        """Make the panel over ``plot``; its parts are called ``NAME_point…``, and ``to_run`` leads to the run."""
        super().__init__(pad=12, spacing=6)
        self._session, self._plot, self._facts = session, plot, PointFacts("", 1.0, "")
        self._point: tuple[int, int] | None = None
        self.setParent(plot)
        self.setObjectName(f"{name}_point")
        self._name = label("", "heading", name=f"{name}_point_name")
        self._figure = label("", name=f"{name}_point_figure")
        self._warning = label("", "warn", wrap=True, name=f"{name}_point_warning")
        self._offered = label("", "warn", wrap=True, name=f"{name}_point_offered")
        close = button("×", f"{name}_point_close", "link", tip=tr("Close (Esc)"), accessible=tr("Close"))
        close.clicked.connect(self.close_it)
        tip = tr("Split this ε over the columns as the plan does; Ctrl+Z undoes it")
        words, take = tr("Use this ε for the table's plan"), lambda: take_epsilon(session, self._facts.epsilon)
        self._take = button(words, f"{name}_point_take", tip=tip, press=lambda: self._leave(take))
        tip = tr("Open Train with the private model at this ε; nothing is started, and the plan stays as it is")
        words, train = tr("Train this model at this ε →"), lambda: train_at(session, self._facts)
        self._train = button(words, f"{name}_point_train", tip=tip, press=lambda: self._leave(train))
        tip = tr("Its line in the table of all runs")
        self._run = button(to_run, f"{name}_point_run", tip=tip, press=lambda: self._leave(self._facts.to_run))
        self.body.addLayout(row(self._name, None, close))
        self.body.add(self._figure, self._warning, self._offered, self._take, self._train, self._run)
        self.hide()
        plot.rearranged.connect(self._place)

    def show_point(self, facts: PointFacts) -> None:
        """Show ``facts`` beside the point of the plot that is looked at, and give its first button the keys."""
        self._facts, self._point = facts, self._plot.point
        self._name.setText(facts.name)
        where = tr("at every ε") if facts.without_privacy else f"ε = {at_most(facts.epsilon)}"
        self._figure.setText(f"{where}:  {facts.figure}")
        say(self._warning, facts.warning)
        above = offered_words(self._session.questions, Decimal(repr(facts.epsilon)))
        say(self._offered, f"⚠ {above}" if above and not facts.without_privacy else "")
        self._take.setVisible(not facts.without_privacy)
        self._take.setEnabled(self._session.opened is not None)
        self._train.setVisible(bool(facts.model) and not facts.without_privacy)
        self._run.setEnabled(facts.to_run is not None)
        self.setAccessibleName(f"{facts.name}, {self._figure.text()}. {facts.warning} {self._offered.text()}".strip())
        self._plot.covered = True
        self.show()
        self._place()
        next(part for part in (self._take, self._train, self._run) if not part.isHidden()).setFocus()

    def event(self, event: QEvent) -> bool:
        """Take the room that larger text needs."""
        if event.type() == QEvent.Type.LayoutRequest:
            self._place()
        return super().event(event)

    def _place(self) -> None:
        if self.isHidden() or self._point is None:
            return
        self.adjustSize()
        at, room = self._plot.place_of(*self._point), self._plot.rect()
        x = at.x() + 16 if at.x() + 24 + self.width() < room.width() else at.x() - 16 - self.width()
        y = min(max(at.y() - self.height() / 2, 4), room.height() - self.height() - 4)
        self.move(round(max(x, 4)), round(max(y, 4)))
        self.raise_()

    def close_it(self) -> bool:
        """Close the panel and give the keys back to its point; return whether it was open."""
        if self.isHidden():
            return False
        keys = self.isAncestorOf(self.window().focusWidget()) if self.window().focusWidget() else False
        self.hide()
        self._plot.covered = False
        if keys:
            self._plot.go_to(self._point)
        return True

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        if event.key() == Qt.Key.Key_Escape:
            self.close_it()
            return
        super().keyPressEvent(event)

    def _leave(self, act: Callable[[], object] | None) -> None:
        self.close_it()
        assert act is not None
        act()


def take_epsilon(session: Session, epsilon: float) -> None:
    """Make ``epsilon`` the plan's ε, as one step that can be undone; a plan that it would spoil stays as it is."""
    scaled = scaled_to(session.plan, Decimal(repr(epsilon)))
    if scaled.problems():
        problem = scaled.problems()[0]
        stated = f"{problem.column}: {problem.text}" if problem.column else problem.text
        session.notify(
            "warning",
            tr("The plan stays as it is: at ε = {epsilon}, {problem}.", epsilon=at_most(epsilon), problem=stated),
        )
        return
    parts = [tr("The plan's ε is {epsilon}.", epsilon=at_most(epsilon))]
    if scaled.epsilon != session.plan.epsilon:  # else Ctrl+Z would take back another step
        locked = any(c.epsilon is not None for c in scaled.protected)
        parts += [*([tr("Locked shares keep their part of it.")] if locked else []), tr("Ctrl+Z takes it back.")]
        session.edit(tr("set ε to {epsilon}", epsilon=at_most(epsilon)), scaled)
    session.notify("info", " ".join(parts))


def train_at(session: Session, facts: PointFacts) -> None:
    """Suggest the private model of a point at its ε on the Train page, and show that; nothing is started."""
    session.to_train.make((facts.model, Decimal(repr(facts.epsilon))))
    said = tr("Train offers the private model at ε = {epsilon}; the plan is unchanged.", epsilon=at_most(facts.epsilon))
    session.notify("info", said)
    session.go("train")


def copy_curve(session: Session, plot: CurvePlot, *, chart: bool = False) -> None:
    """Put the picture on the clipboard, its badge on it; it is called a curve, or a ``chart``."""
    if plot.view is not None:
        QGuiApplication.clipboard().setPixmap(plot.view.grab())
        if plot.view.figure.badge:
            private = tr("Copied the curve as an image: private, not for release.")
            said = tr("Copied the chart as an image: private, not for release.") if chart else private
        else:
            said = tr("Copied the chart as an image.") if chart else tr("Copied the curve as an image.")
        session.notify("info", said)


def save_curve(
    session: Session, jobs: JobCenter, figure: CurveFigure, figures: Callable[[], str], path: Path
) -> JobHandle:
    """Save picture (.png, .svg), figures (.csv) or both (.pdf), with their badge; ``figures`` is called in a worker."""
    theme = session.theme.name

    def work(emit: Emit, cancel: CancelToken) -> Path:
        form = path.suffix.lower()
        table = figures() if form in (".csv", ".pdf") else ""
        cancel.check()  # the last chance: nothing is written after a cancel
        if form == ".csv":
            _write_csv(table, figure.badge, path)
        elif form == ".pdf":
            from workbench.release.documents.written_document import study_report, write_document

            write_document(study_report(figure, table), path)
        else:
            from workbench.render.offscreen import write_figure

            write_figure(figure, path, theme=theme)
        return path

    def apply(saved: Path) -> None:
        session.notify(
            "info",
            tr("Saved {name}: private, not for release.", name=saved.name)
            if figure.badge
            else tr("Saved {name}.", name=saved.name),
        )

    return jobs.start(Job(tr("Saving"), work, about=path.name), on_result=apply)


def _write_csv(figures: str, badge: str, path: Path) -> None:
    from workbench.release.atomic import write_output

    head = f"# {badge}\n" if badge else ""
    write_output(path, f"{head}{figures}".encode(), private=bool(badge))
