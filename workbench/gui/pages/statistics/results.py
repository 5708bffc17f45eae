"""The newest released statistics of the open table: files, Verify, all figures, and one histogram as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QButtonGroup, QSizePolicy, QStackedWidget, QVBoxLayout, QWidget

from workbench.gui.pages.statistics.histogram_picture import HistogramPicture
from workbench.gui.pages.statistics.tasks import look_at_released
from workbench.gui.session.error_text import sentence
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.newest_release import newest_release
from workbench.gui.session.session import ReleasedStep, Session
from workbench.gui.style.stylesheet import ROW
from workbench.gui.widgets.basic import Card, button, label, look, named, row
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.gui.widgets.copy_rows import CopyRows
from workbench.gui.widgets.fast_table import RowsTable
from workbench.gui.widgets.fast_table_model import RowsModel
from workbench.gui.widgets.formatting import count
from workbench.gui.widgets.release_card import ReleasedCard
from workbench.params import WorkbenchError

if TYPE_CHECKING:
    from workbench.gui.pages.statistics.tasks import Released

KIND = "statistics"
FIGURES, PICTURE = "figures", "picture"
EVERY = "every statistic"
NUMBERS = ("estimate", "from", "to")
WIDEST, HIGH = 240, 400
INTERVALS = (
    "From and to are the 95 % interval: it allows for the noise, for each figure by itself, and covers the figure of "
    "these rows, not of a population."
)


class ResultsModel(RowsModel):
    """The released figures; estimates and ends of intervals line up on the right."""

    def _numbers_now(self) -> frozenset[int]:
        return frozenset(at for at, name in enumerate(self._names) if name in NUMBERS)


class ResultsCard(Card):
    """All figures as a table, and one histogram as a picture."""

    def __init__(self, session: Session) -> None:
        super().__init__(pad=12, spacing=6)
        self.setObjectName("statistics_results")
        self._found: Released | None = None
        self._model = ResultsModel(session)
        self.table = RowsTable(session, self._model, "statistics_figures", "The released figures", row_height=ROW - 6)
        self.table.verticalHeader().hide()
        self._copies = CopyRows(self.table, session, private=False)
        self._model.modelReset.connect(self.table.fit_columns)
        self.picture = HistogramPicture(session)
        self._stack = QStackedWidget()
        self._stack.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Ignored)
        # A layout with wrapped lines in it does not ask for the least height of its parts.
        self.setMinimumHeight(HIGH)
        self._views: dict[str, QWidget] = {FIGURES: self.table, PICTURE: self.picture}
        self._segments = {}
        group = QButtonGroup(self)
        for key, words, tip in (
            (FIGURES, "Figures", "Every released figure with its interval"),
            (PICTURE, "Histogram", "One released histogram, with the interval of each bin"),
        ):
            segment = self._segments[key] = button(words, f"statistics_show_{key}", "segment", tip=tip)
            segment.setCheckable(True)
            group.addButton(segment)
            segment.clicked.connect(lambda _checked, key=key: self.show_view(key))
            self._stack.addWidget(self._views[key])
        self._statistic = named(ChoiceBox(), "statistics_only", "Which statistic is shown")
        self._histogram = named(ChoiceBox(), "statistics_of", "Which histogram is shown")
        for box, follow in ((self._statistic, self._show_figures), (self._histogram, self._show_bars)):
            box.setMaximumWidth(WIDEST)
            box.setSizeAdjustPolicy(ChoiceBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
            box.setMinimumContentsLength(16)
            box.activated.connect(lambda _at, follow=follow: follow())
        self._stated = label("", "muted", name="statistics_shown")
        self._copy = button("Copy all", "statistics_copy", tip="Copy every figure in sight as a table; they are public")
        self._copy.clicked.connect(lambda: self._copies.copy(whole=True))
        head = row(*self._segments.values(), 4, self._statistic, self._histogram, 8, self._stated, None, self._copy)
        self.body.addWidget(label("RELEASED FIGURES", "caption"))
        self.body.addLayout(head)
        self.body.addWidget(self._stack, 1)
        self.body.addWidget(label(INTERVALS, "muted", wrap=True))
        self.show_view(FIGURES)

    def show_released(self, found: Released | None) -> None:
        """Show other figures, or none."""
        self._found = found
        self._statistic.clear()
        self._histogram.clear()
        if found is not None:
            for name in (EVERY, *found.statistics):
                self._statistic.addItem(name)
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
        found, only = self._found, self._statistic.currentText()
        if found is None:
            self._model.show_frame(None)
            self._stated.setText("")
            return
        frame = found.frame
        if only != EVERY:
            frame = frame.filter(frame["statistic"] == only)
        self._model.show_frame(frame)
        self._stated.setText(count(frame.height, "figure"))

    def _show_bars(self) -> None:
        key = self._histogram.currentData()
        bars = self._found.histograms[tuple(key)] if self._found is not None and key is not None else ()
        self.picture.show_bars(bars, self._histogram.currentText())


class ResultsPart(QWidget):
    """Hidden until statistics of the open table were released.

    Signals:
        read: the figures are in sight.
    """

    read = Signal()

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__()
        look(self, "clear")
        self._session, self._jobs = session, jobs
        self._step: ReleasedStep | None = None
        self._card: ReleasedCard | None = None
        self._look = button("Look at the figures", "statistics_look", tip="Reads the released file, which is public")
        self._look.clicked.connect(self._read)
        self._problem = label("", "problem", wrap=True, name="statistics_look_problem")
        self._problem.hide()
        self.results = ResultsCard(session)
        self._whole = QVBoxLayout(self)
        self._whole.setContentsMargins(0, 0, 0, 0)
        self._whole.setSpacing(12)
        self._line = QWidget()
        self._line.setLayout(row(self._look, None))
        for part in (self._line, self._problem, self.results):
            self._whole.addWidget(part)
        self.hide()

    def show_newest(self) -> None:
        """Show the newest statistics, of this session or of an earlier one."""
        step = newest_release(self._session, KIND)
        if step == self._step:
            return
        self._step = step
        if self._card is not None:
            self._card.hide()
            self._card.deleteLater()
            self._card = None
        self.results.show_released(None)
        self.results.hide()
        self._problem.hide()
        self.setVisible(step is not None)
        self._line.setVisible(step is not None and bool(step.files))
        if step is not None:
            self._card = ReleasedCard(step, 1, self._jobs, name="statistics_release")
            self._whole.insertWidget(0, self._card)
            if step.result is not None:  # just made
                self._read()

    def _read(self) -> None:
        step = self._step
        if step is None or not step.files:
            return

        def show(found: Released) -> None:
            if step is self._step:
                self._line.hide()
                self._problem.hide()
                self.results.show_released(found)
                self.results.show()
                self.read.emit()

        def failed(error: BaseException) -> None:
            if step is self._step:
                stated = sentence(error) if isinstance(error, WorkbenchError) else "A bug in the program; see the log."
                self._problem.setText(f"The figures cannot be shown. {stated}")
                self._problem.show()

        look_at_released(step.files[0][1], self._jobs, show, failed)
