"""Why it costs: what each step of privacy takes from a model's accuracy, and what would give it back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QCheckBox, QLineEdit

from workbench.gui.pages import page_called
from workbench.gui.pages.run_page import RunPage, fitting, misfit, offer_models, what_is_missing
from workbench.gui.session.error_text import sentence
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import RunRecord, Session
from workbench.gui.style.language import tr, tr_later, tr_number, tr_sentence, typed
from workbench.gui.widgets import private_figures
from workbench.gui.widgets.bar import BarLines
from workbench.gui.widgets.basic import (
    Card,
    badge,
    button,
    hold,
    hold_most,
    label,
    lines,
    mark_wrong,
    named,
    row,
    say,
    scrolled,
    stack,
)
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.gui.widgets.formatting import at_most
from workbench.gui.widgets.private_figures import follow_note
from workbench.jobs import CancelToken, Emit, Job
from workbench.params import ParameterError
from workbench.processes.executor import cores
from workbench.release.ledger.study_note import BEFORE

if TYPE_CHECKING:
    from workbench.studies.why.study import Line, WhyPlan, WhyResult


KEY = "why"
FEW = 60  # models up to which starting worker processes takes longer than training here


def run_why(session: Session, jobs: JobCenter, plan: WhyPlan, *, generated: bool) -> JobHandle:
    """Train what explains the cost, on the open table or on as many made-up rows; the result goes to the session."""
    opened, target = session.open_table, session.target
    assert target is not None
    bounds = session.plan.plan()
    title = tr("Why {model} costs", model=tr_sentence(plan.learner.short or plan.learner.title))

    def work(emit: Emit, cancel: CancelToken) -> WhyResult:
        from workbench.release.ledger.study_note import note_study
        from workbench.studies.regimes import StudyData
        from workbench.studies.why.changes import CHANGES
        from workbench.studies.why.rows import Rows, generate
        from workbench.studies.why.study import STEPS, explain

        rows = Rows.of(StudyData.read(opened.table, bounds, target, plan.learner.task))
        if generated:
            rows = generate(rows.attributes, rows.target, plan.learner.task, opened.table.rows, plan.seed)
        else:
            note_study(opened.table, "why", emit=emit)
        few = plan.repeats * (len(STEPS) + len(CHANGES)) <= FEW
        return explain(plan, rows, jobs=1 if few else cores(), emit=emit, cancel=cancel)

    def apply(result: WhyResult) -> None:
        if session.opened is opened:
            session.add_run(RunRecord("why", f"{title}: {opened.title}", None, result, opened.title))

    return follow_note(session, jobs, jobs.start(Job(title, work), key=KEY, on_result=apply))


# -- the page ---------------------------------------------------------------------------------------------------------


FEW_REPEATS = "10"
WIDEST_LIST = 300  # pixels of the list of models

INVITATION = tr_later(
    "Explain trains the model without privacy, clamped to the bounds, without its noise and with it, and "
    "then with one thing changed at a time. It spends none of the budget, because none of it is released."
)
GENERATED = tr_later("Made-up rows follow from the declared columns alone, and show nothing about your rows.")


class WhyPage(RunPage):
    """Model, ε and rows; the steps of the cost; the changes that were tried."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__(session, jobs, page_called("why"))
        self._result: WhyResult | None = None
        self._studied: object = None
        self._typed = False
        self.model = named(ChoiceBox(), "why_model", tr("Model"), tr("The private model whose cost is explained"))
        self._kept = False  # whether a person chose the model
        self.model.currentIndexChanged.connect(self._keep)
        self.epsilon = named(QLineEdit(), "why_epsilon", tr("ε of the model"), tr("Privacy loss of the model"))
        hold(self.epsilon, 96)
        tip = tr("80/20 splits that figures are means of")
        self.repeats = named(QLineEdit(FEW_REPEATS), "why_repeats", tr("Repeats"), tip)
        hold(self.repeats, 56)
        tip = tr("Rows that follow from the declared facts alone")
        self.generated = named(QCheckBox(tr("on made-up rows")), "why_generated", tr("On made-up rows"), tip)
        self._problem = label("", "problem", wrap=True, name="why_problem", hidden=True)
        self._empty = label("", "muted", wrap=True, name="why_empty")
        self._badge = badge()
        self._words = label("", wrap=True, name="why_words")
        self._steps = BarLines(session, "why_step", tr("difference"))
        self._changes = BarLines(session, "why_change", tr("gain"))
        self._absent = label("", "muted", wrap=True, name="why_absent")
        self._arrange()
        cancel = button(tr("Cancel"), "why_cancel", tip=tr("Stop (Esc)"))
        self.set_run(tr("Explain"), "why_run", tr("Train every variant (Ctrl+Return)"), cancel)
        self.set_onward(tr("Train a model →"), "why_to_train", "train", tr("Train a private model, and release that"))
        for changed in (self.model.currentIndexChanged, self.generated.toggled, self.repeats.textEdited):
            changed.connect(lambda _now: self.refresh())
        self.epsilon.textEdited.connect(self._edited)
        session.table_changed.connect(self._forget)
        session.plan_changed.connect(self.in_sight(self._plan_changed))
        self._plan_changed()
        self._show()

    def _arrange(self) -> None:
        epsilon, repeats = label("ε", "muted"), label(tr("repeats"), "muted")
        fields = (self.model, 100), 8, epsilon, self.epsilon, 8, repeats, self.repeats, 8, self.generated, None
        hold_most(self.model, WIDEST_LIST)
        steps = row(label(tr("WHERE IT GOES"), "caption"), None, self._badge)
        self._invitation = Card(self._empty)
        self._where = Card(self._words, steps, self._steps)
        self._what = Card(label(tr("WITH ONE THING CHANGED"), "caption"), self._changes, self._absent)
        found = stack(self._invitation, self._where, self._what, None, spacing=12)
        self.body.addWidget(Card(lines(*fields), self._problem, pad=12))
        self.body.addWidget(scrolled(found, "why_found"), 1)
        self.header.addWidget(self.leading_to("utility", tr("← Curves"), "why_way_utility", tr("Back to the curves")))

    def value(self) -> WhyPlan | None:
        """Return what to explain, or ``None`` while a field is refused; the reason is shown below."""
        from workbench.studies.why.study import WhyPlan

        declared = WhyPlan.declared()
        stated, wrong = "", None
        values = {}
        for name, field, words in (("epsilon", self.epsilon, tr("the ε")), ("repeats", self.repeats, tr("repeats"))):
            try:
                values[name] = declared[name].parse(typed(field.text()), words)
            except ParameterError as error:
                stated, wrong = stated or sentence(error), wrong or field
        for field in (self.epsilon, self.repeats):
            mark_wrong(field, field is wrong)
        stated = stated or misfit(self.session, self.model.currentData())
        say(self._problem, stated)
        return None if stated else WhyPlan(model=self.model.currentData(), **values)

    def start(self) -> None:
        plan = self.value()
        if plan is None or not private_figures.may_run(self, self.session, self.generated, tr(GENERATED)):
            return
        self._studied = self._present(plan)
        handle = run_why(self.session, self.jobs, plan, generated=self.generated.isChecked())
        handle.finished.connect(self._finish)
        self.follow(handle)

    def _keep(self) -> None:
        self._kept = True

    def refresh(self) -> None:
        found = fitting(self.session)
        offer_models(self.model, found, self.model.currentData() if self._kept else found.advised)
        self.model.ask_for_its_words()
        missing = what_is_missing(self.session)
        plan = None if missing else self.value()
        if missing:
            self._problem.hide()
        done = self._result is not None and plan is not None and self._studied == self._present(plan)
        self.show_buttons(missing, ready=plan is not None, done=done)
        first = private_figures.is_first(self.session) and not self.generated.isChecked()
        extra = f"\n\n⚠ {tr_sentence(BEFORE)}\n\n{tr(GENERATED)}" if first else ""
        self._empty.setText(missing or f"{tr(INVITATION)}{extra}")
        note = tr(private_figures.BESIDE) if first else ""
        if self.running:
            note = tr("Each variant is trained on the same splits.")
        elif self._result is not None and not done:
            note = tr("These results are for other settings: press Explain to update them.")
        self.set_note(note if not missing else "" if self._result is None else missing)

    def _finish(self, result: WhyResult) -> None:
        self._result = result
        self._show()

    def _present(self, plan: WhyPlan) -> object:
        return plan, self.generated.isChecked(), self.session.target, self.session.plan.columns

    def _edited(self) -> None:
        self._typed = True
        self.refresh()

    def _plan_changed(self) -> None:
        if not self._typed:
            self.epsilon.setText(at_most(self.session.plan.epsilon))
        self.refresh()

    def retranslate(self) -> None:
        super().retranslate()
        self._show()

    def _forget(self) -> None:
        self.forget()
        self._result, self._typed, self._kept = None, False, False
        self._plan_changed()
        self._show()

    def _show(self) -> None:
        from workbench.studies.why.study import change_lines, in_sentences, step_lines

        result = self._result
        self._invitation.setVisible(result is None)
        self._where.setVisible(result is not None)
        self._what.setVisible(result is not None)
        if result is None:
            return
        self._badge.setVisible(not result.generated)
        whose = [tr("Made-up rows, none of yours.")] if result.generated else []
        self._words.setText(" ".join([*whose, *(tr_sentence(said) for said in in_sentences(result))]))
        steps, changes = step_lines(result), change_lines(result)
        most = max((abs(line.point.mean) for line in (*steps, *changes)), default=0.0) or 1.0
        private = steps[-1].point.mean / most
        sign = 1 if result.plan.metric.higher else -1
        self._steps.show_lines([_line(line, most, -1.0, 1) for line in steps], "accent")
        self._changes.show_lines([_line(line, most, private, sign) for line in changes], "muted")
        say(self._absent, " ".join(map(tr_sentence, result.absent.values())))


def _line(line: Line, most: float, mark: float, sign: int) -> tuple[str, str, float, float, str, str]:
    figure = f"{tr_number(line.point.mean, '.3f')} ± {tr_number(line.point.standard_error, '.3f')}"
    change = "" if line.change is None else tr_number(sign * line.change, "+.3f").replace("-", "−")
    return line.name, tr_sentence(line.title), line.point.mean / most, mark, figure, change
