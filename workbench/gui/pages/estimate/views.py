"""The three views of a release: estimates by column, two columns together, and the released rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QMarginsF, QModelIndex, QPointF, QRectF, QSize, Signal
from PySide6.QtWidgets import QAbstractItemView, QWidget

from workbench.gui.pages.estimate.figures import HIDES, MEAN, QUARTILES, BarView, ColumnView, Figure, in_full, stated
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later, tr_sentence
from workbench.gui.style.stylesheet import ROW
from workbench.gui.widgets import chart_marks as mark
from workbench.gui.widgets.basic import Card, Elided, button, label, named, row, stack
from workbench.gui.widgets.chart import KEY, Below, Chart, Drawing, ends_below
from workbench.gui.widgets.chart_marks import Key, Scale
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.gui.widgets.fast_table import RowsTable
from workbench.gui.widgets.fast_table_model import RowsModel
from workbench.gui.widgets.lines_table import LinesTable
from workbench.gui.widgets.master_detail import DetailCard, MasterDetail, Standing
from workbench.gui.widgets.table_model import Cell, Column
from workbench.gui.widgets.table_view import TableFilter

if TYPE_CHECKING:
    from workbench.gui.pages.estimate.tasks import EstimatedRelease

FILL = 0.45
STRIP, STRIPS_LETTERS = 15, 11
"""Pixels of an interval's line above the bars of a column of numbers, and of its name."""

ORDER = (MEAN, *QUARTILES.values())


class EstimateChart(Chart):
    """Filled bars: estimated shares; a stepped line with dots: the released ones; brackets and lines: intervals."""

    name = "estimate_chart"
    usual = QSize(330, 200)

    def show_column(self, column: ColumnView | None) -> None:
        """Draw one column, or nothing."""
        strips = [f for f in column.figures if f.of in ORDER] if column and column.ends else []
        self.margins = QMarginsF(2, KEY + STRIP * len(strips) + (4 if strips else 0), 2, 22)
        self.show_drawing(_drawing(column, strips) if column and column.bars else None)
        self.setAccessibleName(
            tr("Estimated distribution of {name} beside the released one", name=column.name) if column else ""
        )
        said = [_interval(f) for f in column.figures[:4]] if column else []
        self.setAccessibleDescription("; ".join(said))


def _drawing(column: ColumnView, strips: list[Figure]) -> Drawing:
    bars, labels = column.bars, [bar.label for bar in column.bars]
    brackets = [
        (at + 0.75, bar.low, bar.likely, bar.high)
        for at, bar in enumerate(bars)
        if bar.low is not None and bar.high is not None
    ]
    marks = [
        mark.bars({at: bar.likely for at, bar in enumerate(bars)}, "private", alpha=FILL),
        mark.levels({at: bar.released for at, bar in enumerate(bars) if bar.released is not None}, "sanitized"),
        mark.intervals(brackets, "private"),
    ]
    below = ends_below(labels)
    if column.ends is not None:
        first, last = (stated(end, column.kind) for end in column.ends)
        below = Below(0, first), Below(len(bars), last)
        marks += [_strip(at, figure, Scale(*column.ends)) for at, figure in enumerate(strips)]
    return Drawing(
        marks,
        x=Scale(0, len(bars)),
        y=Scale(0, max(max(b.likely, b.released or 0.0, b.high or 0.0) for b in bars) or 1.0),
        labels=labels if column.ends is None else (),
        below=below,
        key=(
            Key(tr("estimated, 95 %") if column.ends is None else tr("likely shape"), "private", alpha=FILL),
            Key(tr("as released"), "sanitized", "level"),
        ),
        words=lambda x: _words(bars[int(x)]),
    )


def _words(bar: BarView) -> str:
    figures = {"value": bar.label, "share": stated(bar.likely, "share")}
    words = tr("{value}: estimated {share}", **figures)
    if bar.low is not None and bar.high is not None:
        low, high = stated(bar.low, "share"), stated(bar.high, "share")
        words = tr("{value}: estimated {share} ({low} to {high})", low=low, high=high, **figures)
    if bar.released is None:
        return words
    return tr("{estimated}, released {share}", estimated=words, share=stated(bar.released, "share"))


def _interval(figure: Figure) -> str:
    low, high = figure.stated(figure.low), figure.stated(figure.high)
    return tr("{figure} {low} to {high}", figure=figure.called, low=low, high=high)


def _strip(at: int, figure: Figure, along: Scale) -> mark.Mark:
    """Return the interval of a mean or a quantile as a line above the bars, with its name at the right or left."""

    def paint(on: mark.Canvas) -> None:
        level = KEY + STRIP * (at + 0.5)
        low, middle, high = (
            on.box.left() + on.box.width() * min(max(along.share(v), 0.0), 1.0)
            for v in (figure.low, figure.estimate, figure.high)
        )
        on.smooth("private", dash="dotted" if figure.hidden else "solid")
        on.line(QPointF(low, level), QPointF(high, level))
        on.smooth("private")
        for end in (low, high):
            on.line(QPointF(end, level - 3), QPointF(end, level + 3))
        if not figure.hidden:
            on.sign("square", QPointF(middle, level), "private")
        wide = on.letters(STRIPS_LETTERS, figure.called) + 2
        left = high + 8 if high + 8 + wide <= on.box.right() else low - 8 - wide
        if left >= on.box.left():
            on.write(QRectF(left, level - STRIP / 2, wide, STRIP), figure.called)

    return paint


MOST_FIGURES = 200
COLUMN, MECHANISM = Column(tr_later("Column"), width=110), Column(tr_later("Mechanism"), width=120)
FIGURES = (
    Column(tr_later("Of"), width=90),
    Column(tr_later("Estimate"), width=72, right=True),
    Column(tr_later("Low"), width=60, right=True),
    Column(tr_later("High"), width=60, right=True),
    Column(tr_later("Note"), width=110),
)
SUMMARY = (
    Column(tr_later("Column"), width=90),
    Column(tr_later("Values"), width=70),
    Column(tr_later("As released"), width=130),
    Column(tr_later("Range"), width=130),
    Column(tr_later("Estimated of the original"), width=220),
)
BIASED = tr_later("Its mechanism has no unbiased estimator: the likeliest value, and the interval allows for the bias")


def lines_of(figures: Sequence[Figure]) -> list[tuple[Cell, ...]]:
    """Return a line for each figure, of so many as can be read."""
    return [figure_cells(figure) for figure in figures[:MOST_FIGURES]]


def figure_cells(figure: Figure) -> tuple[Cell, ...]:
    """Return what is estimated, the estimate and its interval as cells; copies have all digits."""
    look = "muted" if figure.hidden else "text"
    numbers = figure.estimate, figure.low, figure.high
    exact = [in_full(v, figure.kind) for v in numbers]
    shown = ["–" if figure.hidden and not at else figure.stated(value) for at, value in enumerate(numbers)]
    cells = (Cell(text, look, digits, digits) for text, digits in zip(shown, exact, strict=True))
    tip = tr(BIASED) if figure.note and not figure.hidden else ""
    return Cell(figure.called), *cells, Cell(figure.note, "warn" if figure.hidden else "muted", tip)


class ColumnDetail(DetailCard):
    """The figures of one column and its picture."""

    def __init__(self, session: Session) -> None:
        super().__init__(height=292, picture_height=280)
        self._name = Elided("", "heading", name="estimate_column_name")
        self.figures = LinesTable(session, "estimate_figures", tr("Estimates for the chosen column"), FIGURES)
        self.chart = EstimateChart(session)
        self.fill(stack(self._name, self.figures, spacing=6), self.chart, picture_width=310)

    def show_column(self, column: ColumnView | None) -> None:
        """Show one column."""
        self._name.set_whole(f"{column.name}: {tr_sentence(column.mechanism)}" if column else "")
        self.figures.lines.show_lines(lines_of(column.figures if column else ()))
        self.chart.show_column(column)


class ColumnsView(QWidget):
    """One line for each column, and the chosen one in detail."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        accessible = tr("The original's columns, as estimated from the release")
        self.table = LinesTable(session, "estimate_columns", accessible, (COLUMN, *FIGURES, MECHANISM))
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.filter = TableFilter(self.table, "lines")
        self.detail = ColumnDetail(session)
        self._columns: tuple[ColumnView, ...] = ()
        self.setLayout(stack(MasterDetail(Card(self.table, pad=8), self.detail)))
        self.table.selectionModel().currentRowChanged.connect(self._choose)

    def show_columns(self, columns: tuple[ColumnView, ...]) -> None:
        """Show the columns of a release, the first in detail."""
        self._columns = columns
        shown = ((c, figure_cells(c.figures[0])) for c in columns if c.figures)
        self.table.lines.show_lines(
            [(Cell(c.name), *figures, Cell(tr_sentence(c.mechanism), "muted")) for c, figures in shown]
        )
        self.table.selectRow(0)
        self.detail.show_column(columns[0] if columns else None)

    def _choose(self, now: QModelIndex, before: QModelIndex) -> None:
        shown = [c for c in self._columns if c.figures]
        if 0 <= now.row() < len(shown):
            self.detail.show_column(shown[now.row()])


class PairView(QWidget):
    """Two columns together.

    Signals:
        asked: (first, second) estimate this pair.
    """

    asked = Signal(str, str)

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.first = named(ChoiceBox(), "estimate_pair_first", tr("First column"), tr("One column of the pair"))
        self.second = named(
            ChoiceBox(), "estimate_pair_second", tr("Second column"), tr("The other column of the pair")
        )
        tip = tr("The correlation of two numbers, or how often two values occur together")
        self.ask = button(tr("Estimate the pair"), "estimate_pair", tip=tip)
        self.ask.clicked.connect(lambda: self.asked.emit(self.first.currentText(), self.second.currentText()))
        self.said = label("", wrap=True, name="estimate_pair_said")
        self.table = LinesTable(session, "estimate_pair_table", tr("Estimates for the pair of columns"), FIGURES)
        pair = row(self.first, label(tr("and"), "muted"), self.second, 8, self.ask, None)
        self.setLayout(stack(Card(pair, self.said, (self.table, 1))))
        for box in (self.first, self.second):
            box.currentIndexChanged.connect(lambda _index: self._changed())
        self.table.hide()
        self._figures: dict[tuple[str, str], tuple[Figure, ...]] = {}

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Every figure of every pair that was estimated of this release."""
        return tuple(figure for figures in self._figures.values() for figure in figures)

    def offer(self, names: Sequence[str]) -> None:
        """Offer the columns of another release."""
        self._figures = {}
        for at, box in enumerate((self.first, self.second)):
            box.offer([(name, name) for name in names], names[min(at, len(names) - 1)] if names else None)
        self._changed()

    def show_pair(self, names: tuple[str, str], figures: tuple[Figure, ...]) -> None:
        """Show what was estimated for a pair."""
        self._figures[names] = figures
        if names == (self.first.currentText(), self.second.currentText()):
            self._changed()

    def retranslate(self) -> None:
        self._changed()

    def say(self, words: str) -> None:
        """Say why nothing was estimated."""
        self.table.hide()
        self.said.setText(words)

    def _changed(self) -> None:
        names = (self.first.currentText(), self.second.currentText())
        figures = self._figures.get(names, ())
        self.table.setVisible(bool(figures))
        self.table.lines.show_lines(lines_of(figures))
        self.ask.setEnabled(bool(names[0]) and names[0] != names[1])
        if names[0] and names[0] == names[1]:
            self.said.setText(tr("Choose two different columns."))
        else:
            self.said.setText(sentence_of(figures) if figures else "")


HIDDEN = tr_later("The noise hides it: with these mechanisms, the correlation may be anything from {low} to {high}.")


def sentence_of(figures: Sequence[Figure]) -> str:
    """Return what a pair's correlation says, or that its noise hides it; empty without a correlation."""
    found = next((f for f in figures if f.kind == "correlation"), None)
    if found is None:
        return tr("Shares of the rows by the values of both, with intervals that hold with 95 % confidence.")
    ends = {"low": found.stated(found.low), "high": found.stated(found.high)}
    if found.hidden:
        return tr(HIDDEN, **ends)
    if found.low <= 0 <= found.high:
        return tr("No relation is shown: the correlation lies between {low} and {high} (95 %), and may be 0.", **ends)
    estimate = found.stated(found.estimate)
    return tr(
        "The two are related: correlation {estimate}, between {low} and {high} (95 %).", estimate=estimate, **ends
    )


class _SummaryCard(Standing):
    def arrange(self, *, beside: bool) -> None:
        """Nothing in it depends on the place."""


class RowsView(QWidget):
    """The released rows, and what is in each column beside what it says of the original."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__()
        self._model = RowsModel(session, ())  # the release's own plan says which columns are numbers
        accessible = tr("Rows of the released table: public")
        self.rows = RowsTable(session, jobs, self._model, "estimate_rows", accessible, row_height=ROW - 4)
        self.rows.let_copy(private=False)
        self.summary = LinesTable(session, "estimate_summary", tr("Released columns beside estimates"), SUMMARY)
        self.setLayout(stack(MasterDetail(Card(self.rows, pad=8), _SummaryCard(self.summary, pad=8), heights=(1, 1))))

    def show_release(self, found: EstimatedRelease) -> None:
        """Show the rows and the columns of a release."""
        self._model.numeric = frozenset(c.name for c in found.columns if c.kind in ("integer", "real"))
        self._model.show_frame(found.frame)
        estimates = {c.name: _original(c) for c in found.columns}
        kept = Cell(tr("published as it was"), "warn")
        lines = [(*map(Cell, line), estimates.get(line[0], kept)) for line in found.summary]
        self.summary.lines.show_lines(lines)


def _original(column: ColumnView) -> Cell:
    if not column.figures:
        return Cell("–")
    first = column.figures[0]
    if first.hidden:
        return Cell(f"{first.called}: {tr(HIDES)}", "warn")
    figures = {"estimate": first.estimate, "low": first.low, "high": first.high}
    figures_said = {key: first.stated(value) for key, value in figures.items()}
    stated = tr("{figure} {estimate} ({low} to {high})", figure=first.called, **figures_said)
    return Cell(stated, tip=stated)
