"""The predictions for images, a line each: the image, what it was taken for, how surely, and what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QAbstractItemView

from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_number
from workbench.gui.widgets.copy_rows import CopyRows
from workbench.gui.widgets.table_model import Cell, Column, TableModel
from workbench.gui.widgets.table_view import TableView
from workbench.gui.widgets.thumbnail import thumbnail

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.release.model.image_predictions import ImagePredictions

SIDE, LINE = 44, 48
NUMBER, IMAGE, FILE, PREDICTED, CONFIDENCE, OWN = range(6)


class PredictionModel(TableModel):
    """All predictions, or the wrong ones, in the order of a column; only the lines in sight are made."""

    def __init__(self, session: Session) -> None:
        columns = (
            Column(tr("Number"), lambda at: Cell(tr_number(self._place(at) + 1, ",")), width=74, right=True),
            Column(tr("Image"), self._image, width=60, sorts=False),
            Column(tr("File"), self._file, width=150, sorts=False),
            Column(tr("Predicted"), self._predicted, width=92),
            Column(tr("Confidence"), self._confidence, width=92, right=True),
            Column(tr("Its class"), self._own, width=60),
        )
        super().__init__(session, columns)
        self._found: ImagePredictions | None = None
        self._order: NDArray[np.int64] = np.empty(0, np.int64)
        self._only_wrong = False
        self._by, self._down = NUMBER, False

    def height(self) -> int:
        """Return the number of lines."""
        return len(self._order)

    def name_at(self, at: int) -> str:
        """Return the words that a prediction is found by, without its image."""
        return "  ".join(cell(at).text for cell in (self._file, self._predicted, self._own))

    def show_predictions(self, found: ImagePredictions | None) -> None:
        """Show other predictions, in their own order."""
        self._found, self._only_wrong = found, False
        self._by, self._down = NUMBER, False
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

    @property
    def _shown(self) -> ImagePredictions:
        assert self._found is not None
        return self._found

    def _place(self, at: int) -> int:
        return int(self._order[at])

    def _image(self, at: int) -> Cell:
        return Cell(picture=thumbnail(self._shown.images.images[self._place(at)], SIDE))

    def _file(self, at: int) -> Cell:
        files = self._shown.images.files
        return Cell(files[self._place(at)] if files else "")

    def _predicted(self, at: int) -> Cell:
        return Cell(str(self._shown.classes[self._shown.codes[self._place(at)]]))

    def _confidence(self, at: int) -> Cell:
        return Cell(tr("{x} %", x=tr_number(100 * self._shown.chances[self._place(at)], ".1f")))

    def _own(self, at: int) -> Cell:
        found, place = self._shown, self._place(at)
        if found.truth is None:
            return Cell()
        wrong = found.truth[place] != found.codes[place]
        return Cell(f"{'✕' if wrong else '✓'} {found.classes[found.truth[place]]}", "danger" if wrong else "")


class PredictionTable(TableView):
    """The lines; a click on a heading sorts by it."""

    def __init__(self, session: Session) -> None:
        self.lines = PredictionModel(session)
        super().__init__(self.lines, "predict_table", tr("Predictions, private, not for release"), row_height=LINE)
        self.setIconSize(QSize(SIDE, SIDE))
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        across = self.horizontalHeader()
        across.setSectionsClickable(True)
        across.setStretchLastSection(True)
        across.sectionClicked.connect(self._sort_by)
        for at, column in enumerate(self.lines.columns):
            self.setColumnWidth(at, column.width)
        CopyRows(self, session, private=True)

    def show_predictions(self, found: ImagePredictions | None) -> None:
        """Show other predictions; columns that say nothing of them are hidden."""
        self.horizontalHeader().setSortIndicatorShown(False)
        self.lines.show_predictions(found)
        self.setColumnHidden(FILE, found is None or not found.images.files)
        self.setColumnHidden(OWN, found is None or found.truth is None)
        self.scrollToTop()

    def _sort_by(self, column: int) -> None:
        if not self.lines.columns[column].sorts:
            return
        head = self.horizontalHeader()
        again = head.isSortIndicatorShown() and head.sortIndicatorSection() == column
        down = again and head.sortIndicatorOrder() == Qt.SortOrder.AscendingOrder
        order = Qt.SortOrder.DescendingOrder if down else Qt.SortOrder.AscendingOrder
        head.setSortIndicator(column, order)
        head.setSortIndicatorShown(True)
        self.lines.sort(column, order)
        self.scrollToTop()
