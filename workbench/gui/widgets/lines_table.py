"""A small table of texts, read only, such as the releases and the caps of the ledger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QEvent
from PySide6.QtGui import QFontMetrics, QResizeEvent

from workbench.gui.session.session import Session
from workbench.gui.style.language import again
from workbench.gui.widgets.table_model import Cell, Column, TableModel
from workbench.gui.widgets.table_view import TableView
from workbench.render.fonts import scaled

MOST_SPREAD = 1.8
"""How much wider than its least width a column gets: figures far from each other are hard to read as one line."""

LEAST_SHARE = 0.5
"""How far a column of words gives way to figures before the table is scrolled."""

PADDING = 24
"""Room left and right of a figure."""


class LinesModel(TableModel):
    """Lines of texts, which are found by any of them, and sorted as the numbers that they begin with, or as words."""

    def name_at(self, at: int) -> str:
        """Return the words that a line is found by: all of them."""
        return "  ".join(self.cell(at, column).text for column in range(len(self.columns)))

    def sort_key(self, at: int, column: int) -> Any:
        """Return what a line is sorted by under a heading: figures before words, what is missing last."""
        cell = self.cell(at, column)
        if cell.key is not None:
            return (0, cell.key, "")
        text = (cell.exact or cell.text).strip()
        try:
            return (0, float(text), "")
        except ValueError:
            return None if text in ("", "–") else (1, 0.0, text.casefold())


class LinesTable(TableView):
    """A table whose columns are as wide as their texts; a wider table gives each its part of the rest."""

    def __init__(
        self,
        session: Session,
        name: str,
        accessible: str,
        columns: Sequence[Column],
        *,
        least_share: float = LEAST_SHARE,
        private: bool = False,
    ) -> None:
        """Make the table; words give way to figures down to ``least_share`` before the table is scrolled."""
        self.lines = LinesModel(session, columns)
        self._columns, self._least_share = tuple(columns), least_share
        self._widest: dict[int, int] = {}
        super().__init__(self.lines, name, accessible)
        self.let_copy(private)
        self.sort_by_headings(indicated=False)
        self.lines.modelReset.connect(self.make_room)
        self.lines.dataChanged.connect(lambda: self._widest.clear())
        self.lines.modelReset.connect(self.sort_again)
        # Qt stretches the last column from its usual size and never below it: a table without rows would be scrolled.
        self.horizontalHeader().setDefaultSectionSize(PADDING)
        # Words take what is left over; a figure on the right would be torn from its line.
        self.horizontalHeader().setStretchLastSection(not columns[-1].right)

    def show_columns(self, columns: Sequence[Column], lines: Sequence[Sequence[Cell]]) -> None:
        """Show lines under other columns."""
        self._columns = self.lines.columns = tuple(columns)
        self.lines.show_lines(lines)

    @property
    def whole_width(self) -> int:
        """The width at which nothing is shortened or scrolled to, in points."""
        bar = self.verticalScrollBar().sizeHint().width()
        return sum(map(self._fitting, range(len(self._columns)))) + bar + 2 * self.frameWidth()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        super().resizeEvent(event)
        self._share_out()

    def make_room(self) -> None:
        """Fit the columns to lines that took the place of as many others."""
        self._widest.clear()
        self._share_out()

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        """Measure the texts again where they are written larger or smaller."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._widest.clear()

    def _share_out(self) -> None:
        # A figure that is cut reads as another figure: figures come first, words give way.
        wanted = [self._fitting(at) for at in range(len(self._columns))]
        least = [w if c.right else min(w, c.width) for w, c in zip(wanted, self._columns, strict=True)]
        # What some words do not need goes to those that are longer.
        short, spare = sum(wanted) - sum(least), self.viewport().width() - sum(least)
        part = min(max(spare, 0) / max(short, 1), 1.0)
        least = [w + int(part * (more - w)) for w, more in zip(least, wanted, strict=True)]
        # Qt gives the last column, which takes the rest, no less than its heading.
        least[-1] = max(least[-1], self.horizontalHeader().sectionSizeHint(len(least) - 1))
        figures = sum(w for w, c in zip(least, self._columns, strict=True) if c.right)
        words = sum(least) - figures
        share = (self.viewport().width() - figures) / max(words, 1)
        more = max(1.0, min(self.viewport().width() / max(figures + words, 1), MOST_SPREAD))
        stretched = self.horizontalHeader().stretchLastSection()
        for at, width in enumerate(least[:-1] if stretched else least):
            factor = more if more > 1 or self._columns[at].right else max(min(share, 1.0), self._least_share)
            self.setColumnWidth(at, int(width * factor))

    def _fitting(self, at: int) -> int:
        """Return a width that the heading and every text of a column fit into."""
        column, widest = self._columns[at], self._widest.get(at)
        if widest is None:  # a table is laid out several times before it is seen
            texts = {self.lines.cell(row, at).text for row in range(self.lines.height())}
            widest = max(map(QFontMetrics(self.font()).horizontalAdvance, texts), default=0) + PADDING
            self._widest[at] = widest
        heading = self.horizontalHeader().sectionSizeHint(at)
        if column.right:  # the usual width of a figure is that of its heading in English
            heading = scaled(column.width) if again(column.title) == column.title else heading
        return max(widest, heading)

    def retranslate(self) -> None:
        self._share_out()
