"""What is released: figures by column, groups and ε."""

from __future__ import annotations

from PySide6.QtWidgets import QCheckBox

from workbench.gui.pages.forecast_page import ReleaseForm
from workbench.gui.pages.release_tasks import Foreseen
from workbench.gui.pages.statistics.figures_model import FiguresModel
from workbench.gui.session.session import Session
from workbench.gui.style.stylesheet import ROW
from workbench.gui.widgets.basic import button, label, named, row
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.gui.widgets.settings_table import SettingsTable
from workbench.gui.widgets.table_filter import TableFilter
from workbench.statistics.asked import COUNT, Request, Statistic

EPSILON_HELP = "Privacy loss of one row by all figures together; the plan's ε to begin with"
NO_GROUPS, NO_SECOND = "none, all rows", "no other"
BY_HELP = "Every figure is released for each group that the declared values of this column make, also empty ones"
COUNT_HELP = "How many rows each group has"
WIDEST = 170


class StatisticsForm(ReleaseForm):
    """The ticks, the groups and ε; all follow table and plan until a person chooses another."""

    def __init__(self, session: Session) -> None:
        super().__init__(session, "statistics", EPSILON_HELP, "edit_problem", pad=12)
        self.model = FiguresModel(session)
        accessible = "Protected columns: which figures are released, and half of the interval to expect of each"
        self.table = SettingsTable(session, self.model, "statistics_table", accessible)
        self.table.setMinimumHeight(6 * ROW)  # five columns
        self._filter = TableFilter(self.table, needs=False)
        usual = button(
            "Usual", "statistics_usual", "link", tip="Tick a histogram of every column, the mean of each number"
        )
        none = button("None", "statistics_none", "link", tip="Tick nothing")
        usual.clicked.connect(lambda: self.model.tick_all(usual=True))
        none.clicked.connect(lambda: self.model.tick_all(usual=False))
        self._by = tuple(
            named(ChoiceBox(), f"statistics_by_{number}", f"{which} column that makes groups", BY_HELP)
            for number, which in ((1, "First"), (2, "Second"))
        )
        for box in self._by:
            box.setMaximumWidth(WIDEST)
            box.setSizeAdjustPolicy(ChoiceBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
            box.setMinimumContentsLength(12)
            box.activated.connect(lambda _at: self._grouped())
        self._count = named(QCheckBox("count rows"), "statistics_count", "Count the rows of each group", COUNT_HELP)
        self._count.toggled.connect(lambda _on: self.changed.emit())
        self._expected = label("", "muted", name="statistics_count_expected")
        self._sizes = label("", "muted", wrap=True, name="statistics_group_sizes")
        self._sizes.hide()
        head = row(label("WHAT IS RELEASED", "caption"), None, self._filter, usual, none)
        self.body.addLayout(head)
        self.body.addWidget(self.table, 1)
        self.body.addWidget(self._problem)
        groups = row(label("groups by", "muted"), self._by[0], label("and", "muted"), self._by[1])
        for part in (self._count, self._expected):
            groups.addWidget(part)
        groups.addStretch(1)
        self.body.addLayout(groups)
        self.body.addWidget(self._sizes)
        self.model.changed.connect(self.changed)
        self.model.refused.connect(self.say)

    def request(self) -> Request:
        """Return what is ticked, of the groups that are chosen."""
        counted = (Statistic(statistic=COUNT, by=self._groups()),) if self._groups() and self._count.isChecked() else ()
        return Request(figures=(*self.model.wanted(), *counted))

    def start_over(self) -> None:
        """Take everything from another table and its plan."""
        for box in self._by:
            box.clear()
        self._count.blockSignals(True)
        self._count.setChecked(True)
        self._count.blockSignals(False)
        self.model.start_over()
        super().start_over()

    def follow(self) -> None:
        """Show what follows from table and plan, but for what a person has chosen here."""
        self.model.follow()
        names = [column.name for column in self._session.plan.protected]
        for box, nothing in zip(self._by, (NO_GROUPS, NO_SECOND), strict=True):
            former = box.currentData()
            if [None, *names] != [box.itemData(i) for i in range(box.count())]:
                box.clear()
                box.addItem(nothing, None)
                for name in names:
                    box.addItem(name, name)
            box.setCurrentIndex(max(box.findData(former), 0) if former is not None else 0)
        self._show_groups()
        super().follow()

    def show_foreseen(self, found: Foreseen | None) -> None:
        """Show what to expect of every figure."""
        checked = None if found is None else found.facts
        self.model.show_checked(checked)
        groups = checked.expected.get((COUNT, "")) if checked is not None else None
        self._expected.setText(groups.words if groups is not None else "")
        self._expected.setToolTip(groups.stated if groups is not None else "")
        self._sizes.setText(checked.sizes if checked is not None else "")
        self._sizes.setVisible(bool(self._sizes.text()))

    def enable(self, on: bool) -> None:
        """Let the settings be changed, or not while a release goes on."""
        for part in (self.table, *self._by, self.epsilon, self.delta):
            part.setEnabled(on)
        self._show_groups()
        self._count.setEnabled(on and bool(self._groups()))
        self._by[1].setEnabled(on and self._by[0].currentData() is not None)

    def _groups(self) -> tuple[str, ...]:
        first, second = (box.currentData() for box in self._by)
        if first is None:
            return ()
        return (first,) if second in (None, first) else (first, second)

    def _grouped(self) -> None:
        self._show_groups()
        self.changed.emit()

    def _show_groups(self) -> None:
        groups = self._groups()
        self._by[1].setEnabled(bool(groups))
        self._count.setEnabled(bool(groups))
        if groups != self.model.groups:
            self.model.group_by(groups)
