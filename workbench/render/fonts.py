"""The typeface: Inter from the program's own resources, otherwise the system's."""

from __future__ import annotations

import math
from functools import cache

from PySide6.QtGui import QFont, QFontDatabase

from workbench.paths import resources

FAMILY = "Inter"
SUFFIXES = (".ttf", ".otf")


@cache
def _family() -> str:
    """Load the fonts once and return the family to use; empty means the system's."""
    folder = resources() / "fonts"
    families: set[str] = set()
    for path in sorted(folder.glob("*")) if folder.is_dir() else []:
        if path.suffix.lower() in SUFFIXES:
            families.update(QFontDatabase.applicationFontFamilies(QFontDatabase.addApplicationFont(str(path))))
    if FAMILY in families:
        return FAMILY
    # A variable font may carry its axis in the name ("Inter Variable").
    named = sorted(f for f in families if f.startswith(FAMILY))
    return named[0] if named else ""


_scale = [1.0]


def set_scale(scale: float) -> None:
    """Draw all text ``scale`` times as large from now on: a person's choice, for the whole process."""
    _scale[0] = scale


def scaled(pixels: float, most: float = math.inf) -> int:
    """Return a length that grows with the text, to at most ``most``."""
    return round(min(pixels * _scale[0], most))


def font(pixels: float, weight: QFont.Weight = QFont.Weight.Normal) -> QFont:
    """Return the typeface at ``pixels`` logical pixels, with figures of equal width."""
    face = QFont(_family()) if _family() else QFont()
    face.setPixelSize(round(pixels * _scale[0]))
    face.setWeight(weight)
    face.setFeature(QFont.Tag("tnum"), 1)
    return face
