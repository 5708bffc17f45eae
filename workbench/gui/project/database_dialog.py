"""Which table of a database to open: where the database is, its tables with their rows, and the first rows of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QDialog,
    QGridLayout,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QWidget,
)

from workbench.data.databases.address import PASSWORD_NEEDED, PASSWORDS, POSTGRESQL, SQLITE, Address, address_of
from workbench.gui.project.open_table import SEVERAL
from workbench.gui.session.error_text import sentence
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later, tr_number
from workbench.gui.style.stylesheet import MARGIN
from workbench.gui.widgets.basic import badge, button, label, look, named, panel, row, say, segments, stack
from workbench.gui.widgets.dialogs import ask_for_file
from workbench.gui.widgets.table_model import Cell, Column
from workbench.gui.widgets.table_view import LinesTable
from workbench.jobs import CancelToken, Emit, Job
from workbench.params import WorkbenchError
from workbench.render.fonts import scaled

if TYPE_CHECKING:
    from workbench.data.databases.access import ListedTable
    from workbench.data.table import Table

KEY = "database"
FIRST_ROWS = 20
SHOWN_COLUMNS = 30
SIZE = (940, 660)
OTHER = "other"

_EXAMPLE = "mysql+pymysql://user@server/database"
_FIELDS = (
    (POSTGRESQL, "host", tr_later("Server"), tr_later("this computer"), (0, 0, 1)),
    (POSTGRESQL, "port", tr_later("Port"), "5432", (0, 2, 1)),
    (POSTGRESQL, "database", tr_later("Database"), "", (1, 0, 1)),
    (POSTGRESQL, "user", tr_later("User"), "", (1, 2, 1)),
    (SQLITE, "file", tr_later("File"), "", (0, 0, 3)),
    (OTHER, "address", tr_later("Address"), _EXAMPLE, (0, 0, 3)),
    ("", "password", tr_later("Password"), tr_later("only if the database asks for one"), (2, 0, 3)),
    ("", "query", tr_later("Query"), tr_later("SELECT … instead of a table"), (3, 0, 3)),
)
"""Which kind of database a field belongs to, its name, its label, what it shows while it is empty, and its place: the
row, the column of the label, and the columns of the field."""


class DatabaseDialog(QDialog):
    """The place of a database, a list of its tables and the first rows of the chosen one."""

    chosen = Signal(str)  # (address) a table or a query that is to be opened; its password is kept in memory

    def __init__(self, session: Session, jobs: JobCenter, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("database_dialog")
        self.setWindowTitle(tr("Open from a database"))
        room = parent.window().size()
        self.resize(*(scaled(least, most) for least, most in zip(SIZE, room.toTuple(), strict=True)))
        self._jobs, self._address = jobs, Address(POSTGRESQL)
        self._fields: dict[str, QLineEdit] = {}
        self._labels: dict[str, QWidget] = {}
        kinds = (
            (POSTGRESQL, "PostgreSQL", tr("A PostgreSQL server")),
            (SQLITE, tr("SQLite file"), tr("A file of SQLite on this computer")),
            (OTHER, tr("Other, by its address"), tr("A database that SQLAlchemy has a driver for, such as MySQL")),
        )
        self._kinds = segments(self, "database_", kinds, self._show_kind)
        self._browse = button(tr("Choose…"), "database_browse", tip=tr("Choose a file of SQLite"))
        self._browse.clicked.connect(self._ask_for_file)
        self._connect = button(
            tr("Show tables"), "database_connect", "primary", tip=tr("Connect, read-only, and list what can be opened")
        )
        self._connect.clicked.connect(self.list_tables)
        self._stop = button(tr("Cancel reading"), "database_stop", tip=tr("Stop waiting for the database"))
        self._stop.clicked.connect(self._stop_reading)
        self._said = label("", "muted", wrap=True, name="database_said")
        self._tables = LinesTable(
            session,
            "database_tables",
            tr("Tables and views of the database"),
            (
                Column(tr("Table or view"), width=160),
                Column(tr("Kind"), width=80),
                Column(tr("Rows"), width=100, right=True),
            ),
        )
        self._tables.selectionModel().currentChanged.connect(lambda *_: self._show_rows())
        self._rows = LinesTable(
            session, "database_rows", tr("First rows: private, not for release"), (Column(""),), private=True
        )
        self._columns = named(
            QListWidget(),
            "database_columns",
            tr("Columns to read"),
            tr("A column without a tick is never asked for. Space ticks the one that is marked."),
        )
        self._columns.itemChanged.connect(lambda _: self._show_ticked())
        self._open = button(tr("Open"), "database_open", "primary", tip=tr("Read the whole table"), press=self._take)
        leave = button(tr("Cancel"), "database_leave", press=self.reject)
        self._arrange(leave)
        self._names: list[str] = []
        self._first: Table | None = None
        self._kind = POSTGRESQL
        self._kinds[POSTGRESQL].setChecked(True)
        self._show_kind(POSTGRESQL)
        self._busy(False)

    def _arrange(self, leave: QWidget) -> None:
        form = QGridLayout()
        form.setHorizontalSpacing(12)
        for _, name, title, hint, (at, left, wide) in _FIELDS:
            field = named(QLineEdit(), f"database_{name}", tr(title))
            field.setPlaceholderText(tr(hint))
            field.textEdited.connect(self._edited)
            field.returnPressed.connect(self.list_tables)
            self._fields[name], self._labels[name] = field, label(tr(title), "muted")
            form.addWidget(self._labels[name], at, left)
            form.addWidget(field, at, left + 1, 1, wide)
        form.addWidget(self._browse, 0, 4)
        form.setColumnStretch(1, 2)
        form.setColumnStretch(3, 1)
        self._fields["password"].setEchoMode(QLineEdit.EchoMode.Password)
        heading = row(label(tr("First rows"), "heading"), badge(), None)
        self._preview = panel(stack(heading, (self._rows, 1)))
        self._ticks = panel(stack(label(tr("Columns to read"), "heading"), (self._columns, 1)))
        listed = stack((self._tables, 1), (self._ticks, 1), spacing=12)
        whole = stack(
            row(*self._kinds.values(), None, spacing=4),
            form,
            row(self._connect, self._stop, None),
            self._said,
            (row((listed, 2), (self._preview, 3), spacing=16), 1),
            row(None, leave, self._open),
            spacing=12,
            margins=(MARGIN, 16, MARGIN, 16),
        )
        self.setLayout(whole)

    # -- what is typed --------------------------------------------------------------------------------------------

    def _show_kind(self, kind: str) -> None:
        self._kind = kind
        for of, name, *_ in _FIELDS:
            shown = of in ("", kind) and not (name == "password" and kind == SQLITE)
            self._fields[name].setVisible(shown)
            self._labels[name].setVisible(shown)
        self._browse.setVisible(kind == SQLITE)
        self._edited()

    def _edited(self) -> None:
        """Forget what was listed: it was of another database."""
        self._names = []
        self._connect.setText(tr("Show rows") if self._text("query") else tr("Show tables"))
        self._tables.lines.show_lines([])
        self._show_preview(None)
        self._say("")

    def _ask_for_file(self) -> None:
        found = ask_for_file(self, "database")
        if found:
            self._fields["file"].setText(found)
            self.list_tables()

    def _text(self, name: str) -> str:
        return self._fields[name].text().strip()

    def _typed(self) -> Address | None:
        """Return the database that is typed; ``None`` where something lacks, which is said."""
        if self._kind == SQLITE:
            made = Address(SQLITE, database=self._text("file"))
            lacks = tr("Choose a file first.") if not made.database else ""
        elif self._kind == OTHER:
            lacks, found = tr("Type an address such as {example}", example=_EXAMPLE), None
            try:
                found = address_of(self._text("address"))
            except WorkbenchError as error:
                lacks = sentence(error)
            made, lacks = found or self._address, "" if found is not None else lacks
        else:
            port, host = self._text("port"), self._text("host")
            place = f"{quote(host, safe='')}{':' if port else ''}{port}" if not host.startswith("/") else ""
            socket = (("host", host),) if host.startswith("/") else ()
            made, lacks = Address(POSTGRESQL, self._text("user"), place, self._text("database"), socket), ""
        PASSWORDS.keep(made, self._fields["password"].text())
        self._say(lacks, "problem")
        return None if lacks else made

    # -- what the database says -----------------------------------------------------------------------------------

    def show_for(self, source: str, error: WorkbenchError) -> None:
        """Show the database of an address, or of a file of SQLite, that could not be opened as it is."""
        address = address_of(source) or Address(SQLITE, database=source)
        self._kind = address.scheme if address.scheme in self._kinds else OTHER
        host = dict(address.options).get("host", address.host)
        name, port = (host, "") if host.startswith("/") else host.partition(":")[::2]
        stated = {
            "host": name,
            "port": port,
            "database": address.database,
            "user": address.user,
            "query": address.query,
        }
        for key, text in {**stated, "file": address.database, "address": address.place, "password": ""}.items():
            self._fields[key].setText(text)
        self._kinds[self._kind].setChecked(True)
        self._show_kind(self._kind)
        self.open()
        if error.code == SEVERAL:
            self.list_tables()
        else:
            self._say(sentence(error), "problem")
            self._fields["password"].setFocus()

    def list_tables(self) -> None:
        """Connect and list tables and views with their rows; a query shows its first rows."""
        address = self._typed()
        if address is None:
            return
        self._address = address
        if self._text("query"):
            self._look_at(address.asking(self._text("query")))
            return

        def work(emit: Emit, cancel: CancelToken) -> list[ListedTable]:
            from workbench.data.databases.access import tables_of

            return tables_of(address, cancel, counted=True)

        self._start(Job(tr("Listing tables"), work), self._list)

    def _list(self, found: list[ListedTable]) -> None:
        self._names = [each.name for each in found]
        self._tables.lines.show_lines(
            [
                (
                    Cell(each.name),
                    Cell(tr("view") if each.view else tr("table")),
                    Cell("–" if each.rows is None else tr_number(each.rows, ","), key=each.rows),
                )
                for each in found
            ]
        )
        self._say(tr("Choose a table to see its first rows.") if found else tr("This user sees no table there."))
        if found:
            self._tables.setFocus()
            if len(found) == 1:
                self._tables.selectRow(0)

    def _selected(self) -> Address | None:
        if self._text("query"):
            return self._address.asking(self._text("query"))
        at = self._tables.currentIndex()
        if not at.isValid() or not self._names:
            return None
        return self._address.of(self._tables.lines.cell(at.row(), 0).text)

    def _show_rows(self) -> None:
        address = self._selected()
        if address is not None:
            self._look_at(address)

    def _look_at(self, address: Address) -> None:
        def work(emit: Emit, cancel: CancelToken) -> Table:
            from workbench.data.databases.access import read_database

            return read_database(address, cancel, most=FIRST_ROWS)

        self._show_preview(None)
        self._start(Job(tr("Reading the first rows"), work), self._show_preview)

    def _show_preview(self, table: Table | None) -> None:
        self._first = table
        self._columns.blockSignals(True)
        self._columns.clear()
        for name in () if table is None else table.names:
            item = QListWidgetItem(name, self._columns)
            item.setData(Qt.ItemDataRole.UserRole, name)  # what is shown may be translated
            item.setCheckState(Qt.CheckState.Checked)
        self._columns.blockSignals(False)
        self._ticks.setVisible(table is not None and not self._text("query"))
        self._preview.setVisible(table is not None)
        self._show_ticked()

    def _ticked(self) -> tuple[str, ...]:
        items = map(self._columns.item, range(self._columns.count()))
        return tuple(
            str(item.data(Qt.ItemDataRole.UserRole)) for item in items if item.checkState() == Qt.CheckState.Checked
        )

    def _show_ticked(self) -> None:
        from workbench.data.columns.values import doubles

        ticked = self._ticked()
        names = list(ticked[:SHOWN_COLUMNS])
        frame = None if self._first is None else self._first.frame[names]
        lines = [] if frame is None else frame.rows()
        shown = [] if frame is None else frame.get_columns()
        numbers = {one.name for one in shown if doubles(one, None).null_count() == one.null_count() < len(one)}
        columns = [Column(name, width=80, right=name in numbers) for name in names] or [Column("")]
        self._rows.show_columns(columns, [[Cell(cell or "") for cell in line] for line in lines])
        self._open.setEnabled(bool(ticked))
        if self._first is not None:
            left = len(ticked) - len(names)
            none = "" if ticked else tr("Tick the columns to read.")
            self._say(none or (tr("{n} more columns are not shown.", n=left) if left else ""))

    def _start(self, job: Job[Any], apply: Callable[[Any], None]) -> None:
        self._busy(True)

        def failed(error: BaseException) -> None:
            self._say(sentence(error) if isinstance(error, WorkbenchError) else str(type(error).__name__), "problem")
            if isinstance(error, WorkbenchError) and error.code == PASSWORD_NEEDED:
                self._fields["password"].setFocus()
                self._fields["password"].selectAll()

        handle = self._jobs.start(job, key=KEY, stoppable=False, on_result=apply, on_failure=failed)
        self._handle = handle
        handle.ended.connect(lambda: self._busy(False) if self._handle is handle else None)

    def _busy(self, busy: bool) -> None:
        self._stop.setVisible(busy)
        self._connect.setEnabled(not busy)
        if busy:
            self._say(tr("Waiting for the database…"))

    def _stop_reading(self) -> None:
        self._handle.cancel()
        self._say(tr("Cancelled."))

    def _say(self, text: str, kind: str = "muted") -> None:
        look(self._said, kind)
        say(self._said, text)

    def _take(self) -> None:
        address = self._selected()
        if address is not None:
            if address.table and len(self._ticked()) < self._columns.count():
                address = address.of(address.table, self._ticked())
            self.accept()
            self.chosen.emit(address.shown)

    def done(self, result: int) -> None:
        """Stop what is being read, and forget what was typed as a password; the program keeps it for this database."""
        if self._stop.isVisible():
            self._handle.cancel()
        self._fields["password"].clear()
        super().done(result)
