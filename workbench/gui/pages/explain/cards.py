"""Sections of What ε means: the guide to a range of ε, published uses, and three kinds of trust as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from PySide6.QtCore import QMarginsF, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPolygonF
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later, tr_number, tr_sentence
from workbench.gui.widgets import chart_marks as mark
from workbench.gui.widgets.basic import Card, button, label, named, panel, row
from workbench.gui.widgets.chart import Below, Chart, Drawing
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.privacy.explain.deployments import DEPLOYMENTS, Deployment, published_between
from workbench.privacy.explain.guide import CAVEAT, QUESTIONS, SOURCE, Advice, advice


class WordTable(QWidget):
    """Headings and rows; figures are aligned to the right, words to the left."""

    def __init__(self, name: str, *, words: bool = False, widths: Sequence[int] = ()) -> None:
        """Make an empty table.

        Args:
            name: its object name; a cell is ``NAME_ROW_COLUMN``, counted from 0.
            words: whether all columns hold words.
            widths: the shares of the columns in the width; equal where none are given.
        """
        super().__init__()
        self.setObjectName(name)
        self._name, self._words, self._widths = name, words, widths
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 4, 0, 4)
        self._grid.setHorizontalSpacing(20)
        self._grid.setVerticalSpacing(5)
        self._cells: dict[tuple[int, int], QLabel] = {}

    def show_rows(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Show these headings and rows."""
        for line, cells in enumerate([header, *rows]):
            for column, text in enumerate(cells):
                self._cell(line, column).setText(text)
        self.setAccessibleName("; ".join(", ".join(cells) for cells in [header, *rows]))

    def text(self, row: int, column: int) -> str:
        """Return what a cell says."""
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
    """The questions, their answers, and what follows from them.

    Signals:
        asked: (Decimal) the person wants to see what that end of the range means.
    """

    asked = Signal(object)

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
        for part in (heading, panel(lines), panel(ends), self._reasons, self._near, label(source, "muted", wrap=True)):
            self.body.addWidget(part)
        self._show()

    @property
    def advice(self) -> Advice:
        """The range that follows from the answers."""
        return advice(**{name: box.currentData() for name, box in self._boxes.items()})

    def retranslate(self) -> None:
        self._show()

    def _show(self) -> None:
        found = self.advice
        self._range.setText(
            tr("ε from {low} to {high}", low=tr_number(found.low, "g"), high=tr_number(found.high, "g"))
        )
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
    """Return the ε that a use states, or their range."""
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
        for part in (label(tr("What have others published?"), "heading"), label(care, wrap=True), table, cited):
            self.body.addWidget(part)

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


MODELS: tuple[tuple[str, tuple[Stage, ...]], ...] = (
    (
        tr_later("Local"),
        (
            Stage(tr_later("Each person"), True, True),
            Stage(tr_later("Collector"), False),
            Stage(tr_later("Readers"), False),
        ),
    ),
    (
        tr_later("Shuffled"),
        (
            Stage(tr_later("Each person"), True, True),
            Stage(tr_later("Mixer"), False),
            Stage(tr_later("Readers"), False),
        ),
    ),
    (
        tr_later("Central"),
        (
            Stage(tr_later("Each person"), True),
            Stage(tr_later("Steward"), True, True),
            Stage(tr_later("Readers"), False),
        ),
    ),
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
    usual, height_fixed = QSize(480, _LINE * len(MODELS) + 24), True

    def __init__(self, session: Session) -> None:
        super().__init__(session, "trust_picture")
        self.retranslate()

    def retranslate(self) -> None:
        """Make the drawing in the language of the person; the marks say their words when they are painted."""
        lines = [_line(10.0 + at * _LINE, *model) for at, model in enumerate(MODELS)]
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
