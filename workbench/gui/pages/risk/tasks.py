"""Measure the table that is open in jobs: what is quick first, then the search of sets of columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import OpenTable, Session
from workbench.gui.style.language import tr
from workbench.gui.widgets.private_figures import follow_note
from workbench.jobs import CancelToken, Emit, Job
from workbench.signals.events import Progress

if TYPE_CHECKING:
    from workbench.data.table import Table
    from workbench.risk.hierarchies import Builder, Hierarchy
    from workbench.risk.measures import Line, RiskOptions, Subject

KEY = "risk"
MOST_ROWS = 500  # how many unique rows are listed, the highest scores first


@dataclass(frozen=True)
class Asked:
    """What is asked."""

    options: RiskOptions
    population: str | None  # its file
    chosen: Mapping[str, Builder | Path]  # of sensitive columns, the way or file that was chosen on Generalise
    codes: Mapping[str, tuple[str, ...]]  # what is declared to mean a missing value, by column


@dataclass(frozen=True)
class UniqueRow:
    """A row that nobody else is like, with its place from 0 and the smallest sets on which it is unique. Private."""

    at: int
    values: tuple[str, ...]
    score: float
    sets: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, eq=False)
class Found:
    """What was measured. Private, unless the table is a release."""

    asked: Asked
    subject: Subject
    figures: dict[str, Any]  # as ``workbench risk --json`` prints them
    lines: tuple[tuple[str, Line], ...]
    rows: tuple[UniqueRow, ...]  # the unique rows, once they were searched
    released: bool
    whole: bool  # whether nothing is left to measure


def look(jobs: JobCenter, opened: OpenTable, show: Callable[[bool], None]) -> JobHandle:
    """Find out whether the table that is open is a release: its figures are public."""

    def work(emit: Emit, cancel: CancelToken) -> bool:
        from workbench.release.described_release import is_release

        return is_release(opened.table)

    return jobs.start(Job(tr("Looking for a certificate"), work), key=f"{KEY}-look", stoppable=False, on_result=show)


def measure(session: Session, jobs: JobCenter, asked: Asked, **then: Any) -> JobHandle:
    """Measure what is quick; only the newest request counts."""
    opened = session.open_table

    def work(emit: Emit, cancel: CancelToken) -> Found:
        from workbench.data.table_reader import read_table
        from workbench.release.described_release import (
            is_release,
            note_unless_released,
            with_codes_unless_released,
        )
        from workbench.release.ledger.study_note import note_study
        from workbench.risk.measures import Subject

        people = None if asked.population is None else read_table(asked.population, cancel=cancel)
        released = is_release(opened.table)
        rows = with_codes_unless_released(opened.table, asked.codes)
        people = people and with_codes_unless_released(people, asked.codes)
        subject = Subject(rows, asked.options, people, _levels(rows, asked), cancel, emit)
        if not released:
            note_study(opened.table, "risk", emit=emit)
        if people is not None:
            note_unless_released(people, "risk", None, emit)
        return _measured(asked, subject, slow=False, released=released and people is None)

    job = Job(tr("Measuring the risk of {table}", table=opened.title), work)
    return follow_note(session, jobs, jobs.start(job, key=KEY, **then))


def search(jobs: JobCenter, found: Found, **then: Any) -> JobHandle:
    """Search which sets of columns make which rows unique."""

    def work(emit: Emit, cancel: CancelToken) -> Found:
        subject = replace(found.subject, cancel=cancel, emit=emit)
        return _measured(found.asked, subject, slow=True, released=found.released)

    return jobs.start(Job(tr("Searching for what makes rows unique"), work), key=KEY, **then)


def _levels(table: Table, asked: Asked) -> dict[str, Hierarchy]:
    from workbench.risk.hierarchies import read_hierarchy
    from workbench.risk.hierarchies.builders import made

    return {
        name: read_hierarchy(way) if isinstance(way, Path) else made(table, name, way)
        for name, way in asked.chosen.items()
    }


def _measured(asked: Asked, subject: Subject, *, slow: bool, released: bool) -> Found:
    from workbench.risk.measures import measures_of

    figures: dict[str, Any] = {}
    lines: list[tuple[str, Line]] = []
    asks = [measure for measure in measures_of(subject) if slow or not measure.slow]
    for done, measure in enumerate(asks):
        subject.cancel.check()
        if not slow:  # the search counts sets
            subject.emit(Progress(done, len(asks), tr("Measuring…")))
        figures |= measure.of(subject)
        lines += [(measure.title, line) for line in measure.lines(figures) if not line.detail]
    rows = _unique_rows(subject) if slow else ()
    return Found(asked, subject, figures, tuple(lines), rows, released, whole=slow)


def _unique_rows(subject: Subject) -> tuple[UniqueRow, ...]:
    import numpy as np

    from workbench.risk.measures.unique_measures import minimal_sets_of, scores

    score = scores(subject).rows
    alone = np.flatnonzero(subject.classes.of_rows == 1)
    shown = alone[np.argsort(-score[alone], kind="stable")[:MOST_ROWS]]
    sets = minimal_sets_of(subject, shown)
    values = subject.table.frame[list(subject.options.quasi)][shown.tolist()].rows()
    return tuple(
        UniqueRow(int(at), tuple("" if v is None else str(v) for v in row), float(score[at]), tuple(sets[int(at)][:5]))
        for at, row in zip(shown, values, strict=True)
    )
