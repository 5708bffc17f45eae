"""Local, shuffled and central trust as one picture: who sees the true values, and where the noise is added."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QMarginsF, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPolygonF

from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later
from workbench.gui.widgets import chart_marks as mark
from workbench.gui.widgets.chart import Below, Chart, Drawing


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
