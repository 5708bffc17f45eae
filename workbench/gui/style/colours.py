"""Colours mixed from the theme's."""

from __future__ import annotations

from PySide6.QtGui import QColor


def mixed(one: str, other: str, share: float) -> str:
    """Return the colour that is ``share`` of ``other`` and the rest of ``one``."""
    a, b = QColor(one), QColor(other)
    pairs = ((a.red(), b.red()), (a.green(), b.green()), (a.blue(), b.blue()))
    return QColor(*(round(x + (y - x) * share) for x, y in pairs)).name()
