"""Import what is publicly known of the columns from a data dictionary, and export it: two entries of one button."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtWidgets import QMenu, QToolButton

from workbench.gui.session.draft import DraftPlan
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.style.language import as_sentence, tr, tr_later, tr_sentence
from workbench.gui.widgets.basic import look, named
from workbench.gui.widgets.dialogs import DICTIONARIES, ask_for_file, ask_where_to_save
from workbench.gui.widgets.formatting import count
from workbench.jobs import CancelToken, Emit, Job

KEY = "dictionary"


@dataclass(frozen=True)
class Imported:
    """What an import of the file ``title`` makes of a draft, of how many columns, and which the table does not have."""

    title: str
    plan: DraftPlan
    columns: int
    unknown: str


def declared(path: Path, plan: DraftPlan, kinds: Mapping[str, str]) -> Imported:
    """Return ``plan`` with what the dictionary in ``path`` declares; runs in a worker.

    A column that comes back without a declared kind takes the one of ``kinds``, which it seems to have.

    Raises:
        InputError: the file is wrong, or contradicts what the plan declares.
    """
    from workbench.sanitize.data_dictionary import changes, load_dictionary, not_in_table, with_guesses

    entries = load_dictionary(path)
    columns = {c.name: c for c in plan.columns}
    made = {}
    for entry in entries:
        column = columns.get(entry.name)
        if column is None or not entry.declares:
            continue
        # A column whose kind nobody has looked at was dropped for its rows, not because nobody needs it.
        unseen = "action" in column.guessed and column.kind is None
        changed = changes(entry, column, drop_guessed=unseen)
        if entry.date_order is None:  # what the rows call for stays asked, whatever the column is called
            changed.pop("date_order", None)
        guessed = with_guesses(entry, column.guessed)
        if changed.get("action") == "protect" and (changed.get("kind") or column.kind) is None:
            changed["kind"], guessed = kinds.get(entry.name, "category"), ("kind", *guessed)
        made[entry.name] = {**changed, "guessed": tuple(dict.fromkeys(guessed))}
    result = plan.with_columns(made)
    target = next((e.name for e in entries if e.role == "target" and e.name in made), None)
    if target is not None:
        result = result.with_target(target)
    result.problems()  # makes the grid of every column here rather than on the GUI thread
    stated = not_in_table(entries, list(columns))
    return Imported(path.name, result, len(made), as_sentence(stated))


TIP = tr_later(
    "A CSV with the header name,role,kind,lower,upper,values,missing,missing_codes,date_order: what is publicly "
    "known about each column. Dates as 1990-12-31, values separated by |, missing as refuse or own-value, "
    "missing_codes as -9|99, date_order as day-first or month-first; an empty cell declares nothing"
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
        self.setMenu(menu)
        self._add("import", tr("Import a data dictionary…"), tr("Declare what a CSV says of the columns, as one step"))
        self._add(
            "export", tr("Export as a data dictionary…"), tr("Write what is declared into a CSV, to edit or to keep")
        )

    def _add(self, name: str, words: str, tip: str) -> None:
        action = self.menu().addAction(words)
        action.setObjectName(f"dictionary_{name}")
        action.setToolTip(tip)
        action.triggered.connect(self._import if name == "import" else self._export)

    def _import(self) -> None:
        """Read a file over the plan; one that is wrong anywhere changes nothing and is reported."""
        session, plan, opened = self._session, self._session.plan, self._session.opened
        given = ask_for_file(self, "dictionary", folder=session.folder)
        if not given:
            return
        path, kinds = Path(given), {p.name: p.kind for p in (opened.profile if opened is not None else ())}
        job = Job(tr("Importing"), lambda emit, cancel: declared(path, plan, kinds), about=path.name)
        self._jobs.start(job, key=KEY, on_result=partial(self._take, plan))

    def _take(self, before: DraftPlan, made: Imported) -> None:
        if self._session.plan != before:
            self._session.notify("warning", tr("The plan was edited meanwhile: import the data dictionary again."))
            return
        self._session.edit(tr("import {title}", title=made.title), made.plan)
        stated = tr("Imported {title}: {columns} declared.", title=made.title, columns=count(made.columns, "column"))
        self._session.notify("warning" if made.unknown else "info", f"{stated} {tr_sentence(made.unknown)}".rstrip())

    def _export(self) -> None:
        """Write what the plan declares; what was read off the rows is left out, and the person is informed."""
        session, plan, opened = self._session, self._session.plan, self._session.open_table
        suggested = Path(opened.folder, f"{Path(opened.title).stem}-dictionary.csv")
        given = ask_where_to_save(self, tr("Export as a data dictionary"), str(suggested), DICTIONARIES)
        if not given:
            return
        path = Path(given)

        def work(emit: Emit, cancel: CancelToken) -> str:
            from workbench.release.atomic import write_output
            from workbench.sanitize.data_dictionary import left_out_in_words, write_dictionary

            text, left_out = write_dictionary(plan.writable().to_raw()["column"])
            write_output(path, text.encode())
            return left_out_in_words(left_out)

        def notify(left_out: str) -> None:
            said = tr("Exported {name}.", name=path.name)
            more = tr_sentence(as_sentence(left_out))
            session.notify("warning" if left_out else "info", f"{said} {more}".rstrip())

        self._jobs.start(Job(tr("Exporting"), work, about=path.name), key=KEY, on_result=notify)
