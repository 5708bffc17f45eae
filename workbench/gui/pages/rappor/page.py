"""RAPPOR: move the parameters, simulate, release the reports of a column, decode, and look."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import partial
from typing import Any

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QWidget

from workbench.gui.pages import page_called
from workbench.gui.pages.rappor.live_plots import (
    CANDIDATES,
    SCALES,
    TITLES,
    Setting,
    bars_drawing,
    heat_drawing,
    plot_drawing,
    plots,
    roc_drawing,
)
from workbench.gui.pages.rappor.tasks import Shown, decoded, simulated
from workbench.gui.pages.release_account import RUNNING, left_words, release_hindrance, short_words
from workbench.gui.pages.release_page import ReleasedPart, ReleasePage, ReleaseWords, known_error
from workbench.gui.pages.release_tasks import Asked
from workbench.gui.pages.run_page import first_problem
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.session.undo import FormSteps
from workbench.gui.style.language import again, localised, tr, tr_later, tr_n, tr_number, tr_sentence
from workbench.gui.widgets import private_figures
from workbench.gui.widgets.basic import (
    Card,
    Fact,
    Facts,
    badge,
    into_sight,
    label,
    lines,
    look,
    named,
    row,
    say,
    scrolled,
    stack,
)
from workbench.gui.widgets.chart import Chart
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.gui.widgets.formatting import at_most, count, percent, plain, together
from workbench.gui.widgets.parameter_form import Form
from workbench.jobs import Job
from workbench.params import ParameterError
from workbench.privacy.accounting.compose import for_person
from workbench.privacy.accounting.event import Cost, PureDp
from workbench.privacy.rappor.parameters import RapporCost, cost
from workbench.rappor.decode import smallest_detectable
from workbench.rappor.simulate import PRESETS

RELEASED = ReleaseWords(
    name="rappor",
    question=tr_later("Release these reports?"),
    file=tr_later("The reports; .csv"),
    ending="rappor",
    kinds=tr_later("CSV (*.csv)"),
    verb=tr_later("Release reports…"),
    again=tr_later("Release reports again…"),
)
FREE = tr_later("Simulate is free and private. A release is charged first; it cannot be undone.")
LOOK = (
    tr_later("Decode the reports"),
    tr_later("Reads the released file, which is public, and looks for the public values of its column"),
)
_FIGURE = re.compile(r"\d\.\d+")
INFINITE = tr_later("These parameters have an infinite ε: a report can prove what its client's value is.")
UNBOUNDED = tr_later(
    "⚠ With f = 0, ε∞ has no bound: each report adds ε₁, and many reports of one client prove its value."
)


class ResultsView(QWidget):
    """Bars with intervals, the bits of each cohort, and the ROC; hidden until something was decoded."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        look(self, "clear")
        self._found: Shown | None = None
        self._title = label(tr("WHAT IS FOUND"), "caption", name="rappor_found_title")
        self._badge = badge()
        self._stated = label("", wrap=True, name="rappor_found")
        self._bars = Chart(session, "rappor_bars", usual=QSize(480, 190), least=QSize(0, 170))
        self._heat = Chart(session, "rappor_heat", usual=QSize(300, 150), least=QSize(0, 140))
        self._roc = Chart(session, "rappor_roc", usual=QSize(220, 150), least=QSize(0, 140))
        first = Card(row(self._title, None, self._badge), self._stated, self._bars, pad=12, spacing=6)
        bits = Card(label(tr("BITS"), "caption"), self._heat, pad=12, spacing=6)
        curves = Card(label(tr("ROC BY NUMBER OF REPORTS"), "caption"), self._roc, pad=12, spacing=6)
        self.setLayout(stack(first, row((bits, 1), (curves, 1), spacing=12), spacing=12))
        self.hide()

    @property
    def private(self) -> bool:
        return self._found is not None and self._found.private

    def show_released(self, found: Shown | None) -> None:
        self._found = found
        self.setVisible(found is not None)
        if found is None:
            return
        self._bars.show_drawing(bars_drawing(found.bars))
        self._roc.show_drawing(roc_drawing(found.roc))
        self._heat.show_drawing(heat_drawing(found.heat))
        self._title.setText(tr("WHAT IS FOUND: {title}", title=again(found.title)))
        self._badge.setVisible(found.private)
        self._stated.setText(_words(found))

    def retranslate(self) -> None:
        if self._found is not None:
            self.show_released(self._found)


def _words(found: Shown) -> str:
    parts = [count(found.reports, "report"), tr("{found} found", found=tr_number(found.detected, ","))]
    if found.missed is not None and found.false is not None:
        parts += [
            tr("{missed} missed", missed=tr_number(found.missed, ",")),
            count(found.false, "false discovery", "false discoveries"),
        ]
    low, high = (percent(end, 2) for end in found.unexplained)
    said = {"counts": together(parts), "low": low, "high": high}
    if not found.more:
        return tr("{counts} (Bonferroni, α = 0.05); {low} to {high} of the reports are of no candidate.", **said)
    return tr_n(
        "{counts} (Bonferroni, α = 0.05); {low} to {high} of the reports are of no candidate; "
        "{n} more candidate is not shown.",
        "{counts} (Bonferroni, α = 0.05); {low} to {high} of the reports are of no candidate; "
        "{n} more candidates are not shown.",
        found.more,
        **said,
    )


class RapporPage(ReleasePage):
    """Parameters with what they cost and detect, the simulation, the release, and what was decoded."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__(session, jobs, page_called("rappor"), RELEASED)
        self._facts = Facts(wrap_names=True)
        self.form = Form("rappor", Setting, titles=TITLES, sliders=SCALES)
        self._plots = [
            Chart(session, name, usual=QSize(260, 116), least=QSize(0, 110))
            for name in ("rappor_epsilon_plot", "rappor_detectable_plot")
        ]
        tip = tr("An experiment with made-up clients, or a column of the open table")
        self._source = named(ChoiceBox(), "rappor_source", tr("Values"), tip)
        self._source.give_way(30)
        self._results = ResultsView(session)
        self._released = ReleasedPart(
            self,
            self._results,
            lambda _opened, path, _plan, emit, cancel: decoded(path, emit, cancel),
            LOOK,
            tr("The reports cannot be decoded."),
        )
        self._arrange()
        tip = tr("Simulate and decode (Ctrl+Return); free")
        self.set_primary(tr("Simulate"), "rappor_simulate", self._simulate, tip)
        self.form.changed.connect(self._changed)
        self._target.textChanged.connect(lambda _text: self.refresh())
        self._source.activated.connect(lambda _at: self._chose_source())
        self._steps = FormSteps(
            session.undo_stack,
            "rappor",
            self._state,
            self._restore,
            title=lambda key: tr("values") if key == "source" else self.form.title_of(key),
            written=lambda key: key != "source",
        )
        session.table_changed.connect(self.in_sight(self._start_over))
        session.plan_changed.connect(self.in_sight(self._follow_plan))
        session.account_changed.connect(self.in_sight(self._show_released))
        session.released_changed.connect(self.in_sight(self._show_released))
        self._start_over()

    def _arrange(self) -> None:
        self._unbounded = label(tr(UNBOUNDED), "warn", wrap=True, name="rappor_unbounded")
        costs = label(tr("WHAT IT COSTS AND CAN FIND"), "caption")
        bounds = Card(costs, self._facts, self._unbounded, *self._plots, pad=12, spacing=6)
        parameters = Card(label(tr("PARAMETERS OF EVERY CLIENT"), "caption"), self.form, None, pad=12, spacing=6)
        above = lines((parameters, 5), (bounds, 6), spacing=12)
        layout = stack((above, 1), self._released, (self._results, 1), spacing=12)
        title = label(tr("values"), "muted")
        title.setBuddy(self._source)
        self.header.add(title, self._source)
        self.body.add((scrolled(layout, "rappor_area"), 1), self._refusal, self._into_line(self._release))

    # -- what is shown --------------------------------------------------------------------------------------------

    def _start_over(self) -> None:
        self._start_over_target()
        if self._results.private:
            self._results.show_released(None)
        self._follow_plan()
        self._released.show_newest()

    def _follow_plan(self) -> None:
        """Offer the columns that the plan does not publish as they are."""
        chosen, offered = self._source.currentData(), []
        for known in sorted(PRESETS, key=lambda preset: preset.parameters.f == 0):  # a bounded one first
            title = _FIGURE.sub(lambda found: localised(found[0]), tr_sentence(known.title))
            offered.append((tr("made-up: {title}", title=title), f"preset:{known.name}"))
        columns = self.session.plan.columns if self.session.opened is not None else ()
        named_so = (c.name for c in columns if c.action != "keep")
        self._source.offer([*offered, *((tr("column {name}", name=n), f"column:{n}") for n in named_so)], chosen)
        with self._steps.unasked():
            self._chose_source(first=chosen is None)

    def _chose_source(self, *, first: bool = True) -> None:
        kind, _, name = str(self._source.currentData()).partition(":")
        if kind == "preset" and first:
            known = next(known for known in PRESETS if known.name == name)
            former = self._setting()
            each = 1 if former is None else former.each
            self.form.set_value(Setting(**vars(known.parameters), clients=known.reports, each=each))
        self._changed()

    def _changed(self) -> None:
        self._steps.keep()
        self.refresh()

    def _state(self) -> dict[str, Any]:
        return {"source": self._source.currentData(), **self.form.state()}

    def _restore(self, state: Mapping[str, Any]) -> None:
        self._source.setCurrentIndex(max(self._source.findData(state["source"]), 0))
        self.form.restore(state)
        self.refresh()

    def _setting(self) -> Setting | None:
        found = self.form.value()
        assert found is None or isinstance(found, Setting)
        return found

    def _chosen(self) -> tuple[str | None, str]:
        """Return the chosen column, ``None`` for made-up clients, and the name of their preset."""
        kind, _, name = str(self._source.currentData()).partition(":")
        return (name, "") if kind == "column" else (None, name)

    def refresh(self) -> None:
        session, setting = self.session, self._setting()
        if setting is not None:
            for plot, found in zip(self._plots, plots(setting, self.form.last), strict=True):
                plot.show_drawing(plot_drawing(found))
        bound = self._show_cost(setting)
        running, releasing = self.running, self._releasing is not None
        hinder = self._hindrance(setting, bound)
        assert self.primary is not None
        self.primary.setEnabled(setting is not None and not running)
        self.primary.setText(tr("Simulating…") if running and not releasing else tr("Simulate"))
        self._into.setVisible(session.opened is not None)
        self._release.setEnabled(not hinder and not running and bool(self._target.text().strip()))
        self._name_release(done=False)
        self.form.setEnabled(not running)
        self._source.setEnabled(not running)
        self.show_cancel()
        stated = hinder if session.opened is not None else ""
        self.set_note(tr(RUNNING) if releasing else stated or tr(FREE))

    def _hindrance(self, setting: Setting | None, bound: RapporCost | None) -> str:
        session = self.session
        if setting is None or session.opened is None:
            return ""
        if self._chosen()[0] is None:
            return tr("Choose a column of the table to release its reports.")
        if bound is None:
            return tr(INFINITE)
        keep = first_problem(session) or release_hindrance(session)[0]
        return keep or short_words(session, self._charge(bound))

    def _charge(self, bound: RapporCost) -> Decimal:
        epsilon = bound.decimal()
        rows = self.session.plan.rows_per_person if self.session.opened is not None else 1
        return for_person(Cost(epsilon, Decimal(0), PureDp(epsilon)), rows).epsilon

    def _show_cost(self, setting: Setting | None) -> RapporCost | None:
        """Show both ε and what can be found; return the cost where it is finite."""
        self._unbounded.setVisible(setting is not None and setting.f == 0)
        if setting is None:
            self._facts.show_lines(())
            return None
        bound = cost(setting, setting.each)
        try:
            charged: Decimal | None = self._charge(bound)
        except ParameterError:
            charged = None
        both = (
            _epsilon("rappor_one", tr("ε₁, of one report"), bound.one),
            _epsilon("rappor_permanent", tr("ε∞, of any number of reports"), bound.permanent),
        )
        self._facts.show_lines((*both, *self._charged(setting, bound, charged), _least(setting)))
        return None if charged is None else bound

    def _charged(self, setting: Setting, bound: RapporCost, charged: Decimal | None) -> Iterator[Fact]:
        words = tr("charged by Release")
        if charged is None:
            yield Fact("rappor_charge", words, tr("∞: refused"), "danger", tr(INFINITE))
            return
        if setting.each > 1:
            words = tr("charged for {each} reports each", each=tr_number(setting.each, ","))
        exact = tr_number(bound.exact, ".10g")
        tip = tr("min(ε∞, reports · ε₁); the exact bound of these reports is {exact}", exact=exact)
        yield Fact("rappor_charge", words, f"ε = {at_most(charged)}", "accent", tip)
        if self.session.opened is not None and self._chosen()[0] is not None:
            yield Fact("rappor_left", tr("left after it"), *left_words(self.session, charged))

    # -- what it does ---------------------------------------------------------------------------------------------

    def _simulate(self) -> None:
        setting, opened, (column, made_up) = self._setting(), self.session.opened, self._chosen()
        if setting is None or self.job is not None or (column is not None and opened is None):
            return
        if column is not None and not private_figures.may_show(self, self.session):
            return
        self._failure = None
        self._refusal.hide()

        def apply(found: Shown) -> None:
            if column is None or self.session.opened is opened:
                self._show(found)

        def failed(error: BaseException) -> None:
            self._failure = known_error(error)
            say(self._refusal, self.session.worded(error))

        work = partial(simulated, opened, column, made_up, setting.parameters, setting.clients)
        job = Job(tr("Simulating reports"), work)
        handle = self.jobs.start(job, key="rappor-simulate", on_result=apply, on_failure=failed)
        self.follow(private_figures.follow_note(self.session, self.jobs, handle))

    def _show(self, found: Shown) -> None:
        self._results.show_released(found)
        into_sight(self._results)

    def asked(self) -> Asked | None:
        from workbench.rappor.collection import Collection
        from workbench.release.rappor.rappor_work import FORMATS, rappor_work

        setting, (column, _) = self._setting(), self._chosen()
        if setting is None or column is None:
            return None
        collection = Collection(column=column, reports=setting.each)
        title = tr("RAPPOR reports of {column}", column=column)
        return Asked(title, lambda _plan, rows, _kind: rappor_work(setting.parameters, collection, rows), FORMATS)

    def _show_released(self) -> None:
        self._released.show_newest()
        self.refresh()


def _epsilon(key: str, words: str, value: float) -> Fact:
    if value == float("inf"):
        return Fact(key, words, "∞", tip=tr("infinite: f = 0 bounds nothing in the long run"))
    return Fact(key, words, at_most(value), tip=plain(value))


def _least(setting: Setting) -> Fact:
    least = smallest_detectable(setting, setting.clients, CANDIDATES)
    words = tr("smallest share found in {clients} reports", clients=tr_number(setting.clients, ","))
    tip = tr(
        "The share that is found in 80 % of collections among {candidates} candidates (Bonferroni, α = 0.05)",
        candidates=CANDIDATES,
    )
    return Fact("rappor_least", words, percent(least, 2) if least < 1 else tr("none"), tip=tip)
