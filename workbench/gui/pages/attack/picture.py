"""The picture of an attack: a guess, the attack, the same on people who were not released, and what ε allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QMarginsF, QSize

from workbench.gui.style.language import tr, tr_later
from workbench.gui.widgets import chart_marks as mark
from workbench.gui.widgets.chart import KEY, SCALE, Below, Chart, Drawing
from workbench.gui.widgets.chart_marks import Key, Scale
from workbench.gui.widgets.formatting import percent

if TYPE_CHECKING:
    from workbench.risk.attacks.outcome import Outcome

GUESS, WITH, STRANGERS = tr_later("a guess"), tr_later("the attack"), tr_later("not released")
FILL = 0.55


class OutcomeChart(Chart):
    """A bar with its interval for each share, and a dashed line for what is allowed."""

    name = "attack_picture"
    margins = QMarginsF(SCALE + 8, KEY + 8, 8, 22)
    usual = QSize(360, 220)
    least = QSize(240, 140)
    highest = 440
    """Pixels: a higher bar says no more."""

    def show_outcome(self, outcome: Outcome | None) -> None:
        """Draw an outcome, or nothing."""
        self.show_drawing(None if outcome is None else _drawing(outcome))


def _drawing(outcome: Outcome) -> Drawing:
    shown = [
        (GUESS, outcome.naive, "muted"),
        (WITH, outcome.main, "sanitized"),
        (STRANGERS, outcome.control, "private"),
    ]
    bars = [(tr(words), rate, ink) for words, rate, ink in shown if rate is not None]
    marks: list[mark.Mark] = []
    for at, (_, rate, ink) in enumerate(bars):
        marks.append(mark.bars({at: rate.value}, ink, alpha=FILL))
        if rate.of:
            marks.append(mark.intervals([(at + 0.5, rate.low, rate.value, rate.high)], ink))
    key = []
    if outcome.allowed is not None:
        marks.append(mark.line([(0, outcome.allowed), (len(bars), outcome.allowed)], "text", dash="dashed"))
        key = [Key(tr("allowed by ε: {share}", share=percent(outcome.allowed)), "text", "line")]
    said = [tr("{what}: {share}", what=words, share=percent(rate.value)) for words, rate, _ in bars]
    return Drawing(
        marks,
        x=Scale(0, len(bars)),
        y=Scale(0, 1),
        left=tuple((share, percent(share)) for share in (0.0, 0.5, 1.0)),
        grid=True,
        below=[Below(at + 0.5, words) for at, (words, _, _) in enumerate(bars)],
        labels=[words for words, _, _ in bars],
        key=key,
        words=lambda x: said[int(x)],
        spoken="; ".join([*said, *(one.words for one in key)]),
    )
