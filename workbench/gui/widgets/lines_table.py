"""A small table of texts, read only, such as the releases and the caps of the ledger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from PySide6.QtCore import QAbstractTableModel, QModelIndex, Qt
from PySide6.QtGui import QColor, QFontMetrics, QGuiApplication, QKeyEvent, QKeySequence, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

from workbench.gui.session.session import Session
from workbench.gui.style.stylesheet import ROW
from workbench.gui.widgets.cell_delegates import Index

NOWHERE = QModelIndex()
EXACT = Qt.ItemDataRole.UserRole
"""The role by which the model tells what is copied of a cell: its figure is shown rounded, and used with all digits."""


class Cell(NamedTuple):
    """What stands in a cell.

    Attributes:
        text: what is shown.
        look: the colour of the theme it is shown in.
        tip: what the pointer is told; empty for nothing.
        exact: what is copied where it is more than what is shown.
    """

    text: str
    look: str = "text"
    tip: str = ""
    exact: str = ""


class LinesModel(QAbstractTableModel):
    """Rows of cells under fixed headings."""

    def __init__(self, session: Session, headings: Sequence[str], right: Sequence[int]) -> None:
        super().__init__()
        self._session, self._headings, self._right = session, tuple(headings), frozenset(right)
        self._lines: list[tuple[Cell, ...]] = []

    def show_lines(self, lines: Sequence[Sequence[Cell]]) -> None:
        """Show other rows."""
        self.beginResetModel()
        self._lines = [tuple(line) for line in lines]
        self.endResetModel()

    def rowCount(self, parent: Index = NOWHERE) -> int:  # noqa: N802 - Qt's name
        """Return the number of rows."""
        return 0 if parent.isValid() else len(self._lines)

    def columnCount(self, parent: Index = NOWHERE) -> int:  # noqa: N802 - Qt's name
        """Return the number of columns."""
        return 0 if parent.isValid() else len(self._headings)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what Qt asks for about a cell."""
        cell = self._lines[index.row()][index.column()]
        if role == EXACT:
            return cell.exact or cell.text
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return cell.text
            case Qt.ItemDataRole.ToolTipRole:
                return cell.tip or None
            case Qt.ItemDataRole.ForegroundRole:
                return QColor(getattr(self._session.theme, cell.look))
            case Qt.ItemDataRole.TextAlignmentRole:
                return self._side(index.column())
        return None

    def headerData(  # noqa: N802 - Qt's name
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Return a heading."""
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return self._headings[section]
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.TextAlignmentRole:
            return self._side(section)
        return None

    def is_figure(self, column: int) -> bool:
        """Return whether a column holds figures, which stand on the right."""
        return column in self._right

    def _side(self, column: int) -> Qt.AlignmentFlag:
        side = Qt.AlignmentFlag.AlignRight if self.is_figure(column) else Qt.AlignmentFlag.AlignLeft
        return side | Qt.AlignmentFlag.AlignVCenter


MOST_SPREAD = 1.8
"""How much wider than its least width a column gets: figures far apart are hard to read as one line."""

LEAST_SHARE = 0.5
"""How far a column of words gives way to figures before the table is scrolled."""

PADDING = 24
"""Room left and right of a figure."""


class LinesTable(QTableView):
    """A table of :class:`LinesModel`; Ctrl+C copies the selected rows, their figures with all digits."""

    def __init__(self, session: Session, name: str, accessible: str, headings: Sequence[str], right: Sequence[int]):
        super().__init__()
        self.setObjectName(name)
        self.setAccessibleName(accessible)
        self._widths: tuple[int, ...] = ()
        self._least_share = LEAST_SHARE
        self.lines = LinesModel(session, headings, right)
        self.setModel(self.lines)
        self.lines.modelReset.connect(self._share_out)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setTabKeyNavigation(False)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.verticalHeader().setDefaultSectionSize(ROW)
        self.horizontalHeader().setHighlightSections(False)
        # Qt stretches the last column from its usual size and never below it: a table without rows would be scrolled.
        self.horizontalHeader().setDefaultSectionSize(PADDING)
        # Words take what is left over; a figure on the right would be torn from its line.
        self.horizontalHeader().setStretchLastSection(not self.lines.is_figure(len(headings) - 1))

    def set_widths(self, widths: Sequence[int], *, least_share: float = LEAST_SHARE) -> None:
        """Give every column its least width; a wider table gives each its part of the rest.

        Args:
            widths: in points.
            least_share: how far a column of words gives way to figures before the table is scrolled.
        """
        self._widths, self._least_share = tuple(widths), least_share
        self._share_out()

    @property
    def whole_width(self) -> int:
        """The width at which nothing is shortened or scrolled to, in points."""
        bar = self.verticalScrollBar().sizeHint().width()
        return sum(map(self._fitting, range(len(self._widths)))) + bar + 2 * self.frameWidth()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Share out the new width."""
        super().resizeEvent(event)
        self._share_out()

    def _share_out(self) -> None:
        if not self._widths:
            return
        # A figure that is cut reads as another figure: figures come first, words give way.
        wanted = [self._fitting(c) for c in range(len(self._widths))]
        least = [w if self.lines.is_figure(c) else min(w, self._widths[c]) for c, w in enumerate(wanted)]
        # What some words do not need goes to those that are longer.
        short, spare = sum(wanted) - sum(least), self.viewport().width() - sum(least)
        part = min(max(spare, 0) / max(short, 1), 1.0)
        least = [w + int(part * (more - w)) for w, more in zip(least, wanted, strict=True)]
        # Qt gives the last column, which takes the rest, no less than its heading.
        least[-1] = max(least[-1], self.horizontalHeader().sectionSizeHint(len(least) - 1))
        figures = sum(w for c, w in enumerate(least) if self.lines.is_figure(c))
        words = sum(w for c, w in enumerate(least) if not self.lines.is_figure(c))
        share = (self.viewport().width() - figures) / max(words, 1)
        more = max(1.0, min(self.viewport().width() / max(figures + words, 1), MOST_SPREAD))
        stretched = self.horizontalHeader().stretchLastSection()
        for column, width in enumerate(least[:-1] if stretched else least):
            factor = more if more > 1 or self.lines.is_figure(column) else max(min(share, 1.0), self._least_share)
            self.setColumnWidth(column, int(width * factor))

    def _fitting(self, column: int) -> int:
        """Return a width that the heading and every text of a column fit into."""
        metrics = QFontMetrics(self.font())
        texts = (str(self.lines.index(r, column).data()) for r in range(self.lines.rowCount()))
        widest = max(map(metrics.horizontalAdvance, texts), default=0) + PADDING
        figure = self.lines.is_figure(column)  # its usual width is that of its heading
        return max(widest, self._widths[column] if figure else self.horizontalHeader().sectionSizeHint(column))

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Copy the selected rows, tab-separated."""
        if not event.matches(QKeySequence.StandardKey.Copy):
            super().keyPressEvent(event)
            return
        rows = sorted({index.row() for index in self.selectionModel().selectedRows()})
        columns = range(self.lines.columnCount())
        texts = ["\t".join(str(self.lines.index(r, c).data(EXACT)) for c in columns) for r in rows]
        QGuiApplication.clipboard().setText("\n".join(texts))
