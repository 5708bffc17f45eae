"""The question before a second table is joined: who a person is in both, and what comes to the columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QFormLayout, QWidget

from workbench.data.databases.address import title_of
from workbench.gui.project.open_table import Second, count_matched, join_tables, leave_second, look_at_second
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import OpenTable, Session
from workbench.gui.style.language import tr, tr_later, tr_n
from workbench.gui.widgets.basic import badge, label, named, row, say
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.gui.widgets.dialogs import Entry, ask_for_data, choose
from workbench.gui.widgets.formatting import count, listed

if TYPE_CHECKING:
    from workbench.data.table import Table

TITLE = tr_later("Join {title}?")
ABOUT = tr_later(
    "{title} has {rows}. One row of each person in it is kept, chosen at random, and added to the person's rows. "
    "ε covers all rows of a person in both tables, and from the first release on both share one account. Press Join "
    "if the file is read right: {read}."
)
MOST_NAMED = 8
WHOSE = {"identifier", "person", "household", "code"}  # what is suspected of a column that may say whose a row is


class JoinEntry(Entry):
    """The columns that identify a person, the columns that come, and how many persons are in both tables."""

    def __init__(self, session: Session, jobs: JobCenter, second: Table) -> None:
        super().__init__()
        self._session, self._jobs, self._second = session, jobs, second
        self._counting: JobHandle | None = None
        here, marked = list(session.open_table.table.names), session.open_table.profile
        seen = [p.name for p in marked if WHOSE.intersection(suspicion.what for suspicion in p.suspicions)]
        usual = session.plan.unit or next(iter(seen), "")
        self.person = self._box("join_person", tr("Person ID in the open table"), here, usual)
        self.on = self._box("join_on", tr("Person ID in the second table"), list(second.names), usual)
        self._columns = label("", wrap=True, name="join_columns")
        self._both = label("", wrap=True, name="join_both")
        self._problem = label("", "problem", wrap=True, name="join_problem")
        form = QFormLayout(self)
        form.setContentsMargins(0, 8, 0, 8)
        for box in (self.person, self.on):
            form.addRow(box.accessibleName(), box)
        form.addRow(self._columns)
        form.addRow(row((self._both, 1), badge()))
        form.addRow(self._problem)
        self._chosen()
        for box in (self.person, self.on):
            box.currentIndexChanged.connect(self._chosen)

    def _box(self, name: str, title: str, names: list[str], chosen: str) -> ChoiceBox:
        box = named(ChoiceBox(), name, title)
        box.offer([(each, each) for each in names], chosen)
        box.give_way(18)
        return box

    @property
    def persons(self) -> tuple[str, str]:
        return self.person.currentText(), self.on.currentText()

    def problem(self) -> str:
        return tr("The second table has no other column.") if len(self._second.names) < 2 else ""

    def _chosen(self) -> None:
        from workbench.data.person_join import joined_names

        say(self._problem, self.problem())
        here = [column.name for column in self._session.plan.columns]
        names = list(joined_names(here, self._second.names, self.persons[1]).values())
        self._columns.setText(tr("New columns: {columns}.", columns=listed(names, MOST_NAMED)))
        self._both.setText(tr("Counting the people who are in both tables…"))
        if self._counting is not None and self._counting.running:
            self._counting.cancel()
        self._counting = count_matched(self._session, self._jobs, self._second, self.persons, self._show)
        self.changed.emit()

    def _show(self, both: int) -> None:
        self._both.setText(tr_n("{n} person is in both tables.", "{n} people are in both tables.", both))


class JoinQuestion:
    """Asks for a file and how it is joined, and joins it; or leaves out the table that is joined."""

    def __init__(self, page: QWidget, session: Session, jobs: JobCenter) -> None:
        self._page, self._session, self._jobs = page, session, jobs
        self._handle: JobHandle | None = None

    def ask(self) -> None:
        session, opened = self._session, self._session.opened
        if opened is None or (self._handle is not None and self._handle.running):
            return
        if opened.second:
            self._handle = leave_second(session, self._jobs)
            return
        path = ask_for_data(self._page, opened.folder)
        if path:
            self._handle = look_at_second(self._jobs, path, lambda second: self._read(opened, second))

    def _read(self, opened: OpenTable, second: Second) -> None:
        # A question that is asked from within the job's end would keep the job in the list until it is answered.
        QTimer.singleShot(0, self._page, lambda: self._decide(opened, second))

    def _decide(self, opened: OpenTable, second: Second) -> None:
        from workbench.gui.pages.data.dialect import read_in_words

        session = self._session
        if session.opened is not opened:
            return
        table = second.table
        entry = JoinEntry(session, self._jobs, table)
        title = title_of(table.source)
        read = read_in_words(table) or tr("its columns have names of their own")
        text = tr(ABOUT, title=title, rows=count(table.rows, "row"), read=read)
        verbs, moot = {"yes": tr("Join")}, session.table_changed
        if choose(self._page, tr(TITLE, title=title), text, verbs, entry=entry, moot=moot) == "yes":
            self._handle = join_tables(session, self._jobs, second, entry.persons)
