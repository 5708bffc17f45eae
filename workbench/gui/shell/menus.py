"""The menus and their usual shortcuts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol

from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QApplication, QMainWindow, QMenu, QScrollArea

from workbench.gui.pages.base import PageFrame
from workbench.gui.project.open_table import open_table
from workbench.gui.project.project import Project
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.session.settings import Settings
from workbench.gui.shell.help_panel import HelpPanel
from workbench.gui.shell.rail import Rail
from workbench.gui.style.theme import MODES, ThemeSwitch
from workbench.gui.widgets.dialogs import ask_for_table
from workbench.gui.widgets.explain import ExplainPanel, asked_at, of_plan


class Shell(Protocol):
    """What the menus need of the window that they belong to."""

    session: Session
    jobs: JobCenter
    project: Project
    settings: Settings
    theme: ThemeSwitch
    rail: Rail
    gauges: QScrollArea
    explain_panel: ExplainPanel
    help_panel: HelpPanel

    @property
    def page(self) -> PageFrame:
        """The page that is shown."""

    def open(self, source: str) -> None:
        """Open a table or a project."""

    def show_page(self, name: str) -> None:
        """Show the page called ``name``."""

    def run_page(self) -> None:
        """Do what Ctrl+Return asks for."""

    def escape(self) -> None:
        """Do what Esc asks for."""


class Menus:
    """Builds File, Edit, View and Help of a window.

    Attributes:
        actions: every action by its object name.
    """

    def __init__(self, window: QMainWindow, shell: Shell) -> None:
        self._window = window
        self._shell = shell
        self.actions: dict[str, QAction] = {}
        self._recent = QMenu("Open &Recent", window)
        self._recent.setObjectName("menu_recent")
        self._recent.aboutToShow.connect(self._list_recent)
        self._file()
        self._edit()
        self._view()
        self._help()

    def _file(self) -> None:
        menu = self._window.menuBar().addMenu("&File")
        self._add(menu, "open", "&Open Table…", self.ask_for_table, QKeySequence.StandardKey.Open)
        menu.addMenu(self._recent)
        self._add(menu, "reload", "&Reload Table", self._reload, QKeySequence.StandardKey.Refresh)
        menu.addSeparator()
        project = self._shell.project
        self._add(menu, "open_project", "Open &Project…", project.ask_and_open, QKeySequence("Ctrl+Shift+O"))
        self._add(menu, "save", "&Save Project", project.save, QKeySequence.StandardKey.Save)
        self._add(menu, "save_as", "Save Project &As…", project.save_as, QKeySequence("Ctrl+Shift+S"))
        menu.addSeparator()
        self._add(menu, "quit", "&Quit", self._window.close, QKeySequence("Ctrl+Q"))

    def _edit(self) -> None:
        menu = self._window.menuBar().addMenu("&Edit")
        stack = self._shell.session.undo_stack
        for name, action, key in (
            ("undo", stack.createUndoAction(self._window, "&Undo"), "Ctrl+Z"),
            ("redo", stack.createRedoAction(self._window, "&Redo"), "Ctrl+Shift+Z"),
        ):
            action.setShortcut(QKeySequence(key))
            action.setObjectName(f"action_{name}")
            menu.addAction(action)
            self.actions[name] = action
        menu.addSeparator()
        self._add(menu, "run", "Run This &Page", self._shell.run_page, QKeySequence("Ctrl+Return"))
        self._add(menu, "cancel", "&Cancel", self._shell.escape, QKeySequence("Esc"))

    def _view(self) -> None:
        menu = self._window.menuBar().addMenu("&View")
        for position, name in enumerate(self._shell.rail.buttons, start=1):
            title = self._shell.rail.buttons[name].text()
            key = QKeySequence(f"Ctrl+{position % 10}") if position <= 10 else QKeySequence()
            self._add(menu, f"page_{name}", title, partial(self._shell.show_page, name), key)
        menu.addSeparator()
        gauges = self._add(menu, "gauges", "&Gauges", self._toggle_gauges, QKeySequence("F9"))
        gauges.setCheckable(True)
        gauges.setChecked(self._shell.settings.load("gauges") != "hidden")
        themes = menu.addMenu("&Colours")
        group = QActionGroup(self._window)
        for mode in MODES:
            action = self._add(themes, f"theme_{mode}", mode.capitalize(), partial(self._choose_theme, mode))
            action.setCheckable(True)
            action.setChecked(mode == self._shell.theme.mode)
            group.addAction(action)

    def _help(self) -> None:
        menu = self._window.menuBar().addMenu("&Help")
        self._add(menu, "help", "&Help", self._show_help, QKeySequence.StandardKey.HelpContents)
        self._add(menu, "page_help", "About This &Page", self._show_page_help, QKeySequence("Shift+F1"))
        self._add(menu, "explain", "What Does &ε Mean?", self._explain, QKeySequence("Ctrl+E"))
        menu.addSeparator()
        self._add(menu, "about_qt", "About &Qt", QApplication.aboutQt)
        session = self._shell.session
        session.explain_asked.connect(self._shell.help_panel.hide)
        session.explain_asked.connect(self._show_gauges)

    def _add(
        self,
        menu: QMenu,
        name: str,
        text: str,
        done: Callable[[], object],
        key: QKeySequence | QKeySequence.StandardKey | None = None,
    ) -> QAction:
        action = QAction(text, self._window)
        action.setObjectName(f"action_{name}")
        if key is not None:
            action.setShortcut(key)
        action.triggered.connect(lambda: done())
        menu.addAction(action)
        self.actions[name] = action
        return action

    # -- what they do ---------------------------------------------------------------------------------------------

    def ask_for_table(self) -> None:
        """Ask for a file and open it."""
        path = ask_for_table(self._window)
        if path:
            self._shell.open(path)

    def _reload(self) -> None:
        opened = self._shell.session.opened
        if opened is not None:
            open_table(self._shell.session, self._shell.jobs, opened.source, opened.options)
        elif self._shell.settings.recent:
            self._shell.open(self._shell.settings.recent[0])

    def _list_recent(self) -> None:
        self._recent.clear()
        for path in self._shell.settings.recent:
            self._recent.addAction(path.replace("&", "&&"), partial(self._shell.open, path))
        if self._recent.isEmpty():
            self._recent.addAction("No recent files").setEnabled(False)
        else:
            self._recent.addSeparator()
            self._recent.addAction("Clear", self._clear_recent)

    def _clear_recent(self) -> None:
        recent = self._shell.session.recent
        if recent is not None:
            recent.clear()

    def _toggle_gauges(self) -> None:
        self._shell.gauges.setVisible(self.actions["gauges"].isChecked())

    def _choose_theme(self, mode: str) -> None:
        self._shell.theme.set_mode(mode)
        self._shell.settings.theme = mode

    def _show_gauges(self) -> None:
        """Show the column on the right, where what was asked for appears."""
        self._shell.gauges.show()
        self.actions["gauges"].setChecked(True)

    def _show_help(self) -> None:
        """Explain the ε that has the focus, else say what the page is for."""
        asked = asked_at(QApplication.focusWidget())
        if asked is not None:
            self._shell.session.explain(asked.epsilon, asked.delta, asked.about)
        else:
            self._show_page_help()

    def _show_page_help(self) -> None:
        name = self._shell.page.objectName().removeprefix("page_")
        page = self._shell.rail.buttons[name].page
        self._shell.explain_panel.hide()
        self._shell.help_panel.show_page(page)
        self._show_gauges()

    def _explain(self) -> None:
        """Explain the ε that has the focus, else that of the plan."""
        session = self._shell.session
        found = asked_at(QApplication.focusWidget()) or of_plan(session)
        session.explain(found.epsilon, found.delta, found.about)
