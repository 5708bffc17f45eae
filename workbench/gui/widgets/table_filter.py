"""Filters the rows of a table: by name, and by whether they still need something from the person."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import QCheckBox, QLineEdit, QWidget

from workbench.gui.style.language import tr, tr_later, tr_number
from workbench.gui.widgets.basic import label, named, row
from workbench.gui.widgets.settings_table import SettingsTable

WIDTH = 150
TIP = tr_later(
    "Show only the columns whose name holds these letters. Several can be selected (Ctrl+A: all "
    "in sight) and edited at once"
)
SHOW = {"columns": tr_later("Show columns by name"), "lines": tr_later("Show lines by name")}
NEEDS_TIP = tr_later("Show only what blocks a release: something open, wrong, guessed or refused")


class _Field(QLineEdit):
    """Goes on to the table by Return or the arrow down, and is emptied by Esc."""

    def __init__(self, table: SettingsTable) -> None:
        super().__init__()
        self._table = table

    def event(self, event: QEvent) -> bool:
        """Take Esc while there is something to empty, before the window does."""
        escape = isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape
        if escape and event.type() == QEvent.Type.ShortcutOverride and self.text():
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Take the three keys; the rest is text."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Down) and not event.modifiers():
            self._table.setFocus(Qt.FocusReason.ShortcutFocusReason)
        elif event.key() == Qt.Key.Key_Escape and self.text():
            self.clear()
        else:
            super().keyPressEvent(event)


class TableFilter(QWidget):
    """A field and a box, and how many rows they leave."""

    def __init__(self, table: SettingsTable, what: str = "columns", tip: str = "", *, needs: bool = True) -> None:
        """Make the filter of ``table``.

        Args:
            table: what is filtered.
            what: what its rows are.
            tip: what the field does; by default what it does with columns.
            needs: whether some rows need the person, so that there is a box for them.
        """
        super().__init__()
        self._table = table
        name = table.objectName()
        self.field = named(_Field(table), f"{name}_filter", tr(SHOW[what]), tip or tr(TIP))
        self.field.setPlaceholderText(tr("Filter by name"))
        self.field.setClearButtonEnabled(True)
        self.field.setFixedWidth(WIDTH)
        self.needs = named(
            QCheckBox(tr("needs you"), self), f"{name}_needs", tr("Only columns that need you"), tr(NEEDS_TIP)
        )
        self._count = label("", "muted", name=f"{name}_count")
        line = row(self._count, self.field, spacing=12)
        self.setLayout(line)
        self.needs.setVisible(needs)
        if needs:
            line.addWidget(self.needs)
        find = QShortcut(QKeySequence(QKeySequence.StandardKey.Find), self)
        find.activated.connect(lambda: self.field.setFocus(Qt.FocusReason.ShortcutFocusReason))
        self.field.textChanged.connect(self._show)
        self.needs.toggled.connect(self._show)
        table.shown_changed.connect(self._follow)

    def clear(self) -> None:
        """Show every row."""
        self.field.clear()
        self.needs.setChecked(False)

    def _show(self) -> None:
        self._table.show_only(self.field.text(), needs_only=self.needs.isChecked())

    def _follow(self) -> None:
        """Say how many rows are in sight, and forget what was asked of another table."""
        if not self._table.filtered:
            for part in (self.field, self.needs):
                part.blockSignals(True)
            self.clear()
            for part in (self.field, self.needs):
                part.blockSignals(False)
        shown, whole = sum(1 for _ in self._table.in_sight()), self._table.model().rowCount()
        self._count.setText(
            tr("{shown} of {whole}", shown=tr_number(shown, ","), whole=tr_number(whole, ","))
            if self._table.filtered
            else ""
        )
