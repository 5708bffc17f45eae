"""What a room and a page are: light descriptors, and the frame around every page's widget."""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QLayout, QPushButton, QVBoxLayout, QWidget

from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import Session, State
from workbench.gui.style.language import again, tr, tr_later
from workbench.gui.style.stylesheet import MARGIN
from workbench.gui.widgets.basic import Elided, Row, Stack, button, lines, look, row, scrolled
from workbench.gui.widgets.stopping import ask_to_stop
from workbench.params import WorkbenchError
from workbench.render.fonts import scaled

GAP, BAR = 12, 16
NOTE = 200  # the least width, in points, in which a note at the foot can be read beside the buttons


@dataclass(frozen=True, kw_only=True)
class Room:
    """One line of the rail: pages that belong together, each a tab."""

    name: str  # one lower-case word: its button in the rail is `rail_NAME`
    title: str  # shown in the rail
    help: str  # one sentence, the tooltip in the rail
    icon: str  # the path of an SVG in a square of 16 by 16
    step: bool = True  # whether it is part of the main job, with a dot that shows its state; else it is below the line


ROOMS = (
    Room(
        name="data",
        title=tr_later("Data"),
        help=tr_later("Open a table, say who needs what of it, and declare what is publicly known about its columns"),
        icon="M2.5 3.5h11v9h-11z M2.5 6.5h11 M6.5 6.5v6",
    ),
    Room(
        name="release",
        title=tr_later("Release"),
        help=tr_later("Choose a way to release and an ε by what the recipient will see, then release"),
        icon="M8 10v-7.5 M5 5.3l3-2.8l3 2.8 M2.5 9.5v4h11v-4",
    ),
    Room(
        name="models",
        title=tr_later("Models"),
        help=tr_later("Train private models, see what privacy costs in accuracy, compare and apply them"),
        icon=(
            "M5.5 4.5a1.5 1.5 0 1 1-3 0a1.5 1.5 0 1 1 3 0z M5.5 11.5a1.5 1.5 0 1 1-3 0a1.5 1.5 0 1 1 3 0z "
            "M13.5 8a1.5 1.5 0 1 1-3 0a1.5 1.5 0 1 1 3 0z M5.4 5.1l5.2 2.3 M5.4 10.9l5.2-2.3"
        ),
    ),
    Room(
        name="released",
        title=tr_later("Released"),
        help=tr_later(
            "Everything that was released or paid for: look at it, verify it, estimate from it; the budget's history"
        ),
        icon="M3.5 2.5h9v11h-9z M6 5.5h4 M6 8h4 M6 10.5h2.5",
    ),
    Room(
        name="tools",
        title=tr_later("Tools"),
        help=tr_later("Calculator, RAPPOR and what ε means: none of them reads the table"),
        icon="M3.5 2.5h9v11h-9z M5.5 4.5h5v2h-5z M5.5 9h1 M7.5 9h1 M9.5 9h1 M5.5 11.5h1 M7.5 11.5h1 M9.5 11.5h1",
        step=False,
    ),
)


@dataclass(frozen=True, kw_only=True)
class Page:
    """The descriptor of a page, an entry of ``PAGES``."""

    name: str  # one lower-case word: the page's object name is `page_NAME`, its tab `tab_NAME`
    title: str  # shown on its tab
    room: str  # the name of the room that it is a tab of
    help: str  # one sentence, the tooltip of its tab
    # `module:Class` of the page's widget, imported after the first paint, or when it is first shown; empty for
    # `NamePage` in `page.py` of its folder.
    make: str = ""
    about: str = ""  # what the page is for, in two or three sentences (F1); `help` where it is empty
    keys: str = ""  # what its keys do, in one or two sentences
    known_as: str = ""  # further words by which the list of commands finds it
    topic: str = ""  # the topic of the help that says more (`workbench.render.help_topics`)
    # Its part of the dot in the rail: `empty` (nothing here yet), `needs` (needs you) or `ready`.
    state: Callable[[Session], State] = lambda session: "empty"
    # The page whose tab this one shares: another way to do the same step, chosen at the head of the page.
    under: str = ""
    home: bool = False  # whether it is the page that is shown while nothing is open

    @property
    def tab(self) -> str:
        return self.under or self.name

    @property
    def place(self) -> str:
        return self.make or f"workbench.gui.pages.{self.name}.page:{self.name.title()}Page"

    @property
    def module(self) -> str:
        """The module of the page's widget."""
        return self.place.partition(":")[0]

    def widget(self, session: Session, jobs: JobCenter) -> PageFrame:
        made = getattr(importlib.import_module(self.module), self.place.partition(":")[2])(session, jobs)
        if not isinstance(made, PageFrame):
            raise TypeError(f"{self.place} is not a PageFrame")
        return made


class _Body(Stack):
    """The layout of a page's content, which is scrolled only where it has less than its least height."""

    _asked = False

    def heightForWidth(self, width: int) -> int:  # noqa: N802 - Qt's name
        """Return the least height: a scroll area gives its content this one, and Qt's is the height it would like."""
        if self._asked:  # Qt works out the least height on the way to this one
            return super().heightForWidth(width)
        self._asked = True
        try:
            return self.minimumHeightForWidth(width)
        finally:
            self._asked = False


class _Beside(QWidget):
    """The buttons of a head. They never widen the window: the page places them anew as they change."""

    def __init__(self, place: Callable[[], None]) -> None:
        super().__init__()
        self._place = place

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return no width: showing a button lays out the whole window before the page can place it elsewhere."""
        return QSize(0, super().minimumSizeHint().height())

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:
            self._place()
        return super().event(event)


def _keeps_keys(refresh: Callable[[PageFrame], None]) -> Callable[[PageFrame], None]:
    """Return ``refresh`` of a page, after which the keyboard is on a part of the page that can be used, if it was."""

    @functools.wraps(refresh)
    def kept(page: PageFrame) -> None:
        held = page.window().focusWidget()
        own = held is not None and (held is page or page.isAncestorOf(held))
        refresh(page)
        if own and held is not None:
            page.keep_keys(held)

    return kept


class PageFrame(QWidget):
    """A page: the tabs of its room, buttons on the right of them, a body, and a foot with a note and primary button.

    A subclass adds widgets to :attr:`body`, buttons to :attr:`header`, and calls :meth:`set_primary` once: the one
    highlighted button, which Ctrl+Return presses.
    """

    def __init__(self, session: Session, jobs: JobCenter, page: Page) -> None:
        super().__init__()
        self.session = session
        self.jobs = jobs
        self.primary: QPushButton | None = None
        self._handle: JobHandle | None = None
        self._cancel = QPushButton(self)  # of a page that follows no job
        self._cancel.hide()
        self._put_off: list[Callable[[], object]] = []
        self._anew = False  # whether what is put off shows the whole page
        self.setObjectName(f"page_{page.name}")
        self.setAccessibleName(tr(page.title))
        self.header: Row = lines()
        self._beside = _Beside(self._place_header)
        self._beside.setLayout(self.header)
        self._tabs: QWidget = QWidget()
        self._head = row(None)
        self.body: Stack = _Body()
        self.body.setSpacing(GAP)
        self.body.setContentsMargins(0, 0, 0, 0)
        self._note = Elided("", "muted", least=120)
        self._note.setObjectName(f"note_{page.name}")
        self.foot: Row = lines((self._note, 1))
        self._layers = whole = QVBoxLayout(self)
        whole.setContentsMargins(MARGIN, 16, MARGIN, 12)
        whole.setSpacing(GAP)
        whole.addLayout(self._head)
        whole.addWidget(self._beside, alignment=Qt.AlignmentFlag.AlignRight)
        whole.addWidget(scrolled(self.body, f"body_{page.name}", sideways=True), 1)
        whole.addLayout(self.foot)

    def __init_subclass__(cls) -> None:
        """Let no page lose the keyboard when it shows itself anew."""
        if "refresh" in cls.__dict__:
            cls.refresh = _keeps_keys(cls.refresh)  # type: ignore[assignment, method-assign]

    def set_tabs(self, tabs: QWidget) -> None:
        self._tabs = tabs
        self._head.insertWidget(0, tabs)
        self._place_header()

    def _place_header(self) -> None:
        needed = self._tabs.sizeHint().width() + self._beside.sizeHint().width() + 2 * MARGIN + GAP
        fits, beside = needed <= self.width(), self._head.indexOf(self._beside) >= 0
        self._beside.setVisible(self.header.count() > 0)
        if fits and not beside:
            self._layers.removeWidget(self._beside)
            self._head.addWidget(self._beside)
        elif beside and not fits:
            self._head.removeWidget(self._beside)
            self._layers.insertWidget(1, self._beside, alignment=Qt.AlignmentFlag.AlignRight)

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        """Measure and arrange for another size of text also out of sight: the window would become wider for it."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            for part in (self._layers, *self._layers.findChildren(QLayout)):
                part.invalidate()  # Qt itself keeps what it measured of a hidden page
            self._place_header()
            self._place_note()
            self.resized()

    def event(self, event: QEvent) -> bool:
        """Place the note anew where the buttons at the foot are others: they never widen the page."""
        if event.type() == QEvent.Type.LayoutRequest:
            self._place_note()
        return super().event(event)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        super().resizeEvent(event)
        self._place_header()
        self._place_note()
        self.resized()

    def resized(self) -> None:
        """Arrange the page for the size that it has now."""

    @property
    def room(self) -> int:
        """The width that what is in the body has beside a scroll bar."""
        return self.width() - 2 * MARGIN - BAR

    def set_primary(self, text: str, name: str, pressed: Callable[[], object], tip: str = "") -> QPushButton:
        """Make the page's one highlighted button, at the right end of the foot."""
        self.primary = button(text, name, "primary", tip=tip, press=lambda: pressed())
        self.foot.addWidget(self.primary)
        return self.primary

    def highlight(self, pressed: QPushButton | None) -> None:
        """Make ``pressed`` the one highlighted button, in place of the former one; ``None`` for none."""
        if self.primary is not None and self.primary is not pressed:
            look(self.primary, "")
        self.primary = None if pressed is None else look(pressed, "primary")

    def set_note(self, text: str) -> None:
        """Show a sentence at the left of the foot: what prevents it, or what this page does not do."""
        self._note.set_whole(text, wrapped=True)
        self._place_note()

    def _place_note(self) -> None:
        """Put the note beside the buttons of the foot, or above them where they leave it little room."""
        items = [item for item in map(self.foot.itemAt, range(self.foot.count())) if item is not None]
        others = [(item, part) for item in items if (part := item.widget()) is not None and part is not self._note]
        for item, _ in others:
            item.setAlignment(Qt.AlignmentFlag.AlignBottom)  # a note of two lines is higher than they: they stay
        shown = [part for _, part in others if not part.isHidden()]
        room = self.width() - 2 * MARGIN - sum(part.sizeHint().width() + self.foot.spacing() for part in shown)
        whole = self._note.fontMetrics().horizontalAdvance(self._note.accessibleName())
        fits, beside = room >= min(whole, scaled(NOTE)), self.foot.indexOf(self._note) >= 0
        if beside and not fits:
            self.foot.removeWidget(self._note)
            self.foot.insertStretch(0, 1)
            self._layers.insertWidget(self._layers.count() - 1, self._note)
        elif fits and not beside:
            self._layers.removeWidget(self._note)
            self.foot.takeAt(0)
            self.foot.insertWidget(0, self._note, 1)

    @property
    def refused(self) -> WorkbenchError | None:
        """Why the page's work cannot be done now, or was refused when it was last asked for; ``None`` otherwise."""
        return None

    def refresh(self) -> None:
        """Show what can be pressed, and why."""

    # -- its one job ------------------------------------------------------------------------------------------------

    def add_cancel(self, cancel: QPushButton) -> None:
        """Put ``cancel`` into the foot: it is in sight while a job is followed."""
        self._cancel = cancel
        cancel.clicked.connect(self.escape)
        cancel.hide()
        self.foot.addWidget(cancel)

    def follow(self, handle: JobHandle) -> JobHandle:
        """Take ``handle`` as the job of this page until it ends; return it."""
        handle.cancelling.connect(self.refresh)
        handle.ended.connect(lambda: self._end(handle))
        self._handle = handle
        self.refresh()
        return handle

    def forget(self) -> None:
        """Stop the job and follow it no longer: what it is about is gone."""
        if self._handle is not None:
            former, self._handle = self._handle, None
            former.pause()  # where it can go on later, nothing of it is lost
            former.cancel()

    def job_ended(self, handle: JobHandle) -> None:
        """Do what is to be done when the job that was followed has ended, however it did."""

    def _end(self, handle: JobHandle) -> None:
        if handle is self._handle:
            self._handle = None
            self.job_ended(handle)
            self.refresh()

    @property
    def running(self) -> bool:
        return self._handle is not None

    @property
    def stopping(self) -> bool:
        return self._handle is not None and self._handle.stopping

    @property
    def job(self) -> JobHandle | None:
        """The running job that the page shows a Cancel of its own for; ``None`` where there is none."""
        return self._handle

    def show_cancel(self) -> None:
        self._cancel.setVisible(self.running)
        self._cancel.setEnabled(not self.stopping)
        self._cancel.setText(tr("Cancelling…") if self.stopping else tr("Cancel"))

    def escape(self) -> bool:
        """Do what Esc asks for: stop the job; return whether there was anything to do."""
        if self._handle is None or self._handle.stopping:
            return False
        ask_to_stop(self, self._handle)
        return True

    def has_keys(self, *parts: QWidget | None) -> bool:
        """Return whether one of ``parts`` has the keyboard, or gets it back once an open question is answered."""
        return self.window().focusWidget() in [part for part in parts if part is not None]

    def keep_keys(self, held: QWidget) -> None:
        """Give the keyboard to Cancel, else to the highlighted button, where ``held``, which had it, went or greyed."""
        if held is not self and held.isVisible() and held.isEnabled():
            return
        if self._cancel.isVisible() and self._cancel.isEnabled():
            self._cancel.setFocus()
        else:
            self.take_keys()

    def take_keys(self) -> None:
        """Take the keyboard: the highlighted button has it, or the page itself where that cannot be pressed."""
        pressable = self.primary is not None and self.primary.isVisible() and self.primary.isEnabled()
        (self.primary if pressable and self.primary is not None else self).setFocus()

    def retranslate(self) -> None:
        """Say what changes with the session in another language."""
        self.setAccessibleName(again(self.accessibleName()))
        self.in_sight(self.refresh)()

    def in_sight(self, refresh: Callable[[], object], *, whole: bool = False) -> Callable[[], None]:
        """Return ``refresh`` for a signal: called at once while the page is in sight, else when it is shown next.

        An edit of one page would else wait for all the others. What shows the ``whole`` page takes the place of
        everything else that is put off.
        """

        def now_or_later() -> None:
            if self.isVisible():
                refresh()
            elif whole:
                self._put_off, self._anew = [refresh], True
            elif not self._anew and refresh not in self._put_off:
                self._put_off.append(refresh)

        return now_or_later

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        """Catch up with what has changed while the page was out of sight."""
        super().showEvent(event)
        self._place_header()
        put_off, self._put_off, self._anew = self._put_off, [], False
        for refresh in put_off:
            refresh()
        self.shown()

    def shown(self) -> None:
        """Do what is to be done whenever the page comes into sight."""

    @contextlib.contextmanager
    def laid_out_once(self) -> Iterator[None]:
        """Show and hide parts of the page inside: it is laid out once afterwards, not anew for each of them."""
        was = self._layers.isEnabled()
        self._layers.setEnabled(False)
        try:
            yield
        finally:
            self._layers.setEnabled(was)

    def make_whole(self) -> None:
        """Make what was left out of a page that is the first to be seen, and that whoever sees it does not need yet."""

    def run(self) -> None:
        """Do what Ctrl+Return asks for: press the primary button."""
        if self.primary is not None and self.primary.isVisible():
            self.primary.click()

    def drop_words(self, path: str) -> str:
        """Return what a drop of the file would do on this page; empty where the window opens it."""
        return ""

    def drop(self, path: str) -> bool:
        """Take a file that was dropped; return whether the page had a use for it."""
        return False
