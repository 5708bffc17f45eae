"""What every table looks like: plain rows of one height, a tip for what is cut, a copy of what is selected."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QAbstractItemModel, QEvent, QModelIndex, Qt
from PySide6.QtGui import QGuiApplication, QHelpEvent, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QToolTip

from workbench.gui.style.stylesheet import ROW
from workbench.gui.widgets.basic import named
from workbench.gui.widgets.table_model import EXACT, Roles


class TableView(QTableView):
    """A table that is read; Ctrl+C copies the selected rows, their figures with all digits."""

    def __init__(self, model: QAbstractItemModel, name: str, accessible: str, *, row_height: int = ROW) -> None:
        super().__init__()
        named(self, name, accessible)
        self.setModel(model)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setTabKeyNavigation(False)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.verticalHeader().setDefaultSectionSize(row_height)
        self.horizontalHeader().setHighlightSections(False)

    def viewportEvent(self, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Show the whole text of a cell that is cut and has no tip of its own."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            index = self.indexAt(event.pos())
            cut = index.isValid() and self.sizeHintForIndex(index).width() > self.columnWidth(index.column())
            if cut and not index.data(Roles.ToolTipRole):
                QToolTip.showText(event.globalPos(), str(index.data() or ""), self)
                return True
        return super().viewportEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Copy the selected rows, tab-separated."""
        if not event.matches(QKeySequence.StandardKey.Copy):
            super().keyPressEvent(event)
            return
        rows = sorted({index.row() for index in self.selectionModel().selectedRows()})
        QGuiApplication.clipboard().setText("\n".join(self.line(row) for row in rows))

    def line(self, row: int) -> str:
        """Return the cells of a row as they are copied, tab-separated."""
        columns = range(self.model().columnCount())
        return "\t".join(copied(self.model().index(row, column)) for column in columns)


def copied(index: QModelIndex) -> str:
    """Return what is copied of a cell: what is shown, with all digits where it has more."""
    exact = index.data(EXACT)
    return str((index.data() if exact is None else exact) or "")


def headings(view: QTableView, columns: Iterable[int]) -> list[str]:
    """Return the titles of some columns."""
    return [str(view.model().headerData(column, Qt.Orientation.Horizontal) or "") for column in columns]
