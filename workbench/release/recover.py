"""Recovery after a crash: reservations of dead processes, and finished draws that were not renamed yet.

A charge is final before the first drawn byte goes into any file. So a reservation whose process is gone never exposed
anything and is void, unless a person watched private figures of its run. Files are touched beside the named output
alone, and only those of this ledger: what a ledger says of other places is never acted upon.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from workbench.data.databases.address import Address
from workbench.params import InputError, WorkbenchError, paid, parse_json, read_json
from workbench.release.atomic import exclusive_lock, remove_path, write_whole
from workbench.release.certificate import CARD, certificate_path, checksum, read_card
from workbench.release.checkpoint_folder import RESUMABLE, has_checkpoint
from workbench.release.ledger.ledger import Ledger
from workbench.release.ledger.location import still_runs, this_process
from workbench.release.ledger.records import DRAWN, Release
from workbench.release.part_files import DrawFile, DrawFolder, draw_parts, is_blank, require_new
from workbench.release.table_formats import DATABASE
from workbench.release.table_output import TableDraw
from workbench.signals import WHOLE, Emit, Notice

CHARGED_FIRST = "charged-first"
"""Key of a reservation by a run that makes its charge final before the first byte; older ones may have exposed some."""


@dataclass(frozen=True, eq=False)
class FinishedDraw:
    """A finished draw that is not renamed yet; its charge is final."""

    release: Release
    request: str  # digest of what was asked for
    document: str  # its certificate as text; empty for a model, whose card is in the folder
    part: Path  # where it waits
    target: Path  # the name it is to have

    @property
    def of_a_database(self) -> bool:
        """Whether it goes into a table of a database, which only the same command names."""
        return bool(self.document) and json.loads(self.document)["output"]["format"] == DATABASE

    @property
    def half_named(self) -> bool:
        """Whether a run was killed after it renamed the certificate and before it renamed the table."""
        return bool(self.document) and _certifies(certificate_path(self.target), self.release.release_id)


def _certifies(path: Path, release_id: str) -> bool:
    try:
        standing = read_json(path, "certificate")
    except WorkbenchError:
        return False
    return isinstance(standing, dict) and standing.get("release_id") == release_id


def request_of(work: str, **asked: Any) -> str:
    """Return a digest of a run's request; a later run with the same digest publishes a finished draw."""
    return hashlib.sha256(json.dumps([work, asked], sort_keys=True).encode()).hexdigest()


def recover(ledger: Ledger, *, resumed: str = "") -> list[str]:
    """Settle the reservations of dead processes; return a sentence for each. No file but the ledger is touched.

    That of the training ``resumed`` is left as it is: the resumed run knows where its checkpoint is. A ledger that was
    moved away, or is older than what this computer has seen, is left as it is: what it holds as reserved may be charged
    in the other one. The next charge says so.
    """
    if ledger.moved_to() is not None or ledger.missing() is not None:
        return []
    sentences = []
    for release in ledger.releases():
        if release.release_id == resumed:
            continue
        if release.status == "reserved" and "part" in release.body and not still_runs(release.body.get("process", {})):
            try:
                stated = _settle(ledger, release)
                sentences += [stated] if stated else []
            except InputError:
                # Another process settled it meanwhile; or the ledger cannot be written, which the charge will report.
                after = ledger.release(release.release_id)
                if after is None or after.status == "reserved":
                    raise
    return sentences


def settle_own_reservations(path: Path | None) -> str:
    """Settle the reservations of this process, which is being ended, and return what stays charged without a release.

    What cannot be settled is left to the next run.
    """
    lost = Decimal(0)
    with contextlib.suppress(WorkbenchError), Ledger.open(path) as ledger:
        for release in ledger.releases():
            if "part" not in release.body or release.body.get("process") != this_process():
                continue
            if release.status == "reserved":
                _settle(ledger, release)
            elif release.status in ("charged", "settled") and "certificate" not in release.body:
                lost += release.epsilon
    return f"epsilon = {paid(lost)} stays charged, because drawn values were being written" if lost else ""


def _settle(ledger: Ledger, release: Release) -> str:
    """Settle a reservation whose process is gone, and return what was done; nothing where its run can go on."""
    if release.body.get(RESUMABLE) and ledger.steps_taken(release.release_id):
        if has_checkpoint(release):
            return ""
        ledger.charge(release.release_id)
        return f"the interrupted training {release.release_id} stays charged: its checkpoint is gone"
    if release.body.get("watched"):
        ledger.charge(release.release_id)
        return f"the interrupted training {release.release_id} stays charged: its private figures were on display"
    if not release.body.get(CHARGED_FIRST):
        ledger.charge(release.release_id)
        return f"the interrupted release {release.release_id} stays charged: values of it may have reached the disk"
    ledger.void(release.release_id, "interrupted before any drawn value was written")
    return f"the interrupted release {release.release_id} wrote no drawn value and costs nothing"


def finished_draw(ledger: Ledger, target: Path) -> FinishedDraw | None:
    """Return the finished draw for ``target``, unless another process is renaming it now; changes nothing."""
    output = place_of(target)
    waiting = ledger.finished()
    parts = {p.name: p for p in draw_parts(target)}
    for release in reversed(ledger.releases()):
        part = parts.get(Path(release.body.get("part", "")).name)
        if part is None or release.release_id not in waiting or release.body.get("output") != output:
            continue
        if not _in_use(part, release):
            return FinishedDraw(release, *waiting[release.release_id], part, target)
    return None


@dataclass(frozen=True)
class UnfinishedDraw:
    """A draw that is paid for and not finished."""

    release: Release
    drawn: Path  # the file of the parts that are drawn


def unfinished_draw(ledger: Ledger, target: Path) -> UnfinishedDraw | None:
    """Return the draw for ``target`` that a run was killed at, or is at; changes nothing."""
    output, parts = place_of(target), {p.name: p for p in draw_parts(target)}
    for release in reversed(ledger.releases()):
        drawn = parts.get(release.body.get(DRAWN, ""))
        if drawn is None or release.body.get("output") != output or "certificate" in release.body:
            continue
        if release.status == "charged":
            return UnfinishedDraw(release, drawn)
    return None


def draw_to_continue(
    ledger: Ledger, target: Path, request: str, account: str, rows: bytes | None = None
) -> UnfinishedDraw | None:
    """Return the draw that a run of ``request`` for a table of ``account`` goes on with, at no further charge.

    ``rows`` is the digest of the rows that workers draw from, none where no worker does; ``None`` where it is not
    known yet.

    Raises:
        InputError: a draw was begun there that this run did not ask for, or another one is at it.
    """
    found = unfinished_draw(ledger, target)
    if found is None:
        return None
    if os.access(found.drawn, os.R_OK) and _in_use(
        found.drawn, found.release
    ):  # what cannot be opened is reported later
        raise InputError("another run is already continuing this release", str(target), "wait for it")
    body = found.release.body
    paid_by = ledger.account_of(found.release.dataset)
    same = (body.get("request"), paid_by) == (request, ledger.account_of(account))
    if same and (rows is None or body.get("content") in ledger.marks_of(rows)):
        return found
    what = "this run asks for something else" if not same else "their rows are others, or read differently"
    hint = f"repeat the earlier command to continue them, choose another output, or delete {found.drawn.name}"
    stated = f"parts of release {found.release.release_id} are already drawn for this output, but {what}"
    raise InputError(stated, str(target), hint, code="draw-waits")


def clear_leftovers(ledger: Ledger, target: Path) -> list[str]:
    """Remove what killed runs left beside ``target``, except finished draws and those that were begun.

    It returns a sentence for each draw that is lost by that.

    Only blank parts and those that this ledger knows by name, on this host, are removed, and none that is in use.
    """
    output, host = place_of(target), this_process()["host"]
    own = [
        r
        for r in ledger.releases()
        if r.body.get("output") == output and "part" in r.body and r.body.get("process", {}).get("host") == host
    ]
    known = {Path(r.body["part"]).name: r for r in own}
    drawn = {r.body[DRAWN]: r for r in own if DRAWN in r.body}
    waits, begun = finished_draw(ledger, target), unfinished_draw(ledger, target)
    stays = {found for found in (waits and waits.part, begun and begun.drawn) if found}
    sentences = []
    for part in draw_parts(target):
        if part in stays:
            continue
        try:
            with exclusive_lock(part) as free:
                if free and (part.name in {**known, **drawn} or is_blank(part)):
                    remove_path(part)
                    lost = known.get(part.name)
                    goes_on = begun is not None and lost == begun.release
                    if lost is not None and lost.status in ("charged", "settled") and not goes_on:
                        stated = "its values had been written, so the charge remains"
                        sentences.append(f"the interrupted release {known[part.name].release_id} is removed: {stated}")
        except OSError:
            continue  # not ours to open: it stays as it is
    left = {p.name for p in draw_parts(target)}
    for release_id in ledger.finished():
        release = ledger.release(release_id)
        if release is None or release.body.get("output") != output:
            continue
        if Path(release.body.get("part", "")).name not in left:
            ledger.forget_finished(release_id)  # its part was published, or somebody took it away
    return sentences


def _in_use(part: Path, release: Release) -> bool:
    """Return whether a running process has a part open: its lock says so, or its number where there are no locks."""
    process = release.body.get("process", {})
    elsewhere = process.get("pid") != os.getpid() and still_runs(process)
    try:
        with exclusive_lock(part, otherwise=not elsewhere) as free:
            return not free
    except OSError:
        return True


def publish_draw(
    ledger: Ledger, part: DrawFile | DrawFolder, release_id: str, certificate: bytes, table: Address | None = None
) -> None:
    """Rename a finished draw to its final name, the certificate beside a file first; or copy it into a database.

    Raises:
        InputError: it could not be given its name; the part is kept for the next run.
    """
    if table is not None:
        assert isinstance(part, TableDraw)
        part.copy(table, certificate)  # before the ledger is locked: this may take minutes
    try:
        with WHOLE, ledger.publishing(release_id):
            if isinstance(part, DrawFolder):
                part.publish()
            else:
                rename_pair(part, release_id, certificate)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        hint = "solve this and run the same command again: the finished draw is kept and costs nothing more"
        raise InputError(f"the finished draw could not be renamed: {reason}", str(part.target), hint) from None


def rename_pair(part: DrawFile, release_id: str, certificate: bytes) -> None:
    """Rename a finished file and its certificate to their final names, the certificate first; both or none.

    Raises:
        OSError: they could not be given their names; the part and a former certificate stay as before.
    """
    beside = certificate_path(part.target)
    earlier = beside.read_bytes() if beside.is_file() else None
    if not part.replaces and os.path.lexists(beside) and not _certifies(beside, release_id):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(beside))
    try:
        write_whole(beside, certificate)
        part.publish()
    except BaseException:
        if os.path.lexists(part.path):
            if earlier is None:
                beside.unlink(missing_ok=True)
            else:
                write_whole(beside, earlier)
        raise


def _reopened(found: FinishedDraw, *, replace: bool, table: Address | None) -> DrawFile | DrawFolder:
    part: DrawFile | DrawFolder | None = None
    with contextlib.suppress(FileNotFoundError):
        if found.document:
            kind = DrawFile if table is None else TableDraw
            part = kind.reopened(found.part, found.target, replace=replace)
        else:
            part = DrawFolder.reopened(found.part, found.target, CARD, replace=replace)
    if part is None:
        raise InputError("another run is saving this output right now", str(found.target), "wait for it")
    return part


def _certified(found: FinishedDraw, part: DrawFile | DrawFolder) -> dict[str, Any] | None:
    recorded = found.release.body.get("certificate")
    if isinstance(part, DrawFile):
        document = parse_json(found.document, "certificate")
        if not isinstance(document, dict) or checksum(document) != recorded:
            return None
        output = document.get("output")
        return document if isinstance(output, dict) and output.get("sha256") == part.sha256 else None
    from workbench.release.verify import verify_release  # it knows every learner, which takes a tenth of a second

    try:
        card = read_card(found.part)
        return card if card["checksum"] == recorded and not verify_release(found.part) else None
    except WorkbenchError:
        return None


def part_reserved(part: DrawFile | DrawFolder) -> dict[str, Any]:
    """Return what a reservation says of the part that its draw goes into."""
    return {"output": place_of(part.target), "part": part.path.name, CHARGED_FIRST: True}


def place_of(target: Path) -> str:
    """Return the path of an output as the ledger stores it: absolute, with links in its folder resolved."""
    return str(target.parent.resolve() / target.name)


def finished_draw_for(ledger: Ledger, target: Path, request: str, account: str) -> FinishedDraw | None:
    """Return the finished draw that a run of ``request`` for a table of ``account`` would publish for free.

    Raises:
        InputError: a finished draw waits there that this run did not ask for.
    """
    waiting = finished_draw(ledger, target)
    if waiting is None:
        return None
    if (waiting.request, ledger.account_of(waiting.release.dataset)) == (request, ledger.account_of(account)):
        return waiting
    # Its certificate is there already: it is published before anything else is drawn.
    if waiting.half_named and not waiting.of_a_database:
        return None
    raise InputError(
        f"a finished draw of release {waiting.release.release_id} is not yet published under this name, but this run "
        "asks for something else",
        str(target),
        f"repeat the earlier command to publish it, choose another output, or delete {waiting.part.name}",
        code="draw-waits",
    )


def publish_earlier(
    ledger: Ledger,
    target: Path,
    request: str,
    account: str,
    emit: Emit,
    *,
    replace: bool,
    table: Address | None = None,
) -> dict[str, Any] | None:
    """Publish a finished draw that was not renamed; return its certificate if this run made the same request.

    Raises:
        InputError: a finished draw waits there that this run did not ask for, or it could not be given its name; or
            the output exists, and is not to be replaced.
    """
    asked_for = finished_draw_for(ledger, target, request, account)
    waiting = asked_for or finished_draw(ledger, target)
    if waiting is None:
        return None
    release_id, model = waiting.release.release_id, not waiting.document
    if table is None:
        require_new(target, replace=replace, known_by=CARD if model else "")
    with _reopened(waiting, replace=replace, table=table) as part:
        document = _certified(waiting, part)
        if document is None:
            part.discard()
        else:
            publish_draw(ledger, part, release_id, waiting.document.encode(), table)
    if document is None:
        ledger.forget_finished(release_id)
        emit(Notice("warning", f"the part of release {release_id} was damaged or changed and is removed"))
        return None
    what = f"the finished {'model' if model else 'draw'} of release {release_id}"
    place = target if table is None else table.shown
    emit(Notice("info", f"{what} is now at {place}; nothing more is charged"))
    return document if asked_for is not None else None


def require_new_pair(target: Path, *, replace: bool, charged: bool = True) -> bool:
    """Refuse an output or a certificate that exists, unless they are to be replaced; return whether an output is."""
    require_new(certificate_path(target), replace=replace, charged=charged)
    return require_new(target, replace=replace, charged=charged)
