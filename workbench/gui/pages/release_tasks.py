"""A release of any kind from the window: look what it would do, word the last question, then charge, draw and write.

All that the pages of a release want of the engine's release path is asked for here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.gui.gauges.budget import DELTA_WORDS, first_words, second_words, warned_of
from workbench.gui.project.open_table import changed_since
from workbench.gui.session.account_task import read_account
from workbench.gui.session.account_view import AccountView, ReleasedStep
from workbench.gui.session.blocking import codes_in_words
from workbench.gui.session.draft import DraftPlan
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import OpenTable, Session
from workbench.gui.session.settings import Cluster
from workbench.gui.style.language import as_sentence, tr, tr_number, tr_sentence
from workbench.gui.widgets.explain import Asked as Explained
from workbench.gui.widgets.formatting import at_least, at_most, count, day_of, exactly
from workbench.gui.widgets.output_name import written_words
from workbench.jobs import CancelToken, Emit, Job
from workbench.params import InputError
from workbench.signals.events import Cancelled, Notice

if TYPE_CHECKING:
    from workbench.data.cluster_parts import Workers
    from workbench.privacy.accounting.event import Cost
    from workbench.release.ledger.records import Cap
    from workbench.release.release_path import Prepared, Released
    from workbench.release.verdict import EarlierRelease, Verdict
    from workbench.sanitize.plan import Plan
    from workbench.statistics.request import Request
    from workbench.work.work import Work


LOOK, RELEASE = "release_look", "release"


@dataclass(frozen=True)
class Asked:
    """What is asked to be released."""

    title: str = ""  # in words: `2,000 synthetic rows`; empty for the noisy rows of the table itself
    # (plan, number of rows, format of the file) describes it, called in a worker; `None` for noisy rows.
    work: Callable[[Plan, int, str], Work] | None = None
    # The format of each suffix that the file may have; those of tables, written like the open one, without.
    formats: Mapping[str, str] | None = None
    worth: str = ""  # what a recipient can learn from it, which its card repeats
    way: str = ""  # the way to release that it is, where what will be asked was compared; else empty
    unrounded: bool = False  # whether numbers keep their own steps, whatever steps noisy rows are rounded to
    plan: Plan | None = None  # by which it is released, where that is not the draft, which may still be open
    figures: Request | None = None  # those of statistics


NOISY_ROWS = Asked()


@dataclass(frozen=True)
class Chosen:
    """A request as the engine takes it (``None`` for noisy rows), with the ε and δ of one row that it may spend."""

    request: Any
    epsilon: Decimal
    delta: Decimal = Decimal(0)


@dataclass(frozen=True)
class Foreseen:
    """What is known of a release before a row is read."""

    chosen: Chosen
    epsilon: Decimal  # charged, as δ is, for all rows of a person
    delta: Decimal
    facts: Any  # what else its kind foresees
    outside: tuple[str, ...] = ()  # sentences on what the ε does not cover
    local: bool = False  # whether each row is randomised by itself, so that one that is replaced costs no more
    useless: bool = False  # whether its figures, which a person ticked, answer nothing of what will be asked


@dataclass(frozen=True)
class BeforeRelease:
    """What is known before a release, and of which table, plan and file it is known."""

    opened: OpenTable
    plan: DraftPlan
    asked: Asked
    prepared: Prepared
    verdict: Verdict
    lacks: tuple[str, ...]  # sentences on what it does not answer well of what will be asked
    outside: tuple[str, ...]  # sentences on what the ε does not cover
    replaces: bool
    # What became of the files that were opened, if they are no longer as they were read; else empty.
    source_changed: str

    @property
    def target(self) -> Path:
        return self.prepared.to.path

    @property
    def cost(self) -> Cost:
        return self.prepared.cost

    def is_current(self, session: Session) -> bool:
        return session.opened is self.opened and session.plan == self.plan


def foresee(work: Work, chosen: Chosen, plan: Plan, rows: int, facts: Any) -> Foreseen:
    """Return what ``work`` is charged for ``rows`` rows, with what its kind foresees.

    Raises:
        ParameterError: δ is not below 1 in the number of rows, or the cost cannot be divided.
    """
    from workbench.release.certificate import not_covered
    from workbench.release.delta_limit import require_small_cost
    from workbench.release.kinds import kind

    cost = work.cost(plan.rows_per_person)
    if cost.delta:
        require_small_cost(cost, rows, rows_per_person=plan.rows_per_person)
    return Foreseen(chosen, cost.epsilon, cost.delta, facts, tuple(not_covered(work, plan)), kind(work.kind).local)


def look_before_release(
    session: Session,
    jobs: JobCenter,
    target: Path,
    decide: Callable[[BeforeRelease], None],
    on_failure: Callable[[BaseException], None] | None = None,
    asked: Asked = NOISY_ROWS,
) -> JobHandle:
    """Find out whether a release was made before, is refused, or would replace another file; nothing is recorded."""
    opened, draft, cluster = session.open_table, session.plan, session.cluster

    def work(emit: Emit, cancel: CancelToken) -> BeforeRelease:
        return _looked(opened, draft, target, asked, _workers_of(cluster, emit, cancel), cancel)

    def apply(outlook: BeforeRelease) -> None:
        if outlook.is_current(session):
            decide(outlook)

    return jobs.start(Job(tr("Checking the release"), work), key=LOOK, on_result=apply, on_failure=on_failure)


def _workers_of(cluster: Cluster, emit: Emit, cancel: CancelToken) -> Workers | None:
    from workbench.data.cluster_parts import DASK, workers_of

    if cluster == Cluster():
        return None
    return workers_of(DASK, cluster.scheduler or None, cluster.file or None, emit, cancel)


def _looked(
    opened: OpenTable, draft: DraftPlan, target: Path, asked: Asked, workers: Workers | None, cancel: CancelToken
) -> BeforeRelease:
    from workbench.release.certificate import not_covered
    from workbench.release.ledger.ledger import Ledger
    from workbench.release.release_path import check_values, destination, prepare, prepare_rows
    from workbench.release.statements import seen_before
    from workbench.release.table_formats import FORMATS, written_like
    from workbench.release.verdict import verdict_on

    planned = asked.plan or draft.plan()
    plan, source = planned.unrounded() if asked.unrounded else planned, None if opened.is_sample else opened.source
    second, formats = opened.second or None, asked.formats or FORMATS
    to = destination(target, source, second, formats=formats, replace=True)  # the question says so
    plan = plan if asked.formats else written_like(plan, opened.table, to.format)
    if asked.work is None:  # which rows of a person are kept is chosen here
        prepared = prepare_rows(plan, opened.table, to, workers if plan.unit is None else None)
    else:
        chosen = asked.work(plan, opened.rows_under(draft), to.format)
        prepared = prepare(plan, opened.table, to, chosen, None if chosen.reader is None else workers)
    check_values(prepared, cancel)
    with Ledger.open() as book:
        verdict = verdict_on(prepared, book)
        seen = seen_before(book.figures(verdict.account))
    return BeforeRelease(
        opened,
        draft,
        asked,
        prepared,
        verdict,
        lacks_of(draft, plan, opened.rows_under(draft), asked, cancel),
        (*not_covered(prepared.work, plan), *filter(None, [seen])),
        target.exists(),
        changed_since(opened),
    )


def asked_plan(draft: DraftPlan, plan: Plan) -> Plan:
    """Return ``plan`` with what recipients will ask, also where nobody has been asked about it yet."""
    return replace(plan, questions=draft.questions.asked)


def lacks_of(draft: DraftPlan, plan: Plan, rows: int, what: Asked, cancel: CancelToken) -> tuple[str, ...]:
    """Return a sentence for everything that a release does not answer well enough; from public facts alone."""
    from workbench.sanitize.forecast import forecast
    from workbench.studies.kind_advice import NAMES
    from workbench.studies.kind_comparison import compare_kinds

    if what.way not in NAMES or not plan.protected:
        return ()
    asked = asked_plan(draft, plan)
    made, drawn = forecast(asked, coarse=True), asked.unrounded()
    found = compare_kinds(asked, rows, made, cancel, drawn=drawn, train=False, figures=what.figures)
    return found.shortfalls(what.way)


def answers_nothing(draft: DraftPlan, rows: int, figures: Any, cancel: CancelToken) -> bool:
    """Return whether statistics that a person ticked answer nothing of what is asked; from public facts alone."""
    from workbench.studies.kind_advice import STATISTICS
    from workbench.studies.kind_comparison import kind_at

    way = kind_at(asked_plan(draft, draft.plan()), rows, STATISTICS, cancel, figures=figures)
    return way.known and not way.useful


def release_plan(
    session: Session,
    jobs: JobCenter,
    outlook: BeforeRelease,
    on_failure: Callable[[BaseException], None],
    cap: Cap | None = None,
) -> JobHandle:
    """Release what was looked at and asked about, with the ``cap`` that the person set in the question, if any.

    Whatever its end, gauge and session follow.
    """
    asked, prepared, opened, account = outlook.asked, outlook.prepared, outlook.opened, outlook.verdict.account
    central = "" if asked.work is None else prepared.work.kind
    doubts: list[Notice] = []

    def work(emit: Emit, cancel: CancelToken) -> Released:
        from workbench.release.ledger.ledger import Ledger
        from workbench.release.release_path import release_prepared

        if prepared.parts is not None:
            prepared.parts.hand_over(emit, cancel)
        with Ledger.open() as book:
            if cap is not None:
                book.set_first_cap(book.account_of(account), cap)
            return release_prepared(prepared, book, emit, cancel, account=account)

    def apply(done: Released) -> None:
        what, output = asked.title or count(done.rows, "row"), done.output
        if session.opened is opened:
            step = ReleasedStep(
                done.release_id,
                output,
                outlook.plan,
                done.epsilon_charged,
                title=what,
                files=(("file", output), ("certificate", done.certificate)),
                central=central,
                result=done,
                worth=asked.worth,
            )
            session.add_release(step)
        _say_released(session, what, done, too_late=handle.too_late)

    def cancelled() -> None:
        stays = tr_sentence(handle.end.what) if isinstance(handle.end, Cancelled) else ""
        if stays:
            session.notify("warning", as_sentence(stays))
        elif not doubts:
            session.notify("info", tr("Cancelled: no file was written, and nothing is charged."))

    key = f"{RELEASE} {central}"  # another release with this key would cancel it
    handle = jobs.start(Job(tr("Releasing"), work, about=opened.title), key=key, on_result=apply, on_failure=on_failure)
    # A ledger that could not record the end says so itself.
    handle.notice.connect(lambda notice: doubts.append(notice) if notice.level == "warning" else None)
    handle.cancelled.connect(cancelled)
    handle.ended.connect(lambda: read_account(session, jobs))
    return handle


def _say_released(session: Session, what: str, done: Released, *, too_late: bool) -> None:
    output = done.output
    if too_late:
        session.notify("warning", tr("It was too late to cancel: {output} is released and charged.", output=output))
    elif done.published_earlier:
        said = tr("Released {what} to {output}; nothing more was charged.", what=what, output=output)
        session.notify("info", said)
    else:
        session.notify("info", tr("Released {what} to {output}.", what=what, output=output))


def copy_release(
    session: Session, jobs: JobCenter, earlier: EarlierRelease, folder: Path, done: Callable[[Path], None]
) -> None:
    """Copy a release and its certificate into ``folder``; nothing is drawn, nothing is charged."""

    def work(emit: Emit, cancel: CancelToken) -> Path:
        from workbench.release.atomic import write_output
        from workbench.release.certificate import certificate_path

        target = folder / earlier.output.name
        for path in (target, certificate_path(target)):
            if path.exists():
                raise InputError(tr("a file of that name is there already"), str(path), tr("choose another folder"))
        table, certificate = earlier.output.read_bytes(), certificate_path(earlier.output).read_bytes()
        # The certificate first: a copy of the table always has it beside it, whatever happens in between.
        write_output(certificate_path(target), certificate)
        try:
            write_output(target, table)
        except BaseException:
            certificate_path(target).unlink(missing_ok=True)
            raise
        return target

    jobs.start(Job(tr("Copying the release"), work), on_result=done)


def certified(path: Path) -> tuple[dict[str, Any], Plan]:
    """Return the certificate of a released file and the plan in it, once the file is found to be the certified one.

    Raises:
        InputError: file or certificate cannot be read, or the file is another one.
    """
    from workbench.release.atomic import sha256_of
    from workbench.release.certificate import certificate_path, read_any_certificate
    from workbench.release.open_release import plan_of

    where = certificate_path(path)
    document = read_any_certificate(where)
    try:
        changed = sha256_of(path) != document["output"]["sha256"]
    except OSError as error:
        raise InputError(
            tr("the file cannot be read: {reason}", reason=error.strerror), str(path), tr("put it back")
        ) from error
    if changed:
        what = tr("the file was changed after it was certified")
        raise InputError(what, str(path), tr("ask for the file as it was released"))
    return document, plan_of(document, where)


# -- the last question ------------------------------------------------------------------------------------------------


def question(outlook: BeforeRelease, account: AccountView) -> str:
    """Return the last question before ε is spent, the same for every kind of release.

    It says what is charged and written, what the release does not answer well, what remains, and what the ε does not
    cover: columns whose facts were read off the rows, and private figures that were shown before.
    """
    from workbench.release.ledger.records import commitment

    epsilon, delta, asked, path = outlook.cost.epsilon, outlook.cost.delta, outlook.asked, outlook.target
    plan = outlook.prepared.plan
    cost = f"ε = {at_most(epsilon)}{exactly(epsilon)}"
    if delta:
        cost = tr("{epsilon} and δ = {delta}", epsilon=cost, delta=tr_number(float(delta), ".3g"))
    what = {"cost": cost, "name": path.name}
    charged = tr("This charges {cost} and writes {name}; nothing is uploaded.", **what)
    if asked.title:
        charged = tr(
            "This charges {cost} and writes {title} to {name}; nothing is uploaded.", title=asked.title, **what
        )
    worth = f"\n\n{asked.worth}" if asked.worth else ""
    left, second = account.remaining, second_words(outlook.plan.questions, asked.way)
    sentences = [
        charged,
        tr(DELTA_WORDS) if delta else "",
        tr("It cannot be undone."),
        "" if left is None else left_after(left - epsilon),
        first_words(account, epsilon, second=second).strip(),
        tr_sentence(commitment(plan.unit, plan.rows_per_person)),
    ]
    return f"{' '.join(filter(None, sentences))}{worth}{_warnings(outlook)}"


def left_after(remaining: Decimal) -> str:
    """Return what remains of the cap after a release, as a sentence."""
    return (
        tr("ε = {left} remains after it.", left=at_least(remaining))
        if remaining > 0
        else tr("Nothing is left after it.")
    )


def again_question(outlook: BeforeRelease, earlier: EarlierRelease) -> str:
    """Return the question where the same plan was released of the same table before."""
    epsilon = outlook.cost.epsilon
    before = tr(
        "This table, or an earlier version of it, was released by the same plan on {date} (release {release_id}):\n"
        "{file}\n\nCopying that file is free. A new draw, from the rows as they are now, is a second release and "
        "charges ε = {epsilon} again.",
        date=day_of(earlier.time),
        release_id=earlier.release_id,
        file=earlier.output,
        epsilon=f"{at_most(epsilon)}{exactly(epsilon)}",
    )
    return f"{before}{_warnings(outlook)}"


def waiting_question(outlook: BeforeRelease) -> str:
    """Return the question where a release that is paid for waits to be published, or to go on."""
    what = {"release_id": outlook.verdict.waiting, "name": outlook.target.name}
    if outlook.verdict.begun:
        said = tr(
            "This release was interrupted (release {release_id}) and is paid for. To go on and save it as {name} costs "
            "nothing more.",
            **what,
        )
    else:
        said = tr(
            "This release was finished (release {release_id}), is paid for, and is not yet saved as {name}. Publishing "
            "it costs nothing more.",
            **what,
        )
    return f"{said}{_about_the_file(outlook)}"


def _warnings(outlook: BeforeRelease) -> str:
    charged = Explained(outlook.cost.epsilon, outlook.cost.delta, local=outlook.asked.work is None)
    high = warned_of(outlook.plan.questions, outlook.plan.epsilon, charged)
    lacks = lacking(outlook.lacks)
    outside = _listed(tr("Not covered by ε:"), [f"• {tr_sentence(one)}" for one in outlook.outside])
    coded = warning(codes_in_words(outlook.opened, outlook.plan))
    return f"{warning(high)}{coded}{lacks}{outside}{_about_the_file(outlook)}"


def warning(words: str) -> str:
    """Return a warning as a further paragraph; empty where there is none."""
    return f"\n\n⚠ {words}" if words else ""


def lacking(lacks: Sequence[str]) -> str:
    """Return a line for everything that a release does not answer well of what will be asked; empty where it does."""
    return _listed(tr("Not answered well by it:"), [f"✗ {tr_sentence(one)}" for one in lacks])


def _listed(title: str, lines: list[str]) -> str:
    return "\n".join(["", "", title, *lines]) if lines else ""


def _about_the_file(outlook: BeforeRelease) -> str:
    return written_words(outlook.opened, outlook.target, outlook.source_changed, replaces=outlook.replaces)
