"""Import what is publicly known of the columns from a data dictionary, and export it: two entries of one button."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QToolButton

from workbench.gui.session.draft import DraftPlan
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import Session
from workbench.gui.style.language import as_sentence, tr, tr_later, tr_sentence
from workbench.gui.widgets.basic import look, named
from workbench.gui.widgets.dialogs import DICTIONARIES, ask_for_file, ask_where_to_save
from workbench.gui.widgets.formatting import count
from workbench.jobs import CancelToken, Emit, Job

KEY = "dictionary"


@dataclass(frozen=True)
class Imported:
    """What an import makes of a draft.

    Attributes:
        title: the file.
        plan: the draft with what it declares.
        columns: how many columns it declares something of.
        unknown: one sentence about columns that the table does not have, or empty.
    """

    title: str
    plan: DraftPlan
    columns: int
    unknown: str


def import_dictionary(
    path: Path, plan: DraftPlan, jobs: JobCenter, session: Session, apply: Callable[[DraftPlan, Imported], None]
) -> JobHandle:
    """Read ``path`` over ``plan``; a file that is wrong anywhere changes nothing and is reported."""
    profiles = session.opened.profile if session.opened is not None else ()
    kinds = {p.name: p.kind for p in profiles}

    def work(emit: Emit, cancel: CancelToken) -> Imported:
        return declared(path, plan, kinds)

    job = Job(tr("Importing"), work, about=path.name)
    return jobs.start(job, key=KEY, on_result=lambda made: apply(plan, made), on_failure=session.report)


def declared(path: Path, plan: DraftPlan, kinds: Mapping[str, str]) -> Imported:
    """Return ``plan`` with what the dictionary in ``path`` declares; runs in a worker.

    Args:
        path: the dictionary.
        plan: the draft as it is.
        kinds: the kind that each column seems to have, for one that comes back and of which no kind is declared.

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


def export_dictionary(path: Path, plan: DraftPlan, jobs: JobCenter, session: Session) -> JobHandle:
    """Write what ``plan`` declares; what was read off the rows is left out, and the person is informed."""

    def work(emit: Emit, cancel: CancelToken) -> tuple[str, ...]:
        from workbench.release.atomic import write_output
        from workbench.sanitize.data_dictionary import write_dictionary

        text, left_out = write_dictionary(plan.writable().to_raw()["column"])
        write_output(path, text.encode())
        return left_out

    def notify(left_out: tuple[str, ...]) -> None:
        from workbench.sanitize.data_dictionary import left_out_in_words

        stated = left_out_in_words(left_out)
        more = tr_sentence(as_sentence(stated)) if stated else ""
        said = tr("Exported {name}.", name=path.name)
        session.notify("warning" if stated else "info", f"{said} {more}".rstrip())

    job = Job(tr("Exporting"), work, about=path.name)
    return jobs.start(job, key=KEY, on_result=notify, on_failure=session.report)


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
        path = ask_for_file(self, "dictionary", folder=self._session.folder)
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
        suggested = Path(opened.folder, f"{Path(opened.title).stem}-dictionary.csv")
        path = ask_where_to_save(self, tr("Export as a data dictionary"), str(suggested), DICTIONARIES)
        if path:
            export_dictionary(Path(path), self._session.plan, self._jobs, self._session)
