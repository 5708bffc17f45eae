"""The sizes of the rows' gradients beside the clipping norm, and the share that is clipped."""

from __future__ import annotations

from PySide6.QtCore import QMarginsF, QSize

from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later, tr_number
from workbench.gui.widgets import chart_marks as mark
from workbench.gui.widgets.chart import SHARES, Below, Chart, Drawing
from workbench.gui.widgets.chart_marks import Scale
from workbench.signals.events import Spread

TITLE = tr_later("gradients")
TOLD = tr_later("gradient norms, in clipping norms")
TIP = tr_later(
    "The size of each row's gradient in one step, in clipping norms. Those right of the line are scaled down."
)
LABELS = ("", "1⁄16", "⅛", "¼", "½", "1", "2", "4", "8", "16", "")


class NormChart(Chart):
    """A histogram: what lies right of the line at 1 is clipped, and hatched besides its colour."""

    margins = QMarginsF(8, 30, 8, 24)
    least, letters = QSize(140, 88), 11

    def __init__(self, session: Session) -> None:
        super().__init__(session, "train_norms", tr(TOLD), tr(TIP))
        self._spread: Spread | None = None

    @property
    def clipped(self) -> float | None:
        """The share of the rows that is clipped; ``None`` where no row was seen."""
        spread = self._spread
        if spread is None or not sum(spread.counts):
            return None
        above = sum(c for c, edge in zip(spread.counts[1:], spread.edges, strict=True) if edge >= 1)
        return above / sum(spread.counts)

    def begin(self, steps: int) -> None:
        """Show nothing."""
        self._spread = None
        self.setAccessibleName(tr(TOLD))
        self.update()

    def take(self, spread: Spread) -> None:
        """Show the newest histogram."""
        self._spread = spread
        if self.clipped is not None:
            self.setAccessibleName(
                tr(
                    "{told}: {share} % of the rows clipped at step {step}",
                    told=tr(TOLD),
                    share=tr_number(100 * self.clipped, ".0f"),
                    step=spread.step,
                )
            )
        self.update()

    def drawing(self) -> Drawing:
        """Return bars, the line at the clipping norm and the edges."""
        first, counts = LABELS.index("1"), self._spread.counts if self._spread is not None else ()
        return Drawing(
            (
                mark.bars(dict(enumerate(counts[:first])), "private"),
                mark.bars({at: n for at, n in enumerate(counts) if at >= first}, "sanitized", hatched=True),
                mark.upright(first, "danger", width=1.5),
            ),
            x=Scale(0, len(LABELS) - 1),
            y=Scale(0, max(1, *counts)) if counts else SHARES,
            below=[Below(at, text) for at, text in enumerate(LABELS)],
            title=tr(TITLE),
            figure="–" if self.clipped is None else tr("{share} % clipped", share=tr_number(100 * self.clipped, ".0f")),
        )
