"""The cost of a training that ended without a model, as the ledger records it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from workbench.params import CancelledError, WorkbenchError
from workbench.release.ledger.ledger import Ledger
from workbench.release.ledger.records import Release
from workbench.release.model.kept_run import RESUMABLE, checkpoint_of, has_checkpoint
from workbench.release.model.paused_training import give_up
from workbench.release.recover import place_of
from workbench.signals.events import Emit, Notice

NOTHING, RESERVED, WATCHED, WRITTEN, UNKNOWN = "nothing", "reserved", "watched", "written", "unknown"
PAUSED, STEPS = "paused", "steps"


@dataclass(frozen=True)
class StoppedCharge:
    """What remains charged for a training that was cancelled or failed.

    Attributes:
        why: ``nothing`` is charged; it is ``paused`` and can go on; the reservation stays; it stays because private
            figures were ``watched``, for the ``steps`` taken, or because a model was being ``written``; ``unknown``
            where the ledger cannot be read.
        epsilon: what stays charged or reserved.
        delta: the same.
        problem: why the ledger cannot be read.
        taken: of a paused one, the steps that count as taken.
        checkpoint: of a paused one, the folder that it goes on from.
    """

    why: str
    epsilon: Decimal = Decimal(0)
    delta: Decimal = Decimal(0)
    problem: WorkbenchError | None = None
    taken: int = 0
    checkpoint: Path | None = None


Words = Callable[[StoppedCharge], str]
"""How a front end says what stays charged."""


@contextmanager
def charge_text(folder: Path, ledger: Path | None, emit: Emit, words: Words, resumed: str = "") -> Iterator[None]:
    """Add the cost to the message of a training that ends without a release.

    Args:
        folder: where the model will be.
        ledger: the ledger's file; ``None`` for the usual one.
        emit: hears the sentence where the training fails.
        words: makes the sentence; an empty one is not told.
        resumed: the ledger's name of a run that goes on.

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
    """Return the releases into ``folder`` that the ledger records, oldest first."""
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
    why = RESERVED if last.status == "reserved" else WATCHED if watched else _unwatched(last)
    return StoppedCharge(why, last.epsilon, last.delta)


def _unwatched(release: Release) -> str:
    return STEPS if release.body.get(RESUMABLE) else WRITTEN


def give_up_into(folder: Path, ledger: Path | None) -> None:
    """End the interrupted run whose model was to be ``folder``, if there is one, for good."""
    with Ledger.open(ledger) as book:
        output = place_of(folder)
        for release in book.releases():
            if release.body.get("output") == output and release.status == "reserved" and has_checkpoint(release):
                give_up(book, checkpoint_of(release))
