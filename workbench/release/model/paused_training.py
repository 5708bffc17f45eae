"""A training that ended without a model: what stays charged, how it goes on, and the end of one that does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.data.schema import Attribute
from workbench.params import CancelledError, InputError, ParameterError, WorkbenchError
from workbench.privacy.accounting.event import Cost
from workbench.release.checkpoint_folder import (
    RESUMABLE,
    PausedRun,
    checkpoint_of,
    has_checkpoint,
    paused_runs,
    release_of,
    remove_checkpoint,
    run_at,
)
from workbench.release.ledger.composition import steps_of_release
from workbench.release.ledger.ledger import Ledger
from workbench.release.ledger.records import Release
from workbench.release.recover import place_of
from workbench.signals.events import Emit, Notice

if TYPE_CHECKING:
    from workbench.data.table import Table
    from workbench.deep.features import Features
    from workbench.deep.plan import DpSgdPlan

NOTHING, RESERVED, WATCHED, WRITTEN, UNKNOWN = "nothing", "reserved", "watched", "written", "unknown"
PAUSED, STEPS = "paused", "steps"


@dataclass(frozen=True)
class PausedTraining(PausedRun):
    """A run of DP-SGD that can go on; everything that :func:`release_training` asks for is known.

    Where a figure of it may have been shown, it costs as much to give it up as to go on.
    """

    plan: DpSgdPlan
    features: Features  # the public map from rows to inputs
    output: Path
    rows_per_person: int
    replace_invalid: bool  # whether the plan that declares the columns replaces invalid values
    unit: str | None  # the column that identifies a person, where the plan names one
    outside: tuple[str, ...]  # sentences on what ε does not cover
    account: str | None
    quiet: bool
    tested: bool  # whether it is measured on public test rows, which it needs again
    spent: Decimal  # ε of the steps taken, by what the ledger says of them
    cost: tuple[Decimal, Decimal] | None  # (ε, δ) that giving it up costs where that is less than what is reserved

    @property
    def epsilon(self) -> Decimal:
        """What is reserved for it."""
        return self.release.epsilon

    @property
    def lost(self) -> Decimal:
        """ε that stays charged where it is given up."""
        return self.epsilon if self.cost is None else self.spent


def paused_trainings(ledger: Ledger, table: Table) -> tuple[PausedTraining, ...]:
    """Return the interrupted runs on ``table`` that can go on, newest first."""
    return tuple(_of(run) for run in paused_runs(ledger, ledger.identify(table).content))


def give_up(ledger: Ledger, folder: Path) -> Decimal:
    """End an interrupted run for good, remove its checkpoint, and return the ε that it cost.

    A run of which nobody saw a figure costs the steps that it took. Any other one stays charged in full, for stopping
    on what one saw is selection.

    Raises:
        InputError: there is no checkpoint, or its run has ended or still goes on.
        CheckFailedError: the ledger was altered or damaged, or is an older copy.
    """
    release = ledger.release(release_of(folder))
    if release is None or release.status != "reserved":
        raise InputError("the run of this checkpoint has ended", str(folder), "remove the folder")
    run = run_at(ledger, folder)
    if run is None:
        raise InputError("the run of this checkpoint is still running", str(folder), "pause or cancel it first")
    ledger.require_sound()
    training = _of(run)
    ledger.give_up(release.release_id, training.taken, training.cost)
    remove_checkpoint(folder)
    return training.lost


def _cost_of(run: PausedRun, plan: DpSgdPlan) -> Cost | None:
    """Return what the steps taken cost; ``None`` where the ledger does not say what they were.

    Which δ of a row and which accountant is left to the plan: every choice gives a cost that is true.
    """
    from workbench.deep.plan import Schedule

    found = steps_of_release(run.release.body)
    if found is None:
        return None
    event, rows_per_person = found
    return Schedule(
        rows=1,
        rows_per_person=rows_per_person,
        batch=1,
        clip=plan.clip,
        delta=plan.delta,
        accountant=plan.accountant,
        cap=None,
        steps_asked=event.steps,
        event=event,
    ).cost(run.taken)


def _of(run: PausedRun) -> PausedTraining:
    from workbench.deep.model import features_of
    from workbench.deep.plan import DpSgdPlan

    stated, where = run.facts.stated, str(run.folder)
    try:
        inputs = [Attribute.from_plain(plain, where=where) for plain in stated["inputs"]]
        plan = DpSgdPlan.from_plain(stated["plan"])
        features = features_of(inputs[:-1], inputs[-1], stated, where)
        reserved, spent = (run.release.epsilon, run.release.delta), _cost_of(run, plan)
        less = spent is not None and spent.epsilon <= reserved[0] and spent.delta <= reserved[1]
        return PausedTraining(
            **vars(run),
            plan=plan,
            features=features,
            output=Path(stated["output"]),
            rows_per_person=int(stated["rows_per_person"]),
            replace_invalid=bool(stated["replace_invalid"]),
            unit=_text(stated.get("unit")),
            outside=tuple(map(str, stated["outside"])),
            account=_text(stated["account"]),
            quiet=bool(stated["quiet"]),
            tested=bool(stated["public_test"]),
            spent=spent.epsilon if spent is not None and less else reserved[0],
            cost=(spent.epsilon, spent.delta) if spent is not None and less and not run.shown else None,
        )
    except (KeyError, TypeError, ParameterError):
        raise InputError("the checkpoint is damaged", where, "restore an intact copy") from None


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


@dataclass(frozen=True)
class StoppedCharge:
    """What remains charged for a training that was cancelled or failed."""

    # `nothing` is charged; it is `paused` and can go on; the reservation stays; it stays because private figures were
    # `watched`, for the `steps` taken, or because a model was being `written`; `unknown` where the ledger cannot be
    # read.
    why: str
    epsilon: Decimal = Decimal(0)  # what stays charged or reserved
    delta: Decimal = Decimal(0)  # the same
    problem: WorkbenchError | None = None  # why the ledger cannot be read
    taken: int = 0  # of a paused one, the steps that count as taken
    checkpoint: Path | None = None  # of a paused one, the folder that it goes on from


Words = Callable[[StoppedCharge], str]  # how a front end says what stays charged


@contextmanager
def charge_text(folder: Path, ledger: Path | None, emit: Emit, words: Words, resumed: str = "") -> Iterator[None]:
    """Add the cost to the message of a training that ends without a release, in what ``words`` makes of it.

    ``resumed`` is the ledger's name of a run that goes on.

    Raises:
        CancelledError: the block was cancelled; it holds the sentence.
    """
    former = [r.release_id for r in _releases_into(folder, ledger) if r.release_id != resumed]
    try:
        yield
    except CancelledError as error:
        stated = words(_charge_since(folder, ledger, former))
        raise (CancelledError(stated) if stated else error) from None
    except WorkbenchError:
        stated = words(_charge_since(folder, ledger, former))
        if stated:
            emit(Notice("info", stated))
        raise


def _releases_into(folder: Path, ledger: Path | None) -> tuple[Release, ...]:
    output = place_of(folder)
    with Ledger.read(ledger) as book:
        return tuple(r for r in book.releases() if r.body.get("output") == output)


def _charge_since(folder: Path, ledger: Path | None, former: list[str]) -> StoppedCharge:
    try:
        found = [r for r in _releases_into(folder, ledger) if r.release_id not in former]
        if not found or found[-1].status in ("void", "refused"):
            return StoppedCharge(NOTHING)
        last = found[-1]
        if last.status == "reserved" and has_checkpoint(last):
            with Ledger.read(ledger) as book:
                taken = book.steps_taken(last.release_id)
            return StoppedCharge(PAUSED, last.epsilon, last.delta, taken=taken, checkpoint=checkpoint_of(last))
    except WorkbenchError as error:
        return StoppedCharge(UNKNOWN, problem=error)
    watched = last.body.get("watched") and last.status != "settled"  # it had shown nothing yet
    unwatched = STEPS if last.body.get(RESUMABLE) else WRITTEN
    why = RESERVED if last.status == "reserved" else WATCHED if watched else unwatched
    return StoppedCharge(why, last.epsilon, last.delta)


def give_up_into(folder: Path, ledger: Path | None) -> None:
    """End the interrupted run whose model was to be ``folder``, if there is one, for good."""
    with Ledger.open(ledger) as book:
        output = place_of(folder)
        for release in book.releases():
            if release.body.get("output") == output and release.status == "reserved" and has_checkpoint(release):
                give_up(book, checkpoint_of(release))
