"""A small table of labels whose words wrap: what a section of the page shows below its sentences."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from workbench.gui.widgets.basic import label


class WordTable(QWidget):
    """Headings and rows; figures are aligned to the right, words to the left."""

    def __init__(self, name: str, *, words: bool = False, widths: Sequence[int] = ()) -> None:
        """Make an empty table.

        Args:
            name: its object name; a cell is ``NAME_ROW_COLUMN``, counted from 0.
            words: whether all columns hold words.
            widths: the shares of the columns in the width; equal where none are given.
        """
        super().__init__()
        self.setObjectName(name)
        self._name, self._words, self._widths = name, words, widths
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 4, 0, 4)
        self._grid.setHorizontalSpacing(20)
        self._grid.setVerticalSpacing(5)
        self._cells: dict[tuple[int, int], QLabel] = {}

    def show_rows(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Show these headings and rows."""
        for line, cells in enumerate([header, *rows]):
            for column, text in enumerate(cells):
                self._cell(line, column).setText(text)
        self.setAccessibleName("; ".join(", ".join(cells) for cells in [header, *rows]))

    def text(self, row: int, column: int) -> str:
        """Return what a cell says."""
        return self._cells[row + 1, column].text()

    def _cell(self, line: int, column: int) -> QLabel:
        if (line, column) not in self._cells:
            made = label("", "muted" if line == 0 else "", wrap=True)
            if line:
                made.setObjectName(f"{self._name}_{line - 1}_{column}")
            if not self._words and column:
                made.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop)
            else:
                made.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
            self._grid.addWidget(made, line, column)
            usual = 3 if self._words and column else 2
            self._grid.setColumnStretch(column, self._widths[column] if self._widths else usual)
            self._cells[line, column] = made
        return self._cells[line, column]
