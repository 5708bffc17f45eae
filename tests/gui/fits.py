"""Whether everything that is shown is shown whole: no clipped text, nothing outside its place."""

from collections.abc import Iterator

from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractScrollArea,
    QCheckBox,
    QComboBox,
    QLabel,
    QLineEdit,
    QPushButton,
    QRadioButton,
    QScrollArea,
    QSlider,
    QStyle,
    QStyleOptionButton,
    QStyleOptionComboBox,
    QWidget,
)

from workbench.gui.widgets.formatting import MAY_BREAK

KINDS = (QLabel, QAbstractButton, QComboBox, QLineEdit, QAbstractItemView, QSlider)
SLACK = 1
"""Pixels that rounding may take."""


def misfits(window: QWidget) -> list[str]:
    """Return a line for every visible widget of ``window`` whose text or place does not fit."""
    found = []
    for widget in window.findChildren(QWidget):
        if isinstance(widget, KINDS) and widget.isVisible() and not belongs_to_a_part(widget):
            found += [f"{name_of(widget)}: {fault}" for fault in (*clipped(widget), *outside(widget, window))]
    return found


def belongs_to_a_part(widget: QWidget) -> bool:
    """Whether it is a piece of a table or a combo box, which lays it out itself."""
    parent = widget.parentWidget()
    return isinstance(parent, QAbstractItemView | QComboBox) or widget.objectName().startswith("qt_")


def name_of(widget: QWidget) -> str:
    """Return how a person finds the widget in the code."""
    own = widget.objectName() or (widget.text()[:40] if isinstance(widget, QLabel | QAbstractButton) else "")
    parent = widget.parentWidget()
    while parent is not None and not parent.objectName():
        parent = parent.parentWidget()
    return f"{type(widget).__name__} {own!r} in {parent.objectName() if parent else 'nothing'}"


def clipped(widget: QWidget) -> Iterator[str]:
    """Yield how the text of ``widget`` is cut off."""
    if isinstance(widget, QLabel) and widget.text():
        yield from clipped_label(widget)
    elif isinstance(widget, QCheckBox | QRadioButton):
        if widget.sizeHint().width() > widget.width() + SLACK:
            yield f"{widget.text()!r} needs {widget.sizeHint().width()} pixels and has {widget.width()}"
    elif isinstance(widget, QPushButton) and widget.text():
        option = QStyleOptionButton()
        widget.initStyleOption(option)
        room = widget.style().subElementRect(QStyle.SubElement.SE_PushButtonContents, option, widget)
        yield from too_wide(widget, widget.text().replace("&", ""), room.width())
    elif isinstance(widget, QComboBox) and widget.currentText() and not widget.toolTip():
        option = QStyleOptionComboBox()
        widget.initStyleOption(option)
        control, part = QStyle.ComplexControl.CC_ComboBox, QStyle.SubControl.SC_ComboBoxEditField
        room = widget.style().subControlRect(control, option, part, widget)
        yield from too_wide(widget, widget.currentText(), room.width())
    elif isinstance(widget, QLineEdit) and not widget.text() and widget.placeholderText():
        yield from too_wide(widget, widget.placeholderText(), widget.width() - 12)
    elif isinstance(widget, QLineEdit) and widget.property("held"):
        yield from too_wide(widget, widget.text(), widget.width() - 22)


def clipped_label(label: QLabel) -> Iterator[str]:
    """Yield how a label is cut off: one that ends in … has its whole text as tooltip."""
    text = label.text()
    room = label.contentsRect().width()
    if text.endswith("…") and label.toolTip():
        return
    if label.wordWrap():
        words = QLabel.text(label).replace(MAY_BREAK, " ").split()
        yield from too_wide(label, max(words, key=len, default=""), room)
        needed = label.heightForWidth(label.width())
        if needed > label.height() + SLACK:
            yield f"{text[:60]!r} needs a height of {needed} and has {label.height()}"
        return
    for line in text.splitlines():
        yield from too_wide(label, line, room)
    if label.fontMetrics().height() * len(text.splitlines()) > label.height() + 4:
        yield f"{text[:60]!r} is not high enough ({label.height()})"


def too_wide(widget: QWidget, text: str, room: int) -> Iterator[str]:
    """Yield a line where ``text`` does not fit into ``room``."""
    needed = widget.fontMetrics().horizontalAdvance(text)
    if needed > room + SLACK:
        yield f"{text[:60]!r} needs {needed} pixels and has {room}"


def outside(widget: QWidget, window: QWidget) -> Iterator[str]:
    """Yield where ``widget`` is outside an ancestor that does not scroll to it."""
    if widget.width() <= 0 or widget.height() <= 0:
        yield "has no size"
        return
    child, parent = widget, widget.parentWidget()
    while parent is not None:
        place = QRect(widget.mapTo(parent, QPoint(0, 0)), widget.size())
        area = parent.parentWidget()
        if isinstance(area, QAbstractScrollArea) and parent is area.viewport():
            sideways = area.horizontalScrollBarPolicy() != Qt.ScrollBarPolicy.ScrollBarAlwaysOff
            if isinstance(area, QScrollArea) and not sideways and not within(place, parent.rect(), across=True):
                yield f"is cut off by the scroll area {area.objectName() or name_of(child)}"
            return  # it can be scrolled to
        if not within(place, parent.rect()):
            yield f"lies at {place.getRect()}, outside {name_of(parent)} of {parent.width()}×{parent.height()}"
            return
        if parent is window:
            return
        child, parent = parent, parent.parentWidget()


def within(place: QRect, room: QRect, *, across: bool = False) -> bool:
    """Return whether a rectangle lies in another, or only its width does."""
    room = room.adjusted(-SLACK, -SLACK, SLACK, SLACK)
    return room.left() <= place.left() and place.right() <= room.right() if across else room.contains(place)
