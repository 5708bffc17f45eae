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
from workbench.release.ledger.recover import place_of
from workbench.signals.events import Emit, Notice

NOTHING, RESERVED, WATCHED, WRITTEN, UNKNOWN = "nothing", "reserved", "watched", "written", "unknown"


@dataclass(frozen=True)
class StoppedCharge:
    """What remains charged for a training that was cancelled or failed.

    Attributes:
        why: ``nothing`` is charged; the reservation stays; it stays because private figures were ``watched`` or a
            model was being ``written``; ``unknown`` where the ledger cannot be read.
        epsilon: what stays charged or reserved.
        delta: the same.
        problem: why the ledger cannot be read.
    """

    why: str
    epsilon: Decimal = Decimal(0)
    delta: Decimal = Decimal(0)
    problem: WorkbenchError | None = None


Words = Callable[[StoppedCharge], str]
"""How a front end says what stays charged."""


@contextmanager
def charge_told(folder: Path, ledger: Path | None, emit: Emit, words: Words) -> Iterator[None]:
    """Add the cost to the message of a training that ends without a release.

    Args:
        folder: where the model will be.
        ledger: the ledger's file; ``None`` for the usual one.
        emit: hears the sentence where the training fails.
        words: makes the sentence; an empty one is not told.

    Raises:
        CancelledError: the block was cancelled; it holds the sentence.
    """
    former = len(_releases_into(folder, ledger))
    try:
        yield
    except CancelledError as error:
        told = words(_charge_since(folder, ledger, former))
        raise (CancelledError(told) if told else error) from None
    except WorkbenchError:
        told = words(_charge_since(folder, ledger, former))
        if told:
            emit(Notice("info", told))
        raise


def _releases_into(folder: Path, ledger: Path | None) -> tuple[Release, ...]:
    """Return the releases into ``folder`` that the ledger records, oldest first."""
    output = place_of(folder)
    with Ledger.read(ledger) as book:
        return tuple(r for r in book.releases() if r.body.get("output") == output)


def _charge_since(folder: Path, ledger: Path | None, former: int) -> StoppedCharge:
    try:
        found = _releases_into(folder, ledger)[former:]
    except WorkbenchError as error:
        return StoppedCharge(UNKNOWN, problem=error)
    if not found or found[-1].status in ("void", "refused"):
        return StoppedCharge(NOTHING)
    last = found[-1]
    why = RESERVED if last.status == "reserved" else WATCHED if last.body.get("watched") else WRITTEN
    return StoppedCharge(why, last.epsilon, last.delta)
