"""Original and sanitised rows side by side; they scroll together and share the current cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QColor, QFont, QKeyEvent, QKeySequence, QShowEvent
from PySide6.QtWidgets import QAbstractItemView, QSizePolicy, QWidget

from workbench.gui.pages.preview.tasks import PreviewRows
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later
from workbench.gui.style.stylesheet import ROW
from workbench.gui.widgets.basic import Card, label, row
from workbench.gui.widgets.fast_table import LOOKED_AT, RowsTable, tint
from workbench.gui.widgets.fast_table_model import RowsModel
from workbench.gui.widgets.table_model import Index
from workbench.gui.widgets.table_view import TableFilter

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray


class DrawModel(RowsModel):
    """Rows of a preview as text, shape (rows, columns), and which of them a draw has changed."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._changed: dict[str, NDArray[np.bool_]] = {}
        self._bold = QFont()
        self._bold.setWeight(QFont.Weight.DemiBold)

    def show_draw(self, frame: pl.DataFrame | None, changed: dict[str, NDArray[np.bool_]] | None = None) -> None:
        """Show the rows of a draw and mark what it has changed."""
        self._changed = changed or {}
        self.show_frame(frame)

    def changes(self, rows: range, column: int) -> list[bool]:
        """Whether each of some neighbouring cells of a column became another one in the draw."""
        changed = self._changed.get(self.name_of(column))
        return super().changes(rows, column) if changed is None else changed[self.rows_of(rows)].tolist()

    def decimal_of(self, name: str) -> str | None:
        """Return the decimal mark of a column: a drawn one is written with a point."""
        return None if name in self._changed else super().decimal_of(name)

    def is_changed(self, row: int, column: int) -> bool:
        """Whether a cell became another one in the draw."""
        return self.changes(range(row, row + 1), column)[0]

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what Qt asks for about a cell."""
        roles = Qt.ItemDataRole
        if role == roles.AccessibleTextRole:
            cell = str(index.data())
            return tr("{cell}, changed", cell=cell) if self.is_changed(index.row(), index.column()) else cell
        if role == roles.BackgroundRole and self.is_changed(index.row(), index.column()):
            return QColor(tint(self.session.theme))
        if role == roles.FontRole and self.is_changed(index.row(), index.column()):
            return self._bold
        return super().data(index, role)


NOT_COPIED = tr_later("A preview is private and never leaves this page: release the table to have a copy of it.")


class PreviewTable(RowsTable):
    """One side. Copying is refused with its reason.

    Signals:
        copy_refused: somebody asked for a copy.
    """

    copy_refused = Signal()

    def __init__(self, session: Session, jobs: JobCenter, model: DrawModel, name: str, accessible: str) -> None:
        super().__init__(session, jobs, model, name, accessible, row_height=ROW - 6, private=True)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setDragEnabled(False)
        self.horizontalHeader().setDefaultSectionSize(88)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        if event.matches(QKeySequence.StandardKey.Copy) or event.matches(QKeySequence.StandardKey.Cut):
            self.copy_refused.emit()
            return
        super().keyPressEvent(event)


class Sides(QWidget):
    """Both sides.

    Signals:
        column_chosen: (name) the current cell, or a click on a head, is in another column.
    """

    column_chosen = Signal(str)

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__()
        self._left_model, self._right_model = DrawModel(session), DrawModel(session)
        self.left = PreviewTable(session, jobs, self._left_model, "preview_original", tr("Original rows: private"))
        self.right = PreviewTable(
            session, jobs, self._right_model, "preview_sanitised", tr("The same rows after one draw: private")
        )
        self.right.stand_beside(self.left)
        self._right_model.frame_changed.connect(self._fit)  # the left one has its rows by then
        self.filter = TableFilter(self.left, "rows")
        self.right.filtered_by(self.filter)
        layout = row(spacing=12)
        self.setLayout(layout)
        self.drawn = label("", "muted", name="preview_drawn")
        self.source = label(tr("Original"), "heading", name="preview_source")
        self._sanitised = label(tr("Sanitised"), "heading")
        session.theme_changed.connect(self._level)
        sides = (
            (self.left, self.source, None, self.filter),
            (self.right, self._sanitised, self.drawn, None),
        )
        for view, *head in sides:
            card = Card(row(*head, margins=(8, 4, 8, 0)), (view, 1), pad=8, spacing=4)
            # Neither side is wider for the text of its head.
            card.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Expanding)
            layout.addWidget(card, 1)
        for view, other in ((self.left, self.right), (self.right, self.left)):
            view.verticalScrollBar().valueChanged.connect(other.verticalScrollBar().setValue)
            view.horizontalScrollBar().valueChanged.connect(other.horizontalScrollBar().setValue)
            view.horizontalHeader().sectionResized.connect(
                lambda at, _, size, other=other: other.horizontalHeader().resizeSection(at, size)
            )
            view.horizontalHeader().sectionClicked.connect(self._head_clicked)
            view.selectionModel().currentChanged.connect(lambda now, _, other=other: self._follow(now, other))
            view.copy_refused.connect(lambda: session.notify("warning", tr(NOT_COPIED)))

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        """Put the rows of both sides on one level."""
        super().showEvent(event)
        self._level()

    def _level(self) -> None:
        self._sanitised.setMinimumHeight(self.filter.sizeHint().height())

    def show_rows(self, rows: PreviewRows | None) -> None:
        """Show one draw, or nothing."""
        self._left_model.show_draw(rows.original if rows else None)
        self._right_model.show_draw(rows.sanitised if rows else None, rows.changed if rows else None)

    def _fit(self, named_so: bool) -> None:
        """Make the columns wide enough for both sides: what is set on the left is followed by the right."""
        if named_so:
            return
        for column in range(min(self._right_model.columnCount(), LOOKED_AT)):
            self.left.setColumnWidth(column, max(self.left.fitting(column), self.right.fitting(column)))

    def _head_clicked(self, at: int) -> None:
        self.column_chosen.emit(self._left_model.name_of(at))

    def _follow(self, now: QModelIndex, other: PreviewTable) -> None:
        twin = other.model().index(now.row(), now.column())
        if twin.isValid() and other.currentIndex() != twin:
            other.setCurrentIndex(twin)
        if now.isValid():
            self.column_chosen.emit(self._left_model.name_of(now.column()))
