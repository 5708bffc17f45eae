"""The questions as rows, the ways to release as columns: what a recipient will see, and whether it is near enough."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QRect, Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QStyleOptionViewItem

from workbench.gui.pages.release_tasks import asked_plan
from workbench.gui.pages.run_page import GUESSED, unconfirmed
from workbench.gui.pages.way_marks import Marks, way_in
from workbench.gui.session.blocking import codes_in_words
from workbench.gui.session.draft import DraftPlan
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import Session
from workbench.gui.style.language import capital, language, localised, tr, tr_later, tr_number, tr_sentence, typed
from workbench.gui.widgets.cell_delegates import PADDING, InkDelegate
from workbench.gui.widgets.formatting import half_width, share_half_width
from workbench.gui.widgets.private_figures import follow_note
from workbench.gui.widgets.settings_table import NARROWEST, SettingsTable
from workbench.gui.widgets.table_model import Cell, Column, EditedModel, Index
from workbench.gui.widgets.way_bar import ways
from workbench.jobs import CancelToken, Emit, Job
from workbench.params import ParameterError
from workbench.render.fonts import scaled
from workbench.sanitize.wishes import CLASSES, CORRELATION, MEAN, NUMBERS, SHARE, Wish

if TYPE_CHECKING:
    from workbench.sanitize.plan import Plan
    from workbench.studies.kind_advice import Answer, KindResult
    from workbench.studies.kind_comparison import KindComparison
    from workbench.studies.kind_draws import KindDraws
    from workbench.studies.kind_questions import Question
    from workbench.studies.solve import Solution


DRAW, LEAST, SOLVE = "ways-draw", "ways-least", "ways-solve"
LEAST_SHOWN = 0.0001
SEEN = tr_later("Private figures of these rows were shown before: the certificate will say so.")


def questions_of(session: Session) -> tuple[Question, ...]:
    """Return what will be asked, from the plan alone; none while there is no plan."""
    if session.opened is None or not session.plan.ready:
        return ()
    from workbench.studies.kind_questions import asked_of

    return asked_of(asked_plan(session.plan, session.plan.plan()))


def look_for_epsilon(
    session: Session, jobs: JobCenter, question: Question, way: str, done: Callable[[Decimal | None], None]
) -> JobHandle:
    """Find the least ε at which ``way`` answers ``question`` well enough; no row is read."""

    def work(plan: Plan, rows: int, cancel: CancelToken) -> Decimal | None:
        from workbench.studies.solve import least_epsilon

        return least_epsilon(plan, rows, question, way, cancel)

    title = tr("Looking for the least ε for {question}", question=tr_sentence(question.words))
    return _of_plan(session, jobs, title, LEAST, work, done)


def _of_plan(
    session: Session,
    jobs: JobCenter,
    title: str,
    key: str,
    work: Callable[[Plan, int, CancelToken], Any],
    done: Callable[[Any], None],
) -> JobHandle:
    """Find something out of the plan and the number of rows; ``done`` has it if only ε is another one by then."""
    opened, draft = session.open_table, session.plan
    plan, rows = asked_plan(draft, draft.plan()), opened.rows_under(draft)

    def apply(found: Any) -> None:
        if session.opened is opened and session.plan.with_(epsilon=draft.epsilon) == draft:
            done(found)

    job = Job(title, lambda emit, cancel: work(plan, rows, cancel))
    return jobs.start(job, key=key, stoppable=False, on_result=apply)


def solve_wishes(
    session: Session, jobs: JobCenter, way: str, done: Callable[[Solution | None], None]
) -> JobHandle | None:
    """Find the least ε, and its split, of a release by ``way`` of nothing but what was typed; no row is read."""
    draft = session.plan
    if session.opened is None or not draft.ready or draft.problems() or not session.questions.asked.wishes:
        return None

    def work(plan: Plan, rows: int, cancel: CancelToken) -> Solution | None:
        from workbench.studies.kind_questions import answered_by
        from workbench.studies.solve import solve

        try:
            return solve(plan, rows, answered_by(plan).wishes_of([c.name for c in plan.protected]), way, cancel=cancel)
        except ParameterError:
            return None  # a wish is of a column that has another kind now, or the way cannot be gone with this plan

    return _of_plan(session, jobs, tr("Looking for the least ε of all wishes"), SOLVE, work, done)


def draw_privately(session: Session, jobs: JobCenter, number: int) -> JobHandle:
    """Draw by each way from the rows at the plan's ε, beside the truth: a private study; nothing is released."""
    opened, draft = session.open_table, session.plan
    plan = asked_plan(draft, draft.plan())

    def work(emit: Emit, cancel: CancelToken) -> KindDraws:
        from workbench.release.ledger.study_note import note_study
        from workbench.studies.kind_draws import draw_kinds

        note_study(opened.table, "ways", emit=emit)
        return draw_kinds(plan, opened.table, number, emit, cancel)

    return follow_note(session, jobs, jobs.start(Job(tr("Drawing by each way, beside the truth"), work), key=DRAW))


def outside_of(session: Session) -> tuple[str, ...]:
    """Return a sentence for everything that is not covered, is a guess, or was shown before."""
    if session.opened is None or not session.plan.ready:
        return ()
    from workbench.sanitize.forecast import outside_guarantee

    found = list(map(tr_sentence, outside_guarantee(session.plan.plan())))
    if session.opened.table.ambiguities:
        found.append(tr(GUESSED).removeprefix("⚠ "))
    guessed, coded = unconfirmed(session), codes_in_words(session.opened, session.plan)
    return (*found, *filter(None, (coded, guessed, tr(SEEN) if session.account.seen else "")))


def with_another(session: Session, text: str) -> DraftPlan:
    """Return the plan with one more wish, of columns that are released.

    Raises:
        ParameterError: it is no wish, or of a column that is not released.
    """
    plan = session.plan
    wish, asked = Wish.parse(text).checked({c.name: c.kind for c in plan.protected}), plan.questions.asked
    others = [one for one in asked.wishes if Wish.parse(one).figure != wish.figure]
    return plan.with_(asked=dataclasses.replace(asked, wishes=(*others, wish.text)))


def example_wish(plan: DraftPlan) -> str:
    """Return a wish of columns that are released, as it is typed; empty where none of them has such a figure."""
    named = {c.name: c.kind for c in plan.protected}
    numbers = [c for c in plan.protected if c.kind in NUMBERS]
    wishes = [Wish(CORRELATION, tuple(c.name for c in numbers[:2]), 0.1)] if len(numbers) > 1 else []
    for c in plan.protected:
        if c in numbers and c.lower is not None and c.upper is not None and c.upper > c.lower:
            wishes.append(Wish(MEAN, (c.name,), float(f"{(c.upper - c.lower) / 50:.1g}")))
        elif c.kind in CLASSES and c.domain:
            wishes.append(Wish(SHARE, (c.name,), 0.03, c.domain[0]))
    return next((wish.text for wish in wishes if _is_read(wish, named)), "")


def _is_read(wish: Wish, named: Mapping[str, str | None]) -> bool:
    """Return whether what is typed is read as meant: a name may hold a comma."""
    try:
        return Wish.parse(wish.text).checked(named) == wish
    except ParameterError:
        return False


def with_wish(plan: DraftPlan, question: Question, margin: str) -> DraftPlan:
    """Return the plan with another margin wished for a question, or with none where ``margin`` is empty.

    Raises:
        ParameterError: the margin is not a number, or asks for nothing.
    """
    wish, asked = question.wish, plan.questions.asked
    assert wish is not None
    others = [text for text in asked.wishes if Wish.parse(text).figure != wish.figure]
    stated = margin.strip().removeprefix("±").strip()
    if stated:
        points = question.asked == "share" or stated.endswith("%")
        text = f"{wish.figure} ± {typed(stated.removesuffix('%'))}{' %' if points else ''}"
        try:
            others.append(Wish.parse(text).text)
        except ParameterError as error:
            raise ParameterError(
                tr("{text} is not a margin", text=repr(margin.strip())), hint=tr("write it as ± 2")
            ) from error
    return plan.with_(asked=dataclasses.replace(asked, wishes=tuple(others)))


# -- the table --------------------------------------------------------------------------------------------------------


SHORT = {"rows": tr_later("Noisy"), "synthetic": tr_later("Synthetic"), "model": tr_later("Model")}
"""Titles of columns that are shorter than the words of the way."""

MARKED = {"yes": " ✓", "no": " ✗"}
KEPT_HELP = tr_later(
    "How much is kept of what a simple model learns beyond always giving one answer. On made-up rows it scores {score} "
    "this way, and {best} without privacy. Your rows were not read: Models, Curves measures the accuracy on them."
)
UNKNOWN, NOTHING = "…", "–"
TRUTH_HELP = tr_later("The true figure in your rows: private, shown only after you agree")
DELETE = "Del"  # not translated
SIGN = 8  # pixels that the sign before a heading needs beyond what the font of the heading says
MOST_SPACE, ROOM = 170, 120
"""Pixels that a wide table adds to each column of figures at most, and that the longest question keeps behind it."""

LEAST_QUESTION = 150  # pixels of a question before the table is scrolled sideways
TRUTH, FIRST_WAY = 2, 3  # the column of the first way: questions, margins and the truth are before it


class DecideModel(EditedModel):
    """One row for each question."""

    widths_changed = Signal()  # the cells may be wider or narrower

    def __init__(self, session: Session, marks: Marks) -> None:
        known = ways()
        self.names = tuple(name for name, _, _ in known)  # of the ways, in the order of their columns
        columns = (
            Column(tr("Question"), self._asked, tr("What recipients will ask of the release"), 164, 1.0),
            Column(
                tr("within"),
                self._within,
                tr("How close to the truth an answer must be in 95 of 100 releases. Type a margin, or leave it empty"),
                76,
                right=True,
                field="within_editor",
                spoken=tr("How close an answer must be; if empty, better than having no table"),
                edit=self._wish,
            ),
            Column(tr("truth"), self._truth, tr(TRUTH_HELP), 56, right=True),
            *(
                Column(words, partial(self._cell, name), tip, 120, 0.4, right=True, sorts=False)
                for name, words, tip in known
            ),
        )
        super().__init__(session, columns)
        self._marks = marks
        self.questions: tuple[Question, ...] = ()
        self._drawn: KindDraws | None = None
        self._found: KindComparison | None = None

    def height(self) -> int:
        return len(self.questions)

    def show_questions(self, questions: tuple[Question, ...], drawn: KindDraws | None) -> None:
        """Show what is known of the questions, with the private draw where there is one of this plan."""
        self._drawn, self._found = drawn, self._marks.ways
        if [q.key for q in questions] != [q.key for q in self.questions]:
            self.beginResetModel()
            self.questions = questions
            self.endResetModel()
        else:
            self.questions = questions
            self.refresh()
        self._title()
        if self._found is not None:  # what is not known yet moves no column
            self.widths_changed.emit()

    def stack_headings(self, *, stacked: bool) -> None:
        """Write the signs of the headings above their words, where those beside them would take too much room."""
        if stacked != self._stacked:
            self._stacked = stacked
            self._title()

    def _title(self) -> None:
        found, between = self._found, "\n" if self._stacked else " "
        for place, (name, long, tip) in enumerate(ways()):
            chosen = "●" if name == self.session.way else "○"
            star = "★" if found is not None and name == found.advised else ""
            way = way_in(found, name)
            words = tr(SHORT[name]) if name in SHORT else long
            signs = f"{chosen} {star}".strip() if self._stacked else chosen
            title = f"{signs}{between}{words}" + (f" {star}" if star and not self._stacked else "")
            self.retitle(FIRST_WAY + place, title, _help(tip, way, advised=bool(star)))

    # -- cells ----------------------------------------------------------------------------------------------------

    def _asked(self, at: int) -> Cell:
        words = asked_words(self.questions[at])
        return Cell(words, tip=words, key=words.casefold())

    def _within(self, at: int) -> Cell:
        question = self.questions[at]
        wish = question.wish
        if wish is None:
            near = question.asked == "correlation"
            tip = tr("This margin is usual, and cannot be changed.") if near else tr("This question has no margin.")
            return Cell(_margin(question) if near else NOTHING, "muted", tip)
        if question.wished:
            margin = localised(wish.margin)
            return Cell(margin, value=margin.removeprefix("± "), key=question.enough)
        tip = tr("No margin was typed: {margin} is usual. Type another one here.", margin=_margin(question))
        return Cell(_margin(question), "muted", tip, value="", key=question.enough)

    def _truth(self, at: int) -> Cell:
        drawn, question = self._drawn, self.questions[at]
        value = None if drawn is None else drawn.truth.get(question.key)
        return Cell("", "muted") if value is None else Cell(figure(question, value), key=value)

    def _cell(self, name: str, at: int) -> Cell:
        found, question = self._found, self.questions[at]
        if found is None:
            return Cell(UNKNOWN, "muted", tr("Not known yet"), spoken=tr("not known yet"))
        way = way_in(found, name)
        if way is None or at >= len(found.questions) or found.questions[at].key != question.key:
            return Cell(NOTHING, "muted", tr("This way is not compared by these questions"), spoken=tr("not compared"))
        answer = way.answers[at]
        seen = None if self._drawn is None else self._drawn.seen.get((name, question.key))
        return answer_cell(question, answer, None if seen is None else figure(question, seen))

    def _wish(self, at: int, text: str) -> None:
        question = self.questions[at]
        words = {"question": tr_sentence(question.words), "margin": text.strip()}
        plan = with_wish(self.session.plan, question, text)
        self.session.edit(tr("wish {question} within {margin}", **words), plan)


def asked_words(question: Question) -> str:
    """Return a question as a person reads it, with a capital."""
    return capital(tr_sentence(question.words))


def _help(tip: str, way: KindResult | None, *, advised: bool) -> str:
    parts = [tip if way is None else tr_sentence(way.gives)]
    if way is not None:
        problem = way.problem and tr("It cannot be made: {problem}.", problem=tr_sentence(way.problem))
        parts += [problem, tr_sentence(way.warning)]
    return "\n".join(filter(None, (*parts, tr("★ recommended") if advised else "", tr("Click to choose it."))))


def answer_cell(question: Question, answer: Answer, seen: str | None) -> Cell:
    """Return what a recipient sees of a question by a way, and whether it is near enough."""
    if answer.mark == "not known yet":
        return Cell(UNKNOWN, "muted", tr("Not known yet"), spoken=tr("not known yet"))
    if answer.mark == "not answered":
        only, none = tr("Answered only {note}", note=tr_sentence(answer.note)), tr("This way does not answer it")
        tip = only if answer.note else none
        return Cell(NOTHING, "muted", tip, spoken=tr("not answered"))
    if answer.half_length is None:
        looked = tr("yes") if answer.mark == "yes" else tr("noise")
        stated = seen or (_kept(f"{100 * answer.kept:.0f} %") if question.asked != "rows" else looked)
    else:
        half = _half(question, answer.half_length)
        stated = f"{seen.removesuffix(' %')} {half}" if seen else half
    near = answer.mark == "yes"
    words = tr("close enough") if near else tr("not close enough")
    note = tr_sentence(answer.note)
    if question.asked == "model":
        scores = dict(zip(("score", "best"), map(localised, _scores(answer)), strict=True))
        tip = tr(KEPT_HELP, **scores)
    elif question.asked == "rows":
        tip = note
    elif note:
        tip = tr("Half of the expected 95 % interval; {closeness}; {note}", closeness=words, note=note)
    else:
        tip = tr("Half of the expected 95 % interval; {closeness}", closeness=words)
    spoken = f"{stated}, {words}"
    return Cell(f"{stated}{MARKED[answer.mark]}", "" if near else "danger", tip, spoken=spoken)


def _scores(answer: Answer) -> tuple[str, str]:
    """Return what a model reaches, and what it reaches on the rows themselves, as the note of its answer says."""
    score, _, best = answer.note.partition(" of ")
    return score, best


def _kept(share: str) -> str:
    return tr("{share} kept", share=share)


def _short(share: str) -> str:
    """Return a number below 1 as it is written shortest: .71, where the language writes it so."""
    return share.replace("0.", ".", 1) if language() == "en" else localised(share)


def figure(question: Question, value: float) -> str:
    """Return a figure as a person reads it."""
    if question.asked == "share":
        return f"{tr_number(100 * value, '.2g')} %"
    if question.asked in ("correlation", "model"):
        return _short(f"{value:.2f}")
    return tr_number(value, ".3g" if abs(value) < 1_000 else ",.0f")


def _half(question: Question, half: float) -> str:
    """Return a margin; one far below what is asked for is only said to be below 0.01 % or 0.0001."""
    tiny = 0 < half < LEAST_SHOWN <= question.enough / 10
    if question.asked == "share":
        return f"± {localised('<0.01') if tiny else share_half_width(half)} %"
    return f"± {localised('<0.0001') if tiny else half_width(half)}"


def _margin(question: Question) -> str:
    return _half(question, question.enough)


def stacked(text: str) -> str:
    """Return a figure above its margin."""
    between = _kept("")
    return text.replace(" ± ", "\u2028± ").replace(between, f"\u2028{between.lstrip()}")


class FigureDelegate(InkDelegate):
    """Writes a figure above its margin where the table has little room."""

    stacked = False

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:  # noqa: N802 - Qt's name
        super().initStyleOption(option, index)
        if self.stacked:
            option.text = stacked(option.text)


class DecideTable(SettingsTable):
    """A click on the heading of a way chooses it; Return in one of its cells does the same."""

    chosen_way = Signal(str)  # (name) the person wants that way
    drop_asked = Signal(int)  # (row) nobody needs the columns of that question
    least_asked = Signal(int)  # (row) at which ε it is answered is wanted

    def __init__(self, session: Session, model: DecideModel) -> None:
        accessible = tr("Questions, and how close to the truth each way answers them")
        self._model, self._figures = model, FigureDelegate()
        self._shared_out: tuple[object, ...] = ()
        super().__init__(session, model, "decide_table", accessible, private=lambda _rows: model._drawn is not None)
        for column in range(FIRST_WAY, model.columnCount()):
            self.setItemDelegateForColumn(column, self._figures)
        self.horizontalHeader().sectionClicked.connect(self._choose)
        self.indicate_while_sorted()
        self._add("decide_drop", tr("Drop Its Columns: Nobody Needs Them"), self.drop_asked.emit, DELETE)
        self._add("decide_within", tr("Type How Near It Must Be"), lambda at: self.edit(model.index(at, 1)))
        self._add("decide_least", tr("Find the Least ε for It"), self.least_asked.emit)
        self.horizontalHeader().setStretchLastSection(False)
        model.widths_changed.connect(self._share_out)

    def _add(self, name: str, words: str, do: Callable[[int], object], key: str = "") -> None:
        act = lambda: self.currentIndex().isValid() and do(self.currentIndex().row())  # noqa: E731
        self.add_action("", words, act, "", key).setObjectName(name)

    def _share_out(self) -> None:
        """Give every figure the room that it needs, the questions what is left, and two lines where that is little."""
        if self._shown_now() == self._shared_out:
            return
        self.setColumnHidden(TRUTH, self._model._drawn is None)  # its width is the questions' until it is asked for
        heads = self.horizontalHeader()
        longest = max(self.sizeHintForColumn(0), heads.sectionSizeHint(0))
        self._stack(stacked=False)
        rest = self._give_widths()
        if rest < longest:
            self._stack(stacked=True)
            rest = self._give_widths()
        figures = [at for at in range(1, self._model.columnCount()) if not self.isColumnHidden(at)]
        space = min(max(rest - longest - ROOM, 0) // len(figures), MOST_SPACE)  # far from it, a figure is hard to place
        for column in figures:
            heads.resizeSection(column, heads.sectionSize(column) + space)
        rest -= space * len(figures)
        metrics = self.fontMetrics()
        words = {word for at in range(self._model.height()) for word in self._model.cell(at, 0).text.split()}
        word = max(map(metrics.horizontalAdvance, words), default=0) + PADDING  # lines are broken between words alone
        if rest < min(longest, max(LEAST_QUESTION, word)):  # scrolled sideways in any case: then few lines each
            rest = min(longest, max(scaled(LEAST_QUESTION), word))
        heads.resizeSection(0, rest)
        room = heads.sectionSize(0) - PADDING
        wraps, height = Qt.TextFlag.TextWordWrap, self.verticalHeader().defaultSectionSize()
        for row in range(self._model.height()):
            cells = [self._model.cell(row, column).text for column in range(FIRST_WAY, self._model.columnCount())]
            asked = metrics.boundingRect(QRect(0, 0, room, 0), wraps, self._model.cell(row, 0).text).height()
            two = self._figures.stacked and any(stacked(text) != text for text in cells)
            lines = max(round(asked / metrics.lineSpacing()), 2 if two else 1)
            self.verticalHeader().resizeSection(row, height + (lines - 1) * metrics.lineSpacing())
        self._shared_out = self._shown_now()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        super().resizeEvent(event)
        self._share_out()

    def _shown_now(self) -> tuple[object, ...]:
        """Return what the widths follow from: every word, the letters and the room."""
        model, columns = self._model, range(self._model.columnCount())
        words = [model.cell(row, column).text for row in range(model.height()) for column in columns]
        heads = [column.title for column in model.columns]
        room = self.viewport().width(), self._model._drawn is None, self._figures.stacked
        return (*words, *heads, *room, self.font().toString(), self.horizontalHeader().font().toString())

    def _stack(self, *, stacked: bool) -> None:
        self._figures.stacked = stacked
        self.setWordWrap(stacked)
        self.stack_headings(stacked=stacked)

    def _give_widths(self) -> int:
        heads, rest = self.horizontalHeader(), self.viewport().width()
        for column in range(1, self._model.columnCount()):
            if not self.isColumnHidden(column):
                width = max(self.sizeHintForColumn(column), heads.sectionSizeHint(column) + SIGN, NARROWEST)
                heads.resizeSection(column, width)
                rest -= width
        return rest

    def _choose(self, column: int) -> None:
        if column >= FIRST_WAY:
            self.chosen_way.emit(self._model.names[column - FIRST_WAY])

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        index = self.currentIndex()
        pressed = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not event.modifiers()
        if pressed and index.column() >= FIRST_WAY:
            self._choose(index.column())
            return
        super().keyPressEvent(event)
