"""Synthetic rows: method, target, cuts and number of rows, a private preview, and a look at what was released."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PySide6.QtWidgets import QLineEdit

from workbench import synth
from workbench.gui.pages.release.pane import WayPane
from workbench.gui.pages.release.synthetic.comparison_card import ComparisonCard, ImpossibleEditor
from workbench.gui.pages.release_account import steps_of
from workbench.gui.pages.release_page import ReleasedPart, ReleasePage, ReleaseWords
from workbench.gui.pages.release_tasks import Chosen, Foreseen
from workbench.gui.session.job_center import JobHandle
from workbench.gui.session.session import OpenTable
from workbench.gui.style.language import as_sentence, tr, tr_later, tr_n, tr_number, tr_sentence
from workbench.gui.widgets import private_figures
from workbench.gui.widgets.basic import button, hold, hold_most, into_sight, label, say
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.gui.widgets.epsilon_entry import DeltaLine
from workbench.gui.widgets.formatting import at_most, count, listed
from workbench.gui.widgets.parameter_form import Form
from workbench.jobs import CancelToken, Emit, Job
from workbench.params import InputError, declared_by
from workbench.privacy.entropy import KeyedEntropy
from workbench.synth import synthesiser
from workbench.synth.base import COUNTS
from workbench.synth.columns import coarse_columns, coded
from workbench.synth.parameters import SynthesisParameters
from workbench.work.noise import Study

if TYPE_CHECKING:
    import polars as pl

    from workbench.data.table import Table
    from workbench.sanitize.plan import Plan
    from workbench.studies.synthetic_comparison import Compared
    from workbench.synth.columns import CoarseColumn
    from workbench.synth.resources import Resources


# -- what is started --------------------------------------------------------------------------------------------------


KEY_PREVIEW = "synthetic-preview"
SHOWN_ROWS = 2000

_KEY = secrets.token_bytes(32)


@dataclass(frozen=True)
class Checked:
    """What is counted for synthetic rows: tables, choices of a pair, and the most parts that a range is cut into."""

    tables: int
    selections: int
    cuts: int
    needs: Resources

    @property
    def counted(self) -> str:
        stated = count(self.tables, "noisy table")
        if not self.selections:
            return stated
        choices = tr_n("{n} noisy choice of a pair", "{n} noisy choices of a pair", self.selections)
        return f"{stated}, {choices}"


def needs_words(needs: Resources) -> str:
    """Return time and memory of a synthesis as a person reads them."""
    s = needs.seconds
    time = tr("a second") if s < 2 else count(round(s), "second") if s < 90 else count(round(s / 60), "minute")
    return tr("{time} and {size} MB of memory", time=time, size=tr_number(max(needs.bytes / 1e6, 1), ".0f"))


def checked(plan: Plan, rows: int, chosen: Chosen, cancel: CancelToken) -> Checked:
    """Return what the release would count, from public facts alone."""
    from workbench.synth.resources import needs_of

    method, setting = _setting(plan, rows, chosen)
    cancel.check()
    counted = [query.form == COUNTS for query in method.queries(setting)]
    cuts = max((column.cuts for column in setting.columns if column.ordered), default=0)
    needs = needs_of(method, setting, chosen.request.rows or rows)
    return Checked(sum(counted), len(counted) - sum(counted), cuts, needs)


def drawn_preview(
    opened: OpenTable, plan: Plan, chosen: Chosen, number: int, emit: Emit, cancel: CancelToken
) -> Compared:
    """Return the comparison of one private draw; runs in a worker. Nothing is charged and nothing can be released."""
    from workbench.release.ledger.study_note import note_study
    from workbench.sanitize.engine import check_columns
    from workbench.studies.synthetic_comparison import compared
    from workbench.synth.synthesis import cost_of_synthesis, synthesised

    plan = plan.unrounded() if chosen.request.cuts is None else plan  # automatic cuts: noisy rows alone are rounded
    check_columns(plan, opened.table)
    table = plan.rows_of(opened.table)
    if not table.rows:
        raise InputError(tr("the table has no rows"), hint=tr("open another one"))
    method, setting = _setting(plan, table.rows, chosen)
    note_study(opened.table, "synthetic", emit=emit)
    name = str(number).encode()
    seed = [int(word) for word in KeyedEntropy(_KEY, b"noise", name).words(4)]
    entropy = KeyedEntropy(_KEY, b"rows", name)
    ask = Study(np.random.default_rng(seed), entropy).ask(cost_of_synthesis(method, setting))
    original = coded(setting.columns, table, cancel)
    drawn = synthesised(method, setting, original, chosen.request.rows or table.rows, ask, emit, cancel)
    places = {column.name: place for place, column in enumerate(setting.columns)}

    def fine(column: CoarseColumn) -> Any:
        place = places[column.name]
        return setting.columns[place].draw(drawn.codes[:, place], entropy)

    columns = coarse_columns([column.facts() for column in plan.protected])
    return compared(columns, table, fine, chosen.request.target, plan, emit, cancel)


def released_rows(
    opened: OpenTable, path: Path, plan: Plan | None, emit: Emit, cancel: CancelToken
) -> tuple[pl.DataFrame, int]:
    """Return the first rows of a released table and how many it has; runs in a worker, without the original."""
    released = _certified(path, cancel)[2]
    return released.frame.head(SHOWN_ROWS), released.rows


def _certified(path: Path, cancel: CancelToken) -> tuple[dict[str, Any], Plan, Table]:
    from workbench.release.certificate import certificate_path, read_any_certificate
    from workbench.release.open_release import certified_rows

    document = read_any_certificate(certificate_path(path))
    return document, *certified_rows(path, document, certificate_path(path), cancel)


def released_beside(opened: OpenTable, path: Path, plan: Plan | None, emit: Emit, cancel: CancelToken) -> Compared:
    """Return the comparison of a released table with the original, which is private; runs in a worker."""
    from workbench.release.ledger.study_note import note_study
    from workbench.release.open_release import released_cells
    from workbench.sanitize.engine import check_columns
    from workbench.studies.synthetic_comparison import compared

    document, certified, released = _certified(path, cancel)
    if plan is not None and any(certified.column(c.name).cells != c.cells for c in plan.protected if c.numeric):
        plan = plan.unrounded()  # its rounding was for noisy rows
    plan = plan or certified
    check_columns(plan, opened.table)
    note_study(opened.table, "synthetic", emit=emit)
    columns = coarse_columns([column.facts() for column in plan.protected])
    return compared(
        columns,
        plan.rows_of(opened.table),
        lambda column: released_cells(column.grid, released),
        document["request"]["target"],
        plan,
        emit,
        cancel,
    )


def _setting(plan: Plan, rows: int, chosen: Chosen) -> Any:
    from workbench.release.synthetic.synthesis_work import synthesis_setting

    return synthesis_setting(plan, chosen.epsilon, rows, chosen.request, chosen.delta)


# -- the fields -------------------------------------------------------------------------------------------------------


FREE = tr_later("The preview is private, costs nothing and is never released.")
NEEDS_TIP = tr_later("Estimated from the numbers of rows, columns and values; Cancel stops it within a second")
LOOK = (tr_later("Look at the rows"), tr_later("Reads the released file; nothing of the original"))
RELEASED = ReleaseWords(
    name="synthetic",
    question=tr_later("Draw and release new synthetic rows?"),
    file=tr_later("The synthetic table: .csv, .csv.gz, .tsv, .xlsx, .parquet, .feather or .jsonl"),
    ending="synthetic",
    tip=tr_later("Charge the budget, count, draw, certify and write the file"),
)
OWN_STEPS = tr_later("While cuts are automatic, values keep their own steps; only noisy rows are rounded ({steps}).")
PLANNED_STEPS = tr_later("Values are rounded as the plan says: {steps}.")
FORECAST_BEST = tr_later("chooses the method that is forecast best, from public numbers alone")
WIDEST = 320
TITLES = {
    "method": tr_later("method"),
    "target": tr_later("target"),
    "rows": tr_later("rows to draw"),
    "cuts": tr_later("cuts of numbers"),
}
LISTS = {
    "method": tr_later("Which tables are counted"),
    "target": tr_later("The column that the recipient wants to predict from the others"),
}
"""What is chosen from a list that follows the plan, and what it means."""


@dataclass(frozen=True, kw_only=True)
class Drawn(SynthesisParameters):
    """The settings of the pane, which always names how many rows are drawn."""

    rows: int = declared_by(replace(SynthesisParameters.declared()["rows"], optional=False))


class SyntheticPane(WayPane):
    """The settings; method, target and rows follow table and plan until a person chooses another."""

    facts = (
        ("counts", tr_later("spent on"), "", lambda found: found.counted),
        ("needs", tr_later("takes about"), NEEDS_TIP, lambda found: needs_words(found.needs)),
    )

    def __init__(self, page: ReleasePage) -> None:
        session = page.session
        super().__init__(session, RELEASED, "synthetic")
        self._page, self._draw = page, 0
        self._drawing: JobHandle | None = None  # the preview, which the page follows
        self._planned = session.plan
        self.form = self.add_form(Form("synthetic", Drawn, titles=TITLES, given={"impossible": None}, lists=LISTS))
        names = (synth.AUTO, *(entry.name for entry in synth.SYNTHESISERS))
        self.form.offer("method", [(_method_title(name), name) for name in names], synth.AUTO)
        self._cuts = self.form.field("cuts")
        for key in LISTS:
            box = self.form.field(key)
            assert isinstance(box, ChoiceBox)
            hold_most(box, WIDEST)
            box.give_way(14)
        for key in ("rows", "cuts"):
            hold(self.form.field(key), 88)
        self._help = label("", "muted", wrap=True, name="synthetic_method_help")
        self._impossible = ImpossibleEditor(session)
        self._arrange()
        self._impossible.problem.connect(self.say)
        self._again = button(tr("Draw a preview"), "synthetic_preview_start", tip=tr(FREE), press=self._preview)
        self.others = (self._again,)
        self._preview_card = ComparisonCard(session, page.jobs, "synthetic_preview", tr("A PRIVATE PREVIEW"))
        self._preview_card.hide()
        view = ComparisonCard(session, page.jobs, "synthetic_released", tr("RELEASED"), rows=True)
        failed = tr("It cannot be shown.")
        self.results = ReleasedPart(page, view, released_rows, (tr(LOOK[0]), tr(LOOK[1])), failed, kind="synthetic")
        view.compare_asked.connect(lambda: self._compare(view))
        self.below = (self._preview_card, self.results, view)

    def request(self) -> SynthesisParameters | None:
        found = self.form.value()
        return None if found is None else SynthesisParameters(**vars(found))

    def start_over(self) -> None:
        self.form.write(cuts="")
        self._forget_preview()
        super().start_over()

    def follow(self) -> None:
        session = self.session
        chosen = self._chosen("target") if "target" in self._own else session.target
        names = [column.name for column in session.plan.protected]
        if chosen not in names:
            self._own.discard("target")
            chosen = session.target if session.target in names else None
        # The method always knows the target of a plan that has one.
        entries = [*([] if session.target in names else [None]), *names]
        self.form.offer("target", [(tr("none") if name is None else name, name) for name in entries], chosen)
        if session.opened is not None and "rows" not in self._own:
            self.form.write(rows=str(session.opened.rows_under(session.plan)))
        self._impossible.follow()
        self.follow_fields()
        if self._planned != session.plan:
            self._planned = session.plan
            self._forget_preview()
        super().follow()

    def _arrange(self) -> None:
        self.body.addWidget(label(tr("WHAT IS DRAWN"), "caption"))
        title = label(tr("impossible"))
        title.setBuddy(self._impossible)
        self.form.append(title, self._impossible)
        self.body.add(self.form, self._help, self._problem)
        self._steps = label("", "muted", wrap=True, name="synthetic_steps")
        self.body.add(self._steps, DeltaLine(self.delta), None)

    def enable(self, on: bool) -> None:
        super().enable(on)
        self._impossible.setEnabled(on)

    def show_foreseen(self, found: Foreseen | None) -> None:
        """Show how many parts a range is cut into while nobody has said so."""
        if found is not None:
            cuts = found.facts.cuts
            assert isinstance(self._cuts, QLineEdit)
            self._cuts.setPlaceholderText(tr("auto: {cuts}", cuts=cuts) if cuts else tr("auto"))

    def _chosen(self, key: str) -> Any:
        return self.form.state()[key]

    def hindrance(self) -> tuple[str, str]:
        plan = self.session.plan
        kept = [column.name for column in plan.columns if column.action == "keep"]
        if kept:
            return tr_n(
                "The plan publishes {kept} as it is, but no row of a synthetic table belongs to a person: protect or "
                "drop it.",
                "The plan publishes {kept} as it is, but no row of a synthetic table belongs to a person: protect or "
                "drop them.",
                len(kept),
                kept=listed(kept),
            ), "protect"
        return ("", "") if plan.protected else (tr("No column is left to synthesise: protect at least one."), "protect")

    def foreseen(self, plan: Plan, rows: int, chosen: Chosen, cancel: CancelToken) -> Checked:
        return checked(plan, rows, chosen, cancel)

    def unrounded(self, chosen: Chosen) -> bool:
        """Return whether cuts are automatic: then noisy rows alone are rounded."""
        return chosen.request.cuts is None

    def title(self, chosen: Chosen) -> str:
        return count(chosen.request.rows or 0, "synthetic row")

    def follow_fields(self) -> None:
        """Take the usual method where none was chosen; say what it does, and in which steps values are."""
        if "method" not in self._own:
            self.form.write(method=synth.AUTO)
        chosen = self._chosen("method")
        stated = tr(FORECAST_BEST) if chosen == synth.AUTO else tr_sentence(synthesiser(chosen).help)
        self._help.setText(as_sentence(stated))
        steps = steps_of(self.session)
        rounded = PLANNED_STEPS if self._chosen("cuts").strip() else OWN_STEPS
        say(self._steps, tr(rounded, steps=steps) if steps else "")

    def _compare(self, view: ComparisonCard) -> None:
        """Show what was released beside the original, where the person wants private figures."""
        session, jobs, results = self.session, self._page.jobs, self.results
        if results is not None and private_figures.may_show(self._page, session):
            handle = results.read(released_beside, view.show_compared, tr("Comparing with the original"))
            if handle is not None:
                private_figures.follow_note(session, jobs, handle)

    # -- the preview ----------------------------------------------------------------------------------------------

    def _forget_preview(self) -> None:
        """Show no draw of another table or plan, and wait for none."""
        if self._drawing is not None and self._drawing is self._page.job:
            self._page.forget()
        self._drawing, self._draw = None, 0
        self._preview_card.show_compared(None)
        self._preview_card.hide()

    def show_others(self, *, ready: bool) -> None:
        self._again.setEnabled(ready)
        self._again.setText(tr("Another draw") if self._draw else tr("Draw a preview"))
        self._preview_card.setVisible(self._draw > 0)

    def _preview(self) -> None:
        """Draw synthetic rows from a seeded stream and compare them with the original; only the newest one counts."""
        session, opened, chosen = self.session, self.session.opened, self.value()
        if opened is None or chosen is None or self._page.running:
            return
        if not private_figures.may_show(self._page, session):
            return
        number, draft = self._draw + 1, session.plan

        def work(emit: Emit, cancel: CancelToken) -> Compared:
            return drawn_preview(opened, draft.plan(), chosen, number, emit, cancel)

        def apply(found: Compared) -> None:
            if self._drawing is handle:
                self._draw = number
                rows = count(found.rows, "row")
                stated = tr(
                    "draw {number}, {rows} at ε = {epsilon}: {method}",
                    number=number,
                    rows=rows,
                    method=_method_title(chosen.request.method),
                    epsilon=at_most(chosen.epsilon),
                )
                self._preview_card.show_compared(found, stated)
                self.refreshed.emit()
                if number == 1:
                    into_sight(self._preview_card)

        job = Job(tr("Drawing a private preview"), work, about=opened.title)
        handle = self._page.jobs.start(job, key=KEY_PREVIEW, on_result=apply)
        self._drawing = self._page.follow(private_figures.follow_note(session, self._page.jobs, handle))


def _method_title(name: str | None) -> str:
    return tr("The best by forecast") if name in (None, synth.AUTO) else tr_sentence(synth.synthesiser(name).title)
