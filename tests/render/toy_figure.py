"""A kind of figure of the tests: one number, drawn as a bar."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Bar:
    """A bar of some height between 0 and 1."""

    title: str
    height: float
    badge: str = ""


def view(figure: Bar, theme: Any) -> Any:
    from PySide6.QtCore import QRectF
    from PySide6.QtGui import QColor

    from workbench.render.figure_layout import FigureView, Surroundings

    class Shown(FigureView):
        def to_y(self, value: float) -> float:
            return self.plot.bottom() - value * self.plot.height()

        def paint_plot(self, painter: Any) -> None:
            top = QRectF(self.plot.left(), self.to_y(figure.height), self.plot.width(), 0)
            painter.fillRect(QRectF(top.topLeft(), self.plot.bottomRight()), QColor("#ff0000"))

    return Shown(Surroundings(figure.title, "", figure.badge, "", "", (), (), ()), theme)
