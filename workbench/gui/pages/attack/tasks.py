"""Run an attack, or hold out rows for one, in a job."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.gui.pages.attack import RUN
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import OpenTable, RunRecord, Session
from workbench.gui.style.language import tr, tr_sentence
from workbench.gui.widgets.figures_first import follow_note
from workbench.jobs import Job
from workbench.params import Parameters
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit

if TYPE_CHECKING:  # these load numpy, which the first paint does not wait for
    from workbench.data.table import Table
    from workbench.risk.attacks.base import Attack
    from workbench.risk.attacks.outcome import Outcome

KEY = "attack"


@dataclass(frozen=True, eq=False)
class Attacked:
    """An attack that was run, with its title and target as a person calls them. Private, unless it says otherwise."""

    title: str
    target: str
    outcome: Outcome


def hold_out(
    session: Session, jobs: JobCenter, percent: int, kept: Path, show: Callable[[Path, Path], None]
) -> JobHandle:
    """Divide the open table at random into the file ``kept`` and one of the rows that are held out, beside it."""
    opened, held = session.opened, kept.with_name(f"{kept.stem}-held-out.csv")
    assert opened is not None

    def work(emit: Emit, cancel: CancelToken) -> None:
        import numpy as np

        from workbench.release import attacked

        attacked.hold_out(opened.table, percent, kept, held, np.random.default_rng())

    def done(_: None) -> None:
        if session.opened is opened:
            show(kept, held)

    title = tr("Holding out rows of {table}", table=opened.title)
    return jobs.start(Job(title, work), key=f"{KEY}-hold-out", on_result=done)


def run_attack(
    session: Session,
    jobs: JobCenter,
    chosen: Attack,
    request: Parameters,
    given: Mapping[str, Path | OpenTable],
    target: str,
    show: Callable[[Attacked], None],
) -> JobHandle:
    """Attack ``target`` with what is given; the outcome goes to ``show``, and to the session."""

    def work(emit: Emit, cancel: CancelToken) -> Outcome:
        from workbench.release.attacked import attack

        read: dict[str, Path | Table] = {
            name: source if isinstance(source, Path) else source.table for name, source in given.items()
        }
        return attack(chosen, request, read, emit=emit, cancel=cancel)

    title = tr("{attack}: {target}", attack=tr_sentence(chosen.title), target=target)

    def apply(outcome: Outcome) -> None:
        done = Attacked(chosen.title, target, outcome)
        session.add_run(RunRecord(RUN, title, None, done, target))
        show(done)

    return follow_note(session, jobs, jobs.start(Job(title, work), key=KEY, on_result=apply))
