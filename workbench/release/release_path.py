"""The one release path: check, reserve, ask, charge, write, certify, rename.

Everything that is released goes this way (:func:`release`): files of noisy rows, statistics, synthetic rows and RAPPOR
reports, and the folders of learners and networks. What differs is what is drawn and what the certificate or card says
of it, and both are in the :class:`ReleaseRequest`. For a file, :func:`prepare` checks a
:class:`~workbench.work.work.Work`, and :func:`release_prepared` makes the request of it. For a folder,
:mod:`workbench.release.model` makes the request itself.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from workbench.data.cluster_parts import PartsOnWorkers, Workers
from workbench.data.databases.address import Address, address_of, as_path
from workbench.data.rows_in_parts import each_part
from workbench.data.table import Table
from workbench.params import InputError, ParameterError
from workbench.privacy.accounting.compose import for_person
from workbench.privacy.accounting.event import ApproximateDp, Cost
from workbench.release.certificate import (
    CARD,
    JOINED_ROWS,
    account_facts,
    certificate_bytes,
    certificate_path,
    file_facts,
    output_facts,
    with_checksum,
    with_new_checksum,
)
from workbench.release.delta_limit import require_epsilon, require_small_cost
from workbench.release.kinds import ROWS, kind
from workbench.release.ledger.ledger import Ledger
from workbench.release.ledger.records import TABLES
from workbench.release.part_files import PRIVATE, DrawFile, DrawFolder, draw_parts, refuse_replacing_inputs, require_new
from workbench.release.recover import (
    clear_leftovers,
    draw_to_continue,
    part_reserved,
    publish_draw,
    publish_earlier,
    recover,
    request_of,
    require_new_pair,
)
from workbench.release.reservation import Reservation, standing_charge
from workbench.release.rows_work import rows_work
from workbench.release.sealed_parts import Sealing
from workbench.release.statements import CHOSEN, columns_used_statement, with_choice
from workbench.release.table_formats import DATABASE, FORMATS, suffix_of, written_like
from workbench.release.table_output import TableDraw, place_beside, require_new_table, require_storable
from workbench.sanitize.engine import check_columns
from workbench.sanitize.plan import Plan
from workbench.sanitize.plan_guesses import require_confirmed
from workbench.signals import NEVER, AtStake, CancelToken, Emit, Event, Notice, Progress, ignore
from workbench.work.noise import Charged
from workbench.work.work import (
    ColumnCheck,
    CombinedReader,
    PartReader,
    Work,
    WorkOutput,
    amount_of,
    budget_of,
    take_from_workers,
)

if TYPE_CHECKING:
    from workbench.release.checkpoint_folder import CheckpointFolder

_ROOM_OF_A_CERTIFICATE = 1 << 16


@dataclass(frozen=True)
class Destination:
    """Where a release is written."""

    path: Path  # the file, or the new folder; it appears whole or not at all
    format: str  # what a file is written as
    replace: bool = False  # whether it may replace an output that exists
    # The name of the card inside a folder, by which such a folder is recognised; empty for a file, whose certificate is
    # beside it.
    card: str = ""
    # The table of a database that is written instead; `path` is then what its certificate is named after.
    table: Address | None = None

    @classmethod
    def of_model(cls, folder: Path, *, replace: bool = False) -> Self:
        """Return where a model is released to; only the folder of a model is ever replaced."""
        return cls(folder, "folder", replace, CARD)

    @property
    def name(self) -> str:
        """What a certificate calls it."""
        return self.path.name if self.table is None else self.table.table

    @property
    def certificate(self) -> Path:
        """The path of the certificate or card."""
        return self.path / self.card if self.card else certificate_path(self.path)

    def require_new(self) -> bool:
        """Refuse an output that exists, unless it may be replaced; return whether one is."""
        if self.card:
            return require_new(self.path, replace=self.replace, known_by=self.card)
        if self.table is not None:
            require_new_table(self.table, self.path)
            return False
        return require_new_pair(self.path, replace=self.replace)

    def part(self, room: int, again: str = "") -> DrawFile | DrawFolder:
        """Return the output as a part file or folder: under a temporary name, with ``room`` bytes reserved on disk.

        ``again`` is the name of a file whose run goes on.
        """
        if self.card:
            return DrawFolder(self.path, room, self.card, replace=self.replace)
        if self.table is not None:
            return TableDraw(self.path, room, again=again)
        return DrawFile(self.path, room, replace=self.replace, again=again)


def destination(
    path: Path,
    *sources: str | Path | None,
    formats: Mapping[str, str] = FORMATS,
    replace: bool = False,
    certificate: Path | None = None,
    charged: bool = True,
) -> Destination:
    """Return where a table, or another file with a certificate, is released to.

    Args:
        path: the file; or, of rows, the address of a new table in a database.
        sources: the files that the release is made from; ``None`` is ignored.
        formats: the known suffixes, each with its format.
        replace: whether it may replace an output that exists.
        certificate: where the certificate of a table in a database goes, if not into the current folder.
        charged: whether it is charged to a ledger.

    Raises:
        InputError: the suffix names no format, the file exists and is not to be replaced, or a folder has the name of
            the certificate.
        ParameterError: the release would replace what it is made from.
    """
    address = address_of(str(path))
    if address is not None:
        return _table_of(address, certificate, rows=set(formats) == set(FORMATS), replace=replace)
    if certificate is not None:
        what = "--certificate is for database tables: a file has its certificate next to it"
        raise ParameterError(what, str(certificate), "leave it out")
    suffix = suffix_of(path, formats)
    if suffix is None:
        raise InputError(
            f"the output's suffix {path.suffix!r} is not known",
            str(path),
            f"use one of {', '.join(formats)}",
            code="output-format",
        )
    for written in (path, certificate_path(path)):
        refuse_replacing_inputs(written, *sources)
    if os.path.isdir(certificate_path(path)):
        what = "a folder has the name of the certificate"
        raise InputError(what, str(certificate_path(path)), "choose another output", code="output-taken")
    require_new(path, replace=replace, charged=charged)
    return Destination(path, formats[suffix], replace)


def _table_of(address: Address, certificate: Path | None, *, rows: bool, replace: bool) -> Destination:
    if not rows:
        raise ParameterError("only rows can be released into a database table", address.shown, "give a file name")
    if replace:
        raise ParameterError("a database table is never replaced", address.shown, "leave --replace out")
    beside = place_beside(address, certificate)
    if not draw_parts(beside):  # a run that was killed may have written both: the release looks at that
        require_new_table(address, beside)
    return Destination(beside, DATABASE, table=address)


@dataclass(frozen=True, eq=False)
class Prepared:
    """A release of a file that has passed every check except those of the ledger, the values and the disk.

    :func:`release_prepared` makes the :class:`ReleaseRequest` of it.
    """

    plan: Plan
    table: Table  # the table as it was read, by which the account is found
    rows: Table  # the same table as the plan reads it
    to: Destination
    work: Work
    cost: Cost  # what is charged, for all rows of a person
    parts: PartsOnWorkers | None = None  # the rows on the workers of a cluster; `None` where this computer reads them
    sealing: Sealing | None = None  # keeps what workers draw
    _checked: list[bool] = field(default_factory=list, repr=False)

    @property
    def digest(self) -> str:
        """SHA-256 of what is asked for: a finished draw is published only for the same digest."""
        form = self.to.format if self.to.table is None else f"{DATABASE} {self.to.table.shown}"
        if self.work.kind == ROWS:
            return request_of(ROWS, plan=self.plan.published().to_toml(), format=form)
        asked = {"plan": self.plan.published().to_toml(), "format": form, **self.work.request}
        queries = [
            [e.label, str(amount_of(e)), *([str(e.delta)] if isinstance(e, ApproximateDp) else [])]
            for e in self.work.events
        ]
        if self.work.budget is not None:
            asked = {**asked, "budget": [str(self.work.budget.epsilon), str(self.work.budget.delta)]}
        return request_of(self.work.kind, asked=asked, queries=queries)


def prepare(
    plan: Plan,
    table: Table,
    to: Destination,
    work: Work | Callable[[Table, PartsOnWorkers | None], Work],
    workers: Workers | None = None,
) -> Prepared:
    """Return the release of ``table``, checked once for all that follows.

    Args:
        plan: declares the columns.
        table: the table.
        to: where to.
        work: what is released, or a function that makes it from the rows as the plan reads them, and their parts.
        workers: of a cluster, who read the rows in parts; noise is drawn here.

    Raises:
        InputError: the plan contains unconfirmed guesses, plan and table do not fit each other, or one row could change
            a guess about how the file is read.
        ParameterError: the work reads a column that the plan does not protect, asks for nothing, or at an ε out of
            bounds, or δ is not below 1/rows; or workers cannot read the rows for it.
    """
    require_confirmed(plan)
    check_columns(plan, table)
    table.require_certain()
    rows = plan.rows_of(table, counted=isinstance(work, Work) and work.counts_persons)
    if to.table is not None:
        require_storable(to.table, to.path, plan, rows)
    parts = None if workers is None else PartsOnWorkers(rows, workers)
    work = work if isinstance(work, Work) else work(rows, parts)
    if plan.unit is not None and kind(work.kind).own_cost:
        what = "RAPPOR collects a report from each client, and cannot select among the rows of a person"
        raise ParameterError(what, "unit", "leave unit out of the plan, and give the clients' column: --client COL")
    for name in work.columns:
        kind(work.kind).require(plan, name)
    if not work.events:
        raise ParameterError("no figure was requested", hint="choose at least one figure")
    if parts is not None:
        work.reader_for_workers()
    budget = budget_of(work.events, work.budget)
    if work.kind != ROWS:  # the mechanisms of noisy rows have limits of their own
        require_epsilon(budget)
    cost = work.cost(plan.rows_per_person)
    if budget.gaussian:
        require_small_cost(cost, rows.rows, rows_per_person=plan.rows_per_person)
    return Prepared(plan, table, rows, to, work, cost, parts)


def prepare_rows(plan: Plan, table: Table, to: Destination, workers: Workers | None = None) -> Prepared:
    """Return the release of noisy rows of ``table``, checked as by :func:`prepare`; ``workers`` may draw them."""
    plan = written_like(plan, table, to.format)
    folder, sealing = to.path.parent, None if workers is None else Sealing(to.path)
    prepared = prepare(
        plan, table, to, lambda rows, parts: rows_work(plan, rows, to.format, folder, parts, sealing), workers
    )
    return replace(prepared, sealing=sealing)


def check_values(prepared: Prepared, cancel: CancelToken, ledger: Ledger | None = None, emit: Emit = ignore) -> None:
    """Refuse invalid values before anything is reserved or charged; the rows are read only the first time.

    A table that is read in parts gets its marks in the same pass, where the ledger is open already.

    Raises:
        InputError: there is such a value; its column and row are named.
    """
    if prepared._checked:
        return
    work, reader = prepared.work, _reader_of(prepared)
    if reader is not None:
        _read_once(prepared, reader, ledger, emit, cancel)
    elif work.check is not None:
        work.check(prepared.rows, cancel)
    else:
        for name in work.columns:
            cancel.check()
            prepared.plan.column(name).grid().encode(prepared.rows)  # raises at an invalid value
    prepared._checked.append(True)


def _reader_of(prepared: Prepared) -> PartReader | None:
    work = prepared.work
    if prepared.parts is not None:
        return work.reader_for_workers()
    if not prepared.rows.in_parts or work.reader is not None:
        return work.reader if prepared.rows.in_parts else None
    return ColumnCheck([prepared.plan.column(n).grid().encode for n in work.columns]) if work.check is None else None


def _read_once(prepared: Prepared, reader: PartReader, ledger: Ledger | None, emit: Emit, cancel: CancelToken) -> None:
    """Read all parts of a table for ``reader``, and for the marks of the table in ``ledger``."""
    plan, rows = prepared.plan, prepared.rows
    # Where blank lines count as rows, the rows that are released are others than those the table is known by; and
    # which rows of a person are kept is known of the whole table alone.
    if ledger is not None and rows.rows == prepared.table.rows and plan.unit is None:
        marking = ledger.marking(prepared.table, prepared.parts)
        rows, reader = prepared.table, CombinedReader(reader, plan.rows_of, marking)
    read_parts(reader, rows, prepared.parts, emit, cancel)


def read_parts(reader: PartReader, rows: Table, parts: PartsOnWorkers | None, emit: Emit, cancel: CancelToken) -> None:
    """Read all parts of a table for ``reader``: here, or where ``parts`` are on the workers of a cluster."""
    if parts is not None:
        take_from_workers(reader, parts)
        return
    done = 0
    for count, found in each_part(rows, lambda part: (part.rows, reader.of_part(part)), cancel):
        reader.take(found)
        done += count
        emit(Progress(done, rows.rows, "rows read"))
    reader.finish()


@dataclass(frozen=True)
class Released:
    """The result of a release."""

    release_id: str
    rows: int  # rows of the table, which are public
    epsilon_charged: Decimal  # ε charged, for all rows of a person
    delta_charged: Decimal  # δ charged, for all rows of a person; 0 for pure differential privacy
    epsilon_remaining: Decimal  # ε left under the cap
    seconds: float  # from the reservation to the rename
    output: Path  # the file or folder, or the address of a table in a database
    certificate: Path  # the path of its certificate or card
    document: dict[str, Any]
    published_earlier: bool = False  # whether an earlier run drew and charged it, but could not give it its name

    @property
    def outside(self) -> tuple[str, ...]:
        """Sentences on what the ε does not cover."""
        return tuple(self.document["outside_guarantee"])

    @property
    def uses(self) -> str:
        """Which columns a model looks at, in a sentence; empty of a file, and where it looks at all."""
        used = self.document.get("training", {}).get("attributes_used")
        return columns_used_statement(used, len(self.document.get("inputs", ())) - 1)


@dataclass(frozen=True, eq=False)
class ReleaseRequest:
    """What :func:`release` is given, for a file or a folder; it has passed every check but ledger, values and disk."""

    table: Table  # the rows, by which the account is found
    to: Destination
    work: str  # name of the kind of work, as the ledger records it
    digest: str  # SHA-256 of what is asked for: a later run with the same digest publishes a finished draw of this one
    # Bytes that the output and its certificate may need on the disk, or a function that returns them once the values
    # are checked.
    room: int | Callable[[], int]
    # Calls the reservation with its cost before it reads a row, asks its questions, and returns what is published,
    # which is still only in memory. It raises rather than return what must not be published.
    draw: Callable[[Reservation, Emit, CancelToken], WorkOutput]
    # What the certificate or card says of what was drawn and of its cost; `release` adds digests, account, time and
    # checksum.
    facts: Callable[[WorkOutput, Cost], dict[str, Any]]
    account: str | None = None  # the public name of the account that pays, where the plan states one
    check: Callable[[CancelToken], None] = lambda cancel: None  # refuses values before anything is reserved
    # Returns whether a person has already seen private figures of the run: if so, it stays charged in full when it is
    # cancelled or fails. `None` where nothing is shown while it runs.
    watched: Callable[[], bool] | None = None
    kept: CheckpointFolder | None = (
        None  # the checkpoint of work that can be paused; the cost stays reserved while it is
    )
    unit: int = 0  # how many rows of each person are kept, where the plan names the column that identifies one; else 0
    sealing: Sealing | None = None  # keeps what workers draw, so that another run can go on with it

    @property
    def resumed(self) -> str:
        """The release id of the paused run that is resumed; empty for a new run."""
        return "" if self.kept is None else self.kept.facts.release_id

    def details(self, part: DrawFile | DrawFolder, ledger: Ledger) -> dict[str, Any]:
        """Return what the ledger records with the reservation."""
        tables = ledger.tables_of(ledger.identify(self.table)) if self.table.joined is not None else ()
        if self.table.joined is not None and len(tables) != 2:
            raise RuntimeError("one of two joined tables has no account to charge")
        watched = {"watched": self.watched is not None} if self.to.card else {}
        unit = {"unit": self.unit} if self.unit else {}
        both = {TABLES: list(tables)} if tables else {}
        return {**part_reserved(part), **watched, **unit, **both, **({} if self.kept is None else self.kept.details())}


def release_prepared(
    prepared: Prepared,
    ledger: Ledger,
    emit: Emit = ignore,
    cancel: CancelToken = NEVER,
    *,
    account: str = "",
) -> Released:
    """Release what was prepared; arguments and errors are those of :func:`release`."""
    if prepared.rows.in_parts:
        check_values(prepared, cancel, ledger, emit)
    return release(_request_for(prepared), ledger, emit, cancel, account=account)


def _request_for(prepared: Prepared) -> ReleaseRequest:
    work, plan = prepared.work, prepared.plan

    def draw(reservation: Reservation, emit: Emit, cancel: CancelToken) -> WorkOutput:
        def progress(event: Event) -> None:
            if isinstance(event, Progress):  # nothing else of a Work is shown before its charge is final
                emit(event)

        people = plan.rows_per_person
        ask = Charged(lambda cost_of_row: reservation(for_person(cost_of_row, people))).ask(work.cost())
        made = work.run(prepared.rows, ask, progress, cancel)
        cancel.check()
        return made

    return ReleaseRequest(
        table=prepared.table,
        to=prepared.to,
        work=work.kind,
        digest=prepared.digest,
        room=work.room,
        draw=draw,
        facts=lambda made, cost: file_facts(work, plan, prepared.rows.rows, made.method),
        account=plan.account,
        check=lambda cancel: check_values(prepared, cancel),
        unit=plan.rows_per_person if plan.unit is not None else 0,
        sealing=prepared.sealing,
    )


@dataclass(frozen=True, eq=False)
class _Drawing:
    """One run of a request, from the reservation to the name of its output."""

    request: ReleaseRequest
    ledger: Ledger
    reservation: Reservation
    part: DrawFile | DrawFolder
    emit: Emit
    cancel: CancelToken

    def publish(self) -> dict[str, Any]:
        """Ask the rows, charge, write, certify, and give the output its name; return its certificate or card."""
        to, sealing = self.request.to, self.request.sealing
        made, draft = self._charge()
        if sealing is not None:
            sealing.keep()
        cost, release_id = self.reservation.made()
        self.emit(AtStake(cost.epsilon))
        with standing_charge(cost, to.path, goes_on=sealing is not None):
            document = self._write(made, draft)
            data = certificate_bytes(document)
            with self.part.keep_on_success():
                # The card of a folder is in it; the certificate of a file is in the ledger until it has its name.
                kept = "" if to.card else data.decode()
                self.ledger.certify(release_id, document["checksum"], self.request.digest, kept)
        if sealing is not None:
            sealing.discard()
        self.emit(AtStake(Decimal(0)))
        self.emit(Progress(1, 1, "certified"))  # from here on it is too late to cancel
        publish_draw(self.ledger, self.part, release_id, data, to.table)
        return document

    def _charge(self) -> tuple[WorkOutput, dict[str, Any]]:
        """Reserve the cost, draw, and make the charge final; return what is to be written and its draft."""
        kept, watched = self.request.kept, self.request.watched
        try:
            made = self.request.draw(self.reservation, self.emit, self.cancel)
            draft = self._draft(made)
            if isinstance(self.part, DrawFolder):
                self.part.reserve(self._folder_files(made, draft))
            self.reservation.make_final(made.settled)  # from the next line on somebody could read drawn values
        except BaseException as error:
            if kept is not None and kept.paused:
                raise
            taken = kept is not None and kept.counted > 0  # a checkpoint with noisy parameters may be on the disk
            seen = watched is not None and watched()
            self.reservation.abandon(error, self.emit, keep=taken or seen, watched=seen)
            if kept is not None:
                kept.remove()
            raise
        return made, draft

    def _draft(self, made: WorkOutput) -> dict[str, Any]:
        """Return the certificate or card; only digest and size of a file that is not written yet are missing."""
        request, (cost, release_id) = self.request, self.reservation.made()
        release = self.ledger.release(release_id)
        assert release is not None
        charged = made.settled or (cost.epsilon, cost.delta)
        facts = request.facts(made, Cost(*charged, cost.event))
        if request.table.joined is not None:
            facts[JOINED_ROWS] = request.table.joined.second.lines  # a blank one is an empty row
        facts["outside_guarantee"] = with_choice(facts["outside_guarantee"], self.ledger, release.dataset, release_id)
        if isinstance(made.data, Mapping):
            facts["files"] = {name: hashlib.sha256(made.data[name]).hexdigest() for name in sorted(made.data)}
        else:
            facts["output"] = output_facts(request.to.name, request.to.format, columns=made.columns)
        if request.account is not None:
            account = self.ledger.account(release.dataset)
            facts["account"] = account_facts(request.account, account, cost.epsilon, charged[0], release_id)
        return with_checksum(facts, time=release.time, release_id=release_id)

    def _folder_files(self, made: WorkOutput, card: Mapping[str, Any]) -> dict[str, bytes]:
        assert isinstance(made.data, Mapping)
        private = {f"{PRIVATE}/{name}": data for name, data in made.private.items()}
        return {**made.data, self.request.to.card: certificate_bytes(card), **private}

    def _write(self, made: WorkOutput, draft: dict[str, Any]) -> dict[str, Any]:
        """Write what was made under its temporary name, durably, and return its certificate."""
        to, part = self.request.to, self.part
        if isinstance(part, DrawFolder):
            part.write(self._folder_files(made, draft))
            return draft
        assert not isinstance(made.data, Mapping)
        if isinstance(made.data, bytes):  # the charge is final: a cancel during this one write would save nothing
            part.write(made.data)
            part.finish()
        else:
            for done, piece in enumerate(made.data, start=1):
                self.cancel.check()
                part.write(piece)
                self.emit(Progress(done, made.count, "written"))
            part.finish()
            self.cancel.check()
        return with_new_checksum(
            {**draft, "output": output_facts(to.name, to.format, part.sha256, part.bytes, made.columns)}
        )


def release(
    request: ReleaseRequest,
    ledger: Ledger,
    emit: Emit = ignore,
    cancel: CancelToken = NEVER,
    *,
    account: str = "",
) -> Released:
    """Release what is asked for.

    The values are checked and the output's place and space secured first, then the cost is reserved, then the rows are
    asked, in memory; the charge is final before the first byte goes into a file, whatever ends the run afterwards. A
    run that ends earlier is recorded as void, unless a person saw figures of it. A finished draw that could not be
    given its name is kept, and the next run of the same request publishes it instead of drawing and charging anew. What
    workers of a cluster have drawn is kept, too, and the next run of the same request has them draw the rest.

    Args:
        request: the release.
        ledger: charges it.
        emit: receives progress, and notices about earlier runs.
        cancel: checked between the steps.
        account: the account that pays, if :func:`verdict_on` has found it already.

    Raises:
        InputError: a value does not fit its column, or the output exists or cannot be written.
        BudgetRefusedError: the cap does not allow it.
        CancelledError: ``cancel`` was set; the message says whether the charge stays.
    """
    started, to, target = time.monotonic(), request.to, request.to.path
    request.table.require_certain()  # a guess about the file that one row could change would undo every guarantee
    dataset = ledger.account_of(account) if account else ledger.enter_for_release(request.table, request.account)
    for sentence in (*recover(ledger, resumed=request.resumed), *clear_leftovers(ledger, target)):
        emit(Notice("info", sentence))
    if to.card and ledger.figures_shown(
        dataset, before=request.resumed
    ):  # for a file, callers print the certificate's outside_guarantee at the end
        emit(Notice("warning", f"not covered by epsilon: {CHOSEN}"))
    published = publish_earlier(ledger, target, request.digest, dataset, emit, replace=to.replace, table=to.table)
    if published is not None:
        return _released(published, ledger, to, started, published_earlier=True)
    replaces = to.require_new()
    request.check(cancel)
    room = request.room() if callable(request.room) else request.room
    sealing = request.sealing
    rows = b"" if sealing is None else sealing.rows
    begun = draw_to_continue(ledger, target, request.digest, dataset, rows)
    mark = ledger.marks_of(rows)[0] if begun is None else str(begun.release.body["content"])
    again, drawn = "", None
    if begun is not None:
        paid = begun.release
        stated = f"release {paid.release_id} is already charged and was interrupted: this run continues it"
        emit(Notice("info", stated))
        again, drawn = Path(str(paid.body["part"])).name, begun.drawn
    kept = nullcontext() if sealing is None else sealing.opened(drawn, mark.encode())
    with kept, to.part(room + _ROOM_OF_A_CERTIFICATE, again) as part:
        details = request.details(part, ledger)
        if sealing is not None:
            details |= {"request": request.digest, "content": mark, **sealing.details()}
        resumed = request.resumed if begun is None else begun.release.release_id
        reservation = Reservation(ledger, dataset, request.work, details, resumed)
        document = _Drawing(request, ledger, reservation, part, emit, cancel).publish()
    if replaces:
        emit(Notice("warning", f"{target} was replaced: this is another release, and it was charged again"))
    if request.kept is not None:
        request.kept.remove()
    return _released(document, ledger, to, started)


def _released(
    document: dict[str, Any], ledger: Ledger, to: Destination, started: float, *, published_earlier: bool = False
) -> Released:
    release = ledger.release(document["release_id"])
    assert release is not None
    remaining = ledger.account(release.dataset).remaining
    assert remaining is not None
    return Released(
        release_id=release.release_id,
        rows=document["rows"],
        epsilon_charged=release.epsilon,
        delta_charged=release.delta,
        epsilon_remaining=remaining,
        seconds=time.monotonic() - started,
        output=to.path if to.table is None else as_path(to.table.shown),
        certificate=to.certificate,
        document=document,
        published_earlier=published_earlier,
    )
