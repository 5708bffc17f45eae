"""Protect: what is done with each attribute, and how ε is split over those that are protected."""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

from PySide6.QtCore import QEvent, QItemSelectionModel, QMarginsF, QSignalBlocker, QSize, Qt
from PySide6.QtWidgets import QSizePolicy, QSlider

from workbench.gui.gauges.budget import HIGH
from workbench.gui.pages import page_called
from workbench.gui.pages.base import PageFrame
from workbench.gui.pages.protect.share_model import ShareModel, evenly, warning, why, with_share
from workbench.gui.pages.protect.share_model import note as warned
from workbench.gui.pages.protect.tasks import PAINTED, Example, Outlook, outlooks
from workbench.gui.pages.run_page import first_problem
from workbench.gui.session.draft_edits import of_all
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.style.language import as_sentence, tr, tr_later, tr_number, tr_sentence
from workbench.gui.widgets import chart_marks as mark
from workbench.gui.widgets.basic import Card, Elided, button, label, lines, named, panel, row, say, stack, views
from workbench.gui.widgets.chart import Below, Chart, Drawing, range_below
from workbench.gui.widgets.chart_marks import BarLine, Scale
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.gui.widgets.empty_state import EmptyState
from workbench.gui.widgets.epsilon_entry import plan_entry
from workbench.gui.widgets.explain import Explainable, explain_button, of_one_row
from workbench.gui.widgets.formatting import at_most, count, entered, together
from workbench.gui.widgets.master_detail import DetailCard, MasterDetail, scrolled_words
from workbench.gui.widgets.settings_table import SettingsTable
from workbench.gui.widgets.table_view import TableFilter
from workbench.jobs import CancelToken, Emit, Job
from workbench.params import ParameterError
from workbench.render.fonts import scaled

FEW, MANY = 4, 12  # candidates shown in a low card, and in a tall one
NARROW = 300  # pixels from which a line has both errors; the tooltip always does
LINE, CLOSE = 40, 25  # pixels of a mechanism's name and its bar: where there is room, and at least


class _Line(NamedTuple):
    """One answer: its title, the error that its bar is as long as, that error and the other one in words."""

    title: str
    error: float
    words: str
    other: str
    used: bool


def _short(title: str) -> str:
    """Return the name of a mechanism without that word, beside which there is little room."""
    return " ".join(tr_sentence(title).replace(tr("mechanism"), "").split())


class CandidateBars(Chart):
    """The expected error of each mechanism that fits, and of a constant answer: the shorter the bar, the better."""

    margins = QMarginsF()

    def __init__(self, session: Session) -> None:
        super().__init__(session, "candidate_bars")
        self._lines: tuple[_Line, ...] = ()
        self._all: tuple[_Line, ...] = ()
        self._most = FEW

    def show_outlook(self, outlook: Outlook | None) -> None:
        self._all = ()
        if outlook is not None:
            best = outlook.candidates[0].name
            most = max((c.statistic or 0.0 for c in outlook.candidates), default=0.0)
            made = [
                _Line(
                    _short(c.title) + ("  ★" if c.name == best else ""),
                    # Without an unbiased statistic: as long as the longest, for it is no better than that.
                    (most if c.statistic is None else c.statistic) if outlook.for_statistics else c.error,
                    outlook.relevant(c),
                    outlook.other(c),
                    c.name == outlook.used.name,
                )
                for c in outlook.candidates
            ]
            if not outlook.for_statistics:
                error = outlook.constant_error
                made.append(
                    _Line(tr("always “{answer}”", answer=outlook.constant), error, outlook.in_words(error), "", False)
                )
            self._all = tuple(made)
        stated = (f"{line.title} {line.words}{line.other and ', '}{line.other}" for line in self._all)
        self.setAccessibleName(tr("Expected errors: {errors}", errors="; ".join(stated)))
        self.setToolTip("\n".join(f"{line.title}: {line.words}  {line.other}" for line in self._all))
        self._fit()

    def show_all(self, *, whole: bool) -> None:
        """Show every candidate, or where there is little room the best few; the tooltip names all."""
        self._most = MANY if whole else FEW
        self._fit()

    def _fit(self) -> None:
        """Take the lines that there is room for: the best ones, the one in use, and last the constant answer."""
        self._lines, most = self._all, self._most
        if most == FEW:
            most = max(3, FEW * CLOSE // scaled(CLOSE))
        if len(self._all) > most:
            ends = [at for at, line in enumerate(self._all) if line.used or not line.other]
            best = [at for at in range(len(self._all)) if at not in ends][: most - len(ends)]
            self._lines = tuple(self._all[at] for at in sorted((*ends, *best)))
        self.setMinimumHeight(len(self._lines) * scaled(CLOSE))
        self.updateGeometry()
        self.update()

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        """Take as many lines as there is room for where they are written larger or smaller."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._fit()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        return QSize(340, len(self._lines) * scaled(LINE))

    def drawing(self) -> Drawing | None:
        if not self._lines:
            return None
        most = max(line.error for line in self._lines) or 1.0
        roomy = self.width() >= scaled(NARROW)
        lines = [
            BarLine(
                line.title,
                line.error / most,
                f"{line.other}   {line.words}" if line.other and roomy else line.words,
                "accent" if line.used else "muted",
                strong=line.used,
                framed=not line.used,
            )
            for line in self._lines
        ]
        return Drawing((mark.bar_lines(lines, 13, above=True),), frame="none")


STEPS = 1000
HEIGHT, PICTURE = 256, 420  # pixels in height: of the card below the table, and of both pictures beside it
VALUES, STATISTICS = "values", "statistics"
CHOICES = ((VALUES, tr_later("each value near the truth")), (STATISTICS, tr_later("means and counts")))
SHORTEST = 12  # letters of an answer that stay in sight
MOST_WIDTH = 268
HELP = tr_later(
    "The advisor chooses the mechanism by this. Each value near the truth: the least distance of one released value "
    "from the true one. Means and counts: the least noise in an unbiased mean or share, which shrinks with more rows"
)

LEAST_SHARE = 92  # height in pixels below which the bars cannot be read
FAINT = 0.45
BECOMES = tr_later("{given} becomes {answer} in {chance} % of all draws")
BECOMES_EACH = tr_later("{given} becomes each of {answer} in {chance} % of all draws")


def becoming(example: Example) -> Drawing:
    """Return one bar per answer; the bar of the true value is filled and named, the others are pale."""
    chances, own = dict(enumerate(example.chances)), example.at
    below = range_below(example.answers)
    if example.given in {end.text for end in below}:
        below = tuple(Below(end.at, end.text, "accent" if end.text == example.given else "muted") for end in below)
    else:
        below = (*below, Below(own + 0.5, example.given, "accent"))
    chance = tr_number(100 * chances[own], ".3g")
    return Drawing(
        (mark.bars({at: c for at, c in chances.items() if at != own}, alpha=FAINT), mark.bars({own: chances[own]})),
        x=Scale(0, len(chances)),
        y=Scale(0, max(example.chances) or 1.0),
        below=below,
        title=tr("What {given} can become", given=example.given),
        words=lambda x: _words(example, int(x)),
        spoken=tr("What {given} can become: itself in {chance} % of all draws", given=example.given, chance=chance),
        margins=QMarginsF(0, 28, 0, 20),
    )


def _words(example: Example, bar: int) -> str:
    answer, chance = example.answers[bar], tr_number(100 * example.chances[bar], ".3g")
    return tr(BECOMES_EACH if " – " in answer else BECOMES, given=example.given, answer=answer, chance=chance)


class ShareDetail(DetailCard):
    """Follows the attribute that is selected in the table of shares."""

    def __init__(self, session: Session, model: ShareModel) -> None:
        super().__init__(HEIGHT, PICTURE)
        self.setObjectName("share_detail")
        self._session, self._model, self._at, self._drag = session, model, 0, 0
        self._name = Elided("", "heading")
        self._why = label("", wrap=True, name="share_why")
        self._warning = label("", "warn", wrap=True, name="share_warning")
        self._problem = label("", "problem", wrap=True, name="share_problem")
        tip = tr("Moves the share of this attribute; the other unlocked ones make room")
        spoken = tr("Share of ε of the chosen attribute")
        self.slider = named(QSlider(Qt.Orientation.Horizontal), "share_slider", spoken, tip)
        self.slider.setRange(1, STEPS - 1)
        self.slider.setPageStep(STEPS // 20)
        self.slider.valueChanged.connect(self._moved)
        self.slider.sliderPressed.connect(self._begin_drag)
        self._share = label("", name="share_of")
        ask = explain_button(session, "share_explain", lambda: model.asked_at(self._at))
        line = label(tr("share of ε"), "muted"), (self.slider, 1), self._share, ask
        self._slider_line = panel(row(*line, spacing=12))
        stated = scrolled_words(self._why, self._warning, self._problem)
        self._purpose = named(ChoiceBox(), "share_purpose", tr("What this column is for"), tr(HELP))
        self._purpose.activated.connect(self._choose_purpose)
        self._purpose.give_way(SHORTEST)
        self._purpose.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._purpose.setMaximumWidth(MOST_WIDTH)
        caption = label(tr("What is it for?"), "muted")
        caption.setToolTip(tr(HELP))
        caption.setBuddy(self._purpose)
        self._purpose_line = panel(row(caption, (self._purpose, 1)))
        left = stack(self._name, (stated, 1), self._purpose_line, self._slider_line, spacing=6)
        self._bars = CandidateBars(session)
        self._becoming = Chart(session, "share_becoming", usual=QSize(360, 220), least=QSize(0, LEAST_SHARE))
        self._drawn = stack(self._bars, self._becoming, spacing=10)
        self.fill(left, panel(self._drawn), picture_width=318)
        model.dataChanged.connect(self.refresh)
        model.refused.connect(self.say_refused)

    def arrange(self, *, beside: bool) -> None:
        """Give the chart what the bars do not need, where there is much room."""
        super().arrange(beside=beside)
        self._drawn.setStretch(1, 1 if beside else 0)
        self._bars.show_all(whole=beside)

    def show_attribute(self, at: int) -> None:
        self._at = at
        self._begin_drag()
        self.say_refused("")
        self.refresh()

    def say_refused(self, why: str) -> None:
        """Say why an edit was not taken, until the next one."""
        say(self._problem, f"✕ {as_sentence(why)}" if why else "")

    def refresh(self) -> None:
        if not 0 <= self._at < self._model.rowCount():
            return
        column, outlook = self._model.column_at(self._at), self._model.outlook_at(self._at)
        shares = self._model.shares()
        share = shares.get(column.name)
        edited = self._model.edited_with(self._at)
        others = len(edited) - 1
        more = {"name": column.name, "others": tr_number(others, ",")}
        several = tr("{name} and {others} more: edits apply to all selected columns", **more)
        self._name.set_whole(several if others else column.name)
        self._purpose_line.setVisible(column.protected)
        self._purpose.offer(((tr(words), purpose) for purpose, words in CHOICES), column.purpose)
        self._why.setText(why(column, outlook if self._model.current(self._at) else None, share))
        stated = warning(column, outlook, high=self._session.plan.epsilon > HIGH)
        say(self._warning, f"⚠ {stated}" if stated else "")
        self._bars.setVisible(outlook is not None)
        self._bars.show_outlook(outlook)
        example = None if outlook is None else outlook.example
        self._becoming.show_drawing(None if example is None else becoming(example))
        self._slider_line.setVisible(share is not None)
        if share is not None:
            self._share.setText(at_most(share))
            self._share.setToolTip(tr("{share} exactly", share=entered(share)))
            self.slider.setEnabled(len(shares) > 1)
            if not self.slider.isSliderDown():
                with QSignalBlocker(self.slider):
                    self.slider.setValue(round(STEPS * float(share / self._session.plan.epsilon)))

    def _choose_purpose(self) -> None:
        purpose, columns = self._purpose.currentData(), [c for c in self._model.edited_with(self._at) if c.protected]
        made = {c.name: {"purpose": purpose} for c in columns if c.purpose != purpose}
        words = tr("say what {columns} is for", columns=of_all(columns))
        self._session.edit(words, self._session.plan.with_columns(made))

    def _begin_drag(self) -> None:
        self._drag += 1  # steps of one drag are one step of undo; the next drag is another

    def _moved(self, step: int) -> None:
        plan, column = self._session.plan, self._model.column_at(self._at)
        share = Decimal(f"{plan.epsilon * step / STEPS:.3g}")
        try:
            made = with_share(plan, column.name, share, lock=column.epsilon is not None)
        except ParameterError as error:
            self.say_refused(str(error))
            self.refresh()
            return
        self.say_refused("")
        self._session.edit(tr("move the share of {name}", name=column.name), made, f"share {self._drag} {column.name}")


# -- the page ---------------------------------------------------------------------------------------------------------


EPSILON_HELP = tr_later(
    "The privacy loss of one row's whole record: how far anybody's belief about one person can "
    "move. Smaller is more private; at 0.5, a belief of 10 % can rise to at most 15.5 % by noisy rows, and to at most "
    "23.2 % by statistics, synthetic rows or a model"
)


class ProtectPage(PageFrame):
    """The entry of ε, one row per attribute, and the chosen attribute below them."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__(session, jobs, page_called("protect"))

        tip = tr("Unlock every share and give each column the same")
        self._even = button(tr("Split evenly"), "split_evenly", tip=tip, press=self._split_evenly)
        self.entry = plan_entry(session, "plan_epsilon", tr(EPSILON_HELP))
        Explainable(self.entry.field, session, lambda: of_one_row(session, session.plan.epsilon))
        self.shares = ShareModel(session)
        accessible = tr("Attributes: action, mechanism, share of ε and expected error of each")
        self.table = SettingsTable(session, self.shares, "share_table", accessible)
        Explainable(self.table, session, lambda: self.shares.asked_at(self.table.currentIndex().row()))
        self.detail = ShareDetail(session, self.shares)
        self.table.selectionModel().currentRowChanged.connect(lambda now, _: self.detail.show_attribute(now.row()))
        self.table.chosen_changed.connect(self.detail.refresh)
        self.filter = TableFilter(self.table)
        self.header.addWidget(self.filter)
        self.header.addWidget(self._even)
        self._sum = label("", "muted", name="share_sum")
        why = tr("Open a table first: then each of its attributes is listed here with its share of ε.")
        self._nothing = EmptyState(session, "protect_nothing", tr("Nothing to protect yet"), why)
        self._arrange()
        tip = tr("See what the plan does to the table")
        self._next = self.set_primary(tr("Rows →"), "to_preview", lambda: session.go("preview"), tip)
        self._stale = True
        session.plan_changed.connect(self.in_sight(self.refresh))
        session.table_changed.connect(self.in_sight(self._show_table, whole=True))
        self._show_table()

    def _arrange(self) -> None:
        session, caption = self.session, label(tr("Privacy budget of one whole row,  ε"))
        ask = explain_button(session, "protect_explain", lambda: of_one_row(session, session.plan.epsilon))
        budget = Card(lines(caption, (row((self.entry, 1), ask), 1), spacing=12), pad=12)
        table = Card(self.table, row(None, self._sum, margins=(8, 0, 12, 2)), pad=8, spacing=4)
        self._whole = panel(stack(budget, (MasterDetail(table, self.detail), 1), spacing=12))
        self._views = views(self._nothing, self._whole)
        self.body.addWidget(self._views, 1)

    # -- what is shown --------------------------------------------------------------------------------------------

    def _show_table(self) -> None:
        opened = self.session.opened is not None
        self._views.setCurrentWidget(self._whole if opened else self._nothing)
        for part in (self._even, self.filter, self._next):
            part.setVisible(opened)
        self.refresh()
        self.table.show_all()
        if opened and self.shares.rowCount():
            first = next((i for i, c in enumerate(self.session.plan.columns) if c.protected), 0)
            flags = QItemSelectionModel.SelectionFlag
            at = self.shares.index(first, 3)
            self.table.selectionModel().setCurrentIndex(at, flags.ClearAndSelect | flags.Rows)
            self.detail.show_attribute(first)

    def refresh(self) -> None:
        """Show the plan as it is, and ask for its forecasts while the page is in sight."""
        plan = self.session.plan
        self.entry.set_value(plan.epsilon)
        self.shares.follow_plan()
        self._say_sum()
        self._say_note()
        self._stale = True
        if self.isVisible():
            self._ask()

    def shown(self) -> None:
        self.table.sort_again()  # not while a person drops a column here: its row would move away
        self._ask()

    def _ask(self) -> None:
        opened = self.session.opened
        if self._stale and self.shares.shares() and opened is not None:
            self._stale = False
            # Also where nothing is outdated: what is computed for a former plan is not to be shown.
            wanted, rows = self.shares.outdated(), opened.table.rows

            def work(emit: Emit, cancel: CancelToken) -> tuple[Outlook, ...]:
                cancel.rest(PAINTED)
                return outlooks(wanted, cancel, rows)

            job = Job(tr("Forecasting the errors"), work)
            self.jobs.start(job, key="forecast", stoppable=False, on_result=self._take_outlooks)

    def _take_outlooks(self, outlooks: tuple[Outlook, ...]) -> None:
        self.shares.take_outlooks(outlooks)
        self.table.make_room()
        self.table.filter_again()
        self._say_note()

    def _say_sum(self) -> None:
        shares, plan = self.shares.shares(), self.session.plan
        if not shares:
            self._sum.setText(f"⚠ {self.shares.problem}" if self.shares.problem else tr("No column is protected"))
            return
        total = sum(shares.values(), Decimal(0))
        # What is called exact is not rounded, nor is a sum that would then read like the ε it falls short of.
        written = entered if at_most(total) == at_most(plan.epsilon) else at_most
        stated = {"shares": count(len(shares), "share"), "total": written(total), "epsilon": written(plan.epsilon)}
        less = tr("{shares}, together ε = {total}, less than ε = {epsilon}: free a lock to use the rest", **stated)
        self._sum.setText(less if total != plan.epsilon else tr("{shares}, together ε = {total} exactly", **stated))

    def _say_note(self) -> None:
        plan = self.session.plan
        problem = first_problem(self.session)
        kept = [c.name for c in plan.columns if c.action == "keep"]
        taken = [c.name for c in plan.protected if c.bounds_origin == "data"]
        if self.session.opened is None:
            note = ""
        elif problem:
            note = f"✕ {problem}"
        elif kept:
            note = tr("⚠ Published as it is, covered by no ε: {kept}.", kept=together(kept))
        elif stated := warned(self.shares.useless(), plan.epsilon, high=plan.epsilon > HIGH):
            note = stated
        elif taken:
            note = tr(
                "⚠ Bounds or values were read off the data, which publishes them: {taken}.", taken=together(taken)
            )
        else:
            note = tr("Nothing on this page has read the rows: the errors follow from the mechanisms alone.")
        self.set_note(note)
        self._next.setEnabled(plan.ready and bool(plan.protected))

    # -- what the buttons do --------------------------------------------------------------------------------------

    def _split_evenly(self) -> None:
        self.session.edit(tr("split ε evenly"), evenly(self.session.plan))
