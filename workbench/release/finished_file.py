"""A file that an earlier run finished and could not give its name: the next run of the same request publishes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from workbench.release.ledger.ledger import Ledger
from workbench.release.ledger.recover import FinishedDraw, finished_draw, publish_table, reopened_table
from workbench.release.parts import require_new
from workbench.release.table.certificate import certificate_path
from workbench.signals import Notice
from workbench.signals.events import Emit


def waiting_for(ledger: Ledger, target: Path, request: str, account: str) -> FinishedDraw | None:
    """Return the finished draw that a run of ``request`` for a table of ``account`` would publish for free.

    Raises:
        InputError: a finished draw waits there that this run did not ask for.
    """
    waiting = finished_draw(ledger, target)
    if waiting is None:
        return None
    if waiting.answers(request, ledger.account_of(account)):
        return waiting
    if waiting.half_named:  # its certificate stands already: it is published before anything else is drawn
        return None
    raise waiting.refusal()


def publish_earlier(
    ledger: Ledger, target: Path, request: str, account: str, emit: Emit, *, replace: bool
) -> dict[str, Any] | None:
    """Publish a finished draw that was not renamed; return its certificate if this run made the same request.

    Raises:
        InputError: a finished draw waits there that this run did not ask for, or it could not be given its name; or
            the output exists, and is not to be replaced.
    """
    asked_for = waiting_for(ledger, target, request, account)
    waiting = asked_for or finished_draw(ledger, target)
    if waiting is None:
        return None
    require_new(target, replace=replace)
    found = reopened_table(waiting, replace=replace)
    release_id = waiting.release.release_id
    if found is None:
        ledger.forget_finished(release_id)
        emit(Notice("warning", f"the part of release {release_id} is not as it was written and is removed"))
        return None
    part, document = found
    with part:
        publish_table(ledger, part, release_id, waiting.document.encode())
    emit(Notice("info", f"the finished draw of release {release_id} is now at {target}; nothing more is charged"))
    return document if asked_for is not None else None


def require_new_pair(target: Path, *, replace: bool) -> bool:
    """Refuse an output or a certificate that exists, unless they are to be replaced; return whether an output is."""
    require_new(certificate_path(target), replace=replace)
    return require_new(target, replace=replace)
