"""The menus, their usual shortcuts, and the list of commands that is searched by typing (Ctrl+K)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QApplication, QFrame, QListWidget, QListWidgetItem, QMenu, QWidget

import workbench
from workbench.data.samples.sample_tables import SAMPLES
from workbench.gui.pages.base import ROOMS
from workbench.gui.project.open_table import open_images, open_table
from workbench.gui.session.draft import DraftPlan
from workbench.gui.session.settings import Cluster
from workbench.gui.shell.main_window import TEXT_SIZE, MainWindow
from workbench.gui.shell.preferences import PreferencesDialog
from workbench.gui.shell.retranslate import retranslate
from workbench.gui.style.language import LANGUAGES, SYSTEM, again, best, set_language, tr, tr_later, tr_sentence
from workbench.gui.style.theme import MODES
from workbench.gui.widgets.basic import look, named, stack
from workbench.gui.widgets.choice_box import SearchField
from workbench.gui.widgets.dialogs import FOLDER_OF_IMAGES, ask_for_data, ask_for_folder
from workbench.gui.widgets.explain import ask, asked_at, of_plan

SIZE = (460, 360)
TOP = 64
ACTION = Qt.ItemDataRole.UserRole


@contextlib.contextmanager
def waiting(window: MainWindow) -> Iterator[None]:
    """Say what is done while the window cannot react: a new look of every page takes up to half a second."""
    QApplication.setOverrideCursor(Qt.CursorShape.WaitCursor)
    window.statusBar().showMessage(tr("Drawing every page anew: about a second…"))
    window.statusBar().repaint()
    try:
        yield
    finally:
        QApplication.restoreOverrideCursor()


class CommandPalette(QFrame):
    """A panel over the window. Typing narrows the list, Return does what is marked, Esc closes it."""

    def __init__(self, window: QWidget, actions: Callable[[], Iterable[QAction]]) -> None:
        super().__init__(window)
        self.setObjectName("command_palette")
        self.setAccessibleName(tr("Commands and pages"))
        look(self, "card")
        self._actions = actions
        self._former: QWidget | None = None
        self._list = named(QListWidget(), "palette_list", tr("Commands that match"))
        self._list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._search = named(SearchField(self._list), "palette_search", tr("Search commands and pages"))
        self._search.setPlaceholderText(tr("Type a command or a page"))
        self.setLayout(stack(self._search, (self._list, 1), margins=(12, 12, 12, 12)))
        self._search.textChanged.connect(self._narrow)
        self._search.returnPressed.connect(lambda: self._do(self._list.currentItem()))
        self._list.itemClicked.connect(self._do)
        self.hide()

    def open(self) -> None:
        """Show every command that can be given now, with the keys in the search field."""
        self._former = QApplication.focusWidget()
        self._search.clear()
        self._narrow("")
        parent = self.parentWidget()
        assert parent is not None
        self.resize(min(SIZE[0], parent.width() - 32), min(SIZE[1], parent.height() - TOP - 32))
        self.move(QPoint((parent.width() - self.width()) // 2, TOP))
        self.show()
        self.raise_()
        self._search.setFocus()

    def close_quietly(self) -> None:
        """Hide it and give the keys back to what had them."""
        self.hide()
        if self._former is not None and self._former.isVisible():
            self._former.setFocus()
        self._former = None

    def _narrow(self, typed: str) -> None:
        wanted = typed.lower().strip()
        self._list.clear()
        listed = [(action.text().replace("&", "").rstrip("…"), action) for action in self._actions()]
        for text, action in sorted(listed, key=lambda one: wanted not in one[0].lower()):  # what is called so first
            searched = f"{text} {action.whatsThis()}".lower()
            if not action.isEnabled() or not all(word in searched for word in wanted.split()):
                continue
            keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
            item = QListWidgetItem(f"{text}    {keys}".rstrip())
            item.setData(ACTION, action)
            self._list.addItem(item)
        self._list.setCurrentRow(0)

    def _do(self, item: QListWidgetItem | None) -> None:
        if item is not None:
            action = item.data(ACTION)
            self.close_quietly()
            action.trigger()


STEP = 10  # percent by which text grows or shrinks at a time

ABOUT = (
    tr_later(
        "It releases tables and models with a stated, accounted privacy guarantee. What you open "
        "stays on this computer; nothing is uploaded."
    ),
    tr_later("Licence: Apache 2.0. Typeface: Inter, SIL Open Font License. Window: Qt for Python."),
)


class Menus:
    """Builds File, Edit, View and Help of a window."""

    def __init__(self, window: MainWindow) -> None:
        self._window = window
        window.menus = self
        self.actions: dict[str, QAction] = {}  # every action by its object name
        self._recent = QMenu(tr("Open &Recent"), window)
        self._recent.setObjectName("menu_recent")
        self._recent.aboutToShow.connect(self._list_recent)
        self.palette = CommandPalette(window, self.actions.values)
        self._file()
        self._edit()
        self._view()
        self._help()

    def _file(self) -> None:
        menu = self._window.menuBar().addMenu(tr("&File"))
        self._add(menu, "open", tr("&Open Table or Images…"), self.ask_for_table, QKeySequence.StandardKey.Open)
        self._add(menu, "open_database", tr("Open from a &Database…"), self._window.ask_for_database)
        self._add(menu, "open_image_folder", tr("Open &Folder of Images…"), self._ask_for_folder)
        menu.addMenu(self._recent)
        samples = menu.addMenu(tr("&Samples"))
        for sample in SAMPLES:
            title = tr_sentence(sample.name.replace("-", " ").capitalize())
            done = partial(self._window.open, f"sample:{sample.name}")
            self._add(samples, f"sample_{sample.name}", title, done).setToolTip(tr_sentence(sample.help))
        samples.setToolTipsVisible(True)
        again = self._add(menu, "reload", tr("&Reload"), self._reload, QKeySequence.StandardKey.Refresh)
        again.setWhatsThis("reload table")  # not translated
        self._add(menu, "close_table", tr("&Close Table"), self._close, QKeySequence("Ctrl+W"))
        menu.addSeparator()
        project = self._window.project
        self._add(menu, "open_project", tr("Open &Project…"), project.ask_and_open, QKeySequence("Ctrl+Shift+O"))
        self._add(menu, "save", tr("&Save Project"), project.save, QKeySequence.StandardKey.Save)
        self._add(menu, "save_as", tr("Save Project &As…"), project.save_as, QKeySequence("Ctrl+Shift+S"))
        menu.addSeparator()
        self._add(menu, "preferences", tr("Pre&ferences…"), self._ask_for_preferences, QKeySequence("Ctrl+,"))
        menu.addSeparator()
        self._add(menu, "quit", tr("&Quit"), self._window.close, QKeySequence("Ctrl+Q"))

    def _edit(self) -> None:
        menu = self._window.menuBar().addMenu(tr("&Edit"))
        stack = self._window.session.undo_stack
        undone = partial(self._move, stack.undo, tr_later("Undone"), stack.redoText)
        redone = partial(self._move, stack.redo, tr_later("Done again"), stack.undoText)
        undo = self._add(menu, "undo", "", undone, "Ctrl+Z")
        redo = self._add(menu, "redo", "", redone)
        redo.setShortcuts([QKeySequence("Ctrl+Shift+Z"), QKeySequence("Ctrl+Y")])
        # Qt's own actions keep the word of the language in which they were made.
        for action, word, able, called in (
            (undo, tr_later("&Undo"), stack.canUndoChanged, stack.undoTextChanged),
            (redo, tr_later("&Redo"), stack.canRedoChanged, stack.redoTextChanged),
        ):
            action.setEnabled(False)
            able.connect(action.setEnabled)
            called.connect(partial(self._name_step, action, word))
        self._name_steps()
        menu.addSeparator()
        self._add(menu, "run", tr("Run This &Page"), lambda: self._window.page.run(), QKeySequence("Ctrl+Return"))
        self._add(menu, "cancel", tr("&Cancel"), self._escape, QKeySequence("Esc"))
        menu.addSeparator()
        self._add(menu, "palette", tr("&Find a Command…"), self.palette.open, QKeySequence("Ctrl+K"))

    def _move(self, move: Callable[[], None], word: str, step: Callable[[], str]) -> None:
        """Go a step back or on, and say so: what the status bar says of an edit must not outlast it."""
        move()
        self._window.messages.report_step(tr(word), again(step()))

    def _name_steps(self) -> None:
        stack = self._window.session.undo_stack
        stack.undoTextChanged.emit(stack.undoText())
        stack.redoTextChanged.emit(stack.redoText())

    @staticmethod
    def _name_step(action: QAction, word: str, step: str) -> None:
        action.setText(f"{tr(word)} {again(step)}".rstrip())

    def _view(self) -> None:
        menu = self._window.menuBar().addMenu(tr("&View"))
        for number, room in enumerate(ROOMS, start=1):
            key = QKeySequence(f"Ctrl+{number}")
            self._add(menu, f"room_{room.name}", tr(room.title), partial(self._window.show_room, room.name), key)
        self._add(menu, "next_tab", tr("Next Tab"), partial(self._window.next_tab, 1), QKeySequence("Ctrl+PgDown"))
        self._add(menu, "former_tab", tr("Previous Tab"), partial(self._window.next_tab, -1), QKeySequence("Ctrl+PgUp"))
        tabs = menu.addMenu(tr("All &Tabs"))
        rooms = {room.name: tr(room.title) for room in ROOMS}
        for name, page in self._window.rail.pages.items():
            title = f"{rooms[page.room]}: {tr(page.title)}"
            self._add(tabs, f"page_{name}", title, partial(self._window.show_page, name)).setWhatsThis(page.known_as)
        menu.addSeparator()
        gauges = self._add(menu, "gauges", tr("&Gauges"), self._toggle_gauges, QKeySequence("F9"))
        gauges.setCheckable(True)
        gauges.setChecked(self._window.settings.load("gauges") != "hidden")
        menu.addSeparator()
        self._add(menu, "text_larger", tr("&Larger Text"), lambda: self._scale(self._size() + STEP), "Ctrl++")
        self._add(menu, "text_smaller", tr("&Smaller Text"), lambda: self._scale(self._size() - STEP), "Ctrl+-")
        self._add(menu, "text_normal", tr("&Normal Text"), lambda: self._scale(100))
        menu.addSeparator()
        themes, languages = menu.addMenu(tr("&Colours")), menu.addMenu(tr("&Language"))
        self._offer(themes, "theme", MODES, self._window.theme.mode, self._choose_theme)
        known = {SYSTEM: tr_later("System"), **LANGUAGES}
        self._offer(languages, "language", known, self._window.settings.language, self._choose_language)

    def _offer(
        self, menu: QMenu, name: str, titles: Mapping[str, str], chosen: str, choose: Callable[[str], object]
    ) -> None:
        group = QActionGroup(self._window)
        for key, title in titles.items():
            action = group.addAction(self._add(menu, f"{name}_{key}", tr(title), partial(choose, key)))
            action.setCheckable(True)
            action.setChecked(key == chosen)

    def _help(self) -> None:
        menu = self._window.menuBar().addMenu(tr("&Help"))
        self._add(menu, "help", tr("&Help"), self._show_help, QKeySequence.StandardKey.HelpContents)
        self._add(menu, "page_help", tr("About This &Page"), self._show_page_help, QKeySequence("Shift+F1"))
        self._add(menu, "topics", tr("&Search the Help…"), lambda: self._window.session.ask_for_help("window"))
        self._add(menu, "explain", tr("What Does &ε Mean?"), self._explain, QKeySequence("Ctrl+E"))
        self._add(menu, "glossary", tr("&Glossary"), lambda: self._window.session.ask_for_help("glossary"))
        self._add(menu, "tour", tr("Take the &Tour"), self._tour)
        menu.addSeparator()
        self._add(menu, "about", tr("&About This Program"), self._show_about)
        self._add(menu, "about_qt", tr("About &Qt"), QApplication.aboutQt)
        session = self._window.session
        session.explain_asked.connect(self._window.help_panel.hide)
        self._window.messages.banner.more_asked.connect(lambda text: self._show_text(tr("Message"), (("", text),)))
        session.explain_asked.connect(self._show_gauges)

    def _add(
        self,
        menu: QMenu,
        name: str,
        text: str,
        done: Callable[[], object],
        key: QKeySequence | QKeySequence.StandardKey | str | None = None,
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
        path = ask_for_data(self._window, self._window.session.folder)
        if path:
            self._window.open(path)

    def _ask_for_folder(self) -> None:
        folder = ask_for_folder(self._window, FOLDER_OF_IMAGES)
        if folder:
            self._window.open(folder)

    def _ask_for_preferences(self) -> None:
        PreferencesDialog(self._window.session, self._keep_cluster, self._window).open()

    def _keep_cluster(self, cluster: Cluster) -> None:
        self._window.session.cluster = self._window.settings.cluster = cluster

    def _escape(self) -> None:
        if self.palette.isVisible():
            self.palette.close_quietly()
        else:
            self._window.escape()

    def _reload(self) -> None:
        session, jobs = self._window.session, self._window.jobs
        if session.images is not None:
            open_images(session, jobs, session.images.source, session.images.options)
        elif session.opened is not None:
            open_table(session, jobs, session.opened.source, session.opened.options)
        elif paths := session.recent.paths:
            self._window.open(paths[0])

    def _close(self) -> None:
        """Close the table or the images, once unsaved work is taken care of."""
        session = self._window.session
        if session.open_data is None or not session.may_replace(self._close, False):
            return
        title = session.open_data.title
        session.open(None, DraftPlan())
        self._window.show_page(next(name for name, page in self._window.rail.pages.items() if page.home))
        session.notify("info", tr("Closed {title}.", title=title))

    def _list_recent(self) -> None:
        self._recent.clear()
        for path in self._window.session.recent.paths:
            self._recent.addAction(path.replace("&", "&&"), partial(self._window.open, path))
        if self._recent.isEmpty():
            self._recent.addAction(tr("No recent files")).setEnabled(False)
        else:
            self._recent.addSeparator()
            self._recent.addAction(tr("Clear"), self._window.session.recent.clear)

    def _toggle_gauges(self) -> None:
        self._window.gauges.setVisible(self.actions["gauges"].isChecked())

    def _size(self) -> int:
        return self._window.theme.scale

    def _scale(self, percent: int) -> None:
        with waiting(self._window):
            self._window.theme.set_scale(percent)
            self._window.session.theme_changed.emit()  # draws charts with letters of that size
        self._window.settings.save(TEXT_SIZE, self._window.theme.scale)
        self._window.messages.notify("info", tr("Text size {scale} %.", scale=self._window.theme.scale))

    def _tour(self) -> None:
        self._show_gauges()
        self._window.help_panel.hide()
        self._window.explain_panel.hide()
        self._window.tour.start()

    def _show_about(self) -> None:
        name = tr("Privacy workbench {version}", version=workbench.__version__)
        self._show_text(tr("About this program"), (("", text) for text in (name, *map(tr, ABOUT))))

    def _show_text(self, title: str, parts: Iterable[tuple[str, str]]) -> None:
        self._window.explain_panel.hide()
        self._window.help_panel.show_text(title, tuple(parts))
        self._show_gauges()

    def _choose_theme(self, mode: str) -> None:
        with waiting(self._window):
            self._window.theme.set_mode(mode)
        self._window.statusBar().clearMessage()
        self._window.settings.theme = mode

    def _choose_language(self, code: str) -> None:
        """Say everything in another language at once; nothing that is open or runs is touched."""
        self._window.settings.language = code
        with waiting(self._window):
            set_language(best(code))
            retranslate()
            self._name_steps()
            self._window.session.theme_changed.emit()  # draws charts and cells anew
        self._window.messages.notify("info", tr("The window is in English now."))

    def _show_gauges(self) -> None:
        self._window.gauges.show()
        self.actions["gauges"].setChecked(True)

    def _show_help(self) -> None:
        """Explain the ε that has the focus, else say what the page is for."""
        asked = asked_at(QApplication.focusWidget())
        if asked is not None:
            ask(self._window.session, asked)
        else:
            self._show_page_help()

    def _show_page_help(self) -> None:
        name = self._window.page.objectName().removeprefix("page_")
        page = self._window.rail.pages[name]
        self._window.explain_panel.hide()
        self._window.help_panel.show_page(page)
        self._show_gauges()

    def _explain(self) -> None:
        """Explain the ε that has the focus, else that of the plan."""
        session = self._window.session
        found = asked_at(QApplication.focusWidget()) or of_plan(session)
        ask(session, found)
