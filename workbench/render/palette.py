"""The colours of the window and of every figure: light and dark, safe for colour-blind readers.

The series colours are Okabe and Ito's (2008); each also has a dash or marker, so that nothing is
conveyed by colour alone. On the dark surface the blue and the vermilion are lighter, because the originals fall below a
contrast of 3 : 1 there (WCAG 2.1, 1.4.11).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

BAND_OPACITY = 0.18

Marker = Literal["", "circle", "square", "triangle", "diamond", "triangle-down"]
Dash = Literal["solid", "dashed", "dotted"]


@dataclass(frozen=True, slots=True)
class SeriesStyle:
    """How one series differs from the others."""

    light: str  # colour on the light surface
    dark: str  # colour on the dark surface
    marker: Marker = ""  # the sign at each point; empty for none
    dash: Dash = "solid"  # the stroke of the line


STYLES: dict[str, SeriesStyle] = {
    "no-privacy": SeriesStyle("#566070", "#9AA5B4", dash="dashed"),
    "majority": SeriesStyle("#566070", "#9AA5B4", dash="dotted"),
    "sanitized": SeriesStyle("#D55E00", "#F0772B", "circle"),
    "private": SeriesStyle("#0072B2", "#4FA8E0", "square"),
    # The same rows as the sanitised line, and so its colour: what differs is what the model makes of them.
    "corrected": SeriesStyle("#D55E00", "#F0772B", "triangle", "dashed"),
    "synthetic": SeriesStyle("#009E73", "#2BBF94", "triangle-down", "dashed"),
    "third": SeriesStyle("#009E73", "#2BBF94", "triangle"),
    "fourth": SeriesStyle("#CC79A7", "#DD94BC", "diamond"),
    "fifth": SeriesStyle("#56B4E9", "#8CCBF2", "triangle-down"),
    # The colours come to an end here: the same ones with another stroke and sign.
    "sixth": SeriesStyle("#009E73", "#2BBF94", "circle", "dashed"),
    "seventh": SeriesStyle("#CC79A7", "#DD94BC", "square", "dashed"),
    "eighth": SeriesStyle("#56B4E9", "#8CCBF2", "diamond", "dashed"),
}
"""Every style a figure may name, by role."""

SIGNS: dict[Marker, str] = {
    "circle": "●",
    "square": "■",
    "triangle": "▲",
    "diamond": "◆",
    "triangle-down": "▼",
    "": "–",
}
"""The sign of each marker in a text."""

FREE_STYLES = ("third", "fourth", "fifth", "sixth", "seventh", "eighth")  # roles for further series, in order


@dataclass(frozen=True, slots=True)
class Theme:
    """One set of surface and text colours."""

    name: Literal["light", "dark"]
    window: str
    surface: str
    text: str
    muted: str
    line: str
    selection: str
    accent: str
    warn: str
    danger: str

    def series(self, style: SeriesStyle) -> str:
        """Return the colour of ``style`` on this theme's surface."""
        return style.light if self.name == "light" else style.dark


LIGHT = Theme(
    name="light",
    window="#F6F7F9",
    surface="#FFFFFF",
    text="#1D2330",
    muted="#566070",
    line="#D8DDE5",
    selection="#DCE8FB",
    accent="#2563C9",
    warn="#9A6200",
    danger="#B3261E",
)
DARK = Theme(
    name="dark",
    window="#14171C",
    surface="#1C2128",
    text="#E7EBF1",
    muted="#9AA5B4",
    line="#313945",
    selection="#24364F",
    accent="#7FB0FF",
    warn="#F0B84A",
    danger="#FF8A80",
)
THEMES: dict[str, Theme] = {theme.name: theme for theme in (LIGHT, DARK)}
