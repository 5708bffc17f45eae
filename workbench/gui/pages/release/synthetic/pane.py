"""Synthetic rows: method, target, cuts and number of rows, a private preview, and a look at what was released."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from PySide6.QtWidgets import QLineEdit, QWidget

from workbench import synth
from workbench.gui.pages.release.pane import WayPane
from workbench.gui.pages.release.synthetic.comparison_card import ComparisonCard, ImpossibleEditor
from workbench.gui.pages.release.synthetic.tasks import (
    Checked,
    checked,
    needs_words,
    preview,
    released_beside,
    released_rows,
)
from workbench.gui.pages.release_account import steps_of
from workbench.gui.pages.release_page import ReleasedPart, ReleasePage, ReleaseWords
from workbench.gui.pages.release_tasks import Chosen, Foreseen
from workbench.gui.session.job_center import JobHandle
from workbench.gui.style.language import as_sentence, tr, tr_later, tr_n, tr_sentence
from workbench.gui.widgets import figures_first
from workbench.gui.widgets.basic import button, hold, hold_most, into_sight, label, say
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.gui.widgets.epsilon_entry import DeltaLine
from workbench.gui.widgets.formatting import at_most, count, listed
from workbench.gui.widgets.parameter_form import Form
from workbench.params import declared_by
from workbench.signals.cancel import CancelToken
from workbench.synth import synthesiser
from workbench.synth.parameters import SynthesisParameters

if TYPE_CHECKING:
    from workbench.sanitize.plan import Plan
    from workbench.studies.synthetic_comparison import Compared

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
NO_TARGET = tr_later("none")
FORECAST_BEST = tr_later("chooses the method that is forecast best, from public numbers alone")
WIDEST = 320
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

    titles: Mapping[str, str] = {
        **WayPane.titles,
        "method": tr_later("method"),
        "target": tr_later("target"),
        "rows": tr_later("rows to draw"),
        "cuts": tr_later("cuts of numbers"),
    }
    written = ("delta", "rows", "cuts")
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
        self.form = Form("synthetic", Drawn, titles=dict(self.titles), given={"impossible": None}, lists=LISTS)
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
        self.form.changed.connect(lambda: self.chose(self.form.last))
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
        self.form.offer("target", [(tr(NO_TARGET) if name is None else name, name) for name in entries], chosen)
        if session.opened is not None and "rows" not in self._own:
            self.form.write(rows=str(session.opened.rows_under(session.plan)))
        self._impossible.follow()
        self._follow_target()
        self._say_steps()
        if self._planned != session.plan:
            self._planned = session.plan
            self._forget_preview()
        super().follow()

    def fields(self) -> tuple[QWidget, ...]:
        return self.form, self.delta, self._impossible

    def _arrange(self) -> None:
        self.body.addWidget(label(tr("WHAT IS DRAWN"), "caption"))
        title = label(tr("impossible"))
        title.setBuddy(self._impossible)
        self.form.append(title, self._impossible)
        self.body.add(self.form, self._help, self._problem)
        self._steps = label("", "muted", wrap=True, name="synthetic_steps")
        self.body.add(self._steps, DeltaLine(self.delta), None)

    def show_foreseen(self, found: Foreseen | None) -> None:
        """Show how many parts a range is cut into while nobody has said so."""
        if found is not None:
            cuts = found.facts.cuts
            assert isinstance(self._cuts, QLineEdit)
            self._cuts.setPlaceholderText(tr("auto: {cuts}", cuts=cuts) if cuts else tr("auto"))

    def _chosen(self, key: str) -> Any:
        return self.form.state()[key]

    def chose(self, key: str) -> None:
        """Keep what a person has chosen, and let the method follow it."""
        self._own.add(key)
        self._follow_target()
        self._say_steps()
        super().chose(key)

    def state(self) -> dict[str, Any]:
        return {**super().state(), **self.form.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        super().restore(state)
        self.form.restore(state)
        self._follow_target()
        self._say_steps()

    def hindrance(self) -> tuple[str, str]:
        plan = self.session.plan
        kept = [column.name for column in plan.columns if column.action == "keep"]
        if kept:
            return tr_n(
                "The plan publishes {kept} as it is, and no row of a synthetic table is anybody's: protect or drop it.",
                "The plan publishes {kept} as it is, and no row of a synthetic table is anybody's: protect or drop "
                "them.",
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

    def _follow_target(self) -> None:
        """Take the usual method where none was chosen, and say what it does."""
        if "method" not in self._own:
            self.form.write(method=synth.AUTO)
        chosen = self._chosen("method")
        stated = tr(FORECAST_BEST) if chosen == synth.AUTO else tr_sentence(synthesiser(chosen).help)
        self._help.setText(as_sentence(stated))

    def _compare(self, view: ComparisonCard) -> None:
        """Show what was released beside the original, where the person wants private figures."""
        session, jobs, results = self.session, self._page.jobs, self.results
        if results is not None and figures_first.may_show(self._page, session):
            handle = results.read(released_beside, view.show_compared, tr("Comparing with the original"))
            if handle is not None:
                figures_first.follow_note(session, jobs, handle)

    # -- the preview ----------------------------------------------------------------------------------------------

    def _say_steps(self) -> None:
        steps = steps_of(self.session)
        stated = PLANNED_STEPS if self._chosen("cuts").strip() else OWN_STEPS
        say(self._steps, tr(stated, steps=steps) if steps else "")

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
        session, chosen = self.session, self.value()
        if session.opened is None or chosen is None or self._page.running:
            return
        if not figures_first.may_show(self._page, session):
            return
        number, request = self._draw + 1, chosen.request

        def apply(found: Compared) -> None:
            if self._drawing is handle:
                self._draw = number
                rows = count(found.rows, "row")
                stated = tr(
                    "draw {number}, {rows} at ε = {epsilon}: {method}",
                    number=number,
                    rows=rows,
                    method=_method_title(request.method),
                    epsilon=at_most(chosen.epsilon),
                )
                self._preview_card.show_compared(found, stated)
                self.refreshed.emit()
                if number == 1:
                    into_sight(self._preview_card)

        handle = preview(session.opened, session.plan, chosen, number, self._page.jobs, apply, session.report)
        self._drawing = self._page.follow(figures_first.follow_note(session, self._page.jobs, handle))


def _method_title(name: str | None) -> str:
    return tr("The best by forecast") if name in (None, synth.AUTO) else tr_sentence(synth.synthesiser(name).title)
