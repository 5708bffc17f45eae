"""The main window: rail, pages, gauges, jobs; it arranges them and knows nothing of what they do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from PySide6.QtCore import QEvent, QMimeData, QRectF, Qt, QTimer
from PySide6.QtGui import (
    QCloseEvent,
    QColor,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDragMoveEvent,
    QDropEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QMainWindow, QScrollArea, QStackedWidget, QStatusBar, QStyle, QWidget

from workbench.data.databases.address import PASSWORD_NEEDED
from workbench.gui.gauges.budget import BudgetGauge
from workbench.gui.gauges.memory import MemoryGauge
from workbench.gui.pages.base import Page, PageFrame
from workbench.gui.project.autosave import Autosave, MissingPanel, RestorePanel
from workbench.gui.project.database_dialog import DatabaseDialog
from workbench.gui.project.open_table import SEVERAL, open_table
from workbench.gui.project.project import Project
from workbench.gui.session.account_task import find_paused
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.session.settings import Settings
from workbench.gui.shell.help_panel import HelpPanel, TourPanel
from workbench.gui.shell.jobs_panel import Banner, JobsPanel, Messages
from workbench.gui.shell.rail import Rail, Tabs
from workbench.gui.style.language import tr, tr_later
from workbench.gui.style.theme import ThemeSwitch
from workbench.gui.widgets.basic import panel, row, scrolled, stack
from workbench.gui.widgets.explain import ExplainPanel
from workbench.gui.widgets.formatting import together
from workbench.gui.widgets.stopping import Stop, ask_to_stop, ask_to_stop_all
from workbench.params import WorkbenchError
from workbench.render.fonts import font, scaled

NO_TABLES = (
    *(".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".heic", ".mp3", ".mp4", ".mov", ".pdf", ".doc", ".docx"),
    *(".odt", ".ppt", ".pptx", ".numbers", ".7z", ".rar", ".tar", ".exe", ".html", ".json", ".xml"),
)
"""What is surely neither a table nor a set of images; the reader decides about everything else, whatever its name."""

KINDS = tr_later(
    "table (text, also packed, Parquet, JSON Lines, Excel, ODS, SPSS, Stata, SAS), a set of images, or a project"
)
INSET = 12


@dataclass(frozen=True)
class Dragged:
    """Something that is held over the window."""

    path: str = ""  # the file, where it is one that can be opened
    problem: str = ""  # why it cannot be; empty where it can
    use: str = ""  # what a drop does where it does not open the file


def dragged(data: QMimeData) -> Dragged:
    """Return what is held; the file itself is not looked at."""
    urls = data.urls()
    if not urls:
        return Dragged(problem=tr("Only files can be dropped here: a {kinds}.", kinds=tr(KINDS)))
    if len(urls) > 1:
        return Dragged(problem=tr("{urls} files are held: drop one of them.", urls=len(urls)))
    if not urls[0].isLocalFile():
        return Dragged(problem=tr("This is not a file of this computer: save it first, then drop it."))
    path = urls[0].toLocalFile()
    name = PurePath(path).name
    if path.lower().endswith(NO_TABLES):
        return Dragged(
            problem=tr("{name} is not a table that can be read: drop a {kinds}.", name=name, kinds=tr(KINDS))
        )
    return Dragged(path=path)


class DropVeil(QWidget):
    """Covers the window while something is held over it, and says what a drop would do."""

    def __init__(self, session: Session, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self.setObjectName("drop_veil")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._session = session
        self._held = Dragged()
        self.hide()

    def show_held(self, held: Dragged) -> None:
        self._held = held
        self.setAccessibleName(self.words())
        self.setGeometry(self._window.rect())
        self.raise_()
        self.show()
        self.update()

    def words(self) -> str:
        if self._held.problem:
            return f"✕ {self._held.problem}"
        return self._held.use or tr("Drop to open {name}", name=PurePath(self._held.path).name)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        theme, painter = self._session.theme, QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        veil = QColor(theme.window)
        veil.setAlphaF(0.88)
        painter.fillRect(self.rect(), veil)
        ink = QColor(theme.danger if self._held.problem else theme.accent)
        painter.setPen(QPen(ink, 2, Qt.PenStyle.DashLine))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(INSET, INSET, -INSET, -INSET), 8, 8)
        painter.setFont(font(18))
        room = self.rect().adjusted(64, 64, -64, -64)
        painter.drawText(room, Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap, self.words())


INDENT = 6  # points left and right of the words


class StatusLine(QStatusBar):
    """Ends a message that is too long for the window with …, where Qt would cut a letter; its tooltip has all of it.

    An error or a warning covers it by a banner, for which the room is kept, so that no page moves when one appears.
    """

    def __init__(self, banner: Banner) -> None:
        super().__init__()
        self.setObjectName("status_bar")
        self.setSizeGripEnabled(False)
        self._banner = banner
        self.addPermanentWidget(banner, 1)
        self.messageChanged.connect(self._report_whole)

    @property
    def shown(self) -> str:
        """What can be read of the message."""
        room = self.width() - 2 * INDENT
        return self.fontMetrics().elidedText(self.currentMessage(), Qt.TextElideMode.ElideRight, room)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Say at the pointer what no longer fits."""
        super().resizeEvent(event)
        self.keep_room()
        self._report_whole()

    def keep_room(self) -> None:
        """Keep the height that a banner needs in the present size of text."""
        self.setFixedHeight(self._banner.reserved + 8)

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self.keep_room()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        if self._banner.isVisible():
            return
        with QPainter(self) as painter:
            painter.setPen(self.palette().color(self.foregroundRole()))
            box = QRectF(self.rect()).adjusted(INDENT, 0, -INDENT, 0)
            painter.drawText(box, Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine, self.shown)

    def _report_whole(self) -> None:
        whole = self.currentMessage()
        self.setToolTip(whole if self.shown != whole else "")


SIZE = (1280, 800)
GAUGES_WIDTH, GAUGES_WIDEST = 256, 340
NARROW = 1080  # below this width, at the usual size of text, the gauges are below the rooms
TEXT_SIZE = "text_size"  # where the settings keep the size of text

TOUR = "tour"  # where the settings keep whether the tour was seen
FIRST_TOUR = True  # whether the tour is shown at the first start
PATIENCE_MS = 5000  # how long a window that is closed stays in sight for work that does not stop at once


class MainWindow(QMainWindow):
    """The window."""

    def __init__(self, pages: Sequence[Page]) -> None:
        super().__init__()
        self.setObjectName("main_window")
        self.setWindowTitle(tr("Privacy workbench"))
        self.setAcceptDrops(True)
        self.session = Session(self)  # what is shown
        self.jobs = JobCenter(self)  # what is going on
        self.settings = Settings()
        self.session.cluster = self.settings.cluster
        # Where the plan is saved, and whether it differs from its file.
        self.project = Project(self.session, self.jobs, self)
        self.autosave = Autosave(self.session, self.jobs, self.project)
        self.theme = ThemeSwitch(self, self.session.set_theme)
        self.theme.set_mode(self.settings.theme)
        size = str(self.settings.load(TEXT_SIZE) or "")
        if size.isdigit() and int(size) != self.theme.scale:
            self.theme.set_scale(int(size))
        self._pages = {page.name: page for page in pages}
        self._made: dict[str, PageFrame] = {}
        self._last: dict[str, str] = {}  # the page of each tab, and the tab of each room, that was shown last
        self._closing = self._left_behind = False
        self._agreed = Stop.NO
        self.rail = Rail(pages, self.session)  # the list of pages
        self.rail.chosen.connect(self.show_room)
        self._stack = QStackedWidget()
        self._stack.setObjectName("pages")
        self._banner = Banner()
        self.setStatusBar(StatusLine(self._banner))
        self.messages = Messages(self.session, self.jobs, self._banner, self.statusBar())
        self.restore_panel = RestorePanel(self.session, self.jobs, self.project)
        self.missing_panel = MissingPanel(self.session, self.project)
        self.budget_gauge = BudgetGauge(self.session)
        self.memory_gauge = MemoryGauge(self.session, self.jobs)
        self.explain_panel = ExplainPanel(self.session)
        self.help_panel = HelpPanel(self.session)
        self.tour = TourPanel(self.session)
        self.tour.ended.connect(lambda: self.settings.save(TOUR, "seen"))
        self.gauges = self._gauge_column()  # the panels on the right
        self.jobs_panel = JobsPanel(self.jobs, lambda job: job is self.page.job, lambda: self.page.take_keys())
        self._arrange()
        self.menus: object = None  # what its menus do; `workbench.gui.shell.menus.Menus` sets it
        self.session.page_asked.connect(self.show_page)
        self.jobs.noticed.connect(self.messages.notify)
        self.jobs.failed.connect(self.session.report)
        self.session.table_changed.connect(self._remember_table)
        self.session.table_changed.connect(lambda: find_paused(self.session, self.jobs, notify=True))
        self.project.changed.connect(self._retitle)
        self.project.kept.connect(self.session.recent.add)
        self.session.open_asked.connect(self.open)
        self._database_dialog: DatabaseDialog | None = None
        self.session.database_asked.connect(self.ask_for_database)
        self.session.opening_failed.connect(self._opening_failed)
        self._veil = DropVeil(self.session, self)
        self._restore()
        self._home = next(page for page in pages if page.home)
        self._place_gauges()
        self.show_page(self._home.name)
        self.rail.buttons[self._home.room].setFocus()
        if FIRST_TOUR and self.settings.load(TOUR) is None:
            self.tour.start(lead=False)

    # -- pages ----------------------------------------------------------------------------------------------------

    @property
    def page(self) -> PageFrame:
        shown = self._stack.currentWidget()
        assert isinstance(shown, PageFrame)
        return shown

    def show_page(self, name: str) -> None:
        """Show the page called ``name``, making it where this is the first time."""
        if name not in self._made:
            made = self._pages[name].widget(self.session, self.jobs)
            tabs = Tabs(self._pages[name], list(self._pages.values()))
            tabs.chosen.connect(self.show_tab)
            made.set_tabs(tabs)
            self._made[name] = made
            self._stack.addWidget(made)
        if self._stack.currentWidget() is not self._made[name]:
            self.messages.drop()  # what it says was about the page that is left
        keys_in_page = self._keys_in_page()
        self._stack.setCurrentWidget(self._made[name])
        if keys_in_page and not self._keys_in_page():  # nothing had them there yet, or what had them is gone
            self._made[name].take_keys()
        self.rail.select(name)
        self.tour.reach(name)
        page = self._pages[name]
        self._last[page.tab] = name
        self._last[f"room {page.room}"] = page.tab
        self.jobs_panel.show_cancels()

    def _keys_in_page(self) -> bool:
        """Return whether the keyboard is on a part of the page below its tabs."""
        held = self.focusWidget()
        return self._stack.isAncestorOf(held) and not isinstance(held.parent(), Tabs)

    def show_tab(self, name: str) -> None:
        """Show the page of a tab that was shown last."""
        self.show_page(self._last.get(name, name))

    def show_room(self, name: str) -> None:
        """Show the tab of a room that was shown last, at first its first one."""
        first = next(page.name for page in self._pages.values() if page.room == name)
        self.show_tab(self._last.get(f"room {name}", first))

    def next_tab(self, step: int) -> None:
        """Show the tab ``step`` places further in the room."""
        shown = self._pages[self.page.objectName().removeprefix("page_")]
        tabs = self.rail.tabs(shown.name)
        self.show_tab(tabs[(tabs.index(shown.tab) + step) % len(tabs)])

    def open(self, source: str) -> None:
        """Open a path or ``sample:NAME`` and show where that can be followed; a ``.toml`` file is a project."""
        self.show_page(self._home.name)
        if source.lower().endswith(".toml"):
            self.project.open(Path(source))
            return
        open_table(self.session, self.jobs, source)

    def ask_for_database(self) -> None:
        self._database().open()

    def _database(self) -> DatabaseDialog:
        if self._database_dialog is None:
            self._database_dialog = DatabaseDialog(self.session, self.jobs, self)
            self._database_dialog.chosen.connect(self.open)
        return self._database_dialog

    def _opening_failed(self, source: str, options: object, error: BaseException) -> None:
        """Ask which of several tables is meant, or for a password."""
        if isinstance(error, WorkbenchError) and error.code in (SEVERAL, PASSWORD_NEEDED):
            self._database().show_for(source, error)

    # -- arrangement ----------------------------------------------------------------------------------------------

    def _gauge_column(self) -> QScrollArea:
        panels = self.budget_gauge, self.explain_panel, self.help_panel, self.tour, self.memory_gauge
        self._gauge_layout = stack(*panels, None)
        return scrolled(self._gauge_layout, "gauges")

    def _arrange(self) -> None:
        centre = stack(self.restore_panel, self.missing_panel, (self._stack, 1), spacing=0)
        self._below: bool | None = None  # whether the gauges are below the rooms
        self._upper = upper = row((centre, 1), spacing=0)
        self.rail.add_below(self.jobs_panel)
        self.setCentralWidget(panel(row(self.rail, (upper, 1), spacing=0)))

    def _restore(self) -> None:
        room = self.screen().availableGeometry()
        title = self.style().pixelMetric(QStyle.PixelMetric.PM_TitleBarHeight)
        fits = room.width() >= SIZE[0]  # on a smaller screen it is as large as it must be
        self.resize(SIZE[0], min(SIZE[1], room.height() - title) if fits else SIZE[1])
        geometry = self.settings.load("geometry")
        if geometry is not None:
            self.restoreGeometry(geometry)  # type: ignore[arg-type]
        self.gauges.setVisible(self.settings.load("gauges") != "hidden")

    def _remember_table(self) -> None:
        opened = self.session.open_data
        if opened is not None and not opened.is_sample:
            self.session.recent.add(opened.source)

    def _retitle(self) -> None:
        """Name the table in the title, with Qt's mark of what is not saved."""
        opened = self.session.open_data
        self.setWindowTitle(
            tr("{title}[*] – Privacy workbench", title=opened.title) if opened else tr("Privacy workbench")
        )
        self.setWindowModified(self.project.unsaved)

    def _place_gauges(self) -> None:
        """Put the gauges beside the page, or below the rooms where text is large and the page needs the width."""
        below = self.width() < scaled(NARROW)
        if below != self._below:
            self._below = below
            self.rail.make_low(low=below)
            self._upper.removeWidget(self.gauges)
            self.rail.remove_below(self.gauges)
            if below:
                self.rail.add_below(self.gauges, stretch=100)
            else:
                self._upper.addWidget(self.gauges)
        self.gauges.setFixedWidth(self.rail.inner_width if below else scaled(GAUGES_WIDTH, GAUGES_WIDEST))
        self._gauge_layout.setContentsMargins(0, 8 if below else 12, 12 if below else 16, 0)

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange and hasattr(self, "_upper"):
            self._place_gauges()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        super().resizeEvent(event)
        self._place_gauges()

    # -- the person -----------------------------------------------------------------------------------------------

    def escape(self) -> None:
        """Do what Esc asks for: leave what the page has open, else the banner, else cancel the newest job."""
        if self.page.escape():
            return
        if self.explain_panel.isVisible() or self.help_panel.isVisible():
            self.explain_panel.hide()
            self.help_panel.hide()
        elif self.tour.isVisible():
            self.tour.leave()
        elif self._banner.isVisible():
            self.messages.drop()
        elif self.jobs.running:
            ask_to_stop(self, self.jobs.running[-1])

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:  # noqa: N802 - Qt's name
        """Say what a drop would do, wherever the file is held; what cannot be opened is accepted nowhere."""
        held = dragged(event.mimeData())
        self._veil.show_held(held if held.problem else replace(held, use=self.page.drop_words(held.path)))
        event.acceptProposedAction()

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:  # noqa: N802 - Qt's name
        event.setAccepted(not dragged(event.mimeData()).problem)

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:  # noqa: N802 - Qt's name
        self._veil.hide()

    def dropEvent(self, event: QDropEvent) -> None:  # noqa: N802 - Qt's name
        """Open what is dropped, or give it to the page that has a use for it: a model to the one that predicts."""
        from workbench.release.certificate import is_model

        self._veil.hide()
        held = dragged(event.mimeData())
        if held.problem:
            self.session.notify("error", held.problem)
            return
        event.acceptProposedAction()
        if is_model(Path(held.path)):
            self.show_page("predict")
        if not self.page.drop(held.path):
            self.open(held.path)

    def closeEvent(self, event: QCloseEvent) -> None:  # noqa: N802 - Qt's name
        """Close at once where nothing runs and all is saved; else ask, and stop the jobs without blocking."""
        if not self._closing and not self._may_close():
            event.ignore()
            return
        self.autosave.finish()
        if self.jobs.running and not self._left_behind:
            event.ignore()
            if not self._closing:
                self._stop_jobs()
            return
        self.autosave.forget()
        self.restore_panel.forget()
        self.settings.save("geometry", self.saveGeometry())
        self.settings.save("gauges", "shown" if self.gauges.isVisibleTo(self) else "hidden")
        self.settings.sync()
        self.jobs.shut_down(0.0)
        self.messages.stop()
        event.accept()

    def _may_close(self) -> bool:
        """Ask first about work that a stop costs something, then about the plan; return whether to close at once."""
        agreed, self._agreed = self._agreed, Stop.NO
        if agreed is Stop.NO:
            agreed = ask_to_stop_all(self, self.jobs.running)

        def close_after_saving() -> None:
            self._agreed = agreed
            self.close()

        if agreed is Stop.NO or not self.session.may_leave(close_after_saving):
            return False
        if agreed is Stop.PAUSE:
            for handle in self.jobs.running:
                handle.pause()
        return True

    def _stop_jobs(self) -> None:
        """Ask every job to stop, say what is waited for, and close when the last has ended."""
        self._closing = True
        for part in (self.rail, self._stack, self.restore_panel, self.missing_panel, self.menuBar()):
            part.setEnabled(False)
        self.setAcceptDrops(False)
        names = together([f"“{handle.title}”" for handle in self.jobs.running if handle.stoppable])
        names = names or tr("the running work")
        self.messages.notify("info", tr("Closing: waiting for {names} to stop…", names=names))
        self._banner.show_text("info", self.statusBar().currentMessage())
        self.jobs.started.connect(lambda handle: handle.cancel())
        self.jobs.idle.connect(lambda: QTimer.singleShot(0, self, self.close))
        QTimer.singleShot(PATIENCE_MS, self, self._leave_behind)
        self.jobs.cancel_all()

    def _leave_behind(self) -> None:
        """Close although something does not stop: it ends by itself, and the process ends after it."""
        self._left_behind = True
        self.close()
