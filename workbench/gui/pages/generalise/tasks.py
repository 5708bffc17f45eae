"""Hierarchies, search and publication, each in a job."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.gui.session.account_task import read_account
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr
from workbench.gui.widgets.private_figures import follow_note
from workbench.jobs import CancelToken, Emit, Job
from workbench.params import WorkbenchError

if TYPE_CHECKING:  # these load numpy, which the first paint does not wait for
    from workbench.release.generalised.generalised_file import Published
    from workbench.risk.generalise.failures import Failure
    from workbench.risk.generalise.generalised import Accuracy, Generalised, Method
    from workbench.risk.generalise.models import PrivacyModel
    from workbench.risk.generalise.problem import Asked
    from workbench.risk.hierarchies import Builder
    from workbench.risk.hierarchies.hierarchy import Hierarchy

KEY = "generalise"
MOST_ROWS = 500  # rows that are shown before and after


@dataclass(frozen=True)
class Levels:
    """The hierarchy of a column."""

    way: Builder | None  # in which it was made; ``None`` where it was read from a file
    hierarchy: Hierarchy
    chosen: Builder | Path | None = None  # what a person chose; ``None`` where it is as the values suggest
    people: str | None = None  # the file of the population, whose values it has as well
    refused: WorkbenchError | None = None  # why it is not made in the way that was kept


@dataclass(frozen=True, eq=False)
class Wish:
    """What a search is to find; ``population`` is the file of one."""

    asked: Asked
    hierarchies: Mapping[str, Hierarchy]
    models: tuple[PrivacyModel, ...]
    method: Method
    population: str | None


@dataclass(frozen=True, eq=False)
class Found:
    """What the search found, and the first rows that are published, as they were and as they would be. Private."""

    made: Generalised
    failures: tuple[Failure, ...]
    accuracy: Accuracy | None
    before: tuple[tuple[str, ...], ...]
    after: tuple[tuple[str, ...], ...]
    header: tuple[str, ...]


def make(
    session: Session,
    jobs: JobCenter,
    ways: Mapping[str, Builder | Path | None],
    people: str | None,
    show: Callable[[dict[str, Levels]], None],
    *,
    kept: bool = False,
    **then: Any,
) -> JobHandle:
    """Make the hierarchies of columns, each in its way or, where that is ``None``, as the values suggest.

    They have the values of the open table, the declared ones, and those of the population in the file ``people``.

    A way that was ``kept`` from another day and does not suit the values any more gives way to what they suggest.
    """
    opened = session.open_table
    declared = {column.name: column for column in session.plan.columns}

    def work(emit: Emit, cancel: CancelToken) -> dict[str, Levels]:
        from workbench.data.table_reader import read_table
        from workbench.risk.hierarchies.builders import in_order, suggested, values_of

        found = {}
        population = None if people is None else read_table(people, cancel=cancel)
        for name, way in ways.items():
            cancel.check()
            more = [] if population is None or name not in population.names else values_of(population, name)
            own = in_order(list({*values_of(opened.table, name), *more}))
            values = in_order(list({*own, *values_of(opened.table, name, declared.get(name))}))
            try:
                found[name] = replace(_levels(name, way or suggested(values), values, own), chosen=way, people=people)
            except WorkbenchError as error:
                if not kept or way is None:
                    raise
                made = _levels(name, suggested(values), values, own)
                found[name] = replace(made, people=people, refused=error)
        return found

    def take(found: dict[str, Levels]) -> None:
        if session.opened is opened:
            show(found)

    key = f"{KEY}-levels" if kept else f"{KEY}-chosen"
    return jobs.start(Job(tr("Making hierarchies"), work), key=key, on_result=take, **then)


def _levels(name: str, way: Builder | Path, values: list[str], own: list[str]) -> Levels:
    """Return the hierarchy of ``values``; a file need not have what is declared and is not among its ``own``."""
    from workbench.risk.hierarchies import read_hierarchy

    if not isinstance(way, Path):
        return Levels(way, way.build(values))
    hierarchy = read_hierarchy(way).without_header(name, own)
    hierarchy.of(own, name)
    return Levels(None, hierarchy)


def write(session: Session, jobs: JobCenter, path: Path, text: Callable[[], str], title: str, said: str) -> JobHandle:
    """Write a hierarchy or a mapping as a semicolon-separated file, and say where it is."""

    def work(emit: Emit, cancel: CancelToken) -> None:
        from workbench.release.atomic import write_output

        write_output(path, text().encode())

    return jobs.start(Job(title, work), on_result=lambda _done: session.notify("info", said))


def search(session: Session, jobs: JobCenter, wish: Wish, **then: Any) -> JobHandle:
    """Search for the levels; the ledger notes first that private figures are shown, of the population's table, too."""
    opened = session.open_table
    epsilon = float(session.plan.epsilon)

    def work(emit: Emit, cancel: CancelToken) -> Found:
        from workbench.data.table_reader import read_table
        from workbench.release.described_release import note_unless_released
        from workbench.release.ledger.study_note import note_study
        from workbench.risk.generalise.failures import failures
        from workbench.risk.generalise.generalised import accuracy, generalise

        people = None if wish.population is None else read_table(wish.population, cancel=cancel)
        note_study(opened.table, "generalise", emit=emit)
        if people is not None:
            note_unless_released(people, "generalise", None, emit)
        hierarchies, models = wish.hierarchies, wish.models
        made = generalise(opened.table, wish.asked, hierarchies, models, wish.method, people, emit, cancel)
        rows = made.published_rows[:MOST_ROWS]
        after = made.frame(rows=rows)
        before = opened.table.frame[after.columns][rows.tolist()]
        lines = [tuple(tuple("" if v is None else str(v) for v in row) for row in f.rows()) for f in (before, after)]
        return Found(made, tuple(failures(made, epsilon)), accuracy(made), lines[0], lines[1], tuple(after.columns))

    title = tr("Generalising {table}", table=opened.title)
    return follow_note(session, jobs, jobs.start(Job(title, work), key=KEY, **then))


def publish(
    session: Session, jobs: JobCenter, made: Generalised, path: Path, show: Callable[[Published], None]
) -> JobHandle:
    """Write the table and its certificate; the ledger notes first that it is published."""
    account = session.plan.account or None

    def work(emit: Emit, cancel: CancelToken) -> Published:
        from workbench.release.generalised.generalised_file import Publication, publish
        from workbench.release.ledger.ledger import Ledger
        from workbench.release.release_path import destination

        to = destination(path, made.table.source, replace=path.exists())  # the person was asked where
        publication = Publication(path=to.path, format=to.format, replace=to.replace, account=account)
        with Ledger.open() as ledger:
            return publish(made, publication, ledger, emit, cancel)

    def done(published: Published) -> None:
        read_account(session, jobs)
        show(published)

    title = tr("Publishing {file}", file=path.name)
    return jobs.start(Job(title, work), key=f"{KEY}-publish", on_result=done)
