"""A table whose rows are selected and edited together: the attributes, the shares, the runs."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence

from PySide6.QtCore import QEvent, QItemSelection, QItemSelectionModel, QModelIndex, QPoint, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QGuiApplication,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
)
from PySide6.QtWidgets import QAbstractItemView, QHeaderView

from workbench.gui.session.error_text import without_place
from workbench.gui.session.session import Session
from workbench.gui.style.language import again, capital, tr, tr_sentence
from workbench.gui.widgets.cell_delegates import (
    CHEVRON,
    PADDING,
    ChoiceDelegate,
    InkDelegate,
    TickDelegate,
    delegate_of,
    tick,
)
from workbench.gui.widgets.formatting import STAR, count
from workbench.gui.widgets.table_model import TICKABLE, Column, EditedModel, Index, TableModel, in_two_lines
from workbench.gui.widgets.table_view import IN_SIGHT, Private, TableView, heading_width
from workbench.params import ParameterError
from workbench.params.field import did_you_mean

TICKED, FREE = ("yes", "1", "true", "x", "✓"), ("no", "0", "false", "-", "–")
SIGNS = f" {STAR}⚠"  # what is shown behind a word and is no part of it


def block_of(text: str) -> list[list[str]]:
    """Return the cells of a block as a spreadsheet puts it on the clipboard, without its empty last lines."""
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter="\t"))
    while rows and not any(cell.strip() for cell in rows[-1]):
        rows.pop()
    return [[cell.strip() for cell in row] for row in rows]


def paste_cells(
    model: EditedModel, rows: Sequence[int], place: int, block: Sequence[Sequence[str]], most: int | None = None
) -> None:
    """Edit the cells of a table as a block says; an empty cell changes nothing.

    Args:
        model: the table.
        rows: its rows that those of the block are for, in order; a block of one row is for all of them. Where the
            block begins in the column of names, these say which row each is for.
        place: the column in which the block begins.
        block: its cells.
        most: how many columns a block can be over, from the first on; by default all.

    Raises:
        ParameterError: a cell is refused; row and column are named.
    """
    width = max(map(len, block), default=0)
    if not width:
        raise ParameterError(tr("the clipboard holds no cells"), hint=tr("copy a block of cells first"))
    if place + width > (most or len(model.columns)):
        what = tr("the block is {columns} wide, which does not fit from here on", columns=count(width, "column"))
        raise ParameterError(what, hint=tr("start further left"))
    names = {model.name_at(row): row for row in range(model.height())}
    named = place == 0 and model.columns[0].edit is None
    if named:
        rows = [_row_of(names, cells[0], at) for at, cells in enumerate(block, start=1)]
    elif len(block) == 1:
        block = list(block) * len(rows)
    if len(block) > len(rows):
        what = tr(
            "the block has {rows}, and only {left} fit from here on",
            rows=count(len(block), "row"),
            left=count(len(rows), "row"),
        )
        raise ParameterError(what, hint=tr("start further up"))
    for at, (row, cells) in enumerate(zip(rows, block, strict=False), start=1):
        for step, text in enumerate(cells):
            if text and not (named and step == 0):
                _paste_cell(model, at, row, place + step, text)


def _row_of(names: dict[str, int], name: str, at: int) -> int:
    if name not in names:
        unknown = tr("row {at}: the table has no row {name}", at=at, name=repr(name))
        raise ParameterError(f"{unknown}{tr_sentence(did_you_mean(name, names))}")
    return names[name]


def _paste_cell(model: EditedModel, at: int, row: int, place: int, text: str) -> None:
    cell, column = model.cell(row, place), model.columns[place]
    title = again(column.called or column.title).lower()
    where = tr("row {at} ({name}), {title}", at=at, name=model.name_at(row), title=title)
    try:
        if column.edit is not None and cell.value is not None:
            words = column.choices(row) if callable(column.choices) else column.choices
            taken = column.edit(row, _one_of(text, words) if words else text)
        elif column.tick is not None and cell.ticked is not None:
            taken = column.tick(row, _ticked(text))
        elif text in (cell.text, cell.exact):
            return  # as it was copied
        else:
            raise ParameterError(tr("this cell cannot be edited"), hint=tr("leave it empty"))
    except ParameterError as error:
        raise ParameterError(f"{where}: {tr_sentence(error.what)}", hint=error.remedies) from None
    model.forget_cells()
    if taken is False:
        raise ParameterError(tr("{where}: {text} is not taken", where=where, text=repr(text)))


def _one_of(text: str, words: Sequence[str]) -> str:
    """Return the word of a list that is meant: in any case, and without what the list says behind it."""
    wanted = text.rstrip(SIGNS).casefold()
    same = [word for word in words if wanted in (_bare(word), _bare(tr_sentence(word)))]
    found = same or [word for word in words if word.casefold().startswith(f"{wanted}  ")]
    if not found:
        unknown = tr("{text} is not known", text=repr(text))
        raise ParameterError(
            f"{unknown}{tr_sentence(did_you_mean(text, words))}", hint=tr("write {words}", words=", ".join(words))
        )
    return found[0]


def _bare(word: str) -> str:
    return word.rstrip(SIGNS).casefold()


def _ticked(text: str) -> bool:
    yes, no = (*TICKED, tr("yes").casefold()), (*FREE, tr("no").casefold())
    if text.casefold() not in yes + no:
        raise ParameterError(tr("{text} is neither yes nor no", text=repr(text)), hint=tr("write yes or no"))
    return text.casefold() in yes


NARROWEST = 56
LONG_WORDS = 110  # pixels that a column of words which differ from row to row keeps in a narrow window
SQUEEZE = 64  # pixels that the names give at most to a narrow window
MOST_GIVEN = 16  # what a figure may take of the longest word of its row: a letter or two
MEASURED = 64  # figures of a column that are measured


class SettingsTable(TableView):
    """Several rows are selected and edited at once; a click on a heading sorts.

    A double click, F2, Return or a letter edits a cell, whether or not its row was selected; a click on its chevron
    opens its list.
    """

    chosen_changed = Signal()  # other rows are selected
    # The column whose box Space and Return tick from any cell of a row but another box; `None` for none.
    ticked: int | None = None
    _widths: Mapping[int, int] = {}
    _kept = False  # asked for when the view is made

    def __init__(
        self,
        session: Session,
        model: TableModel,
        name: str,
        accessible: str,
        *,
        private: Private | None = False,
    ) -> None:
        """Make the table of a model; ``private`` is ``None`` where it copies in a way of its own."""
        super().__init__(model, name, accessible)
        self._session, self._rows = session, model
        self._follow_columns(model.columns)
        self._pressed = QModelIndex()
        if isinstance(model, EditedModel):
            model.chosen = self._edited_with
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        triggers = QAbstractItemView.EditTrigger
        self.setEditTriggers(triggers.DoubleClicked | triggers.EditKeyPressed | triggers.AnyKeyPressed)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self._arrange_heads()
        if isinstance(model, EditedModel) and any(column.edit or column.tick for column in model.columns):
            tip = tr("Copy the current cell to all selected rows")
            self.add_action("fill", tr("Use for All Selected"), self.fill, tip, "Ctrl+D")
            tip = tr("Paste a block of cells from a spreadsheet, starting at this cell")
            self.add_action("paste", tr("Paste"), self.paste, tip, "Ctrl+V")
        if private is not None:
            self.let_copy(private)
        self.selectionModel().selectionChanged.connect(lambda: self.chosen_changed.emit())
        model.dataChanged.connect(self._follow_figures)
        session.plan_changed.connect(self.filter_again)

    def _follow_columns(self, columns: Sequence[Column]) -> None:
        declared = list(enumerate(columns))
        self._widths = {at: column.width for at, column in declared if column.width}
        self._roomy = {at: column.grows for at, column in declared}
        self.setItemDelegate(InkDelegate(self))
        for at, column in declared:
            made = delegate_of(column, self._session, self)
            if made is not None:
                self.setItemDelegateForColumn(at, made)

    def _arrange_heads(self) -> None:
        heads = self.horizontalHeader()
        heads.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        # Qt stretches the last column, too, but never below what it takes its heading and the sign of the order for.
        heads.setStretchLastSection(len(self._rows.columns) - 1 not in self._widths)
        heads.setMinimumSectionSize(NARROWEST)
        for at, width in self._widths.items():
            heads.resizeSection(at, width)
        self.sort_by_headings()

    # -- several cells at once ------------------------------------------------------------------------------------

    def fill(self) -> None:
        """Give every selected row what the current cell says."""
        current, model = self.currentIndex(), self.model()
        if current.isValid() and current.flags() == TICKABLE:
            model.setData(current, current.data(Qt.ItemDataRole.CheckStateRole), Qt.ItemDataRole.CheckStateRole)
        elif self._is_editable(current):
            model.setData(current, current.data(Qt.ItemDataRole.EditRole))

    def paste(self) -> None:
        """Take the block on the clipboard, from the current cell on, as one step; one row is for all selected."""
        current = self.currentIndex()
        if not current.isValid():
            return
        block, shown = block_of(QGuiApplication.clipboard().text()), list(self.in_sight())
        below = shown[shown.index(current.row()) :] if current.row() in shown else [current.row()]
        rows = self._edited_with(current.row()) if len(block) == 1 else below
        try:
            words = self.paste_block(rows, current.column(), block)
        except ParameterError as error:
            self._session.notify("error", tr("Nothing was pasted: {error}", error=without_place(error)))
            return
        self._session.notify("info", tr("{step}: done. Ctrl+Z takes it back.", step=capital(words)))

    def paste_block(self, rows: Sequence[int], column: int, block: Sequence[Sequence[str]]) -> str:
        """Take a block over ``rows`` from a column on; return what was done, for the Edit menu.

        Raises:
            ParameterError: a cell is refused; nothing is taken.
        """
        words, model = tr("paste {rows}", rows=count(len(block), "row")), self._rows
        assert isinstance(model, EditedModel)
        with model.one_step(words):
            paste_cells(model, rows, column, block)
        return words

    # -- which rows -----------------------------------------------------------------------------------------------

    def chosen(self) -> list[int]:
        """Return the rows that are selected and in sight, in the order in which they are shown."""
        selection = self.selectionModel().selection()
        parts = [selection.at(i) for i in range(selection.count())]
        rows = {row for part in parts for row in range(part.top(), part.bottom() + 1)}
        return sorted((row for row in rows if not self.isRowHidden(row)), key=self.verticalHeader().visualIndex)

    def _edited_with(self, at: int) -> Sequence[int]:
        rows = self.chosen()
        return rows if at in rows else (at,)

    def selectAll(self) -> None:  # noqa: N802 - Qt's name
        """Select the rows in sight: one that is filtered out is never edited with them."""
        model, made = self.model(), QItemSelection()
        for row in self.in_sight():
            made.select(model.index(row, 0), model.index(row, 0))
        flags = QItemSelectionModel.SelectionFlag
        self.selectionModel().select(made, flags.ClearAndSelect | flags.Rows)

    # -- filter and order -----------------------------------------------------------------------------------------

    def show_all(self) -> None:
        self._wanted, self._needs_only = "", False
        self.horizontalHeader().setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        self._sort(-1, Qt.SortOrder.AscendingOrder)
        self._filter()

    def filter_again(self) -> None:
        """Show what needs the person now, and no longer what does not."""
        if self._needs_only:  # the row that is being filled in stays until something else is; a tick hides no row
            self._filter(kept=self.in_sight() if self.ticked is not None else (self.currentIndex().row(),))

    def _follow_reset(self) -> None:
        self.show_all()
        self._share_out()  # other names

    def _leave_hidden(self) -> None:
        super()._leave_hidden()
        self.chosen_changed.emit()

    # -- the hand -------------------------------------------------------------------------------------------------

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """Keep a selection of several rows where the list of a cell of one of them is about to open."""
        place = event.position().toPoint()
        plain = event.button() == Qt.MouseButton.LeftButton and not event.modifiers()
        self._pressed = self._list_at(place) if plain else QModelIndex()
        self._kept = self._pressed.isValid() and self.selectionModel().isSelected(self._pressed)
        super().mousePressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        super().mouseReleaseEvent(event)
        pressed, self._pressed, self._kept = self._pressed, QModelIndex(), False
        if pressed.isValid() and pressed == self._list_at(event.position().toPoint()):
            self.edit(pressed)

    def _list_at(self, place: QPoint) -> QModelIndex:
        """Return the cell whose chevron is at a place, or an invalid index."""
        index = self.indexAt(place)
        box = self.visualRect(index)
        on_chevron = place.x() > box.right() - CHEVRON - PADDING // 2
        lists = isinstance(self.itemDelegateForIndex(index), ChoiceDelegate)
        return index if lists and on_chevron and self._is_editable(index) else QModelIndex()

    def selectionCommand(  # noqa: N802 - Qt's name
        self, index: Index, event: QEvent | None = None
    ) -> QItemSelectionModel.SelectionFlag:
        """Leave the selection as it is where the list of a cell opens for all of it."""
        if self._kept and event is not None and event.type() == QEvent.Type.MouseButtonRelease:
            return QItemSelectionModel.SelectionFlag.NoUpdate
        return super().selectionCommand(index, event)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Let Return edit a cell as F2 does, or do what a click on it would."""
        index = self.currentIndex()
        plain = not event.modifiers() or event.modifiers() == Qt.KeyboardModifier.KeypadModifier
        returned, spaced = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter), event.key() == Qt.Key.Key_Space
        if self.ticked is not None and (returned or spaced) and plain and index.isValid():
            boxed = index.flags() & Qt.ItemFlag.ItemIsUserCheckable
            self.tick_row(index if boxed else index.siblingAtColumn(self.ticked))
            return
        if returned and plain and index.isValid():
            if index.flags() & Qt.ItemFlag.ItemIsUserCheckable:
                tick(index)
            elif self._is_editable(index) and self.state() != QAbstractItemView.State.EditingState:
                self.edit(index)
            return
        super().keyPressEvent(event)

    def tick_row(self, box: QModelIndex) -> None:
        tick(box)

    def _is_editable(self, index: QModelIndex) -> bool:
        return index.isValid() and bool(index.flags() & Qt.ItemFlag.ItemIsEditable)

    # -- the picture ----------------------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        super().paintEvent(event)
        current = self.currentIndex()
        if current.isValid() and self.hasFocus() and not self.isRowHidden(current.row()):
            with QPainter(self.viewport()) as painter:
                painter.setPen(QColor(self._session.theme.accent))
                box = self.visualRect(current).adjusted(0, 0, -1, -1)
                painter.drawRect(box)
                painter.drawRect(box.adjusted(1, 1, -1, -1))

    def _share_out(self) -> None:
        """Give names and facts the room of a wider window, and take what is missing from the names."""
        least, whole = self._measured()
        widths, stacked = self._fitted(least, whole, stacked=False), False
        room = self.viewport().width()
        if sum(widths.values()) > room or any(widths[at] < whole[at] for at in widths):
            narrow = self._fitted(least, whole, stacked=True)
            stacked = room >= sum(narrow.values())
            widths = narrow if stacked else widths
        self.stack_headings(stacked=stacked)
        if widths and not self.horizontalHeader().stretchLastSection():
            widths[max(widths)] += max(room - sum(widths.values()), 0)
        for column, width in widths.items():
            self.horizontalHeader().resizeSection(column, width)
        self._fit_rows()

    def _follow_figures(self) -> None:
        """Take back from the names what a figure or a word needs that has just been chosen; else widths stay."""
        for at in self._widths:
            listed = bool(self._rows.columns[at].choices) and not callable(self._rows.columns[at].choices)
            if self.columnWidth(at) < (self._widest_shown(at) if listed else self._widest_figure(at)):
                self._share_out()
                return
        self._fit_rows()

    def _fit_rows(self) -> None:
        """Give a row two lines where a word of a list that differs from row to row does not fit into one."""
        metrics, head = self.fontMetrics(), self.verticalHeader()
        lists = [at for at in self._widths if callable(self._rows.columns[at].choices)]
        room = {at: self.columnWidth(at) - PADDING - CHEVRON for at in lists}
        for row in range(min(self._rows.height(), MEASURED) if lists else 0):
            cut = any(metrics.horizontalAdvance(self._rows.cell(row, at).text) > room[at] for at in lists)
            height = max(2 * metrics.lineSpacing() + 6 if cut else 0, head.defaultSectionSize())
            if not self.isRowHidden(row) and self.rowHeight(row) != height:
                head.resizeSection(row, height)
                self.updateGeometry()

    def _measured(self) -> tuple[dict[int, int], dict[int, int]]:
        """Return the width that each column in sight needs, and that in which its first cells are whole."""
        shown = {at: width for at, width in self._widths.items() if not self.isColumnHidden(at)}
        least = {at: max(w, self._widest_choice(at), self._widest_figure(at)) for at, w in shown.items()}
        return least, {at: self._widest_shown(at) for at in shown}

    def _fitted(self, least: Mapping[int, int], whole: Mapping[int, int], *, stacked: bool) -> dict[int, int]:
        """Return the width of each column that is :meth:`_measured`, with headings in two lines if ``stacked``."""
        words = {at: again(self._rows.columns[at].title) for at in least}
        heads = {at: heading_width(in_two_lines(title) if stacked else title) for at, title in words.items()}
        titles = {at: max(width, NARROWEST) for at, width in heads.items()}
        widths = {at: max(width, titles[at]) for at, width in least.items()}
        extra = self.viewport().width() - sum(widths.values())
        # What a scroll bar takes is taken from the names, so that it does not bring a second one with it.
        shares = self._roomy if extra >= 0 else {0: 1.0}
        for column, width in widths.items():
            change = max(int(shares.get(column, 0.0) * extra), -SQUEEZE)
            widths[column] = max(width + change, titles[column])
        missing = sum(widths.values()) - self.viewport().width()
        for column in widths:
            if missing > 0 and callable(self._rows.columns[column].choices):
                # Long words end in an ellipsis before a figure at the end is cut.
                widths[column] = max(widths[column] - missing, LONG_WORDS, titles[column])
        self._give_to_words(widths, titles, whole)
        return widths

    def _give_to_words(self, widths: dict[int, int], titles: Mapping[int, int], whole: Mapping[int, int]) -> None:
        """Give figures, then names and other words, the room to be whole, of what is left or others do not need."""
        needed = {at: max(titles[at], whole[at]) for at in widths}
        for at in sorted(widths, key=lambda at: not self._rows.columns[at].right):
            given = max(min(needed[at] - widths[at], self.viewport().width() - sum(widths.values())), 0)
            widths[at] += given
            for giver in sorted(widths, reverse=True):
                wrapped = callable(self._rows.columns[giver].choices) and widths[giver] < whole[giver]
                own = max(titles[giver], self._in_two_lines(giver)) if wrapped else needed[giver]
                given = max(min(needed[at] - widths[at], widths[giver] - own), 0)
                widths[at] += given
                widths[giver] -= given
            if self._rows.columns[at].right:  # a word that ends in an ellipsis can be read; half a figure misleads
                words = [one for one in widths if not self._rows.columns[one].right and widths[one] > titles[one]]
                longest = max(words, key=widths.__getitem__, default=at)
                given = min(max(needed[at] - widths[at], 0), MOST_GIVEN, widths[longest] - titles[longest])
                widths[at] += given
                widths[longest] -= given

    def _widest_figure(self, column: int) -> int:
        """Return the width in which the first figures of a column are whole; of one that is edited, no word counts."""
        declared = self._rows.columns[column]
        return self._widest_words(column, figures=declared.edit is not None) if declared.right else 0

    def _widest_words(self, column: int, *, figures: bool = False) -> int:
        """Return the width in which the first cells of a column are whole, but for words in a column of figures."""
        cells = [self._rows.cell(row, column) for row in range(min(self._rows.height(), MEASURED))]
        left = not self._rows.columns[column].right
        words = (c.text for c in cells if left or (c.right is not False and (c.key is not None or not figures)))
        return max(map(self.fontMetrics().horizontalAdvance, words), default=0) + PADDING

    def _in_two_lines(self, column: int) -> int:
        """Return the width in which the first cells of a list are whole in two lines."""
        cells = [self._rows.cell(row, column).text for row in range(min(self._rows.height(), MEASURED))]
        lines = (line for text in cells for line in in_two_lines(text).split("\n"))
        return max(map(self.fontMetrics().horizontalAdvance, lines), default=0) + PADDING + CHEVRON

    def _widest_shown(self, column: int) -> int:
        """Return the width in which what the first cells of a column show is whole, beside its chevron or tick."""
        words = self._widest_words(column)
        listed = isinstance(self.itemDelegateForColumn(column), ChoiceDelegate)
        return words + CHEVRON if listed else max(words, self._widest_choice(column))

    def _widest_choice(self, column: int) -> int:
        """Return the width in which every word that can be chosen in a column, or is beside a tick, is whole."""
        delegate, metrics = self.itemDelegateForColumn(column), self.fontMetrics()
        words = (self._rows.cell(row, column).text for row in range(min(self._rows.height(), MEASURED)))
        if isinstance(delegate, ChoiceDelegate):
            return delegate.width(metrics, words)
        if isinstance(delegate, TickDelegate):
            return max((delegate.width(metrics, text) for text in words if text), default=0)
        return 0

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        usual = self.verticalHeader().defaultSectionSize()
        more = sum(self.rowHeight(row) - usual for row in self.in_sight()[:IN_SIGHT])  # those of two lines
        return QSize(200, self.room_for(self._asked_for(min(max(self.whole_height, 1), IN_SIGHT))) + more)
