"""The rail on the left: rooms with an icon and a dot that shows their state, then tools; and the tabs of a room."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from PySide6.QtCore import QByteArray, QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QAbstractButton, QPushButton, QSizePolicy, QWidget

from workbench.gui.pages.base import ROOMS, Page, Room
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later
from workbench.gui.widgets.basic import Elided, button, label, row, rule, stack
from workbench.gui.widgets.formatting import count
from workbench.render.fonts import font, scaled
from workbench.render.palette import Theme

SIDE, ICON_WIDEST = 16, 24

_DRAWING = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {side} {side}"><path d="{path}" '  # not translated
    'fill="none" stroke="{ink}" stroke-width="1.4" stroke-linecap="round" stroke-linejoin="round"/></svg>'
)


def draw_icon(painter: QPainter, path: str, ink: QColor, box: QRectF) -> None:
    """Draw ``path`` into ``box``."""
    _renderer(path, ink.name()).render(painter, box)


@functools.lru_cache(maxsize=64)
def _renderer(path: str, ink: str) -> QSvgRenderer:
    """Return the drawing; read once for each colour, as the rail is painted at every step of the pointer."""
    drawn = QSvgRenderer(QByteArray(_DRAWING.format(side=SIDE, path=path, ink=ink).encode()))
    if not drawn.isValid():
        raise ValueError(f"not the path of an SVG: {path}")
    return drawn


WIDTH, WIDEST = 200, 368
HEIGHT, LOW = 36, 24  # of a room: with nothing below the rooms, and with the gauges there, which need what is left
DOT = 5.0

WORDS = {"empty": tr_later("nothing here yet"), "needs": tr_later("needs you"), "ready": tr_later("ready")}
SHAPES = {"empty": tr_later("Ring dot"), "needs": tr_later("Half dot"), "ready": tr_later("Full dot")}
LEGEND = {"empty": tr_later("empty"), "needs": tr_later("needs you"), "ready": tr_later("ready")}
"""The short word of each dot, all in one line."""
LEGEND_LINE = 20
SMALLEST = 8  # pixels of its letters


class RailButton(QAbstractButton):
    """One line of the rail; the dot's shape says what its colour says: ring, half, full."""

    def __init__(self, room: Room, pages: Sequence[Page], session: Session) -> None:
        super().__init__()
        self.room = room
        self._pages = pages
        self._session = session
        self._state, self._low = "empty", False
        self.setText(tr(room.title))
        self.setCheckable(True)
        self.setAutoExclusive(True)
        self.setObjectName(f"rail_{room.name}")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)  # a job that comes moves no room
        self.refresh()

    @property
    def state(self) -> str:
        """The state that the dot shows."""
        return self._state

    def refresh(self) -> None:
        """Ask the pages for their state: one that needs you is shown first, then one that is ready."""
        states = {page.state(self._session) for page in self._pages}
        self._state = next(state for state in ("needs", "ready", "empty") if state in states or state == "empty")
        title, state = tr(self.room.title), tr(WORDS[self._state])
        self.setText(title)
        self.setAccessibleName(f"{title}, {state}" if self.room.step else title)
        dot = f"\n{tr(SHAPES[self._state])}: {state}" if self.room.step else ""
        self.setToolTip(f"{tr(self.room.help)}{dot}")
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        return QSize(scaled(WIDTH, WIDEST) - 24, scaled(LOW if self._low else HEIGHT))

    def make_low(self, *, low: bool) -> None:
        self._low = low
        self.updateGeometry()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Let Return choose the room as Space does."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not event.modifiers():
            self.click()
            return
        super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        theme = self._session.theme
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            box = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
            if self.isChecked() or self.underMouse():
                painter.setPen(Qt.PenStyle.NoPen)
                fill = QColor(theme.selection)
                fill.setAlphaF(1.0 if self.isChecked() else 0.45)
                painter.setBrush(fill)
                painter.drawRoundedRect(box, 6, 6)
            if self.hasFocus():
                painter.setPen(QPen(QColor(theme.accent), 1.5))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawRoundedRect(box.adjusted(1, 1, -1, -1), 6, 6)
            ink = QColor(theme.accent if self.isChecked() else theme.text)
            side = scaled(SIDE, ICON_WIDEST)
            draw_icon(painter, self.room.icon, ink, QRectF(10, (self.height() - side) / 2, side, side))
            if self.room.step:
                _draw_dot(painter, QPointF(self.width() - 16, self.height() / 2), self._state, ink, theme)
            face = QFont(self.font())
            face.setWeight(QFont.Weight.DemiBold if self.isChecked() else QFont.Weight.Normal)
            painter.setFont(face)
            painter.setPen(ink)
            painter.drawText(self.rect().adjusted(side + 20, 0, -28, 0), Qt.AlignmentFlag.AlignVCenter, self.text())


def _draw_dot(painter: QPainter, centre: QPointF, state: str, ink: QColor, theme: Theme) -> None:
    colour = QColor(theme.warn) if state == "needs" else ink
    painter.setPen(QPen(colour, 1.5))
    painter.setBrush(colour if state == "ready" else Qt.BrushStyle.NoBrush)
    painter.drawEllipse(centre, DOT, DOT)
    if state == "needs":
        painter.setBrush(colour)
        painter.drawPie(QRectF(centre.x() - DOT, centre.y() - DOT, 2 * DOT, 2 * DOT), 90 * 16, 180 * 16)


class Legend(QWidget):
    """What the three dots mean."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.setObjectName("rail_legend")
        self.retranslate()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._session = session
        session.theme_changed.connect(self.update)

    def retranslate(self) -> None:
        self.setAccessibleName("; ".join(f"{tr(shape)}: {tr(WORDS[state])}" for state, shape in SHAPES.items()))

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        return QSize(scaled(WIDTH, WIDEST) - 24, scaled(LEGEND_LINE))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        theme = self._session.theme
        muted = QColor(theme.muted)
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setFont(font(11))
            words = {state: tr(word) for state, word in LEGEND.items()}
            face = painter.font()
            while sum(map(self._room, words.values(), [face] * 3)) > self.width() and face.pixelSize() > SMALLEST:
                face.setPixelSize(face.pixelSize() - 1)  # the rail grows less than the text, and words differ
            painter.setFont(face)
            left = 0.0
            for state, word in words.items():
                _draw_dot(painter, QPointF(left + DOT + 1, self.height() / 2), state, muted, theme)
                painter.setPen(muted)
                box = QRectF(left + 2 * DOT + 5, 0, self.width() - left, self.height())
                painter.drawText(box, Qt.AlignmentFlag.AlignVCenter, word)
                left += self._room(word, face)

    @staticmethod
    def _room(word: str, face: QFont) -> float:
        return 2 * DOT + 5 + QFontMetricsF(face).horizontalAdvance(word) + 8


class Tabs(QWidget):
    """The tabs of a room, at the head of each of its pages; the page's own is pressed and stays so."""

    chosen = Signal(str)  # (name) the person wants to see that page

    def __init__(self, page: Page, pages: Sequence[Page]) -> None:
        super().__init__()
        self._own = page.tab
        self.setAccessibleName(tr("Tabs"))
        self._tabs: dict[str, QPushButton] = {}
        for other in pages:
            if other.room != page.room or other.under:
                continue
            tab = button(tr(other.title), f"tab_{other.name}", "tab", tip=tr(other.help))
            tab.setCheckable(True)
            tab.clicked.connect(lambda _checked, name=other.name: self._choose(name))
            self._tabs[other.name] = tab
        self.setLayout(row(*self._tabs.values(), spacing=2))
        self._mark()

    def _mark(self) -> None:
        for name, tab in self._tabs.items():
            tab.setChecked(name == self._own)

    def _choose(self, name: str) -> None:
        self._mark()
        if name != self._own:
            self.chosen.emit(name)


class Rail(QWidget):
    """The list of rooms. Arrow keys move along it; Ctrl and a number go to a room from anywhere."""

    chosen = Signal(str)  # (name) the person wants to see that room

    def __init__(self, pages: Sequence[Page], session: Session) -> None:
        super().__init__()
        self.setFixedWidth(scaled(WIDTH, WIDEST))
        self.setObjectName("rail")
        self.setAccessibleName(tr("Rooms"))
        self._session = session
        self._title = label(tr("Privacy workbench"), "heading")
        self._table = Elided(tr("no table yet"), "muted", Qt.TextElideMode.ElideMiddle, name="rail_table")
        head = stack(self._title, self._table, spacing=2, margins=(10, 0, 0, 10))
        self._lines = layout = stack(head, spacing=4, margins=(12, 18, 12, 12))
        self.setLayout(layout)
        self.buttons: dict[str, RailButton] = {}  # the lines by the name of their room
        # Every page by its name, room by room; also those that share the tab of another.
        self.pages = {page.name: page for room in ROOMS for page in pages if page.room == room.name}
        for room in ROOMS:
            if not room.step:
                layout.addSpacing(8)
                layout.addWidget(rule())
                layout.addSpacing(8)
            line = RailButton(room, [page for page in pages if page.room == room.name], session)
            line.clicked.connect(lambda _checked, name=room.name: self.chosen.emit(name))
            layout.addWidget(line)
            self.buttons[room.name] = line
        layout.addStretch(1)
        layout.addWidget(Legend(session))
        for signal in (
            session.table_changed,
            session.plan_changed,
            session.account_changed,
            session.runs_changed,
            session.released_changed,
            session.theme_changed,
        ):
            signal.connect(self.refresh)

    def add_below(self, widget: QWidget, stretch: int = 0) -> None:
        """Put ``widget`` into the place that the rooms leave free, above the legend: nothing else moves by it."""
        self._lines.insertWidget(self._lines.count() - 1, widget, stretch)

    def remove_below(self, widget: QWidget) -> None:
        self._lines.removeWidget(widget)

    def make_low(self, *, low: bool) -> None:
        """Make the rooms lower, so that what is below them has room."""
        for line in self.buttons.values():
            line.make_low(low=low)

    @property
    def inner_width(self) -> int:
        """The width of what is added below."""
        return self.width() - 24

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange:
            self.setFixedWidth(scaled(WIDTH, WIDEST))

    def select(self, name: str) -> None:
        """Mark the room of the page that is shown."""
        self.buttons[self.pages[name].room].setChecked(True)

    def tabs(self, name: str) -> list[str]:
        """Return the pages of the room of the page ``name`` that have a tab, in their order."""
        room = self.pages[name].room
        return [page.name for page in self.pages.values() if page.room == room and not page.under]

    def refresh(self) -> None:
        opened, noun = self._session.open_data, "row" if self._session.images is None else "image"
        self._table.set_whole(f"{opened.title} · {count(opened.table.rows, noun)}" if opened else tr("no table yet"))
        for line in self.buttons.values():
            line.refresh()
