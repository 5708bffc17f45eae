"""What ε means: one ε at the top, and every table below follows it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QMarginsF, QPointF, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QPolygonF
from PySide6.QtWidgets import QGridLayout, QLabel, QLineEdit, QWidget

from workbench.gui.pages import page_called
from workbench.gui.pages.base import PageFrame
from workbench.gui.session.error_text import sentence
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later, tr_number, tr_sentence, typed
from workbench.gui.widgets import chart_marks as mark
from workbench.gui.widgets.bar import BarLines
from workbench.gui.widgets.basic import (
    Card,
    button,
    grow_inside,
    hold,
    hold_least,
    label,
    lines,
    mark_wrong,
    named,
    panel,
    row,
    say,
    scrolled,
    stack,
    take_out,
)
from workbench.gui.widgets.chart import Below, Chart, Drawing
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.gui.widgets.epsilon_entry import PrivacyEntry
from workbench.gui.widgets.explain import Asked, BeliefCurve, Explainable, of_plan
from workbench.gui.widgets.formatting import entered
from workbench.jobs import CancelToken, Emit, Job
from workbench.params import ParameterError
from workbench.params.field import IntegerField, RealField
from workbench.privacy.explain.deployments import DEPLOYMENTS, Deployment, published_between
from workbench.privacy.explain.guide import CAVEAT, QUESTIONS, SOURCE, Advice, advice
from workbench.privacy.explain.sections import Section, sections

if TYPE_CHECKING:
    from workbench.studies.trust_models import TrustStudy


class WordTable(QWidget):
    """Headings and rows; figures are aligned to the right, words to the left."""

    def __init__(self, name: str, *, words: bool = False, widths: Sequence[int] = ()) -> None:
        """Make an empty table; a cell is ``NAME_ROW_COLUMN``, and ``widths`` are the shares of the columns."""
        super().__init__()
        self.setObjectName(name)
        self._name, self._words, self._widths = name, words, widths
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 4, 0, 4)
        self._grid.setHorizontalSpacing(20)
        self._grid.setVerticalSpacing(5)
        self._cells: dict[tuple[int, int], QLabel] = {}

    def show_rows(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        for line, cells in enumerate([header, *rows]):
            for column, text in enumerate(cells):
                self._cell(line, column).setText(text)
        self.setAccessibleName("; ".join(", ".join(cells) for cells in [header, *rows]))

    def text(self, row: int, column: int) -> str:
        return self._cells[row + 1, column].text()

    def _cell(self, line: int, column: int) -> QLabel:
        if (line, column) not in self._cells:
            made = label("", "muted" if line == 0 else "", wrap=True)
            if line:
                made.setObjectName(f"{self._name}_{line - 1}_{column}")
            if not self._words and column:
                made.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop)
            else:
                made.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
            self._grid.addWidget(made, line, column)
            usual = 3 if self._words and column else 2
            self._grid.setColumnStretch(column, self._widths[column] if self._widths else usual)
            self._cells[line, column] = made
        return self._cells[line, column]


DEFAULTS = {"reader": "everyone", "knowledge": "some", "purpose": "rows"}


class GuideCard(Card):
    """The questions, their answers, and what follows from them."""

    asked = Signal(object)  # (Decimal) the person wants to see what that end of the range means

    def __init__(self) -> None:
        super().__init__(spacing=8)
        self._boxes: dict[str, ChoiceBox] = {}
        lines = QGridLayout()
        lines.setContentsMargins(0, 0, 0, 0)
        lines.setHorizontalSpacing(16)
        lines.setColumnStretch(1, 1)
        for place, question in enumerate(QUESTIONS):
            box = named(ChoiceBox(), f"guide_{question.name}", tr_sentence(question.title))
            answers = [(tr_sentence(answer.title), answer.name) for answer in question.answers]
            box.offer(answers, DEFAULTS[question.name])
            box.currentIndexChanged.connect(lambda _index: self._show())
            lines.addWidget(label(tr_sentence(question.title), wrap=True), place, 0)
            lines.addWidget(box, place, 1)
            self._boxes[question.name] = box
        self._range = label("", "heading", name="guide_range")
        self._low = button("", "guide_low", "link", tip=tr("Show on this page what the lower end means"))
        self._high = button("", "guide_high", "link", tip=tr("Show on this page what the upper end means"))
        self._low.clicked.connect(lambda: self.asked.emit(Decimal(f"{self.advice.low:g}")))
        self._high.clicked.connect(lambda: self.asked.emit(Decimal(f"{self.advice.high:g}")))
        self._reasons = label("", wrap=True, name="guide_reasons")
        self._near = label("", "muted", wrap=True, name="guide_published")
        heading, ends = (
            label(tr("Which ε to begin with?"), "heading"),
            row(self._range, 12, self._low, self._high, None),
        )
        source = tr("The ranges narrow what is common in the field. {source}.", source=SOURCE)
        self.body.add(heading, panel(lines), panel(ends), self._reasons, self._near, label(source, "muted", wrap=True))
        self._show()

    @property
    def advice(self) -> Advice:
        return advice(**{name: box.currentData() for name, box in self._boxes.items()})

    def retranslate(self) -> None:
        self._show()

    def _show(self) -> None:
        found = self.advice
        said = tr("ε from {low} to {high}", low=tr_number(found.low, "g"), high=tr_number(found.high, "g"))
        self._range.setText(said)
        self._low.setText(tr("What does {low} mean?", low=tr_number(found.low, "g")))
        self._high.setText(tr("What does {high} mean?", high=tr_number(found.high, "g")))
        self._reasons.setText(" ".join(map(tr_sentence, (*found.reasons, CAVEAT))))
        near = [
            tr(
                "{who} ({what}, ε = {epsilon} of {unit})",
                who=d.who,
                what=tr_sentence(d.what),
                epsilon=_stated(d),
                unit=tr_sentence(d.unit),
            )
            for d in published_between(found.low, found.high)
        ]
        none = tr("No published use in the list below is so strict.")
        self._near.setText(tr("Published in this range: {uses}.", uses="; ".join(near)) if near else none)


def _stated(use: Deployment) -> str:
    low, high = tr_number(use.low, "g"), tr_number(use.high, "g")
    return low if low == high else tr("{low} to {high}", low=low, high=high)


HEADINGS = (tr_later("who"), tr_later("what"), "ε", "δ", tr_later("model"), tr_later("of"))
TRUST = {"central": tr_later("central"), "local": tr_later("local")}


class PublishedCard(Card):
    """The ε of published uses, with their sources."""

    def __init__(self) -> None:
        super().__init__(spacing=6)
        self._table = table = WordTable("published", words=True, widths=(3, 6, 3, 2, 2, 5))
        self.retranslate()
        sources = " · ".join(dict.fromkeys(d.source for d in DEPLOYMENTS))
        care = tr("Compare with care: an ε of one day and an ε of all releases together are different promises.")
        cited = label(tr("Sources: {sources}.", sources=sources), "muted", wrap=True)
        self.body.add(label(tr("What have others published?"), "heading"), label(care, wrap=True), table, cited)

    def retranslate(self) -> None:
        rows = [
            (d.who, tr_sentence(d.what), _stated(d), d.delta or "0", tr(TRUST[d.trust]), tr_sentence(d.unit))
            for d in DEPLOYMENTS
        ]
        self._table.show_rows([tr(words) for words in HEADINGS], rows)


@dataclass(frozen=True)
class Stage:
    """A box of the picture: its words, whether it sees true values, and whether noise is added behind it."""

    words: str
    sees: bool
    noise: bool = False


PERSON, READERS = tr_later("Each person"), Stage(tr_later("Readers"), False)
KINDS_OF_TRUST: tuple[tuple[str, tuple[Stage, ...]], ...] = (
    (tr_later("Local"), (Stage(PERSON, True, True), Stage(tr_later("Collector"), False), READERS)),
    (tr_later("Shuffled"), (Stage(PERSON, True, True), Stage(tr_later("Mixer"), False), READERS)),
    (tr_later("Central"), (Stage(PERSON, True), Stage(tr_later("Steward"), True, True), READERS)),
)
SPOKEN = tr_later(
    "Three ways to reach the same ε. Local: each person adds noise, and nobody else sees true "
    "values. Shuffled: each person adds less noise, and a mixer who does not look takes the "
    "order away. Central: the steward sees the true values and adds noise to sums over all rows."
)
_LINE, _BOX, _NAME = 62, 38, 76


class TrustPicture(Chart):
    """Three lines of boxes; a filled box sees true values, and a mark shows where noise is added."""

    margins = QMarginsF(0, 0, 0, 24)
    usual, height_fixed = QSize(480, _LINE * len(KINDS_OF_TRUST) + 24), True

    def __init__(self, session: Session) -> None:
        super().__init__(session, "trust_picture")
        self.retranslate()

    def retranslate(self) -> None:
        """Make the drawing in the language of the person; the marks say their words when they are painted."""
        lines = [_line(10.0 + at * _LINE, *model) for at, model in enumerate(KINDS_OF_TRUST)]
        key = Below(0, tr("filled: sees the true values   ·   ≈ noise is added here"))
        self.show_drawing(Drawing(lines, below=(key,), frame="none", spoken=tr(SPOKEN)))


def _line(top: float, name: str, stages: tuple[Stage, ...]) -> mark.Mark:
    """Return the boxes of one model, with an arrow from each to the next."""

    def paint(on: mark.Canvas) -> None:
        room = (on.box.width() - _NAME) / len(stages)
        on.letters(13)
        on.write(QRectF(0, top, _NAME, _BOX), tr(name), "text")
        for at, stage in enumerate(stages):
            box = QRectF(_NAME + at * room, top, min(room - 52, 150), _BOX)
            on.smooth("accent" if stage.sees else "muted", 1.5)
            on.painter.setBrush(on.ink("selection") if stage.sees else Qt.BrushStyle.NoBrush)
            on.painter.drawRoundedRect(box, 6, 6)
            on.letters(13)
            on.write(box, tr(stage.words), "text", "centre")
            if at + 1 < len(stages):
                start, tip = QPointF(box.right() + 4, top + _BOX / 2), QPointF(box.left() + room - 4, top + _BOX / 2)
                on.smooth("muted", 1.5)
                on.line(start, tip)
                on.painter.drawPolyline(QPolygonF([tip - QPointF(6, 5), tip, tip + QPointF(-6, 5)]))
                if stage.noise:
                    on.letters(17)
                    on.write(QRectF(start.x(), start.y() - 24, tip.x() - start.x() - 6, 20), "≈", "accent", "centre")

    return paint


# -- the page ---------------------------------------------------------------------------------------------------------


_PEOPLE = IntegerField(help=tr_later("how many people report"), at_least=2, upto=10**9)
MODELS = {"central": tr_later("Central"), "shuffled": tr_later("Shuffled"), "local": tr_later("Local")}
USUAL_DELTA = 1e-6


class ShuffleStudy(QWidget):
    """The number of people, a button, and what came of it."""

    def __init__(self, session: Session, jobs: JobCenter, epsilon: Callable[[], float]) -> None:
        super().__init__()
        self._session, self._jobs, self._epsilon = session, jobs, epsilon
        self.people = named(QLineEdit("10000"), "shuffle_people", tr("People"), tr("How many people report"))
        hold(self.people, 96)
        tip = tr("Made-up people, eight values each; no table is read")
        self._run = button(tr("Simulate at this ε"), "shuffle_run", tip=tip, press=self.start)
        self.errors = BarLines(session, "shuffle_error", tr("of a mean (0 to 1)"), tr("error of a share"))
        self.errors.hide()
        self._words = label("", wrap=True, name="shuffle_words", hidden=True)
        fields = row(label(tr("people"), "muted"), self.people, 8, self._run, None)
        self.setLayout(stack(fields, self.errors, self._words))

    def start(self) -> None:
        try:
            rows = _PEOPLE.parse(typed(self.people.text()), tr("the people"))
        except ParameterError as error:
            say(self._words, sentence(error))
            mark_wrong(self.people, True)
            return
        mark_wrong(self.people, False)
        epsilon = self._epsilon()

        def work(emit: Emit, cancel: CancelToken) -> TrustStudy:
            from workbench.studies.trust_models import compare_trust, local_epsilon

            local = local_epsilon(epsilon, rows, USUAL_DELTA)
            return compare_trust(local, rows, USUAL_DELTA, emit=emit, cancel=cancel)

        self._run.setEnabled(False)
        job = Job(tr("Simulating shuffled reports"), work)
        handle = self._jobs.start(job, key="shuffle", on_result=self._show, on_failure=self._failed)
        handle.ended.connect(lambda: self._run.setEnabled(True))

    def _show(self, found: TrustStudy) -> None:
        most = max(error for error, _ in found.shares.values())
        figures = [(model, found.shares[model][0], found.mean[model][0]) for model in found.shares]
        lines = [
            (model, tr(MODELS[model]), share / most, -1.0, tr_number(share, ".2g"), tr_number(mean, ".2g"))
            for model, share, mean in figures
        ]
        self.errors.show_lines(lines, "accent")
        self.errors.show()
        say(self._words, " ".join(map(tr_sentence, found.sentences)))

    def _failed(self, error: BaseException) -> None:
        say(self._words, self._session.worded(error))


LOW, HIGH = Decimal("0.001"), Decimal(1000)
_DELTA = RealField(
    help=tr_later("Probability by which the bound of ε may be exceeded"), symbol="δ", at_least=0.0, below=1.0
)
_CURVE_HEIGHT = 210
PIECE = 80
"""Milliseconds between two cards that are added below those in sight: what a person does meanwhile comes first."""
_WIDE = 1500  # points from which the cards are in two columns: a line of text is not read across a whole wide screen


class SectionCard(Card):
    """A section: its heading, its sentences, and its table."""

    def __init__(self, section: Section, *pictures: QWidget) -> None:
        super().__init__(spacing=6)
        self._texts = [
            label("", wrap=True, name=f"explain_{section.name}_{place}") for place in range(_MOST_PARAGRAPHS)
        ]
        self.body.add(label(tr_sentence(section.title), "heading"), *self._texts, *pictures)
        self.table: WordTable | None = None
        if section.table is not None:
            self.table = WordTable(f"explain_{section.name}_table", words=section.table.words)
            self.body.addWidget(self.table)
        self.show_section(section)

    def show_section(self, section: Section) -> None:
        for place, stated in enumerate(self._texts):
            say(stated, tr_sentence(section.text[place]) if place < len(section.text) else "")
        if self.table is not None and section.table is not None:
            header, rows = section.table.header, section.table.rows
            self.table.show_rows([*map(tr_sentence, header)], [[tr_sentence(cell) for cell in row] for row in rows])


_MOST_PARAGRAPHS = 5


class ExplainPage(PageFrame):
    """The page; it reads no table."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__(session, jobs, page_called("explain"))
        self.epsilon = PrivacyEntry(
            "explain_epsilon",
            LOW,
            HIGH,
            Decimal(1),
            help_text=tr("The ε that this page explains; the plan stays as it is"),
            slider=(Decimal("0.01"), Decimal(20)),
            ends=(tr("less can be learnt"), tr("more can be learnt")),
        )
        self.delta = named(QLineEdit("0"), "explain_delta", tr("δ, a number from 0 to below 1"), tr(_DELTA.help))
        hold(self.delta, 84)
        entries = lines((row(label("ε"), (self.epsilon, 1)), 1), row(label("δ"), self.delta, None), spacing=20)
        self._problem = label("", "problem", wrap=True, name="explain_problem", hidden=True)
        self._curve = BeliefCurve(session)
        hold_least(self._curve, _CURVE_HEIGHT)
        self.shuffled = ShuffleStudy(session, jobs, lambda: float(self.epsilon.value()))
        self.cards: dict[str, SectionCard] = {}
        self.guide = GuideCard()
        self.guide.asked.connect(self._look_at)
        belief, *others = (section.name for section in sections(1.0))
        self._order: list[Card] = [self._card(belief), self.guide]
        self._waiting: list[Callable[[], Card]] = [PublishedCard, *(partial(self._card, name) for name in others)]
        self._in_turn = QTimer(self, interval=PIECE)
        self._in_turn.timeout.connect(self._add_next)
        self._columns = stack(spacing=12), stack(spacing=12)
        self._halves = row(*((column, 1) for column in self._columns), spacing=12)
        self._lay_out(wide=False)
        self._area = scrolled(self._halves, "explain_area", sideways=True)
        self.body.add(Card(entries, self._problem, pad=12), (self._area, 1))
        self.set_note(tr("Nothing here reads the table, and nothing costs anything."))
        Explainable(self.epsilon.field, session, lambda: Asked(self.epsilon.value(), self._read_delta() or Decimal(0)))
        self.epsilon.value_changed.connect(lambda _value: self.refresh())
        self.delta.textEdited.connect(lambda _text: self.refresh())
        session.explain_asked.connect(self._follow)
        asked = session.explained or (of_plan(session).epsilon, Decimal(0))
        self._follow(*asked)

    def resized(self) -> None:
        wide = self.width() >= _WIDE
        if wide != self._wide:
            self._lay_out(wide=wide)

    def _lay_out(self, *, wide: bool) -> None:
        """Put the cards below each other, or those about other releases and other kinds of trust beside the rest."""
        self._wide = wide
        for column in self._columns:
            take_out(column)
        for at, card in enumerate(self._order):
            self._columns[wide and at % 2].addWidget(card)
        for column in self._columns:
            column.addStretch(1)
        self._halves.setStretch(1, int(wide))
        self._halves.setSpacing(12 if wide else 0)

    def shown(self) -> None:
        if self._waiting:
            self._in_turn.start()

    def _add_next(self) -> None:
        """Make the next card below those in sight: all at once would keep the page from its first painting."""
        column, card = self._columns[self._wide and len(self._order) % 2], self._waiting.pop(0)()
        self._order.append(card)
        self._halves.setEnabled(False)  # it is laid out once, at the height that it has then
        column.insertWidget(column.count() - 1, card)
        card.show()
        self._halves.setEnabled(True)
        grow_inside(self._area)  # else the cards would be squeezed
        self._halves.activate()  # where there is room already: else the card would first lie over the others
        if not self._waiting:
            self._in_turn.stop()

    def _card(self, name: str) -> SectionCard:
        delta = self._read_delta() or Decimal(0)
        section = next(one for one in sections(float(self.epsilon.value()), float(delta)) if one.name == name)
        trust = (TrustPicture(self.session), self.shuffled) if name == "trust" else ()
        self.cards[name] = SectionCard(section, *((self._curve,) if name == "belief" else trust))
        return self.cards[name]

    def refresh(self) -> None:
        delta = self._read_delta()
        if delta is None:
            return
        epsilon = float(self.epsilon.value())
        for section in sections(epsilon, float(delta)):
            if section.name in self.cards:
                self.cards[section.name].show_section(section)
        self._curve.show_epsilon(epsilon)

    def _read_delta(self) -> Decimal | None:
        """Return δ, or ``None`` while the field is refused; the reason is shown below."""
        stated, found = "", None
        try:
            found = Decimal(repr(_DELTA.parse(typed(self.delta.text()), "δ")))
        except ParameterError:
            stated = tr("Write δ as a number from 0 to below 1, such as 1e-6.")
        mark_wrong(self.delta, bool(stated))
        say(self._problem, stated)
        return found

    def _follow(self, epsilon: Decimal, delta: Decimal = Decimal(0), about: str = "", local: bool = False) -> None:
        self.epsilon.set_value(min(max(epsilon, LOW), HIGH))
        self.delta.setText(entered(delta))
        self.refresh()

    def _look_at(self, epsilon: Decimal) -> None:
        self.epsilon.set_value(epsilon)
        self.refresh()
        self._area.verticalScrollBar().setValue(0)
