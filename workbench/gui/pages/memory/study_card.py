"""A finished study: the chart, the table, and why the curves look so."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import QScrollArea, QWidget

from workbench.deep.memory import PHASES
from workbench.deep.memory_study import StudyResult, StudyRow, line_name
from workbench.gui.pages.curve_actions import copy_curve
from workbench.gui.pages.curve_words import in_language
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later, tr_number, tr_sentence
from workbench.gui.widgets.basic import Card, label, look, named, row, segments
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.gui.widgets.curve_plot import CurvePlot
from workbench.gui.widgets.formatting import plain
from workbench.gui.widgets.lines_table import LinesTable
from workbench.gui.widgets.table_model import Cell, Column
from workbench.gui.widgets.table_view import TableFilter
from workbench.render.memory_figure import memory_figure, phases_figure

if TYPE_CHECKING:
    from workbench.render.values import CurveFigure

REMARKS_HEIGHT = 72
"""Points that the remarks have: more are scrolled to."""

WIDE = 1000
"""Points of the card from which chart and table are side by side."""

NARROWEST = 120
"""Points that the list of charts keeps where text is large."""

PAD, BETWEEN = 12, 16
"""Points around everything, and between chart and table."""

COLUMNS = (
    Column(tr_later("Setting"), width=170),
    Column(tr_later("Rows"), width=66, right=True),
    Column(tr_later("Peak, MB"), width=92, right=True),
    Column(tr_later("Most rows"), width=100, right=True),
    Column(tr_later("Model"), width=72, right=True),
    Column(tr_later("Batch"), width=68, right=True),
    Column(tr_later("Backward"), width=98, right=True),
    Column(tr_later("Step"), width=62, right=True),
)

MOST_TIP = tr_later("The most rows at once whose peak still fits into the memory that there is")
CHARTS = {
    "phases": tr_later("Four phases of the selected setting"),
    "peak": tr_later("Peak of every setting"),
    "model": tr_later("Model, every setting"),
    "batch": tr_later("Batch, every setting"),
    "backward": tr_later("Backward, every setting"),
    "step": tr_later("Step, every setting"),
}

CHART, TABLE = "chart", "table"
PHASES_OF_ONE = "phases"


class StudyCard(Card):
    """Shows the chart or the table, and both where there is room.

    Signals:
        chosen: another setting is selected.
    """

    chosen = Signal()

    def __init__(self, session: Session) -> None:
        super().__init__(pad=PAD, spacing=6)
        self._session = session
        self.result: StudyResult | None = None
        self.figure: CurveFigure | None = None
        self.plot = CurvePlot("memory", tr("Memory against the batch"))
        accessible = tr("Memory of every setting")  # a setting that is cut reads as another one: none gives way
        self.table = LinesTable(session, "memory_table", accessible, COLUMNS, least_share=1.0)
        self._filter = TableFilter(self.table, "lines")
        self.lines = named(ChoiceBox(), "memory_chart", tr("Lines of the chart"), tr("What each line of the chart is"))
        self.lines.setMinimumWidth(NARROWEST)
        for key, text in CHARTS.items():
            self.lines.addItem(tr(text), key)
        self._views = {CHART: self.plot, TABLE: self.table}
        titles = (
            (CHART, tr("Chart"), tr("Memory against the batch")),
            (TABLE, tr("Table"), tr("Every setting with its four phases")),
        )
        self._segments = segments(self, "memory_show_", titles, lambda _key: self._arrange())
        self._segments[CHART].setChecked(True)
        self._remarks = label("", "muted", wrap=True, name="memory_remarks")
        stated = QScrollArea()
        stated.setWidget(look(self._remarks, "muted"))
        stated.setWidgetResizable(True)
        stated.setFixedHeight(REMARKS_HEIGHT)
        stated.setAccessibleName(tr("Why the curves look so"))
        stated.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        both = QWidget()
        self._both = row(self.plot, self.table, spacing=BETWEEN)
        both.setLayout(self._both)
        self.body.addLayout(row(*self._segments.values(), 4, self.lines, None, self._filter))
        self.body.addWidget(both, 1)
        self.body.addWidget(stated)
        shortcut = QShortcut(QKeySequence.StandardKey.Copy, self.plot, self.copy)
        shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        self.lines.activated.connect(self.draw)
        self.table.selectionModel().currentRowChanged.connect(self._select)
        self._arrange()

    def show_result(self, found: StudyResult) -> None:
        """Show another study; the largest batch that fits is selected."""
        self.result = found
        self.table.lines.show_lines(_table_cells(found))
        self.table.selectRow(_first_selected(found))
        self._remarks.setText("\n".join(map(tr_sentence, found.remarks)))
        self._arrange()
        self.draw()

    def retranslate(self) -> None:
        if self.result is not None:
            self.table.lines.show_lines(_table_cells(self.result), same=True)
            self._remarks.setText("\n".join(map(tr_sentence, self.result.remarks)))
            self.draw()

    @property
    def selected(self) -> StudyRow | None:
        """The setting whose line is selected."""
        at = self.table.currentIndex().row()
        return self.result.rows[at] if self.result is not None and 0 <= at < len(self.result.rows) else None

    def draw(self) -> None:
        """Draw the lines that are asked for."""
        if self.result is None:
            return
        asked, selected = self.lines.currentData(), self.selected
        if asked == PHASES_OF_ONE:
            line = selected.line if selected is not None else self.result.lines[0]
            self.figure = in_language(phases_figure(self.result, line))
        else:
            self.figure = in_language(memory_figure(self.result, asked))
        self.plot.show_figure(self.figure, self._session.theme, Decimal(1))

    def copy(self) -> None:
        """Put the picture on the clipboard."""
        copy_curve(self._session, self.plot, chart=True)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        wide = self.width() >= WIDE
        # Beside the chart the table is as wide as its figures, up to half: one that is scrolled hides the phases.
        room = self.width() - 2 * PAD - BETWEEN
        taken = min(self.table.whole_width, room // 2)
        self._both.setStretch(0, max(1, room - taken))
        self._both.setStretch(1, taken)
        for key, segment in self._segments.items():
            segment.setVisible(not wide)
            self._views[key].setVisible(wide or segment.isChecked())
        self.lines.setVisible(not self.plot.isHidden())
        self._filter.setVisible(not self.table.isHidden())

    def _select(self) -> None:
        if self.lines.currentData() == PHASES_OF_ONE:
            self.draw()
        self.chosen.emit()


def _table_cells(result: StudyResult) -> list[tuple[Cell, ...]]:
    highest = max(one.peak for one in result.rows)

    def cells(one: StudyRow) -> tuple[Cell, ...]:
        peak, most = _size(one.peak, highest), result.largest.get(one.line)
        if result.fit is not None and one.peak > result.fit:
            peak = peak._replace(text=f"! {peak.text}", look="danger", tip=tr("More than the memory that there is"))
        return (
            Cell(tr_sentence(line_name(one.line, result.lines)), tip=tr_sentence(one.line.network.title)),
            Cell(tr_number(one.batch, ","), tip=tr("Rows in memory at once"), exact=str(one.batch)),
            peak,
            _most(most),
            *(_size(one.phases[name], highest) for name in PHASES),
        )

    return [cells(one) for one in result.rows]


def _first_selected(result: StudyResult) -> int:
    """Return the row that is selected at first: the largest batch that fits, of the first private setting."""
    private = [at for at, row in enumerate(result.rows) if row.line.private] or list(range(len(result.rows)))
    of_first = [at for at in private if result.rows[at].line == result.rows[private[0]].line]
    fitting = [at for at in of_first if result.fit is None or result.rows[at].peak <= result.fit]
    return (fitting or of_first)[-1]


def _most(rows: int | None) -> Cell:
    return Cell("–", "muted") if rows is None else Cell(tr_number(rows, ","), tip=tr(MOST_TIP), exact=str(rows))


def _size(size: int, highest: int) -> Cell:
    """Return bytes in MB: one digit behind the point where the figures of the table are small."""
    text = tr_number(size / 1e6, ",.0f" if highest >= 1e9 else ",.1f")
    return Cell(
        text, tip=tr("{size} bytes", size=tr_number(size, ",")), exact=plain(size) if size < 1000 else str(size)
    )
