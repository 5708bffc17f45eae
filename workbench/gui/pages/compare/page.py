"""Compare: every study of the session and every released model in a table, the pinned ones drawn together."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence, QShortcut

from workbench import learners
from workbench.gui.pages import page_called
from workbench.gui.pages.base import PageFrame
from workbench.gui.pages.compare.compare_table import (
    MEMBERSHIP,
    Line,
    RunsModel,
    RunsTable,
    bound_words,
    lines_of,
    names_of,
    point_of,
)
from workbench.gui.pages.curve_actions import (
    CURVE_FILES,
    PointFacts,
    PointPanel,
    copy_curve,
    figure_words,
    in_language,
    save_curve,
    train_at,
)
from workbench.gui.session.account_task import read_models
from workbench.gui.session.draft import DraftPlan
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import OpenTable, RunRecord, Session
from workbench.gui.style.language import tr, tr_later, tr_n, tr_number, tr_sentence
from workbench.gui.widgets import private_figures
from workbench.gui.widgets.basic import Card, badge, button, label, named, panel, row, stack, views
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.gui.widgets.curve_plot import CurvePlot
from workbench.gui.widgets.dialogs import ask_for_file, ask_where_to_save
from workbench.gui.widgets.empty_state import EmptyState
from workbench.gui.widgets.explain import Asked, Explainable, of_one_row
from workbench.gui.widgets.formatting import at_most, count
from workbench.gui.widgets.master_detail import MasterDetail, Standing
from workbench.gui.widgets.table_view import TableFilter
from workbench.jobs import CancelToken, Emit, Job
from workbench.learners import learner
from workbench.learners.tasks import CLASSIFICATION
from workbench.params import InputError
from workbench.render.comparison_figure import comparison_figure
from workbench.render.values import CurveFigure
from workbench.studies.comparison import StudyLine, lines_csv
from workbench.studies.curve import MOST_REGIMES
from workbench.studies.grid.files import read_runs
from workbench.studies.metrics import measured
from workbench.studies.regimes import StudyData

if TYPE_CHECKING:
    from workbench.release.model.released_models import ReleasedModel
    from workbench.studies.grid.files import FinishedRun
    from workbench.studies.membership import Repeated
    from workbench.studies.metrics import Metric


ATTACKED = "membership"  # the kind of a run that attacked a line at an ε: the point, and what was found


def hindrance(session: Session, line: Line) -> str:
    """Return why a line cannot be attacked; empty where it can."""
    if session.opened is None or (line.study is not None and session.target is None):
        return tr("Open the table and choose what is predicted in Data: an attack trains again.")
    if line.release is not None and (not line.release.card or line.release.account != session.account.dataset):
        return tr("An attack trains again: it needs the model's folder and the table that it was trained on.")
    if line.name not in {known.name for known in learners.LEARNERS} or not (
        line.study is None or isinstance(line.study, StudyLine)
    ):
        return tr("A network is attacked in Released, Attack, with rows that were held out.")
    return ""


def attacked(
    line: Line, epsilon: float | None, opened: OpenTable, draft: DraftPlan, emit: Emit, cancel: CancelToken
) -> Repeated:
    """Train a line again on halves of the rows and attack it; the ledger notes what is found, unless it is made up."""
    from workbench.release.ledger.study_note import note_study

    found = _attacked(line, epsilon, opened, draft, emit, cancel)
    if not line.made_up:
        note_study(opened.table, "attack", emit=emit)
    return found


def _attacked(
    line: Line, epsilon: float | None, opened: OpenTable, draft: DraftPlan, emit: Emit, cancel: CancelToken
) -> Repeated:
    if line.release is not None:
        from workbench.release.attack_inputs import guarantee_of
        from workbench.release.model.open_model import open_model
        from workbench.studies.membership import of_model, repeated

        folder = Path(line.release.output)
        model, promised = open_model(folder), guarantee_of(folder)
        return repeated(lambda seed: of_model(model, opened.table, promised, seed), emit, cancel)
    from workbench.studies.membership import of_study, repeated
    from workbench.studies.why.rows import made_up_table

    study, bounds, target = line.study, draft.plan(), draft.target
    assert isinstance(study, StudyLine)
    assert target is not None
    plan, task = study.result.plan, learner(line.name).task
    rows = opened.rows_under(draft)
    table = made_up_table(bounds, target, task, rows) if line.made_up else opened.table
    data = StudyData.read(table, bounds, target, task)
    at = epsilon or plan.epsilons[0]
    return repeated(lambda seed: of_study(plan, study.way, at, data, seed), emit, cancel)


def sweep(path: Path, emit: Emit, cancel: CancelToken) -> Sequence[FinishedRun]:
    """Return the runs in the CSV of a sweep."""
    runs = read_runs(path)
    if not runs:
        raise InputError(tr("no run of the sweep has ended"), str(path), tr("run `workbench grid` on"))
    return runs


# -- the page ---------------------------------------------------------------------------------------------------------


HINT = tr_later("Tick lines in the table to draw them together: at most seven.")
NO_STUDY = tr_later(
    "Only studies are drawn, and there is none yet: Curves measures how accurate such models are on rows they have not "
    "seen."
)
ATTACK_TIP = tr_later(
    "Train the selected line again on one half of the rows, several times, and see how well an attacker distinguishes "
    "them from the others"
)
EMPTY = tr_later(
    "The studies that you run in Curves and the models that you release in Train are listed here "
    "in one table, to be sorted, filtered and drawn together."
)


class ComparePage(PageFrame):
    """The table, the metric and the ε that its figures are of, and the picture of the pinned lines."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__(session, jobs, page_called("compare"))
        self._models: tuple[ReleasedModel, ...] = ()
        self._drawn: list[Line] = []
        self._left_out = 0
        self.figure: CurveFigure | None = None
        self._pinned_by_hand = False
        self.runs = RunsModel(session)
        self.table = RunsTable(session, self.runs)
        self.plot = CurvePlot("compare", tr("Pinned lines against ε"))
        self.panel = PointPanel(session, self.plot, "compare", tr("Show its run in the table"))
        Explainable(self.plot, session, lambda: of_one_row(session, self.plot.epsilon or session.plan.epsilon))
        Explainable(self.table, session, self._asked)
        self.filter = TableFilter(self.table, "lines")
        self.measure = named(ChoiceBox(), "compare_metric", tr("Metric"), tr("Which figure is listed and drawn"))
        tip = tr("The ε of the listed figures; the picture shows every tested one")
        self.epsilon = named(ChoiceBox(), "compare_epsilon", tr("ε of the listed figures"), tip)
        tip = tr("Copy the picture, its badge on it (Ctrl+C in the picture); Ctrl+C in the table copies lines")
        self._copy = button(tr("Copy"), "compare_copy", tip=tip, press=self.copy)
        tip = tr("Save what is drawn as PNG, SVG or CSV, its badge on it")
        self._save = button(tr("Save…"), "compare_save", tip=tip, press=self._ask_and_save)
        tip = tr("Open the CSV of `workbench grid`: accuracy against ε, one line for each setting")
        self._sweep = button(tr("Open a sweep…"), "compare_sweep", tip=tip, press=self._ask_for_sweep)
        self._badge = badge()
        self._attack = button(tr("Attack"), "compare_attack", tip=tr(ATTACK_TIP), press=self._start_attack)
        self._arrange()
        self.foot.addWidget(self._attack)
        self.set_primary("", "compare_onward", lambda: self._next_step()[2]())
        self.measure.activated.connect(lambda: self._choose(self.measure))
        self.epsilon.activated.connect(lambda: self._choose(self.epsilon))
        self.runs.pinned.connect(self._pin)
        self.table.chosen_changed.connect(self._say)
        self.plot.chosen.connect(self._ask_about_point)
        self._kept: dict[ChoiceBox, object] = {}
        session.table_changed.connect(self._forget)
        session.runs_changed.connect(self.in_sight(self.refresh))
        session.plan_changed.connect(self.in_sight(self.refresh))
        session.theme_changed.connect(self.in_sight(self._draw))
        session.to_compare.made.connect(self.in_sight(self._show_asked))
        for changed in (session.account_changed, session.released_changed):
            changed.connect(self._read)
        self.refresh()
        self._show_asked()

    def _arrange(self) -> None:
        self.header.add(self._badge, self.filter, self._sweep, self._copy, self._save)
        shortcut = QShortcut(QKeySequence.StandardKey.Copy, self.plot, self.copy)
        shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        choices = label(tr("Metric"), "muted"), self.measure, 12, label(tr("at ε ="), "muted"), self.epsilon, None
        table = Card(row(*choices, margins=(8, 4, 8, 4)), (self.table, 1), pad=8, spacing=4)
        self._hint = label(tr(HINT), "muted", wrap=True, name="compare_hint")
        self._hint.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._picture = views(panel(stack(None, self._hint, None, margins=(48, 0, 48, 0))), self.plot)
        beside = named(Standing(self._picture, pad=4), "compare_picture")
        self._whole = MasterDetail(table, beside, heights=(5, 6), widths=(7, 5))
        title, leads = tr("Nothing to compare yet"), {"utility": tr("Curves →"), "train": tr("Train →")}
        self._nothing = EmptyState(self.session, "compare_nothing", title, tr(EMPTY), **leads)
        self._views = views(self._nothing, self._whole)
        self.body.addWidget(self._views, 1)

    # -- what there is --------------------------------------------------------------------------------------------

    def shown(self) -> None:
        """Read the released models anew whenever the page is shown: other programs release, too."""
        self._read()

    def _read(self) -> None:
        if self.isVisible():
            read_models(self.jobs, "compare", self._show_models)

    def _show_models(self, models: tuple[ReleasedModel, ...]) -> None:
        self._models = models
        self.refresh()

    def _forget(self) -> None:
        """Let the newest study be drawn again: those of the former table have gone."""
        self._pinned_by_hand = False
        self._kept.clear()

    def refresh(self) -> None:
        opened, account = self.session.opened, self.session.account.dataset
        lines = lines_of(self.session.runs, self._models, opened.title if opened is not None else "", account)
        self._offer(lines)
        self._show_lines(lines)
        if not self._pinned_by_hand:
            newest = lines[0].study.result if lines and lines[0].study is not None else None
            keys = [line.key for line in lines if line.study is not None and line.study.result is newest]
            if keys != list(self.runs.pins):
                self.runs.pin(keys)
        with self.laid_out_once():
            self._views.setCurrentWidget(self._whole if lines else self._nothing)
            self.filter.setVisible(bool(lines))
            if self.primary is not None:
                self.primary.setVisible(bool(lines))
        self._draw()

    def _offer(self, lines: tuple[Line, ...]) -> None:
        """Offer every metric and every ε of the studies; what was chosen stays where there still is such a one."""
        studies = [line.study for line in lines if line.study is not None]
        metrics = {metric.name: metric for study in studies for metric in study.metrics}
        if not metrics and lines:
            main = measured(CLASSIFICATION).main
            metrics = {main.name: main}
        epsilons = sorted({epsilon for study in studies for epsilon in study.epsilons})
        plan = math.log(self.session.plan.epsilon)
        near = min(epsilons, key=lambda epsilon: abs(math.log(epsilon) - plan), default=None)
        first = next(iter(metrics), None)
        self._metrics = metrics
        for box, entries, usual in (
            (self.measure, [(tr_sentence(m.title), name) for name, m in metrics.items()], first),
            (self.epsilon, [(at_most(e), e) for e in epsilons], near),
        ):
            kept = self._kept.get(box)
            box.offer(entries, kept if kept in [value for _, value in entries] else usual)
            box.setEnabled(len(entries) > 1)

    def _choose(self, box: ChoiceBox) -> None:
        self._kept[box] = box.currentData()
        self._show_lines(self.runs.lines)
        self._draw()

    def _show_lines(self, lines: tuple[Line, ...]) -> None:
        self.runs.attacked = dict(run.result for run in self.session.runs if run.kind == ATTACKED)
        self.table.setColumnHidden(MEMBERSHIP, not self.runs.attacked)
        self.runs.show_runs(lines, self._metric(), self.epsilon.currentData())
        self.table.sort_again()
        words, tip, _ = self._next_step()
        if self.primary is not None:
            named(self.primary, "compare_onward", words, tip).setText(words)

    def _next_step(self) -> tuple[str, str, Callable[[], object]]:
        """Return words, tip and action that lead on from the best of the listed figures; to a study without one."""
        metric, epsilon = self._metric(), self.epsilon.currentData()
        found = [
            (point.mean if metric.higher else -point.mean, line)
            for line in self.runs.lines
            if metric is not None and line.study is not None and line.kind != "none"
            if (point := line.study.at(metric.name, epsilon)) is not None
        ]
        if not found:
            return tr("Curves →"), tr(EMPTY), lambda: self.session.go("utility")
        best = max(found, key=lambda one: one[0])[1]
        if best.kind == "private" and best.name and self.session.opened is not None:
            tip = tr("Open Train with the private model at this ε; nothing is started, and the plan stays as it is")
            facts = PointFacts("", epsilon, "", model=best.name)
            return tr("Train →"), tip, lambda: train_at(self.session, facts)
        return tr("Release →"), tr("Publish what you decided on"), lambda: self.session.go("release")

    def _metric(self) -> Metric | None:
        return self._metrics.get(self.measure.currentData())

    # -- the picture ----------------------------------------------------------------------------------------------

    def _pin(self) -> None:
        self._pinned_by_hand = True
        self._kept.setdefault(self.measure, self.measure.currentData())  # a new study leaves the picture as it is
        self._draw()

    def _draw(self) -> None:
        self.figure = self._figure()
        pinned = bool(self.runs.pins)
        for part in (self._copy, self._save):
            part.setVisible(bool(self.runs.lines))
            part.setEnabled(self.figure is not None)
        private = any(map(self.runs.shows_private, self.runs.lines))
        # One badge a page: a picture has its own.
        self._badge.setVisible(private and (self.figure is None or not self.figure.badge))
        hint = tr(HINT if any(line.study is not None for line in self.runs.lines) else NO_STUDY)
        self._hint.setText(
            tr("No pinned line is measured by {metric}.", metric=self.measure.currentText()) if pinned else hint
        )
        if self.figure is None:
            self.plot.clear()
        else:
            self.plot.show_figure(self.figure, self.session.theme, self.session.plan.epsilon)
        self._picture.setCurrentIndex(0 if self.figure is None else 1)
        self._say()

    def _figure(self) -> CurveFigure | None:
        metric = self._metric()
        self._drawn, self._left_out = [], 0
        if metric is None:
            return None
        pinned = self.runs.pinned_lines()
        names = names_of([line for line, _ in pinned])
        found = []
        for (line, style), name in zip(pinned, names, strict=True):
            drawn = line.drawn(name, style, metric)
            if drawn is not None:
                found.append(drawn)
                self._drawn.append(line)
        self._left_out = len(pinned) - len(found)
        datasets, models = {line.dataset for line in self._drawn}, {line.model for line in self._drawn}
        about = " · ".join(next(iter(common)) for common in (datasets, models) if len(common) == 1)
        return in_language(comparison_figure(metric, found, about), metric) if found else None

    def _say(self) -> None:
        studies = len({id(line.study.result) for line in self.runs.lines if line.study is not None})
        models = sum(line.release is not None for line in self.runs.lines)
        stated = f"{count(studies, 'study', 'studies')}, {count(models, 'released model')}."
        if self._left_out and self.figure is not None:
            left_out = tr_n(
                "{n} pinned line is not measured by {metric}.",
                "{n} pinned lines are not measured by {metric}.",
                self._left_out,
                metric=self.measure.currentText(),
            )
            stated = f"{stated} {left_out}"
        line, running, stopping = self._current(), self.running, self.stopping
        hindered = tr("Select a line first.") if line is None else hindrance(self.session, line)
        self._attack.setVisible(bool(self.runs.lines))
        self._attack.setEnabled(not stopping if running else not hindered)
        self._attack.setText(tr("Cancelling…") if stopping else tr("Cancel") if running else tr("Attack"))
        self._attack.setAccessibleName(self._attack.text())
        self._attack.setToolTip("" if running else hindered or tr(ATTACK_TIP))
        found = None if line is None else self.runs.attacked.get(point_of(line, self.epsilon.currentData()))
        if running:
            stated = f"{stated} {tr('Attacking…')}"
        elif found is not None:
            stated = f"{stated} {bound_words(found.outcomes[0])}"
        elif line is not None:
            left_out = self.table.left_out(self.table.currentIndex().row())
            stated = " ".join(filter(None, (stated, f"{left_out}." if left_out else "", hindered)))
        self.set_note(stated if self.runs.lines else "")

    def _current(self) -> Line | None:
        at = self.table.currentIndex().row()
        return self.runs.lines[at] if 0 <= at < len(self.runs.lines) else None

    def _start_attack(self) -> None:
        """Attack the current line, or stop that."""
        line, epsilon = self._current(), self.epsilon.currentData()
        if self.escape() or line is None:
            return
        if line.made_up or private_figures.may_show(self, self.session):
            self._attack_line(line, epsilon)

    def _attack_line(self, line: Line, epsilon: float | None) -> None:
        session, opened = self.session, self.session.opened
        assert opened is not None
        title, point = tr("Attack on {model}", model=line.model), point_of(line, epsilon)

        def apply(found: Repeated) -> None:
            if session.opened is opened:
                session.add_run(RunRecord(ATTACKED, title, None, (point, found), line.dataset, made_up=line.made_up))

        job = Job(title, partial(attacked, line, epsilon, opened, session.plan))
        handle = self.jobs.start(job, key="compare_attack", on_result=apply)
        self.follow(private_figures.follow_note(session, self.jobs, handle))

    def _asked(self) -> Asked | None:
        """Return the ε of the current line: the charged one, or of a study the one that its figure is of."""
        line = self._current()
        if line is None or line.kind == "none":
            return None
        if line.release is not None:
            return Asked(line.release.epsilon, line.release.delta)
        return of_one_row(self.session, Decimal(repr(self.epsilon.currentData())))

    # -- the person -----------------------------------------------------------------------------------------------

    def _ask_about_point(self) -> None:
        point, metric = self.plot.point, self._metric()
        if point is None or self.figure is None or metric is None:
            return
        line, drawn = self._drawn[point[0]], self.figure.series[point[0]]
        value, spread = drawn.mean[point[1]], drawn.high[point[1]] - drawn.mean[point[1]]
        level = None if line.study is None else line.study.level(metric)
        useless = level is not None and not metric.better(value, level)
        warning = ""
        if useless:
            beats = tr_sentence(metric.beats)
            warning = tr("⚠ No better than {beats} ({level}).", beats=beats, level=tr_number(level, ".3f"))
        facts = PointFacts(
            drawn.name,
            drawn.x[point[1]],
            figure_words(metric, value, spread),
            warning=warning,
            model=line.name if line.kind in ("private", "released") and self.session.opened is not None else "",
            to_run=lambda: self._show_line(line, drawn.x[point[1]]),
            without_privacy=line.kind == "none",
        )
        self.panel.show_point(facts)

    def escape(self) -> bool:
        return super().escape() or self.panel.close_it()

    def _show_asked(self) -> None:
        asked = self.session.to_compare.value
        if asked is None:
            return
        result, regime, epsilon = asked
        studies = [line for line in self.runs.lines if line.study is not None and line.study.result is result]
        line = next((line for line in studies if line.study is not None and line.study.way.name == regime), None)
        if line is not None:
            self._show_line(line, epsilon)

    def _show_line(self, line: Line, epsilon: float) -> None:
        """Select the line of the table, its figures at ``epsilon`` where it was tested there, and draw it."""
        if self.epsilon.findData(epsilon) >= 0:
            self.epsilon.setCurrentIndex(self.epsilon.findData(epsilon))
            self._choose(self.epsilon)
        if line.key not in self.runs.pins and line.can_be_drawn:
            before = self.runs.state()
            self.runs.pin([*self.runs.pins, line.key][-MOST_REGIMES:])
            self.runs.keep_step(tr("pin a line"), before)
        at = next(at for at, known in enumerate(self.runs.lines) if known.key == line.key)
        self.filter.clear()
        self.table.selectRow(at)
        self.table.scrollTo(self.table.model().index(at, 0))
        self.table.setFocus()

    def _ask_for_sweep(self) -> None:
        text = ask_for_file(self, "sweep")
        if text:
            path = Path(text)
            job = Job(tr("Reading a sweep"), partial(sweep, path))
            self.jobs.start(job, key="compare_sweep", on_result=lambda runs: self._take_sweep(path, runs))

    def _take_sweep(self, path: Path, runs: Sequence[FinishedRun]) -> None:
        self.session.add_run(RunRecord("sweep", f"Sweep: {path.name}", None, runs, path.stem))
        self.session.notify("info", tr("{runs} of {name} are listed.", runs=count(len(runs), "run"), name=path.name))

    def copy(self) -> None:
        if self.figure is not None:
            copy_curve(self.session, self.plot)

    def _ask_and_save(self) -> None:
        path = ask_where_to_save(self, tr("Save the comparison"), "comparison.png", tr(CURVE_FILES))
        if path:
            self.save(path)

    def save(self, path: str) -> None:
        if self.figure is not None:
            drawn = tuple(self._drawn)
            save_curve(
                self.session,
                self.jobs,
                self.figure,
                lambda: lines_csv(line.figures() for line in drawn),
                Path(path),
            )
