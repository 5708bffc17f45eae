"""Released statistics: all figures as a table, and one histogram as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QMarginsF, QSize
from PySide6.QtWidgets import QSizePolicy, QStackedWidget, QWidget

from workbench.gui.pages.release.statistics.tasks import SPARSE, Bar
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later
from workbench.gui.style.stylesheet import ROW
from workbench.gui.widgets import chart_marks as mark
from workbench.gui.widgets.basic import Card, button, hold_most, label, named, row, segments
from workbench.gui.widgets.chart import KEY, SCALE, Chart, Drawing, ends_below, row_ticks
from workbench.gui.widgets.chart_marks import Key, Scale
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.gui.widgets.copy_rows import CopyRows
from workbench.gui.widgets.fast_table import RowsTable
from workbench.gui.widgets.fast_table_model import RowsModel
from workbench.gui.widgets.formatting import count, plain

if TYPE_CHECKING:
    from workbench.gui.pages.release.statistics.tasks import Released

FIGURES, PICTURE = "figures", "picture"
EVERY = tr_later("every statistic")
NUMBERS = ("estimate", "from", "to")
WIDEST, HIGH = 240, 400
INTERVALS = tr_later(
    "From and to are the 95 % interval: it allows for the noise, for each figure by itself, and "
    "covers the figure of these rows, not of a population."
)

FILL, FAINT = 0.65, 0.25


class HistogramPicture(Chart):
    """Bars with their intervals. A bar that could as well be empty is faint, and its tooltip says so."""

    name = "statistics_histogram"
    margins = QMarginsF(SCALE, KEY + 4, 2, 22)
    usual = QSize(400, 180)

    def show_bars(self, bars: tuple[Bar, ...], name: str) -> None:
        """Show the histogram called ``name``, or nothing."""
        self.show_drawing(_drawing(bars, name) if bars else None)


def _drawing(bars: tuple[Bar, ...], name: str) -> Drawing:
    labels, most = [bar.label for bar in bars], max(*(bar.high for bar in bars), 1.0)
    faint = {at: bar.estimate for at, bar in enumerate(bars) if bar.sparse}
    key = Key(tr("rows, bracket: 95 %"), "accent", alpha=FILL), Key(tr(SPARSE), "accent", alpha=FAINT)
    ends = [(at + 0.5, bar.low, bar.estimate, bar.high) for at, bar in enumerate(bars)]
    return Drawing(
        (
            mark.bars({at: bar.estimate for at, bar in enumerate(bars) if not bar.sparse}, alpha=FILL),
            mark.bars(faint, alpha=FAINT),
            mark.intervals(ends, "text", None, 1.2),
        ),
        x=Scale(0, len(bars)),
        y=Scale(0, most),
        left=row_ticks(most),
        grid=True,
        labels=labels,
        below=ends_below(labels),
        key=key if faint else key[:1],
        words=lambda x: _words(bars[int(x)]),
        spoken=tr("Released histogram of {name}, {bars} bins with their intervals", name=name, bars=len(bars)),
    )


def _words(bar: Bar) -> str:
    stated = tr(
        "{label}: {estimate} rows (95 %: {low} to {high})",
        label=bar.label,
        estimate=plain(bar.estimate),
        low=plain(bar.low),
        high=plain(bar.high),
    )
    return f"{stated}, {tr(SPARSE)}" if bar.sparse else stated


class ResultsCard(Card):
    """All figures as a table, and one histogram as a picture."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__(pad=12, spacing=6)
        self.setObjectName("statistics_results")
        self._found: Released | None = None
        self._model = RowsModel(session, NUMBERS)
        self.table = RowsTable(
            session, jobs, self._model, "statistics_figures", tr("The released figures"), row_height=ROW - 6
        )
        self.table.verticalHeader().hide()
        self._copies = CopyRows(self.table, session, private=False)
        self.picture = HistogramPicture(session)
        self._stack = QStackedWidget()
        self._stack.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Ignored)
        # A layout with wrapped lines in it does not ask for the least height of its parts.
        self.setMinimumHeight(HIGH)
        self._views: dict[str, QWidget] = {FIGURES: self.table, PICTURE: self.picture}
        titles = (
            (FIGURES, tr("Figures"), tr("Every released figure with its interval")),
            (PICTURE, tr("Histogram"), tr("One released histogram, with the interval of each bin")),
        )
        self._segments = segments(self, "statistics_show_", titles, self.show_view)
        for key in self._segments:
            self._stack.addWidget(self._views[key])
        self._statistic = named(ChoiceBox(), "statistics_only", tr("Which statistic is shown"))
        self._histogram = named(ChoiceBox(), "statistics_of", tr("Which histogram is shown"))
        for box, follow in ((self._statistic, self._show_figures), (self._histogram, self._show_bars)):
            hold_most(box, WIDEST)
            box.setSizeAdjustPolicy(ChoiceBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
            box.setMinimumContentsLength(16)
            box.activated.connect(lambda _at, follow=follow: follow())
        self._stated = label("", "muted", name="statistics_shown")
        self._copy = button(
            tr("Copy all"), "statistics_copy", tip=tr("Copy every figure in sight as a table; they are public")
        )
        self._copy.clicked.connect(lambda: self._copies.copy(whole=True))
        head = row(*self._segments.values(), 4, self._statistic, self._histogram, 8, self._stated, None, self._copy)
        self.body.addWidget(label(tr("RELEASED FIGURES"), "caption"))
        self.body.addLayout(head)
        self.body.addWidget(self._stack, 1)
        self.body.addWidget(label(tr(INTERVALS), "muted", wrap=True))
        self.show_view(FIGURES)

    def show_released(self, found: Released | None) -> None:
        """Show other figures, or none."""
        self._found = found
        self._statistic.clear()
        self._histogram.clear()
        if found is not None:
            self._statistic.addItem(tr(EVERY), None)
            for name in found.statistics:
                self._statistic.addItem(name, name)
            for column, group in found.histograms:
                self._histogram.addItem(f"{column}, {group}" if group else column, (column, group))
        self._segments[PICTURE].setVisible(bool(found and found.histograms))
        self._show_figures()
        self._show_bars()
        self.show_view(FIGURES)

    def show_view(self, key: str) -> None:
        """Show the table or the picture."""
        self._segments[key].setChecked(True)
        self._stack.setCurrentWidget(self._views[key])
        self._statistic.setVisible(key == FIGURES)
        self._copy.setVisible(key == FIGURES)
        self._stated.setVisible(key == FIGURES)
        self._histogram.setVisible(key == PICTURE)

    def _show_figures(self) -> None:
        found, only = self._found, self._statistic.currentData()
        if found is None:
            self._model.show_frame(None)
            self._stated.setText("")
            return
        frame = found.frame
        if only is not None:
            frame = frame.filter(frame["statistic"] == only)
        self._model.show_frame(frame)
        self._stated.setText(count(frame.height, "figure"))

    def _show_bars(self) -> None:
        key = self._histogram.currentData()
        bars = self._found.histograms[tuple(key)] if self._found is not None and key is not None else ()
        self.picture.show_bars(bars, self._histogram.currentText())
