"""The cost of a run that ends early: nothing before the first drawn byte is written, the full cost afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workbench.params import CancelledError, WorkbenchError
from workbench.privacy.accounting.event import Cost
from workbench.release.atomic import write_error
from workbench.release.ledger.exact import decimal_text
from workbench.release.ledger.ledger import Ledger
from workbench.signals import Notice
from workbench.signals.events import Emit


def void_unless_charged(ledger: Ledger, release_id: str, error: BaseException, emit: Emit) -> None:
    """Record that a run ended before its charge was final; if the ledger cannot be written, the reservation counts."""
    try:
        found = ledger.release(release_id)
        if found is not None and found.status == "reserved":
            ledger.void(release_id, type(error).__name__)
    except WorkbenchError as problem:
        emit(Notice("warning", f"the charge remains reserved until another run settles it: {problem}"))


@contextmanager
def standing_charge(cost: Cost, target: Path) -> Iterator[None]:
    """Add to any error of the block that the charge stands, because drawn values were being written.

    Raises:
        CancelledError: the block was cancelled.
        InputError: the output could not be written.
    """
    stated = f"epsilon = {decimal_text(cost.epsilon)} stays charged, as drawn values were being written"
    try:
        yield
    except CancelledError:
        raise CancelledError(f"cancelled without a release; {stated}") from None
    except OSError as error:
        problem = write_error(error, target)
        problem.outcome = stated
        raise problem from None


def charged_again(target: Path) -> Notice:
    """Return what is said once a release has replaced an output."""
    return Notice("warning", f"{target} was replaced: this is another release, and it was charged again")
