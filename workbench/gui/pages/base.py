"""What a page is: a light descriptor, and the frame every page's widget stands in."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import Session, State
from workbench.gui.style.stylesheet import MARGIN
from workbench.gui.widgets.basic import Elided, button, label, row
from workbench.params import WorkbenchError

GAP = 12


@dataclass(frozen=True, kw_only=True)
class Page:
    """The descriptor of a page; the ``__init__`` of a folder of ``gui/pages`` declares one as ``PAGE``.

    Attributes:
        name: one lower-case word: the page's object name is ``page_NAME``, its button in the rail ``rail_NAME``.
        title: shown in the rail and above the page.
        help: one sentence, the tooltip in the rail.
        make: ``module:Class`` of the page's widget, imported when it is first shown.
        about: what the page is for, in two or three sentences (F1); ``help`` where it is empty.
        keys: what its keys do, in one or two sentences.
        state: the dot in the rail: ``empty`` (nothing here yet), ``needs`` (needs you) or ``ready``.
        icon: drawn beside its title in the rail: the path of an SVG in a square of 16 by 16; a plain sheet by default.
        step: whether it is a step of the main job, above the line; else a tool, below it.
        under: the page in whose line of the rail this one stands, where it has none of its own: another way to do the
            same step, chosen at the head of the page.
    """

    name: str
    title: str
    help: str
    make: str
    about: str = ""
    keys: str = ""
    icon: str = "M3.5 2.5h6l3 3v8h-9z"
    state: Callable[[Session], State] = lambda session: "empty"
    step: bool = True
    under: str = ""

    @property
    def line(self) -> str:
        """The name of the line of the rail that it stands in."""
        return self.under or self.name

    def widget(self, session: Session, jobs: JobCenter) -> PageFrame:
        """Make the page's widget."""
        module, _, name = self.make.partition(":")
        made = getattr(importlib.import_module(module), name)(session, jobs)
        if not isinstance(made, PageFrame):
            raise TypeError(f"{self.make} is not a PageFrame")
        return made


class PageFrame(QWidget):
    """A page: its title, buttons on the right of it, a body, and a foot with a note and the primary button.

    A subclass adds widgets to :attr:`body`, buttons to :attr:`header`, and calls :meth:`set_primary` once.

    Attributes:
        session: what the page looks at.
        jobs: where its work runs.
        header: the layout to the right of the title.
        body: the layout of the page's content.
        foot: the layout of the foot, the note first.
        primary: the one highlighted button (Ctrl+Return presses it), ``None`` where there is none.
    """

    def __init__(self, session: Session, jobs: JobCenter, page: Page) -> None:
        super().__init__()
        self.session = session
        self.jobs = jobs
        self.primary: QPushButton | None = None
        self._put_off: list[Callable[[], object]] = []
        self.setObjectName(f"page_{page.name}")
        self.setAccessibleName(page.title)
        title = label(page.title, "title", name=f"title_{page.name}")
        self.header: QHBoxLayout = row(title, None)
        self.body = QVBoxLayout()
        self.body.setSpacing(GAP)
        self._note = Elided("", "muted", least=80)
        self._note.setObjectName(f"note_{page.name}")
        self.foot: QHBoxLayout = row(self._note)
        self.foot.setStretch(0, 1)
        self._layers = whole = QVBoxLayout(self)
        whole.setContentsMargins(MARGIN, 16, MARGIN, 12)
        whole.setSpacing(GAP)
        whole.addLayout(self.header)
        whole.addLayout(self.body, 1)
        whole.addLayout(self.foot)

    def set_primary(self, text: str, name: str, pressed: Callable[[], object], tip: str = "") -> QPushButton:
        """Make the page's one highlighted button, at the right end of the foot."""
        self.primary = button(text, name, "primary", tip=tip)
        self.primary.clicked.connect(lambda: pressed())
        self.foot.addWidget(self.primary)
        return self.primary

    def set_note(self, text: str, *, wrapped: bool = False) -> None:
        """Show a sentence at the left of the foot: what stands in the way, or what this page does not do."""
        self._note.set_whole(text, wrapped=wrapped)

    @property
    def refused(self) -> WorkbenchError | None:
        """Why the page's work cannot be done now, or was refused when it was last asked for; ``None`` otherwise."""
        return None

    @property
    def job(self) -> JobHandle | None:
        """The running job that the page shows a Cancel of its own for; ``None`` where there is none."""
        return None

    def has_keys(self, *parts: QWidget | None) -> bool:
        """Return whether one of ``parts`` has the keyboard, or gets it back once a question that stands is answered."""
        return self.window().focusWidget() in [part for part in parts if part is not None]

    def take_keys(self) -> None:
        """Take the keyboard: the highlighted button has it, or the page itself where that cannot be pressed."""
        pressable = self.primary is not None and self.primary.isVisible() and self.primary.isEnabled()
        (self.primary if pressable and self.primary is not None else self).setFocus()

    def in_sight(self, refresh: Callable[[], object]) -> Callable[[], None]:
        """Return ``refresh`` for a signal: called at once while the page is in sight, else when it is shown next.

        An edit of one page would else wait for all the others.
        """

        def now_or_later() -> None:
            if self.isVisible():
                refresh()
            elif refresh not in self._put_off:
                self._put_off.append(refresh)

        return now_or_later

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        """Catch up with what has changed while the page was out of sight."""
        super().showEvent(event)
        put_off, self._put_off = self._put_off, []
        for refresh in put_off:
            refresh()

    @contextlib.contextmanager
    def laid_out_once(self) -> Iterator[None]:
        """Show and hide parts of the page inside: it is laid out once afterwards, not anew for each of them."""
        was = self._layers.isEnabled()
        self._layers.setEnabled(False)
        try:
            yield
        finally:
            self._layers.setEnabled(was)

    def run(self) -> None:
        """Do what Ctrl+Return asks for: press the primary button."""
        if self.primary is not None and self.primary.isVisible():
            self.primary.click()

    def escape(self) -> bool:
        """Do what Esc asks for; return whether there was anything to do."""
        return False
