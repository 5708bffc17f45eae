"""The table of figures: ticked by a click or Space, the number of bins is typed."""

from __future__ import annotations

from PySide6.QtCore import QAbstractItemModel, QSize, Qt
from PySide6.QtWidgets import QLineEdit, QStyleOptionViewItem, QWidget

from workbench.gui.pages.statistics.figures_model import (
    BINS,
    HISTOGRAM,
    MEAN,
    MODE,
    NAME,
    QUANTILES,
    STATISTICS,
    SUM,
    FiguresModel,
)
from workbench.gui.session.session import Session
from workbench.gui.style.stylesheet import ROW
from workbench.gui.widgets.cell_delegates import Index, InkDelegate, TickDelegate, tick
from workbench.gui.widgets.settings_table import SettingsTable

WIDTHS = {NAME: 110, HISTOGRAM: 128, BINS: 56, MEAN: 110, QUANTILES: 110, SUM: 100, MODE: 110}
ROOMY = {NAME: 0.3, HISTOGRAM: 0.1, MEAN: 0.15, QUANTILES: 0.15}


class BinsDelegate(InkDelegate):
    """Edits the number of bins as text."""

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: Index) -> QWidget:  # noqa: N802
        """Return the field."""
        field = QLineEdit(parent)
        field.setObjectName("bins_editor")
        field.setAccessibleName("Number of bins; empty for the usual number")
        field.setFrame(False)
        field.setAlignment(Qt.AlignmentFlag.AlignRight)
        return field

    def setEditorData(self, editor: QWidget, index: Index) -> None:  # noqa: N802 - Qt's name
        """Show the present number, ready to be replaced."""
        assert isinstance(editor, QLineEdit)
        editor.setText(index.data(Qt.ItemDataRole.EditRole))
        editor.selectAll()

    def setModelData(self, editor: QWidget, model: QAbstractItemModel, index: Index) -> None:  # noqa: N802
        """Take the text if it differs."""
        assert isinstance(editor, QLineEdit)
        if editor.text() != index.data(Qt.ItemDataRole.EditRole):
            model.setData(index, editor.text())


class FiguresTable(SettingsTable):
    """One row for each protected column."""

    def __init__(self, session: Session, model: FiguresModel) -> None:
        super().__init__(
            session,
            model,
            "statistics_table",
            "Protected columns: which figures are released, and half of the interval to expect of each",
            widths=WIDTHS,
            roomy=ROOMY,
        )
        self.setItemDelegate(InkDelegate(self))
        self.setItemDelegateForColumn(BINS, BinsDelegate(self))
        for at in STATISTICS:
            self.setItemDelegateForColumn(at, TickDelegate(session, self))

    def tick(self, index: Index) -> None:
        """Tick a figure, or no longer, as Space does."""
        tick(index)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Ask for room for five columns."""
        return QSize(200, 6 * ROW)
