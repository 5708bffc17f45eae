"""Statistics: which figures of which columns, by which groups, with what to expect of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from PySide6.QtCore import QMarginsF, QSize
from PySide6.QtWidgets import QCheckBox, QSizePolicy, QStackedWidget, QWidget

from workbench.gui.pages.release.pane import WayPane
from workbench.gui.pages.release.statistics.figures_model import (
    SPARSE,
    Bar,
    Checked,
    Expected,
    FiguresModel,
    Released,
    checked,
    figure_words,
    released,
)
from workbench.gui.pages.release_account import steps_of
from workbench.gui.pages.release_page import ReleasedPart, ReleasePage, ReleaseWords
from workbench.gui.pages.release_tasks import Asked, Chosen, Foreseen
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later
from workbench.gui.style.stylesheet import ROW
from workbench.gui.widgets import chart_marks as mark
from workbench.gui.widgets.basic import (
    Card,
    button,
    hold_least,
    hold_most,
    label,
    lines,
    named,
    panel,
    row,
    say,
    segments,
)
from workbench.gui.widgets.chart import KEY, SCALE, Chart, Drawing, ends_below, row_ticks
from workbench.gui.widgets.chart_marks import Key, Scale
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.gui.widgets.epsilon_entry import DeltaLine
from workbench.gui.widgets.fast_table import RowsTable
from workbench.gui.widgets.fast_table_model import RowsModel
from workbench.gui.widgets.formatting import count, plain, together
from workbench.gui.widgets.parameter_form import put_in
from workbench.gui.widgets.settings_table import SettingsTable
from workbench.gui.widgets.table_view import TableFilter
from workbench.sanitize.plan import Plan
from workbench.signals.cancel import CancelToken
from workbench.statistics.request import (
    CORRELATION,
    COUNT,
    COVARIANCE,
    PERIODS,
    RANGES,
    REGRESSION,
    TABLE,
    TOP,
    Request,
    Statistic,
)

FIGURES, PICTURE = "figures", "picture"
EVERY = tr_later("every statistic")
NUMBERS = ("estimate", "from", "to")
WIDEST_PICTURE, HIGH = 240, 400
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
        self._model.figures = NUMBERS
        self.table = RowsTable(
            session, jobs, self._model, "statistics_figures", tr("The released figures"), row_height=ROW - 6
        )
        self.table.verticalHeader().hide()
        self.table.let_copy(private=False)
        self.picture = HistogramPicture(session)
        self._stack = QStackedWidget()
        self._stack.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Ignored)
        # A layout with wrapped lines in it does not ask for the least height of its parts.
        hold_least(self, HIGH)
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
            hold_most(box, WIDEST_PICTURE)
            box.give_way(16)
            box.activated.connect(lambda _at, follow=follow: follow())
        self._stated = label("", "muted", name="statistics_shown")
        tip = tr("Copy every figure in sight as a table; they are public")
        self._copy = button(tr("Copy all"), "statistics_copy", tip=tip, press=lambda: self.table.copy_cells(whole=True))
        head = row(*self._segments.values(), 4, self._statistic, self._histogram, 8, self._stated, None, self._copy)
        self.body.add(
            label(tr("RELEASED FIGURES"), "caption"), head, (self._stack, 1), label(tr(INTERVALS), "muted", wrap=True)
        )
        self.show_view(FIGURES)

    def show_released(self, found: Released | None) -> None:
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


RELEASED = ReleaseWords(
    name="statistics",
    question=tr_later("Release these statistics?"),
    file=tr_later("The figures; .csv or .json"),
    ending="statistics",
    tip=tr_later("Charge the budget, compute, certify and write the file"),
    kinds=tr_later("CSV (*.csv);;JSON (*.json)"),
)
LOOK = tr_later("Look at the figures"), tr_later("Reads the released file, which is public")
STEPS = tr_later(
    "Histograms, shares and quantiles read from them count in the steps of the plan ({steps}); means and sums do not."
)
NO_GROUPS, NO_SECOND = tr_later("none, all rows"), tr_later("no other")
BY = tr_later("First column that makes groups"), tr_later("Second column that makes groups")
BY_HELP = tr_later(
    "Every figure is released for each group that the declared values of this column make, also empty ones"
)
WISHED = tr_later("Figures that wishes ask for and no tick above gives: of their own groups, or at other quantiles")
COUNT_HELP = tr_later("How many rows each group has; of two columns also the sums at the margins of their table")
FURTHER = {
    CORRELATION: (tr_later("correlations"), tr_later("The correlation of every two columns whose mean is ticked")),
    COVARIANCE: (tr_later("covariances"), tr_later("The covariance of every two columns whose mean is ticked")),
    REGRESSION: (
        tr_later("regression"),
        tr_later(
            "Coefficients of a linear regression of the target, or of the first column, on the others whose mean is "
            "ticked; their intervals allow for noise and for the rows being a sample"
        ),
    ),
    RANGES: (
        tr_later("ranges"),
        tr_later(
            "Of columns whose quantiles are ticked, how many rows are up to each value: the rows of any range are the "
            "difference of two of these, with less noise than sums of a histogram"
        ),
    ),
    TOP: (
        tr_later("top 3"),
        tr_later("Of columns whose most frequent value is ticked, the three most frequent ones, with their counts"),
    ),
}
"""What goes with ticks of the table: its title and its help."""
BY_PERIOD = {
    "day": tr_later("{column}, by day"),
    "week": tr_later("{column}, by week"),
    "month": tr_later("{column}, by month"),
    "quarter": tr_later("{column}, by quarter"),
    "year": tr_later("{column}, by year"),
}
WIDEST = 170


class StatisticsPane(WayPane):
    """The ticks and the groups; they answer what will be asked until a person chooses another."""

    facts = (("figures", tr_later("spent on"), "", lambda found: count(found.queries, "noisy query", "noisy queries")),)
    wide = True
    titles: Mapping[str, str] = {
        **WayPane.titles,
        "by_1": tr_later("groups by"),
        "by_2": tr_later("groups by"),
        "count": tr_later("count rows"),
        "wished": tr_later("as wished"),
        **{statistic: title for statistic, (title, _) in FURTHER.items()},
    }

    def __init__(self, page: ReleasePage) -> None:
        session = page.session
        super().__init__(session, RELEASED, "statistics", pad=12)
        self.model = FiguresModel(session)
        accessible = tr("Protected columns: which figures are released, and half of the interval to expect of each")
        self.table = SettingsTable(session, self.model, "statistics_table", accessible)
        self._filter = TableFilter(self.table, needs=False)
        tip = tr("Tick what answers the questions that recipients will ask")
        usual = button(tr("As asked"), "statistics_usual", "link", tip=tip)
        none = button(tr("None"), "statistics_none", "link", tip=tr("Tick nothing"))
        usual.clicked.connect(lambda: self._tick_all(usual=True))
        none.clicked.connect(lambda: self._tick_all(usual=False))
        self._by = tuple(
            named(ChoiceBox(), f"statistics_by_{at}", tr(words), tr(BY_HELP)) for at, words in enumerate(BY, start=1)
        )
        for at, box in enumerate(self._by, start=1):
            hold_most(box, WIDEST)
            box.give_way(12)
            box.activated.connect(lambda _at, key=f"by_{at}": self.chose(key))
        tip = tr("Count the rows of each group")
        self._count = named(QCheckBox(tr("count rows")), "statistics_count", tip, tr(COUNT_HELP))
        self._expected = label("", "muted", name="statistics_count_expected")
        self._further = {
            statistic: named(QCheckBox(tr(title)), f"statistics_{statistic}", tr(title), tr(help_text))
            for statistic, (title, help_text) in FURTHER.items()
        }
        self._wished = named(QCheckBox(tr("as wished")), "statistics_wished", tr("as wished"), tr(WISHED))
        self._wished_words = label("", "muted", wrap=True, name="statistics_wished_words")
        self._ticks = {"count": self._count, "wished": self._wished, **self._further}
        self.parts |= {"by_1": self._by[0], "by_2": self._by[1], **self._ticks}
        for key, ticked in self._ticks.items():
            ticked.toggled.connect(lambda _on, key=key: self.chose(key))
        self._sizes = label("", "muted", wrap=True, name="statistics_group_sizes", hidden=True)
        self.body.addLayout(lines(label(tr("WHAT IS RELEASED"), "caption"), None, self._filter, row(usual, none)))
        self.body.addWidget(self.table, 1)
        self.body.addWidget(self._problem)
        groups = lines(row(label(tr("groups by"), "muted"), self._by[0]), row(label(tr("and"), "muted"), self._by[1]))
        groups.add(self._count, self._expected, None)
        self._wished_line = panel(row(self._wished, (self._wished_words, 1)))
        self.body.add(groups, lines(*self._further.values(), None), self._wished_line)
        self._steps = label("", "muted", wrap=True, name="statistics_steps")
        self.body.add(self._sizes, self._steps, DeltaLine(self.delta))
        view = ResultsCard(session, page.jobs)
        self.results = ReleasedPart(
            page,
            view,
            lambda _opened, path, _plan, _emit, cancel: released(path, cancel),
            (tr(LOOK[0]), tr(LOOK[1])),
            tr("The figures cannot be shown."),
            kind="statistics",
        )
        self.below = (self.results, view)
        self.model.changed.connect(self.changed)
        self.model.refused.connect(self.say)

    def request(self) -> Request:
        groups = self._groups()
        counted = (Statistic(statistic=self._of_groups(), by=groups),) if groups and self._count.isChecked() else ()
        further = (one for name, box in self._further.items() if box.isChecked() for one in self.model.further(name))
        wished = self.model.wished() if self._wished.isChecked() else ()
        return Request(figures=(*self.model.wanted(), *further, *wished, *counted))

    def _tick_all(self, *, usual: bool) -> None:
        put_in(self._wished, usual)
        self.model.tick_all(usual=usual)

    def _of_groups(self) -> str:
        """Return what counts the rows of groups: of two columns a table, which has its margins for the same cost."""
        return TABLE if len(self._groups()) > 1 else COUNT

    def hindrance(self) -> tuple[str, str]:
        if self.session.plan.protected:
            return "", ""
        return tr("The plan protects no column, and only of protected ones are there figures: protect one."), "protect"

    def nothing_asked(self) -> str:
        return "" if self.request().figures else tr("Nothing is ticked: tick a figure of a column.")

    def foreseen(self, plan: Plan, rows: int, chosen: Chosen, cancel: CancelToken) -> Checked:
        return checked(plan, rows, chosen, cancel)

    def title(self, chosen: Chosen) -> str:
        figures = chosen.request.figures
        columns = {name for one in figures for name in (*one.columns, *(one.by or ()))}
        return tr("statistics of {columns}", columns=count(len(columns), "column"))

    def asked(self, found: Foreseen) -> Asked:
        return replace(super().asked(found), figures=found.chosen.request)

    def start_over(self) -> None:
        for box in self._by:
            box.clear()
        for name, part in self._ticks.items():
            put_in(part, name in ("count", "wished"))
        self.model.start_over()
        super().start_over()

    def follow(self) -> None:
        self.model.follow()
        names = [(column.name, column.name) for column in self.session.plan.protected]
        for column in self.session.plan.protected:
            for period in PERIODS if column.kind == "date" else ():
                names.append((tr(BY_PERIOD[period], column=column.name), f"{column.name}:{period}"))
        for box, nothing in zip(self._by, (NO_GROUPS, NO_SECOND), strict=True):
            box.offer([(tr(nothing), None), *names], box.currentData())
        self.follow_fields()
        self._show_wished({})
        steps = steps_of(self.session)
        say(self._steps, tr(STEPS, steps=steps) if steps else "")
        super().follow()

    def show_foreseen(self, found: Foreseen | None) -> None:
        checked = None if found is None else found.facts
        self.model.show_checked(checked)
        self.table.make_room()
        found_here = {} if checked is None else checked.expected
        self._show_wished(found_here)
        groups = found_here.get((self._of_groups(), "", self._groups()))
        self._expected.setText(groups.words if groups is not None else "")
        self._expected.setToolTip(groups.stated if groups is not None else "")
        for name, box in self._further.items():
            title, help_text = FURTHER[name]
            own = [one for (statistic, *_), one in found_here.items() if statistic == name]
            worst = max(own, key=lambda one: one.half_width, default=None)
            box.setText(tr(title) if worst is None else f"{tr(title)} {worst.words}")
            box.setToolTip(tr(help_text) if worst is None else f"{tr(help_text)}. {worst.stated}")
        say(self._sizes, checked.sizes if checked is not None else "")

    def _show_wished(self, expected: Mapping[tuple[str, str, tuple[str, ...]], Expected]) -> None:
        wished = [figure_words(one, expected) for one in self.model.wished()]
        self._wished_line.setVisible(bool(wished))
        self._wished_words.setText(together(wished))

    def enable(self, on: bool) -> None:
        super().enable(on)
        self.table.setEnabled(on)
        if on:
            self.follow_fields()

    def _groups(self) -> tuple[str, ...]:
        first, second = (box.currentData() for box in self._by)
        if first is None:
            return ()
        return (first,) if second in (None, first) else (first, second)

    def follow_fields(self) -> None:
        """Ask for the figures by the chosen groups."""
        groups = self._groups()
        self._by[1].setEnabled(bool(groups))
        self._count.setEnabled(bool(groups))
        if groups != self.model.groups:
            self.model.group_by(groups)
