"""The rail on the left: steps with an icon and a dot that shows their state, then tools."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QVBoxLayout, QWidget

from workbench.gui.pages.base import Page
from workbench.gui.session.session import Session
from workbench.gui.widgets.basic import Elided, label, rule
from workbench.gui.widgets.icon import SIDE, draw_icon
from workbench.render.fonts import font
from workbench.render.palette import Theme

WIDTH = 200
HEIGHT = 31
TIGHT = 22  # the height of a line in a window that has not room for all of them
DOT = 5.0

WORDS = {"empty": "nothing here yet", "needs": "needs you", "ready": "ready"}
SHAPES = {"empty": "ring", "needs": "half", "ready": "full"}
LEGEND = {"empty": ("empty", 0), "needs": ("needs you", 52), "ready": ("ready", 125)}
"""The short word of each dot and where its dot begins, all in one line: the rail has more pages than room."""
LEGEND_LINE = 20


class RailButton(QAbstractButton):
    """One line of the rail; the dot's shape says what its colour says: ring, half, full."""

    def __init__(self, page: Page, session: Session, others: Sequence[Page] = ()) -> None:
        """Make the line of ``page``, in which ``others`` stand, too."""
        super().__init__()
        self.page = page
        self._others = others
        self._session = session
        self._state = "empty"
        self.setText(page.title)
        self.setCheckable(True)
        self.setAutoExclusive(True)
        self.setObjectName(f"rail_{page.name}")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Maximum)
        self.refresh()

    @property
    def state(self) -> str:
        """The state that the dot shows."""
        return self._state

    def refresh(self) -> None:
        """Ask the page for its state."""
        self._state = self.page.state(self._session)
        if any(other.state(self._session) == "ready" for other in self._others):
            self._state = "ready"
        self.setAccessibleName(f"{self.page.title}, {WORDS[self._state]}" if self.page.step else self.page.title)
        dot = f"\n{SHAPES[self._state].capitalize()} dot: {WORDS[self._state]}" if self.page.step else ""
        self.setToolTip(f"{self.page.help}{dot}")
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return the size of a line."""
        return QSize(WIDTH - 24, HEIGHT)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return the size of a line where the window is low and the pages are many."""
        return QSize(WIDTH - 24, TIGHT)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Let Return choose the page as Space does."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not event.modifiers():
            self.click()
            return
        super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the line."""
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
            draw_icon(painter, self.page.icon, ink, QRectF(10, self.height() / 2 - SIDE / 2, SIDE, SIDE))
            if self.page.step:
                _draw_dot(painter, QPointF(self.width() - 16, self.height() / 2), self._state, ink, theme)
            face = QFont(self.font())
            face.setWeight(QFont.Weight.DemiBold if self.isChecked() else QFont.Weight.Normal)
            painter.setFont(face)
            painter.setPen(ink)
            painter.drawText(self.rect().adjusted(36, 0, -28, 0), Qt.AlignmentFlag.AlignVCenter, self.text())


def _draw_dot(painter: QPainter, centre: QPointF, state: str, ink: QColor, theme: Theme) -> None:
    colour = QColor(theme.warn) if state == "needs" else ink
    painter.setPen(QPen(colour, 1.5))
    painter.setBrush(colour if state == "ready" else Qt.BrushStyle.NoBrush)
    painter.drawEllipse(centre, DOT, DOT)
    if state == "needs":
        painter.setBrush(colour)
        painter.drawPie(QRectF(centre.x() - DOT, centre.y() - DOT, 2 * DOT, 2 * DOT), 90 * 16, 180 * 16)


class Legend(QWidget):
    """What the three dots stand for."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.setObjectName("rail_legend")
        self.setAccessibleName("Dots: " + ", ".join(f"{shape} {WORDS[state]}" for state, shape in SHAPES.items()))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._session = session
        session.theme_changed.connect(self.update)

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return the size of a line."""
        return QSize(WIDTH - 24, LEGEND_LINE)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw each dot with its word."""
        theme = self._session.theme
        muted = QColor(theme.muted)
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setFont(font(11))
            for state, (word, left) in LEGEND.items():
                _draw_dot(painter, QPointF(left + DOT + 1, LEGEND_LINE / 2), state, muted, theme)
                painter.setPen(muted)
                box = QRectF(left + 2 * DOT + 5, 0, self.width() - left, LEGEND_LINE)
                painter.drawText(box, Qt.AlignmentFlag.AlignVCenter, word)


class Rail(QWidget):
    """The list of pages. Arrow keys move along it; Ctrl and a number go to a page from anywhere.

    Attributes:
        pages: every page by its name, steps first; also those that stand in the line of another.
        buttons: the lines by the name of their page.

    Signals:
        chosen: (name) the person wants to see that page.
    """

    chosen = Signal(str)

    def __init__(self, pages: Sequence[Page], session: Session) -> None:
        super().__init__()
        self.setFixedWidth(WIDTH)
        self.setObjectName("rail")
        self.setAccessibleName("Steps and tools")
        self._session = session
        self._title = label("Privacy workbench", "heading")
        self._table = Elided("no table yet", "muted")
        self._table.setObjectName("rail_table")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 18, 12, 12)
        layout.setSpacing(2)
        head = QVBoxLayout()
        head.setContentsMargins(10, 0, 0, 10)
        head.setSpacing(2)
        head.addWidget(self._title)
        head.addWidget(self._table)
        layout.addLayout(head)
        self.buttons: dict[str, RailButton] = {}
        self.pages = {page.name: page for page in sorted(pages, key=lambda page: not page.step)}
        lines = [p for p in self.pages.values() if not p.under]
        tools = [p for p in lines if not p.step]
        for page in lines:
            if tools and page is tools[0]:
                layout.addSpacing(8)
                layout.addWidget(rule())
                layout.addSpacing(8)
            others = [other for other in self.pages.values() if other.under == page.name]
            line = RailButton(page, session, others)
            line.clicked.connect(lambda _checked, name=page.name: self.chosen.emit(name))
            layout.addWidget(line)
            self.buttons[page.name] = line
        layout.addStretch(1)
        layout.addWidget(Legend(session))
        self._lines = layout
        for signal in (
            session.table_changed,
            session.plan_changed,
            session.account_changed,
            session.runs_changed,
            session.released_changed,
            session.theme_changed,
        ):
            signal.connect(self.refresh)

    def add_below(self, widget: QWidget) -> None:
        """Put ``widget`` into the room that the pages leave free, above the legend: nothing else moves by it."""
        self._lines.insertWidget(self._lines.count() - 1, widget)

    def select(self, name: str) -> None:
        """Show which page is shown."""
        self.buttons[self.pages[name].line].setChecked(True)

    def refresh(self) -> None:
        """Ask every page for its state."""
        opened, what = self._session.open_data, "rows" if self._session.images is None else "images"
        self._table.set_whole(f"{opened.title} · {opened.table.rows:,} {what}" if opened else "no table yet")
        for line in self.buttons.values():
            line.refresh()
