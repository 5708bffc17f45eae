"""Read what the ledger says: of the dataset that is open, every release and model, what is paused; change accounts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.gui.session.account_view import GENERALISED, AccountView, ReleasedStep
from workbench.gui.session.draft import DraftPlan
from workbench.gui.session.error_text import sentence
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import OpenImages, OpenTable, Session
from workbench.gui.style.language import tr, tr_number, tr_sentence
from workbench.jobs import CancelToken, Emit, Job
from workbench.params import WorkbenchError

if TYPE_CHECKING:
    from workbench.data.table import Table
    from workbench.release.ledger.ledger import Ledger
    from workbench.release.ledger.records import Release
    from workbench.release.ledger.shown_figures import PublishedTable
    from workbench.release.model.paused_training import PausedTraining
    from workbench.release.model.released_models import ReleasedModel


KEY = "account"


def read_account(session: Session, jobs: JobCenter) -> None:
    """Bring the budget gauge up to date, after opening a table and after every charge."""
    opened = session.open_data
    if opened is None:
        return

    def apply(account: AccountView) -> None:
        if session.open_data is opened:
            session.set_account(account)

    def failed(error: BaseException) -> None:
        problem = sentence(error) if isinstance(error, WorkbenchError) else tr("The ledger could not be read.")
        apply(AccountView(problem=problem, error=error if isinstance(error, WorkbenchError) else None))

    name = session.plan.account
    job = Job(tr("Reading the ledger"), lambda emit, cancel: account_of(opened.table, name))
    jobs.start(job, key=KEY, stoppable=False, on_result=apply, on_failure=failed)


def account_of(table: Table, name: str = "") -> AccountView:
    """Return the account of ``table``; its marks are recorded, so that a later version of it is known.

    The account ``name`` that the plan states decides a doubt, which its first release records.
    """
    from workbench.release.ledger.ledger import Ledger
    from workbench.release.statements import seen_before

    with Ledger.open() as book:
        identity = book.identify(table)
        named = book.accounts().named(name) if name else ""
        dataset = named if named in book.find(identity).doubts else book.enter(identity)
        tables = book.tables_of(identity)
        account, counted = book.account(dataset, *tables), book.counted(dataset, *tables)
        version = book.taken_as_version(identity) == dataset
        name = book.accounts().name_of(dataset)
        accounts = dict.fromkeys(map(book.account_of, (dataset, *tables)))
        seen = seen_before([shown for each in accounts for shown in book.figures(each)])
        generalised = sum(one.dataset == dataset for one in book.published_tables())
    return AccountView(
        dataset=dataset,
        cap=None if account.standing_cap is None else account.standing_cap[0],
        spent=account.spent[0],
        reserved=account.reserved[0],
        releases=len(counted),
        going=sum(r.status == "reserved" for r in counted),
        name=name,
        delta_cap=None if account.standing_cap is None else account.standing_cap[1],
        delta_spent=account.spent[1],
        delta_reserved=account.reserved[1],
        version_of=counted[-1].time if version and counted else "",
        seen=seen,
        past=_past_of(counted, dataset),
        generalised=generalised,
    )


def change_ledger(
    session: Session,
    jobs: JobCenter,
    title: str,
    change: Callable[[Ledger], object],
    stated: str,
    done: Callable[[], None] = lambda: None,
) -> None:
    """Change the ledger in a job; then say so, and show the account as it is now."""

    def work(emit: Emit, cancel: CancelToken) -> None:
        from workbench.release.ledger.ledger import Ledger

        with Ledger.open() as book:
            change(book)

    def apply(_: None) -> None:
        session.notify("info", stated)
        read_account(session, jobs)
        done()

    jobs.start(Job(title, work), on_result=apply)


def read_releases(jobs: JobCenter, show: Callable[[tuple[ReleasedStep, ...]], None]) -> None:
    """Read every release of every table, the newest first."""
    jobs.start(Job(tr("Reading the ledger"), all_releases), key="releases", stoppable=False, on_result=show)


def read_models(jobs: JobCenter, key: str, show: Callable[[tuple[ReleasedModel, ...]], None]) -> None:
    """Read every model of the ledger, the newest first; ``key`` names who asks."""

    def work(emit: Emit, cancel: CancelToken) -> tuple[ReleasedModel, ...]:
        from workbench.release.model.released_models import released_models

        return released_models(cancel)

    job = Job(tr("Reading the released models"), work)
    jobs.start(job, key=f"models {key}", stoppable=False, on_result=show)


def all_releases(emit: Emit, cancel: CancelToken) -> tuple[ReleasedStep, ...]:
    """Return every release and generalised table of every table, the newest first; none where there is no ledger."""
    from workbench.release.ledger.ledger import Ledger
    from workbench.release.ledger.records import COUNTED

    with Ledger.read() as book:
        known = book.accounts()
        counted = [r for r in reversed(book.releases()) if r.status in COUNTED]
        found = [past for r in counted for past in _past_of([r], known.of(r.dataset))]
        tables = [_generalised(one) for one in reversed(book.published_tables())]
    return tuple(sorted([*found, *tables], key=lambda one: one.time, reverse=True))


def _past_of(releases: Sequence[Release], dataset: str) -> tuple[ReleasedStep, ...]:
    return tuple(past for r in releases if r.status != "reserved" and (past := _past(r, dataset)) is not None)


def _past(release: Release, dataset: str) -> ReleasedStep | None:
    """Return a release as the window shows it; ``None`` of a training that was charged and released nothing."""
    from workbench.release.certificate import CARD, certificate_path
    from workbench.release.kinds import KINDS, ROWS

    work = str(release.body.get("work", ""))
    written, model = release.body.get("output"), work == "dpsgd" or work.startswith("fit ")
    if not written:
        return None
    output = Path(str(written))
    vouches = ("card", output / CARD) if model else ("certificate", certificate_path(output))
    files = (("model" if model else "file", output), vouches)
    standing = files if all(is_there(path) for _, path in files) else ()
    if model and not standing and not release.body.get("certificate"):
        return None
    return ReleasedStep(
        release.release_id,
        output,
        DraftPlan(),
        release.epsilon,
        release.delta,
        output.name,
        standing,
        model,
        central=work if work in [kind.name for kind in KINDS if kind.name != ROWS] else "",
        time=release.time,
        dataset=dataset,
    )


def _generalised(noted: PublishedTable) -> ReleasedStep:
    """Return a generalised table as the window shows it: its files are those beside the noted certificate."""
    from workbench.release.certificate import GENERALISED_FORMAT, certificate_path, read_document

    output = Path(noted.output)
    files = (("file", output), ("certificate", certificate_path(output)))
    name, standing = noted.certificate[:16], False
    if all(is_there(path) for _, path in files):
        try:
            document = read_document(files[1][1], GENERALISED_FORMAT)
        except WorkbenchError:  # another file has its name now
            document = {}
        standing = document.get("checksum") == noted.certificate
        name = document["release_id"] if standing else name
    return ReleasedStep(
        name,
        output,
        DraftPlan(),
        Decimal(0),
        title=output.name,
        files=files if standing else (),
        central=GENERALISED,
        time=noted.time,
        dataset=noted.dataset,
    )


def is_there(path: Path) -> bool:
    """Return whether something is at ``path``, as far as that can be determined."""
    try:
        return path.exists()
    except OSError:  # a folder that may not be entered
        return False


def set_separate(session: Session, jobs: JobCenter, opened: OpenTable | OpenImages) -> None:
    """Record that the table is another one than the one whose version it was taken for; it has its own budget then."""
    stated = tr("{title} has a budget of its own now; the ledger has recorded it.", title=opened.title)
    title = tr("Separating two tables")
    change_ledger(session, jobs, title, lambda book: book.separate(book.identify(opened.table)), stated)


def name_account(session: Session, jobs: JobCenter, opened: OpenTable, name: str) -> None:
    """Give the account of the table a public name."""
    named = {"title": opened.title, "name": name}
    stated = tr("The account of {title} is called {name} now; the ledger has recorded it.", **named)
    title = tr("Naming the account")
    change_ledger(session, jobs, title, lambda book: book.set_name(book.identify(opened.table), name), stated)


def find_paused(session: Session, jobs: JobCenter, *, notify: bool = False) -> None:
    """Look for them; ``notify`` whether to say so where there is one."""
    opened = session.open_data
    if opened is None:
        session.set_paused(())
        return

    def work(emit: Emit, cancel: CancelToken) -> tuple[PausedTraining, ...]:
        from workbench.release.checkpoint_folder import runs_folder

        if not runs_folder().is_dir() or not any(runs_folder().iterdir()):
            return ()  # the libraries of networks take a second to load
        from workbench.release.ledger.ledger import Ledger
        from workbench.release.model.paused_training import paused_trainings

        try:
            with Ledger.read() as book:
                return paused_trainings(book, opened.table)
        except WorkbenchError:
            return ()  # the gauge says what is wrong with the ledger; nothing goes on without it

    def show(found: tuple[PausedTraining, ...]) -> None:
        if session.open_data is not opened:
            return
        session.set_paused(found)
        if notify and found:
            from workbench.deep.networks import network

            run = found[0]
            stated = tr(
                "{model} on {title} is paused after {taken} of {steps} steps: go on with it in Models, Train.",
                model=tr_sentence(network(run.plan.network).title),
                title=opened.title,
                taken=tr_number(run.taken, ","),
                steps=tr_number(run.steps, ","),
            )
            session.notify("info", stated)

    jobs.start(Job(tr("Looking for paused trainings"), work), key="paused", stoppable=False, on_result=show)
