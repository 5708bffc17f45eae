"""A kind of figure of the tests: one number, drawn as a bar."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True)
class Bar:
    """A bar of some height between 0 and 1."""

    title: str
    height: float
    badge: str = ""

    def to_plain(self) -> dict[str, Any]:
        """Return the figure as JSON holds it."""
        return dataclasses.asdict(self)

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """Make the figure from what :meth:`to_plain` returned."""
        return cls(**plain)


def view(figure: Bar, theme: Any, pixel_ratio: float | None = None) -> Any:
    """Return the widget that shows ``figure``."""
    import pyqtgraph as pg

    shown = pg.PlotWidget(background=theme.surface)
    shown.addItem(pg.BarGraphItem(x=[0], height=[figure.height], width=0.8, brush="#ff0000", pen=None))
    shown.setYRange(0, 1)
    return shown
