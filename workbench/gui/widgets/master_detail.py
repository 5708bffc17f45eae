"""A table and the card about its chosen row: one below the other, or side by side where the page is wide."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QSize, Qt, QTimer
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QBoxLayout, QLayout, QScrollArea, QSizePolicy, QSplitter, QWidget

from workbench.gui.session.settings import Settings
from workbench.gui.widgets.basic import Card, hold_least, scrolled, stack
from workbench.render.fonts import scaled

WIDE = 1280  # pixels of a page from which the card is beside the table: the lines of a wider table are tiring to follow

MASTER, DETAIL = 3, 2  # how the width is shared then

HIGHEST = 2  # how many times its least height a picture gets beside the table

UNBOUNDED = 16_777_215  # Qt's largest widget


GAP = 12
WORDS = "card_words"
LEAST_WORDS = 72  # points of the words in a card that a person has made low


RELAID = QEvent.Type.Resize, QEvent.Type.LayoutRequest, QEvent.Type.Show


class Standing(Card):
    """A card that is beside its table or below it."""

    usual_height = 0  # its height below the table while nobody has moved the border; 0 for a share of what there is

    def arrange(self, *, beside: bool) -> None:
        """Arrange what is in it for either place."""


class DetailCard(Standing):
    """A card of words and a picture: low and broad below its table, high and narrow beside it."""

    _beside = False

    def __init__(self, height: int, picture_height: int) -> None:
        """Make the card; a person can change its height below the table, which it keeps whatever it shows."""
        super().__init__()
        self.usual_height, self._picture_height = height, picture_height
        self._halves = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._halves.setSpacing(24)
        self.body.addLayout(self._halves)
        self._picture: QWidget | None = None
        self._picture_width = 0

    def fill(self, words: QLayout, picture: QWidget, *, picture_width: int) -> None:
        """Put in both halves; below the table the picture is ``picture_width`` pixels wide."""
        self._picture, self._picture_width = picture, picture_width
        self._halves.addLayout(words, 1)
        self._halves.addWidget(picture)
        self._halves.addStretch(0)
        self.arrange(beside=False)

    def arrange(self, *, beside: bool) -> None:
        assert self._picture is not None
        self._beside = beside
        directions = QBoxLayout.Direction
        self._halves.setDirection(directions.TopToBottom if beside else directions.LeftToRight)
        self._halves.setStretch(0, 0 if beside else 1)
        self._halves.setStretch(self._halves.count() - 1, 1 if beside else 0)
        self._picture.setMinimumWidth(0 if beside else self._picture_width)
        policies = QSizePolicy.Policy  # below, it is as wide as its own words, at every text size
        policy = self._picture.sizePolicy()
        policy.setHorizontalPolicy(policies.Preferred if beside else policies.Fixed)
        self._picture.setSizePolicy(policy)
        self._picture.setMinimumHeight(self._picture_height if beside else 0)
        self._picture.setMaximumHeight(HIGHEST * self._picture_height if beside else UNBOUNDED)
        self._halves.setStretch(1, 2 if beside else 0)  # a high window is for the picture
        self._fit_words()

    def event(self, event: QEvent) -> bool:
        """Show words whole beside the table, where the picture can give way."""
        if event.type() in RELAID:
            self._fit_words()
        return super().event(event)

    def _fit_words(self) -> None:
        for area in self.findChildren(QScrollArea, WORDS):
            inner = area.widget()
            whole = inner.heightForWidth(area.viewport().width()) if self._beside and inner is not None else 0
            area.setMinimumHeight(max(whole, scaled(LEAST_WORDS)))


def scrolled_words(*parts: QWidget) -> QScrollArea:
    """Return texts below each other that are scrolled where the card is low: no field beside them is ever squeezed."""
    area = scrolled(stack(*parts, None, spacing=4), WORDS)
    hold_least(area, LEAST_WORDS)
    return area


class MasterDetail(QWidget):
    """Holds both, and turns them when the page becomes wide or narrow; the border between them can be moved.

    Where it was moved to is remembered from one start to the next, by the name of the card.
    """

    def __init__(
        self,
        master: QWidget,
        detail: Standing,
        heights: tuple[int, int] = (1, 0),
        widths: tuple[int, int] = (MASTER, DETAIL),
    ) -> None:
        """Put both one below the other, or side by side: how they share the height, and how the width."""
        super().__init__()
        self._detail, self._heights, self._widths = detail, heights, widths
        self._beside, self._most = False, UNBOUNDED
        self._below = QSize(WIDE // 2, WIDE // 4)
        self._moved = False
        self._split = QSplitter(Qt.Orientation.Vertical)
        self._split.setObjectName(f"{detail.objectName()}_border")
        self._split.setHandleWidth(GAP)
        self._split.setChildrenCollapsible(False)
        for part in (master, detail):
            self._split.addWidget(part)
            part.installEventFilter(self)
        self._split.splitterMoved.connect(self._remember)
        self.setLayout(stack(self._split))
        self._place()

    def eventFilter(self, part: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Keep either as high as all its lines need at its width, for which Qt does not ask: the page is scrolled."""
        if event.type() in RELAID and isinstance(part, QWidget) and (inside := part.layout()) is not None:
            part.setMinimumHeight(max(inside.totalMinimumHeightForWidth(part.width()), part.minimumSizeHint().height()))
        return False

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Ask for no more height than the two need: a page is as high as what its parts would like, and is scrolled."""
        return QSize(super().sizeHint().width(), self.minimumSizeHint().height())

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Ask for what the two need one below the other, so that a wide window can be made narrow again."""
        hint = super().minimumSizeHint()
        if not self._beside:
            self._below = hint
        return hint.boundedTo(self._below)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        super().resizeEvent(event)
        beside = event.size().width() >= WIDE
        if beside != self._beside:
            self._beside = beside
            self._split.setOrientation(Qt.Orientation.Horizontal if beside else Qt.Orientation.Vertical)
            self._detail.arrange(beside=beside)
            self._place()
            QTimer.singleShot(0, self, self.share)  # once the card's lines have their new width
        self.share()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        """Put the border where it was left once both have their size: before, Qt keeps its shares alone."""
        super().showEvent(event)
        QTimer.singleShot(0, self, self._place)

    def share(self) -> None:
        """Share the room out as usual, unless a person has moved the border."""
        if not self._moved:
            self._split.setSizes(self._usual())

    def fill(self, height: int) -> None:
        """Give the table, where it is above the card, no more height than its lines fill, unless a person wants it."""
        self._most = height
        self.share()

    def _usual(self) -> list[int]:
        room = (self.width() if self._beside else self.height()) - GAP
        if not self._beside and self._detail.usual_height:
            return [room - self._detail.usual_height, self._detail.usual_height]
        shares = self._widths if self._beside else self._heights
        first = room * shares[0] // sum(shares)
        first = first if self._beside else min(first, self._most)
        return [first, room - first]

    @property
    def _key(self) -> str:
        return f"border/{self._detail.objectName()}/{'beside' if self._beside else 'below'}"

    def _place(self) -> None:
        """Put the border where the person has left it, and let the table take what a larger window adds."""
        kept = Settings().load(self._key)
        self._moved = kept is not None and self._split.restoreState(kept)  # type: ignore[arg-type]
        for at, share in enumerate(self._widths if self._beside else self._heights):
            self._split.setStretchFactor(at, share)

    def _remember(self) -> None:
        self._moved = True
        Settings().save(self._key, self._split.saveState())
