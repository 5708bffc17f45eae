"""Open a table or a set of images, read it and draft its plan; join a second table; notice files that have changed."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from workbench.data.databases.address import title_of
from workbench.gui.session.account_task import read_account
from workbench.gui.session.draft import OPEN, DraftPlan
from workbench.gui.session.draft_edits import as_suggested
from workbench.gui.session.error_text import sentence
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import OpenImages, OpenTable, Session, Stamp
from workbench.gui.style.language import tr, tr_later, tr_sentence
from workbench.gui.widgets.formatting import count
from workbench.jobs import CancelToken, Emit, Job
from workbench.params import InputError, WorkbenchError
from workbench.params.codec import parse_toml
from workbench.sanitize.intended_use import FIRST_EPSILON, Suggestion, suggestion

if TYPE_CHECKING:  # these load polars, which the first paint does not wait for
    from workbench.data.columns.profile import ColumnProfile
    from workbench.data.csv.options import ReadOptions
    from workbench.data.images.image_reader import ImageOptions
    from workbench.data.person_join import Join
    from workbench.data.samples.sample_tables import Sample
    from workbench.data.schema import Attribute
    from workbench.data.table import Table
    from workbench.sanitize.intended_use import IntendedUse


# -- versions of files ------------------------------------------------------------------------------------------------


def stamp_of(source: str) -> Stamp | None:
    """Return what differs between versions of a file or folder; ``None`` of a sample and of what is gone."""
    if source.startswith("sample:"):
        return None
    try:
        found = os.stat(source)
        if not os.path.isdir(source):
            return Stamp(found.st_ino, found.st_size, found.st_mtime_ns)
        below = [(path, os.stat(os.path.join(source, path))) for path in _images_below(source)]
    except OSError:
        return None
    stated = "".join(f"{path}\0{one.st_size}\0{one.st_mtime_ns}\0" for path, one in below)
    digest = hashlib.sha256(os.fsencode(stated)).digest()
    return Stamp(found.st_ino, sum(one.st_size for _, one in below), int.from_bytes(digest[:8], "big"))


def _images_below(folder: str) -> list[str]:
    """Return the relative paths of the images in a folder: what else is there, such as a project, is none of them."""
    from workbench.data.images.image_reader import PACKED_OR_PICTURES

    found = [os.path.join(inside, name) for inside, _, names in os.walk(folder) for name in names]
    return sorted(os.path.relpath(path, folder) for path in found if path.lower().endswith(PACKED_OR_PICTURES))


def require_unchanged(source: str, before: Stamp | None) -> None:
    """Raise :class:`InputError` where a file was changed while it was read: the rows may be of two versions."""
    if stamp_of(source) != before:
        raise InputError(tr("the file was changed while it was read"), source, tr("open it again once it is complete"))


def changed_since(opened: OpenTable | OpenImages) -> str:
    """Return a clause on what became of the files since they were read, empty where they are as they were."""
    files = [(opened.source, opened.stamp)]
    if isinstance(opened, OpenTable):
        files.append((opened.second, opened.second_stamp))
    return ". ".join(filter(None, (_changed(*file) for file in files)))


def _changed(source: str, opened: Stamp | None) -> str:
    now = stamp_of(source)
    if opened is None or now == opened:
        return ""
    name = os.path.basename(source)
    if now is None:
        return tr("{name} is no longer there. The release is made from the version that was opened", name=name)
    return tr(
        "{name} has changed on the disk since it was opened. The release is made from the version that was opened",
        name=name,
    )


# -- a second table ---------------------------------------------------------------------------------------------------


class Second(NamedTuple):
    """A table that may be joined, and the version of the file that was read."""

    table: Table
    stamp: Stamp | None


def read_second(path: str, join: Join | None, cancel: CancelToken) -> Second:
    """Return the second table as a plan says, else as it seems to be; what was guessed is for a person to look at."""
    from workbench.data.table_reader import read_table

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
    from workbench.data.person_join import Join, join_on_person
    from workbench.data.reading_options import reading_of
    from workbench.data.schema import DECLARED
    from workbench.sanitize.plan_template import draft

    first = opened.table if opened.table.joined is None else opened.table.joined.first
    reading = reading_of(second.table, ReadOptions())
    stated = reading and dataclasses.replace(reading, origin=DECLARED)
    table = join_on_person(first, second.table.replaced(ambiguities=()), *persons)
    columns = profile(table, cancel=cancel, emit=emit)
    made = draft(columns, float(plan.epsilon), labelled=table.labelled_domains())
    drafted = DraftPlan.from_raw(parse_toml(made.toml, "draft"))
    known = {column.name: column for column in plan.columns}
    both = plan.with_(columns=tuple(known.get(column.name, column) for column in drafted.columns))
    both = both.with_unit(persons[0]).with_(join=Join(on=persons[1], reading=stated))
    _ = table.last_rows  # as load() does
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
    opened, plan = session.open_table, session.plan
    title = title_of(second.table.source)

    def work(emit: Emit, cancel: CancelToken) -> tuple[OpenTable, DraftPlan]:
        return load_joined(opened, plan, second, persons, emit, cancel)

    def apply(made: tuple[OpenTable, DraftPlan]) -> None:
        if session.opened is not opened or session.plan != plan:
            session.notify("warning", tr("The plan was edited meanwhile: join the table again."))
            return
        session.swap(tr("join {title}", title=title), *made, lambda: read_account(session, jobs))
        session.notify("info", tr("Joined {title}: declare its columns, too.", title=title))

    return jobs.start(Job(tr("Joining"), work, about=title), key=JOIN, on_result=apply)


def leave_second(session: Session, jobs: JobCenter) -> JobHandle:
    """Go on with the first of two joined tables alone."""
    opened, plan = session.open_table, session.plan
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

    return jobs.start(Job(tr("Leaving a table out"), work, about=title), key=JOIN, on_result=apply)


def look_at_second(jobs: JobCenter, path: str, show: Callable[[Second], None]) -> JobHandle:
    """Read a table that may be joined."""
    title = tr("Reading the second table")
    job = Job(title, lambda emit, cancel: read_second(path, None, cancel), about=title_of(path))
    return jobs.start(job, key=JOIN, on_result=show)


def count_matched(
    session: Session, jobs: JobCenter, second: Table, persons: tuple[str, str], show: Callable[[int], None]
) -> JobHandle:
    """Count the persons who are in both tables; the figure is private."""
    opened = session.open_table
    first = opened.table if opened.table.joined is None else opened.table.joined.first

    def work(emit: Emit, cancel: CancelToken) -> int:
        from workbench.data.person_join import persons_in_both

        return persons_in_both(first, second, *persons)

    return jobs.start(Job(tr("Counting persons"), work), key="join count", stoppable=False, on_result=show)


# -- opening ----------------------------------------------------------------------------------------------------------


KEY, JOIN = "open", "join"
SEVERAL = "several-tables"  # code of the refusal of a database in which no table is named: the person is asked which
_LEFT_OUT = tr_later("left out of the sample's first plan")


def open_table(
    session: Session,
    jobs: JobCenter,
    source: str,
    options: ReadOptions | None = None,
    *,
    replace_invalid: bool = False,
) -> JobHandle | None:
    """Open ``source`` (a path or ``sample:NAME``) in place of the table that is open; the one way of doing it.

    A set of images is recognised by its name, or by being a folder, and opened as one.

    Another table takes the place of the plan, so unsaved work is asked about first: ``None`` is returned where the
    person is still to answer, or wants to keep it. The same table read again, or a part of it, keeps what was declared
    of its columns.

    Args:
        session: where the table goes; its ``opening_failed`` reports an error.
        jobs: where it is read.
        source: what to read.
        options: what the person states about the file over the guess.
        replace_invalid: whether the plan is to replace invalid values from the beginning: then rows with another
            number of cells can be read.
    """

    def again() -> None:
        open_table(session, jobs, source, options, replace_invalid=replace_invalid)

    former = session.open_data
    same = former is not None and source in (former.source, session.part_of_open)
    if not session.may_replace(again, same):
        return None
    kept = session.plan if same else None
    declared = former.options if same and isinstance(former, OpenImages) else None
    joined = joins_again(former) if same else None

    def apply(result: tuple[OpenTable, DraftPlan] | OpenImages | WorkbenchError) -> None:
        if isinstance(result, WorkbenchError):
            session.opening_failed.emit(source, options, result)
        elif isinstance(result, OpenImages):
            take_images(session, jobs, result)
        else:
            asked = same and not (isinstance(former, OpenTable) and former.unsure)
            _take_table(session, jobs, *result, same=same, asked=asked)

    name = source.removeprefix("sample:") if source.startswith("sample:") else title_of(source)

    def work(emit: Emit, cancel: CancelToken) -> tuple[OpenTable, DraftPlan] | OpenImages | WorkbenchError:
        from workbench.data.images.image_reader import is_image_set

        if not source.startswith("sample:") and is_image_set(source):
            return load_images(source, declared, emit, cancel)
        try:
            made = load(source, options, kept, emit, cancel, replace_invalid=replace_invalid)
        except WorkbenchError as error:
            if error.code != SEVERAL:
                raise
            return error  # a question, no failure of the job
        return made if joined is None or kept is None else joined(made[0], kept, emit, cancel)

    job = Job(tr("Opening"), work, about=name)

    def failed(error: BaseException) -> None:
        _say_not_opened(session, name, error)
        session.opening_failed.emit(source, options, error)

    return jobs.start(job, key=KEY, on_result=apply, on_failure=failed)


def _take_table(
    session: Session, jobs: JobCenter, opened: OpenTable, plan: DraftPlan, *, same: bool, asked: bool
) -> None:
    generalised, held_out = (session.generalised, session.held_out_of(opened.source)) if same else (None, "")
    session.open(opened, plan, generalised=generalised, held_out=held_out)
    if not asked:
        session.go("data" if opened.unsure else "questions")
    rows, columns = count(opened.table.rows, "row"), count(len(opened.table.names), "column")
    opening = tr("Opened {title}: {rows}, {columns}.", title=opened.title, rows=rows, columns=columns)
    session.notify("info", " ".join(filter(None, (opening, tr_sentence(opened.lesson)))))
    read_account(session, jobs)


def _say_not_opened(session: Session, name: str, error: BaseException) -> None:
    if not isinstance(error, WorkbenchError) or session.open_data is None:
        session.report(error)
        return
    still, why = session.open_data.title, sentence(error)
    session.notify("error", tr("{name} was not opened, {title} still is: {error}", name=name, title=still, error=why))


def load(
    source: str,
    options: ReadOptions | None,
    kept: DraftPlan | None,
    emit: Emit,
    cancel: CancelToken,
    *,
    replace_invalid: bool = False,
) -> tuple[OpenTable, DraftPlan]:
    """Return the table and the first draft of its plan; runs in a worker."""
    from workbench.data.columns.profile import profile
    from workbench.data.samples.sample_tables import sample
    from workbench.data.table_reader import read_table
    from workbench.sanitize.plan_template import draft

    stamp = stamp_of(source)
    replaced = replace_invalid or (kept is not None and kept.replaces_invalid)
    table = read_table(source, options, cancel=cancel, replace_invalid=replaced)
    require_unchanged(source, stamp)
    columns = profile(table, cancel=cancel, emit=emit)
    _ = table.frame  # pages use all rows: one that is read in parts is loaded here, not on the GUI thread
    _ = table.last_rows  # it is kept: pages say it at every change
    declared: tuple[Attribute, ...] = ()
    target = None
    described: Sample | None = None
    if source.startswith("sample:"):
        described = sample(source.removeprefix("sample:"))
        declared = described.attributes
        target = described.target
    made = draft(columns, float(FIRST_EPSILON), declared=declared, target=target, labelled=table.labelled_domains())
    plan = _with_open_ways(DraftPlan.from_raw(parse_toml(made.toml, "draft")), columns)
    suggested = suggestion(columns, table.rows, {c.name: c.role for c in plan.columns})
    lesson = ""
    if kept is not None:
        plan = _with_kept(as_suggested(plan, suggested), kept)
    elif described is not None:
        plan = with_first_plan(plan, described)
        plan = plan.with_(asked=plan.questions.asked)
        suggested = _of_sample(suggested, plan.questions)
        lesson = described.lesson
    else:
        plan = as_suggested(plan, suggested)
    if replaced:
        plan = plan.with_(invalid="replace")
    cancel.check()
    plan.problems()  # makes the grid of every column once, here rather than on the GUI thread
    plan.cost()
    return OpenTable(table, columns, source, options, stamp, lesson, suggested), plan


def _with_kept(first: DraftPlan, kept: DraftPlan) -> DraftPlan:
    """Return a plan with what was declared of columns that are still there; of new ones the ``first`` plan says it.

    Where none is still there, as under another header, what was asked was about other columns.
    """
    known = {c.name: c for c in kept.columns}
    columns = tuple(known.get(c.name, c) for c in first.columns)
    asked = kept.asked if any(c.name in known for c in columns) else first.asked
    return dataclasses.replace(kept, columns=columns, asked=asked)


def _of_sample(suggested: Suggestion, questions: IntendedUse) -> Suggestion:
    why_not = {c: _LEFT_OUT for c in suggested.needed if c not in questions.needed} | dict(suggested.why_not)
    left = {name: why for name, why in why_not.items() if name not in questions.needed}
    return dataclasses.replace(
        suggested, needed=questions.needed, why_not=left, target=questions.target, asked=questions.asked
    )


def with_first_plan(plan: DraftPlan, described: Sample) -> DraftPlan:
    """Return the draft with what the first plan of a sample says."""
    first = described.first_plan
    if first.columns:  # its shares are its own
        plan = plan.with_columns({c.name: {"weight": 1.0} for c in plan.columns if c.weight != 1})
    for name, changes in first.columns.items():
        plan = plan.with_column(name, **changes)
    return plan.with_(epsilon=Decimal(repr(first.epsilon)))


def _with_open_ways(plan: DraftPlan, profiles: tuple[ColumnProfile, ...]) -> DraftPlan:
    """Mark what the rows of a dropped column would call for, so that it is asked for once the column is protected."""
    found = {p.name: p for p in profiles}
    columns = tuple(
        dataclasses.replace(
            c,
            missing=OPEN if found[c.name].missing else c.missing,
            date_order=OPEN if found[c.name].year_last else c.date_order,
        )
        if c.action == "drop"
        else c
        for c in plan.columns
    )
    return dataclasses.replace(plan, columns=columns)


def follow_codes(session: Session, jobs: JobCenter) -> None:
    """Look anew at each column in which other codes are declared missing, for as long as the window is there."""
    read: dict[str, tuple[str, ...]] = {}  # the codes under which columns of the open table were looked at

    def follow() -> None:
        opened = session.opened
        stated = {c.name: c for c in session.plan.columns if c.missing_codes}
        if opened is None or not (stated or read):
            return
        for raw in opened.profile:
            if raw.name in read and raw.name not in stated:
                del read[raw.name]
                opened.profiles[raw.name] = raw
        differ = {n: c for n, c in stated.items() if n in opened.profiles and read.get(n) != c.missing_codes}
        if not differ:
            return

        def work(emit: Emit, cancel: CancelToken) -> list[ColumnProfile]:
            from workbench.data.columns.missing import with_codes
            from workbench.data.columns.profile import profile

            table = with_codes(opened.table, differ.values())
            return list(profile(table.replaced(frame=table.frame[list(differ)]), cancel=cancel, emit=emit))

        def apply(found: list[ColumnProfile]) -> None:
            if session.opened is opened:
                opened.profiles.update((made.name, made) for made in found)
                read.update((name, column.missing_codes or ()) for name, column in differ.items())
                session.plan_changed.emit()

        jobs.start(Job(tr("Looking at columns"), work), key="codes", stoppable=False, on_result=apply)

    session.table_changed.connect(read.clear)
    session.plan_changed.connect(follow)


# -- images -----------------------------------------------------------------------------------------------------------


def open_images(session: Session, jobs: JobCenter, source: str, options: ImageOptions | None) -> JobHandle:
    """Read the images of ``source`` by what is declared of them; nothing changes where they cannot be read."""

    def work(emit: Emit, cancel: CancelToken) -> OpenImages:
        return load_images(source, options, emit, cancel)

    job = Job(tr("Opening"), work, about=Path(source).name)
    return jobs.start(job, key=KEY, on_result=lambda opened: take_images(session, jobs, opened))


def load_images(source: str, options: ImageOptions | None, emit: Emit, cancel: CancelToken) -> OpenImages:
    """Return the images; runs in a worker."""
    from workbench.data.images.image_reader import ImageOptions, has_class_folders, read_images
    from workbench.data.images.image_set import overview

    declared, stamp = options or ImageOptions(), stamp_of(source)
    images = read_images(source, declared, emit=emit, cancel=cancel)
    require_unchanged(source, stamp)
    seen = overview(images, cancel.check)
    return OpenImages(images, source, declared, Path(source).is_dir(), has_class_folders(source), stamp, seen)


def take_images(session: Session, jobs: JobCenter, opened: OpenImages) -> None:
    """Show the images that were read; what was planned stays where the same ones were read again."""
    same = session.images is not None and session.images.source == opened.source
    session.open(opened, session.plan if same else DraftPlan(), session.network.plan if same else None)
    session.notify("info", tr("Opened {title}: {size}.", title=opened.title, size=opened.stated))
    read_account(session, jobs)


def look_for_changes(jobs: JobCenter, opened: OpenImages, show: Callable[[bool], None]) -> None:
    """Find out whether the files of ``opened`` are still as they were read; ``show`` gets whether they differ."""

    def work(emit: Emit, cancel: CancelToken) -> bool:
        return opened.stamp is not None and stamp_of(opened.source) != opened.stamp

    jobs.start(Job(tr("Looking for changes"), work), key="image changes", stoppable=False, on_result=show)
