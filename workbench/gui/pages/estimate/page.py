"""Estimate: a released file and its certificate in, figures of the original with intervals out."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QMarginsF, QModelIndex, QPointF, QRectF, QSize, Signal
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QAbstractItemView, QWidget

from workbench.gui.pages import page_called
from workbench.gui.pages.base import PageFrame
from workbench.gui.pages.estimate.figures import (
    HIDES,
    MEAN,
    QUARTILES,
    BarView,
    ColumnView,
    EstimatedRelease,
    Figure,
    estimated,
    estimated_pair,
    export_figures,
    in_full,
    stated,
)
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later, tr_sentence
from workbench.gui.style.stylesheet import ROW
from workbench.gui.widgets import chart_marks as mark
from workbench.gui.widgets.basic import (
    Card,
    Elided,
    button,
    label,
    lines,
    look,
    named,
    row,
    say,
    segments,
    stack,
    views,
)
from workbench.gui.widgets.chart import KEY, Below, Chart, Drawing, ends_below
from workbench.gui.widgets.chart_marks import Key, Scale
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.gui.widgets.dialogs import ask_for_file, ask_where_to_save
from workbench.gui.widgets.empty_state import EmptyState
from workbench.gui.widgets.fast_table import RowsTable
from workbench.gui.widgets.fast_table_model import RowsModel
from workbench.gui.widgets.formatting import at_most, count
from workbench.gui.widgets.master_detail import DetailCard, MasterDetail, Standing
from workbench.gui.widgets.path_field import PathField
from workbench.gui.widgets.table_model import Cell, Column
from workbench.gui.widgets.table_view import LinesTable, TableFilter
from workbench.jobs import Job
from workbench.params import WorkbenchError
from workbench.render.fonts import scaled

FILL = 0.45
STRIP, STRIPS_LETTERS = 15, 11  # pixels of an interval's line above the bars of a column of numbers, and of its name

ORDER = (MEAN, *QUARTILES.values())


APART = tr_later(
    "Bars: the likely shape. Lines: the mean and quartiles with their intervals, estimated separately. Noise can "
    "make the two differ; only the lines have intervals."
)


class EstimateChart(Chart):
    """Filled bars: estimated shares; a stepped line with dots: the released ones; brackets and lines: intervals."""

    name = "estimate_chart"
    usual = QSize(264, 200)

    def show_column(self, column: ColumnView | None) -> None:
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
    """Return the interval of a mean or a quantile as a line above the bars, with its name at an end, or else on it."""

    def paint(on: mark.Canvas) -> None:
        tall = scaled(STRIP)
        level = max(KEY, scaled(KEY)) + tall * (at + 0.5)
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
        if left < on.box.left():
            longer = (middle, high) if high - middle > middle - low else (low, middle)
            left = (sum((low, high) if figure.hidden else longer) - wide) / 2
            on.painter.fillRect(QRectF(left - 4, level - tall / 2, wide + 8, tall), on.ink("surface"))
        on.write(QRectF(left, level - tall / 2, wide, tall), figure.called)

    return paint


MOST_FIGURES, LEAST_LINES = 200, 4
COLUMN, MECHANISM = Column(tr_later("Column"), width=110), Column(tr_later("Mechanism"), width=120)
FIGURES = (
    Column(tr_later("Of"), width=90, whole=True),
    Column(tr_later("Estimate"), width=80, right=True),
    Column(tr_later("Low"), width=52, right=True),
    Column(tr_later("High"), width=54, right=True),
    Column(tr_later("Note"), width=110),
)
SUMMARY = (
    Column(tr_later("Column"), width=90),
    Column(tr_later("Values"), width=70, right=True),
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
        self.setObjectName("estimate_detail")
        self._name = Elided("", "heading", name="estimate_column_name")
        self.figures = LinesTable(session, "estimate_figures", tr("Estimates for the chosen column"), FIGURES)
        self.figures.least_lines = LEAST_LINES
        self.chart = EstimateChart(session)
        self._apart = label(tr(APART), "muted", wrap=True, name="estimate_apart")
        self.fill(stack(self._name, (self.figures, 1), self._apart, spacing=6), self.chart, picture_width=264)

    def show_column(self, column: ColumnView | None) -> None:
        self._name.set_whole(f"{column.name}: {tr_sentence(column.mechanism)}" if column else "")
        self.figures.lines.show_lines(lines_of(column.figures if column else ()))
        self.chart.show_column(column)
        self._apart.setVisible(column is not None and column.ends is not None)


class ColumnsView(QWidget):
    """One line for each column, and the chosen one in detail."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        accessible = tr("The original's columns, as estimated from the release")
        self.table = LinesTable(session, "estimate_columns", accessible, (COLUMN, *FIGURES, MECHANISM))
        self.table.least_lines = LEAST_LINES
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.filter = TableFilter(self.table, "lines")
        self.detail = ColumnDetail(session)
        self._columns: tuple[ColumnView, ...] = ()
        self.setLayout(stack(MasterDetail(Card(self.table, pad=8), self.detail)))
        self.table.selectionModel().currentRowChanged.connect(self._choose)

    def show_columns(self, columns: tuple[ColumnView, ...]) -> None:
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
    """Two columns together."""

    asked = Signal(str, str)

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.first = named(ChoiceBox(), "estimate_pair_first", tr("First column"), tr("One column of the pair"))
        tip = tr("The other column of the pair")
        self.second = named(ChoiceBox(), "estimate_pair_second", tr("Second column"), tip)
        tip = tr("The correlation of two numbers, or how often two values occur together")
        self.ask = button(tr("Estimate the pair"), "estimate_pair", tip=tip)
        self.ask.clicked.connect(lambda: self.asked.emit(self.first.currentText(), self.second.currentText()))
        self.said = label("", wrap=True, name="estimate_pair_said")
        self.table = LinesTable(session, "estimate_pair_table", tr("Estimates for the pair of columns"), FIGURES)
        pair = row(self.first, label(tr("and"), "muted"), self.second, 8, self.ask, None)
        self.setLayout(stack(Card(pair, self.said, (self.table, 1000), None)))
        for box in (self.first, self.second):
            box.currentIndexChanged.connect(lambda _index: self._changed())
        self.table.hide()
        self._figures: dict[tuple[str, str], tuple[Figure, ...]] = {}

    @property
    def figures(self) -> tuple[Figure, ...]:
        return tuple(figure for figures in self._figures.values() for figure in figures)

    def offer(self, names: Sequence[str]) -> None:
        self._figures = {}
        for at, box in enumerate((self.first, self.second)):
            box.offer([(name, name) for name in names], names[min(at, len(names) - 1)] if names else None)
        self._changed()

    def show_pair(self, names: tuple[str, str], figures: tuple[Figure, ...]) -> None:
        self._figures[names] = figures
        if names == (self.first.currentText(), self.second.currentText()):
            self._changed()

    def retranslate(self) -> None:
        self._changed()

    def say(self, words: str) -> None:
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
            self.said.setText(sentence_of(figures) if figures else f"{self.ask.toolTip()}.")


def sentence_of(figures: Sequence[Figure]) -> str:
    """Return what a pair's correlation says, or that its noise hides it; empty without a correlation."""
    found = next((f for f in figures if f.kind == "correlation"), None)
    if found is None:
        return tr("Shares of the rows by the values of both, with intervals that hold with 95 % confidence.")
    ends = {"low": found.stated(found.low), "high": found.stated(found.high)}
    if found.hidden:
        return tr(
            "The noise hides it: with these mechanisms, the correlation may be anything from {low} to {high}.", **ends
        )
    if found.low <= 0 <= found.high:
        return tr("No relation is shown: the correlation lies between {low} and {high} (95 %), and may be 0.", **ends)
    estimate = found.stated(found.estimate)
    return tr(
        "The two are related: correlation {estimate}, between {low} and {high} (95 %).", estimate=estimate, **ends
    )


class RowsView(QWidget):
    """The released rows, and what is in each column beside what it says of the original."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__()
        self._model = RowsModel(session, ())  # the release's own plan says which columns are numbers
        accessible = tr("Rows of the released table: public")
        self.rows = RowsTable(session, jobs, self._model, "estimate_rows", accessible, row_height=ROW - 4)
        self.rows.let_copy(private=False)
        self.summary = LinesTable(session, "estimate_summary", tr("Released columns beside estimates"), SUMMARY)
        below = named(Standing(self.summary, pad=8), "estimate_below")
        self.setLayout(stack(MasterDetail(Card(self.rows, pad=8), below, heights=(1, 1))))

    def show_release(self, found: EstimatedRelease) -> None:
        self._model.numeric = frozenset(c.name for c in found.columns if c.kind in ("integer", "real"))
        self._model.show_frame(found.released.table.frame)
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


# -- the page ---------------------------------------------------------------------------------------------------------


EMPTY = tr_later(
    "Name or drop a file that was released, with its certificate beside it or named. You get the mean, the quartiles "
    "or the shares of each column of the original, with intervals, and can look at the released rows."
)
ENDING = ".certificate.json"
COLUMNS, PAIRS, ROWS = "columns", "pairs", "rows"


class EstimatePage(PageFrame):
    """What a recipient can estimate. Nothing on it is private: it all follows from what was released."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__(session, jobs, page_called("estimate"))
        self._found: EstimatedRelease | None = None
        self.setAcceptDrops(True)
        self._release = PathField("estimate_release", tr("Released file"), tr("A released table (CSV, TSV or Parquet)"))
        tip = tr("Its certificate; empty where that lies beside the file")
        self._certificate = PathField("estimate_certificate", tr("Certificate"), tip)
        self._certificate.setPlaceholderText(tr("beside the file"))
        for field in (self._release, self._certificate):
            field.setAcceptDrops(False)  # the page takes a file that is dropped anywhere on it
        self._said = label("", "muted", wrap=True, name="estimate_said", hidden=True)
        self.columns, self.pair, self.rows = ColumnsView(session), PairView(session), RowsView(session, jobs)
        titles = (
            (COLUMNS, tr("Columns"), tr("Means, quantiles and shares of each column")),
            (PAIRS, tr("Pairs"), tr("Two columns together")),
            (ROWS, tr("Rows"), tr("The released rows, and what is in each column")),
        )
        self._segments = segments(self, "estimate_view_", titles, self._show_view)
        self._arrange()
        self._open.hide()
        self.columns.filter.hide()
        self._export = button(tr("Export…"), "estimate_export", tip=tr("Write every figure as CSV, with all digits"))
        self._export.clicked.connect(self._ask_and_export)
        self.foot.addWidget(self._export)
        self.add_cancel(button(tr("Cancel"), "estimate_cancel", tip=tr("Stop (Esc)")))
        tip = tr("Verify the file, then estimate (Ctrl+Return)")
        self._run = self.set_primary(tr("Estimate"), "estimate_run", self._estimate, tip)
        for field in (self._release, self._certificate):
            field.textChanged.connect(lambda: self.refresh())
            field.returnPressed.connect(self._estimate)
        self.pair.asked.connect(self._estimate_pair)
        session.to_estimate_from.follow(self._offer)
        self.refresh()

    def _arrange(self) -> None:
        ask = partial(ask_for_file, self, "table", tr("Choose a released table"))
        browse = self._release.chooser(ask, tr("Choose a released table"))
        ask = partial(ask_for_file, self, "certificate")
        other = self._certificate.chooser(ask, tr("Choose its certificate"))
        named_by = label(tr("Released file")), (self._release, 3), browse
        certified_by = label(tr("Certificate")), (self._certificate, 2), other
        tip = tr("Open the released rows in place of the table that is open")
        self._open = button(tr("Open it as a table"), "estimate_open", tip=tip)
        self._open.clicked.connect(lambda: self.session.open_asked.emit(self._release.text().strip()))
        source = Card(lines(row(*named_by), row(*certified_by), spacing=20), row((self._said, 1), self._open), pad=12)
        self.header.add(self.columns.filter, *self._segments.values())
        self._segments[COLUMNS].setChecked(True)
        title = tr("What does a released table say about the original?")
        self._empty = EmptyState(self.session, "estimate_nothing", title, tr(EMPTY), released=tr("Releases →"))
        self._places: dict[str, QWidget] = {COLUMNS: self.columns, PAIRS: self.pair, ROWS: self.rows}
        self._views = views(self._empty, *self._places.values())
        self.body.add(source, (self._views, 1))

    def refresh(self) -> None:
        for part in (*self._segments.values(), self._export):
            part.setVisible(self._found is not None)
        self._export.setEnabled(not self.running)
        named = bool(self._release.text().strip())
        self._run.setVisible(not self.running)
        self._run.setEnabled(named)
        self.highlight(self._run if named else self._empty.way)
        self.pair.setEnabled(not self.running)
        self.set_note(tr("From the released file and its certificate alone; no ledger needed."))
        self.show_cancel()

    def retranslate(self) -> None:
        if self._found is not None:
            self._say_found(self._found)

    # -- which release --------------------------------------------------------------------------------------------

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:  # noqa: N802 - Qt's name
        if any(url.isLocalFile() for url in event.mimeData().urls()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:  # noqa: N802 - Qt's name
        event.acceptProposedAction()
        self.take_files([Path(url.toLocalFile()) for url in event.mimeData().urls() if url.isLocalFile()])

    def take_files(self, paths: list[Path]) -> None:
        """Name a released file, its certificate, or both, and estimate."""
        named = [path for path in paths if path.name.endswith(ENDING)]
        tables = [path for path in paths if path not in named]
        if not tables and named:
            tables = [named[0].with_name(named[0].name.removesuffix(ENDING))]
        if tables and not self.running:
            self._release.choose(str(tables[0]))
            beside = not named or named[0] == tables[0].with_name(f"{tables[0].name}{ENDING}")
            self._certificate.choose("" if beside else str(named[0]))
            self._estimate()

    def _offer(self, release: Path) -> None:
        self.take_files([release])

    # -- estimates ------------------------------------------------------------------------------------------------

    def _estimate(self) -> None:
        text, certificate = self._release.text().strip(), self._certificate.text().strip()
        if not text or self.running:
            return
        self._forget()
        self._say(tr("Verifying and estimating…"))
        beside = Path(certificate) if certificate else None
        job = Job(tr("Estimating from a release"), partial(estimated, Path(text), beside), about=Path(text).name)
        handle = self.follow(
            self.jobs.start(job, key="estimate-release", on_result=self._show, on_failure=self._refused)
        )
        handle.cancelled.connect(lambda: self._say(tr("Cancelled.")))

    def _forget(self) -> None:
        self._found = None
        self._views.setCurrentWidget(self._empty)
        self.columns.filter.hide()

    def _show(self, found: EstimatedRelease) -> None:
        self._found = found
        self.pair.offer([c.name for c in found.columns])
        self._say_found(found)
        chosen = next(name for name, segment in self._segments.items() if segment.isChecked())
        self._show_view(chosen)

    def _say_found(self, found: EstimatedRelease) -> None:
        self.columns.show_columns(found.columns)
        self.rows.show_release(found)
        document = found.released.document
        outside = " ".join(map(tr_sentence, document.get("outside_guarantee", ())))
        said = tr(
            "✓ File and certificate agree: {rows}, ε = {epsilon}, release {release_id}. Intervals hold at 95 % each.",
            rows=count(found.released.rows, "row"),
            epsilon=at_most(float(document["guarantee"]["epsilon"])),
            release_id=document["release_id"],
        )
        self._say(f"{said} {tr('Not covered by ε: {outside}', outside=outside)}" if outside else said, "")

    def _refused(self, error: BaseException) -> None:
        from workbench.release.certificate import NOTHING_TO_ESTIMATE

        known = isinstance(error, WorkbenchError) and (error.code, error.field)
        synthetic = known == (NOTHING_TO_ESTIMATE, "synthetic")
        self._say(self.session.worded(error), "" if synthetic else "danger", rows=synthetic)

    def _show_view(self, name: str) -> None:
        if self._found is not None:
            self._views.setCurrentWidget(self._places[name])
        self.columns.filter.setVisible(self._views.currentWidget() is self.columns)

    def _say(self, text: str, kind: str = "muted", *, rows: bool = False) -> None:
        """Say ``text``; where the file has made-up ``rows`` to read as they are, offer to open them."""
        self._open.setVisible(rows)
        look(self._said, kind)
        say(self._said, text)

    def _estimate_pair(self, first: str, second: str) -> None:
        if self._found is None or self.running:
            return
        names, about = (first, second), tr("{first} and {second}", first=first, second=second)
        self.pair.say(tr("Estimating…"))
        job = Job(tr("Estimating a pair of columns"), partial(estimated_pair, self._found.released, names), about=about)
        handle = self.jobs.start(
            job,
            key="estimate-pair",
            on_result=partial(self.pair.show_pair, names),
            on_failure=lambda error: self.pair.say(self.session.worded(error)),
        )
        self.follow(handle).cancelled.connect(lambda: self.pair.say(tr("Cancelled.")))

    # -- what leaves ----------------------------------------------------------------------------------------------

    @property
    def figures(self) -> tuple[Figure, ...]:
        found = self._found
        own = tuple(figure for column in found.columns for figure in column.figures) if found is not None else ()
        return (*own, *self.pair.figures)

    def _ask_and_export(self) -> None:
        if self._found is None:
            return
        released, figures = self._found.released.path, self.figures
        suggested = str(released.with_name(f"{released.stem}-estimates.csv"))
        chosen = ask_where_to_save(self, tr("Export the estimates"), suggested, tr("CSV (*.csv)"))
        if chosen:
            job = Job(tr("Exporting estimates"), partial(export_figures, figures, Path(chosen), released))
            self.jobs.start(job, on_result=lambda path: self._exported(path, len(figures)))

    def _exported(self, path: Path, figures: int) -> None:
        done = count(figures, "estimate")
        said = tr("Exported {done} to {name}: public, as the release is.", done=done, name=path.name)
        self.session.notify("info", said)
