"""The job of a release of any kind, and what the window shows at its end."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol

from workbench.gui.session.account_task import read_account
from workbench.gui.session.draft import DraftPlan
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import OpenTable, ReleasedStep, Session
from workbench.gui.style.language import tr, tr_sentence
from workbench.jobs import Job
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Cancelled, Emit, Notice


class Done(Protocol):
    """What every kind of release ends with."""

    @property
    def release_id(self) -> str:
        """Its name in the ledger."""
        ...

    @property
    def epsilon_charged(self) -> Decimal:
        """ε charged."""
        ...

    @property
    def output(self) -> Path:
        """The file."""
        ...

    @property
    def certificate(self) -> Path:
        """Its certificate."""
        ...

    @property
    def published_earlier(self) -> bool:
        """Whether an earlier run made and paid for it."""
        ...


def start_release(
    session: Session,
    jobs: JobCenter,
    key: str,
    opened: OpenTable,
    plan: DraftPlan,
    work: Callable[[Emit, CancelToken], Done],
    title: Callable[[Any], str],
    on_failure: Callable[[BaseException], None],
    **more: Any,
) -> JobHandle:
    """Start a release; whatever its end, the budget gauge follows and the session is updated.

    Args:
        session: hears of it, and remembers it while its table is open.
        jobs: runs it.
        key: of the job.
        opened: the table that it is made from.
        plan: the plan that it is made by.
        work: releases.
        title: what was released, such as "150 rows".
        on_failure: hears why it was not released.
        more: further attributes of the :class:`ReleasedStep`.
    """

    def apply(done: Done) -> None:
        what = title(done)
        if session.opened is opened:
            files = (("file", done.output), ("certificate", done.certificate))
            session.add_release(
                ReleasedStep(
                    done.release_id,
                    done.output.parent,
                    plan,
                    done.epsilon_charged,
                    title=what,
                    files=files,
                    result=done,
                    **more,
                )
            )
        if handle.too_late:
            session.notify(
                "warning", tr("It was too late to cancel: {output} is released and charged.", output=done.output)
            )
        else:
            session.notify(
                "info",
                tr("Released {what} to {output}; nothing more was charged.", what=what, output=done.output)
                if done.published_earlier
                else tr("Released {what} to {output}.", what=what, output=done.output),
            )

    def cancel_text() -> None:
        stays = tr_sentence(handle.end.what) if isinstance(handle.end, Cancelled) else ""
        if stays:
            session.notify("warning", f"{stays[0].upper()}{stays[1:]}.")
        elif not doubts:
            session.notify("info", tr("Cancelled: no file was written, and nothing is charged."))

    doubts: list[Notice] = []
    handle = jobs.start(Job(tr("Releasing"), work, about=opened.title), key=key, on_result=apply, on_failure=on_failure)
    # A ledger that could not record the end says so itself.
    handle.notice.connect(lambda notice: doubts.append(notice) if notice.level == "warning" else None)
    handle.cancelled.connect(cancel_text)
    handle.ended.connect(lambda: read_account(session, jobs))
    return handle
