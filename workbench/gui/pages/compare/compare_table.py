"""The table of all runs: sorted by a click on a heading, filtered by typing, its lines pinned by a tick."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent

from workbench.gui.pages.compare.cells import COLUMNS, FIGURE, PIN, cells, searched
from workbench.gui.pages.compare.lines import Line
from workbench.gui.session.session import Session
from workbench.gui.widgets.cell_delegates import tick
from workbench.gui.widgets.copy_rows import CopyRows
from workbench.gui.widgets.settings_table import SettingsTable
from workbench.gui.widgets.table_model import TICKABLE, Cell, Column, EditedModel
from workbench.render.comparison_figure import free_style
from workbench.render.palette import SIGNS, STYLES
from workbench.studies.curve import MOST_REGIMES
from workbench.studies.metrics import Metric

TOO_MANY = f"At most {MOST_REGIMES} lines can be drawn together: untick one of them first."
PIN_HELP = "Tick a line to draw it in the picture; at most seven are drawn together"
NOT_DRAWN = "This model cannot be drawn, because its card states no accuracy on a public test table"


class RunsModel(EditedModel):
    """All lines and which of them are pinned.

    Attributes:
        lines: the lines, in the order in which they came.
        pins: the keys of the pinned lines in the order in which they were pinned, each with the style it is drawn in.

    Signals:
        pinned: a person has pinned a line, or no longer.
    """

    pinned = Signal()

    def __init__(self, session: Session) -> None:
        pin = Column("Pin", self._pin, PIN_HELP, width=58, tick=self._take_pin)
        super().__init__(session, (pin, *COLUMNS))
        self.lines: tuple[Line, ...] = ()
        self.pins: dict[str, str] = {}

    def show_runs(self, lines: tuple[Line, ...], metric: Metric | None, epsilon: float | None) -> None:
        """Show ``lines`` with their figures of ``metric`` at ``epsilon``; pins of lines that have gone are dropped."""
        same = [line.key for line in lines] == [line.key for line in self.lines]
        self.lines = lines
        known = {line.key for line in lines}
        self.pins = {key: style for key, style in self.pins.items() if key in known}
        self._name_figure(metric)
        self.show_lines([cells(line, metric, epsilon) for line in lines], same=same)

    def _name_figure(self, metric: Metric | None) -> None:
        title, help_text = "Figure", ""
        if metric is not None:
            better = "higher" if metric.higher else "lower"
            title = metric.title
            help_text = f"{metric.title} ({metric.unit}; {better} is better): mean ± its standard error"
        self.retitle(FIGURE, title, help_text)

    def pin(self, keys: Sequence[str]) -> None:
        """Pin these lines in place of the former ones."""
        self.pins = {}
        for line in self.lines:
            if line.key in keys and len(self.pins) < MOST_REGIMES:
                self.pins[line.key] = free_style(line.kind, self.pins.values())
        self.refresh()

    def pinned_lines(self) -> list[tuple[Line, str]]:
        """Return the pinned lines in the order of the pins, each with its style."""
        by_key = {line.key: line for line in self.lines}
        return [(by_key[key], style) for key, style in self.pins.items()]

    def name_at(self, at: int) -> str:
        """Return the words that a line is found by."""
        return searched(self.lines[at])

    def _pin(self, at: int) -> Cell:
        """Return the sign that a line is drawn with; the pinned ones are sorted first."""
        line = self.lines[at]
        style = STYLES[self.pins[line.key]] if line.key in self.pins else None
        cell = Cell(
            tip=PIN_HELP if line.can_be_drawn else NOT_DRAWN,
            key=style is None,
            ticked=style is not None if line.can_be_drawn else None,
            spoken="not pinned",
        )
        if style is None:
            return cell
        sign, colour = SIGNS[style.marker], self.session.theme.series(style)
        return cell._replace(text=sign, look=colour, exact="pinned", spoken="pinned")

    def _take_pin(self, at: int, ticked: bool) -> bool:
        line = self.lines[at]
        if not ticked:
            self.pins.pop(line.key, None)
        elif line.key not in self.pins:
            if len(self.pins) >= MOST_REGIMES:
                self.session.notify("warning", TOO_MANY)
                return False
            self.pins[line.key] = free_style(line.kind, self.pins.values())
        self.refresh()
        self.pinned.emit()
        return True


class RunsTable(SettingsTable):
    """One row for each line; Space or Return pins the row that the keys are in."""

    def __init__(self, session: Session, model: RunsModel) -> None:
        super().__init__(session, model, "compare_table", "Every study of this session and every released model")
        self._runs = model
        CopyRows(self, session, private=self._private)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Pin the current line, whichever of its cells is the current one."""
        keys = (Qt.Key.Key_Space, Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if event.key() in keys and not event.modifiers() and self.currentIndex().isValid():
            at = self._runs.index(self.currentIndex().row(), PIN)
            if at.flags() == TICKABLE:
                tick(at)
            else:
                self._session.notify("warning", f"{NOT_DRAWN}.")
            return
        super().keyPressEvent(event)

    def _private(self, rows: Sequence[int]) -> bool:
        """Whether some of these rows were computed from private ones."""
        return any(self._runs.lines[row].study is not None for row in rows)
