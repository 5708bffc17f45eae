"""Small line drawings in the ink of the theme: the path of an SVG in a square of 16 by 16, without fill."""

from __future__ import annotations

import functools

from PySide6.QtCore import QByteArray, QRectF
from PySide6.QtGui import QColor, QPainter
from PySide6.QtSvg import QSvgRenderer

SIDE = 16

_DRAWING = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {side} {side}"><path d="{path}" '  # not translated
    'fill="none" stroke="{ink}" stroke-width="1.4" stroke-linecap="round" '
    'stroke-linejoin="round"/></svg>'
)


def draw_icon(painter: QPainter, path: str, ink: QColor, box: QRectF) -> None:
    """Draw ``path`` into ``box``."""
    _renderer(path, ink.name()).render(painter, box)


@functools.lru_cache(maxsize=64)
def _renderer(path: str, ink: str) -> QSvgRenderer:
    """Return the drawing; read once for each colour, as the rail is painted at every step of the pointer."""
    drawn = QSvgRenderer(QByteArray(_DRAWING.format(side=SIDE, path=path, ink=ink).encode()))
    if not drawn.isValid():
        raise ValueError(f"not the path of an SVG: {path}")
    return drawn
