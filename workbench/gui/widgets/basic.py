"""Small widgets that every page is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

from PySide6.QtCore import QEvent, QObject, QRect, QSize, Qt, QTimer, SignalInstance
from PySide6.QtGui import QFont, QFontMetrics, QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QButtonGroup,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLayout,
    QLayoutItem,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from workbench.gui.style.language import again, tr, tr_later
from workbench.gui.style.stylesheet import PAD
from workbench.gui.style.theme import HELD
from workbench.gui.widgets.formatting import breakable, unbroken
from workbench.render.fonts import scaled

W = TypeVar("W", bound=QWidget)

Part = QWidget | QLayout | int | None | tuple[QWidget | QLayout, int]
"""What a layout holds: a part, one with its stretch, a fixed gap, or (``None``) what is left."""

PRIVATE = tr_later("PRIVATE – NOT FOR RELEASE")


def look(widget: W, name: str) -> W:
    """Give ``widget`` one of the looks of the style sheet, at any time, and return it."""
    if widget.property("look") != name:
        widget.setProperty("look", name)
        _polish_anew(widget)
    return widget


def mark_wrong(widget: QWidget, wrong: bool) -> None:
    """Frame a field in the colour of danger, or no longer."""
    if bool(widget.property("wrong")) != wrong:
        widget.setProperty("wrong", wrong)
        _polish_anew(widget)


def _polish_anew(widget: QWidget) -> None:
    """Let the style sheet match ``widget`` again; it matches one that was never shown when it is shown first."""
    if widget.testAttribute(Qt.WidgetAttribute.WA_WState_Polished):
        widget.style().unpolish(widget)
        widget.style().polish(widget)


def named(widget: W, name: str, accessible: str = "", tip: str = "") -> W:
    """Give ``widget`` its object name, what a screen reader says, and a tooltip; return it."""
    widget.setObjectName(name)
    if accessible:
        widget.setAccessibleName(accessible)
    if tip:
        widget.setToolTip(tip)
        widget.setAccessibleDescription(tip)
    return widget


def scrolled(layout: QLayout, name: str, *, sideways: bool = False) -> QScrollArea:
    """Return an area that scrolls ``layout`` up and down, or also ``sideways``, where it does not fit."""
    inner = look(QWidget(), "clear")
    inner.setLayout(layout)
    area = QScrollArea()
    area.setObjectName(name)
    area.setWidget(inner)
    area.setWidgetResizable(True)
    if not sideways:
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    return area


def area_around(part: QWidget) -> QScrollArea | None:
    """Return the area that scrolls ``part``; ``None`` where nothing does."""
    around = part.parentWidget()
    while around is not None and not isinstance(around, QScrollArea):
        around = around.parentWidget()
    return around


def grow_inside(area: QScrollArea) -> None:
    """Make what is scrolled as high as it needs to be now: Qt does so only after the next painting."""
    inner = area.widget()
    assert inner is not None
    inner.resize(inner.width(), max(inner.height(), inner.heightForWidth(inner.width())))


def into_sight(part: QWidget) -> None:
    """Scroll the area around ``part``, once it is laid out, so that as much of it as possible is in sight."""
    around = area_around(part)
    if around is None:
        return

    def scroll() -> None:
        if part.isVisible():
            around.ensureWidgetVisible(part, 0, 0)

    for wait in (0, 100):  # what became higher is laid out only after the next painting
        QTimer.singleShot(wait, part, scroll)


def label(text: str = "", kind: str = "", *, wrap: bool = False, name: str = "", hidden: bool = False) -> QLabel:
    """Return a text in one of the looks muted, caption, title, heading, figure, problem, warn, danger, accent or badge.

    The text is plain: what comes from a table is never read as markup. One that begins ``hidden`` is shown by
    :func:`say`.
    """
    out = Paragraph(text) if wrap else QLabel(text)
    out.setTextFormat(Qt.TextFormat.PlainText)
    if kind:
        look(out, kind)
    if name:
        out.setObjectName(name)
    if hidden:
        out.hide()
    return out


def say(shown: QLabel, text: str) -> None:
    """Show ``text``, or nothing at all where it is empty."""
    shown.setText(text)
    shown.setVisible(bool(text))


def reword(pressed: QPushButton, words: str, tip: str = "") -> None:
    """Write other words on a button, for a screen reader too, and give it another ``tip`` if there is one."""
    pressed.setText(words)
    pressed.setAccessibleName(words)
    if tip:
        pressed.setToolTip(tip)


def show_if(visible: bool, *parts: QWidget) -> None:
    """Show parts, or hide them."""
    for part in parts:
        part.setVisible(visible)


def enable_if(enabled: bool, *parts: QWidget) -> None:
    """Let parts be used, or not."""
    for part in parts:
        part.setEnabled(enabled)


def hold(part: QWidget, pixels: int, what: str = "held") -> None:
    """Give ``part`` a width that follows the size of text alone, or another of :data:`HELD`."""
    part.setProperty(what, pixels)
    HELD[what](part, scaled(pixels))


def hold_most(part: QWidget, pixels: int) -> None:
    """Let ``part`` be at most so wide, as the size of text asks for."""
    hold(part, pixels, "held_most")


def hold_height(part: QWidget, pixels: int) -> None:
    """Give ``part`` a height that follows the size of text alone."""
    hold(part, pixels, "held_height")


def hold_least(part: QWidget, pixels: int) -> None:
    """Let ``part`` be no lower than that, as the size of text asks for."""
    hold(part, pixels, "held_least")


class Segment(QPushButton):
    """One of several that exclude each other; it has room for its words as they are written where it is pressed."""

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        bold = QFont(self.font())
        bold.setWeight(QFont.Weight.DemiBold)
        plain = QFont(self.font())
        plain.setWeight(QFont.Weight.Normal)
        more = QFontMetrics(bold).horizontalAdvance(self.text()) - QFontMetrics(plain).horizontalAdvance(self.text())
        return super().sizeHint() + QSize(max(more, 0), 0)


def button(
    text: str,
    name: str,
    kind: str = "",
    *,
    tip: str = "",
    accessible: str = "",
    press: Callable[..., object] | SignalInstance | None = None,
) -> QPushButton:
    """Return a button in one of the looks primary, danger, link, segment, or the plain one; ``press`` is its action."""
    out = Segment(text) if kind == "segment" else QPushButton(text)
    if kind:
        look(out, kind)
    out.setAutoDefault(False)
    out.setCursor(Qt.CursorShape.PointingHandCursor if kind == "link" else Qt.CursorShape.ArrowCursor)
    if press is not None:
        out.clicked.connect(press)
    return named(out, name, accessible or text.replace("&", ""), tip)


def segments(
    parent: QWidget, prefix: str, choices: Iterable[tuple[str, str, str]], show: Callable[[str], object]
) -> dict[str, QPushButton]:
    """Return buttons by key, of (key, text, tip); one of them is checked, and pressing it gives ``show`` its key."""
    group, made = QButtonGroup(parent), {}
    for key, text, tip in choices:
        segment = made[key] = button(text, f"{prefix}{key}", "segment", tip=tip)
        segment.setCheckable(True)
        group.addButton(segment)
        segment.clicked.connect(lambda _checked, key=key: show(key))
    return made


class _Once(QObject):
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        return event.type() == QEvent.Type.MouseButtonDblClick


def once(pressed: QPushButton) -> QPushButton:
    """Let a double click press a button once, where what it does puts another offer under the pointer; return it."""
    pressed.installEventFilter(_Once(pressed))
    return pressed


def caption(text: str, link: QPushButton) -> QWidget:
    """Return the caption of a card with ``link`` at its right end, no higher than a caption alone."""
    link.setProperty("dense", True)
    out = panel(row(label(text, "caption"), None, link))
    out.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
    return out


def badge(text: str = PRIVATE) -> QLabel:
    """Return the framed badge of what must not leave the house."""
    out = label(tr(text), "badge")
    out.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Maximum)
    return out


def rule() -> QFrame:
    """Return a thin horizontal line."""
    return look(QFrame(), "rule")


class Row(QHBoxLayout):
    """A horizontal layout that takes several parts at once."""

    def add(self, *parts: Part) -> None:
        _add(self, parts)


class Stack(QVBoxLayout):
    """A vertical one."""

    def add(self, *parts: Part) -> None:
        _add(self, parts)


def row(*parts: Part, spacing: int = 8, margins: tuple[int, int, int, int] = (0, 0, 0, 0)) -> Row:
    """Return a horizontal layout of parts."""
    return _filled(Row(), parts, spacing, margins)


def lines(*parts: Part, spacing: int = 8, margins: tuple[int, int, int, int] = (0, 0, 0, 0)) -> Row:
    """Return a row that is broken into lines where its parts have no room beside one another.

    One that begins with a stretch has them on the right, in lines as well.
    """
    return _filled(_Lines(), parts, spacing, margins)


class _Lines(Row):
    """A row as long as it is given its least width; else lines, each as full as the usual widths of its parts allow."""

    def hasHeightForWidth(self) -> bool:  # noqa: N802 - Qt's name
        return True

    def minimumSize(self) -> QSize:  # noqa: N802 - Qt's name
        """Return the width of the widest part: that is what a line needs."""
        around = self.contentsMargins()
        widest = max((part.minimumSize().width() for part in self._parts()), default=0)
        return QSize(around.left() + widest + around.right(), super().minimumSize().height())

    def heightForWidth(self, width: int) -> int:  # noqa: N802 - Qt's name
        if width >= super().minimumSize().width():
            return super().heightForWidth(width) if super().hasHeightForWidth() else super().sizeHint().height()
        around = self.contentsMargins()
        heights = [_line_height(line) for line in self._broken(width - around.left() - around.right())]
        return around.top() + sum(heights) + self.spacing() * (len(heights) - 1) + around.bottom()

    def minimumHeightForWidth(self, width: int) -> int:  # noqa: N802 - Qt's name
        """Return what all lines take: Qt would count one."""
        return self.heightForWidth(width)

    def setGeometry(self, place: QRect) -> None:  # noqa: N802 - Qt's name
        if place.width() >= super().minimumSize().width():
            super().setGeometry(place)
            return
        QLayout.setGeometry(self, place)
        inner = self.contentsRect()
        broken = self._broken(inner.width())
        heights = [_line_height(line) for line in broken]
        high = [at for at, line in enumerate(broken) if any(_grows(part, Qt.Orientation.Vertical) for part, _ in line)]
        spare = inner.height() - sum(heights) - self.spacing() * (len(heights) - 1)
        for at in high:  # a picture below the other parts takes what they leave
            heights[at] += max(spare, 0) // len(high)
        first, y = self.itemAt(0), inner.y()
        to_the_right = first is not None and first.spacerItem() is not None
        for line, height in zip(broken, heights, strict=True):
            taken = sum(width for _, width in line) + self.spacing() * (len(line) - 1)
            x = inner.x() + to_the_right * max(inner.width() - taken, 0)
            for part, width in line:
                part.setGeometry(QRect(x, y, width, height))
                x += width + self.spacing()
            y += height + self.spacing()

    def _parts(self) -> list[QLayoutItem]:
        found = [self.itemAt(at) for at in range(self.count())]
        return [part for part in found if part is not None and part.spacerItem() is None and not part.isEmpty()]

    def _broken(self, room: int) -> list[list[tuple[QLayoutItem, int]]]:
        out: list[list[tuple[QLayoutItem, int]]] = []
        left = 0
        for part in self._parts():
            width = max(min(part.sizeHint().width(), room), part.minimumSize().width())
            if not out or width + self.spacing() > left:
                out.append([])
                left = room + self.spacing()
            out[-1].append((part, width))
            left -= width + self.spacing()
        return [self._filled_up(line, room) for line in out]

    def _filled_up(self, line: list[tuple[QLayoutItem, int]], room: int) -> list[tuple[QLayoutItem, int]]:
        """Give what a line leaves to the parts that can use it."""
        spare = room - sum(width for _, width in line) - self.spacing() * (len(line) - 1)
        growing = [_grows(part, Qt.Orientation.Horizontal) for part, _ in line]
        share = max(spare, 0) // max(sum(growing), 1)
        return [
            (part, max(width, min(width + share * grows, part.maximumSize().width())))
            for (part, width), grows in zip(line, growing, strict=True)
        ]


def _grows(part: QLayoutItem, way: Qt.Orientation) -> bool:
    """Return whether a part of a line can use more room: a label can, as its words may be broken."""
    if way == Qt.Orientation.Vertical:
        return bool(part.expandingDirections() & way)
    able = bool(part.expandingDirections() & way) or part.hasHeightForWidth()
    return able and part.maximumSize().width() > part.sizeHint().width()


def _line_height(line: list[tuple[QLayoutItem, int]]) -> int:
    return max(
        part.heightForWidth(width) if part.hasHeightForWidth() else part.sizeHint().height() for part, width in line
    )


def stack(*parts: Part, spacing: int = 8, margins: tuple[int, int, int, int] = (0, 0, 0, 0)) -> Stack:
    """Return a vertical layout of parts."""
    return _filled(Stack(), parts, spacing, margins)


def panel(layout: QLayout) -> QWidget:
    """Return a widget of its own for a layout, to be shown and hidden as one."""
    out = QWidget()
    out.setLayout(layout)
    return out


class Views(QStackedWidget):
    """Widgets of which one is in sight. It asks for the height of that one alone, and for the width of the widest."""

    def __init__(self) -> None:
        super().__init__()
        self.currentChanged.connect(lambda _at: self.updateGeometry())

    def hasHeightForWidth(self) -> bool:  # noqa: N802 - Qt's name
        """Return that it has a least height alone: of a stack, Qt asks all widgets how high they are at a width."""
        return False

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        return QSize(super().minimumSizeHint().width(), self._least())

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        high = self.currentWidget().sizeHint().height() if self.count() else 0
        return QSize(super().sizeHint().width(), max(self._least(), high))

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.updateGeometry()

    def _least(self) -> int:
        if not self.count():
            return 0
        shown, width = self.currentWidget(), self.width()
        inside = shown.layout()
        lines = inside.totalMinimumHeightForWidth(width) if inside is not None else shown.heightForWidth(width)
        return max(lines, shown.minimumSizeHint().height(), shown.minimumHeight())


def views(*parts: QWidget) -> QStackedWidget:
    """Return a stack of widgets of which one is in sight, first the first."""
    out = Views()
    for part in parts:
        out.addWidget(part)
    return out


L = TypeVar("L", bound=QBoxLayout)


def _filled(layout: L, parts: tuple[Part, ...], spacing: int, margins: tuple[int, int, int, int]) -> L:
    layout.setContentsMargins(*margins)
    layout.setSpacing(spacing)
    _add(layout, parts)
    return layout


def _add(layout: QBoxLayout, parts: tuple[Part, ...]) -> None:
    for entry in parts:
        part, stretch = entry if isinstance(entry, tuple) else (entry, 0)
        match part:
            case None:
                layout.addStretch(1)
            case int():
                layout.addSpacing(part)
            case QLayout():
                layout.addLayout(part, stretch)
            case _:
                layout.addWidget(part, stretch)


def empty(layout: QLayout) -> None:
    """Take everything out of a layout; a part goes when the event that came from it has been handled."""
    while (item := layout.takeAt(0)) is not None:
        part = item.widget()
        if part is not None:
            part.hide()
            part.setObjectName("")  # another may have its name from now on
            part.deleteLater()


def take_out(layout: QLayout) -> None:
    """Take every part out of a layout, to be placed anew.

    What ``takeAt`` gives stays the part's place for Qt: the new one would never learn that the part needs more room.
    """
    while (item := layout.itemAt(0)) is not None:
        part = item.widget()
        if part is None:
            layout.takeAt(0)
        else:
            layout.removeWidget(part)


class Card(QFrame):
    """A surface with a thin border; put widgets into :attr:`body`."""

    def __init__(self, *parts: Part, pad: int = PAD, spacing: int = 8) -> None:
        super().__init__()
        look(self, "card")
        self.body = stack(*parts, spacing=spacing, margins=(pad, pad, pad, pad))
        self.setLayout(self.body)


class Fact(NamedTuple):
    """A line of :class:`Facts`: its key, its name, what is said, in which look, and more to who points at it."""

    key: str
    name: str
    value: str
    kind: str = ""
    tip: str = ""


class Facts(QWidget):
    """Lines of a name on the left and a figure, right-aligned, that line up: what a gauge says in numbers."""

    def __init__(self, *, wrap_names: bool = False) -> None:
        """Make it; with ``wrap_names`` a long name takes a second line, and the figure stays whole."""
        super().__init__()
        self._wrap_names = wrap_names
        self._lines = stack(spacing=4)
        self.setLayout(self._lines)
        self._values: dict[str, tuple[QWidget, QLabel, QLabel]] = {}

    def show_line(self, key: str, name: str, value: str, kind: str = "", *, tip: str = "") -> None:
        if key not in self._values:
            # A long figure takes a second line rather than make the window wider.
            wrapped = self._wrap_names
            left, right = label(name, "muted", wrap=wrapped), label(value, wrap=not wrapped, name=f"fact_{key}")
            right.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            holder = panel(row((left, int(wrapped)), (right, int(not wrapped))))
            self._lines.addWidget(holder)
            self._values[key] = (holder, left, right)
        holder, left, right = self._values[key]
        left.setText(name)
        right.setText(value)
        right.setAccessibleName(f"{name}: {value}")
        for part in (left, right):
            part.setToolTip(tip)
        look(right, kind)
        holder.show()

    def show_lines(self, facts: Iterable[Fact]) -> None:
        """Show these lines in this order, and no others."""
        shown = list(facts)
        for key in self._values.keys() - {fact.key for fact in shown}:
            self._values[key][0].hide()
        for at, fact in enumerate(shown):
            self.show_line(fact.key, fact.name, fact.value, fact.kind, tip=fact.tip)
            holder = self._values[fact.key][0]
            if self._lines.indexOf(holder) != at:
                self._lines.insertWidget(at, holder)


class Paragraph(QLabel):
    """A text of several lines; :meth:`text` is what was set, and what a screen reader says.

    No line ends between a figure and its unit, and no word makes the window wider than it is.
    """

    def __init__(self, text: str = "") -> None:
        super().__init__()
        self.setWordWrap(True)
        self.setText(text)

    def setText(self, text: str) -> None:  # noqa: N802 - Qt's name
        self._text = text
        self.setAccessibleName(text)
        super().setText(breakable(unbroken(text)))

    def text(self) -> str:
        """Return the text as it was set: how its lines may be broken is no part of it."""
        return self._text


class Elided(QLabel):
    """A line of plain text that is shortened by … where there is no room; the whole text is its tooltip."""

    def __init__(
        self,
        text: str = "",
        kind: str = "",
        elide: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
        *,
        name: str = "",
        least: int = 0,
    ) -> None:
        """Make it; where less than ``least`` pixels are left for a longer text, only its tooltip has it."""
        super().__init__()
        self.setObjectName(name)
        self._elide, self._least = elide, least
        self._whole = self._stated = ""
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        if kind:
            look(self, kind)
        self.set_whole(text)

    def set_whole(self, text: str, stated: str = "", *, wrapped: bool = False) -> None:
        """Show ``text``; ``stated`` says the same in a full sentence to the pointer and to a screen reader.

        Where it is ``wrapped``, it takes as many lines as it needs, and nothing is left out.
        """
        self._whole, self._stated = text, stated
        if self.wordWrap() != wrapped:
            self.setWordWrap(wrapped)
        self.setAccessibleName(stated or text)
        self._fit()

    def retranslate(self) -> None:
        self.set_whole(again(self._whole), again(self._stated), wrapped=self.wordWrap())

    def resizeEvent(self, event: object) -> None:  # noqa: N802 - Qt's name
        self._fit()

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        return QSize(0, super().minimumSizeHint().height())

    def _fit(self) -> None:
        room = max(self.width(), 40)
        shown = self._whole if self.wordWrap() else self.fontMetrics().elidedText(self._whole, self._elide, room)
        if shown != self._whole and self.width() < self._least:
            shown = ""
        if shown != self.text():
            self.setText(shown)
        self.setToolTip(self._stated or (self._whole if shown != self._whole else ""))
