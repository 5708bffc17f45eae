"""What was found: true against estimated shares, the bits of each cohort, and the ROC."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPaintEvent, QPen, QPolygonF

from workbench.gui.pages.rappor.tasks import Bar, Shown
from workbench.gui.session.session import Session
from workbench.gui.widgets.bar_chart import BELOW, BarChart, bar_at, paint_ground
from workbench.render.fonts import font
from workbench.render.palette import STYLES

KEY = 20
FILL = 0.35
SQUARE = 3.0
WORDS = {
    "detected": "detected",
    "missed": "missed",
    "false": "found, but nobody has it",
    "absent": "nobody has it, and it is not found",
}
Curves = tuple[tuple[int, NDArray[np.float64], NDArray[np.float64]], ...]
ROC_STYLES = ("private", "sanitized", "third")


class BarsPicture(BarChart):
    """Filled bars: true shares; squares with brackets: decoded shares and their intervals."""

    def __init__(self, session: Session) -> None:
        super().__init__(session, "rappor_bars", (480, 190), (2, KEY, 2, 22))
        self.setMinimumHeight(170)
        self._bars: tuple[Bar, ...] = ()

    def show_bars(self, bars: tuple[Bar, ...]) -> None:
        """Show the candidates."""
        self._bars = bars
        self.setAccessibleName(f"True and decoded shares of {len(bars)} candidates, with intervals" if bars else "")
        self.update()

    def words_at(self, x: float) -> str:
        """Return what stands at a place."""
        at = bar_at(x, self._box(), len(self._bars))
        if at is None:
            return ""
        bar = self._bars[at]
        true = "" if bar.true is None else f"true {_percent(bar.true)}, "
        verdict = (
            WORDS[bar.verdict] if bar.true is not None else ("found" if bar.verdict == "detected" else "not found")
        )
        stated = f"decoded {_percent(bar.estimate)} ({_percent(bar.low)} to {_percent(bar.high)})"
        return f"{bar.string}: {true}{stated}, {verdict}"

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the bars, the brackets, the signs of what was found, and the key."""
        if not self._bars:
            return
        theme, box = self._session.theme, self._box()
        most = max(max(bar.true or 0.0, bar.high) for bar in self._bars) or 1.0
        width = box.width() / len(self._bars)
        filled = QColor(theme.muted)
        filled.setAlphaF(FILL)
        colours = self._colours()
        with QPainter(self) as painter:
            for at, bar in enumerate(self._bars):
                height = box.height() * (bar.true or 0.0) / most
                gap = max(1.0, 0.15 * width)
                left = box.left() + at * width + gap / 2
                painter.fillRect(QRectF(left, box.bottom() - height, width - gap, height), filled)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            for at, bar in enumerate(self._bars):
                centre = box.left() + (at + 0.5) * width
                low, middle, high = (box.bottom() - box.height() * v / most for v in (bar.low, bar.estimate, bar.high))
                colour = colours[bar.verdict]
                painter.setPen(QPen(colour, 1.4))
                painter.drawLine(QPointF(centre, low), QPointF(centre, high))
                size = min(SQUARE, width / 3)
                painter.setBrush(colour if bar.verdict in ("detected", "false") else QColor(theme.surface))
                if bar.verdict == "false":
                    painter.drawPolygon(
                        QPolygonF(
                            [
                                QPointF(centre - size - 1, middle + size),
                                QPointF(centre + size + 1, middle + size),
                                QPointF(centre, middle - size - 1),
                            ]
                        )
                    )
                else:
                    painter.drawRect(QRectF(centre - size, middle - size, 2 * size, 2 * size))
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=False)
            paint_ground(painter, box, theme)
            last = self._bars[-1].string if len(self._bars) > 1 else ""
            self._write_ends(painter, self._bars[0].string, last)
            self._write_key(painter, filled, colours)

    def _colours(self) -> dict[str, QColor]:
        theme = self._session.theme
        return {
            "detected": QColor(theme.series(STYLES["private"])),
            "missed": QColor(theme.series(STYLES["sanitized"])),
            "false": QColor(theme.danger),
            "absent": QColor(theme.muted),
        }

    def _write_key(self, painter: QPainter, filled: QColor, colours: dict[str, QColor]) -> None:
        painter.setFont(font(BELOW))
        seen = {bar.verdict for bar in self._bars}
        entries = [("true", filled)] if any(bar.true is not None for bar in self._bars) else []
        signs: tuple[tuple[str, str], ...] = (
            ("detected", "■ found"),
            ("missed", "□ missed"),
            ("false", "▲ false discovery"),
            ("absent", "□ absent"),
        )
        if not entries:
            signs = (("detected", "■ found"), ("missed", "□ not found"))
        entries += [(words, colours[name]) for name, words in signs if name in seen]
        left = self._box().left()
        for words, colour in entries:
            if colour is filled:
                painter.fillRect(QRectF(left, (KEY - 4) / 2 - 5, 10, 10), filled)
                left += 16
            painter.setPen(QColor(self._session.theme.muted) if colour is filled else colour)
            wide = painter.fontMetrics().horizontalAdvance(words) + 2
            painter.drawText(QRectF(left, 0, wide, KEY - 4), Qt.AlignmentFlag.AlignVCenter, words)
            left += wide + 18


class HeatPicture(BarChart):
    """A row for each cohort, a column for each bit: the darker, the more reports of the cohort have it."""

    def __init__(self, session: Session) -> None:
        super().__init__(session, "rappor_heat", (300, 150), (2, KEY, 2, 20))
        self.setMinimumHeight(140)
        self._heat: NDArray[np.float64] = np.zeros((0, 0))

    def show_heat(self, heat: NDArray[np.float64]) -> None:
        """Show the shares, (cohorts, bits)."""
        self._heat = heat
        self.setAccessibleName(f"Share of the reports with each of {heat.shape[1]} bits in {heat.shape[0]} cohorts")
        self.update()

    def words_at(self, x: float) -> str:
        """Return which bit is at a place, and how far its share differs among the cohorts."""
        at = bar_at(x, self._box(), self._heat.shape[1])
        if at is None or not self._heat.size:
            return ""
        column = self._heat[:, at]
        return f"bit {at}: {_percent(float(column.min()))} to {_percent(float(column.max()))} of a cohort's reports"

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw one rectangle for each bit of each cohort."""
        if not self._heat.size:
            return
        theme, box = self._session.theme, self._box()
        least, most = float(self._heat.min()), float(self._heat.max())
        shade = (self._heat - least) / max(most - least, 1e-9)
        colours = (QColor(theme.surface), QColor(theme.accent))
        ends = [np.array([c.red(), c.green(), c.blue()], dtype=np.float64) for c in colours]
        pixels = np.ascontiguousarray(ends[0] + shade[..., None] * (ends[1] - ends[0]), dtype=np.uint8)
        rows, columns = shade.shape
        image = QImage(pixels.data, columns, rows, 3 * columns, QImage.Format.Format_RGB888)
        with QPainter(self) as painter:
            painter.drawImage(box, image)
            painter.setPen(QPen(QColor(theme.line), 1))
            painter.drawRect(box)
            painter.setFont(font(BELOW))
            painter.setPen(QColor(theme.muted))
            stated = f"reports with each bit, by cohort: {_percent(least)} to {_percent(most)}"
            painter.drawText(QRectF(box.left(), 0, box.width(), KEY - 4), Qt.AlignmentFlag.AlignVCenter, stated)
            self._write_ends(painter, "bit 0", f"bit {columns - 1}")


class RocPicture(BarChart):
    """Hits against false alarms as the p-value's threshold rises, for several numbers of reports."""

    def __init__(self, session: Session) -> None:
        super().__init__(session, "rappor_roc", (220, 150), (30, KEY, 8, 20))
        self.setMinimumHeight(140)
        self._roc: Curves = ()

    def show_roc(self, shown: Shown | None) -> None:
        """Show the curves, or why there are none."""
        self._roc = shown.roc if shown is not None else ()
        stated = ", ".join(f"{n:,} reports" for n, _, _ in self._roc)
        self.setAccessibleName(f"ROC of {stated}" if stated else "No ROC: nothing is known to be absent")
        self.update()

    def words_at(self, x: float) -> str:
        """Return the share of hits at a share of false alarms."""
        box = self._box()
        share = (x - box.left()) / box.width()
        if not self._roc or not 0 <= share <= 1:
            return ""
        hits = ((n, float(found[np.searchsorted(alarms, share, side="right") - 1])) for n, alarms, found in self._roc)
        return f"false alarms {_percent(share)}: " + ", ".join(
            f"{n:,} reports {_percent(hit)} found" for n, hit in hits
        )

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the curves, the diagonal and the key."""
        theme, box = self._session.theme, self._box()
        with QPainter(self) as painter:
            painter.setFont(font(BELOW))
            painter.setPen(QColor(theme.muted))
            if not self._roc:
                painter.drawText(box, Qt.AlignmentFlag.AlignCenter, "no ROC: nothing is\nknown to be absent")
                return
            painter.drawText(QRectF(0, box.top() - 6, box.left() - 4, 14), Qt.AlignmentFlag.AlignRight, "1")
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(QColor(theme.line), 1, Qt.PenStyle.DashLine))
            painter.drawLine(box.bottomLeft(), box.topRight())
            left = box.left()
            for (n, alarms, hits), style in zip(self._roc, ROC_STYLES, strict=False):
                colour = QColor(theme.series(STYLES[style]))
                painter.setPen(QPen(colour, 2))
                points = [
                    QPointF(box.left() + a * box.width(), box.bottom() - h * box.height())
                    for a, h in zip(alarms.tolist(), hits.tolist(), strict=True)
                ]
                painter.drawPolyline(points)
                words = f"{n:,}"
                wide = painter.fontMetrics().horizontalAdvance(words) + 2
                painter.drawText(QRectF(left, 0, wide, KEY - 6), Qt.AlignmentFlag.AlignVCenter, words)
                left += wide + 10
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=False)
            paint_ground(painter, box, theme)
            self._write_ends(painter, "false alarms 0", "1")


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
