"""Utility: how good models are against ε, drawn while it is computed."""

from __future__ import annotations

import dataclasses
from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QCheckBox

from workbench.gui.pages import page_called
from workbench.gui.pages.curve_actions import (
    CURVE_FILES,
    PointFacts,
    PointPanel,
    copy_curve,
    figure_words,
    in_language,
    save_curve,
)
from workbench.gui.pages.run_page import RunPage, fitting, misfit, what_is_missing
from workbench.gui.pages.utility.curve_form import CurveSetup
from workbench.gui.pages.utility.messages import ResultsTable, best_line, in_words, no_use, shown
from workbench.gui.pages.utility.tasks import EVERY, Live, Snapshot, figures_of, run_study, studied
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later, tr_n, tr_sentence
from workbench.gui.widgets import private_figures
from workbench.gui.widgets.basic import Card, badge, button, label, named, panel, row, segments, show_if, stack, views
from workbench.gui.widgets.curve_plot import CurvePlot
from workbench.gui.widgets.dialogs import ask_where_to_save
from workbench.gui.widgets.explain import Explainable, explain_button, of_one_row
from workbench.gui.widgets.formatting import at_most
from workbench.learners import learner
from workbench.release.ledger.study_note import BEFORE
from workbench.render.comparison_figure import joined_figure
from workbench.render.values import CurveFigure
from workbench.signals.events import Finished
from workbench.studies.curve import CurvePlan
from workbench.studies.metrics import Metric

MADE_UP_HELP = tr_later(
    "Made-up rows follow from the declared columns alone, and show nothing about your rows: good for "
    "choosing ε and a kind of model, but not for the accuracy on your rows."
)
ON_MADE_UP = tr_later("On made-up rows, which contain no real data.")
CURVE, TABLE = "plot", "table"
STANDARD, LINES_SAID = 2, 3
"""Models of the standard comparison, the advised one and the next; lines of what a whole study says in words."""

STANDARD_TIP = tr_later(
    "Two models that fit the target, in every way of training that they have, drawn together; "
    "your lists of ε and repeats stay as they are"
)
DRAWN = tr_later("All models are drawn; Compare lists every line.")


class UtilityPage(RunPage):
    """What is compared, the curve (or its figures as a table), and what it says in words."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__(session, jobs, page_called("utility"))

        self.setup = CurveSetup(session.undo_stack)
        self.plot = CurvePlot("curve", tr("Accuracy against ε"))
        self.panel = PointPanel(session, self.plot, "curve", tr("See its run in Compare →"))
        Explainable(self.plot, session, lambda: of_one_row(session, self.plot.epsilon or session.plan.epsilon))
        self.table = ResultsTable(session)
        self._live = Live(maxlen=1)
        self._snapshots: dict[str, Snapshot] = {}  # of each model, the newest
        self._studied: object = None
        self._asked: CurvePlan | None = None
        self._rows_made_up = False
        self._to_follow: list[CurvePlan] = []  # of several models: those that are not begun yet
        self._places: tuple[tuple[str, int], ...] = ()  # the model of each line that is drawn, and its number there
        self._looks = QTimer(self, interval=round(1000 * EVERY))
        self._looks.timeout.connect(self._look)
        self._fill_header()
        self._words = label("", wrap=True, name="curve_words")
        self._arrange()
        cancel = button(tr("Cancel"), "curve_cancel", tip=tr("Stop; what is trained is kept (Esc)"))
        self._standard = button(tr("Standard comparison"), "curve_standard", tip=tr(STANDARD_TIP), press=self._compare)
        self._made_up = QCheckBox(tr("on made-up rows"))
        named(self._made_up, "curve_made_up", tr("On made-up rows"), tr(MADE_UP_HELP))
        self._made_up.toggled.connect(lambda _on: self.refresh())
        self.setup.last_line.add(self._made_up, None, self._standard)
        self.set_run(tr("Run"), "curve_run", tr("Train every model (Ctrl+Return)"), cancel)
        tip = tr("Train a private model or network, and release that")
        self.add_way(tr("Train a model →"), "curve_to_train", "train", tip)
        tip = tr("Publish the sanitised table as the plan says (Ctrl+Return)")
        self.set_onward(tr("Release the table →"), "curve_to_release", "release", tip)
        self._connect()
        self._show_all()
        if session.to_draw.value is not None:
            self.setup.choose(session.to_draw.value)

    def _fill_header(self) -> None:
        titles = (
            (CURVE, tr("Curve"), tr("Show the figures as lines")),
            (TABLE, tr("Table"), tr("Show the figures as a table that can be sorted")),
        )
        self._switch = segments(self, "curve_as_", titles, lambda _shown: self._draw())
        tip = tr("Copy what is shown, its badge on it (Ctrl+C)")
        self._copy = button(tr("Copy"), "curve_copy", tip=tip, press=self.copy)
        tip = tr("Save it as PNG, SVG or CSV, its badge on it")
        self._save = button(tr("Save…"), "curve_save", tip=tip, press=self._ask_and_save)
        shortcut = QShortcut(QKeySequence.StandardKey.Copy, self, self.copy)
        shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        self._switch[CURVE].setChecked(True)
        tip = tr("How much accuracy each step of privacy costs, and what would win it back")
        why = self.leading_to("why", tr("Where accuracy goes →"), "utility_way_why", tip)
        self.header.add(why, *self._switch.values(), self._copy, self._save)

    def _connect(self) -> None:
        session = self.session
        self.setup.changed.connect(self.refresh)
        self.setup.look_changed.connect(self._draw)
        self.plot.chosen.connect(self._ask_about_point)
        session.to_draw.made.connect(self.setup.choose)
        session.table_changed.connect(self._forget)
        session.table_changed.connect(self.in_sight(self._show_all, whole=True))
        for changed in (session.plan_changed, session.theme_changed):
            changed.connect(self.in_sight(self._draw))
        session.plan_changed.connect(self.in_sight(self.refresh))
        session.account_changed.connect(self.in_sight(self.refresh))

    def _arrange(self) -> None:
        self._empty = label("", "muted", wrap=True, name="curve_empty")
        heading = label(tr("How much worse do models get with privacy?"), "heading")
        for said in (heading, self._empty):
            said.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        inviting = panel(stack(None, heading, self._empty, None, margins=(48, 0, 48, 0)))
        self._badge = badge()
        figures = panel(stack(8, panel(row(None, self._badge, 12)), self.table))
        self._views = views(inviting, self.plot, figures)
        picture = Card(self._views, pad=4)
        self.body.add(self.setup, (picture, 1))
        session = self.session
        ask = explain_button(session, "curve_explain", lambda: of_one_row(session, session.plan.epsilon))
        self._says = Card(panel(row((self._words, 1), ask, spacing=16)), pad=12)
        self.body.addWidget(self._says)

    # -- the study ------------------------------------------------------------------------------------------------

    @property
    def figure(self) -> CurveFigure | None:
        """What is drawn: the chosen metric, with or without bands and baselines."""
        whole = self._whole()
        if whole is None:
            return None
        return shown(whole, bands=self.setup.bands.isChecked(), baselines=self.setup.baselines.isChecked())

    @property
    def _snapshot(self) -> Snapshot | None:
        return next(reversed(self._snapshots.values()), None)

    def _whole(self) -> CurveFigure | None:
        """Return the picture of the metric that is drawn, of all models together."""
        figures = {
            model: shot.figures[self._metric(shot).name]
            for model, shot in self._snapshots.items()
            if self._metric(shot).name in shot.figures
        }
        if len(figures) < 2:
            self._places = tuple((model, at) for model, figure in figures.items() for at in range(len(figure.series)))
            only = next(iter(figures.values()), None)
            return None if only is None else self._said(only)
        titles = [tr_sentence(learner(model).short or learner(model).title) for model in figures]
        joined, places = joined_figure(list(zip(titles, figures.values(), strict=True)))
        names = list(figures)
        self._places = tuple((names[number], at) for number, at in places)
        return self._said(joined)

    def _said(self, figure: CurveFigure) -> CurveFigure:
        assert self._snapshot is not None
        return in_language(figure, self._metric(self._snapshot))

    def _metric(self, snapshot: Snapshot) -> Metric:
        """Return the chosen metric; the task's main one where the study has no other (F1 is for two classes)."""
        study, name = snapshot.result.plan.measured, self.setup.measure.currentData()
        return study.metric(name) if name in snapshot.figures else study.main

    def start(self) -> None:
        plans = list(self.setup.plans(self.session.plan.epsilon))
        if not plans or any(misfit(self.session, model) for model in self.setup.models):
            return
        if not private_figures.may_run(self, self.session, self._made_up, tr(MADE_UP_HELP)):
            return
        done = {model: shot for model, shot in self._snapshots.items() if model in self.setup.models}
        # What was drawn of another plan, or of other rows, does not belong beside these.
        self._snapshots = done if self._studied == self._present() else {}
        self.setup.kept = True
        self._to_follow = plans
        self._asked = plans[0]
        self._studied = self._present()
        self._rows_made_up = self._made_up.isChecked()
        self._go_on()
        self.setup.unfold(shown=False)  # once the keys are on Cancel

    def _go_on(self) -> None:
        if not self._to_follow:
            if len(self._snapshots) > 1:
                self.session.notify("info", tr(DRAWN))
            return
        plan = self._to_follow.pop(0)
        self._live = Live(maxlen=1)
        handle = run_study(self.session, self.jobs, plan, self._live, made_up=self._rows_made_up)
        handle.finished.connect(self._finish)
        self._looks.start()
        self.follow(handle)

    def _compare(self) -> None:
        """Run the standard comparison: what is in the lists of ε and repeats is the person's own."""
        self.setup.fill_in(self._standard_models())
        self.start()

    def _standard_models(self) -> list[str]:
        found = [entry for entry in fitting(self.session).predicting if entry.ordinary is not None]
        return [entry.name for entry in found if not entry.each_prediction][:STANDARD]

    def _look(self) -> None:
        if self._live:
            self._show(self._live.pop())

    def _show(self, snapshot: Snapshot) -> None:
        model = snapshot.result.plan.model
        self._snapshots.pop(model, None)
        self._snapshots[model] = snapshot
        self.in_sight(self._draw)()

    def _finish(self, whole: Snapshot) -> None:
        self._live = Live(maxlen=1)  # what was left there on the way is older than the whole
        self._show(whole)

    def job_ended(self, handle: JobHandle) -> None:
        """Show what came last; a study that was stopped keeps it in sight, and none follows it."""
        self._looks.stop()
        self._look()
        if isinstance(handle.end, Finished):
            self._go_on()
        else:
            self._to_follow = []

    def _forget(self) -> None:
        self._to_follow = []
        self.forget()
        self._looks.stop()
        self._snapshots = {}
        self.setup.kept = False
        self.setup.unfold()

    def _show_all(self) -> None:
        self._draw()
        self.refresh()

    # -- what is shown --------------------------------------------------------------------------------------------

    def retranslate(self) -> None:
        self.in_sight(self._draw)()

    def _draw(self) -> None:
        with self.laid_out_once():
            self._show_figure(self.figure)

    def _show_figure(self, figure: CurveFigure | None) -> None:
        self.panel.close_it()
        show_if(figure is not None, *self._switch.values(), self._copy, self._save, self._says)
        self._views.setCurrentIndex(0 if figure is None else 1 if self._switch[CURVE].isChecked() else 2)
        self.table.show_figure(figure)
        self._badge.setVisible(figure is not None and bool(figure.badge))
        if figure is None or self._snapshot is None:
            self.plot.clear()
            return
        epsilon = self.session.plan.epsilon
        self.plot.show_figure(figure, self.session.theme, epsilon)
        whole = self._whole()
        assert whole is not None
        metric = self._metric(self._snapshot)
        stated = in_words(whole, epsilon, metric)
        absent = tr_sentence(self._snapshot.result.left_out.get(self.setup.measure.currentData(), ""))
        partly = bool(self._to_follow) or self._snapshot.done < self._snapshot.total
        if partly and stated:
            stated = tr("So far: {words}", words=f"{stated[:1].lower()}{stated[1:]}")
        if self._rows_made_up:
            stated = f"{tr(ON_MADE_UP)} {stated}".strip()
        if absent and metric.name != self.setup.measure.currentData():
            absent = f"{absent} {tr('{title} is drawn instead.', title=tr_sentence(metric.title))}"
        stated = " ".join(filter(None, (absent, stated)))
        self._words.setText(stated)
        # Room for all that a whole study says, from its first point on: no point moves away from under the pointer.
        self._words.setMinimumHeight(LINES_SAID * self._words.fontMetrics().lineSpacing())

    def refresh(self) -> None:
        missing = what_is_missing(self.session)
        self.setup.show_models(fitting(self.session))
        unfit = misfit(self.session, self.setup.model.currentData())
        show_if(not missing and not self.running, self._standard, self._made_up)
        self._standard.setEnabled(not missing and len(self._standard_models()) == STANDARD)
        self.setup.show_misfit(unfit)
        plan, epsilon = self.setup.value(), self.session.plan.epsilon
        besides = plan is not None and not plan.against and float(epsilon) not in plan.epsilons
        self.setup.say_with(at_most(epsilon) if besides and not missing else "")
        fits = sum(len(one.fits()) for one in self.setup.plans(epsilon))
        question = tr("how good each is") if plan is None else tr_sentence(plan.measured.question)
        self.show_buttons(missing, ready=plan is not None and not unfit, done=self._done(), way=self._best_as_model())
        self._empty.setText(
            missing
            or tr(
                "Run trains the same model on the same rows without privacy, on a sanitised table, and with "
                "noise in the model, and draws {question} on rows it has not seen. It spends none of the "
                "budget, because none of it is ever released.",
                question=question,
            )
            + ("" if not self._is_first() else f"\n\n⚠ {tr_sentence(BEFORE)}\n\n{tr(MADE_UP_HELP)}")
        )
        stated = missing or (unfit and tr("This model cannot learn this target: see above."))
        said_above = missing and self.figure is None
        self.set_note("" if said_above else stated or self._progress_note(fits))

    def _done(self) -> bool:
        """Whether every model of what the fields say is trained, on what the plan still says.

        The plan's ε may have changed since: it is then read off between the points.
        """
        plans = {plan.model: plan for plan in self.setup.plans(self.session.plan.epsilon)}
        if not plans or set(plans) != set(self._snapshots) or self._studied != self._present():
            return False
        typed = self.setup.value()
        assert typed is not None
        return all(
            shot.done == shot.total
            and dataclasses.replace(shot.result.plan, epsilons=plans[model].epsilons) == plans[model]
            and set(typed.epsilons) <= set(shot.result.plan.epsilons)
            for model, shot in self._snapshots.items()
        )

    def _best(self) -> int | None:
        """Return the number of the line that is best at the plan's ε; ``None`` where none is of use."""
        shot, whole = self._snapshot, self._whole()
        if shot is None or whole is None:
            return None
        return best_line(whole, self.session.plan.epsilon, self._metric(shot))

    def _best_as_model(self) -> bool | None:
        """Return whether a model is the best release, and not a table; ``None`` where neither is of use."""
        whole, best = self._whole(), self._best()
        if whole is not None and whole.against:  # not ε but a setting that private models alone have
            return True
        return None if best is None else self._kind_of(best) == "private"

    def _best_words(self) -> str:
        """Return for what the highlighted button is best."""
        whole, best, epsilon = self._whole(), self._best(), at_most(self.session.plan.epsilon)
        if whole is None or whole.against:
            return ""
        said = {"target": self.session.target, "epsilon": epsilon}
        if best is None:
            return tr("Best way to model {target} at your ε = {epsilon}: none, because none is useful.", **said)
        line = whole.series[best].name
        return tr("Best way to model {target} at your ε = {epsilon}: {line}.", line=line, **said)

    def _present(self) -> object:
        return studied(self.session, self._asked), self._made_up.isChecked()

    def _progress_note(self, fits: int) -> str:
        shot = self._snapshot
        if self.running:
            return tr("The curve grows while it is computed.")
        if shot is not None and self._studied != self._present():
            return tr("The plan has changed since: press Run to draw the curve again.")
        if shot is not None and shot.done < shot.total:
            return tr("Stopped; what was trained is kept, and Run does the rest.")
        if shot is not None and self._done():
            new = float(self.session.plan.epsilon) not in shot.result.plan.epsilons and not shot.result.plan.against
            trained = sum(one.total for one in self._snapshots.values())
            stated = tr_n("{n} model is trained.", "All {n} models are trained.", trained)
            more = tr("Your ε is between the points: press Run to add it.") if new else self._best_words()
            return more or stated
        if not fits:
            return ""
        stated = tr_n("{n} model to train.", "{n} models to train.", fits)
        return f"{stated} {tr(private_figures.BESIDE)}" if self._is_first() else stated

    def _is_first(self) -> bool:
        return private_figures.is_first(self.session) and not self._made_up.isChecked()

    # -- the person -----------------------------------------------------------------------------------------------

    def _ask_about_point(self) -> None:
        point, whole = self.plot.point, self._whole()
        if point is None or whole is None:
            return
        model, _ = self._places[point[0]]
        shot, line = self._snapshots[model], whole.series[point[0]]
        metric = self._metric(shot)
        spread = line.high[point[1]] - line.mean[point[1]]
        figure = figure_words(metric, line.mean[point[1]], spread)
        kind = self._kind_of(point[0])
        regime = next((name for name in shot.result.plan.names if name.partition(":")[0] == kind), "")
        run = next((run for run in self.session.runs if run.result is shot.result), None)

        def to_run() -> None:
            self.session.to_compare.make((shot.result, regime, line.x[point[1]]))
            self.session.go("compare")

        facts = PointFacts(
            line.name,
            line.x[point[1]],
            figure,
            warning=no_use(whole, line, point[1], metric),
            model=model if kind == "private" else "",
            to_run=to_run if run is not None else None,
            without_privacy=kind == "none",
        )
        self.panel.show_point(facts)

    def _kind_of(self, line: int) -> str:
        """Return the way of training of a line that is drawn, whatever style it has beside others."""
        model, at = self._places[line]
        shot = self._snapshots[model]
        style = shot.figures[self._metric(shot).name].series[at].style
        return "none" if style == "no-privacy" else style

    def escape(self) -> bool:
        return self.panel.close_it() or super().escape()

    def copy(self) -> None:
        if self._snapshot is None:
            return
        if self._switch[TABLE].isChecked():
            self.table.copy_cells(whole=not self.table.selectionModel().hasSelection())
        else:
            copy_curve(self.session, self.plot)

    def _ask_and_save(self) -> None:
        path = ask_where_to_save(self, tr("Save the curve"), "curve.png", tr(CURVE_FILES))
        if path:
            self.save(path)

    def save(self, path: str) -> None:
        figure = self.figure
        if figure is not None and self._snapshots:
            results = [shot.result for shot in self._snapshots.values()]
            save_curve(self.session, self.jobs, figure, partial(figures_of, results), Path(path))
