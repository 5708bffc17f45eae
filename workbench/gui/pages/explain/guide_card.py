"""Three questions that lead to a range of ε, and the published uses that lie in it."""

from __future__ import annotations

from decimal import Decimal

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QGridLayout, QWidget

from workbench.gui.pages.explain.word_table import WordTable
from workbench.gui.style.language import tr, tr_later, tr_number, tr_sentence
from workbench.gui.widgets.basic import Card, button, label, named, row
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.privacy.explain.deployments import DEPLOYMENTS, Deployment, published_between
from workbench.privacy.explain.guide import CAVEAT, QUESTIONS, SOURCE, Advice, advice

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
            for answer in question.answers:
                box.addItem(tr_sentence(answer.title), answer.name)
            box.setCurrentIndex(box.findData(DEFAULTS[question.name]))
            box.currentIndexChanged.connect(lambda _index: self._show())
            lines.addWidget(label(tr_sentence(question.title)), place, 0)
            lines.addWidget(box, place, 1)
            self._boxes[question.name] = box
        asked = QWidget()
        asked.setLayout(lines)
        self._range = label("", "heading", name="guide_range")
        self._low = button("", "guide_low", "link", tip=tr("Show on this page what the lower end means"))
        self._high = button("", "guide_high", "link", tip=tr("Show on this page what the upper end means"))
        self._low.clicked.connect(lambda: self.asked.emit(Decimal(f"{self.advice.low:g}")))
        self._high.clicked.connect(lambda: self.asked.emit(Decimal(f"{self.advice.high:g}")))
        ends = QWidget()
        ends.setLayout(row(self._range, 12, self._low, self._high, None))
        self._reasons = label("", wrap=True, name="guide_reasons")
        self._near = label("", "muted", wrap=True, name="guide_published")
        for part in (
            label(tr("Which ε to begin with?"), "heading"),
            asked,
            ends,
            self._reasons,
            self._near,
            label(tr("The ranges narrow what is common in the field. {source}.", source=SOURCE), "muted", wrap=True),
        ):
            self.body.addWidget(part)
        self._show()

    @property
    def advice(self) -> Advice:
        """The range that follows from the answers."""
        return advice(**{name: box.currentData() for name, box in self._boxes.items()})

    def retranslate(self) -> None:
        """Say what follows from the answers in another language."""
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
        for part in (
            label(tr("What have others published?"), "heading"),
            label(
                tr("Compare with care: an ε of one day and an ε of all releases together are different promises."),
                wrap=True,
            ),
            table,
            label(tr("Sources: {sources}.", sources=sources), "muted", wrap=True),
        ):
            self.body.addWidget(part)

    def retranslate(self) -> None:
        """Say the table in another language."""
        rows = [
            (d.who, tr_sentence(d.what), _stated(d), d.delta or "0", tr(TRUST[d.trust]), tr_sentence(d.unit))
            for d in DEPLOYMENTS
        ]
        self._table.show_rows([tr(words) for words in HEADINGS], rows)
