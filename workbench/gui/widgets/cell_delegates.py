"""How cells of a table of settings are edited and painted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from PySide6.QtCore import QAbstractItemModel, QEvent, QPointF, QRectF, Qt, QTimer
from PySide6.QtGui import QColor, QFontMetrics, QKeyEvent, QMouseEvent, QPainter, QPalette, QPen
from PySide6.QtWidgets import QComboBox, QLineEdit, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from workbench.gui.session.session import Session
from workbench.gui.style.language import again, tr_sentence
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.gui.widgets.table_model import Column, EditedModel, Index, in_two_lines

CHEVRON = 14  # pixels at the right end of a cell that say: here is a list to choose from

PADDING = 24  # pixels that the style sheet leaves free beside the text of a cell, both sides together

BESIDE_BOX = 34  # pixels from the left of a cell to the word beside its box

LONG_CHOICE = 340  # pixels of a list whose words differ from row to row


class InkDelegate(QStyledItemDelegate):
    """Keeps the colour of a cell where its row is selected."""

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:  # noqa: N802 - Qt's name
        """Draw what is selected in the ink of what is not."""
        super().initStyleOption(option, index)
        ink = index.data(Qt.ItemDataRole.ForegroundRole)
        if ink is not None:
            option.palette.setColor(QPalette.ColorRole.HighlightedText, ink)


class ChoiceDelegate(InkDelegate):
    """Edits a cell by a list of words, which is open at once; a chevron in the cell says that there is one."""

    def __init__(self, choices: Sequence[str] | Callable[[int], Sequence[str]], parent: QWidget) -> None:
        super().__init__(parent)
        self._choices = choices
        self._chosen = False  # the person has just pointed at a word

    def width(self, metrics: QFontMetrics, shown: Iterable[str]) -> int:
        """Return the width in which the words that are ``shown`` and those of every row are whole by the chevron."""
        words = [*shown, *(() if callable(self._choices) else map(tr_sentence, self._choices))]
        return max(map(metrics.horizontalAdvance, words), default=0) + PADDING + CHEVRON

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:  # noqa: N802 - Qt's name
        super().initStyleOption(option, index)
        if index.flags() & Qt.ItemFlag.ItemIsEditable:
            metrics, room = option.fontMetrics, option.rect.width() - PADDING - CHEVRON + 1  # a width is rounded
            two = metrics.horizontalAdvance(option.text) > room and option.rect.height() >= 2 * metrics.lineSpacing()
            lines = (in_two_lines(option.text) if two else option.text).split("\n")
            option.text = "\u2028".join(metrics.elidedText(line, Qt.TextElideMode.ElideRight, room) for line in lines)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        super().paint(painter, option, index)
        if not index.flags() & Qt.ItemFlag.ItemIsEditable:
            return
        right, middle = option.rect.right() - 7.5, option.rect.center().y() + 1.0
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(option.palette.color(QPalette.ColorRole.PlaceholderText), 1.4))
        painter.drawPolyline(
            [QPointF(right - 8, middle - 2), QPointF(right - 4, middle + 2), QPointF(right, middle - 2)]
        )
        painter.restore()

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: Index) -> QWidget:  # noqa: N802
        combo = ChoiceBox(parent)
        combo.setObjectName("choice_editor")
        if callable(self._choices):
            combo.view().setMinimumWidth(LONG_CHOICE)
        for word in self._choices(index.row()) if callable(self._choices) else self._choices:
            combo.addItem(tr_sentence(word), word)
        combo.activated.connect(lambda: self._done(combo))
        QTimer.singleShot(0, combo, combo.showPopup)
        return combo

    def updateEditorGeometry(  # noqa: N802 - Qt's name
        self, editor: QWidget, option: QStyleOptionViewItem, index: Index
    ) -> None:
        place = option.rect
        place.setWidth(max(place.width(), editor.sizeHint().width()))
        editor.setGeometry(place)

    def setEditorData(self, editor: QWidget, index: Index) -> None:  # noqa: N802 - Qt's name
        assert isinstance(editor, QComboBox)
        editor.setCurrentIndex(max(editor.findData(index.data(Qt.ItemDataRole.EditRole)), 0))

    def setModelData(self, editor: QWidget, model: QAbstractItemModel, index: Index) -> None:  # noqa: N802
        assert isinstance(editor, QComboBox)
        if editor.currentData() != index.data(Qt.ItemDataRole.EditRole) or self._chosen:
            model.setData(index, editor.currentData())

    def _done(self, combo: QComboBox) -> None:
        self._chosen = True
        self.commitData.emit(combo)
        self._chosen = False
        self.closeEditor.emit(combo, QStyledItemDelegate.EndEditHint.NoHint)


class TextDelegate(InkDelegate):
    """Edits a cell as text."""

    def __init__(self, column: Column, parent: QWidget) -> None:
        super().__init__(parent)
        self._column = column

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: Index) -> QWidget:  # noqa: N802
        field = QLineEdit(parent)
        field.setObjectName(self._column.field)
        field.setAccessibleName(again(self._column.spoken or self._column.called))
        field.setFrame(False)
        field.setAlignment(index.data(Qt.ItemDataRole.TextAlignmentRole))  # a figure stays where it is
        if not field.alignment() & Qt.AlignmentFlag.AlignRight:
            field.setPlaceholderText(again(self._column.hint))
        return field

    def setEditorData(self, editor: QWidget, index: Index) -> None:  # noqa: N802 - Qt's name
        assert isinstance(editor, QLineEdit)
        editor.setText(index.data(Qt.ItemDataRole.EditRole))
        editor.selectAll()

    def setModelData(self, editor: QWidget, model: QAbstractItemModel, index: Index) -> None:  # noqa: N802
        assert isinstance(editor, QLineEdit)
        assert isinstance(model, EditedModel)
        several = len(model.chosen(index.row())) > 1
        if editor.text() != index.data(Qt.ItemDataRole.EditRole) or (several and editor.isModified()):
            model.setData(index, editor.text())


class TickDelegate(QStyledItemDelegate):
    """Draws a tick as a box in the colours of the page, a word beside it; a click in the cell, or Space, ticks it."""

    def __init__(self, session: Session, parent: QWidget) -> None:
        super().__init__(parent)
        self._session = session

    def width(self, metrics: QFontMetrics, word: str) -> int:
        return BESIDE_BOX + metrics.horizontalAdvance(word) + 8

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:  # noqa: N802 - Qt's name
        """Leave the box and the word to :meth:`paint`."""
        super().initStyleOption(option, index)
        option.features &= ~QStyleOptionViewItem.ViewItemFeature.HasCheckIndicator
        option.text = ""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        super().paint(painter, option, index)
        state = index.data(Qt.ItemDataRole.CheckStateRole)
        if state is None:
            return
        theme, ticked = self._session.theme, Qt.CheckState(state) == Qt.CheckState.Checked
        place = QRectF(option.rect)
        box = QRectF(place.left() + 11.5, place.center().y() - 7, 14, 14)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(theme.accent if ticked else theme.muted), 1.2))
        painter.drawRoundedRect(box, 3, 3)
        if ticked:
            painter.setPen(QPen(QColor(theme.accent), 2))
            painter.drawPolyline([box.topLeft() + QPointF(*at) for at in ((3, 7), (6, 10), (11, 4))])
            painter.setPen(index.data(Qt.ItemDataRole.ForegroundRole) or QColor(theme.text))
            word = place.adjusted(BESIDE_BOX, 0, -4, 0)
            if painter.fontMetrics().horizontalAdvance(index.data()) > word.width():  # the tick says it alone
                painter.restore()
                return
            painter.drawText(place.adjusted(BESIDE_BOX, 0, 0, 0), Qt.AlignmentFlag.AlignVCenter, index.data())
        painter.restore()

    def editorEvent(  # noqa: N802 - Qt's name
        self, event: QEvent, model: QAbstractItemModel, option: QStyleOptionViewItem, index: Index
    ) -> bool:
        released = event.type() == QEvent.Type.MouseButtonRelease
        # The right button opens a menu.
        clicked = released and isinstance(event, QMouseEvent) and event.button() == Qt.MouseButton.LeftButton
        if index.flags() & Qt.ItemFlag.ItemIsUserCheckable and (
            clicked or (isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Space)
        ):
            tick(index)
            return True
        return False


def tick(index: Index) -> None:
    """Tick a cell that is free, or free one that is ticked."""
    ticked = Qt.CheckState(index.data(Qt.ItemDataRole.CheckStateRole)) == Qt.CheckState.Checked
    state = Qt.CheckState.Unchecked if ticked else Qt.CheckState.Checked
    model = index.model()
    model.setData(index, state.value, Qt.ItemDataRole.CheckStateRole)


def delegate_of(column: Column, session: Session, parent: QWidget) -> QStyledItemDelegate | None:
    """Return what edits and paints the cells of a column; ``None`` where they are plain."""
    if column.choices:
        return ChoiceDelegate(column.choices, parent)
    if column.field:
        return TextDelegate(column, parent)
    return TickDelegate(session, parent) if column.tick else None
