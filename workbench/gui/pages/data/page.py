"""Data: open a table, and declare what is publicly known about each attribute."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from PySide6.QtCore import QElapsedTimer, QItemSelectionModel, QModelIndex
from PySide6.QtWidgets import QAbstractItemView, QApplication, QWidget

from workbench.data.csv.options import ReadOptions
from workbench.data.databases.address import title_of
from workbench.gui.pages import page_called
from workbench.gui.pages.base import PageFrame
from workbench.gui.pages.data.start import CONFIRM, ONWARD_TIP, StartPanel, guessed_in_words, next_step
from workbench.gui.project.open_table import follow_codes, open_table
from workbench.gui.session.blocking import coded_columns, refused_columns, why_refused
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import OpenImages, OpenTable, Session
from workbench.gui.style.language import tr, tr_later, tr_n
from workbench.gui.widgets.basic import (
    Card,
    Elided,
    button,
    label,
    panel,
    reword,
    row,
    say,
    scrolled,
    segments,
    stack,
    views,
)
from workbench.gui.widgets.dialogs import FOLDER_OF_IMAGES, ask_for_data, ask_for_folder
from workbench.gui.widgets.formatting import count
from workbench.gui.widgets.master_detail import MasterDetail

if TYPE_CHECKING:
    from workbench.gui.pages.data.find_values import FindValues
    from workbench.gui.pages.data.join import JoinQuestion

JOIN, LEAVE = tr_later("Join a second table…"), tr_later("Leave {title} out")
JOIN_TIP = tr_later(
    "A second table about the same persons: each row gets the columns of its person from that table. ε then covers "
    "all rows of a person in both tables, and both share one account"
)


class DataPage(PageFrame):
    """An inviting start while no table is open; then its attributes, or its rows, or how it was read."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__(session, jobs, page_called("data"))
        tip = tr("Open another table or images (Ctrl+O)")
        self._open_button = button(tr("Open…"), "open_another", tip=tip, press=self.ask_for_table)
        self.header.addWidget(self._open_button)
        self._start = StartPanel(session, jobs)
        self._start.open_asked.connect(self.ask_for_table)
        self._start.folder_asked.connect(self._ask_for_folder)
        self._start.sample_chosen.connect(lambda name: open_table(session, jobs, f"sample:{name}"))
        self._failed_source = ""
        self._shown = "start"
        self._views = views()
        self._views.setObjectName("data_views")
        self._places: dict[str, QWidget] = {}
        self._brought_up = QElapsedTimer()
        self._add_place("start", scrolled(stack(self._start), "data_start_area", sideways=True))
        self.body.addWidget(self._views, 1)
        follow_codes(session, jobs)
        session.opening_failed.connect(self._opening_failed)
        session.table_changed.connect(self._show_table)
        session.plan_changed.connect(self.in_sight(self.refresh))
        self._show_table()

    def make_whole(self) -> None:
        """Make what shows a table: five times what the start is made of, so that the first paint does not wait."""
        if self._whole:
            return
        # These know polars, which the descriptor of the page does not wait for.
        from workbench.gui.pages.data.attribute_table import AttributeTable
        from workbench.gui.pages.data.detail import AttributeDetail
        from workbench.gui.pages.data.dictionary_menu import DictionaryMenu
        from workbench.gui.pages.data.table_facts import WholeTable
        from workbench.gui.widgets.table_view import TableFilter

        self.table = AttributeTable(self.session)
        self.detail = AttributeDetail(self.session, self.table.attributes)
        self.table.chosen_changed.connect(self.detail.refresh)
        self.filter = TableFilter(self.table)
        self.dictionary = DictionaryMenu(self.session, self.jobs)
        self.header.insertWidget(self.header.indexOf(self._open_button), self.dictionary)
        self.detail.dialect_asked.connect(lambda: self._show_view("dialect"))
        self.table.filled.connect(self._fill_on)
        self.detail.drop_asked.connect(self.table.toggle_drop)
        self.detail.list_asked.connect(self._edit_values)
        self.detail.find_asked.connect(lambda columns: self._finding.ask(columns))
        self.whole = WholeTable(self.session)
        self.detail.rows_asked.connect(self.whole.ask_for_rows)
        self._arrange()
        self.table.selectionModel().currentRowChanged.connect(self._choose_row)
        self._next = self.set_primary(tr("Decide →"), "data_onward", self._go_on, tr(ONWARD_TIP))
        self.session.table_changed.disconnect(self._show_table)
        self.session.table_changed.connect(self._show_table)  # after the parts, which have the new table by then
        self._show_head()
        self.refresh()

    def _make_place(self, name: str) -> None:
        if name in self._places:
            return
        if name == "rows":
            from workbench.gui.widgets.fast_table import PrivateRows

            self._rows = PrivateRows(self.session, self.jobs, "rows_table")
            self.rows_view, self.frame_model = self._rows.table, self._rows.table.model()
            self.rows_view.setSelectionMode(QAbstractItemView.SelectionMode.ContiguousSelection)
            self._add_place(name, self._rows)
            self._show_rows()
        elif name == "dialect":
            from workbench.gui.pages.data.dialect import DialectForm

            self.dialect = DialectForm(self.jobs)
            self.dialect.read_again.connect(self._read_again)
            self.dialect.bad_lines.replace_asked.connect(self._read_replaced)
            self.dialect.left.connect(self.escape)
            self.dialect.form.changed.connect(self.refresh)
            parts = stack(self.dialect.bad_lines, self.dialect, None, spacing=12)
            self._add_place(name, scrolled(parts, "dialect_area", sideways=True))
        else:
            from workbench.gui.pages.data.domain_editor import DomainEditor

            self.values = DomainEditor(self.session)
            self.values.left.connect(lambda: self._show_view("attributes"))
            self._add_place(name, self.values)

    def _show_rows(self) -> None:
        self._rows.show_frame(self.session.opened.table.frame if self.session.opened else None)

    @property
    def _whole(self) -> bool:
        return "attributes" in self._places

    # -- opening --------------------------------------------------------------------------------------------------

    def ask_for_table(self) -> None:
        path = ask_for_data(self, self.session.folder)
        if path:
            open_table(self.session, self.jobs, path)

    def _ask_for_folder(self) -> None:
        folder = ask_for_folder(self, FOLDER_OF_IMAGES)
        if folder:
            open_table(self.session, self.jobs, folder)

    def _read_again(self, options: ReadOptions, *, replaced: bool = False) -> None:
        source = self._failed_source or (self.session.opened.source if self.session.opened else "")
        open_table(self.session, self.jobs, source, options, replace_invalid=replaced)

    def _read_replaced(self) -> None:
        options = self.dialect.options()
        if options is not None:
            self._read_again(options, replaced=True)

    def _skip_titles(self) -> None:
        opened = self.session.opened
        assert opened is not None
        stated = (self.dialect.options() if self._shown == "dialect" else None) or opened.options or ReadOptions()
        self._read_again(replace(stated, skip_lines=opened.table.facts.titles))

    def _opening_failed(self, source: str, options: ReadOptions | None, error: BaseException) -> None:
        from workbench.gui.pages.data.dialect import options_by_name

        if options_by_name(source):
            self._failed_source = source
            self._show_view("dialect")
            self.dialect.show_failure(source, options, error, self.session.opened)

    # -- what is shown --------------------------------------------------------------------------------------------

    def _arrange(self) -> None:
        self._summary = Elided("", "muted", name="data_summary")
        titles = (
            ("attributes", tr("Attributes"), tr("One row per attribute: role, kind and public facts")),
            ("rows", tr("Rows"), tr("The table itself: private")),
            ("dialect", tr("How it is read"), tr("Encoding, delimiter, quotes, decimal mark, header")),
        )
        self._segments = segments(self, "view_", titles, self._show_view)
        self._bar = panel(row(*self._segments.values(), spacing=4))
        self.header.insertWidget(self.header.indexOf(self._open_button), self._bar)
        attributes = MasterDetail(Card(self.table, self.whole, pad=5), self.detail)
        self._add_place("attributes", attributes)
        self._join = button("", "join_table", "link", tip=tr(JOIN_TIP), press=lambda: self._joining.ask())
        self._notices = label("", "muted", wrap=True, name="data_notices")
        self.body.insertLayout(0, row((self._summary, 1), self._join, self.filter, spacing=12))
        tip = tr("Read the file again without the lines above its header")
        self._skip = button("", "data_skip_titles", tip=tip, press=self._skip_titles)
        self.body.insertLayout(1, row((self._notices, 1), self._skip, spacing=12))

    def _add_place(self, name: str, place: QWidget) -> None:
        self._places[name] = place
        self._views.addWidget(place)

    def _show_view(self, name: str) -> None:
        if name != "start":
            self.make_whole()
        self._make_place(name)
        if name == "dialect" and self._shown != "dialect":
            self.dialect.show_table(None if self._failed_source else self.session.opened)
        self._shown = name
        self._views.setCurrentWidget(self._places[name])
        if self._whole:
            self._show_head()
        self.refresh()

    def _show_head(self) -> None:
        if self._shown in self._segments:
            self._segments[self._shown].setChecked(True)
        with self.laid_out_once():  # beside the tabs, the buttons would make the window wider at a large text size
            for part in (self._bar, self._summary, self._join):
                part.setVisible(self.session.opened is not None)
            self.dictionary.setVisible(self._shown == "attributes")
            self.filter.setVisible(self._shown == "attributes")
            self._place_header()

    def escape(self) -> bool:
        """Leave the form of the dialect, or the list of values as it was."""
        if self._shown not in ("dialect", "values"):
            return False
        self._failed_source = ""
        self._show_view("attributes" if self.session.opened else self._first_view())
        return True

    def run(self) -> None:
        """Do what Ctrl+Return asks for: take the list of values that is being edited, else what every page does."""
        if self._shown == "values":
            self.values.take()
        else:
            super().run()

    def _edit_values(self, name: str) -> None:
        profile = self.session.profile_of(name)
        self._show_view("values")
        self.values.show_column(self.session.plan.column(name), profile.values if profile else ())

    @cached_property
    def _finding(self) -> FindValues:
        from workbench.gui.pages.data.find_values import FindValues

        return FindValues(self, self.session, self.jobs)

    @cached_property
    def _joining(self) -> JoinQuestion:
        from workbench.gui.pages.data.join import JoinQuestion

        return JoinQuestion(self, self.session, self.jobs)

    def _show_table(self) -> None:
        opened = self.session.opened
        self._failed_source = self._shown = ""  # a form in sight is of the former table
        self._open_button.setVisible(self.session.open_data is not None)
        if self.session.open_data is not None:
            self.make_whole()
        if self._whole:
            if "rows" in self._places:
                self._show_rows()
            self._segments["dialect"].setVisible(opened is not None and bool(opened.table.facts.options))
        if self.session.images is not None:
            self._show_images(self.session.images)
        self._show_view(self._first_view())
        if opened is not None:
            first = self.table.next_open()
            protected = next((i for i, c in enumerate(self.session.plan.columns) if c.protected), 0)
            at = first if first.isValid() else self.table.attributes.index(protected, 0)
            self.table.scrollToTop()
            flags = QItemSelectionModel.SelectionFlag
            self.table.selectionModel().setCurrentIndex(at, flags.ClearAndSelect | flags.Rows)
            self.detail.show_attribute(at.row())
            self.table.setFocus()

    def _show_images(self, opened: OpenImages) -> None:
        if "images" not in self._places:  # its form knows numpy, which the first paint does not wait for
            from workbench.gui.pages.data.images_panel import ImagesPanel

            self.images = ImagesPanel(self.session, self.jobs)
            self._add_place("images", scrolled(stack(self.images), "images_area", sideways=True))
        self.images.show_images(opened)

    def _first_view(self) -> str:
        if self.session.opened is not None:
            return "dialect" if self.session.opened.unsure else "attributes"
        return "images" if self.session.images is not None else "start"

    def refresh(self) -> None:
        """Show what is still open, and what the highlighted button does about it."""
        if not self._whole:
            return
        say(self._notices, _notices(self.session.opened, beside=self._shown == "dialect"))
        titles = self.session.opened.table.facts.titles if self.session.opened is not None else 0
        self._skip.setVisible(titles > 0)
        reword(self._skip, tr_n("Skip {n} line", "Skip {n} lines", titles))
        if self.session.opened is not None:
            second = title_of(self.session.opened.second) if self.session.opened.second else ""
            self._summary.set_whole(_summary(self.session.opened), wrapped=True)
            reword(self._join, tr(LEAVE, title=second) if second else tr(JOIN))
        step = next_step(self.session, at_dialect=self._shown == "dialect", unread=self._unread)
        self._next.setVisible(step is not None and self._shown != "values")
        if step is None:
            self.set_note("")
            return
        self.set_note(step.note)
        if step.verb == tr(CONFIRM) != self._next.text() and QApplication.mouseButtons():
            self._brought_up.start()
        reword(self._next, step.verb, tr(step.tip))
        self._next.setEnabled(not self._unread or self.dialect.options() is not None)

    def _choose_row(self, now: QModelIndex, before: QModelIndex) -> None:
        self.table.attributes.leave(before.row())
        self.detail.show_attribute(now.row())

    @property
    def _unread(self) -> bool:
        return self._shown == "dialect" and not self._failed_source and self.dialect.unread

    def _go_on(self) -> None:
        """Go to the guess that is to be confirmed, else to the next open fact, else to the next page."""
        if self.session.images is not None:
            self.session.go("train")
            return
        doubtful = self.session.opened is not None and bool(self.session.opened.table.ambiguities)
        if self._unread or (doubtful and self._shown == "dialect" and not self._failed_source):
            self.dialect.confirm()
            return
        if doubtful:
            self._show_view("dialect")
            return
        if self._shown == "dialect" and self.session.opened is not None and self.session.opened.unsure:
            self.session.go("questions")
            return
        place = self._next_to_fix()
        refused = refused_columns(self.session.opened, self.session.plan)
        if not place.isValid() and not self.session.plan.guesses() and refused:
            self._fix_values(refused[0])
        elif not place.isValid() and self.session.plan.guesses():
            # The click that ended the last entry brought this up; nobody has read it yet.
            if not self._brought_up.isValid() or self._brought_up.elapsed() >= QApplication.doubleClickInterval():
                self._confirm()
        elif place.isValid():
            self._bring_up(place)
            column = self.session.plan.columns[place.row()]
            if any(f in column.needs for f in column.unfilled) or not column.unfilled:
                self.table.edit_fact(place)
            else:
                self.table.setCurrentIndex(place)
                self.detail.reading.focus_on(column.unfilled[0])
        elif coded := coded_columns(self.session.opened, self.session.plan):
            self._select(coded[0])
            self.detail.ask_about_codes()
        else:
            self.session.go("ways")

    def _fill_on(self) -> None:
        """Go to the next fact after one; what comes when all are declared is for a click."""
        if self.table.next_open().isValid():
            self._go_on()

    def _fix_values(self, name: str) -> None:
        """Go to what a release would stop at: the list of values, what a missing value means, or the kind."""
        why = why_refused(self.session.opened, self.session.plan, self.session.plan.column(name))
        self._select(name)
        if why is not None and why.fact == "domain":
            self._edit_values(name)
        elif why is not None and why.fact == "missing":
            self.detail.reading.focus_on("missing")

    def _select(self, name: str) -> None:
        place = self._cell(name, 0)
        self._bring_up(place)
        self.table.setFocus()
        self.table.setCurrentIndex(place)

    def _confirm(self) -> None:
        plan = self.session.plan
        stated = guessed_in_words(plan)
        self.session.edit(tr("confirm what was guessed"), plan.confirmed())
        self.session.notify("info", tr("Confirmed as right and public knowledge: {stated}.", stated=stated))

    def _next_to_fix(self) -> QModelIndex:
        first = self.table.next_open()
        if first.isValid():
            return first
        wrong = next((p.column for p in self.session.plan.problems() if p.column), None)
        return QModelIndex() if wrong is None else self._cell(wrong, 3)

    def _cell(self, name: str, place: int) -> QModelIndex:
        return self.table.attributes.index([c.name for c in self.session.plan.columns].index(name), place)

    def _bring_up(self, place: QModelIndex) -> None:
        """Show the row of a cell, whatever is filtered."""
        self._show_view("attributes")
        if self.table.isRowHidden(place.row()):
            self.filter.clear()
        self.table.scrollTo(place)


def _summary(opened: OpenTable) -> str:
    from workbench.gui.pages.data.dialect import read_in_words

    size = f"{count(opened.table.rows, 'row')} × {count(len(opened.table.names), 'column')}"
    read = read_in_words(opened.table)
    if read:
        return f"{size}  ·  {read}"
    return tr("{size}  ·  a sample", size=size) if opened.is_sample else size


def _notices(opened: OpenTable | None, *, beside: bool) -> str:
    from workbench.gui.pages.data.dialect import notices_in_words

    return notices_in_words(opened.table, beside=beside) if opened is not None else ""
