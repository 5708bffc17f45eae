"""The charts of the calculator: ε against one figure, and over σ and batch, painted here to stay live."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from PySide6.QtCore import QMarginsF, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QLinearGradient, QPainter, QPen, QPolygonF

from workbench.gui.session.session import Session
from workbench.gui.widgets.formatting import at_most, plain
from workbench.gui.widgets.titled_chart import HEAD, TitledChart
from workbench.render.palette import STYLES, Theme

if TYPE_CHECKING:  # they load numpy
    from workbench.privacy.accounting.run_curves import HeatMap, RunCurve

ACCOUNTANT_STYLES = {"pld": "private", "rdp": "third", "rdp-classic": "sanitized"}
"""The line of each accountant, a role of the palette."""

DASHES = {"pld": Qt.PenStyle.SolidLine, "rdp": Qt.PenStyle.DashLine, "rdp-classic": Qt.PenStyle.DotLine}


_TALLEST = math.log(200.0)
"""A line that goes up further is cut: the rest would be pressed to the floor."""


SCALE = 72
"""Points that the scale of colours takes beside the title."""


class _CalculatorChart(TitledChart):
    """A chart that is one of a row on a whole page."""

    usual: ClassVar[QSize] = QSize(230, 160)
    least: ClassVar[QSize] = QSize(140, 108)
    margins: ClassVar[QMarginsF] = QMarginsF(36, 26, 10, 20)


class EpsilonChart(_CalculatorChart):
    """ε on a log scale against one figure on a log scale, one line for each accountant."""

    def __init__(self, session: Session, name: str, title: str) -> None:
        super().__init__(session, name, title)
        self._curves: dict[str, RunCurve] = {}
        self._at: float | None = None

    @property
    def curves(self) -> dict[str, RunCurve]:
        """The lines that are drawn, by accountant."""
        return dict(self._curves)

    def show_curves(self, curves: Sequence[RunCurve], at: float | None, *, keep: bool = False) -> None:
        """Draw ``curves`` and mark the value ``at``; with ``keep`` the other lines stay."""
        if not keep:
            self._curves = {}
        self._curves |= {curve.accountant: curve for curve in curves if curve.x}
        self._at = at
        words = [f"{name} from {plain(c.epsilons[0])} to {plain(c.epsilons[-1])}" for name, c in self._curves.items()]
        self.setAccessibleDescription("; ".join(words))
        self.setToolTip("\n".join(words))
        self.update()

    def draw(self, painter: QPainter, box: QRectF, theme: Theme) -> None:
        """Draw grid, marker and lines."""
        points = [(x, e) for c in self._curves.values() for x, e in zip(c.x, c.epsilons, strict=True) if e > 0]
        painter.setPen(QPen(QColor(theme.line), 1))
        painter.drawRect(box)
        if not points:
            painter.setPen(QColor(theme.muted))
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, "…")
            return
        left, right = (math.log(f(x for x, _ in points)) for f in (min, max))
        low, high = (math.log(f(e for _, e in points)) for f in (min, max))
        high = min(high, low + _TALLEST)
        right, high = max(right, left + 1e-9), max(high, low + 0.1)

        def place(x: float, epsilon: float) -> QPointF:
            across = (math.log(x) - left) / (right - left)
            up = (min(math.log(max(epsilon, 1e-300)), high) - low) / (high - low)
            return QPointF(box.left() + across * box.width(), box.bottom() - max(up, 0.0) * box.height())

        painter.setPen(QColor(theme.muted))
        side = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(QRectF(0, box.top() - 8, 32, 16), side, _short(math.exp(high)))
        painter.drawText(QRectF(0, box.bottom() - 8, 32, 16), side, _short(math.exp(low)))
        painter.drawText(QRectF(0, box.center().y() - 8, 32, 16), side, "ε")
        under = QRectF(box.left(), box.bottom() + 3, box.width(), 16)
        painter.drawText(under, Qt.AlignmentFlag.AlignLeft, _short(math.exp(left)))
        painter.drawText(under, Qt.AlignmentFlag.AlignRight, _short(math.exp(right)))
        if self._at is not None and left <= math.log(self._at) <= right + 1e-6:
            x = place(self._at, 1).x()
            painter.setPen(QPen(QColor(theme.accent), 1, Qt.PenStyle.DashLine))
            painter.drawLine(QPointF(x, box.top()), QPointF(x, box.bottom()))
            painter.setPen(QColor(theme.accent))
            wide = painter.fontMetrics().horizontalAdvance
            ends = [wide(_short(math.exp(end))) for end in (left, right)]
            half = wide(_short(self._at)) / 2
            # Below the mark, but clear of the figures at the ends.
            x = max(min(x, box.right() - ends[1] - 6 - half), box.left() + ends[0] + 6 + half)
            painter.drawText(QPointF(x - half, under.top() + 12), _short(self._at))
        for accountant, curve in self._curves.items():
            colour = QColor(theme.series(STYLES[ACCOUNTANT_STYLES[accountant]]))
            painter.setPen(QPen(colour, 2, DASHES[accountant]))
            painter.drawPolyline(
                QPolygonF([place(x, e) for x, e in zip(curve.x, curve.epsilons, strict=True) if math.isfinite(e)])
            )


class HeatChart(_CalculatorChart):
    """ε over σ (upwards) and batch (to the right), the darker the larger."""

    def __init__(self, session: Session, name: str, title: str) -> None:
        super().__init__(session, name, title)
        self._map: HeatMap | None = None
        self._at: tuple[float, float] = (1.0, 1.0)

    @property
    def shown(self) -> HeatMap | None:
        """What is drawn."""
        return self._map

    def show_map(self, found: HeatMap, sigma: float, batch: float) -> None:
        """Draw ``found`` and mark the present σ and batch."""
        self._map, self._at = found, (sigma, batch)
        values = [e for line in found.epsilons for e in line]
        words = f"ε from {at_most(min(values))} to {at_most(max(values))}"
        self.setAccessibleDescription(words)
        self.setToolTip(f"{words}, by Rényi divergences")
        self.update()

    def draw(self, painter: QPainter, box: QRectF, theme: Theme) -> None:
        """Draw the cells, the least and the largest ε, and a ring around the present cell."""
        if self._map is None:
            return
        found = self._map
        logs = [[math.log(max(e, 1e-12)) for e in line] for line in found.epsilons]
        low, high = min(map(min, logs)), max(map(max, logs))
        ground, ink = QColor(theme.surface), QColor(theme.accent)
        wide, tall = box.width() / len(found.batches), box.height() / len(found.sigmas)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        for i, line in enumerate(logs):
            for j, value in enumerate(line):
                painter.setBrush(_mixed(ground, ink, 0.08 + 0.92 * (value - low) / max(high - low, 1e-9)))
                painter.drawRect(QRectF(box.left() + j * wide, box.bottom() - (i + 1) * tall, wide + 1, tall + 1))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        i, j = _nearest(found.sigmas, self._at[0]), _nearest(found.batches, self._at[1])
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(QColor(theme.text), 2))
        painter.drawRect(QRectF(box.left() + j * wide, box.bottom() - (i + 1) * tall, wide, tall))
        painter.setPen(QColor(theme.muted))
        side = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(QRectF(0, box.top() - 8, 32, 16), side, f"{found.sigmas[-1]:.2g}")
        painter.drawText(QRectF(0, box.bottom() - 8, 32, 16), side, f"{found.sigmas[0]:.2g}")
        painter.drawText(QRectF(0, box.center().y() - 8, 32, 16), side, "σ")
        under = QRectF(box.left(), box.bottom() + 3, box.width(), 16)
        painter.drawText(under, Qt.AlignmentFlag.AlignLeft, _short(found.batches[0]))
        painter.drawText(under, Qt.AlignmentFlag.AlignHCenter, "batch")
        painter.drawText(under, Qt.AlignmentFlag.AlignRight, _short(found.batches[-1]))
        least, most = _short(math.exp(low)), f"ε {_short(math.exp(high))}"
        wide_most = painter.fontMetrics().horizontalAdvance(most)
        bar = QRectF(box.right() - wide_most - 6 - SCALE, 5, SCALE, 10)
        shades = QLinearGradient(bar.topLeft(), bar.topRight())
        shades.setColorAt(0, _mixed(ground, ink, 0.08))
        shades.setColorAt(1, ink)
        painter.fillRect(bar, shades)
        painter.drawText(QRectF(bar.left() - 66, 0, 60, HEAD), side, least)
        painter.drawText(QRectF(bar.right() + 6, 0, wide_most, HEAD), Qt.AlignmentFlag.AlignVCenter, most)


def _nearest(values: Sequence[float], value: float) -> int:
    return min(range(len(values)), key=lambda k: abs(math.log(values[k] / value)))


def _mixed(one: QColor, other: QColor, share: float) -> QColor:
    def between(a: int, b: int) -> int:
        return round(a + (b - a) * share)

    return QColor(
        between(one.red(), other.red()), between(one.green(), other.green()), between(one.blue(), other.blue())
    )


def _short(value: float) -> str:
    """Return a figure of an axis in as few letters as it can be read in."""
    if value >= 1e4:
        return f"{value / 1e6:.3g}M" if value >= 1e6 else f"{value / 1e3:.3g}k"
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}".replace("e-0", "e-")
