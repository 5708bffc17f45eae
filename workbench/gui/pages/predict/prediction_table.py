"""The predictions for images, a line each: the image, what it was taken for, how surely, and what it is."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import numpy as np
from PySide6.QtCore import QAbstractTableModel, QModelIndex, QSize, Qt
from PySide6.QtGui import QColor, QPixmap
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

from workbench.gui.session.session import Session
from workbench.gui.widgets.basic import named
from workbench.gui.widgets.cell_delegates import Index
from workbench.gui.widgets.copy_rows import CopyRows
from workbench.gui.widgets.thumbnail import thumbnail

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.release.model.image_predictions import ImagePredictions

SIDE, LINE = 44, 48
KEPT = 512
"""Small pictures that are kept: more than a large screen shows."""

NOWHERE = QModelIndex()
NUMBER, IMAGE, FILE, PREDICTED, CONFIDENCE, OWN = range(6)
HEADINGS = ("Number", "Image", "File", "Predicted", "Confidence", "Its class")
WIDTHS = (74, 60, 150, 92, 92, 60)
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


class PredictionModel(QAbstractTableModel):
    """All predictions, or the wrong ones, in the order of a column; only the lines in sight are made."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._found: ImagePredictions | None = None
        self._order: NDArray[np.int64] = np.empty(0, np.int64)
        self._only_wrong = False
        self._by, self._down = NUMBER, False
        self._drawn: OrderedDict[int, QPixmap] = OrderedDict()

    def show_predictions(self, found: ImagePredictions | None) -> None:
        """Show other predictions, in their own order."""
        self._found, self._only_wrong = found, False
        self._by, self._down = NUMBER, False
        self._drawn.clear()
        self._arrange()

    def show_only_wrong(self, *, only: bool) -> None:
        """Show those that are wrong ``only``, or all."""
        self._only_wrong = only
        self._arrange()

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Show them in the order of a column; of images themselves there is none."""
        self._by, self._down = column, order == Qt.SortOrder.DescendingOrder
        self._arrange()

    def _arrange(self) -> None:
        self.beginResetModel()
        self._order = np.empty(0, np.int64)
        found = self._found
        if found is not None:
            keys = {PREDICTED: found.codes, CONFIDENCE: found.chances, OWN: found.truth}
            key = keys.get(self._by)
            self._order = np.arange(found.rows) if key is None else np.argsort(key, kind="stable")
            if self._down:
                self._order = self._order[::-1]
            if self._only_wrong and found.truth is not None:
                self._order = self._order[(found.truth != found.codes)[self._order]]
        self.endResetModel()

    def rowCount(self, parent: Index = NOWHERE) -> int:  # noqa: N802 - Qt's name
        """Return the number of lines."""
        return 0 if parent.isValid() else len(self._order)

    def columnCount(self, parent: Index = NOWHERE) -> int:  # noqa: N802 - Qt's name
        """Return the number of columns."""
        return 0 if parent.isValid() else len(HEADINGS)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what Qt asks for about a cell."""
        if self._found is None:
            return None
        at, column = int(self._order[index.row()]), index.column()
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return self._text(at, column)
            case Qt.ItemDataRole.DecorationRole if column == IMAGE:
                return self._picture(at)
            case Qt.ItemDataRole.TextAlignmentRole:
                return _RIGHT if column in (NUMBER, CONFIDENCE) else _LEFT
            case Qt.ItemDataRole.ForegroundRole if column == OWN and self._wrong(at):
                return QColor(self._session.theme.danger)
        return None

    def headerData(  # noqa: N802 - Qt's name
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Return a heading."""
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return HEADINGS[section]
        return None

    def _wrong(self, at: int) -> bool:
        found = self._found
        return found is not None and found.truth is not None and bool(found.truth[at] != found.codes[at])

    def _text(self, at: int, column: int) -> str:
        found = self._found
        assert found is not None
        match column:
            case 0:
                return f"{at + 1:,}"
            case 2:
                return found.images.files[at] if found.images.files else ""
            case 3:
                return str(found.classes[found.codes[at]])
            case 4:
                return f"{100 * found.chances[at]:.1f} %"
            case 5 if found.truth is not None:
                return f"{'✕' if self._wrong(at) else '✓'} {found.classes[found.truth[at]]}"
        return ""

    def _picture(self, at: int) -> QPixmap:
        assert self._found is not None
        if at not in self._drawn:
            self._drawn[at] = thumbnail(self._found.images.images[at], SIDE)
            if len(self._drawn) > KEPT:
                self._drawn.popitem(last=False)
        return self._drawn[at]


class PredictionTable(QTableView):
    """The lines; a click on a heading sorts by it."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        named(self, "predict_table", "Predictions, private, not for release")
        self.lines = PredictionModel(session)
        self.setModel(self.lines)
        self.setIconSize(QSize(SIDE, SIDE))
        self.setSortingEnabled(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setShowGrid(False)
        self.setTabKeyNavigation(False)
        down, across = self.verticalHeader(), self.horizontalHeader()
        down.hide()
        down.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        down.setDefaultSectionSize(LINE)
        across.setHighlightSections(False)
        across.setSectionsClickable(True)
        across.setStretchLastSection(True)
        across.sectionClicked.connect(self._sort_by)
        for column, width in enumerate(WIDTHS):
            self.setColumnWidth(column, width)
        CopyRows(self, session, private=True)

    def show_predictions(self, found: ImagePredictions | None) -> None:
        """Show other predictions; columns that say nothing of them are hidden."""
        self.horizontalHeader().setSortIndicatorShown(False)
        self.lines.show_predictions(found)
        self.setColumnHidden(FILE, found is None or not found.images.files)
        self.setColumnHidden(OWN, found is None or found.truth is None)
        self.scrollToTop()

    def _sort_by(self, column: int) -> None:
        if column in (IMAGE, FILE):
            return
        head = self.horizontalHeader()
        again = head.isSortIndicatorShown() and head.sortIndicatorSection() == column
        down = again and head.sortIndicatorOrder() == Qt.SortOrder.AscendingOrder
        order = Qt.SortOrder.DescendingOrder if down else Qt.SortOrder.AscendingOrder
        head.setSortIndicator(column, order)
        head.setSortIndicatorShown(True)
        self.lines.sort(column, order)
        self.scrollToTop()
