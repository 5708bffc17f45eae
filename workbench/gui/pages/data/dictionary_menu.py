"""Import what is publicly known of the columns from a data dictionary, and export it: two entries of one button."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QToolButton

from workbench.gui.pages.data.dictionary_tasks import Imported, export_dictionary, import_dictionary
from workbench.gui.session.draft import DraftPlan
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later, tr_sentence
from workbench.gui.widgets.basic import look, named
from workbench.gui.widgets.dialogs import DICTIONARIES, ask_for_dictionary, ask_where_to_save
from workbench.gui.widgets.formatting import count

TIP = tr_later(
    "A CSV with the header name,role,kind,lower,upper,values,missing,date_order: what is publicly known of each "
    "column. Dates as 1990-12-31, values separated by |, missing as refuse or own-value, date_order as day-first or "
    "month-first; an empty cell declares nothing"
)


class DictionaryMenu(QToolButton):
    """The button in Data, Columns."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__()
        self._session, self._jobs = session, jobs
        named(self, "dictionary", tr("Data dictionary"), tr(TIP))
        self.setText(tr("Dictionary"))
        self.setProperty("menu", True)  # the style sheet draws its chevron
        look(self, "button")
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(self)
        menu.setToolTipsVisible(True)
        for name, words, tip, act in (
            (
                "import",
                tr("Import a data dictionary…"),
                tr("Declare what a CSV says of the columns, as one step"),
                self._import,
            ),
            (
                "export",
                tr("Export as a data dictionary…"),
                tr("Write what is declared into a CSV, to edit or to keep"),
                self._export,
            ),
        ):
            action = QAction(words, self)
            action.setObjectName(f"dictionary_{name}")
            action.setToolTip(tip)
            action.triggered.connect(lambda _checked, act=act: act())
            menu.addAction(action)
        self.setMenu(menu)

    def _import(self) -> None:
        path = ask_for_dictionary(self)
        if path:
            import_dictionary(Path(path), self._session.plan, self._jobs, self._session, self._take)

    def _take(self, before: DraftPlan, made: Imported) -> None:
        if self._session.plan != before:
            self._session.notify("warning", tr("The plan was edited meanwhile: import the data dictionary again."))
            return
        self._session.edit(tr("import {title}", title=made.title), made.plan)
        stated = tr("Imported {title}: {columns} declared.", title=made.title, columns=count(made.columns, "column"))
        self._session.notify("warning" if made.unknown else "info", f"{stated} {tr_sentence(made.unknown)}".rstrip())

    def _export(self) -> None:
        opened = self._session.opened
        assert opened is not None
        suggested = f"{Path(opened.title).stem}-dictionary.csv"
        path = ask_where_to_save(self, tr("Export as a data dictionary"), suggested, DICTIONARIES)
        if path:
            export_dictionary(Path(path), self._session.plan, self._jobs, self._session)
