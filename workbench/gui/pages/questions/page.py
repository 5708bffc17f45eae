"""Questions: one card with the three questions; the plan follows the answers, and so does the highlighted button."""

from __future__ import annotations

from collections.abc import Collection

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QBoxLayout, QCheckBox, QHBoxLayout, QLineEdit, QWidget

from workbench.data.schema import KINDS
from workbench.gui.pages import page_called
from workbench.gui.pages.base import PageFrame
from workbench.gui.session.blocking import blocks, open_facts
from workbench.gui.session.draft_edits import agreed
from workbench.gui.session.error_text import without_place
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.style.language import capital, tr, tr_later, tr_n, tr_number, tr_sentence
from workbench.gui.style.stylesheet import ROW
from workbench.gui.widgets.basic import (
    Card,
    Elided,
    button,
    label,
    lines,
    mark_wrong,
    named,
    panel,
    reword,
    row,
    say,
    segments,
    stack,
)
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.gui.widgets.empty_state import EmptyState
from workbench.gui.widgets.fast_table import PrivateRows
from workbench.gui.widgets.formatting import count, entered, listed, together
from workbench.gui.widgets.master_detail import WIDE
from workbench.gui.widgets.settings_table import SettingsTable
from workbench.gui.widgets.table_model import Cell, Column, PlanModel
from workbench.gui.widgets.table_view import TableFilter
from workbench.params import ParameterError
from workbench.sanitize.intended_use import (
    AVERAGES,
    FIGURES,
    FURTHER,
    MODEL,
    PAIRS,
    RECIPIENTS,
    ROWS,
    USE_OPTIONS,
    IntendedUse,
    recipient,
)
from workbench.sanitize.wishes import FORMS, Wish

TICK = 1
NOT_KEPT = tr_later("Kept as it is until now: {columns}. What is ticked again is protected.")
NEVER_MIND = tr_later("not suggested: {why}")


class ColumnModel(PlanModel):
    """The columns of the table; ticking some is one step that can be undone."""

    def __init__(self, session: Session) -> None:
        columns = (
            Column(tr("Column"), self._name, tr("The column of the table"), width=200, grows=0.4),
            Column(
                tr("Needed"),
                self._needed,
                tr("Whether the column is released: Space ticks what is selected, Shift+click a range"),
                width=96,
                tick=self._take,
            ),
            Column(tr("Kind"), self._kind, tr("What kind of values the column seems to have"), width=96, choices=KINDS),
            Column("", self._why, tr("Why a column is not suggested"), width=230, grows=0.6),
        )
        super().__init__(session, columns)
        session.plan_changed.connect(self.refresh)

    def needs_at(self, at: int) -> bool:
        """Return whether a column is ticked: the box beside the filter shows these alone."""
        return self.column_at(at).action != "drop"

    def take(self, names: Collection[str], *, ticked: bool) -> None:
        before = self.session.questions
        wanted = {*before.needed, *names} if ticked else {*before.needed}.difference(names)
        needed = tuple(c.name for c in self.session.plan.columns if c.name in wanted)
        one = next(iter(names)) if len(names) == 1 else count(len(names), "column")
        words = tr("release {one}", one=one) if ticked else tr("leave out {one}", one=one)
        kept = [c.name for c in self.session.plan.columns if c.action == "keep" and c.name not in wanted]
        self.session.answer(words, needed=needed, target=before.target if before.target in needed else None)
        if kept:
            self.session.notify("info", tr(NOT_KEPT, columns=listed(kept)))

    def _take(self, at: int, ticked: bool) -> None:
        self.take([c.name for c in self.edited_with(at)], ticked=ticked)

    # -- cells --------------------------------------------------------------------------------------------------------

    def _name(self, at: int) -> Cell:
        column = self.column_at(at)
        return Cell(column.name, "" if self.needs_at(at) else "muted", column.name, key=column.name.casefold())

    def _needed(self, at: int) -> Cell:
        needed, name = self.needs_at(at), self.column_at(at).name
        return Cell(ticked=needed, key=not needed, spoken=f"{name}: {tr('released') if needed else tr('not released')}")

    def _kind(self, at: int) -> Cell:
        column = self.column_at(at)
        profile = self.session.profile_of(column.name)
        kind = column.kind or (profile.kind if profile else "")
        return Cell(tr_sentence(kind), "" if self.needs_at(at) else "muted", key=kind)

    def _why(self, at: int) -> Cell:
        opened, column = self.session.opened, self.column_at(at)
        why = opened.suggested.why_not.get(column.name, "") if opened else ""
        if column.role == "target":
            return Cell(tr("the target"), key="the target")
        stated = tr_sentence(why)
        if self.needs_at(at) and why and why != FURTHER:
            return Cell(f"⚠ {tr(NEVER_MIND, why=stated)}", "warn", key=why)
        return Cell("" if self.needs_at(at) else stated, "muted", key=why or None)


FOLLOWS = tr_later("{columns}, ε up to {most}. Decide compares all ways to release them.")
WISHES = tr_later("Figures that must be close to the truth, and how close; separate several by semicolons")
SOME, EVERY = tr_later("{needed} of {whole}: the rest are not released"), tr_later("{whole}: all are needed")
HIGH = 1100  # points of a page that has room for the rows below the questions


class QuestionsPage(PageFrame):
    """The three questions. Each answer is an edit of the plan, one step that can be undone."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__(session, jobs, page_called("questions"))
        why = tr("Open a table first: the questions are about its columns.")
        self._nothing = EmptyState(session, "questions_nothing", tr("No table yet"), why)
        self.listed = ColumnModel(session)
        accessible = tr("Columns: ticked if they are needed")
        self.columns = SettingsTable(session, self.listed, "question_columns", accessible, private=True)
        self.columns.ticked = TICK
        self.columns.set_row_height(ROW - 4)
        self.columns.horizontalHeader().moveSection(TICK, 0)
        self.filter = TableFilter(self.columns, tip=tr("Show only the columns whose name contains these letters"))
        self.filter.needs.setText(tr("ticked"))
        self.filter.needs.setToolTip(tr("Show only ticked columns"))
        self._parts = QBoxLayout(QBoxLayout.Direction.TopToBottom)
        self._card = Card(self._parts)
        for part in (self._who(), self._which(), self._what()):
            self._parts.addWidget(part)
        self._arrange(beside=False)
        # Who chooses columns looks at what is in them, where a high window has room for it.
        self._sheet = PrivateRows(session, jobs, "questions_rows", tr("THE ROWS"))
        self._sheet.hide()
        self.body.addWidget(self._nothing, 1)
        self.body.addWidget(self._card, 1)
        self.body.addWidget(self._sheet, 1)
        self._onward = self.set_primary(tr("Decide →"), "questions_onward", self._go_on)
        session.table_changed.connect(self._show_table)
        session.plan_changed.connect(self.in_sight(self.refresh))
        self._show_table()

    # -- arrangement --------------------------------------------------------------------------------------------------

    def _question(self, number: int, words: str) -> QHBoxLayout:
        spoken, skip_it = tr("Skip: {words}", words=words), lambda: self._skip(number)
        name = f"questions_skip_{number}"
        skip = button(tr("Skip"), name, "link", tip=tr("Use the suggested answer"), accessible=spoken, press=skip_it)
        return row(label(tr("{number}   {question}", number=number, question=words), "heading"), None, skip)

    def _show_rows(self) -> None:
        opened, high = self.session.opened, self.height() >= HIGH
        self._sheet.setVisible(opened is not None and high)
        self._sheet.show_frame(opened.table.frame if opened is not None and high else None)

    def _who(self) -> QWidget:
        known = ((each.name, tr_sentence(each.title), tr_sentence(each.why)) for each in RECIPIENTS)
        self._recipients = segments(self, "who_", known, self._take_recipient)
        self._why = label("", "muted", wrap=True, name="who_why")
        who = row(*self._recipients.values(), None, spacing=4)
        return panel(stack(self._question(1, tr("Who gets it?")), who, self._why, None))

    def _which(self) -> QWidget:
        self._count = Elided("", "muted", name="questions_count")
        every = button(tr("All"), "questions_all", "link", tip=tr("Tick every column shown"))
        every.clicked.connect(lambda: self._take_in_sight(ticked=True))
        none = button(tr("None"), "questions_none", "link", tip=tr("Untick every column shown"))
        none.clicked.connect(lambda: self._take_in_sight(ticked=False))
        line = row(
            (self._count, 1), self.filter, every, none, spacing=12
        )  # the filter's count grows to the left of all
        return panel(stack(self._question(2, tr("Which columns do they need?")), line, (self.columns, 1)))

    def _what(self) -> QWidget:
        self._asks: dict[str, QCheckBox] = {}
        for ask in USE_OPTIONS:
            box = named(QCheckBox(tr_sentence(ask.title)), f"ask_{ask.name}", tip=tr_sentence(ask.help))
            box.clicked.connect(lambda ticked, name=ask.name: self._take_ask(name, ticked=ticked))
            self._asks[ask.name] = box
        spoken = tr("The column that a model predicts")
        self._target = named(ChoiceBox(), "ask_target", spoken, tr("The column to predict"))
        self._target.activated.connect(self._take_target)
        self._target.setMinimumWidth(170)
        self._wishes = named(QLineEdit(), "wishes", tr("Wishes"), tr(WISHES))
        self._wishes.setPlaceholderText(tr("for example {value}", value=FORMS.split(" or ")[0].replace(", ", "; ")))
        self._wishes.editingFinished.connect(self._take_wishes)
        self._wrong = label("", "problem", wrap=True, name="wishes_problem")
        policy = self._wrong.sizePolicy()
        policy.setRetainSizeWhenHidden(True)  # no row of the list moves where a tick makes a wish unanswerable
        self._wrong.setSizePolicy(policy)
        model = panel(row(self._asks[MODEL], self._target))
        boxes = lines(*(self._asks[name] for name in (AVERAGES, PAIRS, FIGURES, ROWS)), model, spacing=12)
        wishes = label(tr("Wishes"), "muted")
        wishes.setBuddy(self._wishes)
        wishes.setToolTip(tr(WISHES))
        line = row(wishes, (self._wishes, 1))
        return panel(stack(self._question(3, tr("What will they ask of it?")), boxes, line, self._wrong, None))

    def _arrange(self, *, beside: bool) -> None:
        """Put the questions side by side where the page is wide, so that the list has all of its height."""
        directions = QBoxLayout.Direction
        self._parts.setSpacing(32 if beside else 16)
        self._parts.setDirection(directions.LeftToRight if beside else directions.TopToBottom)
        for at, stretch in enumerate((2, 4, 3) if beside else (0, 1, 0)):
            self._parts.setStretch(at, stretch)

    def resized(self) -> None:
        self._arrange(beside=self.width() >= WIDE)
        self._show_rows()

    # -- what is shown ------------------------------------------------------------------------------------------------

    def _show_table(self) -> None:
        opened, self._refused = self.session.opened, False
        self._nothing.setVisible(opened is None)
        self._card.setVisible(opened is not None)
        self._show_rows()
        self.refresh()
        if opened is not None:
            self.columns.setCurrentIndex(self.listed.index(0, 0))

    def refresh(self) -> None:
        """Show the answers of the plan, what follows from them, and what blocks a release."""
        self._onward.setVisible(self.session.opened is not None)
        if self.session.opened is None:
            self.set_note("")
            return
        asked = self.session.questions
        self._recipients[asked.recipient].setChecked(True)
        self._why.setText(tr_sentence(recipient(asked.recipient).why))
        needed, whole = len(asked.needed), len(self.session.plan.columns)
        words = SOME if needed < whole else EVERY
        self._count.set_whole(tr(words, needed=tr_number(needed, ","), whole=count(whole, "column")))
        for name, box in self._asks.items():
            box.setChecked(name in asked.asks)
        self._show_target(asked)
        if self._refused and not self._wishes.hasFocus():
            self._take_wishes()  # a column that is ticked now may be the one it asks for
        elif not self._wishes.hasFocus():
            self._show_wishes(asked)
        self.set_note(self._next(asked))

    def _show_target(self, asked: IntendedUse) -> None:
        choices = [*([] if asked.target else [(tr("choose a column"), None)]), *((name, name) for name in asked.needed)]
        self._target.offer(choices, asked.target)
        mark_wrong(self._target, MODEL in asked.asks and asked.target is None)

    def _show_wishes(self, asked: IntendedUse) -> None:
        self._wishes.setText("; ".join(wish.text for wish in asked.wishes))
        gone = {name for wish in asked.unanswered for name in wish.columns if name not in asked.needed}
        unanswered = tr_n(
            "{names} is not ticked, so no release answers that.",
            "{names} are not ticked, so no release answers that.",
            len(gone),
            names=together(sorted(gone)),
        )
        self._say(unanswered if gone else "")

    def _say(self, text: str) -> None:
        say(self._wrong, f"✕ {capital(text)}" if text else "")
        mark_wrong(self._wishes, bool(text))

    def _next(self, asked: IntendedUse) -> str:
        """Return what follows from the answers and what comes first, and let the highlighted button lead there."""
        plan = self.session.plan
        self._to = "data" if blocks(self.session.open_table, agreed(plan)) else "ways"
        self._onward.setEnabled(bool(asked.needed))
        reword(self._onward, tr("Columns →") if self._to == "data" else tr("Decide →"))
        if not asked.needed:
            return tr("Tick the columns they need.")
        follows = tr(FOLLOWS, columns=count(len(asked.needed), "column"), most=entered(asked.most))
        if MODEL in asked.asks and asked.target is None:
            return f"{follows} {tr('Choose the column that a model predicts.')}"
        first = [f"{tr_sentence(words)} ({count(len(names), 'column')})" for words, names in open_facts(plan).items()]
        return f"{follows} {tr('Still to declare: {facts}.', facts=', '.join(first))}" if first else follows

    def shown(self) -> None:
        if self.session.opened is not None:
            self.columns.setFocus(Qt.FocusReason.OtherFocusReason)

    # -- answers ------------------------------------------------------------------------------------------------------

    def _take_in_sight(self, *, ticked: bool) -> None:
        self.listed.take([self.listed.name_at(row) for row in self.columns.in_sight()], ticked=ticked)

    def _take_recipient(self, name: str) -> None:
        title = tr_sentence(recipient(name).title)
        self.session.answer(tr("release to: {recipient}", recipient=title.lower()), recipient=name)
        self.refresh()

    def _take_ask(self, name: str, *, ticked: bool) -> None:
        asked = self.session.questions
        asks = tuple(ask.name for ask in USE_OPTIONS if (ask.name in asked.asks) != (ask.name == name))
        target = asked.target
        if name == MODEL:
            target = (asked.target or self._suggested_target()) if ticked else None
        self.session.answer(tr("change what they ask"), asks=asks, target=target)
        if name == MODEL and target is None and ticked:
            self._target.setFocus(Qt.FocusReason.OtherFocusReason)

    def _suggested_target(self) -> str | None:
        opened = self.session.opened
        named = opened.suggested.target if opened else None
        return named if named in self.session.questions.needed else None

    def _take_target(self) -> None:
        asked, chosen = self.session.questions, self._target.currentText()
        if chosen not in asked.needed:
            return
        asks = tuple(ask.name for ask in USE_OPTIONS if ask.name in (*asked.asks, MODEL))
        self.session.answer(tr("train a model of {chosen}", chosen=chosen), asks=asks, target=chosen)

    def _take_wishes(self) -> None:
        """Take the wishes; what is no wish stays in the field with the reason."""
        asked = self.session.questions
        kinds = {c.name: c.kind for c in self.session.plan.columns if c.name in asked.needed}
        try:
            parts = [part for part in self._wishes.text().split(";") if part.strip()]
            wishes = tuple(dict.fromkeys(Wish.parse(part).checked(kinds) for part in parts))
        except ParameterError as error:
            self._refused = True
            self._say(without_place(error))
            return
        self._refused = False
        if wishes != asked.wishes:
            self.session.answer(tr("change the wishes"), wishes=wishes)
        self._show_wishes(self.session.questions)

    def _skip(self, number: int) -> None:
        """Take what is suggested as the answer to one question, and go on to the next."""
        suggested = self.session.open_table.suggested
        if number == 1:
            self.session.answer(tr("take the suggested recipient"), recipient=suggested.asked.recipient)
            self.columns.setFocus(Qt.FocusReason.OtherFocusReason)
        elif number == 2:
            target = self.session.questions.target
            kept = target if target in suggested.needed else None
            self.session.answer(tr("take the suggested columns"), needed=suggested.needed, target=kept)
            self._asks[AVERAGES].setFocus(Qt.FocusReason.OtherFocusReason)
        else:
            asks = suggested.asked.asks
            target = self._suggested_target() if MODEL in asks else None
            self._refused = False
            self.session.answer(tr("ask as suggested"), asks=asks, target=target, wishes=())
            self._onward.setFocus(Qt.FocusReason.OtherFocusReason)
        self.refresh()

    def _go_on(self) -> None:
        self.session.edit(tr("choose the columns"), agreed(self.session.plan))
        asked = self.session.questions
        if self._refused:
            self._wishes.setFocus(Qt.FocusReason.OtherFocusReason)
        elif MODEL in asked.asks and asked.target is None:
            self._target.setFocus(Qt.FocusReason.OtherFocusReason)
            self._target.showPopup()
        else:
            self.session.go(self._to)
