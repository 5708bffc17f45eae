"""Look at the lines of a text file around the one that a reader refused, so that a person can mend it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.jobs import Job
from workbench.params import WorkbenchError
from workbench.signals.cancel import CancelToken

CONTEXT = 2
"""Lines before and after the one in question."""

LONGEST = 400
KEY = "bad-lines"


@dataclass(frozen=True)
class FileLine:
    """One line of a text file. Private."""

    number: int
    text: str
    bad: bool


def show_lines(
    source: str, error: BaseException, encoding: str | None, jobs: JobCenter, apply: Callable[[list[FileLine]], None]
) -> JobHandle | None:
    """Read the lines around the one that ``error`` names; ``None`` where it names none."""
    number = error.line if isinstance(error, WorkbenchError) else None
    if number is None:
        return None
    job = Job("Looking at the file", lambda emit, cancel: lines_near(Path(source), number, encoding, cancel))
    # Where even that fails, the error itself has been told: there is nothing to add to it.
    return jobs.start(job, key=KEY, shown=False, on_result=apply, on_failure=lambda failure: apply([]))


def lines_near(path: Path, number: int, encoding: str | None, cancel: CancelToken) -> list[FileLine]:
    """Return the lines around ``number``, counted from 1; runs in a worker."""
    out = []
    # Latin-1 keeps every byte, so that lines are told apart before anybody knows how letters are written.
    with path.open(encoding="latin-1", newline=None) as file:
        for at, line in enumerate(file, 1):
            if at % 4096 == 0:
                cancel.check()
            if at > number + CONTEXT:
                break
            if at >= number - CONTEXT:
                out.append(FileLine(at, _decoded(line.rstrip("\n"), encoding)[:LONGEST], bad=at == number))
    return out


def _decoded(line: str, encoding: str | None) -> str:
    raw = line.encode("latin-1")
    if encoding is None:
        try:
            return raw.decode("utf-8-sig")
        except UnicodeDecodeError:
            encoding = "cp1252"
    return raw.decode(encoding, errors="replace")
