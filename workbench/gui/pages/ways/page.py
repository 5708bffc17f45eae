"""Decide: what recipients will see of what they ask, by each way and at each ε, and the one Release button."""

from __future__ import annotations

from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QSize
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QLineEdit, QPushButton, QWidget

from workbench.gui.pages import page_called
from workbench.gui.pages.base import PageFrame
from workbench.gui.pages.release_account import CHARGED_AGAIN
from workbench.gui.pages.run_page import draft_refusal, first_problem
from workbench.gui.pages.way_marks import BESIDE, Marks, is_poor, way_in
from workbench.gui.pages.ways.table import (
    DecideModel,
    DecideTable,
    asked_words,
    draw_privately,
    example_wish,
    look_for_epsilon,
    outside_of,
    questions_of,
    solve_wishes,
    with_another,
)
from workbench.gui.session.error_text import sentence
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import FOR_TABLES, Session
from workbench.gui.style.language import localised, tr, tr_later, tr_number, tr_sentence
from workbench.gui.widgets import private_figures
from workbench.gui.widgets.basic import Card, badge, button, label, look, named, panel, reword, row, say, stack
from workbench.gui.widgets.declared_facts import ColumnsCard
from workbench.gui.widgets.empty_state import EmptyState
from workbench.gui.widgets.epsilon_entry import plan_entry
from workbench.gui.widgets.explain import Explainable, Meaning, of_plan
from workbench.gui.widgets.formatting import entered, together
from workbench.gui.widgets.master_detail import WIDE
from workbench.gui.widgets.way_bar import MODEL, ROWS, inside
from workbench.params import ParameterError, WorkbenchError
from workbench.sanitize.intended_use import RECIPIENTS, recipient
from workbench.sanitize.wishes import FORMS

if TYPE_CHECKING:
    from workbench.gui.session.draft import DraftPlan
    from workbench.studies.kind_advice import KindResult
    from workbench.studies.kind_draws import KindDraws
    from workbench.studies.kind_questions import Question
    from workbench.studies.solve import Solution

LEGEND = tr_later(
    "± holds in 95 of 100 such releases, for values of a usual shape; your rows are not read for "
    "it. ✓ close enough, ✗ not, – not answered."
)
WORKING = tr_later("Working out what recipients will see…")
NOTHING_ANSWERED = tr_later("At this ε this way answers no question well.")
MORE = tr_later("A figure that recipients will ask for, and how near it must be: {forms}. Return adds it")
ADVICE_LINES = 3  # that the advice mostly takes where the page is narrow
WITH_FIGURES = ("synthetic", "statistics", "rows")  # ways whose answers have a margin; the first is tried first


class _Asked(QLineEdit):
    """A field that lets Ctrl+Z undo the question that was asked, once there is nothing of its own to undo."""

    def event(self, event: QEvent) -> bool:
        undo = isinstance(event, QKeyEvent) and event.matches(QKeySequence.StandardKey.Undo)
        if undo and event.type() == QEvent.Type.ShortcutOverride and not self.isUndoAvailable():
            event.ignore()
            return True
        return super().event(event)


class WaysPage(PageFrame):
    """ε with the marks beside it, the table of questions and ways, what is not covered, and Release."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__(session, jobs, page_called("ways"))
        self._marks = Marks.of(session, jobs)
        self._drawn: tuple[DraftPlan, KindDraws] | None = None
        self._number = 0
        self._least: tuple[Question, str, Decimal | None] | None = None
        self._least_of = session.plan
        self._solved: tuple[DraftPlan, str, Solution | None] | None = None
        self._wished: frozenset[str] = frozenset()
        self._looked: tuple[DraftPlan, str] | None = None
        self._unfolded = False
        self._make_head()
        self._make_table()
        self._make_foot()
        self._nothing = EmptyState(session, "ways_nothing", tr("Nothing to decide yet"))
        self.body.addWidget(self._top)
        self._panes = panel(row((self._sheet, 3), (self._make_wide_pane(), 2), spacing=12))
        self.body.addWidget(self._panes, 1)
        self.body.addWidget(self._nothing, 1)
        self._marks.changed.connect(self.in_sight(self.refresh))
        self._marks.beside.connect(self.in_sight(self._show_counts))
        session.table_changed.connect(self._forget)
        follow = self.in_sight(self._follow)
        session.plan_changed.connect(follow)
        session.questions_changed.connect(follow)
        for changed in (session.way_changed, session.account_changed, session.released_changed):
            changed.connect(self.in_sight(self.refresh))
        self._forget()

    # -- its parts ------------------------------------------------------------------------------------------------

    def _make_head(self) -> None:
        session = self.session
        about = tr("Privacy loss of one row's whole record, however it is released")
        self.entry = plan_entry(session, "ways_epsilon", about)
        Explainable(self.entry.field, session, lambda: of_plan(session))
        self._at: dict[Decimal, QPushButton] = {}
        for epsilon in BESIDE:
            name, press = f"ways_at_{entered(epsilon).replace('.', '_')}", partial(session.set_epsilon, epsilon)
            self._at[epsilon] = button("", name, "link", tip=tr("Use this ε"), press=press)
        self._count = label("", name="ways_count")
        marks = row(*self._at.values(), None, self._count, spacing=4)
        self._reason = label("", wrap=True, name="ways_reason")
        self._further = label("", "muted", wrap=True, name="ways_further", hidden=True)
        self._unfold = button(tr("More"), "ways_unfold", "link", tip=tr("What else the marks say"), press=self._turn)
        self._second = button("", "ways_second", "link", press=self._choose_second)
        asked = row(label("ε", "muted"), (self.entry, 1))
        reason = row((self._reason, 1), self._unfold, self._second)
        self._top = Card(asked, marks, reason, self._further, pad=12, spacing=6)

    def _make_table(self) -> None:
        self._model = DecideModel(self.session, self._marks)
        self._table = DecideTable(self.session, self._model)
        self._table.chosen_way.connect(self.session.choose_way)
        self._table.drop_asked.connect(self._drop)
        self._table.least_asked.connect(self._ask_least)
        self._refused = label("", "problem", wrap=True, name="ways_refused", hidden=True)
        self._model.refused.connect(lambda why: say(self._refused, why))
        self._more = named(_Asked(), "ways_more", tr("Ask one more"), tr(MORE, forms=tr_sentence(FORMS)))
        self._more.returnPressed.connect(self._ask_more)
        self._found = label("", wrap=True, name="ways_least")
        self._take = button("", "ways_take_least", "link", press=self._take_least)
        self._least_line = panel(row((self._found, 1), self._take))
        self._solved_line = label("", "muted", wrap=True, name="ways_solved", hidden=True)
        self._badge = badge()
        tip = tr("Draw once from the rows for each way: private, costs no ε")
        self._truth = button(tr("Show the truth"), "ways_truth", tip=tip, press=self._show_truth)
        above = row((label(tr(LEGEND), "muted", wrap=True), 1), self._badge, self._truth)
        self._outside = label("", "warn", wrap=True, name="ways_outside")
        # What comes and goes is above the field and below the rows: neither moves.
        below = self._least_line, self._solved_line, self._refused, self._more, self._outside
        self._sheet = panel(stack(above, (Card(self._table, pad=4), 1), *below))

    def _make_wide_pane(self) -> QWidget:
        """Return what a wide page has room for beside the questions: what ε means, and which columns leave."""
        self._meaning = Meaning(self.session, "ways_meaning", QSize(360, 220))  # what a chart takes to be read
        self._columns = ColumnsCard(self.session, "ways_columns")
        meaning = Card(label(tr("WHAT THIS ε MEANS"), "caption"), self._meaning, pad=12)
        self._wide_pane = panel(stack(meaning, (self._columns, 1), spacing=12))
        return self._wide_pane

    def resized(self) -> None:
        wide = self.width() >= WIDE
        lines = ADVICE_LINES if not wide else 1
        self._reason.setMinimumHeight(lines * self._reason.fontMetrics().lineSpacing())  # the table stays in its place
        there = wide and self._sheet.isVisibleTo(self)
        self._wide_pane.setVisible(there)
        if there:
            self._meaning.explain(of_plan(self.session))
            self._columns.follow()

    def _make_foot(self) -> None:
        self.add_cancel(button(tr("Cancel"), "ways_cancel", tip=tr("Stop the private draw (Esc)")))
        self._better = button("", "ways_better", tip=tr("Choose the recommended way"), press=self._choose_advised)
        tip, go = tr("See exactly what is released, and where to"), lambda: self.session.go("release")
        self._settings = button(tr("Settings →"), "ways_settings", tip=tip, press=go)
        tip = tr("Asks once, then charges and publishes")
        self._release = button(tr("Release…"), "ways_release", tip=tip, press=self._press)
        tip, go = tr("Everything that was released"), lambda: self.session.go("released")
        self._released = button(tr("Released →"), "ways_released", tip=tip, press=go)
        self._released.hide()
        tip, go = tr("Change who gets it, or which columns they need"), lambda: self.session.go("questions")
        self._to_questions = button(tr("Questions →"), "ways_to_questions", tip=tip, press=go)
        self.foot.add(self._settings, self._better, self._release, self._to_questions, self._released)
        self.highlight(self._release)

    # -- what is shown --------------------------------------------------------------------------------------------

    def missing(self) -> str:
        session = self.session
        if session.opened is None:
            return tr(FOR_TABLES) if session.images is not None else tr("Open a table in Data, Columns first.")
        if session.plan.ready and not session.plan.protected:
            return tr("The plan protects no column: say in Data which columns recipients need.")
        return first_problem(session)

    def _follow(self) -> None:
        """Follow another plan or other questions: nothing of the former ones stays."""
        self.entry.set_value(self.session.plan.epsilon)
        say(self._refused, "")
        former = self._least_of
        if self._least is not None and former != self.session.plan.with_(epsilon=former.epsilon):
            self._least = self._looked = None  # found for other columns or questions
        self._marks.follow()

    def _forget(self) -> None:
        self.forget()
        self._drawn, self._least, self._number = None, None, 0
        self._wished = frozenset(self.session.questions.asked.wishes)
        self._follow()

    def _advise(self) -> None:
        """Let the session have the way that is advised for it, as the other pages use it, too."""
        found = self._marks.ways
        if found is not None and not self.missing():
            self.session.advise_way(found.advised)

    def refresh(self) -> None:
        session, missing = self.session, self.missing()
        self._top.setVisible(not missing)
        self._panes.setVisible(not missing)
        self.resized()
        self._nothing.setVisible(bool(missing))
        self._nothing.say(missing)
        for part in (self._settings, self._release, self._better, self._to_questions):
            part.setVisible(not missing)
        self.show_cancel()
        if missing:
            self.set_note("")
            return
        self._advise()
        drawn = self._drawn[1] if self._drawn is not None and self._drawn[0] == session.plan else None
        self._model.show_questions(questions_of(session), drawn)
        self._badge.setVisible(drawn is not None)
        self._truth.setText(tr("Another draw") if drawn is not None else tr("Show the truth"))
        self._truth.setEnabled(not self.running)
        self._show_counts()
        example = example_wish(session.plan)
        self._more.setPlaceholderText(tr("Ask one more: {example}", example=example) if example else tr("Ask one more"))
        self._look_for_new_wish()
        self._look_for_unanswered()
        self._show_least()
        self._show_solved()
        say(self._outside, "\n".join(f"⚠ {one}" for one in outside_of(session)))
        self._show_release()

    def _show_counts(self) -> None:
        """Show how many questions the chosen way answers at each ε; grey where that is not known."""
        for epsilon, pressed in self._at.items():
            reword(pressed, tr("ε = {epsilon}: {count}", epsilon=entered(epsilon), count=self._count_at(epsilon)))
            pressed.setEnabled(epsilon <= self.session.questions.most)
            who = tr_sentence(recipient(self.session.questions.recipient).why)
            pressed.setToolTip(tr("Use this ε") if pressed.isEnabled() else who)
        self._count.setText(tr("here {count}", count=self._count_at(self.session.plan.epsilon)))
        self._show_reason()

    def _way_at(self, epsilon: Decimal) -> KindResult | None:
        return way_in(self._marks.at(epsilon), self.session.way)

    def _enough(self) -> str:
        """Return that a smaller ε answers as much, as a further sentence; empty where none of those beside does."""
        here = self.session.plan.epsilon
        own, below = self._way_at(here), [(each, self._way_at(each)) for each in BESIDE if each < here]
        if own is None or not own.known or not own.useful:
            return ""
        found = next((each for each, way in below if way is not None and way.known and way.useful >= own.useful), None)
        return "" if found is None else f" {tr('ε = {epsilon} answers as many.', epsilon=entered(found))}"

    def _answered_by_more(self) -> str:
        """Return which way answers more at a larger ε that is offered, as a further sentence; empty where none does."""
        here, most = self.session.plan.epsilon, self.session.questions.most
        own = self._way_at(here)
        for epsilon in BESIDE if own is not None and own.known else ():
            found = self._marks.at(epsilon) if here < epsilon <= most else None
            suiting = self.session.questions.ways
            ways = [way for way in found.ways if way.name in suiting] if found is not None else []
            best = max(ways, key=lambda way: way.useful, default=None)
            if best is not None and own is not None and best.useful > own.useful:
                at, way, count = entered(epsilon), inside(best.name), _count(best)
                return f" {tr('At ε = {epsilon}: {way}, {count}.', epsilon=at, way=way, count=count)}"
        return ""

    def _count_at(self, epsilon: Decimal) -> str:
        way = self._way_at(epsilon)
        if way is None:
            return "…" if self._marks.working else "–"
        return _count(way)

    def _show_reason(self) -> None:
        found = self._marks.ways
        refused = self._marks.problem
        stated = tr(WORKING) if refused is None else sentence(refused)
        self._reason.setText(stated if found is None else tr_sentence(found.reason))
        further = "" if found is None else f"{tr_sentence(self._both())}{self._enough()}{self._answered_by_more()}"
        self._further.setText(further.strip())
        self._unfold.setVisible(bool(further))
        self._further.setVisible(bool(further) and self._unfolded)
        look(self._reason, "" if found is not None else "problem" if refused is not None else "muted")
        second = self._second_release()
        self._second.setVisible(second is not None)
        if second is not None:
            tip = tr("Choose the way of that release; each is charged by itself")
            reword(self._second, tr("Second release: {way}", way=inside(second[0])), tip)

    def _turn(self) -> None:
        self._unfolded = not self._unfolded
        reword(self._unfold, tr("Less") if self._unfolded else tr("More"))
        self._further.setVisible(self._unfolded)

    def _show_release(self) -> None:
        """Highlight the next step: never a release that is mostly noise, answers nothing, or exceeds the ε offered."""
        session, way, found = self.session, self.session.way, self._marks.ways
        own = self._marks.own
        poor = is_poor(own)
        better = None if found is None or not poor or found.advised == way else found.way(found.advised)
        done = self._has_released(way)
        self._released.setVisible(done)
        self._release.setText(tr("Train →") if way == MODEL else tr("Release again…") if done else tr("Release…"))
        self._release.setAccessibleName(
            tr("Train a model in Models") if way == MODEL else tr("Release {way}", way=inside(way))
        )
        self._release.setEnabled(draft_refusal(session) is None and not (own is not None and own.problem))
        self._settings.setVisible(way != MODEL)
        self._better.setVisible(better is not None and better.useful > 0)
        if better is not None:
            reword(self._better, tr("{title} instead", title=tr_sentence(better.title)))
        lead = self._to_questions if poor or session.exceeds_offer else self._release
        lead = self._better if better is not None and better.useful > 0 else lead
        lead = self._released if done else lead  # the highlighted button never pays twice
        self._to_questions.setVisible(lead is self._to_questions)
        self.highlight(lead)
        self.set_note(self._foot_words(own, poor=poor) or (tr(CHARGED_AGAIN) if done else ""))

    def _foot_words(self, own: KindResult | None, *, poor: bool) -> str:
        refused = draft_refusal(self.session)
        if refused is not None:
            return f"⚠ {sentence(refused)}"
        if self._marks.ways is None and self._marks.working:
            return tr(WORKING)
        if own is not None and poor:
            problem = f"⚠ {tr_sentence(own.problem)}" if own.problem else tr(NOTHING_ANSWERED)
            return tr_sentence(own.warning) or problem
        return tr("Working out the marks more exactly…") if self._marks.working else ""

    # -- a wish, and what is not needed ---------------------------------------------------------------------------

    def _ask_more(self) -> None:
        """Add the question that was typed; what is none stays in the field, with the reason below it."""
        try:
            plan = with_another(self.session, self._more.text())
        except ParameterError as error:
            say(self._refused, sentence(error))
            return
        self._more.setText("")  # which also forgets what was typed: Ctrl+Z is about the question
        self.session.edit(tr("ask one more"), plan)

    def _look_for_new_wish(self) -> None:
        """Look for the least ε of a wish that was typed, once it is known which ways answer it."""
        if self._marks.ways is None:
            return
        wishes = frozenset(self.session.questions.asked.wishes)
        new, self._wished = wishes - self._wished, wishes
        asked = questions_of(self.session)
        for at, question in enumerate(asked):
            if question.wish is not None and question.wished and question.wish.text in new:
                self._ask_least(at)

    def _ask_least(self, at: int) -> None:
        """Look for what a person asked for: it stays until ε or the way is another."""
        self._looked = self.session.plan, self.session.way
        self._find_least(at)

    def _find_least(self, at: int) -> None:
        question = self._model.questions[at] if at < self._model.height() else None
        asked = questions_of(self.session)
        question = asked[at] if at < len(asked) else question
        way = self._answering(at)
        if question is None or not way:
            return

        plan = self.session.plan

        def done(epsilon: Decimal | None) -> None:
            self._least, self._least_of = (question, way, epsilon), plan
            self.refresh()

        look_for_epsilon(self.session, self.jobs, question, way, done)

    def _answering(self, at: int) -> str:
        """Return the chosen way, or where it has no answer to a question another one that has; empty where none has."""
        found = self._marks.ways
        answers = {w.name: w.answers[at].half_length for w in (found.ways if found else ()) if at < len(w.answers)}
        fitting = [name for name in (self.session.way, *WITH_FIGURES) if answers.get(name) is not None]
        return fitting[0] if fitting else ""

    def _look_for_unanswered(self) -> None:
        """Look for the least ε of the first question that is not answered well enough, once all marks are known."""
        own, looked = self._marks.own, (self.session.plan, self.session.way)
        known = own is not None and own.known and not self._marks.working
        if own is None or not known or looked == self._looked:
            return
        self._looked, self._least = looked, None
        poor = (at for at, one in enumerate(own.answers) if not one.useful and self._answering(at))
        first = next(poor, None)
        if first is not None and not own.problem:
            self._find_least(first)

    def _show_least(self) -> None:
        self._least_line.setVisible(self._least is not None)
        if self._least is None:
            return
        question, way, epsilon = self._least
        wish, what = question.wish, asked_words(question)
        if wish is not None and question.wished:
            what = tr("{question} within {margin}", question=what, margin=localised(wish.margin))
        offered = self.session.questions.most
        taken = (epsilon, way) == (self.session.plan.epsilon, self.session.way)
        self._take.setVisible(epsilon is not None and not taken)
        if epsilon is None:
            self._found.setText(tr("{question}: no ε up to 50 is enough for {way}.", question=what, way=inside(way)))
            return
        if epsilon > offered:
            self._found.setText(self._beyond(question, what, way, epsilon))
            reword(self._take, tr("Questions →"), tr("Change who gets it, which columns they need or what they ask"))
            return
        least = {"epsilon": entered(epsilon), "way": inside(way)}
        self._found.setText(tr("{question}: at least ε = {epsilon} for {way}.", question=what, **least))
        if way == self.session.way:
            words = tr("Use ε = {epsilon}", **least)
        elif epsilon <= self.session.plan.epsilon:  # less would answer this alone
            words = tr("Use {way}", **least)
        else:
            words = tr("Use ε = {epsilon} and {way}", **least)
        reword(self._take, words, tr("Use this ε for the whole release"))

    def _beyond(self, question: Question, what: str, way: str, epsilon: Decimal) -> str:
        """Return that no ε that is offered answers a question, and what to change."""
        most = self.session.questions.most
        found, changes = self._marks.at(most) or self._marks.ways, [tr("drop columns")]
        if found is not None and question in found.questions:
            at = found.questions.index(question)
            near = [one.name for one in found.ways if one.name != way and one.answers[at].useful]
            changes += [tr("choose {way}", way=inside(near[0]))] if near else []
        if epsilon <= RECIPIENTS[-1].most:
            changes.append(tr("change who gets it"))
        changes.append(tr("leave this question out"))
        return tr(
            "{question}: no ε up to {most}, the most that is offered, is enough for {way}: that takes ε = {epsilon}. "
            "What helps: {changes}.",
            question=what,
            most=entered(most),
            way=inside(way),
            epsilon=entered(epsilon),
            changes=", ".join(changes),
        )

    def _show_solved(self) -> None:
        """Show what ε all wishes need together, and how it is split; look for it where that is not known."""
        session, former = self.session, self._solved
        way = session.way if session.way in WITH_FIGURES else WITH_FIGURES[1]
        plan = session.plan if former is None else session.plan.with_(epsilon=former[0].epsilon)
        if self._marks.ways is None or (former is not None and former[:2] == (plan, way)):
            return

        def done(found: Solution | None) -> None:
            self._solved = plan, way, found
            say(self._solved_line, "" if found is None else solved_words(found))

        self._solved = plan, way, None
        self._solved_line.hide()
        solve_wishes(session, self.jobs, way, done)

    def _take_least(self) -> None:
        _, way, epsilon = self._least or (None, "", None)
        if epsilon is not None and epsilon > self.session.questions.most:
            self.session.go("questions")
        elif epsilon is not None:
            other, now = way != self.session.way, self.session.plan.epsilon
            self.session.choose_way(way)
            self.session.set_epsilon(max(epsilon, now) if other else epsilon)

    def _drop(self, at: int) -> None:
        columns = self._model.questions[at].columns
        plan, names = self.session.plan, [name for name in columns if name != self.session.target] or list(columns)
        if names:
            dropped = {name: {"action": "drop"} for name in names}
            self.session.edit(tr("drop {columns}", columns=together(names)), plan.with_columns(dropped))

    # -- the private draw -----------------------------------------------------------------------------------------

    def _show_truth(self) -> None:
        if self.running or not private_figures.may_show(self, self.session):
            return
        plan, number = self.session.plan, self._number + 1
        self._number = number

        def take(found: KindDraws) -> None:
            self._drawn = plan, found

        self.follow(draw_privately(self.session, self.jobs, number)).finished.connect(take)

    # -- the release ----------------------------------------------------------------------------------------------

    @property
    def refused(self) -> WorkbenchError | None:
        return draft_refusal(self.session) or self._marks.problem

    def _choose_advised(self) -> None:
        found = self._marks.ways
        if found is not None:
            self.session.choose_way(found.advised)

    def _second_release(self) -> tuple[str, str] | None:
        """Return the way of the release that gives what the chosen one leaves out, and what both cost.

        None that there is already.
        """
        found = self._marks.ways
        second = None if found is None else found.seconds.get(self.session.way)
        return None if second is None or self._has_released(second[0]) else second

    def _has_released(self, way: str) -> bool:
        return way != MODEL and self.session.has_released(self.session.plan, "" if way == ROWS else way)

    def _both(self) -> str:
        second = self._second_release()
        return "" if second is None else second[1]

    def _choose_second(self) -> None:
        second = self._second_release()
        if second is not None:
            self.session.choose_way(second[0])

    def _press(self) -> None:
        if self.session.way == MODEL:
            self.session.go("train")
        else:
            self.session.ask_for_release()


def solved_words(found: Solution) -> str:
    """Return the least ε of all wishes with its split, or what is not possible, as a person reads it."""
    way = inside(found.way)
    if found.epsilon is None:
        alike: dict[str, list[str]] = {}
        for one in found.impossible:
            alike.setdefault(one.reason, []).append(one.want)
        reasons = "; ".join(f"{', '.join(wants)}: {tr_sentence(reason)}" for reason, wants in alike.items())
        return tr("Not possible by {way}: {reasons}.", way=way, reasons=reasons)
    epsilon = entered(found.epsilon)
    if len(found.split) < 2:
        return tr("A release of your wishes alone by {way} needs ε = {epsilon}.", way=way, epsilon=epsilon)
    split = ", ".join(f"{name} {tr_number(float(amount), '.3g')}" for name, amount in found.split.items())
    stated = tr_later("A release of your wishes alone by {way} needs ε = {epsilon}, split as {split}.")
    return tr(stated, way=way, epsilon=epsilon, split=split)


def _count(way: KindResult) -> str:
    """Return the least number of questions that a way answers."""
    if way.known:
        return tr("{useful} of {answers} ✓", useful=way.useful, answers=len(way.answers))
    return tr("{useful} or more of {answers} ✓", useful=way.useful, answers=len(way.answers))
