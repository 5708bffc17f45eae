"""Copy the selected cells of a table as tab-separated text; of a private one, with the badge as its first line."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QItemSelectionRange, QObject, QPoint, Qt
from PySide6.QtGui import QAction, QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QMenu, QTableView

from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_number
from workbench.gui.widgets.basic import PRIVATE
from workbench.gui.widgets.formatting import count
from workbench.gui.widgets.table_view import copied, headings

COPY = QKeySequence.StandardKey.Copy
MOST = 100_000
"""Cells that are copied at once: more would hold up the window, and no clipboard is meant for them."""


class CopyRows(QObject):
    """Gives a table the action Copy, by Ctrl+C and by its context menu, and another for all of its rows."""

    def __init__(
        self,
        view: QTableView,
        session: Session,
        *,
        private: bool | Callable[[Sequence[int]], bool],
    ) -> None:
        """Watch ``view``; ``private`` says whether its rows are, or those of some numbers."""
        super().__init__(view)
        view.installEventFilter(self)
        self._view, self._session = view, session
        self._private = private if callable(private) else lambda rows: private
        name = view.objectName()
        for key, words, tip in (
            ("copy", tr("Copy"), tr("Copy the selected cells with the names of their columns")),
            ("copy_all", tr("Copy All Rows"), tr("Copy every row with the names of the columns")),
        ):
            action = QAction(words, view)
            action.setObjectName(f"{name}_{key}")
            action.setToolTip(tip)
            view.addAction(action)
            action.triggered.connect(lambda _checked, whole=key == "copy_all": self.copy(whole=whole))
            if key == "copy":
                action.setShortcut(QKeySequence(COPY))
                action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        view.customContextMenuRequested.connect(self._show_menu)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Copy in place of Qt's table, which copies the current cell alone and never says that it is private."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress and event.matches(COPY):
            self.copy()
            return True
        return False

    def _show_menu(self, at: QPoint) -> None:
        menu = QMenu(self._view)
        menu.setObjectName(f"{self._view.objectName()}_menu")
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addActions(self._view.actions())
        menu.popup(self._view.viewport().mapToGlobal(at))

    def copy(self, *, whole: bool = False) -> None:
        """Copy what is selected, or every row."""
        model = self._view.model()
        if whole:
            areas = [QItemSelectionRange(model.index(0, 0), model.index(model.rowCount() - 1, model.columnCount() - 1))]
        else:
            selection = self._view.selectionModel().selection()
            areas = [selection.at(i) for i in range(selection.count())]
        cells = sum(a.width() * a.height() for a in areas)
        if not cells:
            self._session.notify("info", tr("Nothing is selected."))
            return
        if cells > MOST:
            self._session.notify(
                "warning",
                tr(
                    "{cells} cells are too many to copy: choose at most {most} of them.",
                    cells=tr_number(cells, ","),
                    most=tr_number(MOST, ","),
                ),
            )
            return
        # As they are shown: a table may be sorted in its view, and what is filtered out is not copied unseen.
        seen = {r for a in areas for r in range(a.top(), a.bottom() + 1) if whole or not self._view.isRowHidden(r)}
        rows = sorted(seen, key=self._view.verticalHeader().visualIndex)
        columns = sorted({c for a in areas for c in range(a.left(), a.right() + 1)})
        chosen = {(r, c) for a in areas for r in range(a.top(), a.bottom() + 1) for c in range(a.left(), a.right() + 1)}
        private = self._private(rows)
        lines = [PRIVATE] if private else []
        lines.append("\t".join(map(_cell, headings(self._view, columns))))
        for r in rows:
            texts = [copied(model.index(r, c)) if (r, c) in chosen else "" for c in columns]
            lines.append("\t".join(map(_cell, texts)))
        QGuiApplication.clipboard().setText("\n".join(lines) + "\n")
        copied_rows = count(len(rows), "row")
        self._session.notify(
            "info",
            tr("Copied {rows}, which are private.", rows=copied_rows)
            if private
            else tr("Copied {rows}.", rows=copied_rows),
        )


def _cell(text: str) -> str:
    """Return a cell as a spreadsheet takes it from the clipboard."""
    if not any(mark in text for mark in '\t\n\r"'):
        return text
    return '"' + text.replace('"', '""') + '"'
