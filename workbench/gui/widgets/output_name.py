"""A name for what is about to be written that nothing has yet; looked for in a worker, as a share may be slow."""

from __future__ import annotations

import itertools
from pathlib import Path

from PySide6.QtWidgets import QLineEdit
from shiboken6 import isValid

from workbench.gui.session.account_task import is_there
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import OpenImages, OpenTable, Session
from workbench.gui.session.settings import Settings
from workbench.gui.style.language import tr
from workbench.gui.widgets.path_field import PathField
from workbench.jobs import CancelToken, Emit, Job
from workbench.sanitize.writing import DELIMITERS

FOLDER = "release_folder"


def beside(opened: OpenTable | OpenImages, ending: str, suffix: str = "", number: int = 1) -> Path:
    """Return a path that is called after the table or images, in the folder of releases."""
    folder = release_folder()
    return folder / f"{Path(opened.title).stem}-{ending}{f'-{number}' if number > 1 else ''}{suffix}"


def release_folder() -> Path:
    """Return the folder that was released into last, else the person's own: never the raw table's unasked."""
    kept = Settings().load(FOLDER)
    return Path(str(kept)) if kept else Path.home()


def remember_folder(folder: Path) -> None:
    """Suggest ``folder`` from now on, also after the next start."""
    Settings().save(FOLDER, str(folder.absolute()))


def written_words(opened: OpenTable, path: Path, source_changed: str, *, replaces: bool) -> str:
    """Return what else the last question says of the file: another delimiter, what it replaces, a changed source."""
    stated = f"\n\n⚠ {source_changed}." if source_changed else ""
    dialect = opened.table.dialect
    if path.suffix.lower() == ".csv" and dialect is not None and dialect.delimiter not in ("", *DELIMITERS):
        said = tr(
            "Its values are separated by commas, unlike those of {title}; a name in .tsv writes tabs.",
            title=opened.title,
        )
        stated += f"\n\n{said}"
    if replaces:
        stated += f"\n\n{tr('It replaces the existing file {path}', path=path)}"
    return stated


def suggest(session: Session, jobs: JobCenter, field: PathField, ending: str, suffix: str = "") -> None:
    """Put the first such path at which nothing is into ``field``, once it is found.

    What a person typed or chose stays until something is released into it. A field looks for one name at a time in a
    folder: one that does not answer cannot be left, and would keep a thread for each.
    """
    opened, present = session.open_data, field.text()
    if opened is None or (field.isModified() and path_in(field) not in _released_into(session)):
        return
    field.ending = ending
    key = f"suggest {field.objectName()} {beside(opened, ending).parent}"
    if any(handle.key == key and handle.running for handle in jobs.running):
        return

    def work(emit: Emit, cancel: CancelToken) -> Path:
        for number in itertools.count(1):
            cancel.check()
            path = beside(opened, ending, suffix, number)
            if not is_there(path):  # where that cannot be determined, writing there will say why
                break
        return path

    def show(found: Path) -> None:
        if not isValid(field):  # of a question that was answered meanwhile
            return
        if session.open_data is not opened or field.ending != ending:  # which had to wait for this one
            suggest(session, jobs, field, field.ending, suffix)
        elif field.text() == present:
            field.setText(str(found))

    jobs.start(Job(tr("Looking for a name"), work), key=key, stoppable=False, on_result=show)


def path_in(field: QLineEdit) -> Path:
    """Return the path that is written in a field."""
    return Path(field.text().strip()).expanduser()


def _released_into(session: Session) -> set[Path]:
    return {step.files[0][1] for step in session.released}
