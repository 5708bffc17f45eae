"""What every table looks like: plain rows of one height, a tip for what is cut, a copy of what is selected."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from PySide6.QtCore import QEvent, QModelIndex, Qt
from PySide6.QtGui import QAction, QHelpEvent, QKeySequence
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QToolTip

from workbench.gui.style.language import tr
from workbench.gui.style.stylesheet import ROW
from workbench.gui.widgets.basic import named
from workbench.gui.widgets.table_model import EXACT, Roles, TableModel


class TableView(QTableView):
    """A table whose rows can be sorted: they are moved in the view alone, and the model keeps its order."""

    def __init__(self, model: TableModel, name: str, accessible: str, *, row_height: int = ROW) -> None:
        super().__init__()
        self._rows = model
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
        """Show the whole text of a cell that is cut, above its tip where that does not say it."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            index = self.indexAt(event.pos())
            cut = index.isValid() and self.sizeHintForIndex(index).width() > self.columnWidth(index.column())
            text, tip = str(index.data() or ""), str(index.data(Roles.ToolTipRole) or "")
            if cut and text not in tip:
                QToolTip.showText(event.globalPos(), f"{text}\n\n{tip}".strip(), self)
                return True
        return super().viewportEvent(event)

    def add_action(self, name: str, words: str, act: Callable[[], object], tip: str, key: str = "") -> QAction:
        """Return another entry of the context menu; its key works without it."""
        action = QAction(words, self)
        action.setObjectName(f"{self.objectName()}_{name}")
        action.setToolTip(tip)
        action.triggered.connect(lambda _checked: act())
        if key:
            action.setShortcut(QKeySequence(key))
            action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        self.addAction(action)
        return action

    def sort_by_headings(self) -> None:
        """Let a click on a heading sort, and a key do the same."""
        heads = self.horizontalHeader()
        heads.setSectionsClickable(True)
        heads.setSortIndicatorShown(True)
        heads.setSortIndicatorClearable(True)  # the third click shows the first order again
        heads.setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        heads.sortIndicatorChanged.connect(self._sort)
        self.add_action("sort", tr("Sort by This Column"), self._sort_by_current, "", "Alt+S")

    def _sort(self, column: int, order: Qt.SortOrder) -> None:
        rows = self._rows.order()
        if column >= 0 and not self._rows.columns[column].sorts:
            self.horizontalHeader().setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
            return
        if column >= 0:
            keys = {row: self._rows.sort_key(row, column) for row in rows}
            known = sorted((r for r in rows if keys[r] is not None), key=lambda r: keys[r])
            if order == Qt.SortOrder.DescendingOrder:
                known.reverse()
            rows = [*known, *(r for r in rows if keys[r] is None)]
        head = self.verticalHeader()
        head.blockSignals(True)  # the view would lay itself out at every row that moves
        for place, row in enumerate(rows):
            if head.visualIndex(row) != place:
                head.moveSection(head.visualIndex(row), place)
        head.blockSignals(False)
        self.updateEditorGeometries()
        self.viewport().update()

    def sort_again(self) -> None:
        """Keep the chosen order, or the model's own, where what it goes by is another now."""
        heads = self.horizontalHeader()
        self._sort(heads.sortIndicatorSection(), heads.sortIndicatorOrder())

    def _sort_by_current(self) -> None:
        """Do by a key what a click on the heading of the current cell does."""
        heads, column = self.horizontalHeader(), self.currentIndex().column()
        again = heads.sortIndicatorSection() == column
        descending = again and heads.sortIndicatorOrder() == Qt.SortOrder.DescendingOrder
        order = Qt.SortOrder.DescendingOrder if again else Qt.SortOrder.AscendingOrder
        heads.setSortIndicator(-1 if descending else column, Qt.SortOrder.AscendingOrder if descending else order)

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
