"""Synthetic rows: method, target, cuts and number of rows, a private preview, and a look at what was released."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from PySide6.QtWidgets import QGridLayout, QLineEdit, QWidget

from workbench import synth
from workbench.gui.pages.release.pane import WayPane
from workbench.gui.pages.release.synthetic.comparison_card import ComparisonCard
from workbench.gui.pages.release.synthetic.impossible_editor import ImpossibleEditor
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
from workbench.gui.session.error_text import sentence
from workbench.gui.session.job_center import JobHandle
from workbench.gui.style.language import tr, tr_later, tr_n, tr_sentence, typed
from workbench.gui.widgets import figures_first
from workbench.gui.widgets.basic import button, hold, hold_most, into_sight, label, mark_wrong, named
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.gui.widgets.delta_entry import DeltaLine
from workbench.gui.widgets.formatting import at_most, count, listed
from workbench.params import ParameterError
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
OWN_STEPS = tr_later("While cuts are automatic values keep their own steps; only noisy rows are rounded ({steps}).")
PLANNED_STEPS = tr_later("Values are rounded as the plan says: {steps}.")
NO_TARGET = tr_later("none")
FORECAST_BEST = tr_later("chooses the method that is forecast best, from public numbers alone")
WIDEST = 320


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
        self.method = named(ChoiceBox(), "synthetic_method", tr("Method"), tr("Which tables are counted"))
        self.method.addItem(tr("The best by forecast"), synth.AUTO)
        for entry in synth.SYNTHESISERS:
            self.method.addItem(tr_sentence(entry.title), entry.name)
        self._help = label("", "muted", wrap=True, name="synthetic_method_help")
        self.target = named(
            ChoiceBox(),
            "synthetic_target",
            tr("Target"),
            tr("The column that the recipient wants to predict from the others"),
        )
        for box in (self.method, self.target):
            hold_most(box, WIDEST)
            box.give_way(14)
        declared = SynthesisParameters.declared()
        self._fields = {
            "rows": named(QLineEdit(), "synthetic_rows", tr("Rows"), tr_sentence(declared["rows"].help)),
            "cuts": named(QLineEdit(), "synthetic_cuts", tr("Cuts"), tr_sentence(declared["cuts"].help)),
        }
        self._fields["cuts"].setPlaceholderText(tr("auto"))
        self._boxes = {"method": self.method, "target": self.target}
        for field in self._fields.values():
            hold(field, 88)
        self._impossible = ImpossibleEditor(session)
        self._arrange()
        self.method.activated.connect(lambda _at: self.chose("method"))
        self.target.activated.connect(lambda _at: self.chose("target"))
        self._fields["rows"].textEdited.connect(lambda _text: self.chose("rows"))
        self._fields["cuts"].textEdited.connect(lambda _text: self.chose("cuts"))
        self._impossible.problem.connect(self.say)
        self._again = button(tr("Draw a preview"), "synthetic_preview_start", tip=tr(FREE), press=self._preview)
        self.others = (self._again,)
        self._preview_card = ComparisonCard(session, page.jobs, "synthetic_preview", tr("A PRIVATE PREVIEW"))
        self._preview_card.hide()
        view = ComparisonCard(session, page.jobs, "synthetic_released", tr("RELEASED"), rows=True)
        failed = tr("It cannot be shown.")
        self.results = ReleasedPart(
            page, view, released_rows, (tr(LOOK[0]), tr(LOOK[1])), failed, kind="synthetic", card=False
        )
        view.compare_asked.connect(lambda: self._compare(view))
        self.below = (self._preview_card, self.results, view)

    def request(self) -> SynthesisParameters | None:
        """Return the settings; ``None`` while a field is refused, or no rows are asked for."""
        try:
            rows, cuts = self._number("rows"), self._number("cuts")
        except ParameterError:
            return None
        method, target = self.method.currentData(), self.target.currentData()
        return None if rows is None else SynthesisParameters(method=method, target=target, rows=rows, cuts=cuts)

    def start_over(self) -> None:
        """Take everything from another table and its plan."""
        self._fields["cuts"].clear()
        self._forget_preview()
        super().start_over()

    def follow(self) -> None:
        """Show what follows from table and plan, but for what a person has chosen here."""
        session = self.session
        chosen = self.target.currentData() if "target" in self._own else session.target
        names = [column.name for column in session.plan.protected]
        if chosen not in names:
            self._own.discard("target")
            chosen = session.target if session.target in names else None
        # The method always knows the target of a plan that has one.
        entries = [*([] if session.target in names else [None]), *names]
        self.target.offer([(tr(NO_TARGET) if name is None else name, name) for name in entries], chosen)
        if session.opened is not None and "rows" not in self._own:
            self._fields["rows"].setText(str(session.opened.rows_under(session.plan)))
        self._impossible.follow()
        self._follow_target()
        self._say_steps()
        if self._planned != session.plan:
            self._planned = session.plan
            self._forget_preview()
        super().follow()

    def fields(self) -> tuple[QWidget, ...]:
        """Return every setting."""
        return self.method, self.target, *self._fields.values(), self.delta, self._impossible

    def _arrange(self) -> None:
        self.body.addWidget(label(tr("WHAT IS DRAWN"), "caption"))
        grid = QGridLayout()
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(6)
        fields: tuple[tuple[str, QWidget, int, int], ...] = (
            (tr("method"), self.method, 0, 0),
            (tr("target"), self.target, 1, 0),
            (tr("rows to draw"), self._fields["rows"], 2, 0),
            (tr("cuts of numbers"), self._fields["cuts"], 2, 2),
            (tr("impossible"), self._impossible, 3, 0),
        )
        for words, field, down, across in fields:
            title = label(words, "muted")
            title.setBuddy(field)
            grid.addWidget(title, down, across)
            grid.addWidget(field, down, across + 1, 1, 1 if field in self._fields.values() else 3)
        grid.setColumnStretch(4, 1)
        self.body.addLayout(grid)
        for part in (self._help, self._problem):
            self.body.addWidget(part)
        self._steps = label("", "muted", wrap=True, name="synthetic_steps")
        self.body.addWidget(self._steps)
        self.body.addWidget(DeltaLine(self.delta))
        self.body.addStretch(1)

    def show_foreseen(self, found: Foreseen | None) -> None:
        """Show how many parts a range is cut into while nobody has said so."""
        if found is not None:
            cuts = found.facts.cuts
            self._fields["cuts"].setPlaceholderText(tr("auto: {cuts}", cuts=cuts) if cuts else tr("auto"))

    def _number(self, key: str) -> int | None:
        """Return the value of a field; ``None`` for empty cuts."""
        text = typed(self._fields[key].text()).replace(",", "")
        if key == "cuts" and not text:
            return None
        found: int = SynthesisParameters.declared()[key].parse(text, key)
        return found

    def chose(self, key: str) -> None:
        """Keep what a person has chosen, and let the method follow it."""
        self._own.add(key)
        self._follow_target()
        self._say_steps()
        super().chose(key)

    def state(self) -> dict[str, Any]:
        """Return all settings."""
        chosen = {key: box.currentData() for key, box in self._boxes.items()}
        return {**super().state(), **chosen, **{key: field.text() for key, field in self._fields.items()}}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Show the settings."""
        super().restore(state)
        for key, box in self._boxes.items():
            box.setCurrentIndex(max(box.findData(state[key]), 0))
        for key, field in self._fields.items():
            field.setText(state[key])
        self._follow_target()
        self._say_steps()

    def hindrance(self) -> tuple[str, str]:
        """Return that a column is published as it is, or none is protected."""
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
        """Return what would be counted."""
        return checked(plan, rows, chosen, cancel)

    def unrounded(self, chosen: Chosen) -> bool:
        """Return whether cuts are automatic: then noisy rows alone are rounded."""
        return chosen.request.cuts is None  # type: ignore[union-attr]

    def title(self, chosen: Chosen) -> str:
        """Return how many rows."""
        return count(chosen.request.rows or 0, "synthetic row")  # type: ignore[union-attr]

    def field_problem(self) -> str:
        """Mark the fields that are refused, and return why the last of them is."""
        wrong = ""
        for name, field in self._fields.items():
            try:
                self._number(name)
                mark_wrong(field, wrong=False)
            except ParameterError as error:
                mark_wrong(field, wrong=True)
                wrong = sentence(error)
        return wrong or super().field_problem()

    def _follow_target(self) -> None:
        """Take the usual method where none was chosen, and say what it does."""
        if "method" not in self._own:
            self.method.setCurrentIndex(self.method.findData(synth.AUTO))
        chosen = self.method.currentData()
        stated = tr(FORECAST_BEST) if chosen == synth.AUTO else tr_sentence(synthesiser(chosen).help)
        self._help.setText(f"{stated[:1].upper()}{stated[1:]}.")

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
        stated = PLANNED_STEPS if self._fields["cuts"].text().strip() else OWN_STEPS
        self._steps.setText(tr(stated, steps=steps) if steps else "")
        self._steps.setVisible(bool(steps))

    def _forget_preview(self) -> None:
        """Show no draw of another table or plan, and wait for none."""
        if self._drawing is not None and self._drawing is self._page.job:
            self._page.forget()
        self._drawing, self._draw = None, 0
        self._preview_card.show_compared(None)
        self._preview_card.hide()

    def show_others(self, *, ready: bool) -> None:
        """Show the preview and the button that draws it."""
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
        assert isinstance(request, SynthesisParameters)

        def apply(found: Compared) -> None:
            if self._drawing is handle:
                self._draw = number
                rows = count(found.rows, "row")
                stated = tr(
                    "draw {number}, {rows} by {method} at ε = {epsilon}",
                    number=number,
                    rows=rows,
                    method=request.method,
                    epsilon=at_most(chosen.epsilon),
                )
                self._preview_card.show_compared(found, stated)
                self.refreshed.emit()
                if number == 1:
                    into_sight(self._preview_card)

        handle = preview(session.opened, session.plan, chosen, number, self._page.jobs, apply, session.report)
        self._drawing = self._page.follow(figures_first.follow_note(session, self._page.jobs, handle))
