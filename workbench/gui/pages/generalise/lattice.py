"""The lattice: every node that the search looked at, the coarsest on top, and the best of them as a list."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QMarginsF, QPointF, QSize

from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later, tr_number
from workbench.gui.widgets.chart import Below, Chart, Drawing
from workbench.gui.widgets.chart_marks import Canvas, Key, Mark, Scale
from workbench.gui.widgets.formatting import count
from workbench.gui.widgets.table_model import Cell, Column

if TYPE_CHECKING:
    from workbench.risk.generalise.generalised import Generalised
    from workbench.risk.generalise.search import Tried

MOST_DRAWN, MOST_LISTED, MOST_EDGES = 1500, 50, 3000
"""Nodes that are drawn and listed, the best first, and lines between nodes."""

OF_NODES = (
    Column(tr_later("Levels"), help=tr_later("The level of each column, in their order"), width=120),
    Column(tr_later("Loss"), help=tr_later("What it loses: less is better"), width=80, right=True),
    Column(tr_later("Left out"), help=tr_later("Rows that are left out"), width=72, right=True),
)
REACH = 10.0
"""Pixels around a node at which its words are shown."""


@dataclass(frozen=True)
class _Place:
    x: float
    y: float
    tried: Tried


def levels_words(node: Sequence[int]) -> str:
    """Return the levels of a node as they are written."""
    return " · ".join(map(str, node))


def loss_words(loss: float) -> str:
    """Return a loss as a person reads it."""
    return tr_number(loss, ",.0f" if loss >= 1000 else ".4g")


def best_nodes(made: Generalised) -> list[Tried]:
    """Return the allowed nodes, the best first."""
    allowed = [tried for tried in made.tried if tried.loss is not None]
    return sorted(allowed, key=lambda t: (t.loss or 0.0, sum(t.node), t.node))


def node_lines(made: Generalised) -> list[tuple[Cell, ...]]:
    """Return the best nodes as lines of a table."""
    lines: list[tuple[Cell, ...]] = []
    for tried in best_nodes(made)[:MOST_LISTED]:
        assert tried.loss is not None
        lines.append(
            (
                Cell(levels_words(tried.node)),
                Cell(loss_words(tried.loss), exact=repr(tried.loss), key=tried.loss),
                Cell(tr_number(tried.suppressed or 0, ","), key=tried.suppressed),
            )
        )
    return lines


class LatticeChart(Chart):
    """The nodes: how coarse a node is, is its height; what is left and right has no meaning."""

    name = "generalise_lattice"
    margins = QMarginsF(60, 30, 12, 34)
    usual = QSize(420, 320)
    least = QSize(220, 160)

    def __init__(self, session: Session) -> None:
        super().__init__(session, accessible=tr("The lattice of levels"))
        self._places: list[_Place] = []
        self._names: tuple[str, ...] = ()

    def show_made(self, made: Generalised | None) -> None:
        """Draw the nodes of a search, or nothing."""
        self._places, self._names = ([], ()) if made is None else (_places(made), made.asked.quasi)
        if made is None or not self._places:
            self.show_drawing(None if made is None else Drawing(empty=tr("This method has no lattice.")))
            return
        best = best_nodes(made)[0].node
        heights = [place.y for place in self._places]
        low, high = min(heights), max(heights)
        marks = (_edges(self._places, made.problem.top), _nodes(self._places, best))
        drawn, nodes = len(self._places), count(made.problem.nodes, "node")
        self.show_drawing(
            Drawing(
                marks,
                x=Scale(0, 1),
                y=Scale(low - 0.5, high + 0.5),
                left=((low, tr("fine")), (high, tr("coarse"))),
                below=(Below(0.0, tr("{drawn} of {nodes} were tried", drawn=tr_number(drawn, ","), nodes=nodes)),),
                key=(
                    Key(tr("allowed"), "accent"),
                    Key(tr("not allowed"), "muted"),
                    Key(tr("loses least"), "warn"),
                ),
                frame="none",
                spoken=tr(
                    "The lattice: {drawn} nodes were tried, {allowed} are allowed; {levels} loses least",
                    drawn=tr_number(drawn, ","),
                    allowed=tr_number(len(best_nodes(made)), ","),
                    levels=levels_words(best),
                ),
            )
        )

    def words_under(self, point: QPointF) -> str:
        """Return the levels of the node under the pointer, and what it loses."""
        drawing = self.drawing()
        if drawing is None or not self._places:
            return ""
        box = self._box()

        def far(place: _Place) -> float:
            x = box.left() + drawing.x.share(place.x) * box.width()
            y = box.bottom() - drawing.y.share(place.y) * box.height()
            return math.hypot(point.x() - x, point.y() - y)

        nearest = min(self._places, key=far)
        if far(nearest) > REACH:
            return ""
        tried = nearest.tried
        levels = ", ".join(f"{name} {level}" for name, level in zip(self._names, tried.node, strict=True))
        if tried.loss is None:
            return tr("{levels}: not allowed", levels=levels)
        return tr("{levels}: loses {loss}", levels=levels, loss=loss_words(tried.loss))


def _places(made: Generalised) -> list[_Place]:
    """Return where the nodes are drawn: the best ones and, up to a number, the others in the order of the search."""
    best = best_nodes(made)
    others = [tried for tried in made.tried if tried.loss is None]
    chosen = [*best[:MOST_DRAWN], *others[: max(0, MOST_DRAWN - len(best))]]
    rows: dict[int, list[Tried]] = {}
    for tried in sorted(chosen, key=lambda t: t.node, reverse=True):
        rows.setdefault(sum(tried.node), []).append(tried)
    return [_Place((at + 0.5) / len(row), height, t) for height, row in rows.items() for at, t in enumerate(row)]


def _edges(places: Sequence[_Place], top: Sequence[int]) -> Mark:
    at = {place.tried.node: place for place in places}
    lines = []
    for node, place in at.items():
        for column in range(len(top)):
            above = at.get((*node[:column], node[column] + 1, *node[column + 1 :]))
            if above is not None:
                lines.append((place, above))

    def paint(on: Canvas) -> None:
        if len(lines) > MOST_EDGES:
            return
        on.smooth("line", 1.0)
        for one, other in lines:
            on.line(on.at(one.x, one.y), on.at(other.x, other.y))

    return paint


def _nodes(places: Sequence[_Place], best: Sequence[int]) -> Mark:
    def paint(on: Canvas) -> None:
        size = 4.0 if len(places) <= 200 else 2.0
        for place in places:
            allowed, first = place.tried.loss is not None, place.tried.node == tuple(best)
            if not first:
                on.sign("dot" if allowed else "open", on.at(place.x, place.y), "accent" if allowed else "muted", size)
        for place in places:
            if place.tried.node == tuple(best):
                on.sign("square", on.at(place.x, place.y), "warn", size + 2)

    return paint
