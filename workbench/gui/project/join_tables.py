"""Join a second table with the one that is open, and leave it out again, as steps that can be undone."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from workbench.data.databases.address import title_of
from workbench.gui.project.file_stamps import require_unchanged, stamp_of
from workbench.gui.session.account_task import read_account
from workbench.gui.session.draft import DraftPlan
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.open_images import Stamp
from workbench.gui.session.session import OpenTable, Session
from workbench.gui.style.language import tr
from workbench.jobs import CancelToken, Emit, Job
from workbench.params.codec import parse_toml

if TYPE_CHECKING:  # these load polars, which the first paint does not wait for
    from workbench.data.joined import Join
    from workbench.data.table import Table

KEY = "join"


class Second(NamedTuple):
    """A table that may be joined, and the version of the file that was read."""

    table: Table
    stamp: Stamp | None


def read_second(path: str, join: Join | None, cancel: CancelToken) -> Second:
    """Return the second table as a plan says, else as it seems to be; what was guessed is for a person to look at."""
    from workbench.data.read import read_table

    options, stamp = None if join is None or join.reading is None else join.reading.options, stamp_of(path)
    table = read_table(path, options, cancel=cancel, replace_invalid=True)
    require_unchanged(path, stamp)
    _ = table.frame
    return Second(table, stamp)


def load_joined(
    opened: OpenTable, plan: DraftPlan, second: Second, persons: tuple[str, str], emit: Emit, cancel: CancelToken
) -> tuple[OpenTable, DraftPlan]:
    """Return the open table joined (anew) with a second one, and the plan of both; runs in a worker.

    What was guessed of the second file is taken as confirmed; ``persons`` name the person's column of each table.

    Raises:
        InputError: the two cannot be joined.
    """
    from workbench.data.columns.profile import profile
    from workbench.data.csv.options import ReadOptions
    from workbench.data.joined import Join, joined
    from workbench.data.reading import reading_of
    from workbench.data.schema import DECLARED
    from workbench.sanitize.plan_template import draft

    first = opened.table if opened.table.joined is None else opened.table.joined.first
    reading = reading_of(second.table, ReadOptions())
    stated = reading and dataclasses.replace(reading, origin=DECLARED)
    table = joined(first, second.table.replaced(doubts=()), *persons)
    columns = profile(table, cancel=cancel, emit=emit)
    made = draft(columns, float(plan.epsilon), labelled=table.labelled_domains())
    drafted = DraftPlan.from_raw(parse_toml(made.toml, "draft"))
    known = {column.name: column for column in plan.columns}
    both = plan.with_(columns=tuple(known.get(column.name, column) for column in drafted.columns))
    both = both.with_unit(persons[0]).with_(join=Join(on=persons[1], reading=stated))
    both.problems()  # makes the grid of every column once, here rather than on the GUI thread
    return dataclasses.replace(opened, table=table, profile=columns, second_stamp=second.stamp), both


def joins_again(
    former: object,
) -> Callable[[OpenTable, DraftPlan, Emit, CancelToken], tuple[OpenTable, DraftPlan]] | None:
    """Return what joins a table that is read again with the second one it had, read again; ``None`` without one."""
    of = former.table.joined if isinstance(former, OpenTable) else None
    if of is None:
        return None
    path, persons = of.second.source, (of.person, of.on)

    def join(opened: OpenTable, plan: DraftPlan, emit: Emit, cancel: CancelToken) -> tuple[OpenTable, DraftPlan]:
        return load_joined(opened, plan, read_second(path, plan.join, cancel), persons, emit, cancel)

    return join


def join_tables(session: Session, jobs: JobCenter, second: Second, persons: tuple[str, str]) -> JobHandle:
    """Join a second table with the open one, and plan its columns; they are still to be declared."""
    opened, plan = session.opened, session.plan
    assert opened is not None
    title = title_of(second.table.source)

    def work(emit: Emit, cancel: CancelToken) -> tuple[OpenTable, DraftPlan]:
        return load_joined(opened, plan, second, persons, emit, cancel)

    def apply(made: tuple[OpenTable, DraftPlan]) -> None:
        if session.opened is not opened or session.plan != plan:
            session.notify("warning", tr("The plan was edited meanwhile: join the table again."))
            return
        session.swap(tr("join {title}", title=title), *made, lambda: read_account(session, jobs))
        session.notify("info", tr("Joined {title}: declare its columns, too.", title=title))

    return jobs.start(Job(tr("Joining"), work, about=title), key=KEY, on_result=apply)


def leave_second(session: Session, jobs: JobCenter) -> JobHandle:
    """Go on with the first of two joined tables alone."""
    opened, plan = session.opened, session.plan
    assert opened is not None
    assert opened.table.joined is not None
    first, title = opened.table.joined.first, title_of(opened.second)

    def work(emit: Emit, cancel: CancelToken) -> tuple[OpenTable, DraftPlan]:
        from workbench.data.columns.profile import profile

        columns = profile(first, cancel=cancel, emit=emit)
        alone = dataclasses.replace(opened, table=first, profile=columns, second_stamp=None)
        kept = tuple(column for column in plan.columns if column.name in first.names)
        return alone, plan.with_(join=None, columns=kept)

    def apply(made: tuple[OpenTable, DraftPlan]) -> None:
        if session.opened is opened and session.plan == plan:
            session.swap(tr("leave {title} out", title=title), *made, lambda: read_account(session, jobs))

    return jobs.start(Job(tr("Leaving a table out"), work, about=title), key=KEY, on_result=apply)


def look_at_second(
    session: Session,
    jobs: JobCenter,
    path: str,
    show: Callable[[Second], None],
    failed: Callable[[BaseException], None],
) -> JobHandle:
    """Read a table that may be joined."""

    def work(emit: Emit, cancel: CancelToken) -> Second:
        return read_second(path, None, cancel)

    job = Job(tr("Reading the second table"), work, about=title_of(path))
    return jobs.start(job, key=KEY, on_result=show, on_failure=failed)


def count_matched(
    session: Session, jobs: JobCenter, second: Table, persons: tuple[str, str], show: Callable[[int], None]
) -> JobHandle:
    """Count the persons who are in both tables; the figure is private."""
    opened = session.opened
    assert opened is not None
    first = opened.table if opened.table.joined is None else opened.table.joined.first

    def work(emit: Emit, cancel: CancelToken) -> int:
        from workbench.data.joined import persons_in_both

        return persons_in_both(first, second, *persons)

    return jobs.start(Job(tr("Counting persons"), work), key="join count", shown=False, on_result=show)
