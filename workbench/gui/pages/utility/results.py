"""The figures of the curve as a table: sorted by a click on a heading, copied as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QSortFilterProxyModel, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

from workbench.gui.widgets.basic import named
from workbench.gui.widgets.cell_delegates import Index
from workbench.render.palette import SIGNS, STYLES
from workbench.render.ticks import plain_number
from workbench.render.values import CurveFigure

HEADINGS = ("way of training", "ε", "mean", "± standard error")
TIPS = (
    "What was trained, with the sign of its line",
    "Privacy loss of a whole row; – where it does not matter",
    "Mean over the repeats on rows that were held out",
    "How sure the mean is: its standard error over the repeats",
)


@dataclass(frozen=True, slots=True)
class Result:
    """One line: what was trained at which ε (``None``: any), and how good it was."""

    name: str
    sign: str
    epsilon: float | None
    mean: float
    spread: float | None

    def texts(self) -> tuple[str, ...]:
        """Return what stands in each column."""
        epsilon = "–" if self.epsilon is None else plain_number(self.epsilon)
        return self.name, epsilon, f"{self.mean:.4f}", "–" if self.spread is None else f"{self.spread:.4f}"

    def keys(self) -> tuple[Any, ...]:
        """Return what each column is sorted by; what has none comes first."""
        return self.name, self.epsilon or 0.0, self.mean, -1.0 if self.spread is None else self.spread


def results(figure: CurveFigure) -> tuple[Result, ...]:
    """Return the lines of ``figure``: its levels, then its points from left to right."""
    found = [Result(b.name, SIGNS[STYLES[b.style].marker], None, b.value, None) for b in figure.baselines]
    for series in figure.series:
        sign = SIGNS[STYLES[series.style].marker]
        for x, mean, high in zip(series.x, series.mean, series.high, strict=True):
            found.append(Result(series.name, sign, x, mean, high - mean))
    return tuple(found)


class ResultsModel(QAbstractTableModel):
    """The lines of one figure."""

    def __init__(self) -> None:
        super().__init__()
        self._rows: tuple[Result, ...] = ()
        self.headings: tuple[str, ...] = HEADINGS

    def show_rows(self, rows: tuple[Result, ...], against: str = "") -> None:
        """Show ``rows``, by ε or by what they are ``against``; lines that are there keep their place and selection."""
        self.headings = tuple(against if against and heading == "ε" else heading for heading in HEADINGS)
        former = [(r.name, r.epsilon) for r in self._rows]
        if former == [(r.name, r.epsilon) for r in rows]:
            self._rows = rows
            if rows:
                self.dataChanged.emit(self.index(0, 0), self.index(len(rows) - 1, len(HEADINGS) - 1))
            return
        self.beginResetModel()
        self._rows = rows
        self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: N802, B008 - Qt's name and default
        """Return the number of lines."""
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: N802, B008 - Qt's name and default
        """Return the number of columns."""
        return 0 if parent.isValid() else len(HEADINGS)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return the text of a cell, what it is sorted by, or where it stands."""
        result, column = self._rows[index.row()], index.column()
        match role:
            case Qt.ItemDataRole.DisplayRole:
                text = result.texts()[column]
                return f"{result.sign}  {text}" if column == 0 else text
            case Qt.ItemDataRole.UserRole:
                return result.keys()[column]
            case Qt.ItemDataRole.EditRole:
                return result.texts()[column]
            case Qt.ItemDataRole.TextAlignmentRole if column:
                return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        return None

    def headerData(  # noqa: N802 - Qt's name
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Return a heading, or what it means."""
        if orientation != Qt.Orientation.Horizontal:
            return None
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return self.headings[section]
            case Qt.ItemDataRole.ToolTipRole:
                return TIPS[section] if self.headings[section] == HEADINGS[section] else "What differs along the line"
            case Qt.ItemDataRole.TextAlignmentRole:
                side = Qt.AlignmentFlag.AlignRight if section else Qt.AlignmentFlag.AlignLeft
                return side | Qt.AlignmentFlag.AlignVCenter
        return None


class ResultsTable(QTableView):
    """The table; a click on a heading sorts, and what is copied has the badge as its first line."""

    def __init__(self) -> None:
        super().__init__()
        named(self, "curve_table", "Figures of the curve", "A click on a heading sorts; Ctrl+C copies what is selected")
        self._model = ResultsModel()
        self._sorted = QSortFilterProxyModel(self)
        self._sorted.setSortRole(Qt.ItemDataRole.UserRole)
        self._sorted.setSourceModel(self._model)
        self.setModel(self._sorted)
        self.setSortingEnabled(True)
        self.horizontalHeader().setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.horizontalHeader().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.verticalHeader().hide()
        self.setShowGrid(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self._badge = ""

    def show_figure(self, figure: CurveFigure | None) -> None:
        """Show the figures of ``figure``, or nothing."""
        self._badge = "" if figure is None else figure.badge
        if figure is None:
            self._model.show_rows(())
        else:
            self._model.show_rows(results(figure), figure.against)

    def lines(self) -> list[list[str]]:
        """Return the texts in the order in which they are shown."""
        order = range(self._sorted.rowCount())
        return [
            [self._sorted.index(row, column).data(Qt.ItemDataRole.EditRole) for column in range(4)] for row in order
        ]

    def copy(self) -> None:
        """Put the selected lines, or all of them, on the clipboard as text."""
        chosen = sorted({index.row() for index in self.selectionModel().selectedRows()})
        lines = self.lines()
        kept = [lines[row] for row in chosen] if chosen else lines
        head = [f"# {self._badge}"] if self._badge else []
        text = "\n".join([*head, "\t".join(self._model.headings), *("\t".join(line) for line in kept)])
        QGuiApplication.clipboard().setText(text + "\n")
