"""The typeface: Inter from the program's own resources, otherwise the system's."""

from __future__ import annotations

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


def font(pixels: float, weight: QFont.Weight = QFont.Weight.Normal) -> QFont:
    """Return the typeface at ``pixels`` logical pixels, with figures of equal width."""
    face = QFont(_family()) if _family() else QFont()
    face.setPixelSize(round(pixels))
    face.setWeight(weight)
    face.setFeature(QFont.Tag("tnum"), 1)
    return face
