"""The table of shares: actions and mechanisms open on a key, shares are typed, locks are ticked."""

from __future__ import annotations

from PySide6.QtCore import QAbstractItemModel, QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QPen, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QComboBox,
    QHeaderView,
    QLineEdit,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from workbench.gui.pages.protect.share_model import ACTION, ACTIONS, ERROR, LOCK, MECHANISM, NAME, SHARE, ShareModel
from workbench.gui.session.session import Session
from workbench.gui.style.stylesheet import ROW
from workbench.gui.widgets.cell_delegates import ChoiceDelegate, Index, InkDelegate
from workbench.gui.widgets.explain import Explainable

WIDTHS = {NAME: 106, ACTION: 76, MECHANISM: 226, SHARE: 113, LOCK: 80, ERROR: 128}
"""What a window of 1280 needs: a figure that is cut reads as another one, a name does not."""

ROOMY = {NAME: 0.2, MECHANISM: 0.1}
"""Which columns take what a wider window leaves; the last takes the rest."""

SQUEEZE = 40
"""Pixels that the names give at most to a narrow window."""


class MechanismDelegate(ChoiceDelegate):
    """Edits a mechanism by the list of those that fit the attribute, each with its error."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__((), parent)

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: Index) -> QWidget:  # noqa: N802
        """Return the list."""
        model = index.model()
        assert isinstance(model, ShareModel)
        self._choices = [words for words, _ in model.choices_at(index.row())]
        combo = super().createEditor(parent, option, index)
        assert isinstance(combo, QComboBox)
        combo.view().setMinimumWidth(340)
        return combo


class ShareDelegate(QStyledItemDelegate):
    """Edits a share as text."""

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: Index) -> QWidget:  # noqa: N802
        """Return the field."""
        field = QLineEdit(parent)
        field.setObjectName("share_editor")
        field.setAccessibleName("Share of ε")
        field.setFrame(False)
        field.setAlignment(Qt.AlignmentFlag.AlignRight)
        return field

    def setEditorData(self, editor: QWidget, index: Index) -> None:  # noqa: N802 - Qt's name
        """Show the present share, ready to be replaced."""
        assert isinstance(editor, QLineEdit)
        editor.setText(index.data(Qt.ItemDataRole.EditRole))
        editor.selectAll()

    def setModelData(self, editor: QWidget, model: QAbstractItemModel, index: Index) -> None:  # noqa: N802
        """Take the text if it differs."""
        assert isinstance(editor, QLineEdit)
        if editor.text() != index.data(Qt.ItemDataRole.EditRole):
            model.setData(index, editor.text())


class LockDelegate(QStyledItemDelegate):
    """Draws a lock as a box in the colours of the page; a click anywhere in the cell, or Space, ticks it."""

    def __init__(self, session: Session, parent: QWidget) -> None:
        super().__init__(parent)
        self._session = session

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:  # noqa: N802 - Qt's name
        """Leave the box and the word to :meth:`paint`."""
        super().initStyleOption(option, index)
        option.features &= ~QStyleOptionViewItem.ViewItemFeature.HasCheckIndicator
        option.text = ""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw one cell."""
        super().paint(painter, option, index)
        state = index.data(Qt.ItemDataRole.CheckStateRole)
        if state is None:
            return
        theme, locked = self._session.theme, Qt.CheckState(state) == Qt.CheckState.Checked
        place = QRectF(option.rect)
        box = QRectF(place.left() + 11.5, place.center().y() - 7, 14, 14)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(theme.accent if locked else theme.muted), 1.2))
        painter.drawRoundedRect(box, 3, 3)
        if locked:
            painter.setPen(QPen(QColor(theme.accent), 2))
            painter.drawPolyline([box.topLeft() + QPointF(*at) for at in ((3, 7), (6, 10), (11, 4))])
            painter.setPen(QColor(theme.text))
            painter.drawText(place.adjusted(34, 0, 0, 0), Qt.AlignmentFlag.AlignVCenter, index.data())
        painter.restore()

    def editorEvent(  # noqa: N802 - Qt's name
        self, event: QEvent, model: QAbstractItemModel, option: QStyleOptionViewItem, index: Index
    ) -> bool:
        """Tick by a click or by Space."""
        clicked = event.type() == QEvent.Type.MouseButtonRelease
        if index.flags() & Qt.ItemFlag.ItemIsUserCheckable and (
            clicked or (isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Space)
        ):
            tick(index)
            return True
        return False


def tick(index: Index) -> None:
    """Lock a share that is free, or free one that is locked."""
    ticked = Qt.CheckState(index.data(Qt.ItemDataRole.CheckStateRole)) == Qt.CheckState.Checked
    state = Qt.CheckState.Unchecked if ticked else Qt.CheckState.Checked
    model = index.model()
    assert isinstance(model, ShareModel)
    model.setData(index, state.value, Qt.ItemDataRole.CheckStateRole)


class ShareTable(QTableView):
    """One row per attribute."""

    def __init__(self, session: Session, model: ShareModel) -> None:
        super().__init__()
        self.setObjectName("share_table")
        self.setAccessibleName("Attributes: action, mechanism, share of ε and expected error of each")
        self.setModel(model)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        triggers = QAbstractItemView.EditTrigger
        self.setEditTriggers(
            triggers.DoubleClicked | triggers.EditKeyPressed | triggers.AnyKeyPressed | triggers.SelectedClicked
        )
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setTabKeyNavigation(False)
        rows = self.verticalHeader()
        rows.hide()
        rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        rows.setDefaultSectionSize(ROW)
        heads = self.horizontalHeader()
        heads.setHighlightSections(False)
        heads.setStretchLastSection(True)
        heads.setMinimumSectionSize(56)
        for column, width in WIDTHS.items():
            heads.resizeSection(column, width)
        self.setItemDelegateForColumn(ACTION, ChoiceDelegate(ACTIONS, self))
        self.setItemDelegateForColumn(MECHANISM, MechanismDelegate(self))
        self.setItemDelegateForColumn(SHARE, ShareDelegate(self))
        self.setItemDelegateForColumn(ERROR, InkDelegate(self))
        self.setItemDelegateForColumn(LOCK, LockDelegate(session, self))
        Explainable(self, session, lambda: model.asked_at(self.currentIndex().row()))

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Give names and mechanisms the room of a wider window, and take what is missing from the names."""
        super().resizeEvent(event)
        extra = self.viewport().width() - sum(WIDTHS.values())
        # What a scroll bar takes is taken from the names, so that it does not bring a second one with it.
        shares = ROOMY if extra >= 0 else {NAME: 1.0}
        for column in ROOMY:
            change = max(int(shares.get(column, 0.0) * extra), -SQUEEZE)
            self.horizontalHeader().resizeSection(column, WIDTHS[column] + change)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Ask for room for three attributes."""
        return QSize(200, 4 * ROW)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Let Return edit a cell as F2 does, and tick a lock as Space does."""
        index = self.currentIndex()
        plain = not event.modifiers() or event.modifiers() == Qt.KeyboardModifier.KeypadModifier
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and plain and index.isValid():
            if index.flags() & Qt.ItemFlag.ItemIsUserCheckable:
                tick(index)
            elif index.flags() & Qt.ItemFlag.ItemIsEditable and self.state() != QAbstractItemView.State.EditingState:
                self.edit(index)
            return
        super().keyPressEvent(event)
