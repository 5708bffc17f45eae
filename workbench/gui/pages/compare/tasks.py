"""Read the models that were ever released: from the ledger, and from their cards where these can still be read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import RunRecord, Session
from workbench.gui.widgets.formatting import count
from workbench.jobs import Job
from workbench.params import InputError
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit

if TYPE_CHECKING:
    from workbench.studies.grid.runs_file import FinishedRun

KEY, SWEEP = "compare", "compare_sweep"
NETWORK, FIT = "dpsgd", "fit "
"""What the ledger calls the work that makes a model."""


@dataclass(frozen=True)
class ReleasedModel:
    """A model that was released, or is being trained.

    Attributes:
        release_id: the ledger's name of it.
        name: the model's name in the program; of a network whose card cannot be read, empty.
        account: the ledger's mark of the table.
        called: the public name of its account, if it has one.
        epsilon: what was charged.
        delta: the same.
        time: when it was charged.
        status: what the ledger says of it.
        output: its folder.
        released: whether there is an output.
        card: whether its card could be read.
        accuracy: on a test table that was declared public, with its number of rows; ``None`` where there is none.
    """

    release_id: str
    name: str
    account: str
    called: str
    epsilon: Decimal
    delta: Decimal
    time: str
    status: str
    output: str
    released: bool
    card: bool = False
    accuracy: tuple[float, int] | None = None


def read_models(
    jobs: JobCenter, show: Callable[[tuple[ReleasedModel, ...]], None], on_failure: Callable[[BaseException], None]
) -> None:
    """Read every model of the ledger, the newest first."""
    job = Job("Reading the released models", lambda emit, cancel: released_models(emit, cancel))
    jobs.start(job, key=KEY, shown=False, on_result=show, on_failure=on_failure)


def read_sweep(path: Path, session: Session, jobs: JobCenter) -> None:
    """Read the CSV of a sweep and add it to the runs of the session."""

    def work(emit: Emit, cancel: CancelToken) -> Sequence[FinishedRun]:
        from workbench.studies.grid.runs_file import read_runs

        runs = read_runs(path)
        if not runs:
            raise InputError("no run of the sweep has ended", str(path), "run `workbench grid` on")
        return runs

    def apply(runs: Sequence[FinishedRun]) -> None:
        session.add_run(RunRecord("sweep", f"Sweep: {path.name}", None, runs, path.stem))
        session.notify("info", f"{count(len(runs), 'run')} of {path.name} are listed.")

    jobs.start(Job("Reading a sweep", work), key=SWEEP, on_result=apply, on_failure=session.report)


def released_models(emit: Emit, cancel: CancelToken) -> tuple[ReleasedModel, ...]:
    """Return the models that count in the ledger; runs in a worker and changes nothing on disk."""
    from workbench.release.ledger.ledger import Ledger
    from workbench.release.ledger.records import COUNTED, has_output

    found = []
    with Ledger.read() as book:
        known = book.accounts()
        for release in reversed(book.releases()):
            cancel.check()
            work = release.body.get("work", "")
            if release.status not in COUNTED or not (work == NETWORK or work.startswith(FIT)):
                continue
            output, account = release.body.get("output", ""), known.of(release.dataset)
            card = _card(output, release.release_id, release.body.get("certificate", ""))
            model = ReleasedModel(
                release.release_id,
                card.get("model", work.removeprefix(FIT) if work != NETWORK else ""),
                account,
                known.name_of(account),
                release.epsilon,
                release.delta,
                release.time,
                release.status,
                output,
                has_output(release),
                bool(card),
                _public_accuracy(card),
            )
            found.append(model)
    return tuple(found)


def _card(output: str, release_id: str, certified: str) -> dict[str, Any]:
    """Return the card of a release; empty where it has gone, is another model's, or is not as the ledger knows it."""
    from workbench.release.certificate import checksum, is_model, read_card

    if not output or not is_model(Path(output)):
        return {}
    try:
        card = read_card(Path(output))
    except InputError:  # the ledger's line is shown all the same
        return {}
    genuine = card.get("release_id") == release_id and checksum(card) == (certified or card["checksum"])
    return card if genuine else {}


def _public_accuracy(card: dict[str, Any]) -> tuple[float, int] | None:
    """Return what a card tells of a test table that was declared public."""
    stated = card.get("training", {}).get("accuracy")
    if not isinstance(stated, dict) or not isinstance(stated.get("value"), int | float):
        return None
    return float(stated["value"]), int(stated.get("rows", 0))
