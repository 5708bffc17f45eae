"""What one value can become: the chances of every answer of the mechanism in use, drawn as bars."""

from __future__ import annotations

from PySide6.QtCore import QMarginsF, QSize

from workbench.gui.pages.protect.tasks import Example
from workbench.gui.widgets import chart_marks as mark
from workbench.gui.widgets.chart import Below, Chart, Drawing, range_below
from workbench.gui.widgets.chart_marks import Scale

LEAST = 92
"""Height in pixels below which the bars cannot be read."""

FAINT = 0.45


class Becoming(Chart):
    """One bar per answer; the bar of the true value is filled and named, the others are pale."""

    name = "share_becoming"
    margins = QMarginsF(0, 28, 0, 20)
    usual, least = QSize(360, 220), QSize(0, LEAST)

    def show_example(self, example: Example | None) -> None:
        """Draw another example, or nothing."""
        self.show_drawing(_drawing(example) if example else None)


def _drawing(example: Example) -> Drawing:
    chances, own = dict(enumerate(example.chances)), example.at
    below = range_below(example.answers)
    if example.given in {end.text for end in below}:
        below = tuple(Below(end.at, end.text, "accent" if end.text == example.given else "muted") for end in below)
    else:
        below = (*below, Below(own + 0.5, example.given, "accent"))
    return Drawing(
        (mark.bars({at: c for at, c in chances.items() if at != own}, alpha=FAINT), mark.bars({own: chances[own]})),
        x=Scale(0, len(chances)),
        y=Scale(0, max(example.chances) or 1.0),
        below=below,
        title=f"What {example.given} can become",
        words=lambda x: _words(example, int(x)),
        spoken=f"What {example.given} can become: itself in {100 * chances[own]:.3g} % of all draws",
    )


def _words(example: Example, bar: int) -> str:
    each = "each of " if " – " in example.answers[bar] else ""
    chance = f"{100 * example.chances[bar]:.3g} % of all draws"
    return f"{example.given} becomes {each}{example.answers[bar]} in {chance}"
