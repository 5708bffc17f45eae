"""What the page Generalise shows: the lattice of levels, and the hierarchy of a column with how it is made."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QMarginsF, QPointF, QSize, Qt, QTimer, Signal
from PySide6.QtWidgets import QWidget

from workbench.gui.pages.generalise.tasks import Levels
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later, tr_number, tr_sentence
from workbench.gui.widgets.basic import Elided, button, label, named, panel, row, say, stack
from workbench.gui.widgets.chart import Below, Chart, Drawing
from workbench.gui.widgets.chart_marks import Canvas, Key, Mark, Scale
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.gui.widgets.dialogs import HIERARCHY_FILES, ask_for_file, ask_where_to_save
from workbench.gui.widgets.formatting import count
from workbench.gui.widgets.parameter_form import Form
from workbench.gui.widgets.table_model import Cell, Column
from workbench.gui.widgets.table_view import LinesTable
from workbench.risk.hierarchies import BUILDERS, Builder, file_name

if TYPE_CHECKING:
    from workbench.risk.generalise.generalised import Generalised
    from workbench.risk.generalise.search import Tried


MOST_DRAWN, MOST_LISTED, MOST_EDGES = 1500, 50, 3000  # nodes drawn and listed, the best first, and lines between

OF_NODES = (
    Column(tr_later("Levels"), help=tr_later("The level of each column, in their order"), width=120),
    Column(tr_later("Loss"), help=tr_later("What it loses: less is better"), width=80, right=True),
    Column(tr_later("Left out"), help=tr_later("Rows that are left out"), width=72, right=True),
)
REACH = 10.0  # pixels around a node at which its words are shown


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
    return [
        (
            Cell(levels_words(tried.node)),
            Cell(loss_words(tried.loss or 0.0), exact=repr(tried.loss), key=tried.loss),
            Cell(tr_number(tried.suppressed or 0, ","), key=tried.suppressed),
        )
        for tried in best_nodes(made)[:MOST_LISTED]
    ]


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
                    Key(tr("allowed"), "accent", "dot"),
                    Key(tr("not allowed"), "muted", "open"),
                    Key(tr("loses least"), "warn", "square"),
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
        on.smooth("muted", 0.5)
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


# -- the hierarchy of a column ----------------------------------------------------------------------------------------


TYPING_MS = 300
NONE = "none"
NO_HIERARCHY = tr_later("none")
WHY_ONE = tr_later("Of a sensitive column, t with the distance hierarchical alone takes a hierarchy.")
MOST_VALUES = 2000  # lines of a hierarchy that are shown


class TextTable(LinesTable):
    """A table of text whose columns change."""

    def __init__(self, session: Session, name: str, accessible: str) -> None:
        super().__init__(session, name, accessible, (Column(""),), private=True)

    def show_rows(
        self, header: Sequence[str], rows: Sequence[Sequence[str]], numbers: Collection[str] = frozenset()
    ) -> None:
        """Show rows, the columns of ``numbers`` on the right."""
        lines = [tuple(Cell(text, tip=text) for text in line) for line in rows]
        self.show_columns([Column(title, whole=True, right=title in numbers) for title in header or ("",)], lines)


class HierarchyEditor(QWidget):
    """Edits the hierarchy of one column: how it is made, its levels, import and export."""

    wanted = Signal(object)  # (way, path or None) make it so, read it from this file, or take it away
    saved = Signal(object)  # (path) it is to be written there

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._column = ""
        self._form: Form | None = None
        self._levels: Levels | None = None
        self.heading = Elided(kind="heading", name="generalise_column", least=48)
        tip = tr("How the hierarchy is made")
        self.builder = named(ChoiceBox(), "generalise_builder", tip, tip)
        self.builder.activated.connect(self._choose)
        tip = tr("Read a hierarchy, one line per value: value;level 1;…;*")
        bring = button(tr("Import…"), "generalise_import", tip=tip, press=self._import)
        tip = tr("Write this hierarchy as such a file")
        self._export = button(tr("Export…"), "generalise_export", tip=tip, press=self._save)
        self._why = label(tr(WHY_ONE), "muted", wrap=True, name="generalise_why_one")
        self._why.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.problem = label("", "problem", wrap=True, name="generalise_hierarchy_problem")
        self._forms = stack(spacing=0)
        self.levels = TextTable(session, "generalise_levels", tr("What each value becomes, level by level"))
        head = panel(row((self.heading, 1), self.builder, bring, self._export))
        self.setLayout(stack(head, panel(self._forms), (self._why, 1), self.problem, (self.levels, 1), spacing=6))
        self._typing = QTimer(self, singleShot=True, interval=TYPING_MS)
        self._typing.timeout.connect(self._make)
        self.show_column("", None)

    def show_column(self, name: str, levels: Levels | None, *, optional: bool = False) -> None:
        """Show the hierarchy of a column; none while it is being made, or where a column need not have one."""
        bare = optional and levels is None
        self._why.setVisible(bare)
        self.levels.setVisible(not bare)
        ways = [*([(tr(NO_HIERARCHY), NONE)] if optional else []), *((tr_sentence(b.title), b.name) for b in BUILDERS)]
        self.builder.offer([*ways, (tr("a file"), "")], self._way(levels))
        anew = name != self._column or self._way(levels) != self._way(self._levels)
        self._column, self._levels = name, levels
        self.heading.set_whole(name)
        self.refuse("")
        self._export.setEnabled(levels is not None)
        if levels is None:
            if not optional:  # it is being made
                self.builder.setCurrentIndex(-1)
            self._show_form(None)
            self.levels.show_rows((), ())
            return
        if anew:
            self._show_form(levels)
        elif self._form is not None and levels.way is not None and self._form.value() != levels.way:
            self._form.set_value(levels.way)
        heads = (tr("level {number}", number=n) for n in range(1, levels.hierarchy.height + 1))
        titles = [
            tr("value"),
            *(head.replace(" ", "\u00a0") for head in heads),
        ]  # one line each, however many there are
        rows = list(zip(*(level[:MOST_VALUES] for level in levels.hierarchy.levels), strict=True))
        self.levels.show_rows(titles, rows, titles[:1] if name in self._session.plan.numeric else ())

    def refuse(self, text: str) -> None:
        """Say why the hierarchy cannot be made so; nothing where it can."""
        say(self.problem, text)

    def refuse_error(self, error: BaseException) -> None:
        self.refuse(self._session.worded(error))

    @staticmethod
    def _way(levels: Levels | None) -> str:
        return NONE if levels is None else "" if levels.way is None else levels.way.name

    def _show_form(self, levels: Levels | None) -> None:
        if self._form is not None:
            self._forms.removeWidget(self._form)
            self._form.setParent(None)
            self._form.deleteLater()
            self._form = None
        if levels is None or levels.way is None:
            return
        across = 2 if len(levels.way.declared()) > 1 else 1
        self._form = Form(f"generalise_{levels.way.name}", type(levels.way), across=across)
        self._form.set_value(levels.way)
        self._form.changed.connect(self._typing.start)
        self._forms.addWidget(self._form)

    def _present(self) -> type[Builder] | None:
        return next((one for one in BUILDERS if one.name == self.builder.currentData()), None)

    def _choose(self, _index: int) -> None:
        builder = self._present()
        if self.builder.currentData() == NONE:
            self.wanted.emit(None)
        elif builder is None:
            self._import()
        elif builder.name != self._way(self._levels):
            self._typing.stop()
            self.wanted.emit(builder())

    def _make(self) -> None:
        value = None if self._form is None else self._form.value()
        if self._present() is not None and value is not None:
            self.wanted.emit(value)

    def _import(self) -> None:
        path = ask_for_file(self, "hierarchy", folder=self._session.folder)
        if path:
            self.wanted.emit(Path(path))
        else:
            self.builder.setCurrentIndex(self.builder.findData(self._way(self._levels)))

    def _save(self) -> None:
        place = str(Path(self._session.folder, file_name(self._column)))
        path = ask_where_to_save(self, tr("Export the hierarchy"), place, HIERARCHY_FILES)
        if path:
            self.saved.emit(Path(path))
