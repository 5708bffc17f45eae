"""The charts of the calculator: ε against one figure, and over σ and batch, painted here to stay live."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QMarginsF, QRectF, QSize
from PySide6.QtGui import QColor, QLinearGradient

from workbench.gui.session.session import Session
from workbench.gui.style.colours import mixed
from workbench.gui.style.language import tr, tr_number
from workbench.gui.widgets import chart_marks as mark
from workbench.gui.widgets.chart import KEY, Below, Chart, Drawing
from workbench.gui.widgets.chart_marks import Dash, Scale
from workbench.gui.widgets.formatting import at_most, plain

if TYPE_CHECKING:  # they load numpy
    from workbench.privacy.accounting.run_curves import HeatMap, RunCurve

LINES: tuple[tuple[str, Dash, str], ...] = (
    ("private", "solid", "━━"),
    ("third", "dashed", "╍╍"),
    ("sanitized", "dotted", "┈┈"),
    ("fourth", "dashed", "╍╍"),
)
"""Of the accountants in the order of their list: role of the palette, dash, and the same as text."""


def line_of(name: str) -> tuple[str, Dash, str]:
    """Return how the line of an accountant is drawn: role of the palette, dash, and the same as text."""
    from workbench.privacy.accounting.accountant import accountant_names

    return LINES[accountant_names().index(name) % len(LINES)]


TALLEST = 200.0
"""A line that rises to more than this many times the least ε is cut: the rest would be pressed to the floor."""

SHADES, PALEST = 72, 0.08
"""Pixels of the range of shades beside the title, and the share of the accent in its palest."""


class _CalculatorChart(Chart):
    margins = QMarginsF(44, 26, 10, 20)
    usual, least, letters = QSize(360, 220), QSize(200, 220), 11

    def __init__(self, session: Session, name: str, title: str) -> None:
        super().__init__(session, name, tr(title))
        self._title = title


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
        words = [
            tr(
                "{name} from {first} to {last}",
                name=name,
                first=plain(c.epsilons[0]),
                last=plain(c.epsilons[-1]),
            )
            for name, c in self._curves.items()
        ]
        self.setAccessibleDescription("; ".join(words))
        self.setToolTip("\n".join(words))
        self.update()

    def drawing(self) -> Drawing:
        """Return the lines, and a mark at the present value."""
        lines = {n: [p for p in zip(c.x, c.epsilons, strict=True) if p[1] > 0] for n, c in self._curves.items()}
        points = [point for line in lines.values() for point in line]
        if not points:
            return Drawing(title=tr(self._title), empty="…", frame="box")
        left, right = min(x for x, _ in points), max(x for x, _ in points)
        low = min(e for _, e in points)
        high = min(max(e for _, e in points), low * TALLEST)
        y, x = Scale(low, max(high, low * 1.1), log=True), Scale(left, max(right, left * (1 + 1e-9)), log=True)
        marks: list[mark.Mark] = []
        below = [Below(x.low, _short(x.low)), Below(x.high, _short(x.high))]
        if self._at is not None and left <= self._at <= right * (1 + 1e-6):
            marks.append(mark.upright(self._at))
            below.append(Below(self._at, _short(self._at), "accent"))
        for name, line in lines.items():
            finite = [point for point in line if math.isfinite(point[1])]
            style, dash, _ = line_of(name)
            marks.append(mark.line(finite, style, dash=dash))
        return Drawing(
            marks,
            x=x,
            y=y,
            left=((y.high, _short(y.high)), (y.value(0.5), "ε"), (y.low, _short(y.low))),
            below=below,
            title=tr(self._title),
            frame="box",
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
        words = tr("ε from {low} to {high}", low=at_most(min(values)), high=at_most(max(values)))
        self.setAccessibleDescription(words)
        self.setToolTip(tr("{words}, by Rényi divergences", words=words))
        self.update()

    def drawing(self) -> Drawing:
        """Return the cells, a frame around the present one, and the least and the largest ε."""
        found = self._map
        if found is None:
            return Drawing(title=tr(self._title), frame="none")
        logs = [[math.log(max(e, 1e-12)) for e in line] for line in found.epsilons]
        low, high = min(map(min, logs)), max(map(max, logs))
        across, up = len(found.batches), len(found.sigmas)
        present = _nearest(found.batches, self._at[1]), _nearest(found.sigmas, self._at[0])
        shades = [[PALEST + (1 - PALEST) * (v - low) / max(high - low, 1e-9) for v in line] for line in logs]
        return Drawing(
            (mark.shades(shades), _present(*present), _shades_of(_short(math.exp(low)), f"ε {_short(math.exp(high))}")),
            x=Scale(0, across),
            y=Scale(0, up),
            left=((up, tr_number(found.sigmas[-1], ".2g")), (up / 2, "σ"), (0, tr_number(found.sigmas[0], ".2g"))),
            below=(
                Below(0, _short(found.batches[0])),
                Below(across / 2, tr("batch")),
                Below(across, _short(found.batches[-1])),
            ),
            title=tr(self._title),
            frame="none",
        )


def _present(column: int, row: int) -> mark.Mark:
    def paint(on: mark.Canvas) -> None:
        on.smooth("text")
        on.painter.drawRect(QRectF(on.at(column, row + 1), on.at(column + 1, row)))

    return paint


def _shades_of(least: str, most: str) -> mark.Mark:
    """Return the shades from the least to the largest value, beside the title."""

    def paint(on: mark.Canvas) -> None:
        wide = on.painter.fontMetrics().horizontalAdvance(most) + 2
        bar = QRectF(on.box.right() - wide - 6 - SHADES, 5, SHADES, 10)
        shades = QLinearGradient(bar.topLeft(), bar.topRight())
        shades.setColorAt(0, QColor(mixed(on.theme.surface, on.theme.accent, PALEST)))
        shades.setColorAt(1, on.ink("accent"))
        on.painter.fillRect(bar, shades)
        on.write(QRectF(bar.left() - 66, 0, 60, KEY), least, side="right")
        on.write(QRectF(bar.right() + 6, 0, wide, KEY), most)

    return paint


def _nearest(values: Sequence[float], value: float) -> int:
    return min(range(len(values)), key=lambda k: abs(math.log(values[k] / value)))


def _short(value: float) -> str:
    """Return a figure of an axis in as few letters as it can be read in."""
    if value >= 1e4:
        millions = value >= 1e6
        return f"{tr_number(value / (1e6 if millions else 1e3), '.3g')}{'M' if millions else 'k'}"
    return tr_number(value, ",.0f") if value >= 10 else tr_number(value, ".2g").replace("e-0", "e-")
